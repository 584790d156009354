//! Bitmap indexes on an emulated device: it builds them, and evaluates over the bitmaps that it keeps. All
//! results are compared with the CPU's.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use warpath::bitmap::{BitmapEngine, BitmapIndex, Built, ColumnSpec, Plan, build};
use warpath::{DeviceChoice, Engine, Error};
use warpath_core::wah::Bitmap;
use warpath_device::{BitmapStage, Pipeline};
use warpath_exec::bitmap::build::{BitmapMaker, bitmaps_of, build_column, build_column_by};
use warpath_store::bitmap::value::ColumnValues;
use warpath_tests::bitmaps::index::{check_answer, check_maker, check_makers, check_questions, index};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;

/// Returns the number of launches that made bitmaps from bins, since the previous call.
fn groups(device: &Emulated) -> u64 {
    device.take_work().0.get("bin_words").copied().unwrap_or_default()
}

// --- made by a device --------------------------------------------------------------------------------------

#[test]
fn bitmaps_of_a_device_are_those_of_the_cpu() {
    check_makers(&Emulated::default(), &mut Rng::new(1), 30_000).unwrap();
}

/// A device makes the columns that have rows and not too many bins.
#[test]
fn a_device_makes_what_it_is_asked_for() {
    let device = Emulated::default();
    let mut maker = BitmapMaker::on(Box::new(BitmapStage::new(device.clone())));
    let rng = &mut Rng::new(2);
    for (rows, values, made) in [(0, 1, 0), (1, 1, 1), (64, 1, 1), (9000, 4095, 1), (9000, 4096, 0)] {
        check_maker(&mut maker, rng, rows, values).unwrap();
        assert_eq!(groups(&device), made, "{rows} rows of {values} values");
    }
    let rows: Vec<i64> = (0..100).collect();
    let specs = "distinct".parse().unwrap();
    let before = maker.made();
    build_column_by(&mut maker, "n", "n", ColumnValues::ints(rows), &specs).unwrap();
    let made = maker.made();
    assert_eq!((made.by_device - before.by_device, made.by_cpu - before.by_cpu), (100, 0));
    // Counted above: a column of 4,097 bins, and one of no rows, which has no bin.
    assert_eq!(before.by_cpu, 4097);
    assert_eq!(maker.name(), "emulated");
    assert_eq!(BitmapMaker::cpu().name(), "cpu");
}

/// A device makes as many bitmaps at a time as its memory holds, for every width of numbers.
#[test]
fn bins_are_made_in_groups() {
    let rng = &mut Rng::new(3);
    let numbers: Vec<u32> = (0..5000).map(|_| rng.below(20_000) as u32).collect();
    let want = bitmaps_of(&numbers, 20_000);
    let device = Emulated::default();
    assert_eq!(BitmapStage::new(device.clone()).bitmaps_of(&numbers, 20_000).unwrap(), want);
    assert_eq!(groups(&device), 1);

    let numbers: Vec<u16> = numbers.iter().map(|number| (number % 300) as u16).collect();
    let want = bitmaps_of(&numbers, 300);
    // 80 chunks are 640 bytes a bin.
    for (memory, least) in [(1 << 20, 2), (256 << 10, 6)] {
        let device = Emulated::with_memory(memory);
        assert_eq!(BitmapStage::new(device.clone()).bitmaps_of(&numbers, 300).unwrap(), want);
        let groups = groups(&device);
        assert!(groups >= least, "{groups} groups in {memory} bytes");
    }
}

/// Bin numbers that fill several pieces of pinned memory.
#[test]
fn many_rows_are_copied_in_pieces() {
    let rng = &mut Rng::new(4);
    let numbers: Vec<u8> = (0..3_000_000 / 64).flat_map(|_| [rng.below(3) as u8; 64]).collect();
    let device = Emulated::default();
    let got = BitmapStage::new(device.clone()).bitmaps_of(&numbers, 3).unwrap();
    assert_eq!(got, bitmaps_of(&numbers, 3));
    assert_eq!(device.take_work().1, 4 << 20, "the largest copy is of one piece");
}

/// A device that has no room is an error, and the CPU does not do it instead.
#[test]
fn a_device_without_room_is_an_error() {
    let mut maker = BitmapMaker::on(Box::new(BitmapStage::new(Emulated::with_memory(20_000))));
    let error = check_maker(&mut maker, &mut Rng::new(5), 20_000, 40).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(Error::Device(_))), "{error}");
}

/// A failed copy ends the threads that fill pieces, and the next result is right.
#[test]
fn a_copy_that_fails_is_an_error_and_no_more() {
    let rng = &mut Rng::new(6);
    let numbers: Vec<u8> = (0..6_000_000 / 64).flat_map(|_| [rng.below(2) as u8; 64]).collect();
    let device = Emulated::default();
    let mut stage = BitmapStage::new(device.clone());
    for left in [0, 1, 4] {
        device.fail_uploads_after(left);
        assert!(matches!(stage.bitmaps_of(&numbers, 2), Err(Error::Device(_))), "{left}");
    }
    device.fail_uploads_after(u64::MAX);
    assert_eq!(stage.bitmaps_of(&numbers[..1000], 2).unwrap(), bitmaps_of(&numbers[..1000], 2));
}

