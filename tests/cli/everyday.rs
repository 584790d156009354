//! `warpath count-by`, `distinct`, `stats`, `sample` and `head`, and `--skip`.

use std::io::Write as _;

use insta::assert_snapshot;

use crate::{Folder, data, pipe};

/// Records with missing, null and equal values.
const RECORDS: &[u8] = br#"{"lang":"nl","n":1,"tags":["a","b"],"user":{"id":7}}
{"lang":"en","n":1.0,"tags":["b"]}

{"lang":"nl","n":null,"tags":[]}
{"lang":"\u006el","n":-2.5}
{"n":30,"tags":["a\tb","a"],"lang":null}
{"n":"30"}
"#;

#[test]
fn help() {
    for command in ["count-by", "distinct", "stats", "sample", "head"] {
        assert_snapshot!(format!("help_{}", command.replace('-', "_")), pipe(&[command, "--help"], b"").ok());
    }
}

#[test]
fn counts_come_by_frequency() {
    let lang = "3\t\"nl\"\n1\tmissing\n1\tnull\n1\t\"en\"\n";
    assert_eq!(pipe(&["count-by", "$.lang"], RECORDS).ok(), lang);
    assert_eq!(pipe(&["count-by", "$.lang", "--top", "2"], RECORDS).ok(), "3\t\"nl\"\n1\tmissing\n");
    assert_eq!(pipe(&["count-by", "$.lang", "--top", "0"], RECORDS).ok(), "");
    assert_eq!(pipe(&["count-by", "-r", "$.lang", "--top", "1"], RECORDS).ok(), "3\tnl\n");
    assert_eq!(
        pipe(&["count-by", "$.tags[*]"], RECORDS).ok(),
        "3\tmissing\n2\t\"a\"\n2\t\"b\"\n1\t\"a\\tb\"\n"
    );
    assert_eq!(
        pipe(&["count-by", "$.lang", "$.n"], RECORDS).ok(),
        "1\tmissing\t\"30\"\n1\tnull\t30\n1\t\"en\"\t1\n1\t\"nl\"\tnull\n1\t\"nl\"\t-2.5\n1\t\"nl\"\t1\n"
    );
    assert_eq!(pipe(&["count-by", "$.lang"], b"").ok(), "");
    assert_eq!(pipe(&["count-by", "-e", "$.lang"], b"").code, 1);
    assert_eq!(pipe(&["count-by", "$.lang", "--where", "$.n == 1"], RECORDS).ok(), "1\t\"en\"\n1\t\"nl\"\n");
}

#[test]
fn counts_as_json_and_csv() {
    assert_eq!(
        pipe(&["count-by", "$.lang", "$.n", "--top", "3", "--format", "ndjson"], RECORDS).ok(),
        "{\"count\":1,\"$.n\":\"30\"}\n{\"count\":1,\"$.lang\":null,\"$.n\":30}\n\
         {\"count\":1,\"$.lang\":\"en\",\"$.n\":1}\n"
    );
    assert_eq!(
        pipe(&["count-by", "$.tags", "$.lang", "--format", "csv"], RECORDS).ok(),
        "count,$.tags,$.lang\n1,,\n1,,nl\n1,[],nl\n1,\"[\"\"a\"\",\"\"b\"\"]\",nl\n\
         1,\"[\"\"a\\tb\"\",\"\"a\"\"]\",null\n1,\"[\"\"b\"\"]\",en\n"
    );
    let crossed = b"{\"a\":\"x,\\\"y\\\"\\n\"}\n";
    assert_eq!(
        pipe(&["count-by", "$.a", "--format", "csv"], crossed).ok(),
        "count,$.a\n1,\"x,\"\"y\"\"\n\"\n"
    );
}

#[test]
fn paths_come_before_files() {
    let folder = Folder::new(&[("a.ndjson", RECORDS), ("b.ndjson", RECORDS), ("$.c", b"{\"lang\":\"c\"}\n")]);
    let both = "6\t\"nl\"\n2\tmissing\n2\tnull\n2\t\"en\"\n";
    assert_eq!(folder.run(&["count-by", "$.lang", "a.ndjson", "b.ndjson"]).ok(), both);
    assert_eq!(folder.run(&["count-by", "$.lang", "*.ndjson"]).ok(), both);
    assert_eq!(folder.run(&["count-by", "$.lang", "--", "$.c"]).ok(), "1\t\"c\"\n");
    assert_eq!(
        folder.run(&["distinct", "$.lang", "a.ndjson", "--", "$.c"]).ok(),
        "\"nl\"\n\"en\"\nnull\n\"c\"\n"
    );
    let mut said = String::new();
    for args in [
        &["count-by", "a.ndjson", "$.lang"][..],
        &["count-by", "a.ndjson"],
        &["distinct", "lang"],
        &["stats", "$.n", "nope.ndjson"],
        &["count-by", "$.tags[*]", "$.lang", "a.ndjson"],
        &["count-by", "$.lang[", "a.ndjson"],
        &["count-by"],
        &["stats", "$.n", "--quantiles", "0.5,50"],
        &["count-by", "$.n", "--memory", "1KiB"],
    ] {
        let ran = folder.run(args);
        assert!(ran.stdout.is_empty() && ran.code > 1, "{ran}");
        said += &format!("$ warpath {}\n{}\n", args.join(" "), ran.stderr);
    }
    assert_snapshot!("everyday_refused", said);
}

