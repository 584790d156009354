//! Compares a backend with the oracles. The same functions run under `cargo test`, on the CPU and in the
//! emulator, and in `check` on a GPU.

use anyhow::{Context, Result, bail, ensure};
use warpath::{Program, Query, RowForm, TextForm, Want};
use warpath_answer::answer;
use warpath_answer::answer::Answer;
use warpath_answer::backend::Backend;
use warpath_shared::units::TILE_BYTES;

use crate::data::{BOUNDARY_LINES, FILES, paths_of};
use crate::oracle;
use crate::oracle::query::LineMatch;
use crate::random::{self, Rng};

/// Paths to evaluate over every text outside `tests/data`.
pub const PATHS: [&str; 12] = [
    "$",
    "$.a",
    "$['a','b']",
    "$.*",
    "$[*][*]",
    "$.a.b.c",
    "$[1]",
    "$[-1]",
    "$[::-1]",
    "$[1:3]",
    "$[?@ == 1]",
    "$[?@.a == 'x']",
];

/// Amounts of work. The emulator is a thousand times slower than a card.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of random texts, and their size in bytes.
    pub random: (usize, usize),
    /// Lines move across a tile's edge byte by byte. At every `slide_step`th offset, more paths are
    /// evaluated.
    pub slide_step: usize,
    /// The size in bytes of a text of many tiles.
    pub large: usize,
}

fn show(text: &[u8]) -> String {
    let cut = &text[..text.len().min(400)];
    format!("{} bytes: {}", text.len(), cut.escape_ascii())
}

/// Compares the index of a text with the oracle's.
///
/// # Errors
/// A difference, or an error of the backend.
pub fn check_index(backend: &dyn Backend, text: &[u8], levels: u32) -> Result<()> {
    let got = backend.index(text, levels).with_context(|| show(text))?;
    let want = oracle::index::index(text, levels);
    ensure!(got.line_starts == want.line_starts, "newline index of {}", show(text));
    ensure!(got.faults == want.faults, "faults {:?}, not {:?}, of {}", got.faults, want.faults, show(text));
    let first = |a: &[u64], b: &[u64]| a.iter().zip(b).position(|(a, b)| a != b);
    ensure!(
        got.string == want.string,
        "string bitmap, word {:?} of {}",
        first(&got.string, &want.string),
        show(text)
    );
    for (level, (a, b)) in got.levels.iter().zip(&want.levels).enumerate() {
        ensure!(a == b, "level {level}, word {:?} of {}", first(a, b), show(text));
    }
    ensure!(got.levels.len() == levels as usize, "levels of {}", show(text));
    Ok(())
}

/// Checks the properties of every match, for any record: it has bytes, is on one line, and has no white space
/// around it.
fn within_reason(text: &[u8], (_, start, end): LineMatch) -> Result<()> {
    let value = &text[start as usize..end as usize];
    let (Some(first), Some(last)) = (value.first(), value.last()) else {
        bail!("a match without bytes at {start}")
    };
    let space = |byte: &u8| b" \t\r\n".contains(byte);
    ensure!(!space(first) && !space(last), "white space around the match at {start}..{end}");
    ensure!(!value.contains(&b'\n'), "the match at {start}..{end} is on two lines");
    Ok(())
}

/// The matches of each path, with lines and offsets in the whole text.
fn flatten(answer: &Answer, paths: usize) -> Vec<Vec<LineMatch>> {
    let mut all = vec![Vec::new(); paths];
    let mut first_line = 0;
    for piece in &answer.pieces {
        for (path, list) in piece.matches.iter().enumerate() {
            let place = |m: &warpath_shared::kernel::Match| {
                (first_line + m.line, piece.base + m.start, piece.base + m.end)
            };
            all[path].extend(list.iter().map(place));
        }
        first_line += piece.lines;
    }
    all
}

pub(crate) fn compile(paths: &[&str]) -> Result<Vec<Query>> {
    // Paths that no backend supports are skipped.
    let mut queries = Vec::new();
    for path in paths {
        match Query::compile(path) {
            Ok(query) => queries.push(query),
            Err(warpath_core::error::Error::Unsupported(_)) => {}
            Err(error) => bail!("{path}: {error}"),
        }
    }
    Ok(queries)
}

