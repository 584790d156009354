//! Subscriptions: twigs with ids, read from files or added one by one.
//!
//! ```text
//! # id <tab> query
//! theses    /dblp/phdthesis[author][year >= 2010]/title
//! dutch     $[?@.lang == 'nl']
//! ```
//!
//! Subscriptions with the same twig are evaluated once.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use warpath_core::projection::Projection;
use warpath_lang::twig::Twig;
use warpath_lang::twig::value::Value;
use warpath_lang::twig::xpath::column;

use super::layout::TooLarge;
use super::set::{TwigIx, TwigSet};
use super::{Events, Name, TwigMatcher};

/// Steps that the members of records are at most found by. Parts of a store have about 1,900 columns.
const MOST_STEPS: usize = 2048;

/// Subscriptions, in the order in which they were added.
///
/// ```
/// use warpath::twig::{Standing, Subscriptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// // A line of a file is an id, a tab and a twig, in XPath or JSONPath.
/// assert!(subscriptions.add_file("dutch\t//user[lang = 'nl']\nwebby\t$.tags[?@ == 'web']\n").is_empty());
/// subscriptions.remove("dutch");
/// assert_eq!(subscriptions.ids().collect::<Vec<_>>(), ["webby"]);
/// assert_eq!(Standing::new(subscriptions).matches(br#"{"tags": ["web"]}"#)?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Subscriptions {
    set: TwigSet,
    /// All subscriptions, in the order in which they were added.
    all: Vec<Subscription>,
    by_id: HashMap<String, usize>,
    /// The twigs that are evaluated. Subscriptions with equal twigs share one.
    twigs: HashMap<Twig, TwigIx, FixedState>,
    /// The positions in `all` of each twig's subscriptions, ascending.
    by_twig: Vec<Vec<u32>>,
}

/// A subscription.
#[derive(Clone, Debug)]
struct Subscription {
    id: String,
    query: String,
    twig: TwigIx,
}

/// The reason why a subscription cannot be added.
///
/// ```
/// use warpath::twig::Subscriptions;
///
/// // The other lines are added.
/// let mut subscriptions = Subscriptions::default();
/// let errors = subscriptions.add_file("dutch\t//user[lang = 'nl']\nbroken\t//user[\n");
/// assert_eq!((errors.len(), errors[0].line, subscriptions.len()), (1, 2, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SubscriptionError {
    /// The line of the file, from 1; 0 for a subscription that was added without a file.
    pub line: usize,
    /// The column of the line, or of the query if there is no file, in characters from 1.
    pub column: usize,
    /// The message.
    pub message: String,
}

/// The changes made when a subscription file was read again.
///
/// ```
/// use warpath::twig::Subscriptions;
///
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add_file("a\t//a\nb\t//b\n");
/// let change = subscriptions.update_file("b\t//b\nc\t//c\n");
/// assert_eq!((change.added, change.removed, change.errors.len()), (1, 1, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// The faulty lines of the file, as [`Subscriptions::add_file`] reports them.
    pub errors: Vec<SubscriptionError>,
    /// The number of added subscriptions, including those whose query changed.
    pub added: usize,
    /// The number of removed subscriptions, including those whose query changed.
    pub removed: usize,
}

/// The lines of a file that are neither blank nor comments, with their numbers from 0.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| {
        (number, line.strip_prefix('\u{feff}').filter(|_| number == 0).unwrap_or(line))
    });
    lines.filter(|(_, line)| !line.trim_ascii().is_empty() && !line.starts_with('#'))
}

impl Subscriptions {
    /// Adds the subscriptions of a file. Each line is an id, a tab and a query. Blank lines and lines that
    /// begin with `#` are skipped. A faulty line is reported and does not affect the others.
    pub fn add_file(&mut self, text: &str) -> Vec<SubscriptionError> {
        self.add_lines(text, &HashSet::new())
    }