#[test]
fn distinct_values_come_as_they_are_seen() {
    assert_eq!(pipe(&["distinct", "$.lang"], RECORDS).ok(), "\"nl\"\n\"en\"\nnull\n");
    assert_eq!(pipe(&["distinct", "$.n"], RECORDS).ok(), "1\nnull\n-2.5\n30\n\"30\"\n");
    assert_eq!(pipe(&["distinct", "$.n", "-n", "2"], RECORDS).ok(), "1\nnull\n");
    assert_eq!(pipe(&["distinct", "$.n", "--limit", "0"], RECORDS).ok(), "");
    assert_eq!(pipe(&["distinct", "--count", "$.n"], RECORDS).ok(), "5\n");
    assert_eq!(
        pipe(&["distinct", "$.lang", "$.user.id", "--format", "csv"], RECORDS).ok(),
        "$.lang,$.user.id\nnl,7\nen,\nnl,\nnull,\n"
    );
    assert_eq!(pipe(&["distinct", "-e", "$.nope"], RECORDS).code, 1);
}

/// Values that do not fit in memory are counted in temporary files.
#[test]
fn values_beyond_the_memory_are_counted() {
    let mut records = Vec::new();
    for i in 0..30_000 {
        writeln!(records, "{{\"id\":\"number {}\"}}", i * 7919 % 20_000).unwrap();
    }
    let run = |args: &[&str], memory: &str| {
        let ran = pipe(&[args, &["$.id", "--memory", memory]].concat(), &records);
        ran.ok().to_owned()
    };
    for args in [&["count-by"][..], &["count-by", "--top", "10"], &["distinct"], &["distinct", "--count"]] {
        assert_eq!(run(args, "1MiB"), run(args, "1GiB"), "{args:?}");
    }
    assert_eq!(run(&["distinct", "--count"], "1MiB"), "20000\n");
}

#[test]
fn statistics() {
    assert_snapshot!("stats_text", pipe(&["stats", "$.n", "$.tags[*]", "$.user"], RECORDS).ok());
    let args = ["stats", "$.n", "$.nope", "--quantiles", "0.25,0.999"];
    assert_snapshot!("stats_ndjson", pipe(&[&args[..], &["--format", "ndjson"]].concat(), RECORDS).noted());
    assert_snapshot!("stats_csv", pipe(&[&args[..], &["--format", "csv"]].concat(), RECORDS).noted());
    assert_eq!(pipe(&["stats", "-e", "$.nope"], RECORDS).code, 1);
}

#[test]
fn samples_depend_on_their_seed_alone() {
    let records: Vec<u8> = (0..5000).flat_map(|i| format!("{{\"i\":{i}}}\n").into_bytes()).collect();
    let folder = Folder::new(&[("r.ndjson", &records)]);
    let sample = |args: &[&str]| folder.run(&[&["sample"], args, &["r.ndjson"]].concat()).ok().to_owned();
    let first = sample(&["20", "--seed", "1"]);
    assert_eq!(first.lines().count(), 20);
    for args in [
        &["--workers", "1"][..],
        &["--partition-size", "1KiB"],
        &["--partition-size", "33", "--workers", "4"],
    ] {
        assert_eq!(sample(&[&["20", "--seed", "1"], args].concat()), first);
    }
    assert_ne!(sample(&["20", "--seed", "2"]), first);
    assert_eq!(sample(&["20"]).lines().count(), 20);
    // Records are in the order of the input, and a larger sample contains a smaller one.
    let larger = sample(&["200", "--seed", "1"]);
    let mut rest = larger.lines();
    assert!(first.lines().all(|record| rest.any(|other| other == record)));
    let mut rest = std::str::from_utf8(&records).unwrap().lines();
    assert!(larger.lines().all(|record| rest.any(|other| other == record)));
    assert_eq!(sample(&["9999"]).into_bytes(), records);
    assert_eq!(sample(&["0"]), "");
    let odd = sample(&["5000", "--where", "$.i < 3"]);
    assert_eq!(odd, "{\"i\":0}\n{\"i\":1}\n{\"i\":2}\n");
    let long = format!("\"{}\"\n", "x".repeat(600_000)).repeat(3);
    let ran = pipe(&["sample", "2", "--memory", "1MiB"], long.as_bytes());
    ran.failed(2, "", "error: a sample of 2 records does not fit in 1048576 bytes of memory\n  help: ");
}

