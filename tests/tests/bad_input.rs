//! Bad input: each kind of fault has a defined result, on the CPU and on the emulated device. No earlier
//! result is lost, and nothing panics.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use warpath::{Engine, Error, InputError, OnError, Program, Query, RecordError, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_shared::check::FaultKind;
use warpath_shared::units::{MAX_DEPTH, TILE_BYTES};
use warpath_tests::data;
use warpath_tests::oracle;

use crate::common::backends;

fn engine(backend: &Arc<dyn Backend>, on_error: OnError) -> Engine {
    Engine::builder().backend(backend.clone()).on_error(on_error).build().unwrap()
}

/// The line and the bytes of each match of a path, and the error at which the matches ended.
fn ask(engine: &Engine, text: &[u8], path: &str) -> (Vec<(u64, Vec<u8>)>, Option<Error>) {
    let query = Query::compile(path).unwrap();
    let input = engine.reader("text", Cursor::new(text.to_vec()));
    let (mut found, mut failed) = (Vec::new(), None);
    for hit in input.query(&query).unwrap() {
        match hit {
            Ok(hit) => found.push((hit.line(), hit.bytes().to_vec())),
            Err(error) => failed = Some(error),
        }
    }
    (found, failed)
}

/// Returns the skipped faults, and the lines that are records.
fn survey(engine: &Engine, text: &[u8]) -> Result<(Vec<RecordError>, Vec<u64>)> {
    let program = Program::new(&[Query::compile("$")?])?;
    let want = Want::default().records(true);
    let (mut skipped, mut records) = (Vec::new(), Vec::new());
    for batch in engine.reader("text", Cursor::new(text.to_vec())).answers(program, want) {
        let batch = batch?;
        skipped.extend(batch.skipped());
        for (first, piece) in batch.pieces() {
            records.extend(piece.records.iter().map(|line| first + *line as u64 + 1));
        }
    }
    Ok((skipped, records))
}

/// A line of `bad.expect.txt`: its class, and the byte counted from 0.
fn expected() -> BTreeMap<u64, (&'static str, u64)> {
    include_str!("../data/bad.expect.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut fields = line.split('\t');
            let mut field = || fields.next().expect("three fields");
            let (line, class) = (field().parse().unwrap(), field());
            (line, (class, field().parse().unwrap()))
        })
        .collect()
}

fn is_fault(class: &str) -> bool {
    !matches!(class, "Strict" | "Good")
}

fn record_error(error: &Error) -> Option<&RecordError> {
    match error {
        Error::Input(InputError::Record(record)) => Some(record),
        _ => None,
    }
}

#[test]
fn every_fault_is_skipped_at_its_line_and_byte() -> Result<()> {
    let expected = expected();
    let text = data::file("bad.ndjson");
    let lines = text.split_inclusive(|byte| *byte == b'\n').count() as u64;
    for backend in backends() {
        let name = backend.name();
        let (skipped, records) = survey(&engine(&backend, OnError::Skip), text)?;
        let got: BTreeMap<u64, (String, u64)> =
            skipped.iter().map(|error| (error.line, (format!("{:?}", error.kind), error.byte - 1))).collect();
        let want: BTreeMap<u64, (String, u64)> = expected
            .iter()
            .filter(|(_, (class, _))| is_fault(class))
            .map(|(line, (class, at))| (*line, ((*class).to_owned(), *at)))
            .collect();
        assert_eq!(got, want, "{name}");
        assert_eq!(skipped.len(), want.len(), "{name}: a line was skipped twice");
        // All others are records, `Strict` and `Good` ones too, and are answered.
        let good: Vec<u64> = (1..=lines).filter(|line| !want.contains_key(line)).collect();
        assert_eq!(records, good, "{name}");
        let (found, failed) = ask(&engine(&backend, OnError::Skip), text, "$");
        ensure!(failed.is_none(), "{name}: {failed:?}");
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), good, "{name}");
    }
    Ok(())
}

