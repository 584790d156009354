//! Work on several cores. It uses rayon's threads, which stay from one evaluation to the next. With threads
//! of its own, an evaluation of four steps started sixteen for each step, which took 3 ms of 12.

use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of cores that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the same work in `threads` threads, including the caller's.
fn in_threads(threads: usize, work: impl Fn() + Sync) {
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Makes a value from each item, on all cores. The results have the order of the items.
pub fn map<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_in(cores(), items, make)
}

/// Makes a value from each item, in at most `threads` threads. The results have the order of the items.
pub fn map_in<T: Send, R: Send>(threads: usize, items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = items.len();
    let queue = Mutex::new(items.into_iter().enumerate());
    let made = Mutex::new(Vec::with_capacity(count));
    in_threads(threads.min(count), || {
        loop {
            let next = lock(&queue).next();
            let Some((at, item)) = next else { return };
            let one = make(item);
            lock(&made).push((at, one));
        }
    });
    in_order(made)
}

/// Makes a value from each item of a source. One thread at a time reads the source. Both the source and
/// `make` may fail. Ends at the first error, in the order of the source.
pub fn map_source<T, R: Send, E: Send>(
    source: impl Iterator<Item = Result<T, E>> + Send,
    make: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let queue = Mutex::new(source.enumerate().fuse());
    let made = Mutex::new(Vec::new());
    let failed: Mutex<Option<(usize, E)>> = Mutex::new(None);
    let work = || {
        loop {
            // Items that were taken before an error are completed; items after it are not needed.
            if lock(&failed).is_some() {
                return;
            }
            let next = lock(&queue).next();
            let Some((at, item)) = next else { return };
            match item.and_then(&make) {
                Ok(one) => lock(&made).push((at, one)),
                Err(error) => {
                    let mut failed = lock(&failed);
                    if failed.as_ref().is_none_or(|(first, _)| at < *first) {
                        *failed = Some((at, error));
                    }
                }
            }
        }
    };
    // These threads wait for the source. They are separate, so that they do not block the shared ones.
    thread::scope(|scope| {
        for _ in 1..cores() {
            // If a thread cannot be started, the others do its work.
            let _ = thread::Builder::new().name("warpath bitmap".into()).spawn_scoped(scope, work);
        }
        work();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(in_order(made)),
    }
}

fn in_order<R>(made: Mutex<Vec<(usize, R)>>) -> Vec<R> {
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, one)| one).collect()
}

/// Cuts rows into about as many ranges as there are cores. All ranges but the last have the same length,
/// which is a multiple of `unit`, and is long enough to be worth a thread.
pub fn ranges(rows: usize, unit: usize) -> Vec<Range<usize>> {
    let step = range_rows(rows, unit);
    (0..rows).step_by(step).map(|start| start..rows.min(start + step)).collect()
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
        let squares = map((0..1000_u64).collect(), |i| i * i);
        assert!(squares.iter().zip(0..).all(|(square, i)| *square == i * i) && squares.len() == 1000);
        let of = |items: Vec<Result<u32, u32>>| {
            map_source(items.into_iter(), |i| if i == 7 { Err(i) } else { Ok(i + 1) })
        };
        assert_eq!(of((0..7).map(Ok).collect()), Ok((1..8).collect()));
        assert_eq!(of((0..100).map(Ok).collect()), Err(7));
        assert_eq!(of(vec![Ok(1), Err(3), Ok(7)]), Err(3));
        assert_eq!(of(vec![]), Ok(vec![]));
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
