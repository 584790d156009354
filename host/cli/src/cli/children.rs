//! Notes about filters of children that no record has: a condition on the record was probably meant.

use std::any::Any;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpath::{Batch, Error, Program, Query, Want};
use warpath_exec::stream::{Digest, Found};
use warpath_lang::about_record::AboutRecord;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::args::WhereArgs;
use super::failure::Failure;
use super::out::Out;
use super::rejects::Reject;
use super::run::{Consumer, Flow};
use super::shell::quoted;
use super::statistics::Statistics;

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
        self.add(&counts);
        Ok(())
    }

    /// Adds the counts of a text.
    fn add(&mut self, counts: &[u64]) {
        self.has_read = true;
        self.is_open &= counts[0] == 0;
        self.has_own |= counts[1..].iter().any(|count| *count > 0);
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
}

/// A path of a command that filters children by a member.
struct WatchedPath {
    /// The number of the path in the program.
    number: usize,
    /// The path as it was given.
    text: String,
    /// The subject of the note.
    subject: String,
    watch: Arc<Mutex<ChildWatch>>,
}

impl WatchedPath {
    fn lock(&self) -> MutexGuard<'_, ChildWatch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the command with the condition in `--where`, for a shell; `None` if the path is not among the
    /// words of the command. `only` is the condition of the command.
    fn command(&self, only: Option<&str>, given: impl Iterator<Item = OsString>) -> Option<String> {
        let about = &self.lock().about;
        let predicate = match only {
            Some(only) => format!("({only}) && ({})", about.predicate),
            None => about.predicate.clone(),
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
            } else if !has_path && (word == self.text || word.contains(&format!("={}", self.text))) {
                has_path = true;
                let word = word.replacen(&self.text, &about.path, 1);
                words.extend([word, "--where".to_owned(), predicate.clone()]);
            } else {
                words.push(word);
            }
        }
        has_path.then(|| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }
}

/// A consumer that also watches for filters of children that no record has.
pub struct Watched<C> {
    pub inner: C,
    paths: Vec<WatchedPath>,
    /// True if the command has one path.
    is_one: bool,
}

impl<C: Consumer> Watched<C> {
    /// Watches the paths of a command, which are those of its program.
    pub fn new(inner: C, queries: &[Query], ui: &Ui) -> Result<Self, Error> {
        let (mut paths, is_one) = (Vec::new(), queries.len() == 1);
        for (number, query) in queries.iter().enumerate() {
            if let Some(watch) = ChildWatch::new(query, ui)? {
                let text = query.text().to_owned();
                let subject = if is_one {
                    "the filter".to_owned()
                } else {
                    format!("`{}`: the filter", escaped(&text))
                };
                paths.push(WatchedPath { number, text, subject, watch: Arc::new(Mutex::new(watch)) });
            }
        }
        Ok(Self { inner, paths, is_one })
    }

    /// Prints the notes about filters, if there is reason for them. `only` is the condition on records.
    pub fn close(self, only: &WhereArgs, ui: &Ui) -> C {
        for path in &self.paths {
            let (note, has_own) = {
                let watch = path.lock();
                (watch.note(&path.subject), watch.has_own)
            };
            let Some(note) = note else { continue };
            ui.note(note);
            // A condition would be about the other paths, too.
            if has_own
                && self.is_one
                && let Some(command) = path.command(only.only.as_deref(), std::env::args_os().skip(1))
            {
                ui.help(format_args!("for a condition on the record: {command}"));
            }
        }
        self.inner
    }
}

/// A digest that also watches for filters of children, where workers have the texts.
struct WatchedDigest {
    inner: Arc<dyn Digest>,
    watches: Vec<Arc<Mutex<ChildWatch>>>,
}

impl Digest for WatchedDigest {
    fn want(&self) -> Want {
        self.inner.want()
    }

    fn digest(&self, found: &[Found<'_>]) -> Box<dyn Any + Send + Sync> {
        if let Some(first) = found.first() {
            for watch in &self.watches {
                let open = {
                    let watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
                    watch.is_open.then(|| watch.about.program.clone())
                };
                let counts =
                    open.filter(|_| !first.text.is_empty()).map(|program| first.count_more(&program));
                let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
                match counts {
                    Some(Ok(counts)) => watch.add(&counts),
                    // Without counts there is no note.
                    Some(Err(_)) => watch.is_open = false,
                    None => {}
                }
            }
        }
        self.inner.digest(found)
    }
}

impl<C: Consumer> Consumer for Watched<C> {
    fn want(&self) -> Want {
        let want = self.inner.want();
        // The text of a partition is kept only for matches. Workers that digest results have it.
        let is_read = !self.paths.is_empty() && self.inner.digest().is_none();
        want.matches(want.matches || is_read)
    }

    fn digest(&self) -> Option<Arc<dyn Digest>> {
        let inner = self.inner.digest()?;
        if self.paths.is_empty() {
            return Some(inner);
        }
        let watches = self.paths.iter().map(|path| path.watch.clone()).collect();
        Some(Arc::new(WatchedDigest { inner, watches }))
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
        let is_digested = !self.paths.is_empty() && self.inner.digest().is_some();
        for path in &self.paths {
            let has_match = batch.count(path.number) > 0;
            let is_empty = is_digested || batch.text().is_empty();
            path.lock().see(has_match, is_empty, |program| batch.count_more(program))?;
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

    fn statistics(&self, statistics: Statistics) -> Statistics {
        self.inner.statistics(statistics)
    }

    fn is_about_all(&self) -> bool {
        self.inner.is_about_all()
    }

    fn is_whole(&self) -> bool {
        self.inner.is_whole()
    }

    fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.inner.pause(out)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.inner.end(out)
    }
}
