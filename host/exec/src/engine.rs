//! The engine: a backend, and the settings with which it reads inputs.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warpath_answer::answer::Want;
use warpath_answer::backend::{Backend, Evaluation, Stage};
#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedSchema;
use warpath_answer::resident::KeepForm;
use warpath_core::cancel::{CancelToken, Interrupt};
use warpath_core::error::{DeviceError, Error, PlanError};
use warpath_core::pool::cores;
use warpath_cpu::Cpu;
use warpath_cpu::bitmap::maker::BitmapMaker;
use warpath_cpu::twig::standing::{self, Documents};
use warpath_lang::program::Program;
use warpath_plan::{Device, Evaluated, Facts, On, Plan, Purpose, Request, Runs, Unused};
use warpath_shared::units::MAX_PARTITION_BYTES;

use crate::devices::{self, DeviceChoice};
use crate::document::Format;
use crate::input::{Buffers, MAX_LATENCY, Source};
use crate::limits::{RunLimits, Shares};
use crate::trace::{Operation, Span};

/// The reaction to a malformed record.
///
/// ```
/// use warpath::{Engine, OnError, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().on_error(OnError::Skip).build()?;
/// let mut hits = engine.bytes("{\"a\":1}\n{\"a\"\n{\"a\":3}\n").query(&Query::compile("$.a")?)?;
/// assert_eq!(hits.by_ref().filter(Result::is_ok).count(), 2);
/// assert_eq!(hits.stats().skipped, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// Yield the results of all records before it, then the error, then end.
    #[default]
    Fail,
    /// Skip the record, and list it in [`Stats::skipped`](crate::stream::Stats::skipped) and
    /// [`Batch::skipped`](crate::stream::Batch::skipped).
    Skip,
}

/// Evaluates queries over inputs. Cheap to clone; clones share the backend.
///
/// ```
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let clone = engine.clone();
/// let count = std::thread::spawn(move || clone.bytes("{\"a\":1}\n").count(&Query::compile("$.a")?));
/// assert_eq!(count.join().unwrap()?, 1);
/// assert_eq!(engine.bytes("{\"b\":1}\n").count(&Query::compile("$.b")?)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    backend: Backends,
    settings: Settings,
}

/// The settings of runs. `None` leaves a number to the backend.
#[derive(Clone, Default)]
struct Settings {
    partition_size: Option<usize>,
    workers: Option<usize>,
    in_caller: bool,
    on_error: OnError,
    strict: bool,
    format: Format,
    max_latency: Option<Duration>,
    limits: RunLimits,
    ignores_indexes: bool,
}

/// Backends, each with the buffers that its partitions are read into. The buffers are kept from input to
/// input.
#[derive(Clone)]
enum Backends {
    One(Arc<Buffers>),
    /// The CPU, or a device that is opened when an input wants it.
    Auto(Arc<Buffers>, Arc<Mutex<FirstDevice>>),
}

fn lock(device: &Mutex<FirstDevice>) -> MutexGuard<'_, FirstDevice> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first CUDA device.
#[derive(Default)]
enum FirstDevice {
    #[default]
    NotOpened,
    /// No device that can run the kernels.
    None,
    Open(Arc<Buffers>),
}

impl FirstDevice {
    fn open(&mut self) -> Result<Option<Arc<Buffers>>, Error> {
        if let Self::NotOpened = self {
            *self = match devices::cuda(0) {
                Ok(device) => Self::Open(Buffers::new(device)),
                Err(Error::Device(
                    DeviceError::NoDriver
                    | DeviceError::NotBuilt
                    | DeviceError::NoDevice { .. }
                    | DeviceError::TooOld { .. },
                )) => Self::None,
                Err(error) => return Err(error),
            };
        }
        Ok(if let Self::Open(buffers) = self { Some(buffers.clone()) } else { None })
    }
}

/// The backend, buffers and limits chosen for one input.
#[derive(Clone)]
pub(crate) struct Chosen {
    /// The buffers of partitions, and the backend that reads them.
    pub buffers: Arc<Buffers>,
    pub partition_size: usize,
    pub workers: usize,
    /// The most threads that decompress an input.
    pub decoders: usize,
    /// True if records are checked by all of RFC 8259 and for UTF-8.
    pub strict: bool,
    /// The longest time that a line waits for the lines after it, where an input may wait.
    pub max_latency: Duration,
    /// The reasons for which the run ends before its time.
    pub interrupt: Interrupt,
    /// The span of the operation.
    pub span: Span,
    reason: Option<String>,
    /// The nested columns that records are decoded to.
    #[cfg(feature = "arrow")]
    pub nested: Option<Arc<NestedSchema>>,
}

