//! An index that is kept in memory for many queries.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use warpath_answer::answer::Want;
use warpath_answer::backend::Backend;
use warpath_answer::resident::{HostText, KeepForm, Kept, Pieces};
use warpath_core::cancel::CancelToken;
use warpath_core::error::{DeviceError, Error, IndexError};
use warpath_cpu::strict::Checked;
use warpath_cpu::{keep, text_memory};
use warpath_lang::program::{Program, Query};
use warpath_plan::Evaluated;
use warpath_shared::units::{ByteOffset, Level};

use crate::engine::{Chosen, OnError};
use crate::input::{Buffers, KeptText, Text};
use crate::limits::RunLimits;
use crate::request::Request;
use crate::stream::{Answers, Batch, EachValue, Hits, Ordered, Origin, Programs, Store, Stored};
use crate::trace::Operation;

/// Levels of an index by default. A path reads one level for each of its segments, including those in its
/// filters. Deep bitmaps are mostly zeros, which are not stored.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let index = engine.bytes("{\"a\":{\"b\":1}}\n").index(DEFAULT_LEVELS)?;
/// assert_eq!(index.count(&Query::compile("$.a.b")?)?, 1);
/// # Ok(())
/// # }
/// ```
pub const DEFAULT_LEVELS: Level = 8;

/// Inputs that were read and indexed, and stay in memory. The data that queries read is where the backend
/// reads it best.
///
/// On a device, that includes the text. Plain files are then read to the device alone, because the host needs
/// twice as long to keep a copy. A partition's text is copied back when a query first needs it on the host,
/// for example to show matches, and stays there. See [`Input::index`](crate::operators::Input::index).
///
/// Results refer to the inputs as they were read; later changes of a file have no effect. Cheap to clone;
/// several threads may query it at once.
///
/// ```
/// use warpath::{Engine, Query, ResidentIndex};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let queries = [Query::compile("$.user.lang")?, Query::compile("$.id")?];
/// let input = Engine::builder().build()?.bytes("{\"id\":7,\"user\":{\"lang\":\"nl\"}}\n");
/// let index: ResidentIndex = input.index(2)?;
/// for query in &queries {
///     assert_eq!(index.count(query)?, 1);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ResidentIndex {
    partitions: Arc<Partitions>,
    chosen: Chosen,
    /// The limits of queries.
    limits: RunLimits,
    on_error: OnError,
    levels: Level,
}

/// A partition with its index.
struct Partition {
    /// Set when the text is in host memory.
    text: OnceLock<KeptText>,
    /// Held by the thread that copies the text from the device.
    copying: Mutex<()>,
    len: usize,
    offset: ByteOffset,
    kept: Box<dyn Kept>,
    /// Set if the partition was checked strictly and its first line is faulty: the faults, and the text that
    /// was indexed in place of the partition's own.
    faulty: Option<(Checked, Vec<u8>)>,
}

impl Partition {
    /// A partition whose text is in host memory.
    fn on_host(text: KeptText, kept: Box<dyn Kept>, faulty: Option<(Checked, Vec<u8>)>) -> Self {
        let (len, offset) = (text.len(), text.offset());
        Self { text: text.into(), copying: Mutex::default(), len, offset, kept, faulty }
    }

    /// A partition whose text is on a device only.
    fn on_device(len: usize, offset: ByteOffset, kept: Box<dyn Kept>) -> Self {
        Self { text: OnceLock::new(), copying: Mutex::default(), len, offset, kept, faulty: None }
    }

    /// Bytes of the text's memory and of the index. A text that is on a device only counts, because it may
    /// come to the host.
    fn memory(&self) -> u64 {
        self.text.get().map_or(self.len as u64, KeptText::memory) + self.kept.memory()
    }
}

/// A partition's text for its backend.
struct PartitionText<'a>(&'a Partition, &'a dyn Backend);

