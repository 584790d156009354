//! The look of results: indentation, colours, tables, and what separates them.

use crate::{Folder, pipe};

const RECORDS: &[u8] = b"{\"id\":1,\"lang\":\"nl\",\"tags\":[\"x\",{\"y\" : 2}]}\n\
    {\"id\":20,\"lang\":\"a\\tb\\\\\\n\\r\",\"tags\":[]}\n\
    {\"lang\":null}\n";

#[test]
fn pretty_prints_matches_and_rows_on_several_lines() {
    let args = ["query", "--pretty", "$.tags"];
    assert_eq!(pipe(&args, RECORDS).ok(), "[\n  \"x\",\n  {\n    \"y\": 2\n  }\n]\n[]\n");
    let args = ["select", "--pretty", "id=$.id", "tags=$.tags[*]"];
    assert_eq!(
        pipe(&[&args[..], &["-n", "1"]].concat(), RECORDS).ok(),
        "{\n  \"id\": 1,\n  \"tags\": [\n    \"x\",\n    {\n      \"y\": 2\n    }\n  ]\n}\n"
    );
    // Strings stay text, and other values are indented.
    assert_eq!(pipe(&["query", "-r", "--pretty", "$[?@ == 'nl' || @[0]]"], RECORDS).ok(), {
        "nl\n[\n  \"x\",\n  {\n    \"y\": 2\n  }\n]\n"
    });
    for format in ["csv", "tsv", "table", "arrow"] {
        let ran = pipe(&["select", "--pretty", "--format", format, "id=$.id"], RECORDS);
        ran.failed(2, "", "error: `--pretty` is for JSON: `--format ndjson`");
    }
}

#[test]
fn results_are_coloured_on_request() {
    let ran = pipe(&["query", "--color=always", "$.tags"], RECORDS);
    assert_eq!(
        ran.ok(),
        "[\u{1b}[32m\"x\"\u{1b}[0m,{\u{1b}[1m\u{1b}[34m\"y\"\u{1b}[0m : \u{1b}[36m2\u{1b}[0m}]\n[]\n"
    );
    let ran = pipe(&["select", "--color=always", "id=$.id", "lang=$.lang"], b"{}");
    let null = "\u{1b}[35mnull\u{1b}[0m";
    assert_eq!(
        ran.noted(),
        format!(
            "{{\u{1b}[1m\u{1b}[34m\"id\"\u{1b}[0m:{null},\u{1b}[1m\u{1b}[34m\"lang\"\u{1b}[0m:{null}}}\n"
        )
    );
    // Formats that programs read have no colours.
    assert_eq!(pipe(&["select", "--color=always", "--format=csv", "id=$.id"], b"{}").noted(), "id\n\"\"\n");
}

#[test]
fn fields_with_tabs_between_them() {
    let args = ["select", "--format", "tsv", "i\td=$.id", "lang=$.lang", "tags=$.tags[*]"];
    assert_eq!(
        pipe(&args, RECORDS).ok(),
        "i\\td\tlang\ttags\n1\tnl\t[\"x\",{\"y\" : 2}]\n20\ta\\tb\\\\\\n\\r\t[]\n\t\t[]\n"
    );
    assert_eq!(pipe(&[&args[..], &["-n", "1"]].concat(), RECORDS).ok().lines().count(), 2);
}

#[test]
fn tables_have_aligned_columns() {
    let args = ["select", "--format", "table", "id=$.id", "lang=$.lang", "tags=$.tags[*]"];
    assert_eq!(
        pipe(&args, RECORDS).ok(),
        "id  lang       tags\n 1  nl         [\"x\",{\"y\" : 2}]\n20  a\\tb\\\\n\\r  []\n               []\n"
    );
    assert_eq!(pipe(&args, b"").ok(), "id  lang  tags\n");
    assert_eq!(pipe(&[&args[..], &["-n", "1"]].concat(), RECORDS).ok().lines().count(), 2);
}

#[test]
fn matches_end_with_a_nul_byte() {
    let args = ["query", "--print0", "-r", "$.lang"];
    assert_eq!(pipe(&args, RECORDS).ok(), "nl\0a\tb\\\n\r\0null\0");
    assert_eq!(pipe(&["query", "--print0", "-n1", "$.lang"], RECORDS).ok(), "\"nl\"\0");
}

#[test]
fn matches_have_the_names_of_their_files() {
    let folder = Folder::new(&[("a\n", b"{\"a\":1}\n"), ("b", b"{\"a\":[2]}\n")]);
    assert_eq!(folder.run(&["query", "-H", "$.a", "a\n", "b"]).ok(), "a\\n:1\nb:[2]\n");
    assert_eq!(folder.run(&["query", "-H", "--offsets", "$.a", "b"]).ok(), "b\t5\t8\t[2]\n");
    assert_eq!(folder.run(&["query", "-H", "--with-path", "$.a", "b"]).ok(), "b\t$['a']\t[2]\n");
    assert_eq!(folder.run(&["query", "-H", "--print0", "$.a", "b"]).ok(), "b:[2]\0");
    assert_eq!(pipe(&["query", "-H", "$.id"], RECORDS).ok(), "<stdin>:1\n<stdin>:20\n");
}

