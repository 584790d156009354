//! The operator that makes the schema of inputs.
//!
//! Each thread has a tree, which it fills in the order of the inputs: the first value that a tree sees is the
//! first one of its texts. Trees are merged at the end, in any order.

use std::collections::BTreeMap;
use std::option;
use std::sync::{Arc, Mutex, PoisonError};

use warpath_answer::answer::{LineFault, Want};
use warpath_core::error::{Error, InputError, RecordError};
use warpath_core::foreign::Foreign;
use warpath_core::pool::stream::Turn;
use warpath_cpu::Cpu;
use warpath_cpu::strict;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};
use warpath_plan::{Evaluated, Purpose};
use warpath_shared::check::Fault;
use warpath_shared::units::LineIx;
use warpath_store::schema::{Position, SchemaTree, WalkOptions, Walker};

use super::batch::{located, record_error};
use super::flow::Flow;
use super::jobs::Framing;
use super::operator::{Operator, Taken, TextResult};
use super::task::{self, Task};
use super::{Ordered, Running, Stats};
use crate::document::Format;
use crate::engine::OnError;
#[cfg(feature = "store")]
use crate::input::KnownSchema;
use crate::input::{Buffers, Extract, Text};
use crate::request::Request;
use crate::trace::Operation;

/// The schema of inputs, one part for each text. See [`Input::schema`](crate::operators::Input::schema).
///
/// ```
/// use warpath::Engine;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":2}\n").schema(None);
/// for part in &mut parts {
///     println!("{} records", part?.records);
/// }
/// // All records have been read.
/// assert_eq!(parts.finish().tree.root().members()[0].integers(), Some((1, 2)));
/// # Ok(())
/// # }
/// ```
pub type Schemas<'a> = Ordered<'a, SchemaOperator>;

/// The bits of a text's number that count the texts of one job.
const TEXT_BITS: u32 = 20;

/// The bytes on each side of a fault that are kept for a message.
const AROUND: usize = 128;

/// The tree of each thread that does not use it now.
type Trees = Arc<Mutex<BTreeMap<usize, (SchemaTree, Walker)>>>;

/// The addition of texts to the trees of workers.
pub struct SchemaTask {
    buffers: Arc<Buffers>,
    trees: Trees,
    strict: bool,
    skips: bool,
    /// The program that marks the records of the schema; `None` for all records.
    chosen: Option<Program>,
    /// True if the records that may be added are limited.
    is_limited: bool,
    /// The records that may still be added.
    left: Mutex<u64>,
}

/// The result for one text.
pub struct Added {
    number: u64,
    lines: u64,
    records: u64,
    faults: Vec<LineFault>,
    /// The text around the first fault, and the offset of the fault in it.
    around: Option<(Vec<u8>, usize)>,
    /// The format that an input seems to have whose first text this is, and the number of its first line.
    format: Option<(u64, Foreign)>,
}

/// The operator that collects a schema.
pub struct SchemaOperator {
    /// True if objects that look like maps stay objects.
    keeps_names: bool,
    on_error: OnError,
    trees: Trees,
    /// The records that are still wanted; `None` for all.
    left: Option<u64>,
    /// For each text that has records: its number, its input, and the number of its first line.
    texts: Vec<(u64, u64, u64)>,
    sources: Vec<Arc<str>>,
}

/// The part of a run that one text is.
///
/// ```
/// use warpath::{Engine, OnError};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().on_error(OnError::Skip).build()?;
/// let (mut records, mut skipped) = (0, 0);
/// for part in engine.bytes("{\"id\":1}\n{]\n{}\n").schema(None) {
///     let part = part?;
///     records += part.records;
///     skipped += part.skipped.len();
/// }
/// assert_eq!((records, skipped), (2, 1));
/// # Ok(())
/// # }
/// ```
pub struct SchemaPart {
    /// The records that were added.
    pub records: u64,
    /// The malformed records that were skipped.
    pub skipped: Vec<RecordError>,
    /// The text around a malformed record's fault, and the offset of the fault in it, if the run ends there.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub faulty: Option<(Vec<u8>, usize)>,
}

