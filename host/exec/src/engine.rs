//! The engine: a backend and how inputs are fed to it.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use warpath_shared::units::{Level, MAX_PARTITION_BYTES};

use crate::auto;
use crate::auto::Choice;
use crate::document::Format;
use crate::index_file::{CheckedIndex, IndexFile};
use crate::input::{Buffers, MAX_LATENCY, Selection, Source};
#[cfg(feature = "arrow")]
use crate::record_batches::RecordBatches;
use crate::resident::ResidentIndex;
use crate::stream::{Answers, Columns, Filtering, Hits, Indexes, Plan};
use warpath_backend::answer::{Limit, Want};
use warpath_backend::backend::together::Together;
use warpath_backend::backend::{Backend, Stage};
use warpath_backend::bitmap::maker::BitmapMaker;
use warpath_backend::columns::Schema;
use warpath_backend::cpu::Cpu;
use warpath_backend::twig::standing::{Documents, Standing};
use warpath_core::error::{DeviceError, Error, InputError};
use warpath_core::pool::cores;
use warpath_lang::program::{Program, Query};
use warpath_store::bitmap::index::BitmapIndex;

/// Which backend answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// What is faster for an input, as soon as it is known: the first CUDA device for large plain files, if there is a
    /// driver and a device that the kernels can run on; else the CPU. A device that should work and does not is an error.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this number. Its absence is an error.
    Cuda(usize),
    /// Several CUDA devices, by their numbers, which take partitions in turns.
    CudaList(Vec<usize>),
    /// All CUDA devices that there are. If there is none, that is an error.
    CudaAll,
}

/// What to do at a malformed record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Give the answers of every record before it, then the error, then end.
    #[default]
    Fail,
    /// Leave it out, and say so in [`Stats::skipped`](crate::Stats::skipped) and [`Batch::skipped`](crate::Batch::skipped).
    Skip,
}

/// Answers queries over inputs. Cheap to clone; clones share the backend.
#[derive(Clone)]
pub struct Engine {
    backend: Backends,
    partition_size: Option<usize>,
    workers: Option<usize>,
    on_error: OnError,
    strict: bool,
    format: Format,
    max_latency: Duration,
}

#[derive(Clone)]
enum Backends {
    One(Ready),
    /// The CPU, or a device that is opened when an input wants it.
    Auto(Ready, Arc<Mutex<FirstDevice>>),
}

/// A backend with the buffers that its partitions are read into, which are kept from input to input.
#[derive(Clone)]
struct Ready {
    backend: Arc<dyn Backend>,
    buffers: Arc<Buffers>,
}

impl Ready {
    fn new(backend: Arc<dyn Backend>) -> Self {
        Self { buffers: Buffers::new(backend.clone()), backend }
    }
}

/// The first CUDA device.
#[derive(Default)]
enum FirstDevice {
    #[default]
    NotOpened,
    /// None that the kernels can run on.
    None,
    Open(Ready),
}

impl FirstDevice {
    fn open(&mut self) -> Result<Option<Ready>, Error> {
        if let Self::NotOpened = self {
            *self = match cuda(0) {
                Ok(device) => Self::Open(Ready::new(device)),
                Err(Error::Device(
                    DeviceError::NoDriver | DeviceError::NoDevice { .. } | DeviceError::TooOld { .. },
                )) => Self::None,
                Err(error) => return Err(error),
            };
        }
        Ok(if let Self::Open(ready) = self { Some(ready.clone()) } else { None })
    }
}

/// What answers an input.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub backend: Arc<dyn Backend>,
    pub buffers: Arc<Buffers>,
    pub partition_size: usize,
    pub workers: usize,
    /// Whether records are checked by all of RFC 8259 and for UTF-8.
    pub strict: bool,
    /// How long a line waits for those behind it where an input may wait.
    pub max_latency: Duration,
    reason: Option<String>,
}

impl Chosen {
    /// The choice, to be told.
    pub fn plan(&self) -> Plan {
        Plan {
            backend: self.backend.name(),
            reason: self.reason.clone(),
            workers: self.workers,
            partition_size: self.partition_size,
            strict: self.strict,
            strict_on_device: self.strict && self.backend.checks_strictly(),
            index: None,
        }
    }
}

