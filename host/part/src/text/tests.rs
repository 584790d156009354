//! Groups of lines give back every byte.

mod count;
mod lines;
mod project;
mod reserved;
mod select;

use std::cell::Cell;

use warpath_random::{Rng, cases};

use super::*;
use crate::group::{Column, Group, Layout, NodeIx, Tree, Values};

thread_local! {
    /// The style of which strings are printed wrong.
    static FAULT: Cell<Option<u8>> = const { Cell::new(None) };
}

/// Prints a string of the broken style wrong.
pub(super) fn fault(style: style::Style, out: &mut Vec<u8>) {
    if FAULT.get() == Some(style.0) {
        out.push(b'?');
    }
}

/// The lines of a group.
fn restored(tree: &Tree, group: &Group) -> Vec<u8> {
    let mut out = Vec::new();
    restore(tree, group, 0..group.rows, &mut out).unwrap();
    out
}

/// Makes groups of whole lines, each of about `len` bytes, and checks them. Returns the groups.
fn check(text: &[u8], len: usize) -> (Shredder, Vec<Group>) {
    let mut shredder = Shredder::new();
    let groups = check_with(&mut shredder, text, len);
    (shredder, groups)
}

/// The same with a shredder that has made no group yet.
fn check_with(shredder: &mut Shredder, text: &[u8], len: usize) -> Vec<Group> {
    let (mut groups, mut texts, mut rest) = (Vec::new(), Vec::new(), text);
    while !rest.is_empty() {
        let end = rest.iter().skip(len - 1).position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + len);
        let (group, after) = rest.split_at(end);
        groups.push(shredder.shred(group).unwrap());
        texts.push(group);
        rest = after;
    }
    for (group, text) in groups.iter().zip(texts) {
        let tree = shredder.tree();
        let out = restored(tree, group);
        assert!(out == text, "{}\n{}", out.escape_ascii(), text.escape_ascii());
        assert_eq!(group.rows as usize, text.split_inclusive(|byte| *byte == b'\n').count());
        check_levels(tree, group);
    }
    groups
}

/// Checks that the columns have levels of Dremel, and agree about the structs and lists above them.
fn check_levels(tree: &Tree, group: &Group) {
    let mut seen = std::collections::HashMap::<NodeIx, Vec<(i16, i16)>>::new();
    assert!(group.columns.iter().map(|column| column.node).eq(tree.leaves(group.nodes)));
    for column in &group.columns {
        levels::check(tree, column, group.rows).unwrap();
        let mut node = column.node;
        while node != 0 {
            let parent = tree.nodes[node as usize].parent;
            let (definition, repetition) = tree.levels(parent);
            let above = entries(column, definition, repetition);
            let known = seen.entry(parent).or_insert_with(|| above.clone());
            assert_eq!(*known, above, "column {}, node {parent}", column.node);
            node = parent;
        }
    }
}

/// The entries of a column that a node with these greatest levels has.
fn entries(column: &Column, definition: i16, repetition: i16) -> Vec<(i16, i16)> {
    let repetitions = column.repetitions.iter().copied().chain(std::iter::repeat(0));
    let all = column.definitions.iter().copied().zip(repetitions);
    all.filter(|(_, level)| *level <= repetition).map(|(level, at)| (level.min(definition), at)).collect()
}

/// The rows of a group that are kept whole.
fn raw(group: &Group) -> usize {
    group.columns[0].values.len()
}

/// Makes one group of a text that has no line to be kept whole.
fn shredded(text: &str) -> (Shredder, Group) {
    let (shredder, mut groups) = check(text.as_bytes(), usize::MAX >> 1);
    let group = groups.remove(0);
    assert_eq!(raw(&group), 0, "{text}");
    (shredder, group)
}

/// Names and layouts of the leaves of a tree, with the names of the nodes above.
fn leaves(tree: &Tree) -> Vec<(String, Layout)> {
    let path = |mut node: NodeIx| {
        let mut path = String::new();
        while node != 0 {
            path = format!(".{}{path}", tree.nodes[node as usize].name);
            node = tree.nodes[node as usize].parent;
        }
        path
    };
    let leaves = tree.leaves(tree.nodes.len() as NodeIx).skip(1);
    leaves.map(|leaf| (path(leaf)[1..].to_owned(), tree.nodes[leaf as usize].layout)).collect()
}

