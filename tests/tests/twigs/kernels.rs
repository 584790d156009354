//! Random twigs and documents, compared with oracles on devices.

use std::sync::Arc;

use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_tests::emulated::Emulated;
use warpath_tests::{twig_streams, twigs};

use crate::common::device;

/// The emulated kernels, compared with the CPU and the oracle on 80,000 pairs. The pairs are spread over two
/// tests, for two cores. `check` compares more on a card.
#[test]
fn kernels_match_as_the_oracle_says() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 1, 8, (200, 25))
}

/// Enough twigs that groups are selected by their keys.
#[test]
fn many_twigs_match_as_the_oracle_says() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 3, 4, (1500, 5))
}

#[test]
fn kernels_match_as_the_oracle_says_again() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 2, 8, (200, 25))
}

/// Streams on the CPU and on a device: each document has the results that it has by itself.
#[test]
fn streams_are_asked_as_each_document_is() -> anyhow::Result<()> {
    let cpu: Arc<dyn Backend> = Arc::new(Cpu);
    twig_streams::streams(&cpu, 1, 60)?;
    twig_streams::streams(&device(), 2, 6)
}