impl PartitionText<'_> {
    /// The text in host memory, where it is copied if necessary.
    fn kept(&self) -> Result<&KeptText, Error> {
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

/// The partitions, each with the input that it belongs to, and the backend that keeps them.
struct Partitions {
    all: Vec<(Origin, Partition)>,
    backend: Arc<dyn Backend>,
}

impl Store for Partitions {
    fn origin(&self, number: usize) -> Option<Origin> {
        self.all.get(number).map(|(origin, _)| origin.clone())
    }

    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error> {
        let Some((_, partition)) = self.all.get(number) else {
            return Err(Error::Internal(format!("no partition {number} is kept")));
        };
        let since = Instant::now();
        let Partition { len, offset, kept, faulty, .. } = partition;
        let text = PartitionText(partition, &*self.backend);
        let answer = match faulty {
            None => kept.answer(&text, program, want)?,
            Some((checked, blanked)) => {
                let mut answer = kept.answer(&&blanked[..], program, want)?;
                checked.add_faults(&mut answer, program, want);
                answer
            }
        };
        // The receiver of the text may read all of it.
        let is_given = want.matches || want.records || answer.pieces.iter().any(|it| !it.faults.is_empty());
        let text = match text.held() {
            None if !is_given => Text::unseen(*len, *offset),
            _ => text.kept()?.text(),
        };
        Ok(Stored { text, answer, reading: Duration::ZERO, answering: since.elapsed() })
    }
}

/// Replaces an error of one partition's memory by one that gives the memory needed for the whole index.
fn too_large(error: Error, kept: u64) -> Error {
    match error {
        Error::Device(DeviceError::OutOfMemory { wanted, free }) => DeviceError::IndexTooLarge {
            needed: kept.saturating_add(wanted),
            free: kept.saturating_add(free),
        }
        .into(),
        other => other,
    }
}

impl ResidentIndex {
    pub(crate) fn build(mut input: Request<'_>, levels: Level) -> Result<Self, Error> {
        let facts = input.facts();
        // The length of an input that is not a plain file is unknown before it is read.
        let plain = facts.bytes.plain();
        let mut chosen = input.engine.choose_to_keep(plain)?;
        let plan = input.planned_on(&chosen, Evaluated::Resident, facts)?;
        let Request { engine, inputs, .. } = input;
        let on_error = engine.on_error();
        chosen.begin(Operation::Index, || inputs.names());
        let loading = engine.to_load(&chosen);
        let backend = chosen.backend();
        if let Some(form) = backend.forms().get::<dyn KeepForm>()
            && let room = form.room(plain, chosen.partition_size, levels)?
            && plain > 0
            && room.needed > room.free
        {
            return Err(DeviceError::IndexTooLarge { needed: room.needed, free: room.free }.into());
        }
        let mut partitions = Vec::new();
        let (backend, is_strict, kept_bytes) = (backend.clone(), chosen.strict, AtomicU64::new(0));
        // Strict checks are made on the host, which then keeps the text that it has read.
        let unread = !is_strict && backend.forms().get::<dyn KeepForm>().is_some();
        let store = backend.clone();
        let count = move |kept: Result<Box<dyn Kept>, Error>| {
            let kept = kept.map_err(|error| too_large(error, kept_bytes.load(Ordering::Relaxed)))?;
            kept_bytes.fetch_add(kept.memory(), Ordering::Relaxed);
            Ok::<_, Error>(kept)
        };
        let make = move |number: usize, text: &mut Text<'_>| {
            let keep = |text: &[u8]| count(keep(&*backend, number, text, levels));
            if let Some(file) = text.file()
                && let Some(form) = backend.forms().get::<dyn KeepForm>()
            {
                let (len, offset) = (text.len(), text.offset());
                let read = &mut |at: usize, piece: &mut [u8]| file.read_exact(piece, offset + at as u64);
                let pieces = Pieces { len, offset: file.base() + offset, read };
                let kept = count(form.keep(number, pieces, levels))?;
                return Ok(vec![Partition::on_device(len, offset, kept)]);
            }
            let text = text.take_kept()?;
            let checked = if is_strict { Checked::of(text.bytes()) } else { Checked::default() };
            let Some(begin) = checked.first_fault() else {
                let kept = keep(text.bytes())?;
                return Ok(vec![Partition::on_host(text, kept, None)]);
            };
            // The lines before the first faulty one are a partition of their own, so that their result is
            // separate.
            let blanked = checked.blanked(text.bytes());
            let (good, rest) = text.split_at(begin);
            let mut made = Vec::new();
            if begin > 0 {
                let kept = keep(good.bytes())?;
                made.push(Partition::on_host(good, kept, None));
            }
            let kept = keep(&blanked)?;
            made.push(Partition::on_host(rest, kept, Some((checked, blanked))));
            Ok(made)
        };
        let lines = |made: &Vec<Partition>| made.iter().map(|partition| partition.kept.lines() as u64).sum();
        // Workers read into the memory in which texts stay.
        let buffers = Buffers::to_keep(store.clone(), unread);
        let (mut wanted, limit) = (0, engine.limits().memory().map_or(u64::MAX, |memory| memory as u64));
        for made in Ordered::<EachValue<_>>::of_each(inputs, &loading, plan, buffers, lines, make) {
            let (origin, made) = made?;
            wanted += made.iter().map(Partition::memory).sum::<u64>();
            if wanted > limit {
                return Err(Error::Memory { what: "a resident index", wanted, limit });
            }
            partitions.extend(made.into_iter().map(|partition| (origin.clone(), partition)));
        }
        let limits = RunLimits::default();
        let partitions = Arc::new(Partitions { all: partitions, backend: store });
        Ok(Self { partitions, chosen, limits, on_error, levels })
    }

    /// Lets a token cancel queries of this clone. Limits of the input do not hold for queries.
    ///
    /// ```
    /// use warpath::{CancelToken, Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let index = Engine::builder().build()?.bytes("{\"a\":1}\n").index(1)?;
    /// let token = CancelToken::new();
    /// token.cancel();
    /// let count = index.clone().cancel(&token).count(&Query::compile("$.a")?);
    /// assert!(matches!(count, Err(Error::Cancelled)));
    /// assert_eq!(index.count(&Query::compile("$.a")?)?, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.limits.add_token(token);
        self
    }

    /// Sets the time at which queries of this clone end with [`Error::DeadlineExceeded`].
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use warpath::{Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let index = Engine::builder().build()?.bytes("{\"a\":1}\n").index(1)?;
    /// let late = index.deadline(Instant::now());
    /// assert!(matches!(late.count(&Query::compile("$.a")?), Err(Error::DeadlineExceeded)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.limits.add_deadline(deadline);
        self
    }

    /// Sets the longest time of each query of this clone.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let index = Engine::builder().build()?.bytes("{\"a\":1}\n").index(1)?;
    /// assert_eq!(index.timeout(Duration::from_secs(60)).count(&Query::compile("$.a")?)?, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.add_timeout(timeout);
        self
    }

    /// The number of levels that are kept. Programs that read more are refused.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.levels
    }

    /// Bytes of text.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        self.partitions.all.iter().map(|(_, partition)| partition.len as u64).sum()
    }

    /// Bytes that the index takes where the backend keeps it; on a device, including its copy of the text.
    #[must_use]
    pub fn index_bytes(&self) -> u64 {
        self.partitions.all.iter().map(|(_, partition)| partition.kept.memory()).sum()
    }

    /// The matches of a query, in the form of [`Input::query`](crate::operators::Input::query).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query that cannot be run. [`IndexError::TooFewLevels`] for a query that
    /// reads more levels than are kept. Errors of records come from the iterator.
    pub fn query(&self, query: &Query) -> Result<Hits<'static>, Error> {
        self.results(Program::new(std::slice::from_ref(query))?, Want::default().matches(true))
    }

    /// The number of matches of a query.
    ///
    /// # Errors
    /// The errors of [`query`](Self::query), and those of records.
    pub fn count(&self, query: &Query) -> Result<u64, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        let mut count = 0;
        for batch in self.answers(program, Want::default())? {
            count += batch?.count(0);
        }
        Ok(count)
    }

    /// The results of a program, one batch for each partition, in the form of
    /// [`Input::answers`](crate::operators::Input::answers).
    ///
    /// # Errors
    /// [`IndexError::TooFewLevels`] for a program that reads more levels than are kept.
    pub fn answers(&self, program: Program, want: Want) -> Result<Answers<'static>, Error> {
        self.results(program, want)
    }

    fn results<F>(&self, program: Program, want: Want) -> Result<Ordered<'static, Programs<F>>, Error>
    where
        F: From<Batch<'static>> + IntoIterator,
    {
        let (kept, needed) = (self.levels, program.levels());
        if needed > kept {
            return Err(IndexError::TooFewLevels { kept, needed }.into());
        }
        let mut chosen = self.chosen.clone();
        chosen.interrupt = self.limits.begin();
        Ok(Ordered::over(chosen, self.on_error, self.partitions.clone(), (needed, kept), program, want))
    }
}