    /// Replaces the subscriptions by those of a file. A subscription with the same id and query stays, and is
    /// not compiled again. If more than half of the subscriptions changed, all are compiled again, so that
    /// similar ones are side by side.
    pub fn update_file(&mut self, text: &str) -> FileChange {
        let (mut kept, mut lines, mut seen) = (HashSet::new(), HashSet::new(), HashSet::new());
        for (number, line) in numbered(text) {
            let Some((id, query)) = line.split_once('\t').filter(|(id, _)| seen.insert(*id)) else {
                continue;
            };
            if self.by_id.get(id).is_some_and(|at| self.all[*at].query == query) {
                kept.insert(id);
                lines.insert(number);
            }
        }
        let before = self.len();
        self.remove_all(|id| !kept.contains(id));
        let removed = before - self.len();
        let errors = self.add_lines(text, &lines);
        let added = self.len() - (before - removed);
        if 2 * (added + removed) > self.len() {
            self.rebuild();
        }
        FileChange { errors, added, removed }
    }

    /// Adds the subscriptions of a file, except those of some lines.
    fn add_lines(&mut self, text: &str, without: &HashSet<usize>) -> Vec<SubscriptionError> {
        let (mut errors, mut added) = (Vec::new(), Vec::new());
        for (number, line) in numbered(text).filter(|(number, _)| !without.contains(number)) {
            let failed =
                |column: usize, message: String| SubscriptionError { line: number + 1, column, message };
            let Some((id, query)) = line.split_once('\t') else {
                let message = "there is no tab; a line is an id, a tab and a query".to_owned();
                errors.push(failed(line.chars().count() + 1, message));
                continue;
            };
            let before = id.chars().count() + 1;
            let column = |column: usize| if column == 0 { 1 } else { before + column };
            match self.check(id, query) {
                Ok(twig) => {
                    // The id is taken for the lines that follow. Its twig's number is set later.
                    self.by_id.insert(id.to_owned(), usize::MAX);
                    added.push((number + 1, column(1), id, query, twig));
                }
                Err(error) => errors.push(failed(column(error.column), error.message)),
            }
        }
        // The twigs are added all at once, because similar ones are put side by side.
        let (mut new, mut seen) = (Vec::new(), HashSet::with_hasher(FixedState::default()));
        for (.., twig) in &added {
            if !self.twigs.contains_key(twig) && seen.insert(twig) {
                new.push(twig.clone());
            }
        }
        let placed = self.set.add_all(&new);
        let mut too_large = HashMap::new();
        for (twig, placed) in new.into_iter().zip(placed) {
            match placed {
                Ok(number) => drop(self.twigs.insert(twig, number)),
                Err(error) => drop(too_large.insert(twig, error)),
            }
        }
        for (line, column, id, query, twig) in added {
            self.by_id.remove(id);
            if let Some(number) = self.twigs.get(&twig) {
                self.put(id, query, *number);
            } else if let Some(error) = too_large.get(&twig) {
                errors.push(SubscriptionError { line, column, message: too_large_message(error) });
            }
        }
        errors.sort_by_key(|error| error.line);
        errors
    }

    /// Adds a subscription. The other subscriptions are not compiled again.
    ///
    /// # Errors
    /// [`SubscriptionError`] if the id is empty, contains white space, or exists already (its column is then
    /// 0). Also if the query is not valid, or too large.
    pub fn add(&mut self, id: &str, query: &str) -> Result<(), SubscriptionError> {
        let twig = self.check(id, query)?;
        let number = match self.twigs.get(&twig) {
            Some(known) => *known,
            None => {
                let placed = self.set.add(&twig);
                let number = placed.map_err(|error| SubscriptionError {
                    line: 0,
                    column: 1,
                    message: too_large_message(&error),
                })?;
                self.twigs.insert(twig, number);
                number
            }
        };
        self.put(id, query, number);
        Ok(())
    }

