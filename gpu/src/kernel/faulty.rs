//! Reporting faulty lines.

use cuda_std::atomic::mid::{atomic_fetch_or_u32_relaxed_device, atomic_store_32_relaxed_device};
use warpath_shared::kernel::{ANY_FAULTY, FaultyLines};
use warpath_shared::units::LineIx;
use warpath_shared::view::ViewMut;

/// Marks a line, if there is room for it: where there is none, the host makes room and launches again. Any number of threads
/// may mark any lines at once.
#[inline(always)]
pub(super) fn mark(bits: ViewMut<'_, u32>, line: LineIx) {
    if line as usize / 32 < bits.len() {
        // SAFETY: the words are only touched atomically during the launch.
        unsafe { atomic_fetch_or_u32_relaxed_device(bits.at(line as usize / 32, 1), 1 << (line % 32)) };
    }
}

/// Marks a line as faulty.
#[inline(always)]
pub(super) fn report(faulty: &FaultyLines<'_>, line: LineIx) {
    mark(faulty.bits, line);
    // SAFETY: as above; all writers write the same.
    unsafe { atomic_store_32_relaxed_device(faulty.status.at(ANY_FAULTY, 1), 1) };
}
