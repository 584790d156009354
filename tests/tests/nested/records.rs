//! Random schemas, and random records that usually follow them.

use std::fmt::Write;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use warpath::columns::json_text;
use warpath_random::Rng;

/// A record as it is written. Members may have the same name.
#[derive(Clone)]
pub enum Json {
    /// `null`, `true`, a number, or letters that are nothing.
    Word(String),
    /// A string, and the same string as it is spelt.
    Text(String, String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

pub const NAMES: [&str; 8] = ["a", "b", "id", "user", "long_name_of_a_member", "", "é\"\\", "id_str"];
pub const NUMBERS: [&str; 20] = [
    "0",
    "-0",
    "7",
    "-12",
    "123456789012345678",
    "999999999999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "-99999999999999999999",
    "01",
    "-",
    "1.5",
    "-0.25",
    "1e3",
    "1E400",
    "12345.678",
    "0.10",
    "1.",
    "99999999999999999999999999999999999999",
];

pub fn random_type(rng: &mut Rng, depth: usize) -> Field {
    let data_type = match rng.below(if depth > 3 { 9 } else { 13 }) {
        0 => DataType::Boolean,
        1 => DataType::Int64,
        2 => DataType::Float64,
        3 => DataType::Decimal128(38, 0),
        4 => DataType::Decimal128(7, 2),
        5 => return json_text(Field::new("", DataType::Utf8, true)),
        6 => DataType::Utf8,
        7 => DataType::Timestamp(
            rng.pick(&[TimeUnit::Nanosecond, TimeUnit::Nanosecond, TimeUnit::Microsecond, TimeUnit::Second]),
            Some("UTC".into()),
        ),
        8 => DataType::Date32,
        9 | 10 => DataType::Struct(random_fields(rng, depth + 1)),
        11 => DataType::List(Arc::new(random_type(rng, depth + 1).with_name("item"))),
        _ => {
            let values = random_type(rng, depth + 1).with_name("value");
            let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), values]);
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
        }
    };
    Field::new("", data_type, true)
}

pub fn random_fields(rng: &mut Rng, depth: usize) -> Fields {
    let mut fields: Vec<Field> = Vec::new();
    for _ in 0..1 + rng.below(5) {
        let name = rng.pick(&NAMES);
        if fields.iter().all(|field| field.name() != name) {
            fields.push(random_type(rng, depth).with_name(name));
        }
    }
    fields.into()
}

pub fn random_text(rng: &mut Rng) -> (String, String) {
    let (mut text, mut spelt) = (String::new(), String::new());
    let len = if rng.below(4) == 0 { rng.below(200) } else { rng.below(9) };
    for _ in 0..len {
        let (meant, written) = rng.pick(&[
            ("x", "x"),
            ("y", "y"),
            ("é", "é"),
            ("\"", "\\\""),
            ("\\", "\\\\"),
            ("/", "\\/"),
            ("\n", "\\n"),
            ("☺", "\\u263a"),
            ("😀", "\\ud83d\\ude00"),
            ("{", "{"),
            ("]", "]"),
            (",", ","),
            ("plain ", "plain "),
        ]);
        text.push_str(meant);
        spelt.push_str(written);
    }
    (text, spelt)
}

/// The text of an instant or a date, which is sometimes none.
pub fn random_instant(rng: &mut Rng) -> String {
    let year = rng.pick(&["2026", "1970", "1969", "2000", "1900", "1677", "1678", "2262", "9999", "0000"]);
    let two = |rng: &mut Rng, least: usize, most: usize| least + rng.below(most + 1 - least);
    let (no_month, month_13, hour_24) = (rng.below(30) == 0, rng.below(30) == 0, rng.below(30) == 0);
    let month = two(rng, usize::from(!no_month), 12 + usize::from(month_13));
    let mut text = format!("{year}-{month:02}-{:02}", two(rng, 1, 31));
    if rng.below(4) == 0 {
        return text;
    }
    text.push(rng.pick(&['T', 'T', 'T', 'T', 't', ' ']));
    let hour = two(rng, 0, 23 + usize::from(hour_24));
    text += &format!("{hour:02}:{:02}:{:02}", two(rng, 0, 59), two(rng, 0, 60));
    if rng.below(2) == 0 {
        text.push('.');
        (0..rng.below(12)).for_each(|_| text.push(rng.pick(&['0', '1', '5', '9'])));
    }
    text += rng.pick(&["Z", "Z", "Z", "z", "+00:00", "-07:30", "+24:00", "", "+0100"]);
    text
}

