//! Notes about filters of children that no record has: a condition on the record was probably meant.

use std::ffi::OsString;

use warpath::answer::Want;
use warpath::{AboutRecord, Batch, Error, Program, Query};

use super::args::QueryArgs;
use super::failure::Failure;
use super::out::Out;
use super::rejects::Reject;
use super::run::{Consumer, Flow};
use super::ui::Ui;

/// A query that filters children by a member, and what is known of the records that were read.
pub struct ChildWatch {
    about: AboutRecord,
    /// False once the query had a match, or a child had a tested member.
    is_open: bool,
    /// True once a record was read.
    has_read: bool,
    /// True once the value itself had a tested member.
    has_own: bool,
}

impl ChildWatch {
    /// Returns the watch of a query; `None` if the query has no such filter, or no note may be printed.
    pub fn new(query: &Query, ui: &Ui) -> Result<Option<Self>, Error> {
        if ui.is_quiet() {
            return Ok(None);
        }
        let about = AboutRecord::of(query)?;
        Ok(about.map(|about| Self { about, is_open: true, has_read: false, has_own: false }))
    }

    /// Looks for tested members in the next text, as long as none was found. `count` counts the matches of a
    /// program in the text.
    pub fn see(
        &mut self,
        has_match: bool,
        is_empty: bool,
        count: impl FnOnce(&Program) -> Result<Vec<u64>, Error>,
    ) -> Result<(), Error> {
        self.is_open &= !has_match;
        if !self.is_open || is_empty {
            return Ok(());
        }
        let counts = count(&self.about.program)?;
        self.has_read = true;
        self.is_open = counts[0] == 0;
        self.has_own |= counts[1..].iter().any(|count| *count > 0);
        Ok(())
    }

    /// Returns the text of the note about `subject`, if there is reason for one.
    fn note(&self, subject: &str) -> Option<String> {
        if !self.is_open || !self.has_read {
            return None;
        }
        let AboutRecord { names, value, .. } = &self.about;
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let (names, value) = (names.join(" or "), value);
        let own = if self.has_own { "has one itself" } else { "has none itself, either" };
        Some(format!(
            "{subject} selects among the children of `{value}`, and in the records read, no child has a \
             member {names}; `{value}` {own}"
        ))
    }

    /// Prints the note about a query, with the command that was probably meant.
    pub fn note_for_query(&self, args: &QueryArgs, ui: &Ui) {
        let Some(note) = self.note("the filter") else { return };
        ui.note(note);
        if self.has_own {
            let command = self.command(args, std::env::args_os().skip(1));
            ui.help(format_args!("for a condition on the record: {command}"));
        }
    }

    /// Prints the note about a subscription, with the query that was probably meant. There is no note if the
    /// documents do not have the member, either: not every subscription has matches.
    pub fn note_for_subscription(&self, id: &str, ui: &Ui) {
        if let Some(note) = self.note(&format!("subscription `{id}`: the filter"))
            && self.has_own
        {
            ui.note(note);
            let AboutRecord { path, predicate, .. } = &self.about;
            let meant = match path.as_str() {
                "$" => predicate.clone(),
                path => format!("{predicate} && {path}"),
            };
            ui.help(format_args!("for a condition on the document: {meant}"));
        }
    }

    /// Returns the command with the condition in `--where`, for a shell.
    fn command(&self, args: &QueryArgs, given: impl Iterator<Item = OsString>) -> String {
        let predicate = match &args.run.only.only {
            Some(only) => format!("({only}) && ({})", self.about.predicate),
            None => self.about.predicate.clone(),
        };
        let mut words = vec!["warpath".to_owned()];
        let (mut has_path, mut is_value) = (false, false);
        for word in given {
            let word = word.to_string_lossy().into_owned();
            if std::mem::take(&mut is_value) || word.starts_with("--where=") {
                continue;
            }
            if word == "--where" {
                is_value = true;
            } else if word == args.path && !has_path {
                has_path = true;
                words.extend([self.about.path.clone(), "--where".to_owned(), predicate.clone()]);
            } else {
                words.push(word);
            }
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A consumer of matches that also watches for a filter of children that no record has.
pub struct Watched<C> {
    pub inner: C,
    pub watch: Option<ChildWatch>,
}

impl<C> Watched<C> {
    /// Prints the note about the filter, if there is reason for one.
    pub fn close(self, args: &QueryArgs, ui: &Ui) -> C {
        if let Some(watch) = &self.watch {
            watch.note_for_query(args, ui);
        }
        self.inner
    }
}

impl<C: Consumer> Consumer for Watched<C> {
    fn want(&self) -> Want {
        let want = self.inner.want();
        // The text of a partition is kept only for matches.
        Want { matches: want.matches || self.watch.is_some(), ..want }
    }

    fn prints_meanwhile(&self) -> bool {
        self.inner.prints_meanwhile()
    }

    fn is_done(&self) -> bool {
        self.inner.is_done()
    }

    fn start(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.inner.start(out)
    }

    fn shows_faults(&self) -> bool {
        self.inner.shows_faults()
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        if let Some(watch) = &mut self.watch {
            watch.see(batch.count(0) > 0, batch.text().is_empty(), |program| batch.count_more(program))?;
        }
        self.inner.batch(batch, out)
    }

    fn skips_records(&self) -> bool {
        self.inner.skips_records()
    }

    fn take_refused(&mut self) -> Vec<Reject> {
        self.inner.take_refused()
    }

    fn take_failure(&mut self) -> Option<Failure> {
        self.inner.take_failure()
    }

    fn report(&self, ui: &Ui) {
        self.inner.report(ui);
    }

    fn statistics(&self) -> Vec<(&'static str, String)> {
        self.inner.statistics()
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.inner.end(out)
    }
}

/// Returns a word as a shell reads it: in quotes, unless it has only characters without a meaning there.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a-b.ndjson"), "a-b.ndjson");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$.a == 'x'"), r"'$.a == '\''x'\'''");
    }
}
