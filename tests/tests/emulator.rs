//! Safety checks for kernels: every kernel runs in the emulator, sizes are checked before a launch, and an
//! access out of bounds is found and located.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_std::emulator::{Dim3, FaultKind, Launch, Schedule, launch};
use cuda_std::thread;
use warpath::columns::{ColumnType, Schema};
use warpath::{Error, Program, Query, TextForm, Want};
use warpath_answer::backend::Buffer;
use warpath_answer::on_device::{ArrowDevice, SyncEvent};
use warpath_core::plain::Plain;
use warpath_device::{Accelerator, BitmapStage, FsstStage, Pipeline};
use warpath_gpu::kernel;
use warpath_shared::index::Monoid;
use warpath_shared::index::class::Classes;
use warpath_shared::index::level::{KindReads, KindWrites};
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{
    self as kernel_status, ANY_FAULTY, BENCH_KERNELS, Copy16, Copy16Args, CountScan, FAR, FAULTY_TILE,
    FaultyLines, Indexed, KERNELS, Kernel, KindCheck, KindCheckArgs, LineIndex, LineIndexArgs, LineScanArgs,
    LineStates, LineStatesArgs, LookBack, MOST_LINES_OF_A_TILE, ODD_TILE, QuerySlots, QuerySlotsArgs,
    STATUS_WORDS, ScanArgs, Span, StructureWrite, StructureWriteArgs, TapeBrackets, TapeOutline, TapePieces,
    TapePiecesArgs, TileKinds, TileLines, scan_tiles,
};
use warpath_shared::tree::brackets::{Closed, Top};
use warpath_shared::tree::outline::{STRETCH_WORDS, StretchSum, TapeWord};
use warpath_shared::units::{BLOCK_THREADS, SCAN_TILE, TILE_BYTES, WORD_BYTES};
use warpath_shared::view::{View, ViewMut};
use warpath_tests::emulated::{Emulated, HostBuffer, HostDownload};
use warpath_tests::random::Rng;
use warpath_tests::{bitmaps, data, fsst, fsst_match, leaves, twigs, xml};

