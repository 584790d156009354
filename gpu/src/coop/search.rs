//! Searches in scanned lengths (ascending offsets) for the element that contains a given offset. One function
//! searches by all lanes of a warp, the other by one thread within the range that warps found.

use cuda_std::warp::warp_vote_ballot;
use cuda_std::wide::load_readonly_64;
use warpath_shared::view::View;

use super::LANES;
use super::warp::ALL;

#[inline(always)]
fn load(offsets: View<'_, u64>, index: usize) -> u64 {
    // SAFETY: `View::at` checks the index. The offsets are 8-byte aligned, and no kernel that searches
    // offsets writes them.
    unsafe { load_readonly_64(offsets.at(index, 1)) }
}

/// The last element that is not above `place`. The offsets ascend, begin with 0 and end above `place`. Each
/// round reads 32 elements at once, so a million elements take four rounds.
///
/// # Safety
/// All lanes of a warp call it together, with the same arguments.
#[inline(always)]
pub unsafe fn by_warp(offsets: View<'_, u64>, place: u64, lane: u32) -> usize {
    // Invariant: `offsets[low] ≤ place < offsets[high]`.
    let (mut low, mut high) = (0, offsets.len() - 1);
    while high - low > 1 {
        let step = (high - low).div_ceil(LANES as usize);
        let probe = low + (lane as usize + 1) * step;
        let above = probe >= high || load(offsets, probe) > place;
        // SAFETY: the caller's contract: all lanes of the warp call this function together with the same
        // arguments. `low` and `high` depend only on arguments and ballots, so all lanes run the same rounds.
        //
        // The ballot is not zero: the last lane's probe is never below `high`.
        let first = unsafe { warp_vote_ballot(ALL, above) }.trailing_zeros() as usize;
        high = high.min(low + (first + 1) * step);
        low += first * step;
    }
    low
}

/// Returns the same element as [`by_warp`], searched by one thread. The element must be in `low..=high`.
#[inline(always)]
pub fn by_thread(offsets: View<'_, u64>, place: u64, mut low: usize, high: usize) -> usize {
    let mut above = high + 1;
    while above - low > 1 {
        let middle = low + (above - low) / 2;
        if load(offsets, middle) > place { above = middle } else { low = middle }
    }
    low
}