/// The schema of some inputs.
///
/// ```
/// use warpath::Engine;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"x\"}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// assert_eq!(schema.tree.records(), 2);
/// let id = schema.tree.root().members()[0];
/// let second = id.first(warpath::schema::JsonType::String).unwrap();
/// assert_eq!(schema.locate(second.position), "<bytes>:2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InputSchema {
    /// The tree. [`Position::text`] is an index of [`sources`](Self::sources), and [`Position::line`] is
    /// counted from 0 in this input.
    pub tree: SchemaTree,
    /// The names of the inputs that have records.
    pub sources: Vec<Arc<str>>,
}

impl InputSchema {
    /// A position as `name:line`, with lines counted from 1.
    #[must_use]
    pub fn locate(&self, position: Position) -> String {
        let name = usize::try_from(position.text).ok().and_then(|at| self.sources.get(at));
        format!("{}:{}", name.map_or("", |name| name), position.line + 1)
    }
}

impl SchemaTask {
    fn add(&self, thread: usize, number: u64, text: &mut Text<'_>) -> Result<Added, Error> {
        let mut added =
            Added { number, lines: 0, records: 0, faults: Vec::new(), around: None, format: None };
        let known = text.extract().and_then(|extract| task::fault(extract, text, self.strict));
        if let Some(fault) = known {
            added.faults.push(LineFault { line: 0, fault });
        } else {
            let taken = self.trees.lock().unwrap_or_else(PoisonError::into_inner).remove(&thread);
            let (mut tree, mut walker) = taken.unwrap_or_default();
            let done = match text.extract() {
                #[cfg(feature = "store")]
                Some(Extract::Schema(known)) => {
                    take_known(&mut tree, known, &mut added);
                    Ok(())
                }
                _ => self.walk(&mut tree, &mut walker, text, &mut added),
            };
            self.trees.lock().unwrap_or_else(PoisonError::into_inner).insert(thread, (tree, walker));
            done?;
        }
        if !added.faults.is_empty() && text.extract().is_none() {
            added.format = Foreign::of_lines(text.bytes());
        }
        if let (false, Some(fault)) = (self.skips, added.faults.first()) {
            let line = nth_line(text.bytes(), fault.line as usize);
            let at = fault.fault.at.min(line.len());
            let from = at.saturating_sub(AROUND);
            let to = (at + AROUND).min(line.len());
            added.around = Some((line[from..to].to_vec(), at - from));
        }
        text.forget();
        Ok(added)
    }

    /// The lines of a text that are not in the schema: those that a program does not mark, and malformed
    /// ones, which are added to `faults`.
    fn left_out(
        &self,
        text: &[u8],
        chosen: &Program,
        faults: &mut Vec<LineFault>,
    ) -> Result<Vec<u64>, Error> {
        let answer = Cpu.answer(text, chosen, Want::default().records(true))?;
        let (mut without, mut first) = (Vec::new(), 0);
        let mut strict: Vec<LineIx> = faults.iter().map(|fault| fault.line).collect();
        strict.sort_unstable();
        for piece in answer.pieces {
            let mut records = piece.records.iter().peekable();
            for line in 0..piece.lines {
                let is_marked = records.next_if(|record| **record == line).is_some();
                if !is_marked || strict.binary_search(&(first + line)).is_ok() {
                    without.push(u64::from(first + line));
                }
            }
            for fault in piece.faults {
                let fault = LineFault { line: first + fault.line, ..fault };
                if strict.binary_search(&fault.line).is_err() {
                    faults.push(fault);
                }
            }
            first += piece.lines;
        }
        Ok(without)
    }

