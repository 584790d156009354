//! Decoding of FSST codes by the kernels, in the emulator: every way, every boundary, and every fault.

use warpath_device::FsstStage;
use warpath_tests::emulated::Emulated;
use warpath_tests::fsst;

#[test]
fn every_way_gives_what_the_codes_stand_for() {
    fsst::suite(&mut FsstStage::new(Emulated::default()), 1, 16).unwrap();
}
