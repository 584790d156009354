//! Documents in tiny parts and as one record, on the CPU and on an emulated device. All results are the same,
//! and are the oracle's.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpath::{
    Engine, Error, Foreign, Format, InputError, Limit, OnError, Program, Query, Source, TextForm, Want,
};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_exec::document::AsOne;
use warpath_shared::check::diagnose;
use warpath_tests::oracle;
use warpath_tests::random::{self, Rng};

use crate::common::{backends, device};

fn engine(backend: &Arc<dyn Backend>, size: usize, workers: usize) -> Engine {
    let builder = Engine::builder().backend(backend.clone()).format(Format::Json);
    builder.partition_size(size).workers(workers).build().unwrap()
}

/// A file that is written again and again.
struct OneFile(PathBuf, #[expect(dead_code, reason = "it goes last")] tempfile::TempDir);

impl OneFile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self(folder.path().join("document"), folder)
    }

    fn write(&self, text: &[u8]) -> &Path {
        std::fs::write(&self.0, text).unwrap();
        &self.0
    }
}

/// A match: its bytes in the file, its normalised path, and its text on one line.
type PathMatch = ((u64, u64), String, Vec<u8>);

/// The matches, and the error in place of them.
fn ask(engine: &Engine, sources: Vec<Source>, query: &Query) -> (Vec<PathMatch>, Option<String>) {
    let (mut found, mut failed) = (Vec::new(), None);
    for hit in engine.input(sources).query(query).unwrap() {
        match hit {
            Ok(hit) => {
                assert_eq!(hit.line(), 1);
                found.push((hit.offsets(), hit.path(), hit.bytes().to_vec()));
            }
            Err(error) => failed = Some(error.to_string()),
        }
    }
    (found, failed)
}

/// Returns the notes of an input, which say if the elements were evaluated to the end.
fn notes(engine: &Engine, path: &Path, query: &Query) -> Vec<String> {
    let program = Program::new(std::slice::from_ref(query)).unwrap();
    let mut answers = engine.open(path).unwrap().answers(program, Want::default());
    for batch in &mut answers {
        batch.unwrap();
    }
    answers.setup().notes
}

/// A document on one line: newlines outside strings are spaces, and it ends at one in a string.
fn on_one_line(text: &[u8]) -> Vec<u8> {
    let (mut line, mut string, mut escape) = (text.to_vec(), false, false);
    for at in 0..line.len() {
        match line[at] {
            b'\n' if string => {
                line.truncate(at);
                break;
            }
            b'\n' => line[at] = b' ',
            b'"' if !escape => string = !string,
            _ => {}
        }
        escape = text[at] == b'\\' && !escape;
    }
    line
}

/// The oracle's matches in a document without a fault.
fn wanted(text: &[u8], path: &str) -> Vec<PathMatch> {
    let line = on_one_line(text);
    let found = |(range, path): (std::ops::Range<usize>, String)| {
        ((range.start as u64, range.end as u64), path, line[range].to_vec())
    };
    oracle::query::nodes(text, path).into_iter().map(found).collect()
}

/// The error of a document that has a fault.
fn error(name: &Path, text: &[u8]) -> Option<String> {
    let fault = diagnose(&on_one_line(text))?;
    let before = &text[..fault.at];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let byte = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
    Some(format!("{}:{line}:{byte}: {}", name.display(), fault.kind))
}

const SIZES: [usize; 9] = [1, 2, 3, 5, 8, 13, 64, 200, 1 << 20];

/// Evaluates a document in parts of a size, and compares the results with the expected ones.
fn check(
    backend: &Arc<dyn Backend>,
    size: usize,
    workers: usize,
    file: &Path,
    query: &Query,
    want: &(Vec<PathMatch>, Option<String>),
) {
    let engine = engine(backend, size, workers);
    let sources = || vec![Source::File(file.to_owned())];
    let got = ask(&engine, sources(), query);
    let said = || {
        let text = std::fs::read(file).unwrap();
        format!("{} in parts of {size} of {}", query.text(), text.escape_ascii())
    };
    assert!(got == *want, "{}\ngot {got:?}\nwant {want:?}", said());
    // Counts hold nothing back, texts little.
    let program = Program::new(std::slice::from_ref(query)).unwrap();
    for wanted in [Want::new(), Want::new().text(TextForm::Json)] {
        let (mut count, mut text, mut failed) = (0, Vec::new(), None);
        for batch in engine.input(sources()).answers(program.clone(), wanted) {
            match batch {
                Ok(batch) => {
                    count += batch.count(0);
                    text.extend(batch.pieces().flat_map(|(_, piece)| piece.texts.concat()));
                }
                Err(error) => failed = Some(error.to_string()),
            }
        }
        let lines: Vec<u8> =
            want.0.iter().flat_map(|(_, _, text)| [text.as_slice(), b"\n"].concat()).collect();
        let expected =
            (want.0.len() as u64, if wanted.text.is_some() { lines } else { Vec::new() }, want.1.clone());
        assert_eq!((count, text, failed), expected, "{}", said());
    }
}