#[test]
fn the_first_records() {
    let people = data("people.ndjson");
    let all = pipe(&["query", "$", &people], b"").ok().to_owned();
    let lines = |from: usize, count: usize| {
        all.lines().skip(from).take(count).map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(pipe(&["head", &people], b"").ok(), lines(0, 10));
    for (count, skip) in [(0, 0), (1, 0), (2, 1), (100, 2), (1, 100)] {
        let (count_said, skip_said) = (count.to_string(), skip.to_string());
        let args = ["head", "-n", &count_said, "--skip", &skip_said, &people, "--partition-size", "50"];
        assert_eq!(pipe(&args, b"").ok(), lines(skip, count), "{count} {skip}");
    }
    assert_eq!(pipe(&["head", "-e"], b"").code, 1);
}

#[test]
fn results_are_skipped() {
    for size in ["1", "64", "1MiB"] {
        let run = |args: &[&str]| {
            let args = [&["query", "$.tags[*]", "--partition-size", size], args].concat();
            pipe(&args, RECORDS).ok().to_owned()
        };
        assert_eq!(run(&["--skip", "3"]), "\"a\\tb\"\n\"a\"\n");
        assert_eq!(run(&["--skip", "2", "-n", "2"]), "\"b\"\n\"a\\tb\"\n");
        assert_eq!(run(&["--skip", "4", "--with-path"]), "$['tags'][1]\t\"a\"\n");
        assert_eq!(run(&["--skip", "9"]), "");
        assert_eq!(run(&["--skip", "1", "-n", "0"]), "");
        assert_eq!(run(&["--skip", "1", "--count"]), "4\n");
        assert_eq!(run(&["--skip", "1", "--count", "-n", "2"]), "2\n");
        assert_eq!(run(&["--skip", "9", "--count", "-n", "2"]), "0\n");
    }
}

#[test]
fn malformed_records_end_or_are_skipped() {
    let records = b"{\"a\":1}\n{\"a\":1}\n{\"a\":2]\n{\"a\":2}\n";
    let ran = pipe(&["count-by", "$.a"], records);
    ran.failed(4, "", "error: <stdin>:3:7: ");
    let ran = pipe(&["count-by", "$.a", "--on-error", "skip"], records);
    assert_eq!((ran.code, ran.text()), (0, "2\t1\n1\t2\n"), "{ran}");
    assert!(ran.stderr.contains("1 malformed record"), "{ran}");
    let ran = pipe(&["count-by", "$.a", "--strict"], b"{\"a\":1}\n{\"a\":01}\n");
    ran.failed(4, "", "error: <stdin>:2:7: ");
}

/// A part of the input gives no result about all of it.
#[test]
fn failed_runs_print_no_result_about_all_records() {
    let folder = Folder::new(&[("bad", b"{\"a\":1}\n{\"a\":2]\n"), ("good", b"{\"a\":1}\n")]);
    for args in [
        &["count-by", "$.a"][..],
        &["count-by", "$.a", "--format", "csv"],
        &["distinct", "--count", "$.a"],
        &["stats", "$.a"],
        &["stats", "$.a", "--format", "table"],
        &["sample", "2"],
        &["select", "a=$.a", "--sort", "a"],
        &["select", "a=$.a", "--sort", "a", "--format", "csv"],
    ] {
        for size in ["1", "1MiB"] {
            let run = |more: &[&str]| folder.run(&[args, &["--partition-size", size], more].concat());
            run(&["bad"]).failed(4, "", "error: bad:2:7: ");
            run(&["--", "good", "missing"]).failed(2, "", "error: missing: ");
            let limited = run(&["bad", "--on-error", "skip", "--max-errors", "0", "-q"]);
            limited.failed(4, "", "error: more than 0 records were left out");
        }
    }
    // These values are results on their own.
    folder.run(&["distinct", "$.a", "bad"]).failed(4, "1\n", "error: bad:2:7: ");
}

/// `null` and the string `"null"` differ in every format.
#[test]
fn null_is_not_a_string() {
    let records = b"{\"a\":null}\n{\"a\":\"null\"}\n{}\n{\"a\":\"\\u006eull\"}\n{\"a\":\"nulls\"}\n";
    for (format, rows) in [
        ("text", "2\t\"null\"\n1\tmissing\n1\tnull\n1\t\"nulls\"\n"),
        ("csv", "count,$.a\n2,\"\"\"null\"\"\"\n1,\n1,null\n1,nulls\n"),
        ("tsv", "count\t$.a\n2\t\"null\"\n1\t\n1\tnull\n1\tnulls\n"),
        ("table", "count  $.a\n    2  \"null\"\n    1\n    1  null\n    1  nulls\n"),
    ] {
        assert_eq!(pipe(&["count-by", "$.a", "--format", format], records).ok(), rows, "{format}");
    }
}

/// The commands read what `query` reads.
#[test]
fn all_kinds_of_inputs_are_counted() {
    let tweets = data("tweets.ndjson");
    let text = std::fs::read(&tweets).unwrap();
    let want = pipe(&["count-by", "$.user.lang", &tweets], b"").ok().to_owned();
    assert!(want.lines().count() > 3);
    let folder = Folder::new(&[("t.ndjson", &text), ("t.zst", &zstd::encode_all(&text[..], 0).unwrap())]);
    folder.run(&["pack", "t.ndjson", "-o", "t.wpk"]);
    folder.run(&["index", "build", "t.ndjson", "-o", "t.wpi"]).ok();
    folder.run(&["bitmap", "build", "t.ndjson", "-o", "t.wpb", "--column", "id=$.id"]).ok();
    for args in [
        &["t.zst"][..],
        &["t.wpk"],
        &["t.ndjson", "--index", "t.wpi"],
        &["t.ndjson", "--bitmap", "t.wpb", "--where", "id >= 0 or id < 0"],
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

#[test]
fn sorted_rows_have_any_format() {
    let sorted = |args: &[&str]| {
        let columns = ["select", "lang=$.lang", "n=$.n", "tags=$.tags[*]", "--sort", "n"];
        pipe(&[&columns[..], args].concat(), RECORDS)
    };
    assert_eq!(
        sorted(&[]).ok(),
        "{\"lang\":\"\\u006el\",\"n\":-2.5,\"tags\":[]}\n\
         {\"lang\":\"nl\",\"n\":1,\"tags\":[\"a\",\"b\"]}\n\
         {\"lang\":\"en\",\"n\":1.0,\"tags\":[\"b\"]}\n\
         {\"lang\":null,\"n\":30,\"tags\":[\"a\\tb\",\"a\"]}\n\
         {\"lang\":null,\"n\":\"30\",\"tags\":[]}\n\
         {\"lang\":\"nl\",\"n\":null,\"tags\":[]}\n"
    );
    assert_eq!(
        sorted(&["--format", "csv", "--limit", "3"]).ok(),
        "lang,n,tags\nnl,-2.5,[]\nnl,1,\"[\"\"a\"\",\"\"b\"\"]\"\nen,1.0,\"[\"\"b\"\"]\"\n"
    );
    assert_eq!(sorted(&["--limit", "0"]).ok(), "");
    assert_eq!(
        sorted(&["--where", "$.n == 1", "--sort", "lang", "--limit", "1", "--format", "tsv"]).ok(),
        "lang\tn\ttags\nen\t1.0\t[\"b\"]\n"
    );
    let folder = Folder::new(&[("r.ndjson", RECORDS)]);
    for format in ["arrow", "parquet"] {
        let output = format!("rows.{format}");
        let columns = ["select", "lang:string=$.lang", "n:float64=$.n", "tags:string=$.tags[*]"];
        let rest = ["--sort", "n:desc", "--format", format, "-o", &output, "--", "r.ndjson"];
        let ran = folder.run(&[&columns[..], &rest].concat());
        assert_eq!((ran.code, ran.text()), (0, ""), "{ran}");
        assert!(folder.read(&output).len() > 100);
    }
    sorted(&["--sort", "nope"]).failed(2, "", "error: `--sort nope`: there is no column `nope`\n  help: ");
    let ran = pipe(&["select", "a=$.a", "--sort", "a"], b"{\"a\":2}\n{\"a\":1}\n{\"a\":]\n{\"a\":0}\n");
    ran.failed(4, "", "error: <stdin>:3:6: ");
}

#[test]
fn arguments_in_another_order_are_explained() {
    let folder = Folder::new(&[("in", RECORDS)]);
    for args in [&["sample", "in", "2"][..], &["sample", "in"]] {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.text()), (2, ""), "{ran}");
        assert!(
            ran.stderr.contains("a whole number is expected, before the files: `warpath sample 10 FILE`"),
            "{ran}"
        );
    }
    let said = "error: `5` is a number, and no file\n  help: `-n 5` prints 5 records\n";
    folder.run(&["head", "5", "in"]).failed(2, "", said);
    folder.write("5", b"1\n");
    assert_eq!(folder.run(&["head", "5"]).ok(), "1\n");
}

#[test]
fn quantiles_come_once() {
    let args = ["stats", "$.n", "--format", "ndjson", "--quantiles"];
    let twice = pipe(&[&args[..], &["0.5,0.9,0.5,0.50"]].concat(), RECORDS);
    assert_eq!(twice.ok(), pipe(&[&args[..], &["0.5,0.9"]].concat(), RECORDS).ok());
}

/// Values are coloured as those of `query` are.
#[test]
fn values_are_coloured() {
    let run = |args: &[&str]| {
        let coloured = pipe(&[args, &["--color", "always"]].concat(), RECORDS).ok().to_owned();
        let plain = pipe(args, RECORDS).ok().to_owned();
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain, "{args:?}");
        coloured != plain
    };
    for args in [
        &["sample", "3", "--seed", "1"][..],
        &["distinct", "$.n"],
        &["distinct", "$.lang", "$.n", "--format", "ndjson"],
        &["count-by", "$.lang"],
        &["count-by", "$.lang", "--format", "ndjson"],
    ] {
        assert!(run(args), "{args:?}");
    }
    assert!(!run(&["distinct", "-r", "$.lang", "--where", "$.lang == 'nl'"]));
    assert!(!run(&["distinct", "$.lang", "--format", "csv"]));
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

#[test]
fn quantiles_are_exact_and_printed_once() {
    let numbers: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let quantiles = |list: &str| {
        let args = ["stats", "--format", "csv", "$", "--quantiles", list];
        let ran = pipe(&args, numbers.as_bytes());
        let rows: Vec<Vec<String>> =
            ran.ok().lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
        let named = rows[0].iter().cloned().zip(rows[1].iter().cloned());
        named.filter(|(name, _)| name.starts_with('p') && name != "path").collect::<Vec<_>>()
    };
    let named = |all: &[(&str, &str)]| {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(
        quantiles("0.07,0.14,0.28,0.55,0.56,0.57"),
        named(&[("p7", "7"), ("p14", "14"), ("p28", "28"), ("p55", "55"), ("p56", "56"), ("p57", "57")])
    );
    assert_eq!(
        quantiles("0.5,0.5,0.50,0,1,0.999,0.0701"),
        named(&[("p50", "50"), ("p0", "1"), ("p100", "100"), ("p99.9", "100"), ("p7.01", "8")])
    );
}

/// With a limit, nothing after the record of the last value has an effect, wherever partitions end.
#[test]
fn distinct_values_end_at_a_record() {
    let records = b"{\"a\":1}\n{\"a\":]\n{\"a\":1}\n{\"a\":2,\"b\":0}\n{\"a\":]\n{\"a\":3}\n{\"a\":]\n";
    let folder = Folder::new(&[("in", records)]);
    for size in ["1", "20", "40", "1MiB"] {
        for paths in [&["$.a"][..], &["$.a", "$.b"]] {
            for (limit, rejected) in [("1", 0), ("2", 1), ("3", 2)] {
                let args = ["in", "-n", limit, "--on-error", "skip", "--rejects", "bad", "--max-errors"];
                let run = |most: &str| {
                    let size = ["--partition-size", size];
                    folder.run(&[&["distinct"], paths, &args, &[most], &size].concat())
                };
                let ran = run(&rejected.to_string());
                assert_eq!(ran.code, 0, "{size} {limit} {ran}");
                assert_eq!(ran.text().lines().count().to_string(), limit);
                let bad = folder.read("bad").iter().filter(|byte| **byte == b'\n').count();
                assert_eq!(bad, rejected, "{size} {limit} {paths:?}");
                let warning = match rejected {
                    0 => "",
                    1 => "warning: 1 malformed record skipped",
                    _ => "warning: 2 malformed records skipped",
                };
                let said = ran.stderr.split("note: no record has `$.b`").next().unwrap_or_default();
                assert!(said.starts_with(warning) && said.is_empty() == (rejected == 0), "{ran}");
            }
        }
    }
}