    fn walk(
        &self,
        tree: &mut SchemaTree,
        walker: &mut Walker,
        text: &Text<'_>,
        added: &mut Added,
    ) -> Result<(), Error> {
        let bytes = text.bytes();
        let mut without = Vec::new();
        if self.strict {
            added.faults = strict::faults(bytes);
        }
        if let Some(chosen) = &self.chosen {
            without = self.left_out(bytes, chosen, &mut added.faults)?;
        } else {
            without.extend(added.faults.iter().map(|fault| u64::from(fault.line)));
        }
        // Only one worker reads if there is a limit.
        let left = self.is_limited.then(|| self.left.lock().unwrap_or_else(PoisonError::into_inner));
        let most_records = left.as_ref().map_or(u64::MAX, |left| **left);
        let options = WalkOptions { text: added.number, most_records, skips: self.skips, without: &without };
        let walked = walker.walk(tree, bytes, options);
        if let Some(mut left) = left {
            *left -= walked.records;
        }
        (added.lines, added.records) = (walked.lines, walked.records);
        for (line, start, end) in walked.suspects {
            let fault: Fault = strict::fault(&bytes[start..end])
                .ok_or_else(|| Error::Internal("a record is refused that has no fault".into()))?;
            added.faults.push(LineFault { line: line as LineIx, fault });
        }
        added.faults.retain(|fault| u64::from(fault.line) < walked.lines);
        added.faults.sort_by_key(|fault| fault.line);
        if let (Some(Extract::Whole(whole)), true) = (text.extract(), walked.records > 0) {
            // The lines of a document are found while its text is there.
            tree.relocate(|position| match position.text == added.number {
                true => Position { line: whole.place(position.offset as usize).0 - 1, ..position },
                false => position,
            });
        }
        Ok(())
    }
}

/// Adds a schema that is known without its lines.
#[cfg(feature = "store")]
fn take_known(tree: &mut SchemaTree, known: &KnownSchema, added: &mut Added) {
    added.lines = known.lines.into();
    if let Some(known) = &known.tree {
        let mut known = SchemaTree::clone(known);
        known.relocate(|position| Position { text: added.number, ..position });
        added.records = known.records();
        tree.merge(&known);
    }
}

/// A line of a text, without its line feed.
fn nth_line(text: &[u8], number: usize) -> &[u8] {
    text.split(|byte| *byte == b'\n').nth(number).unwrap_or_default()
}

impl Task for SchemaTask {
    type Output = Added;
    type Worker<'a> = ();

    fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    fn starts_slowly(&self) -> bool {
        self.is_limited
    }

    fn evaluate(&self, turn: Turn, _: &mut Option<()>, text: &mut Text<'_>, _: bool) -> Result<Added, Error> {
        self.add(turn.thread, turn.number << TEXT_BITS, text)
    }

    fn evaluate_all(
        &self,
        turn: Turn,
        _: &mut Option<()>,
        texts: &mut [Text<'_>],
        _: bool,
        results: &mut Vec<Added>,
    ) -> Result<(), Error> {
        for (at, text) in texts.iter_mut().enumerate() {
            results.push(self.add(turn.thread, turn.number << TEXT_BITS | at as u64, text)?);
        }
        Ok(())
    }
}

impl<'a> Operator<'a> for SchemaOperator {
    type Task = SchemaTask;
    type Items = option::IntoIter<SchemaPart>;

