//! Tests each way to break a rule, and the message that it gives.

#![expect(clippy::if_same_then_else, reason = "the two branches are two barriers")]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "these kernels break the rules on purpose; that the emulator stops them is what is tested"
)]

use cuda_std::atomic::mid::*;
use cuda_std::emulator::{Fault, FaultKind, Launch, launch};
use cuda_std::{dynamic_shared_mem, shared, shared_array, thread, warp, wide};

const FULL: u32 = u32::MAX;

#[track_caller]
fn fault(shape: &Launch, kind: FaultKind, message: &[&str], kernel: &dyn Fn()) -> Fault {
    let fault = launch(shape, "faulty", kernel).expect_err("the kernel breaks a rule");
    let text = fault.to_string();
    assert_eq!(fault.kind, kind, "{text}");
    for part in message {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    fault
}

fn lane() -> u32 {
    warp::lane_id()
}

#[test]
fn a_barrier_after_some_threads_have_exited() {
    let message = [
        "kernel `faulty`, block (0, 0, 0), thread (20, 0, 0): divergent barrier: reached sync_threads at ",
        "faults.rs:",
        "20 of the block's 64 threads have exited, thread (0, 0, 0) first",
    ];
    fault(&Launch::new(1, 64), FaultKind::DivergentBarrier, &message, &|| {
        if thread::thread_idx_x() >= 20 {
            thread::sync_threads();
        }
    });
}

#[test]
fn an_exit_while_others_wait_at_a_barrier() {
    let message =
        ["thread (40, 0, 0): divergent barrier: exited, while thread (0, 0, 0) waits in sync_threads at "];
    fault(&Launch::new(1, 64), FaultKind::DivergentBarrier, &message, &|| {
        if thread::thread_idx_x() < 40 {
            thread::sync_threads();
        }
    });
}

#[test]
fn different_barriers() {
    let message = [
        "thread (32, 0, 0)",
        "reached sync_threads_or at",
        "while thread (0, 0, 0) waits in sync_threads at",
    ];
    fault(&Launch::new(1, 64), FaultKind::DivergentBarrier, &message, &|| {
        if thread::thread_idx_x() < 32 {
            thread::sync_threads();
        } else {
            thread::sync_threads_or(1);
        }
    });
}

#[test]
fn one_barrier_in_two_branches_of_a_warp() {
    let message = ["reached sync_threads at", "while lane 0 (thread (0, 0, 0)) of the same warp waits at"];
    fault(&Launch::new(1, 32), FaultKind::DivergentBarrier, &message, &|| {
        if lane() < 7 {
            thread::sync_threads();
        } else {
            thread::sync_threads();
        }
    });
}

#[test]
fn warps_may_reach_a_barrier_at_different_places() {
    launch(&Launch::new(1, 64), "fine", &|| {
        if thread::thread_idx_x() < 32 {
            thread::sync_threads();
        } else {
            thread::sync_threads();
        }
    })
    .expect("bar.sync counts threads, wherever they call it");
}

#[test]
fn a_barrier_against_a_collective() {
    let kernel = || unsafe {
        if lane() == 3 {
            thread::sync_threads();
        } else {
            warp::sync_warp(FULL);
        }
    };
    let message = [
        "thread (3, 0, 0): divergent barrier: reached sync_threads at",
        "while lane 0 (thread (0, 0, 0)) waits for this lane in sync_warp with mask 0xffffffff at",
    ];
    fault(&Launch::new(1, 32), FaultKind::DivergentBarrier, &message, &kernel);
    let message = [
        "thread (3, 0, 0): sync_warp with mask 0xffffffff at",
        "names lane 0 (thread (0, 0, 0)), which waits in sync_threads at",
    ];
    fault(&Launch::new(1, 32), FaultKind::WarpCollective, &message, &|| unsafe {
        if lane() < 3 {
            thread::sync_threads();
        } else {
            warp::sync_warp(FULL);
        }
    });
}

#[test]
fn a_collective_that_names_a_lane_that_has_exited() {
    let kernel = || unsafe {
        if lane() != 5 {
            warp::warp_vote_all(FULL, true);
        }
    };
    let message =
        ["thread (5, 0, 0): exited, while lane 0 (thread (0, 0, 0)) waits for this lane in warp_vote_all"];
    fault(&Launch::new(1, 32), FaultKind::WarpCollective, &message, &kernel);
    let message = [
        "block (1, 0, 0), thread (34, 0, 0)",
        "warp_vote_any with mask 0x00000006 at",
        "names lane 1 (thread (33, 0, 0)), which has exited",
    ];
    fault(&Launch::new(2, 64), FaultKind::WarpCollective, &message, &|| unsafe {
        if thread::index_1d() == 64 + 34 {
            warp::warp_vote_any(6, true);
        }
    });
}

#[test]
fn a_mask_without_the_calling_lane_or_with_one_that_does_not_exist() {
    let message =
        ["thread (0, 0, 0): warp_reduce_add with mask 0x00000002 at", "does not name the calling lane 0"];
    fault(&Launch::new(1, 32), FaultKind::WarpCollective, &message, &|| unsafe {
        warp::warp_reduce_add(2, 1u32);
    });
    let message = ["names lane 20, but this warp has only 20 lanes"];
    fault(&Launch::new(1, 20), FaultKind::WarpCollective, &message, &|| unsafe {
        warp::warp_vote_ballot(FULL, true);
    });
}

#[test]
fn lanes_that_disagree_on_the_mask_or_the_collective() {
    let message = [
        "thread (1, 0, 0): lanes that wait for each other call different masks",
        "this lane calls warp_vote_any with mask 0x00000003 at",
        "but lane 0 (thread (0, 0, 0)) waits in warp_vote_any with mask 0xffffffff at",
    ];
    fault(&Launch::new(1, 32), FaultKind::WarpCollective, &message, &|| unsafe {
        warp::warp_vote_any(if lane() == 0 { FULL } else { 0b11 }, true);
    });
    let message = [
        "thread (16, 0, 0): lanes that wait for each other call different collectives",
        "this lane calls warp_shuffle_down with mask 0xffffffff at",
        "but lane 0 (thread (0, 0, 0)) waits in warp_shuffle_up with mask",
    ];
    fault(&Launch::new(1, 32), FaultKind::WarpCollective, &message, &|| unsafe {
        if lane() < 16 {
            warp::warp_shuffle_up(FULL, 1u32, 1, 32);
        } else {
            warp::warp_shuffle_down(FULL, 1u32, 1, 32);
        }
    });
    // Lane 2 does not name lane 0. So the disagreement is found only when the last lane of the larger mask
    // arrives.
    let message = ["thread (3, 0, 0): lanes that wait for each other call different masks", "but lane 2 "];
    fault(&Launch::new(1, 4), FaultKind::WarpCollective, &message, &|| unsafe {
        warp::sync_warp(if lane() == 2 { 0b1100 } else { 0b1111 });
    });
}

#[test]
fn bad_shuffles() {
    let message = [
        "thread (0, 0, 0): warp_shuffle_down with mask 0x00000003 at",
        "reads lane 2, which the mask does not name",
    ];
    fault(&Launch::new(1, 32), FaultKind::Shuffle, &message, &|| unsafe {
        if lane() < 2 {
            warp::warp_shuffle_down(3, 1u32, 2, 32);
        }
    });
    let message = ["warp_shuffle_idx of 64 bits at", "width 24 is not a power of two from 1 to 32"];
    fault(&Launch::new(1, 32), FaultKind::Shuffle, &message, &|| unsafe {
        warp::warp_shuffle_idx(FULL, 1u64, 0, 24);
    });
    let message = ["warp_shuffle_up at", "32 lanes is beyond the warp"];
    fault(&Launch::new(1, 32), FaultKind::Shuffle, &message, &|| unsafe {
        warp::warp_shuffle_up(FULL, 1u32, 32, 32);
    });
}

#[test]
fn lanes_that_wait_in_a_circle() {
    let message = [
        "deadlock: every thread waits for another; thread (0, 0, 0) of block (0, 0, 0) waits for lanes 0x00000002 in sync_warp with mask 0x00000003",
    ];
    fault(&Launch::new(1, 3), FaultKind::Deadlock, &message, &|| unsafe {
        // Lane 0 waits for lane 1, lane 1 for lane 2, lane 2 for lane 0. No two lanes name each other.
        warp::sync_warp([0b011, 0b110, 0b101][lane() as usize]);
    });
}

#[test]
fn waiting_for_a_store_that_never_comes() {
    let mut flag = 0u32;
    let flag = &raw mut flag;
    let shape = Launch::new(2, 32).livelock_rounds(500);
    let message = ["livelock: in ", "64 threads still run", "last saw 0x0 at address 0x", "by the load at"];
    fault(&shape, FaultKind::Livelock, &message, &|| unsafe {
        while atomic_load_32_acquire_device(flag) == 0 {}
    });
    fault(&shape, FaultKind::Livelock, &message[..1], &|| unsafe {
        while !warp::warp_vote_any(FULL, atomic_load_32_relaxed_device(flag) != 0) {
            thread::nanosleep(100);
        }
    });
    fault(&shape, FaultKind::Livelock, &message[..1], &|| unsafe {
        while atomic_cas_32_acquire_device(flag, 1, 2) != 1 {}
    });
}

#[test]
fn waiting_for_a_block_that_is_not_resident() {
    let mut flag = 0u32;
    let flag = &raw mut flag;
    let kernel = || unsafe {
        if thread::block_idx_x() == 2 {
            atomic_store_32_release_device(flag, 1);
        }
        while atomic_load_32_acquire_device(flag) == 0 {}
    };
    launch(&Launch::new(3, 1).resident_blocks(3), "resident", &kernel).expect("all blocks are resident");
    unsafe { flag.write(0) };
    fault(
        &Launch::new(3, 1).resident_blocks(2).livelock_rounds(500),
        FaultKind::Livelock,
        &["2 threads still run"],
        &kernel,
    );
}

#[test]
fn a_panic_names_kernel_block_thread_and_place() {
    let message = [
        "kernel `faulty`, block (3, 0, 0), thread (17, 0, 0): panicked at",
        "faults.rs:",
        "index out of bounds: the len is 4 but the index is 17",
    ];
    let data = [1, 2, 3, 4];
    fault(&Launch::new(5, 32), FaultKind::Panic, &message, &|| {
        let i = if thread::block_idx_x() == 3 && lane() == 17 { 17 } else { 0 };
        thread::sync_threads();
        std::hint::black_box(data[i]);
    });
    fault(
        &Launch::new(1, 1),
        FaultKind::Panic,
        &["panicked at", "misaligned access", "16 bytes in kernel `faulty`"],
        &|| unsafe {
            wide::load_global_16(std::ptr::without_provenance(8));
        },
    );
}

#[test]
fn a_fault_unwinds_the_threads_that_wait() {
    use std::cell::Cell;
    struct Count<'a>(&'a Cell<u32>);
    impl Drop for Count<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    fault(&Launch::new(1, 32), FaultKind::Panic, &["panicked at", "boom"], &|| {
        let _count = Count(&dropped);
        assert!(lane() != 31, "boom");
        thread::sync_threads();
    });
    assert_eq!(dropped.get(), 32);
}

