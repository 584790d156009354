//! Several backends as one: the GPUs of a machine.

use std::sync::Arc;

use warpath_answer::backend::{Abilities, Backend, Buffer, Setup, StructuralIndex, Worker};
use warpath_answer::forms::Forms;
use warpath_answer::resident::{KeepForm, Kept, Pieces, Room};
use warpath_answer::stage::{Evaluation, Stage};
use warpath_core::error::Error;
use warpath_core::leaves::{LeafDevice, LeafForm};
use warpath_cpu::bitmap::maker::{BitmapForm, BitmapMaker, PlanDevice};
use warpath_cpu::twig::standing::{Documents, TwigForm, TwigWorker};
use warpath_shared::units::Level;

use super::leaves::SeveralLeaves;

/// Backends of one kind whose workers take partitions from the same queue.
pub struct Together {
    backends: Vec<Arc<dyn Backend>>,
    forms: Forms,
}

impl Together {
    /// Joins some backends, at least one. A buffer of the first must serve the workers of all.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no backend.
    pub fn new(backends: Vec<Arc<dyn Backend>>) -> Result<Self, Error> {
        if backends.is_empty() {
            return Err(Error::Usage("no backend to join; expected at least one".into()));
        }
        let mut forms = Forms::default();
        take_turns::<dyn TwigForm>(&mut forms, &backends, |turns| Box::new(turns));
        take_turns::<dyn BitmapForm>(&mut forms, &backends, |turns| Box::new(turns));
        take_turns::<dyn KeepForm>(&mut forms, &backends, |turns| Box::new(turns));
        take_turns::<dyn LeafForm>(&mut forms, &backends, |turns| Box::new(turns));
        Ok(Self { backends, forms })
    }

    /// The number of workers of each backend: the smallest number that any of them wants.
    fn workers_of_each(&self, partition_size: usize) -> usize {
        self.backends.iter().map(|backend| backend.workers(partition_size)).min().unwrap_or(1)
    }
}

/// Registers a form that takes turns, if all backends have the form.
fn take_turns<F: ?Sized + Send + Sync + 'static>(
    forms: &mut Forms,
    backends: &[Arc<dyn Backend>],
    turns: fn(Turns) -> Box<F>,
) {
    if backends.iter().all(|backend| backend.forms().get::<F>().is_some()) {
        forms.register::<F>(turns(Turns(backends.to_vec())));
    }
}

impl Backend for Together {
    fn name(&self) -> String {
        let names: Vec<String> = self.backends.iter().map(|backend| backend.name()).collect();
        names.join(", ")
    }

    /// Smaller than the size for one backend, so that the texts of all workers stay in the processors' caches
    /// (docs/lab/transfer.md).
    fn partition_size(&self) -> usize {
        let least = self.backends.iter().map(|backend| backend.partition_size()).min().unwrap_or(1);
        if self.backends.len() > 1 { (least / 3 * 2).max(1) } else { least }
    }

    fn workers(&self, partition_size: usize) -> usize {
        self.backends.len() * self.workers_of_each(partition_size)
    }

    /// Neighbouring numbers belong to different backends, so that a short input keeps all busy.
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        let count = self.backends.len();
        self.backends[number % count].worker(number / count)
    }

    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        self.backends[0].stages(evaluation)
    }

    fn abilities(&self) -> Abilities {
        let all = |ability: fn(Abilities) -> bool| self.backends.iter().all(|one| ability(one.abilities()));
        Abilities {
            checks_strictly: all(|one| one.checks_strictly),
            uses_index_files: all(|one| one.uses_index_files),
            keeps_columns: all(|one| one.keeps_columns),
        }
    }

    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error> {
        self.backends[0].index(text, levels)
    }

    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.backends[0].buffer(len)
    }

    fn setup(&self) -> Setup {
        let mut all = Setup::default();
        for Setup { parts, ready, notes } in self.backends.iter().map(|backend| backend.setup()) {
            all.parts.extend(parts);
            all.ready = all.ready.max(ready);
            all.notes.extend(notes);
        }
        all
    }

    fn forms(&self) -> &Forms {
        &self.forms
    }
}

/// The device forms of several backends, which take turns. Each backend has the form.
struct Turns(Vec<Arc<dyn Backend>>);

impl Turns {
    /// The form of the backend that has turn `number`, and its own number of that turn.
    fn form<F: ?Sized + Send + Sync + 'static>(&self, number: usize) -> Result<(&F, usize), Error> {
        let count = self.0.len();
        let form = self.0[number % count].forms().get::<F>();
        let form = form.ok_or_else(|| Error::Internal("a backend without the form of others".into()))?;
        Ok((form, number / count))
    }
}

impl TwigForm for Turns {
    fn worker(&self, number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
        let (form, number) = self.form::<dyn TwigForm>(number)?;
        form.worker(number)
    }

    fn stages(&self, documents: Documents) -> Vec<Stage> {
        self.form::<dyn TwigForm>(0).map_or_else(|_| Vec::new(), |(form, _)| form.stages(documents))
    }
}

/// One backend makes all bitmaps of a column, and evaluates all expressions.
impl BitmapForm for Turns {
    fn maker(&self) -> Result<BitmapMaker, Error> {
        self.form::<dyn BitmapForm>(0)?.0.maker()
    }

    fn evaluator(&self) -> Result<Box<dyn PlanDevice>, Error> {
        self.form::<dyn BitmapForm>(0)?.0.evaluator()
    }
}

/// Each backend has some of the tables.
impl LeafForm for Turns {
    fn room(&self) -> Result<Box<dyn LeafDevice>, Error> {
        let room = |number| self.form::<dyn LeafForm>(number)?.0.room();
        let rooms = (0..self.0.len()).map(room).collect::<Result<_, Error>>()?;
        Ok(Box::new(SeveralLeaves::new(rooms)))
    }
}

impl KeepForm for Turns {
    fn partitions(&self) -> (usize, usize) {
        let each =
            || self.0.iter().filter_map(|backend| Some(backend.forms().get::<dyn KeepForm>()?.partitions()));
        let size = each().map(|(size, _)| size).min().unwrap_or(1);
        (size, self.0.len() * each().map(|(_, workers)| workers).min().unwrap_or(1))
    }

    /// All backends share the cores that read.
    fn loaders(&self) -> usize {
        let each = self.0.iter().filter_map(|backend| Some(backend.forms().get::<dyn KeepForm>()?.loaders()));
        each.max().unwrap_or(1)
    }

    fn text_memory(&self, len: usize) -> Result<Buffer, Error> {
        self.form::<dyn KeepForm>(0)?.0.text_memory(len)
    }

    /// Each backend keeps as much as the others. The backend with the least free memory therefore sets the
    /// limit.
    fn room(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Room, Error> {
        let count = self.0.len() as u64;
        let mut all = Room { needed: 0, free: u64::MAX };
        for number in 0..self.0.len() {
            let (form, _) = self.form::<dyn KeepForm>(number)?;
            let Room { needed, free } = form.room(bytes.div_ceil(count), partition_size, levels)?;
            all.needed = needed.saturating_mul(count);
            all.free = all.free.min(free.saturating_mul(count));
        }
        Ok(all)
    }

    /// Different backends keep neighbouring partitions, so that all backends take part in a query.
    fn keep(&self, number: usize, text: Pieces<'_>, levels: Level) -> Result<Box<dyn Kept>, Error> {
        let (form, number) = self.form::<dyn KeepForm>(number)?;
        form.keep(number, text, levels)
    }
}