/// Compares the results of paths, evaluated one by one and all together, with the oracle's. A record may fail
/// to be JSON in a way that is not checked. There the results are compared with the CPU's.
///
/// # Errors
/// A difference, or an error of the backend.
pub fn check_queries(backend: &dyn Backend, text: &[u8], paths: &[&str]) -> Result<()> {
    let queries = compile(paths)?;
    if queries.is_empty() {
        return Ok(());
    }
    let faults: Vec<u32> = oracle::index::index(text, 0).faults.iter().map(|fault| fault.line).collect();
    let want = Want::default().matches(true).records(true);
    let together = Program::new(&queries)?;
    let ask = |backend: &dyn Backend, program: &Program| -> Result<_> {
        let answer = backend.answer(text, program, want).with_context(|| show(text))?;
        Ok((flatten(&answer, program.paths()), answer))
    };
    let (all, answer) = ask(backend, &together)?;
    check_rows(backend, text, &queries, &together, (&all, &answer), faults.first().copied())?;
    for (query, found) in queries.iter().zip(&all) {
        let path = query.text();
        let program = Program::new(std::slice::from_ref(query))?;
        let (alone, answer) = ask(backend, &program)?;
        ensure!(alone[0] == *found, "{path} alone and with others differs on {}", show(text));
        // Lines that are JSON must match the oracle. Other lines must match the CPU, and must be within
        // reason.
        let want = oracle::query::query(text, &faults, path);
        let known = |found: &&LineMatch| want.not_json.binary_search(&found.0).is_err();
        let got: Vec<LineMatch> = found.iter().filter(known).copied().collect();
        ensure!(
            got == want.found,
            "{path}: {} matches, not {}; first difference {:?} on {}",
            got.len(),
            want.found.len(),
            got.iter().zip(&want.found).find(|(a, b)| a != b),
            show(text)
        );
        if !want.not_json.is_empty() {
            let (cpu, _) = ask(&warpath_cpu::Cpu, &program)?;
            ensure!(*found == cpu[0], "{path} differs from the CPU on {}", show(text));
            for place in found {
                within_reason(text, *place).with_context(|| format!("{path} on {}", show(text)))?;
            }
        }
        // Counting without matches gives the same number, and the same number before the first fault.
        let counted = backend.answer(text, &program, Want::default())?;
        let count = |answer: &Answer| answer.pieces.iter().map(|piece| piece.counts[0]).sum::<u64>();
        ensure!(count(&counted) == found.len() as u64, "{path}: count on {}", show(text));
        ensure!(count(&answer) == found.len() as u64, "{path}: count beside matches on {}", show(text));
        let before = |answer: &Answer| -> Option<u64> {
            let at = answer.pieces.iter().position(|piece| piece.counts_before_fault.is_some())?;
            let earlier: u64 = answer.pieces[..at].iter().map(|piece| piece.counts[0]).sum();
            Some(earlier + answer.pieces[at].counts_before_fault.as_ref()?[0])
        };
        for form in [TextForm::Json, TextForm::Raw] {
            check_texts(backend, text, &program, form, found, &faults).with_context(|| path.to_owned())?;
        }
        let want = faults.first().map(|line| found.iter().filter(|(at, ..)| at < line).count() as u64);
        ensure!(before(&answer) == want, "{path}: count before the first fault on {}", show(text));
        ensure!(before(&counted) == want, "{path}: count alone before the first fault on {}", show(text));
    }
    Ok(())
}