pub fn any(rng: &mut Rng, depth: usize) -> Json {
    match rng.below(if depth > 3 { 4 } else { 6 }) {
        0 => Json::Word(rng.pick(&["true", "false", "null", "tru", "nul", "x"]).to_owned()),
        1 => Json::Word(rng.pick(&NUMBERS).to_owned()),
        2 | 3 => {
            let (text, spelt) = random_text(rng);
            Json::Text(text, spelt)
        }
        4 => Json::Array((0..rng.below(4)).map(|_| any(rng, depth + 1)).collect()),
        _ => Json::Object(
            (0..rng.below(5)).map(|_| (rng.pick(&NAMES).to_owned(), any(rng, depth + 1))).collect(),
        ),
    }
}

/// A value that is usually of the type.
pub fn of_type(rng: &mut Rng, data_type: &DataType, depth: usize) -> Json {
    if rng.below(12) == 0 {
        return any(rng, depth);
    }
    match data_type {
        DataType::Boolean => Json::Word(rng.pick(&["true", "false"]).to_owned()),
        DataType::Int64 | DataType::Float64 | DataType::Decimal128(..) => {
            let short = rng.below(1000).to_string();
            Json::Word(if rng.below(2) == 0 { short } else { rng.pick(&NUMBERS).to_owned() })
        }
        DataType::Struct(fields) => of_fields(rng, fields, depth),
        DataType::List(element) => {
            let len = rng.below(4);
            Json::Array((0..len).map(|_| of_type(rng, element.data_type(), depth + 1)).collect())
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(entries) = entries.data_type() else { unreachable!() };
            let entry = |rng: &mut Rng| {
                (rng.pick(&NAMES).to_owned(), of_type(rng, entries[1].data_type(), depth + 1))
            };
            Json::Object((0..rng.below(4)).map(|_| entry(rng)).collect())
        }
        DataType::Timestamp(..) | DataType::Date32 => {
            let text = match rng.below(3) {
                0 => random_instant(rng)[..10].to_owned(),
                _ => random_instant(rng),
            };
            let spelt = if rng.below(9) == 0 { text.replace('-', "\\u002d") } else { text.clone() };
            Json::Text(text, spelt)
        }
        _ => {
            let (text, spelt) = random_text(rng);
            Json::Text(text, spelt)
        }
    }
}

/// An object that usually has the fields in order.
pub fn of_fields(rng: &mut Rng, fields: &Fields, depth: usize) -> Json {
    let mut members = Vec::new();
    for field in fields {
        match rng.below(8) {
            0 => {}
            1 => members.push((rng.pick(&NAMES).to_owned(), any(rng, depth + 1))),
            2 => members.push((field.name().clone(), Json::Word("null".into()))),
            _ => members.push((field.name().clone(), of_type(rng, field.data_type(), depth + 1))),
        }
    }
    if rng.below(4) == 0 && members.len() > 1 {
        let (from, to) = (rng.below(members.len()), rng.below(members.len()));
        members.swap(from, to);
    }
    Json::Object(members)
}

pub fn space(rng: &mut Rng, out: &mut String) {
    if rng.below(12) == 0 {
        out.push_str(rng.pick(&[" ", "\t", "  ", " \r "]));
    }
}

pub fn quoted(rng: &mut Rng, name: &str) -> String {
    let spelt: String = name
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if rng.below(20) == 0 => format!("\\u{:04X}", c as u32),
            c => c.to_string(),
        })
        .collect();
    format!("\"{spelt}\"")
}

/// Writes a value with random white space, and its names with random escapes.
pub fn write(rng: &mut Rng, value: &Json, out: &mut String) {
    write_as(&mut Some(rng), value, out);
}

/// Writes a value without white space, and its names without unnecessary escapes.
pub fn write_plain(value: &Json, out: &mut String) {
    write_as(&mut None, value, out);
}

fn write_as(rng: &mut Option<&mut Rng>, value: &Json, out: &mut String) {
    let blank = |rng: &mut Option<&mut Rng>, out: &mut String| {
        if let Some(rng) = rng {
            space(rng, out);
        }
    };
    blank(rng, out);
    match value {
        Json::Word(word) => out.push_str(word),
        Json::Text(_, spelt) => {
            let _ = write!(out, "\"{spelt}\"");
        }
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_as(rng, element, out);
            }
            blank(rng, out);
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                blank(rng, out);
                out.push_str(&match rng {
                    Some(rng) => quoted(rng, name),
                    None => serde_json::to_string(name).unwrap(),
                });
                blank(rng, out);
                out.push(':');
                write_as(rng, member, out);
            }
            blank(rng, out);
            out.push('}');
        }
    }
    blank(rng, out);
}