fn ndjson(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("lines.ndjson");
    let rng = &mut Rng::new(7);
    let line = |at: usize| match at % 50 {
        7 => "\n".to_owned(),
        _ => format!("{{\"n\": {}, \"lang\": \"{}\"}}\n", rng.below(900), ["en", "de", "ja"][at * at % 3]),
    };
    std::fs::write(&path, (0..3000).map(line).collect::<String>()).unwrap();
    path
}

/// The backend that evaluates an engine's queries also makes the bitmaps.
#[test]
fn an_engine_of_a_device_builds_with_it() {
    let folder = TempDir::new().unwrap();
    let path = ndjson(folder.path());
    let specs = [ColumnSpec::new("n", "$.n"), ColumnSpec::new("lang", "$.lang")];
    let cpu = Engine::builder().device(DeviceChoice::Cpu).build().unwrap();
    let want = build(&cpu, &path, &specs).unwrap();
    let device = Emulated::default();
    let pipeline = Arc::new(Pipeline::new(device.clone()).unwrap());
    let engine = Engine::builder().backend(pipeline).build().unwrap();
    assert_eq!(build(&engine, &path, &specs).unwrap(), want);
    assert_eq!(groups(&device), 2);
}

// --- evaluated on a device ---------------------------------------------------------------------------------

/// Bytes of a bitmap on a device.
fn bytes(bitmap: &Bitmap<'_>) -> u64 {
    8 * (bitmap.wah.words().len() + bitmap.tiles.len() + 1) as u64
}

/// An index of one column, each of whose values from 0 to 19 has a bin.
fn of_distinct(rows: usize, seed: u64) -> BitmapIndex {
    let rng = &mut Rng::new(seed);
    let values = ColumnValues::ints((0..rows).map(|_| rng.below(20) as i64).collect());
    let column = build_column("n", "n", values, &"distinct".parse().unwrap()).unwrap();
    BitmapIndex::from_built(Built { rows: rows as u64, columns: vec![column], ..Built::default() }).unwrap()
}

/// Evaluates an expression. Returns the bytes that went to the device, without those of the program.
fn uploaded(engine: &mut BitmapEngine, device: &Emulated, index: &BitmapIndex, expression: &str) -> u64 {
    let plan = Plan::of(index, &expression.parse().unwrap(), false).unwrap();
    let want = BitmapEngine::cpu().answer(index, &plan, true).unwrap();
    let _ = device.take_uploaded();
    assert_eq!(engine.answer(index, &plan, true).unwrap(), want, "{expression}");
    let bitmaps = device.take_uploaded();
    // An instruction takes 12 bytes, and there is one a bitmap at most beside those of the plan.
    let program = 12 * (plan.program.len() + plan.bitmaps.len()) as u64;
    if bitmaps <= program { 0 } else { bitmaps - bitmaps.min(12 * plan.program.len() as u64) }
}

fn bytes_of(index: &BitmapIndex, bins: impl IntoIterator<Item = usize>) -> u64 {
    bins.into_iter().map(|bin| bytes(&index.bitmap(0, bin).unwrap())).sum()
}

#[test]
fn bitmaps_that_are_on_a_device_are_not_copied_again() {
    let (device, index) = (Emulated::default(), of_distinct(20_000, 1));
    let mut engine = BitmapEngine::on(device.clone());
    assert_eq!(uploaded(&mut engine, &device, &index, "n in (3, 5, 7)"), bytes_of(&index, [3, 5, 7]));
    for same in ["n in (3, 5, 7)", "n in (7, 3)", "n = 5", "n = 3 or n = 7", "not n = 5"] {
        assert_eq!(uploaded(&mut engine, &device, &index.clone(), same), 0, "{same}");
    }
    // Only new bitmaps are copied. Their slots come after the others, so the program has other runs than the
    // plan.
    let more = uploaded(&mut engine, &device, &index, "n in (2, 3, 4, 5, 6, 7)");
    assert!(more.abs_diff(bytes_of(&index, [2, 4, 6])) <= 12 * 8, "{more}");
    assert_eq!(uploaded(&mut engine, &device, &index, "n between 3 and 5"), 0);
    let used = device.used();
    assert!(uploaded(&mut engine, &device, &index, "n in (0, 1, 8, 9, 10, 11, 12, 13)") > 0);
    assert_eq!(device.used(), used, "there was room for all of the index");
}

