//! Marks of faulty lines.

use cuda_std::atomic::mid::{atomic_fetch_or_u32_relaxed_device, atomic_store_32_relaxed_device};
use warpath_shared::kernel::{ANY_FAULTY, FaultyLines};
use warpath_shared::units::LineIx;
use warpath_shared::view::ViewMut;

/// Marks a line if the bitmap has room for it. If it has none, the host makes room and launches again. Any
/// number of threads may mark any lines at the same time.
#[inline(always)]
pub(super) fn mark(bits: ViewMut<'_, u32>, line: LineIx) {
    if line as usize / 32 < bits.len() {
        // SAFETY: `at` checks the index, and the words are touched only atomically during the launch.
        unsafe { atomic_fetch_or_u32_relaxed_device(bits.at(line as usize / 32, 1), 1 << (line % 32)) };
    }
}

/// Marks a line as faulty and sets the flag that the host reads.
#[inline(always)]
pub(super) fn report(faulty: &FaultyLines<'_>, line: LineIx) {
    mark(faulty.bits, line);
    // SAFETY: the word is touched only atomically during the launch, and all writers write the same value.
    unsafe { atomic_store_32_relaxed_device(faulty.status.at(ANY_FAULTY, 1), 1) };
}
