//! Times the steps that bring a file's text to a device and keep a copy of it in host memory, alone and
//! together. They are the ceilings of a resident index.
//!
//! Each way moves all bytes of the file, which should be in the page cache. Threads take one partition after
//! the other. Rates are of the file's bytes, in 10⁹ bytes a second; medians, and the fastest and slowest run.
//!
//! | way | what a thread does with its partition |
//! |---|---|
//! | `read` | reads pieces into memory that it uses again |
//! | `touch huge`, `touch small` | writes to each page of new memory, in huge or in small pages |
//! | `keep huge`, `keep small` | reads the partition into new memory |
//! | `pinned` | copies pieces of pinned memory to the device |
//! | `read, pinned` | reads pieces into pinned memory, and copies them to the device |
//! | `keep, pinned` | the same, and copies each piece to new memory while it goes to the device |
//! | `keep, pinned small` | the same, in small pages |
//! | `file, pinned` | reads pieces into pinned memory, and writes each piece to a file in memory while it goes to the device |
//! | `sendfile` | has the system copy the partition to a file in memory |
//! | `back` | copies pieces from the device to pinned memory, and from there to new memory |
//! | `keep, then pinned` | reads the partition into new memory, then sends it to the device by pinned pieces |
//! | `keep, register` | reads the partition into new memory, pins it, and copies it to the device |
//!
//! New memory is kept until all partitions are done, and given back after the clock has stopped.

use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use memmap2::{Advice, MmapMut, MmapOptions};
use warpath_answer::backend::Buffer;
use warpath_benches::harness::timing::Times;
use warpath_device::Accelerator;
use warpath_device::cuda::Cuda;

#[derive(clap::Args)]
pub struct Args {
    /// The CUDA device of this number.
    #[arg(long, default_value_t = 0)]
    device: usize,
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Threads of each way
    #[arg(long, value_delimiter = ',', default_value = "4,8,16")]
    threads: Vec<usize>,
    /// Bytes of a partition
    #[arg(long, default_value_t = 64 << 20)]
    partition_size: usize,
    /// Bytes of a pinned piece
    #[arg(long, value_delimiter = ',', default_value = "1048576,4194304")]
    pieces: Vec<usize>,
    /// Only the ways whose names begin with this
    #[arg(long, default_value = "")]
    only: String,
    file: PathBuf,
}

/// A file, and how it is read.
struct Run<'a> {
    file: &'a File,
    bytes: usize,
    partition: usize,
    piece: usize,
}

impl Run<'_> {
    /// The range of a partition.
    fn range(&self, number: usize) -> (usize, usize) {
        let begin = number * self.partition;
        (begin, self.partition.min(self.bytes - begin))
    }

    fn read(&self, to: &mut [u8], at: usize) -> Result<()> {
        Ok(self.file.read_exact_at(to, at as u64)?)
    }
}

/// New memory.
fn memory(len: usize, huge: bool) -> Result<MmapMut> {
    let map = MmapOptions::new().len(len).map_anon()?;
    let advice = if huge { Advice::HugePage } else { Advice::NoHugePage };
    map.advise(advice)?;
    Ok(map)
}

/// The pinned memory and the queue of a thread, which are made once.
struct Lane {
    queue: Cuda,
    pieces: [Buffer; 2],
    array: <Cuda as Accelerator>::Buffer<u8>,
}

impl Lane {
    fn new(queue: Cuda, run: &Run<'_>) -> Result<Self> {
        let pieces = [queue.host_buffer(run.piece)?, queue.host_buffer(run.piece)?];
        let mut array = queue.alloc(run.partition)?;
        for piece in &pieces {
            queue.upload(&mut array, 0, piece)?;
        }
        queue.wait()?;
        Ok(Self { queue, pieces, array })
    }

    /// Sends a partition in pieces. `fill` writes a piece that begins at this offset of the partition.
    /// `after` is called with it while it is copied.
    fn send(
        &mut self,
        len: usize,
        mut fill: impl FnMut(usize, &mut [u8]) -> Result<()>,
        mut after: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let step = self.pieces[0].len();
        for at in (0..len).step_by(step) {
            let count = step.min(len - at);
            let [piece, _] = &mut self.pieces;
            fill(at, &mut piece[..count])?;
            // SAFETY: the queue is waited for below, before the piece is written again.
            unsafe { self.queue.upload_later(&mut self.array, at, &piece[..count]) }?;
            after(at, &piece[..count]);
            self.queue.wait()?;
        }
        Ok(())
    }
}

