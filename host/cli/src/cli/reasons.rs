//! Reasons why a run found nothing, and notes about them.
//!
//! Workers copy some records of the input. After the run, each path without a match is followed through
//! the schema of these records, to the step that leads nowhere.
//!
//! | module | contents |
//! |---|---|
//! | `lookup` | paths and conditions followed through a schema |
//! | `why` | reasons as text |

mod lookup;
mod why;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use warpath::schema::SchemaTree;
use warpath::store::Store;
use warpath::{Batch, Engine, LoadedInput, OnError, Predicate, Program, Query, Source};
use warpath_core::diagnostic::QueryError;
use warpath_exec::stream::Sampler;
use warpath_lang::jsonpath::visit::{Subexpression, visit, visit_segments};
use warpath_lang::pattern;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::{Message, Ui};

use super::served;
use super::shell::quoted;
use lookup::Lookup;
use warpath_terminal::streams::Streams;
use why::Scope;

/// The most bytes of records that are looked at.
const MOST_BYTES: usize = 512 << 10;

/// The most records of files that are looked at.
const MOST_RECORDS: u64 = 1000;

/// The most notes about paths of one command.
const MOST_NOTES: usize = 3;

/// The most subscriptions with filters that are looked at.
const MOST_SUBSCRIPTIONS: usize = 1000;

/// The records that are looked at, if a run finds nothing.
pub struct Records {
    sampler: Arc<Sampler>,
    /// Whole lines each.
    texts: Vec<Vec<u8>>,
    /// The inputs whose records are looked at after the run, in place of the copied ones: all records of
    /// parts of stores, which know their schema, or the first ones.
    inputs: Vec<Readable>,
}

impl Default for Records {
    fn default() -> Self {
        Self { sampler: Arc::new(Sampler::new(MOST_BYTES)), texts: Vec::new(), inputs: Vec::new() }
    }
}

impl Records {
    /// Adds whole lines, up to the bound. A document is one line.
    pub fn add(&mut self, lines: Vec<u8>) {
        if !lines.is_empty() {
            self.texts.push(lines);
        }
    }

    /// Copies lines, as far as the bound allows.
    pub fn copy(&mut self, lines: &[u8]) {
        if self.sampler.has_all() {
            self.add(self.sampler.copy(lines));
        }
    }

    /// Takes the records from inputs, which are read when they are looked at.
    pub fn read_later(&mut self, inputs: Vec<Readable>) {
        self.inputs.extend(inputs);
    }

    /// The schema of the records, or of all records of a store; `None` if there is none, or if it cannot
    /// be made.
    fn schema(&self) -> Option<(SchemaTree, Scope)> {
        let known = self.known();
        let is_known = known.is_some();
        let tree = known.or_else(|| self.read())?;
        let records = tree.records();
        let is_all = match self.inputs.is_empty() {
            true => self.sampler.has_all(),
            false => is_known || records < MOST_RECORDS,
        };
        (records > 0).then_some((tree, Scope { records, is_all }))
    }

    /// The schema of all records, if each input is a part of a store and has its own.
    fn known(&self) -> Option<SchemaTree> {
        let mut inputs = self.inputs.iter();
        let mut tree = inputs.next()?.known_schema()?.into_owned();
        for input in inputs {
            tree.merge(&*input.known_schema()?);
        }
        Some(tree)
    }

    fn read(&self) -> Option<SchemaTree> {
        let engine = served::limited(Engine::builder().on_error(OnError::Skip).workers(1)).build().ok()?;
        let mut parts = match self.inputs.is_empty() {
            true => engine.bytes(self.texts.join(&b'\n')).schema(None),
            false => {
                let sources = self.inputs.iter().cloned().map(Readable::source);
                engine.input(sources.collect()).schema(Some(MOST_RECORDS))
            }
        };
        parts = parts.keeping_names(true);
        parts.by_ref().try_for_each(|part| part.map(drop)).ok()?;
        Some(parts.finish().tree)
    }
}

/// An input that can be read again.
#[derive(Clone)]
pub enum Readable {
    File(PathBuf),
    Loaded(LoadedInput),
}

