//! The contract between engine and backend. Each worker evaluates one partition at a time.

use std::time::{Duration, Instant};

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::units::{Level, PartOffset};
use warpath_store::packed::PackedText;

use crate::answer::{Answer, LineFault, Want};

pub use crate::buffer::Buffer;
pub use crate::forms::Forms;
pub use crate::resident::{KeepForm, Kept, Room};
pub use crate::stage::{Evaluation, Stage};

/// A backend that indexes and queries partitions: the CPU, a CUDA device, or the emulator in tests.
///
/// All backends give the same results and the same indexes for the same text. A text consists of whole lines;
/// the last line may lack its newline. It is at most [`warpath_shared::units::MAX_PARTITION_BYTES`] long.
pub trait Backend: Send + Sync {
    /// The name of the backend in a few words, as `--stats` shows it.
    fn name(&self) -> String;

    /// The tasks that the backend does itself.
    fn abilities(&self) -> Abilities;

    /// The partition size that suits the backend, in bytes.
    fn partition_size(&self) -> usize;

    /// The number of workers that keep the backend busy with partitions of `partition_size` bytes: at least
    /// one.
    fn workers(&self, partition_size: usize) -> usize;

    /// Makes a worker, in the thread that will use it. Workers are numbered from 0 and work at the same time.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error>;

    /// The stages of an evaluation, in order, for `explain`.
    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage>;

    /// Builds the structural index of a text.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error>;

    /// Allocates memory for a partition's text, where the backend reads it best. A worker takes text from any
    /// memory.
    ///
    /// # Errors
    /// [`Error::Device`] where memory is short.
    fn buffer(&self, len: usize) -> Result<Buffer, Error>;

    /// The setup of the backend, as far as it is done.
    fn setup(&self) -> Setup;

    /// The device forms of other operators.
    fn forms(&self) -> &Forms;
}

impl dyn Backend + '_ {
    /// Evaluates a program over one text, with one worker.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    pub fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.worker(0)?.answer(text, program, want)
    }
}

/// The tasks that a backend does itself, and better than the host could do them for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// True if workers check records strictly by other means than the host's own.
    pub checks_strictly: bool,
    /// True if reading bitmaps from an index file is faster than making them.
    pub uses_index_files: bool,
    /// True if workers can leave columns in the memory of a device ([`Want::on_device`]).
    pub keeps_columns: bool,
}

/// The setup of a backend, as far as it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The time of each part of the setup. The first user of the backend pays for it; some parts run while
    /// the first partitions are read.
    pub parts: Vec<(&'static str, Duration)>,
    /// The time at which the backend was ready, if it had to be set up.
    pub ready: Option<Instant>,
    /// Problems that were overcome; they may have cost time.
    pub notes: Vec<String>,
}

/// One of a backend's workers. One thread uses it; other threads use other workers at the same time.
pub trait Worker {
    /// Evaluates a program over a text, from start to end.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails. A malformed record is no error here, but part of the result.
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// Evaluates a program over a text strictly. A record is then malformed unless it is JSON by all of RFC
    /// 8259, in UTF-8; `warpath_cpu::strict` has the rules.
    ///
    /// A worker that does not check by other means calls `warpath_cpu::strict::answer`.
    ///
    /// # Errors
    /// As for [`answer`](Self::answer).
    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// Evaluates a program over a packed text, strictly or not. The default decodes the text on the host and
    /// evaluates the decoded text.
    ///
    /// # Errors
    /// The errors of [`answer`](Self::answer), and [`Error::Usage`] if the codes are not those of the text.
    fn answer_packed(
        &mut self,
        text: &PackedText<'_>,
        program: &Program,
        want: Want,
        strict: bool,
    ) -> Result<Answer, Error> {
        let bytes = text.bytes()?;
        if strict { self.answer_strictly(bytes, program, want) } else { self.answer(bytes, program, want) }
    }
}

/// The structural index of one text. [`warpath_shared::index`] defines the bitmaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructuralIndex {
    /// The start of each line, followed by the length of the text; just `[0]` for an empty text.
    pub line_starts: Vec<PartOffset>,
    /// The string bitmap: a word for every 64 bytes. Bits past the end are zero.
    pub string: Vec<u64>,
    /// The leveled bitmaps, each as long as `string`.
    pub levels: Vec<Vec<u64>>,
    /// The faulty lines, in order.
    pub faults: Vec<LineFault>,
}
