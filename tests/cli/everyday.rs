//! `warpath count-by`, `distinct`, `stats`, `sample` and `head`, and `--skip`.

use std::io::Write as _;

use crate::{Folder, data, pipe};

/// The commands read what `query` reads.
#[test]
fn all_kinds_of_inputs_are_counted() {
    let tweets = data("tweets.ndjson");
    let text = std::fs::read(&tweets).unwrap();
    let want = pipe(&["count-by", "$.user.lang", &tweets], b"").ok().to_owned();
    assert!(want.lines().count() > 3);
    let folder = Folder::new(&[("t.ndjson", &text), ("t.zst", &zstd::encode_all(&text[..], 0).unwrap())]);
    folder.run(&["store", "index", "t.ndjson", "--column", "id=$.id"]).ok();
    for args in [
        &["t.zst"][..],
        &["t.ndjson"],
        &["t.ndjson", "--no-index"],
        &["t.ndjson", "--where", "id >= 0 or id < 0"],
    ] {
        assert_eq!(folder.run(&[&["count-by", "$.user.lang"], args].concat()).ok(), want, "{args:?}");
    }
    assert_eq!(pipe(&["count-by", "$.user.lang"], &text).ok(), want);
    let array = format!("[{}]", String::from_utf8(text).unwrap().trim_end().replace('\n', ",\n"));
    let args = ["count-by", "--input", "json", "$[*].user.lang"];
    assert_eq!(pipe(&args, array.as_bytes()).ok(), want);
}

/// Rows of `select --sort` are those of a stable sort, in memory and in temporary files.
#[test]
fn rows_are_sorted_as_a_stable_sort_does() {
    let mut records = Vec::new();
    for i in 0..20_000u64 {
        let random = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let name = ["\"b\"", "\"a\"", "null", "\"é\"", "\"a\\u0062\"", "\"\""][(random % 6) as usize];
        let n = (random / 6 % 40) as f64 / 4.0 - 3.0;
        let n = if random % 11 == 0 { String::new() } else { format!(",\"n\":{n}") };
        writeln!(records, "{{\"i\":{i},\"s\":{name}{n},\"long\":\"{}\"}}", "x".repeat(100)).unwrap();
    }
    let folder = Folder::new(&[("r.ndjson", &records)]);
    let rows = |args: &[&str]| {
        let columns = ["select", "i=$.i", "s=$.s", "n=$.n", "long=$.long", "r.ndjson"];
        let ran = folder.run(&[&columns[..], args].concat());
        let parse = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        ran.ok().lines().map(parse).collect::<Vec<_>>()
    };
    let all = rows(&[]);
    assert_eq!(all.len(), 20_000);
    // Null is last in both directions.
    let string = |row: &serde_json::Value| (row["s"].is_null(), row["s"].as_str().map(str::to_owned));
    let number = |row: &serde_json::Value| row["n"].as_f64();
    let mut want = all.clone();
    want.sort_by(|a, b| {
        let (a, b) = (number(a), number(b));
        a.is_none().cmp(&b.is_none()).then(b.partial_cmp(&a).unwrap())
    });
    want.sort_by_key(string);
    for memory in ["1MiB", "3MiB", "1GiB"] {
        let args = ["--sort", "s", "--sort", "n:desc", "--memory", memory];
        assert_eq!(rows(&args), want, "{memory}");
        let limited = rows(&[&args[..], &["--limit", "10"]].concat());
        assert_eq!(limited, want[..10], "{memory}");
        let parts = rows(&[&args[..], &["--partition-size", "1000", "--workers", "3"]].concat());
        assert_eq!(parts, want, "{memory}");
    }
    assert_eq!(rows(&["--sort", "i:asc"]), all);
    assert_eq!(rows(&["--sort", "i:desc"]), all.iter().rev().cloned().collect::<Vec<_>>());
}

/// Rows in files that values name are the rows of their records, in memory and in a temporary file.
#[test]
fn tables_are_split_as_their_records_are() {
    let mut records = Vec::new();
    for i in 0..30_000u64 {
        let host = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        writeln!(records, "{{\"i\":{i},\"host\":\"h{host}\",\"long\":\"{}\"}}", "x".repeat(60)).unwrap();
    }
    let folder = Folder::new(&[("in", &records)]);
    let lines = |name: &str| {
        let text = String::from_utf8(folder.read(name)).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    folder.run(&["query", "$", "-o", "want/{$.host}.ndjson", "in", "-q"]).ok();
    for (memory, format) in [("1MiB", "parquet"), ("1GiB", "parquet"), ("1MiB", "arrow")] {
        let out = format!("{memory}-{format}/{{$.host}}.{format}");
        let args = ["select", "i:int64=$.i", "host=$.host", "long=$.long", "in", "-q", "-o", &out];
        folder.run(&[&args[..], &["--memory", memory, "--partition-size", "64K"]].concat()).ok();
        for host in 0..64 {
            let (file, want) =
                (format!("{memory}-{format}/h{host}.{format}"), lines(&format!("want/h{host}.ndjson")));
            let got: Vec<_> = folder.run(&["query", "$", &file]).ok().lines().map(str::to_owned).collect();
            assert_eq!(got, want, "{file}");
        }
    }
}

/// Texts that only strict checks refuse are no numbers, and every result is JSON.
#[test]
fn numbers_are_those_of_json() {
    let mut records = b"{\"n\":2}\n".to_vec();
    for text in ["Infinity", "-Infinity", "inf", "+1", ".5", "1.", "01", "-", "NaN"] {
        writeln!(records, "{{\"n\":{text}}}").unwrap();
    }
    for size in ["1", "1MiB"] {
        let ran = pipe(&["stats", "--format", "ndjson", "$.n", "--partition-size", size], &records);
        let row: serde_json::Value = serde_json::from_str(ran.ok()).unwrap();
        for (name, value) in
            [("number", 1), ("other", 9), ("null", 0), ("least", 2), ("greatest", 2), ("mean", 2), ("p99", 2)]
        {
            assert_eq!(row[name], value, "{name} {ran}");
        }
    }
}
