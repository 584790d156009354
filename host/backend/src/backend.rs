//! The contract between engine and backend. Each worker evaluates one partition at a time.

pub mod together;

use std::time::{Duration, Instant};

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::units::{Level, LineIx, PartOffset};
use warpath_store::packed::text::PackedText;

use crate::answer::{Answer, LineFault, Want};
use crate::bitmap::maker::BitmapMaker;
use crate::cpu::{self, HostIndex};
use crate::strict::Checked;
use crate::twig::Documents;
use crate::twig::standing::{CpuTwigs, TwigWorker};

pub use crate::buffer::Buffer;
pub use crate::stage::{Evaluation, Stage};
pub use together::Together;

/// A backend that indexes and queries partitions: the CPU, a CUDA device, or the emulator in tests.
///
/// All backends give the same results and the same indexes for the same text. A text consists of whole lines;
/// the last line may lack its newline. It is at most [`warpath_shared::units::MAX_PARTITION_BYTES`] long.
pub trait Backend: Send + Sync {
    /// The name of the backend in a few words, as `--stats` shows it.
    fn name(&self) -> String;

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

    /// Makes a worker that evaluates subscriptions on documents, in the thread that will use it.
    ///
    /// The default is the CPU's worker. A backend with its own implementation overrides it.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn twig_worker(&self, number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
        let _ = number;
        Ok(Box::new(CpuTwigs::default()))
    }

    /// The stages of a [`twig_worker`](Self::twig_worker) for documents of a kind, in order, for `explain`.
    fn twig_stages(&self, documents: Documents) -> Vec<Stage> {
        cpu::stages::of_documents(documents).into_iter().map(|row| row.stage(0)).collect()
    }

    /// The stages of an evaluation, in order, for `explain`.
    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage>;

    /// Returns whether the backend's workers check records strictly by other means than the host's own.
    fn checks_strictly(&self) -> bool {
        false
    }

    /// Builds the structural index of a text.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error>;

    /// Indexes a text and keeps the data that queries read, where the backend reads it best. The result is
    /// for repeated evaluation. Partitions of neighbouring numbers may be evaluated at the same time.
    ///
    /// The default keeps the index in host memory and evaluates queries on the CPU.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails, or has too little memory.
    fn keep(&self, number: usize, text: &[u8], levels: Level) -> Result<Box<dyn Kept>, Error> {
        let _ = number;
        Ok(Box::new(HostIndex::from(self.index(text, levels)?)))
    }

    /// The best size of kept partitions, in bytes, and the number of them that are indexed or evaluated at
    /// the same time.
    fn kept_partitions(&self) -> (usize, usize) {
        let size = self.partition_size();
        (size, self.workers(size))
    }

    /// The best size, in bytes, for parts of a text that is in [buffers](Self::buffer) already. The second
    /// number is that of the workers that should take them at the same time. For callers that did not read
    /// their text from a file, as `bench-flow`.
    fn buffered_partitions(&self) -> (usize, usize) {
        let size = self.partition_size();
        (size, self.workers(size))
    }

    /// Estimates the memory of the backend's own that an index takes while it is made and queried, and the
    /// memory that is free. `bytes` is the length of the text, which is cut into partitions of
    /// `partition_size`. Returns `None` where the index is in host memory.
    ///
    /// # Errors
    /// [`Error::Device`] if the device does not report how much memory it has.
    fn room_to_keep(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Option<Room>, Error> {
        let _ = (bytes, partition_size, levels);
        Ok(None)
    }

    /// The maker of the bitmaps of a bitmap index. The default is the CPU; a backend with its own
    /// implementation overrides it.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn bitmap_maker(&self) -> Result<BitmapMaker, Error> {
        Ok(BitmapMaker::cpu())
    }

    /// Returns whether reading bitmaps from an index file is faster than making them.
    fn uses_index_files(&self) -> bool {
        false
    }

    /// Returns whether the backend's workers take packed text as it is ([`Worker::answer_packed`]) and decode
    /// it faster than the host.
    fn answers_packed(&self) -> bool {
        false
    }

    /// Allocates memory for a partition's text, where the backend reads it best. A worker takes text from any
    /// memory.
    ///
    /// # Errors
    /// [`Error::Device`] where memory is short.
    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        Ok(Buffer::from(vec![0; len]))
    }

    /// The time that each finished part of the backend's setup took.
    fn setup(&self) -> Vec<(&'static str, Duration)> {
        Vec::new()
    }

    /// Problems that the backend met and recovered from; `--stats` shows them.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The time at which the backend became ready to answer: `None` if it needs no setup, or is not ready
    /// yet. The time may be later than the first call.
    fn ready(&self) -> Option<Instant> {
        None
    }

    /// Evaluates a program over one text, with one worker.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.worker(0)?.answer(text, program, want)
    }
}

/// One of a backend's workers. One thread uses it; other threads use other workers at the same time.
pub trait Worker {
    /// Evaluates a program over a text, from start to end.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails. A malformed record is no error here, but part of the result.
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// Evaluates a program over a text strictly. A record is then malformed unless it is JSON by all of RFC
    /// 8259, in UTF-8; [`crate::strict`] has the rules.
    ///
    /// The default checks the text on the host and evaluates the checked text.
    ///
    /// # Errors
    /// As for [`answer`](Self::answer).
    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        Checked::of(text).answer(text, program, want, |text| self.answer(text, program, want))
    }

    /// Evaluates a program over a packed text, strictly or not. The default decodes the text on the host and
    /// evaluates the decoded text.
    ///
    /// # Errors
    /// As for [`answer`](Self::answer); [`Error::Input`] if the text is damaged.
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

/// A partition that a backend has indexed and keeps.
pub trait Kept: Send + Sync {
    /// Evaluates a program that reads no more levels than are kept. `text` is the text that was indexed.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// The number of lines of the partition.
    fn lines(&self) -> LineIx;

    /// The number of bytes that the partition takes where it is kept, without the text in host memory.
    fn memory(&self) -> u64;
}

/// An amount of memory that is needed, and the amount that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes needed.
    pub needed: u64,
    /// Bytes free.
    pub free: u64,
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
