//! The look of results: indentation, colours, tables, and what separates them.

use crate::Folder;

const RECORDS: &[u8] = b"{\"id\":1,\"lang\":\"nl\",\"tags\":[\"x\",{\"y\" : 2}]}\n\
    {\"id\":20,\"lang\":\"a\\tb\\\\\\n\\r\",\"tags\":[]}\n\
    {\"lang\":null}\n";

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