    /// Checks a new subscription, and returns its twig.
    fn check(&self, id: &str, query: &str) -> Result<Twig, SubscriptionError> {
        let failed = |column: usize, message: String| SubscriptionError { line: 0, column, message };
        if id.is_empty() || id.contains(char::is_whitespace) {
            return Err(failed(
                0,
                format!("`{id}` is not an id: an id has at least one character and no white space"),
            ));
        }
        if self.by_id.contains_key(id) {
            return Err(failed(0, format!("the id `{id}` is already in use")));
        }
        Twig::parse(query).map_err(|error| failed(column(query, error.at), error.message))
    }

    /// Adds a subscription whose twig is in the set.
    fn put(&mut self, id: &str, query: &str, twig: TwigIx) {
        self.by_id.insert(id.to_owned(), self.all.len());
        if self.by_twig.len() <= twig.number() {
            self.by_twig.resize(twig.number() + 1, Vec::new());
        }
        self.by_twig[twig.number()].push(self.all.len() as u32);
        self.all.push(Subscription { id: id.to_owned(), query: query.to_owned(), twig });
    }

    /// Removes a subscription, and returns whether it existed. The later ones move up by one. None is
    /// compiled again.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(at) = self.by_id.remove(id) else { return false };
        let Subscription { twig, query, .. } = self.all.remove(at);
        self.by_twig[twig.number()].retain(|number| *number as usize != at);
        if self.by_twig[twig.number()].is_empty() {
            self.set.remove(twig);
            // The query was parsed without an error when it was added.
            if let Ok(twig) = Twig::parse(&query) {
                self.twigs.remove(&twig);
            }
        }
        let behind = self.by_twig.iter_mut().flatten().filter(|number| **number as usize > at);
        behind.for_each(|number| *number -= 1);
        self.by_id.values_mut().filter(|place| **place > at).for_each(|place| *place -= 1);
        true
    }

    /// Removes the subscriptions whose ids satisfy `is_gone`.
    fn remove_all(&mut self, is_gone: impl Fn(&str) -> bool) {
        let all = std::mem::take(&mut self.all);
        self.by_id.clear();
        self.by_twig.iter_mut().for_each(Vec::clear);
        let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| is_gone(&one.id));
        kept.into_iter().for_each(|Subscription { id, query, twig }| self.put(&id, &query, twig));
        let mut removed = HashSet::new();
        for Subscription { query, twig, .. } in gone {
            if self.by_twig[twig.number()].is_empty() && removed.insert(twig) {
                self.set.remove(twig);
                // The query was parsed without an error when it was added.
                if let Ok(twig) = Twig::parse(&query) {
                    self.twigs.remove(&twig);
                }
            }
        }
    }

    /// Compiles all subscriptions again. Names and values that no subscription uses are forgotten, and
    /// similar subscriptions are put side by side.
    fn rebuild(&mut self) {
        let mut twigs: Vec<(Twig, TwigIx)> = self.twigs.drain().collect();
        twigs.sort_unstable_by_key(|(_, number)| *number);
        let (twigs, before): (Vec<Twig>, Vec<TwigIx>) = twigs.into_iter().unzip();
        let mut set = TwigSet::default();
        // No twig is too large, because all were in the set before.
        let placed: Vec<TwigIx> = set.add_all(&twigs).into_iter().flatten().collect();
        let now: HashMap<TwigIx, TwigIx> = before.into_iter().zip(placed.iter().copied()).collect();
        self.set = set;
        self.twigs = twigs.into_iter().zip(placed).collect();
        let all = std::mem::take(&mut self.all);
        self.by_twig.clear();
        for Subscription { id, query, twig } in all {
            if let Some(twig) = now.get(&twig) {
                self.put(&id, &query, *twig);
            }
        }
    }

    /// The number of subscriptions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns `true` if there are no subscriptions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The set of the subscriptions' twigs.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn set(&self) -> &TwigSet {
        &self.set
    }

    /// The numbers of a twig's subscriptions among [`ids`](Self::ids).
    pub(crate) fn numbers_of(&self, twig: TwigIx) -> &[u32] {
        &self.by_twig[twig.number()]
    }

    /// The id of the subscription of this number, from 0.
    #[must_use]
    pub fn id(&self, number: usize) -> Option<&str> {
        self.all.get(number).map(|subscription| subscription.id.as_str())
    }

    /// The query of the subscription of this number, in its original form.
    #[must_use]
    pub fn query(&self, number: usize) -> Option<&str> {
        self.all.get(number).map(|subscription| subscription.query.as_str())
    }

    /// The ids, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|subscription| subscription.id.as_str())
    }

    /// The values of JSON records that decide which subscriptions match.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn projection(&self) -> Projection {
        let mut twigs: Vec<(&Twig, Option<&u32>)> =
            self.twigs.iter().map(|(twig, number)| (twig, self.numbers_of(*number).first())).collect();
        twigs.sort_unstable_by_key(|(_, first)| *first);
        let mut all = Projection::NONE;
        for some in twigs.chunks(64) {
            some.iter().for_each(|(twig, _)| twig.reach(&mut all));
            // To find this many members in each group may take longer than to read all of them.
            if all.size() > MOST_STEPS {
                return Projection::All;
            }
        }
        all
    }

    /// A matcher that evaluates all subscriptions, one document after the other.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn matcher(&self) -> Matcher<'_> {
        Matcher { subscriptions: self, matcher: self.set.matcher() }
    }
}

