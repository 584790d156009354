//! Tables of files, folders and patterns; schemas that are kept; malformed records.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::TableReference;
use datafusion::logical_expr::TableProviderFilterPushDown;
use datafusion::prelude::lit;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use warpath::bitmap::ColumnSpec;
use warpath::store::{AddOptions, Store};
use warpath::{Engine, IndexFile, IndexSpec, OnError, Predicate, Source};
use warpath_sql::{Options, SchemaFrom};

use super::{Session, quoted};

/// Records of many lengths, with their number.
fn records(count: u64) -> String {
    let mut text = String::new();
    for n in 0..count {
        let pad = "x".repeat((n * 7919 % 211) as usize);
        writeln!(text, "{{\"n\":{n},\"k\":\"{}\",\"pad\":\"{pad}\"}}", n % 3).unwrap();
    }
    text
}

/// Files beyond some MiB are read in parts, wherever these divide lines.
#[test]
fn parts_of_a_file_have_each_record_once() {
    let count: u64 = 300_000;
    for workers in [2, 5] {
        let session = Session::with(Options { workers, ..Options::default() });
        let table = session.file("long.ndjson", records(count));
        let query = format!("SELECT count(n), sum(n), count(DISTINCT n) FROM {table} WHERE k <> '9'");
        let plan = session.plan(&query);
        assert!(plan.contains("file_groups={") && plan.contains(".ndjson:"), "{plan}");
        assert_eq!(session.rows(&query), [format!("{count} {} {count}", count * (count - 1) / 2)]);
        assert_eq!(
            session.rows(&format!("SELECT count(*) FROM {table} WHERE k = '1'")),
            [(count / 3).to_string()]
        );
    }
}

/// A bitmap index beside a file serves filters of whole files and of parts: the other lines are not read.
#[test]
fn an_index_beside_a_file_serves_filters() {
    for workers in [1, 4] {
        let session = Session::with(Options { workers, ..Options::default() });
        let table = session.file("log.ndjson", records(300_000));
        let path = session.path("log.ndjson");
        let query = format!("SELECT count(*), min(n), max(n) FROM {table} WHERE n >= 200000 AND n < 200100");
        let read = || {
            assert_eq!(session.rows(&query), ["100 200000 200099"]);
            let ran = session.rows(&format!("EXPLAIN ANALYZE {query}")).join("\n");
            let (_, bytes) = ran.split_once("text_bytes=").unwrap_or_else(|| panic!("{ran}"));
            bytes.split([',', ']']).next().unwrap().to_owned()
        };
        let all = read();
        let engine = Engine::builder().build().unwrap();
        let spec = IndexSpec::new(1).with_columns(vec![ColumnSpec::new("number", "$.n")]);
        IndexFile::build_as(&engine, &path, &spec).unwrap();
        let few = read();
        assert!(all != few, "{all} bytes of text with the index, and without");
    }
}

/// An error names the line of the file, and not that of a part.
#[test]
fn a_malformed_record_is_reported_at_its_line() {
    let options = Options { schema: SchemaFrom::Sample(10), workers: 4, ..Options::default() };
    let session = Session::with(options);
    let mut text = records(300_000);
    let begin = text.match_indices('\n').nth(250_000).unwrap().0 + 1;
    text.insert_str(begin, "{\"n\":\n");
    let table = session.file("odd.ndjson", &text);
    let error = session.error(&format!("SELECT sum(n) FROM {table}"));
    let place = format!("{}:250002:", session.path("odd.ndjson").display());
    assert!(error.contains(&place), "{error}");
    let options = Options { on_error: OnError::Skip, ..options_of(4) };
    let session = Session::with(options);
    let table = session.file("odd.ndjson", &text);
    assert_eq!(session.rows(&format!("SELECT count(n) FROM {table}")), ["300000"]);
    let name = session.path("odd.ndjson").display().to_string();
    assert_eq!(session.report.take().skipped.get(&name), Some(&1));
    let analyzed = session.rows(&format!("EXPLAIN ANALYZE SELECT count(n) FROM {table}")).join("\n");
    assert!(analyzed.contains("malformed_records=1"), "{analyzed}");
}

