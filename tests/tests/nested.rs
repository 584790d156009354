//! Nested columns equal a naive conversion of the same records: random schemas, random records that drift
//! from their schema, and random white space, escapes and order.

mod records;
mod typed;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use chrono::{DateTime, NaiveDate};
use serde_json::{Number, Value, json};
use warpath::columns::{ColumnTally, NestedSchema, Occurrences, Tally};
use warpath::{DeviceChoice, Engine, OnError};
use warpath_answer::nested::is_json_text;
use warpath_random::Rng;

use records::{Json, any, of_fields, random_fields, write, write_plain};

/// The counts of values that became null: missing, null, mismatch, overflow.
type Counts = Vec<[u64; 4]>;

/// Naive conversion of a value. `at` is the number of the column, and grows over all nested columns.
fn want(field: &Field, value: Option<&Json>, text: &str, at: &mut usize, counts: &mut Counts) -> Value {
    let column = *at;
    *at += 1;
    counts.resize(counts.len().max(column + 1), [0; 4]);
    let mut lost = |cause: usize| {
        counts[column][cause] += 1;
        Value::Null
    };
    let is_null = matches!(value, Some(Json::Word(word)) if word == "null");
    let made = match (field.data_type(), value) {
        (_, None) => lost(0),
        (_, Some(_)) if is_null => lost(1),
        (DataType::Utf8, Some(Json::Word(word))) if is_json_text(field) && word.starts_with('n') => lost(2),
        (DataType::Utf8, Some(_)) if is_json_text(field) => json!(text),
        (DataType::Utf8, Some(Json::Text(text, _))) => json!(text),
        (DataType::Boolean, Some(Json::Word(word))) if word == "true" || word == "false" => {
            json!(word == "true")
        }
        (DataType::Int64, Some(Json::Word(word))) => match Value::from_str_as_number(word) {
            Some(_) if word.contains(['.', 'e', 'E']) => lost(2),
            Some(_) => word.parse::<i64>().map_or_else(|_| lost(3), |integer| json!(integer)),
            None => lost(2),
        },
        (DataType::Float64, Some(Json::Word(word))) => match Value::from_str_as_number(word) {
            Some(()) => match word.parse::<f64>().unwrap() {
                value if value.is_finite() => json!(format!("{value:?}")),
                _ => lost(3),
            },
            None => lost(2),
        },
        (DataType::Decimal128(precision, scale), Some(Json::Word(word))) => {
            match Value::from_str_as_number(word) {
                Some(()) => match decimal(word, *precision as usize, *scale as usize) {
                    Some(value) => json!(value),
                    None => lost(3),
                },
                None => lost(2),
            }
        }
        (DataType::Timestamp(..), Some(Json::Word(word))) if Value::from_str_as_number(word).is_none() => {
            lost(2)
        }
        (DataType::Timestamp(unit, _), Some(Json::Text(text, _) | Json::Word(text))) => {
            match nanoseconds(text) {
                None if matches!(value, Some(Json::Word(_))) => lost(3),
                None => lost(2),
                Some(nanoseconds) => {
                    let (nanoseconds_of_unit, unit_name) = match unit {
                        TimeUnit::Nanosecond => (1, "n"),
                        TimeUnit::Microsecond => (1000, "u"),
                        _ => (1_000_000_000, "s"),
                    };
                    let units = nanoseconds.div_euclid(nanoseconds_of_unit);
                    i64::try_from(units)
                        .map_or_else(|_| lost(3), |units| json!(format!("{units}{unit_name}")))
                }
            }
        }
        (DataType::Date32, Some(Json::Text(text, _))) => match date(text) {
            Some(date) => json!(date.to_string()),
            None => lost(2),
        },
        (DataType::Struct(_), Some(Json::Object(_)))
        | (DataType::List(_), Some(Json::Array(_)))
        | (DataType::Map(..), Some(Json::Object(_))) => Value::Bool(true),
        _ => lost(2),
    };
    match (field.data_type(), value.filter(|_| !made.is_null())) {
        (DataType::Struct(fields), object) => {
            let members = want_members(fields, object, at, counts);
            if made.is_null() { made } else { members }
        }
        (DataType::List(element), list) => {
            let elements = match list {
                Some(Json::Array(elements)) => elements.clone(),
                _ => Vec::new(),
            };
            let made_elements = want_all(element, elements.iter(), at, counts);
            if made.is_null() { made } else { made_elements.into() }
        }
        (DataType::Map(entries, _), map) => {
            let DataType::Struct(entries) = entries.data_type() else { unreachable!() };
            let members = match map {
                Some(Json::Object(members)) => members.clone(),
                _ => Vec::new(),
            };
            let values = want_all(&entries[1], members.iter().map(|(_, value)| value), at, counts);
            let pairs = members.iter().zip(values).map(|((name, _), value)| json!([name, value]));
            if made.is_null() { made } else { pairs.collect::<Vec<_>>().into() }
        }
        _ => made,
    }
}

