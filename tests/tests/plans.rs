//! Plans: with indexes and without them, results are the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, ensure};
use warpath::bitmap::{ColumnSpec, Kind};
use warpath::plan::Reading;
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath::{
    DEFAULT_LEVELS, Engine, EngineBuilder, Error, Format, IndexFile, IndexSpec, Input, OnError, Predicate,
    Program, Query, Source, Want,
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

/// A file of lines, with an index that has columns, and one that has levels alone.
struct Case {
    _folder: tempfile::TempDir,
    input: PathBuf,
    columns: IndexFile,
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
        let text = lines(rng, count);
        Self::of(rng, &text)
    }

    fn of(rng: &mut Rng, text: &[u8]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let input = folder.path().join("log.ndjson");
        fs::write(&input, text)?;
        let kinds = [None, None, Some(Kind::Int), Some(Kind::Float), Some(Kind::Text), Some(Kind::Time)];
        let mut specs = Vec::new();
        for (name, path) in [("a", "$.a"), ("b", "$['b']"), ("c", "$.c"), ("again", "$.a")] {
            let mut spec = ColumnSpec::new(name, path);
            spec.kind = kinds[rng.below(kinds.len())];
            spec.bins = ["quantiles:3", "distinct", "quantiles:20"][rng.below(3)].parse()?;
            specs.push(spec);
        }
        let engine = Engine::builder().backend(Arc::new(Cpu)).on_error(OnError::Skip).build()?;
        let levels = IndexFile::build(&engine, &input, DEFAULT_LEVELS)?;
        // Its file is replaced, and stays open.
        let engine = engine_of(1 + rng.below(2_000))?;
        let columns = IndexFile::build_as(&engine, &input, &IndexSpec::new(0).with_columns(specs))?;
        Ok(Self { _folder: folder, input, columns, levels })
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

fn engine_of(size: usize) -> Result<Engine, Error> {
    engine(&(Arc::new(Cpu) as _), size).on_error(OnError::Skip).build()
}

/// An engine that uses no index that it was not given.
fn engine(backend: &Arc<dyn Backend>, size: usize) -> EngineBuilder {
    Engine::builder().backend(backend.clone()).partition_size(size).workers(2).find_indexes(false)
}

/// The number of records and of malformed ones, or the error.
fn count(input: Input<'_>) -> Result<Result<(u64, u64), String>> {
    let mut answers = input.answers(Program::new(&[Query::compile("$")?])?, Want::new());
    let mut count = Ok(0);
    for batch in &mut answers {
        match batch {
            Ok(batch) => count = count.map(|count| count + batch.count(0)),
            Err(failed) => count = Err(failed.to_string()),
        }
    }
    Ok(count.map(|count| (count, answers.stats().skipped)))
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
        let (found, reading, read) = results(open()?.with_index(&case.columns)?, path)?;
        ensure!(found == want, "{text}: {path}, {reading:?}\n{found:#?}\n{want:#?}");
        pruned += usize::from(read < lines);
        // Numbers of records need not read what the columns decide.
        let (found, want_count) = (count(open()?.with_index(&case.columns)?)?, count(open()?)?);
        ensure!(found == want_count, "{text}: {found:?}, and not {want_count:?}");
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
            let (found, ..) = results(input().with_index(&case.columns)?, "$.id")?;
            ensure!(found == want, "{}: {range:?}\n{found:#?}\n{want:#?}", predicate.text());
        }
    }
    Ok(())
}

fn spec(name: &str, path: &str) -> IndexSpec {
    IndexSpec::new(1).with_columns(vec![ColumnSpec::new(name, path)])
}

/// A log with an index of `$.status` beside it.
fn log() -> Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("log.ndjson");
    let line = |number: usize| {
        format!("{{\"status\":{},\"id\":{number}}}\n", if number.is_multiple_of(500) { 503 } else { 200 })
    };
    fs::write(&input, (0..5000).map(line).collect::<String>())?;
    let engine = Engine::builder().build()?;
    IndexFile::build_as(&engine, &input, &spec("code", "$.status"))?;
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
    let (_folder, input) = log()?;
    for condition in ["$.status >= 500", "code >= 500", "$['status'] == 503 && $.id >= 0"] {
        ensure!(ask(&engine, &input, condition)? == (10, 10, vec![]), "{condition}");
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
    // Numbers of records are known without a line.
    for condition in ["$.status >= 500", "code >= 500", "$.status < 500"] {
        let predicate = Predicate::parse(condition)?;
        let program = Program::new(&[Query::compile("$")?])?;
        let mut answers = engine.open(&input)?.matching(&predicate).answers(program, Want::new());
        let mut count = 0;
        for batch in &mut answers {
            count += batch?.count(0);
        }
        let want = if condition == "$.status < 500" { 4990 } else { 10 };
        ensure!((count, answers.stats().lines) == (want, 0), "{condition}: {count}");
    }
    Ok(())
}

