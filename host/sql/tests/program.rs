//! The program `warpath-sql`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpath-sql"));
    command.args(arguments).current_dir(folder).env_clear().stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let log = "{\"level\":\"error\",\"ms\":7}\n{\"level\":\"info\",\"ms\":1}\n{\"level\":\"error\"}\n";
    fs::write(folder.path().join("log.ndjson"), log).unwrap();
    fs::write(folder.path().join("bad.ndjson"), "{\"a\":1}\n{\"a\":\n").unwrap();
    folder
}

#[test]
fn rows_have_the_format_of_the_options() {
    let folder = folder();
    let query = "SELECT level, ms FROM 'log.ndjson' ORDER BY ms NULLS LAST";
    let output = |arguments: &[&str]| {
        let output = run(folder.path(), &[arguments, &[query]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(
        output(&[]).contains("| info  | 1    |\n| error | 7    |\n| error | NULL |\n"),
        "{}",
        output(&[])
    );
    assert_eq!(output(&["--format", "csv"]), "level,ms\ninfo,1\nerror,7\nerror,\n");
    let ndjson = "{\"level\":\"info\",\"ms\":1}\n{\"level\":\"error\",\"ms\":7}\n{\"level\":\"error\"}\n";
    assert_eq!(output(&["--format", "ndjson"]), ndjson);
    assert!(output(&["--format", "arrow"]).len() > 100);
    for name in ["rows.ndjson", "rows.csv", "rows.arrow", "rows.parquet"] {
        assert_eq!(output(&["-o", name]), "");
        assert!(fs::metadata(folder.path().join(name)).unwrap().len() > 20, "{name}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("rows.ndjson")).unwrap(), ndjson);
    let read = run(folder.path(), &["--format", "csv", "SELECT count(*) AS n FROM 'rows.parquet'"]);
    assert_eq!(text(&read.stdout), "n\n3\n");
}

/// DataFusion descends into each term of a condition.
#[test]
fn long_conditions_have_room() {
    let folder = folder();
    for term in ["ms = {} + 1 AND level > '{}'", "ms > {} AND level = 'v{}'", "level LIKE '{}%'"] {
        let terms: Vec<String> = (0..400).map(|at| term.replace("{}", &at.to_string())).collect();
        let query = format!("SELECT count(*) AS n FROM 'log.ndjson' WHERE {} OR ms = 7", terms.join(" OR "));
        fs::write(folder.path().join("long.sql"), query).unwrap();
        let output = run(folder.path(), &["--format", "csv", "-f", "long.sql"]);
        assert!(matches!(text(&output.stdout), "n\n1\n" | "n\n2\n"), "{term}: {}", text(&output.stderr));
    }
}

#[test]
fn failures_say_what_and_where() {
    let folder = folder();
    for (query, code, messages) in [
        ("SELEC 1", 3, &["error: Expected: an SQL statement, found: SELEC", "\n  SELEC 1\n  ^\n"][..]),
        (
            "SELECT 1;\nSELECT levl FROM 'log.ndjson'",
            3,
            &[
                "there is no column `levl`; did you mean `level`?\n  SELECT levl FROM 'log.ndjson'\n         ^\n",
            ],
        ),
        ("SELECT * FROM 'none.ndjson'", 3, &["error: none.ndjson: there is no such file"]),
        ("SELECT json_path('{}', '$.[')", 3, &["the path of json_path: ", "  $.["]),
        ("SELECT sum(a) FROM 'bad.ndjson'", 4, &["bad.ndjson:2:", "bracket is not closed"]),
    ] {
        let output = run(folder.path(), &[query]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{query}: {said}");
        for message in messages {
            assert!(said.contains(message), "{query}: {said}");
        }
    }
    let output = run(folder.path(), &["--format", "parquet", "SELECT 1"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let output = run(
        folder.path(),
        &["--on-error", "skip", "--format", "csv", "SELECT sum(a) AS a FROM 'bad.ndjson'"],
    );
    assert_eq!(text(&output.stdout), "a\n1\n");
    assert!(text(&output.stderr).contains("1 malformed record skipped"), "{}", text(&output.stderr));
    // A file that would be replaced stays as it was.
    fs::write(folder.path().join("old.csv"), "old").unwrap();
    let output = run(folder.path(), &["-o", "old.csv", "SELECT 1 / (ms - 1) FROM 'log.ndjson'"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(folder.path().join("old.csv")).unwrap(), "old");
}

/// A mistake of a query is no fault of the input, and a way to correct it is said.
#[test]
fn mistakes_come_with_advice() {
    let folder = folder();
    fs::write(folder.path().join("mixed.ndjson"), "{\"x\":\"q\",\"t\":[1]}\n{\"x\":3,\"t\":[]}\n").unwrap();
    for (query, messages) in [
        (
            "SELECT sum(level) FROM 'log.ndjson'",
            ["no function takes these types: sum(Utf8)\n", "try_cast(x AS DOUBLE)"],
        ),
        ("SELECT * FROM log.ndjson", ["not found", "the name of a file is in quotes: FROM 'log.ndjson'"]),
        ("SELECT x + 1 FROM 'mixed.ndjson'", ["Cannot ", "try_cast(x AS BIGINT)"]),
        ("SELECT 1 / 0", ["error: Divide by zero", ""]),
        ("SELECT $1", ["Placeholder '$1' was not provided", "write the value in its place"]),
    ] {
        let output = run(folder.path(), &[query]);
        assert_eq!(output.status.code(), Some(3), "{query}: {}", text(&output.stderr));
        assert!(
            messages.iter().all(|it| text(&output.stderr).contains(it)),
            "{query}: {}",
            text(&output.stderr)
        );
    }
    let csv = |query| run(folder.path(), &["--format", "csv", query]);
    let output = csv("SELECT t FROM 'mixed.ndjson'");
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(3) && said.contains("CSV has no column of the type of `t`"),
        "{said}"
    );
    assert_eq!(text(&csv("SELECT level, ms FROM 'log.ndjson' WHERE ms > 100").stdout), "level,ms\n");
    // A full disk, as far as a system has such a file.
    if Path::new("/dev/full").exists() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpath-sql"));
        command
            .args(["--format", "csv", "SELECT * FROM 'log.ndjson'"])
            .current_dir(folder.path())
            .env_clear();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("cannot write to standard output: No space left"));
    }
}

#[test]
fn names_of_other_engines_are_known() {
    let folder = folder();
    let log = "{\"a\":{\"b\":5},\"j\":{\"k\":[7,\"x\"]}}\n{\"a\":{\"b\":6},\"j\":1}\n";
    fs::write(folder.path().join("json.ndjson"), log).unwrap();
    for (query, rows) in [
        ("SELECT a->'b' AS v FROM 'json.ndjson'", "v\n5\n6\n"),
        ("SELECT a->>'b' AS v FROM 'json.ndjson'", "v\n5\n6\n"),
        ("SELECT j->'k'->>1 AS v FROM 'json.ndjson' WHERE (j->'k') IS NOT NULL", "v\nx\n"),
        ("SELECT count(*) AS v FROM 'json.ndjson' WHERE (a->>'b') = '5'", "v\n1\n"),
        (
            "SELECT time_bucket(INTERVAL '1 hour', TIMESTAMP '2026-01-01T10:11:12') AS v",
            "v\n2026-01-01T10:00:00\n",
        ),
        ("SELECT strftime(TIMESTAMP '2026-01-01T10:11:12', '%H') AS v", "v\n10\n"),
    ] {
        let output = run(folder.path(), &["--format", "csv", query]);
        assert_eq!(text(&output.stdout), rows, "{query}: {}", text(&output.stderr));
    }
}

#[test]
fn tables_are_folders_and_declare_no_more_than_text_has() {
    let folder = folder();
    fs::create_dir(folder.path().join("logs")).unwrap();
    fs::write(folder.path().join("logs/a.ndjson"), "{\"host\":\"a\"}\n{\"host\":null}\n{}\n").unwrap();
    let csv = |query: &str| {
        let output = run(folder.path(), &["--format", "csv", query]);
        assert!(output.status.success(), "{query}: {}", text(&output.stderr));
        (text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let count =
        "SELECT count(host) AS c, count(*) AS n, sum(CASE WHEN host IS NULL THEN 1 ELSE 0 END) AS z FROM t";
    for columns in ["", "(host VARCHAR NOT NULL)"] {
        for location in ["logs/", "logs", "logs/*.ndjson", "logs/a.ndjson"] {
            let create = format!("CREATE EXTERNAL TABLE t {columns} STORED AS WARPATH LOCATION '{location}'");
            assert_eq!(csv(&format!("{create}; {count}")).0, "c,n,z\n1,3,2\n", "{create}");
        }
    }
    // A schema of a run that skipped records is not kept for one that does not.
    let skip = ["--on-error", "skip", "--format", "csv", "SELECT count(*) AS n FROM 'bad.ndjson'"];
    for _ in 0..2 {
        let output = run(folder.path(), &skip);
        assert_eq!(text(&output.stdout), "n\n1\n");
        assert!(text(&output.stderr).contains("1 malformed record skipped"), "{}", text(&output.stderr));
    }
    assert_eq!(run(folder.path(), &["SELECT count(*) FROM 'bad.ndjson'"]).status.code(), Some(4));
    // Records with more names than columns can be.
    let wide: String = (0..5000).map(|i| format!("\"n{i}\":{i},")).collect();
    fs::write(folder.path().join("wide.ndjson"), format!("{{{wide}\"x\":1}}\n")).unwrap();
    let (rows, said) = csv("SELECT value->>'n4999' AS v FROM 'wide.ndjson'");
    assert!(rows == "v\n4999\n" && said.contains("one column `value` of JSON text"), "{rows} {said}");
}

#[test]
fn messages_have_the_form_of_the_options() {
    let folder = folder();
    let output = run(folder.path(), &["--message-format", "json", "SELECT levl FROM 'log.ndjson'"]);
    let said: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(said["kind"], "error");
    assert_eq!(said["message"], "there is no column `levl`; did you mean `level`?");
    assert_eq!(said["excerpt"], "  SELECT levl FROM 'log.ndjson'\n         ^");
    let output = run(folder.path(), &["--message-format", "json", "SELECT a FROM 'bad.ndjson'"]);
    let said: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&said["line"], said["byte"].is_number()), (&2.into(), true), "{said}");
    let skip = ["--on-error", "skip", "SELECT a FROM 'bad.ndjson'"];
    assert!(text(&run(folder.path(), &skip).stderr).starts_with("warning: "));
    assert_eq!(text(&run(folder.path(), &[&["-q"][..], &skip].concat()).stderr), "");
    let output = run(folder.path(), &["--progress", "always", "SELECT sum(ms) FROM 'log.ndjson'"]);
    assert!(text(&output.stderr).starts_with("progress: 67 B of "), "{}", text(&output.stderr));
    // Nothing in a table controls the terminal.
    let output = run(folder.path(), &["SELECT E'a\\x1b[2J' AS \"b\x1bc\""]);
    assert!(!text(&output.stdout).contains('\x1b'), "{}", text(&output.stdout));
}

/// A signal ends a statement, and leaves nothing of its output.
#[cfg(unix)]
#[test]
fn signals_end_a_statement() {
    use std::io::{BufRead, BufReader};
    let folder = folder();
    let endless = "SELECT sum(value) AS v FROM generate_series(1, 9000000000000000000)";
    // One thread has a long way to its next batch.
    let pairs = "SELECT count(*) AS v FROM generate_series(1, 4000000) AS a JOIN generate_series(1, 4000000) AS b \
                 ON a.value % 7 < b.value % 5";
    for (endless, signal, code) in [
        (endless, "INT", 130),
        (endless, "TERM", 143),
        (endless, "HUP", 129),
        (pairs, "INT", 130),
        (pairs, "TERM", 143),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpath-sql"));
        command
            .args(["--progress", "always", "-o", "out.csv", endless])
            .current_dir(folder.path())
            .env_clear();
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("progress: "), "{line}");
        let sent =
            Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("out.csv")), "{left:?}");
    }
}

#[test]
fn statements_come_from_a_file_or_standard_input() {
    use std::io::Write;
    let folder = folder();
    let statements =
        "CREATE EXTERNAL TABLE t STORED AS WARPATH LOCATION 'log.ndjson';\nSELECT count(*) AS n FROM t;";
    fs::write(folder.path().join("all.sql"), statements).unwrap();
    let output = run(folder.path(), &["--format", "csv", "-f", "all.sql"]);
    assert_eq!(text(&output.stdout), "n\n3\n", "{}", text(&output.stderr));
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpath-sql"));
    command.args(["--format", "csv"]).current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "n\n3\n");
}

/// The first line of a part is not that of its file.
#[test]
fn values_that_are_not_taken_have_lines_of_their_file() {
    let folder = folder();
    // More than one part, with the wrong value in the last.
    let line = format!("{{\"n\":1,\"s\":\"{}\"}}\n", "x".repeat(85));
    let text_of_file = line.repeat(60_000) + "{\"n\":\"x\"}\n" + &line;
    fs::write(folder.path().join("parts.ndjson"), text_of_file).unwrap();
    for workers in ["1", "3"] {
        let query = "SELECT sum(n) AS n FROM 'parts.ndjson'";
        let arguments = ["--schema", "sample:10", "--workers", workers, "--format", "csv", query];
        let output = run(folder.path(), &arguments);
        assert_eq!(text(&output.stdout), "n\n60001\n");
        let said = text(&output.stderr);
        assert!(said.contains("1 value not taken"), "{said}");
        assert!(said.contains("parts.ndjson:60001)"), "{workers}: {said}");
    }
}

#[test]
fn records_have_the_names_of_their_files() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("logs/year=2026")).unwrap();
    fs::copy(folder.path().join("log.ndjson"), folder.path().join("logs/year=2026/a.ndjson")).unwrap();
    fs::write(folder.path().join("logs/year=2026/b.ndjson"), "{\"ms\":2,\"filename\":\"own\"}\n").unwrap();
    let ran = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["--format", "csv"], arguments].concat());
        (text(&output.stdout).to_owned(), text(&output.stderr).to_owned(), output.status.code())
    };
    let by_file = "SELECT filename, year, count(*) AS n FROM 'logs/' GROUP BY 1, 2 ORDER BY 1";
    let (rows, said, _) = ran(&["--filename", by_file]);
    assert_eq!(
        rows, "filename,year,n\nlogs/year=2026/a.ndjson,2026,3\nlogs/year=2026/b.ndjson,2026,1\n",
        "{said}"
    );
    let (rows, ..) = ran(&["--filename", "SELECT ms FROM 'logs/' WHERE filename LIKE '%/b.ndjson'"]);
    assert_eq!(rows, "ms\n2\n");
    // A condition on names reads the files that it is about.
    let (plan, ..) = ran(&["--filename", "EXPLAIN SELECT ms FROM 'logs/' WHERE filename LIKE '%/b.ndjson'"]);
    assert!(plan.contains("b.ndjson") && !plan.contains("a.ndjson"), "{plan}");
    // Without the option, a member has that name.
    assert_eq!(ran(&["SELECT filename FROM 'logs/' WHERE ms = 2"]).0, "filename\nown\n");
    let table = "CREATE EXTERNAL TABLE t STORED AS WARPATH LOCATION 'log.ndjson' \
                 OPTIONS ('format.filename' 'true'); SELECT DISTINCT filename FROM t";
    assert_eq!(ran(&[table]).0, "filename\nlog.ndjson\n");
    let (_, said, code) = ran(&[&table.replace("'true'", "'yes'")]);
    assert!(code == Some(3) && said.contains("`yes` is neither `true` nor `false`"), "{said}");
}

