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

use core::mem::MaybeUninit;

use cuda_std::atomic::mid::atomic_fetch_add_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::{
    sync_warp, warp_reduce_add, warp_shuffle_idx, warp_shuffle_up, warp_vote_all, warp_vote_ballot,
};
use cuda_std::wide::{U32x4, load_readonly_64};
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

/// The atoms of a column that overlap a tile, in 16 bytes: where the first is, in two halves; how many; and how many chunks of the first are before
/// the tile.
type Overlap = U32x4;

/// Where the overlaps are of the columns that are added next.
const OVERLAPS: usize = LANES as usize;

/// A warp's tile.
struct Tile<'a> {
    columns: Columns<'a>,
    number: u64,
    /// How many chunks it has, and what the last of them has of rows.
    chunks: u32,
    last: u64,
    /// A chunk of each, in whatever order.
    scattered: Shared<u64>,
    overlaps: Shared<Overlap>,
    lane: u32,
}

#[inline(always)]
fn load(columns: &Columns<'_>, at: u64) -> u64 {
    // SAFETY: nobody writes atoms during a launch, and the place is checked off the device.
    unsafe { load_readonly_64(columns.atoms.at(at as usize, 1)) }
}

/// What an atom has beyond one chunk, at most a tile. Fills are of less than 2³² chunks.
#[inline(always)]
fn excess(atom: u64, skip: u32) -> u32 {
    if atom as i64 >= 0 { 0 } else { (atom as u32 - skip).min(TILE_CHUNKS) - 1 }
}