/// Conversion of several values to one column.
fn want_all<'a>(
    field: &Field,
    values: impl Iterator<Item = &'a Json>,
    at: &mut usize,
    counts: &mut Counts,
) -> Vec<Value> {
    let begin = *at;
    let mut end = begin;
    count_columns(field, &mut end);
    let all = values
        .map(|value| {
            let mut at = begin;
            let mut text = String::new();
            write_plain(value, &mut text);
            want(field, Some(value), &text, &mut at, counts)
        })
        .collect();
    *at = end;
    all
}

fn count_columns(field: &Field, at: &mut usize) {
    *at += 1;
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|field| count_columns(field, at)),
        DataType::List(element) => count_columns(element, at),
        DataType::Map(entries, _) => {
            let DataType::Struct(entries) = entries.data_type() else { unreachable!() };
            count_columns(&entries[1], at);
        }
        _ => {}
    }
}

fn want_members(fields: &Fields, object: Option<&Json>, at: &mut usize, counts: &mut Counts) -> Value {
    let mut members = Vec::new();
    for field in fields {
        let value = match object {
            Some(Json::Object(members)) => {
                members.iter().find(|(name, _)| name == field.name()).map(|(_, value)| value)
            }
            _ => None,
        };
        let mut text = String::new();
        if let Some(value) = value {
            write_plain(value, &mut text);
        }
        members.push(json!([field.name(), want(field, value, &text, at, counts)]));
    }
    members.into()
}

/// A date as chrono reads it: four digits, two digits, two digits.
fn date(text: &str) -> Option<NaiveDate> {
    let is_date = text.len() == 10 && text.chars().all(|c| c.is_ascii_digit() || c == '-');
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| is_date)
}

/// The nanoseconds of an instant as chrono reads it, of the start of a date, or of a number since 1970 whose
/// unit follows from its size.
fn nanoseconds(text: &str) -> Option<i128> {
    if Value::from_str_as_number(text).is_some() {
        // Numbers of the tests have at most three digits after the point.
        let thousandths: i128 = decimal(text, 36, 3)?.parse().ok()?;
        let size = thousandths.abs() / 1000;
        let power = [(11, 9), (14, 6), (17, 3)].iter().find(|(below, _)| size < 10_i128.pow(*below));
        let power = power.map_or(0, |(_, power)| *power);
        return Some((thousandths * 10_i128.pow(power)).div_euclid(1000));
    }
    let time = match date(text) {
        Some(date) => date.and_hms_opt(0, 0, 0).unwrap().and_utc(),
        None => {
            let with_zone = format!("{text}Z");
            let time =
                DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc3339(&with_zone));
            time.ok()?.to_utc()
        }
    };
    // The second :60 is the first of the next minute.
    Some(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos()))
}

/// A decimal number in units of its last digit, by its digits alone.
fn decimal(word: &str, precision: usize, scale: usize) -> Option<String> {
    let (sign, digits) = word.strip_prefix('-').map_or(("", word), |digits| ("-", digits));
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: usize = exponent.parse().ok()?;
    let fraction = format!("{fraction}{}", "0".repeat(exponent.saturating_sub(fraction.len())));
    let (up, fraction) = fraction.split_at(exponent.min(fraction.len()));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale {
        return None;
    }
    let units = format!("{whole}{up}{fraction}{}", "0".repeat(scale - fraction.len()));
    let units = units.trim_start_matches('0');
    if units.is_empty() {
        return Some("0".into());
    }
    (units.len() <= precision).then(|| format!("{sign}{units}"))
}

