//! Programs over compressed bitmaps ([`warpath_shared::bitmap`]), one tile of 128 chunks a block.
//!
//! *Threads*: a block of four warps a tile. Each warp adds every fourth column. Lane *l* holds the tile's
//! chunks *l*, *l* + 32, *l* + 64 and *l* + 96 in registers; 1 KiB of shared memory a warp takes the chunks
//! that come in another order. After two columns each, the warps combine their chunks. All warps of a block
//! have the same tile after each round, so all take the same path through the program. All lanes take the
//! same path as well, except for a lane that writes a fill of 1 by itself.
//!
//! *Layout*: a warp reads 16 bytes of each column that describe the atoms that overlap the tile, 32 columns
//! at a time, one lane each. Then it reads those atoms alone, while it adds the column before. A column whose
//! tile is one fill needs no atoms after that: a fill of 0 adds nothing, and a fill of 1 ends the operation.
//! A tile of which all rows are set ends it as well.
//!
//! Atom *i* of a tile begins at chunk *i* plus the excess, over one chunk each, of the fills before it. No
//! loop is needed to find it. A lane has at most four atoms (*i* = *l* + 32 *j*), and all excesses of a tile
//! together are less than 256. So four of them go through one scan of the warp, one byte each:
//!
//! ```text
//! excess    j = 3    j = 2    j = 1    j = 0     offset of atom l + 32 j =
//!          │ 8 bits │ 8 bits │ 8 bits │ 8 bits │  l + 32 j + byte j of the scan + bytes below j of the total
//! ```
//!
//! A tile of as many atoms as chunks has only fills of one chunk: atom *i* is chunk *i*, and no scan is
//! needed.
//!
//! *Cost*: the atoms of the columns are read once, with 8 more bytes for each column and tile (less than 2 %
//! where it matters), and the result is written once. 64 columns of 223.9 MB take 0.066 ms on an H200.
//! *Tried and lost*: see docs/lab/bitmaps.md.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array by value keeps it in memory, an index in registers"
)]

use core::mem::MaybeUninit;

use cuda_std::atomic::mid::atomic_fetch_add_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, sync_threads_and, thread_idx_x};
use cuda_std::warp::{
    sync_warp, warp_reduce_add, warp_shuffle_idx, warp_shuffle_up, warp_vote_all, warp_vote_ballot,
};
use cuda_std::wide::{U32x4, load_readonly_64};
use warpath_shared::bitmap::{MAX_STACK, OpCode, TILE_CHUNKS, rows_of, tiles_for};
use warpath_shared::kernel::{BitmapRangeArgs, Columns};
use warpath_shared::wah::{self, Atom};

use crate::coop::LANES;
use crate::coop::warp::ALL;

/// Warps of a block.
pub const WARPS: u32 = 4;
/// Columns that a warp adds before all warps combine their chunks.
const ROUND: u32 = 2;
/// Chunks of a tile that a lane has.
pub const PARTS: usize = (TILE_CHUNKS / LANES) as usize;

/// A lane's chunks of a tile: `lane + 32 j`.
pub type Part = [u64; PARTS];

/// The atoms of a column that overlap a tile, in 16 bytes: the index of the first, in two halves; their
/// number; and the number of the first atom's chunks that are before the tile.
type Overlap = U32x4;

/// Overlaps of the columns that a warp adds next.
const OVERLAPS: usize = LANES as usize;
/// Elements that the warps of a block have of each array.
pub const SCATTERED: usize = (WARPS * TILE_CHUNKS) as usize;
/// Overlaps that the warps of a block note.
pub const NOTED: usize = WARPS as usize * OVERLAPS;

/// A tile, from the view of one of the warps that work on it.
pub struct Tile<'a> {
    columns: Columns<'a>,
    number: u64,
    /// Tiles of each column.
    tiles: u64,
    /// The number of its chunks, and the rows of its last chunk.
    pub chunks: u32,
    last: u64,
    /// The chunks of this warp, added in any order.
    pub scattered: Shared<u64>,
    /// The chunks of all warps, in the same form.
    all: Shared<u64>,
    /// The overlaps of the columns that this warp adds next.
    overlaps: Shared<Overlap>,
    warp: u32,
    lane: u32,
}

/// Loads an atom.
#[inline(always)]
pub fn load(columns: &Columns<'_>, at: u64) -> u64 {
    // SAFETY: no thread writes atoms during a launch, and `at` checks the index in the emulated run of the
    // same kernel.
    unsafe { load_readonly_64(columns.atoms.at(at as usize, 1)) }
}

/// The chunks of an atom beyond its first, at most a tile. Fills have less than 2³² chunks.
#[inline(always)]
fn excess(atom: u64, skip: u32) -> u32 {
    if atom as i64 >= 0 { 0 } else { (atom as u32 - skip).min(TILE_CHUNKS) - 1 }
}

