//! Partitions that are evaluated with an index file, on the CPU.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use warpath_answer::answer::{Want, finish};
use warpath_answer::backend::Kept;
use warpath_core::error::{Error, InputError};
use warpath_core::pool::cores;
use warpath_core::pool::stream::{Limits, each};
use warpath_core::stamp::hash;
use warpath_cpu::Cpu;
use warpath_cpu::host_index::HostIndex;
use warpath_cpu::strict::Checked;
use warpath_lang::program::Program;
use warpath_shared::units::Level;

use super::layout::PartitionEntry;
use super::sparse::{self, Sparse};
use super::{CheckedIndex, IndexFile};
use crate::engine::Chosen;
use crate::input::{Buffers, PlainFile, Text};
use crate::stream::{Origin, Store, Stored};

/// An index file with its input.
pub(super) struct FileStore {
    index: IndexFile,
    /// Partitions that are evaluated: the first ones of the index.
    partitions: usize,
    input: Arc<PlainFile>,
    origin: Origin,
    buffers: Arc<Buffers>,
    /// True if the text is checked too, and not only its index.
    strict: bool,
    /// True if the caller named the index, so that its damage is an error.
    is_named: bool,
    /// Scratch memory that is free at the moment.
    scratch: Mutex<Vec<Scratch>>,
}

/// Memory that a partition's index is read into.
#[derive(Default)]
struct Scratch {
    bytes: Vec<u8>,
    index: HostIndex,
}

impl FileStore {
    pub fn new(checked: &CheckedIndex, chosen: &Chosen, is_named: bool) -> Self {
        let CheckedIndex { index, input, input_name, partitions, .. } = checked;
        let origin = Origin { name: input_name.clone(), input: 1, returns: false };
        let (index, input, buffers) = (index.clone(), input.clone(), chosen.buffers.clone());
        let (partitions, strict, scratch) = (*partitions, chosen.strict, Mutex::default());
        Self { index, partitions, input, origin, buffers, strict, is_named, scratch }
    }

    fn scratch(&self) -> Scratch {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// The index of a partition, made of its text.
    fn indexed(&self, entry: &PartitionEntry, levels: Level) -> Result<HostIndex, Error> {
        let len = entry.len as usize;
        let mut buffer = self.buffers.take(len)?;
        self.input.read_exact(&mut buffer[..len], entry.offset)?;
        Ok(HostIndex::build(&buffer[..len], levels))
    }

    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }
}

impl Store for FileStore {
    fn origin(&self, number: usize) -> Option<Origin> {
        (number < self.partitions).then(|| self.origin.clone())
    }

    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error> {
        let since = Instant::now();
        let entry = self.index.0.entry(number)?;
        let mut scratch = self.scratch();
        match self.index.0.read(number, program.levels(), &mut scratch.bytes, &mut scratch.index) {
            Err(Error::Index(_)) if !self.is_named => {
                scratch.index = self.indexed(entry, program.levels())?;
            }
            read => read?,
        }
        let len = entry.len as usize;
        let mut buffer = self.buffers.take(len)?;
        let text = &mut buffer[..len];
        // The receiver of the text may read all of it.
        let mut is_given = want.matches || want.records || !scratch.index.faults.is_empty();
        let (answer, reading);
        if self.strict || is_given || program.needs_trees() || !sparse::pays(entry) {
            self.input.read_exact(text, entry.offset)?;
            reading = since.elapsed();
            let checked = if self.strict { Checked::of(text) } else { Checked::default() };
            if checked.first_fault().is_some() {
                // Faulty lines become blank for the evaluation, and there is no index of that text.
                answer = checked.answer(text, program, want, |text| Cpu.answer(text, program, want))?;
                is_given = true;
            } else {
                answer = scratch.index.answer(&&*text, program, want)?;
                // The evaluation with trees may find faults that are not in the index.
                is_given |= answer.pieces.iter().any(|piece| !piece.faults.is_empty());
            }
        } else {
            reading = since.elapsed();
            let doc = Sparse::new(&self.input, entry.offset, text, &scratch.index.levels);
            let found = scratch.index.find(&doc, program, want);
            doc.read_matches(&found)?;
            answer = finish(found, text, program, want)?;
        }
        self.give_back(scratch);
        let mut text = Text::lent(buffer, 0..len, entry.offset);
        if !is_given {
            // The next read then uses the same buffer, whose bytes are in the cache.
            text.forget();
        }
        Ok(Stored { text, answer, reading, answering: since.elapsed().saturating_sub(reading) })
    }
}

/// Checks that no partition's text has changed. `changed` makes the error for the first that has.
pub(super) fn check_texts(
    input: &PlainFile,
    table: &[PartitionEntry],
    changed: impl Fn(&PartitionEntry) -> Error,
) -> Result<(), Error> {
    let is_same = |bytes: &mut Vec<u8>, entry: &PartitionEntry| {
        bytes.resize(entry.len as usize, 0);
        match input.read_exact(bytes, entry.offset) {
            Ok(()) => Ok(hash(bytes) == entry.text),
            Err(Error::Input(InputError::Io { source, .. }))
                if source.kind() == io::ErrorKind::UnexpectedEof =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    };
    let mut entries = table.iter();
    each(Limits::of(cores()), table.iter(), is_same, |same| match (same?, entries.next()) {
        (false, Some(entry)) => Err(changed(entry)),
        _ => Ok(()),
    })
}
