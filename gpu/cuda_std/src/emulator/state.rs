//! The state of a launch, its blocks, warps and lanes, and the lane that runs now.
//!
//! The scheduler and the fibers share everything, but never run at the same time. So the state is in cells
//! and needs no locks.

use core::cell::{Cell, RefCell};
use core::panic::Location;
use std::boxed::Box;
use std::format;
use std::string::String;
use std::thread_local;

use corosensei::Yielder;

use super::barrier::Barrier;
use super::collective::Pending;
use super::launch::{Schedule, Stats};
use super::memory::SharedMemory;
use super::progress::Watch;
use super::{Dim3, Fault, FaultKind, Launch};

pub(super) const WARP: u32 = 32;

/// The position of a call in the kernel's source.
pub(super) type Site = &'static Location<'static>;

/// Compares two positions in the source. (One position may have several `Location`s in memory.)
pub(super) fn same_site(a: Site, b: Site) -> bool {
    core::ptr::eq(a, b) || a == b
}

/// One launch.
pub(super) struct Machine<'a> {
    pub kernel: &'a str,
    pub grid: Dim3,
    pub block: Dim3,
    pub fault: RefCell<Option<Fault>>,
    pub watch: Watch,
    pub stats: Cell<Stats>,
    shuffled: bool,
    random: Cell<u64>,
}

/// A block in flight. A later block reuses the value when this one ends.
pub(super) struct Block {
    pub index: Cell<Dim3>,
    pub threads: u32,
    pub exited: Cell<u32>,
    pub barrier: Barrier,
    pub shared: SharedMemory,
    pub warps: Box<[Warp]>,
}

/// A warp. The masks divide `present` into the lanes that can run, gave way, wait at a collective or at a
/// barrier, or have ended.
pub(super) struct Warp {
    /// The number of the first lane's thread in the block.
    pub first_thread: u32,
    pub present: u32,
    pub ready: Cell<u32>,
    pub gave_way: Cell<u32>,
    pub waiting: Cell<u32>,
    pub at_barrier: Cell<u32>,
    pub exited: Cell<u32>,
    /// The position from which the lanes at the barrier called it; meaningless if no lane is there.
    pub barrier_site: Cell<Option<Site>>,
    /// The collective at which each lane in `waiting` waits.
    pub pending: [Cell<Pending>; WARP as usize],
    /// The result of each lane's last collective.
    pub result: [Cell<u64>; WARP as usize],
    pub flag: Cell<u32>,
    pub lanes: Box<[Lane]>,
}

/// A thread.
pub(super) struct Lane {
    pub thread: Dim3,
    pub lane: u32,
    pub yielder: Cell<*const Yielder<(), ()>>,
    /// The last atomic load: its address, its value, and its position in the source.
    pub last_load: Cell<(usize, u64, Option<Site>)>,
}

/// A lane with its warp, block and launch.
#[derive(Clone, Copy)]
pub(super) struct Position<'a> {
    pub machine: &'a Machine<'a>,
    pub block: &'a Block,
    pub warp: &'a Warp,
    pub lane: &'a Lane,
}

impl<'a> Machine<'a> {
    pub fn new(launch: &Launch, kernel: &'a str) -> Self {
        let (shuffled, seed) = match launch.schedule {
            Schedule::Shuffled { seed } => (true, seed),
            Schedule::InOrder | Schedule::Reverse => (false, 0),
        };
        Self {
            kernel,
            grid: launch.grid,
            block: launch.block,
            fault: RefCell::new(None),
            watch: Watch::default(),
            stats: Cell::default(),
            shuffled,
            random: Cell::new(seed),
        }
    }

