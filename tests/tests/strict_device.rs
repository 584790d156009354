//! Strict checks by the emulated kernels, held to those of the host.

use anyhow::Result;
use warpath::device::Pipeline;
use warpath_tests::emulated::Emulated;
use warpath_tests::strict;

fn emulated() -> Pipeline<Emulated> {
    Pipeline::new(Emulated::default()).unwrap()
}

#[test]
fn files() -> Result<()> {
    strict::files(&emulated())
}

#[test]
fn ends() -> Result<()> {
    strict::small(&emulated())
}

#[test]
fn values_slid_across_words() -> Result<()> {
    strict::slide(&emulated(), 3)
}

#[test]
fn values_at_boundaries() -> Result<()> {
    strict::boundaries(&emulated(), 3)
}

#[test]
fn every_byte() -> Result<()> {
    strict::bytes(&emulated(), 9)
}

#[test]
fn random() -> Result<()> {
    strict::random(&emulated(), 160, 400, 1)
}

#[test]
fn random_of_several_tiles() -> Result<()> {
    strict::random(&emulated(), 8, 70_000, 1000)
}

#[test]
fn long() -> Result<()> {
    strict::long(&emulated(), 70_000)
}

/// 95 texts that must be accepted, 188 that must be refused, and 35 of which the suite says neither.
#[test]
#[cfg_attr(
    not(json_test_suite),
    ignore = "no ../shared/conformance/JSONTestSuite beside the project, nor WARPATH_CONFORMANCE"
)]
fn json_test_suite() -> Result<()> {
    let folder = env!("WARPATH_JSON_TEST_SUITE");
    assert_eq!(strict::json_test_suite(&emulated(), folder.as_ref())?, (95, 188, 35));
    Ok(())
}
