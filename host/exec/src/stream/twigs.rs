//! Documents and the subscriptions that they match, one partition of lines or one document at a time.

#[cfg(feature = "arrow")]
mod arrow;
mod reuse;

use std::option;
use std::sync::Arc;

use warpath_answer::answer::{LineFault, Want};
use warpath_core::error::{Error, InputError};
use warpath_core::pool::stream::Turn;
use warpath_cpu::Cpu;
use warpath_cpu::strict;
use warpath_cpu::twig::standing::{
    self, DocumentFault, DocumentMatches, Documents, Snapshot, Standing, TwigForm, TwigWorker, fault_of,
};
use warpath_lang::program::{Program, Query};
use warpath_plan::{Bytes, Evaluated, Format, Plan, Purpose};
use warpath_shared::check::Fault;
use warpath_shared::units::ByteOffset;

use super::flow::Flow;
use super::jobs::Framing;
use super::operator::{Operator, Taken, TextResult};
use super::task::Task;
use super::{Ordered, Running, Stats};
use crate::engine::{Chosen, OnError};
use crate::input::Extract;
use crate::input::{Buffers, Text};
use crate::request::Request;
use crate::trace::Operation;

use reuse::Reuse;

/// The subscriptions of a run.
#[derive(Clone)]
pub(crate) enum Matched {
    /// The subscriptions that are current when a text is evaluated.
    Standing(Standing),
    /// The same ones for all texts.
    Fixed(Arc<Snapshot>),
}

impl Matched {
    fn current(&self) -> Arc<Snapshot> {
        match self {
            Self::Standing(standing) => standing.current(),
            Self::Fixed(snapshot) => snapshot.clone(),
        }
    }
}

/// Subscriptions that are matched against all texts of some inputs.
pub struct TwigTask {
    buffers: Arc<Buffers>,
    matched: Matched,
    documents: Documents,
    /// True if records are checked by all of RFC 8259 and for UTF-8.
    strict: bool,
    /// True if equal lines are evaluated once.
    reuses: bool,
    /// The predicate on documents, as a program whose matches are the documents for which it is true.
    only: Option<Program>,
}

/// The subscriptions that a text matches.
pub struct Matching {
    /// The subscriptions at the time of the evaluation.
    subscriptions: Arc<Snapshot>,
    found: Result<DocumentMatches, DocumentFault>,
}

/// The state of one thread.
pub struct TwigState<'a> {
    worker: Box<dyn TwigWorker + 'a>,
    reuse: Reuse,
}

impl Task for TwigTask {
    type Output = Matching;
    type Worker<'a> = TwigState<'a>;

    fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    fn evaluate<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<Self::Worker<'a>>,
        text: &mut Text<'_>,
        _surveyed: bool,
    ) -> Result<Matching, Error> {
        let subscriptions = self.matched.current();
        if let Some(Extract::Counts(counts)) = text.extract() {
            // No line can match, and none is malformed.
            let found = DocumentMatches { lines: counts.lines, ..DocumentMatches::default() };
            return Ok(Matching { subscriptions, found: Ok(found) });
        }
        let TwigState { worker, reuse } = self.worker(turn, worker)?;
        let mut evaluate = |text: &[u8]| self.lines(&mut **worker, &subscriptions, text);
        let found = match self.reuses {
            true => reuse.lines(text.bytes(), evaluate)?,
            false => evaluate(text.bytes())?,
        };
        Ok(Matching { subscriptions, found: Ok(found) })
    }

    /// Evaluates documents together.
    fn evaluate_all<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<Self::Worker<'a>>,
        texts: &mut [Text<'_>],
        surveyed: bool,
        results: &mut Vec<Matching>,
    ) -> Result<(), Error> {
        if self.documents == Documents::Ndjson {
            for text in texts {
                results.push(self.evaluate(turn, worker, text, surveyed)?);
            }
            return Ok(());
        }
        let subscriptions = self.matched.current();
        // A document that did not become one line is known to be faulty.
        let broken = |text: &Text<'_>| text.extract().and_then(Extract::fault);
        let good: Vec<&[u8]> = texts.iter().filter(|text| broken(text).is_none()).map(Text::bytes).collect();
        let found = self.worker(turn, worker)?.worker.documents(&subscriptions, &good, self.documents)?;
        let mut found = found.into_iter();
        for text in texts {
            let mut found = match broken(text) {
                Some(fault) => Err(DocumentFault::Json(fault)),
                None => found.next().unwrap_or_else(|| Ok(DocumentMatches::of_document([].into_iter()))),
            };
            if let Ok(of_document) = &mut found {
                self.restrict(text.bytes(), of_document)?;
                if let Some(fault) = of_document.faults.pop() {
                    found = Err(DocumentFault::Json(fault.fault));
                }
            }
            results.push(Matching { subscriptions: subscriptions.clone(), found });
        }
        Ok(())
    }
}

