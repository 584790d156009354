//! Several backends as one: the GPUs of a machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use warpath_core::error::Error;
use warpath_shared::units::Level;

use super::{Backend, Buffer, Evaluation, Kept, Room, Stage, StructuralIndex, Worker};
use crate::bitmap::maker::BitmapMaker;
use crate::twig::Documents;
use crate::twig::standing::TwigWorker;

/// Backends of one kind whose workers take partitions from the same queue.
pub struct Together {
    backends: Vec<Arc<dyn Backend>>,
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
        Ok(Self { backends })
    }

    /// The number of workers of each backend: the smallest number that any of them wants.
    fn workers_of_each(&self, partition_size: usize) -> usize {
        self.backends.iter().map(|backend| backend.workers(partition_size)).min().unwrap_or(1)
    }

    /// A size of partitions that suits all backends, and the number of partitions in work at the same time.
    fn of_all(&self, partitions: impl Fn(&dyn Backend) -> (usize, usize)) -> (usize, usize) {
        let each = || self.backends.iter().map(|backend| partitions(&**backend));
        let size = each().map(|(size, _)| size).min().unwrap_or(1);
        (size, self.backends.len() * each().map(|(_, workers)| workers).min().unwrap_or(1))
    }
}

impl Backend for Together {
    fn name(&self) -> String {
        let names: Vec<String> = self.backends.iter().map(|backend| backend.name()).collect();
        names.join(", ")
    }

    /// Smaller than the size for one backend, so that the texts of all workers stay in the processors' caches
    /// (docs/performance.md).
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

    fn twig_worker(&self, number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
        let count = self.backends.len();
        self.backends[number % count].twig_worker(number / count)
    }

    fn twig_stages(&self, documents: Documents) -> Vec<Stage> {
        self.backends[0].twig_stages(documents)
    }

    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        self.backends[0].stages(evaluation)
    }

    fn checks_strictly(&self) -> bool {
        self.backends.iter().all(|backend| backend.checks_strictly())
    }

    fn index(&self, text: &[u8], levels: Level) -> Result<StructuralIndex, Error> {
        self.backends[0].index(text, levels)
    }

    /// Different backends keep neighbouring partitions, so that all backends take part in a query.
    fn keep(&self, number: usize, text: &[u8], levels: Level) -> Result<Box<dyn Kept>, Error> {
        let count = self.backends.len();
        self.backends[number % count].keep(number / count, text, levels)
    }

    fn kept_partitions(&self) -> (usize, usize) {
        self.of_all(|backend| backend.kept_partitions())
    }

    fn buffered_partitions(&self) -> (usize, usize) {
        self.of_all(|backend| backend.buffered_partitions())
    }

    /// Each backend keeps as much as the others. The backend with the least free memory therefore sets the
    /// limit.
    fn room_to_keep(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Option<Room>, Error> {
        let count = self.backends.len() as u64;
        let mut all: Option<Room> = None;
        for backend in &self.backends {
            let room = backend.room_to_keep(bytes.div_ceil(count), partition_size, levels)?;
            if let Some(Room { needed, free }) = room {
                let least = all.map_or(u64::MAX, |room| room.free).min(free.saturating_mul(count));
                all = Some(Room { needed: needed.saturating_mul(count), free: least });
            }
        }
        Ok(all)
    }

    /// One backend makes all bitmaps of a column.
    fn bitmap_maker(&self) -> Result<BitmapMaker, Error> {
        self.backends[0].bitmap_maker()
    }

    fn answers_packed(&self) -> bool {
        self.backends.iter().all(|backend| backend.answers_packed())
    }

    fn uses_index_files(&self) -> bool {
        self.backends.iter().all(|backend| backend.uses_index_files())
    }

    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.backends[0].buffer(len)
    }

    fn setup(&self) -> Vec<(&'static str, Duration)> {
        self.backends.iter().flat_map(|backend| backend.setup()).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.backends.iter().flat_map(|backend| backend.notes()).collect()
    }

    fn ready(&self) -> Option<Instant> {
        self.backends.iter().filter_map(|backend| backend.ready()).max()
    }
}
