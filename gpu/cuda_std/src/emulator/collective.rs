//! Warp collectives, where the lanes that a mask names meet.
//!
//! A lane records its call and waits. The last lane of the mask to arrive computes the results of all.
//! Meanwhile lanes with other masks may meet. If two lanes name each other but make different calls, they can
//! never continue, so they are reported.

use core::fmt;
use core::panic::Location;
use std::format;

use super::FaultKind;
use super::state::{Position, Site, WARP, Warp, current};
use crate::warp::WarpShuffleMode;

/// The function in which the lanes meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOp {
    Sync,
    All,
    Any,
    Ballot,
    MatchAny32,
    MatchAny64,
    MatchAll32,
    MatchAll64,
    ReduceAdd,
    ReduceMinU32,
    ReduceMaxU32,
    ReduceMinI32,
    ReduceMaxI32,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    /// A shuffle. The flag is set for shuffles of 64 bits, and clear for shuffles of 32 bits.
    Shuffle(WarpShuffleMode, bool),
}

impl WarpOp {
    fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync_warp",
            Self::All => "warp_vote_all",
            Self::Any => "warp_vote_any",
            Self::Ballot => "warp_vote_ballot",
            Self::MatchAny32 => "warp_match_any_32",
            Self::MatchAny64 => "warp_match_any_64",
            Self::MatchAll32 => "warp_match_all_32",
            Self::MatchAll64 => "warp_match_all_64",
            Self::ReduceAdd => "warp_reduce_add",
            Self::ReduceMinU32 => "warp_reduce_min::<u32>",
            Self::ReduceMaxU32 => "warp_reduce_max::<u32>",
            Self::ReduceMinI32 => "warp_reduce_min::<i32>",
            Self::ReduceMaxI32 => "warp_reduce_max::<i32>",
            Self::ReduceAnd => "warp_reduce_and",
            Self::ReduceOr => "warp_reduce_or",
            Self::ReduceXor => "warp_reduce_xor",
            Self::Shuffle(WarpShuffleMode::Up, false) => "warp_shuffle_up",
            Self::Shuffle(WarpShuffleMode::Down, false) => "warp_shuffle_down",
            Self::Shuffle(WarpShuffleMode::Xor, false) => "warp_shuffle_xor",
            Self::Shuffle(WarpShuffleMode::Idx, false) => "warp_shuffle_idx",
            Self::Shuffle(WarpShuffleMode::Up, true) => "warp_shuffle_up of 64 bits",
            Self::Shuffle(WarpShuffleMode::Down, true) => "warp_shuffle_down of 64 bits",
            Self::Shuffle(WarpShuffleMode::Xor, true) => "warp_shuffle_xor of 64 bits",
            Self::Shuffle(WarpShuffleMode::Idx, true) => "warp_shuffle_idx of 64 bits",
        }
    }
}

/// A collective that a lane has called.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    op: WarpOp,
    pub mask: u32,
    value: u64,
    /// For a shuffle, the lane or distance in the low byte and the width above it.
    operand: u32,
    site: Option<Site>,
}

impl Pending {
    pub const NONE: Self = Self { op: WarpOp::Sync, mask: 0, value: 0, operand: 0, site: None };

    fn meets(&self, other: &Self) -> bool {
        self.op == other.op && self.mask == other.mask
    }
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with mask {:#010x}", self.op.name(), self.mask)?;
        self.site.map_or(Ok(()), |site| write!(f, " at {site}"))
    }
}

/// Checks a shuffle's operand and width, then does the shuffle.
#[track_caller]
pub(crate) fn warp_shuffle(
    mode: WarpShuffleMode,
    wide: bool,
    mask: u32,
    value: u64,
    operand: u32,
    width: u32,
) -> (u64, bool) {
    let op = WarpOp::Shuffle(mode, wide);
    if !(width.is_power_of_two() && width <= WARP) {
        let message = format!(
            "{} at {}: width {width} is not a power of two from 1 to 32",
            op.name(),
            Location::caller()
        );
        current(op.name()).raise(FaultKind::Shuffle, message);
    }
    if operand >= WARP && mode != WarpShuffleMode::Idx {
        let message = format!("{} at {}: {operand} lanes is beyond the warp", op.name(), Location::caller());
        current(op.name()).raise(FaultKind::Shuffle, message);
    }
    warp_collective(op, mask, value, (operand % WARP) | width << 8)
}