#[track_caller]
fn check_leaves(text: &str, want: &[(&str, Layout)]) {
    let (shredder, _) = shredded(text);
    let want: Vec<_> = want.iter().map(|(path, layout)| ((*path).to_owned(), *layout)).collect();
    assert_eq!(leaves(shredder.tree()), want, "{text}");
}

#[test]
fn kinds_have_columns_of_their_own() {
    use Layout::{Boolean, Double, Int, Json, String};

    check_leaves("{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":null}\n", &[("a", Int), ("a:string", String)]);
    check_leaves("{\"a\":1,\"A\":2,\"\":true}\n", &[("a", Int), ("A~2", Int), ("~", Boolean)]);
    check_leaves(
        "{\"a\":1,\"a:string\":true}\n{\"a\":\"\"}\n",
        &[("a", Int), ("a:string~", Boolean), ("a:string", String)],
    );
    check_leaves("{\"a\":[1,2]}\n{\"a\":[]}\n", &[("a.element", Int)]);
    check_leaves(
        "{\"a\":[1,\"x\",null,[2]]}\n",
        &[("a.element.int", Int), ("a.element.string", String), ("a.element.list.element", Int)],
    );
    check_leaves(
        "{\"a\":{},\"b\":[],\"c\":[{}]}\n",
        &[("a.:present", Boolean), ("b.element.:present", Boolean), ("c.element.:present", Boolean)],
    );
    check_leaves("{\"a\":1}\n{\"a\":2.5}\n{\"a\":9007199254740993}\n", &[("a", Double), ("a:int", Int)]);
    check_leaves("{\"a\":1e999,\"b\":2}\n", &[("a", Json), ("b", Int)]);
    check_leaves("{\"_raw\":1}\n", &[("_raw~2", Int)]);
}

#[test]
fn a_tree_grows_from_group_to_group() {
    let lines = "{\"a\":[]}\n{\"a\":[1]}\n{\"a\":[\"x\"]}\n{\"a\":{}}\n{\"a\":{\"b\":[1]}}\n{\"a\":{\"b\":[\"x\"]}}\n";
    let (shredder, groups) = check(lines.as_bytes(), 1);
    assert_eq!(groups.len(), 6);
    assert_eq!(groups.iter().map(raw).sum::<usize>(), 0);
    use Layout::{Boolean, Int, Json, String};
    let want = [
        ("a.element.:present", Boolean),
        ("a.element.int", Int),
        ("a.element.string", String),
        ("a:object.:present", Boolean),
        ("a:object.b.element", Int),
        // A list of integers cannot take strings later.
        ("a:object.b:json", Json),
    ];
    assert_eq!(leaves(shredder.tree()), want.map(|(path, layout)| (path.to_owned(), layout)));
    let names = Names::read(shredder.tree(), groups.last().unwrap()).unwrap();
    let leaf = shredder.tree().leaves(shredder.tree().nodes.len() as u32).last().unwrap();
    assert_eq!(names.path(shredder.tree(), leaf), [Step::Key(b"a"), Step::Key(b"b")]);
}

#[test]
fn doubles_print_as_most_of_them_do() {
    for (text, exceptions) in [
        ("{\"a\":1.5}\n{\"a\":2}\n{\"a\":0.25}\n", 0),
        ("{\"a\":1.50}\n{\"a\":2.00}\n{\"a\":1.5}\n", 1),
        ("{\"a\":1.5}\n{\"a\":2.0}\n{\"a\":-0}\n{\"a\":1E5}\n", 2),
    ] {
        let (_, group) = shredded(text);
        let section = names::section(&group, EXCEPTIONS).unwrap();
        let found = sections::read_exceptions(section, group.nodes, |_| true).unwrap();
        assert_eq!(found.iter().map(|(_, texts)| texts.len()).sum::<usize>(), exceptions, "{text}");
    }
}

#[test]
fn values_are_those_of_the_text() {
    let (_, group) = shredded("{\"a\":\"\\u00e9\\n\",\"a\":2}\r\n\n {\"a\":\"\\ud83d\"} \n");
    let Values::Bytes(strings) = &group.columns[1].values else { panic!("{:?}", group.columns[1]) };
    assert_eq!(strings.bytes, "é\n\u{fffd}".as_bytes());
    assert_eq!(group.columns[1].definitions, [1, 0, 1]);
    assert_eq!(group.rows, 3);
}

