//! Snapshots: indexes, trees, programs, results and refusals as text. One snapshot holds for every backend.
//!
//! `INSTA_UPDATE=always cargo test -p warpath-tests --test suite snapshots::` writes them again. Read the
//! difference.

use std::fmt::Write;
use std::io::Cursor;

use anyhow::{Result, ensure};
use insta::{Settings, assert_snapshot};
use warpath::{Engine, Error, Program, Query, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_cpu::tree;
use warpath_cpu::tree::{Tree, TreeFault};
use warpath_exec::dump;
use warpath_random::table::texts;
use warpath_shared::ir::{MAX_FRAMES, MAX_PATHS};
use warpath_shared::units::MAX_DEPTH;
use warpath_tests::data::{self, FILES, paths_of, queries};

use crate::common::{backends, device};

fn snapshot(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| assert_snapshot!(name, text));
}

// --- indexes -----------------------------------------------------------------------------------------------

fn dumped(backend: &dyn Backend, text: &[u8], levels: u32) -> Result<String> {
    let mut out = Vec::new();
    dump::write(&mut out, text, &backend.index(text, levels)?, 0, 0)?;
    Ok(String::from_utf8(out)?)
}

/// The dump of an index, the same on the CPU and on the emulated device.
fn index(name: &str, text: &[u8], levels: u32) -> Result<()> {
    let dump = dumped(&Cpu, text, levels)?;
    ensure!(dump == dumped(device().as_ref(), text, levels)?, "{name}: the dumps differ");
    snapshot(&format!("index_{name}"), &dump);
    Ok(())
}

/// Whole lines of a file.
fn lines(file: &str, from: usize, to: usize) -> Vec<u8> {
    let all: Vec<&[u8]> = data::file(file).split_inclusive(|byte| *byte == b'\n').collect();
    all[from..to].concat()
}

#[test]
fn index_of_a_record() -> Result<()> {
    index("record", b"{\"a\":[1,{\"b\":\"]\"}]}\n[2]\n", 2)
}

#[test]
fn index_of_strings() -> Result<()> {
    let text = r#"{"{[:,]}":"}{","q\"":"\\","r":"\\\"","s\\":["\u005b","\""],"":""}"#;
    index("strings", text.as_bytes(), 2)
}

