//! What the blocks of a grid do together: a scan of the whole grid in one pass.
//!
//! Each block publishes the sum of its tile, then looks back over the blocks to its left, 32 at a time,
//! until it meets one that already knows the sum of everything before it (Merrill and Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", NVIDIA technical report NVR-2016-002). Tiles are dealt by a
//! ticket, so every tile to the left belongs to a block that is running or has ended: nobody waits for a block
//! that cannot start.

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_relaxed_device, atomic_load_32_acquire_device, atomic_store_32_release_device,
};
use cuda_std::thread::nanosleep;
use cuda_std::warp::{warp_vote_all, warp_vote_ballot};
use warpath_shared::index::Monoid;
use warpath_shared::kernel::LookBack;

use super::LANES;
use super::warp::{self, ALL, Shuffle};

/// The tile's own sum is there.
const AGGREGATE: u32 = 1;
/// The sum of everything up to the tile's end is there.
const INCLUSIVE: u32 = 2;

/// Takes the next tile. One thread of each block calls it, once.
#[inline(always)]
pub fn take_ticket<T: Copy>(look_back: &LookBack<'_, T>) -> u32 {
    let ticket = look_back.status.at(look_back.status.len() - 1, 1);
    // SAFETY: the last status is the ticket counter, which is touched by nothing else.
    unsafe { atomic_fetch_add_u32_relaxed_device(ticket, 1) }
}

/// The sum of all tiles before `tile`, whose own sum is `total`. Valid in every lane.
///
/// # Safety
/// All lanes of one warp of the tile's block call it together, once, with the same arguments, and the ticket of
/// every tile to the left has been taken.
#[inline(always)]
pub unsafe fn prefix<T: Monoid + Shuffle>(look_back: &LookBack<'_, T>, tile: u32, total: T, lane: u32) -> T {
    let publish = |values: warpath_shared::view::ViewMut<'_, T>, value, status| {
        if lane == 0 {
            // SAFETY: only this tile's block writes here, and whoever reads has seen the status stored after it.
            unsafe { values.set(tile as usize, value) };
            // SAFETY: as above; the release makes the value visible before the status.
            unsafe { atomic_store_32_release_device(look_back.status.at(tile as usize, 1), status) };
        }
    };
    let mut before = T::default();
    if tile > 0 {
        publish(look_back.aggregate, total, AGGREGATE);
        let mut newest = tile as i64 - 1;
        loop {
            // Lane 0 looks at the nearest tile, lane 31 at the furthest. Left of the first there is nothing, and
            // nothing is known at once.
            let at = newest - lane as i64;
            let mut status;
            loop {
                status = if at >= 0 {
                    // SAFETY: `at` is a tile before this one; its status is only touched atomically.
                    unsafe { atomic_load_32_acquire_device(look_back.status.at(at as usize, 1)) }
                } else {
                    INCLUSIVE
                };
                // SAFETY: all lanes are here.
                if unsafe { warp_vote_all(ALL, status != 0) } {
                    break;
                }
                nanosleep(20);
            }
            // SAFETY: all lanes are here.
            let known = unsafe { warp_vote_ballot(ALL, status == INCLUSIVE) };
            let nearest = known.trailing_zeros();
            let value = if at < 0 || lane > nearest {
                T::default()
            } else if lane == nearest {
                // SAFETY: the status was acquired, so the value stored before it is there and final.
                unsafe { look_back.inclusive.get(at as usize) }
            } else {
                // SAFETY: as above.
                unsafe { look_back.aggregate.get(at as usize) }
            };
            // SAFETY: all lanes are here.
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