/// A file that has grown: the columns serve for the lines that they have, and all others are read. The file
/// ended within a line, or between two.
#[test]
fn columns_of_files_that_have_grown() -> Result<()> {
    let (mut rng, cpu, device) = (Rng::new(77), Arc::new(Cpu) as Arc<dyn Backend>, device());
    let mut pruned = 0;
    for seed in 0..50 {
        let (backend, lengths, rounds) =
            if seed < 44 { (&cpu, [2, 64, 200], 12) } else { (&device, [2, 40, 90], 3) };
        let len = lengths[seed % 3] + rng.below(30);
        let text = lines(&mut rng, len);
        let mut cut = rng.below(text.len() + 1);
        if rng.below(2) == 0 {
            cut += text[cut..].iter().position(|byte| *byte == b'\n').map_or(0, |at| at + rng.below(2));
        }
        let case = Case::of(&mut rng, &text[..cut])?;
        fs::write(&case.input, &text)?;
        for _ in 0..rounds {
            let condition = condition(&mut rng, 2);
            let predicate = Predicate::parse(&condition)?;
            let on_error = [OnError::Skip, OnError::Fail][rng.below(2)];
            let engine = engine(backend, 1 + rng.below(900)).on_error(on_error).build()?;
            let open = || Ok::<_, Error>(engine.open(&case.input)?.matching(&predicate));
            let context = || format!("seed {seed}, {condition}, {on_error:?}, {cut} of {}", text.len());
            for path in ["$.id", "$"] {
                let (want, _, lines) = results(open()?, path)?;
                let (found, _, read) = results(open()?.with_index(&case.columns)?, path)?;
                ensure!(found == want, "{}: {path}\n{found:#?}\n{want:#?}", context());
                pruned += usize::from(read < lines);
            }
            let (found, want) = (count(open()?.with_index(&case.columns)?)?, count(open()?)?);
            ensure!(found == want, "{}: {found:?}, and not {want:?}", context());
            // A part of the file, on either side of its old end.
            let begin = rng.below(text.len() + 1);
            let range = begin as u64..(begin + rng.below(text.len() - begin + 1)) as u64;
            let part =
                || engine.input(vec![Source::Part(case.input.clone(), range.clone())]).matching(&predicate);
            let (want, ..) = results(part(), "$.id")?;
            let (found, ..) = results(part().with_index(&case.columns)?, "$.id")?;
            ensure!(found == want, "{}: {range:?}\n{found:#?}\n{want:#?}", context());
        }
    }
    ensure!(pruned > 200, "{pruned} runs read fewer lines");
    Ok(())
}

/// Lines with numbers and texts, some of which lack one, and are null, blank or malformed.
fn ordered(rng: &mut Rng, count: usize) -> String {
    let line = |number: usize| match rng.below(50) {
        0 => "\n".to_owned(),
        1 => "{\"n\":7,\"s\" \"x\"}\n".to_owned(),
        2 => format!("{{\"n\":null,\"s\":\"x\",\"id\":{number}}}\n"),
        3 => format!("{{\"s\":null,\"id\":{number}}}\n"),
        _ => format!("{{\"n\":{},\"s\":\"{}\",\"id\":{number}}}\n", rng.below(900), "x".repeat(rng.below(9))),
    };
    (0..count).map(line).collect()
}

/// A condition on the order of values, which is true for no line without one. `@` is before each member.
fn order(rng: &mut Rng, depth: usize) -> String {
    if depth > 0 && rng.below(2) == 0 {
        let (left, right) = (order(rng, depth - 1), order(rng, depth - 1));
        return format!("({left} {} {right})", ["&&", "||"][rng.below(2)]);
    }
    let (least, op) = (rng.below(900), rng.pick(&["==", "<", "<=", ">", ">="]));
    match rng.below(4) {
        0 => format!("@n between {least} and {}", least + rng.below(40)),
        1 => format!("@n in ({least}, {}, 7)", rng.below(900)),
        2 => format!("@s {op} '{}'", "x".repeat(rng.below(9))),
        _ => format!("@n {op} {least}"),
    }
}