impl<'a> Tile<'a> {
    /// The view of this thread's warp on a tile. `chunks` and `last` are those of the whole bitmap.
    #[inline(always)]
    pub fn new(
        columns: Columns<'a>,
        number: u64,
        (chunks, last): (u64, u64),
        scattered: Shared<u64>,
        overlaps: Shared<Overlap>,
    ) -> Self {
        let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
        let left = chunks - number * TILE_CHUNKS as u64;
        Self {
            columns,
            number,
            tiles: tiles_for(chunks),
            chunks: left.min(TILE_CHUNKS as u64) as u32,
            last: if left <= TILE_CHUNKS as u64 { last } else { wah::ALL },
            scattered: scattered.offset(warp * TILE_CHUNKS),
            all: scattered,
            overlaps: overlaps.offset(warp * OVERLAPS as u32),
            warp,
            lane,
        }
    }

    /// The chunk of the tile that is this lane's chunk `j`.
    #[inline(always)]
    pub fn chunk(&self, j: usize) -> u32 {
        self.lane + j as u32 * LANES
    }

    /// The rows that exist in a chunk of this lane's.
    #[inline(always)]
    fn rows(&self, j: usize) -> u64 {
        rows_of(self.chunk(j) as u64, self.chunks as u64, self.last)
    }

    /// The atoms of a column that overlap the tile.
    #[inline(always)]
    pub fn overlap(&self, column: u32) -> Overlap {
        let at = (column as u64 * (self.tiles + 1) + self.number) as usize;
        let (here, next) = (self.columns.tiles.get(at), self.columns.tiles.get(at + 1));
        let first = self.columns.columns.get(column as usize) + here.atom as u64;
        let atoms = next.atom - here.atom + (next.skip > 0) as u32;
        U32x4([first as u32, (first >> 32) as u32, atoms.min(TILE_CHUNKS), here.skip])
    }

    /// One of the noted overlaps, and its atoms. The atoms after the last are literals of no row.
    #[inline(always)]
    fn fetch(&self, number: u32) -> (Overlap, Part) {
        // SAFETY: the number is below the noted overlaps, which were written before the barrier.
        let overlap = unsafe { self.overlaps.offset(number).read() };
        (overlap, self.atoms(overlap))
    }

    /// The atoms of an overlap.
    #[inline(always)]
    pub fn atoms(&self, overlap: Overlap) -> Part {
        let first = (overlap.0[0] as u64 | (overlap.0[1] as u64) << 32) + self.lane as u64;
        let mut atoms = Part::default();
        for j in 0..PARTS {
            if self.chunk(j) < overlap.0[2] {
                atoms[j] = load(&self.columns, first + j as u64 * LANES as u64);
            }
        }
        atoms
    }

    /// Adds a column: to `part` if each atom is one chunk, and to shared memory otherwise.
    ///
    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    pub unsafe fn add(&self, overlap: Overlap, atoms: Part, part: &mut Part) {
        if overlap.0[2] == self.chunks {
            for j in 0..PARTS {
                part[j] |= Atom(atoms[j]).chunk();
            }
            return;
        }
        // Only the first atom of the column's overlap begins before the tile.
        let skip = if self.lane == 0 { overlap.0[3] } else { 0 };
        let own = [excess(atoms[0], skip), excess(atoms[1], 0), excess(atoms[2], 0), excess(atoms[3], 0)];
        let packed = own[0] | own[1] << 8 | own[2] << 16 | own[3] << 24;
        let mut sum = packed;
        let mut delta = 1;
        while delta < LANES {
            // SAFETY: the overlap is the same in all lanes, and so is `delta`, so all lanes that the caller
            // brings are here.
            let (left, there) = unsafe { warp_shuffle_up(ALL, sum, delta, LANES) };
            if there {
                sum += left;
            }
            delta *= 2;
        }
        // SAFETY: the loop above has the same rounds in all lanes, so all lanes are here.
        let total = unsafe { warp_shuffle_idx(ALL, sum, LANES - 1, LANES).0 };
        let before = sum - packed;
        // Unrolled by hand: in a loop, the arrays would be in memory.
        const { assert!(PARTS == 4) };
        let at0 = self.lane + (before & 0xff);
        let at1 = self.lane + LANES + (before >> 8 & 0xff) + (total & 0xff);
        let passed = (total & 0xff) + (total >> 8 & 0xff);
        let at2 = self.lane + 2 * LANES + (before >> 16 & 0xff) + passed;
        let at3 = self.lane + 3 * LANES + (before >> 24) + passed + (total >> 16 & 0xff);
        self.put(atoms[0], at0);
        self.put(atoms[1], at1);
        self.put(atoms[2], at2);
        self.put(atoms[3], at3);
        // Fills of 1, which are rare.
        let high = |j: usize| (atoms[j] >> 32) as u32;
        if high(0).max(high(1)).max(high(2).max(high(3))) >= 0xc000_0000 {
            self.put_ones(atoms[0], own[0], at0);
            self.put_ones(atoms[1], own[1], at1);
            self.put_ones(atoms[2], own[2], at2);
            self.put_ones(atoms[3], own[3], at3);
        }
        // SAFETY: the branch above has joined, and the overlap is the same in all lanes, so all lanes are
        // here.
        unsafe { sync_warp(ALL) };
    }