impl TwigTask {
    /// Matches lines. The result for a line depends on its bytes alone.
    fn lines(
        &self,
        worker: &mut dyn TwigWorker,
        subscriptions: &Arc<Snapshot>,
        text: &[u8],
    ) -> Result<DocumentMatches, Error> {
        let mut found = worker.lines(subscriptions, text)?;
        if self.strict {
            check_strictly(text, &mut found);
        }
        self.restrict(text, &mut found)?;
        Ok(found)
    }

    /// Removes the matches of documents for which the predicate is not true. The host evaluates it, on the
    /// documents that match any subscription. Such a document is malformed if the predicate needs a tree, and
    /// the document has none.
    fn restrict(&self, text: &[u8], found: &mut DocumentMatches) -> Result<(), Error> {
        let Some(program) = &self.only else { return Ok(()) };
        if found.pairs.is_empty() {
            return Ok(());
        }
        let (mut matched, mut numbers) = (Vec::new(), Vec::new());
        let mut pairs = found.pairs.iter().map(|(line, _)| *line).peekable();
        for (number, line) in (0..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
            if pairs.peek() == Some(&number) {
                while pairs.next_if_eq(&number).is_some() {}
                matched.extend_from_slice(line);
                numbers.push(number);
            } else if pairs.peek().is_none() {
                break;
            }
        }
        let answer = Cpu.answer(&matched, program, Want::default().matches(true))?;
        let (mut passed, mut first) = (Vec::new(), 0);
        for piece in &answer.pieces {
            let number = |line: u32| numbers.get((first + line) as usize).copied().unwrap_or_default();
            passed.extend(piece.matches.iter().flatten().map(|found| number(found.line)));
            found.faults.extend(piece.faults.iter().map(|of| LineFault { line: number(of.line), ..*of }));
            first += piece.lines;
        }
        found.faults.sort_by_key(|fault| fault.line);
        found.pairs.retain(|(line, _)| passed.binary_search(line).is_ok());
        Ok(())
    }

    /// The state of a thread, made when it is first needed.
    fn worker<'a, 'b>(
        &'a self,
        turn: Turn,
        state: &'b mut Option<TwigState<'a>>,
    ) -> Result<&'b mut TwigState<'a>, Error> {
        let made = match state.take() {
            Some(state) => state,
            None => {
                let worker = standing::worker(&**self.buffers.backend(), turn.thread)?;
                TwigState { worker, reuse: Reuse::default() }
            }
        };
        Ok(state.insert(made))
    }
}

/// Marks lines as faulty that are not JSON by all of RFC 8259, in UTF-8.
fn check_strictly(text: &[u8], found: &mut DocumentMatches) {
    found.faults = strict::faults(text);
    let mut faulty = found.faults.iter().map(|fault| fault.line).peekable();
    found.pairs.retain(|(line, _)| {
        while faulty.next_if(|faulty| faulty < line).is_some() {}
        faulty.peek() != Some(line)
    });
}

/// The error of an input that is one document.
fn located(name: &str, text: &Text<'_>, fault: DocumentFault) -> InputError {
    match (fault, text.extract()) {
        (DocumentFault::Json(fault), Some(Extract::Whole(whole))) => {
            let (line, at) = whole.place(fault.at);
            InputError::of_fault(name, line, Fault { at, ..fault })
        }
        (DocumentFault::Json(fault), _) => InputError::of_fault(name, 1, fault),
        (DocumentFault::Xml(error), _) => {
            InputError::of_xml(name, &String::from_utf8_lossy(text.bytes()), error.at, error.message)
        }
    }
}

