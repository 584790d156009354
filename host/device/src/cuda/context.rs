//! The CUDA devices of this machine, and the context of one of them.

use std::num::NonZero;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cust::CudaFlags;
use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::{Device as SysDevice, DeviceAttribute};
use cust::error::CudaResult;
use cust::sys;
use cust::{DriverError, driver_available};
use warpath_core::error::{DeviceError, Error};

use super::calls::failed;
use super::memory::Pool;
use super::modules::{KernelModule, LEAST_CAPABILITY, Loaded};

/// A short description of a CUDA device.
///
/// ```no_run
/// use warpath::cuda::DeviceInfo;
/// use warpath::{DeviceChoice, Engine};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let has_memory = |device: &DeviceInfo| device.memory >= 8 << 30;
/// if let Some(device) = warpath::cuda::devices()?.into_iter().find(has_memory) {
///     println!("{} of compute capability {:?}", device.name, device.compute_capability);
///     let engine = Engine::builder().device(DeviceChoice::Cuda(device.number)).build()?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number, from 0, as in `cuda:N`.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// Its compute capability: major, minor.
    pub compute_capability: (i32, i32),
}

/// Loads the driver and starts it.
fn start() -> Result<(), Error> {
    driver_available().map_err(|error| match error {
        DriverError::NotFound { .. } => DeviceError::NoDriver,
        // The stub library of a CUDA toolkit is not a driver.
        DriverError::Init { code: 34, .. } => DeviceError::NoDriver,
        DriverError::Init { code: 100, .. } => DeviceError::NoDevice { wanted: 0, found: 0 },
        DriverError::Init { message, .. } => DeviceError::of_call("cuInit", message),
        other => DeviceError::of_call("cuInit", other),
    })?;
    cust::init(CudaFlags::empty()).map_err(failed("cuInit"))
}

/// The way in which threads wait for the device. A spinning thread notices the end sooner, but takes a core
/// from the threads that read.
fn scheduling(cores: usize) -> ContextFlags {
    if cores >= SPINNING_CORES { ContextFlags::SCHED_SPIN } else { ContextFlags::SCHED_BLOCKING_SYNC }
}

fn compute_capability(device: SysDevice) -> CudaResult<(i32, i32)> {
    let major = device.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
    Ok((major, device.get_attribute(DeviceAttribute::ComputeCapabilityMinor)?))
}

/// The CUDA devices of this machine.
///
/// ```
/// use warpath::{DeviceError, Error};
///
/// match warpath::cuda::devices() {
///     Ok(devices) => assert!(devices.iter().enumerate().all(|(at, device)| device.number == at)),
///     Err(Error::Device(DeviceError::NoDriver | DeviceError::NoDevice { .. })) => println!("no GPU"),
///     Err(error) => panic!("{error}"),
/// }
/// ```
///
/// # Errors
/// [`DeviceError::NoDriver`] without a driver, [`DeviceError::NoDevice`] with a driver and no device.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    start()?;
    let info = |(number, device): (usize, CudaResult<SysDevice>)| {
        let device = device?;
        Ok(DeviceInfo {
            number,
            name: device.name()?,
            memory: device.total_memory()? as u64,
            compute_capability: compute_capability(device)?,
        })
    };
    SysDevice::devices()
        .and_then(|devices| devices.enumerate().map(info).collect())
        .map_err(failed("device attributes"))
}

/// The least number of cores with which a device's workers wait by spinning: then cores are left for other
/// threads. This limit is reasoned, not measured. With 16 cores and twelve workers, spinning did no harm
/// (docs/lab/transfer.md); blocking was not measured there.
const SPINNING_CORES: usize = 16;

/// The source of the pinned memory that texts are read into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextMemory {
    /// The process's own memory, which the first copy from it pins. So texts can be read while the context is
    /// made.
    ///
    /// A device that reports that it cannot pin such memory uses [`Allocated`](Self::Allocated). If pinning
    /// fails on a device that reports that it can, that text is copied unpinned, more slowly. Later texts use
    /// [`Allocated`](Self::Allocated) if the driver has such memory, and `Setup::notes` reports the failure.
    #[default]
    Registered,
    /// Memory that the driver allocates, after the context is made.
    Allocated,
}

/// The source of the arrays on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrayMemory {
    /// A pool that keeps freed memory. A device without pools uses [`Allocated`](Self::Allocated).
    #[default]
    Pooled,
    /// One driver allocation for each array.
    Allocated,
}

/// Settings for the use of a device. They change speed and memory, never a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The memory that texts are read into.
    pub texts: TextMemory,
    /// The memory of arrays.
    pub arrays: ArrayMemory,
    /// The most registers a thread that kernels are compiled to. Benches set it, to measure what more threads
    /// at once are worth.
    pub registers: Option<u32>,
    /// Modules beside the product's. Benches add kernels that they compare with.
    pub more_modules: &'static [KernelModule],
}