/// The emulator, and the names of the kernels that ran.
#[derive(Default)]
struct Recording {
    emulated: Emulated,
    ran: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Accelerator for Recording {
    type Buffer<T: Plain> = HostBuffer<T>;
    type Download<'a> = HostDownload<'a>;

    fn queue(&self) -> Result<Self, Error> {
        Ok(Self { emulated: self.emulated.queue()?, ran: self.ran.clone() })
    }
    fn host_buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.emulated.host_buffer(len)
    }
    fn kept_memory(&self, len: usize) -> Result<Buffer, Error> {
        self.emulated.kept_memory(len)
    }
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
    unsafe fn upload_later<T: Plain>(
        &self,
        buffer: &mut HostBuffer<T>,
        at: usize,
        from: &[T],
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract is the same.
        unsafe { self.emulated.upload_later(buffer, at, from) }
    }
    fn wait(&self) -> Result<(), Error> {
        self.emulated.wait()
    }
    fn to_download<'a, T: Plain>(
        &self,
        buffer: &'a HostBuffer<T>,
        at: usize,
        to: &'a mut [T],
    ) -> Result<HostDownload<'a>, Error> {
        self.emulated.to_download(buffer, at, to)
    }
    fn download_all(&self, downloads: Vec<HostDownload<'_>>) -> Result<(), Error> {
        self.emulated.download_all(downloads)
    }
    fn view<'a, T: Plain>(&self, buffer: &'a HostBuffer<T>, len: usize) -> View<'a, T> {
        self.emulated.view(buffer, len)
    }
    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut HostBuffer<T>, len: usize) -> ViewMut<'a, T> {
        self.emulated.view_mut(buffer, len)
    }
    fn bytes_of<T: Plain>(&self, buffer: HostBuffer<T>) -> HostBuffer<u8> {
        self.emulated.bytes_of(buffer)
    }
    fn copy(
        &self,
        to: &mut HostBuffer<u8>,
        at: usize,
        from: &HostBuffer<u8>,
        len: usize,
    ) -> Result<(), Error> {
        self.emulated.copy(to, at, from, len)
    }
    fn address(&self, buffer: &HostBuffer<u8>) -> u64 {
        self.emulated.address(buffer)
    }
    fn arrow_device(&self) -> ArrowDevice {
        self.emulated.arrow_device()
    }
    fn sync_event(&self) -> Result<Option<SyncEvent>, Error> {
        self.emulated.sync_event()
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
    let want = Want::default().matches(true).records(true);
    for path in ["$.user.lang", "$.user[*]"] {
        let program = Program::new(&[Query::compile(path)?])?;
        pipeline.answer(data::file("people.ndjson"), &program, want)?;
        pipeline.answer(b"{\"loose\" : 1}\n", &program, want)?;
        for form in [TextForm::Json, TextForm::Raw] {
            pipeline.answer(data::file("people.ndjson"), &program, Want::default().text(form))?;
        }
        let schema = Schema::new(&[(Query::compile(path)?, ColumnType::Json)])?;
        let want = Want::default().columns(schema.width());
        pipeline.answer(data::file("people.ndjson"), schema.program(), want)?;
    }
    pipeline.strict_faults(data::file("people.ndjson"))?;
    for path in ["$..id", "$..*", "$[?@ > 1]"] {
        pipeline.answer(data::file("people.ndjson"), &Program::new(&[Query::compile(path)?])?, want)?;
    }
    pipeline.strict_faults(data::file("people.ndjson"))?;
    let device = pipeline.device();
    let text: Vec<u8> = (0..2 * TILE_BYTES).map(|i| (i * 7 % 251) as u8).collect();
    let (mut from, mut to, mut copied) =
        (device.alloc::<u8>(text.len())?, device.alloc::<u8>(text.len())?, vec![0; text.len()]);
    device.upload(&mut from, 0, &text)?;
    let args = Copy16Args { from: device.view(&from, text.len()), to: device.view_mut(&mut to, text.len()) };
    // SAFETY: the views are of this device's buffers, which are borrowed until the launch has ended.
    unsafe { device.launch::<Copy16>(&args) }?;
    device.download(&to, 0, &mut copied)?;
    assert!(copied == text, "the copy differs");

    // Bitmaps, leaves, compressed strings and twigs have stages of their own.
    let mut bitmaps = BitmapStage::new(pipeline.device().queue()?);
    bitmaps::suite(&mut bitmaps, 3, 4, 5000)?;
    fsst_match::suite(pipeline.device(), 4, 3, 1000)?;
    fsst::suite(&mut FsstStage::new(pipeline.device().queue()?), 4, 2)?;
    leaves::suite(pipeline.device(), 4, 4, 300)?;
    twigs::suite(pipeline.device(), 4, 4, (10, 3))?;
    xml::suite(pipeline.device(), 4, 1, (10, 20))?;

    let ran: Vec<&str> =
        pipeline.device().ran.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
    let mut table: Vec<&str> = KERNELS.iter().chain(BENCH_KERNELS).map(|(kernel, _)| *kernel).collect();
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

    let (mut bits, mut words, mut sums) = ([0u32; 1], [0u32; STATUS_WORDS], [KindWrites::default(); 2]);
    let (kinds, first_lines) = ([TileKinds::default(); 300], [0u32; 300]);
    let (aggregate, inclusive) = sums.split_at_mut(1);
    // SAFETY: no kernel runs.
    let args = unsafe {
        KindCheckArgs {
            kinds: View::from_slice(&kinds),
            first_lines: View::from_slice(&first_lines),
            look_back: LookBack {
                status: ViewMut::from_raw(status.as_mut_ptr(), 3),
                aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), 1),
                inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), 1),
            },
            faulty: FaultyLines {
                bits: ViewMut::from_raw(bits.as_mut_ptr(), 1),
                status: ViewMut::from_raw(words.as_mut_ptr(), STATUS_WORDS),
            },
        }
    };
    let message = refusal::<KindCheck>(&args);
    assert_eq!(message, "launch of `kind_check`: aggregate = scan tiles does not hold (1 and 2)");
    let few = View::from_slice(&first_lines[..299]);
    let message = refusal::<KindCheck>(&KindCheckArgs { first_lines: few, ..args });
    assert_eq!(message, "launch of `kind_check`: first lines = kinds does not hold (299 and 300)");

    let text = vec![0u8; 2 * TILE_BYTES];
    let mut states = [LineSummary::default(); 2];
    // SAFETY: no kernel runs.
    let args = unsafe {
        LineStatesArgs {
            text: View::from_slice(&text),
            states: ViewMut::from_raw(states.as_mut_ptr(), 1),
            status: ViewMut::from_raw(words.as_mut_ptr(), STATUS_WORDS),
        }
    };
    assert_eq!(
        refusal::<LineStates>(&args),
        format!(
            "launch of `line_states`: text = tiles × tile size does not hold ({} and {TILE_BYTES})",
            2 * TILE_BYTES
        )
    );
    let args = LineStatesArgs { text: View::from_slice(&text[..100]), ..args };
    assert_eq!(
        refusal::<LineStates>(&args),
        format!("launch of `line_states`: text ≥ a tile does not hold (100 and {TILE_BYTES})")
    );
}

