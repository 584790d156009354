//! Compares every warp collective with a model of one line, under every kind of schedule.

use std::cell::Cell;

use cuda_std::emulator::{Launch, Schedule, launch};
use cuda_std::{thread, warp};

const FULL: u32 = u32::MAX;

/// A number that looks arbitrary.
fn noise(x: u32) -> u32 {
    let x = (x ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    (x ^ x >> 15).wrapping_mul(0xc2b2_ae35) ^ x >> 13
}

const SCHEDULES: [Schedule; 5] = [
    Schedule::InOrder,
    Schedule::Reverse,
    Schedule::Shuffled { seed: 1 },
    Schedule::Shuffled { seed: 2 },
    Schedule::Shuffled { seed: 3 },
];

/// Runs `check` in each lane that `mask` names, in two warps.
fn in_lanes(mask: u32, check: impl Fn(u32)) {
    for schedule in SCHEDULES {
        let runs = Cell::new(0);
        launch(&Launch::new(1, 64).schedule(schedule), "collective", &|| {
            let lane = warp::lane_id();
            if mask & 1 << lane != 0 {
                check(lane);
                runs.set(runs.get() + 1);
            }
        })
        .unwrap_or_else(|fault| panic!("{schedule:?}, mask {mask:#x}: {fault}"));
        assert_eq!(runs.get(), 2 * mask.count_ones());
    }
}

const MASKS: [u32; 6] = [FULL, 1, 0x8000_0000, 0x0000_ffff, 0xaaaa_aaaa, 0x1234_5678];

fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    (0..32).filter(move |lane| mask & 1 << lane != 0)
}

#[test]
fn votes() {
    for mask in MASKS {
        for salt in 0..20 {
            let holds = move |lane: u32| noise(lane + 100 * salt).is_multiple_of(salt + 1);
            let set = lanes(mask).filter(|&lane| holds(lane)).fold(0, |set, lane| set | 1 << lane);
            in_lanes(mask, |lane| {
                // SAFETY: `in_lanes` runs this closure in exactly the lanes of the mask.
                unsafe {
                    assert_eq!(warp::warp_vote_ballot(mask, holds(lane)), set);
                    assert_eq!(warp::warp_vote_all(mask, holds(lane)), set == mask);
                    assert_eq!(warp::warp_vote_any(mask, holds(lane)), set != 0);
                    warp::sync_warp(mask);
                }
            });
        }
    }
}

#[test]
fn matches() {
    for mask in MASKS {
        for kinds in [1, 2, 5, 1000] {
            let value = move |lane: u32| noise(lane) % kinds;
            let wide = move |lane: u32| u64::from(value(lane)) << 32 | 7;
            let all = lanes(mask).all(|lane| value(lane) == value(mask.trailing_zeros()));
            in_lanes(mask, |lane| {
                let group = lanes(mask).filter(|&other| value(other) == value(lane));
                let group = group.fold(0, |set, other| set | 1 << other);
                // SAFETY: `in_lanes` runs this closure in exactly the lanes of the mask.
                unsafe {
                    assert_eq!(warp::warp_match_any_32(mask, value(lane)), group);
                    assert_eq!(warp::warp_match_any_64(mask, wide(lane)), group);
                    assert_eq!(warp::warp_match_all_32(mask, value(lane)), (if all { mask } else { 0 }, all));
                    assert_eq!(warp::warp_match_all_64(mask, wide(lane)), (if all { mask } else { 0 }, all));
                }
            });
        }
    }
}

#[test]
fn reductions() {
    for mask in MASKS {
        let values = lanes(mask).map(noise);
        let signed = values.clone().map(|value| value as i32);
        in_lanes(mask, |lane| {
            let (v, s) = (noise(lane), noise(lane) as i32);
            // SAFETY: `in_lanes` runs this closure in exactly the lanes of the mask.
            unsafe {
                assert_eq!(warp::warp_reduce_add(mask, v), values.clone().fold(0, u32::wrapping_add));
                assert_eq!(warp::warp_reduce_add(mask, s), signed.clone().fold(0, i32::wrapping_add));
                assert_eq!(Some(warp::warp_reduce_min(mask, v)), values.clone().min());
                assert_eq!(Some(warp::warp_reduce_max(mask, v)), values.clone().max());
                assert_eq!(Some(warp::warp_reduce_min(mask, s)), signed.clone().min());
                assert_eq!(Some(warp::warp_reduce_max(mask, s)), signed.clone().max());
                assert_eq!(warp::warp_reduce_and(mask, v), values.clone().fold(FULL, |a, b| a & b));
                assert_eq!(warp::warp_reduce_or(mask, v), values.clone().fold(0, |a, b| a | b));
                assert_eq!(warp::warp_reduce_xor(mask, v), values.clone().fold(0, |a, b| a ^ b));
            }
        });
    }
}

