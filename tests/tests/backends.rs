//! Every backend that needs no GPU, held to the oracles.

use warpath::Cpu;
use warpath::device::Pipeline;
use warpath_tests::emulated::Emulated;
use warpath_tests::suite;

fn emulated() -> Pipeline<Emulated> {
    Pipeline::new(Emulated::default()).unwrap()
}

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
