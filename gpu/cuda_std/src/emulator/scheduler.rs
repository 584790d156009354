//! Gives turns to fibers until all blocks of the grid have ended.

use std::any::Any;
use std::boxed::Box;
use std::cell::RefCell;
use std::format;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::{String, ToString};
use std::sync::Once;
use std::thread_local;
use std::vec::Vec;

use corosensei::{Coroutine, CoroutineResult};

use super::collective::waits_for;
use super::launch::{Schedule, Stats};
use super::stack::{self, FiberStack};
use super::state::{Block, Machine, Position, WARP, Warp, try_current, with_current};
use super::{Dim3, Fault, FaultKind, Launch};

type Fiber = Coroutine<(), (), (), FiberStack>;

/// Checks that the launch is possible.
fn check(launch: &Launch) -> Result<(), String> {
    let Launch { grid, block, .. } = launch;
    if grid.volume() == 0 || block.volume() == 0 {
        return Err(format!("a grid of {grid} blocks of {block} threads has no threads"));
    }
    if grid.x > i32::MAX as u32 || grid.y > 0xffff || grid.z > 0xffff {
        return Err(format!("a grid of {grid} blocks exceeds (2147483647, 65535, 65535)"));
    }
    if block.volume() > 1024 || block.z > 64 {
        return Err(format!("a block of {block} threads exceeds 1024 threads or 64 along z"));
    }
    if launch.resident_blocks == 0 {
        return Err("no block may be resident".into());
    }
    if launch.dynamic_shared_bytes > 227 * 1024 {
        return Err(format!("{} bytes of dynamic shared memory exceed 227 KiB", launch.dynamic_shared_bytes));
    }
    match try_current() {
        Some(position) => Err(format!("a launch inside {} is not possible", position.label())),
        None => Ok(()),
    }
}

/// Runs the launch.
pub(super) fn run(launch: &Launch, kernel: &str, body: &dyn Fn()) -> Result<Stats, Fault> {
    let impossible = |message| Fault { kind: FaultKind::Launch, kernel: kernel.into(), at: None, message };
    check(launch).map_err(impossible)?;
    note_panics();

    let machine = Machine::new(launch, kernel);
    let blocks = launch.grid.volume();
    let residents = blocks.min(launch.resident_blocks as u64) as usize;
    let threads = launch.block.volume() as usize;
    let stacks = stack::take(residents * threads, launch.stack_bytes)
        .map_err(|error| impossible(format!("no memory for {} stacks: {error}", residents * threads)))?;

    let states: Vec<Block> = (0..residents).map(|_| Block::new(launch)).collect();
    let mut stacks = stacks.into_iter();
    let slots = states.iter().map(|block| Slot {
        block,
        fibers: Vec::with_capacity(threads),
        stacks: stacks.by_ref().take(threads).collect(),
    });
    let mut grid = Grid {
        launch,
        machine: &machine,
        body,
        slots: slots.collect(),
        next_block: 0,
        order: Order::default(),
    };
    let result = grid.run();
    stack::give_back(grid.slots.into_iter().flat_map(Slot::into_stacks).collect());
    match machine.fault.take() {
        Some(fault) => Err(fault),
        None => {
            debug_assert!(result.is_ok(), "a launch stops early only for a fault");
            Ok(machine.stats.get())
        }
    }
}

/// The launch has a fault, which the machine holds.
struct Stop;

/// Room for one block in flight.
struct Slot<'a> {
    block: &'a Block,
    /// The fibers by thread number; `None` for a thread that has ended. Empty if the slot has no block.
    fibers: Vec<Option<Fiber>>,
    stacks: Vec<FiberStack>,
}

impl Slot<'_> {
    /// Unwinds the fibers that are left and takes the stacks.
    fn into_stacks(self) -> Vec<FiberStack> {
        let Self { fibers, mut stacks, .. } = self;
        for mut fiber in fibers.into_iter().flatten() {
            fiber.force_unwind();
            stacks.push(fiber.into_stack());
        }
        stacks
    }
}

/// The order of slots and warps in one round, kept to avoid allocations.
#[derive(Default)]
struct Order {
    slots: Vec<usize>,
    warps: Vec<usize>,
}

fn arrange(order: &mut Vec<usize>, count: usize, schedule: Schedule, machine: &Machine<'_>) {
    order.clear();
    order.extend(0..count);
    match schedule {
        Schedule::InOrder => {}
        Schedule::Reverse => order.reverse(),
        Schedule::Shuffled { .. } => {
            for i in (1..count).rev() {
                order.swap(i, machine.random(i as u32 + 1) as usize);
            }
        }
    }
}

struct Grid<'a> {
    launch: &'a Launch,
    machine: &'a Machine<'a>,
    body: &'a dyn Fn(),
    slots: Vec<Slot<'a>>,
    next_block: u64,
    order: Order,
}