trait FromWord {
    fn from_str_as_number(word: &str) -> Option<()>;
}

impl FromWord for Value {
    /// Returns whether a word is a number of JSON.
    fn from_str_as_number(word: &str) -> Option<()> {
        let plain = word.split(['e', 'E']).next().unwrap();
        serde_json::from_str::<Number>(plain).ok().map(drop)
    }
}

/// The rows of an array as JSON, in the form of [`want`].
fn got(field: &Field, array: &dyn Array, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    match field.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(at)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(at)),
        DataType::Float64 => json!(format!("{:?}", array.as_primitive::<Float64Type>().value(at))),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            json!(format!("{}n", array.as_primitive::<TimestampNanosecondType>().value(at)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            json!(format!("{}u", array.as_primitive::<TimestampMicrosecondType>().value(at)))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            json!(format!("{}s", array.as_primitive::<TimestampSecondType>().value(at)))
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(at);
            json!(Date32Type::to_naive_date_opt(days).unwrap().to_string())
        }
        DataType::Decimal128(..) => json!(array.as_primitive::<Decimal128Type>().value(at).to_string()),
        DataType::Utf8 if is_json_text(field) => {
            // White space is not part of the comparison, and neither is the spelling of names.
            json!(without_space(array.as_string::<i32>().value(at)))
        }
        DataType::Utf8 => json!(array.as_string::<i32>().value(at)),
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let member = |(field, column): (&Arc<Field>, &Arc<dyn Array>)| {
                json!([field.name(), got(field, column, at)])
            };
            fields.iter().zip(array.columns()).map(member).collect::<Vec<_>>().into()
        }
        DataType::List(element) => {
            let elements = array.as_list::<i32>().value(at);
            (0..elements.len()).map(|at| got(element, &elements, at)).collect::<Vec<_>>().into()
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(entries) = entries.data_type() else { unreachable!() };
            let map = array.as_map().value(at);
            let (names, values) = (map.column(0).as_string::<i32>(), map.column(1));
            let pair = |at| json!([names.value(at), got(&entries[1], values, at)]);
            (0..map.len()).map(pair).collect::<Vec<_>>().into()
        }
        other => panic!("{other}"),
    }
}