#[test]
fn bitmaps_of_another_index_are_copied_again() {
    let device = Emulated::default();
    let (one, two) = (of_distinct(20_000, 1), of_distinct(20_000, 2));
    let mut engine = BitmapEngine::on(device.clone());
    for _ in 0..3 {
        for index in [&one, &two] {
            assert_eq!(uploaded(&mut engine, &device, index, "n in (3, 5)"), bytes_of(index, [3, 5]));
            assert_eq!(uploaded(&mut engine, &device, index, "n in (3, 5)"), 0);
        }
    }
    // The same file, mapped twice, is two indexes.
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(one.bytes()).unwrap();
    let open = || BitmapIndex::in_file("one", &file, 0..one.bytes().len() as u64).unwrap();
    let (first, second) = (open(), open());
    assert!(uploaded(&mut engine, &device, &first, "n = 3") > 0);
    assert!(uploaded(&mut engine, &device, &second, "n = 3") > 0);
    // Dropped indexes leave their memory to others.
    for seed in 0..50 {
        let rows = 20_000 - seed as usize % 3;
        assert!(uploaded(&mut engine, &device, &of_distinct(rows, seed), "n in (1, 2)") > 0, "{seed}");
    }
}

#[test]
fn bitmaps_beyond_the_memory_that_they_may_take_go() {
    let (device, index) = (Emulated::default(), of_distinct(200_000, 1));
    let all = bytes_of(&index, 0..20);
    let mut engine = BitmapEngine::on(device.clone()).with_device_memory(all / 2);
    let ask = |engine: &mut BitmapEngine, expression| uploaded(engine, &device, &index, expression);
    assert_eq!(ask(&mut engine, "n in (0, 1)"), bytes_of(&index, [0, 1]));
    assert!(ask(&mut engine, "n in (2, 3, 4, 5)") > 0);
    assert_eq!(ask(&mut engine, "n in (0, 5)"), 0);
    let used = device.used();
    assert!(used < all, "{used} of {all} bytes");
    // No room for these beside the others, so all of them go, and come again.
    assert_eq!(ask(&mut engine, "n in (6, 7, 8, 9, 10)"), bytes_of(&index, 6..11));
    assert!(ask(&mut engine, "n in (0, 1, 2)") > 0);
    assert_eq!(device.used(), used);
    // More than may stay, in one question.
    for _ in 0..2 {
        ask(
            &mut engine,
            "n in (0, 2, 4, 6, 8, 10, 12, 14, 16, 18) or not n in (1, 3, 5, 7, 9, 11, 13, 15, 17)",
        );
    }
    let mut none = BitmapEngine::on(device.clone()).with_device_memory(0).with_threads(1);
    for expression in ["n = 1", "n in (1, 2, 3)", "n = 1", "n >= 4"] {
        ask(&mut none, expression);
    }
}

#[test]
fn an_index_that_is_let_go_is_loaded_again() {
    let (device, index) = (Emulated::default(), of_distinct(20_000, 1));
    let mut engine = BitmapEngine::on(device.clone());
    for _ in 0..2 {
        assert_eq!(uploaded(&mut engine, &device, &index, "n = 3"), bytes_of(&index, [3]));
        assert_eq!(uploaded(&mut engine, &device, &index, "n = 3"), 0);
        engine.forget();
    }
    BitmapEngine::cpu().forget();
}

/// An expression that fails leaves no slot that a later one takes for a bitmap.
#[test]
fn questions_that_fail_are_forgotten() {
    let (device, index) = (Emulated::default(), of_distinct(20_000, 1));
    let mut engine = BitmapEngine::on(device.clone());
    let plan = Plan::of(&index, &"n in (1, 2, 3)".parse().unwrap(), false).unwrap();
    for left in [0, 1, 2, 3] {
        device.fail_uploads_after(left);
        assert!(matches!(engine.answer(&index, &plan, true), Err(Error::Device(_))), "{left}");
    }
    device.fail_uploads_after(u64::MAX);
    check_answer(&mut engine, &index, "n in (1, 2, 3)").unwrap();
    for left in [0, 1, 2, 3] {
        device.fail_uploads_after(left);
        let plan = Plan::of(&index, &"n in (3, 4, 5)".parse().unwrap(), false).unwrap();
        assert!(matches!(engine.answer(&index, &plan, true), Err(Error::Device(_))), "{left}");
    }
    device.fail_uploads_after(u64::MAX);
    check_answer(&mut engine, &index, "n in (3, 4, 5)").unwrap();
    check_answer(&mut engine, &index, "n in (1, 2, 3)").unwrap();
    let other = index_of(7);
    check_answer(&mut engine, &other, "b >= 100 and a in (1, 2)").unwrap();
}

fn index_of(seed: u64) -> BitmapIndex {
    index(&mut Rng::new(seed), 3000).unwrap()
}

#[test]
fn questions_in_turn_have_the_answers_of_the_cpu() {
    let (device, rng) = (Emulated::default(), &mut Rng::new(8));
    for bytes in [0, 10_000, 30_000, 1 << 30] {
        check_questions(&device, rng, (12, 9000), bytes).unwrap();
    }
}
