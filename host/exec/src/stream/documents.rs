//! The evaluation of documents, as one record or by their elements, and the time at which results may be
//! yielded.
//!
//! A document that is evaluated by its elements is first surveyed. Its parts are evaluated, and their results
//! are held, until the array has ended and no fault was found in it or around it. The held results are
//! limited. Beyond the limit, parts are only checked; if the document is good, those parts are evaluated in a
//! second pass:
//!
//! ```text
//! parts        0   1   2   3   4   5   6   7
//! survey       ■   ■   ■   ·   ·   ·   ·   ·      ■ evaluated and held   · only checked
//! yielded      0   1   2   then evaluated:  3   4   5   6   7
//! ```
//!
//! Memory is therefore bounded, and a malformed document has no results. A query with few results, or a
//! count, reads the file once.

use std::collections::VecDeque;
use std::sync::Arc;

use warpath_answer::answer::Piece;
use warpath_core::error::{Error, InputError};
use warpath_lang::elements::Split;

use super::jobs::{Document, DocumentJobs, Framing, Jobs, Origin};
use super::operator::{Conduct, JobOutcome};
use super::task::{Answered, ProgramTask, Work};
use super::workers::{self, Done, Workers};
use crate::document::{Around, Head, Parts};
use crate::engine::Chosen;
use crate::input::{OpenedSource, PlainFile, Source, Text};

/// The most results that are held, in partitions' worth and in bytes.
const HELD_PARTITIONS: usize = 16;
const MOST_HELD: usize = 256 << 20;

/// Processes documents, one after the other.
pub(super) struct Conductor {
    sources: std::vec::IntoIter<Source>,
    chosen: Chosen,
    work: Work,
    /// The split of the program's paths at an array, if they have one.
    split: Option<Arc<Split>>,
    /// The origin of the current document, or of the last one that was handed out.
    origin: Origin,
    stage: DocumentStage,
    /// The work that follows the current documents.
    next: Option<Upcoming>,
    /// The reasons why documents were evaluated as one record.
    notes: Vec<String>,
}

enum Upcoming {
    Elements(Arc<Parts>, Arc<str>),
    Error(Error),
}

enum DocumentStage {
    /// Documents as one record each.
    Whole,
    Survey(Survey),
    /// The elements of a document that has been surveyed.
    Elements,
}