impl Grid<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        for slot in 0..self.slots.len() {
            self.start_block(slot);
        }
        let mut idle_rounds = 0;
        let mut futile_rounds = 0;
        loop {
            let before = self.machine.watch.counters();
            let ran = self.round()?;
            if self.slots.iter().all(|slot| slot.fibers.is_empty()) {
                return Ok(());
            }
            if !ran {
                return Err(self.report_deadlock());
            }
            let after = self.machine.watch.counters();
            idle_rounds = if after == before { idle_rounds + 1 } else { 0 };
            futile_rounds = if after.0 == before.0 { futile_rounds + 1 } else { 0 };
            let limit = self.launch.livelock_rounds;
            if idle_rounds > limit || futile_rounds > limit.saturating_mul(10) {
                return Err(self.report_livelock(futile_rounds));
            }
        }
    }

    /// Puts the next block of the grid into a free slot, if there is one.
    fn start_block(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        slot.fibers.clear();
        if self.next_block == self.launch.grid.volume() {
            return;
        }
        let block = slot.block;
        block.reset(self.launch.grid.position(self.next_block));
        self.next_block += 1;
        for warp in &block.warps {
            for lane in &warp.lanes {
                let position = Position { machine: self.machine, block, warp, lane };
                let Some(stack) = slot.stacks.pop() else {
                    unreachable!("a slot has a stack for each thread")
                };
                slot.fibers.push(Some(fiber(stack, position, self.body)));
            }
        }
    }

    /// Gives every thread that can run one or more turns. Returns whether there was such a thread.
    fn round(&mut self) -> Result<bool, Stop> {
        let schedule = self.launch.schedule;
        let mut order = core::mem::take(&mut self.order);
        arrange(&mut order.slots, self.slots.len(), schedule, self.machine);
        let mut ran = false;
        for &at in &order.slots {
            if self.slots[at].fibers.is_empty() {
                continue;
            }
            let block = self.slots[at].block;
            arrange(&mut order.warps, block.warps.len(), schedule, self.machine);
            for &warp in &order.warps {
                ran |= self.run_warp(at, &block.warps[warp])?;
            }
            if block.exited.get() == block.threads {
                if let Some(message) = block.shared.overrun() {
                    let last = block.thread(block.threads - 1);
                    self.machine.fail(FaultKind::SharedMemory, block.index.get(), last, message);
                    return Err(Stop);
                }
                self.start_block(at);
            }
        }
        self.order = order;
        Ok(ran)
    }

    /// Gives turns to the lanes of a warp until none can run. A shuffled schedule may stop earlier.
    fn run_warp(&mut self, slot: usize, warp: &Warp) -> Result<bool, Stop> {
        let machine = self.machine;
        let Slot { block, fibers, stacks } = &mut self.slots[slot];
        let block = *block;
        let mut turns = 0;
        while let Some(lane) = pick(warp.ready.get(), self.launch.schedule, machine) {
            turns += 1;
            warp.ready.set(warp.ready.get() & !(1 << lane));
            let fiber = &mut fibers[(warp.first_thread + lane) as usize];
            let position = Position { machine, block, warp, lane: &warp.lanes[lane as usize] };
            let Some(running) = fiber else { unreachable!("a ready lane has a fiber") };
            if let CoroutineResult::Return(()) = with_current(position, || running.resume(())) {
                stacks.extend(fiber.take().map(Fiber::into_stack));
                exit(&position);
            }
            if machine.failed() {
                return Err(Stop);
            }
            if machine.chance(64) {
                break;
            }
        }
        warp.ready.set(warp.ready.get() | warp.gave_way.replace(0));
        machine.count(|stats| stats.turns += turns);
        Ok(turns > 0)
    }

    fn report_deadlock(&self) -> Stop {
        let mut first: Option<(Dim3, Dim3)> = None;
        let mut waits: Vec<String> = Vec::new();
        for slot in self.slots.iter().filter(|slot| !slot.fibers.is_empty()) {
            let index = slot.block.index.get();
            for warp in &slot.block.warps {
                if warp.at_barrier.get() != 0 {
                    let lane = warp.at_barrier.get().trailing_zeros();
                    let thread = warp.lanes[lane as usize].thread;
                    first.get_or_insert((index, thread));
                    waits.push(format!(
                        "{} threads of block {index} from {thread} on wait in {}{}",
                        warp.at_barrier.get().count_ones(),
                        slot.block.barrier.kind.get().name(),
                        warp.barrier_site.get().map(|site| format!(" at {site}")).unwrap_or_default(),
                    ));
                }
                for lane in super::collective::lanes(warp.waiting.get()) {
                    let (thread, pending) = (warp.lanes[lane].thread, warp.pending[lane].get());
                    first.get_or_insert((index, thread));
                    let missing = pending.mask & !(1 << lane);
                    waits.push(format!(
                        "thread {thread} of block {index} waits for lanes {missing:#010x} in {pending}"
                    ));
                }
            }
        }
        let more = waits.len().saturating_sub(4);
        waits.truncate(4);
        let mut message = format!("deadlock: every thread waits for another; {}", waits.join("; "));
        if more > 0 {
            message += &format!("; and {more} more");
        }
        let (block, thread) = first.unwrap_or((Dim3::from(0), Dim3::from(0)));
        self.machine.fail(FaultKind::Deadlock, block, thread, message);
        Stop
    }

    fn report_livelock(&self, rounds: u64) -> Stop {
        let mut spinning = 0;
        let mut example = None;
        for slot in self.slots.iter().filter(|slot| !slot.fibers.is_empty()) {
            for warp in &slot.block.warps {
                spinning += warp.ready.get().count_ones();
                for lane in super::collective::lanes(warp.ready.get()) {
                    example.get_or_insert((slot.block.index.get(), &warp.lanes[lane]));
                }
            }
        }
        let mut message = format!(
            "livelock: in {rounds} turns of all threads no atomic changed and no thread ended; {spinning} threads still run"
        );
        let (mut block, mut thread) = (Dim3::from(0), Dim3::from(0));
        if let Some((index, lane)) = example {
            (block, thread) = (index, lane.thread);
            if let (address, value, Some(site)) = lane.last_load.get() {
                message +=
                    &format!("; this one last saw {value:#x} at address {address:#x}, by the load at {site}");
            }
        }
        self.machine.fail(FaultKind::Livelock, block, thread, message);
        Stop
    }
}

