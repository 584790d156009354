//! Plans: with indexes and without them, results are the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, ensure};
use warpath::bitmap::{BitmapIndex, ColumnSpec, Kind, build};
use warpath::plan::Reading;
use warpath::{
    DEFAULT_LEVELS, Engine, EngineBuilder, Error, Format, IndexFile, Input, OnError, Predicate, Program,
    Query, Source, Want,
};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_tests::random::Rng;

use crate::common::device;

/// Values of a member, as they are written: of every type, and on both sides of what a column rounds.
static VALUES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    r#"1 2 -3 0.5 1e0 10e-1 2.0 9007199254740992 9007199254740993 1e400 -1e400 0.1
    0.10000000000000000001 -0.0 "" "x" "xy" "\u0078" "é" "🙂" "\ud83d" "x\ud83dz" "�"
    "2024-05-01T00:00:00Z" "2024-05-01" true false null [] {"a":1} [1,2] "\q" 01 nope"#
        .split_whitespace()
        .collect()
});

/// Literals that conditions compare with.
static LITERALS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    r#"1 2 -3 0.5 0.1 9007199254740993 1e400 1.5 "x" "xy" "" "é" "🙂" "�" "x�" "2024-05-01" true
    false null "z""#
        .split_whitespace()
        .collect()
});

/// A file of lines, with its bitmap index and its structural index.
struct Case {
    _folder: tempfile::TempDir,
    input: PathBuf,
    bitmap: BitmapIndex,
    levels: IndexFile,
}

fn lines(rng: &mut Rng, count: usize) -> Vec<u8> {
    let mut text = Vec::new();
    // Values of few types make columns of their types.
    let ranges = [0..14, 14..25, 25..28, 0..VALUES.len()];
    let usual: Vec<_> = (0..3).map(|_| ranges[rng.below(4)].clone()).collect();
    for number in 0..count {
        match rng.below(40) {
            0 => {}
            1 => text.extend_from_slice(b"  "),
            2 => text.extend_from_slice(b"{\"a\":[1}"),
            3 => text.extend_from_slice(b"[1,2]"),
            4 => text.extend_from_slice(b"{\"a\":\"\xff\",\"b\":\"x\xc0\x80\"}"),
            5 => text.extend_from_slice(b"{\"a\":1,\"a\":2,\"b\" \"x\"}"),
            _ => {
                text.push(b'{');
                for (name, usual) in ["a", "b", "c"].iter().zip(&usual) {
                    if rng.below(5) > 0 {
                        let range = if rng.below(12) == 0 { 0..VALUES.len() } else { usual.clone() };
                        let value = VALUES[range.start + rng.below(range.len())];
                        text.extend_from_slice(format!("\"{name}\":{value},").as_bytes());
                    }
                }
                text.extend_from_slice(format!("\"id\":{number}}}").as_bytes());
            }
        }
        text.push(b'\n');
    }
    if rng.below(2) == 0 {
        text.pop();
    }
    text
}

impl Case {
    fn new(rng: &mut Rng, count: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let input = folder.path().join("log.ndjson");
        fs::write(&input, lines(rng, count))?;
        let kinds = [None, None, Some(Kind::Int), Some(Kind::Float), Some(Kind::Text), Some(Kind::Time)];
        let mut specs = Vec::new();
        for (name, path) in [("a", "$.a"), ("b", "$['b']"), ("c", "$.c"), ("again", "$.a")] {
            let mut spec = ColumnSpec::new(name, path);
            spec.kind = kinds[rng.below(kinds.len())];
            spec.bins = ["quantiles:3", "distinct", "quantiles:20"][rng.below(3)].parse()?;
            specs.push(spec);
        }
        let engine = Engine::builder().backend(Arc::new(Cpu)).on_error(OnError::Skip).build()?;
        let (built, _) = build(&engine, &input, &specs)?;
        let bitmap = BitmapIndex::from_built(built)?;
        let levels = IndexFile::build(&engine, &input, DEFAULT_LEVELS)?;
        Ok(Self { _folder: folder, input, bitmap, levels })
    }
}