#[test]
fn lines_that_are_no_objects_are_kept_whole() {
    let lines: [&[u8]; 16] = [
        b"[1]",
        b"1",
        b"\"x\"",
        b"{",
        b"{\"a\":}",
        b"{\"a\":1,}",
        b"{\"a\":01}",
        b"{\"a\":\"\t\"}",
        b"{\"a\":1}x",
        b"{\"a\":\"\\x\"}",
        b"{\"a\":\"\xff\"}",
        b"{\"\xff\":1}",
        b"{\"a\" 1}",
        b"{\"a\":[1,]}",
        b"{,}",
        b"\xef\xbb\xbf{}",
    ];
    let text = lines.join(&b'\n');
    for len in [1, text.len()] {
        let (_, groups) = check(&text, len);
        // A byte order mark is legal where a text begins, and so in the group that begins with it.
        assert_eq!(groups.iter().map(raw).sum::<usize>(), 16 - usize::from(len == 1));
    }
}

#[test]
fn objects_that_are_maps_are_texts() {
    let map =
        |row: usize| (0..400).map(|key| format!("\"k{}\":{key}", row + key)).collect::<Vec<_>>().join(",");
    let text: String = (0..20).map(|row| format!("{{\"id\":{row},\"m\":{{{}}}}}\n", map(row))).collect();
    check_leaves(&text, &[("id", Layout::Int), ("m", Layout::Json)]);
    let few: String = (0..3000)
        .map(|row| {
            let keys = (0..12).filter(|key| row >> key & 1 != 0).map(|key| format!("\"k{key}\":0"));
            format!("{{\"m\":{{{}}}}}\n", keys.collect::<Vec<_>>().join(","))
        })
        .collect();
    check_leaves(&few, &[("m", Layout::Json)]);
    let wide: String = (0..5000).map(|key| format!("{{\"k{key}\":{{\"a\":[{key}]}}}}\n")).collect();
    let (shredder, groups) = check(wide.as_bytes(), 20_000);
    assert!(leaves(shredder.tree()).len() < 2000);
    assert!(groups.iter().map(raw).sum::<usize>() > 0);
    let keys: Vec<String> = (0..100_000).map(|key| format!("\"{key}\":1")).collect();
    check(format!("{{\"a\":{{{0}}}}}\n{{{0}}}\n", keys.join(",")).as_bytes(), 1);
}

#[test]
fn hostile_lines_take_no_quadratic_time() {
    let mut text = String::new();
    // Every line has white space of its own.
    for at in 0..20_000 {
        text += &format!("{{\"a\"{}:{}1}}\n", " ".repeat(at % 150), " ".repeat(at / 150));
    }
    check(text.as_bytes(), 1 << 30);
    text = format!("{{{}}}\n", vec!["\"a\":1"; 50_000].join(","));
    text += &format!("{{\"b\":{{{}}}}}\n", vec!["\"a\":1"; 50_000].join(","));
    let (_, groups) = check(text.as_bytes(), 1 << 30);
    assert_eq!(raw(&groups[0]), 1);
    // Members in random order.
    let mut rng = Rng::new(2);
    text.clear();
    for _ in 0..20_000 {
        let mut keys: Vec<usize> = (0..9).collect();
        (1..9).for_each(|at| keys.swap(at, rng.below(at + 1)));
        let members: Vec<_> = keys.iter().map(|key| format!("\"k{key}\":{key}")).collect();
        text += &format!("{{{}}}\n", members.join(","));
    }
    check(text.as_bytes(), 1 << 30);
}

#[test]
fn the_commonest_kind_has_the_name() {
    let text = "{\"a\":\"x\"}\n{\"a\":1}\n{\"a\":2}\n";
    check_leaves(text, &[("a:string", Layout::String), ("a", Layout::Int)]);
}

#[test]
fn deep_values_are_texts() {
    for depth in [10, 34, 35, 36, 60, 1023] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let line =
                |inner: &str| format!("{{\"a\":{}{inner}{}}}\n", open.repeat(depth), close.repeat(depth));
            let (shredder, _) = shredded(&(line("1") + &line("\"x\"")));
            let tree = shredder.tree();
            let deepest = (0..tree.nodes.len()).map(|mut node| {
                let mut depth = 0;
                while node != 0 {
                    node = tree.nodes[node].parent as usize;
                    depth += 1;
                }
                depth
            });
            assert!(deepest.max().unwrap() <= known::MOST_LEVELS);
        }
    }
    let too_deep = format!("{{\"a\":{}{}}}\n", "[".repeat(1024), "]".repeat(1024));
    let (_, groups) = check(too_deep.as_bytes(), 1);
    assert_eq!(raw(&groups[0]), 1);
}