    /// Adds a literal at its chunk. Adds nothing for a fill, nor for an atom that was not loaded.
    #[inline(always)]
    fn put(&self, atom: u64, at: u32) {
        if atom as i64 > 0 {
            let place = self.scattered.offset(at.min(TILE_CHUNKS - 1));
            // SAFETY: the offset is within the tile, and no other lane has this chunk of this column.
            unsafe { place.write(place.read() | atom) };
        }
    }

    /// Adds a fill of 1, which may extend beyond the tile.
    #[inline(always)]
    fn put_ones(&self, atom: u64, excess: u32, at: u32) {
        if Atom(atom).is_one_fill() {
            for place in at..TILE_CHUNKS.min(at + 1 + excess) {
                // SAFETY: the range is within the tile, and no other lane has these chunks of this column.
                unsafe { self.scattered.offset(place).write(wah::ALL) };
            }
        }
    }

    /// Merges this lane's chunks from shared memory into `part`.
    ///
    /// # Safety
    /// The caller has called [`Self::add`], or a barrier of the warp, after the last write.
    #[inline(always)]
    pub unsafe fn gather(&self, part: &mut Part) {
        for j in 0..PARTS {
            // SAFETY: the offset is within the tile, and each write to it came before the barrier.
            part[j] |= unsafe { self.scattered.offset(self.chunk(j)).read() };
        }
    }

    /// Combines the chunks of all warps. Returns whether the tile is full, and whether all warps are `done`.
    ///
    /// # Safety
    /// All threads of the block call it together, after a barrier of each warp.
    #[inline(always)]
    unsafe fn combine(&self, part: &mut Part, done: bool) -> (bool, bool) {
        // SAFETY: the elements are this lane's own. No other warp touches them before the next barrier, nor
        // did one since the last.
        unsafe {
            self.gather(part);
            for j in 0..PARTS {
                self.scattered.offset(self.chunk(j)).write(part[j]);
            }
        }
        let all_done = sync_threads_and(done as u32) != 0;
        let mut other = self.warp;
        while other != self.warp + WARPS - 1 {
            other += 1;
            let theirs = self.all.offset(other % WARPS * TILE_CHUNKS);
            for j in 0..PARTS {
                // SAFETY: the other warps wrote these elements before the barrier.
                part[j] |= unsafe { theirs.offset(self.chunk(j)).read() };
            }
        }
        let mut missing = 0;
        for j in 0..PARTS {
            missing |= !part[j] & self.rows(j);
        }
        // All warps have the same chunks. The barrier keeps each warp from writing before all have read.
        (sync_threads_and((missing == 0) as u32) != 0, all_done)
    }

    /// Adds the rows of `count` columns.
    ///
    /// # Safety
    /// All threads of the block call it together, with the same `part`.
    #[inline(always)]
    unsafe fn any(&self, first: u32, count: u32, part: &mut Part) {
        for j in 0..PARTS {
            // SAFETY: no other thread touches the element before the barrier.
            unsafe { self.scattered.offset(self.chunk(j)).write(0) };
        }
        let mut from = 0;
        while from < count {
            let mut mine = U32x4::default();
            let column = from + self.lane * WARPS + self.warp;
            if column < count {
                mine = self.overlap(first + column);
            }
            from += LANES * WARPS;
            // A tile of one atom is a fill, or one chunk.
            let mut says = mine.0[2] > 0;
            let mut one = false;
            if mine.0[2] == 1 {
                let atom = Atom(load(&self.columns, mine.0[0] as u64 | (mine.0[1] as u64) << 32));
                (says, one) = (!atom.is_fill(), atom.is_one_fill());
            }
            // SAFETY: the caller brings all threads, `from` is the same in all lanes, and the branches above
            // have joined, so all lanes are here.
            let (full, say) = unsafe { (warp_vote_ballot(ALL, one), warp_vote_ballot(ALL, says)) };
            if says {
                let place = self.overlaps.offset((say & ((1 << self.lane) - 1)).count_ones());
                // SAFETY: each element has one writer, and the overlaps of the round before have been read.
                unsafe { place.write(mine) };
            }
            // SAFETY: the branch above has joined, so all lanes are here.
            unsafe { sync_warp(ALL) };
            let mut columns = say.count_ones();
            if full != 0 {
                for j in 0..PARTS {
                    part[j] = self.rows(j);
                }
                columns = 0;
            }
            let mut next = (U32x4::default(), Part::default());
            if columns > 0 {
                next = self.fetch(0);
            }
            let mut done = 0;
            loop {
                let end = columns.min(done + ROUND);
                while done < end {
                    let (overlap, atoms) = next;
                    done += 1;
                    if done < columns {
                        // These loads arrive while the current column is added.
                        next = self.fetch(done);
                    }
                    // SAFETY: `done` and `end` are the same in all lanes of the warp, so all lanes are here,
                    // with the same overlap.
                    unsafe { self.add(overlap, atoms, part) };
                }
                // SAFETY: all warps run until `all_done` or `full`, which are the same for the block, so all
                // threads are here.
                let (full, all_done) = unsafe { self.combine(part, done == columns) };
                if full {
                    return;
                }
                if all_done {
                    break;
                }
            }
        }
    }
}

