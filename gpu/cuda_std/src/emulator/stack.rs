//! Stacks for fibers, which later launches of the process reuse.

use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use corosensei::stack::{DefaultStack, MIN_STACK_SIZE, Stack, StackPointer};

/// The number of stacks that are kept; further ones are freed.
const KEPT: usize = 4096;

/// A stack whose top is moved down by a small distance that differs from its neighbours'. Without this shift,
/// the tops of page-aligned stacks would all fall into the same few sets of the cache.
pub(super) struct FiberStack {
    inner: DefaultStack,
    size: usize,
    shift: usize,
}

// SAFETY: `DefaultStack` upholds the contract of `Stack`. The base only moves down, by a multiple of the
// alignment. `take` made the inner stack larger by the greatest shift, so at least `MIN_STACK_SIZE` bytes
// remain.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        // The base is far more than the shift above the limit, so the difference is not zero.
        StackPointer::new(self.inner.base().get() - self.shift).unwrap_or(self.inner.base())
    }

    fn limit(&self) -> StackPointer {
        self.inner.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.inner.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.inner.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

const SHIFTS: usize = 16;
const SHIFT_STEP: usize = 256;

static POOL: Mutex<Vec<FiberStack>> = Mutex::new(Vec::new());

/// Takes `count` stacks of `size` bytes.
pub(super) fn take(count: usize, size: usize) -> std::io::Result<Vec<FiberStack>> {
    let size = size.max(MIN_STACK_SIZE);
    let mut stacks = Vec::with_capacity(count);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    while stacks.len() < count
        && let Some(at) = pool.iter().rposition(|stack| stack.size == size)
    {
        stacks.push(pool.swap_remove(at));
    }
    drop(pool);
    while stacks.len() < count {
        let inner = DefaultStack::new(size + SHIFTS * SHIFT_STEP)?;
        // On Windows the system knows the bounds of the stack, so they are not changed.
        let shift = if cfg!(windows) { 0 } else { stacks.len() % SHIFTS * SHIFT_STEP };
        stacks.push(FiberStack { inner, size, shift });
    }
    Ok(stacks)
}

/// Returns stacks to the pool for later launches.
pub(super) fn give_back(stacks: Vec<FiberStack>) {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let room = KEPT.saturating_sub(pool.len());
    pool.extend(stacks.into_iter().take(room));
}