/// An index beside a file is used unasked: by conditions on paths and on columns, of files and of parts of
/// them.
#[test]
fn indexes_serve_unasked_by_paths_and_by_names() -> Result<()> {
    let mut rng = Rng::new(21);
    for (backend, rounds) in [(Arc::new(Cpu) as Arc<dyn Backend>, 60), (device(), 3)] {
        let folder = tempfile::tempdir()?;
        let input = folder.path().join("log.ndjson");
        fs::write(&input, ordered(&mut rng, 3_000))?;
        let len = input.metadata()?.len();
        ensure!(len > 64 << 10, "no index is searched for if there are {len} bytes");
        let columns = [("n", "$.n"), ("s", "$.s")].map(|(name, path)| ColumnSpec::new(name, path));
        IndexFile::build_as(&engine_of(5_000)?, &input, &IndexSpec::new(0).with_columns(columns.into()))?;
        let mut pruned = 0;
        for _ in 0..rounds {
            let condition = order(&mut rng, 2);
            let by_paths = Predicate::parse(&condition.replace('@', "$."))?;
            let by_names = Predicate::parse(&condition.replace('@', ""))?;
            let engine = |finds| engine(&backend, 9_000).on_error(OnError::Skip).find_indexes(finds).build();
            let (without, finds) = (engine(false)?, engine(true)?);
            let (want, _, lines) = results(without.open(&input)?.matching(&by_paths), "$.id")?;
            let (found, _, read) = results(finds.open(&input)?.matching(&by_paths), "$.id")?;
            ensure!(found == want, "{condition}\n{found:#?}\n{want:#?}");
            pruned += usize::from(read < lines);
            let (found, ..) = results(finds.open(&input)?.matching(&by_names), "$.id")?;
            ensure!(found.matches == want.matches, "{condition}, by names\n{found:#?}\n{want:#?}");
            let begin = rng.below(len as usize) as u64;
            let part = || vec![Source::Part(input.clone(), begin..begin + (len - begin) / 3)];
            let (want, ..) = results(without.input(part()).matching(&by_paths), "$.id")?;
            for (condition, is_named) in [(&by_paths, false), (&by_names, true)] {
                let (found, ..) = results(finds.input(part()).matching(condition), "$.id")?;
                let is_same = if is_named { found.matches == want.matches } else { found == want };
                ensure!(is_same, "{}, from {begin}\n{found:#?}\n{want:#?}", condition.text());
            }
        }
        ensure!(pruned * 2 > rounds, "{pruned} of {rounds} runs read fewer lines");
    }
    Ok(())
}

/// New lines of a file that has grown are read from where they begin, if no old line near them is.
#[test]
fn new_lines_begin_in_a_block_of_old_ones() -> Result<()> {
    let line = |id: usize, a: usize, pad: usize| {
        format!("{{\"id\":{id},\"a\":{a},\"pad\":\"{}\"}}\n", "p".repeat(pad))
    };
    for (old, new) in [(100, 2), (100, 41), (64, 1), (63, 1), (128, 70)] {
        let folder = tempfile::tempdir()?;
        let input = folder.path().join("log.ndjson");
        let text: String = (0..old).map(|id| line(id, id % 5, 1100)).collect();
        fs::write(&input, &text)?;
        let engine = Engine::builder().build()?;
        IndexFile::build_as(&engine, &input, &spec("a", "$.a"))?;
        let more: String = (old..old + new).map(|id| line(id, 7, 3)).collect();
        fs::write(&input, text + &more)?;
        let (count, lines, _) = ask(&engine, &input, "$.a == 7")?;
        ensure!((count, lines) == (new as u64, new as u64), "{old} and {new}: {count} of {lines}");
    }
    Ok(())
}

