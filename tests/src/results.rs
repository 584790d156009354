//! Checks the text of matches and typed columns against the matches of the CPU and the values of the oracles.

mod on_device;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use warpath::columns::{Column, ColumnBatch, ColumnType, OffsetWidth, Offsets, Reason, Schema, Values};
use warpath::{Engine, InputError, OnError, Program, Query, Source, TextForm, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_random::table;

use crate::data::{BOUNDARY_LINES, FILES, paths_of};
use crate::oracle;
use crate::random::{self, Rng};
use crate::suite::compile;

use on_device::check_on_device;
pub use on_device::streamed_on_device;

/// The expected text of one path: of all matches, and of those before the first faulty line.
struct Expected {
    all: Vec<u8>,
    before_fault: Option<Vec<u8>>,
}

fn expected(text: &[u8], program: &Program, form: TextForm) -> Result<Vec<Expected>> {
    let answer = Cpu.answer(text, program, Want::default().matches(true))?;
    let one = |path: usize| {
        let mut expected = Expected { all: Vec::new(), before_fault: None };
        for piece in &answer.pieces {
            let (base, faulty) = (piece.base as usize, piece.faults.first().map(|fault| fault.line));
            for found in &piece.matches[path] {
                if faulty.is_some_and(|line| found.line > line) && expected.before_fault.is_none() {
                    expected.before_fault = Some(expected.all.clone());
                }
                let value = &text[base + found.start as usize..base + found.end as usize];
                match form {
                    TextForm::Json => expected.all.extend_from_slice(value),
                    TextForm::Raw => expected.all.extend(oracle::text::raw(value)),
                }
                expected.all.push(b'\n');
            }
            if faulty.is_some() && expected.before_fault.is_none() {
                expected.before_fault = Some(expected.all.clone());
            }
        }
        expected
    };
    Ok((0..program.paths()).map(one).collect())
}

/// Compares a backend's text of all matches, and of those before the first fault, with the CPU's.
///
/// # Errors
/// A difference, or an error of the backend.
pub fn check_text(backend: &dyn Backend, text: &[u8], paths: &[&str]) -> Result<()> {
    for form in [TextForm::Json, TextForm::Raw] {
        check_form(backend, text, paths, form).with_context(|| format!("{form:?}"))?;
    }
    Ok(())
}

fn check_form(backend: &dyn Backend, text: &[u8], paths: &[&str], form: TextForm) -> Result<()> {
    let queries = compile(paths)?;
    if queries.is_empty() {
        return Ok(());
    }
    let program = Program::new(&queries)?;
    let answer = backend.answer(text, &program, Want::default().text(form))?;
    for (path, want) in expected(text, &program, form)?.iter().enumerate() {
        let name = queries[path].text();
        let (mut all, mut before) = (Vec::new(), None);
        for piece in &answer.pieces {
            ensure!(piece.texts.len() == queries.len(), "{} paths", piece.texts.len());
            if let (None, Some(cuts)) = (&before, &piece.texts_before_fault) {
                before = Some([&all, &piece.texts[path][..cuts[path]]].concat());
            }
            all.extend_from_slice(&piece.texts[path]);
        }
        let shown = text[..text.len().min(300)].escape_ascii();
        let differs = all.iter().zip(&want.all).position(|(a, b)| a != b);
        ensure!(
            all == want.all,
            "{name}: {} bytes, not {}; the first that differs is {differs:?}, of {shown}",
            all.len(),
            want.all.len()
        );
        ensure!(before == want.before_fault, "{name}: text before the first fault, of {shown}");
    }
    Ok(())
}

/// Compares texts of matches of every length and offset, few and many, before and after faults.
///
/// # Errors
/// A difference between the backend and the CPU, or an error of the backend.
pub fn text(backend: &dyn Backend) -> Result<()> {
    for (name, text) in FILES {
        for path in paths_of(name) {
            check_text(backend, text, &[path]).with_context(|| name.to_owned())?;
        }
        let singular = ["$", "$.a", "$.id", "$.user.lang", "$.name", "$[1]", "$.nothing"];
        check_text(backend, text, &singular).with_context(|| name.to_owned())?;
        check_text(backend, text, &["$[*]", "$.a", "$[*][*]"]).with_context(|| name.to_owned())?;
    }
    // No line, no record, no match, or only faults.
    for text in ["", "\n", " \n\t\n\n", "{}\n[]\n", "{\n]\n\"\n", "{", "{\n{}\n", "7", "7\n"] {
        check_text(backend, text.as_bytes(), &["$", "$.a"])?;
        check_text(backend, text.as_bytes(), &["$[*]", "$"])?;
    }
    // Matches of all lengths around the length of a chunk, at all offsets in a vector.
    let mut every = String::new();
    for len in 0..70 {
        for pad in 0..17 {
            every +=
                &format!("{}{{\"a\":\"{}\"}}\n", " ".repeat(pad), "0123456789".repeat(8).split_at(len).0);
        }
    }
    check_text(backend, every.as_bytes(), &["$.a"])?;
    check_text(backend, every.as_bytes(), &["$[*]", "$"])?;
    // Thousands of matches of one byte, on one line and on a line each. Their numbers are around the sizes of
    // a block's tile.
    check_text(backend, format!("[{}]", vec!["7"; 9000].join(",")).as_bytes(), &["$[*]", "$[1]"])?;
    for lines in [31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 4095, 4097] {
        check_text(backend, "7\n".repeat(lines).as_bytes(), &["$"])
            .with_context(|| format!("{lines} lines"))?;
        let sparse: String = (0..lines).map(|i| if i % 37 == 1 { "[1,2]\n" } else { "[0]\n" }).collect();
        let paths = ["$[1]", "$[0]", "$[2]", "$", "$[-1]", "$[-2]"];
        check_text(backend, sparse.as_bytes(), &paths).with_context(|| format!("{lines} lines"))?;
        check_text(backend, sparse.as_bytes(), &["$[1:]", "$[*]"])
            .with_context(|| format!("{lines} lines"))?;
    }
    // A match that is larger than many tiles, between small ones.
    let huge = format!("[1,\"{}\",2]\n", "long ".repeat(30_000));
    check_text(backend, [&huge[..], "[3,4]\n[5]\n", &huge].concat().as_bytes(), &["$[1]", "$[0]"])?;
    check_text(backend, [&huge[..], "[3,4]\n[5]\n", &huge].concat().as_bytes(), &["$[*]", "$"])?;
    // The fault on each line in turn.
    let lines: Vec<&str> = BOUNDARY_LINES.iter().copied().filter(|line| !line.is_empty()).collect();
    for turn in 0..lines.len() {
        let turned: Vec<&str> = lines.iter().copied().cycle().skip(turn).take(lines.len()).collect();
        let text = turned.join("\n");
        check_text(backend, text.as_bytes(), &["$", "$.a", "$.b"]).with_context(|| format!("turn {turn}"))?;
        check_text(backend, text.as_bytes(), &["$[*]", "$.a"]).with_context(|| format!("turn {turn}"))?;
    }
    for seed in 0..30 {
        let rng = &mut Rng::new(seed);
        let mut text = random::json(rng, 3000);
        random::mutate(rng, &mut text, seed as usize % 3);
        check_text(backend, &text, &["$[*]", "$.a", "$[*][*]"]).with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Boolean(bool),
    Int64(i64),
    /// The bits of a double, which distinguish the two zeros.
    Float64(u64),
    Utf8(Vec<u8>),
    Decimal(i128),
    Time(i64),
    Date(i32),
}

/// A number as an integer of units of 10 to the −`scale`, by moving the point in its text.
fn decimal(text: &[u8], precision: u8, scale: u8) -> Option<i128> {
    /// A distance beyond the digits of all texts.
    const FAR: i128 = 1 << 50;
    oracle::text::float(text)?;
    let text = std::str::from_utf8(text).ok()?;
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.to_owned() + fraction;
    if digits.bytes().all(|digit| digit == b'0') {
        return Some(0);
    }
    // An exponent beyond the range moves the point far out of the digits.
    let exponent: i128 = exponent.parse().unwrap_or(if exponent.starts_with('-') { -FAR } else { FAR });
    let point = exponent.clamp(-FAR, FAR) + whole.len() as i128 + i128::from(scale);
    let units = match usize::try_from(point) {
        Ok(point) if point <= digits.len() => {
            let (units, rest) = digits.split_at(point);
            rest.bytes().all(|digit| digit == b'0').then(|| units.to_owned())?
        }
        Ok(point) if point < digits.len() + 1000 => digits.clone() + &"0".repeat(point - digits.len()),
        _ => return None,
    };
    let units = units.trim_start_matches('0');
    if units.len() > precision.into() { None } else { format!("{sign}{units}").parse().ok() }
}

/// The reason why a value is lost: it is `null`, or it is refused.
type LostFor = Option<Reason>;

/// The reason for which a type does not take a value that it does not take.
fn lost_for(kind: &ColumnType, text: &[u8]) -> LostFor {
    let number = oracle::text::float(text).is_some();
    let whole = number && !text.iter().any(|byte| b".eE".contains(byte));
    match kind {
        _ if text == b"null" => None,
        ColumnType::Quoted(number) => match unquoted(text) {
            Some(text) => lost_for(number, text),
            None => Some(Reason::Mismatch),
        },
        ColumnType::Int64 if whole => Some(Reason::Overflow),
        ColumnType::Float64 | ColumnType::Decimal { .. } if number => Some(Reason::Overflow),
        _ => Some(Reason::Mismatch),
    }
}

/// The text of a number, which may be within a string.
fn unquoted(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text);
    is_number(std::str::from_utf8(text).ok()?).then_some(text)
}

/// Returns true for a number by the grammar of RFC 8259, section 6.
fn is_number(text: &str) -> bool {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    are_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && are_digits(fraction)
        && are_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
}

fn value(kind: &ColumnType, text: &[u8]) -> Option<Value> {
    match kind {
        ColumnType::Quoted(number) => value(number, unquoted(text)?),
        ColumnType::Boolean => {
            [&b"false"[..], b"true"].iter().position(|word| *word == text).map(|at| Value::Boolean(at == 1))
        }
        ColumnType::Int64 => oracle::text::integer(text).map(Value::Int64),
        ColumnType::Float64 => oracle::text::float(text)
            .filter(|value| value.is_finite())
            .map(|value| Value::Float64(value.to_bits())),
        ColumnType::Decimal { precision, scale } => decimal(text, *precision, *scale).map(Value::Decimal),
        ColumnType::Text if text.starts_with(b"\"") => value(&ColumnType::Utf8, text),
        ColumnType::Utf8 => oracle::text::string(text).map(|text| Value::Utf8(text.into_bytes())),
        _ => {
            std::str::from_utf8(text).ok().filter(|text| *text != "null").map(|text| Value::Utf8(text.into()))
        }
    }
}

/// An offset of an offset array.
fn place(offsets: &Offsets, at: usize) -> usize {
    match offsets {
        Offsets::Small(offsets) => offsets[at] as usize,
        Offsets::Large(offsets) => offsets[at] as usize,
    }
}

/// Returns the rows of a column, and checks the column against Arrow's rules.
fn rows(column: &Column, count: usize) -> Result<Vec<Vec<Option<Value>>>> {
    let items = &column.items;
    let bit = |bits: &[u32], at: usize| bits[at / 32] >> (at % 32) & 1 == 1;
    let is_bitmap = |bits: &[u32]| {
        bits.len() == items.len.div_ceil(32) && (items.len..bits.len() * 32).all(|at| !bit(bits, at))
    };
    ensure!(is_bitmap(&items.validity), "validity of {} items", items.len);
    let offsets_fit = |offsets: &Offsets, len: usize, total: usize| {
        let count = match offsets {
            Offsets::Small(offsets) => offsets.len(),
            Offsets::Large(offsets) => offsets.len(),
        };
        count == len + 1 && place(offsets, 0) == 0 && place(offsets, len) == total
    };
    match &items.values {
        Values::Boolean(bits) => ensure!(is_bitmap(bits), "bits of {} items", items.len),
        Values::Int64(values) => ensure!(values.len() == items.len, "{} values", values.len()),
        Values::Float64(values) => ensure!(values.len() == items.len, "{} values", values.len()),
        Values::Decimal { units, .. } => ensure!(units.len() == items.len, "{} values", units.len()),
        Values::Time(values) => ensure!(values.len() == items.len, "{} values", values.len()),
        Values::Date(values) => ensure!(values.len() == items.len, "{} values", values.len()),
        Values::Utf8(offsets, bytes) => ensure!(offsets_fit(offsets, items.len, bytes.len()), "offsets"),
        _ => unreachable!(),
    }
    let item = |at: usize| {
        let (value, null) = match &items.values {
            Values::Boolean(bits) => (Value::Boolean(bit(bits, at)), Value::Boolean(false)),
            Values::Int64(values) => (Value::Int64(values[at]), Value::Int64(0)),
            Values::Float64(values) => (Value::Float64(values[at].to_bits()), Value::Float64(0)),
            Values::Decimal { units, .. } => (Value::Decimal(units[at]), Value::Decimal(0)),
            Values::Time(values) => (Value::Time(values[at]), Value::Time(0)),
            Values::Date(values) => (Value::Date(values[at]), Value::Date(0)),
            Values::Utf8(offsets, bytes) => (
                Value::Utf8(bytes[place(offsets, at)..place(offsets, at + 1)].to_vec()),
                Value::Utf8(Vec::new()),
            ),
            _ => unreachable!(),
        };
        if bit(&items.validity, at) {
            Ok(Some(value))
        } else {
            ensure!(value == null, "a null that is {value:?}");
            Ok(None)
        }
    };
    let Some(lists) = &column.lists else {
        ensure!(items.len == count, "{} items for {count} rows", items.len);
        return (0..count).map(|at| Ok(vec![item(at)?])).collect();
    };
    ensure!(offsets_fit(lists, count, items.len), "list offsets");
    (0..count).map(|row| (place(lists, row)..place(lists, row + 1)).map(item).collect()).collect()
}

/// The values of a column that its type did not take: the row of each, and the reason.
fn lost(column: &Column) -> Vec<(usize, LostFor)> {
    let row_of = |item: u32| match &column.lists {
        None => item as usize,
        Some(lists) => (0..).find(|row| place(lists, row + 1) > item as usize).expect("an item of a row"),
    };
    let nulls = column.lost.nulls.iter().map(|item| (*item, row_of(*item), None));
    let refused = column.lost.refused.iter();
    let refused = refused.map(|refusal| (refusal.item, refusal.row as usize, Some(refusal.reason)));
    let mut all: Vec<_> = nulls.chain(refused).collect();
    all.sort_by_key(|(item, ..)| *item);
    all.into_iter().map(|(_, row, reason)| (row, reason)).collect()
}

/// Types of columns: all that devices make, and some that only the host makes.
pub fn types() -> [ColumnType; 10] {
    let quoted = |number| ColumnType::Quoted(Box::new(number));
    [
        ColumnType::Boolean,
        ColumnType::Int64,
        ColumnType::Float64,
        ColumnType::Utf8,
        ColumnType::Json,
        ColumnType::Text,
        ColumnType::Decimal { precision: 38, scale: 0 },
        ColumnType::Decimal { precision: 20, scale: 3 },
        quoted(ColumnType::Int64),
        quoted(ColumnType::Decimal { precision: 20, scale: 3 }),
    ]
}

/// The expected rows of a column: of all records, or of those before the first faulty one.
pub struct WantedColumn {
    rows: Vec<Vec<Option<Value>>>,
    /// The rows of the values that the type does not take, and the reasons.
    lost: Vec<(usize, LostFor)>,
    /// The number of rows before the first fault, if there is a fault.
    before_fault: Option<usize>,
}

impl WantedColumn {
    /// Returns the columns of several texts, one after the other. If `fault_ends`, they end at the first
    /// fault.
    ///
    /// # Errors
    /// The errors of [`wanted_columns`].
    pub fn of_texts(texts: &[&[u8]], asked: &[(Query, ColumnType)], fault_ends: bool) -> Result<Vec<Self>> {
        let mut all: Vec<Self> =
            asked.iter().map(|_| Self { rows: Vec::new(), lost: Vec::new(), before_fault: None }).collect();
        for text in texts {
            let mut ended = false;
            for (all, mut column) in all.iter_mut().zip(wanted_columns(text, asked)?) {
                if let Some(count) = column.before_fault.filter(|_| fault_ends) {
                    column.rows.truncate(count);
                    ended = true;
                }
                let (before, count) = (all.rows.len(), column.rows.len());
                let lost = column.lost.into_iter().take_while(|(row, _)| *row < count);
                all.lost.extend(lost.map(|(row, reason)| (before + row, reason)));
                all.rows.append(&mut column.rows);
            }
            if ended {
                break;
            }
        }
        Ok(all)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Combines every query with every type.
///
/// # Errors
/// An invalid path.
pub fn every_type(paths: &[&str]) -> Result<Vec<(Query, ColumnType)>> {
    Ok(compile(paths)?.into_iter().flat_map(|query| types().map(|kind| (query.clone(), kind))).collect())
}

/// Returns the columns of a text. The values are cut out of the text at the CPU's matches, and parsed by the
/// standard library.
///
/// # Errors
/// Queries that cannot run together, or an error of the CPU backend.
pub fn wanted_columns(text: &[u8], asked: &[(Query, ColumnType)]) -> Result<Vec<WantedColumn>> {
    let queries: Vec<Query> = asked.iter().map(|(query, _)| query.clone()).collect();
    let want = Want::default().matches(true).records(true);
    let answer = Cpu.answer(text, &Program::new(&queries)?, want)?;
    let column = |(path, (query, kind)): (usize, &(Query, ColumnType))| {
        let (mut rows, mut lost, mut before_fault) = (Vec::new(), Vec::new(), None);
        for piece in &answer.pieces {
            let base = piece.base as usize;
            if let (None, Some(fault)) = (before_fault, piece.faults.first()) {
                before_fault =
                    Some(rows.len() + piece.records.iter().filter(|record| **record < fault.line).count());
            }
            for record in &piece.records {
                let found = piece.matches[path].iter().filter(|found| found.line == *record);
                let mut values = Vec::new();
                for m in found {
                    let text = &text[base + m.start as usize..base + m.end as usize];
                    values.push(value(kind, text));
                    if values.last() == Some(&None) {
                        lost.push((rows.len(), lost_for(kind, text)));
                    }
                }
                rows.push(if query.is_singular() && values.is_empty() { vec![None] } else { values });
            }
        }
        WantedColumn { rows, lost, before_fault }
    };
    Ok(asked.iter().enumerate().map(column).collect())
}

/// Compares batches with the expected columns: all rows, or those before the first fault.
///
/// # Errors
/// A difference, or a column that breaks Arrow's rules.
pub fn compare_columns(
    batches: &[ColumnBatch],
    asked: &[(Query, ColumnType)],
    wanted: &[WantedColumn],
    width: OffsetWidth,
    before_fault: bool,
) -> Result<()> {
    for (path, ((query, kind), want)) in asked.iter().zip(wanted).enumerate() {
        let count = want.before_fault.filter(|_| before_fault).unwrap_or(want.rows.len());
        let wanted_lost: Vec<_> = want.lost.iter().copied().take_while(|(row, _)| *row < count).collect();
        let want = &want.rows[..count];
        let (mut got, mut got_lost) = (Vec::new(), Vec::new());
        for batch in batches {
            ensure!(batch.columns.len() == asked.len(), "{} columns", batch.columns.len());
            let column = &batch.columns[path];
            ensure!(column.lists.is_some() != query.is_singular(), "lists");
            got_lost.extend(lost(column).into_iter().map(|(row, reason)| (got.len() + row, reason)));
            got.extend(rows(column, batch.rows).with_context(|| format!("{} as {kind:?}", query.text()))?);
            let offsets = match &column.items.values {
                Values::Utf8(offsets, _) => Some(offsets),
                _ => None,
            };
            for offsets in offsets.into_iter().chain(&column.lists) {
                let large = matches!(offsets, Offsets::Large(_));
                ensure!(large == (width == OffsetWidth::Large), "width of offsets");
            }
        }
        let other = got_lost.iter().zip(&wanted_lost).find(|(got, wanted)| got != wanted);
        ensure!(got_lost == wanted_lost, "{} as {kind:?}: values that are lost: {other:?}", query.text());
        let differs = got.iter().zip(want).position(|(a, b)| a != b);
        ensure!(
            got == want,
            "{} as {kind:?}: {} rows, not {count}; row {differs:?} is {:?}, not {:?}",
            query.text(),
            got.len(),
            differs.map(|at| &got[at]),
            differs.map(|at| &want[at]),
        );
    }
    Ok(())
}

/// Compares columns of every type with the expected ones: all rows, and those before the first fault. The
/// expected values are cut out of the text and parsed by the standard library.
///
/// # Errors
/// A difference, or an error of the backend.
pub fn check_columns(backend: &dyn Backend, text: &[u8], paths: &[&str]) -> Result<()> {
    let asked = every_type(paths)?;
    if asked.is_empty() {
        return Ok(());
    }
    let wanted = wanted_columns(text, &asked)?;
    let shown = || format!("{} bytes: {}", text.len(), text[..text.len().min(300)].escape_ascii());
    for width in [OffsetWidth::Small, OffsetWidth::Large] {
        let schema = Schema::new(&asked)?.with_offsets(width);
        let want = Want::default().columns(width);
        let answer = backend.answer(text, schema.program(), want)?;
        let faulty = answer.pieces.iter().position(|piece| !piece.faults.is_empty());
        for (at, piece) in answer.pieces.iter().enumerate() {
            ensure!(piece.matches.is_empty() && piece.records.is_empty(), "more than was asked for");
            ensure!(piece.columns_before_fault.is_some() != piece.faults.is_empty(), "piece {at}");
        }
        if backend.abilities().keeps_columns {
            check_on_device(backend, text, &schema, &answer).context("on the device").with_context(shown)?;
        }
        let mut batches: Vec<_> = answer.pieces.iter().map(|piece| piece.columns.clone()).collect();
        compare_columns(&batches, &asked, &wanted, width, false).with_context(shown)?;
        if let Some(at) = faulty {
            batches.truncate(at + 1);
            batches[at].truncate(answer.pieces[at].columns_before_fault.expect("seen to be there"));
            compare_columns(&batches, &asked, &wanted, width, true)
                .context("before the fault")
                .with_context(shown)?;
        }
    }
    Ok(())
}

/// Checks columns of every type, of values that are hard to parse, with rows of many lengths.
///
/// # Errors
/// A difference between a backend and the standard library, or an error of the backend.
pub fn columns(backend: &dyn Backend) -> Result<()> {
    // Each value as a record, as a member and as an element; some records are faulty, some lines blank.
    let mut text = Vec::new();
    for (i, [value]) in table::rows::<1>(include_str!("../data/json.txt"), "column values").iter().enumerate()
    {
        for (before, after) in [("", "\n"), ("{\"a\": ", " }\n"), ("[7, ", ",\"x\"]\n")] {
            text.extend_from_slice(before.as_bytes());
            text.extend_from_slice(value);
            text.extend_from_slice(after.as_bytes());
        }
        if i % 5 == 0 {
            text.extend_from_slice([&b"\n"[..], b" \t\n", b"{]\n", b"\"\n"][i / 5 % 4]);
        }
    }
    check_columns(backend, &text, &["$", "$.a"])?;
    check_columns(backend, &text, &["$[*]", "$[1]", "$.none"])?;
    for (name, text) in FILES {
        let paths = paths_of(name);
        check_columns(backend, text, &paths[..paths.len().min(3)]).with_context(|| name.to_owned())?;
        check_columns(backend, text, &["$", "$.a", "$.id", "$.*"]).with_context(|| name.to_owned())?;
    }
    for text in ["", "\n", " \n\t\n", "{]\n\"\n", "{}\n[]\n", "7", "[1,true,\"x\",null]\n"] {
        check_columns(backend, text.as_bytes(), &["$", "$.a"]).with_context(|| format!("{text:?}"))?;
        check_columns(backend, text.as_bytes(), &["$[*]", "$[0]"]).with_context(|| format!("{text:?}"))?;
    }
    // Numbers of lines around the sizes of a word of bits, a block and a block's tile. Lines have numbers,
    // escapes or no value in turn.
    for lines in [31, 32, 33, 255, 256, 257, 1023, 1025] {
        let line = |i: usize| match i % 4 {
            0 => format!("{{\"a\":{i}.5}}\n"),
            1 => format!("{{\"a\":\"\\n{i}\"}}\n"),
            2 => "{}\n".to_owned(),
            _ => format!("{{\"a\":[{i},true]}}\n"),
        };
        let text: String = (0..lines).map(line).collect();
        check_columns(backend, text.as_bytes(), &["$.a", "$.a[*]"])
            .with_context(|| format!("{lines} lines"))?;
    }
    // Strings of every length, with and without an escape, at all offsets in a vector.
    let mut every = String::new();
    for len in 0..40 {
        for pad in 0..17 {
            let letters = "0123456789".repeat(4);
            every += &format!(
                "{}{{\"a\":\"{}\",\"b\":\"{}\\u00e9\"}}\n",
                " ".repeat(pad),
                &letters[..len],
                &letters[..len]
            );
        }
    }
    check_columns(backend, every.as_bytes(), &["$.a", "$.b"])?;
    // Strings longer than one thread reads. Escapes and characters, good and malformed, cross the borders of
    // the 32 bytes that a warp reads at once.
    let mut long: Vec<u8> = Vec::new();
    for pad in (0..33).step_by(3) {
        let tails: [&[u8]; 9] = [
            b"",
            br#"\u00e9\\\""#,
            br"\ud83d\ude00\ud83d",
            br"\ude00\n\/",
            "é☺😀".as_bytes(),
            b"\xc3",
            b"\xa9\xc3",
            br"\x",
            br"\u12",
        ];
        for tail in tails {
            long.extend_from_slice(b"{\"a\":\"");
            long.extend(std::iter::repeat_n(b'.', 1000 + pad));
            long.extend_from_slice(&[tail, b" and ", tail, b"\"}\n"].concat());
        }
    }
    check_columns(backend, &long, &["$.a"])?;
    check_text(backend, &long, &["$.a"])?;
    // Thousands of values in a record, and values larger than many tiles, with escapes and without.
    check_columns(backend, format!("[{}]", vec!["7"; 9000].join(",")).as_bytes(), &["$[*]"])?;
    let huge = format!("[\"{}\",\"{}\",1]\n", "long ".repeat(20_000), "l\\u00f6ng ".repeat(10_000));
    check_columns(backend, [&huge[..], "[3,4]\n", &huge].concat().as_bytes(), &["$[0]", "$[1]", "$[*]"])?;
    // Large exponents that long runs of digits balance, or nearly balance: beyond those that `str::parse`
    // reads exactly (`warpath_core::float`).
    let zeros = "0".repeat(700_000);
    let mut long = String::new();
    for exponent in ["700000", "699980", "7000000", "70000000000000000000"] {
        long += &format!("0.{zeros}1e{exponent}\n-1{zeros}.5e-{exponent}\n");
    }
    check_columns(backend, long.as_bytes(), &["$"])?;
    for seed in 0..24 {
        let rng = &mut Rng::new(seed);
        let mut text = random::json(rng, 2500);
        random::mutate(rng, &mut text, seed as usize % 3 * 9);
        check_columns(backend, &text, &["$[*]", "$.a"]).with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}

/// Checks the columns of the files of `tests/data`, one after the other, through an engine. The partitions
/// have several sizes. The stream ends at the first fault, or skips faults.
///
/// # Errors
/// A difference between a backend and the standard library, or an error of the backend.
pub fn streamed_columns(backend: &Arc<dyn Backend>, sizes: &[usize]) -> Result<()> {
    let asked = every_type(&["$", "$.a", "$.*"])?;
    let texts = FILES.map(|(_, text)| text);
    let schema = Schema::new(&asked)?;
    for on_error in [OnError::Fail, OnError::Skip] {
        let wanted = WantedColumn::of_texts(&texts, &asked, on_error == OnError::Fail)?;
        for size in sizes {
            let engine = Engine::builder().backend(backend.clone()).partition_size(*size).on_error(on_error);
            let sources = FILES.map(|(name, text)| Source::Reader(name.into(), Box::new(text)));
            let (mut batches, mut failed) = (Vec::new(), None);
            for batch in engine.build()?.input(sources.into()).columns(&schema) {
                match batch {
                    Ok(batch) => batches.push(batch),
                    Err(error) => failed = Some(error),
                }
            }
            let faulty = matches!(failed, Some(warpath_core::error::Error::Input(InputError::Record(_))));
            ensure!(faulty == (on_error == OnError::Fail), "{size} bytes, {on_error:?}: {failed:?}");
            compare_columns(&batches, &asked, &wanted, schema.width(), false)
                .with_context(|| format!("{size} bytes, {on_error:?}"))?;
        }
    }
    Ok(())
}