    /// A random number below `bound`. (SplitMix64.)
    pub fn random(&self, bound: u32) -> u32 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        (((mixed >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// `true` once in `odds` calls on average; always `false` unless the schedule is shuffled.
    pub fn chance(&self, odds: u32) -> bool {
        self.shuffled && self.random(odds) == 0
    }

    pub fn count(&self, change: impl FnOnce(&mut Stats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }

    /// Records a fault, unless there is one already.
    pub fn fail(&self, kind: FaultKind, block: Dim3, thread: Dim3, message: String) {
        let fault = Fault { kind, kernel: self.kernel.into(), at: Some((block, thread)), message };
        self.fault.borrow_mut().get_or_insert(fault);
    }

    pub fn failed(&self) -> bool {
        self.fault.borrow().is_some()
    }
}

impl Block {
    pub fn new(launch: &Launch) -> Self {
        let threads = launch.block.volume() as u32;
        let warps = (0..threads.div_ceil(WARP)).map(|warp| Warp::new(launch.block, warp * WARP, threads));
        Self {
            index: Cell::new(Dim3::from(0)),
            threads,
            exited: Cell::new(0),
            barrier: Barrier::default(),
            shared: SharedMemory::new(launch.dynamic_shared_bytes),
            warps: warps.collect(),
        }
    }

    /// Prepares the value for another block of the grid.
    pub fn reset(&self, index: Dim3) {
        self.index.set(index);
        self.exited.set(0);
        self.barrier.reset();
        self.shared.reset();
        self.warps.iter().for_each(Warp::reset);
    }

    /// The thread with a given number in the block.
    pub fn thread(&self, number: u32) -> Dim3 {
        self.warps[(number / WARP) as usize].lanes[(number % WARP) as usize].thread
    }

    /// Lets the threads at the barrier continue.
    pub fn release_barrier(&self) {
        for warp in &self.warps {
            warp.ready.set(warp.ready.get() | warp.at_barrier.replace(0));
        }
    }
}

impl Warp {
    fn new(block: Dim3, first_thread: u32, threads: u32) -> Self {
        let lanes = (threads - first_thread).min(WARP);
        let lane = |lane: u32| Lane {
            thread: block.position(u64::from(first_thread + lane)),
            lane,
            yielder: Cell::new(core::ptr::null()),
            last_load: Cell::new((0, 0, None)),
        };
        Self {
            first_thread,
            present: u32::MAX >> (WARP - lanes),
            ready: Cell::new(0),
            gave_way: Cell::new(0),
            waiting: Cell::new(0),
            at_barrier: Cell::new(0),
            exited: Cell::new(0),
            barrier_site: Cell::new(None),
            pending: core::array::from_fn(|_| Cell::new(Pending::NONE)),
            result: core::array::from_fn(|_| Cell::new(0)),
            flag: Cell::new(0),
            lanes: (0..lanes).map(lane).collect(),
        }
    }

    fn reset(&self) {
        self.ready.set(self.present);
        for mask in [&self.gave_way, &self.waiting, &self.at_barrier, &self.exited] {
            mask.set(0);
        }
        for lane in &self.lanes {
            lane.last_load.set((0, 0, None));
        }
    }

    /// The lane in words: "lane 3 (thread (35, 0, 0))".
    pub fn lane_label(&self, lane: u32) -> String {
        format!("lane {lane} (thread {})", self.lanes[lane as usize].thread)
    }
}

impl Position<'_> {
    pub fn label(&self) -> String {
        format!(
            "kernel `{}`, block {}, thread {}",
            self.machine.kernel,
            self.block.index.get(),
            self.lane.thread
        )
    }

    /// The bit of this lane in the masks of its warp.
    pub fn bit(&self) -> u32 {
        1 << self.lane.lane
    }

    /// Ends this lane's turn. The scheduler gives the lane another turn when it is in `ready` again.
    pub fn suspend(&self) {
        // SAFETY: only the running lane suspends itself. Its fiber set the yielder when it started, and the
        // yielder lives on the fiber's stack as long as the fiber.
        unsafe { (*self.lane.yielder.get()).suspend(()) };
    }

    /// Lets other threads run once.
    pub fn give_way(&self) {
        self.warp.gave_way.set(self.warp.gave_way.get() | self.bit());
        self.suspend();
    }

    /// Ends the launch because of this lane.
    #[cold]
    pub fn raise(&self, kind: FaultKind, message: String) -> ! {
        self.raise_for(self.lane, kind, message)
    }

    /// Ends the launch because of a lane of this warp.
    #[cold]
    pub fn raise_for(&self, lane: &Lane, kind: FaultKind, message: String) -> ! {
        self.machine.fail(kind, self.block.index.get(), lane.thread, message);
        loop {
            // The scheduler finds the fault and unwinds this fiber from here.
            self.suspend();
        }
    }
}

thread_local! {
    static CURRENT: Cell<Option<Position<'static>>> = const { Cell::new(None) };
}

/// Makes `position` the lane that runs now, while `turn` runs.
pub(super) fn with_current<R>(position: Position<'_>, turn: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.set(None);
        }
    }
    // SAFETY: no copy of the position is used after its real lifetime. `Reset` removes it from `CURRENT` when
    // the turn ends. Only the fiber of this lane uses the copies that `current` returns, and the launch
    // outlives that fiber.
    let position = unsafe { core::mem::transmute::<Position<'_>, Position<'static>>(position) };
    CURRENT.set(Some(position));
    let _reset = Reset;
    turn()
}

/// The lane that runs now.
#[inline]
pub(super) fn try_current() -> Option<Position<'static>> {
    CURRENT.get()
}

/// The lane that runs now.
///
/// # Panics
///
/// Panics outside of a kernel in a launch; `what` is the function that was called.
#[inline]
#[track_caller]
pub(super) fn current(what: &str) -> Position<'static> {
    match CURRENT.get() {
        Some(position) => position,
        None => outside(what),
    }
}

#[cold]
#[track_caller]
fn outside(what: &str) -> ! {
    panic!("`{what}` was called outside a kernel: run the kernel by `cuda_std::emulator::launch`");
}