fn random_documents(backend: &Arc<dyn Backend>, rounds: usize, bytes: usize, seed: u64) -> usize {
    let rng = &mut Rng::new(seed);
    let file = OneFile::new();
    let mut by_elements = 0;
    for round in 0..rounds {
        let most = if rng.below(8) == 0 { 8 * bytes } else { bytes };
        let len = rng.below(most);
        let text = random::document(rng, len);
        let path = file.write(&text);
        let query = Query::compile(&random::array_path(rng)).unwrap();
        let want = (wanted(&text, query.text()), None);
        let size = SIZES[round % SIZES.len()];
        check(backend, size, 1 + rng.below(4), path, &query, &want);
        let split = Program::new(std::slice::from_ref(&query)).unwrap().over_elements().is_ok();
        by_elements += (split
            && text.len() > size
            && notes(&engine(backend, size, 2), path, &query).is_empty()) as usize;
    }
    by_elements
}

fn malformed_documents(backend: &Arc<dyn Backend>, rounds: usize, bytes: usize, seed: u64) -> usize {
    let rng = &mut Rng::new(seed);
    let file = OneFile::new();
    let mut faulty = 0;
    for round in 0..rounds {
        let len = rng.below(bytes);
        let mut text = if rng.below(5) == 0 { random::bytes(rng, len) } else { random::document(rng, len) };
        let changes = 1 + rng.below(2);
        random::mutate(rng, &mut text, changes);
        if rng.below(5) == 0 {
            text.truncate(rng.below(text.len() + 1));
        }
        // Text in UTF-16, and other formats, are other errors.
        if Foreign::of(&text).is_some() {
            continue;
        }
        let path = file.write(&text);
        let query = Query::compile(&random::array_path(rng)).unwrap();
        // In one partition it is one record.
        let want = ask(&engine(backend, 1 << 20, 1), vec![Source::File(path.to_owned())], &query);
        let blank = text.iter().all(u8::is_ascii_whitespace);
        let error = error(path, &text).filter(|_| !blank);
        // Trees see more.
        let trees = Program::new(std::slice::from_ref(&query)).unwrap().needs_trees() && error.is_none();
        assert!(trees || want.1 == error, "{}", text.escape_ascii());
        assert!(want.1.is_none() || want.0.is_empty());
        faulty += want.1.is_some() as usize;
        check(backend, SIZES[round % SIZES.len()], 1 + rng.below(4), path, &query, &want);
    }
    faulty
}

#[test]
fn random_documents_are_answered_as_the_oracle_says() {
    let by_elements = random_documents(&(Arc::new(Cpu) as _), 4000, 120, 1);
    // Otherwise this holds little to anything.
    assert!(by_elements > 700, "{by_elements}");
}

#[test]
fn random_documents_on_a_device() {
    let by_elements = random_documents(&device(), 45, 60, 2);
    assert!(by_elements > 8, "{by_elements}");
}

#[test]
fn malformed_documents_have_no_answers() {
    let faulty = malformed_documents(&(Arc::new(Cpu) as _), 4000, 150, 3);
    assert!((1000..3900).contains(&faulty), "{faulty}");
}

#[test]
fn malformed_documents_on_a_device() {
    assert!(malformed_documents(&device(), 36, 60, 4) > 5);
}

/// Every kind of text that can be at a boundary is at every boundary.
#[test]
fn every_boundary_is_hit() {
    let text = "\u{feff} [ {\"a\" : \"],\\\"[,\"},\n{\"a\":\"\\\\\\\\\\\\\"\r\n,\"b\":[1,\n2]},[],\n\n {}, 7 ,\"x,\\\\\",[[\n],{\"a\":1}] ]\n ";
    let file = OneFile::new();
    let path = file.write(text.as_bytes());
    for asked in ["$[*].a", "$[*]", "$[*][*]", "$[*].b[-1]", "$[*][?@.a == 1]", "$..a", "$..['b','a'][1]"] {
        let query = Query::compile(asked).unwrap();
        let mut found = wanted(text.strip_prefix('\u{feff}').unwrap().as_bytes(), asked);
        for ((start, end), ..) in &mut found {
            (*start, *end) = (*start + 3, *end + 3);
        }
        for size in 1..=text.len() + 1 {
            for backend in backends().iter().take(if size % 17 == 1 { 2 } else { 1 }) {
                check(backend, size, 3, path, &query, &(found.clone(), None));
                let as_one = notes(&engine(backend, size, 3), path, &query);
                assert_eq!(as_one, [""; 0], "{size}");
            }
        }
    }
}

