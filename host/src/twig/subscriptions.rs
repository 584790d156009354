//! Subscriptions: twigs with ids, from files and one by one.
//!
//! ```text
//! # id <tab> query
//! theses    /dblp/phdthesis[author][year >= 2010]/title
//! dutch     $[?@.lang == 'nl']
//! ```

use std::collections::HashMap;

use super::set::{TwigIx, TwigSet};
use super::xpath::column;
use super::{Events, Name, Twig, TwigMatcher, Value};

/// Subscriptions, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Subscriptions {
    set: TwigSet,
    /// The ids in order, and their twigs.
    all: Vec<(String, TwigIx)>,
    by_id: HashMap<String, usize>,
    /// Where in `all` a twig's subscription is.
    by_twig: Vec<usize>,
}

/// Why there is no such subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SubscriptionError {
    /// The line of the file, from 1 on; 0 for one that was added without a file.
    pub line: usize,
    /// The column of that line, in characters from 1 on; of the query, without a file.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl Subscriptions {
    /// Adds the subscriptions of a file: a line an id, a tab and a query. Blank lines and those that begin with `#` are passed over. What is wrong in one line is told, and does not concern the others.
    pub fn add_file(&mut self, text: &str) -> Vec<SubscriptionError> {
        let mut errors = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.strip_prefix('\u{feff}').filter(|_| number == 0).unwrap_or(line);
            if line.trim_ascii().is_empty() || line.starts_with('#') {
                continue;
            }
            let failed =
                |column: usize, message: String| SubscriptionError { line: number + 1, column, message };
            let Some((id, query)) = line.split_once('\t') else {
                let message = "a line is an id, a tab, and a query; there is no tab".to_owned();
                errors.push(failed(line.chars().count() + 1, message));
                continue;
            };
            let before = id.chars().count() + 1;
            if let Err(error) = self.add(id, query) {
                errors.push(failed(if error.column == 0 { 1 } else { before + error.column }, error.message));
            }
        }
        errors
    }

    /// Adds a subscription. The others need not be compiled anew.
    ///
    /// # Errors
    /// [`SubscriptionError`] if the id is empty, has white space within, or is there already (then its column is 0); or if the query is none, or too large.
    pub fn add(&mut self, id: &str, query: &str) -> Result<(), SubscriptionError> {
        let failed = |column: usize, message: String| SubscriptionError { line: 0, column, message };
        if id.is_empty() || id.contains(char::is_whitespace) {
            return Err(failed(
                0,
                format!("`{id}` is no id: it has one character at least, and no white space"),
            ));
        }
        if self.by_id.contains_key(id) {
            return Err(failed(0, format!("the id `{id}` is there already")));
        }
        let twig = Twig::parse(query).map_err(|error| failed(column(query, error.at), error.message))?;
        let twig = self
            .set
            .add(&twig)
            .map_err(|error| failed(1, format!("the subscription is too large: {error}")))?;
        self.by_id.insert(id.to_owned(), self.all.len());
        if self.by_twig.len() <= twig.number() {
            self.by_twig.resize(twig.number() + 1, 0);
        }
        self.by_twig[twig.number()] = self.all.len();
        self.all.push((id.to_owned(), twig));
        Ok(())
    }

    /// Removes a subscription. Whether there was one. The others are moved up, and need not be compiled anew.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(at) = self.by_id.remove(id) else { return false };
        let (_, twig) = self.all.remove(at);
        self.set.remove(twig);
        for (at, (id, twig)) in self.all.iter().enumerate().skip(at) {
            self.by_twig[twig.number()] = at;
            if let Some(place) = self.by_id.get_mut(id) {
                *place = at;
            }
        }
        true
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Their ids, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(id, _)| id.as_str())
    }

    /// What asks all of them of one document after the other.
    #[must_use]
    pub fn matcher(&self) -> Matcher<'_> {
        Matcher { subscriptions: self, matcher: self.set.matcher() }
    }
}

/// Asks subscriptions of one document after the other.
#[derive(Clone, Debug)]
pub struct Matcher<'a> {
    subscriptions: &'a Subscriptions,
    matcher: TwigMatcher<'a>,
}

impl<'a> Matcher<'a> {
    /// Forgets the document, to be told of another.
    pub fn reset(&mut self) {
        self.matcher.reset();
    }

    /// Those that match the document, once it has ended: their numbers among [`Subscriptions::ids`], ascending.
    pub fn found(&self) -> impl Iterator<Item = usize> + use<> {
        let mut found: Vec<usize> =
            self.matcher.matches().map(|twig| self.subscriptions.by_twig[twig.number()]).collect();
        found.sort_unstable();
        found.into_iter()
    }

    /// The same, by their ids.
    pub fn matches(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let all = &self.subscriptions.all;
        self.found().map(|at| all[at].0.as_str())
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