impl<'a> Tile<'a> {
    #[inline(always)]
    fn new(
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
            chunks: left.min(TILE_CHUNKS as u64) as u32,
            last: if left <= TILE_CHUNKS as u64 { last } else { wah::ALL },
            scattered: scattered.offset(warp * TILE_CHUNKS),
            overlaps: overlaps.offset(warp * OVERLAPS as u32),
            lane,
        }
    }

    #[inline(always)]
    fn chunk(&self, j: usize) -> u32 {
        self.lane + j as u32 * LANES
    }

    /// Which rows there are in a chunk of this lane's.
    #[inline(always)]
    fn rows(&self, j: usize) -> u64 {
        rows_of(self.chunk(j) as u64, self.chunks as u64, self.last)
    }

    /// Which atoms of a column overlap the tile.
    #[inline(always)]
    fn overlap(&self, column: u32) -> Overlap {
        let column = self.columns.columns.get(column as usize);
        let at = (column.tiles + self.number) as usize;
        let (here, next) = (self.columns.tiles.get(at), self.columns.tiles.get(at + 1));
        let first = column.atoms + here.atom as u64;
        let atoms = next.atom - here.atom + (next.skip > 0) as u32;
        U32x4([first as u32, (first >> 32) as u32, atoms.min(TILE_CHUNKS), here.skip])
    }

    /// One of the overlaps that are noted, and its atoms: of what is behind the last, literals of no row.
    #[inline(always)]
    fn fetch(&self, number: u32) -> (Overlap, Part) {
        // SAFETY: below how many there are, and written before the barrier.
        let overlap = unsafe { self.overlaps.offset(number).read() };
        let first = (overlap.0[0] as u64 | (overlap.0[1] as u64) << 32) + self.lane as u64;
        let mut atoms = Part::default();
        for j in 0..PARTS {
            if self.chunk(j) < overlap.0[2] {
                atoms[j] = load(&self.columns, first + j as u64 * LANES as u64);
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
        if overlap.0[2] == self.chunks {
            for j in 0..PARTS {
                part[j] |= Atom(atoms[j]).chunk();
            }
            return;
        }
        // Only the first atom of all begins before the tile.
        let skip = if self.lane == 0 { overlap.0[3] } else { 0 };
        let own = [excess(atoms[0], skip), excess(atoms[1], 0), excess(atoms[2], 0), excess(atoms[3], 0)];
        let packed = own[0] | own[1] << 8 | own[2] << 16 | own[3] << 24;
        let mut sum = packed;
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
        let before = sum - packed;
        // One by one: in a loop, the arrays would be in memory.
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
        // Fills of 1, and of these there are few.
        let mut ones = false;
        for j in 0..PARTS {
            ones |= Atom(atoms[j]).is_one_fill();
        }
        if ones {
            self.put_ones(atoms[0], own[0], at0);
            self.put_ones(atoms[1], own[1], at1);
            self.put_ones(atoms[2], own[2], at2);
            self.put_ones(atoms[3], own[3], at3);
        }
        // SAFETY: all lanes are here.
        unsafe { sync_warp(ALL) };
    }

    /// Adds a literal at its place.
    #[inline(always)]
    fn put(&self, atom: u64, at: u32) {
        // Not a fill, and not what was not loaded.
        if atom as i64 > 0 {
            let place = self.scattered.offset(at % TILE_CHUNKS);
            // SAFETY: within the tile, and no other lane has this chunk of this column.
            unsafe { place.write(place.read() | atom) };
        }
    }

    /// Adds a fill of 1, which may go on behind the tile.
    #[inline(always)]
    fn put_ones(&self, atom: u64, excess: u32, at: u32) {
        if Atom(atom).is_one_fill() {
            for place in at..TILE_CHUNKS.min(at + 1 + excess) {
                // SAFETY: as for a literal.
                unsafe { self.scattered.offset(place).write(wah::ALL) };
            }
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
            part[j] |= unsafe { self.scattered.offset(self.chunk(j)).read() };
        }
    }

    /// # Safety
    /// All lanes call it together.
    #[inline(always)]
    unsafe fn is_full(&self, part: &Part) -> bool {
        let mut missing = 0;
        for j in 0..PARTS {
            missing |= !part[j] & self.rows(j);
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
            // SAFETY: a place that nobody else touches before the barrier: what was there has been gathered by this lane.
            unsafe { self.scattered.offset(self.chunk(j)).write(0) };
        }
        let mut from = 0;
        while from < count {
            let mut mine = U32x4::default();
            if from + self.lane < count {
                mine = self.overlap(first + from + self.lane);
            }
            from += LANES;
            // A tile of one atom is a fill, or a chunk.
            let mut says = mine.0[2] > 0;
            let mut one = false;
            if mine.0[2] == 1 {
                let atom = Atom(load(&self.columns, mine.0[0] as u64 | (mine.0[1] as u64) << 32));
                (says, one) = (!atom.is_fill(), atom.is_one_fill());
            }
            // SAFETY: all lanes are here.
            let (full, say) = unsafe { (warp_vote_ballot(ALL, one), warp_vote_ballot(ALL, says)) };
            if full != 0 {
                for j in 0..PARTS {
                    part[j] = self.rows(j);
                }
                return;
            }
            if says {
                let place = self.overlaps.offset((say & ((1 << self.lane) - 1)).count_ones());
                // SAFETY: each place has one writer, and those before have been read.
                unsafe { place.write(mine) };
            }
            // SAFETY: all lanes are here.
            unsafe { sync_warp(ALL) };
            let columns = say.count_ones();
            if columns == 0 {
                continue;
            }
            let mut next = self.fetch(0);
            let mut done = 0;
            while done < columns {
                let (overlap, atoms) = next;
                done += 1;
                if done < columns {
                    // They arrive while these are worked on.
                    next = self.fetch(done);
                }
                // SAFETY: all lanes are here.
                unsafe { self.add(overlap, atoms, part) };
                if done % 4 == 0 || done == columns {
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
            // SAFETY: all lanes are here, and have read all overlaps.
            unsafe { sync_warp(ALL) };
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
    let overlaps = Shared::new(shared_array![U32x4; TILES * OVERLAPS]);
    let number = block_idx_x() as u64 * TILES as u64 + (thread_idx_x() / LANES) as u64;
    if number >= tiles_for(args.chunks) {
        return;
    }
    let tile = Tile::new(args.columns, number, (args.chunks, args.last), scattered, overlaps);
    let mut part = Part::default();
    // Not zeroed: that alone would write 256 bytes a thread.
    let mut stack = [const { MaybeUninit::<Part>::uninit() }; MAX_STACK];
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < args.program.len() {
        let instr = args.program.get(at);
        at += 1;
        if instr.op == OpCode::Any as u32 {
            // SAFETY: all lanes are here.
            unsafe { tile.any(instr.first, instr.count, &mut part) };
        } else if instr.op == OpCode::Push as u32 {
            stack[depth % MAX_STACK].write(part);
            depth += 1;
            part = Part::default();
        } else if instr.op <= OpCode::AndNot as u32 {
            depth -= 1;
            // SAFETY: a program pops what it has pushed.
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
            // SAFETY: all lanes are here; the tile is this warp's.
            unsafe { store(&args, &tile, instr.first, &part) };
        } else {
            let mut other = 0;
            for j in 0..PARTS {
                other |= if instr.op == OpCode::SkipNone as u32 { part[j] } else { !part[j] & tile.rows(j) };
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
    let overlaps = Shared::new(shared_array![U32x4; TILES * OVERLAPS]);
    let warp = block_idx_x() as u64 * TILES as u64 + (thread_idx_x() / LANES) as u64;
    let tiles = tiles_for(args.stripe);
    let column = (warp / tiles) as u32;
    if column as usize >= args.columns.columns.len() {
        return;
    }
    let within = warp % tiles;
    let tile = Tile::new(args.columns, args.first + within, (args.chunks, wah::ALL), scattered, overlaps);
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