#[test]
fn shared_memory_out_of_bounds() {
    let message =
        ["byte 40 of shared_array![u32; 10] at", "faults.rs:", "which has only 40 bytes, was written"];
    fault(&Launch::new(1, 32), FaultKind::SharedMemory, &message, &|| unsafe {
        shared_array![u32; 10].add(lane() as usize % 11).write(7);
    });
    let message = ["byte 48 of the dynamic shared memory"];
    fault(&Launch::new(1, 1).dynamic_shared_bytes(48), FaultKind::SharedMemory, &message, &|| unsafe {
        dynamic_shared_mem!(u32).add(12).write(7);
    });
    fault(
        &Launch::new(1, 1),
        FaultKind::SharedMemory,
        &["the launch gave no dynamic shared memory"],
        &|| {
            dynamic_shared_mem!(u32);
        },
    );
    fault(&Launch::new(1, 1), FaultKind::SharedMemory, &["98304 bytes, more than 48 KiB"], &|| {
        shared_array![u8; 48 * 1024];
        shared_array![u8; 48 * 1024];
    });
    fault(
        &Launch::new(1, 1),
        FaultKind::SharedMemory,
        &["shared::read at", "outside shared memory"],
        &|| unsafe {
            shared::read(shared_array![u32; 4].add(4));
        },
    );
}