/// Faults, each in a document of several parts. No way of evaluation gives a result, and all report the
/// offset that one record has.
#[test]
fn faults_are_found_wherever_they_stand() {
    let file = OneFile::new();
    let many = "{\"a\":[1,2]},\n".repeat(20);
    for (text, said) in [
        (format!("[{many}{{\"a\":3]"), ":21:7: closing bracket does not match the opening one"),
        (format!("[{many}{{\"a\":3}}}}"), ":21:8: closing bracket does not match the opening one"),
        (format!("[{many}{{\"a\":3}}"), ":1:1: bracket is not closed by the end of the line"),
        (format!("[{many}{{\"a\":\"3}}]"), ":21:6: string is not closed by the end of the line"),
        (format!("[{many}{{\"a\":\"3\n\"}}]"), ":21:6: string is not closed by the end of the line"),
        (format!("[{many}3] ]"), ":21:4: closing bracket without an opening one"),
        (format!("[{many}3]\n\n, 4"), ":23:1: `:` or `,` outside any object or array"),
        (format!("[{many}3]\n [4]"), ":22:2: a second value begins after the record has ended"),
        (format!("[{many}3]\n{many}"), ":22:1: a second value begins after the record has ended"),
        (format!("[{many}3] 4"), ":21:4: the record's value has ended before this"),
        (format!("[{}{}]", many, "[".repeat(1023) + &"]".repeat(1023)), ""),
        (
            format!("[{}{}]", many, "[".repeat(1024) + &"]".repeat(1024)),
            ":21:1024: containers nest deeper than 1024",
        ),
        // What is always checked sees nothing in these, and reads them as one record does.
        (format!("[{many}{{\"a\":3}} {{\"a\":4}}]"), ""),
        (format!("[{many}]"), ""),
        (format!("[{many},3]"), ""),
        (format!("[{many}\"a\":3]"), ""),
        (format!("[{many}\\\n3]"), ""),
        (format!("[{many}\\, 3]"), ""),
        (format!("[{many}{}, 3]", "\\".repeat(99)), ""),
    ] {
        let path = file.write(text.as_bytes());
        for asked in ["$[*].a[1]", "$[*]", "$[*]..a", "$..a"] {
            let query = Query::compile(asked).unwrap();
            let sources = || vec![Source::File(path.to_owned())];
            let want = ask(&engine(&(Arc::new(Cpu) as _), 1 << 20, 1), sources(), &query);
            let message = (!said.is_empty()).then(|| format!("{}{said}", path.display()));
            // Trees see more.
            assert!(want.1 == message || asked.contains("..") && message.is_none(), "{text}");
            for size in [1, 3, 20, 100, 250] {
                check(&(Arc::new(Cpu) as _), size, 2, path, &query, &want);
            }
        }
    }
}