/// Compares rows with the records and matches, and the rows before the first fault with the records before
/// it.
fn check_rows(
    backend: &dyn Backend,
    text: &[u8],
    queries: &[Query],
    program: &Program,
    (found, answer): (&[Vec<LineMatch>], &Answer),
    fault: Option<u32>,
) -> Result<()> {
    let (mut records, mut first_line) = (Vec::new(), 0);
    for piece in &answer.pieces {
        records.extend(piece.records.iter().map(|line| first_line + line));
        first_line += piece.lines;
    }
    for form in [RowForm::Ndjson, RowForm::Sparse, RowForm::Csv, RowForm::Tsv] {
        let (mut want, mut want_before, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for line in &records {
            let cells = queries.iter().zip(found).map(|(query, found)| {
                let of_line = &found[found.partition_point(|found| found.0 < *line)..];
                let of_line = &of_line[..of_line.partition_point(|found| found.0 == *line)];
                let values = of_line.iter().map(|(_, start, end)| &text[*start as usize..*end as usize]);
                (query, values.collect::<Vec<_>>())
            });
            let mut row = match form {
                RowForm::Ndjson => json_row(cells)?,
                RowForm::Sparse => {
                    json_row(cells.filter(|(query, values)| !query.is_singular() || !values.is_empty()))?
                }
                RowForm::Csv => csv_row(cells)?,
                RowForm::Tsv => tsv_row(cells),
            };
            if fault.is_none_or(|fault| *line < fault) {
                want_before.extend_from_slice(&row);
            }
            want.append(&mut row);
            ends.push(want.len());
        }
        let answer = backend.answer(text, program, Want::default().rows(form))?;
        let (mut got, mut before) = (Vec::new(), None);
        for piece in &answer.pieces {
            if let (None, Some(len)) = (&before, piece.rows_before_fault) {
                before = Some([&got[..], &piece.rows[..len]].concat());
            }
            got.extend_from_slice(&piece.rows);
        }
        ensure!(got == want, "{form:?} rows of {}", show(text));
        ensure!(
            before == fault.map(|_| want_before),
            "{form:?} rows before the first fault of {}",
            show(text)
        );
        for (count, end) in ends.iter().enumerate().step_by(1 + ends.len() / 7) {
            ensure!(form.end_of(&got, count) == *end, "{count} {form:?} rows of {}", show(text));
        }
    }
    Ok(())
}

/// A row as a JSON object.
fn json_row<'a>(cells: impl Iterator<Item = (&'a Query, Vec<&'a [u8]>)>) -> Result<Vec<u8>> {
    let mut row = Vec::new();
    for (query, values) in cells {
        row.push(if row.is_empty() { b'{' } else { b',' });
        row.append(&mut serde_json::to_vec(query.text())?);
        row.push(b':');
        match values.first() {
            _ if !query.is_singular() => {
                row.push(b'[');
                row.append(&mut values.join(&b','));
                row.push(b']');
            }
            Some(value) => row.extend_from_slice(value),
            None => row.extend_from_slice(b"null"),
        }
    }
    row.extend_from_slice(if row.is_empty() { b"{}\n" } else { b"}\n" });
    Ok(row)
}

/// A row whose fields are as the `csv` crate writes them. An empty string is `""`, and so is a row of one
/// column that is empty.
fn csv_row<'a>(cells: impl Iterator<Item = (&'a Query, Vec<&'a [u8]>)>) -> Result<Vec<u8>> {
    let mut fields = Vec::new();
    for (query, values) in cells {
        let field = match values.first() {
            _ if !query.is_singular() => Some([&b"["[..], &values.join(&b','), b"]"].concat()),
            None => None,
            Some(value) if *value == b"null" => None,
            Some(value) => Some(oracle::text::raw(value)),
        };
        let mut row = csv::Writer::from_writer(Vec::new());
        fields.push(match field {
            None => Vec::new(),
            // Alone in its row, an empty field is in quotes.
            Some(field) => {
                row.write_record([field])?;
                let mut row = row.into_inner()?;
                row.pop();
                row
            }
        });
    }
    if let [only] = &mut fields[..]
        && only.is_empty()
    {
        only.extend_from_slice(b"\"\"");
    }
    Ok([fields.join(&b','), vec![b'\n']].concat())
}

/// A row of fields with tabs between them.
fn tsv_row<'a>(cells: impl Iterator<Item = (&'a Query, Vec<&'a [u8]>)>) -> Vec<u8> {
    let field = |(query, values): (&Query, Vec<&[u8]>)| {
        let field = match values.first() {
            _ if !query.is_singular() => [&b"["[..], &values.join(&b','), b"]"].concat(),
            None => Vec::new(),
            Some(value) if *value == b"null" => Vec::new(),
            Some(value) => oracle::text::raw(value),
        };
        field.into_iter().flat_map(|byte| match byte {
            b'\\' => vec![b'\\', b'\\'],
            b'\t' => vec![b'\\', b't'],
            b'\n' => vec![b'\\', b'n'],
            b'\r' => vec![b'\\', b'r'],
            other => vec![other],
        })
    };
    let fields: Vec<Vec<u8>> = cells.map(|cell| field(cell).collect()).collect();
    [fields.join(&b'\t'), vec![b'\n']].concat()
}