/// The lane that runs next, if one is ready.
fn pick(ready: u32, schedule: Schedule, machine: &Machine<'_>) -> Option<u32> {
    match schedule {
        _ if ready == 0 => None,
        Schedule::InOrder => Some(ready.trailing_zeros()),
        Schedule::Reverse => Some(WARP - 1 - ready.leading_zeros()),
        Schedule::Shuffled { .. } => {
            let turn = machine.random(WARP);
            Some((ready.rotate_right(turn).trailing_zeros() + turn) % WARP)
        }
    }
}

/// The fiber of a thread that has not started yet.
fn fiber(stack: FiberStack, position: Position<'_>, body: &dyn Fn()) -> Fiber {
    let run = move |yielder: &corosensei::Yielder<(), ()>, ()| {
        position.lane.yielder.set(yielder);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
            // A fiber that is unwound after a fault comes here too. The machine keeps the first fault.
            let message = panic_message(&*payload);
            position.machine.fail(
                FaultKind::Panic,
                position.block.index.get(),
                position.lane.thread,
                message,
            );
        }
    };
    // SAFETY: the borrows of the closure outlive the fiber, because `run` above ends or unwinds every fiber
    // before it returns.
    unsafe { Fiber::with_stack_unchecked(stack, run) }
}

/// Records that a thread has ended, and reports a fault if other threads wait for it.
fn exit(position: &Position<'_>) {
    let Position { machine, block, warp, lane } = *position;
    warp.exited.set(warp.exited.get() | position.bit());
    block.exited.set(block.exited.get() + 1);
    machine.watch.progress();
    if let Some((other, pending)) = waits_for(warp, lane.lane) {
        let message = format!("exited, while {} waits for this lane in {pending}", warp.lane_label(other));
        machine.fail(FaultKind::WarpCollective, block.index.get(), lane.thread, message);
    }
    if block.barrier.arrived.get() > 0 {
        let waiting = block.warps.iter().find(|warp| warp.at_barrier.get() != 0);
        let (other, site) = waiting.map_or((0, None), |warp| {
            (warp.first_thread + warp.at_barrier.get().trailing_zeros(), warp.barrier_site.get())
        });
        let message = format!(
            "divergent barrier: exited, while thread {} waits in {}{}",
            block.thread(other),
            block.barrier.kind.get().name(),
            site.map(|site| format!(" at {site}")).unwrap_or_default(),
        );
        machine.fail(FaultKind::DivergentBarrier, block.index.get(), lane.thread, message);
    }
}

thread_local! {
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Adds, once, a panic hook that records where a kernel panicked.
fn note_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some(position) = try_current() {
                PANIC_PLACE.set(info.location().map(ToString::to_string));
                std::eprintln!("in {}:", position.label());
            }
            before(info);
        }));
    });
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "with a value that is no text",
    };
    match PANIC_PLACE.take() {
        Some(place) => format!("panicked at {place}: {text}"),
        None => format!("panicked: {text}"),
    }
}
