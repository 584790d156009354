//! Programs over compressed bitmaps, on the CPU: a tile of 128 chunks after the other, as the kernel does it.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpath_shared::bitmap::{Instr, MAX_OUTPUTS, OpCode, TILE_CHUNKS, check, rows_of, tiles_for};
use warpath_shared::wah::{ALL, Atom, CHUNK_ROWS, chunks_for, last_chunk};

use super::wah::Bitmap;
use crate::error::Error;

const TILE: usize = TILE_CHUNKS as usize;
/// Tiles that a thread takes at a time: half a million rows.
const TILES_AT_ONCE: usize = 64;

/// What a program stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The chunks of each result: 63 rows each, the first in bit 0. Empty where they were only counted.
    pub chunks: Vec<Vec<u64>>,
    /// How many rows each result has.
    pub counts: Vec<u64>,
}

/// How many results a program stores: one more than the greatest number of one.
///
/// # Errors
/// [`Error::Internal`] for what is no program over so many columns.
pub fn outputs(program: &[Instr], columns: usize) -> Result<usize, Error> {
    check(program, columns).map_err(|fault| Error::Internal(format!("bitmap program: {fault}")))?;
    let stored = program.iter().filter(|instr| instr.op() == Some(OpCode::Store));
    Ok(stored.map(|instr| instr.first as usize + 1).max().unwrap_or(0))
}

type Part = [u64; TILE];

/// One tile of a run.
struct Tile<'a> {
    bitmaps: &'a [Bitmap<'a>],
    number: usize,
    /// How many chunks it has, and which rows these.
    chunks: usize,
    rows: Part,
}

/// Each chunk of an atom, without a branch.
#[inline]
fn chunk_of(atom: u64) -> u64 {
    let fill = (atom as i64 >> 63) as u64;
    let value = ((atom << 1) as i64 >> 63) as u64;
    (atom & !fill | value & fill) & ALL
}

impl Tile<'_> {
    fn is_full(&self, part: &Part) -> bool {
        part.iter().zip(&self.rows).fold(0, |missing, (part, rows)| missing | !part & rows) == 0
    }

    /// Adds a column's rows.
    fn add(&self, column: &Bitmap<'_>, part: &mut Part) {
        let (here, next) = (column.tiles[self.number], column.tiles[self.number + 1]);
        let end = next.atom as usize + (next.skip > 0) as usize;
        let atoms = &column.wah.words()[here.atom as usize..end];
        if atoms.len() == self.chunks {
            for (part, atom) in part.iter_mut().zip(atoms) {
                *part |= chunk_of(*atom);
            }
            return;
        }
        let (mut at, mut skip) = (0, here.skip as usize);
        for &word in atoms {
            let atom = Atom(word);
            if atom.is_fill() {
                let end = (at + atom.chunks().min(1 << 40) as usize - skip).min(self.chunks);
                if atom.is_one_fill() {
                    part[at..end].fill(ALL);
                }
                at = end;
            } else {
                part[at] |= word;
                at += 1;
            }
            skip = 0;
        }
    }

    fn any(&self, first: usize, count: usize, part: &mut Part) {
        for column in &self.bitmaps[first..first + count] {
            self.add(column, part);
            if self.is_full(part) {
                break;
            }
        }
        // A fill of 1 is full beyond the rows of the last chunk.
        for (part, rows) in part.iter_mut().zip(&self.rows) {
            *part &= rows;
        }
    }

    /// Runs a program that has been checked. `store` is given each result.
    fn run(&self, program: &[Instr], stack: &mut Vec<Part>, mut store: impl FnMut(usize, &Part)) {
        let mut part = [0; TILE];
        let mut at = 0;
        let zip = |part: &mut Part, pushed: Option<Part>, op: fn(u64, u64) -> u64| {
            for (part, pushed) in part.iter_mut().zip(pushed.unwrap_or([0; TILE])) {
                *part = op(pushed, *part);
            }
        };
        while let Some(instr) = program.get(at) {
            at += 1;
            match instr.op() {
                Some(OpCode::Any) => self.any(instr.first as usize, instr.count as usize, &mut part),
                Some(OpCode::Push) => stack.push(std::mem::replace(&mut part, [0; TILE])),
                Some(OpCode::And) => zip(&mut part, stack.pop(), |pushed, part| pushed & part),
                Some(OpCode::Or) => zip(&mut part, stack.pop(), |pushed, part| pushed | part),
                Some(OpCode::AndNot) => zip(&mut part, stack.pop(), |pushed, part| pushed & !part),
                Some(OpCode::Not) => {
                    for (part, rows) in part.iter_mut().zip(&self.rows) {
                        *part = !*part & rows;
                    }
                }
                Some(OpCode::Store) => store(instr.first as usize, &part),
                Some(OpCode::SkipNone) if part.iter().all(|chunk| *chunk == 0) => at = instr.first as usize,
                Some(OpCode::SkipAll) if self.is_full(&part) => at = instr.first as usize,
                Some(OpCode::SkipNone | OpCode::SkipAll) | None => {}
            }
        }
    }
}

