//! Every backend that needs no GPU, held to the oracles.

use warpath::Cpu;
use warpath::device::{Pipeline, Shape};
use warpath_tests::emulated::Emulated;
use warpath_tests::suite;

fn emulated(shape: Shape) -> Pipeline<Emulated> {
    Pipeline::new(Emulated::default()).unwrap().shape(shape)
}

macro_rules! on_all {
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
                let ($backend, $cpu) = (&emulated(Shape::Lanes8), false);
                $check
            })*
        }
    };
}

on_all! {
    files: |backend, _cpu| suite::files(backend);
    sizes: |backend, _cpu| suite::sizes(backend);
    slide_across_words: |backend, _cpu| suite::slide_across_words(backend, 1);
    slide_across_tiles: |backend, cpu| suite::slide_across_tiles(backend, if cpu { 1 } else { 9 });
    long_records: |backend, cpu| suite::long_records(backend, if cpu { 400 } else { 24 });
    random_small: |backend, cpu| suite::random(backend, if cpu { 3000 } else { 150 }, 300, 1000);
    random_tiles: |backend, cpu| suite::random(backend, if cpu { 60 } else { 9 }, 40_000, 5000);
    many_tiles: |backend, cpu| suite::many_tiles(backend, if cpu { 20 << 20 } else { 5 << 20 });
}

/// The query kernels of the other shapes: what does not depend on where tiles end.
fn other_shape(shape: Shape) -> anyhow::Result<()> {
    let backend = &emulated(shape);
    suite::files(backend)?;
    suite::slide_across_words(backend, 3)?;
    suite::long_records(backend, 24)?;
    suite::random(backend, 150, 300, 1000)
}

#[test]
fn emulated_thread_a_line() -> anyhow::Result<()> {
    other_shape(Shape::Thread)
}

#[test]
fn emulated_16_lanes_a_line() -> anyhow::Result<()> {
    other_shape(Shape::Lanes16)
}

#[test]
fn emulated_warp_a_line() -> anyhow::Result<()> {
    other_shape(Shape::Warp)
}
