//! Bytes that are read as a packed file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpath_tests::packed::fuzz_one(bytes));
