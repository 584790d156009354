//! Evaluation of programs over compressed bitmaps on the CPU, one tile of 128 chunks at a time, as in the
//! kernel.

use std::ops::Range;

use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_core::wah::Bitmap;
use warpath_shared::bitmap::{Instr, MAX_OUTPUTS, OpCode, check, rows_of, tiles_for};
use warpath_shared::wah::{chunks_for, last_chunk};

use super::tile::{self, Part, TILE};

/// The number of tiles that a thread takes at a time: half a million rows.
const TILES_AT_ONCE: usize = 64;

/// The results that a program stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The chunks of each result, 63 rows each, the first row in bit 0. Empty if results were only counted.
    pub chunks: Vec<Vec<u64>>,
    /// The number of rows of each result.
    pub counts: Vec<u64>,
}

/// The number of results of a program: one more than the greatest number of a result.
///
/// # Errors
/// [`Error::Internal`] if it is not a valid program over `columns` bitmaps.
pub fn outputs(program: &[Instr], columns: usize) -> Result<usize, Error> {
    check(program, columns).map_err(|fault| Error::Internal(format!("bitmap program: {fault}")))?;
    let stored = program.iter().filter(|instr| instr.op() == Some(OpCode::Store));
    Ok(stored.map(|instr| instr.first as usize + 1).max().unwrap_or(0))
}

/// A run of tiles that one thread evaluates, in order.
pub struct Stretch<'a> {
    /// The bitmaps that the program reads.
    pub bitmaps: &'a [Bitmap<'a>],
    /// The program, which has been checked.
    pub program: &'a [Instr],
    /// The number of rows of each bitmap.
    pub rows: u64,
    /// The tiles to evaluate.
    pub tiles: Range<usize>,
    /// The chunks of each result; empty slices if results are only counted.
    pub kept: [&'a mut [u64]; MAX_OUTPUTS],
}

impl Work for Stretch<'_> {
    /// The number of rows of each result.
    type Output = [u64; MAX_OUTPUTS];

    #[inline(always)]
    fn run<S: Simd>(mut self, _: S) -> Self::Output {
        let (mut counts, mut stack) = ([0; MAX_OUTPUTS], Vec::new());
        let chunks = chunks_for(self.rows);
        for number in self.tiles.clone() {
            let first = (number * TILE) as u64;
            let mut rows = [0; TILE];
            for (chunk, rows_of_chunk) in (first..).zip(&mut rows) {
                *rows_of_chunk = rows_of(chunk, chunks, last_chunk(self.rows));
            }
            let chunks = TILE.min((chunks - first) as usize);
            let tile = Tile { bitmaps: self.bitmaps, number, chunks, rows };
            tile.run(self.program, &mut stack, |output, part| {
                counts[output] += part.iter().map(|chunk| u64::from(chunk.count_ones())).sum::<u64>();
                let at = (number - self.tiles.start) * TILE;
                if let Some(kept) = self.kept[output].get_mut(at..at + chunks) {
                    kept.copy_from_slice(&part[..chunks]);
                }
            });
        }
        counts
    }
}

/// One tile of a run.
struct Tile<'a> {
    bitmaps: &'a [Bitmap<'a>],
    number: usize,
    /// The number of its chunks, and their rows.
    chunks: usize,
    rows: Part,
}

/// Combines the tile that was pushed last with the accumulator.
#[inline(always)]
fn zip(part: &mut Part, pushed: Option<Part>, op: impl Fn(u64, u64) -> u64) {
    for (part, pushed) in part.iter_mut().zip(pushed.unwrap_or([0; TILE])) {
        *part = op(pushed, *part);
    }
}

