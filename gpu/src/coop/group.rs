//! What a group of lanes does together: 1, 8, 16 or all 32 lanes of a warp, neighbours, that hold one record.
//!
//! The groups of a warp run the same code on records of their own and may part: each of them meets only itself.

use cuda_std::warp::{lane_id, sync_warp, warp_shuffle_idx, warp_vote_ballot};

use super::LANES;

/// The calling lane's group of `N` lanes, a power of two up to 32. A lane alone agrees with itself at no cost.
#[derive(Clone, Copy)]
pub struct Group<const N: u32> {
    /// The calling lane's number in its group.
    pub lane: u32,
    /// The group's first lane in its warp.
    first: u32,
}

impl<const N: u32> Group<N> {
    /// The calling lane's group.
    ///
    /// # Safety
    /// For as long as the group is used, all its lanes run the same code with the same values, but for what a lane finds
    /// alone between two calls of these functions; so that they make each call together.
    #[inline(always)]
    pub unsafe fn of_this_lane() -> Self {
        const { assert!(N.is_power_of_two() && N <= LANES) };
        let lane = lane_id();
        Self { lane: lane % N, first: lane & !(N - 1) }
    }

    /// The group's lanes, as a mask of the warp's.
    #[inline(always)]
    fn mask(self) -> u32 {
        if N == LANES { !0 } else { ((1 << N) - 1) << self.first }
    }

    /// The lanes, counted within the group, in which `predicate` holds.
    #[inline(always)]
    pub fn ballot(self, predicate: bool) -> u32 {
        if N == 1 {
            return predicate as u32;
        }
        // SAFETY: whoever made the group vouches for all lanes of the mask.
        unsafe { warp_vote_ballot(self.mask(), predicate) >> self.first }
    }

    /// The value of lane `lane` of the group, which each lane chooses for itself.
    #[inline(always)]
    pub fn from_lane(self, value: u32, lane: u32) -> u32 {
        if N == 1 {
            return value;
        }
        // SAFETY: whoever made the group vouches for all lanes of the mask; segments of `N` lanes begin where groups do.
        unsafe { warp_shuffle_idx(self.mask(), value, lane, N) }.0
    }

    /// Waits for all lanes; what each wrote to memory before, they all see after.
    #[inline(always)]
    pub fn sync(self) {
        // SAFETY: whoever made the group vouches for all lanes of the mask.
        unsafe { sync_warp(self.mask()) }
    }

    /// The sum of the values of this lane and those below it.
    #[inline(always)]
    pub fn inclusive_sum(self, mut value: u32) -> u32 {
        let mut delta = 1;
        while delta < N {
            let left = self.from_lane(value, self.lane.wrapping_sub(delta) % N);
            if self.lane >= delta {
                value += left;
            }
            delta *= 2;
        }
        value
    }
}
