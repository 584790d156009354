//! Work on several cores, with results in order.
//!
//! | function | work |
//! |---|---|
//! | [`map`] | values made from items that are in memory, by rayon's threads |
//! | [`stream`] | values made from items that are read meanwhile, by threads that wait |
//!
//! [`map`] uses rayon's threads, which stay from one call to the next. With threads of its own, an evaluation
//! of four steps started sixteen for each step, which took 3 ms of 12. The pool is not rayon's global one,
//! which panics where a thread cannot be started. No other crate of the product names rayon.

pub mod stream;

use std::iter;
use std::mem;
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The number of cores that this process may use. It is read once, because the system reads files for it.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// The threads of [`map`]: one for each core, or fewer if the system starts fewer. `None` if it starts none.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let build = |threads: usize| {
        let name = |thread| format!("warpath map {thread}");
        ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()
    };
    let all = || iter::successors(Some(cores()), |threads| Some(threads / 2).filter(|threads| *threads > 0));
    POOL.get_or_init(|| all().find_map(build)).as_ref()
}

/// The number of threads that [`map`] uses, the caller's included.
pub fn threads() -> usize {
    pool().map_or(1, ThreadPool::current_num_threads)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a value from each item, on all cores. The results have the order of the items.
pub fn map<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_in(threads(), items, make)
}

/// Makes a value from each item, in at most `threads` threads, including the caller's. The results have the
/// order of the items.
pub fn map_in<T: Send, R: Send>(threads: usize, items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    // Loops, because each `collect` would be a dozen functions more for each caller.
    let count = items.len();
    let threads = threads.min(count);
    let mut all = Vec::with_capacity(count);
    if threads < 2 {
        for item in items {
            all.push(make(item));
        }
        return all;
    }
    let mut cells = Vec::with_capacity(count);
    for item in items {
        cells.push(Mutex::new(Cell::Item(item)));
    }
    share(threads, count, &|index| {
        // Each index is given once, so nobody waits for this lock.
        let mut cell = lock(&cells[index]);
        if let Cell::Item(item) = mem::replace(&mut *cell, Cell::Empty) {
            *cell = Cell::Made(make(item));
        }
    });
    for cell in cells {
        // A panic of `make` has ended the call before, so each cell has its value.
        if let Cell::Made(made) = cell.into_inner().unwrap_or_else(PoisonError::into_inner) {
            all.push(made);
        }
    }
    all
}

/// An item of [`map_in`], and then what was made from it.
enum Cell<T, R> {
    Item(T),
    Empty,
    Made(R),
}

/// Calls `make` with each index below `count`, once, in `threads` threads, including the caller's.
///
/// Callers of [`map_in`] instantiate it many times, so what needs none of its types is compiled once, here.
fn share(threads: usize, count: usize, make: &(dyn Fn(usize) + Sync)) {
    let next = Mutex::new(0);
    let work = || {
        loop {
            // Many small items are taken several at a time, so that threads do not wait for each other. The
            // last ones are taken one by one, so that all threads end together.
            let some = {
                let mut next = lock(&next);
                let start = *next;
                *next = count.min(start + ((count - start) / (4 * threads)).max(1));
                start..*next
            };
            if some.is_empty() {
                return;
            }
            some.for_each(make);
        }
    };
    let Some(pool) = pool() else { return work() };
    pool.in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// The ranges of `len` elements, each of `step` elements but the last.
pub fn pieces(len: usize, step: usize) -> Vec<Range<usize>> {
    (0..len).step_by(step).map(|start| start..len.min(start + step)).collect()
}

/// Cuts rows into about as many ranges as there are cores. All ranges but the last have the same length,
/// which is a multiple of `unit`, and is long enough to be worth a thread.
pub fn ranges(rows: usize, unit: usize) -> Vec<Range<usize>> {
    pieces(rows, range_rows(rows, unit))
}

/// The number of rows of each of the [`ranges`], except the last.
pub fn range_rows(rows: usize, unit: usize) -> usize {
    /// The fewest rows for a thread: work on fewer takes less time than starting a thread.
    const LEAST: usize = 1 << 14;
    rows.div_ceil(cores()).max(LEAST).next_multiple_of(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        for threads in [1, 2, 7] {
            let squares = map_in(threads, (0..1000_u64).collect(), |i| i * i);
            assert_eq!(squares, (0..1000).map(|i| i * i).collect::<Vec<_>>());
        }
        assert_eq!(map(vec![1], |i| i), [1]);
        assert!(map(Vec::<u64>::new(), |i| i).is_empty());
    }

    #[test]
    fn ranges_are_all_rows() {
        for rows in [0, 1, 63, 1 << 14, (1 << 14) + 1, 1_000_003] {
            let ranges = ranges(rows, 63);
            assert_eq!(ranges.iter().map(ExactSizeIterator::len).sum::<usize>(), rows);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() % 63 == 0));
        }
    }
}