/// JSON text without white space between tokens, with names spelt plainly.
fn without_space(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        if c != '"' {
            if !c.is_whitespace() {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let mut end = 1;
        while !rest[end..].starts_with('"') {
            end += if rest[end..].starts_with('\\') {
                2
            } else {
                rest[end..].chars().next().unwrap().len_utf8()
            };
        }
        let string = &rest[..=end];
        rest = &rest[end + 1..];
        if rest.trim_start().starts_with(':') {
            let name: String = serde_json::from_str(string).unwrap();
            out.push_str(&serde_json::to_string(&name).unwrap());
        } else {
            out.push_str(string);
        }
    }
    out
}

/// The missing values, nulls, mismatches and overflows of a column.
fn causes(lost: &ColumnTally<u64>) -> [Occurrences<u64>; 4] {
    [&lost.missing, &lost.null, &lost.mismatch, &lost.overflow].map(Clone::clone)
}

/// The first row of each cause.
fn firsts(lost: &ColumnTally<u64>) -> [Option<u64>; 4] {
    causes(lost).map(|values| values.first)
}

fn decode(schema: &NestedSchema, text: &str, partition: usize) -> (Vec<RecordBatch>, Tally<u64>) {
    let engine = Engine::builder().device(DeviceChoice::Cpu).partition_size(partition).build().unwrap();
    let (mut batches, mut losses, mut rows) = (Vec::new(), Tally::default(), 0);
    let input = engine.reader("text", std::io::Cursor::new(text.to_owned()));
    for batch in input.nested(Arc::new(schema.clone())) {
        let batch = batch.unwrap();
        losses.join(&batch.losses, |row| row + rows);
        rows += batch.rows.num_rows() as u64;
        batches.push(batch.rows);
    }
    (batches, losses)
}

#[test]
fn rows_and_counts_equal_the_naive_conversion() {
    let mut rng = Rng::new(21);
    for round in 0..300 {
        let fields = random_fields(&mut rng, 0);
        let schema = NestedSchema::new(Arc::new(Schema::new(fields.clone()))).unwrap();
        let mut text = String::new();
        let (mut wanted, mut counts) = (Vec::new(), Counts::new());
        counts.push([0; 4]);
        for _ in 0..rng.below(40) {
            let record = match rng.below(20) {
                0 => any(&mut rng, 0),
                _ => of_fields(&mut rng, &fields, 0),
            };
            // A record that is a scalar has to be one by RFC 8259.
            let record = match record {
                Json::Word(word) if serde_json::from_str::<Value>(&word).is_err() => Json::Word("1".into()),
                record => record,
            };
            write(&mut rng, &record, &mut text);
            text.push_str(rng.pick(&["\n", "\n", "\r\n", "\n\n", "\n \n"]));
            match &record {
                Json::Object(_) => {}
                Json::Word(word) if word == "null" => counts[0][1] += 1,
                _ => counts[0][2] += 1,
            }
            wanted.push(want_members(&fields, Some(&record), &mut 1, &mut counts));
        }
        counts.resize(schema.paths().len(), [0; 4]);
        for partition in [1, 100, 1 << 20] {
            let (batches, losses) = decode(&schema, &text, partition);
            let mut rows = Vec::new();
            for batch in &batches {
                for at in 0..batch.num_rows() {
                    let columns = fields.iter().zip(batch.columns());
                    let row = columns.map(|(field, column)| json!([field.name(), got(field, column, at)]));
                    rows.push(Value::from(row.collect::<Vec<_>>()));
                }
            }
            assert_eq!(rows.len(), wanted.len(), "round {round}\n{text}");
            for (at, (row, want)) in rows.iter().zip(&wanted).enumerate() {
                assert_eq!(row, want, "round {round}, row {at} of {fields:?}\n{text}");
            }
            let found: Counts =
                losses.columns.iter().map(|lost| causes(lost).map(|values| values.count)).collect();
            if !wanted.is_empty() {
                assert_eq!(found, counts, "round {round}, {:?}\n{text}", schema.paths());
            }
            for values in losses.columns.iter().flat_map(causes) {
                assert_eq!(values.count > 0, values.first.is_some());
                assert!(values.first.is_none_or(|row| row < rows.len() as u64));
            }
        }
    }
}

#[test]
fn first_places_are_rows() {
    let element =
        Field::new("item", DataType::Struct(vec![Field::new("n", DataType::Int64, true)].into()), true);
    let schema = Schema::new(vec![Field::new("list", DataType::List(Arc::new(element)), true)]);
    let schema = NestedSchema::new(Arc::new(schema)).unwrap();
    assert_eq!(schema.paths(), ["$", "$.list", "$.list[*]", "$.list[*].n"]);
    let text = "{\"list\":[{\"n\":1},{\"n\":2}]}\n{\"list\":[]}\n{\"list\":[{\"n\":3},{}]}\n\
                {\"list\":[{\"n\":null},7,{\"n\":99999999999999999999}]}\n{\"list\":[{\"n\":\"x\"}]}\n";
    for partition in [1, 1 << 20] {
        let (_, losses) = decode(&schema, text, partition);
        assert_eq!(firsts(&losses.columns[2]), [None, None, Some(3), None]);
        // The number 7 has no member `n` either, but the element before the last of line 3 came first.
        assert_eq!(firsts(&losses.columns[3]), [Some(2), Some(3), Some(4), Some(3)]);
        assert_eq!((losses.columns[3].missing.count, losses.lost()), (2, 3));
    }
}

#[test]
fn odd_records_keep_what_comes_before() {
    let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Int64, true)];
    let schema = NestedSchema::new(Arc::new(Schema::new(fields))).unwrap();
    for (text, a, b, mismatches) in [
        ("{\"a\":1,\"b\":2}", Some(1), Some(2), 0),
        ("{\"a\":1 \"b\":2}", Some(1), None, 1),
        ("{\"a\":1,,\"b\":2}", Some(1), None, 1),
        ("{\"a\" 1,\"b\":2}", None, None, 1),
        ("{\"a\":1,\"b\":}", Some(1), None, 1),
        ("{\"a\":1,\"b\":2,}", Some(1), Some(2), 1),
        ("{\"c\":{\"a\":\"}\"},\"a\":1}", Some(1), None, 0),
        ("{\"a\":1,\"a\":2,\"b\":3}", Some(1), Some(3), 0),
        ("[1]", None, None, 1),
    ] {
        let after = format!("{text}\n{{\"a\":5,\"b\":6}}");
        let (batches, losses) = decode(&schema, &after, 1 << 20);
        let columns: Vec<_> = batches[0].columns().iter().map(AsArray::as_primitive::<Int64Type>).collect();
        let at = |column: usize, row| columns[column].is_valid(row).then(|| columns[column].value(row));
        assert_eq!((at(0, 0), at(1, 0)), (a, b), "{text}");
        assert_eq!((at(0, 1), at(1, 1)), (Some(5), Some(6)), "{text}");
        assert_eq!(losses.columns[0].mismatch.count, mismatches, "{text}");
    }
}

