//! The engine: a backend and how inputs are fed to it.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use warpath_shared::units::{Level, MAX_PARTITION_BYTES};

use crate::answer::Want;
use crate::backend::{Backend, Stage};
use crate::cpu::Cpu;
use crate::error::{DeviceError, Error, InputError};
use crate::input::Source;
use crate::program::{Program, Query};
use crate::stream::{Answers, Hits, Indexes};

/// Which backend answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device if there is a driver and a device that the kernels can run on, else the CPU. A device that
    /// should work and does not is an error.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this number. Its absence is an error.
    Cuda(usize),
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
    backend: Arc<dyn Backend>,
    partition_size: usize,
    on_error: OnError,
}

/// Settings of an [`Engine`].
#[derive(Clone, Default)]
pub struct EngineBuilder {
    device: DeviceChoice,
    backend: Option<Arc<dyn Backend>>,
    partition_size: Option<usize>,
    on_error: OnError,
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

    /// What to do at a malformed record. [`OnError::Fail`] if not called.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Makes the engine, and with it the context of a CUDA device.
    ///
    /// # Errors
    /// [`Error::Device`] if the device that was asked for cannot be used; [`Error::Usage`] for a partition
    /// size of 0 or beyond 2 GiB less 16 KiB.
    pub fn build(self) -> Result<Engine, Error> {
        let backend = match self.backend {
            Some(backend) => backend,
            None => backend_for(self.device)?,
        };
        let partition_size = self.partition_size.unwrap_or_else(|| backend.partition_size());
        if !(1..=MAX_PARTITION_BYTES).contains(&partition_size) {
            return Err(Error::Usage(format!(
                "a partition has 1 to {MAX_PARTITION_BYTES} bytes, not {partition_size}"
            )));
        }
        Ok(Engine { backend, partition_size, on_error: self.on_error })
    }
}

fn backend_for(choice: DeviceChoice) -> Result<Arc<dyn Backend>, Error> {
    match choice {
        DeviceChoice::Cpu => Ok(Arc::new(Cpu)),
        DeviceChoice::Cuda(number) => cuda(number),
        DeviceChoice::Auto => match cuda(0) {
            Err(Error::Device(
                DeviceError::NoDriver | DeviceError::NoDevice { .. } | DeviceError::TooOld { .. },
            )) => Ok(Arc::new(Cpu)),
            other => other,
        },
    }
}

#[cfg(feature = "cuda")]
fn cuda(number: usize) -> Result<Arc<dyn Backend>, Error> {
    Ok(Arc::new(crate::device::Pipeline::new(crate::cuda::Cuda::new(number)?)?))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_number: usize) -> Result<Arc<dyn Backend>, Error> {
    Err(DeviceError::NoDriver.into())
}

impl Engine {
    /// Settings, to begin with.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// The backend in a few words.
    #[must_use]
    pub fn backend_name(&self) -> String {
        self.backend.name()
    }

    /// What the backend does with a program, step by step.
    #[must_use]
    pub fn stages(&self, program: &Program) -> Vec<Stage> {
        self.backend.stages(program)
    }

    /// Bytes of a partition.
    #[must_use]
    pub fn partition_size(&self) -> usize {
        self.partition_size
    }

    /// A file of newline-delimited JSON, plain, gzip or zstd.
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
        Input { engine: self.clone(), sources }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }

    pub(crate) fn on_error(&self) -> OnError {
        self.on_error
    }
}

/// Inputs that an engine is about to read.
pub struct Input {
    pub(crate) engine: Engine,
    pub(crate) sources: Vec<Source>,
}

impl Input {
    /// The matches of a query, in record order, and within a record in the order of RFC 9535's nodelist.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query that cannot be run; errors of the input come from the iterator.
    pub fn query(self, query: &Query) -> Result<Hits, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        Ok(Hits::new(self.answers(program, Want { matches: true, records: false })))
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

    /// The structural indexes, a partition at a time.
    #[must_use]
    pub fn indexes(self, levels: Level) -> Indexes {
        Indexes::new(self, levels)
    }
}