/// Compares the text of a path's matches with the matches, and the text before the first fault with those
/// before it.
fn check_texts(
    backend: &dyn Backend,
    text: &[u8],
    program: &Program,
    form: TextForm,
    found: &[LineMatch],
    faults: &[u32],
) -> Result<()> {
    let answer = backend.answer(text, program, Want::default().text(form))?;
    let write = |found: &mut dyn Iterator<Item = &LineMatch>| {
        found.fold(Vec::new(), |mut all, (_, start, end)| {
            answer::text::append(&text[*start as usize..*end as usize], form, &mut all);
            all.push(b'\n');
            all
        })
    };
    let mut got = Vec::new();
    let mut before = None;
    for piece in &answer.pieces {
        ensure!(piece.texts.len() == 1, "{form:?}: {} texts", piece.texts.len());
        if let (None, Some(lengths)) = (&before, &piece.texts_before_fault) {
            before = Some([&got[..], &piece.texts[0][..lengths[0]]].concat());
        }
        got.extend_from_slice(&piece.texts[0]);
    }
    ensure!(got == write(&mut found.iter()), "{form:?} text of {}", show(text));
    let want = faults.first().map(|line| write(&mut found.iter().filter(|(at, ..)| at < line)));
    ensure!(before == want, "{form:?} text before the first fault of {}", show(text));
    Ok(())
}

fn check(backend: &dyn Backend, text: &[u8], levels: u32, paths: &[&str]) -> Result<()> {
    check_index(backend, text, levels)?;
    check_queries(backend, text, paths)
}

/// Checks the files of `tests/data` with the paths of `queries.txt`, at several numbers of levels.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn files(backend: &dyn Backend) -> Result<()> {
    for (name, text) in FILES {
        for levels in [0, 1, 3, 8, 11] {
            check_index(backend, text, levels).with_context(|| name.to_owned())?;
        }
        let mut paths = paths_of(name);
        paths.extend(PATHS);
        check_queries(backend, text, &paths).with_context(|| name.to_owned())?;
    }
    Ok(())
}

/// Moves a text of all hand-written lines across the offsets of a word, in steps.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn slide_across_words(backend: &dyn Backend, step: usize) -> Result<()> {
    for shift in (0..64).step_by(step) {
        let text = format!("{}{}", " ".repeat(shift), BOUNDARY_LINES.join("\n"));
        check(backend, text.as_bytes(), 4, &PATHS).with_context(|| format!("shift {shift}"))?;
    }
    Ok(())
}

/// Moves each hand-written line across the edge between two tiles, at every offset: line *i* begins `shift`
/// bytes before the end of tile *i*. One path is evaluated at every offset, and more at every `step`th.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn slide_across_tiles(backend: &dyn Backend, step: usize) -> Result<()> {
    for shift in 0..100 {
        let mut text = Vec::new();
        for (i, line) in BOUNDARY_LINES.iter().enumerate() {
            let edge = (i + 1) * TILE_BYTES;
            // A long record comes before the line and ends right before it, so that its state is in use, too.
            let room = edge - shift - text.len() - br#"{"f":""}"#.len() - 1;
            text.extend_from_slice(br#"{"f":""#);
            text.extend(std::iter::repeat_n(b"x{\\\\,"[i % 3], room / 2 * 2));
            text.extend(std::iter::repeat_n(b'.', room % 2));
            text.extend_from_slice(b"\"}\n");
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        check_index(backend, &text, 3).with_context(|| format!("shift {shift}"))?;
        let paths: &[&str] = if shift % step == 0 { &["$.a", "$.a.*", "$[1]"] } else { &["$.a.*"] };
        check_queries(backend, &text, paths).with_context(|| format!("shift {shift}"))?;
    }
    Ok(())
}

/// Checks texts of sizes around those of words, halves of words and tiles, with and without a final newline.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn sizes(backend: &dyn Backend) -> Result<()> {
    let around = |size: usize| [size - 1, size, size + 1];
    let sizes = [[0, 1, 2], around(32), around(64), around(128), around(TILE_BYTES), around(2 * TILE_BYTES)];
    for size in sizes.as_flattened() {
        let line = br#"{"a":[1,"two\"",{"b":null}]}"#;
        for ended in [false, true] {
            let mut text: Vec<u8> = line.iter().chain(b"\n").copied().cycle().take(*size).collect();
            if let Some(last) = text.last_mut() {
                *last = if ended { b'\n' } else { b'x' };
            }
            check(backend, &text, 2, &["$.a[1]", "$.a[*]"]).with_context(|| format!("size {size}"))?;
        }
        // One byte repeated: the worst runs possible.
        for byte in *b"\\\"\n{[]},: " {
            let text = vec![byte; *size];
            check(backend, &text, 1, &["$", "$[*]"]).with_context(|| format!("size {size}"))?;
        }
    }
    Ok(())
}