#[test]
fn strings_that_are_not_utf8_are_lost_alone() {
    let schema = Schema::new(vec![Field::new("a", DataType::Utf8, true)]);
    let schema = NestedSchema::new(Arc::new(schema)).unwrap();
    let text = b"{\"a\":\"x\"}{\"a\":\"\xe2\"}{\"a\":\"\x98\xba\"}{\"a\":\"y\"}";
    let records = [0..9, 9..18, 18..28, 28..37];
    let batch = schema.decode(text, &records).unwrap().remove(0);
    let strings = batch.rows.column(0).as_string::<i32>();
    assert_eq!(strings.iter().collect::<Vec<_>>(), [Some("x"), None, None, Some("y")]);
    let lost = &batch.losses.columns[1].mismatch;
    assert_eq!((lost.count, lost.first), (2, Some(1)));
}

/// The name of a member without a colon is no entry, and does not begin the next name.
#[test]
fn a_member_without_a_colon_leaves_no_entry() {
    let entry: Vec<Field> =
        vec![Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Int64, true)];
    let entries = Field::new("entries", DataType::Struct(entry.into()), false);
    let schema = Schema::new(vec![Field::new("m", DataType::Map(Arc::new(entries), false), true)]);
    let schema = NestedSchema::new(Arc::new(schema)).unwrap();
    let lines = ["{\"m\":{\"ab\" 1}}", "{\"m\":{\"ab\":1,\"no\"}}", "{\"m\":{\"cd\":2}}"];
    let text = lines.concat();
    let ends = lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end - line.len()..*end)
    });
    let batch = schema.decode(text.as_bytes(), &ends.collect::<Vec<_>>()).unwrap().remove(0);
    let maps = batch.rows.column(0).as_map();
    let keys: Vec<_> = maps.keys().as_string::<i32>().iter().flatten().collect();
    assert_eq!(keys, ["ab", "cd"]);
    assert_eq!(maps.values().as_primitive::<Int64Type>().values()[..], [1, 2]);
    assert_eq!(maps.value_offsets(), [0, 0, 1, 2]);
}

#[test]
fn a_malformed_record_ends_or_is_skipped() {
    let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
    let schema = Arc::new(NestedSchema::new(Arc::new(schema)).unwrap());
    let text = "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":2\n{\"a\":\"y\"}\n";
    for (on_error, rows, lost, fails) in [(OnError::Fail, 2, 1, true), (OnError::Skip, 3, 2, false)] {
        let builder = Engine::builder().device(DeviceChoice::Cpu).on_error(on_error);
        let input = builder.build().unwrap().reader("text", text.as_bytes());
        let (mut found, mut losses, mut failed) = (0, 0, false);
        for batch in input.nested(schema.clone()) {
            match batch {
                Ok(batch) => {
                    found += batch.rows.num_rows();
                    losses += batch.losses.lost();
                }
                Err(_) => failed = true,
            }
        }
        assert_eq!((found, losses, failed), (rows, lost, fails));
    }
}

#[test]
fn other_types_are_refused_by_their_path() {
    let entry = DataType::Struct(vec![Field::new("x", DataType::Int32, true)].into());
    let list = DataType::List(Arc::new(Field::new("item", entry, true)));
    let schema = Schema::new(vec![Field::new("list", list, true)]);
    let error = NestedSchema::new(Arc::new(schema)).unwrap_err().to_string();
    assert!(error.contains("$.list[*].x") && error.contains("Int32"), "{error}");
}
