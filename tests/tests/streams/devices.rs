//! Several devices, and the choice among backends.

use std::sync::Barrier;

use warpath::DeviceChoice;
use warpath_answer::answer::Answer;
use warpath_answer::backend::{Abilities, Buffer, Evaluation, Forms, Setup, Stage, StructuralIndex, Worker};
use warpath_device::{Accelerator, Pipeline};
use warpath_tests::emulated::Emulated;

use super::*;

/// A backend whose workers each evaluate their first text when all have one.
struct Meeting(Arc<dyn Backend>, Arc<Barrier>);

struct MeetingWorker<'a>(Box<dyn Worker + 'a>, Option<&'a Barrier>);

impl Backend for Meeting {
    fn abilities(&self) -> Abilities {
        self.0.abilities()
    }
    fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.0.buffer(len)
    }
    fn setup(&self) -> Setup {
        self.0.setup()
    }
    fn forms(&self) -> &Forms {
        self.0.forms()
    }
    fn name(&self) -> String {
        self.0.name()
    }
    fn partition_size(&self) -> usize {
        self.0.partition_size()
    }
    fn workers(&self, partition_size: usize) -> usize {
        self.0.workers(partition_size)
    }
    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        self.0.stages(evaluation)
    }
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Ok(Box::new(MeetingWorker(self.0.worker(number)?, Some(&self.1))))
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        self.0.index(text, levels)
    }
}

impl Worker for MeetingWorker<'_> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        if let Some(all) = self.1.take() {
            all.wait();
        }
        self.0.answer(text, program, want)
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        warpath_cpu::strict::answer(text, program, want, |text| self.answer(text, program, want))
    }
}

/// Both devices are used, each by workers with their own queues. A worker keeps its queues.
#[test]
fn devices_share_the_work() -> Result<()> {
    const WORKERS: usize = 4;
    let devices = [Emulated::default(), Emulated::default()];
    let watching = devices.each_ref().map(|device| device.queue().unwrap());
    let all = Arc::new(Barrier::new(WORKERS));
    let [first, second] = devices.map(|device| -> Arc<dyn Backend> {
        Arc::new(Meeting(Arc::new(Pipeline::new(device).unwrap()), all.clone()))
    });
    let each = first.workers(1 << 20);
    let backend: Arc<dyn Backend> = Arc::new(Together::new(vec![first, second])?);
    assert_eq!(backend.workers(1 << 20), 2 * each);
    let folder = Folder::new(&[lines(400)]);
    // All batches at once, not as many as a caller uses: so there is room for all workers from the start.
    let engine = engine(&backend, 50, WORKERS, OnError::Fail);
    for _ in 0..3 {
        let program = Program::new(&[Query::compile("$.a")?])?;
        let mut count = 0;
        for batch in engine.input(folder.sources()).answers(program, Want::default()) {
            count += batch?.count(0);
        }
        assert_eq!(count, 400);
    }
    for device in &watching {
        assert_eq!(device.queues(), 1 + WORKERS as u64 / 2);
    }
    Ok(())
}

#[test]
fn the_engine_chooses_by_size_and_says_so() -> Result<()> {
    let engine = Engine::builder().device(DeviceChoice::Auto).build()?;
    let folder = Folder::new(&[lines(100), gzip(&lines(100), Compression::fast())]);
    let program = Program::new(&[Query::compile("$.a")?])?;
    for (source, reason) in [
        (folder.paths[0].clone(), "auto: cpu, 0 MB of plain text are below "),
        (folder.paths[1].clone(), "auto: cpu, no plain text to feed a device fast enough"),
    ] {
        let mut answers = engine.input(vec![Source::File(source)]).answers(program.clone(), Want::default());
        ensure!(answers.by_ref().all(|batch| batch.is_ok()));
        let plan = answers.plan();
        ensure!(plan.backend.starts_with("cpu ("), "{plan:?}");
        ensure!(plan.reason.as_ref().is_some_and(|said| said.starts_with(reason)), "{plan:?}");
    }
    for (builder, wrong) in [
        (Engine::builder().workers(0), "worker"),
        (Engine::builder().partition_size(0), "partition"),
        (Engine::builder().device(DeviceChoice::CudaList(vec![1, 0, 1])), "cuda:1 is named twice"),
        (Engine::builder().device(DeviceChoice::CudaList(Vec::new())), "no backend to join"),
    ] {
        match builder.build().map(drop) {
            Err(Error::Usage(said)) => ensure!(said.contains(wrong), "{said}"),
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}