/// A condition on the members of records.
fn condition(rng: &mut Rng, depth: usize) -> String {
    if depth > 0 && rng.below(2) == 0 {
        let (left, right) = (condition(rng, depth - 1), condition(rng, depth - 1));
        return format!("{}({left} {} {right})", ["", "!"][rng.below(2)], ["&&", "||"][rng.below(2)]);
    }
    let path = rng.pick(&["$.a", "$.a", "$.b", "$.c", "$['a']", "$.id", "$.nothing"]);
    let mut literal = || LITERALS[rng.below(LITERALS.len())];
    let (one, two, three) = (literal(), literal(), literal());
    let op = rng.pick(&["==", "!=", "<", "<=", ">", ">="]);
    match rng.below(9) {
        0 => path.to_owned(),
        1 => format!("!{path}"),
        2 => format!("{path} in ({one}, {two}, {three})"),
        3 => format!("{path} not between {one} and {two}"),
        4 => format!("{path} is {}null", ["", "not "][rng.below(2)]),
        5 => format!("{one} {op} {path}"),
        _ => format!("{path} {op} {one}"),
    }
}

/// All that a caller sees of some results: matches, malformed records, and the error.
#[derive(Debug, Default, PartialEq)]
struct All {
    matches: Vec<(u64, (u64, u64), Vec<u8>)>,
    skipped: Vec<String>,
    error: Option<String>,
    count: u64,
}

fn results(input: Input<'_>, path: &str) -> Result<(All, Reading, u64)> {
    let program = Program::new(&[Query::compile(path)?])?;
    let mut answers = input.answers(program, Want::new().matches(true));
    let mut all = All::default();
    for batch in &mut answers {
        match batch {
            Ok(batch) => {
                for (first, piece) in batch.pieces() {
                    for found in &piece.matches[0] {
                        let line = batch.line(first + u64::from(found.line));
                        let start = batch.offset_of(u64::from(piece.base) + u64::from(found.start));
                        let end = start + u64::from(found.end - found.start);
                        all.matches.push((line, (start, end), batch.match_text(piece, found).to_vec()));
                    }
                }
                all.skipped.extend(batch.skipped().map(|error| error.to_string()));
            }
            Err(error) => all.error = Some(error.to_string()),
        }
    }
    all.count = answers.stats().skipped;
    Ok((all, answers.plan().reading.clone(), answers.stats().lines))
}

fn engine(backend: &Arc<dyn Backend>, size: usize) -> EngineBuilder {
    Engine::builder().backend(backend.clone()).partition_size(size).workers(2)
}

/// Compares results with indexes and without, and counts the runs that read few lines.
fn compare(case: &Case, backend: &Arc<dyn Backend>, rng: &mut Rng, rounds: usize) -> Result<usize> {
    let mut pruned = 0;
    for _ in 0..rounds {
        let text = condition(rng, 2);
        let predicate = Predicate::parse(&text).with_context(|| text.clone())?;
        let on_error = [OnError::Skip, OnError::Fail][rng.below(2)];
        let engine =
            engine(backend, 1 + rng.below(3000)).on_error(on_error).strict(rng.below(8) == 0).build()?;
        let path = rng.pick(&["$.id", "$.a", "$..a", "$"]);
        let open = || Ok::<_, Error>(engine.open(&case.input)?.matching(&predicate));
        let (want, _, lines) = results(open()?, path)?;
        let (found, reading, read) = results(open()?.with_bitmap(&case.bitmap, false), path)?;
        ensure!(found == want, "{text}: {path}, {reading:?}\n{found:#?}\n{want:#?}");
        pruned += usize::from(read < lines);
        let input = open()?.with_index(&case.levels)?.with_bitmap(&case.bitmap, false);
        let (found, ..) = results(input, path)?;
        ensure!(found == want, "{text}: {path}, with levels\n{found:#?}\n{want:#?}");
        let (found, ..) = results(open()?.with_index(&case.levels)?, path)?;
        ensure!(found == want, "{text}: {path}, with levels alone\n{found:#?}\n{want:#?}");
    }
    Ok(pruned)
}