#[test]
fn files_of_the_repository_come_back() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        for len in [1, 3000, 1 << 30] {
            check(&text, len);
            let crlf: Vec<u8> = text
                .iter()
                .flat_map(|byte| {
                    let feed = *byte == b'\n';
                    [b'\r', *byte].into_iter().skip(usize::from(!feed))
                })
                .collect();
            check(&crlf, len);
        }
        files += 1;
    }
    assert!(files > 10);
}

#[test]
fn tweets_need_no_exceptions() {
    let text = include_bytes!("../../../../tests/data/tweets.ndjson");
    let (_, groups) = check(text, 1 << 30);
    let sections: usize = groups[0].sections.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(raw(&groups[0]), 0);
    for (name, bytes) in &groups[0].sections {
        println!("{name} {}", bytes.len());
    }
    assert!(sections < text.len() / 10, "{sections}");
}

#[test]
fn only_json_is_split_into_columns() {
    let table = include_str!("../../../../tests/data/json.txt");
    let mut rng = Rng::new(6);
    let (mut valid, mut invalid) = (0, 0);
    for [record, kind, _] in warpath_random::table::rows(table, "faults") {
        if record.contains(&b'\n') {
            continue;
        }
        let member = [b"{\"a\":", &record[..], b"}"].concat();
        let element = [b"{\"a\":[1,", &record[..], b",2]}"].concat();
        // A map, whose text is not split.
        let keys: Vec<_> = (0..300).map(|key| format!("\"{key}\":1,")).collect();
        let map = [b"{\"a\":{", keys.concat().as_bytes(), b"\"x\":", &record[..], b"}}"].concat();
        let line = rng.pick(&[&member, &element, &map]);
        let (_, groups) = check(line, 1 << 30);
        assert_eq!(raw(&groups[0]) == 0, kind.is_empty(), "{}", line.escape_ascii());
        (valid, invalid) = (valid + usize::from(kind.is_empty()), invalid + usize::from(!kind.is_empty()));
    }
    assert!(valid > 2 && invalid > 20, "{valid} {invalid}");
}

#[test]
fn no_lines_are_a_group() {
    let mut shredder = Shredder::new();
    for text in [&b""[..], b"\n", b"{\"a\":[{}]}", b""] {
        let group = shredder.shred(text).unwrap();
        assert_eq!(restored(shredder.tree(), &group), text);
        check_levels(shredder.tree(), &group);
    }
}

/// The texts of JSONTestSuite as lines.
#[test]
#[ignore = "reads JSONTestSuite: ../shared/conformance beside the project, or WARPATH_CONFORMANCE"]
fn texts_of_the_test_suite_come_back() {
    let folder = std::env::var_os("WARPATH_CONFORMANCE").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance").into(),
        std::path::PathBuf::from,
    );
    let entries = std::fs::read_dir(folder.join("JSONTestSuite/test_parsing")).unwrap();
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read(&path).unwrap();
        check(&text, 1 << 30);
        // As the value of a member the text must be JSON exactly if the suite says so.
        if !text.contains(&b'\n') && !name.starts_with("i_") {
            let line = [b"{\"a\":", &text[..], b"}"].concat();
            let (_, groups) = check(&line, 1 << 30);
            assert_eq!(raw(&groups[0]) == 0, name.starts_with("y_"), "{name}");
        }
        all.extend_from_slice(&text);
        all.push(b'\n');
    }
    check(&all, 100);
    check(&all, 1 << 30);
}

/// Random lines, most of which are JSON.
struct Lines(Rng);