impl Readable {
    /// Some inputs; none if one of them can be read only once.
    pub fn of(sources: &[Source]) -> Vec<Self> {
        let input = |source: &Source| match source {
            Source::File(path) => Some(Self::File(path.clone())),
            Source::Loaded(input) => Some(Self::Loaded(input.clone())),
            _ => None,
        };
        sources.iter().map(input).collect::<Option<_>>().unwrap_or_default()
    }

    fn source(self) -> Source {
        match self {
            Self::File(path) => Source::File(path),
            Self::Loaded(input) => Source::Loaded(input),
        }
    }

    /// The schema of all records, if the input is a part of a store and has one.
    fn known_schema(&self) -> Option<Cow<'_, SchemaTree>> {
        match self {
            Self::File(path) => Store::open(path).ok()?.known_schema().map(Cow::Owned),
            Self::Loaded(input) => input.known_schema().map(Cow::Borrowed),
        }
    }
}

/// The paths of a run, the number of matches of each path, and some records.
pub struct Reasons {
    queries: Vec<Query>,
    counts: Vec<u64>,
    /// True for a path whose value may be missing, since its column has a default.
    defaults: Vec<bool>,
    records: Records,
    /// True if the records are those of `select --explode`.
    of_elements: bool,
    /// True if the run ended before its input did.
    is_stopped: bool,
}

impl Reasons {
    /// The paths of a program. `of_elements` is true if the records are those of `select --explode`.
    pub fn new(program: &Program, of_elements: bool) -> Self {
        let queries = program.queries().to_vec();
        let defaults = program.columns().iter().map(|column| column.default.is_some()).collect();
        let counts = vec![0; queries.len()];
        Self { queries, counts, defaults, records: Records::default(), of_elements, is_stopped: false }
    }

    /// Takes the records from inputs, of which most was left unread.
    pub fn of_inputs(mut self, inputs: Vec<Readable>) -> Self {
        self.records.read_later(inputs);
        self
    }

    /// The bound on the records that workers copy; `None` if the records are those of inputs.
    pub fn sampler(&self) -> Option<Arc<Sampler>> {
        self.records.inputs.is_empty().then(|| self.records.sampler.clone())
    }

    /// Adds the counts and the copied records of a batch.
    pub fn add(&mut self, batch: &mut Batch) {
        self.counts.iter_mut().enumerate().for_each(|(path, count)| *count += batch.count(path));
        self.records.add(batch.take_sample());
    }

    /// Notes that records were left unread.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Prints a note for each path without a match, if a reason is found. `predicate` chose the records.
    pub fn report(&self, predicate: Option<&Predicate>, ui: &Ui) {
        if self.counts.iter().all(|count| *count > 0) {
            return;
        }
        let Some((schema, scope)) = self.records.schema() else { return };
        let lookup = Lookup::new(schema.root());
        if let Some(predicate) = predicate
            && self.counts.iter().all(|count| *count == 0)
            && let Some(why) = lookup.never(predicate.expr())
        {
            ui.note(why.text(scope));
            return;
        }
        let mut reported: Vec<String> = Vec::new();
        for (path, query) in self.queries.iter().enumerate() {
            if self.counts[path] > 0 || self.defaults.get(path) == Some(&true) {
                continue;
            }
            let Some(why) = lookup.nowhere(query) else { continue };
            // All records are known to lack a path of names without a match.
            let is_known = why.is_whole(query) && predicate.is_none() && !self.is_stopped;
            let mut text = why.text(Scope { is_all: scope.is_all || is_known, ..scope });
            if self.of_elements {
                text = with_own_paths(text);
            }
            if why.is_of_filter() && self.queries.len() > 1 {
                text = format!("`{}`: {text}", escaped(query.text()));
            }
            if reported.contains(&text) {
                continue;
            }
            reported.push(text);
            if reported.len() > MOST_NOTES {
                continue;
            }
            ui.note(&reported[reported.len() - 1]);
            // A condition would be about the other paths, too.
            if let (Some(meant), [_]) = (why.on_record(query), &self.queries[..])
                && let Some(command) =
                    meant.command(query, predicate, Streams::current().arguments().into_iter())
            {
                ui.help(format_args!("for a condition on the record: {command}"));
            }
        }
        if let Some(more) = reported.len().checked_sub(MOST_NOTES + 1) {
            let plural = if more == 0 { " has" } else { "s have" };
            ui.note(format_args!("{} more path{plural} no match either", more + 1));
        }
    }
}

