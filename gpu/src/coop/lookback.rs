//! What the blocks of a grid do together: a scan of the whole grid in one pass.
//!
//! Each block publishes the sum of its tile, then looks back over the blocks to its left, 32 at a time,
//! until it meets one that already knows the sum of everything before it (Merrill and Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", NVIDIA technical report NVR-2016-002). Tiles are dealt by a
//! ticket, so every tile to the left belongs to a block that is running or has ended: nobody waits for a block
//! that cannot start.

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_relaxed_device, atomic_load_32_acquire_device, atomic_load_64_relaxed_device,
    atomic_store_32_release_device, atomic_store_64_relaxed_device,
};
use cuda_std::thread::nanosleep;
use cuda_std::warp::{warp_reduce_add, warp_vote_all, warp_vote_ballot};
use warpath_shared::index::Monoid;
use warpath_shared::index::line::{LINK_THERE, LineSummary};
use warpath_shared::kernel::{LINK_WORDS, LineLinks, LookBack};
use warpath_shared::units::LineIx;

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

/// Tiles that a lane looks at together, next to one another.
const TILES: u32 = 4;

/// What a lane's tiles amount to.
struct LaneSum {
    /// All of them have said what they do.
    ready: bool,
    /// Of one, all up to its end is known; those further to the left do not count.
    known: bool,
    newlines: LineIx,
    value: LineSummary,
}

/// The summary of all text before tile `tile`, whose own is `total`, from the text's start. Valid in every lane.
///
/// This is what [`prefix`] does, where it decides how fast the grid goes: a tile is done in some microseconds, and the sums
/// must travel as fast. So a tile's words say for themselves that they are there ([`LineSummary::to_link`]), and nothing has
/// to be ordered; a lane asks for four tiles in one round trip to the cache that blocks share; and the two halves of a
/// summary go their own ways. Newlines are numbers, and added. The state comes from the nearest tile that has a newline,
/// which in most texts is the next one.
///
/// ```text
/// tile        … 3 4 5 6 7 8 this     . nothing yet   a its own summary   A with a newline   P all up to its end
///               P a A a . a          waits: 7 may have a newline, and its newlines count
///               P a A a A a          state: A8 = A7 then a8. newlines: those of 8, 7, 6, 5, 4 and P3
/// ```
///
/// # Safety
/// As for [`prefix`].
#[inline(always)]
pub unsafe fn line_prefix(links: &LineLinks<'_>, tile: u32, total: LineSummary, lane: u32) -> LineSummary {
    let tiles = links.words.len() / LINK_WORDS;
    let word = |array: usize, tile: usize| links.words.at(array * tiles + tile, 1);
    // SAFETY: the words of tiles are only touched atomically during the launch.
    let read = |array, tile| unsafe { atomic_load_64_relaxed_device(word(array, tile)) };
    let publish = |array, value| {
        if lane == 0 {
            // SAFETY: as above.
            unsafe { atomic_store_64_relaxed_device(word(array, tile as usize), value) };
        }
    };
    let [start, start_depth] = LineSummary::LINE_START.to_prefix();
    publish(0, total.to_link());
    // What lies between the state that is sought and this tile.
    let (mut anchored, mut between) = (false, LineSummary::default());
    let (mut newlines, mut newest) = (0, tile as i64 - 1);
    loop {
        let nearest = newest - (TILES * lane) as i64;
        let look = |i: u32| {
            let at = nearest - i as i64;
            if at >= 0 { (read(0, at as usize), read(1, at as usize)) } else { (LINK_THERE, start) }
        };
        // Written out, so that all words are asked for before one is waited for, and stay in registers.
        let tiles = (look(0), look(1), look(2), look(3));
        // This lane's tiles, from the nearest to the first of which all up to its end is known.
        let mut lane_sum = LaneSum { ready: true, known: false, newlines: 0, value: LineSummary::default() };
        let mut add = |i: u32, (own, upto): (u64, u64)| {
            if lane_sum.known {
                return;
            }
            if upto & LINK_THERE == 0 {
                lane_sum.ready &= own & LINK_THERE != 0;
                let own = LineSummary::from_link(own);
                lane_sum.newlines += own.newlines();
                lane_sum.value = own.combine(lane_sum.value);
                return;
            }
            lane_sum.known = true;
            lane_sum.newlines += upto as u32;
            if !lane_sum.value.is_anchored() {
                let at = nearest - i as i64;
                let mut depth = start_depth;
                if at >= 0 {
                    // It is stored right behind the other word.
                    depth = read(2, at as usize);
                    while depth & LINK_THERE == 0 {
                        depth = read(2, at as usize);
                    }
                }
                lane_sum.value = LineSummary::from_prefix([upto, depth]).combine(lane_sum.value);
            }
        };
        add(0, tiles.0);
        add(1, tiles.1);
        add(2, tiles.2);
        add(3, tiles.3);
        let LaneSum { ready, known, newlines: count, value } = lane_sum;
        // SAFETY: all lanes are here, since what decides is the same in all.
        let (known_lanes, ready_lanes) =
            unsafe { (warp_vote_ballot(ALL, known), warp_vote_ballot(ALL, ready)) };
        // Lanes up to the nearest that knows; all where there is none.
        let counted = if known_lanes == 0 { !0 } else { known_lanes ^ (known_lanes - 1) };
        if counted & !ready_lanes != 0 {
            continue;
        }
        let counts = counted >> lane & 1 == 1;
        newlines += if counts { count } else { 0 };
        if !anchored {
            let value = if counts { value } else { LineSummary::default() };
            // SAFETY: as above.
            let nearest_is = unsafe { warp_vote_ballot(ALL, value.is_anchored()) };
            // SAFETY: as above.
            let sum = unsafe {
                let sum = if nearest_is & 1 == 1 { value } else { warp::reduce_from_right(value, lane) };
                warp::from_lane(sum, 0)
            };
            between = sum.combine(between);
            anchored = nearest_is != 0;
        }
        if known_lanes != 0 {
            break;
        }
        newest -= (TILES * LANES) as i64;
    }
    // SAFETY: all lanes are here.
    let before = between.with_newlines(unsafe { warp_reduce_add(ALL, newlines) });
    let [lines, depth] = before.combine(total).to_prefix();
    publish(1, lines);
    publish(2, depth);
    before
}
