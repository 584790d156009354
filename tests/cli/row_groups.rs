//! `select --format parquet`: files of several row groups, in every encoding, hold what Arrow files do.

use std::fmt::Write;
use std::fs::File;

use arrow_array::Array;
use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use warpath_random::Rng;

use crate::Folder;
use crate::columns::{file, parquet};

/// The rows at which a row group ends.
const GROUP_ROWS: usize = 1 << 17;

const COLUMNS: [&str; 15] = [
    "id:string=$.id",
    "hex:string=$.hex",
    "kind:string=$.kind",
    "none:string=$.none",
    "long:string=$.long",
    "rare:string=$.rare",
    "number:int64=$.number",
    "wild:int64=$.wild",
    "status:int64=$.status",
    "gap:int64=$.gap",
    "at:time=$.at",
    "day:date=$.day",
    "float:float64=$.float",
    "truth:bool=$.truth",
    "money:decimal(12,2)=$.float",
];

/// Records with values for every encoding: ids that begin alike, values that all differ, few values, nulls,
/// long strings, integers that ascend, and integers of all 64 bits.
fn records(rows: usize) -> String {
    let mut random = Rng::new(23);
    let mut text = String::new();
    for row in 0..rows {
        let kind = ["commit", "identity", "account", ""][random.below(40).saturating_sub(36)];
        let hex = random.next_u64();
        write!(text, r#"{{"id":"urn:example:record:{hex:016x}","hex":"{:x}""#, random.next_u64()).unwrap();
        write!(text, r#","kind":"{kind}","number":{}"#, row * 1000 + random.below(999)).unwrap();
        write!(text, r#","wild":{},"status":{}"#, random.next_u64() as i64, 200 + random.below(7)).unwrap();
        write!(text, r#","at":"2026-11-26T00:{:02}:{:02}Z""#, row / 60 % 60, row % 60).unwrap();
        write!(text, r#","day":"2026-01-{:02}","float":{}.25"#, 1 + row % 28, row % 1000).unwrap();
        write!(text, r#","truth":{}"#, row % 3 == 0).unwrap();
        if random.below(3) > 0 {
            write!(text, r#","gap":{row}"#).unwrap();
        }
        if row % 5000 == 4999 {
            write!(text, r#","rare":"r{row}""#).unwrap();
        }
        if row % 50 == 0 {
            let end = ["é", "\u{d7ff}", "\u{10ffff}", "z"][random.below(4)];
            write!(text, r#","long":"{}{}""#, end.repeat(40), row % 7000).unwrap();
        }
        text += "}\n";
    }
    text
}

fn select(folder: &Folder, columns: &[&str], more: &[&str]) {
    for out in ["out.arrow", "out.parquet"] {
        folder.run(&[&["select", "-q", "-o", out], more, columns, &["in"]].concat()).ok();
    }
}

/// Reads the file with the library, which also decompresses each page, and compares it with the Arrow file.
fn same(folder: &Folder) -> SerializedFileReader<File> {
    let (made, wanted) = (parquet(folder, "out.parquet"), file(&folder.read("out.arrow")));
    assert_eq!(made.schema().fields(), wanted.schema().fields());
    for (field, (made, wanted)) in
        made.schema().fields().iter().zip(made.columns().iter().zip(wanted.columns()))
    {
        assert!(made == wanted, "{}", field.name());
    }
    SerializedFileReader::new(File::open(folder.path("out.parquet")).unwrap()).unwrap()
}

/// Checks that all values of a row group are between the statistics, and that these are short.
fn check_statistics(reader: &SerializedFileReader<File>, folder: &Folder) {
    let whole = parquet(folder, "out.parquet");
    let mut first = 0;
    for group in reader.metadata().row_groups() {
        let rows = group.num_rows() as usize;
        for (at, column) in group.columns().iter().enumerate() {
            let part = whole.column(at).slice(first, rows);
            let statistics = column.statistics().unwrap();
            assert_eq!(statistics.null_count_opt(), Some(part.null_count() as u64));
            let Statistics::ByteArray(of_text) = statistics else { continue };
            let texts = arrow_array::cast::as_string_array(&part);
            let (least, most) = (texts.iter().flatten().min(), texts.iter().flatten().max());
            assert_eq!(of_text.min_opt().is_some(), least.is_some());
            if let (Some(least), Some(most)) = (least, most) {
                let shown = of_text.min_opt().unwrap().data();
                assert!(shown.len() <= 64 && shown <= least.as_bytes());
                assert_eq!(of_text.min_is_exact(), shown == least.as_bytes());
                if let Some(shown) = of_text.max_opt().map(parquet::data_type::ByteArray::data) {
                    assert!(shown.len() <= 68 && shown >= most.as_bytes() && str::from_utf8(shown).is_ok());
                    assert_eq!(of_text.max_is_exact(), shown == most.as_bytes());
                }
            }
        }
        first += rows;
    }
    assert_eq!(first, whole.num_rows());
}

#[test]
fn several_row_groups_hold_all_rows() {
    let rows = 2 * GROUP_ROWS + 1234;
    let folder = Folder::new(&[("in", records(rows).as_bytes())]);
    for size in ["60KB", "1MiB", "1GiB"] {
        select(&folder, &COLUMNS, &["--partition-size", size]);
        let reader = same(&folder);
        let groups = reader.metadata().row_groups();
        let counts: Vec<usize> = groups.iter().map(|group| group.num_rows() as usize).collect();
        assert_eq!(counts, [GROUP_ROWS, GROUP_ROWS, 1234]);
        check_statistics(&reader, &folder);
        // The encodings of data in the first row group, in the order of the columns.
        let data = |column: usize| {
            let encodings: Vec<_> = groups[0].column(column).encodings().collect();
            let has = |encoding: &Encoding| encodings.contains(encoding);
            let all = [Encoding::RLE_DICTIONARY, Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_BINARY_PACKED];
            all.into_iter().find(has).unwrap_or(Encoding::PLAIN)
        };
        assert_eq!(data(0), Encoding::DELTA_BYTE_ARRAY);
        assert_eq!(data(1), Encoding::PLAIN);
        assert_eq!(data(2), Encoding::RLE_DICTIONARY);
        assert_eq!(data(3), Encoding::PLAIN);
        assert_eq!(data(4), Encoding::RLE_DICTIONARY);
        assert_eq!(data(6), Encoding::DELTA_BINARY_PACKED);
        assert_eq!(data(7), Encoding::PLAIN);
        assert_eq!(data(8), Encoding::RLE_DICTIONARY);
        assert_eq!(data(9), Encoding::DELTA_BINARY_PACKED);
    }
}

#[test]
fn few_rows_and_none_are_files() {
    let all = records(1 << 12);
    for rows in [0, 1, 2, 1023, 1024, 1025] {
        let text: String = all.split_inclusive('\n').take(rows).collect();
        let folder = Folder::new(&[("in", text.as_bytes())]);
        select(&folder, &COLUMNS, &["--partition-size", "3000"]);
        let reader = same(&folder);
        assert_eq!(reader.metadata().file_metadata().num_rows(), rows as i64);
        assert_eq!(reader.metadata().num_row_groups(), usize::from(rows > 0));
        check_statistics(&reader, &folder);
    }
}

/// Strings whose dictionary becomes too large after the sample, and strings that fill pages.
#[test]
fn dictionaries_end_where_they_do_not_help() {
    let mut text = String::new();
    for row in 0..40_000_usize {
        let value = if row < 2_000 { row % 10 } else { row };
        writeln!(text, r#"{{"late":"{value:050}","wide":"{}"}}"#, "w".repeat(row % 997)).unwrap();
    }
    let folder = Folder::new(&[("in", text.as_bytes())]);
    for size in ["100KB", "1GiB"] {
        select(&folder, &["late:string=$.late", "wide:string=$.wide"], &["--partition-size", size]);
        check_statistics(&same(&folder), &folder);
    }
}

/// Columns of lists are written by the library.
#[test]
fn nested_columns_hold_all_rows() {
    let mut text = String::new();
    for row in 0..30_000_usize {
        writeln!(text, r#"{{"id":{row},"tags":[{}]}}"#, vec!["\"t\""; row % 4].join(",")).unwrap();
    }
    let folder = Folder::new(&[("in", text.as_bytes())]);
    select(&folder, &["id:int64=$.id", "tags:string=$.tags[*]"], &["--partition-size", "50KB"]);
    assert_eq!(same(&folder).metadata().num_row_groups(), 1);
}
