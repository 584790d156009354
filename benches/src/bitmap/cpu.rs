//! Methods on a processor. All have the same form: columns in memory in the method's own code, their union in
//! that code, and a count of its rows.
//!
//! * *warpath*: the program of the engine over tiles of the columns, to chunks of rows.
//! * *roaring*, *croaring*: [RoaringBitmap](https://roaringbitmap.org) in Rust and in C (by crates of these
//!   names). One call of the crate makes the union of all columns, with runs where they are smaller. With
//!   several threads, each has the same rows of all columns, cut at containers. The parts of the union stay
//!   separate.
//! * *scan*: no index ([`super::scan`]).

use std::num::NonZero;

use anyhow::Result;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use roaring::MultiOps as _;
use warpath_core::wah::{Bitmap, tile_starts};
use warpath_cpu::bitmap::run::run;
use warpath_shared::bitmap::{Instr, OpCode, TileStart};
use warpath_shared::wah::{CHUNK_ROWS, Wah, chunks_for};

use super::method::{Candidate, Executor, Family, Method, Ran, name};
use super::scan::Scan;
use super::workload::Workload;

/// Rows of a container of a Roaring bitmap.
const CONTAINER: u64 = 1 << 16;
/// The number of parts per thread. With several, threads that finish early help the others.
const PARTS: usize = 4;

/// The number of threads that the processor runs at once.
#[must_use]
pub fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Warpath on `threads` threads.
#[must_use]
pub fn warpath(threads: usize) -> Candidate {
    candidate(name::WARPATH, Family::Ours, threads, move |workload| {
        let columns = workload.columns();
        let tiles = columns.iter().map(|column| tile_starts(*column)).collect();
        let any = Instr::new(OpCode::Any, 0, columns.len() as u32);
        let program = [any, Instr::new(OpCode::Store, 0, 0)];
        let rows = workload.table.rows;
        Ok(Box::new(Tiles { columns, tiles, program, rows, threads, union: Vec::new() }))
    })
}

/// Warpath, other libraries and the scan, on one core and on all.
#[must_use]
pub fn all() -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut cores = vec![1, all_cores()];
    cores.dedup();
    for threads in cores {
        all.push(warpath(threads));
        all.push(candidate("roaring", Family::Peer, threads, move |workload| {
            Ok(Box::new(Parts::<roaring::RoaringBitmap>::new(workload, Team::new(threads)?)))
        }));
        all.push(candidate("croaring", Family::Peer, threads, move |workload| {
            Ok(Box::new(Parts::<croaring::Bitmap>::new(workload, Team::new(threads)?)))
        }));
        all.push(candidate("scan", Family::Peer, threads, move |workload| {
            let chunks = vec![0; chunks_for(workload.table.rows) as usize];
            Ok(Box::new(Scanned { scan: Scan::new(workload), chunks, team: Team::new(threads)? }))
        }));
    }
    all
}

/// A method on `threads` threads.
pub fn candidate(
    name: &'static str,
    family: Family,
    threads: usize,
    setup: impl for<'a> Fn(&'a Workload<'a>) -> Result<Box<dyn Method + 'a>> + 'static,
) -> Candidate {
    Candidate { name, family, place: Executor::Threads(threads), setup: Box::new(setup) }
}

/// Threads that wait for work; none where one is enough, which is then the caller's.
pub enum Team {
    /// The caller's thread.
    Alone,
    /// Threads that are kept from one run to the next, like OpenMP's.
    Pool(ThreadPool),
}

impl Team {
    /// A team of this many threads.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(threads: usize) -> Result<Self> {
        Ok(match threads {
            0 | 1 => Self::Alone,
            threads => Self::Pool(ThreadPoolBuilder::new().num_threads(threads).build()?),
        })
    }

    fn threads(&self) -> usize {
        match self {
            Self::Alone => 1,
            Self::Pool(pool) => pool.current_num_threads(),
        }
    }

    /// Runs it on one of the threads, where [`Self::map`] then is on all of them.
    pub fn within<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Alone => run(),
            Self::Pool(pool) => pool.install(run),
        }
    }

    /// Applies `make` to each element, and keeps their order.
    pub fn map<I: Sync, T: Send>(&self, of: &[I], make: impl Fn(&I) -> T + Sync + Send) -> Vec<T> {
        match self {
            Self::Alone => of.iter().map(make).collect(),
            Self::Pool(_) => of.par_iter().map(make).collect(),
        }
    }
}

struct Tiles<'a> {
    columns: Vec<Wah<'a>>,
    tiles: Vec<Vec<TileStart>>,
    program: [Instr; 2],
    rows: u64,
    threads: usize,
    union: Vec<u64>,
}

impl Method for Tiles<'_> {
    fn run(&mut self) -> Result<Ran> {
        let Self { columns, tiles, program, rows, threads, .. } = self;
        let bitmaps = columns.iter().zip(&*tiles).map(|(wah, tiles)| Bitmap { wah: *wah, tiles });
        let mut outputs = run(&bitmaps.collect::<Vec<_>>(), program, *rows, *threads, true)?;
        self.union = outputs.chunks.swap_remove(0);
        Ok(Ran::counted(outputs.counts[0]))
    }

    fn forget(&mut self) {
        self.union = Vec::new();
    }

    fn union(&mut self) -> Result<Vec<u64>> {
        Ok(self.union.clone())
    }
}