fn too_large_message(error: &TooLarge) -> String {
    format!("the subscription is too large: {error}")
}

/// Evaluates subscriptions, one document after the other.
#[derive(Clone, Debug)]
pub struct Matcher<'a> {
    subscriptions: &'a Subscriptions,
    matcher: TwigMatcher<'a>,
}

impl<'a> Matcher<'a> {
    /// Prepares for the next document.
    pub fn reset(&mut self) {
        self.matcher.reset();
    }

    /// The subscriptions that match the document, after it has ended: their numbers among
    /// [`Subscriptions::ids`], ascending.
    pub fn found(&mut self) -> impl Iterator<Item = usize> + use<> {
        let numbers = self.matcher.matches().flat_map(|twig| self.subscriptions.numbers_of(twig));
        let mut found: Vec<usize> = numbers.map(|number| *number as usize).collect();
        found.sort_unstable();
        found.into_iter()
    }

    /// The ids of the subscriptions that match the document, in the order of [`found`](Self::found).
    pub fn matches(&mut self) -> impl Iterator<Item = &'a str> + use<'a> {
        let all = &self.subscriptions.all;
        self.found().map(|at| all[at].id.as_str())
    }
}

impl Events for Matcher<'_> {
    fn open(&mut self, name: Name<'_>) -> bool {
        self.matcher.open(name)
    }

    fn close(&mut self, value: Value<'_>) {
        self.matcher.close(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_are_those_of_all_subscriptions() {
        let mut subscriptions = Subscriptions::default();
        let said = |subscriptions: &Subscriptions| subscriptions.projection().to_string();
        assert_eq!(said(&subscriptions), "nothing");
        subscriptions.add_file("z\t$.z\na\t$.a.b == 1\nsame\t/z\nxml\t/c[@d]\n");
        assert_eq!(said(&subscriptions), "presence of $.z, $.a.b");
        subscriptions.remove("z");
        assert_eq!(said(&subscriptions), "$.a.b, presence of $.z");
        subscriptions.update_file("new\t//b\n");
        assert_eq!(said(&subscriptions), "presence of $..b");
        let many: String = (0..=MOST_STEPS).map(|at| format!("{at}\t$.k{at}\n")).collect();
        subscriptions.update_file(&many);
        assert!(subscriptions.projection().is_all());
    }
}
