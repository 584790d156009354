//! The engine: a backend and how inputs are fed to it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use warpath_shared::units::MAX_PARTITION_BYTES;

use crate::auto;
use crate::auto::Choice;
use crate::document::Format;
use crate::input::{Buffers, MAX_LATENCY, Source};
use crate::stream::Plan;
use warpath_backend::backend::together::Together;
use warpath_backend::backend::{Backend, Stage};
use warpath_backend::bitmap::maker::BitmapMaker;
use warpath_backend::cpu::Cpu;
use warpath_backend::twig::standing::Documents;
use warpath_core::error::{DeviceError, Error};
use warpath_core::pool::cores;
use warpath_lang::program::Program;

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
    /// Leave it out, and say so in [`Stats::skipped`](crate::stream::Stats::skipped) and [`Batch::skipped`](crate::stream::Batch::skipped).
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
