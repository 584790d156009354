//! An index in host memory, for repeated evaluation.

use warpath_answer::answer::{Answer, LineFault, Want, finish};
use warpath_answer::backend::{Backend, Buffer, StructuralIndex};
use warpath_answer::resident::{HostText, KeepForm, Kept, Pieces};
use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::query::document::Document;
use warpath_shared::units::{Level, LineIx, PartOffset};

use super::index::{Builder, LeveledText, Structure};
use super::query::{self, IndexedLines, Scratch, answer_indexed};

/// The part of a text's index that queries read: everything except the string bitmap.
#[derive(Clone, Debug, Default)]
pub struct HostIndex {
    /// The start of each line, followed by the length of the text.
    pub line_starts: Vec<PartOffset>,
    /// The leveled bitmaps, one after another.
    pub levels: Vec<u64>,
    /// The faulty lines, in order.
    pub faults: Vec<LineFault>,
}

impl HostIndex {
    /// Indexes a text on the CPU.
    pub fn build(text: &[u8], levels: Level) -> Self {
        let mut structure = Structure::default();
        Builder { text, levels, string: false, structure: &mut structure }.build();
        let faults = structure.faults(text);
        Self { line_starts: structure.line_starts, levels: structure.levels, faults }
    }
}

impl HostIndex {
    /// Evaluates a program over a text and its levels, in any representation. Matches have only their
    /// positions.
    pub fn find<D: Document>(&self, doc: &D, program: &Program, want: Want) -> Answer {
        let lines = IndexedLines { starts: &self.line_starts, faults: &self.faults };
        answer_indexed(doc, lines, program, want.to_find(program))
    }
}

impl From<StructuralIndex> for HostIndex {
    fn from(index: StructuralIndex) -> Self {
        Self { line_starts: index.line_starts, levels: index.levels.concat(), faults: index.faults }
    }
}

impl Kept for HostIndex {
    fn answer(&self, text: &dyn HostText, program: &Program, want: Want) -> Result<Answer, Error> {
        let text = text.bytes()?;
        let answer = if program.needs_trees() {
            query::answer(text, program, want.to_find(program), &mut Scratch::default())
        } else {
            self.find(&LeveledText::new(text, &self.levels), program, want)
        };
        finish(answer, text, program, want)
    }

    fn copy_text(&self, _: &mut [u8]) -> Result<(), Error> {
        Err(Error::Internal("an index in host memory has no text".into()))
    }

    fn lines(&self) -> LineIx {
        self.line_starts.len().saturating_sub(1) as LineIx
    }

    fn memory(&self) -> u64 {
        (size_of_val(&self.line_starts[..]) + size_of_val(&self.levels[..]) + size_of_val(&self.faults[..]))
            as u64
    }
}

/// Indexes a text and keeps the data that queries read: on the device of a backend that keeps partitions,
/// otherwise on the host.
///
/// # Errors
/// As for [`KeepForm::keep`].
pub fn keep(
    backend: &dyn Backend,
    number: usize,
    text: &[u8],
    levels: Level,
) -> Result<Box<dyn Kept>, Error> {
    match backend.forms().get::<dyn KeepForm>() {
        Some(form) => {
            let read = &mut |at: usize, piece: &mut [u8]| {
                piece.copy_from_slice(&text[at..at + piece.len()]);
                Ok(())
            };
            form.keep(number, Pieces { len: text.len(), offset: 0, read }, levels)
        }
        None => Ok(Box::new(HostIndex::build(text, levels))),
    }
}

/// Allocates host memory for a text that is kept.
///
/// # Errors
/// [`Error::OutOfMemory`]; those of [`Backend::buffer`].
pub fn text_memory(backend: &dyn Backend, len: usize) -> Result<Buffer, Error> {
    match backend.forms().get::<dyn KeepForm>() {
        Some(form) => form.text_memory(len),
        None => backend.buffer(len),
    }
}