#[test]
fn sizes_of_trees_that_do_not_agree_are_refused_by_name() {
    let words = [TapeWord::default(); 33 * STRETCH_WORDS];
    let (before, depths) = ([StretchSum::default(); 34], [0; 33]);
    let outline = TapeOutline {
        words: View::from_slice(&words),
        before: View::from_slice(&before),
        least: View::from_slice(&depths),
        groups: [View::from_slice(&depths[..2]), View::from_slice(&depths[..1])],
    };
    let (mut status, mut bits) = ([0; STATUS_WORDS], [0u32; 1]);
    let (mut tops, mut closed) = ([Top::NONE; 9], [Closed::default(); 9]);
    // SAFETY: no kernel runs.
    let args = unsafe {
        TapePiecesArgs {
            outline,
            line_starts: View::from_slice(&[0, 7]),
            brackets: TapeBrackets {
                tops: ViewMut::from_raw(tops.as_mut_ptr(), 9),
                closed: ViewMut::from_raw(closed.as_mut_ptr(), 9),
            },
            faulty: FaultyLines {
                bits: ViewMut::from_raw(bits.as_mut_ptr(), 1),
                status: ViewMut::from_raw(status.as_mut_ptr(), STATUS_WORDS),
            },
            status: View::from_slice(&[0]),
            longest: 0,
            piece: 64,
        }
    };
    assert_eq!(TapePieces::check(&args), Ok(()));
    // A thread for each of 33 times 32 words.
    assert_eq!(TapePieces::blocks(&args), 17);
    let message = refusal::<TapePieces>(&TapePiecesArgs { piece: 100, ..args });
    assert_eq!(message, "launch of `tape_pieces`: piece = whole words does not hold (36 and 0)");
    let message = refusal::<TapePieces>(&TapePiecesArgs { piece: 0, ..args });
    assert_eq!(message, "launch of `tape_pieces`: piece ≥ a word does not hold (0 and 64)");
    let few = TapeOutline { before: View::from_slice(&before[..33]), ..outline };
    let message = refusal::<TapePieces>(&TapePiecesArgs { outline: few, ..args });
    assert_eq!(message, "launch of `tape_pieces`: before = stretches + 1 does not hold (33 and 34)");
    let groups = [View::from_slice(&depths[..1]), View::from_slice(&depths[..1])];
    let few = TapeOutline { groups, ..outline };
    let message = refusal::<TapePieces>(&TapePiecesArgs { outline: few, ..args });
    assert_eq!(message, "launch of `tape_pieces`: groups = stretches / 32 does not hold (1 and 2)");
    // SAFETY: no kernel runs.
    let few = TapeBrackets { closed: unsafe { ViewMut::from_raw(closed.as_mut_ptr(), 8) }, ..args.brackets };
    let message = refusal::<TapePieces>(&TapePiecesArgs { brackets: few, ..args });
    assert_eq!(message, "launch of `tape_pieces`: closed = tops does not hold (8 and 9)");
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
            string: View::from_slice(&[0; TILE_BYTES / WORD_BYTES]),
            levels: View::from_slice(&[]),
            escapes: View::from_slice(&[0; TILE_BYTES / WORD_BYTES / 32]),
            line_starts: View::from_slice(&[0, TILE_BYTES as u32 + 1]),
            faulty: View::from_slice(&[0]),
            loose: View::from_slice(&[0]),
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
            let what = format!("out of bounds: 1 element(s) at {TILE_BYTES} of a view of {TILE_BYTES}");
            assert!(message.contains(&what), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// Text of more lines than the host has made room for, in a tile and in all.
#[test]
fn lines_beyond_their_arrays_are_counted_and_not_written() {
    const ROOM: usize = 32;
    const LINES: usize = 40;
    let device = Emulated::default();
    let mut text = vec![0u8; TILE_BYTES];
    text[..2 * LINES].copy_from_slice(&b"1\n".repeat(LINES));
    text[2 * 3] = b'}';
    let words = TILE_BYTES / WORD_BYTES;
    let mut aligned = device.alloc::<u8>(TILE_BYTES).unwrap();
    device.upload(&mut aligned, 0, &text).unwrap();
    let (mut string, mut levels) = (vec![0u64; words], [0u64; 0]);
    let mut escapes = vec![0u32; words / 32];
    let (mut counts, mut ends, mut faults) = ([0u32; 1], [0u32; ROOM], [0u32; 2]);
    let mut tile_loose = [0u32; 2];
    let mut kinds = [TileKinds::default(); 1];
    // SAFETY: each view covers a local array that outlives the launch, and one launch runs.
    let args = unsafe {
        StructureWriteArgs {
            text: device.view(&aligned, TILE_BYTES),
            states: View::from_slice(&[LineSummary::LINE_START]),
            string: ViewMut::from_raw(string.as_mut_ptr(), words),
            levels: ViewMut::from_raw(levels.as_mut_ptr(), 0),
            escapes: ViewMut::from_raw(escapes.as_mut_ptr(), words / 32),
            lines: TileLines {
                counts: ViewMut::from_raw(counts.as_mut_ptr(), 1),
                ends: ViewMut::from_raw(ends.as_mut_ptr(), ROOM),
                faulty: ViewMut::from_raw(faults.as_mut_ptr(), 2),
                loose: ViewMut::from_raw(tile_loose.as_mut_ptr(), 2),
                room: ROOM as u32,
                reserved: 0,
            },
            kinds: ViewMut::from_raw(kinds.as_mut_ptr(), 1),
            len: 2 * LINES as u32,
            level_count: 0,
        }
    };
    // SAFETY: the views are of this process's memory, which is this device's.
    unsafe { device.launch::<StructureWrite>(&args) }.unwrap();
    assert_eq!(counts, [LINES as u32 | FAULTY_TILE | ODD_TILE]);
    assert_eq!(ends, std::array::from_fn(|i| 2 * i as u32 + 2));
    assert_eq!(faults, [1 << 3, 0]);

    let (mut first_lines, mut line_starts, mut bits) = ([7u32; 1], [7u32; 12], [0u32; 1]);
    let (mut status, mut look, mut sums) = ([0u32; STATUS_WORDS], [0u32; 2], [0u64; 2]);
    let (aggregate, inclusive) = sums.split_at_mut(1);
    let mut loose = [0u32; 1];
    // SAFETY: as above.
    let args = unsafe {
        LineIndexArgs {
            counts: View::from_slice(&counts),
            ends: View::from_slice(&ends),
            faults: View::from_slice(&faults),
            tile_loose: View::from_slice(&tile_loose),
            first_lines: ViewMut::from_raw(first_lines.as_mut_ptr(), 1),
            line_starts: ViewMut::from_raw(line_starts.as_mut_ptr(), 12),
            look_back: LookBack {
                status: ViewMut::from_raw(look.as_mut_ptr(), 2),
                aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), 1),
                inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), 1),
            },
            faulty: FaultyLines {
                bits: ViewMut::from_raw(bits.as_mut_ptr(), 1),
                status: ViewMut::from_raw(status.as_mut_ptr(), STATUS_WORDS),
            },
            loose: ViewMut::from_raw(loose.as_mut_ptr(), 1),
            room: ROOM as u32,
            reserved: 0,
        }
    };
    // SAFETY: as above.
    unsafe { device.launch::<LineIndex>(&args) }.unwrap();
    assert_eq!(first_lines, [0]);
    assert_eq!(line_starts, std::array::from_fn(|i| 2 * i as u32));
    assert_eq!(bits, [1 << 3]);
    assert_eq!(status[ANY_FAULTY], 1);
    assert_eq!(status[kernel_status::LINES], LINES as u32);
    assert_eq!(status[MOST_LINES_OF_A_TILE], LINES as u32);
}