#[test]
fn atomics_of_the_wrong_memory() {
    fault(
        &Launch::new(1, 1),
        FaultKind::SharedMemory,
        &["atomic_fetch_add_u32_relaxed_device at", "is to shared memory"],
        &|| unsafe {
            atomic_fetch_add_u32_relaxed_device(shared_array![u32; 4], 4);
        },
    );
    let mut word = 0u32;
    let word = &raw mut word;
    fault(
        &Launch::new(1, 1),
        FaultKind::SharedMemory,
        &["atomic_store_32_relaxed_shared at", "is to global memory"],
        &|| unsafe {
            atomic_store_32_relaxed_shared(word, 4);
        },
    );
    fault(
        &Launch::new(1, 1),
        FaultKind::Panic,
        &["atomic_load_64_relaxed_device at", "not aligned to 8 bytes"],
        &|| unsafe {
            atomic_load_64_relaxed_device(std::ptr::without_provenance(12));
        },
    );
}

#[test]
fn launches_that_no_card_takes() {
    let none = || ();
    for (shape, message) in [
        (Launch::new(0, 32), "has no threads"),
        (Launch::new(1, 0), "has no threads"),
        (Launch::new(1, 1025), "exceeds 1024 threads"),
        (Launch::new(1, (1, 1, 65)), "64 along z"),
        (Launch::new((1, 70_000), 1), "65535"),
        (Launch::new(1, 1).resident_blocks(0), "no block may be resident"),
        (Launch::new(1, 1).dynamic_shared_bytes(300_000), "exceed 227 KiB"),
    ] {
        let found = fault(&shape, FaultKind::Launch, &["kernel `faulty`: ", message], &none);
        assert_eq!(found.at, None);
    }
    launch(&Launch::new(1, 1), "outer", &|| {
        let message = ["a launch inside kernel `outer`, block (0, 0, 0), thread (0, 0, 0) is not possible"];
        fault(&Launch::new(1, 1), FaultKind::Launch, &message, &|| ());
    })
    .expect("the outer launch goes on");
}

#[test]
#[should_panic(expected = "`thread_idx_x` was called outside a kernel")]
fn device_functions_need_a_launch() {
    let _ = thread::thread_idx_x();
}

#[test]
fn after_a_fault_the_next_launch_is_fine() {
    for _ in 0..50 {
        fault(&Launch::new(4, 64), FaultKind::Panic, &["boom"], &|| {
            thread::sync_threads();
            assert!(thread::index_1d() != 70, "boom");
            thread::sync_threads();
        });
        launch(&Launch::new(4, 64), "fine", &thread::sync_threads).expect("it runs");
    }
}
