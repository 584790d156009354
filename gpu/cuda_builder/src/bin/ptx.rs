//! Makes the PTX of `gpu` that the repository contains, or checks that it is the result of the sources.

use std::process::ExitCode;

use cuda_builder::{KernelCrate, run};
use warpath_shared::kernel::{BENCH_KERNELS, KERNELS};

fn main() -> ExitCode {
    let folders = &[("host/device/ptx", KERNELS), ("benches/ptx", BENCH_KERNELS)];
    run("cargo run -p warpath-cuda-builder --", KernelCrate { path: "gpu", folders })
}