/// Memory that a way fills. It is given back after the clock has stopped.
enum Left {
    Nothing,
    Map(MmapMut),
    Pinned(Buffer),
    File(File),
}

/// A file in memory.
fn memory_file() -> Result<File> {
    // SAFETY: the name is a C string. The call returns a new descriptor, which nobody else owns.
    let made = unsafe { libc::memfd_create(c"text".as_ptr(), libc::MFD_CLOEXEC) };
    ensure!(made >= 0, "memfd_create: {}", std::io::Error::last_os_error());
    // SAFETY: as above.
    Ok(unsafe { File::from_raw_fd(made) })
}

type Way = fn(&Run<'_>, &mut Option<Lane>, usize) -> Result<Left>;

/// The ways: the name, true if the way uses the device, true if pieces matter.
const WAYS: [(&str, bool, bool, Way); 14] = [
    ("read", false, true, |run, _, number| {
        thread_local!(static PIECE: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) });
        let (begin, len) = run.range(number);
        PIECE.with_borrow_mut(|piece| {
            piece.resize(run.piece, 0);
            for at in (0..len).step_by(run.piece) {
                let count = run.piece.min(len - at);
                run.read(&mut piece[..count], begin + at)?;
            }
            Ok(Left::Nothing)
        })
    }),
    ("touch huge", false, false, |run, _, number| touch(run, number, true)),
    ("touch small", false, false, |run, _, number| touch(run, number, false)),
    ("keep huge", false, false, |run, _, number| keep(run, number, true)),
    ("keep small", false, false, |run, _, number| keep(run, number, false)),
    ("pinned", true, true, |run, lane, number| {
        let (_, len) = run.range(number);
        lane.as_mut().context("a lane")?.send(len, |_, _| Ok(()), |_, _| ())?;
        Ok(Left::Nothing)
    }),
    ("read, pinned", true, true, |run, lane, number| {
        let (begin, len) = run.range(number);
        lane.as_mut().context("a lane")?.send(len, |at, piece| run.read(piece, begin + at), |_, _| ())?;
        Ok(Left::Nothing)
    }),
    ("keep, pinned", true, true, |run, lane, number| {
        let (begin, len) = run.range(number);
        let mut map = memory(len, true)?;
        lane.as_mut().context("a lane")?.send(
            len,
            |at, piece| run.read(piece, begin + at),
            |at, piece| map[at..at + piece.len()].copy_from_slice(piece),
        )?;
        Ok(Left::Map(map))
    }),
    ("keep, pinned small", true, true, |run, lane, number| {
        let (begin, len) = run.range(number);
        let mut map = memory(len, false)?;
        lane.as_mut().context("a lane")?.send(
            len,
            |at, piece| run.read(piece, begin + at),
            |at, piece| map[at..at + piece.len()].copy_from_slice(piece),
        )?;
        Ok(Left::Map(map))
    }),
    ("file, pinned", true, true, |run, lane, number| {
        let (begin, len) = run.range(number);
        let file = memory_file()?;
        lane.as_mut().context("a lane")?.send(
            len,
            |at, piece| run.read(piece, begin + at),
            |at, piece| file.write_all_at(piece, at as u64).expect("room in memory"),
        )?;
        Ok(Left::File(file))
    }),
    ("sendfile", false, false, |run, _, number| {
        let (begin, len) = run.range(number);
        let file = memory_file()?;
        let (mut from, end) = (begin as i64, (begin + len) as i64);
        while from < end {
            // SAFETY: both files are open, and the offset outlives the call.
            let sent = unsafe {
                libc::sendfile(file.as_raw_fd(), run.file.as_raw_fd(), &mut from, (end - from) as usize)
            };
            ensure!(sent > 0, "sendfile: {}", std::io::Error::last_os_error());
        }
        Ok(Left::File(file))
    }),
    ("back", true, true, |run, lane, number| {
        let (_, len) = run.range(number);
        let mut map = memory(len, true)?;
        let Lane { queue, array, .. } = lane.as_mut().context("a lane")?;
        for (at, part) in map.chunks_mut(1 << 20).enumerate() {
            // A download goes through pinned memory of the queue, of this length.
            queue.download(array, at << 20, part)?;
        }
        Ok(Left::Map(map))
    }),
    ("keep, then pinned", true, true, |run, lane, number| {
        let (begin, len) = run.range(number);
        let mut map = memory(len, true)?;
        run.read(&mut map, begin)?;
        lane.as_mut().context("a lane")?.send(
            len,
            |at, piece| {
                piece.copy_from_slice(&map[at..at + piece.len()]);
                Ok(())
            },
            |_, _| (),
        )?;
        Ok(Left::Map(map))
    }),
    ("keep, register", true, false, |run, lane, number| {
        let (begin, len) = run.range(number);
        let Lane { queue, array, .. } = lane.as_mut().context("a lane")?;
        let mut memory = queue.host_buffer(len)?;
        run.read(&mut memory[..len], begin)?;
        // The first copy from it pins it, and this call waits.
        queue.upload(array, 0, &memory[..len])?;
        Ok(Left::Pinned(memory))
    }),
];

