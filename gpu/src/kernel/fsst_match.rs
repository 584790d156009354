//! Evaluation of a pattern over compressed strings, by an automaton over their codes
//! ([`warpath_shared::fsst::automaton`]).
//!
//! *Threads*: one thread a string, 512 a block. Lanes diverge as their strings end or are decided, and join
//! at the vote. A warp writes its strings' results as half a word, by that vote.
//! *Layout*: all rows of the automaton in shared memory, up to 32 KiB. Each block copies them once, 16 bytes
//! a thread at a time. Codes are read by words of eight, each one ahead of the walk. Neighbouring strings
//! share cache lines, which a warp finds in L1.
//!
//! ```text
//! codes       │ . . . a b c d e │ f g h i j k l m │ n o . . . . . . │ one word a round;
//! string            └──────────────── a to o ────────────┘          the first is shifted, the last is cut
//! ```
//!
//! *Overflow*: offsets are cut to the length of the codes, and each state in a row has a row itself.
//! *Cost*: one byte of shared memory a code and thread. Lanes have different states and codes, so some of
//! them read different rows of the same bank. The work of a warp is that of its longest string.

use cuda_std::atomic::mid::atomic_fetch_min_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::warp_vote_ballot;
use cuda_std::wide::{U32x4, load_readonly_16, load_readonly_64};
use warpath_shared::fsst::automaton::{MAX_ROWS, NO_FAULT, ROW, fault_word, is_decided, place};
use warpath_shared::kernel::{FsstMatchArgs, MATCH_STRINGS};

use crate::coop::LANES;
use crate::coop::warp::ALL;

/// Rows, 16 bytes at a time.
const VECTORS: usize = MAX_ROWS * ROW / 16;

/// The state after the codes from `begin` to `end`.
#[inline(always)]
fn walk(args: &FsstMatchArgs<'_>, rows: Shared<u8>, begin: u64, end: u64) -> u8 {
    let load = |word: u64| {
        // SAFETY: nothing writes codes during a launch, and `at` checks the index in the emulated run of the
        // same kernel.
        unsafe { load_readonly_64(args.codes.at(word as usize, 1)) }
    };
    let mut state = args.automaton.marks.start;
    if begin >= end {
        return state;
    }
    let mut word = begin / 8;
    let mut next = load(word) >> (begin % 8 * 8);
    let mut left = end - begin;
    let mut here = (8 - begin % 8).min(left) as u32;
    loop {
        let mut codes = next;
        left -= here as u64;
        word += 1;
        if left > 0 {
            // This load arrives while the current codes are walked.
            next = load(word);
        }
        while here > 0 {
            // SAFETY: each state has a row, and nothing writes to the rows after the barrier.
            state = unsafe { rows.offset(place(state, codes as u8)).read() };
            codes >>= 8;
            here -= 1;
        }
        if left == 0 || is_decided(state) {
            return state;
        }
        here = left.min(8) as u32;
    }
}

/// Writes for each string whether it matches.
///
/// # Safety
/// Launched as [`FsstMatch`](warpath_shared::kernel::FsstMatch) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn fsst_match(args: FsstMatchArgs<'_>) {
    let rows = Shared::new(shared_array![U32x4; VECTORS]);
    let vectors = (args.automaton.next.len() / 16) as u32;
    let mut vector = thread_idx_x();
    while vector < vectors {
        // SAFETY: rows are 16-byte aligned, and `at` checks the index in the emulated run of the same kernel.
        let loaded = unsafe { load_readonly_16(args.automaton.next.at(vector as usize * 16, 16).cast()) };
        // SAFETY: the launch's check bounds the rows by the array, and each vector has one writer.
        unsafe { rows.offset(vector).write(loaded) };
        vector += MATCH_STRINGS as u32;
    }
    sync_threads();
    let string = block_idx_x() as usize * MATCH_STRINGS + thread_idx_x() as usize;
    let mut is_match = false;
    if string + 1 < args.offsets.len() {
        let end = args.offsets.get(string + 1).min(args.codes_len);
        let state = walk(&args, rows.cast(), args.offsets.get(string), end);
        let verdict = args.automaton.marks.verdict(state);
        is_match = verdict.is_match();
        let fault = fault_word(string as u64, verdict);
        if fault != NO_FAULT {
            // SAFETY: `at` checks the index, and every access to the word during the launch is such an atomic
            // minimum.
            unsafe { atomic_fetch_min_u64_relaxed_device(args.fault.at(0, 1), fault) };
        }
    }
    // SAFETY: blocks are whole warps, no thread has returned, and the branches above have joined, so all
    // lanes are here.
    let half = unsafe { warp_vote_ballot(ALL, is_match) };
    if thread_idx_x().is_multiple_of(LANES) && string / 64 < args.matches.len() {
        let word = args.matches.at(string / 64, 1).cast::<u32>();
        // SAFETY: each half of a word, the lower one first, has one writer: the first lane of a warp.
        unsafe { word.add(string / 32 % 2).write(half) };
    }
}