    fn take(&mut self, part: TextResult<'a, Added>) -> Taken<Self::Items> {
        let TextResult { text, result, origin, first_line } = part;
        let Added { number, lines, records, faults, around, format } = result;
        if self.sources.last() != Some(&origin.name) {
            self.sources.push(origin.name.clone());
        }
        if records > 0 {
            let is_document = matches!(text.extract(), Some(Extract::Whole(_)));
            let first_line = if is_document { 0 } else { first_line };
            self.texts.push((number, self.sources.len() as u64 - 1, first_line));
        }
        self.left = self.left.map(|left| left.saturating_sub(records));
        let format = format.filter(|_| first_line == 0);
        let errors = faults.iter().map(|fault| {
            let error = located(record_error(&origin.name, first_line, fault), text.extract());
            let input = format.and_then(|(line, format)| (line + 1 == error.line).then_some(format));
            RecordError { input, ..error }
        });
        let (mut skipped, mut error) = (Vec::new(), None);
        match self.on_error {
            OnError::Skip => skipped.extend(errors),
            OnError::Fail => error = { errors }.next().map(|fault| InputError::from(fault).into()),
        }
        let counts = Stats { lines, matches: records, skipped: skipped.len() as u64, ..Stats::default() };
        let part = SchemaPart { records, skipped, faulty: around };
        Taken { items: Some(part).into_iter(), lines, counts, error }
    }

    fn is_done(&self) -> bool {
        self.left == Some(0)
    }
}

impl<'a> Schemas<'a> {
    pub(crate) fn start(input: Request<'a>, limit: Option<u64>) -> Self {
        let trees = Trees::default();
        let operator = SchemaOperator {
            keeps_names: false,
            on_error: input.engine.on_error(),
            trees: trees.clone(),
            left: limit,
            texts: Vec::new(),
            sources: Vec::new(),
        };
        Self::new(operator, start(input, limit, trees))
    }

    /// Keeps the names of objects that look like maps, with a node for each.
    #[must_use]
    pub fn keeping_names(mut self, yes: bool) -> Self {
        self.operator.keeps_names = yes;
        self
    }

    /// The schema of all parts that were yielded. Call it when the iterator has ended without an error.
    #[must_use]
    pub fn finish(mut self) -> InputSchema {
        // The workers end before their trees are taken.
        self.running.flow = None;
        let SchemaOperator { keeps_names, trees, texts, sources, .. } = self.operator;
        let trees = std::mem::take(&mut *trees.lock().unwrap_or_else(PoisonError::into_inner));
        let mut trees = trees.into_values().map(|(tree, _)| tree);
        let mut tree = trees.next().unwrap_or_default();
        trees.for_each(|other| tree.merge(&other));
        tree.relocate(|position| {
            let at = texts.partition_point(|(number, ..)| *number < position.text);
            match texts.get(at) {
                Some((_, source, first_line)) => {
                    Position { text: *source, line: first_line + position.line, ..position }
                }
                None => position,
            }
        });
        if !keeps_names {
            tree.fold_maps();
        }
        InputSchema { tree, sources }
    }
}

fn start<'a>(
    mut input: Request<'a>,
    limit: Option<u64>,
    trees: Trees,
) -> Result<Running<'a, SchemaTask>, Error> {
    let chosen_records = input.predicate.take().map(|predicate| marking(&predicate)).transpose()?;
    let facts = input.facts();
    let whole = limit.is_none() && chosen_records.is_none();
    let (mut chosen, plan) = input.planned(Purpose::Schema, Evaluated::Schema { whole }, facts)?;
    let Request { engine, inputs, .. } = input;
    chosen.begin(Operation::Schema, || inputs.names());
    if limit.is_some() {
        chosen.workers = 1;
    }
    let (buffers, strict) = (chosen.buffers.clone(), chosen.strict);
    let skips = engine.on_error() == OnError::Skip;
    let (is_limited, left) = (limit.is_some(), Mutex::new(limit.unwrap_or(u64::MAX)));
    let task = SchemaTask { buffers, trees, strict, skips, chosen: chosen_records, is_limited, left };
    let flow = match engine.format() {
        Format::Json => Flow::documents(task, inputs, &chosen, &plan, Framing::Line, strict)?,
        _ => Flow::lines(task, inputs, &chosen, &plan)?,
    };
    Ok(Running::new(plan, flow, &chosen))
}

/// The program that marks the records for which a predicate is true.
fn marking(predicate: &Arc<Predicate>) -> Result<Program, Error> {
    Program::new(&[Query::compile("$")?])?.matching(predicate, true)
}
