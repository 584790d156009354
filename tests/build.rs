//! Finds the conformance data and a GPU. Tests that need one of them are ignored where it is missing; they do
//! not pass.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WARPATH_CONFORMANCE");
    println!("cargo::rustc-check-cfg=cfg(conformance)");
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance");
    let folder = env::var_os("WARPATH_CONFORMANCE").map_or_else(beside, PathBuf::from);
    let suite = folder.join("cts.json");
    // A missing file is not watched: cargo would take it for changed and build the tests anew each time. If
    // the data comes later, `touch tests/build.rs`.
    if suite.is_file() {
        println!("cargo::rerun-if-changed={}", suite.display());
        println!("cargo::rustc-cfg=conformance");
    }
    // The JSON texts that a parser must accept, and those that it must refuse.
    println!("cargo::rustc-check-cfg=cfg(json_test_suite)");
    let texts = folder.join("JSONTestSuite/test_parsing");
    if texts.is_dir() {
        println!("cargo::rerun-if-changed={}", texts.display());
        println!("cargo::rustc-cfg=json_test_suite");
    }
    println!("cargo::rustc-env=WARPATH_JSON_TEST_SUITE={}", texts.display());
    // Which device the driver shows; it is not watched either.
    println!("cargo::rustc-check-cfg=cfg(gpu)");
    if PathBuf::from("/dev/nvidia0").exists() {
        println!("cargo::rustc-cfg=gpu");
    }
    println!("cargo::rustc-env=WARPATH_CTS={}", suite.display());
}
