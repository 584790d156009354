//! Operations of the blocks of a grid: a scan of the whole grid in one pass.
//!
//! Each block publishes the sum of its tile. Then it looks back over the blocks to its left, 32 at a time,
//! until it finds a block that already knows the sum of everything before it. The method is from Merrill and
//! Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA technical report
//! NVR-2016-002).
//!
//! A ticket gives each block its tile. So every tile to the left belongs to a block that is running or has
//! ended, and no block waits for one that cannot start.

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_relaxed_device, atomic_load_32_acquire_device, atomic_store_32_release_device,
};
use cuda_std::thread::nanosleep;
use cuda_std::warp::{warp_vote_all, warp_vote_ballot};
use warpath_shared::index::Monoid;
use warpath_shared::kernel::LookBack;

use super::LANES;
use super::warp::{self, ALL, Shuffle};

/// The status of a tile whose own sum is published.
const AGGREGATE: u32 = 1;
/// The status of a tile for which the sum of everything up to its end is published.
const INCLUSIVE: u32 = 2;

/// Takes the next tile. One thread of each block calls it, once.
#[inline(always)]
pub fn take_ticket<T: Copy>(look_back: &LookBack<'_, T>) -> u32 {
    let ticket = look_back.status.at(look_back.status.len() - 1, 1);
    // SAFETY: the last element of `status` is the ticket counter. Only this function accesses it.
    unsafe { atomic_fetch_add_u32_relaxed_device(ticket, 1) }
}

/// The sum of all tiles before `tile`; `total` is the tile's own sum. Valid in every lane.
///
/// # Safety
/// All lanes of one warp of the tile's block call it together, once, with the same arguments. The ticket of
/// every tile to the left has been taken.
#[inline(always)]
pub unsafe fn prefix<T: Monoid + Shuffle>(look_back: &LookBack<'_, T>, tile: u32, total: T, lane: u32) -> T {
    let publish = |values: warpath_shared::view::ViewMut<'_, T>, value, status| {
        if lane == 0 {
            // SAFETY: only lane 0 of this one warp writes the tile's element. A reader acquires the status
            // that is stored after the value.
            unsafe { values.set(tile as usize, value) };
            // SAFETY: `status.at` checks the index, and statuses are accessed only atomically. The release
            // makes the value visible before the status.
            unsafe { atomic_store_32_release_device(look_back.status.at(tile as usize, 1), status) };
        }
    };
    let mut before = T::default();
    if tile > 0 {
        publish(look_back.aggregate, total, AGGREGATE);
        let mut newest = tile as i64 - 1;
        loop {
            // Lane 0 reads the nearest tile, lane 31 the furthest. To the left of the first tile, the sum is
            // the identity, so the status is `INCLUSIVE` at once.
            let at = newest - lane as i64;
            let mut status;
            loop {
                status = if at >= 0 {
                    // SAFETY: `at` is a tile before this one; its status is accessed only atomically.
                    unsafe { atomic_load_32_acquire_device(look_back.status.at(at as usize, 1)) }
                } else {
                    INCLUSIVE
                };
                // SAFETY: the caller's contract: all lanes of the warp call this function together. The lanes
                // meet again after the branch on `at`, and this vote ends the loop in all of them at once.
                if unsafe { warp_vote_all(ALL, status != 0) } {
                    break;
                }
                nanosleep(20);
            }
            // SAFETY: all lanes left the loop above together, by the result of the same vote.
            let known = unsafe { warp_vote_ballot(ALL, status == INCLUSIVE) };
            let nearest = known.trailing_zeros();
            let value = if at < 0 || lane > nearest {
                T::default()
            } else if lane == nearest {
                // SAFETY: the load acquired the status `INCLUSIVE`. The block of `at` stored this value
                // before the status and does not write it again.
                unsafe { look_back.inclusive.get(at as usize) }
            } else {
                // SAFETY: lanes below `nearest` acquired the status `AGGREGATE`. The block of `at` stored
                // this value before the status and does not write it again.
                unsafe { look_back.aggregate.get(at as usize) }
            };
            // SAFETY: all lanes are together after the vote above. The branches that choose `value` depend on
            // the lane, but they have ended here.
            let window = unsafe { warp::from_lane(warp::reduce_from_right(value, lane), 0) };
            before = window.combine(before);
            if known != 0 {
                break;
            }
            newest -= LANES as i64;
        }
    }
    publish(look_back.inclusive, before.combine(total), INCLUSIVE);
    before
}
