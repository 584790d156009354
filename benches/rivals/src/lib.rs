//! Methods of other systems, written for comparison. Benches measure Warpath beside them, and tests check
//! both against the same oracles.
//!
//! The product does not depend on this crate.
//!
//! | module | contents |
//! |---|---|
//! | [`yfilter`] | standing queries as one automaton for all paths: YFilter, the rival of twigs on CPUs |
//! | [`twig_seed`] | the kernel of the paper on twigs, the rival of twigs on devices |
//! | [`unions`] | unions of compressed bitmaps: on CPUs two at a time, on devices by reductions |
//! | [`ladder`] | strings of FSST decoded on a device, one thread per string |
//!
//! The kernels of rivals are the crate [`warpath_rivals_gpu`]. Their PTX is embedded here alone. [`cuda()`]
//! opens a device that launches them. [`check`] compares the rivals with the oracles.

pub mod bench;
pub mod check;
pub mod ladder;
pub mod twig_seed;
pub mod unions;
pub mod yfilter;

use warpath::Error;
use warpath_benches::harness::copy::COPY;
use warpath_device::Accelerator;
use warpath_device::cuda::{Cuda, KernelModule, Settings};
use warpath_rivals_gpu::{args, for_each_rival};
use warpath_shared::kernel::Kernel;

macro_rules! modules {
    ($($module:ident: $(($kernel:ident, $function:ident)),+;)*) => {
        &[COPY, $(KernelModule {
            name: stringify!($module),
            kernels: &[$(args::$kernel::NAME),+],
            ptx: include_str!(concat!("../ptx/", stringify!($module), ".sm_75.ptx")),
            loading: concat!("module ", stringify!($module)),
        }),*]
    };
}

/// The modules of rivals' kernels, and that of the copy kernel.
pub const MODULES: &[KernelModule] = for_each_rival!(modules);

/// Opens the CUDA device of this number. It has the kernels of rivals beside the product's.
///
/// # Errors
/// Fails as [`Cuda::new`] does.
pub fn cuda(number: usize) -> Result<Cuda, Error> {
    Cuda::with_settings(number, settings())
}

/// The default settings of a device, with the kernels of rivals.
#[must_use]
pub fn settings() -> Settings {
    Settings { more_modules: MODULES, ..Settings::default() }
}

/// Launches a kernel for a stage of this crate. All stages launch through this function.
fn launch<A: Accelerator, K: Kernel>(device: &A, args: &K::Args<'_>) -> Result<(), Error> {
    // SAFETY: the stages make their arguments only from views of their own device's buffers, which they
    // borrow. They launch in an order in which all that a kernel reads was copied, zeroed or written before.
    unsafe { device.launch::<K>(args) }
}
