//! What stands between kernels and mistakes: every kernel runs in the emulator, sizes are checked before a launch, and
//! an access out of bounds is found and placed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use cuda_std::emulator::{Dim3, FaultKind, Launch, Schedule, launch};
use cuda_std::thread;
use warpath::backend::Backend;
use warpath::device::{Accelerator, Pipeline, Plain};
use warpath::{Error, Program, Query};
use warpath_gpu::coop::lookback;
use warpath_gpu::kernel;
use warpath_shared::index::Monoid;
use warpath_shared::index::class::Classes;
use warpath_shared::index::level::{KindReads, KindWrites};
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{
    Copy16, Copy16Args, CountScan, FaultyLines, Indexed, Kernel, KindCheck, KindCheckArgs, KindStretch,
    LINK_WORDS, LineLinks, LookBack, QuerySlots, QuerySlotsArgs, STRETCH_BYTES, ScanArgs, Span,
    StructureWrite, StructureWriteArgs, scan_tiles,
};
use warpath_shared::units::{BLOCK_THREADS, SCAN_TILE, TILE_BYTES, WORD_BYTES};
use warpath_shared::view::{View, ViewMut};
use warpath_tests::data;
use warpath_tests::emulated::{Emulated, HostBuffer};
use warpath_tests::random::Rng;

/// The emulator, and the names of the kernels that ran.
#[derive(Default)]
struct Recording {
    emulated: Emulated,
    ran: Mutex<BTreeSet<&'static str>>,
}

impl Accelerator for Recording {
    type Buffer<T: Plain> = HostBuffer<T>;

    fn name(&self) -> String {
        self.emulated.name()
    }
    fn free_memory(&self) -> Result<u64, Error> {
        self.emulated.free_memory()
    }
    fn alloc<T: Plain>(&self, len: usize) -> Result<HostBuffer<T>, Error> {
        self.emulated.alloc(len)
    }
    fn zero<T: Plain>(&self, buffer: &mut HostBuffer<T>, from: usize, to: usize) -> Result<(), Error> {
        self.emulated.zero(buffer, from, to)
    }
    fn upload<T: Plain>(&self, buffer: &mut HostBuffer<T>, at: usize, from: &[T]) -> Result<(), Error> {
        self.emulated.upload(buffer, at, from)
    }
    fn download<T: Plain>(&self, buffer: &HostBuffer<T>, at: usize, to: &mut [T]) -> Result<(), Error> {
        self.emulated.download(buffer, at, to)
    }
    fn view<'a, T: Plain>(&self, buffer: &'a HostBuffer<T>, len: usize) -> View<'a, T> {
        self.emulated.view(buffer, len)
    }
    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut HostBuffer<T>, len: usize) -> ViewMut<'a, T> {
        self.emulated.view_mut(buffer, len)
    }
    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error> {
        // SAFETY: the caller's contract is the same.
        unsafe { self.emulated.launch::<K>(args) }?;
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).insert(K::NAME);
        Ok(())
    }
}

#[test]
fn the_pipeline_runs_every_kernel() -> anyhow::Result<()> {
    let pipeline = Pipeline::new(Recording::default())?;
    let want = warpath::answer::Want { matches: true, records: true };
    for path in ["$.user.lang", "$.user[*]"] {
        let program = Program::new(&[Query::compile(path)?])?;
        pipeline.answer(data::file("people.ndjson"), &program, want)?;
    }
    // No stage of the pipeline: it is there for benches to compare with.
    let device = pipeline.device();
    let text: Vec<u8> = (0..2 * TILE_BYTES).map(|i| (i * 7 % 251) as u8).collect();
    let (mut from, mut to) = (device.alloc(text.len())?, device.alloc::<u8>(text.len())?);
    device.upload(&mut from, 0, &text)?;
    let args = Copy16Args { from: device.view(&from, text.len()), to: device.view_mut(&mut to, text.len()) };
    // SAFETY: both views are this device's, and the first has been written.
    unsafe { device.launch::<Copy16>(&args) }?;
    let mut copied = vec![0; text.len()];
    device.download(&to, 0, &mut copied)?;
    assert!(copied == text, "the copy differs");

    let ran: Vec<&str> =
        pipeline.device().ran.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
    let mut table = warpath::cuda::kernels();
    table.sort_unstable();
    assert_eq!(ran, table);
    Ok(())
}

/// The message with which the emulated device refuses a launch.
fn refusal<K: Kernel>(args: &K::Args<'_>) -> String {
    // SAFETY: the views are of this process's memory, which is this device's; and the launch is refused.
    match unsafe { Emulated::default().launch::<K>(args) } {
        Err(Error::Internal(message)) => message,
        other => panic!("launched `{}` with sizes that do not agree: {other:?}", K::NAME),
    }
}

