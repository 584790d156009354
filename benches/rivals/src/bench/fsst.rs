//! The ladder: strings of FSST decoded on a device, by the published steps of others.

use anyhow::{Result, ensure};
use warpath_benches::fsst::Column;
use warpath_device::Accelerator as _;

use crate::ladder::{LadderStage, Step};

/// Measures each step of the ladder over a column.
///
/// # Errors
/// An error of the device, or a wrong result.
pub fn ladder(of: &Column<'_>) -> Result<()> {
    let mut stage = LadderStage::new(of.cuda.queue()?);
    for (what, step) in [
        ("ladder: bytes", Step::Bytes),
        ("ladder: codes by 8 bytes", Step::Words),
        ("ladder: table in shared memory", Step::Shared),
        ("ladder: output by 16 bytes", Step::Buffered),
        ("ladder: stretches of 64 codes", Step::Stretches),
    ] {
        stage.load(&of.codes, step)?;
        let (milliseconds, kernels) = of.time(&mut stage, LadderStage::device, LadderStage::decode)?;
        let (made, places) = stage.download()?;
        ensure!(made == of.strings.values, "{what}: other bytes");
        ensure!(step == Step::Stretches || places == of.strings.offsets, "{what}: strings elsewhere");
        of.show(what, milliseconds, &kernels);
    }
    Ok(())
}