#[test]
fn answers_stop_at_the_first_fault() -> Result<()> {
    let text = data::file("bad.ndjson");
    let starts: Vec<usize> =
        oracle::index::index(text, 0).line_starts.iter().map(|at| *at as usize).collect();
    let faults: Vec<(u64, (&str, u64))> =
        expected().into_iter().filter(|(_, (class, _))| is_fault(class)).collect();
    for backend in backends() {
        let name = backend.name();
        let mut begin = 0;
        for (line, (class, at)) in &faults {
            // Start after the previous fault. First come the good records, then this fault, then nothing.
            let rest = &text[starts[begin as usize]..];
            let (found, failed) = ask(&engine(&backend, OnError::Fail), rest, "$");
            let failed = failed.with_context(|| format!("{name}: line {line} is taken for good"))?;
            let error = record_error(&failed).with_context(|| format!("{name}, line {line}: {failed}"))?;
            assert_eq!(
                (error.line, format!("{:?}", error.kind).as_str(), error.byte),
                (line - begin, *class, at + 1),
                "{name}, line {line}"
            );
            let want: Vec<u64> = (1..line - begin).collect();
            assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), want, "{name}, line {line}");
            assert_eq!(failed.to_string(), format!("text:{}:{}: {}", error.line, error.byte, error.kind));
            begin = *line;
        }
    }
    Ok(())
}

/// Bytes that no text has are passed on as they are, unless they break the structure.
#[test]
fn odd_bytes_pass_through() {
    let text = b"{\"a\":\"nul \0, invalid \xff\xfe, lone return \r, del \x7f\"}\n\
                 {\"a\":\x7f\xff}\n\
                 {\"a\":1}\r\r\n\
                 \"\xef\xbb\xbf\"\n\
                 {\r\"a\"\r:\r2\r}\n";
    for backend in backends() {
        let (found, failed) = ask(&engine(&backend, OnError::Fail), text, "$.a");
        assert!(failed.is_none(), "{failed:?}");
        let want: [(u64, &[u8]); 4] = [
            (1, b"\"nul \0, invalid \xff\xfe, lone return \r, del \x7f\""),
            (2, b"\x7f\xff"),
            (3, b"1"),
            (5, b"2"),
        ];
        assert_eq!(found, want.map(|(line, bytes)| (line, bytes.to_vec())), "{}", backend.name());
        let (found, _) = ask(&engine(&backend, OnError::Fail), text, "$");
        assert_eq!(found[3], (4, b"\"\xef\xbb\xbf\"".to_vec()), "{}", backend.name());
    }
}