#[test]
fn sizes_that_do_not_agree_are_refused_by_name() {
    let (mut output, mut status, mut sums) = ([0u64; 301], [0u32; 3], [0u64; 4]);
    let (aggregate, inclusive) = sums.split_at_mut(2);
    let counts = [1u64; 300];
    // SAFETY: no kernel runs.
    let good = unsafe {
        ScanArgs {
            input: View::from_slice(&counts),
            output: ViewMut::from_raw(output.as_mut_ptr(), 301),
            look_back: LookBack {
                status: ViewMut::from_raw(status.as_mut_ptr(), 3),
                aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), 2),
                inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), 2),
            },
        }
    };
    assert_eq!(CountScan::check(&good), Ok(()));
    // SAFETY: no kernel runs.
    let short = unsafe { ViewMut::from_raw(output.as_mut_ptr(), 300) };
    let message = refusal::<CountScan>(&ScanArgs { output: short, ..good });
    assert_eq!(message, "launch of `count_scan`: output = input + 1 does not hold (300 and 301)");
    // SAFETY: no kernel runs.
    let no_ticket = unsafe { ViewMut::from_raw(status.as_mut_ptr(), 2) };
    let look_back = LookBack { status: no_ticket, ..good.look_back };
    let message = refusal::<CountScan>(&ScanArgs { look_back, ..good });
    assert_eq!(message, "launch of `count_scan`: status = scan tiles + 1 does not hold (2 and 3)");

    let (mut bits, mut any, mut kinds) = ([0u32; 1], [0u32; 2], [KindWrites::default(); 2]);
    let stretches = [KindStretch::default(); 300];
    let (aggregate, inclusive) = kinds.split_at_mut(1);
    // SAFETY: no kernel runs.
    let args = unsafe {
        KindCheckArgs {
            stretches: View::from_slice(&stretches),
            look_back: LookBack {
                status: ViewMut::from_raw(status.as_mut_ptr(), 3),
                aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), 1),
                inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), 1),
            },
            faulty: FaultyLines {
                bits: ViewMut::from_raw(bits.as_mut_ptr(), 1),
                status: ViewMut::from_raw(any.as_mut_ptr(), 1),
            },
        }
    };
    let message = refusal::<KindCheck>(&args);
    assert_eq!(message, "launch of `kind_check`: aggregate = scan tiles does not hold (1 and 2)");
    // SAFETY: no kernel runs.
    let one_tile = unsafe { ViewMut::from_raw(status.as_mut_ptr(), 2) };
    let look_back = LookBack { status: one_tile, ..args.look_back };
    let stretches = View::from_slice(&stretches[..256]);
    let message = refusal::<KindCheck>(&KindCheckArgs { stretches, look_back, ..args });
    assert_eq!(message, "launch of `kind_check`: status = 2 does not hold (1 and 2)");
}

#[test]
fn an_access_out_of_bounds_is_found_and_placed() {
    let numbers: Vec<u32> = (0..150).collect();
    let view = View::from_slice(&numbers);
    let body = || {
        let at = thread::index_1d() as usize;
        // Threads 0 to 31 of block 2 have no number; lane 22 is the first.
        assert_eq!(view.get(at), at as u32);
    };
    let fault = launch(&Launch::new(3, 64), "too_far", &body).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Panic);
    assert_eq!(fault.kernel, "too_far");
    let at = |x| Dim3 { x, y: 0, z: 0 };
    assert_eq!(fault.at, Some((at(2), at(22))));
    assert!(fault.message.contains("1 element(s) at 150 of a view of 150"), "{fault}");
    assert!(
        fault.to_string().starts_with("kernel `too_far`, block (2, 0, 0), thread (22, 0, 0): "),
        "{fault}"
    );
}

