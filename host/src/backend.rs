//! What the engine asks of a backend: one partition at a time.

use warpath_shared::units::{Level, PartOffset};

use crate::answer::{Answer, LineFault, Want};
use crate::error::Error;
use crate::program::Program;

/// Something that indexes and queries partitions: the CPU, a CUDA device, or the emulator in tests.
///
/// All backends give the same answers and the same indexes for the same text. A text is whole lines, of
/// which the last may lack its newline, and at most [`warpath_shared::units::MAX_PARTITION_BYTES`] long.
pub trait Backend: Send + Sync {
    /// The backend in a few words, as `--stats` shows it.
    fn name(&self) -> String;

    /// The partition size that suits the backend, in bytes.
    fn partition_size(&self) -> usize;

    /// What [`answer`](Self::answer) does with a program, step by step, for `explain`.
    fn stages(&self, program: &Program) -> Vec<Stage>;

    /// Answers a program over a text.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails. A malformed record is no error here, but part of the answer.
    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// Builds the structural index of a text.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error>;
}

/// One step of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Where it runs: `cpu` or `device`.
    pub place: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it does: for a device, the kernels.
    pub what: String,
}

impl Stage {
    pub(crate) fn new(place: &'static str, name: &'static str, what: impl Into<String>) -> Self {
        Self { place, name, what: what.into() }
    }
}

/// The structural index of one text. See [`warpath_shared::index`] for what the bitmaps mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructuralIndex {
    /// The start of each line, and at the end the length of the text; just `[0]` for an empty text.
    pub line_starts: Vec<PartOffset>,
    /// The string bitmap: a word for every 64 bytes, bits past the end zero.
    pub string: Vec<u64>,
    /// The leveled bitmaps, each as long as `string`.
    pub levels: Vec<Vec<u64>>,
    /// The faulty lines, in order.
    pub faults: Vec<LineFault>,
}