impl Chosen {
    pub fn backend(&self) -> &Arc<dyn Backend> {
        self.buffers.backend()
    }

    /// The choice with the sizes that stay in a memory budget.
    fn within(self, limits: &RunLimits) -> Self {
        let longest = limits.record().unwrap_or(MAX_PARTITION_BYTES);
        let partition_size = self.partition_size.min(longest);
        let whole = Shares { partition_size, workers: self.workers, text: usize::MAX };
        let shares = limits.shares(partition_size, self.workers);
        if shares.is_none() && limits.record().is_none() {
            return self;
        }
        let Shares { partition_size, workers, text } = shares.unwrap_or(whole);
        let buffers = Buffers::for_records(self.backend().clone(), text, longest);
        Self { partition_size, workers, buffers, ..self }
    }

    /// Opens the span of an operation. `input` returns the names of its inputs.
    pub fn begin(&mut self, operation: Operation, input: impl FnOnce() -> String) {
        self.span = Span::of(operation, || self.backend().name(), input);
    }
}

/// Settings of an [`Engine`].
///
/// ```
/// use warpath::{DeviceChoice, Engine, OnError};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let builder = Engine::builder().device(DeviceChoice::Cpu).on_error(OnError::Skip).strict(true);
/// let engine = builder.partition_size(4 << 20).workers(2).build()?;
/// assert_eq!(engine.partition_size(), 4 << 20);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct EngineBuilder {
    device: DeviceChoice,
    backend: Option<Arc<dyn Backend>>,
    settings: Settings,
}