/// A kernel of the project whose arguments pass the checks and lie all the same: a line beyond the text.
#[test]
fn a_kernel_that_reads_out_of_bounds_is_found() {
    let device = Emulated::default();
    let text = vec![b' '; TILE_BYTES];
    let mut slots = [Span::default(); 1];
    let query = Query::compile("$").unwrap();
    let program = Program::new(std::slice::from_ref(&query)).unwrap();
    let args = QuerySlotsArgs {
        indexed: Indexed {
            text: View::from_slice(&text),
            levels: View::from_slice(&[]),
            line_starts: View::from_slice(&[0, TILE_BYTES as u32 + 5]),
            faulty: View::from_slice(&[0]),
        },
        program: program.view(),
        // SAFETY: the view covers a local array that outlives the launch, and one launch runs.
        slots: unsafe { ViewMut::from_raw(slots.as_mut_ptr(), 1) },
    };
    // SAFETY: the views are of this process's memory, which is this device's.
    match unsafe { device.launch::<QuerySlots>(&args) } {
        Err(Error::Internal(message)) => {
            let place = "kernel `query_slots`, block (0, 0, 0), thread (0, 0, 0): ";
            assert!(message.starts_with(place), "{message}");
            assert!(message.contains("out of bounds: 1 element(s) at 16384 of a view of 16384"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// Text of more lines than the host has made room for.
#[test]
fn lines_beyond_their_array_are_counted_and_not_written() {
    let device = Emulated::default();
    let mut text = vec![0u8; TILE_BYTES];
    text[..8].copy_from_slice(b"1\n2\n3\n}\n");
    let words = TILE_BYTES / WORD_BYTES;
    let mut aligned = device.alloc::<u8>(TILE_BYTES).unwrap();
    device.upload(&mut aligned, 0, &text).unwrap();
    let (mut string, mut levels) = (vec![0u64; words], [0u64; 0]);
    let (mut line_starts, mut bits, mut status) = ([0u32; 3], [0u32; 1], [0u32; 2]);
    let mut stretches = [KindStretch::default(); TILE_BYTES / STRETCH_BYTES];
    let mut links = [0u64; LINK_WORDS + 1];
    // SAFETY: each view covers a local array that outlives the launch, and one launch runs.
    let args = unsafe {
        StructureWriteArgs {
            text: device.view(&aligned, TILE_BYTES),
            links: LineLinks { words: ViewMut::from_raw(links.as_mut_ptr(), links.len()) },
            string: ViewMut::from_raw(string.as_mut_ptr(), words),
            levels: ViewMut::from_raw(levels.as_mut_ptr(), 0),
            line_starts: ViewMut::from_raw(line_starts.as_mut_ptr(), 3),
            stretches: ViewMut::from_raw(stretches.as_mut_ptr(), stretches.len()),
            faulty: FaultyLines {
                bits: ViewMut::from_raw(bits.as_mut_ptr(), 1),
                status: ViewMut::from_raw(status.as_mut_ptr(), 2),
            },
            len: 8,
            level_count: 0,
        }
    };
    // SAFETY: the views are of this process's memory, which is this device's.
    unsafe { device.launch::<StructureWrite>(&args) }.unwrap();
    assert_eq!(line_starts, [0, 2, 4]);
    assert_eq!(status, [1, 4]);
    assert_eq!(bits, [1 << 3]);
}

/// Scans `input` with as many blocks in flight as a look-back window has tiles, and more, so that tiles find only sums
/// of single tiles in the nearest window and look further.
fn check_count_scan(input: &[u64], schedule: Schedule) {
    let name = "count_scan";
    let tiles = scan_tiles(input.len());
    let mut output = vec![0u64; input.len() + 1];
    let (mut status, mut aggregate, mut inclusive) =
        (vec![0u32; tiles + 1], vec![0u64; tiles], vec![0u64; tiles]);
    // SAFETY: the arrays outlive the launch, and nothing else touches them until it has ended.
    let args = unsafe {
        ScanArgs {
            input: View::from_slice(input),
            output: ViewMut::from_raw(output.as_mut_ptr(), output.len()),
            look_back: LookBack {
                status: ViewMut::from_raw(status.as_mut_ptr(), status.len()),
                aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), aggregate.len()),
                inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), inclusive.len()),
            },
        }
    };
    let in_flight = Launch::new(tiles as u32, BLOCK_THREADS as u32)
        .resident_blocks(40)
        .schedule(schedule)
        .stack_bytes(64 << 10);
    // SAFETY: launched as the kernel's shape says, with sizes that agree.
    launch(&in_flight, name, &|| unsafe { kernel::count_scan(args) }).unwrap();
    let mut sum = 0u64;
    for (i, (value, got)) in input.iter().zip(&output).enumerate() {
        assert_eq!(*got, sum, "{name}, {schedule:?}: before element {i}");
        sum = sum.combine(*value);
    }
    assert_eq!(output[input.len()], sum, "{name}, {schedule:?}: of all");
}

#[test]
fn a_scan_looks_back_beyond_one_window() {
    let rng = &mut Rng::new(40);
    let len = 80 * SCAN_TILE + 13;
    // Sums beyond 32 bits.
    let counts: Vec<u64> = (0..len).map(|_| rng.next_u64() >> 24).collect();
    for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 4 }] {
        check_count_scan(&counts, schedule);
    }
}