#[test]
fn columns_of_paths_change_no_result() -> Result<()> {
    let mut pruned = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let count = [1, 64, 65, 300][rng.below(4)];
        let case = Case::new(&mut rng, count)?;
        let held = compare(&case, &(Arc::new(Cpu) as _), &mut rng, 25);
        pruned += held.with_context(|| format!("seed {seed}"))?;
    }
    ensure!(pruned > 300, "{pruned} of 1500 runs read fewer lines");
    Ok(())
}

#[test]
fn columns_of_paths_change_no_result_on_a_device() -> Result<()> {
    let device = device();
    for seed in 1000..1004 {
        let mut rng = Rng::new(seed);
        let case = Case::new(&mut rng, 130)?;
        compare(&case, &device, &mut rng, 6).with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}

/// Parts of a file have the lines that begin in them, with an index and without.
#[test]
fn parts_of_a_file_are_served_too() -> Result<()> {
    let mut rng = Rng::new(5);
    for _ in 0..20 {
        let case = Case::new(&mut rng, 200)?;
        let len = case.input.metadata()?.len();
        let engine = engine(&(Arc::new(Cpu) as _), 500).on_error(OnError::Skip).build()?;
        let mut cuts: Vec<u64> = (0..4).map(|_| rng.below(len as usize + 1) as u64).collect();
        cuts.extend([0, len]);
        cuts.sort_unstable();
        let predicate = Predicate::parse(&condition(&mut rng, 1))?;
        for range in cuts.windows(2).map(|pair| pair[0]..pair[1]) {
            let input =
                || engine.input(vec![Source::Part(case.input.clone(), range.clone())]).matching(&predicate);
            let (want, ..) = results(input(), "$.id")?;
            let (found, ..) = results(input().with_bitmap(&case.bitmap, false), "$.id")?;
            ensure!(found == want, "{}: {range:?}\n{found:#?}\n{want:#?}", predicate.text());
        }
    }
    Ok(())
}

/// A log with an index of `$.status` beside it, under one of both names.
fn log(name: &str) -> Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("log.ndjson");
    let line = |number: usize| {
        format!("{{\"status\":{},\"id\":{number}}}\n", if number.is_multiple_of(500) { 503 } else { 200 })
    };
    fs::write(&input, (0..5000).map(line).collect::<String>())?;
    let engine = Engine::builder().build()?;
    let (built, _) = build(&engine, &input, &[ColumnSpec::new("code", "$.status")])?;
    BitmapIndex::from_built(built)?.write(folder.path().join(name))?;
    Ok((folder, input))
}

/// The number of matches and of lines that were read, and the indexes that were not used.
type Asked = (u64, u64, Vec<(String, bool)>);

fn ask(engine: &Engine, input: &Path, condition: &str) -> Result<Asked> {
    let predicate = Predicate::parse(condition)?;
    let mut hits = engine.open(input)?.matching(&predicate).query(&Query::compile("$.id")?)?;
    let count = hits.by_ref().collect::<Result<Vec<_>, _>>()?.len() as u64;
    let unused = hits.plan().unused.iter().map(|unused| (unused.why.clone(), unused.matters)).collect();
    Ok((count, hits.stats().lines, unused))
}

#[test]
fn indexes_beside_an_input_are_found() -> Result<()> {
    let engine = Engine::builder().build()?;
    for name in ["log.wpb", "log.ndjson.wpb"] {
        let (_folder, input) = log(name)?;
        for condition in ["$.status >= 500", "code >= 500", "$['status'] == 503 && $.id >= 0"] {
            ensure!(ask(&engine, &input, condition)? == (10, 10, vec![]), "{name}: {condition}");
        }
        let no_column = vec![("no column decides a test of the condition".to_owned(), false)];
        ensure!(ask(&engine, &input, "$.id < 10")? == (10, 5000, no_column));
        let without = Engine::builder().find_indexes(false).build()?;
        ensure!(ask(&without, &input, "$.status >= 500")? == (10, 5000, vec![]));
        let nearly_all = vec![("its columns leave nearly all lines".to_owned(), false)];
        ensure!(ask(&engine, &input, "$.status < 500")? == (4990, 5000, nearly_all));
        // Checks of all lines need all lines.
        let strict = Engine::builder().strict(true).build()?;
        let (count, lines, unused) = ask(&strict, &input, "$.status >= 500")?;
        ensure!((count, lines) == (10, 5000) && unused[0].0 == "strict checks are of all lines");
    }
    Ok(())
}