/// Settings of an [`Engine`].
#[derive(Clone, Default)]
pub struct EngineBuilder {
    device: DeviceChoice,
    backend: Option<Arc<dyn Backend>>,
    partition_size: Option<usize>,
    workers: Option<usize>,
    on_error: OnError,
    strict: bool,
    format: Format,
    max_latency: Option<Duration>,
}

impl EngineBuilder {
    /// Which backend answers. [`DeviceChoice::Auto`] if not called.
    #[must_use]
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.device = device;
        self
    }

    /// A backend of the caller's, in place of [`device`](Self::device).
    #[must_use]
    pub fn backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Bytes of a partition: what is indexed at once. A longer record makes its partition longer. What suits
    /// the backend if not called.
    #[must_use]
    pub fn partition_size(mut self, bytes: usize) -> Self {
        self.partition_size = Some(bytes);
        self
    }

    /// How many partitions are at work at the same time, each in a thread of its own. What suits the backend if not called.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// What to do at a malformed record. [`OnError::Fail`] if not called.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Whether every record has to be one JSON text by all of RFC 8259, in UTF-8: what is not is malformed, as what is always checked
    /// is. docs/queries.md lists both. `false` if not called.
    ///
    /// A device checks a partition itself, with the kernels that answer; the CPU, in the thread of the worker that read it. An index file
    /// records what is always checked; with one, the text of the input is read and checked all the same.
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
        self.strict = strict;
        self
    }

    /// What the bytes of an input are. [`Format::Ndjson`] if not called.
    ///
    /// With [`Format::Json`] each input is one JSON document, on one line or many, and one record. A malformed one has no
    /// answers, and its error says the line and the byte in the file. Large files are answered in parts, by as many workers as
    /// there are, where all paths go on from the elements of one array (`$[*].id`, `$.items[*].name`) and rows and columns are not
    /// asked for; docs/documents.md says more. Any other document is in memory as a whole, and has 2 GiB less 32 KiB at most.
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
        self.format = format;
        self
    }

    /// How long a line that was read may wait for those behind it, where an input brings them slowly: a pipe, a socket. 100 ms if not called.
    ///
    /// A partition of such an input ends when nothing has come for 2 ms, and otherwise when its first line has waited so long, however few lines it
    /// has. What it takes to answer it is not a part of this. Files are read as fast as they can be, and do not wait.
    #[must_use]
    pub fn max_latency(mut self, latency: Duration) -> Self {
        self.max_latency = Some(latency);
        self
    }

    /// Makes the engine, and begins to make the context of a CUDA device that was asked for; [`DeviceChoice::Auto`] makes one
    /// when an input wants it. Inputs are read meanwhile.
    ///
    /// # Errors
    /// [`Error::Device`] if the device that was asked for is not there or cannot be used (why its context could not be made is
    /// told with the first answer); [`Error::Usage`] for a partition
    /// size of 0 or beyond 2 GiB less 32 KiB, for no worker, and for an empty list of devices or one that names a device
    /// twice.
    pub fn build(self) -> Result<Engine, Error> {
        let Self { device, backend, partition_size, workers, on_error, strict, format, max_latency } = self;
        if let Some(size) = partition_size
            && !(1..=MAX_PARTITION_BYTES).contains(&size)
        {
            let most = MAX_PARTITION_BYTES;
            return Err(Error::Usage(format!("a partition has 1 to {most} bytes, not {size}")));
        }
        if workers == Some(0) {
            return Err(Error::Usage("without a worker there is no answer".into()));
        }
        let backend = match backend {
            Some(backend) => Backends::One(Ready::new(backend)),
            None => backend_for(device)?,
        };
        let max_latency = max_latency.unwrap_or(MAX_LATENCY);
        Ok(Engine { backend, partition_size, workers, on_error, strict, format, max_latency })
    }
}