#[test]
fn a_colon_behind_a_colon_belongs_to_no_name() {
    let cases: [(&str, &str, &[&str]); 9] = [
        (r#"{"a":"b":2}"#, "$.b", &[]),
        (r#"{"a":"b":2}"#, "$.a", &[r#""b""#]),
        (r#"{"a":"1":"b":2,"c":3}"#, "$.b", &[]),
        (r#"{"a":"1":"b":2,"c":3}"#, "$.c", &["3"]),
        (r#"{"a":"1":"b":2,"c":3}"#, "$.*", &[r#""1""#, "3"]),
        (r#"{"a":"1":"nl","c":"nl"}"#, "$[?@ == 'nl']", &[r#""nl""#]),
        (r#"{"a" :"1" :"b":2, "c":3}"#, "$.b", &[]),
        (r#"{"a" :"1" :"b":2, "c":3}"#, "$.*", &[r#""1""#, "3"]),
        (r#"["a":"nl","nl"]"#, "$[?@ == 'nl']", &[r#""nl""#, r#""nl""#]),
    ];
    for backend in backends() {
        for (line, path, expected) in cases {
            let (found, failed) = ask(&engine(&backend, OnError::Fail), line.as_bytes(), path);
            assert!(failed.is_none(), "{line} {path}");
            let found: Vec<String> =
                found.into_iter().map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect();
            assert_eq!(found, expected, "{}: {line} {path}", backend.name());
        }
    }
}

/// Names and strings are looked for by how long they are, where the way in which a line is written allows it.
#[test]
fn names_of_any_length_and_spelling_are_found() {
    let long = "n".repeat(200);
    let most = "m".repeat(58);
    for name in ["", "a", "\"", "\\", "é", "a b", "a:b,c", most.as_str(), long.as_str(), "name\nname"] {
        let plain = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let escaped: String = name.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let path = format!("$['{}']", name.replace('\\', "\\\\").replace('\n', "\\n"));
        for spelt in [&plain, &escaped] {
            for (before, between, behind) in [("", "", ""), (" ", "", " "), ("  ", " ", ""), ("", "\t", "  ")]
            {
                let line = format!(
                    r#"{{"other":["x"],{before}"{spelt}"{between}:{behind}17,"{spelt}":18,"x{spelt}":19}}"#
                );
                for backend in backends() {
                    let (found, failed) = ask(&engine(&backend, OnError::Fail), line.as_bytes(), &path);
                    assert!(failed.is_none(), "{line}");
                    assert_eq!(found, [(1, b"17".to_vec())], "{}: {line} {path}", backend.name());
                }
            }
        }
    }
    // The bytes of a name with quotes in it, but two members.
    for value in ["7", "\"x\"", &format!("\"{long}\"")] {
        let line = format!(r#"{{"a":{value},"b":1}}"#);
        let path = format!(r#"$['a":{value},"b']"#);
        for backend in backends() {
            let (found, failed) = ask(&engine(&backend, OnError::Fail), line.as_bytes(), &path);
            assert!(failed.is_none() && found.is_empty(), "{}: {found:?}", backend.name());
        }
    }
}

/// A value that begins and ends with braces that are not a pair. A string before a colon in it is a member on
/// every backend, whatever comes before.
#[test]
fn a_member_stands_behind_any_separator_or_bracket() {
    let lines: [(&str, &[&str]); 5] = [
        (r#"[{}["b":2]{}]"#, &["2"]),
        (r#"[{}[ "b":2]{}]"#, &["2"]),
        (r#"[{}{"b":2}{}]"#, &["2"]),
        (r#"[{"c":"b":2}]"#, &[]),
        (r#"[{"c":1,"b":2}]"#, &["2"]),
    ];
    for (line, want) in lines {
        let want: Vec<_> = want.iter().map(|value| (1, value.as_bytes().to_vec())).collect();
        for backend in backends() {
            let (found, failed) = ask(&engine(&backend, OnError::Fail), line.as_bytes(), "$[0].b");
            assert!(failed.is_none(), "{line}: {failed:?}");
            assert_eq!(found, want, "{}: {line}", backend.name());
        }
    }
}

/// A name or a string with an invalid escape equals nothing, and is returned unchanged.
#[test]
fn a_broken_escape_equals_nothing() -> Result<()> {
    // The last would be U+11841 if a low surrogate were not looked for.
    let broken = [
        r"\ud83d",
        r"\ud83dx",
        r"\ude00",
        r"\ude00\ud83d",
        r"\ud83d\ud83d\ude00",
        r"\ud83d\n",
        r"\ud83d\",
        r"\u00",
        r"\u004",
        r"\u004g",
        r"\u",
        r"\x",
        r"\A",
        r"\ud83d\u",
        r"\ud83d\ude0",
        r"\ud83d\u0041",
    ];
    // Where the escape takes the closing quote away, another ends the string.
    let quoted = broken.map(|text| format!("\"{text}{}\"", if text.ends_with(r"d\") { "\"" } else { "" }));
    let paths = ["$['😀']", "$['A']", "$['x']", "$['\u{fffd}']", "$['\u{11841}']", "$['']", "$['\\u0004']"];
    for backend in backends() {
        for quoted in &quoted {
            let text = format!("{{{quoted}:1,\"v\":{quoted}}}\n");
            let engine = engine(&backend, OnError::Fail);
            for path in paths {
                let filter = format!("$[?@ == {}]", &path[2..path.len() - 1]);
                for path in [path, &filter] {
                    let (found, failed) = ask(&engine, text.as_bytes(), path);
                    ensure!(failed.is_none(), "{text}{path}: {failed:?}");
                    assert_eq!(found, [], "{}: {text}{path}", backend.name());
                }
            }
            let (found, failed) = ask(&engine, text.as_bytes(), "$.v");
            ensure!(failed.is_none(), "{text}: {failed:?}");
            assert_eq!(found, [(1, quoted.clone().into_bytes())], "{}: {text}", backend.name());
        }
    }
    Ok(())
}

#[test]
fn a_record_longer_than_a_partition_is_one_record() -> Result<()> {
    let long = format!("{{\"a\":[{}0],\"b\":\"{}\"}}", "1,".repeat(9_000), "x\\\"".repeat(5_000));
    let text = format!("{{\"a\":[1],\"b\":1}}\n{long}\n{{\"a\":[2],\"b\":2}}\n{long}");
    let small = r#"{"a":[1],"b":1}"#.len();
    for backend in backends() {
        for size in [1, small - 1, small, small + 1, 1000, long.len(), long.len() + 1, 1 << 20] {
            let engine = Engine::builder().backend(backend.clone()).partition_size(size).build()?;
            let (found, failed) = ask(&engine, text.as_bytes(), "$['b']");
            ensure!(failed.is_none(), "{failed:?}");
            let string = format!("\"{}\"", "x\\\"".repeat(5_000));
            let want = [(1, "1"), (2, &string), (3, "2"), (4, &string)];
            let want = want.map(|(line, value)| (line, value.as_bytes().to_vec())).to_vec();
            ensure!(found == want, "{}: partitions of {size}", backend.name());
        }
    }
    Ok(())
}

#[test]
fn nothing_in_is_nothing_out() -> Result<()> {
    let blank = data::file("blank.ndjson");
    for backend in backends() {
        for text in [b"".as_slice(), b"\n", b"\n\n\n", b" ", b"\r\n", b" \t\r\n \n\r", blank] {
            for on_error in [OnError::Fail, OnError::Skip] {
                let (found, failed) = ask(&engine(&backend, on_error), text, "$");
                assert_eq!(found, [], "{}: {}", backend.name(), text.escape_ascii());
                assert!(failed.is_none(), "{failed:?}");
                let (skipped, records) = survey(&engine(&backend, on_error), text)?;
                assert_eq!((skipped, records), (vec![], vec![]));
            }
        }
        let index = backend.index(b"", 3)?;
        assert_eq!(index.line_starts, [0]);
        assert_eq!(index.levels, [[0u64; 0]; 3]);
        assert_eq!(index, oracle::index::index(b"", 3));
    }
    Ok(())
}

/// `depth` containers, arrays and objects in turn, around `inner`.
fn nested(depth: usize, inner: &str) -> String {
    let open = (0..depth).map(|level| if level % 2 == 0 { "[" } else { "{\"k\":" });
    let close = (0..depth).rev().map(|level| if level % 2 == 0 { "]" } else { "}" });
    open.chain([inner]).chain(close).collect()
}

/// The path to the innermost value of [`nested`].
fn path(depth: usize) -> String {
    let steps = (0..depth).map(|level| if level % 2 == 0 { "[0]" } else { ".k" });
    ["$"].into_iter().chain(steps).collect()
}

#[test]
fn depth_is_unlimited_up_to_the_limit() -> Result<()> {
    for backend in backends() {
        let name = backend.name();
        for depth in [62, 63, 64, 65, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1] {
            // Good lines around it, and one on which the innermost bracket is of the other kind.
            let deep = nested(depth, "7");
            let mismatched = nested(depth, "[7}");
            let text = format!("[1]\n{deep}\n[2]\n{mismatched}\n[3]\n{deep}");
            let (skipped, records) = survey(&engine(&backend, OnError::Skip), text.as_bytes())?;
            let too_deep = depth > MAX_DEPTH;
            let want: Vec<(u64, FaultKind)> = if too_deep {
                [2, 4, 6].map(|line| (line, FaultKind::TooDeep)).into()
            } else if depth == MAX_DEPTH {
                vec![(4, FaultKind::TooDeep)]
            } else {
                vec![(4, FaultKind::MismatchedBracket)]
            };
            let got: Vec<(u64, FaultKind)> = skipped.iter().map(|error| (error.line, error.kind)).collect();
            assert_eq!(got, want, "{name}, depth {depth}");
            let good = if too_deep { vec![1, 3, 5] } else { vec![1, 2, 3, 5, 6] };
            assert_eq!(records, good, "{name}, depth {depth}");
            assert_eq!(
                ask(&engine(&backend, OnError::Skip), text.as_bytes(), "$[0]").0.len(),
                good.len(),
                "{name}, depth {depth}"
            );
        }
    }
    Ok(())
}

/// Brackets that open in one tile and close in a later one: of the same kind, and not.
#[test]
fn brackets_match_across_tiles() -> Result<()> {
    // The text between the brackets: no bracket, brackets one level deeper, or a string of brackets.
    let fill = |sort: usize, bytes: usize| match sort {
        0 => "1,".repeat(bytes / 2),
        1 => "{\"a\":[]},[],".repeat(bytes / 13),
        _ => format!("\"{}\",", "]}".repeat(bytes / 2)),
    };
    for backend in backends() {
        for tiles in [1, 2, 5] {
            for (sort, depth) in [(0, 0), (1, 1), (2, 2), (1, 7), (0, 30), (0, 61)] {
                let inner = fill(sort, tiles * TILE_BYTES);
                let good = nested(depth, &format!("[{inner}0]"));
                let bad = nested(depth, &format!("[{inner}0}}"));
                let at = bad.len() - depth - 1;
                let text = format!("[1]\n{good}\n{bad}\n{good}\n{bad}\n[2]");
                let (skipped, records) = survey(&engine(&backend, OnError::Skip), text.as_bytes())?;
                let got: Vec<_> =
                    skipped.iter().map(|error| (error.line, error.kind, error.byte as usize - 1)).collect();
                let name = format!("{}: {tiles} tiles, sort {sort}, depth {depth}", backend.name());
                assert_eq!(got, [3, 5].map(|line| (line, FaultKind::MismatchedBracket, at)), "{name}");
                assert_eq!(records, [1, 2, 4, 6], "{name}");
            }
        }
    }
    Ok(())
}

/// A root that closed tiles ago is remembered, and forgotten at the end of its line.
#[test]
fn a_second_root_is_found_tiles_later() -> Result<()> {
    for backend in backends() {
        for gap in [0, 64, TILE_BYTES, 3 * TILE_BYTES] {
            let gap = " ".repeat(gap);
            let first = format!("{{}}{gap}");
            let text = format!("{first}[]\n{first}\n[]{gap}\n{gap}[]\n{first}{{\n{first}1\n{first},");
            let (skipped, records) = survey(&engine(&backend, OnError::Skip), text.as_bytes())?;
            let got: Vec<_> =
                skipped.iter().map(|error| (error.line, error.kind, error.byte as usize - 1)).collect();
            let want = [
                (1, FaultKind::SecondRoot, first.len()),
                (5, FaultKind::SecondRoot, first.len()),
                (6, FaultKind::BehindRecord, first.len()),
                (7, FaultKind::StraySeparator, first.len()),
            ];
            assert_eq!(got, want, "{}, gap {}", backend.name(), gap.len());
            assert_eq!(records, [2, 3, 4], "{}, gap {}", backend.name(), gap.len());
        }
    }
    Ok(())
}

/// Deeper than the kernels track kinds, and more levels than a tile holds at once.
#[test]
fn a_path_reaches_the_innermost_value() -> Result<()> {
    for backend in backends() {
        for depth in [7, 8, 9, 16, 17, 63, 64, 65] {
            let text = format!("{}\n{}", nested(depth, "\"in\""), nested(depth - 1, "\"out\""));
            let (found, failed) = ask(&engine(&backend, OnError::Fail), text.as_bytes(), &path(depth));
            ensure!(failed.is_none(), "{failed:?}");
            assert_eq!(found, [(1, b"\"in\"".to_vec())], "{}, depth {depth}", backend.name());
        }
    }
    // Not on the emulated device: a thousand levels take it long.
    let deepest = MAX_DEPTH - 1;
    let (found, _) =
        ask(&engine(&backends()[0], OnError::Fail), nested(deepest, "1").as_bytes(), &path(deepest));
    assert_eq!(found, [(1, b"1".to_vec())]);
    Ok(())
}

#[test]
fn what_is_no_file_is_said_so() {
    let engine = Engine::builder().backend(Arc::new(Cpu)).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        engine.open(folder.path()).map(drop),
        Err(Error::Input(InputError::Directory(path))) if path == folder.path()
    ));
    let missing = folder.path().join("missing.ndjson");
    match engine.open(&missing).map(drop) {
        Err(Error::Input(InputError::Io { name, source })) => {
            assert_eq!(name, missing.display().to_string());
            assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        }
        other => panic!("{other:?}"),
    }
}

/// The results of all inputs before a bad one are returned.
#[test]
fn a_missing_second_file_loses_nothing_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    std::fs::write(&first, "1\n2\n").unwrap();
    let engine = Engine::builder().backend(Arc::new(Cpu)).build().unwrap();
    let input = engine
        .input(vec![warpath_exec::input::Source::File(first), warpath_exec::input::Source::File(second)]);
    let all: Vec<_> = input.query(&Query::compile("$").unwrap()).unwrap().collect();
    assert_eq!(all.len(), 3);
    assert_eq!(all[1].as_ref().map(|hit| hit.text().into_owned()).ok().as_deref(), Some("2"));
    assert!(matches!(all[2], Err(Error::Input(InputError::Io { .. }))));
}