#[test]
fn indexes_that_do_not_fit_any_more_are_told() -> Result<()> {
    let engine = Engine::builder().build()?;
    let (folder, input) = log("log.wpb")?;
    let mut text = fs::read(&input)?;
    text.extend_from_slice(b"{\"status\":500,\"id\":-1}\n");
    fs::write(&input, text)?;
    let (count, lines, unused) = ask(&engine, &input, "$.status >= 500")?;
    ensure!((count, lines) == (11, 5001));
    ensure!(unused.len() == 1 && unused[0].1 && unused[0].0.contains("another state"), "{unused:?}");
    // A bitmap whose checksum is wrong is found when it is read.
    let (damaged, log) = log("log.wpb")?;
    let index = damaged.path().join("log.wpb");
    let mut bytes = fs::read(&index)?;
    let middle = bytes.len() / 2;
    (middle..middle + 64).for_each(|at| bytes[at] ^= 0x55);
    fs::write(&index, bytes)?;
    let (count, lines, unused) = ask(&engine, &log, "$.status >= 500")?;
    ensure!((count, lines) == (10, 5000) && unused.len() == 1 && unused[0].1, "{lines} {unused:?}");
    fs::write(folder.path().join("log.wpb"), b"no index")?;
    let (count, _, unused) = ask(&engine, &input, "$.status >= 500")?;
    ensure!(count == 11 && unused.len() == 1 && unused[0].1, "{unused:?}");
    Ok(())
}

/// Indexes that cannot serve an input: the text is read, and the plan says why.
#[test]
fn indexes_that_cannot_serve_are_left_out() -> Result<()> {
    let (folder, input) = log("other.wpb")?;
    let bitmap = BitmapIndex::open(folder.path().join("other.wpb"))?;
    let engine = Engine::builder().build()?;
    let levels = IndexFile::build(&engine, &input, 1)?;
    let (paths, columns) = (Predicate::parse("$.status >= 500")?, Predicate::parse("code >= 500")?);
    let text: Arc<[u8]> = fs::read(&input)?.into();
    let whys = |input: Input<'_>| -> Result<Vec<String>> {
        let mut hits = input.query(&Query::compile("$.id")?)?;
        ensure!(hits.by_ref().count() == 10);
        Ok(hits.plan().unused.iter().map(|unused| unused.why.clone()).collect())
    };
    let memory = || engine.bytes(text.clone()).matching(&paths);
    ensure!(whys(memory().with_bitmap(&bitmap, false))? == ["the input is text in memory"]);
    let several = engine.input(vec![Source::File(input.clone()), Source::Bytes("no".into(), "{}\n".into())]);
    ensure!(whys(several.matching(&paths).with_bitmap(&bitmap, false))? == ["there are several inputs"]);
    let pipe = engine.reader("pipe", std::io::Cursor::new(text.to_vec())).matching(&paths);
    let pipe = pipe.with_bitmap(&bitmap, false).with_index(&levels)?;
    let whys_of_pipe = whys(pipe)?;
    ensure!(whys_of_pipe.len() == 2 && whys_of_pipe.contains(&"the input is not a file".to_owned()));
    let both = engine.open(&input)?.matching(&paths).with_index(&levels)?.with_bitmap(&bitmap, false);
    ensure!(whys(both)? == ["some lines are read alone, by a bitmap index"]);
    // One level is too few for a condition on a member, and for the member of a member.
    let deep = engine.open(&input)?.with_index(&levels)?.query(&Query::compile("$.id.x")?)?;
    ensure!(deep.plan().unused[0].why == "it has 1 level, and the program reads 2");
    // A test of a column needs its index.
    let refused = engine.bytes(text.clone()).matching(&columns).with_bitmap(&bitmap, false);
    let error = refused.count(&Query::compile("$.id")?).err().context("no error")?;
    ensure!(matches!(error, Error::Plan(_)), "{error:?}");
    ensure!(
        error.to_string()
            == "a test of a column requires one plain file of lines; the input is text in memory"
    );
    let document = Engine::builder().format(Format::Json).build()?;
    let refused = document.open(&input)?.matching(&columns).with_bitmap(&bitmap, false);
    let error = refused.count(&Query::compile("$.id")?).err().context("no error")?;
    ensure!(error.to_string().ends_with("the input is one JSON document"), "{error}");
    Ok(())
}