/// Faults around the array that only trees find, and the paths that need trees.
#[test]
fn trees_find_faults_around_an_array() {
    let file = OneFile::new();
    let many = r#"{"b":1,"c":{"b":2}},"#.repeat(20);
    let deep = "[".repeat(30) + "1,,2" + &"]".repeat(30);
    for (text, asked, faulty) in [
        (format!(r#"{{"h":[1,2],"a":[{many}3],"t":{{"b":9}}}}"#), "$.a[*]..b".to_owned(), false),
        (format!(r#"{{"h":[1,,2],"a":[{many}3],"t":{{"b":9}}}}"#), "$.a[*]..b".to_owned(), true),
        (format!(r#"{{"a":[{many}3],"t":[1 2]}}"#), "$.a[*]..b".to_owned(), true),
        (format!(r#"{{"a":[{many}3]:5}}"#), "$.a[*]..b".to_owned(), true),
        (format!(r#"{{"x":[{many}{deep}]}}"#), format!("$.x[*]{}", "[0]".repeat(30)), true),
    ] {
        let path = file.write(text.as_bytes());
        let query = Query::compile(&asked).unwrap();
        let want = ask(&engine(&(Arc::new(Cpu) as _), 1 << 20, 1), vec![Source::File(path.into())], &query);
        assert_eq!(want.1.is_some(), faulty, "{text}");
        for size in [1, 16, 100, 250] {
            check(&(Arc::new(Cpu) as _), size, 2, path, &query, &want);
        }
    }
}

/// Several documents, large and small, compressed and piped, one after the other.
#[test]
fn documents_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"[\n{\"a\":10}\n,{\"a\":\n11}]").unwrap();
    let large: String = (0..300).map(|n| format!("{{\n \"a\": {n}}}\n,")).collect();
    let texts: Vec<Vec<u8>> = vec![
        b"[{\"a\":1},\n{\"a\":2}]".to_vec(),
        format!("[{large}7]").into_bytes(),
        b"".to_vec(),
        packed.finish().unwrap(),
        b"\n \n".to_vec(),
        format!("[{large}7]").into_bytes(),
        format!("{{\"x\":[{large}7]}}").into_bytes(),
        b"{\"m\":{\"a\":5}}".to_vec(),
    ];
    let sources = || -> Vec<Source> {
        let file = |(i, text): (usize, &Vec<u8>)| {
            let path = folder.path().join(i.to_string());
            std::fs::write(&path, text).unwrap();
            Source::File(path)
        };
        let reader =
            Source::Reader("reader".into(), Box::new(std::io::Cursor::new(b"[\n[],{\"a\":\n3}]".to_vec())));
        texts.iter().enumerate().map(file).chain([reader]).collect()
    };
    let query = Query::compile("$[*].a").unwrap();
    for backend in backends() {
        for size in [if backend.name() == "emulated" { 64 } else { 1 }, 50, 1000, 1 << 20] {
            for workers in [1, 4] {
                let engine = engine(&backend, size, workers);
                let (found, failed) = ask(&engine, sources(), &query);
                assert_eq!(failed, None);
                let got: Vec<&[u8]> = found.iter().map(|(_, _, text)| text.as_slice()).collect();
                let numbers: Vec<String> = (0..300).map(|n: usize| n.to_string()).collect();
                let numbers = || numbers.iter().map(String::as_bytes);
                let want: Vec<&[u8]> = [&b"1"[..], b"2"]
                    .into_iter()
                    .chain(numbers())
                    .chain([&b"10"[..], b"11"])
                    .chain(numbers())
                    .chain([&b"5"[..], b"3"])
                    .collect();
                assert_eq!(got, want, "{size}");
                let mut answers = engine
                    .input(sources())
                    .answers(Program::new(std::slice::from_ref(&query)).unwrap(), Want::default());
                let count: u64 = (&mut answers).map(|batch| batch.unwrap().count(0)).sum();
                assert_eq!(count, 606);
                // Nothing but white space is no document, but has a line.
                let stats = answers.stats();
                assert_eq!((stats.matches, stats.skipped, stats.lines), (606, 0, 8), "{size}");
            }
        }
    }
}

/// A malformed document is left out, and those beside it are not.
#[test]
fn malformed_documents_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let large: String = (0..300).map(|n| format!("{{\n \"a\": {n}}}\n,")).collect();
    let texts = [format!("[{large}7]"), format!("[{large}7\n}}"), format!("[{large}7]"), "[1\n".into()];
    let sources = || -> Vec<Source> {
        let file = |(i, text): (usize, &String)| {
            let path = folder.path().join(i.to_string());
            std::fs::write(&path, text).unwrap();
            Source::File(path)
        };
        texts.iter().enumerate().map(file).collect()
    };
    let query = Query::compile("$[*].a").unwrap();
    for size in [1, 100, 1 << 20] {
        let builder = Engine::builder().backend(Arc::new(Cpu)).format(Format::Json).partition_size(size);
        let engine = builder.on_error(OnError::Skip).build().unwrap();
        let program = Program::new(std::slice::from_ref(&query)).unwrap();
        let mut answers = engine.input(sources()).answers(program, Want::default());
        let (mut count, mut skipped) = (0, Vec::new());
        for batch in &mut answers {
            let batch = batch.unwrap();
            count += batch.count(0);
            for error in batch.skipped() {
                let line = String::from_utf8_lossy(batch.line_of(&error)).into_owned();
                skipped.push((error.name.ends_with('1'), error.line, error.byte, line));
            }
        }
        assert_eq!(count, 600);
        assert_eq!(skipped, [(true, 602, 1, "}".into()), (false, 1, 1, "[1".to_owned())], "{size}");
        assert_eq!(answers.stats().skipped, 2);
    }
}

/// Strict checks see what others do not, in elements, between them and around them.
#[test]
fn strict_documents() {
    let file = OneFile::new();
    let many = "{\"a\":[1,2]},\n".repeat(20);
    let query = Query::compile("$[*].a[0]").unwrap();
    for (text, said) in [
        (format!("[{many}{{\"a\":[3]}}]"), None),
        (format!("[{many}{{\"a\":03}}]"), Some(":21:7: number has a zero before its other digits")),
        (
            format!("[{many}{{\"a\":3}} {{\"a\":4}}]"),
            Some(":21:9: value is not followed by `,` or the closing bracket"),
        ),
        (format!("[{many}]"), Some(":21:1: `,` before a closing bracket")),
        (format!("[{many},3]"), Some(":21:1: no JSON value begins here")),
        (format!("[{many}3] 4"), Some(":21:4: the record's value has ended before this")),
        (format!("x [{many}3]"), Some(":1:1: no JSON value begins here")),
        (format!("[{many}\"a\":3]"), Some(":21:4: value is not followed by `,` or the closing bracket")),
    ] {
        let path = file.write(text.as_bytes());
        for size in [1, 50, 1 << 20] {
            let builder = Engine::builder().backend(Arc::new(Cpu)).format(Format::Json).strict(true);
            let engine = builder.partition_size(size).build().unwrap();
            let (found, failed) = ask(&engine, vec![Source::File(path.to_owned())], &query);
            let want = said.map(|said| format!("{}{said}", path.display()));
            assert_eq!(failed, want, "{size} {text}");
            assert_eq!(found.len(), if said.is_none() { 21 } else { 0 });
        }
    }
}

/// A limit and several paths go through the parts as well.
#[test]
fn limits_and_several_paths() {
    let file = OneFile::new();
    let many: String = (0..200).map(|n| format!("{{\"a\":[{n},\n{n}], \"b\": {n}}}\n,")).collect();
    let path = file.write(format!("{{\"n\":1, \"x\":[{many}null]}}").as_bytes());
    let queries = ["$.x[*].b", "$['x'].*.a[1,0]", "$.x[*]"].map(|path| Query::compile(path).unwrap());
    let program = Program::new(&queries).unwrap();
    assert_eq!(program.over_elements().unwrap().0, "$['x']");
    for size in [1, 100, 5000, 1 << 20] {
        let engine = engine(&(Arc::new(Cpu) as _), size, 3);
        let want = Want::default().matches(true).limit(Limit::Matches(50));
        let mut found = [const { Vec::new() }; 3];
        for batch in engine.open(path).unwrap().answers(program.clone(), want) {
            let batch = batch.unwrap();
            for (_, piece) in batch.pieces() {
                for (path, list) in piece.matches.iter().enumerate() {
                    found[path].extend(list.iter().map(|one| batch.match_text(piece, one).to_vec()));
                }
            }
        }
        assert_eq!(found.each_ref().map(Vec::len), [200, 400, 201], "{size}");
        assert_eq!(found[0][17], b"17");
        assert_eq!(found[1][35], b"17");
        assert_eq!(found[2][17], b"{\"a\":[17, 17], \"b\": 17}");
    }
}

#[test]
fn what_is_of_lines_refuses_documents() {
    let engine = engine(&(Arc::new(Cpu) as _), 1 << 20, 1);
    let input = || engine.reader("text", &b"[1]"[..]);
    assert!(matches!(input().index(1), Err(Error::Plan(_))));
    assert!(matches!(input().indexes(1).next(), Some(Err(Error::Plan(_)))));
    let program =
        Program::new(&[Query::compile("$.a[*]").unwrap(), Query::compile("$.b[*]").unwrap()]).unwrap();
    assert_eq!(program.over_elements().unwrap_err(), AsOne::OtherArray(1));
}

/// A missing file, and a file that ends early, are errors after the documents before them.
#[test]
fn what_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good");
    std::fs::write(&good, "[{\"a\":1}]").unwrap();
    let query = Query::compile("$[*].a").unwrap();
    for size in [1, 1 << 20] {
        let engine = engine(&(Arc::new(Cpu) as _), size, 2);
        let sources = vec![
            Source::File(good.clone()),
            Source::File(folder.path().join("gone")),
            Source::File(good.clone()),
        ];
        let mut hits = engine.input(sources).query(&query).unwrap();
        assert_eq!(hits.next().unwrap().unwrap().bytes(), b"1");
        assert!(matches!(hits.next(), Some(Err(Error::Input(InputError::Io { .. })))));
        assert!(hits.next().is_none());
    }
}
