//! The emulator's view of atomics: points at which to give way, and signs of progress.
//!
//! A loop that waits for another thread is a loop of atomic loads, or of updates that change nothing. So
//! other threads get their turn there. If no atomic word changes for very long while threads only load, they
//! wait in vain.

use core::cell::Cell;
use core::panic::Location;
use std::format;

use super::FaultKind;
use super::state::current;

/// Counters of events.
#[derive(Default)]
pub(super) struct Watch {
    /// Events for which a waiting thread could be waiting: an atomic word changed, or a thread ended.
    progress: Cell<u64>,
    /// All events except another load of the same word.
    motion: Cell<u64>,
}

impl Watch {
    pub fn progress(&self) {
        self.progress.set(self.progress.get() + 1);
    }

    pub fn motion(&self) {
        self.motion.set(self.motion.get() + 1);
    }

    pub fn counters(&self) -> (u64, u64) {
        (self.progress.get(), self.motion.get())
    }
}

/// The value of an atomic word, as 64 bits.
pub(crate) trait AtomicWord: Copy + PartialEq {
    fn to_word(self) -> u64;
}

impl AtomicWord for u32 {
    fn to_word(self) -> u64 {
        self.into()
    }
}

impl AtomicWord for u64 {
    fn to_word(self) -> u64 {
        self
    }
}

/// Must be called before an atomic store or update. `conversion` is the conversion that the device applies to
/// the pointer first.
#[inline]
#[track_caller]
pub(crate) fn before_atomic<T>(what: &str, conversion: &str, ptr: *const T) {
    let position = current(what);
    let shared = position.block.shared.contains(ptr as usize);
    if shared && conversion == "cvta.to.global.u64" || !shared && conversion == "cvta.to.shared.u64" {
        let (place, kind) = (Location::caller(), if shared { "shared" } else { "global" });
        let message = format!("{what} at {place}: pointer {ptr:p} is to {kind} memory");
        position.raise(FaultKind::SharedMemory, message);
    }
    if ptr.is_null() || !ptr.is_aligned() {
        let place = Location::caller();
        let message =
            format!("{what} at {place}: pointer {ptr:p} is null or not aligned to {} bytes", align_of::<T>());
        position.raise(FaultKind::Panic, message);
    }
    position.machine.count(|stats| stats.atomics += 1);
    if position.machine.chance(4) {
        position.give_way();
    }
}

/// Must be called before an atomic load. Gives way.
#[inline]
#[track_caller]
pub(crate) fn before_atomic_load<T>(what: &str, conversion: &str, ptr: *const T) {
    before_atomic(what, conversion, ptr);
    current(what).give_way();
}

/// Must be called after an atomic load that returned `value`.
#[inline]
#[track_caller]
pub(crate) fn after_atomic_load<T: AtomicWord>(ptr: *const T, value: T) {
    let position = current("an atomic load");
    let watch = &position.machine.watch;
    let (address, value) = (ptr as usize, value.to_word());
    let (last_address, last_value, _) =
        position.lane.last_load.replace((address, value, Some(Location::caller())));
    if last_address != address {
        watch.motion();
    } else if last_value != value {
        watch.progress();
    }
}

/// Must be called after an atomic update. Gives way if the update changed nothing.
#[inline]
#[track_caller]
pub(crate) fn after_atomic<T: AtomicWord>(ptr: *const T, old: T, new: T) {
    let position = current("an atomic update");
    if old == new {
        after_atomic_load(ptr, old);
        position.give_way();
    } else {
        position.machine.watch.progress();
    }
}

/// Must be called after an atomic store.
#[inline]
#[track_caller]
pub(crate) fn after_store<T: AtomicWord>(old: T, new: T) {
    let watch = &current("an atomic store").machine.watch;
    if old == new { watch.motion() } else { watch.progress() }
}

/// Gives way.
#[inline]
#[track_caller]
pub(crate) fn nanosleep(_nanoseconds: u32) {
    current("nanosleep").give_way();
}
