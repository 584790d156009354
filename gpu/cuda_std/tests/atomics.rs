//! Compares the effects of atomics with the expected values.

use cuda_std::atomic::mid::*;
use cuda_std::emulator::{Launch, Schedule, launch};
use cuda_std::{bits, shared_array, thread, wide};

#[test]
fn updates_by_many_threads_add_up() {
    let mut words = [0u32, u32::MAX, 0, u32::MAX, 0, 0, 0];
    let mut double = [0u64, u64::MAX, 0, u64::MAX, 0, 0, 0];
    let (w, d) = (words.as_mut_ptr(), double.as_mut_ptr());
    launch(&Launch::new(10, 100).schedule(Schedule::Shuffled { seed: 4 }), "updates", &|| {
        let i = thread::index_1d();
        let wide = u64::from(i) << 20;
        // SAFETY: the pointers are valid while `launch` runs, and the kernel accesses the words by atomics
        // only.
        unsafe {
            atomic_fetch_add_u32_relaxed_device(w, i);
            atomic_fetch_min_u32_relaxed_device(w.add(1), i + 5);
            atomic_fetch_max_u32_acqrel_device(w.add(2), i);
            atomic_fetch_and_u32_relaxed_device(w.add(3), !(1 << (i % 7)));
            atomic_fetch_or_u32_relaxed_block(w.add(4), 1 << (i % 9));
            atomic_fetch_xor_u32_relaxed_device(w.add(5), 1 << (i % 31));
            atomic_fetch_add_u64_relaxed_device(d, wide);
            atomic_fetch_min_u64_relaxed_device(d.add(1), wide + 5);
            atomic_fetch_max_u64_relaxed_block(d.add(2), wide);
            atomic_fetch_and_u64_relaxed_device(d.add(3), !(1 << (i % 47)));
            atomic_fetch_or_u64_acqrel_block(d.add(4), 1 << (i % 49));
            atomic_fetch_xor_u64_relaxed_device(d.add(5), 1 << (i % 61));
            // A counter by compare-and-swap, and a lock by exchange.
            let mut seen = atomic_load_32_relaxed_device(w.add(6));
            loop {
                let old = atomic_cas_32_acqrel_device(w.add(6), seen, seen + 1);
                if old == seen {
                    break;
                }
                seen = old;
            }
            while atomic_exch_64_acquire_device(d.add(6), 1) == 1 {
                thread::nanosleep(20);
            }
            fence_acqrel_device();
            atomic_store_64_release_device(d.add(6), 0);
        }
    })
    .expect("it runs");
    let xor = |bits: u32| (0..1000).fold(0u64, |word, i| word ^ 1 << (i % bits));
    assert_eq!(words, [499_500, 5, 999, !0x7f, 0x1ff, xor(31) as u32, 1000]);
    assert_eq!(double, [499_500 << 20, 5, 999 << 20, !0 << 47, (1 << 49) - 1, xor(61), 0]);
}

#[test]
fn shared_atomics_stay_in_the_block() {
    let mut totals = [0u32; 6];
    let out = totals.as_mut_ptr();
    launch(&Launch::new(6, 128).resident_blocks(3), "histogram", &|| {
        let counter = shared_array![u32; 1];
        // SAFETY: one thread sets the counter before a barrier, atomics count, and one thread reads after a
        // barrier.
        unsafe {
            if thread::thread_idx_x() == 0 {
                atomic_store_32_relaxed_shared(counter, thread::block_idx_x());
            }
            thread::sync_threads();
            atomic_fetch_add_u32_relaxed_shared(counter, 1);
            atomic_fetch_add_u32_relaxed_block(counter, 1);
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                *out.add(thread::block_idx_x() as usize) = atomic_load_32_relaxed_shared(counter);
            }
        }
    })
    .expect("it runs");
    assert_eq!(totals, [256, 257, 258, 259, 260, 261]);
}

#[test]
fn a_message_passes_between_blocks_in_either_order() {
    for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 5 }] {
        let (mut data, mut flag, mut got) = (0u32, 0u32, 0u32);
        let (d, f, g) = (&raw mut data, &raw mut flag, &raw mut got);
        launch(&Launch::new(2, 1).schedule(schedule), "message", &|| {
            // SAFETY: the release store and acquire load of the flag order the accesses to the data.
            unsafe {
                if thread::block_idx_x() == 1 {
                    *d = 42;
                    atomic_store_32_release_device(f, 1);
                } else {
                    while atomic_load_32_acquire_device(f) == 0 {}
                    *g = *d;
                }
            }
        })
        .expect("the block that sends is resident too");
        assert_eq!(got, 42);
    }
}

#[test]
fn wide_accesses_and_bits() {
    let from = [wide::U32x4([1, 2, 3, 4]), wide::U32x4([5, 6, 7, 8])];
    let mut to = [wide::U32x4::default(); 2];
    // SAFETY: the pointers come from references, so they are valid and aligned.
    unsafe {
        wide::store_global_16(&mut to[0], wide::load_global_16(&from[0]));
        wide::store_global_16(&mut to[1], wide::load_readonly_16(&from[1]));
        assert_eq!(to, from);
        let word = 0x8899_aabb_ccdd_eeffu64;
        let mut copy = 0;
        wide::store_global_64(&mut copy, wide::load_readonly_64(&word));
        assert_eq!(copy, word);
        assert_eq!(wide::load_readonly_32((&raw const word).cast()), 0xccdd_eeff);
        assert_eq!(wide::load_readonly_u16((&raw const word).cast()), 0xeeff);
        assert_eq!(wide::load_readonly_8((&raw const word).cast()), 0xff);
    }
    let pair = wide::U64x2::from(from[0]);
    assert_eq!((pair, wide::U32x4::from(pair)), (wide::U64x2([0x2_0000_0001, 0x4_0000_0003]), from[0]));

    for shift in 0..70 {
        let (lo, hi) = (0x0123_4567u32, 0x89ab_cdef);
        let left = if shift % 32 == 0 { hi } else { hi << (shift % 32) | lo >> (32 - shift % 32) };
        let right = if shift % 32 == 0 { lo } else { lo >> (shift % 32) | hi << (32 - shift % 32) };
        assert_eq!(bits::funnel_shift_left(lo, hi, shift), left);
        assert_eq!(bits::funnel_shift_right(lo, hi, shift), right);
    }
    assert_eq!(bits::lop3::<0x96>(0b1100, 0b1010, 0b1111), 0b1001);
    assert_eq!(bits::lop3::<0xe8>(0b1100, 0b1010, 0b1111), 0b1110);
    assert_eq!(bits::byte_permute(0x0302_0100, 0x0706_0504, 0x0123), 0x0001_0203);
    assert_eq!(bits::byte_permute(0x0302_0180, 0x8706_0504, 0x7f88), 0x87ff_ffff);
}
