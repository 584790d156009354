//! Twig matching by bits: the programs of documents, run on groups of twigs ([`warpath_shared::twig`]).
//!
//! *Threads*: a warp has one group, one word of 64 bits a lane, and runs the programs of some documents one
//! after the other. Four warps a block. The blocks of a group are neighbours, so a multiprocessor has the
//! rows of few groups in its cache. An operation is the same for all lanes. Warps do not communicate, so
//! there is no barrier.
//!
//! ```text
//! operations    │ leaf 7 │ enter │ leaf 9 │ leaf 2 │ pass 4 │ exit │ …
//! known           yes      (yes)   no       yes      no       (yes)
//! ```
//!
//! Each lane looks up whether the group knows the row of one operation. By one vote, the warp skips the
//! operations with a row that it does not know.
//!
//! *Keys*: where there are many groups, a warp first looks for the group's keys in the document's program, 32
//! operations at a time (`host/cpu/src/twig/set.rs`). If the document passes none, the warp skips it.
//! This look-up costs two loads and a vote; running 32 operations takes some hundred instructions. Of 100,000
//! subscriptions to events, most groups are skipped in this way.
//!
//! *Layout*: the matches at the top level and the masks are in registers. The levels below are in shared
//! memory, 256 bytes each, 16 a warp, with a lane's column in its own banks. Rows are read as 256 consecutive
//! bytes.
//! *Overflow*: offsets of rows are 0 or written by the host, and levels come from programs. The emulated run
//! of the same kernel checks both.
//! *Cost*: a shuffle and a branch for each operation that a group knows. A leaf adds a load and an or. An
//! exit, if anything was found below, adds about 30 instructions and ten for each move.

use cuda_std::atomic::mid::atomic_fetch_add_u32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::{warp_shuffle_idx, warp_vote_any, warp_vote_ballot};
use cuda_std::wide::{load_readonly_32, load_readonly_64, load_readonly_u16};
use warpath_shared::kernel::{TWIG_WARPS, TwigGroups, TwigMatchArgs};
use warpath_shared::twig::{GROUP_WORDS, GroupPlace, KEY, MAX_LEVELS, Matched, Op, OpKind, mask};

use crate::coop::LANES;
use crate::coop::warp::ALL;

/// Words of a block's levels.
const LEVELS: usize = MAX_LEVELS * TWIG_WARPS * GROUP_WORDS;

const ENTER: u32 = OpKind::Enter as u32;
const EXIT: u32 = OpKind::Exit as u32;
const LEAF: u32 = OpKind::Leaf as u32;
const PASS: u32 = OpKind::Pass as u32;
const TELL: u32 = OpKind::Tell as u32;
const STORE: u32 = OpKind::Store as u32;
const LOAD: u32 = OpKind::Load as u32;
const POP: u32 = OpKind::Pop as u32;

/// A group, from the view of one lane.
struct Group<'a> {
    groups: TwigGroups<'a>,
    place: GroupPlace,
    number: usize,
    lane: u32,
    descendant: u64,
    starts: u64,
    guards: u64,
    chained: u64,
    documents: u64,
}

impl<'a> Group<'a> {
    #[inline(always)]
    fn new(groups: TwigGroups<'a>, number: usize, lane: u32) -> Self {
        let at = |mask: usize| {
            let at = groups.masks.at((number * mask::COUNT + mask) * GROUP_WORDS + lane as usize, 1);
            // SAFETY: `at` checks the index in the emulated run of the same kernel, and no kernel writes
            // masks.
            unsafe { load_readonly_64(at) }
        };
        Self {
            groups,
            place: groups.places.get(number),
            number,
            lane,
            descendant: at(mask::DESCENDANT),
            starts: at(mask::STARTS),
            guards: at(mask::GUARDS),
            chained: at(mask::CHAINED),
            documents: at(mask::DOCUMENTS),
        }
    }

    /// An operation with the offset of its row's words in place of the row; 0 if the group does not know the
    /// row.
    #[inline(always)]
    fn placed(&self, op: Op) -> u32 {
        let kind = op.kind();
        if kind != LEAF && kind != PASS && kind != TELL {
            return op.0 + 1;
        }
        let of = if kind == PASS { self.groups.inner } else { self.groups.leaves };
        let at = self.number * self.groups.rows as usize + op.operand() as usize;
        // SAFETY: `at` checks the index in the emulated run of the same kernel, and no kernel writes the
        // rows' offsets.
        let known = (unsafe { load_readonly_u16(of.at(at, 1)) } & !KEY) as u32;
        let row = op.operand();
        if known == 0 { 0 } else { op.0 - row + self.place.words + known }
    }