/// The subscriptions that the documents of inputs match, in their order. See
/// [`Input::filter`](crate::operators::Input::filter). In its statistics, a match is a pair of a document and
/// a subscription.
///
/// ```
/// use warpath::twig::{Documents, Standing, Subscriptions};
/// use warpath::{Engine, Filtering};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add("dutch", "$[?@.lang == 'nl']")?;
/// let standing = Standing::new(subscriptions);
/// let input = Engine::builder().build()?.bytes("{\"user\":{\"lang\":\"en\"}}\n{\"user\":{\"lang\":\"nl\"}}\n");
/// let mut matching: Filtering = input.filter(&standing, Documents::Ndjson);
/// for filtered in &mut matching {
///     let filtered = filtered?;
///     assert_eq!(filtered.documents().map(|document| document.line()).collect::<Vec<_>>(), [Some(2)]);
/// }
/// assert_eq!(matching.stats().matches, 1);
/// # Ok(())
/// # }
/// ```
pub type Filtering<'a> = Ordered<'a, Subscriptions>;

/// The operator of subscriptions.
pub struct Subscriptions {
    documents: Documents,
    on_error: OnError,
}

impl<'a> Filtering<'a> {
    pub(crate) fn start(input: Request<'a>, matched: Matched, documents: Documents) -> Self {
        let operator = Subscriptions { documents, on_error: input.engine.on_error() };
        Self::new(operator, start(input, matched, documents))
    }
}

/// The plan of a run of subscriptions.
struct Planned {
    chosen: Chosen,
    plan: Plan,
    /// The predicate on documents, as a program.
    only: Option<Program>,
    /// True if equal lines are evaluated once.
    reuses: bool,
}

/// Plans a run of subscriptions over the inputs of a request.
fn planned(input: &mut Request<'_>, matched: &Matched, documents: Documents) -> Result<Planned, Error> {
    let is_lines = documents == Documents::Ndjson;
    let mut facts = input.facts();
    facts.format = if is_lines { Format::Ndjson } else { Format::Json };
    let tested = match matched {
        Matched::Fixed(snapshot) if facts.has_parts => Some(snapshot.projection()),
        _ => None,
    };
    let only = input.predicate.as_ref().map(|predicate| {
        let all = Program::new(&[Query::compile("$")?])?;
        all.matching(predicate, false)
    });
    let evaluated = Evaluated::Subscriptions {
        documents: !is_lines,
        xml: documents == Documents::Xml,
        tested: tested.as_ref(),
        only: only.as_ref().and_then(|only| only.as_ref().ok()),
    };
    let (chosen, plan) = input.planned(Purpose::Other, evaluated, facts)?;
    let is_partial = plan.part_columns().is_some_and(|columns| columns.members.is_some());
    // A device gains nothing from fewer lines.
    let reuses = is_partial && chosen.backend().forms().get::<dyn TwigForm>().is_none();
    Ok(Planned { chosen, plan, only: only.transpose()?, reuses })
}

/// The plan of a run of subscriptions, for `explain`.
pub struct ExplainedTwigs {
    /// The plan.
    pub plan: Plan,
    /// The way in which the bytes come.
    pub bytes: Bytes,
    /// True if parts of a store are among the inputs.
    pub has_parts: bool,
    /// True if equal lines are evaluated once.
    pub reuses: bool,
}

/// Explains a run of subscriptions over the inputs of a request.
pub(crate) fn explain(
    mut input: Request<'_>,
    matched: &Matched,
    documents: Documents,
) -> Result<ExplainedTwigs, Error> {
    let bytes = input.inputs.access();
    let has_parts = input.facts().has_parts;
    let Planned { plan, reuses, .. } = planned(&mut input, matched, documents)?;
    Ok(ExplainedTwigs { plan, bytes, has_parts, reuses })
}

fn start<'a>(
    mut input: Request<'a>,
    matched: Matched,
    documents: Documents,
) -> Result<Running<'a, TwigTask>, Error> {
    let Planned { mut chosen, plan, only, reuses } = planned(&mut input, &matched, documents)?;
    let Request { inputs, .. } = input;
    chosen.begin(Operation::Filter, || inputs.names());
    let (buffers, strict) = (chosen.buffers.clone(), chosen.strict);
    let task = TwigTask { buffers, matched, documents, strict, reuses, only };
    let flow = match documents {
        Documents::Ndjson => Flow::lines(task, inputs, &chosen, &plan)?,
        Documents::Json => Flow::documents(task, inputs, &chosen, &plan, Framing::Line, false)?,
        Documents::Xml => Flow::documents(task, inputs, &chosen, &plan, Framing::Text, true)?,
    };
    Ok(Running::new(plan, flow, &chosen))
}

