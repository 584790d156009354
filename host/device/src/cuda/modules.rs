//! The kernels' embedded PTX, and its loading. A module is loaded when the first of its kernels is launched.
//!
//! The driver compiles a module for the device at its first load. This takes seconds for all modules
//! together. The driver caches the result on disk, so later loads take milliseconds. A query needs two or
//! three modules.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cust::error::CudaError;
use cust::function::Function;
use cust::module::{Module, ModuleJitOption};
use warpath_core::error::{DeviceError, Error};
use warpath_shared::for_each_kernel;
use warpath_shared::kernel::{self, Kernel};

/// The least compute capability that the kernels' PTX needs, times 10.
pub(super) const LEAST_CAPABILITY: i32 = 75;

/// A group of kernels that are loaded together, as PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelModule {
    /// The module's name, as in the table of its kernels.
    pub name: &'static str,
    /// The names of the module's kernels: the entries that the PTX must have.
    pub kernels: &'static [&'static str],
    /// The PTX text.
    pub ptx: &'static str,
    /// The name of its load step in the times of the set-up.
    pub loading: &'static str,
}

macro_rules! modules {
    ($($module:ident: $(($kernel:ident, $function:ident)),+;)*) => {
        &[$(KernelModule {
            name: stringify!($module),
            kernels: &[$(kernel::$kernel::NAME),+],
            ptx: include_str!(concat!("../../ptx/", stringify!($module), ".sm_75.ptx")),
            loading: concat!("module ", stringify!($module)),
        }),*]
    };
}

/// The modules of the product's kernels.
pub const MODULES: &[KernelModule] = for_each_kernel!(modules);

/// The modules of one context, loaded or not.
pub(super) struct Loaded {
    slots: Vec<Slot>,
    /// The position of each kernel's module.
    of_kernels: HashMap<&'static str, usize>,
}

struct Slot {
    of: &'static KernelModule,
    module: OnceLock<(Module, Duration)>,
    /// Held by the thread that loads the module.
    loading: Mutex<()>,
}

impl Loaded {
    /// The product's modules, and more modules after them. None is loaded yet.
    pub fn new(more: &'static [KernelModule]) -> Self {
        let slot = |of| Slot { of, module: OnceLock::new(), loading: Mutex::default() };
        let slots: Vec<Slot> = MODULES.iter().chain(more).map(slot).collect();
        let kernels = |(at, slot): (usize, &Slot)| slot.of.kernels.iter().map(move |kernel| (*kernel, at));
        let of_kernels = slots.iter().enumerate().flat_map(kernels).collect();
        Self { slots, of_kernels }
    }

    /// Returns a kernel, and loads its module first if necessary, with at most `registers` registers a
    /// thread. Other threads that need the same module wait for the load. The context must be current on this
    /// thread.
    pub fn function(&self, kernel: &'static str, registers: Option<u32>) -> Result<Function<'_>, Error> {
        let Some(at) = self.of_kernels.get(kernel) else {
            return Err(Error::Internal(format!("no module has the kernel `{kernel}`")));
        };
        let slot = &self.slots[*at];
        slot.get(registers)?.get_function(kernel).map_err(|error| failed(kernel, slot.of, error))
    }

    /// The load time of each loaded module.
    pub fn times(&self) -> Vec<(&'static str, Duration)> {
        self.slots.iter().filter_map(|slot| Some((slot.of.loading, slot.module.get()?.1))).collect()
    }
}

impl Slot {
    fn get(&self, registers: Option<u32>) -> Result<&Module, Error> {
        if let Some((module, _)) = self.module.get() {
            return Ok(module);
        }
        // A thread that panicked while it held this lock loaded nothing.
        let _one = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((module, _)) = self.module.get() {
            return Ok(module);
        }
        let since = Instant::now();
        let options: Vec<ModuleJitOption> =
            registers.map(ModuleJitOption::MaxRegisters).into_iter().collect();
        let module = Module::from_ptx(self.of.ptx, &options)
            .map_err(|error| failed("cuModuleLoadDataEx", self.of, error))?;
        Ok(&self.module.get_or_init(|| (module, since.elapsed())).0)
    }
}

fn failed(call: &'static str, module: &KernelModule, error: CudaError) -> Error {
    DeviceError::of_call(call, format!("{error} (module `{}`)", module.name)).into()
}