    /// Returns whether an operation reports that a key of the group was passed.
    #[inline(always)]
    fn is_key(&self, op: Op) -> bool {
        if op.kind() != LEAF && op.kind() != TELL {
            return false;
        }
        let at = self.number * self.groups.rows as usize + op.operand() as usize;
        // SAFETY: `at` checks the index in the emulated run of the same kernel, and no kernel writes the
        // rows' offsets.
        unsafe { load_readonly_u16(self.groups.leaves.at(at, 1)) & KEY != 0 }
    }

    /// The word of a row that belongs to this lane.
    #[inline(always)]
    fn word(&self, place: u32) -> u64 {
        let at = self.groups.words.at(place as usize * GROUP_WORDS + self.lane as usize, 1);
        // SAFETY: `at` checks the index in the emulated run of the same kernel, and no kernel writes rows.
        unsafe { load_readonly_64(at) }
    }

    /// The nodes all of whose children were found, at the bits to which they report.
    ///
    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn satisfied(&self, found: u64) -> u64 {
        let guards = found.wrapping_add(self.starts) & self.guards;
        let mut moved = (guards & self.chained) << 1;
        let mut at = self.place.moves;
        while at < self.place.moves + self.place.moves_len {
            let place =
                self.groups.moves.at(at as usize * 2 * GROUP_WORDS + self.lane as usize, GROUP_WORDS + 1);
            // SAFETY: `at` checks the range in the emulated run of the same kernel, and no kernel writes
            // moves.
            let (mask, by) = unsafe { (load_readonly_64(place), load_readonly_64(place.add(GROUP_WORDS))) };
            moved |= (guards & mask) << (by as u32 & 63);
            at += 1;
        }
        let mut at = self.place.far;
        while at < self.place.far + self.place.far_len {
            let far = self.groups.far.get(at as usize);
            // SAFETY: the caller brings all lanes, and the range of far bits is the group's, the same in all
            // lanes.
            let (from, _) = unsafe { warp_shuffle_idx(ALL, guards, far.from / 64, LANES) };
            if far.to / 64 == self.lane {
                moved |= (from >> (far.from % 64) & 1) << (far.to % 64);
            }
            at += 1;
        }
        moved
    }

    /// Writes the twigs that match a document.
    ///
    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn answer(&self, args: &TwigMatchArgs<'_>, document: u32, found: u64) {
        let bits = found.wrapping_add(self.starts) & self.documents;
        // SAFETY: the caller brings all lanes, and no branch comes before this call.
        let lanes = unsafe { warp_vote_ballot(ALL, bits != 0) };
        if lanes == 0 {
            return;
        }
        let mut first = 0;
        if self.lane == 0 {
            // SAFETY: `at` checks the index, and every access to the word during the launch is such an atomic
            // addition.
            first = unsafe { atomic_fetch_add_u32_relaxed_device(args.count.at(0, 1), lanes.count_ones()) };
        }
        // SAFETY: the vote is the same in all lanes, and the branch above has joined, so all lanes are here.
        let (first, _) = unsafe { warp_shuffle_idx(ALL, first, 0, LANES) };
        let at = first as usize + (lanes & ((1 << self.lane) - 1)).count_ones() as usize;
        if bits != 0 && at < args.matched.len() {
            let word = (self.number * GROUP_WORDS) as u32 + self.lane;
            // SAFETY: the counter gives each lane an element of its own.
            unsafe { args.matched.set(at, Matched { document, word, bits }) };
        }
    }
}

