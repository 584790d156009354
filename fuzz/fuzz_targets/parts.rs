//! Bytes that are read as a part of a store, as its lines, its sections, or its log.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpath_tests::parts::fuzz_one(bytes));