impl<'a> Operator<'a> for Subscriptions {
    type Task = TwigTask;
    type Items = option::IntoIter<Filtered<'a>>;

    /// Yields the result for one text. If the engine fails at malformed documents, the result ends before the
    /// first of them.
    fn take(&mut self, part: TextResult<'a, Matching>) -> Taken<Self::Items> {
        let TextResult { text, result: Matching { subscriptions, found }, origin, first_line } = part;
        let source = origin.name;
        let selected = match text.extract() {
            Some(Extract::Lines(selected)) => Some(selected.clone()),
            _ => None,
        };
        // Selected lines lie apart. Their numbers count from the same line as those of other texts.
        let line_of = |line: u32| match &selected {
            Some(selected) => (selected.line(line.into()) - first_line) as u32,
            None => line,
        };
        let (mut faults, mut faulty, mut fault_at) = (Vec::new(), Vec::new(), None);
        let (mut lines, mut pairs, mut is_blank) = (1, Vec::new(), false);
        match found {
            Err(fault) => faults.push(located(&source, &text, fault)),
            Ok(found) => {
                (lines, pairs, is_blank) = (u64::from(found.lines), found.pairs, found.is_blank);
                lines += selected.as_ref().map_or(0, |selected| selected.left_out);
                pairs.iter_mut().for_each(|(line, _)| *line = line_of(*line));
                let is_first = first_line == 0 && selected.is_none() && self.documents == Documents::Ndjson;
                let of_line = |LineFault { line, fault, .. }: LineFault| match fault_of(
                    &source,
                    first_line,
                    line_of(line),
                    fault,
                ) {
                    InputError::Record(error) if is_first => error.in_text(text.bytes()).into(),
                    error => error,
                };
                faulty = found.faults.iter().map(|fault| fault.line).collect();
                fault_at = found.faults.first().map(|fault| (fault.line, fault.fault.at));
                faults.extend(found.faults.into_iter().map(of_line));
            }
        }
        let mut error = None;
        if self.on_error == OnError::Fail && !faults.is_empty() {
            lines = fault_at.map_or(0, |(line, _)| line_of(line).into());
            pairs.truncate(pairs.partition_point(|(line, _)| u64::from(*line) < lines));
            faulty.clear();
            error = faults.drain(..).next().map(Error::from);
        }
        let counts =
            Stats { lines, matches: pairs.len() as u64, skipped: faults.len() as u64, ..Stats::default() };
        let faulty_lines = faulty.iter().map(|line| line_of(*line)).collect();
        let filtered = Filtered {
            text,
            source,
            first_line,
            is_lines: self.documents == Documents::Ndjson,
            // A group of a part has fewer.
            lines: lines as u32,
            pairs,
            faults,
            is_blank,
            faulty,
            faulty_lines,
            fault_at,
            subscriptions,
        };
        Taken { items: Some(filtered).into_iter(), lines, counts, error }
    }
}

/// The subscriptions that the documents of a partition match, or those that an input matches that is one
/// document.
///
/// ```
/// use warpath::twig::{Documents, Standing, Subscriptions};
/// use warpath::Engine;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add("dutch", "$[?@.lang == 'nl']")?;
/// let standing = Standing::new(subscriptions);
/// let input = Engine::builder().build()?.bytes("{\"user\":{\"lang\":\"en\"}}\n{\"user\":{\"lang\":\"nl\"}}\n");
/// let filtered = input.filter(&standing, Documents::Ndjson).next().unwrap()?;
/// assert_eq!(filtered.lines(), 2);
/// // The second line matches the subscription with the number 0.
/// assert_eq!(filtered.pairs(), [(1, 0)]);
/// # Ok(())
/// # }
/// ```
pub struct Filtered<'a> {
    text: Text<'a>,
    source: Arc<str>,
    first_line: u64,
    is_lines: bool,
    lines: u32,
    pairs: Vec<(u32, u32)>,
    /// The errors of the documents that were skipped.
    faults: Vec<InputError>,
    is_blank: bool,
    /// The faulty lines of the text.
    faulty: Vec<u32>,
    /// The same lines, as the input counts them.
    faulty_lines: Vec<u32>,
    /// The first faulty line of the text, and the byte in it at which the fault was found.
    fault_at: Option<(u32, usize)>,
    subscriptions: Arc<Snapshot>,
}

