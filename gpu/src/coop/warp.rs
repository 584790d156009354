//! Operations of the lanes of a warp. Every lane of the warp must call each of them.

use cuda_std::warp::{warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up};
use warpath_shared::index::Monoid;
use warpath_shared::index::level::KindWrites;
use warpath_shared::index::line::LineSummary;
use warpath_shared::tree::outline::StretchSum;
use warpath_shared::units::{Depth, PartOffset};
use warpath_shared::xml::XmlMap;

use super::LANES;

/// All lanes.
pub const ALL: u32 = !0;

/// A value that one lane can read from another.
pub trait Shuffle: Copy {
    /// Reads each 64-bit part of the value from another lane.
    #[must_use]
    fn map(self, read: impl Fn(u64) -> u64) -> Self;
}

impl Shuffle for u64 {
    #[inline(always)]
    fn map(self, read: impl Fn(u64) -> u64) -> Self {
        read(self)
    }
}

impl Shuffle for XmlMap {
    #[inline(always)]
    fn map(self, read: impl Fn(u64) -> u64) -> Self {
        Self(read(self.0))
    }
}

impl Shuffle for KindWrites {
    #[inline(always)]
    fn map(self, read: impl Fn(u64) -> u64) -> Self {
        let both = read(self.mask as u64 | (self.value as u64) << 32);
        Self { mask: both as u32, value: (both >> 32) as u32 }
    }
}

impl Shuffle for LineSummary {
    #[inline(always)]
    fn map(self, read: impl Fn(u64) -> u64) -> Self {
        let [a, b, c, d] = self.to_words();
        let low = read(a as u64 | (b as u64) << 32);
        let high = read(c as u64 | (d as u64) << 32);
        Self::from_words([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32])
    }
}

impl Shuffle for StretchSum {
    #[inline(always)]
    fn map(self, read: impl Fn(u64) -> u64) -> Self {
        let counts = read(self.nodes as u64 | (self.brackets as u64) << 32);
        let both = read(self.depth as u32 as u64 | (self.last as u64) << 32);
        Self {
            nodes: counts as u32,
            brackets: (counts >> 32) as u32,
            depth: both as Depth,
            last: (both >> 32) as PartOffset,
        }
    }
}

/// The value of the lane `delta` below; this lane's own value where no such lane exists.
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
pub unsafe fn up<T: Shuffle>(value: T, delta: u32) -> T {
    // SAFETY: the caller's contract: all 32 lanes call this function together. The mask names all of them,
    // and `map` calls the closure equally often in each lane.
    value.map(|part| unsafe { warp_shuffle_up(ALL, part, delta, LANES) }.0)
}

/// The value of the lane `delta` above; this lane's own value where no such lane exists.
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
pub unsafe fn down<T: Shuffle>(value: T, delta: u32) -> T {
    // SAFETY: the caller's contract: all 32 lanes call this function together. The mask names all of them,
    // and `map` calls the closure equally often in each lane.
    value.map(|part| unsafe { warp_shuffle_down(ALL, part, delta, LANES) }.0)
}

/// The value of lane `lane`.
///
/// # Safety
/// All 32 lanes call it together, with the same `lane`.
#[inline(always)]
pub unsafe fn from_lane<T: Shuffle>(value: T, lane: u32) -> T {
    // SAFETY: the caller's contract: all 32 lanes call this function together, with the same `lane`. The mask
    // names all of them, and `map` calls the closure equally often in each lane.
    value.map(|part| unsafe { warp_shuffle_idx(ALL, part, lane, LANES) }.0)
}

/// The sum of the values of this lane and of all lanes below it. Takes five shuffles.
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
pub unsafe fn inclusive_scan<T: Monoid + Shuffle>(mut value: T, lane: u32) -> T {
    let mut delta = 1;
    while delta < LANES {
        // SAFETY: the caller's contract: all 32 lanes call this function together. The loop runs the same
        // number of rounds in each lane, and no branch around this call depends on the lane.
        let left = unsafe { up(value, delta) };
        if lane >= delta {
            value = left.combine(value);
        }
        delta *= 2;
    }
    value
}

/// The sum of all lanes' values; the values of higher lanes are further to the left. Valid in lane 0.
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
pub unsafe fn reduce_from_right<T: Monoid + Shuffle>(mut value: T, lane: u32) -> T {
    let mut delta = 1;
    while delta < LANES {
        // SAFETY: the caller's contract: all 32 lanes call this function together. The loop runs the same
        // number of rounds in each lane, and no branch around this call depends on the lane.
        let left = unsafe { down(value, delta) };
        if lane + delta < LANES {
            value = left.combine(value);
        }
        delta *= 2;
    }
    value
}
