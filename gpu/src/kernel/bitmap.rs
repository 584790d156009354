//! Programs over compressed bitmaps ([`warpath_shared::bitmap`]), a tile of 128 chunks a warp; and the same tiles decompressed.
//!
//! *Threads*: a warp a tile; of its chunks, lane *l* has *l*, *l* + 32, *l* + 64 and *l* + 96, in registers, and 1 KiB of shared memory takes what
//! comes in another order. *What is read*: of each column 16 bytes that say which atoms overlap the tile, 32 columns at a time, a lane each;
//! then those atoms alone. A column of which the tile is one fill is done with there: 0s say nothing, and 1s end it. So does a tile that is full, which is
//! looked at after every fourth column.
//!
//! *Places without a loop*: atom *i* of a tile stands at chunk *i* + what fills before it have beyond one chunk each. A lane has at most four atoms (*i* = *l* + 32 *j*),
//! and all excesses of a tile together are less than 256, so four of them go through one scan of the warp, a byte each:
//!
//! ```text
//! excess    j = 3    j = 2    j = 1    j = 0        place of atom l + 32 j =
//!          │ 8 bits │ 8 bits │ 8 bits │ 8 bits │        l + 32 j + byte j of the scan + bytes below j of the total
//! ```
//!
//! A tile of as many atoms as chunks has no fills but of one chunk: atom *i* is chunk *i*, and nothing is scanned.
//!
//! *Cost*: the atoms of the columns read once, 8 bytes a column and tile beside them (less than 2 % where it matters), the result written once. *Convergence*: all
//! lanes take the same path, but where a lane has a fill of 1, which it writes by itself.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array by value keeps it in memory, an index in registers"
)]

use cuda_std::atomic::mid::atomic_fetch_add_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::{
    sync_warp, warp_reduce_add, warp_shuffle_idx, warp_shuffle_up, warp_vote_all, warp_vote_ballot,
};
use cuda_std::wide::load_readonly_64;
use warpath_shared::bitmap::{MAX_STACK, OpCode, TILE_CHUNKS, rows_of, tiles_for};
use warpath_shared::kernel::{BitmapRangeArgs, Columns, DecompressTilesArgs};
use warpath_shared::wah::{self, Atom};

use crate::coop::LANES;
use crate::coop::warp::ALL;

/// Warps of a block.
const TILES: usize = 4;
/// Chunks of a tile that a lane has.
const PARTS: usize = (TILE_CHUNKS / LANES) as usize;
const TILE: usize = TILE_CHUNKS as usize;

/// What a lane has of a tile: chunks `lane + 32 j`.
type Part = [u64; PARTS];

/// The atoms of a column that overlap a tile.
#[derive(Clone, Copy)]
struct Overlap {
    first: u64,
    /// None of a column that says nothing.
    atoms: u32,
    /// Chunks of the first atom before the tile.
    skip: u32,
}

/// A warp's tile.
struct Tile<'a> {
    columns: Columns<'a>,
    number: u64,
    /// How many chunks it has.
    chunks: u32,
    /// Which rows there are.
    rows: Part,
    /// A chunk of each, in whatever order.
    scattered: Shared<u64>,
    lane: u32,
}

#[inline(always)]
fn load(columns: &Columns<'_>, at: u64) -> u64 {
    // SAFETY: nobody writes atoms during a launch, and the place is checked off the device.
    unsafe { load_readonly_64(columns.atoms.at(at as usize, 1)) }
}

impl<'a> Tile<'a> {
    #[inline(always)]
    fn new(columns: Columns<'a>, number: u64, chunks: u64, last: u64, scattered: Shared<u64>) -> Self {
        let lane = thread_idx_x() % LANES;
        let first = number * TILE_CHUNKS as u64;
        let mut rows = Part::default();
        for (j, rows) in rows.iter_mut().enumerate() {
            *rows = rows_of(first + lane as u64 + j as u64 * LANES as u64, chunks, last);
        }
        let chunks = (chunks - first).min(TILE_CHUNKS as u64) as u32;
        Self {
            columns,
            number,
            chunks,
            rows,
            scattered: scattered.offset(thread_idx_x() / LANES * TILE_CHUNKS),
            lane,
        }
    }

    #[inline(always)]
    fn place(&self, j: usize) -> Shared<u64> {
        self.scattered.offset(self.lane + j as u32 * LANES)
    }

    /// Which atoms of a column overlap the tile.
    #[inline(always)]
    fn overlap(&self, column: u32) -> Overlap {
        let column = self.columns.columns.get(column as usize);
        let at = (column.tiles + self.number) as usize;
        let (here, next) = (self.columns.tiles.get(at), self.columns.tiles.get(at + 1));
        let atoms = next.atom - here.atom + (next.skip > 0) as u32;
        Overlap { first: column.atoms + here.atom as u64, atoms: atoms.min(TILE_CHUNKS), skip: here.skip }
    }