#[test]
fn shuffles_of_every_width_and_distance() {
    for width in [1, 2, 4, 8, 16, 32] {
        in_lanes(FULL, |lane| {
            let (first, last) = (lane / width * width, lane / width * width + width - 1);
            for d in 0..32 {
                let expect = |source: Option<u32>| match source {
                    Some(source) => (noise(source), true),
                    None => (noise(lane), false),
                };
                // SAFETY: the mask names every lane, and all of them run this closure without a branch on the
                // lane.
                unsafe {
                    let up = lane.checked_sub(d).filter(|&source| source >= first);
                    assert_eq!(warp::warp_shuffle_up(FULL, noise(lane), d, width), expect(up));
                    let down = Some(lane + d).filter(|&source| source <= last);
                    assert_eq!(warp::warp_shuffle_down(FULL, noise(lane), d, width), expect(down));
                    let xor = Some(lane ^ d).filter(|&source| source <= last);
                    assert_eq!(warp::warp_shuffle_xor(FULL, noise(lane), d, width), expect(xor));
                    let idx = Some(first + d % width);
                    assert_eq!(warp::warp_shuffle_idx(FULL, noise(lane), d, width), expect(idx));
                }
            }
        });
    }
}

#[test]
fn shuffles_of_every_type() {
    in_lanes(FULL, |lane| {
        let next = (lane + 1) % 32;
        let wide = |lane: u32| u64::from(noise(lane)) << 32 | u64::from(noise(lane + 32));
        macro_rules! check {
            ($($value:expr;)*) => {$({
                let value = $value;
                // SAFETY: the mask names every lane, and all of them run this closure without a branch on the
                // lane.
                let got = unsafe { warp::warp_shuffle_idx(FULL, value(lane), next, 32) };
                assert_eq!(got, (value(next), true));
            })*};
        }
        check! {
            |lane: u32| noise(lane) as u8;
            |lane: u32| noise(lane) as i8;
            |lane: u32| noise(lane) as u16;
            |lane: u32| noise(lane) as i16;
            |lane: u32| noise(lane);
            |lane: u32| noise(lane) as i32;
            wide;
            |lane: u32| wide(lane) as i64;
            |lane: u32| wide(lane) as usize;
            |lane: u32| noise(lane) as f32 / 3.0;
            |lane: u32| -(wide(lane) as f64) / 3.0;
            |lane: u32| noise(lane) & 1 == 1;
        }
    });
}

#[test]
fn groups_of_lanes_meet_apart_from_each_other() {
    in_lanes(FULL, |lane| {
        let mask = if lane < 10 { 0x3ff } else { !0x3ff };
        for round in 0..if lane < 10 { 3 } else { 50 } {
            // SAFETY: the lanes of each group run the same number of rounds, and call this with the mask of
            // their group.
            let sum = unsafe { warp::warp_reduce_add(mask, lane + round) };
            assert_eq!(sum, lanes(mask).map(|lane| lane + round).sum::<u32>());
        }
    });
}

#[test]
fn a_warp_can_be_partial_and_blocks_can_have_three_dimensions() {
    let seen = Cell::new(0u64);
    launch(&Launch::new((2, 2, 2), (5, 3, 3)), "shape", &|| {
        let (x, y, z) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z());
        let number = x + 5 * (y + 3 * z);
        assert_eq!(warp::lane_id(), number % 32);
        assert_eq!((thread::block_dim_x(), thread::block_dim_y(), thread::block_dim_z()), (5, 3, 3));
        assert_eq!((thread::grid_dim_x(), thread::grid_dim_y(), thread::grid_dim_z()), (2, 2, 2));
        let block = thread::block_idx_x() + 2 * (thread::block_idx_y() + 2 * thread::block_idx_z());
        assert_eq!(thread::first(), block == 0 && number == 0);
        let mask = if number < 32 { FULL } else { 0x1fff };
        // SAFETY: the mask names exactly the lanes of this warp: all 32 of the first warp or all 13 of the
        // second.
        assert_eq!(unsafe { warp::warp_vote_ballot(mask, true) }, mask);
        assert_eq!(thread::sync_threads_count(x % 2), 3 * 3 * 2);
        seen.set(seen.get() + 1);
    })
    .expect("the shape is fine");
    assert_eq!(seen.get(), 8 * 45);
}
