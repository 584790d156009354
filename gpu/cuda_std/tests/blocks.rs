//! Operations of the threads of a block, and of the blocks of a grid.

use cuda_std::atomic::mid::*;
use cuda_std::emulator::{Launch, Schedule, current_thread_label, launch, launch_with_stats};
use cuda_std::wide::U32x4;
use cuda_std::{dynamic_shared_mem, kernel, shared, shared_array, thread, warp};

const THREADS: usize = 256;
const WARPS: usize = THREADS / 32;
const FULL: u32 = u32::MAX;

/// The inclusive sum over the block, and the total. Every thread must call it; the result is valid in the
/// calling thread.
unsafe fn block_scan(value: u32) -> (u32, u32) {
    let totals = shared_array![u32; WARPS];
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / 32);
    let mut sum = value;
    for step in 0..5 {
        // SAFETY: every thread of the block calls `block_scan`, a block has whole warps, and no branch above
        // depends on the lane.
        let (below, inside) = unsafe { warp::warp_shuffle_up(FULL, sum, 1 << step, 32) };
        sum += if inside { below } else { 0 };
    }
    thread::sync_threads();
    if lane == 31 {
        // SAFETY: one thread of each warp writes the warp's own element of `WARPS`.
        unsafe { totals.add(warp as usize).write(sum) };
    }
    thread::sync_threads();
    let (mut before, mut total) = (0, 0);
    for other in 0..WARPS as u32 {
        // SAFETY: all elements were written before the barrier.
        let part = unsafe { shared::read(totals.add(other as usize)) };
        before += if other < warp { part } else { 0 };
        total += part;
    }
    (before + sum, total)
}

/// The status of a tile, in one word with the tile's value.
const AGGREGATE: u64 = 1 << 32;
const PREFIX: u64 = 2 << 32;

/// The inclusive sum over all blocks by decoupled look-back.
///
/// # Safety
///
/// `input` and `output` have `len` words. `status` has one zero for each block, and `ticket` points at a
/// zero.
#[kernel]
unsafe fn grid_scan(input: *const u32, output: *mut u32, len: usize, status: *mut u64, ticket: *mut u32) {
    let mine = shared_array![u32; 1];
    let prefix = shared_array![u32; 1];
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread of the block writes `mine`, and by the contract `ticket` is valid.
        unsafe { mine.write(atomic_fetch_add_u32_relaxed_device(ticket, 1)) };
    }
    thread::sync_threads();
    // SAFETY: thread 0 wrote the tile before the barrier.
    let tile = unsafe { mine.read() } as usize;
    let i = tile * THREADS + thread::thread_idx_x() as usize;
    // SAFETY: i < len, the length of `input` by the contract.
    let value = if i < len { unsafe { input.add(i).read() } } else { 0 };
    // SAFETY: every thread of the block calls it, because no branch above returns.
    let (sum, total) = unsafe { block_scan(value) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: by the contract, `status` has one element for each block. Only atomics access it, and only
        // one thread writes `prefix`.
        unsafe {
            let mut before = 0;
            if tile > 0 {
                atomic_store_64_release_device(status.add(tile), AGGREGATE | u64::from(total));
                let mut other = tile - 1;
                loop {
                    let word = atomic_load_64_acquire_device(status.add(other));
                    if word >= AGGREGATE {
                        before += word as u32;
                    }
                    if word >= PREFIX {
                        break;
                    }
                    other -= usize::from(word >= AGGREGATE);
                }
            }
            atomic_store_64_release_device(status.add(tile), PREFIX | u64::from(before + total));
            prefix.write(before);
        }
    }
    thread::sync_threads();
    if i < len {
        // SAFETY: i < len, the length of `output` by the contract. `prefix` was written before the barrier.
        unsafe { output.add(i).write(prefix.read() + sum) };
    }
}

fn run_grid_scan(len: usize, resident: usize, schedule: Schedule) {
    let input: Vec<u32> = (0..len as u32).map(|i| i * i % 1009).collect();
    let mut output = vec![0u32; len];
    let blocks = len.div_ceil(THREADS);
    let (mut status, mut ticket) = (vec![0u64; blocks], 0u32);
    let (out, st, tk) = (output.as_mut_ptr(), status.as_mut_ptr(), &raw mut ticket);
    let shape = Launch::new(blocks as u32, THREADS as u32).resident_blocks(resident).schedule(schedule);
    launch(&shape, "grid_scan", &|| {
        // SAFETY: the buffers above have the sizes that the contract of the kernel requires.
        unsafe { grid_scan(input.as_ptr(), out, len, st, tk) };
    })
    .unwrap_or_else(|fault| panic!("{len} {resident} {schedule:?}: {fault}"));
    let mut sum = 0;
    for (i, (value, got)) in input.iter().zip(&output).enumerate() {
        sum += value;
        assert_eq!(*got, sum, "element {i} of {len}, {resident} resident, {schedule:?}");
    }
}

#[test]
fn decoupled_look_back_ends_and_is_right_with_any_number_of_resident_blocks_in_any_order() {
    for resident in [1, 2, 4, 7] {
        for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 9 }] {
            run_grid_scan(5000, resident, schedule);
        }
    }
    for seed in 0..20 {
        run_grid_scan(2000, 3, Schedule::Shuffled { seed });
    }
    for len in [1, 31, 32, 33, 255, 256, 257] {
        run_grid_scan(len, 4, Schedule::InOrder);
    }
}