/// A CUDA device. All its queues share its context and modules.
pub(super) struct OneDevice {
    /// Its number, from 0.
    pub number: usize,
    pub name: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// The time to load the driver and to query the device's attributes.
    pub driver: Duration,
    pub settings: Settings,
    /// The first reason why a text could not be pinned.
    pub unlocked: OnceLock<Error>,
    pub opened: OnceLock<Result<Opened, DeviceError>>,
    /// The thread that makes the context, until a caller waits for it.
    opening: Mutex<Option<JoinHandle<Result<Opened, Error>>>>,
}

/// The parts of a device that exist once it has a context.
pub(super) struct Opened {
    pub modules: Loaded,
    pub pool: Option<Arc<Pool>>,
    pub context: Arc<Context>,
    /// The time that it took to make the context and the pool, and the time at which it was done.
    pub took: Duration,
    pub ready: Instant,
}

impl Opened {
    /// Makes the context and the pool.
    fn new(device: SysDevice, settings: Settings) -> Result<Self, Error> {
        let since = Instant::now();
        let flags = scheduling(thread::available_parallelism().map_or(1, NonZero::get)).bits();
        // If the surrounding program already uses the device, that program's flags are kept. So the result is
        // ignored.
        // SAFETY: the call takes no pointers.
        let _ = unsafe { sys::cuDevicePrimaryCtxSetFlags_v2(device.as_raw(), flags) };
        let context = Arc::new(Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?);
        CurrentContext::set_current(&context).map_err(failed("cuCtxSetCurrent"))?;
        let pool = match settings.arrays {
            ArrayMemory::Pooled => Pool::new(device, &context)?.map(Arc::new),
            ArrayMemory::Allocated => None,
        };
        let modules = Loaded::new(settings.more_modules);
        Ok(Self { modules, pool, context, took: since.elapsed(), ready: Instant::now() })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // The fields dropped next belong to this context. If it cannot be entered, the driver is gone, and
        // all its memory with it.
        let _ = CurrentContext::set_current(&self.context);
    }
}

impl OneDevice {
    /// Opens the device of this number, and starts to make its context.
    pub fn open(number: usize, settings: Settings) -> Result<Self, Error> {
        let since = Instant::now();
        start()?;
        let found = SysDevice::num_devices().map_err(failed("cuDeviceGetCount"))? as usize;
        if number >= found {
            return Err(DeviceError::NoDevice { wanted: number, found }.into());
        }
        let device = SysDevice::get_device(number as u32).map_err(failed("cuDeviceGet"))?;
        let (major, minor) = compute_capability(device).map_err(failed("device attributes"))?;
        if 10 * major + minor < LEAST_CAPABILITY {
            return Err(DeviceError::TooOld { number, capability: (major, minor) }.into());
        }
        let registers = device.get_attribute(DeviceAttribute::HostRegisterSupported);
        let settings = match registers.map_err(failed("cuDeviceGetAttribute"))? {
            0 => Settings { texts: TextMemory::Allocated, ..settings },
            _ => settings,
        };
        let name = format!("cuda:{number} ({})", device.name().map_err(failed("cuDeviceGetName"))?);
        let memory = device.total_memory().map_err(failed("cuDeviceTotalMem"))? as u64;
        let driver = since.elapsed();
        let thread = thread::Builder::new()
            .name(format!("cuda:{number}"))
            .spawn(move || Opened::new(device, settings))
            .map_err(Error::Thread)?;
        let (unlocked, opened, opening) = (OnceLock::new(), OnceLock::new(), Mutex::new(Some(thread)));
        Ok(Self { number, name, memory, driver, settings, unlocked, opened, opening })
    }

    /// Returns the device with its context. Waits until the context is made.
    pub fn opened(&self) -> Result<&Opened, Error> {
        let opened = self.opened.get_or_init(|| {
            let thread = self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
            const CALL: &str = "cuDevicePrimaryCtxRetain";
            let died = || DeviceError::of_call(CALL, "the thread that makes the context ended before it had");
            match thread.ok_or_else(died)?.join() {
                Ok(Ok(opened)) => Ok(opened),
                Ok(Err(Error::Device(error))) => Err(error),
                Ok(Err(other)) => Err(DeviceError::of_call(CALL, other)),
                Err(_) => Err(died()),
            }
        });
        opened.as_ref().map_err(|error| error.clone().into())
    }

    /// Does the same as [`opened`](Self::opened), and makes the context current on this thread.
    pub fn enter(&self) -> Result<&Opened, Error> {
        let opened = self.opened()?;
        CurrentContext::set_current(&opened.context).map_err(failed("cuCtxSetCurrent"))?;
        Ok(opened)
    }
}

impl Drop for OneDevice {
    fn drop(&mut self) {
        // Without this wait, a process could end while its context is made. The driver does not always clean
        // up that case well.
        let _ = self.opened();
    }
}