impl Tile<'_> {
    #[inline(always)]
    fn is_full(&self, part: &Part) -> bool {
        part.iter().zip(&self.rows).fold(0, |missing, (part, rows)| missing | !part & rows) == 0
    }

    #[inline(always)]
    fn any(&self, first: usize, count: usize, part: &mut Part) {
        for column in &self.bitmaps[first..first + count] {
            tile::add(column, self.number, self.chunks, part);
            if self.is_full(part) {
                break;
            }
        }
    }

    /// Runs a checked program. `store` gets each result.
    #[inline(always)]
    fn run(&self, program: &[Instr], stack: &mut Vec<Part>, mut store: impl FnMut(usize, &Part)) {
        let mut part = [0; TILE];
        let mut at = 0;
        while let Some(instr) = program.get(at) {
            at += 1;
            match instr.op() {
                Some(OpCode::Any) => self.any(instr.first as usize, instr.count as usize, &mut part),
                Some(OpCode::Push) => stack.push(std::mem::replace(&mut part, [0; TILE])),
                Some(OpCode::And) => zip(&mut part, stack.pop(), |pushed, part| pushed & part),
                Some(OpCode::Or) => zip(&mut part, stack.pop(), |pushed, part| pushed | part),
                Some(OpCode::AndNot) => zip(&mut part, stack.pop(), |pushed, part| pushed & !part),
                Some(OpCode::Not) => zip(&mut part, Some(self.rows), |rows, part| rows & !part),
                Some(OpCode::Store) => store(instr.first as usize, &part),
                Some(OpCode::SkipNone) if part.iter().fold(0, |all, chunk| all | chunk) == 0 => {
                    at = instr.first as usize;
                }
                Some(OpCode::SkipAll) if self.is_full(&part) => at = instr.first as usize,
                Some(OpCode::SkipNone | OpCode::SkipAll) | None => {}
            }
        }
    }
}

/// Checks a program over bitmaps of `rows` rows, and returns the number of its results.
pub fn check_run(bitmaps: &[Bitmap<'_>], program: &[Instr], rows: u64) -> Result<usize, Error> {
    let tiles = tiles_for(chunks_for(rows)) as usize;
    if bitmaps.iter().any(|bitmap| bitmap.wah.rows() != rows || bitmap.tiles.len() != tiles + 1) {
        return Err(Error::Internal("the bitmaps have different numbers of rows".into()));
    }
    outputs(program, bitmaps.len())
}

/// Runs a program over bitmaps of `rows` rows, in `threads` threads. With `keep`, results are kept; otherwise
/// they are only counted.
///
/// # Errors
/// [`Error::Internal`] if it is not a valid program over these bitmaps, or if a bitmap does not have `rows`
/// rows.
pub fn run(
    bitmaps: &[Bitmap<'_>],
    program: &[Instr],
    rows: u64,
    threads: usize,
    keep: bool,
) -> Result<Outputs, Error> {
    let outputs = check_run(bitmaps, program, rows)?;
    let chunks = chunks_for(rows);
    let tiles = tiles_for(chunks) as usize;
    let mut kept = vec![vec![0; if keep { chunks as usize } else { 0 }]; outputs];
    let mut rest: [&mut [u64]; MAX_OUTPUTS] = Default::default();
    for (rest, kept) in rest.iter_mut().zip(&mut kept) {
        *rest = kept;
    }
    let mut stretches = Vec::new();
    for from in (0..tiles).step_by(TILES_AT_ONCE) {
        let kept = rest.each_mut().map(|rest| {
            let len = rest.len().min(TILES_AT_ONCE * TILE);
            rest.split_off_mut(..len).unwrap_or_default()
        });
        stretches.push(Stretch {
            bitmaps,
            program,
            rows,
            tiles: from..tiles.min(from + TILES_AT_ONCE),
            kept,
        });
    }
    let isa = Isa::best();
    let mut counts = vec![0; outputs];
    for of_stretch in pool::map_in(threads, stretches, |stretch| isa.run(stretch)) {
        counts.iter_mut().zip(of_stretch).for_each(|(count, of)| *count += of);
    }
    Ok(Outputs { chunks: kept, counts })
}