impl Lines {
    fn string(&mut self, out: &mut Vec<u8>) {
        const PIECES: [&str; 32] = [
            "a",
            "b",
            "word",
            " ",
            "/",
            "\\/",
            "\\n",
            "\\u000a",
            "é",
            "\\u00e9",
            "\\u00E9",
            "😀",
            "\\ud83d\\ude00",
            "\\uD83D\\uDE00",
            "\\ud83d",
            "\\udc00",
            "<b>",
            "\\u003c",
            "&",
            "\\u0026",
            "'",
            "\\u0027",
            "\u{7f}",
            "\\u007f",
            "\u{2028}",
            "\\u2028",
            "\\\"",
            "\\\\",
            "\\u0022",
            "\\u0041",
            "\\u0000",
            "\\b\\f\\r\\t",
        ];
        out.push(b'"');
        let few = self.0.below(4) > 0;
        for _ in 0..self.0.below(6) {
            let piece = PIECES[self.0.below(if few { 4 } else { PIECES.len() })];
            out.extend_from_slice(piece.as_bytes());
        }
        if self.0.below(20) == 0 {
            out.extend(std::iter::repeat_n(b'x', self.0.below(100)));
        }
        out.push(b'"');
    }

    fn number(&mut self) -> &'static str {
        self.0.pick(&[
            "0",
            "1",
            "-1",
            "12345",
            "-0",
            "1.0",
            "1.5",
            "1.10",
            "0.1",
            "1E5",
            "1e5",
            "1e+5",
            "-0.0",
            "1e400",
            "9007199254740993",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "1e-400",
            "1234567890123456789012345678901234567890",
            "3.141592653589793",
            "0.30000000000000004",
            "123456.789",
        ])
    }

    fn space(&mut self, out: &mut Vec<u8>, loose: bool) {
        if loose {
            out.extend_from_slice(self.0.pick(&["", " ", "  ", "\t", "\r"]).as_bytes());
        }
    }

    fn value(&mut self, depth: usize, loose: bool, out: &mut Vec<u8>) {
        match self.0.below(if depth > 3 { 6 } else { 10 }) {
            0 => out.extend_from_slice(b"null"),
            1 => out.extend_from_slice(self.0.pick(&["true", "false"]).as_bytes()),
            2 | 3 => out.extend_from_slice(self.number().as_bytes()),
            4 | 5 => self.string(out),
            6 | 7 => {
                out.push(b'[');
                self.space(out, loose);
                for at in 0..self.0.below(4) {
                    if at > 0 {
                        out.push(b',');
                        self.space(out, loose);
                    }
                    if self.0.below(3) > 0 {
                        out.extend_from_slice(self.number().as_bytes());
                    } else {
                        self.value(depth + 1, loose, out);
                    }
                }
                out.push(b']');
            }
            _ => self.object(depth + 1, loose, out),
        }
    }

    fn object(&mut self, depth: usize, loose: bool, out: &mut Vec<u8>) {
        out.push(b'{');
        self.space(out, loose);
        let first = self.0.below(6);
        for at in 0..self.0.below(6) {
            if at > 0 {
                out.push(b',');
                self.space(out, loose);
            }
            let odd = self.0.below(40) == 0;
            let keys = [
                "id", "a", "b", "c", "d", "e", "f", "g", "a:string", "A", "", "\\u0061", "\\ud800", "é",
                "_raw",
            ];
            let key = if odd { self.0.pick(&keys) } else { keys[(first + at) % 8] };
            out.extend_from_slice(format!("\"{key}\":").as_bytes());
            self.space(out, loose);
            self.value(depth, loose, out);
        }
        out.push(b'}');
    }

    fn line(&mut self, out: &mut Vec<u8>) {
        let begin = out.len();
        let loose = self.0.below(8) == 0;
        self.object(0, loose, out);
        match self.0.below(60) {
            0 => out.truncate(begin),
            1 => {
                let at = begin + self.0.below(out.len() - begin);
                out[at] = self.0.pick(b"\"\\{}[],:0 e\x80\r");
            }
            2 => out.truncate(begin + self.0.below(out.len() - begin)),
            3 => out.insert(begin, b' '),
            4 => out.push(b'\r'),
            _ => {}
        }
        out.push(b'\n');
    }
}

#[test]
fn random_lines_come_back() {
    let mut rng = Rng::new(1);
    for seed in 0..cases(1000) as u64 {
        let mut lines = Lines(Rng::new(seed));
        let mut text = Vec::new();
        for _ in 0..1 + rng.below(200) {
            lines.line(&mut text);
        }
        if rng.below(2) == 0 {
            text.pop();
        }
        check(&text, 1 + rng.below(text.len().max(2)));
    }
}

