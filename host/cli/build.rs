//! Links the program `warpath`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|of| of == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        // At a fixed address: the loader would otherwise write 2 MB of pointers, which takes a millisecond,
        // before each run (docs/lab/building.md).
        println!("cargo::rustc-link-arg-bin=warpath=-no-pie");
    }
}