/// Tiles in flight at once, each a warp, that look back over what the others amount to.
#[test]
fn lines_are_looked_back_for_beyond_one_window() {
    let rng = &mut Rng::new(41);
    // Few have a newline, so that more than the last tile counts.
    let tiles: Vec<LineSummary> = (0..300)
        .map(|_| {
            let newline = rng.below(60) == 0;
            let word: [u8; WORD_BYTES] = std::array::from_fn(|i| match i {
                0 if newline => b'\n',
                _ => br#"{}[]"\:,x"#[rng.below(9)],
            });
            let word = if rng.below(5) == 0 { [b'\\'; WORD_BYTES] } else { word };
            LineSummary::of_word(&Classes::of(&word))
        })
        .collect();
    for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 4 }] {
        let mut words = vec![0u64; LINK_WORDS * tiles.len() + 1];
        let mut found = vec![LineSummary::default(); tiles.len()];
        // SAFETY: the arrays outlive the launch, and nothing else touches them until it has ended.
        let (links, results) = unsafe {
            (
                LineLinks { words: ViewMut::from_raw(words.as_mut_ptr(), words.len()) },
                ViewMut::from_raw(found.as_mut_ptr(), found.len()),
            )
        };
        let body = || {
            let (tile, lane) = (thread::block_idx_x(), thread::thread_idx_x());
            // SAFETY: all lanes of the block's one warp are here; the emulator starts blocks in order.
            let before = unsafe { lookback::line_prefix(&links, tile, tiles[tile as usize], lane) };
            if lane == 31 {
                // SAFETY: one thread of one block writes the element.
                unsafe { results.set(tile as usize, before) };
            }
        };
        let in_flight = Launch::new(tiles.len() as u32, 32).resident_blocks(140).schedule(schedule);
        launch(&in_flight.stack_bytes(64 << 10), "line_prefix", &body).unwrap();
        let mut sum = LineSummary::LINE_START;
        for (i, (tile, got)) in tiles.iter().zip(&found).enumerate() {
            assert_eq!(
                (got.state(), got.newlines()),
                (sum.state(), sum.newlines()),
                "{schedule:?}: tile {i}"
            );
            sum = sum.combine(*tile);
        }
    }
}

/// Kinds that are held against what stretches wrote long before.
#[test]
fn kinds_are_looked_back_for_beyond_one_window() {
    let rng = &mut Rng::new(42);
    let len = 40 * SCAN_TILE + 13;
    // Each level is written seldom, and often long before.
    let stretches: Vec<KindStretch> = (0..len)
        .map(|line| {
            let mask = if rng.below(400) == 0 { 1 << rng.below(32) } else { 0 };
            let writes = KindWrites { mask, value: rng.next_u64() as u32 & mask };
            let reads = KindReads { mask: 1 << rng.below(32), value: 0 };
            KindStretch { writes, reads, line: line as u32, reserved: [0; 3] }
        })
        .collect();
    let tiles = scan_tiles(len);
    let mut want = vec![0u32; len.div_ceil(32)];
    let mut before = KindWrites::default();
    for stretch in &stretches {
        if before.contradicts(stretch.reads) {
            want[stretch.line as usize / 32] |= 1 << (stretch.line % 32);
        }
        before = before.combine(stretch.writes);
    }
    assert!(want.iter().any(|bits| *bits != 0));
    for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 4 }] {
        let (mut status, mut bits, mut any) = (vec![0u32; tiles + 1], vec![0u32; want.len()], [0u32; 2]);
        let mut sums = vec![KindWrites::default(); 2 * tiles];
        let (aggregate, inclusive) = sums.split_at_mut(tiles);
        // SAFETY: the arrays outlive the launch, and nothing else touches them until it has ended.
        let args = unsafe {
            KindCheckArgs {
                stretches: View::from_slice(&stretches),
                look_back: LookBack {
                    status: ViewMut::from_raw(status.as_mut_ptr(), status.len()),
                    aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), tiles),
                    inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), tiles),
                },
                faulty: FaultyLines {
                    bits: ViewMut::from_raw(bits.as_mut_ptr(), bits.len()),
                    status: ViewMut::from_raw(any.as_mut_ptr(), 2),
                },
            }
        };
        let in_flight =
            Launch::new(tiles as u32, BLOCK_THREADS as u32).resident_blocks(40).schedule(schedule);
        // SAFETY: launched as the kernel's shape says, with sizes that agree.
        launch(&in_flight.stack_bytes(64 << 10), "kind_check", &|| unsafe { kernel::kind_check(args) })
            .unwrap();
        assert_eq!(bits, want, "{schedule:?}");
        assert_eq!(any[0], 1);
    }
}
