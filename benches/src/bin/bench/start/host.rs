//! Pinned memory of the host, in each way and size.

use std::sync::Mutex;

use anyhow::{Context as _, Result};

use super::call::{self, Mapping};
use super::{Args, Clock, Part};

/// A partition's text.
const TEXT: usize = 8 << 20;
/// Workers of a device.
const WORKERS: usize = 12;

pub fn parts() -> Vec<Part> {
    let part = |name, about, run| Part { name, about, with: &[], run };
    vec![
        part("host: allocated", "cuMemHostAlloc, 8 MiB each", |args, clock| {
            clock.context(args)?;
            call::host_memory(TEXT)?;
            clock.row("the first");
            (1..WORKERS).try_for_each(|_| call::host_memory(TEXT))?;
            clock.row("eleven more");
            Ok(())
        }),
        part("host: allocated, at once", "the same by twelve threads", |args, clock| {
            let context = clock.context(args)?;
            call::at_once(context, WORKERS, |_| call::host_memory(TEXT))?;
            clock.row("twelve");
            Ok(())
        }),
        part("host: allocated as one", "cuMemHostAlloc, 96 MiB", |args, clock| {
            clock.context(args)?;
            call::host_memory(WORKERS * TEXT)?;
            clock.row("all");
            Ok(())
        }),
        part("host: small allocations", "cuMemHostAlloc, 80 KiB for each of twelve queues", |args, clock| {
            clock.context(args)?;
            (0..WORKERS).try_for_each(|_| call::host_memory(80 << 10))?;
            clock.row("twelve");
            Ok(())
        }),
        part(
            "host: huge pages, registered",
            "mmap and MADV_HUGEPAGE; cuMemHostRegister, 8 MiB each",
            |args, clock| registered(args, clock, true),
        ),
        part("host: huge pages, registered, at once", "the same by twelve threads", |args, clock| {
            registered_at_once(args, clock, true)
        }),
        part("host: huge pages, registered as one", "the same, 96 MiB", |args, clock| {
            registered_as_one(args, clock, true)
        }),
        part("host: small pages, registered", "MADV_NOHUGEPAGE; 8 MiB each", |args, clock| {
            registered(args, clock, false)
        }),
        part("host: small pages, registered, at once", "the same by twelve threads", |args, clock| {
            registered_at_once(args, clock, false)
        }),
        part("host: small pages, registered as one", "the same, 96 MiB", |args, clock| {
            registered_as_one(args, clock, false)
        }),
    ]
}

fn registered(args: &Args, clock: &mut Clock, huge: bool) -> Result<()> {
    clock.context(args)?;
    let mut mappings = (0..WORKERS).map(|_| Mapping::new(TEXT, huge)).collect::<Result<Vec<_>>>()?;
    clock.row("mapped, twelve");
    mappings.iter_mut().for_each(Mapping::touch);
    clock.row("touched, twelve");
    let (first, others) = mappings.split_first_mut().context("twelve")?;
    first.register()?;
    clock.row("registered, the first");
    others.iter_mut().try_for_each(Mapping::register)?;
    clock.row("registered, eleven more");
    copies(first, clock)
}

fn registered_at_once(args: &Args, clock: &mut Clock, huge: bool) -> Result<()> {
    let context = clock.context(args)?;
    // Each thread maps, touches and registers; the slowest of each counts.
    let slowest = Mutex::new([0.0f64; 3]);
    call::at_once(context, WORKERS, |_| {
        let mut own = Clock::start();
        let mut mapping = Mapping::new(TEXT, huge)?;
        own.row("mapped");
        mapping.touch();
        own.row("touched");
        mapping.register()?;
        own.row("registered");
        let mut slowest = slowest.lock().ok().context("a thread panicked")?;
        for (most, (_, time)) in slowest.iter_mut().zip(own.rows) {
            *most = most.max(time);
        }
        Ok(())
    })?;
    clock.row("twelve, all of it");
    let slowest = slowest.into_inner().ok().context("a thread panicked")?;
    for (name, time) in
        ["mapped, the slowest", "touched, the slowest", "registered, the slowest"].into_iter().zip(slowest)
    {
        clock.add(name, time);
    }
    Ok(())
}

fn registered_as_one(args: &Args, clock: &mut Clock, huge: bool) -> Result<()> {
    clock.context(args)?;
    let mut mapping = Mapping::new(WORKERS * TEXT, huge)?;
    clock.row("mapped");
    mapping.touch();
    clock.row("touched");
    mapping.register()?;
    clock.row("registered");
    copies(&mapping, clock)
}

/// Times a copy from registered memory, which shows if it is as fast as the bus allows.
fn copies(from: &Mapping, clock: &mut Clock) -> Result<()> {
    let (to, stream) = (call::device_memory(TEXT)?, call::stream()?);
    from.copy_to(to, TEXT, stream)?;
    clock.skip();
    from.copy_to(to, TEXT, stream)?;
    clock.row("a copy of 8 MiB from it");
    Ok(())
}
