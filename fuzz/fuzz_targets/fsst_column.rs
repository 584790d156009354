//! Codes of string columns, of any bytes. A column that is made of them is compared with the rule, and
//! nothing is read or written out of bounds.
//!
//! `cargo +nightly fuzz run fsst_column`. The tests run the same function over random codes
//! (`tests/tests/fsst_column.rs`).

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    warpath_tests::fsst_column::fuzz_one(bytes);
});
