//! The driver, the context, the modules, a first launch, and device memory in each way.

use std::ptr;

use anyhow::{Context as _, Result};
use cust::sys;
use warpath_benches::harness::copy::COPY;
use warpath_device::cuda::MODULES;
use warpath_shared::kernel::{Copy16, Copy16Args, Kernel};
use warpath_shared::units::{BLOCK_THREADS, TILE_BYTES};
use warpath_shared::view::{View, ViewMut};

use super::call::{self, Context};
use super::{Args, Clock, Part};

/// Workers of a device.
const WORKERS: usize = 12;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The arrays of one worker that counts a singular path in parts of 8 MiB: their bytes, and how many of them
/// have this size. They are text, bitmaps, line starts, slots, and the small ones around them.
const ARRAYS: [(usize, usize); 13] = [
    (8 * MIB + 64 * KIB, 1),
    (3 * MIB, 1),
    (MIB + 8 * KIB, 1),
    (513 * KIB, 1),
    (260 * KIB, 2),
    (160 * KIB, 1),
    (9 * KIB, 2),
    (4 * KIB, 3),
    (KIB, 2),
    (512, 2),
    (256, 3),
    (64, 3),
    (16, 7),
];

fn array_sizes() -> impl Iterator<Item = usize> {
    ARRAYS.iter().flat_map(|(bytes, count)| std::iter::repeat_n(*bytes, *count))
}

/// The alignment of the driver's `cuMemAlloc`.
const ALIGNED: usize = 256;

fn arena() -> usize {
    array_sizes().map(|bytes| bytes.next_multiple_of(ALIGNED)).sum()
}

pub fn memory_parts() -> Vec<Part> {
    let part = |name, about, run| Part { name, about, with: &[], run };
    vec![
        part("device: arrays", "cuMemAlloc, the 29 arrays of each of twelve workers", |args, clock| {
            clock.context(args)?;
            in_turn(clock, arrays)
        }),
        part("device: arrays, at once", "the same by twelve threads", |args, clock| {
            let context = clock.context(args)?;
            at_once(context, clock, arrays)
        }),
        part("device: arenas", "cuMemAlloc, one for each of twelve workers", |args, clock| {
            clock.context(args)?;
            in_turn(clock, || call::device_memory(arena()).map(drop))
        }),
        part("device: arenas, at once", "the same by twelve threads", |args, clock| {
            let context = clock.context(args)?;
            at_once(context, clock, || call::device_memory(arena()).map(drop))
        }),
        part("device: one arena", "cuMemAlloc, one for all", |args, clock| {
            clock.context(args)?;
            call::device_memory(WORKERS * arena())?;
            clock.row("for twelve workers");
            Ok(())
        }),
        part("device: pool", "cuMemAllocAsync, the same arrays, each worker on its stream", |args, clock| {
            clock.context(args)?;
            call::keep_pool(Context::device(args.device)?)?;
            clock.row("pool");
            in_turn(clock, of_pool)
        }),
        part("device: pool, at once", "the same by twelve threads", |args, clock| {
            let context = clock.context(args)?;
            call::keep_pool(Context::device(args.device)?)?;
            at_once(context, clock, of_pool)
        }),
        part("device: streams", "cuStreamCreate, twelve", |args, clock| {
            clock.context(args)?;
            (0..WORKERS).try_for_each(|_| call::stream().map(drop))?;
            clock.row("twelve");
            Ok(())
        }),
    ]
}

/// Times the work of one worker, and then that of the others.
fn in_turn(clock: &mut Clock, work: impl Fn() -> Result<()>) -> Result<()> {
    work()?;
    clock.row("of the first worker");
    (1..WORKERS).try_for_each(|_| work())?;
    clock.row("of eleven more");
    Ok(())
}

/// Times the work of all workers, by a thread each.
fn at_once(context: Context, clock: &mut Clock, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    call::at_once(context, WORKERS, |_| work())?;
    clock.row("of twelve workers");
    Ok(())
}

fn arrays() -> Result<()> {
    array_sizes().try_for_each(|bytes| call::device_memory(bytes).map(drop))
}