/// Scans `input` with as many blocks in flight as a look-back window has tiles, and more. So tiles find only
/// sums of single tiles in the nearest window and look further.
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

/// Looks back from blocks in flight over what tiles amount to, all the way to a line's start.
#[test]
fn lines_are_looked_back_for_beyond_one_window() {
    let rng = &mut Rng::new(41);
    let len = 40 * SCAN_TILE + 13;
    // Few have a newline, so that more than the last tile counts.
    let summaries: Vec<LineSummary> = (0..len)
        .map(|_| {
            let newline = rng.below(3000) == 0;
            let word: [u8; WORD_BYTES] = std::array::from_fn(|i| match i {
                0 if newline => b'\n',
                _ => br#"{}[]"\:,x"#[rng.below(9)],
            });
            let word = if rng.below(5) == 0 { [b'\\'; WORD_BYTES] } else { word };
            LineSummary::of_word(&Classes::of(&word))
        })
        .collect();
    let tiles = scan_tiles(len);
    let mut far = [0u32; STATUS_WORDS];
    far[FAR] = 1;
    for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 4 }] {
        let (mut status, mut states) = (vec![0u32; tiles + 1], summaries.clone());
        let mut sums = vec![LineSummary::default(); 2 * tiles];
        let (aggregate, inclusive) = sums.split_at_mut(tiles);
        // SAFETY: the arrays outlive the launch, and nothing else touches them until it has ended.
        let args = unsafe {
            LineScanArgs {
                states: ViewMut::from_raw(states.as_mut_ptr(), len),
                look_back: LookBack {
                    status: ViewMut::from_raw(status.as_mut_ptr(), status.len()),
                    aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), tiles),
                    inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), tiles),
                },
                status: View::from_slice(&far),
            }
        };
        let in_flight =
            Launch::new(tiles as u32, BLOCK_THREADS as u32).resident_blocks(40).schedule(schedule);
        // SAFETY: launched as the kernel's shape says, with sizes that agree.
        launch(&in_flight.stack_bytes(64 << 10), "line_scan", &|| unsafe { kernel::line_scan(args) })
            .unwrap();
        let mut sum = LineSummary::default();
        for (i, (tile, got)) in summaries.iter().zip(&states).enumerate() {
            sum = sum.combine(*tile);
            assert_eq!(
                (got.state(), got.newlines()),
                (sum.state(), sum.newlines()),
                "{schedule:?}: tile {i}"
            );
        }
    }
}