struct Survey {
    parts: Arc<Parts>,
    /// The number of the part that is taken next.
    number: u64,
    held: VecDeque<(Text<'static>, Answered)>,
    held_bytes: usize,
    /// The first part that needs a second pass.
    again: Option<u64>,
}

/// Bytes that a result and its text take while they are held.
fn held_bytes((text, Answered { answer, .. }): &(Text<'_>, Answered)) -> usize {
    let of_piece = |piece: &Piece| {
        let matches: usize = piece.matches.iter().map(|list| size_of_val(&list[..])).sum();
        matches + piece.texts.iter().map(Vec::len).sum::<usize>()
    };
    text.bytes().len() + answer.pieces.iter().map(of_piece).sum::<usize>()
}

/// True if a result has exactly `elements` lines, and no faulty one.
fn is_regular(texts: &VecDeque<(Text<'_>, Answered)>, elements: u64) -> bool {
    let mut pieces = texts.iter().flat_map(|(_, answered)| &answered.answer.pieces);
    let lines: u64 = pieces.clone().map(|piece| u64::from(piece.lines)).sum();
    lines == elements && pieces.all(|piece| piece.faults.is_empty())
}

fn changed(name: &Arc<str>) -> Error {
    let source = std::io::Error::other("the file has changed while it was read");
    InputError::Io { name: name.to_string(), source }.into()
}

impl Conductor {
    /// With `parts`, large documents are evaluated by the elements of an array, if the program has one.
    pub fn new(sources: Vec<Source>, chosen: Chosen, work: Work, parts: bool) -> Self {
        let split = if parts { Split::of(&work.program).ok().map(Arc::new) } else { None };
        let (origin, next, notes) = (Origin::default(), None, Vec::new());
        let sources = sources.into_iter();
        Self { sources, chosen, work, split, origin, stage: DocumentStage::Whole, next, notes }
    }

    /// Opens a document. Prepares it to be evaluated by its elements, if that is possible.
    fn prepare(&mut self, source: Source) -> Result<Prepared, Error> {
        let Some(split) = &self.split else { return Ok(Prepared::Whole(Document::Source(source))) };
        if source.plain_bytes() <= self.chosen.partition_size as u64 {
            return Ok(Prepared::Whole(Document::Source(source)));
        }
        let name: Arc<str> = source.name().into();
        let file = match source.open(self.chosen.decoders)? {
            OpenedSource::Plain(file) => Arc::new(file),
            OpenedSource::Held(bytes) => Arc::new(PlainFile::held(bytes, name.clone())),
            #[cfg(feature = "store")]
            OpenedSource::Stored(_) | OpenedSource::Loaded(_) => return Err(changed(&name)),
            OpenedSource::Sequence(_) | OpenedSource::Followed(_) => return Err(changed(&name)),
        };
        Ok(match Head::find(&file, split)? {
            Some(head) => {
                let parts = Parts::new(file, head, split.clone(), self.chosen.partition_size);
                Prepared::Elements(Arc::new(parts), name)
            }
            None => {
                self.notes.push(note(&name, &format!("{} is not an array near the start", split.path)));
                Prepared::Whole(Document::Plain(file, name))
            }
        })
    }

    /// Workers on documents as one record each.
    fn whole(&mut self, sources: VecDeque<Document>) -> Result<Workers<ProgramTask>, Error> {
        self.stage = DocumentStage::Whole;
        let (origin, count) = (self.origin.clone(), sources.len());
        self.origin.input += count;
        let documents = DocumentJobs {
            origin,
            sources,
            size: self.chosen.partition_size,
            framing: Framing::Line,
            // Strict checks find no value in an empty document.
            with_empty: self.chosen.strict,
            together: false,
            decoders: self.chosen.decoders,
            failed: false,
        };
        let task = self.work.clone().task(&self.chosen);
        workers::start(task, Jobs::Documents(documents), &self.chosen)
    }

    /// Workers on the elements of a document, from a part on.
    fn elements(&self, parts: &Arc<Parts>, next: u64) -> Result<Workers<ProgramTask>, Error> {
        let feed = Jobs::Elements { parts: parts.clone(), origin: self.origin.clone(), next };
        // Every part is read to its end.
        let want = self.work.want.without_limit();
        let work = Work { program: parts.split.elements.clone(), want, ..self.work.clone() };
        workers::start(work.task(&self.chosen), feed, &self.chosen)
    }

    /// Workers on a document that cannot be evaluated by its elements.
    fn as_one(&mut self, parts: &Parts, why: &str) -> Result<Workers<ProgramTask>, Error> {
        let name = self.origin.name.clone();
        self.notes.push(note(&name, why));
        self.origin.input -= 1;
        self.whole(VecDeque::from([Document::Plain(parts.file().clone(), name)]))
    }
}

impl Conduct<ProgramTask> for Conductor {
    /// The workers on the next documents; `None` at the end.
    fn advance(&mut self) -> Option<Result<Workers<ProgramTask>, Error>> {
        if let DocumentStage::Survey(survey) = &self.stage {
            // The file ends before the array.
            let parts = survey.parts.clone();
            return Some(self.as_one(&parts, "its array is not closed"));
        }
        self.stage = DocumentStage::Whole;
        if self.next.is_none() {
            let mut sources = VecDeque::new();
            while let Some(source) = self.sources.next() {
                match self.prepare(source) {
                    Ok(Prepared::Whole(document)) => {
                        let open = matches!(document, Document::Plain(..));
                        sources.push_back(document);
                        // At most one file is kept open.
                        if open {
                            break;
                        }
                    }
                    Ok(Prepared::Elements(parts, name)) => {
                        self.next = Some(Upcoming::Elements(parts, name));
                        break;
                    }
                    Err(error) => {
                        self.next = Some(Upcoming::Error(error));
                        break;
                    }
                }
            }
            if !sources.is_empty() {
                return Some(self.whole(sources));
            }
        }
        match self.next.take()? {
            Upcoming::Error(error) => {
                self.sources = Vec::new().into_iter();
                Some(Err(error))
            }
            Upcoming::Elements(parts, name) => {
                self.origin = Origin { name, input: self.origin.input + 1, returns: false };
                let workers = self.elements(&parts, 0);
                let held = VecDeque::new();
                self.stage =
                    DocumentStage::Survey(Survey { parts, number: 0, held, held_bytes: 0, again: None });
                Some(workers)
            }
        }
    }

    fn take(&mut self, done: &mut Done<'static, Answered>) -> Result<JobOutcome<ProgramTask>, Error> {
        let texts = std::mem::take(&mut done.evaluated.texts);
        let note = done.evaluated.note.unwrap_or_default();
        let survey = match &mut self.stage {
            DocumentStage::Whole => return Ok(JobOutcome::Given(texts)),
            DocumentStage::Elements => {
                if note.irregular.is_some() || !is_regular(&texts, note.elements) {
                    return Err(done.evaluated.error.take().unwrap_or_else(|| changed(&self.origin.name)));
                }
                return Ok(JobOutcome::Given(texts));
            }
            DocumentStage::Survey(survey) => survey,
        };
        if let Some(error) = done.evaluated.error.take() {
            return Err(error);
        }
        let parts = survey.parts.clone();
        survey.number += 1;
        if let Some(irregular) = note.irregular {
            return Ok(JobOutcome::Instead(self.as_one(&parts, &irregular.to_string())?));
        }
        if !is_regular(&texts, note.elements) {
            return Ok(JobOutcome::Instead(self.as_one(&parts, "an element is malformed")?));
        }
        if survey.again.is_none() {
            survey.held_bytes += texts.iter().map(held_bytes).sum::<usize>();
            survey.held.extend(texts);
            if survey.held_bytes > MOST_HELD.min(HELD_PARTITIONS * self.chosen.partition_size) {
                survey.again = Some(survey.number);
                parts.survey(true);
            }
        }
        let Some(closed) = note.closed else { return Ok(JobOutcome::Held) };
        let (held, again) = (std::mem::take(&mut survey.held), survey.again);
        let Some(around) = Around::read(parts.file(), &parts.head, closed)? else {
            return Ok(JobOutcome::Instead(self.as_one(&parts, "too much text follows its array")?));
        };
        if !around.judge(&parts.split, self.chosen.strict)? {
            let why = "the text around its array is malformed or affects the matches";
            return Ok(JobOutcome::Instead(self.as_one(&parts, why)?));
        }
        parts.survey(false);
        let workers = match again.filter(|next| parts.has(*next)) {
            Some(next) => Some(self.elements(&parts, next)?),
            None => None,
        };
        self.stage = DocumentStage::Elements;
        Ok(JobOutcome::Surveyed(held, workers))
    }

    /// The reasons why documents that could be split were not evaluated by their elements.
    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// A document that is ready to be evaluated.
enum Prepared {
    Whole(Document),
    Elements(Arc<Parts>, Arc<str>),
}

fn note(name: &Arc<str>, why: &str) -> String {
    format!("{name}: evaluated as one record, because {why}")
}
