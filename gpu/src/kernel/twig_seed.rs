//! Twigs as Absalyamov, Moussalli, Tsotras and Najjar ask them ("High-Performance Holistic XML Twig Filtering Using GPUs", EDBT 2013): a rival of [`twig`](super::twig).
//!
//! *Threads*: a thread a query node, 256 a block, and whole queries in a block. *Memory*: the node's personality in a register; for each level a byte a node, the push stack's half and the pop stack's, and a byte
//! for each child that a node may have, in which it reports without atomics; events are read 1,024 at a time into shared memory. *A barrier* behind each event: a node reads what its prefix and its children wrote at the
//! event before.
//!
//! With two corrections, without which answers are wrong: all of a node's children are asked for, each by its own slot, and what was found anywhere below stays in the child's slot of the level above. The paper's line 23 can never become true.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};
use warpath_shared::kernel::TwigSeedArgs;
use warpath_shared::twig::seed::{BLOCK, CHILDREN, LEVELS, Personality, STAGED};

/// An entry of the push stack matches for children by `/`.
const FOR_CHILDREN: u8 = 0x80;
/// For those by `//`.
const FOR_DESCENDANTS: u8 = 0x40;
/// An entry of the pop stack: found below.
const FOUND_BELOW: u8 = 0x02;
/// An entry's bits of the push stack.
const PUSH: u8 = 0xf0;

/// Entries of the stacks, and words of slots.
const STACK: usize = LEVELS * BLOCK;
const _: () = assert!(CHILDREN == 4, "the slots of a node are a word");

/// Asks 256 query nodes of one document.
///
/// # Safety
/// Launched as [`TwigSeed`](warpath_shared::kernel::TwigSeed) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn twig_seed(args: TwigSeedArgs<'_>) {
    let stack = Shared::new(shared_array![u8; STACK]);
    let slots = Shared::new(shared_array![u32; STACK]);
    let staged = Shared::new(shared_array![u8; STAGED]);
    let thread = thread_idx_x();
    let blocks = args.personalities.len() / BLOCK;
    let (document, block) = (block_idx_x() as usize / blocks, block_idx_x() as usize % blocks);
    let node = args.personalities.get(block * BLOCK + thread as usize);
    let (begin, end) = (args.documents.get(document), args.documents.get(document + 1));
    let entry = |level: u32, node: u32| stack.offset(level * BLOCK as u32 + node);
    let children = |level: u32, node: u32| slots.offset(level * BLOCK as u32 + node);
    let is_root = node.has(Personality::ROOT);
    let root = if is_root { FOR_CHILDREN | FOR_DESCENDANTS } else { 0 };
    // SAFETY: this thread's own entries.
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
            // SAFETY: each place has one writer, and nobody reads it before the barrier.
            unsafe { staged.offset(i).write(args.events.get((at + i) as usize)) };
            i += BLOCK as u32;
        }
        sync_threads();
        let mut i = 0;
        while i < here {
            // SAFETY: written before the barrier.
            let event = unsafe { staged.offset(i).read() };
            i += 1;
            let is_tag = node.has(Personality::ANY) || node.tag() == event as u32 & 0x7f;
            if event & 0x80 == 0 {
                // SAFETY: written at events before, each behind a barrier; and this thread's own entries.
                unsafe {
                    let prefix = entry(level, node.prefix()).read();
                    let own = entry(level, thread).read();
                    let bit = if node.has(Personality::DESCENDANT) { FOR_DESCENDANTS } else { FOR_CHILDREN };
                    let is_match = !is_root && is_tag && prefix & bit != 0;
                    let mut new = 0;
                    if is_match && node.has(Personality::HAS_CHILDREN | Personality::LEAF) {
                        new |= FOR_CHILDREN;
                    }
                    // What is below a match is below it on every level.
                    if node.has(Personality::HAS_DESCENDANTS) && (is_match || own & FOR_DESCENDANTS != 0) {
                        new |= FOR_DESCENDANTS;
                    }
                    level += 1;
                    entry(level, thread).write(new & PUSH);
                    children(level, thread).write(0);
                }
            } else {
                // SAFETY: as above; a slot of the level above has this thread as its writer alone.
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
                        // Least significant byte first, as memory has it.
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
    // SAFETY: written before the barrier; each place of the answer has one writer.
    unsafe {
        let reported = children(0, thread).read() as u64;
        let all = (1_u64 << (8 * node.children())) - 1;
        let is_match = is_root && reported == 0x0101_0101 & all;
        args.matches
            .set(document * args.personalities.len() + block * BLOCK + thread as usize, is_match as u8);
    }
}