/// Rules of an optimizer may leave constants as filters.
#[test]
fn constants_are_filters_too() {
    let session = Session::new();
    for (name, file) in [("plain", "plain/a.ndjson"), ("folders", "folders/day=1/a.ndjson")] {
        session.file(file, "{\"n\":1}\n{\"n\":2}\n");
        let name = session.path(name).display().to_string();
        for (constant, rows) in [(true, 2), (false, 0)] {
            let found = session.runtime.block_on(async {
                let table = session.context.table_provider(TableReference::bare(name.clone())).await.unwrap();
                let filters = [lit(constant)];
                let exact = table.supports_filters_pushdown(&[&filters[0]]).unwrap();
                let plan = table.scan(&session.context.state(), None, &filters, None).await.unwrap();
                let batches =
                    datafusion::physical_plan::collect(plan, session.context.task_ctx()).await.unwrap();
                let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
                (rows, exact)
            });
            // A filter that is not exact is applied above the scan.
            let is_exact = found.1 == [TableProviderFilterPushDown::Exact];
            assert_eq!(found.0, if is_exact { rows } else { 2 }, "{name}: {constant}");
        }
    }
}

/// A file may change between the plan of a query and its run.
#[test]
fn files_that_change_while_a_query_runs() {
    for (count, workers) in [(3, 1), (300_000, 4)] {
        let session = Session::with(options_of(workers));
        let text = records(count);
        let table = session.file("a.ndjson", &text);
        let run = |change: &dyn Fn()| {
            session.runtime.block_on(async {
                let frame =
                    session.context.sql(&format!("SELECT sum(n), max(k) FROM {table}")).await.unwrap();
                let task = Arc::new(frame.task_ctx());
                let plan = frame.create_physical_plan().await.unwrap();
                change();
                datafusion::physical_plan::collect(plan, task).await
            })
        };
        let path = session.path("a.ndjson");
        let cut = run(&|| fs::write(&path, &text[..text.len() - 40]).unwrap()).unwrap_err().to_string();
        assert!(cut.contains("when the query was planned; run the query again"), "{cut}");
        fs::write(&path, &text).unwrap();
        let gone = run(&|| fs::remove_file(&path).unwrap()).unwrap_err().to_string();
        assert!(gone.contains("a.ndjson") && gone.contains("No such file"), "{gone}");
        fs::write(&path, &text).unwrap();
        let longer = format!("{text}{}", records(1));
        let rows = run(&|| fs::write(&path, &longer).unwrap()).unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
        // A value that does not fit the type that was planned is null, and counted.
        fs::write(&path, &text).unwrap();
        drop(session.report.take());
        let other = text.replacen("\"n\":1,", "\"n\":\"\",", 1);
        run(&|| fs::write(&path, &other).unwrap()).unwrap();
        assert_eq!(session.report.take().columns.values().map(|it| it.count).sum::<u64>(), 1);
    }
}

/// A sort that has less memory than its rows writes to temporary files; a join that cannot says so.
#[test]
fn short_memory_spills_or_is_an_error() {
    let options = Options { memory: Some(24 << 20), workers: 2, ..Options::default() };
    let session = Session::with(options);
    let table = session.file("a.ndjson", records(600_000));
    let sorted = format!(
        "SELECT sum(r), max(n), count(*) FROM (SELECT n, pad, row_number() OVER (ORDER BY pad, n) AS r FROM {table}) s"
    );
    assert_eq!(session.rows(&sorted), ["180000300000 599999 600000"]);
    let plan = session.rows(&format!("EXPLAIN ANALYZE {sorted}")).join("\n");
    assert!(plan.contains("spilled_rows="), "{plan}");
    let error = session
        .error(&format!("SELECT count(*) FROM {table} a JOIN {table} b ON a.pad = b.pad AND a.n < b.n"));
    assert!(error.contains("Resources exhausted"), "{error}");
}

fn options_of(workers: usize) -> Options {
    Options { workers, ..Options::default() }
}