impl EngineBuilder {
    /// Sets the choice of the backend. The default is [`DeviceChoice::Auto`].
    #[must_use]
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.device = device;
        self
    }

    /// Sets a backend of the caller's, in place of [`device`](Self::device).
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Sets the size of a partition in bytes: the amount that is indexed at once. A longer record makes its
    /// partition longer. The default suits the backend.
    #[must_use]
    pub fn partition_size(mut self, bytes: usize) -> Self {
        self.settings.partition_size = Some(bytes);
        self
    }

    /// Sets the most bytes of a record, with its newline; at most 2 GiB less 32 KiB, which is the default. A
    /// longer record of an input that is read, or a longer document, is
    /// [`InputError::RecordTooLong`](warpath_core::error::InputError::RecordTooLong).
    #[must_use]
    pub fn max_record(mut self, bytes: usize) -> Self {
        self.settings.limits.add_record(bytes);
        self
    }

    /// Sets the number of partitions that are processed at the same time, each in its own thread. The default
    /// suits the backend.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = Some(workers);
        self
    }

    /// Reads and evaluates lines in the thread that takes the results, a few partitions at a time, in place
    /// of [`workers`](Self::workers). A caller sets it if it has threads of its own, each for a part of the
    /// input. The results are then in the cache of the core that reads them.
    ///
    /// Documents, indexes and selected lines have workers as always.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn in_caller(mut self) -> Self {
        self.settings.in_caller = true;
        self
    }

    /// Sets the reaction to a malformed record. The default is [`OnError::Fail`].
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.settings.on_error = on_error;
        self
    }

    /// Sets strict checking: every record has to be one JSON text by all of RFC 8259, in UTF-8. Any other
    /// record is malformed, in addition to the records that are malformed without this setting.
    /// docs/queries.md lists both kinds of check. The default is `false`.
    ///
    /// A device checks a partition itself, with the kernels that evaluate it. On the CPU, the worker that
    /// read the partition checks it in its thread. An index file records only the checks that are always
    /// made. With an index file, the text is therefore still read and checked.
    ///
    /// ```
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "{\"a\":1}\n{\"a\":01}\n";
    /// let count = |strict| {
    ///     let engine = Engine::builder().strict(strict).build()?;
    ///     engine.reader("text", text.as_bytes()).count(&Query::compile("$.a")?)
    /// };
    /// assert_eq!(count(false)?, 2);
    /// let said = "text:2:7: number has a zero before its other digits";
    /// assert_eq!(count(true).unwrap_err().to_string(), said);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.settings.strict = strict;
        self
    }

    /// Sets the format of inputs. The default is [`Format::Ndjson`].
    ///
    /// With [`Format::Json`] each input is one JSON document, on one line or many, and one record. A
    /// malformed document has no results, and its error names the line and the byte in the file.
    ///
    /// All workers share a large file if all paths continue from the elements of one array (`$[*].id`,
    /// `$.items[*].name`), and if neither rows nor columns are wanted; see docs/documents.md. Any other
    /// document is held in memory as a whole, and has at most 2 GiB less 32 KiB.
    ///
    /// ```
    /// use warpath::{Engine, Format, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let document = "[\n  {\"id\": 1},\n  {\"id\":\n   [2, 3]}\n]\n";
    /// let engine = Engine::builder().format(Format::Json).build()?;
    /// let hits = engine.reader("document", document.as_bytes()).query(&Query::compile("$[*].id")?)?;
    /// let found: Vec<String> = hits.map(|hit| Ok(hit?.path())).collect::<Result<_, warpath::Error>>()?;
    /// assert_eq!(found, ["$[0]['id']", "$[1]['id']"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.settings.format = format;
        self
    }

    /// Sets how long a line that was read may wait for the lines after it, where an input is slow: a pipe or
    /// a socket. The default is 100 ms.
    ///
    /// A partition of such an input ends when no bytes have come for 2 ms. It also ends when its first line
    /// has waited for this time, even if it has few lines. The time to evaluate the partition is not
    /// included. Files are read as fast as possible, without waiting.
    #[must_use]
    pub fn max_latency(mut self, latency: Duration) -> Self {
        self.settings.max_latency = Some(latency);
        self
    }

    /// Sets whether the engine uses the index that lies beside an input: for `log.ndjson`,
    /// `.log.ndjson.warpath`. The default is `true`. Results are the same with and without an index, but a
    /// malformed line is not noticed if the condition tests a column and excludes the line.
    ///
    /// The engine uses an index only if size, time and samples of the input are those of the index, and if
    /// the owner of the input, of this process or of the system owns it.
    /// [`Plan::unused`](warpath_plan::Plan::unused) lists the indexes that the engine does not use, with
    /// reasons.
    ///
    /// ```
    /// use warpath::bitmap::ColumnSpec;
    /// use warpath::{Engine, IndexFile, IndexSpec, Predicate, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let log = folder.path().join("log.ndjson");
    /// # std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n".repeat(5000))?;
    /// # #[cfg(any())]
    /// let log = Path::new("log.ndjson");
    /// let engine = Engine::builder().build()?;
    /// let spec = IndexSpec::new(4).with_columns(vec![ColumnSpec::new("status", "$.status")]);
    /// IndexFile::build_as(&engine, &log, &spec)?;
    ///
    /// let failed = Predicate::parse("$.status >= 500 && $.status < 503")?;
    /// let mut hits = engine.open(&log)?.matching(&failed).query(&Query::compile("$.status")?)?;
    /// assert_eq!((hits.by_ref().count(), hits.stats().lines), (0, 0));
    /// let all = Engine::builder().find_indexes(false).build()?;
    /// let mut hits = all.open(&log)?.matching(&failed).query(&Query::compile("$.status")?)?;
    /// assert_eq!((hits.by_ref().count(), hits.stats().lines), (0, 10_000));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn find_indexes(mut self, find: bool) -> Self {
        self.settings.ignores_indexes = !find;
        self
    }

    /// Lets a token cancel all work of the engine, and of its clones
    /// ([`Input::cancel`](crate::operators::Input::cancel)).
    ///
    /// ```
    /// use warpath::{CancelToken, Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let token = CancelToken::new();
    /// let engine = Engine::builder().cancel(&token).build()?;
    /// token.cancel();
    /// assert!(matches!(engine.bytes("{}").count(&Query::compile("$.a")?), Err(Error::Cancelled)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.settings.limits.add_token(token);
        self
    }

    /// Sets the longest time of each operation, from its start to the end of its results
    /// ([`Input::timeout`](crate::operators::Input::timeout)). The default is no limit.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use warpath::{Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let engine = Engine::builder().timeout(Duration::ZERO).build()?;
    /// assert!(matches!(engine.bytes("{}").count(&Query::compile("$.a")?), Err(Error::DeadlineExceeded)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.limits.add_timeout(timeout);
        self
    }

    /// Sets the memory budget of each operation, in bytes
    /// ([`Input::memory`](crate::operators::Input::memory)). The default is no limit.
    ///
    /// ```
    /// use warpath::Engine;
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let engine = Engine::builder().memory(1 << 20).build()?;
    /// let hits = engine.bytes("{}").query(&warpath_lang::program::Query::compile("$.a")?)?;
    /// assert!(hits.plan().partition_size < 1 << 18);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.settings.limits.add_memory(bytes);
        self
    }

    /// Makes the engine. If a CUDA device was chosen, this also begins to make its context, while inputs are
    /// already read. [`DeviceChoice::Auto`] makes a context when an input wants it.
    ///
    /// # Errors
    /// * [`Error::Device`] if the chosen device is absent or cannot be used. If its context cannot be made,
    ///   the first result reports why.
    /// * [`Error::Usage`] for a size of partitions or records of 0 or beyond 2 GiB less 32 KiB, and for zero
    ///   workers. Also
    ///   for a list of devices that is empty or names a device twice.
    pub fn build(self) -> Result<Engine, Error> {
        let Self { device, backend, settings } = self;
        for (what, size) in [("partition", settings.partition_size), ("record", settings.limits.record())] {
            if let Some(size) = size
                && !(1..=MAX_PARTITION_BYTES).contains(&size)
            {
                let most = MAX_PARTITION_BYTES;
                return Err(Error::Usage(format!("a {what} has 1 to {most} bytes, not {size}")));
            }
        }
        if settings.workers == Some(0) {
            return Err(Error::Usage("no workers; expected at least one".into()));
        }
        let backend = match backend {
            Some(backend) => Backends::One(Buffers::new(backend)),
            None => match devices::open(&device)? {
                Some(backend) => Backends::One(Buffers::new(backend)),
                None => Backends::Auto(Buffers::new(Arc::new(Cpu)), Arc::default()),
            },
        };
        Ok(Engine { backend, settings })
    }
}