/// A string, a run of backslashes and an escaped quote that end words.
#[test]
fn index_across_words() -> Result<()> {
    let line = |pad: usize, rest: &str| format!("[\"{}{rest}\n", "x".repeat(pad));
    let text = [line(60, r#"\"",{"a":1}]"#), line(45, r#"\\\\\"\\",[2]]"#), line(60, "\",3]")].concat();
    index("across_words", text.as_bytes(), 2)
}

#[test]
fn index_of_levels() -> Result<()> {
    index("levels", br#"[[[[[[[[[[{"a":[0,{}]},1],2],3],4],5],6],7],8],9],{"b":[[]]}]"#, 10)
}

#[test]
fn index_of_lines() -> Result<()> {
    let text = b"1\n\n  \t\n{\"a\" : [ ] }\r\n\r\n \"x\" \r\n[1,\r2]\n\xc3\xa9\x00\n[3";
    index("lines", &text[..text.len() - 2], 1)?;
    // The same with a last line that is faulty, and not ended.
    index("lines_last_faulty", text, 1)
}

#[test]
fn index_of_nothing() -> Result<()> {
    index("nothing", b"", 2)?;
    index("no_levels", b"[1]\n", 0)?;
    index("blank", data::file("blank.ndjson"), 1)
}

/// Each sort of fault, and after each a line that is read as if nothing had been.
#[test]
fn index_of_faulty_lines() -> Result<()> {
    let faulty = r#"{"a":"x}|{"a":"\|[1,{"b":2|[1]]|[{]}|{}[]|1,2|"a":1|\|}{|[\"#;
    let text: String = faulty.split('|').map(|line| format!("{line}\n[\"ok\"]\n")).collect();
    index("faulty_lines", text.as_bytes(), 2)
}

#[test]
fn index_of_test_data() -> Result<()> {
    index("crlf", data::file("crlf.ndjson"), 2)?;
    index("people", &lines("people.ndjson", 1, 3), 3)?;
    index("edge_containers", &lines("edge.ndjson", 0, 12), 4)?;
    index("bad", &lines("bad.ndjson", 0, 8), 2)?;
    index("tweet", &lines("tweets.ndjson", 0, 1)[..640], 3)
}

/// Partitions have the offset of each word and the number of each line in the whole input.
#[test]
fn index_in_partitions() -> Result<()> {
    let text = "{\"a\":1}\n[2,\n\n\"three\"\n[4]";
    let mut dumps = Vec::new();
    for backend in backends() {
        let engine = Engine::builder().backend(backend).partition_size(10).build()?;
        let mut out = Vec::new();
        for part in engine.reader("text", Cursor::new(text)).indexes(1) {
            let part = part?;
            dump::write(&mut out, part.text(), &part.index, part.offset(), part.first_line)?;
            for fault in part.faults() {
                out.extend_from_slice(format!("{fault}\n").as_bytes());
            }
        }
        dumps.push(String::from_utf8(out)?);
    }
    ensure!(dumps[0] == dumps[1], "the dumps differ");
    snapshot("index_in_partitions", &dumps[0]);
    Ok(())
}

// --- trees -------------------------------------------------------------------------------------------------

/// The dumps of the trees of lines; what is wrong with a line where it is none.
fn trees(
    name: &str,
    text: &[u8],
    steps: bool,
    tree: impl Fn(&[u8]) -> Result<Tree, TreeFault>,
) -> Result<()> {
    let mut out = Vec::new();
    let mut offset = 0;
    for (line, text) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let record = text.strip_suffix(b"\n").unwrap_or(text);
        match tree(record) {
            Ok(tree) => tree::dump::write(&mut out, &tree, record, offset, line as u64 + 1, steps)?,
            Err(fault) => out.extend_from_slice(format!("line {}  {fault}\n", line + 1).as_bytes()),
        }
        offset += text.len() as u64;
    }
    snapshot(&format!("tree_{name}"), &String::from_utf8(out)?);
    Ok(())
}

#[test]
fn tree_of_the_worked_example() -> Result<()> {
    trees("worked_example", b"[[][[][][[]]][][]]", true, Tree::of_brackets)
}

#[test]
fn tree_of_brackets() -> Result<()> {
    trees("brackets", b"{}\n[ {} [ {} ] ]\n\n[}\n[[]\n][\n[]{}\n[x]\n", false, Tree::of_brackets)
}

#[test]
fn tree_of_a_record() -> Result<()> {
    trees("record", br#"{"a":[1,{"b":"]","c":{}}],"d":true}"#, true, Tree::of_json)
}

#[test]
fn tree_of_values() -> Result<()> {
    let text = "\"x\"\r\n-1.5e3\ntrue\nfalse\nnull\n{}\n[ ]\n\n[\"\\\"\\\\\",{\"\":[[]]}]\n\"é\t☺\"\n";
    trees("values", text.as_bytes(), false, Tree::of_json)?;
    // More than are shown, in rows and in a node's text.
    let text = format!("[{}\"{}\",\"{}\"]", "0,".repeat(20), "é".repeat(38), "é".repeat(39));
    trees("wide", text.as_bytes(), true, Tree::of_json)
}

#[test]
fn tree_of_faulty_lines() -> Result<()> {
    let faulty = r#"[1,]|{1:2}|{"a"}|["a":1]|[1:2]|[1 2]|[tru]|1 2|[1|[1}|]|"x|1,2|"\|{}{}"#;
    trees("faulty_lines", faulty.replace('|', "\n").as_bytes(), false, Tree::of_json)
}

#[test]
fn tree_of_test_data() -> Result<()> {
    trees("people", &lines("people.ndjson", 1, 3), false, Tree::of_json)
}

// --- programs ----------------------------------------------------------------------------------------------

/// The supported queries of `queries.txt`, each once.
fn supported() -> Result<Vec<Query>> {
    let mut found: Vec<Query> = Vec::new();
    for (_, path) in queries() {
        match Query::compile(path) {
            Ok(query) if found.iter().all(|known| known.text() != path) => found.push(query),
            Ok(_) | Err(Error::Unsupported(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

#[test]
fn programs_of_single_paths() -> Result<()> {
    let mut out = String::new();
    for query in supported()? {
        writeln!(out, "{}\n{}", query.text(), Program::new(std::slice::from_ref(&query))?)?;
    }
    snapshot("programs_of_single_paths", &out);
    Ok(())
}

#[test]
fn programs_of_several_paths() -> Result<()> {
    let lists: [&[&str]; 9] = [
        // The field's program of two.
        &["$.user.lang", "$.lang"],
        // A prefix that is shared however it is written.
        &["$.user.lang", "$['user'][\"name\"]", "$[\"\\u0075ser\"].id", "$.user"],
        // One path twice, and the root.
        &["$.a", "$.a", "$"],
        // Only a beginning is shared, not an end.
        &["$.a.x", "$.b.x"],
        // Segments of several selectors are shared as a whole.
        &["$['a','b'].c", "$['a','b'].d", "$['b','a'].c"],
        // One path that looks deeper than it selects.
        &["$[?@.a.b.c == 1]", "$.x"],
        // Filters that are the same, and that are not.
        &["$.a[?@ == 'nl'].b", "$.a[?(@=='nl')].c", "$.a[?@ == 'en'].b"],
        // Slices with bounds written and left out.
        &["$[:]", "$[::1]", "$[0:]", "$[::-1]"],
        // Singular and not.
        &["$.a[0][-1]", "$.a[*]"],
    ];
    let mut out = String::new();
    for list in lists {
        let queries: Vec<Query> = list.iter().map(|path| Query::compile(path)).collect::<Result<_, _>>()?;
        writeln!(out, "{}\n{}", list.join("\n"), Program::new(&queries)?)?;
    }
    snapshot("programs_of_several_paths", &out);
    Ok(())
}

// --- answers -----------------------------------------------------------------------------------------------

/// Matches that are shown of each path, and characters of each match.
const SHOWN: (usize, usize) = (4, 70);

/// Counts and first matches of a file's paths, all evaluated in one program.
fn answers(backend: &dyn Backend, text: &[u8], queries: &[Query]) -> Result<String> {
    let program = Program::new(queries)?;
    let answer = backend.answer(text, &program, Want::default().matches(true))?;
    let mut out = String::new();
    for (path, query) in queries.iter().enumerate() {
        let mut first = 0;
        let mut all = Vec::new();
        for piece in &answer.pieces {
            let place = |found: &warpath_shared::kernel::Match| {
                (first + found.line + 1, piece.base + found.start, piece.base + found.end)
            };
            all.extend(piece.matches[path].iter().map(place));
            first += piece.lines;
        }
        writeln!(out, "{}: {}", query.text(), all.len())?;
        for (line, start, end) in all.iter().take(SHOWN.0) {
            let value = String::from_utf8_lossy(&text[*start as usize..*end as usize]);
            let more = if value.chars().count() > SHOWN.1 { "…" } else { "" };
            let value: String = value.chars().take(SHOWN.1).collect();
            writeln!(out, "  {line}:{start}..{end} {value}{more}")?;
        }
        if all.len() > SHOWN.0 {
            writeln!(out, "  … and {}", all.len() - SHOWN.0)?;
        }
    }
    Ok(out)
}

#[test]
fn answers_of_queries() -> Result<()> {
    let emulated = device();
    for (name, text) in FILES {
        let supported: Vec<Query> =
            paths_of(name).into_iter().filter_map(|path| Query::compile(path).ok()).collect();
        if supported.is_empty() {
            continue;
        }
        let shown = answers(&Cpu, text, &supported)?;
        ensure!(shown == answers(emulated.as_ref(), text, &supported)?, "{name}: the results differ");
        snapshot(&format!("answers_{}", name.trim_end_matches(".ndjson")), &shown);
    }
    Ok(())
}

/// Programs that need trees, and programs with filters of several tests.
#[test]
fn programs_of_the_whole_grammar() -> Result<()> {
    let mut out = String::new();
    for [path] in texts(include_str!("../data/programs.txt"), "whole grammar") {
        let query = Query::compile(&path)?;
        writeln!(out, "{path}\n{}", Program::new(std::slice::from_ref(&query))?)?;
    }
    snapshot("programs_of_the_whole_grammar", &out);
    Ok(())
}

// --- refusals ----------------------------------------------------------------------------------------------

/// Limits of programs: the last that is taken, and the first that is refused.
#[test]
fn refusals_of_what_is_too_much() -> Result<()> {
    let mut out = String::new();
    let nested = |count: usize| format!("${}", "[*]".repeat(count));
    ensure!(Query::compile(&nested(MAX_FRAMES)).is_ok(), "{MAX_FRAMES} wildcards");
    let long = |count: usize| format!("${}", ".a".repeat(count));
    ensure!(Query::compile(&long(MAX_DEPTH)).is_ok(), "{MAX_DEPTH} segments");
    for path in [nested(MAX_FRAMES + 1), long(MAX_DEPTH + 1)] {
        match Query::compile(&path) {
            Err(Error::Unsupported(error)) => writeln!(out, "{}\n", error.render())?,
            Err(other) => anyhow::bail!("{path}: {other}"),
            Ok(_) => anyhow::bail!("{path} is not refused"),
        }
    }
    let query = Query::compile("$.a")?;
    ensure!(Program::new(&vec![query.clone(); MAX_PATHS]).is_ok(), "{MAX_PATHS} paths");
    for count in [0, MAX_PATHS + 1] {
        match Program::new(&vec![query.clone(); count]) {
            Err(Error::Usage(message)) => writeln!(out, "{message}")?,
            Err(other) => anyhow::bail!("{count} paths: {other}"),
            Ok(_) => anyhow::bail!("{count} paths are not refused"),
        }
    }
    snapshot("refusals_of_what_is_too_much", &out);
    Ok(())
}