/// Waits for the lanes of `mask`, and returns this lane's result.
#[track_caller]
pub(crate) fn warp_collective(op: WarpOp, mask: u32, value: u64, operand: u32) -> (u64, bool) {
    let position = current(op.name());
    let Position { warp, lane, .. } = position;
    let this = Pending { op, mask, value, operand, site: Some(Location::caller()) };
    let bit = position.bit();
    check(&position, &this);

    warp.pending[lane.lane as usize].set(this);
    warp.waiting.set(warp.waiting.get() | bit);
    if mask & !warp.waiting.get() == 0 && all_meet(&position, &this) {
        finish(&position, &this);
        warp.waiting.set(warp.waiting.get() & !mask);
        warp.ready.set(warp.ready.get() | mask & !bit);
        position.machine.watch.motion();
        position.machine.count(|stats| stats.warp_collectives += 1);
    } else {
        position.suspend();
    }
    (warp.result[lane.lane as usize].get(), warp.flag.get() & bit != 0)
}

/// Reports calls that can never meet.
fn check(position: &Position<'_>, this: &Pending) {
    let Position { warp, lane, .. } = *position;
    let mask = this.mask;
    let stray = mask & (!warp.present | warp.exited.get() | warp.at_barrier.get());
    if mask & position.bit() == 0 || stray != 0 {
        refuse(position, this, stray);
    }
    // One comparison here is enough to name the culprit early. All lanes are compared when the last one
    // arrives.
    let others = mask & warp.waiting.get();
    if others != 0 {
        let other = others.trailing_zeros();
        let pending = warp.pending[other as usize].get();
        if !pending.meets(this) && pending.mask & (1 << lane.lane) != 0 {
            disagree(position, this, other);
        }
    }
}

#[cold]
fn refuse(position: &Position<'_>, this: &Pending, stray: u32) -> ! {
    let warp = position.warp;
    let message = if this.mask & position.bit() == 0 {
        format!("{this} does not name the calling lane {}", position.lane.lane)
    } else {
        let other = stray.trailing_zeros();
        if stray & !warp.present != 0 {
            let other = (stray & !warp.present).trailing_zeros();
            format!("{this} names lane {other}, but this warp has only {} lanes", warp.lanes.len())
        } else if warp.exited.get() & 1 << other != 0 {
            format!("{this} names {}, which has exited", warp.lane_label(other))
        } else {
            let site = warp.barrier_site.get().map(|site| format!(" at {site}")).unwrap_or_default();
            let barrier = position.block.barrier.kind.get().name();
            format!("{this} names {}, which waits in {barrier}{site}", warp.lane_label(other))
        }
    };
    position.raise(FaultKind::WarpCollective, message)
}

#[cold]
fn disagree(position: &Position<'_>, this: &Pending, other: u32) -> ! {
    let pending = position.warp.pending[other as usize].get();
    let what = if pending.op == this.op { "different masks" } else { "different collectives" };
    let message = format!(
        "lanes that wait for each other call {what}: this lane calls {this}, but {} waits in {pending}",
        position.warp.lane_label(other),
    );
    position.raise(FaultKind::WarpCollective, message)
}

/// Returns `true` if all lanes of the mask wait in this very collective.
fn all_meet(position: &Position<'_>, this: &Pending) -> bool {
    let mut meet = true;
    for other in lanes(this.mask) {
        let pending = position.warp.pending[other].get();
        if !pending.meets(this) {
            if pending.mask & position.bit() != 0 {
                disagree(position, this, other as u32);
            }
            meet = false;
        }
    }
    meet
}

/// A lane that waits for the exiting lane, and the collective in which it waits, if there is one.
pub(super) fn waits_for(warp: &Warp, exiting: u32) -> Option<(u32, Pending)> {
    lanes(warp.waiting.get())
        .map(|lane| (lane as u32, warp.pending[lane].get()))
        .find(|(_, pending)| pending.mask & 1 << exiting != 0)
}

