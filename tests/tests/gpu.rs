//! Compares a CUDA device with the oracles. Ignored on machines without one. `tests/gpu.sh` does the same,
//! and more, on a machine without Rust.

use warpath_device::Pipeline;
use warpath_device::cuda::Cuda;
use warpath_tests::suite::{self, Effort};
use warpath_tests::trees;

#[test]
#[cfg_attr(not(gpu), ignore = "there is no GPU here")]
fn cuda_device_agrees_with_the_oracles() -> anyhow::Result<()> {
    let pipeline = Pipeline::new(Cuda::new(0)?)?;
    suite::all(&pipeline, Effort { random: (2000, 400), slide_step: 1, large: 50 << 20 })
}

#[test]
#[cfg_attr(not(gpu), ignore = "there is no GPU here")]
fn cuda_device_makes_the_trees_of_the_oracle() -> anyhow::Result<()> {
    trees::all(&Pipeline::new(Cuda::new(0)?)?, 1000, 10 << 20)
}