/// A line that the schema leaves out is a record in all scans of a query, as for other commands.
#[test]
fn odd_lists_of_members_are_records_in_all_scans() {
    let folder = folder();
    let records = "{\"a\":1,\"o\":{\"b\":1}}\n{\"a\":1,,}\n{\"a\":3,\"o\":{\"b\":2}}\n";
    fs::write(folder.path().join("odd.ndjson"), records).unwrap();
    let query = "SELECT (SELECT count(*) FROM 'odd.ndjson') AS records, count(a) AS a, count(*) AS rows, \
                 sum(CASE WHEN o['b'] > 0 THEN 1 ELSE 0 END) AS o FROM 'odd.ndjson'";
    let output = run(folder.path(), &["--on-error", "skip", "--format", "csv", query]);
    assert_eq!(text(&output.stdout), "records,a,rows,o\n3,3,3,2\n", "{}", text(&output.stderr));
}

/// The system may refuse threads or memory. The program then ends with a message, and never waits.
#[test]
#[cfg(target_os = "linux")]
fn short_memory_ends_the_program() {
    let folder = folder();
    let query = "SELECT level, count(*) FROM 'log.ndjson' GROUP BY level";
    let mut refused = 0;
    let program = fs::metadata(env!("CARGO_BIN_EXE_warpath-sql")).unwrap().len() / 1024;
    for more in [20_000, 50_000, 100_000, 150_000, 200_000, 300_000, 400_000] {
        let kilobytes = program + more;
        let shell = "ulimit -v \"$1\"; shift; exec \"$0\" \"$@\"";
        let output = Command::new("sh")
            .args(["-c", shell, env!("CARGO_BIN_EXE_warpath-sql"), &kilobytes.to_string()])
            .args(["--workers", "4", query])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(2 | 4) => {
                refused += 1;
                let is_told =
                    said.contains("no thread can be started") || said.contains("there is no memory");
                assert!(is_told && !said.contains("panicked"), "{kilobytes}: {said}");
            }
            // The C library ends a program whose thread gets no memory for its own data.
            None if said.contains("out of memory") => refused += 1,
            code => panic!("{kilobytes}: {code:?} {said}"),
        }
    }
    assert!(refused > 0);
}
