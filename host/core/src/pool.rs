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
    let step = || {
        // Many small items are taken several at a time, so that threads do not wait for the queue. The last
        // ones are taken one by one, so that all threads end together.
        let (at, some) = {
            let mut queue = lock(&queue);
            let left = queue.len();
            let some: Vec<T> = queue.by_ref().take((left / (4 * threads)).max(1)).collect();
            (count - left, some)
        };
        if some.is_empty() {
            return false;
        }
        let some: Vec<R> = some.into_iter().map(&make).collect();
        lock(&made).push((at, some));
        true
    };
    repeat_in(threads, &step);
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut all = Vec::with_capacity(count);
    for part in sorted_order(made.iter().map(|(at, _)| *at).collect()) {
        all.append(&mut made[part].1);
    }
    all
}

/// Repeats `step` in each of `threads` threads, including the caller's, until `step` returns false there.
///
/// Callers of [`map_in`] instantiate it many times, so what needs none of its types is compiled once, here.
fn repeat_in(threads: usize, step: &(dyn Fn() -> bool + Sync)) {
    let work = || while step() {};
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// The indexes of `keys` in ascending order of the keys.
fn sorted_order(keys: Vec<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&index| keys[index]);
    order
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