/// Runs tasks on groups.
///
/// # Safety
/// Launched as [`TwigMatch`](warpath_shared::kernel::TwigMatch) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn twig_match(args: TwigMatchArgs<'_>) {
    let levels = Shared::new(shared_array![u64; LEVELS]);
    let (lane, warp) = (thread_idx_x() % LANES, thread_idx_x() / LANES);
    let blocks = args.blocks_a_group();
    let (number, block) = (block_idx_x() as usize / blocks, block_idx_x() as usize % blocks);
    let group = Group::new(args.groups, number, lane);
    let column = levels.offset(warp * (MAX_LEVELS * GROUP_WORDS) as u32 + lane);
    let groups = args.groups.places.len();
    let kept = |number_of: u32| (number_of as usize * groups + number) * GROUP_WORDS + lane as usize;
    let first = (block * TWIG_WARPS + warp as usize) * args.tasks_a_warp as usize;
    let end = (first + args.tasks_a_warp as usize).min(args.tasks.len());
    let by_keys = args.by_keys != 0 && group.place.matches_all == 0;
    let mut at = first;
    while at < end {
        let task = args.tasks.get(at);
        at += 1;
        if by_keys {
            let (mut next, mut is_asked) = (task.begin, false);
            while next < task.end && !is_asked {
                let mine = next + lane;
                let mut is_key = false;
                if mine < task.end {
                    // SAFETY: `at` checks the index in the emulated run of the same kernel, and no kernel
                    // writes programs while they run.
                    is_key =
                        group.is_key(Op(unsafe { load_readonly_32(args.ops.at(mine as usize, 1).cast()) }));
                }
                // SAFETY: blocks are whole warps. `at`, `next` and the vote are the same in all lanes, and
                // the branch above has joined, so all lanes reach this call.
                is_asked = unsafe { warp_vote_any(ALL, is_key) };
                next += LANES;
            }
            if !is_asked {
                continue;
            }
        }
        let (mut found, mut passed, mut told_by_end, mut depth) = (0_u64, 0_u64, 0_u64, 0_u32);
        let mut next = task.begin;
        while next < task.end {
            let mine = next + lane;
            let mut op = 0;
            if mine < task.end {
                // SAFETY: `at` checks the index in the emulated run of the same kernel, and no kernel writes
                // programs while they run.
                op = group.placed(Op(unsafe { load_readonly_32(args.ops.at(mine as usize, 1).cast()) }));
            }
            next += LANES;
            // SAFETY: blocks are whole warps, `at` and `next` are the same in all lanes, and the branch above
            // has joined, so all lanes are here.
            let mut known = unsafe { warp_vote_ballot(ALL, op != 0) };
            while known != 0 {
                // SAFETY: `known` is a vote, the same in all lanes, so all lanes are here.
                let (op, _) = unsafe { warp_shuffle_idx(ALL, op, known.trailing_zeros(), LANES) };
                known &= known - 1;
                let op = Op(op - 1);
                match op.kind() {
                    LEAF => found |= group.word(op.operand()),
                    ENTER => {
                        // SAFETY: the column is this lane's own, and programs enter at most `MAX_LEVELS`
                        // levels.
                        unsafe { column.offset(depth * GROUP_WORDS as u32).write(found) };
                        depth += 1;
                        found = 0;
                    }
                    PASS => passed |= group.word(op.operand()),
                    TELL => told_by_end |= group.word(op.operand()),
                    EXIT => {
                        let mut told = told_by_end;
                        // SAFETY: the operation is the same in all lanes, so all lanes are here.
                        if unsafe { warp_vote_any(ALL, found != 0) } {
                            // SAFETY: the vote above is the same in all lanes, so all lanes are here.
                            if unsafe { warp_vote_any(ALL, passed != 0) } {
                                // SAFETY: both votes are the same in all lanes, so all lanes are here.
                                told |= unsafe { group.satisfied(found) } & passed;
                            }
                            told |= found & group.descendant;
                        }
                        depth -= 1;
                        // SAFETY: the column is this lane's own, and the element was written when the level
                        // was entered.
                        found = told | unsafe { column.offset(depth * GROUP_WORDS as u32).read() };
                        (passed, told_by_end) = (0, 0);
                    }
                    STORE => {
                        // SAFETY: only one task stores under this number, and this lane's word has no other
                        // writer.
                        unsafe { args.kept.set(kept(op.operand()), found) };
                        found = 0;
                    }
                    // SAFETY: the word was stored by an earlier launch.
                    LOAD => found |= unsafe { args.kept.get(kept(op.operand())) },
                    POP => {
                        depth -= 1;
                        // SAFETY: the column is this lane's own, and the element was written when the level
                        // was entered.
                        found = unsafe { column.offset(depth * GROUP_WORDS as u32).read() };
                    }
                    _ => {
                        // SAFETY: the operation is the same in all lanes, so all lanes are here.
                        unsafe { group.answer(&args, op.operand(), found) };
                        found = 0;
                    }
                }
            }
        }
    }
}