/// Runs a program over one tile a block.
///
/// # Safety
/// Launched as [`BitmapRange`](warpath_shared::kernel::BitmapRange) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn bitmap_range(args: BitmapRangeArgs<'_>) {
    let scattered = Shared::new(shared_array![u64; SCATTERED]);
    let overlaps = Shared::new(shared_array![U32x4; NOTED]);
    let number = block_idx_x() as u64;
    let tile = Tile::new(args.columns, number, (args.chunks, args.last), scattered, overlaps);
    let mut part = Part::default();
    // The stack is not zeroed: zeroes alone would write 256 bytes a thread.
    let mut stack = [const { MaybeUninit::<Part>::uninit() }; MAX_STACK];
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < args.program.len() {
        let instr = args.program.get(at);
        at += 1;
        if instr.op == OpCode::Any as u32 {
            // SAFETY: the program and `part` are the same for all threads of the block, and so is `at`, so
            // all threads are here.
            unsafe { tile.any(instr.first, instr.count, &mut part) };
        } else if instr.op == OpCode::Push as u32 {
            stack[depth % MAX_STACK].write(part);
            depth += 1;
            part = Part::default();
        } else if instr.op <= OpCode::AndNot as u32 {
            depth -= 1;
            // SAFETY: the host compiles programs that pop only what they have pushed.
            let pushed = unsafe { stack[depth % MAX_STACK].assume_init() };
            for j in 0..PARTS {
                part[j] = if instr.op == OpCode::And as u32 {
                    pushed[j] & part[j]
                } else if instr.op == OpCode::Or as u32 {
                    pushed[j] | part[j]
                } else {
                    pushed[j] & !part[j]
                };
            }
        } else if instr.op == OpCode::Not as u32 {
            for j in 0..PARTS {
                part[j] = !part[j] & tile.rows(j);
            }
        } else if instr.op == OpCode::Store as u32 {
            // SAFETY: `at` and `part` are the same in all warps of the block, so all threads are here.
            unsafe { store(&args, &tile, instr.first, &part) };
        } else {
            let mut other = 0;
            for j in 0..PARTS {
                other |= if instr.op == OpCode::SkipNone as u32 { part[j] } else { !part[j] & tile.rows(j) };
            }
            // SAFETY: `at` is the same for all threads of the block, so all lanes are here.
            if unsafe { warp_vote_all(ALL, other == 0) } {
                at = instr.first as usize;
            }
        }
    }
}

/// # Safety
/// All threads of the block call it together, with the same `part`.
#[inline(always)]
unsafe fn store(args: &BitmapRangeArgs<'_>, tile: &Tile<'_>, output: u32, part: &Part) {
    let mut ones = 0;
    for j in 0..PARTS {
        // Each warp stores and counts a quarter of the chunks.
        if tile.warp == j as u32 {
            ones = part[j].count_ones();
            if tile.chunk(j) < tile.chunks && !args.words.is_empty() {
                let at =
                    output as u64 * args.chunks + tile.number * TILE_CHUNKS as u64 + tile.chunk(j) as u64;
                // SAFETY: one warp stores each chunk, so it has one writer.
                unsafe { args.words.set(at as usize, part[j]) };
            }
        }
    }
    // SAFETY: the branch above depends on the warp, and the one within it has joined, so all lanes are here.
    let ones = unsafe { warp_reduce_add(ALL, ones) };
    if tile.lane == 0 && ones != 0 {
        // SAFETY: `at` checks the index, and counts are changed only by atomic additions during the launch.
        unsafe { atomic_fetch_add_u64_relaxed_device(args.counts.at(output as usize, 1), ones as u64) };
    }
}