#[test]
fn folders_patterns_and_compressed_files_are_tables() {
    let session = Session::new();
    let gzip = |text: &str| {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    session.file("logs/year=2025/a.ndjson", "{\"n\":1}\n{\"n\":2}\n");
    session.file("logs/year=2026/b.ndjson.gz", gzip("{\"n\":4,\"m\":\"x\"}\n"));
    session.file("logs/year=2026/c.ndjson", "{\"n\":8}");
    let folder = format!("'{}/'", session.path("logs").display());
    let years = format!("SELECT year, sum(n) AS n, max(m) FROM {folder} GROUP BY year ORDER BY n");
    assert_eq!(session.rows(&years), ["2025 3 NULL", "2026 12 x"]);
    // The schemas that are kept in the folder now are no part of the table.
    assert_eq!(session.rows(&years), ["2025 3 NULL", "2026 12 x"]);
    assert_eq!(session.rows(&format!("SELECT count(*) FROM {folder}")), ["4"]);
    assert_eq!(session.rows(&format!("SELECT sum(n) FROM {folder} WHERE year = '2026'")), ["12"]);
    let pattern = format!("'{}/*.ndjson'", session.path("logs/year=2026").display());
    assert_eq!(session.rows(&format!("SELECT sum(n) FROM {pattern}")), ["8"]);
    let none = format!("'{}/*.txt'", session.path("logs").display());
    assert!(session.error(&format!("SELECT * FROM {none}")).contains("no file has this name or matches"));
    let missing = quoted(&session.path("none.ndjson"));
    assert!(session.error(&format!("SELECT * FROM {missing}")).contains("there is no such file"));
}

/// Names mean the same files as in other commands, and folders `key=value` below them are columns.
#[test]
fn folders_that_a_name_does_not_spell_out_are_columns() {
    let session = Session::new();
    session.file("logs/year=2025/day=a%20b/a.ndjson", "{\"n\":1,\"day\":7}\n");
    session.file("logs/year=2026/day=c/b.ndjson", "{\"n\":2}\n{\"n\":4}\n");
    session.file("logs/year=2026/day=c/notes.txt", "no JSON");
    session.file("logs/.hidden/x.ndjson", "no JSON");
    let name = |pattern: &str| format!("'{}'", session.path(pattern).display());
    let rows = |pattern: &str| {
        session.rows(&format!(
            "SELECT year, day, sum(n) FROM {} GROUP BY year, day ORDER BY year",
            name(pattern)
        ))
    };
    let both = ["2025 a b 1", "2026 c 6"];
    assert_eq!(rows("logs"), both);
    assert_eq!(rows("logs/*/*/*.ndjson"), both);
    assert_eq!(rows("logs/**/[ab].ndjson"), both);
    assert_eq!(rows("logs/year={2025,2026}/*/*.ndjson"), both);
    assert_eq!(rows("logs/year=*6/*/b.ndjson"), ["2026 c 6"]);
    // The name spells the year out; a member `year` is then one of the records.
    let error = session.error(&format!("SELECT year FROM {}", name("logs/year=2026/*/*.ndjson")));
    assert!(error.contains("year"), "{error}");
    // A condition on folders alone reads no other file.
    let damaged = session.path("logs/year=2025/day=a%20b/a.ndjson");
    let sum = format!("SELECT sum(n) FROM {} WHERE year = 2026 AND day <> 'x'", name("logs"));
    assert_eq!(session.rows(&sum), ["6"]);
    let plan = session.plan(&sum);
    assert!(plan.contains("b.ndjson") && !plan.contains("a.ndjson"), "{plan}");
    assert_eq!(session.rows(&format!("SELECT count(*) FROM {} WHERE year = '2025'", name("logs"))), ["1"]);
    fs::remove_file(damaged).unwrap();
    // Files are listed for each query.
    assert_eq!(rows("logs"), ["2026 c 6"]);
    session.file("logs/year=2027/day=d/c.ndjson", "{\"n\":5}\n");
    assert_eq!(rows("logs"), ["2026 c 6", "2027 d 5"]);
}

#[test]
fn a_schema_is_kept_until_its_file_changes() {
    let session = Session::new();
    let table = session.file("a.ndjson", "{\"a\":1}\n");
    let types = || session.rows(&format!("SELECT arrow_typeof(a) FROM {table} LIMIT 1"));
    assert_eq!(types(), ["Int64"]);
    let kept = session.path(".a.ndjson.schema");
    let before = fs::read_to_string(&kept).unwrap();
    assert_eq!(types(), ["Int64"]);
    assert_eq!(fs::read_to_string(&kept).unwrap(), before);
    // A record more, of another type.
    session.file("a.ndjson", "{\"a\":1}\n{\"a\":\"x\"}\n");
    assert_eq!(types(), ["Utf8"]);
    assert_eq!(session.rows(&format!("SELECT a FROM {table}")), ["1", "\"x\""]);
    assert_ne!(fs::read_to_string(&kept).unwrap(), before);
    assert_eq!(session.rows(&format!("SELECT count(*) FROM {table}")), ["2"]);
    // A number that no double holds stays text, whether the schema is new or kept.
    session.file("a.ndjson", "{\"a\":1.5}\n{\"a\":1e400}\n");
    for _ in 0..2 {
        assert_eq!(session.rows(&format!("SELECT a FROM {table}")), ["1.5", "1e400"]);
    }
    session.file("a.ndjson", "{\"a\":1}\n{\"a\":\"x\"}\n");
    assert_eq!(types(), ["Utf8"]);
    // What is kept is not trusted if it is damaged.
    fs::write(&kept, "garbage").unwrap();
    assert_eq!(session.rows(&format!("SELECT a FROM {table}")), ["1", "\"x\""]);
    let session = Session::with(Options { keeps_schemas: false, ..Options::default() });
    let table = session.file("b.ndjson", "{\"a\":1}\n");
    assert_eq!(session.rows(&format!("SELECT a FROM {table}")), ["1"]);
    assert!(!session.path(".b.ndjson.schema").exists());
}

#[test]
fn records_have_any_form() {
    let session = Session::new();
    let table = session.file(
        "nested.ndjson",
        "{\"o\":{\"l\":[1,2],\"s\":{\"d\":1.5}},\"mixed\":1,\"big\":18446744073709551615}\n\
         {\"o\":null,\"mixed\":[true],\"none\":null}\n",
    );
    let query = format!("SELECT o['l'][2] AS l, o['s']['d'] AS d, mixed, big, none FROM {table}");
    assert_eq!(session.rows(&query), ["2 1.5 1 18446744073709551615 NULL", "NULL NULL [true] NULL NULL"]);
    let numbers = session.file("numbers.ndjson", "1\n2\n");
    assert_eq!(session.rows(&format!("SELECT sum(value) FROM {numbers}")), ["3"]);
    assert_eq!(session.rows(&format!("SELECT value FROM {numbers} WHERE value > 1")), ["2"]);
    let names = session.file("names.ndjson", "{\"a b\":1,\"c'd\":2,\"E\":3,\"\":4}\n");
    assert_eq!(session.rows(&format!("SELECT \"a b\", \"c'd\", \"E\", \"\" FROM {names}")), ["1 2 3 4"]);
    let empty = session.file("empty.ndjson", "");
    assert!(session.error(&format!("SELECT * FROM {empty}")).contains("there is no record"));
}

#[test]
fn declared_types_are_read_or_cast() {
    let session = Session::new();
    let location =
        session.file("a.ndjson", "{\"i\":7,\"f\":1,\"t\":\"2026-01-02T03:04:05.5Z\",\"d\":\"2026-01-02\"}\n");
    let table = |name: &str, columns: &str| {
        let create =
            format!("CREATE EXTERNAL TABLE {name} ({columns}) STORED AS WARPATH LOCATION {location}");
        session.batches(&create).map(drop)
    };
    table("t", "i INT, f FLOAT, t TIMESTAMP, d DATE").unwrap();
    assert_eq!(session.rows("SELECT * FROM t WHERE i = 7"), ["7 1.0 2026-01-02T03:04:05.500 2026-01-02"]);
    table("u", "i BYTEA").unwrap();
    assert!(session.error("SELECT i FROM u").contains("which no JSON value is read as"));
    let odd = format!(
        "CREATE EXTERNAL TABLE v STORED AS WARPATH LOCATION {location} OPTIONS ('format.schema' 'some')"
    );
    assert!(session.error(&odd).contains("none of `all`, `line` and `sample:N`"));
    let line = format!(
        "CREATE EXTERNAL TABLE w STORED AS JSONL LOCATION {location} OPTIONS ('format.schema' 'line')"
    );
    session.batches(&line).unwrap();
    assert_eq!(session.rows("SELECT json_path_int(line, '$.i') FROM w"), ["7"]);
}

/// Objects of a store that is no file system are read whole.
#[test]
fn objects_of_a_store_are_tables() {
    let session = Session::new();
    let store = Arc::new(InMemory::new());
    let text = records(20_000);
    session.runtime.block_on(async {
        for name in ["logs/a.ndjson", "logs/b.ndjson"] {
            store.put(&name.into(), PutPayload::from(text.clone())).await.unwrap();
        }
    });
    let url = url::Url::parse("memory://bucket").unwrap();
    session.context.register_object_store(&url, store as Arc<dyn ObjectStore>);
    let query = "SELECT count(n), sum(n) FROM 'memory://bucket/logs/' WHERE k = '1'";
    let sum: u64 = (0..20_000).filter(|n| n % 3 == 1).sum();
    assert_eq!(session.rows(query), [format!("{} {}", 2 * 6667, 2 * sum)]);
}

/// A store is one table, whatever columns its parts have, and without the lines that were removed.
#[test]
fn a_store_is_the_table_of_its_parts() {
    let session = Session::with(Options::default());
    for name in ["logs.wp", "[l]ogs *?.wp"] {
        is_table_of_parts(&session, &session.path(name));
    }
}

fn is_table_of_parts(session: &Session, path: &Path) {
    let add = |name: &str, text: &str| {
        let source = Source::Reader(name.into(), Box::new(std::io::Cursor::new(text.to_owned())));
        Store::add(path, vec![source], AddOptions::default(), &mut |_| {}).unwrap();
    };
    add("none", "");
    let failed = session.error(&format!("SELECT * FROM {}", quoted(path)));
    assert!(failed.contains("has had no lines yet"), "{failed}");
    add("first", "{\"id\":1,\"user\":{\"lang\":\"en\"}}\n{\"id\":2,\"user\":{\"lang\":\"nl\"}}\n");
    add("second", "{\"id\":3,\"user\":{\"name\":\"Ada\"},\"ms\":1.5}\n");
    let table = quoted(path);
    let rows = |query: &str| session.rows(&format!("SELECT {query}"));
    assert_eq!(rows(&format!("count(*), sum(id), sum(ms) FROM {table}")), ["3 6 1.5"]);
    assert_eq!(rows(&format!("user['lang'] FROM {table} WHERE id = 2")), ["nl"]);
    assert_eq!(rows(&format!("user['name'] FROM {table} WHERE user['lang'] IS NULL")), ["Ada"]);
    let engine = Engine::builder().build().unwrap();
    Store::drop_matching(path, &engine, &Predicate::parse("$.id < 2").unwrap()).unwrap();
    assert_eq!(rows(&format!("count(*), sum(id) FROM {table}")), ["2 5"]);
    // A pattern means the parts of the last version, too.
    if path.ends_with("logs.wp") {
        let pattern = quoted(&path.join("*.parquet"));
        assert_eq!(rows(&format!("count(*), sum(id) FROM {pattern}")), ["2 5"]);
    }
    Store::drop_matching(path, &engine, &Predicate::parse("$.id > 0").unwrap()).unwrap();
    assert_eq!(rows(&format!("count(*), sum(id), max(user['lang']) FROM {table}")), ["0 NULL NULL"]);
}

#[test]
fn parts_that_a_store_does_not_have_any_more_are_no_rows() {
    let session = Session::with(Options::default());
    let (plain, store) = (session.path("plain.wp"), session.path("logs.wp"));
    let add = |path: &Path, text: &str| {
        let source = Source::Reader("lines".into(), Box::new(std::io::Cursor::new(text.to_owned())));
        Store::add(path, vec![source], AddOptions::default(), &mut |_| {}).unwrap();
    };
    add(&plain, "{\"id\":7}\n");
    add(&store, "{\"id\":1}\n{\"id\":2}\n");
    // What is left of the first one is a folder of Parquet files, and no store.
    fs::remove_dir_all(plain.join("_delta_log")).unwrap();
    let engine = Engine::builder().build().unwrap();
    let mut files = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let part = files.find(|path| path.is_file()).unwrap();
    let sum = |from: &str| session.rows(&format!("SELECT sum(id) FROM {from}"));
    let pattern = quoted(&session.path("*.wp/*.parquet"));
    assert_eq!((sum(&pattern), sum(&quoted(&part))), (vec!["10".to_owned()], vec!["3".to_owned()]));
    Store::drop_matching(&store, &engine, &Predicate::parse("$.id > 0").unwrap()).unwrap();
    assert!(part.is_file());
    assert_eq!(sum(&pattern), ["7"]);
    let said = session.error(&format!("SELECT sum(id) FROM {}", quoted(&part)));
    assert!(said.contains("is not in the last version of the store"), "{said}");
}