#[test]
fn any_rows_come_back() {
    let text = include_bytes!("../../../../tests/data/tweets.ndjson");
    let (shredder, groups) = check(text, 1 << 30);
    let restorer = Restorer::new(shredder.tree(), &groups[0]).unwrap();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut rng = Rng::new(3);
    for _ in 0..50 {
        let mut rows = warpath_core::rows::RowSet::none(lines.len() as u64);
        (0..5).for_each(|_| rows.insert(rng.below(lines.len()) as u64));
        let want: Vec<u8> = rows.ones().flat_map(|row| lines[row as usize]).copied().collect();
        let mut out = Vec::new();
        restorer.selected(rows.ones(), &mut out).unwrap();
        assert!(out == want);
        let begin = rng.below(lines.len());
        let end = begin + rng.below(lines.len() - begin);
        out.clear();
        restorer.rows(begin as u32..end as u32, &mut out).unwrap();
        assert!(out == lines[begin..end].concat());
    }
    let past = groups[0].rows..groups[0].rows + 1;
    assert!(matches!(restorer.rows(past, &mut Vec::new()), Err(Error::NoSuchRows { .. })));
    let beyond = warpath_core::rows::RowSet::all(1000);
    assert!(matches!(restorer.selected(beyond.ones(), &mut Vec::new()), Err(Error::NoSuchRows { .. })));
}

#[test]
fn rows_that_would_differ_are_kept_whole() {
    let line = |style: &str, row: usize| format!("{{\"id\":{row},\"a\":\"{style}\"}}\n");
    let text: String = (0..50).map(|row| line(["é", "\\u00e9"][row % 2], row)).collect();
    FAULT.set(Some(1));
    let (_, groups) = check(text.as_bytes(), 600);
    FAULT.set(None);
    assert_eq!(groups.iter().map(raw).sum::<usize>(), 25);
}

/// Changes something of a group.
fn forge(rng: &mut Rng, group: &mut Group) {
    let huge = rng.pick(&[0, 1, 2, 255, 1 << 31, u32::MAX]);
    match rng.below(10) {
        0 => match rng.below(4) {
            0 => group.rows = huge,
            1 => group.nodes = huge,
            2 => group.text_len = 1 << 60,
            _ => group.text_len = u64::from(huge),
        },
        1 => {
            let at = rng.below(group.columns.len());
            let column = &mut group.columns[at];
            match rng.below(5) {
                0 => column.node = huge,
                1 => column.values = Values::Int(vec![1; rng.below(100)]),
                2 => drop(column.repetitions.pop()),
                3 => drop(column.definitions.pop()),
                _ => {
                    if let Values::Bytes(strings) = &mut column.values {
                        strings.bytes.truncate(rng.below(10));
                    }
                }
            }
        }
        2 | 3 => {
            let at = rng.below(group.columns.len());
            let column = &mut group.columns[at];
            let levels = if rng.below(2) == 0 { &mut column.definitions } else { &mut column.repetitions };
            if !levels.is_empty() {
                let at = rng.below(levels.len());
                levels[at] = rng.below(5) as i16 - 1;
            }
        }
        4 => {
            if let Values::Bytes(strings) = &mut group.columns[0].values {
                strings.ends.push(huge);
            }
        }
        5 => {
            let at = rng.below(group.sections.len());
            let bytes = &mut group.sections[at].1;
            bytes.truncate(rng.below(bytes.len() + 1));
        }
        _ => {
            let at = rng.below(group.sections.len());
            let bytes = &mut group.sections[at].1;
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len() + 1);
                match rng.below(3) {
                    0 if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
                    1 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
                    _ => drop(bytes.splice(at..at, [0xff; 8])),
                }
            }
        }
    }
}

#[test]
fn forged_groups_do_no_harm() {
    let mut rng = Rng::new(5);
    let (mut same, mut other, mut errors) = (0, 0, 0);
    for seed in 0..20 {
        let mut lines = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..30).for_each(|_| lines.line(&mut text));
        let (shredder, groups) = check(&text, 1 << 30);
        for _ in 0..cases(500) {
            let mut group = groups[0].clone();
            (0..=rng.below(2)).for_each(|_| forge(&mut rng, &mut group));
            let mut out = Vec::new();
            match restore(shredder.tree(), &group, 0..group.rows, &mut out) {
                Ok(()) if out == text => same += 1,
                Ok(()) => other += 1,
                Err(_) => errors += 1,
            }
        }
    }
    assert!(same > 0 && other > 100 && errors > 1000, "{same} {other} {errors}");
    let mut tree = Tree::default();
    for node in 0..100_000_u32 {
        let parent = node.saturating_sub(1);
        tree.nodes.push(crate::group::Node { parent, name: String::new(), layout: Layout::Struct });
    }
    assert!(restore(&tree, &Group { nodes: 100_000, ..Group::default() }, 0..0, &mut Vec::new()).is_err());
}