/// The lanes of a mask, in ascending order.
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < WARP).then_some(lane as usize)
    })
}

/// Computes the results of all lanes of the mask.
fn finish(position: &Position<'_>, this: &Pending) {
    let warp = position.warp;
    let mask = this.mask;
    let value = |lane: usize| warp.pending[lane].get().value;
    let give_all = |result: u64, flag: bool| {
        lanes(mask).for_each(|lane| warp.result[lane].set(result));
        warp.flag.set(if flag { warp.flag.get() | mask } else { warp.flag.get() & !mask });
    };
    let fold = |combine: fn(u32, u32) -> u32| {
        give_all(lanes(mask).map(|lane| value(lane) as u32).reduce(combine).map_or(0, u64::from), true);
    };
    let ballot = || lanes(mask).fold(0u32, |set, lane| set | u32::from(value(lane) != 0) << lane);
    match this.op {
        WarpOp::Sync => {}
        WarpOp::All => give_all(0, ballot() == mask),
        WarpOp::Any => give_all(0, ballot() != 0),
        WarpOp::Ballot => give_all(ballot().into(), true),
        WarpOp::MatchAny32 | WarpOp::MatchAny64 => {
            for lane in lanes(mask) {
                let equal = |other: &usize| value(*other) == value(lane);
                let group = lanes(mask).filter(equal).fold(0u32, |set, other| set | 1 << other);
                warp.result[lane].set(group.into());
            }
        }
        WarpOp::MatchAll32 | WarpOp::MatchAll64 => {
            let same = lanes(mask).all(|lane| value(lane) == this.value);
            give_all(if same { mask.into() } else { 0 }, same);
        }
        WarpOp::ReduceAdd => fold(u32::wrapping_add),
        WarpOp::ReduceMinU32 => fold(Ord::min),
        WarpOp::ReduceMaxU32 => fold(Ord::max),
        WarpOp::ReduceMinI32 => fold(|a, b| (a as i32).min(b as i32) as u32),
        WarpOp::ReduceMaxI32 => fold(|a, b| (a as i32).max(b as i32) as u32),
        WarpOp::ReduceAnd => fold(|a, b| a & b),
        WarpOp::ReduceOr => fold(|a, b| a | b),
        WarpOp::ReduceXor => fold(|a, b| a ^ b),
        WarpOp::Shuffle(mode, _) => shuffle(position, mode, mask),
    }
}

fn shuffle(position: &Position<'_>, mode: WarpShuffleMode, mask: u32) {
    let warp = position.warp;
    let mut flag = warp.flag.get();
    for lane in lanes(mask) {
        let pending = warp.pending[lane].get();
        let (source, inside) = source(mode, lane as u32, pending.operand & 0xff, pending.operand >> 8);
        if mask & 1 << source == 0 {
            let message = format!("{pending} reads lane {source}, which the mask does not name");
            position.raise_for(&warp.lanes[lane], FaultKind::Shuffle, message);
        }
        warp.result[lane].set(warp.pending[source as usize].get().value);
        flag = flag & !(1 << lane) | u32::from(inside) << lane;
    }
    warp.flag.set(flag);
}

/// The lane that `lane` reads, and whether that lane is in reach. A lane whose source is out of reach reads
/// itself. The rules are those of the PTX manual, `shfl.sync`.
fn source(mode: WarpShuffleMode, lane: u32, operand: u32, width: u32) -> (u32, bool) {
    let segment = !(width - 1) & 0x1f;
    let (first, last) = (lane & segment, lane & segment | (width - 1));
    let (source, inside) = match mode {
        WarpShuffleMode::Up => (lane.wrapping_sub(operand), lane >= first + operand),
        WarpShuffleMode::Down => (lane + operand, lane + operand <= last),
        WarpShuffleMode::Xor => (lane ^ operand, lane ^ operand <= last),
        WarpShuffleMode::Idx => (first | operand & (width - 1), true),
    };
    if inside { (source, true) } else { (lane, false) }
}
