//! Twig matching by the method of Absalyamov, Moussalli, Tsotras and Najjar ("High-Performance Holistic XML
//! Twig Filtering Using GPUs", EDBT 2013): a rival of [`warpath_gpu`]'s `twig`.
//!
//! *Threads*: one thread a query node, 256 a block, and whole queries in a block. A barrier follows each
//! event, because a node reads the results that its prefix and its children wrote at the event before.
//! *Layout*: the node's personality in a register. For each level one byte a node, half of it the push
//! stack's and half the pop stack's. For each level also one byte for each child that a node may have, in
//! which the child reports without atomics. Events are read 1,024 at a time into shared memory.
//!
//! The kernel corrects the paper in two points, without which results are wrong. All of a node's children are
//! required, each by its own slot. A match anywhere below stays in the child's slot of the level above; the
//! paper's line 23 can never become true.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};

use crate::args::TwigSeedArgs;
use crate::seed::{BLOCK, CHILDREN, LEVELS, Personality, STAGED};

/// Bit of the push stack: the entry matches for children by `/`.
const FOR_CHILDREN: u8 = 0x80;
/// Bit of the push stack: the entry matches for children by `//`.
const FOR_DESCENDANTS: u8 = 0x40;
/// Bit of the pop stack: a match was found below.
const FOUND_BELOW: u8 = 0x02;
/// The bits of an entry that belong to the push stack.
const PUSH: u8 = 0xf0;

/// Entries of the stacks, and words of slots.
const STACK: usize = LEVELS * BLOCK;
const _: () = assert!(CHILDREN == 4, "the slots of a node are a word");

/// Evaluates 256 query nodes over one document.
///
/// # Safety
/// Launched as [`TwigSeed`](crate::args::TwigSeed) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn twig_seed(args: TwigSeedArgs<'_>) {
    let stack = Shared::new(shared_array![u8; STACK]);
    let slots = Shared::new(shared_array![u32; STACK]);
    let staged = Shared::new(shared_array![u8; STAGED]);
    let thread = thread_idx_x();
    let blocks = args.personalities.len() / BLOCK;
    let (document, block) = (block_idx_x() as usize / blocks, block_idx_x() as usize % blocks);
    let node = Personality(args.personalities.get(block * BLOCK + thread as usize));
    let (begin, end) = (args.documents.get(document), args.documents.get(document + 1));
    let entry = |level: u32, node: u32| stack.offset(level * BLOCK as u32 + node);
    let children = |level: u32, node: u32| slots.offset(level * BLOCK as u32 + node);
    let is_root = node.has(Personality::ROOT);
    let root = if is_root { FOR_CHILDREN | FOR_DESCENDANTS } else { 0 };
    // SAFETY: the entries belong to this thread alone.
    unsafe {
        entry(0, thread).write(root);
        children(0, thread).write(0);
    }
    let mut level = 0;
    let mut at = begin;
    while at < end {
        let here = (end - at).min(STAGED as u32);
        sync_threads();
        let mut i = thread;
        while i < here {
            // SAFETY: each element has one writer, and other threads read it only after the barrier.
            unsafe { staged.offset(i).write(args.events.get((at + i) as usize)) };
            i += BLOCK as u32;
        }
        sync_threads();
        let mut i = 0;
        while i < here {
            // SAFETY: the event was written before the barrier.
            let event = unsafe { staged.offset(i).read() };
            i += 1;
            let is_tag = node.has(Personality::ANY) || node.tag() == event as u32 & 0x7f;
            if event & 0x80 == 0 {
                // SAFETY: other threads wrote these entries at earlier events, each followed by a barrier,
                // and this thread writes only its own entries.
                unsafe {
                    let prefix = entry(level, node.prefix()).read();
                    let own = entry(level, thread).read();
                    let bit = if node.has(Personality::DESCENDANT) { FOR_DESCENDANTS } else { FOR_CHILDREN };
                    let is_match = !is_root && is_tag && prefix & bit != 0;
                    let mut new = 0;
                    if is_match && node.has(Personality::HAS_CHILDREN | Personality::LEAF) {
                        new |= FOR_CHILDREN;
                    }
                    // A node below a match is below it on every level.
                    if node.has(Personality::HAS_DESCENDANTS) && (is_match || own & FOR_DESCENDANTS != 0) {
                        new |= FOR_DESCENDANTS;
                    }
                    level += 1;
                    entry(level, thread).write(new & PUSH);
                    children(level, thread).write(0);
                }
            } else {
                // SAFETY: other threads wrote these entries at earlier events, each followed by a barrier.
                // Each slot of the level above has this thread as its only writer.
                unsafe {
                    let own = entry(level, thread).read();
                    let reported = children(level, thread).read();
                    let all = (1_u64 << (8 * node.children())) - 1;
                    let is_satisfied = if node.has(Personality::LEAF) {
                        own & FOR_CHILDREN != 0
                    } else {
                        reported as u64 == 0x0101_0101 & all
                    };
                    let is_match = is_satisfied && is_tag && !is_root;
                    let mut found = is_match;
                    if node.has(Personality::DESCENDANT) {
                        found |= own & FOUND_BELOW != 0;
                        if found {
                            let above = entry(level - 1, thread);
                            above.write(above.read() | FOUND_BELOW);
                        }
                    }
                    if found {
                        // The least significant byte first, the byte order of memory.
                        let slot = children(level - 1, node.prefix()).cast::<u8>().offset(node.slot());
                        slot.write(1);
                    }
                    level -= 1;
                }
            }
            sync_threads();
        }
        at += here;
    }
    sync_threads();
    // SAFETY: the slots were written before the barrier, and each thread writes one element of the output.
    unsafe {
        let reported = children(0, thread).read() as u64;
        let all = (1_u64 << (8 * node.children())) - 1;
        let is_match = is_root && reported == 0x0101_0101 & all;
        args.matches
            .set(document * args.personalities.len() + block * BLOCK + thread as usize, is_match as u8);
    }
}
