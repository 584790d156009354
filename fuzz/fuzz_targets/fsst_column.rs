//! Files of string columns, of any bytes. A file that opens is compared with the rule, and nothing is read or
//! written out of bounds.
//!
//! `cargo +nightly fuzz run fsst_column`. The tests run the same function over files with random changes
//! (`tests/tests/fsst_column/files.rs`).

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    warpath_tests::fsst_column::fuzz_one(file);
});
