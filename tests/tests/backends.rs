//! Compares every backend that needs no GPU with the oracles.

use std::sync::Arc;

use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Together;
use warpath_tests::packed::Packing;
use warpath_tests::resident::Resident;
use warpath_tests::suite;

use crate::common::emulated;

macro_rules! on_both {
    ($($name:ident: |$backend:ident, $cpu:ident| $check:expr;)*) => {
        mod cpu {
            use super::*;
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                let ($backend, $cpu) = (&Cpu, true);
                $check
            })*
        }
        mod emulated_kernels {
            use super::*;
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                let ($backend, $cpu) = (&emulated(), false);
                $check
            })*
        }
    };
}

on_both! {
    files: |backend, _cpu| suite::files(backend);
    sizes: |backend, _cpu| suite::sizes(backend);
    slide_across_words: |backend, _cpu| suite::slide_across_words(backend, 1);
    slide_across_tiles: |backend, cpu| suite::slide_across_tiles(backend, if cpu { 1 } else { 9 });
    long_records: |backend, cpu| suite::long_records(backend, if cpu { 400 } else { 24 });
    random_small: |backend, cpu| suite::random(backend, if cpu { 3000 } else { 150 }, 300, 1000);
    random_tiles: |backend, cpu| suite::random(backend, if cpu { 60 } else { 9 }, 40_000, 5000);
    many_tiles: |backend, cpu| suite::many_tiles(backend, if cpu { 20 << 20 } else { 5 << 20 });
}

/// Packed text, which the CPU decodes before it evaluates, and a device as a stage.
mod packed {
    use super::*;

    #[test]
    fn cpu() -> anyhow::Result<()> {
        let backend = Packing(Arc::new(Cpu));
        suite::files(&backend)?;
        suite::random(&backend, 100, 300, 1000)
    }

    #[test]
    fn devices() -> anyhow::Result<()> {
        let backend = Packing(Arc::new(emulated()));
        suite::files(&backend)?;
        suite::random(&backend, 40, 300, 1000)?;
        suite::random(&backend, 3, 40_000, 5000)
    }
}

/// Repeated queries over partitions that a backend keeps.
mod kept {
    use super::*;

    fn cpu() -> Resident {
        Resident::new(Arc::new(Cpu))
    }

    fn devices() -> Resident {
        let device = || -> Arc<dyn Backend> { Arc::new(emulated()) };
        Resident::new(Arc::new(Together::new(vec![device(), device()]).unwrap()))
    }

    /// A backend with few cells, which evaluates kept partitions in parts.
    fn of_few_cells() -> Resident {
        Resident::new(Arc::new(emulated().most_cells(40)))
    }

    #[test]
    fn on_the_cpu() -> anyhow::Result<()> {
        suite::files(&cpu())?;
        suite::sizes(&cpu())?;
        suite::slide_across_words(&cpu(), 1)?;
        suite::slide_across_tiles(&cpu(), 1)?;
        suite::long_records(&cpu(), 100)?;
        suite::random(&cpu(), 1000, 300, 7000)?;
        suite::many_tiles(&cpu(), 5 << 20)
    }

    #[test]
    fn on_devices() -> anyhow::Result<()> {
        suite::files(&devices())?;
        suite::random(&devices(), 60, 300, 8000)?;
        suite::random(&devices(), 3, 40_000, 9000)
    }

    #[test]
    fn on_devices_sizes() -> anyhow::Result<()> {
        suite::sizes(&devices())?;
        suite::many_tiles(&devices(), 2 << 20)
    }

    #[test]
    fn in_parts() -> anyhow::Result<()> {
        suite::files(&of_few_cells())?;
        suite::random(&of_few_cells(), 15, 300, 8500)
    }
}
