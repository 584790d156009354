//! Subscription files and documents of any bytes: a file of subscriptions, a zero, and a document of XML, of
//! JSON, or lines of JSON.
//!
//! `cargo +nightly fuzz run twigs`. The tests run the same function over files with random changes
//! (`tests/tests/twigs/cases.rs`).

#![no_main]

use libfuzzer_sys::fuzz_target;
use warpath_tests::twig_evaluator::ByKeys;

fuzz_target!(|bytes: &[u8]| {
    warpath_tests::twig_fuzz::fuzz_one::<ByKeys>(bytes);
});