#[test]
fn barriers_count_and_combine() {
    launch(&Launch::new(3, 96), "barriers", &|| {
        let i = thread::thread_idx_x();
        for round in 0..10 {
            assert_eq!(
                thread::sync_threads_count(u32::from(i % 10 < round)),
                (0..96).filter(|i| i % 10 < round).count() as u32
            );
            assert_eq!(thread::sync_threads_and(u32::from(i != round)), 0);
            assert_ne!(thread::sync_threads_and(2), 0);
            assert_ne!(thread::sync_threads_or(u32::from(i == round) * 4), 0);
            assert_eq!(thread::sync_threads_or(0), 0);
        }
    })
    .expect("all threads meet");
}

#[test]
fn shared_memory_is_poisoned_aligned_and_one_array_for_each_place() {
    launch(&Launch::new(9, 64).resident_blocks(2).dynamic_shared_bytes(100), "shared", &|| {
        let bytes = shared_array![u8; 33];
        let words = shared_array![u64; 2 * 32];
        let wide = shared_array![U32x4; 4];
        let dynamic = dynamic_shared_mem!(u8);
        for address in [bytes.addr(), words.addr(), wide.addr(), dynamic.addr()] {
            assert_eq!(address % 16, 0);
        }
        let i = thread::thread_idx_x() as usize;
        // SAFETY: the offsets are within each array, and barriers separate the writes from the reads.
        unsafe {
            assert_eq!(*bytes.add(i / 2), 0xa5);
            assert_eq!(*words.add(i), 0xa5a5_a5a5_a5a5_a5a5);
            assert_eq!(*wide.add(i / 16), U32x4([0xa5a5_a5a5; 4]));
            assert_eq!(*dynamic.add(i), 0xa5);
            thread::sync_threads();
            shared::write(words.add(i), i as u64);
            shared::write(wide.add(i / 16), U32x4([7; 4]));
            *dynamic.add(i) = 1;
            *bytes.add(i / 2) = 2;
            thread::sync_threads();
            assert_eq!(*words.add(63 - i), 63 - i as u64);
            assert_eq!(shared::read(wide.add(i % 4)), U32x4([7; 4]));
            assert_eq!(*dynamic_shared_mem!(u8).add(63 - i), 1);
        }
        let again: Vec<_> = (0..2).map(|_| shared_array![u16; 8].addr()).collect();
        assert_eq!(again[0], again[1]);
    })
    .expect("nothing is out of bounds");
}

#[test]
fn a_launch_is_the_same_each_time_and_seeds_differ() {
    let run = |schedule| {
        let mut order = Vec::with_capacity(512);
        let log: *mut Vec<u32> = &raw mut order;
        launch(&Launch::new(2, 64).schedule(schedule), "order", &|| {
            for _ in 0..4 {
                // SAFETY: the launch has blocks of 64 threads, so whole warps, and no branch depends on the
                // lane.
                unsafe { warp::sync_warp(FULL) };
                // SAFETY: the emulator runs one thread at a time, and none keeps a reference to the log.
                unsafe { (*log).push(thread::index_1d()) };
            }
        })
        .expect("it runs");
        order
    };
    let schedules = [
        Schedule::InOrder,
        Schedule::Reverse,
        Schedule::Shuffled { seed: 1 },
        Schedule::Shuffled { seed: 2 },
    ];
    let orders: Vec<_> = schedules.iter().map(|&schedule| run(schedule)).collect();
    for (i, &schedule) in schedules.iter().enumerate() {
        assert_eq!(run(schedule), orders[i], "{schedule:?} again");
        assert!(
            orders[..i].iter().all(|other| *other != orders[i]),
            "{schedule:?} differs from those before"
        );
    }
}

#[test]
fn labels_name_the_thread() {
    assert_eq!(current_thread_label(), None);
    launch(&Launch::new((1, 2), (2, 1, 2)), "labelled", &|| {
        let label = current_thread_label().expect("inside a launch");
        let expected = format!(
            "kernel `labelled`, block (0, {}, 0), thread ({}, 0, {})",
            thread::block_idx_y(),
            thread::thread_idx_x(),
            thread::thread_idx_z()
        );
        assert_eq!(label, expected);
    })
    .expect("it runs");
}

#[test]
fn threads_of_the_process_run_launches_side_by_side() {
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                for resident in 1..4 {
                    run_grid_scan(700 + worker, resident, Schedule::Shuffled { seed: worker as u64 });
                }
            });
        }
    });
}

/// Runs 100 blocks of 256 threads with 100 collectives and 4 barriers, and prints the time. It must be far
/// below a second.
#[test]
fn a_large_launch_is_fast() {
    let start = std::time::Instant::now();
    let stats = launch_with_stats(&Launch::new(100, 256), "large", &|| {
        let mut sum = thread::thread_idx_x();
        for round in 0..100 {
            // SAFETY: the launch has blocks of 256 threads, so whole warps, and no branch depends on the
            // lane.
            sum = sum.wrapping_add(unsafe { warp::warp_shuffle_xor(FULL, sum, 1 << (round % 5), 32).0 });
            if round % 25 == 0 {
                thread::sync_threads();
            }
        }
        std::hint::black_box(sum);
    })
    .expect("it runs");
    println!("{:?}, {stats:?}", start.elapsed());
    assert_eq!(stats.warp_collectives, 100 * 8 * 100);
    assert_eq!(stats.barriers, 100 * 4);
}
