//! What the engine asks of a backend: workers, each of which answers one partition after the other.

pub mod together;

use std::time::{Duration, Instant};

use warpath_shared::units::{Level, LineIx, PartOffset};

use crate::answer::{Answer, LineFault, Want};
use crate::bitmap::maker::BitmapMaker;
use crate::cpu::HostIndex;
use crate::strict::Checked;
use crate::twig::Documents;
use crate::twig::standing::{CpuTwigs, TwigWorker};
use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_store::packed::text::PackedText;

pub use crate::buffer::Buffer;
pub use together::Together;

/// Something that indexes and queries partitions: the CPU, a CUDA device, or the emulator in tests.
///
/// All backends give the same answers and the same indexes for the same text. A text is whole lines, of
/// which the last may lack its newline, and at most [`warpath_shared::units::MAX_PARTITION_BYTES`] long.
pub trait Backend: Send + Sync {
    /// The backend in a few words, as `--stats` shows it.
    fn name(&self) -> String;

    /// The partition size that suits the backend, in bytes.
    fn partition_size(&self) -> usize;

    /// How many workers it takes to keep the backend busy with partitions of a size: at least one.
    fn workers(&self, partition_size: usize) -> usize;

    /// Makes a worker, in the thread that will use it. Workers have numbers from 0 on, and are at work at the same time.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error>;

    /// Makes a worker that asks subscriptions of documents, likewise: the CPU's, but where the backend has a way of its own.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn twig_worker(&self, number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
        let _ = number;
        Ok(Box::new(CpuTwigs::default()))
    }

    /// What such a worker does with documents, step by step, for `explain`.
    fn twig_stages(&self, documents: Documents) -> Vec<Stage> {
        let read = match documents {
            Documents::Ndjson => "tokens, links and faults of each record (every worker)",
            Documents::Json => "tokens, links and faults of each document (every worker)",
            Documents::Xml => "elements, attributes and text of each document (every worker)",
        };
        let ask = "all subscriptions at once, by a bit for each node, on what their names and values touch";
        vec![Stage::new("cpu", "tree", read), Stage::new("cpu", "twigs", ask)]
    }

    /// What a worker does with a program, step by step, for `explain`.
    fn stages(&self, program: &Program) -> Vec<Stage>;

    /// The same where records are checked by all of RFC 8259 and for UTF-8, too.
    fn strict_stages(&self, program: &Program) -> Vec<Stage> {
        let what = "each record by RFC 8259, its bytes as UTF-8 (the worker that read it, on the host)";
        [vec![Stage::new("cpu", "validate", what)], self.stages(program)].concat()
    }

    /// Whether its workers check records strictly by other means than the host's own.
    fn checks_strictly(&self) -> bool {
        false
    }

    /// Builds the structural index of a text.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error>;

    /// Indexes a text and keeps what queries read, where the backend reads it best, to be asked again and again. Partitions of
    /// neighbouring numbers may be asked at the same time.
    ///
    /// What a backend that has no way of its own keeps is in the memory of the host, and asked on the CPU.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails, or has no room.
    fn keep(&self, number: usize, text: &[u8], levels: Level) -> Result<Box<dyn Kept>, Error> {
        let _ = number;
        Ok(Box::new(HostIndex::from(self.index(text, levels)?)))
    }

    /// The size, in bytes, that suits partitions that are kept, and how many of them are indexed or asked at the same time.
    fn kept_partitions(&self) -> (usize, usize) {
        let size = self.partition_size();
        (size, self.workers(size))
    }

    /// The size, in bytes, that suits parts of a text that is in [buffers](Self::buffer) already, and how many workers should take
    /// them at the same time: for who hands text to workers that it has not read from a file, as `bench-flow` does.
    fn buffered_partitions(&self) -> (usize, usize) {
        let size = self.partition_size();
        (size, self.workers(size))
    }

    /// About how many bytes of the backend's own memory an index of so many bytes of text, in partitions of a size, takes while it
    /// is made and asked, and how many are free; `None` where it is in the memory of the host.
    ///
    /// # Errors
    /// [`Error::Device`] if the device does not say how much it has.
    fn room_to_keep(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Option<Room>, Error> {
        let _ = (bytes, partition_size, levels);
        Ok(None)
    }

    /// What makes the bitmaps of a bitmap index: the CPU, but where the backend has a way of its own.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn bitmap_maker(&self) -> Result<BitmapMaker, Error> {
        Ok(BitmapMaker::cpu())
    }

    /// Whether bitmaps are read from an index file faster than they are made.
    fn uses_index_files(&self) -> bool {
        false
    }

    /// Whether its workers take packed text as it is ([`Worker::answer_packed`]), and decode it faster than the host.
    fn answers_packed(&self) -> bool {
        false
    }

    /// Memory for a partition's text, where the backend reads it best. A worker takes text from anywhere.
    ///
    /// # Errors
    /// [`Error::Device`] where memory is short.
    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        Ok(Buffer::from(vec![0; len]))
    }

    /// How long each part of making the backend took, of those that are done.
    fn setup(&self) -> Vec<(&'static str, Duration)> {
        Vec::new()
    }

    /// What went otherwise than it should, and was made good: `--stats` shows it.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// When the backend was ready to answer, if it had to be made and is: that may be after it was first asked.
    fn ready(&self) -> Option<Instant> {
        None
    }

    /// Answers a program over one text, with one worker.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.worker(0)?.answer(text, program, want)
    }
}

/// One of a backend's workers: used by one thread, beside others.
pub trait Worker {
    /// Answers a program over a text, from start to end.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails. A malformed record is no error here, but part of the answer.
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// The same where a record that is not JSON by all of RFC 8259, in UTF-8, is malformed, as [`crate::strict`] says it. A backend that
    /// has no way of its own is asked of what the host has checked.
    ///
    /// # Errors
    /// As for [`answer`](Self::answer).
    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        Checked::of(text).answer(text, program, want, |text| self.answer(text, program, want))
    }

    /// Answers a program over a text that is packed, strictly or not. A backend that has no way of its own is asked of what the host has decoded.
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
    /// Answers a program that reads no more levels than are kept. `text` is the text that was indexed.
    ///
    /// # Errors
    /// As for [`Worker::answer`].
    fn answer(&self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error>;

    /// How many lines it has.
    fn lines(&self) -> LineIx;

    /// Bytes that it takes where it is kept, beside the text in the memory of the host.
    fn memory(&self) -> u64;
}

/// Memory that is needed, and memory that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes needed.
    pub needed: u64,
    /// Bytes free.
    pub free: u64,
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