/// Runs a program over bitmaps of so many rows, in so many threads. With `keep`, the results are kept, and else only counted.
///
/// # Errors
/// [`Error::Internal`] for what is no program over these bitmaps, or where bitmaps are not of so many rows.
pub fn run(
    bitmaps: &[Bitmap<'_>],
    program: &[Instr],
    rows: u64,
    threads: usize,
    keep: bool,
) -> Result<Outputs, Error> {
    let outputs = outputs(program, bitmaps.len())?;
    let chunks = chunks_for(rows);
    let tiles = tiles_for(chunks) as usize;
    if bitmaps.iter().any(|bitmap| bitmap.wah.rows() != rows || bitmap.tiles.len() != tiles + 1) {
        return Err(Error::Internal("bitmaps are not all of the same rows".into()));
    }
    let mut kept = vec![vec![0; if keep { chunks as usize } else { 0 }]; outputs];
    let mut counts = vec![0; outputs];
    // Each thread takes the next tiles, with the stretches of the results that are theirs.
    let mut stretches: Vec<[&mut [u64]; MAX_OUTPUTS]> = Vec::new();
    {
        let mut rest: [&mut [u64]; MAX_OUTPUTS] = Default::default();
        for (rest, kept) in rest.iter_mut().zip(&mut kept) {
            *rest = kept;
        }
        for _ in 0..tiles.div_ceil(TILES_AT_ONCE) {
            stretches.push(rest.each_mut().map(|rest| {
                let len = rest.len().min(TILES_AT_ONCE * TILE);
                rest.split_off_mut(..len).unwrap_or_default()
            }));
        }
    }
    let jobs: Vec<_> = stretches.into_iter().map(|stretch| std::sync::Mutex::new(Some(stretch))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut counts, mut stack) = ([0_u64; MAX_OUTPUTS], Vec::new());
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(stretch) = jobs.get(job) else { return counts };
            let taken = stretch.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            let Some(mut stretch) = taken else { continue };
            let from = job * TILES_AT_ONCE;
            for number in from..tiles.min(from + TILES_AT_ONCE) {
                let first = (number * TILE) as u64;
                let mut of = [0; TILE];
                for (chunk, rows_of_chunk) in (first..).zip(&mut of) {
                    *rows_of_chunk = rows_of(chunk, chunks, last_chunk(rows));
                }
                let len = TILE.min((chunks - first) as usize);
                let tile = Tile { bitmaps, number, chunks: len, rows: of };
                tile.run(program, &mut stack, |output, part| {
                    counts[output] += part.iter().map(|chunk| u64::from(chunk.count_ones())).sum::<u64>();
                    if keep {
                        let at = (number - from) * TILE;
                        stretch[output][at..at + len].copy_from_slice(&part[..len]);
                    }
                });
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let died = |_| Err(Error::Internal("a thread that runs a bitmap program ended before it had".into()));
        for of in std::iter::once(Ok(mine)).chain(others.into_iter().map(|other| other.join().or_else(died)))
        {
            for (count, of) in counts.iter_mut().zip(of?) {
                *count += of;
            }
        }
        Ok::<(), Error>(())
    })?;
    drop(jobs);
    Ok(Outputs { chunks: kept, counts })
}

/// The rows that are 1 in chunks of 63 rows.
pub fn ones(chunks: &[u64]) -> impl Iterator<Item = u64> + '_ {
    (0..).step_by(CHUNK_ROWS as usize).zip(chunks).flat_map(|(first, &chunk)| {
        let mut left = chunk;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros();
            (left != 0).then(|| {
                left &= left - 1;
                first + u64::from(bit)
            })
        })
    })
}