/// Numbers of records are read where something else than the condition decides.
#[test]
fn numbers_depend_on_conditions_of_matches_and_on_limits() -> Result<()> {
    let (_folder, input) = log()?;
    let engine = Engine::builder().build()?;
    let root = Query::compile("$")?.holding(&Predicate::of_value("@.id < 600")?)?;
    for condition in ["$.status == 503", "code = 503"] {
        let found = engine.open(&input)?.matching(&Predicate::parse(condition)?).count(&root)?;
        ensure!(found == 2, "{condition}: {found}");
    }
    // A long record that the columns exclude.
    let long = format!("{{\"status\":1,\"pad\":\"{}\"}}\n", "p".repeat(3000));
    fs::write(&input, [fs::read(&input)?, long.into_bytes()].concat())?;
    let index = IndexFile::build_as(&engine, &input, &spec("code", "$.status"))?;
    let short = Engine::builder().max_record(1024).build()?;
    let predicate = Predicate::parse("$.status == 503")?;
    let limited = short.open(&input)?.matching(&predicate).count(&Query::compile("$")?);
    ensure!(matches!(limited, Err(Error::Input(_))), "{limited:?}");
    // A selection is of all lines of a file.
    fs::write(&input, [fs::read(&input)?, b"{}\n".to_vec()].concat())?;
    let grown = engine.open(&input)?.only(&index, warpath::bitmap::RowSet::all(5001));
    ensure!(matches!(grown.err(), Some(Error::Plan(_))));
    Ok(())
}

/// The columns of subscriptions have the lines that a filter finds.
#[test]
fn columns_of_subscriptions_are_the_matches_of_a_filter() -> Result<()> {
    let mut rng = Rng::new(8);
    for count in [0, 1, 65, 300] {
        let folder = tempfile::tempdir()?;
        let input = folder.path().join("log.ndjson");
        fs::write(&input, lines(&mut rng, count))?;
        let mut subscriptions = Subscriptions::default();
        for (id, twig) in
            [("a", "$[?@.a == 1]"), ("x", "//b[. = 'x']"), ("none", "//nothing"), ("id", "$.id")]
        {
            subscriptions.add(id, twig)?;
        }
        let engine = engine_of(700)?;
        let columns = IndexSpec::new(1).with_columns(vec![ColumnSpec::new("of a", "$.a")]);
        let columns = columns.with_subscriptions(subscriptions.clone());
        let index = IndexFile::build_as(&engine, &input, &columns)?;
        let standing = Standing::new(subscriptions);
        let (mut want, mut first) = (vec![Vec::new(); 4], 0);
        for filtered in engine.open(&input)?.filter(&standing, Documents::Ndjson) {
            let filtered = filtered?;
            for (line, column) in filtered.pairs() {
                want[*column as usize].push(first + u64::from(*line));
            }
            first += u64::from(filtered.lines());
        }
        for (id, want) in ["a", "x", "none", "id"].iter().zip(&want) {
            let predicate = Predicate::parse(&format!("{id} = true"))?;
            let given = engine.open(&input)?.with_index(&index)?.matching(&predicate);
            let hits = given.query(&Query::compile("$")?)?;
            let found = hits.map(|hit| Ok(hit?.line() - 1)).collect::<Result<Vec<u64>>>()?;
            ensure!(found == *want, "{count} lines, {id}: {found:?}, and not {want:?}");
        }
    }
    Ok(())
}

#[test]
fn indexes_that_do_not_fit_any_more_are_told() -> Result<()> {
    let engine = Engine::builder().build()?;
    let (_folder, input) = log()?;
    let mut text = fs::read(&input)?;
    text.extend_from_slice(b"{\"status\":500,\"id\":-1}\n");
    fs::write(&input, &text)?;
    let (count, lines, unused) = ask(&engine, &input, "$.status >= 500")?;
    ensure!((count, lines) == (11, 11), "{count} of {lines}");
    ensure!(unused.len() == 1 && unused[0].1 && unused[0].0.contains("the file has grown"), "{unused:?}");
    text[10] = b'2';
    fs::write(&input, text)?;
    let (count, lines, unused) = ask(&engine, &input, "$.status >= 500")?;
    ensure!((count, lines) == (10, 5001), "{count} of {lines}");
    ensure!(unused.len() == 1 && unused[0].1 && unused[0].0.contains("another state"), "{unused:?}");
    // A bitmap whose checksum is wrong is found when it is read.
    let (_damaged, log) = log()?;
    let index = IndexFile::path_of(&log);
    let mut bytes = fs::read(&index)?;
    let bins = IndexFile::open(&index)?.bins().context("no columns")?.bytes().to_vec();
    let at = bytes.windows(bins.len()).position(|window| window == bins).context("no section")?;
    (at + 700..at + bins.len()).for_each(|at| bytes[at] ^= 0x55);
    fs::write(&index, bytes)?;
    let (count, lines, unused) = ask(&engine, &log, "$.status >= 500")?;
    ensure!((count, lines) == (10, 5000) && unused.len() == 1 && unused[0].1, "{lines} {unused:?}");
    fs::write(&index, b"no index")?;
    let (count, _, unused) = ask(&engine, &log, "$.status >= 500")?;
    ensure!(count == 10 && unused.len() == 1 && unused[0].1, "{unused:?}");
    Ok(())
}