    /// The overlap that another lane has found, and its atoms.
    ///
    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn fetch(&self, mine: Overlap, lane: u32) -> (Overlap, Part) {
        // SAFETY: all lanes are here.
        let overlap = unsafe {
            Overlap {
                first: warp_shuffle_idx(ALL, mine.first, lane, LANES).0,
                atoms: warp_shuffle_idx(ALL, mine.atoms, lane, LANES).0,
                skip: warp_shuffle_idx(ALL, mine.skip, lane, LANES).0,
            }
        };
        let mut atoms = Part::default();
        for (j, atom) in atoms.iter_mut().enumerate() {
            let at = self.lane + j as u32 * LANES;
            if at < overlap.atoms {
                *atom = load(&self.columns, overlap.first + at as u64);
            }
        }
        (overlap, atoms)
    }

    /// Adds a column: what is in order to `part`, and what is not to shared memory.
    ///
    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn add(&self, overlap: Overlap, atoms: Part, part: &mut Part) {
        if overlap.atoms == self.chunks {
            for j in 0..PARTS {
                // What was not loaded is a literal of no row.
                part[j] |= Atom(atoms[j]).chunk();
            }
            return;
        }
        let mut lengths = [0_u32; PARTS];
        let mut excess = 0_u32;
        for j in 0..PARTS {
            let at = self.lane + j as u32 * LANES;
            let skip = if at == 0 { overlap.skip } else { 0 };
            lengths[j] = (Atom(atoms[j]).chunks() - skip as u64).min(TILE_CHUNKS as u64) as u32;
            let beyond = if at < overlap.atoms { lengths[j] - 1 } else { 0 };
            excess |= beyond << (8 * j);
        }
        let mut sum = excess;
        let mut delta = 1;
        while delta < LANES {
            // SAFETY: all lanes are here.
            let (left, there) = unsafe { warp_shuffle_up(ALL, sum, delta, LANES) };
            if there {
                sum += left;
            }
            delta *= 2;
        }
        // SAFETY: all lanes are here.
        let total = unsafe { warp_shuffle_idx(ALL, sum, LANES - 1, LANES).0 };
        let before = sum - excess;
        let place = |j: usize, base: u32| base + (before >> (8 * j) & 0xff);
        let behind = |j: usize, base: u32| base + LANES + (total >> (8 * j) & 0xff);
        // One by one: in a loop, the arrays would be in memory.
        const { assert!(PARTS == 4) };
        let base = self.lane;
        self.put(Atom(atoms[0]), lengths[0], place(0, base));
        let base = behind(0, base);
        self.put(Atom(atoms[1]), lengths[1], place(1, base));
        let base = behind(1, base);
        self.put(Atom(atoms[2]), lengths[2], place(2, base));
        let base = behind(2, base);
        self.put(Atom(atoms[3]), lengths[3], place(3, base));
        // SAFETY: all lanes are here.
        unsafe { sync_warp(ALL) };
    }

    /// Adds an atom at its place, of so many chunks.
    #[inline(always)]
    fn put(&self, atom: Atom, chunks: u32, at: u32) {
        let at = at % TILE_CHUNKS;
        if atom.is_one_fill() {
            // It may go on behind the tile.
            for place in at..TILE_CHUNKS.min(at + chunks) {
                // SAFETY: as below.
                unsafe { self.scattered.offset(place).write(wah::ALL) };
            }
        } else if !atom.is_fill() && atom.0 != 0 {
            let place = self.scattered.offset(at);
            // SAFETY: within the tile, and no other lane has this chunk of this column.
            unsafe { place.write(place.read() | atom.0) };
        }
    }

    /// Takes in what has come to shared memory.
    ///
    /// # Safety
    /// Behind a [`Self::add`], or a barrier of the warp.
    #[inline(always)]
    unsafe fn gather(&self, part: &mut Part) {
        for j in 0..PARTS {
            // SAFETY: within the tile, and whoever wrote it did so before the barrier.
            part[j] |= unsafe { self.place(j).read() };
        }
    }

    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn is_full(&self, part: &Part) -> bool {
        let mut missing = 0;
        for j in 0..PARTS {
            missing |= !part[j] & self.rows[j];
        }
        // SAFETY: all lanes are here.
        unsafe { warp_vote_all(ALL, missing == 0) }
    }