impl Filtered<'_> {
    /// The input's name: a file's path, or `<stdin>`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text. Where [`Input::filter_partial`](crate::operators::Input::filter_partial) reads a part of a
    /// store, it has the members of records that were read, of the lines that can match, and all of the
    /// malformed lines.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.text.bytes()
    }

    /// The offset of the text in its input, in decompressed bytes.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.text.offset()
    }

    /// The number of the first line in its input, counted from 0.
    #[must_use]
    pub fn first_line(&self) -> u64 {
        self.first_line
    }

    /// The number of lines, blank and faulty ones too, up to a faulty line at which the results end; 1 for
    /// one document.
    #[must_use]
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// The subscriptions at the time of the evaluation.
    #[must_use]
    pub fn subscriptions(&self) -> &Arc<Snapshot> {
        &self.subscriptions
    }

    /// Pairs of a line, counted from 0, and the number of a subscription that its document matches,
    /// ascending.
    #[must_use]
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// The documents that match at least one subscription.
    pub fn documents(&self) -> impl Iterator<Item = FoundDocument<'_>> {
        self.pairs.chunk_by(|a, b| a.0 == b.0).map(|pairs| FoundDocument { filtered: self, pairs })
    }

    /// The documents that match, each with its text, without a newline.
    pub fn documents_with_text(&self) -> impl Iterator<Item = (FoundDocument<'_>, &[u8])> {
        let (mut rest, mut next) = (self.text(), 0);
        self.documents().map(move |document| {
            if !self.is_lines {
                return (document, self.text());
            }
            let number = document.pairs[0].0;
            let mut line = &rest[..0];
            while next <= number {
                let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                line = &rest[..len];
                rest = rest.get(len + 1..).unwrap_or_default();
                next += 1;
            }
            (document, line)
        })
    }

    /// The lines, counted from 0, whose documents were malformed and skipped, ascending.
    #[must_use]
    pub fn faulty_lines(&self) -> &[u32] {
        &self.faulty_lines
    }

    /// True if the input should be one JSON document, and is only white space.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// The errors of malformed documents that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = &InputError> {
        self.faults.iter()
    }

    /// Takes out the errors of [`skipped`](Self::skipped).
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn take_skipped(&mut self) -> Vec<InputError> {
        std::mem::take(&mut self.faults)
    }

    /// The text of a malformed document that was skipped, by the number of its error among
    /// [`skipped`](Self::skipped). Counts lines to find it.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn skipped_text(&self, number: usize) -> &[u8] {
        match self.faulty.get(number) {
            Some(line) if self.is_lines => self.line(*line).unwrap_or_default(),
            _ => self.text(),
        }
    }

    /// A line of the text, without its newline.
    fn line(&self, line: u32) -> Option<&[u8]> {
        self.text().split(|byte| *byte == b'\n').nth(line as usize)
    }

    /// The first malformed line, without its newline, and the byte in it at which the fault was found. Under
    /// [`OnError::Fail`], that is the fault of the error that follows. Counts lines to find it.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn faulty_line(&self) -> Option<(&[u8], usize)> {
        let (line, at) = self.fault_at?;
        Some((self.line(line)?, at))
    }
}

/// A document that matches at least one subscription.
///
/// ```
/// use warpath::twig::{Documents, Standing, Subscriptions};
/// use warpath::Engine;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add("dutch", "$[?@.lang == 'nl']")?;
/// let standing = Standing::new(subscriptions);
/// let input = Engine::builder().build()?.bytes("{\"user\":{\"lang\":\"en\"}}\n{\"user\":{\"lang\":\"nl\"}}\n");
/// let filtered = input.filter(&standing, Documents::Ndjson).next().unwrap()?;
/// let document = filtered.documents().next().unwrap();
/// assert_eq!(document.line(), Some(2));
/// assert_eq!(document.ids().collect::<Vec<_>>(), ["dutch"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct FoundDocument<'a> {
    filtered: &'a Filtered<'a>,
    pairs: &'a [(u32, u32)],
}

impl<'a> FoundDocument<'a> {
    /// The line of the document in its input, from 1 on; `None` if the document is the whole input.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.filtered.is_lines.then(|| self.filtered.first_line + u64::from(self.pairs[0].0) + 1)
    }

    /// The numbers of the subscriptions that the document matches, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.pairs.iter().map(|(_, number)| *number as usize)
    }

    /// The ids of the subscriptions that the document matches.
    pub fn ids(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let subscriptions = &self.filtered.subscriptions;
        self.numbers().filter_map(|number| subscriptions.id(number))
    }
}
