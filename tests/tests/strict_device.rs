//! Strict checks by the emulated kernels, compared with those of the host.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::Result;
use warpath::{Engine, OnError, Program, Query, Want};
use warpath_device::Pipeline;
use warpath_tests::emulated::Emulated;
use warpath_tests::strict;

use crate::common::emulated;

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

/// A device makes the strict checks of its own results: the host reads only the lines that the device
/// suspects. The CPU checks the texts that it evaluates.
#[test]
fn a_device_checks_what_it_answers() -> Result<()> {
    let text = "{\"a\":1,\"b\":\"1\"}\n{\"a\":01}\n{\"a\":\"\\x\"}\n[\"é\"]\n{\"a\":2,\"b\":\"x\"}\n";
    let device = Emulated::default();
    let backend = Arc::new(Pipeline::new(device.clone())?);
    for (path, by_device, want) in [
        ("$.a", true, vec!["1", "2"]),
        ("$..a", true, vec!["1", "2"]),
        ("$", true, vec!["{\"a\":1,\"b\":\"1\"}", "[\"é\"]", "{\"a\":2,\"b\":\"x\"}"]),
        ("$[?match(@, $.b)]", false, vec!["\"1\"", "\"x\""]),
    ] {
        for on_error in [OnError::Skip, OnError::Fail] {
            let builder = Engine::builder().backend(backend.clone()).strict(true).on_error(on_error);
            let engine = builder.build()?;
            let query = Query::compile(path)?;
            let _ = device.take_work();
            let mut hits = engine.reader("text", Cursor::new(text)).query(&query)?;
            assert!(hits.plan().strict);
            assert_eq!(hits.plan().strict_on_device, by_device);
            let (mut found, mut failed) = (Vec::new(), None);
            for hit in hits.by_ref() {
                match hit {
                    Ok(hit) => found.push(hit.text().into_owned()),
                    Err(error) => failed = Some(error.to_string()),
                }
            }
            let (kernels, _) = device.take_work();
            assert_eq!(kernels.contains_key("strict_check"), by_device, "{path}: {kernels:?}");
            let stages = engine.stages(&Program::new(&[query])?, Want::default());
            let checked: Vec<_> = stages.iter().filter(|stage| stage.name == "validate").collect();
            assert_eq!(checked.len(), 1, "{stages:?}");
            assert_eq!(checked[0].place, if by_device { "device" } else { "cpu" });
            match on_error {
                OnError::Fail => {
                    assert_eq!(found, want[..1], "{path}");
                    let said = failed.unwrap_or_default();
                    assert!(said.starts_with("text:2:7: "), "{path}: {said}");
                }
                _ => {
                    assert_eq!(found, want, "{path}");
                    assert_eq!(hits.stats().skipped, 2, "{path}");
                }
            }
        }
    }
    Ok(())
}
