//! Barriers, where all threads of a block meet.

use core::cell::Cell;
use core::panic::Location;
use std::format;

use super::FaultKind;
use super::state::{Position, WARP, current, same_site};

/// The function in which the threads meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Count,
    And,
    Or,
}

impl BarrierKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync_threads",
            Self::Count => "sync_threads_count",
            Self::And => "sync_threads_and",
            Self::Or => "sync_threads_or",
        }
    }
}

/// The barrier of one block.
pub(super) struct Barrier {
    pub kind: Cell<BarrierKind>,
    pub arrived: Cell<u32>,
    /// The number of arrived threads whose predicate is true.
    holds: Cell<u32>,
    result: Cell<u32>,
}

impl Default for Barrier {
    fn default() -> Self {
        Self {
            kind: Cell::new(BarrierKind::Sync),
            arrived: Cell::new(0),
            holds: Cell::new(0),
            result: Cell::new(0),
        }
    }
}

impl Barrier {
    pub fn reset(&self) {
        self.arrived.set(0);
        self.holds.set(0);
    }
}

/// Waits for all threads of the block.
#[track_caller]
pub(crate) fn barrier(kind: BarrierKind, predicate: bool) -> u32 {
    let site = Location::caller();
    let position = current(kind.name());
    let Position { machine, block, warp, .. } = position;
    let barrier = &block.barrier;
    check(&position, kind, site);

    barrier.kind.set(kind);
    barrier.holds.set(barrier.holds.get() + u32::from(predicate));
    barrier.arrived.set(barrier.arrived.get() + 1);
    if barrier.arrived.get() < block.threads {
        warp.at_barrier.set(warp.at_barrier.get() | position.bit());
        warp.barrier_site.set(Some(site));
        position.suspend();
    } else {
        let holds = barrier.holds.get();
        barrier.result.set(match kind {
            BarrierKind::Sync | BarrierKind::Count => holds,
            BarrierKind::And => u32::from(holds == block.threads),
            BarrierKind::Or => u32::from(holds > 0),
        });
        barrier.reset();
        block.release_barrier();
        machine.watch.motion();
        machine.count(|stats| stats.barriers += 1);
    }
    barrier.result.get()
}

fn check(position: &Position<'_>, kind: BarrierKind, site: &'static Location<'static>) {
    let Position { block, warp, lane, .. } = *position;
    let here = format_args!("{} at {site}", kind.name());
    if block.exited.get() > 0 {
        let exited = block.exited.get();
        let warp = block.warps.iter().find(|warp| warp.exited.get() != 0);
        let who = warp.map_or(0, |warp| warp.first_thread + warp.exited.get().trailing_zeros());
        let message = format!(
            "divergent barrier: reached {here}, but {exited} of the block's {} threads have exited, thread {} first",
            block.threads,
            block.thread(who),
        );
        position.raise(FaultKind::DivergentBarrier, message);
    }
    if barrier_conflict(block.barrier.arrived.get(), block.barrier.kind.get(), kind) {
        let warp = block.warps.iter().find(|warp| warp.at_barrier.get() != 0);
        let (who, at) = warp.map_or((0, None), |warp| {
            (warp.first_thread + warp.at_barrier.get().trailing_zeros(), warp.barrier_site.get())
        });
        let message = format!(
            "divergent barrier: reached {here}, while thread {} waits in {}{}",
            block.thread(who),
            block.barrier.kind.get().name(),
            at.map(|at| format!(" at {at}")).unwrap_or_default(),
        );
        position.raise(FaultKind::DivergentBarrier, message);
    }
    if warp.at_barrier.get() != 0
        && let Some(other) = warp.barrier_site.get()
        && !same_site(other, site)
    {
        let message = format!(
            "divergent barrier: reached {here}, while {} of the same warp waits at {other}",
            warp.lane_label(warp.at_barrier.get().trailing_zeros()),
        );
        position.raise(FaultKind::DivergentBarrier, message);
    }
    let mut waiting = warp.waiting.get();
    while waiting != 0 {
        let other = waiting.trailing_zeros();
        waiting &= waiting - 1;
        let pending = warp.pending[(other % WARP) as usize].get();
        if pending.mask & (1 << lane.lane) != 0 {
            let message = format!(
                "divergent barrier: reached {here}, while {} waits for this lane in {pending}",
                warp.lane_label(other),
            );
            position.raise(FaultKind::DivergentBarrier, message);
        }
    }
}

fn barrier_conflict(arrived: u32, waiting: BarrierKind, kind: BarrierKind) -> bool {
    arrived > 0 && waiting != kind
}