fn touch(run: &Run<'_>, number: usize, huge: bool) -> Result<Left> {
    let mut map = memory(run.range(number).1, huge)?;
    map.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    Ok(Left::Map(map))
}

fn keep(run: &Run<'_>, number: usize, huge: bool) -> Result<Left> {
    let (begin, len) = run.range(number);
    let mut map = memory(len, huge)?;
    run.read(&mut map, begin)?;
    Ok(Left::Map(map))
}

/// The seconds of each run, after one that is not counted, and the milliseconds in which the memory was given
/// back by this thread after the last.
fn time(args: &Args, run: &Run<'_>, device: Option<&Cuda>, threads: usize, way: Way) -> Result<(Times, f64)> {
    let lane = || device.map(|device| Lane::new(device.queue()?, run)).transpose();
    let mut lanes = (0..threads).map(|_| lane()).collect::<Result<Vec<_>>>()?;
    let (mut times, mut back) = (Vec::new(), 0.0);
    for _ in 0..=args.runs {
        let (next, left) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let since = Instant::now();
        thread::scope(|scope| {
            let (next, left) = (&next, &left);
            let work = move |lane: &mut Option<Lane>| -> Result<()> {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number * run.partition >= run.bytes {
                        return Ok(());
                    }
                    let made = way(run, lane, number)?;
                    left.lock().ok().context("a thread panicked")?.push(made);
                }
            };
            let all: Vec<_> = lanes.iter_mut().map(|lane| scope.spawn(move || work(lane))).collect();
            all.into_iter().try_for_each(|thread| thread.join().ok().context("a thread panicked")?)
        })?;
        times.push(since.elapsed().as_secs_f64());
        let left = left.into_inner().ok().context("a thread panicked")?;
        let since = Instant::now();
        for made in left {
            match made {
                Left::Nothing => {}
                Left::Map(map) => drop(map),
                Left::Pinned(buffer) => drop(buffer),
                Left::File(file) => drop(file),
            }
        }
        back = since.elapsed().as_secs_f64() * 1e3;
    }
    Ok((Times::new(times.split_off(1)), back))
}

pub fn run(args: &Args) -> Result<()> {
    let file = File::open(&args.file).with_context(|| args.file.display().to_string())?;
    let bytes = usize::try_from(file.metadata()?.len())?;
    ensure!(bytes > 0 && args.partition_size > 0 && args.runs > 0, "nothing to measure");
    let device = Cuda::new(args.device)?;
    for (name, uses_device, has_pieces, way) in WAYS {
        if !name.starts_with(&args.only) {
            continue;
        }
        for threads in &args.threads {
            for piece in if has_pieces { &args.pieces[..] } else { &args.pieces[..1] } {
                let run = Run { file: &file, bytes, partition: args.partition_size, piece: *piece };
                let (times, back) = time(args, &run, uses_device.then_some(&device), *threads, way)?;
                let [median, least, most] =
                    [times.median(), times.least(), times.most()].map(|time| time * 1e3);
                let pieces =
                    if has_pieces { format!(", pieces of {} KiB", piece >> 10) } else { String::new() };
                println!(
                    "{:<48} {median:8.2} ms ({least:.2} to {most:.2}) {:8.2} GB/s, given back in {back:.1} ms",
                    format!("{name}: {threads} threads{pieces}"),
                    bytes as f64 / median / 1e6,
                );
            }
        }
    }
    Ok(())
}
