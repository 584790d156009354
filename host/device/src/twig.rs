//! Twigs evaluated on documents on a device, by bits.

use warpath_core::error::Error;
use warpath_cpu::twig::encode::Compiled;
use warpath_shared::kernel::{TwigGroups, TwigMatch, TwigMatchArgs};
use warpath_shared::twig::{FarBit, GROUP_WORDS, GroupPlace, Matched, Op, Task};
use warpath_shared::view::View;

use super::memory::Downloads;
use super::{Accelerator, Slot, launch, stages};

/// The initial room, in matches.
const MATCHED: usize = 1 << 20;
/// The approximate number of warps that keeps a device busy. Up to this number, each warp has one task.
const WARPS: usize = 1 << 14;
/// The most tasks of a warp, so that the warps of one group have even work.
const TASKS_A_WARP: usize = 64;

/// The most groups for which keys are not used, and each group evaluates every document.
const FEW_GROUPS: usize = 4;

/// Programs of documents, in the form of [`warpath_cpu::twig::encode::Programs`].
#[derive(Clone, Copy, Debug)]
pub struct TwigTasks<'a> {
    /// All operations.
    pub ops: &'a [Op],
    /// The tasks that run first.
    pub tasks: &'a [Task],
    /// The tasks that run after `tasks`.
    pub merges: &'a [Task],
    /// The number of slots in which tasks store what they find.
    pub kept: u32,
}

/// Twigs on a device, and their matches.
pub(super) struct GroupStage<A: Accelerator> {
    groups: usize,
    rows: usize,
    /// The lengths of the other arrays: masks, moves, far moves, indices of rows, words.
    lens: [usize; 5],
    places: Slot<A, GroupPlace>,
    masks: Slot<A, u64>,
    moves: Slot<A, u64>,
    far: Slot<A, FarBit>,
    leaves: Slot<A, u16>,
    inner: Slot<A, u16>,
    words: Slot<A, u64>,
    kept: Slot<A, u64>,
    matched: Slot<A, Matched>,
    count: Slot<A, u32>,
    room: usize,
}

impl<A: Accelerator> GroupStage<A> {
    pub fn new(device: &A, twigs: &Compiled) -> Result<Self, Error> {
        let mut stage = Self {
            groups: twigs.places.len(),
            rows: twigs.rows,
            lens: [
                twigs.masks.len(),
                twigs.moves.len(),
                twigs.far.len(),
                twigs.leaves.len(),
                twigs.words.len(),
            ],
            places: Slot::default(),
            masks: Slot::default(),
            moves: Slot::default(),
            far: Slot::default(),
            leaves: Slot::default(),
            inner: Slot::default(),
            words: Slot::default(),
            kept: Slot::default(),
            matched: Slot::default(),
            count: Slot::default(),
            room: 0,
        };
        device.upload(stage.places.room(device, twigs.places.len())?, 0, &twigs.places)?;
        device.upload(stage.masks.room(device, twigs.masks.len())?, 0, &twigs.masks)?;
        device.upload(stage.moves.room(device, twigs.moves.len())?, 0, &twigs.moves)?;
        device.upload(stage.far.room(device, twigs.far.len())?, 0, &twigs.far)?;
        device.upload(stage.leaves.room(device, twigs.leaves.len())?, 0, &twigs.leaves)?;
        device.upload(stage.inner.room(device, twigs.inner.len())?, 0, &twigs.inner)?;
        device.upload(stage.words.room(device, twigs.words.len())?, 0, &twigs.words)?;
        Ok(stage)
    }

    /// Returns `true` if there are no twigs.
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// Makes room for `room` matches, and drops earlier ones.
    fn start(&mut self, device: &A, room: usize) -> Result<(), Error> {
        self.room = room;
        self.matched.room(device, room)?;
        device.zero(self.count.room(device, 1)?, 0, 1)
    }

