//! Columns that a device makes are those of the CPU. Earlier partitions change only the expected sizes, and
//! waits are few.

use std::fmt::Write;

use warpath::columns::{ColumnType, OffsetWidth, Schema};
use warpath::{Program, Query, TextForm, Want};
use warpath_answer::answer::Piece;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;

use crate::common::emulated;

const COLUMNS: [(&str, ColumnType); 8] = [
    ("$.s", ColumnType::Utf8),
    ("$.s", ColumnType::Json),
    ("$.n", ColumnType::Float64),
    ("$.n", ColumnType::Int64),
    ("$.on", ColumnType::Boolean),
    ("$.tags[*]", ColumnType::Utf8),
    ("$.tags[*]", ColumnType::Float64),
    ("$.none", ColumnType::Utf8),
];

fn schema(columns: &[(&str, ColumnType)], width: OffsetWidth) -> Schema {
    let column = |(path, kind): &(&str, ColumnType)| (Query::compile(path).unwrap(), kind.clone());
    Schema::new(&columns.iter().map(column).collect::<Vec<_>>()).unwrap().with_offsets(width)
}

/// Records with a string of `escapes` escapes and `letters` other letters, and with numbers that the host
/// finishes.
fn text(records: usize, escapes: usize, letters: usize) -> String {
    let (string, mut text) = ("\\u00e9".repeat(escapes) + &"x".repeat(letters), String::new());
    for i in 0..records {
        let on = i % 3 == 0;
        let _ = writeln!(
            text,
            r#"{{"s":"{i}{string}","n":0.{i}1234567890123456789,"on":{on},"tags":["{i}",{i}e40,"\n"]}}"#
        );
    }
    text
}

fn answer(backend: &dyn Backend, text: &str, program: &Program, want: Want) -> Piece {
    let mut answer = backend.answer(text.as_bytes(), program, want).unwrap();
    assert_eq!(answer.pieces.len(), 1);
    answer.pieces.remove(0)
}

/// A device allocates room for the sizes found before. If a text needs more, the device notices.
#[test]
fn what_was_expected_changes_nothing() {
    let texts = [
        text(3, 1, 0),
        text(4, 9000, 40_000),
        // The expected size is 9/8 of the bytes before; the room is 5/4 of them. The sixth string begins
        // within the expected size and ends beyond the room.
        text(8, 9000, 32_000),
        text(200, 300, 3000),
        text(400, 0, 1),
        // A line without anything, so that there are no items.
        "{}\n".to_owned(),
        "\n".to_owned(),
        text(1000, 1, 0),
        // So short that scratch is more than text: the columns are not made together.
        "7\n".repeat(500),
        text(900, 2, 1),
    ];
    for width in [OffsetWidth::Small, OffsetWidth::Large] {
        let pipeline = emulated();
        let schema = schema(&COLUMNS, width);
        let program = schema.program();
        for text in &texts {
            let columns = Want::default().columns(width);
            assert!(
                answer(&pipeline, text, program, columns).columns
                    == answer(&Cpu, text, program, columns).columns,
                "{} bytes",
                text.len()
            );
            let raw = Want::default().text(TextForm::Raw);
            assert!(
                answer(&pipeline, text, program, raw).texts == answer(&Cpu, text, program, raw).texts,
                "{} bytes",
                text.len()
            );
        }
        // Fewer columns, of other kinds.
        let fewer = self::schema(&[("$.n", ColumnType::Float64), ("$.s", ColumnType::Json)], width);
        let want = Want::default().columns(width);
        let made = answer(&pipeline, &texts[3], fewer.program(), want).columns;
        assert!(made == answer(&Cpu, &texts[3], fewer.program(), want).columns);
    }
}

/// One for the index, one for what was found, one for all columns, and one when the text is given back. Where
/// values were refused, one for the records and one for the matches, by which the host finds the reasons.
#[test]
fn all_columns_are_one_wait() {
    // So much text beside the values that all columns are made together.
    let rest = format!("{{\"rest\":\"{}\",", "r".repeat(4000));
    let text: String = text(40, 2, 100).lines().map(|line| line.replacen('{', &rest, 1) + "\n").collect();
    for width in [OffsetWidth::Small, OffsetWidth::Large] {
        for count in [1, 3, COLUMNS.len()] {
            let schema = schema(&COLUMNS[..count], width);
            let pipeline = emulated();
            let waits = || {
                let want = Want::default().columns(width);
                answer(&pipeline, &text, schema.program(), want);
                pipeline.device().take_waits()
            };
            // For the first partition some sizes are unknown: the number of matches, of bytes (at most the
            // text's), and of unfinished numbers.
            let refuses = if count == COLUMNS.len() { 2 } else { 0 };
            assert!(waits() <= 4 + refuses + 2 * count as u64, "{count} columns");
            assert_eq!((waits(), waits()), (4 + refuses, 4 + refuses), "{count} columns");
        }
    }
}

/// However many columns there are, what they are made in takes about as much memory as the text.
#[test]
fn many_columns_of_short_records_are_made_in_little_memory() {
    let rest = "r".repeat(100);
    let text: String = (0..8000).map(|i| format!("{{\"n\":{i}.5,\"rest\":\"{rest}\"}}\n")).collect();
    let schema = schema(&vec![("$.n", ColumnType::Float64); 16], OffsetWidth::Small);
    let pipeline = emulated();
    answer(&pipeline, &text, schema.program(), Want::default().matches(true));
    let (before, len) = (pipeline.device().used(), text.len() as u64);
    let want = Want::default().columns(OffsetWidth::Small);
    for _ in 0..2 {
        let made = answer(&pipeline, &text, schema.program(), want).columns;
        assert!(made == answer(&Cpu, &text, schema.program(), want).columns);
    }
    let used = pipeline.device().used() - before;
    assert!(used <= len + len / 4, "{used} bytes for {len} of text");
}