/// A text with the paths of `select --explode` as the user writes them, in place of those of its records:
/// `$['@'].price` is `@.price`, and `$['$.id']` is `$.id`.
fn with_own_paths(text: String) -> String {
    let mut own = String::new();
    let mut rest = text.replace("$['@']", "@");
    while let Some((before, after)) = rest.split_once("$['$")
        && let Some((path, after)) = after.split_once("']`").filter(|(path, _)| !path.contains('`'))
    {
        own.push_str(&format!("{before}${path}`"));
        rest = after.to_owned();
    }
    own + &rest
}

/// A query that filters the children of a value, taken apart: a path, and a condition on the record.
pub struct OnRecord {
    /// The query without the filter.
    path: String,
    /// The expression of the filter, about the value itself.
    predicate: String,
}

impl OnRecord {
    /// The condition with the path, as one query of `warpath filter`.
    fn subscription(&self) -> String {
        match self.path.as_str() {
            "$" => self.predicate.clone(),
            path => format!("{} && {path}", self.predicate),
        }
    }

    /// The command with the condition in `--where`, for a shell; `None` if the query is not among its words.
    /// `only` is the condition of the command.
    fn command(
        &self,
        query: &Query,
        only: Option<&Predicate>,
        given: impl Iterator<Item = OsString>,
    ) -> Option<String> {
        let predicate = match only {
            Some(only) => format!("({}) && ({})", only.text(), self.predicate),
            None => self.predicate.clone(),
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
            } else if !has_path && (word == query.text() || word.contains(&format!("={}", query.text()))) {
                has_path = true;
                let word = word.replacen(query.text(), &self.path, 1);
                words.extend([word, "--where".to_owned(), predicate.clone()]);
            } else {
                words.push(word);
            }
        }
        has_path.then(|| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }
}

/// Prints notes about subscriptions without a match that filter children by a member which the documents have
/// themselves. Not every subscription has matches, so there is no other note.
pub fn report_subscriptions<'s>(
    without: impl Iterator<Item = (&'s str, &'s str)>,
    records: &Records,
    ui: &Ui,
) {
    let mut filters = without.filter(|(_, text)| text.contains("[?")).take(MOST_SUBSCRIPTIONS).peekable();
    // Records may have to be read.
    if filters.peek().is_none() {
        return;
    }
    let Some((schema, scope)) = records.schema() else { return };
    let lookup = Lookup::new(schema.root());
    let found = filters.filter_map(|(id, text)| {
        let query = Query::compile(text).ok()?;
        let why = lookup.nowhere(&query)?;
        Some((id, why.on_record(&query)?, why))
    });
    for (id, meant, why) in found.take(MOST_NOTES) {
        ui.note(format_args!("subscription `{id}`: {}", why.text(scope)));
        ui.help(format_args!("for a condition on the document: {}", meant.subscription()));
    }
}

/// Prints a note for each literal pattern that is no I-Regexp, because its test is always false.
pub fn report_patterns(program: &Program, predicate: Option<&Predicate>, ui: &Ui) {
    let mut faults = Vec::new();
    for query in program.queries() {
        let mut see = |part: Subexpression<'_>| {
            let fault = pattern::fault(part, query.text());
            faults.extend(fault.map(|fault| QueryError::new(query.text(), fault)));
        };
        visit_segments(&query.ast().segments, &mut see);
    }
    for predicate in program.queries().iter().filter_map(Query::condition).chain(predicate) {
        let mut see = |part: Subexpression<'_>| {
            let fault = pattern::fault(part, predicate.text());
            faults.extend(fault.map(|fault| QueryError::new(predicate.text(), fault)));
        };
        visit(predicate.expr(), &mut see);
    }
    for fault in faults {
        ui.noted(&Message::of_rendered(&fault.render()));
    }
}
