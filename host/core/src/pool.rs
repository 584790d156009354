//! Work on several cores, with results in order.
//!
//! | function | work |
//! |---|---|
//! | [`map`] | values made from items that are in memory, by rayon's threads |
//! | [`stream`] | values made from items that are read meanwhile, by threads that wait |
//!
//! [`map`] uses rayon's threads, which stay from one call to the next. With threads of its own, an evaluation
//! of four steps started sixteen for each step, which took 3 ms of 12. No other crate of the product names
//! rayon.

pub mod stream;

use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// The number of cores that this process may use. It is read once, because the system reads files for it.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// The number of threads that [`map`] uses.
pub fn threads() -> usize {
    cores().min(rayon::current_num_threads())
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
    let count = items.len();
    let threads = threads.min(count);
    if threads < 2 {
        return items.into_iter().map(make).collect();
    }
    let queue = Mutex::new(items.into_iter());
    let made = Mutex::new(Vec::new());
    let work = || {
        loop {
            // Many small items are taken several at a time, so that threads do not wait for the queue. The
            // last ones are taken one by one, so that all threads end together.
            let (at, some) = {
                let mut queue = lock(&queue);
                let left = queue.len();
                let some: Vec<T> = queue.by_ref().take((left / (4 * threads)).max(1)).collect();
                (count - left, some)
            };
            if some.is_empty() {
                return;
            }
            let some: Vec<R> = some.into_iter().map(&make).collect();
            lock(&made).push((at, some));
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(at, _)| *at);
    let mut all = Vec::with_capacity(count);
    made.into_iter().for_each(|(_, some)| all.extend(some));
    all
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
