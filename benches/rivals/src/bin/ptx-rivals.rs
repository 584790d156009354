//! Makes the PTX of rivals that the repository contains, or checks that it is the result of the sources.

use std::process::ExitCode;

use cuda_builder::run;
use warpath_rivals::check::ptx::KERNEL_CRATE;

fn main() -> ExitCode {
    run("cargo run --manifest-path benches/rivals/Cargo.toml --bin ptx-rivals -- --root .", KERNEL_CRATE)
}