/// Measures the files that `WARPATH_MEASURE` names.
#[test]
#[ignore = "measures; run it in release with WARPATH_MEASURE set to the names of files"]
fn measure() {
    // Nanoseconds on a processor: other processes take their time, too.
    let now = || {
        let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        times.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default()
    };
    let zstd = |bytes: &[u8], level: i32| zstd::bulk::compress(bytes, level).unwrap().len();
    for path in std::env::var("WARPATH_MEASURE").unwrap_or_default().split_whitespace() {
        let text = std::fs::read(path).unwrap();
        let mut shredder = Shredder::new();
        let rate = |begin: u64| text.len() as u64 * 1000 / (now() - begin).max(1);
        let begin = now();
        shredder.shred(&text).unwrap();
        let first = rate(begin);
        let begin = now();
        let group = shredder.shred(&text).unwrap();
        let later = rate(begin);
        let begin = now();
        let restorer = Restorer::new(shredder.tree(), &group).unwrap();
        let levels = now() - begin;
        let mut out = Vec::with_capacity(text.len());
        restorer.rows(0..group.rows, &mut out).unwrap();
        let restore = rate(begin);
        assert!(out == text);
        let begin = now();
        let all = zstd(&text, 3);
        let zstd_rate = rate(begin);
        let mut sizes = Vec::new();
        for column in &group.columns {
            let (mut bytes, mut size): (Vec<u8>, _) = (Vec::new(), 0);
            match &column.values {
                Values::Boolean(values) => bytes.extend(values.iter().map(|value| u8::from(*value))),
                Values::Int(values) => values.iter().for_each(|value| bytes.extend(value.to_le_bytes())),
                Values::Double(values) => values.iter().for_each(|value| bytes.extend(value.to_le_bytes())),
                Values::Bytes(strings) => {
                    let begins = [0].into_iter().chain(strings.ends.iter().copied());
                    let ranges: Vec<_> = begins.zip(&strings.ends).map(|(begin, end)| begin..*end).collect();
                    let lengths = ranges.iter().flat_map(|range| (range.len() as u32).to_le_bytes());
                    size += zstd(&strings.bytes, 1) + zstd(&lengths.collect::<Vec<_>>(), 1);
                    let (mut numbers, mut dictionary) = (std::collections::HashMap::new(), Vec::new());
                    for range in ranges {
                        let text = &strings.bytes[range.start as usize..range.end as usize];
                        let next = numbers.len() as u32;
                        bytes.extend(numbers.entry(text).or_insert(next).to_le_bytes());
                    }
                    let mut texts: Vec<_> =
                        numbers.into_iter().map(|(text, number)| (number, text)).collect();
                    texts.sort_unstable();
                    texts.iter().for_each(|(_, text)| dictionary.extend_from_slice(text));
                    size = size.min(zstd(&dictionary, 1) + zstd(&bytes, 1));
                    bytes.clear();
                }
            }
            size += zstd(&bytes, 1);
            for levels in [&column.definitions, &column.repetitions] {
                size += zstd(&levels.iter().map(|level| *level as u8).collect::<Vec<_>>(), 1);
            }
            sizes.push((size, &shredder.tree().nodes[column.node as usize].name));
        }
        let columns: usize = sizes.iter().map(|(size, _)| size).sum();
        sizes.sort_unstable_by_key(|(size, _)| std::cmp::Reverse(*size));
        println!("{:?}", &sizes[..sizes.len().min(12)]);
        println!("{path}: {} rows, {} raw, {} leaves", group.rows, raw(&group), group.columns.len());
        println!(
            "  shred {first}, later {later}, restore {restore}, zstd -3 {zstd_rate} MB/s; levels {levels} ns"
        );
        let mut sections = 0;
        for (name, bytes) in &group.sections {
            let len = zstd(bytes, 3);
            sections += len;
            println!("  {name}: {} to {len}", bytes.len());
        }
        let ratio = (columns + sections) as f64 / all as f64;
        println!("  columns {columns}, sections {sections}, text {all}: {ratio:.3}");
    }
}