#[cfg(unix)]
#[test]
fn a_terminal_shows_colours_and_tables_that_fit() {
    let folder = Folder::new(&[("a", RECORDS)]);
    let query = folder.on_terminal(80, &["query", "$.tags", "a"]);
    assert_eq!(query.screen, "[\"x\",{\"y\" : 2}]\n[]");
    assert!(query.bytes.windows(5).any(|bytes| bytes == b"\x1b[32m"));
    let without = folder.on_terminal(80, &["query", "--color=never", "$.tags", "a"]);
    assert!(!without.bytes.contains(&b'\x1b'));
    // A file is no terminal.
    folder.on_terminal(80, &["query", "$.tags", "a", "-o", "out"]);
    assert_eq!(folder.read("out"), b"[\"x\",{\"y\" : 2}]\n[]\n");
    let table = ["select", "--format=table", "id=$.id", "lang=$.lang", "tags=$.tags", "--", "a"];
    assert_eq!(
        folder.on_terminal(80, &table).screen.lines().nth(1),
        Some(" 1  nl         [\"x\",{\"y\" : 2}]")
    );
    assert_eq!(
        folder.on_terminal(24, &table).screen,
        "id  lang       tags\n 1  nl         [\"x\",{\"…\n20  a\\tb\\\\n\\r  []"
    );
}

/// The endings of outputs name formats, in every command. Endings of formats and compressions that a
/// command does not write are refused.
#[test]
fn the_name_of_an_output_names_its_format() {
    let folder = Folder::new(&[("in", b"{\"a\":1}\n"), ("subs", b"one\t$[?@ == 1]\n")]);
    let commands: [&[&str]; 10] = [
        &["select", "a=$.a", "in"],
        &["count-by", "$.a", "in"],
        &["distinct", "$.a", "in"],
        &["stats", "$.a", "in"],
        &["schema", "in"],
        &["filter", "-s", "subs", "in"],
        &["query", "$.a", "in"],
        &["sample", "1", "in"],
        &["head", "in"],
        &["filter", "-s", "subs", "in", "--count"],
    ];
    let rows = [Some("csv"), Some("tsv"), Some("ndjson"), Some("ndjson"), None, None, None];
    let lines = [Some(""), Some(""), Some(""), Some(""), None, None, Some("")];
    let records = [None, None, Some(""), Some(""), None, None, None];
    let endings = ["csv", "tsv", "jsonl", "json", "arrow", "pq", "sql"];
    for (command, formats) in commands.into_iter().zip([
        [Some("csv"), Some("tsv"), Some("ndjson"), Some("ndjson"), Some("arrow"), Some("parquet"), None],
        rows,
        rows,
        rows,
        [None, None, Some("ndjson"), Some("json-schema"), None, None, Some("sql")],
        [None, None, Some("ndjson"), Some("ndjson"), Some("arrow"), None, None],
        lines,
        records,
        records,
        lines,
    ]) {
        for (ending, format) in endings.into_iter().zip(formats) {
            let name = format!("o.{ending}");
            let ran = folder.run(&[command, &["-o", &name]].concat());
            let Some(format) = format else {
                ran.failed(
                    2,
                    "",
                    &format!("error: `{name}`: this command writes no .{ending} files\n  help: "),
                );
                assert!(!folder.path(&name).exists());
                continue;
            };
            ran.ok();
            let other = [command, &["-o", "other"]].concat();
            let format: &[&str] = if format.is_empty() { &[] } else { &["--format", format] };
            folder.run(&[&other, format].concat()).ok();
            assert_eq!(folder.read(&name), folder.read("other"), "{command:?} {name}");
            std::fs::remove_file(folder.path(&name)).unwrap();
        }
        for ending in ["csv.gz", "ndjson.zst", "XLSX", "wpi"] {
            let name = format!("o.{ending}");
            folder.run(&[command, &["-o", &name]].concat()).failed(2, "", &format!("error: `{name}`: "));
            assert!(!folder.path(&name).exists());
        }
        // Other endings have no meaning.
        folder.run(&[command, &["-o", "o.txt"]].concat()).ok();
    }
    // An option names the format of any file, but nothing compresses it.
    folder.run(&["count-by", "$.a", "in", "--format", "csv", "-o", "o.xlsx"]).ok();
    assert_eq!(folder.read("o.xlsx"), b"count,$.a\n1,1\n");
    folder.run(&["count-by", "$.a", "in", "--format", "csv", "-o", "o.csv.GZ"]).failed(
        2,
        "",
        "error: `o.csv.GZ`: results are not compressed\n  help: compress them by a pipe, in place of `-o`: \
         `warpath … | gzip > o.csv.GZ`\n",
    );
    // Files of this ending are in Arrow's stream format.
    folder.run(&["select", "a=$.a", "in", "-o", "o.arrows"]).ok();
    assert_eq!(folder.read("o.arrows"), folder.run(&["select", "a=$.a", "in", "--format", "arrow"]).stdout);
    folder.run(&["select", "a=$.a", "in", "-o", "o.ipc"]).ok();
    assert!(folder.read("o.ipc").starts_with(b"ARROW1"));
}
