//! An input as partitions of text with their structural indexes, where the backend reads them best.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use warpath_answer::backend::Backend;
use warpath_answer::resident::{HostText, KeepForm, Kept};
use warpath_core::error::Error;
use warpath_cpu::strict::Checked;
use warpath_cpu::text_memory;
use warpath_shared::units::{ByteOffset, Level};

use crate::input::text::KeptText;

/// The partitions of an input.
pub(crate) struct KeptInput {
    pub name: Arc<str>,
    /// The backend that has the indexes.
    pub backend: Arc<dyn Backend>,
    pub levels: Level,
    /// True if the faults of the lines are those of strict checks.
    pub strict: bool,
    pub partitions: Vec<Partition>,
}

impl Debug for KeptInput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, levels, partitions, .. } = self;
        let partitions = partitions.len();
        f.debug_struct("KeptInput")
            .field("name", name)
            .field("levels", levels)
            .field("partitions", &partitions)
            .finish_non_exhaustive()
    }
}

impl KeptInput {
    pub fn lines(&self) -> u64 {
        self.partitions.iter().map(Partition::lines).sum()
    }

    pub fn text_bytes(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.len as u64).sum()
    }

    fn is_on_device(&self) -> bool {
        self.backend.forms().get::<dyn KeepForm>().is_some()
    }

    fn index_bytes(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.kept.memory()).sum()
    }

    /// Bytes of host memory.
    pub fn memory(&self) -> u64 {
        let text = |partition: &Partition| partition.text.get().map_or(0, KeptText::memory);
        let texts: u64 = self.partitions.iter().map(text).sum();
        texts + if self.is_on_device() { 0 } else { self.index_bytes() }
    }

    /// The name of the device that has the index, and the bytes of index and text there.
    pub fn on_device(&self) -> Option<(String, u64)> {
        self.is_on_device().then(|| (self.backend.name(), self.index_bytes()))
    }
}

/// A partition with its index.
pub(crate) struct Partition {
    /// Set when the text is in host memory.
    text: OnceLock<KeptText>,
    /// Held by the thread that copies the text from the device.
    copying: Mutex<()>,
    pub len: usize,
    pub offset: ByteOffset,
    pub kept: Box<dyn Kept>,
    /// Set if the partition was checked strictly and its first line is faulty: the faults, and the text that
    /// was kept in place of the partition's own.
    pub faulty: Option<(Checked, Vec<u8>)>,
}

impl Partition {
    /// A partition whose text is in host memory.
    pub fn on_host(text: KeptText, kept: Box<dyn Kept>, faulty: Option<(Checked, Vec<u8>)>) -> Self {
        let (len, offset) = (text.len(), text.offset());
        Self { text: text.into(), copying: Mutex::default(), len, offset, kept, faulty }
    }

    /// A partition whose text is on a device only.
    pub fn on_device(len: usize, offset: ByteOffset, kept: Box<dyn Kept>) -> Self {
        Self { text: OnceLock::new(), copying: Mutex::default(), len, offset, kept, faulty: None }
    }

    /// The number of lines.
    pub fn lines(&self) -> u64 {
        self.kept.lines().into()
    }

    /// Bytes of the text's memory and of the index. A text that is on a device only counts, because it may
    /// come to the host.
    pub fn memory(&self) -> u64 {
        self.text.get().map_or(self.len as u64, KeptText::memory) + self.kept.memory()
    }
}

/// A partition's text for its backend.
pub(crate) struct PartitionText<'a>(pub &'a Partition, pub &'a dyn Backend);

impl PartitionText<'_> {
    /// The text in host memory, where it is copied if necessary.
    pub fn kept(&self) -> Result<&KeptText, Error> {
        let Self(Partition { text, copying, len, offset, kept, .. }, backend) = *self;
        if let Some(text) = text.get() {
            return Ok(text);
        }
        // A thread that panicked while it held this lock has set nothing.
        let _one = copying.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = text.get() {
            return Ok(text);
        }
        let mut memory = text_memory(backend, *len)?;
        kept.copy_text(&mut memory[..*len])?;
        Ok(text.get_or_init(|| KeptText::new(memory, *len, *offset)))
    }
}

impl HostText for PartitionText<'_> {
    fn held(&self) -> Option<&[u8]> {
        self.0.text.get().map(KeptText::bytes)
    }

    fn bytes(&self) -> Result<&[u8], Error> {
        self.kept().map(KeptText::bytes)
    }
}

/// The text of an input, read from start to end.
pub(crate) struct KeptLines {
    input: Arc<KeptInput>,
    /// The partition that is read, and the bytes of it that were read.
    partition: usize,
    taken: usize,
}

impl KeptLines {
    pub fn new(input: Arc<KeptInput>) -> Self {
        Self { input, partition: 0, taken: 0 }
    }
}

impl Read for KeptLines {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while let Some(partition) = self.input.partitions.get(self.partition) {
            let text = PartitionText(partition, &*self.input.backend);
            let read = (&text.bytes().map_err(io::Error::other)?[self.taken..]).read(room)?;
            if read > 0 || room.is_empty() {
                self.taken += read;
                return Ok(read);
            }
            (self.partition, self.taken) = (self.partition + 1, 0);
        }
        Ok(0)
    }
}