/// A structural index beside the input may be damaged where its directory is not: the text decides.
#[test]
fn a_damaged_index_beside_an_input_changes_no_result() -> Result<()> {
    let (_folder, input) = log("other.wpb")?;
    let engine = Engine::builder().build()?;
    let file = IndexFile::path_of(&input);
    IndexFile::build(&engine, &input, 3)?;
    let mut bytes = fs::read(&file)?;
    // The first line start.
    bytes[4] ^= 0x55;
    fs::write(&file, bytes)?;
    for path in ["$.id", "$.*", "$..id"] {
        let hits = engine.open(&input)?.query(&Query::compile(path)?)?;
        ensure!(matches!(hits.plan().reading, Reading::Levels { .. }), "{:?}", hits.plan());
        let found = hits.collect::<Result<Vec<_>, _>>()?.len();
        ensure!(found == if path == "$.*" { 10_000 } else { 5000 }, "{path}: {found}");
    }
    // Named, the damage is an error.
    let named = engine.open(&input)?.with_index(&IndexFile::open(&file)?)?;
    ensure!(matches!(named.count(&Query::compile("$.id")?), Err(Error::Index(_))));
    Ok(())
}

#[test]
fn a_test_of_a_column_says_why_its_index_is_not_used() -> Result<()> {
    let (_folder, input) = log("log.wpb")?;
    fs::write(&input, [fs::read(&input)?, b"{}\n".to_vec()].concat())?;
    let error = ask(&Engine::builder().build()?, &input, "code >= 500").err().context("no error")?;
    let said = error.to_string();
    ensure!(
        said.starts_with("a test of a column requires a bitmap index; ")
            && said.contains("log.wpb is not used"),
        "{said}"
    );
    Ok(())
}

/// A part that begins within a byte order mark, or at its end, has not the first line.
#[test]
fn parts_after_a_byte_order_mark_have_their_lines() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("log.ndjson");
    let lines: String =
        (0..200).map(|number| format!("{{\"a\":{},\"id\":{number}}}\n", number % 3)).collect();
    fs::write(&input, format!("\u{feff}{lines}"))?;
    let engine = Engine::builder().on_error(OnError::Skip).build()?;
    let (built, _) = build(&engine, &input, &[ColumnSpec::new("a", "$.a")])?;
    let index = BitmapIndex::from_built(built)?;
    let predicate = Predicate::parse("$.a == 1 || $.id == 0")?;
    let len = input.metadata()?.len();
    for (begin, end) in [(0, 1), (0, 3), (0, 4), (1, 40), (2, len), (3, len), (4, len), (0, len), (17, 900)] {
        for in_caller in [false, true] {
            let builder = Engine::builder().on_error(OnError::Fail).partition_size(300);
            let engine = if in_caller { builder.in_caller() } else { builder }.build()?;
            let part = || engine.input(vec![Source::Part(input.clone(), begin..end)]).matching(&predicate);
            let (want, ..) = results(part(), "$.id")?;
            let (found, ..) = results(part().with_bitmap(&index, false), "$.id")?;
            ensure!(found == want, "{begin}..{end}\n{found:#?}\n{want:#?}");
        }
    }
    Ok(())
}