fn backend_for(choice: DeviceChoice) -> Result<Backends, Error> {
    let backend = match choice {
        DeviceChoice::Auto => return Ok(Backends::Auto(Ready::new(Arc::new(Cpu)), Arc::default())),
        DeviceChoice::Cpu => Arc::new(Cpu),
        DeviceChoice::Cuda(number) => cuda(number)?,
        DeviceChoice::CudaList(numbers) => several(&numbers)?,
        DeviceChoice::CudaAll => several(&all()?)?,
    };
    Ok(Backends::One(Ready::new(backend)))
}

/// Devices that work together. Each is set up in a thread of its own.
fn several(numbers: &[usize]) -> Result<Arc<dyn Backend>, Error> {
    if let Some(twice) = numbers.iter().enumerate().find(|(i, number)| numbers[..*i].contains(number)) {
        return Err(Error::Usage(format!("cuda:{} is named twice", twice.1)));
    }
    let devices: Result<Vec<_>, Error> = std::thread::scope(|scope| {
        let threads: Vec<_> = numbers.iter().map(|number| scope.spawn(|| cuda(*number))).collect();
        let died = |_| Err(Error::Internal("a thread that opens a device ended before it had".into()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(died)).collect()
    });
    Ok(Arc::new(Together::new(devices?)?))
}

#[cfg(feature = "cuda")]
fn cuda(number: usize) -> Result<Arc<dyn Backend>, Error> {
    Ok(Arc::new(warpath_backend::device::pipeline::Pipeline::new(warpath_backend::cuda::device::Cuda::new(
        number,
    )?)?))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_number: usize) -> Result<Arc<dyn Backend>, Error> {
    Err(DeviceError::NoDriver.into())
}

/// The numbers of all CUDA devices.
#[cfg(feature = "cuda")]
fn all() -> Result<Vec<usize>, Error> {
    let numbers: Vec<usize> =
        warpath_backend::cuda::device::devices()?.iter().map(|device| device.number).collect();
    if numbers.is_empty() {
        return Err(DeviceError::NoDevice { wanted: 0, found: 0 }.into());
    }
    Ok(numbers)
}

/// The numbers of all CUDA devices.
#[cfg(not(feature = "cuda"))]
fn all() -> Result<Vec<usize>, Error> {
    Err(DeviceError::NoDriver.into())
}

impl Engine {
    /// Settings, to begin with.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// The backend in a few words; where the engine chooses, the one for an input of unknown size.
    #[must_use]
    pub fn backend_name(&self) -> String {
        self.usual().name()
    }

    /// What that backend does with a program, step by step.
    #[must_use]
    pub fn stages(&self, program: &Program) -> Vec<Stage> {
        if self.strict { self.usual().strict_stages(program) } else { self.usual().stages(program) }
    }

    /// What that backend does with documents that subscriptions are asked of, step by step.
    #[must_use]
    pub fn twig_stages(&self, documents: Documents) -> Vec<Stage> {
        self.usual().twig_stages(documents)
    }

    /// Bytes of a partition on that backend.
    #[must_use]
    pub fn partition_size(&self) -> usize {
        self.partition_size.unwrap_or_else(|| self.usual().partition_size())
    }

    /// What answers where nothing is known of the input.
    fn usual(&self) -> &dyn Backend {
        let (Backends::One(ready) | Backends::Auto(ready, _)) = &self.backend;
        &*ready.backend
    }

    /// What answers a program over some inputs, of which so many bytes are in plain files.
    pub(crate) fn choose_for(&self, plain_bytes: u64, program: &Program) -> Result<Chosen, Error> {
        if !program.has_patterns_at_run() {
            return self.choose_by(plain_bytes);
        }
        // Whatever is asked for, this is done by the CPU.
        let why = "a pattern is found in the records";
        match &self.backend {
            Backends::Auto(cpu, _) => Ok(self.chosen(cpu.clone(), Some(format!("auto: cpu, {why}")))),
            Backends::One(ready) => {
                let name = ready.backend.name();
                let reason = (name != Cpu.name())
                    .then(|| format!("{name} was asked for; the CPU answers, since {why}"));
                Ok(self.chosen(ready.clone(), reason))
            }
        }
    }

    /// What answers some inputs.
    pub(crate) fn choose(&self, sources: &[Source]) -> Result<Chosen, Error> {
        self.choose_by(sources.iter().map(Source::plain_bytes).sum())
    }

    /// What answers inputs of which so many bytes are in plain files.
    fn choose_by(&self, plain_bytes: u64) -> Result<Chosen, Error> {
        let (ready, reason) = match &self.backend {
            Backends::One(ready) => (ready.clone(), None),
            Backends::Auto(cpu, device) => {
                let choice = auto::choose(plain_bytes, cores());
                let device = match choice {
                    Choice::Cpu { .. } => None,
                    Choice::Device { .. } => {
                        let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
                        Some(device.open()?)
                    }
                };
                let (ready, reason) = match device {
                    None => (cpu.clone(), format!("auto: cpu, {choice}")),
                    Some(Some(device)) => (device, format!("auto: cuda:0, {choice}")),
                    Some(None) => {
                        (cpu.clone(), "auto: cpu, no CUDA device that the kernels can run on".into())
                    }
                };
                (ready, Some(reason))
            }
        };
        Ok(self.chosen(ready, reason))
    }

    fn chosen(&self, ready: Ready, reason: Option<String>) -> Chosen {
        let Ready { backend, buffers } = ready;
        let partition_size = self.partition_size.unwrap_or_else(|| backend.partition_size());
        let workers = self.workers.unwrap_or_else(|| backend.workers(partition_size));
        let (strict, max_latency) = (self.strict, self.max_latency);
        Chosen { backend, buffers, partition_size, workers, strict, max_latency, reason }
    }

    /// What answers some inputs whose partitions are kept.
    pub(crate) fn choose_to_keep(&self, sources: &[Source]) -> Result<Chosen, Error> {
        let chosen = self.choose(sources)?;
        let (size, workers) = chosen.backend.kept_partitions();
        let partition_size = self.partition_size.unwrap_or(size);
        Ok(Chosen { partition_size, workers: self.workers.unwrap_or(workers), ..chosen })
    }

    /// What makes the index file of some inputs: in partitions that suit the CPU, which reads it.
    pub(crate) fn choose_to_store(&self, sources: &[Source]) -> Result<Chosen, Error> {
        let chosen = self.choose(sources)?;
        Ok(Chosen { partition_size: self.partition_size.unwrap_or_else(|| Cpu.partition_size()), ..chosen })
    }

    /// What makes the bitmaps of an index of something else than a file of lines. Where the engine chooses, that is the CPU.
    pub(crate) fn bitmap_maker(&self) -> Result<BitmapMaker, Error> {
        self.usual().bitmap_maker()
    }

    /// What makes the bitmaps of an index of the lines of a file: what answers it.
    pub(crate) fn bitmap_maker_for(&self, path: &Path) -> Result<BitmapMaker, Error> {
        self.choose(&[Source::File(path.to_owned())])?.backend.bitmap_maker()
    }

    /// Whether the backend reads bitmaps of an index file in place of making them; where the engine chooses, the one for an input of
    /// unknown size.
    #[must_use]
    pub fn uses_index_files(&self) -> bool {
        self.usual().uses_index_files()
    }

    /// A file of newline-delimited JSON, or a document ([`EngineBuilder::format`]), plain, gzip or zstd.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not there or is a directory. It is opened when it is queried.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Input, Error> {
        let path = path.as_ref();
        let failed = |source| InputError::Io { name: path.display().to_string(), source };
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        Ok(self.input(vec![Source::File(path.to_owned())]))
    }

    /// Anything that can be read. `name` stands in messages.
    #[must_use]
    pub fn reader(&self, name: impl Into<String>, reader: impl Read + Send + 'static) -> Input {
        self.input(vec![Source::Reader(name.into(), Box::new(reader))])
    }

    /// Several inputs, one after the other. Each is opened when those before it have been read.
    #[must_use]
    pub fn input(&self, sources: Vec<Source>) -> Input {
        Input { engine: self.clone(), sources, index: None, selected: None }
    }

    pub(crate) fn on_error(&self) -> OnError {
        self.on_error
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Refuses inputs that are documents, where only lines will do.
    pub(crate) fn wants_lines(&self, what: &str) -> Result<(), Error> {
        match self.format {
            Format::Ndjson => Ok(()),
            Format::Json => Err(Error::Usage(format!("{what} of lines, and the input is a document"))),
        }
    }
}

/// Inputs that an engine is about to read.
pub struct Input {
    pub(crate) engine: Engine,
    pub(crate) sources: Vec<Source>,
    /// The index file by which it is answered.
    pub(crate) index: Option<Arc<CheckedIndex>>,
    /// The lines that are answered, if not all are.
    pub(crate) selected: Option<Arc<Selection>>,
}

impl Input {
    /// The matches of a query, in record order, and within a record in the order of RFC 9535's nodelist.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query that cannot be run; errors of the input come from the iterator.
    pub fn query(self, query: &Query) -> Result<Hits, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        // Who takes matches one by one may stop at any of them.
        let limit = Some(Limit::Matches(u64::MAX));
        Ok(Hits::new(self.answers(program, Want { matches: true, limit, ..Want::default() })))
    }

    /// How many matches a query has.
    ///
    /// # Errors
    /// Those of the query and of the input.
    pub fn count(self, query: &Query) -> Result<u64, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        let mut count = 0;
        for batch in self.answers(program, Want::default()) {
            count += batch?.count(0);
        }
        Ok(count)
    }

    /// The answers of a program, a partition at a time: the way to ask several paths in one pass.
    #[must_use]
    pub fn answers(self, program: Program, want: Want) -> Answers {
        Answers::start(self, program, want)
    }

    /// The records as typed columns, in order: batches of one partition each, or of a part of one, with a row for each record.
    ///
    /// Malformed records are [`EngineBuilder::on_error`]'s: those left out are counted in [`Columns::stats`]. Who wants to know
    /// where they stand asks [`answers`](Self::answers) with [`Want::columns`].
    #[must_use]
    pub fn columns(self, schema: &Schema) -> Columns {
        let want = Want { columns: Some(schema.width()), ..Want::default() };
        Columns::new(self.answers(schema.program().clone(), want))
    }

    /// The same as Arrow's record batches, all of the schema [`Schema::to_arrow`], without copying.
    ///
    /// ```
    /// use arrow_array::cast::AsArray;
    /// use arrow_array::types::Int64Type;
    /// use warpath::columns::{ColumnType, Schema};
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let columns = [
    ///     (Query::compile("$.user.lang")?, ColumnType::Utf8),
    ///     (Query::compile("$.user.followers_count")?, ColumnType::Int64),
    /// ];
    /// let schema = Schema::new(&columns)?.with_names(&["lang", "followers"])?;
    /// let engine = Engine::builder().build()?;
    /// # let tweets = "{\"user\":{\"lang\":\"nl\",\"followers_count\":7}}\n{\"user\":{\"followers_count\":35}}\n";
    /// # let input = engine.reader("tweets", std::io::Cursor::new(tweets));
    /// # let mut sum = 0;
    /// # #[cfg(any())]
    /// let input = engine.open("tweets.ndjson")?;
    /// for batch in input.record_batches(&schema) {
    ///     let batch = batch?;
    ///     let followers = batch["followers"].as_primitive::<Int64Type>();
    ///     println!("{followers:?}");
    /// #   sum += followers.values().iter().sum::<i64>();
    /// }
    /// # assert_eq!(sum, 42);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn record_batches(self, schema: &Schema) -> RecordBatches {
        RecordBatches::new(self.columns(schema), schema)
    }

    /// Which of some subscriptions documents match, in their order: of a partition of lines at a time, or of an input that is one document. `documents` says which inputs are, and [`EngineBuilder::format`] does not matter.
    ///
    /// Malformed documents are [`EngineBuilder::on_error`]'s. [`Standing`] has an example.
    #[must_use]
    pub fn filter(self, standing: &Standing, documents: Documents) -> Filtering {
        Filtering::start(self, standing, documents)
    }

    /// Reads and indexes everything, and keeps it where the backend reads it best, to be asked again and again: text and index,
    /// with so many levels. [`Program::levels`] says how many a program reads.
    ///
    /// # Errors
    /// Those of the inputs, but for malformed records; [`DeviceError::IndexTooLarge`] where it does not fit a device's memory.
    pub fn index(self, levels: Level) -> Result<ResidentIndex, Error> {
        ResidentIndex::build(self, levels)
    }

    /// The same input, answered by its index file. The file is checked against the input: its size, its time and samples of its
    /// bytes, or all of them where `verify` is set.
    ///
    /// On the CPU bitmaps are read in place of being made. A device makes them faster than they could be copied to it: there the
    /// file is checked, and read no further. Either way a program may read no more levels than the file has.
    ///
    /// # Errors
    /// [`Error::Index`] where the index is of another input, or of this one as it was; [`Error::Usage`] where this is not one file, or a document.
    pub fn with_index(mut self, index: &IndexFile, verify: bool) -> Result<Self, Error> {
        self.engine.wants_lines("an index file is")?;
        self.index = Some(Arc::new(index.check(&self.sources, verify)?));
        self.wants_one_index()?;
        Ok(self)
    }

    /// Some lines of the same input, which has to be the plain file that a bitmap index was made of: only these are answered, and
    /// little else is read, since the index says where each 64th line begins. `chunks` says which: the first 63 lines in bits 0 to 62 of
    /// the first, and so on, blank and malformed lines counted, as bitmaps of the index have them.
    ///
    /// Whatever is told of the input, line numbers, offsets, paths and errors, is told of all of it, on every backend. Only the
    /// pieces of a [`Batch`](crate::Batch) count the lines that they have: [`Batch::line`](crate::Batch::line) and
    /// [`Batch::offset_of`](crate::Batch::offset_of) say which these are. A malformed line that is not among the selected ones is not seen.
    ///
    /// ```
    /// use warpath::bitmap::{BitmapIndex, Built, Stamp};
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("warpath-only-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("tweets.ndjson");
    /// # std::fs::write(&path, "{\"id\":5}\n{\"id\":6}\n{\"id\":7}\n")?;
    /// # let stamp = Some(Stamp::of(&std::fs::File::open(&path)?)?);
    /// # let index = BitmapIndex::from_built(Built { rows: 3, lines: vec![0, 27], stamp, ..Built::default() })?;
    /// let engine = Engine::builder().build()?;
    /// // The second line, and the third.
    /// let mut hits = engine.open(&path)?.only(&index, vec![0b110])?.query(&Query::compile("$.id")?)?;
    /// let hit = hits.next().unwrap()?;
    /// assert_eq!((hit.text().as_ref(), hit.line(), hit.offsets()), ("6", 2, (15, 16)));
    /// # drop((hit, hits));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`] where the index is of another input, or of this one as it was; [`Error::Usage`] where this is not one file, or a
    /// document, or has an [index file](Self::with_index); where rows of the index are no lines; and for a number of chunks that is not the
    /// index's.
    pub fn only(mut self, index: &BitmapIndex, chunks: impl Into<Arc<[u64]>>) -> Result<Self, Error> {
        self.engine.wants_lines("a bitmap index is")?;
        self.selected = Some(Arc::new(Selection::new(index, chunks.into(), &self.sources)?));
        self.wants_one_index()?;
        Ok(self)
    }

    fn wants_one_index(&self) -> Result<(), Error> {
        match (&self.index, &self.selected) {
            (Some(_), Some(_)) => Err(Error::Usage(
                "selected lines are read by a bitmap index, and by no index file beside it".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses selected lines, where all of an input is needed.
    pub(crate) fn wants_all_lines(&self, what: &str) -> Result<(), Error> {
        match &self.selected {
            Some(_) => {
                Err(Error::Usage(format!("{what} of all lines of an input, and not of selected ones")))
            }
            None => Ok(()),
        }
    }

    /// The structural indexes, a partition at a time.
    #[must_use]
    pub fn indexes(self, levels: Level) -> Indexes {
        Indexes::new(self, levels)
    }
}