/// Checks random JSON, the same with bytes changed, and random bytes, with random paths.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn random(backend: &dyn Backend, rounds: usize, bytes: usize, seed: u64) -> Result<()> {
    for round in 0..rounds {
        let rng = &mut Rng::new(seed + round as u64);
        let text = match round % 3 {
            0 => random::json(rng, bytes),
            1 => {
                let mut text = random::json(rng, bytes);
                random::mutate(rng, &mut text, 1 + bytes / 300);
                text
            }
            _ => random::bytes(rng, bytes),
        };
        let paths: Vec<String> = (0..4).map(|_| random::path(rng)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let levels = rng.below(6) as u32;
        check(backend, &text, levels, &paths)
            .with_context(|| format!("seed {}: {paths:?}", seed + round as u64))?;
    }
    Ok(())
}

/// Checks a text of many tiles, so that scans of tiles take several blocks. The text has tweets, a fault, a
/// record that is larger than a tile, and more tweets.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn many_tiles(backend: &dyn Backend, bytes: usize) -> Result<()> {
    let tweets = FILES[0].1;
    let mut text = Vec::with_capacity(bytes + tweets.len());
    while text.len() < bytes / 2 {
        text.extend_from_slice(tweets);
    }
    text.extend_from_slice(b"{\"user\":{\"lang\":\"unclosed}}\n{\"user\":[\"");
    text.extend(std::iter::repeat_n(b'y', 5 * TILE_BYTES + 77));
    text.extend_from_slice(b"\",{\"lang\":1}]}\n");
    while text.len() < bytes {
        text.extend_from_slice(tweets);
    }
    check(backend, &text, 3, &["$.user.lang", "$.entities.urls[*].url", "$.user[1].lang"])
}

/// Checks records of 100 bytes to 64 KB. They are longer than words, stretches and tiles, with names at all
/// their edges.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn long_records(backend: &dyn Backend, rounds: usize) -> Result<()> {
    const PATHS: [&str; 14] = [
        "$.a",
        "$.lang",
        "$['ab','','b']",
        "$.*.a",
        "$[?@ == 'nl']",
        "$[?@ == 'x']",
        "$[?@ == '']",
        "$[?@ == 1]",
        "$[?@.lang == 'nl']",
        "$.a[?@ == 'nl']",
        "$[17]",
        "$[-9]",
        "$[3:-3:7]",
        "$[::-5].b.a",
    ];
    for round in 0..rounds {
        let rng = &mut Rng::new(round as u64);
        let mut text = String::new();
        for bytes in [100, 600, 1500, 3000, 6000, if round % 8 == 0 { 66_000 } else { 300 }] {
            text.push_str(&" ".repeat(rng.below(3) * rng.below(90)));
            text.push_str(&random::long_record(rng, bytes, round % 2 == 1));
            text.push_str(&" ".repeat(rng.below(3) * rng.below(90)));
            text.push('\n');
        }
        let text = &text[..text.len() - rng.below(2)];
        check_queries(backend, text.as_bytes(), &PATHS).with_context(|| format!("round {round}"))?;
    }
    Ok(())
}

/// Runs all checks above.
///
/// # Errors
/// A difference between the backend and an oracle, or an error of the backend.
pub fn all(backend: &dyn Backend, effort: Effort) -> Result<()> {
    files(backend).context("files")?;
    sizes(backend).context("sizes")?;
    slide_across_words(backend, 1).context("words")?;
    slide_across_tiles(backend, effort.slide_step).context("tiles")?;
    long_records(backend, effort.random.0 / 20).context("long records")?;
    random(backend, effort.random.0, effort.random.1, 1).context("random")?;
    many_tiles(backend, effort.large).context("many tiles")
}