/// Allocates the arrays of one worker from the device's pool, in the order of a stream.
fn of_pool() -> Result<()> {
    let stream = call::stream()?;
    array_sizes().try_for_each(|bytes| call::pooled_memory(bytes, stream).map(drop))?;
    call::synchronize(stream)
}

/// Times the setup, from the start of the driver to the first launch.
pub fn set_up(args: &Args, clock: &mut Clock) -> Result<()> {
    let mut version = 0;
    // SAFETY: the call writes to a local variable, which outlives it.
    call::check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    clock.row("driver loaded");
    Context::init()?;
    clock.row("cuInit");
    let device = Context::device(args.device)?;
    call::compute_capability(args.device)?;
    clock.row("device and attributes");
    let context = Context::retain(device)?;
    context.enter()?;
    clock.row("context");
    load_modules(clock)?;
    let copy = call::function(call::load_module(COPY.ptx)?, Copy16::NAME)?;
    clock.skip();
    let stream = call::stream()?;
    clock.row("stream");
    let memory = call::device_memory(2 * TILE_BYTES)?;
    clock.row("device memory, 64 KiB");
    launch(copy, memory, stream)?;
    clock.row("first launch, to its end");
    launch(copy, memory, stream)?;
    clock.row("second launch");
    Ok(())
}

/// Copies a tile to the next one, and waits for the copy.
fn launch(copy: sys::CUfunction, memory: sys::CUdeviceptr, stream: sys::CUstream) -> Result<()> {
    let to = memory + TILE_BYTES as u64;
    // SAFETY: the device's memory holds two tiles, and nothing else uses it.
    let (from, to) = unsafe {
        (View::from_raw(memory as *const u8, TILE_BYTES), ViewMut::from_raw(to as *mut u8, TILE_BYTES))
    };
    let mut args = Copy16Args { from, to };
    Copy16::check(&args)?;
    let mut parameters = [(&raw mut args).cast()];
    // SAFETY: the kernel takes these arguments by value, and `check` has passed them. The driver copies them
    // during the call.
    call::check(Copy16::NAME, unsafe {
        sys::cuLaunchKernel(
            copy,
            Copy16::blocks(&args),
            1,
            1,
            BLOCK_THREADS as u32,
            1,
            1,
            0,
            stream,
            parameters.as_mut_ptr(),
            ptr::null_mut(),
        )
    })?;
    call::synchronize(stream)
}

/// Loads the product's modules.
fn load_modules(clock: &mut Clock) -> Result<()> {
    for module in MODULES {
        call::load_module(module.ptx)?;
        clock.row(format!("module `{}`, {} KiB of PTX", module.name, module.ptx.len() >> 10));
    }
    Ok(())
}

/// Times the modules, which are loaded one after the other.
pub fn modules_in_turn(args: &Args, clock: &mut Clock) -> Result<()> {
    clock.context(args)?;
    load_modules(clock)
}

/// Times the modules, each of which is loaded by a thread of its own.
pub fn modules_at_once(args: &Args, clock: &mut Clock) -> Result<()> {
    let context = clock.context(args)?;
    call::at_once(context, MODULES.len(), |number| call::load_module(MODULES[number].ptx).map(drop))?;
    clock.row(format!("all {}", MODULES.len()));
    Ok(())
}

/// A part that loads the modules as the assembler made them for this device.
pub fn cubins_part() -> Part {
    Part { name: "modules, cubins", about: "the same, assembled before", with: &[], run: cubins }
}

fn cubins(args: &Args, clock: &mut Clock) -> Result<()> {
    Context::make(args.device)?;
    let folder = args.cubins.as_ref().context("no --cubins")?;
    let (major, minor) = call::compute_capability(args.device)?;
    clock.skip();
    for module in MODULES {
        let file = folder.join(format!("{}.sm_{major}{minor}.cubin", module.name));
        let image = std::fs::read(&file).with_context(|| file.display().to_string())?;
        clock.skip();
        call::load_cubin(&image)?;
        clock.row(format!("module `{}`, {} KiB of cubin", module.name, image.len() >> 10));
    }
    Ok(())
}
