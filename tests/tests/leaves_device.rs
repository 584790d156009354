//! Questions about tables of leaves by the kernels, in the emulator. The results are compared with the
//! host's.

use anyhow::Result;
use warpath_tests::emulated::Emulated;
use warpath_tests::leaves::suite;

#[test]
fn the_kernels_answer_as_the_host() -> Result<()> {
    suite(&Emulated::default(), 1, 4, 300)?;
    suite(&Emulated::default(), 2, 1, 3000)
}