    /// Adds the rows of some columns.
    ///
    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn any(&self, first: u32, count: u32, part: &mut Part) {
        for j in 0..PARTS {
            // SAFETY: a place of this lane's own, which others have written before the barrier behind it.
            unsafe { self.place(j).write(0) };
        }
        // SAFETY: all lanes are here.
        unsafe { sync_warp(ALL) };
        let mut from = 0;
        while from < count {
            let mine = if from + self.lane < count {
                self.overlap(first + from + self.lane)
            } else {
                Overlap { first: 0, atoms: 0, skip: 0 }
            };
            from += LANES;
            // A tile of one atom is a fill, or a chunk.
            let only = if mine.atoms == 1 { Atom(load(&self.columns, mine.first)) } else { Atom(0) };
            let says = mine.atoms > 1 || mine.atoms == 1 && !only.is_fill();
            // SAFETY: all lanes are here.
            let (full, mut left) =
                unsafe { (warp_vote_ballot(ALL, only.is_one_fill()), warp_vote_ballot(ALL, says)) };
            if full != 0 {
                *part = self.rows;
                return;
            }
            // SAFETY: all lanes are here.
            let mut next = unsafe { self.fetch(mine, left.trailing_zeros() % LANES) };
            let mut done = 0;
            while left != 0 {
                let (overlap, atoms) = next;
                left &= left - 1;
                done += 1;
                if left != 0 {
                    // They arrive while these are worked on.
                    // SAFETY: all lanes are here.
                    next = unsafe { self.fetch(mine, left.trailing_zeros()) };
                }
                // SAFETY: all lanes are here.
                unsafe { self.add(overlap, atoms, part) };
                if done % 4 == 0 || left == 0 {
                    // SAFETY: as above, behind the barrier of what was added, or of the beginning.
                    let full = unsafe {
                        self.gather(part);
                        self.is_full(part)
                    };
                    if full {
                        return;
                    }
                }
            }
        }
    }
}

/// Runs a program over tiles.
///
/// # Safety
/// Launched as [`BitmapRange`](warpath_shared::kernel::BitmapRange) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn bitmap_range(args: BitmapRangeArgs<'_>) {
    let scattered = Shared::new(shared_array![u64; TILES * TILE]);
    let number = block_idx_x() as u64 * TILES as u64 + (thread_idx_x() / LANES) as u64;
    if number >= tiles_for(args.chunks) {
        return;
    }
    let tile = Tile::new(args.columns, number, args.chunks, args.last, scattered);
    let mut part = Part::default();
    let mut stack = [Part::default(); MAX_STACK];
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < args.program.len() {
        let instr = args.program.get(at);
        at += 1;
        if instr.op == OpCode::Any as u32 {
            // SAFETY: all lanes are here.
            unsafe { tile.any(instr.first, instr.count, &mut part) };
        } else if instr.op == OpCode::Push as u32 {
            stack[depth % MAX_STACK] = part;
            depth += 1;
            part = Part::default();
        } else if instr.op <= OpCode::AndNot as u32 {
            depth -= 1;
            let pushed = stack[depth % MAX_STACK];
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
                part[j] = !part[j] & tile.rows[j];
            }
        } else if instr.op == OpCode::Store as u32 {
            // SAFETY: all lanes are here; the tile is this warp's.
            unsafe { store(&args, &tile, instr.first, &part) };
        } else {
            let mut other = 0;
            for j in 0..PARTS {
                other |= if instr.op == OpCode::SkipNone as u32 { part[j] } else { !part[j] & tile.rows[j] };
            }
            // SAFETY: all lanes are here.
            if unsafe { warp_vote_all(ALL, other == 0) } {
                at = instr.first as usize;
            }
        }
    }
}

/// # Safety
/// All lanes call it together, and no other warp has this tile.
#[inline(always)]
unsafe fn store(args: &BitmapRangeArgs<'_>, tile: &Tile<'_>, output: u32, part: &Part) {
    let mut ones = 0;
    for (j, part) in part.iter().enumerate() {
        let chunk = tile.lane + j as u32 * LANES;
        ones += part.count_ones();
        if chunk < tile.chunks && !args.words.is_empty() {
            let at = output as u64 * args.chunks + tile.number * TILE_CHUNKS as u64 + chunk as u64;
            // SAFETY: each chunk has one writer.
            unsafe { args.words.set(at as usize, *part) };
        }
    }
    // SAFETY: all lanes are here.
    let ones = unsafe { warp_reduce_add(ALL, ones) };
    if tile.lane == 0 && ones != 0 {
        // SAFETY: counts are only added to during the launch.
        unsafe { atomic_fetch_add_u64_relaxed_device(args.counts.at(output as usize, 1), ones as u64) };
    }
}

/// Decompresses tiles of columns.
///
/// # Safety
/// Launched as [`DecompressTiles`](warpath_shared::kernel::DecompressTiles) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn decompress_tiles(args: DecompressTilesArgs<'_>) {
    let scattered = Shared::new(shared_array![u64; TILES * TILE]);
    let warp = block_idx_x() as u64 * TILES as u64 + (thread_idx_x() / LANES) as u64;
    let tiles = tiles_for(args.stripe);
    let column = (warp / tiles) as u32;
    if column as usize >= args.columns.columns.len() {
        return;
    }
    let within = warp % tiles;
    let tile = Tile::new(args.columns, args.first + within, args.chunks, wah::ALL, scattered);
    let mut part = Part::default();
    // SAFETY: all lanes are here.
    unsafe { tile.any(column, 1, &mut part) };
    for (j, part) in part.iter().enumerate() {
        let chunk = tile.lane + j as u32 * LANES;
        if chunk < tile.chunks {
            let at = column as u64 * args.stripe + within * TILE_CHUNKS as u64 + chunk as u64;
            // SAFETY: each chunk has one writer.
            unsafe { args.words.set(at as usize, *part) };
        }
    }
}