impl Engine {
    /// Default settings, to be changed before the engine is built.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// A short name of the backend. If the engine chooses, this is the backend for an input of unknown size.
    #[must_use]
    pub fn backend_name(&self) -> String {
        self.usual().name()
    }

    /// The stages in which that backend evaluates a program over plain text, for these results.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn stages(&self, program: &Program, want: Want) -> Vec<Stage> {
        self.usual().stages(&Evaluation { strict: self.settings.strict, ..Evaluation::new(program, want) })
    }

    /// The steps in which that backend matches documents against subscriptions.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn twig_stages(&self, documents: Documents) -> Vec<Stage> {
        standing::stages(self.usual(), documents)
    }

    /// Bytes of a partition on that backend.
    #[must_use]
    pub fn partition_size(&self) -> usize {
        self.settings.partition_size.unwrap_or_else(|| self.usual().partition_size())
    }

    /// The backend for inputs of which nothing is known.
    pub(crate) fn usual(&self) -> &dyn Backend {
        let (Backends::One(buffers) | Backends::Auto(buffers, _)) = &self.backend;
        &**buffers.backend()
    }

    /// Chooses the backend of a run over inputs whose plain text has `plain_bytes` bytes in total.
    pub(crate) fn choose(&self, purpose: Purpose<'_>, plain_bytes: u64) -> Result<Chosen, Error> {
        let mut state = match &self.backend {
            Backends::One(_) => None,
            Backends::Auto(_, device) => Some(match *lock(device) {
                FirstDevice::NotOpened => Device::NotOpened,
                FirstDevice::None => Device::Absent,
                FirstDevice::Open(_) => Device::Open,
            }),
        };
        loop {
            let (Backends::One(own) | Backends::Auto(own, _)) = &self.backend;
            let has = warpath_plan::Backends { own: &**own.backend(), device: state, cores: cores() };
            let (on, reason) = warpath_plan::backend(purpose, plain_bytes, &has);
            let buffers = match (on, &self.backend) {
                (On::Device, Backends::Auto(_, device)) => match lock(device).open()? {
                    Some(buffers) => buffers,
                    None => {
                        state = Some(Device::Absent);
                        continue;
                    }
                },
                (On::Cpu, _) => Buffers::new(Arc::new(Cpu)),
                _ => own.clone(),
            };
            return Ok(self.chosen(buffers, reason));
        }
    }

    /// Plans a run on a chosen backend.
    pub(crate) fn plan(
        &self,
        chosen: &Chosen,
        evaluated: Evaluated<'_>,
        has_condition: bool,
        facts: Facts,
        unused: Vec<Unused>,
    ) -> Result<Plan, Error> {
        let Settings { strict, in_caller, .. } = self.settings;
        let limits_records = self.limits().record().is_some();
        let request = Request { evaluated, strict, has_condition, in_caller, limits_records };
        let runs = Runs {
            backend: chosen.backend().name(),
            reason: chosen.reason.clone(),
            abilities: chosen.backend().abilities(),
            workers: chosen.workers,
            partition_size: chosen.partition_size,
        };
        Ok(warpath_plan::plan::plan(&request, facts, runs, unused)?)
    }

    fn chosen(&self, buffers: Arc<Buffers>, reason: Option<String>) -> Chosen {
        let backend = buffers.backend();
        let Settings { partition_size, workers, strict, max_latency, ref limits, .. } = self.settings;
        // A budget of memory counts no text that is decompressed ahead.
        let decoders = if limits.memory().is_some() { 1 } else { workers.unwrap_or_else(cores) };
        let partition_size = partition_size.unwrap_or_else(|| backend.partition_size());
        let workers = workers.unwrap_or_else(|| backend.workers(partition_size));
        let chosen = Chosen {
            buffers,
            partition_size,
            workers,
            decoders,
            strict,
            max_latency: max_latency.unwrap_or(MAX_LATENCY),
            interrupt: limits.begin(),
            span: Span::default(),
            reason,
            #[cfg(feature = "arrow")]
            nested: None,
        };
        chosen.within(limits)
    }

    /// The limits of the engine's runs.
    pub(crate) fn limits(&self) -> &RunLimits {
        &self.settings.limits
    }

    /// The limits of the engine's runs, to be changed.
    pub(crate) fn limits_mut(&mut self) -> &mut RunLimits {
        &mut self.settings.limits
    }

    /// The size of a partition that the caller set.
    #[cfg(feature = "store")]
    pub(crate) fn wanted_partition_size(&self) -> Option<usize> {
        self.settings.partition_size
    }

    /// Chooses the backend for inputs whose partitions are kept in memory.
    pub(crate) fn choose_to_keep(&self, plain_bytes: u64) -> Result<Chosen, Error> {
        Ok(self.keeping(self.choose(Purpose::Other, plain_bytes)?))
    }

    /// The choice for programs over the partitions that a backend keeps.
    pub(crate) fn over_kept(&self, backend: &Arc<dyn Backend>) -> Chosen {
        self.keeping(self.chosen(Buffers::new(backend.clone()), None))
    }

    fn keeping(&self, chosen: Chosen) -> Chosen {
        let Some(form) = chosen.backend().forms().get::<dyn KeepForm>() else { return chosen };
        let (size, workers) = form.partitions();
        let partition_size = self.settings.partition_size.unwrap_or(size);
        let chosen = Chosen { partition_size, workers: self.settings.workers.unwrap_or(workers), ..chosen };
        chosen.within(&self.settings.limits)
    }

    /// The choice for reading the partitions that are kept, with as many workers as are best for that. A
    /// number or a budget of the caller's holds as for queries.
    pub(crate) fn to_load(&self, chosen: &Chosen) -> Chosen {
        let form = chosen.backend().forms().get::<dyn KeepForm>();
        let workers = match form {
            Some(form) if self.settings.workers.is_none() && self.limits().memory().is_none() => {
                form.loaders()
            }
            _ => chosen.workers,
        };
        Chosen { workers, ..chosen.clone() }
    }

    /// Chooses the backend that makes the index file of some inputs. The partitions suit the CPU, which reads
    /// the file later.
    #[cfg(feature = "store")]
    pub(crate) fn choose_to_store(&self, plain_bytes: u64) -> Result<Chosen, Error> {
        let chosen = self.choose(Purpose::Other, plain_bytes)?;
        let partition_size = self.settings.partition_size.unwrap_or_else(|| Cpu.partition_size());
        Ok(Chosen { partition_size, ..chosen }.within(&self.settings.limits))
    }

    /// The maker of bitmaps for an index of the lines of a file: the backend chosen for that file.
    pub(crate) fn bitmap_maker_for(&self, path: &Path) -> Result<BitmapMaker, Error> {
        let bytes = Source::File(path.to_owned()).plain_bytes();
        BitmapMaker::of(&**self.choose(Purpose::Other, bytes)?.backend())
    }

    /// The engine with skipped malformed records, and without indexes beside its inputs.
    pub(crate) fn skipping(&self) -> Self {
        let settings = Settings { on_error: OnError::Skip, ignores_indexes: true, ..self.settings.clone() };
        Self { backend: self.backend.clone(), settings }
    }

    pub(crate) fn on_error(&self) -> OnError {
        self.settings.on_error
    }

    pub(crate) fn format(&self) -> Format {
        self.settings.format
    }

    /// True if indexes that lie beside an input are used.
    pub(crate) fn finds_indexes(&self) -> bool {
        !self.settings.ignores_indexes
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.settings.strict
    }

    /// Refuses inputs that are documents, where lines are required.
    pub(crate) fn wants_lines(&self, requires: &'static str) -> Result<(), Error> {
        match self.settings.format {
            Format::Ndjson => Ok(()),
            _ => Err(PlanError::new(requires, "this input is one JSON document").into()),
        }
    }
}