struct Scanned<'a> {
    scan: Scan<'a>,
    /// The result. Each run writes to the same memory, like a caller that repeats a query.
    chunks: Vec<u64>,
    team: Team,
}

impl Method for Scanned<'_> {
    fn run(&mut self) -> Result<Ran> {
        let Self { scan, chunks, team } = self;
        Ok(Ran::counted(match team {
            Team::Alone => scan.run(0, chunks),
            Team::Pool(pool) => {
                let part = chunks.len().div_ceil(PARTS * pool.current_num_threads()).max(1);
                pool.install(|| {
                    let parts = chunks.par_chunks_mut(part).enumerate();
                    parts.map(|(number, chunks)| scan.run(number * part, chunks)).sum()
                })
            }
        }))
    }

    fn union(&mut self) -> Result<Vec<u64>> {
        Ok(self.chunks.clone())
    }
}

/// A peer's bitmap of rows.
trait Set: Send + Sync + Sized {
    /// Makes a set of ascending rows, in the smallest form.
    fn of(rows: &[u32]) -> Self;

    /// Makes the union of all.
    fn union(of: &[Self]) -> Self;

    fn count(&self) -> u64;

    fn rows(&self) -> Vec<u32>;
}

impl Set for roaring::RoaringBitmap {
    fn of(rows: &[u32]) -> Self {
        let mut set: Self = rows.iter().copied().collect();
        set.optimize();
        set
    }

    fn union(of: &[Self]) -> Self {
        of.iter().union()
    }

    fn count(&self) -> u64 {
        self.len()
    }

    fn rows(&self) -> Vec<u32> {
        self.iter().collect()
    }
}

impl Set for croaring::Bitmap {
    fn of(rows: &[u32]) -> Self {
        let mut set = Self::of(rows);
        set.run_optimize();
        set.shrink_to_fit();
        set
    }

    fn union(of: &[Self]) -> Self {
        Self::fast_or(&of.iter().collect::<Vec<_>>())
    }

    fn count(&self) -> u64 {
        self.cardinality()
    }

    fn rows(&self) -> Vec<u32> {
        self.to_vec()
    }
}

/// Columns as sets, cut into parts of rows.
struct Parts<S> {
    /// All columns of each part.
    parts: Vec<Vec<S>>,
    team: Team,
    chunks: u64,
    unions: Vec<S>,
}

impl<S: Set> Parts<S> {
    fn new(workload: &Workload<'_>, team: Team) -> Self {
        let rows = workload.table.rows;
        let containers = rows.div_ceil(CONTAINER).max(1);
        let parts = if team.threads() == 1 { 1 } else { containers.min((PARTS * team.threads()) as u64) };
        let ends: Vec<u64> = (1..=parts).map(|part| containers * part / parts * CONTAINER).collect();
        let cut = |column: &Wah<'_>| -> Vec<S> {
            let mut ones = column.ones().peekable();
            let mut part = |end: &u64| {
                let rows: Vec<u32> =
                    std::iter::from_fn(|| ones.next_if(|row| row < end)).map(|row| row as u32).collect();
                S::of(&rows)
            };
            ends.iter().map(&mut part).collect()
        };
        // A column after the other on each core: all of them at once would need their rows as numbers.
        let columns: Vec<Vec<S>> = workload.columns().par_iter().map(cut).collect();
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let parts = ends.iter().map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect();
        Self { parts, team, chunks: chunks_for(rows), unions: Vec::new() }
    }
}

impl<S: Set> Method for Parts<S> {
    fn run(&mut self) -> Result<Ran> {
        let Self { parts, team, .. } = self;
        let unions = team.within(|| team.map(parts, |columns| S::union(columns)));
        let count = unions.iter().map(S::count).sum();
        self.unions = unions;
        Ok(Ran::counted(count))
    }

    fn forget(&mut self) {
        self.unions.clear();
    }

    fn union(&mut self) -> Result<Vec<u64>> {
        let mut chunks = vec![0; self.chunks as usize];
        for row in self.unions.iter().flat_map(S::rows) {
            chunks[(row / CHUNK_ROWS) as usize] |= 1 << (row % CHUNK_ROWS);
        }
        Ok(chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::DataSet;
    use super::super::method::measure;
    use super::*;

    #[test]
    fn all_methods_make_the_same_union() {
        for set in DataSet::ALL {
            // More than a container, and no whole number of chunks.
            let table = set.make(200_000, 1);
            let index = table.columns();
            for columns in [1, 3, 4, 64] {
                let workload = Workload::random(&table, &index, columns, 1);
                let want = workload.answer();
                let mut candidates: Vec<Candidate> = [2, 3, 5].map(warpath).into();
                candidates.extend(all());
                for candidate in &candidates {
                    let times = measure(candidate, &workload, &want, 2).unwrap();
                    assert_eq!(times.len(), 2, "{}", candidate.name);
                }
            }
        }
    }

    #[test]
    fn parts_have_all_rows_whatever_their_number() {
        let table = DataSet::Kdd.make(5 * CONTAINER + 1, 2);
        let index = table.columns();
        let workload = Workload::random(&table, &index, 30, 2);
        for threads in 1..4 {
            let mut parts = Parts::<roaring::RoaringBitmap>::new(&workload, Team::new(threads).unwrap());
            assert_eq!(parts.parts.len(), if threads == 1 { 1 } else { 6 });
            assert!(parts.parts.iter().all(|columns| columns.len() == 30));
            parts.run().unwrap();
            assert_eq!(parts.union().unwrap(), workload.answer());
        }
    }
}
