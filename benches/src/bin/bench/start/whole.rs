//! The whole way: an engine, and a count over a file.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use warpath::{Engine, Program, Query, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Pipeline;
use warpath_device::cuda::{ArrayMemory, Cuda, Settings, TextMemory};

use super::{Args, Clock, Part};

pub fn parts() -> Vec<Part> {
    let part = |name, about, run| Part { name, about, with: &[], run };
    vec![
        part("a file", "a count over the file, as the program does it", |args, clock| {
            count(clock, args, device(args, Settings::default())?, true)
        }),
        part("a file, texts allocated", "the same, texts in memory of cuMemHostAlloc", |args, clock| {
            let settings = Settings { texts: TextMemory::Allocated, ..Settings::default() };
            count(clock, args, device(args, settings)?, true)
        }),
        part("a file, arrays allocated", "the same as the first, arrays of cuMemAlloc", |args, clock| {
            let settings = Settings { arrays: ArrayMemory::Allocated, ..Settings::default() };
            count(clock, args, device(args, settings)?, true)
        }),
        part("a file, both allocated", "texts and arrays of the driver, one by one", |args, clock| {
            let settings = Settings {
                texts: TextMemory::Allocated,
                arrays: ArrayMemory::Allocated,
                ..Settings::default()
            };
            count(clock, args, device(args, settings)?, true)
        }),
        part("a file, nothing given back", "the first, left to the end of the process", |args, clock| {
            count(clock, args, device(args, Settings::default())?, false)
        }),
        part("a file, on the CPU", "the same count", |args, clock| count(clock, args, Arc::new(Cpu), true)),
    ]
}

fn device(args: &Args, settings: Settings) -> Result<Arc<dyn Backend>> {
    Ok(Arc::new(Pipeline::new(Cuda::with_settings(args.device, settings)?)?))
}

fn count(clock: &mut Clock, args: &Args, backend: Arc<dyn Backend>, gives_back: bool) -> Result<()> {
    clock.row("the backend");
    let file = args.file.as_ref().context("no file")?;
    let program = Program::new(&[Query::compile("$.user.lang")?])?;
    let engine = Engine::builder().backend(backend).build()?;
    let mut answers = engine.open(file)?.answers(program.clone(), Want::default());
    let mut batches = 0;
    for batch in answers.by_ref() {
        batch?;
        if batches == 0 {
            clock.row("the first partition's results");
        }
        batches += 1;
    }
    clock.row(format!("the other results, of {batches} partitions"));
    let (setup, stats) = (answers.setup(), answers.stats());
    clock.add("of it, reading, all workers together", stats.reading.as_secs_f64() * 1e3);
    for (part, time) in &setup.parts {
        clock.add(format!("of it, {part}"), time.as_secs_f64() * 1e3);
    }
    drop(answers);
    if args.check {
        let mut answers =
            Engine::builder().backend(Arc::new(Cpu)).build()?.open(file)?.answers(program, Want::default());
        answers.by_ref().try_for_each(|batch| batch.map(drop))?;
        let (found, want) = (stats.matches, answers.stats().matches);
        ensure!(found == want, "{found} matches, the CPU has {want}");
    }
    clock.skip();
    if gives_back {
        drop(engine);
        clock.row("given back");
    } else {
        std::mem::forget(engine);
    }
    Ok(())
}