/// Indexes that cannot serve an input: the text is read, and the plan says why.
#[test]
fn indexes_that_cannot_serve_are_left_out() -> Result<()> {
    let (_folder, input) = log()?;
    let engine = Engine::builder().build()?;
    let index = IndexFile::open(IndexFile::path_of(&input))?;
    let (paths, columns) = (Predicate::parse("$.status >= 500")?, Predicate::parse("code >= 500")?);
    let text: Arc<[u8]> = fs::read(&input)?.into();
    let whys = |input: Input<'_>| -> Result<Vec<String>> {
        let mut hits = input.query(&Query::compile("$.id")?)?;
        ensure!(hits.by_ref().count() == 10);
        Ok(hits.plan().unused.iter().map(|unused| unused.why.clone()).collect())
    };
    let memory = engine.bytes(text.clone()).matching(&paths);
    ensure!(whys(memory.with_index(&index)?)? == ["the input is text in memory"]);
    let several = engine.input(vec![Source::File(input.clone()), Source::Bytes("no".into(), "{}\n".into())]);
    ensure!(whys(several.matching(&paths).with_index(&index)?)? == ["there are several inputs"]);
    let pipe = engine.reader("pipe", std::io::Cursor::new(text.to_vec())).matching(&paths);
    ensure!(whys(pipe.with_index(&index)?)? == ["the input is not a file"]);
    // One level is too few for the member of a member.
    let deep = engine.open(&input)?.with_index(&index)?.query(&Query::compile("$.id.x")?)?;
    ensure!(deep.plan().unused[0].why == "it has 1 level, and the program reads 2");
    // A test of a column needs its index.
    let refused = engine.bytes(text.clone()).matching(&columns).with_index(&index)?;
    let error = refused.count(&Query::compile("$.id")?).err().context("no error")?;
    ensure!(matches!(error, Error::Plan(_)), "{error:?}");
    ensure!(error.to_string().ends_with("is not used: the input is text in memory"), "{error}");
    let document = Engine::builder().format(Format::Json).build()?;
    let refused = document.open(&input)?.matching(&columns).with_index(&index)?;
    let error = refused.count(&Query::compile("$.id")?).err().context("no error")?;
    ensure!(error.to_string().ends_with("the input is one JSON document"), "{error}");
    Ok(())
}

/// A structural index beside the input may be damaged where its directory is not: the text decides.
#[test]
fn a_damaged_index_beside_an_input_changes_no_result() -> Result<()> {
    let (_folder, input) = log()?;
    let engine = Engine::builder().build()?;
    let file = IndexFile::path_of(&input);
    IndexFile::build(&engine, &input, 3)?;
    let mut bytes = fs::read(&file)?;
    // The first line start, in the first section.
    bytes[64] ^= 0x55;
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
    let (_folder, input) = log()?;
    let said = || -> Result<String> {
        let error = ask(&Engine::builder().build()?, &input, "code >= 500").err().context("no error")?;
        Ok(error.to_string())
    };
    fs::write(&input, [fs::read(&input)?, b"{}\n".to_vec()].concat())?;
    let grown = said()?;
    ensure!(grown.starts_with("a test of a column requires an index of the whole file; "), "{grown}");
    fs::write(&input, b"{}\n")?;
    let other = said()?;
    ensure!(
        other.starts_with("a test of a column requires an index that has it; ")
            && other.contains(".log.ndjson.warpath is not used"),
        "{other}"
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
    let index = IndexFile::build_as(&engine, &input, &spec("a", "$.a"))?;
    let predicate = Predicate::parse("$.a == 1 || $.id == 0")?;
    let len = input.metadata()?.len();
    for (begin, end) in [(0, 1), (0, 3), (0, 4), (1, 40), (2, len), (3, len), (4, len), (0, len), (17, 900)] {
        for in_caller in [false, true] {
            let builder = Engine::builder().on_error(OnError::Fail).find_indexes(false).partition_size(300);
            let engine = if in_caller { builder.in_caller() } else { builder }.build()?;
            let part = || engine.input(vec![Source::Part(input.clone(), begin..end)]).matching(&predicate);
            let (want, ..) = results(part(), "$.id")?;
            let (found, ..) = results(part().with_index(&index)?, "$.id")?;
            ensure!(found == want, "{begin}..{end}\n{found:#?}\n{want:#?}");
        }
    }
    Ok(())
}
