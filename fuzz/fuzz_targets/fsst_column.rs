//! Files of string columns, of any bytes: what is opened is held to the rule, and nothing is read or written out of bounds.
//!
//! `cargo +nightly fuzz run fsst_column`. The same function is run by the tests over files that are altered here and there (`tests/tests/fsst_column.rs`).

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    warpath_tests::fsst_column::fuzz_one(file);
});