    /// Runs `launches` with room for `room` matches. Copies the matches back, and the numbers of other
    /// arrays. If there are more matches than room, it runs again with more room, which is kept for later
    /// calls. Waits.
    pub fn ask(
        &mut self,
        device: &A,
        room: &mut usize,
        found: &mut Vec<Matched>,
        numbers: &mut [(&Slot<A, u32>, &mut [u32])],
        mut launches: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            self.start(device, *room)?;
            launches(self)?;
            let mut count = [0];
            let mut downloads = Downloads::new(device);
            downloads.add(&self.count, 0, &mut count)?;
            for (from, to) in &mut *numbers {
                downloads.add(from, 0, to)?;
            }
            downloads.run()?;
            let count = count[0] as usize;
            if count <= *room {
                found.resize(count, Matched::default());
                let mut downloads = Downloads::new(device);
                downloads.add(&self.matched, 0, found)?;
                return downloads.run();
            }
            *room = count + count / 4;
        }
    }

    /// The arguments of a launch over tasks that store what they find in `kept` slots.
    pub fn args<'a>(
        &'a mut self,
        device: &'a A,
        ops: View<'a, Op>,
        tasks: View<'a, Task>,
        kept: u32,
    ) -> Result<TwigMatchArgs<'a>, Error> {
        let [masks, moves, far, at, words] = self.lens;
        let tasks_a_warp = (tasks.len() * self.groups / WARPS).clamp(1, TASKS_A_WARP) as u64;
        let kept = kept as usize * self.groups * GROUP_WORDS;
        Ok(TwigMatchArgs {
            groups: TwigGroups {
                places: device.view(self.places.get()?, self.groups),
                masks: device.view(self.masks.get()?, masks),
                moves: device.view(self.moves.get()?, moves),
                far: device.view(self.far.get()?, far),
                leaves: device.view(self.leaves.get()?, at),
                inner: device.view(self.inner.get()?, at),
                words: device.view(self.words.get()?, words),
                rows: self.rows as u64,
            },
            ops,
            tasks,
            kept: device.view_mut(self.kept.room(device, kept)?, kept),
            matched: device.view_mut(self.matched.get_mut()?, self.room),
            count: device.view_mut(self.count.get_mut()?, 1),
            tasks_a_warp,
            // A part of a document cannot know the keys that the other parts pass.
            by_keys: u64::from(kept == 0 && self.groups > FEW_GROUPS),
        })
    }
}

/// Evaluates twigs on documents on a device, in arrays that are kept from batch to batch.
pub struct TwigStage<A: Accelerator> {
    device: A,
    groups: GroupStage<A>,
    ops: Slot<A, Op>,
    tasks: Slot<A, Task>,
    merges: Slot<A, Task>,
    room: usize,
}

impl<A: Accelerator> TwigStage<A> {
    /// Makes a stage for these twigs on a queue.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn new(device: A, twigs: &Compiled) -> Result<Self, Error> {
        let groups = GroupStage::new(&device, twigs)?;
        let (ops, tasks, merges) = (Slot::default(), Slot::default(), Slot::default());
        Ok(Self { device, groups, ops, tasks, merges, room: MATCHED })
    }

    /// Sets the initial room, in matches. If there are more matches, the tasks run again.
    #[must_use]
    pub fn with_room(mut self, matches: usize) -> Self {
        self.room = matches.max(1);
        self
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Runs programs, and returns the matches in no order. Waits.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    pub fn run(&mut self, programs: TwigTasks<'_>) -> Result<Vec<Matched>, Error> {
        let mut found = Vec::new();
        self.run_into(programs, &mut found)?;
        Ok(found)
    }

    /// Does the same as [`run`](Self::run), into existing memory.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_into(&mut self, programs: TwigTasks<'_>, found: &mut Vec<Matched>) -> Result<(), Error> {
        found.clear();
        if self.groups.is_empty() || programs.tasks.is_empty() {
            return Ok(());
        }
        let device = &self.device;
        self.ops.room(device, programs.ops.len())?;
        self.tasks.room(device, programs.tasks.len())?;
        self.merges.room(device, programs.merges.len())?;
        // SAFETY: the source slices are borrowed until this function returns. The device is waited for before
        // that, also after an error.
        let done = unsafe {
            device
                .upload_later(self.ops.get_mut()?, 0, programs.ops)
                .and_then(|()| device.upload_later(self.tasks.get_mut()?, 0, programs.tasks))
                .and_then(|()| device.upload_later(self.merges.get_mut()?, 0, programs.merges))
        };
        let done = done.and_then(|()| self.ask(&programs, found));
        if done.is_err() {
            self.device.wait()?;
        }
        done
    }

    fn ask(&mut self, programs: &TwigTasks<'_>, found: &mut Vec<Matched>) -> Result<(), Error> {
        let Self { device, groups, ops, tasks, merges, room } = self;
        groups.ask(device, room, found, &mut [], |groups| {
            for (tasks, count) in [(&*tasks, programs.tasks.len()), (&*merges, programs.merges.len())] {
                if count > 0 {
                    let ops = device.view(ops.get()?, programs.ops.len());
                    let args = groups.args(device, ops, device.view(tasks.get()?, count), programs.kept)?;
                    launch::<A, stages::Twigs, TwigMatch>(device, &args)?;
                }
            }
            Ok(())
        })
    }
}
