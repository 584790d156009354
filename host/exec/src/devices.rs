//! The backends of this machine, by choice. No other module opens a device.

use std::str::FromStr;
use std::sync::Arc;
use std::thread;

use warpath_answer::backend::Backend;
use warpath_core::error::{DeviceError, Error};
use warpath_cpu::Cpu;
use warpath_device::Together;

/// The choice of a backend.
///
/// ```
/// use warpath::{DeviceChoice, Engine};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().device(DeviceChoice::Cpu).build()?;
/// assert!(engine.backend_name().starts_with("cpu"));
/// assert_eq!("cuda:all".parse::<DeviceChoice>()?, DeviceChoice::CudaAll);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceChoice {
    /// The backend that is faster for an input, chosen when the input is known. This is the first CUDA device
    /// for large plain files, if there are a driver and a device that can run the kernels. Otherwise it is
    /// the CPU. A device that should work and does not is an error.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device with this number. Its absence is an error.
    Cuda(usize),
    /// Several CUDA devices, by their numbers. They take partitions in turns.
    CudaList(Vec<usize>),
    /// All CUDA devices of the host. If there is none, that is an error.
    CudaAll,
}

impl FromStr for DeviceChoice {
    type Err = Error;

    /// Parses a choice: `auto`, `cpu`, `cuda`, `cuda:N`, `cuda:N,N` or `cuda:all`, with `N` a device's
    /// number. `cuda` is `cuda:0`.
    ///
    /// ```
    /// use warpath::DeviceChoice;
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// assert_eq!("cuda:1".parse::<DeviceChoice>()?, DeviceChoice::Cuda(1));
    /// # Ok(())
    /// # }
    /// ```
    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| -> Option<usize> {
            let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|digits| digits.parse().ok())
        };
        let numbered = |list: &str| match list.split(',').map(number).collect::<Option<Vec<_>>>()?[..] {
            [number] => Some(Self::Cuda(number)),
            ref several => Some(Self::CudaList(several.to_vec())),
        };
        let choice = match text {
            "auto" => Some(Self::Auto),
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(0)),
            "cuda:all" => Some(Self::CudaAll),
            _ => text.strip_prefix("cuda:").and_then(numbered),
        };
        choice.ok_or_else(|| {
            Error::Usage(format!(
                "there is no device `{text}`; expected auto, cpu, cuda, cuda:N, cuda:N,N or cuda:all, with N a \
                 device's number"
            ))
        })
    }
}

/// Opens the backend of a choice. Returns `None` if the input decides.
pub(crate) fn open(choice: &DeviceChoice) -> Result<Option<Arc<dyn Backend>>, Error> {
    Ok(Some(match choice {
        DeviceChoice::Auto => return Ok(None),
        DeviceChoice::Cpu => Arc::new(Cpu),
        DeviceChoice::Cuda(number) => cuda(*number)?,
        DeviceChoice::CudaList(numbers) => several(numbers)?,
        DeviceChoice::CudaAll => several(&all()?)?,
    }))
}

/// A backend of several devices that work together. Each device is set up in its own thread.
fn several(numbers: &[usize]) -> Result<Arc<dyn Backend>, Error> {
    if let Some(twice) = numbers.iter().enumerate().find(|(i, number)| numbers[..*i].contains(number)) {
        return Err(Error::Usage(format!("cuda:{} is named twice", twice.1)));
    }
    let devices: Result<Vec<_>, Error> = thread::scope(|scope| {
        let start = |number: &usize| {
            let number = *number;
            thread::Builder::new().spawn_scoped(scope, move || cuda(number)).map_err(Error::Thread)
        };
        let threads: Vec<_> = numbers.iter().map(start).collect::<Result<_, _>>()?;
        let died = |_| Err(Error::Internal("a thread that opens a device ended before it had".into()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(died)).collect()
    });
    Ok(Arc::new(Together::new(devices?)?))
}

/// A backend of one CUDA device.
#[cfg(feature = "cuda")]
pub(crate) fn cuda(number: usize) -> Result<Arc<dyn Backend>, Error> {
    warpath_device::cuda::backend(number)
}

/// A backend of one CUDA device.
#[cfg(not(feature = "cuda"))]
pub(crate) fn cuda(_number: usize) -> Result<Arc<dyn Backend>, Error> {
    Err(DeviceError::NotBuilt.into())
}

/// The numbers of all CUDA devices.
#[cfg(feature = "cuda")]
fn all() -> Result<Vec<usize>, Error> {
    let numbers: Vec<usize> = warpath_device::cuda::devices()?.iter().map(|device| device.number).collect();
    if numbers.is_empty() {
        return Err(DeviceError::NoDevice { wanted: 0, found: 0 }.into());
    }
    Ok(numbers)
}

/// The numbers of all CUDA devices.
#[cfg(not(feature = "cuda"))]
fn all() -> Result<Vec<usize>, Error> {
    Err(DeviceError::NotBuilt.into())
}
