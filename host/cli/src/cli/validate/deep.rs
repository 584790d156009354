//! Work on a large stack: the library of JSON Schema calls itself for each level of a record and of a schema.
//!
//! A record has up to 1024 levels, and a schema may need many calls for each of them. No stack is large
//! enough for all schemas, so the work ends before the stack does.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{io, ptr, thread};

/// The bytes of a large stack, of which only those take memory that are used.
const STACK: usize = 64 << 20;

/// The bytes that are left when work ends early. A chain of 1024 schemas, which does not look at the record,
/// takes about one MiB in a build without optimisation.
const MARGIN: usize = 4 << 20;

thread_local! {
    /// The lowest address that a stack may reach.
    static FLOOR: Cell<usize> = const { Cell::new(0) };
}

/// The reason for which work ends early.
struct TooDeep;

fn here() -> usize {
    let local = 0_u8;
    ptr::from_ref(&local).addr()
}

/// Does work on a large stack.
///
/// # Errors
/// If the operating system has no thread for it.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let bounded = || {
            FLOOR.set(here().saturating_sub(STACK - MARGIN));
            work()
        };
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, bounded)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Ends the work in [`within_stack`] if the stack is nearly full.
#[inline]
pub fn check_stack() {
    if here() < FLOOR.get() {
        resume_unwind(Box::new(TooDeep));
    }
}

/// Does work that calls [`check_stack`]. Returns `None` if the stack is too small for it.
pub fn within_stack<T>(work: impl FnOnce() -> T) -> Option<T> {
    let other = |panic: Box<dyn Any + Send>| if panic.is::<TooDeep>() { None } else { resume_unwind(panic) };
    catch_unwind(AssertUnwindSafe(work)).map_or_else(other, Some)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn endless_calls_end() {
        fn endless(depth: u64) -> u64 {
            check_stack();
            if black_box(depth) == u64::MAX { 0 } else { black_box(endless(depth + 1)) + 1 }
        }
        assert_eq!(on_large_stack(|| within_stack(|| endless(0))).unwrap(), None);
        assert_eq!(on_large_stack(|| within_stack(|| 1)).unwrap(), Some(1));
    }
}
