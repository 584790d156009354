//! Cases whose results were once wrong, or nearly.

use std::io::{self, Read};
use std::sync::Arc;

use warpath::{DeviceChoice, Engine, Error, Program, Query, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::{Backend, StructuralIndex, Worker};
use warpath_cpu::Cpu;
use warpath_shared::ir::MAX_PATHS;
use warpath_tests::data::file;
use warpath_tests::emulated::Emulated;
use warpath_tests::suite;

use crate::common::{backends, bare_backend};

fn ask(text: &str, path: &str) -> Vec<String> {
    let answers = backends().map(|backend| {
        let engine = Engine::builder().backend(backend).build().unwrap();
        let input = engine.reader("test", io::Cursor::new(text.to_owned()));
        let hits = input.query(&Query::compile(path).unwrap()).unwrap();
        hits.map(|hit| hit.unwrap().text().into_owned()).collect::<Vec<_>>()
    });
    assert_eq!(answers[0], answers[1], "{path} of {text}");
    answers[0].clone()
}

/// The text after a container in a record is not checked. It is not part of the container either, and makes
/// no values.
#[test]
fn text_after_a_container_makes_no_values() {
    for (record, path) in [("[[1,2]345]", "$[0][-1]"), ("{\"a\":{\"b\":1}2}", "$.a.b")] {
        assert_eq!(ask(record, path), [] as [&str; 0], "{path} of {record}");
    }
}

#[test]
fn numbers_with_huge_exponents_equal_themselves_alone() {
    for number in
        ["1e300000000000000000", "1e3000000000000000000", "25e-288230376151711744", "1e99999999999999999999"]
    {
        assert_eq!(ask(&format!("[{number}]"), &format!("$[?@ == {number}]")), [number]);
    }
    assert_eq!(ask("[4e3500000000000000000]", "$[?@ == 4e4000000000000000000]"), [] as [&str; 0]);
    assert_eq!(ask("[4e350000000000000000]", "$[?@ == 4e500000000000000000]"), [] as [&str; 0]);
}

/// Each result was wrong in a program with one changed instruction, which no test noticed. `comparisons.rs`
/// has similar cases.
#[test]
fn values_of_a_record_compare_exactly() {
    assert_eq!(ask("[0.05,0.5,5]", "$[?@==$[1]]"), ["0.5"]);
    assert_eq!(ask("[0.05,0.5,5]", "$[?@<$[1]]"), ["0.05"]);
    assert_eq!(
        ask(r#"["\udbff\udc00","\udbff\udbff","\udc00\udc00"]"#, "$[?length(@)==1]"),
        [r#""\udbff\udc00""#]
    );
    assert_eq!(ask(r#"["\udbff\udfff","\ud800\udc00"]"#, r#"$[?@=="\udbff\udfff"]"#), [r#""\udbff\udfff""#]);
}

#[test]
fn paths_deeper_than_records_are_refused() {
    let unsupported = |path: &str| matches!(Query::compile(path), Err(Error::Unsupported(_)));
    assert!(unsupported(&format!("$[?@{} == 1]", ".a".repeat(20_000))));
    assert!(unsupported(&format!("${}", ".a".repeat(1025))));
    assert!(!unsupported(&format!("${}", ".a".repeat(1024))));
    assert!(!unsupported(&format!("$[?@{} == 1]", ".a".repeat(1023))));
}

/// Paths that branch off one another at every level need no frame each, whichever comes first.
#[test]
fn singular_columns_compile_in_any_order() -> anyhow::Result<()> {
    let mut columns: Vec<Query> = (0..200)
        .map(|depth| Query::compile(&format!("${}.x", ".a".repeat(depth))))
        .collect::<Result<_, _>>()?;
    let record = format!("{}0{}", r#"{"x":1,"a":"#.repeat(200), "}".repeat(200));
    for _ in 0..2 {
        let program = Program::new(&columns)?;
        for backend in backends() {
            let answer = backend.answer(record.as_bytes(), &program, Want::default())?;
            assert_eq!(answer.pieces[0].counts, vec![1; 200]);
        }
        columns.reverse();
    }
    Ok(())
}

/// The most columns that a program takes. A compiler that compares each column with each other makes two
/// billion comparisons. Then this test takes ten minutes, not a tenth of a second.
#[test]
fn many_columns_compile_at_once() -> anyhow::Result<()> {
    let columns: Vec<Query> =
        (0..MAX_PATHS).map(|i| Query::compile(&format!("$.c{i}.v"))).collect::<Result<_, _>>()?;
    assert_eq!(Program::new(&columns)?.paths(), MAX_PATHS);
    Ok(())
}

#[test]
fn a_device_answers_in_parts_what_is_too_much_at_once() -> anyhow::Result<()> {
    let files = ["people.ndjson", "crlf.ndjson", "bad.ndjson"];
    // One cell at a time takes long for many lines.
    for (cells, files) in [(1, &files[..2]), (7, &files[..]), (40, &files[..])] {
        let pipeline = Emulated::default().pipeline().most_cells(cells);
        for name in files {
            suite::check_queries(&pipeline, file(name), &["$.user.lang", "$.a", "$.tags[*]"])?;
        }
    }
    Ok(())
}

/// A reader that gives a byte and then panics.
struct Panicking(bool);

impl Read for Panicking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(!std::mem::replace(&mut self.0, true), "a caller's reader panics");
        buffer[0] = b'1';
        Ok(1)
    }
}

/// A backend that panics.
struct Broken;

impl Backend for Broken {
    bare_backend!("broken", partition_size: 1 << 20, workers: 3);
    fn worker(&self, _: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Ok(Box::new(Self))
    }
    fn index(&self, _: &[u8], _: u32) -> Result<StructuralIndex, Error> {
        panic!("a backend panics")
    }
}

impl Worker for Broken {
    fn answer(&mut self, _: &[u8], _: &Program, _: Want) -> Result<Answer, Error> {
        panic!("a worker panics")
    }

    fn answer_strictly(&mut self, _: &[u8], _: &Program, _: Want) -> Result<Answer, Error> {
        panic!("a worker panics")
    }
}

/// A thread that died is an error, and never the end of the input.
#[test]
fn a_panic_is_no_end_of_input() -> anyhow::Result<()> {
    let query = Query::compile("$")?;
    let engine = Engine::builder().device(DeviceChoice::Cpu).build()?;
    let last = engine.reader("test", Panicking(false)).query(&query)?.last();
    assert!(matches!(last, Some(Err(Error::Input(_)))));
    let engine = Engine::builder().backend(Arc::new(Broken)).build()?;
    let mut hits = engine.reader("test", io::Cursor::new("1\n")).query(&query)?;
    assert!(matches!(hits.next(), Some(Err(Error::Internal(_)))));
    assert!(hits.next().is_none());
    Ok(())
}

#[test]
fn dropping_answers_early_ends_them() -> anyhow::Result<()> {
    let engine = Engine::builder().device(DeviceChoice::Cpu).partition_size(100).build()?;
    let query = Query::compile("$")?;
    for taken in 0..4 {
        let text = "[1]\n".repeat(10_000);
        let hits = engine.reader("test", io::Cursor::new(text)).query(&query)?;
        assert_eq!(hits.take(taken).count(), taken);
    }
    Ok(())
}

/// The number of matches of each path, evaluated in one program.
fn counts(backend: &dyn Backend, text: &str, paths: &[String]) -> Vec<u64> {
    let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
    let program = Program::new(&queries).unwrap();
    let answer = backend.answer(text.as_bytes(), &program, Want::default().matches(true)).unwrap();
    let count = |path| answer.pieces.iter().map(|piece| piece.counts[path]).sum();
    (0..paths.len()).map(count).collect()
}

/// Filters on strings were placed after the name that was counted as the last of its block. With many frames
/// waiting below it, all matches of the record were lost.
#[test]
fn filters_on_strings_cost_no_frame_that_is_not_counted() {
    let deep = format!("$.x{}", "[*]".repeat(32));
    let line = format!("{{\"x\":{}7{},\"y\":\"a\"}}\n", "[".repeat(32), "]".repeat(32));
    let filter = "$[?@ == 'a']".to_owned();
    // At each of 40 levels a name and a filter.
    let levels = 40;
    let nested = format!("{}\"a\"{}\n", "{\"x\":".repeat(levels), ",\"y\":\"a\"}".repeat(levels));
    let mut paths: Vec<String> =
        (0..levels).map(|depth| format!("${}[?@ == 'a']", ".x".repeat(depth))).collect();
    paths.push(format!("${}", ".x".repeat(levels)));
    let mut want = vec![1; levels + 1];
    // The innermost has two.
    want[levels - 1] = 2;
    for backend in backends() {
        let name = backend.name();
        assert_eq!(counts(&*backend, &line, &[deep.clone(), filter.clone()]), [1, 1], "{name}");
        assert_eq!(counts(&*backend, &line, &[filter.clone(), deep.clone()]), [1, 1], "{name}");
        assert_eq!(counts(&*backend, &nested, &paths), want, "{name}");
    }
}

/// A device evaluates the filters on strings of one node together. Each has its own matches, in its order.
#[test]
fn filters_on_strings_are_asked_together() {
    let lines = [
        r#"{"a":["x","y","x","\u0078","z",""],"b":{"x":"y","y":"x"," ": "x"}}"#,
        r#"{"a":[ "x", "y", ["x"]],"b":{"n":"x","x":1}}"#,
        r#"{"a":"x","b":["y"]}"#,
    ];
    let text = lines.join("\n");
    let paths = [
        "$.a[?@ == 'x']",
        "$.a[?@ == 'y']",
        "$.a[?@ == '']",
        "$.a[?@ == 'y', ?@ == 'x']",
        "$.b[?'x' == @]",
        "$.b[?@ == 'y']",
        "$.a[?@ == 'no']",
        "$.a[0]",
        "$.b.x",
        "$[?@ == 'x']",
    ];
    let want = [4, 2, 1, 6, 3, 2, 0, 2, 2, 1];
    for backend in backends() {
        assert_eq!(counts(&*backend, &text, &paths.map(str::to_owned)), want, "{}", backend.name());
    }
}