/// Kinds that are held against what tiles wrote long before.
#[test]
fn kinds_are_looked_back_for_beyond_one_window() {
    let rng = &mut Rng::new(42);
    let len = 40 * SCAN_TILE + 13;
    // Each level is written seldom, and often long before.
    let kinds: Vec<TileKinds> = (0..len)
        .map(|_| {
            let mask = if rng.below(400) == 0 { 1 << rng.below(32) } else { 0 };
            let writes = KindWrites { mask, value: rng.next_u64() as u32 & mask };
            let reads = KindReads { mask: 1 << rng.below(32), value: 0 };
            TileKinds { writes, reads }
        })
        .collect();
    let first_lines: Vec<u32> = (0..len as u32).collect();
    let tiles = scan_tiles(len);
    let mut want = vec![0u32; len.div_ceil(32)];
    let mut before = KindWrites::default();
    for (line, tile) in kinds.iter().enumerate() {
        if before.contradicts(tile.reads) {
            want[line / 32] |= 1 << (line % 32);
        }
        before = before.combine(tile.writes);
    }
    assert!(want.iter().any(|bits| *bits != 0));
    for schedule in [Schedule::InOrder, Schedule::Reverse, Schedule::Shuffled { seed: 4 }] {
        let (mut status, mut bits, mut any) =
            (vec![0u32; tiles + 1], vec![0u32; want.len()], [0u32; STATUS_WORDS]);
        let mut sums = vec![KindWrites::default(); 2 * tiles];
        let (aggregate, inclusive) = sums.split_at_mut(tiles);
        // SAFETY: the arrays outlive the launch, and nothing else touches them until it has ended.
        let args = unsafe {
            KindCheckArgs {
                kinds: View::from_slice(&kinds),
                first_lines: View::from_slice(&first_lines),
                look_back: LookBack {
                    status: ViewMut::from_raw(status.as_mut_ptr(), status.len()),
                    aggregate: ViewMut::from_raw(aggregate.as_mut_ptr(), tiles),
                    inclusive: ViewMut::from_raw(inclusive.as_mut_ptr(), tiles),
                },
                faulty: FaultyLines {
                    bits: ViewMut::from_raw(bits.as_mut_ptr(), bits.len()),
                    status: ViewMut::from_raw(any.as_mut_ptr(), STATUS_WORDS),
                },
            }
        };
        let in_flight =
            Launch::new(tiles as u32, BLOCK_THREADS as u32).resident_blocks(40).schedule(schedule);
        // SAFETY: launched as the kernel's shape says, with sizes that agree.
        launch(&in_flight.stack_bytes(64 << 10), "kind_check", &|| unsafe { kernel::kind_check(args) })
            .unwrap();
        assert_eq!(bits, want, "{schedule:?}");
        assert_eq!(any[ANY_FAULTY], 1);
    }
}
