//! All of it: an engine, and a count over a file.

use anyhow::{Context as _, Result};
use warpath::answer::Want;
use warpath::{DeviceChoice, Engine, Program, Query};

use super::{Args, Clock};

pub fn on_device(args: &Args, clock: &mut Clock) -> Result<()> {
    count(args, clock, DeviceChoice::Cuda(args.device))
}

pub fn on_cpu(args: &Args, clock: &mut Clock) -> Result<()> {
    count(args, clock, DeviceChoice::Cpu)
}

fn count(args: &Args, clock: &mut Clock, device: DeviceChoice) -> Result<()> {
    let file = args.file.as_ref().context("no file")?;
    let program = Program::new(&[Query::compile("$.user.lang")?])?;
    clock.skip();
    let engine = Engine::builder().device(device).build()?;
    clock.row("the engine");
    let mut answers = engine.open(file)?.answers(program, Want::default());
    let mut batches = 0;
    for batch in answers.by_ref() {
        batch?;
        if batches == 0 {
            clock.row("the first partition's answer");
        }
        batches += 1;
    }
    clock.row(format!("the other answers, of {batches} partitions"));
    for (part, time) in &answers.plan().setup {
        clock.add(format!("of it, set-up: {part}"), time.as_secs_f64() * 1e3);
    }
    drop(answers);
    drop(engine);
    clock.skip();
    Ok(())
}
