//! Paths select the same from partial lines as from lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpath_core::json::{Cursor, Malformed};
use warpath_core::projection::{Projection, Step as PathStep};

use super::*;
use crate::file::{Filters, Options, ReadAt, Reader, Writer};
use crate::partial::partial;

/// A step of a path with indices.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    Key(Vec<u8>),
    Index(usize),
    /// All members or elements.
    Any,
    /// The member of this name of each object in the value, and of the value.
    Deep(Vec<u8>),
}

/// The items of the object or array that begins at the start of a text: their keys and values. No items for
/// another value.
fn items(text: &[u8]) -> Vec<(Vec<u8>, &[u8])> {
    let mut cursor = Cursor::new(text);
    let (is_object, mut items) = (cursor.take(b'{'), Vec::new());
    if !is_object && !cursor.take(b'[') {
        return items;
    }
    loop {
        cursor.space();
        if cursor.take(b'}') || cursor.take(b']') {
            return items;
        }
        let mut key = Vec::new();
        if is_object {
            let string = cursor.string().unwrap();
            key = string.text(Malformed::Order, &mut Vec::new()).unwrap().to_vec();
            cursor.space();
            assert!(cursor.take(b':'));
            cursor.space();
        }
        let begin = cursor.offset();
        cursor.advance(scan::value(text, begin, 1).unwrap() - begin);
        items.push((key, cursor.since(begin)));
        cursor.space();
        cursor.take(b',');
    }
}

/// The values that a path selects. A name selects the first of its members; others visit all.
pub(super) fn selected<'a>(value: &'a [u8], path: &[At], out: &mut Vec<&'a [u8]>) {
    let Some((first, rest)) = path.split_first() else { return out.push(value) };
    let items = items(value);
    let is_array = value.starts_with(b"[");
    match first {
        At::Key(key) | At::Deep(key) => {
            let found = items.iter().find(|(other, _)| !is_array && other == key);
            found.iter().for_each(|(_, value)| selected(value, rest, out));
        }
        At::Index(index) if is_array => {
            items.get(*index).iter().for_each(|(_, value)| selected(value, rest, out));
        }
        At::Any => items.iter().for_each(|(_, value)| selected(value, rest, out)),
        At::Index(_) => {}
    }
    if let At::Deep(_) = first {
        items.iter().for_each(|(_, value)| selected(value, path, out));
    }
}

/// The record of a line, if it is one.
pub(super) fn record(line: &[u8]) -> Option<&[u8]> {
    let begin = scan::space(line, 0);
    let end = scan::value(line, begin, 0).filter(|_| line.get(begin) == Some(&b'{'))?;
    (scan::space(line, end) == line.len()).then(|| &line[begin..end])
}

/// A path to a value of one of some lines, or to none.
pub(super) fn path(rng: &mut Rng, lines: &[&[u8]]) -> Vec<At> {
    let line = lines[rng.below(lines.len())];
    let (mut path, mut value) = (Vec::new(), record(line).unwrap_or_default());
    loop {
        let all = items(value);
        if all.is_empty() || !path.is_empty() && rng.below(3) == 0 {
            break;
        }
        let index = rng.below(all.len());
        path.push(match value[0] {
            b'{' if rng.below(4) > 0 => At::Key(all[index].0.clone()),
            _ if rng.below(2) == 0 => At::Any,
            b'{' => At::Key(all[index].0.clone()),
            _ => At::Index(index),
        });
        value = all[index].1;
    }
    if rng.below(4) == 0 {
        let keys: [&[u8]; 5] = [b"a", b"id", b"", b"none", b"\xed\xa0\x80"];
        path.push(At::Key(rng.pick(&keys).to_vec()));
        path.rotate_right(rng.below(2));
    }
    if !path.is_empty() && rng.below(2) == 0 {
        // The steps that a descendant can stand for.
        let last = rng.below(path.len());
        if let At::Key(key) = path[last].clone() {
            path.splice(rng.below(last + 1)..=last, [At::Deep(key)]);
        }
    }
    path
}

pub(super) fn steps(path: &[At]) -> Vec<PathStep> {
    let step = |step: &At| match step {
        At::Key(key) => PathStep::Name(key.clone()),
        At::Index(_) => PathStep::Element,
        At::Any => PathStep::Wildcard,
        At::Deep(key) => PathStep::Descendant(key.clone()),
    };
    path.iter().map(step).collect()
}

pub(super) fn projection(paths: &[Vec<At>]) -> Projection {
    let mut projection = Projection::NONE;
    paths.iter().for_each(|path| projection.reach(&steps(path)));
    projection
}

pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The projection of some paths, and of the presence of the values of others.
fn projection_with(paths: &[Vec<At>], present: &[Vec<At>]) -> Projection {
    let (mut one, mut other) = (projection(paths), Projection::NONE);
    for path in present {
        let mut at = Some(&mut other);
        for step in steps(path) {
            at = at.and_then(|at| at.below(&step));
        }
        at.into_iter().for_each(Projection::touch);
    }
    one.merge(&other);
    one
}

/// Checks partial lines against lines. Of the values of `present`, only the number is compared.
fn check_paths(text: &[u8], partial: &[u8], paths: &[Vec<At>], present: &[Vec<At>]) {
    let (all, partial) = (lines(text), lines(partial));
    assert_eq!(all.len(), partial.len());
    for (line, short) in all.iter().zip(partial) {
        let Some(whole) = record(line) else {
            assert_eq!(line.escape_ascii().to_string(), short.escape_ascii().to_string());
            continue;
        };
        let part = record(short).unwrap_or_else(|| panic!("{}", short.escape_ascii()));
        assert!(<[u8]>::len(short) <= <[u8]>::len(line));
        for path in paths {
            let (mut want, mut found) = (Vec::new(), Vec::new());
            selected(whole, path, &mut want);
            selected(part, path, &mut found);
            assert!(want == found, "{path:?}\n{}\n{}", line.escape_ascii(), short.escape_ascii());
        }
        for path in present {
            let (mut want, mut found) = (Vec::new(), Vec::new());
            selected(whole, path, &mut want);
            selected(part, path, &mut found);
            let is_same = want.len() == found.len();
            assert!(is_same, "{path:?}\n{}\n{}", line.escape_ascii(), short.escape_ascii());
        }
    }
}

/// Partial lines of a group in memory.
fn projected(tree: &Tree, group: &Group, projection: &Projection) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Restorer::projected(tree, group, projection)?.rows(0..group.rows, &mut out)?;
    Ok(out)
}

/// A file in memory that counts the bytes that are read.
#[derive(Clone)]
pub(super) struct Counted(Arc<(Vec<u8>, AtomicU64)>);

impl Counted {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new((bytes, AtomicU64::new(0))))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0.0
    }
}

impl ReadAt for Counted {
    fn len(&self) -> u64 {
        self.0.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.1.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        buffer.copy_from_slice(&self.0.0[offset as usize..][..buffer.len()]);
        Ok(())
    }
}

pub(super) fn written(tree: &Tree, groups: &[Group]) -> Counted {
    Counted::of(written_in(tree, groups, Options::default().page_rows))
}

/// A file whose pages have at most some rows.
pub(super) fn written_in(tree: &Tree, groups: &[Group], page_rows: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Short columns have Bloom filters, too.
    let filters = Filters { values: 1, chunk: 0, group: 0 };
    let mut writer =
        Writer::new(&mut bytes, Options { page_rows, filters, workers: 1, ..Options::default() }).unwrap();
    groups.iter().for_each(|group| writer.write(tree, group).unwrap());
    writer.finish(tree, &[]).unwrap();
    bytes
}

#[test]
fn random_paths_select_the_same() {
    let (mut rng, mut short, mut long) = (Rng::new(1), 0, 0);
    for seed in 0..cases(60) as u64 {
        let mut made = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..1 + rng.below(100)).for_each(|_| made.line(&mut text));
        if rng.below(2) == 0 {
            text.pop();
        }
        let (shredder, groups) = check(&text, 1 + rng.below(text.len().max(2)));
        let tree = shredder.tree();
        let file = Reader::open(written(tree, &groups)).unwrap();
        for _ in 0..8 {
            let (all, below) = (lines(&text), rng.below(20));
            let mut random = |count| (0..count).map(|_| path(&mut rng, &all)).collect::<Vec<_>>();
            let (paths, present) = (random(below % 5), random(below / 5));
            let projection = projection_with(&paths, &present);
            let (mut out, mut read) = (Vec::new(), Vec::new());
            for (number, group) in groups.iter().enumerate() {
                out.extend(projected(tree, group, &projection).unwrap());
                partial(&file, number, &projection, &mut read).unwrap();
            }
            assert!(out == read);
            check_paths(&text, &out, &paths, &present);
            (short, long) = (short + out.len(), long + text.len());
        }
    }
    assert!(short < long * 2 / 3, "{short} of {long} bytes");
}

/// A path of keys, `*`, `[]` for an index, and keys after a second point for descendants.
pub(super) fn parsed(path: &str) -> Vec<At> {
    let (mut steps, mut deep) = (Vec::new(), false);
    for key in path.split('.') {
        steps.push(match key {
            "" if !deep => {
                deep = true;
                continue;
            }
            "*" => At::Any,
            "[]" => At::Index(0),
            key if deep => At::Deep(key.as_bytes().to_vec()),
            key => At::Key(key.as_bytes().to_vec()),
        });
        deep = false;
    }
    steps
}

/// Partial lines of paths.
fn of(text: &str, paths: &[&str]) -> String {
    with_presence(text, paths, &[])
}

/// Partial lines of paths, and of the presence of others.
fn with_presence(text: &str, paths: &[&str], present: &[&str]) -> String {
    let (shredder, group) = shredded(text);
    let [paths, present] =
        [paths, present].map(|paths| paths.iter().map(|path| parsed(path)).collect::<Vec<_>>());
    let out = projected(shredder.tree(), &group, &projection_with(&paths, &present)).unwrap();
    check_paths(text.as_bytes(), &out, &paths, &present);
    String::from_utf8(out).unwrap()
}

#[test]
fn only_wanted_members_are_written() {
    for (text, paths, want) in [
        ("{\"a\": 1, \"b\" : \"x\"}\n", &["b"][..], "{\"b\":\"x\"}\n"),
        ("{\"a\":1,\"b\":2}\r\n{\"c\":{}}\r\n", &["b"], "{\"b\":2}\r\n{}\r\n"),
        // Null, missing, and always null.
        ("{\"a\":null}\n{}\n{\"a\":1}\n", &["a"], "{\"a\":null}\n{}\n{\"a\":1}\n"),
        ("{\"a\":null,\"b\":1}\n{}\n", &["a"], "{\"a\":null}\n{}\n"),
        // Other kinds than that of the path.
        (
            "{\"a\":{\"b\":1,\"c\":2}}\n{\"a\":\"text\"}\n{\"a\":17}\n{\"a\":[true,{\"b\":1.50}]}\n{\"a\":false}\n",
            &["a.b"],
            "{\"a\":{\"b\":1}}\n{\"a\":\"\"}\n{\"a\":0}\n{\"a\":[]}\n{\"a\":true}\n",
        ),
        (
            "{\"a\":[{\"b\":1,\"c\":0},{\"c\":0},null,{\"b\":null},[]]}\n{\"a\":[]}\n",
            &["a.[].b"],
            "{\"a\":[{\"b\":1},{},null,{\"b\":null},[]]}\n{\"a\":[]}\n",
        ),
        // The first of repeated names counts, and the others are still there.
        (
            "{\"a\":{\"x\":1},\"b\":0,\"a\":{\"x\":2,\"y\":3}}\n",
            &["a.x"],
            "{\"a\":{\"x\":1},\"a\":{\"x\":2,\"y\":3}}\n",
        ),
        ("{\"a\":1,\"b\":0,\"b\":2,\"a\":3,\"a\":4}\n", &["a"], "{\"a\":1,\"a\":3,\"a\":4}\n"),
        // The key is spelled as it was, and the value with all its white space.
        ("{\"\\u0061\":[ 1 , 2 ]}\n", &["a"], "{\"\\u0061\":[ 1 , 2 ]}\n"),
        // No path can select a value.
        ("{\"a\":{\"b\":1}}\n\n{}\n", &["a.c", "d"], "{}\n\n{}\n"),
        (
            "{\"a\":\"\\u00e9\",\"b\":\"\\u00e9\"}\n{\"b\":\"é\"}\n",
            &["b"],
            "{\"b\":\"\\u00e9\"}\n{\"b\":\"é\"}\n",
        ),
    ] {
        assert_eq!(of(text, paths), want, "{text}");
    }
    let text = "{\"a\": 1}\n[1]\nno\n \n{ } \n";
    let (shredder, groups) = check(text.as_bytes(), 1 << 30);
    let out = projected(shredder.tree(), &groups[0], &Projection::NONE).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "{}\n[1]\nno\n \n{} \n");
    assert_eq!(projected(shredder.tree(), &groups[0], &Projection::All).unwrap(), text.as_bytes());
}

#[test]
fn of_some_members_only_the_presence_is_written() {
    for (text, paths, present, want) in [
        ("{\"a\": \"x\",\"b\":1}\n{\"a\":null}\n{}\n", &[][..], &["a"][..], "{\"a\":0}\n{\"a\":0}\n{}\n"),
        ("{\"a\":null,\"b\":1}\n{}\n", &[], &["a"], "{\"a\":null}\n{}\n"),
        // Values of other kinds, and of members of members.
        ("{\"a\":{\"b\":[1]}}\n{\"a\":[{\"b\":2}]}\n", &[], &["a.b"], "{\"a\":{\"b\":0}}\n{\"a\":[]}\n"),
        ("{\"a\":[{\"b\":\"x\"},{\"c\":1},2]}\n", &[], &["a.*.b"], "{\"a\":[{\"b\":0},{},0]}\n"),
        // The value, or something inside of it, is needed, too.
        ("{\"a\":{\"b\":1},\"c\":2}\n", &["a"], &["a.b", "c"], "{\"a\":{\"b\":1},\"c\":0}\n"),
        ("{\"a\":{\"b\":1,\"d\":3}}\n{\"a\":5}\n", &["a.b"], &["a"], "{\"a\":{\"b\":1}}\n{\"a\":0}\n"),
        ("{\"a\":{\"d\":3}}\n{\"a\":5}\n", &["a.b"], &["a"], "{\"a\":0}\n{\"a\":0}\n"),
        // All members, all elements, descendants.
        ("{\"a\":{\"b\":1,\"c\":null}}\n", &[], &["a.*"], "{\"a\":{\"b\":0,\"c\":null}}\n"),
        ("{\"a\":[null,null],\"b\":1}\n", &[], &["a.*"], "{\"a\":[null,null]}\n"),
        ("{\"a\":{\"a\":[{\"a\":1}],\"x\":2}}\n", &[], &[".a"], "{\"a\":{\"a\":[{\"a\":0}]}}\n"),
        // Repeated names.
        ("{\"a\":1,\"b\":0,\"a\":[2]}\n", &[], &["a"], "{\"a\":0,\"a\":[2]}\n"),
        ("{\"a\":1,\"a\":{\"b\":2}}\n", &[], &["*.b"], "{\"a\":1,\"a\":{\"b\":2}}\n"),
        // A text in which there could be anything.
        ("{\"a\":1e999,\"b\":2}\n", &[], &["a"], "{\"a\":0}\n"),
        ("{\"a\":1e999,\"b\":2}\n", &[], &["a.c", "b"], "{\"a\":1e999,\"b\":0}\n"),
    ] {
        assert_eq!(with_presence(text, paths, present), want, "{text}{paths:?} {present:?}");
    }
}

#[test]
fn wildcards_and_descendants_write_what_they_reach() {
    for (text, paths, want) in [
        // All members, those that are always null included; members of members.
        (
            "{\"a\":{\"b\":1,\"c\":null},\"d\":{\"b\":null,\"e\":2}, \"f\":3}\n{\"a\":2}\n",
            &["a.*"][..],
            "{\"a\":{\"b\":1,\"c\":null}}\n{\"a\":0}\n",
        ),
        (
            "{\"a\":{\"b\":1,\"c\":null},\"d\":{\"b\":null,\"e\":2},\"f\":3}\n{\"a\":2}\n",
            &["*.b"],
            "{\"a\":{\"b\":1},\"d\":{\"b\":null}}\n{\"a\":0}\n",
        ),
        ("{\"a\":null,\"b\":1}\n{\"a\":null}\n", &["*"], "{\"a\":null,\"b\":1}\n{\"a\":null}\n"),
        ("{\"a\":{},\"b\":1}\n", &["a.*"], "{}\n"),
        // All elements, null included. An element of another kind keeps its index.
        ("{\"a\":[null,null],\"b\":1}\n{\"a\":[]}\n", &["a.*"], "{\"a\":[null,null]}\n{\"a\":[]}\n"),
        ("{\"a\":[{\"b\":1,\"c\":[0]},[{\"b\":2}],\"text\"]}\n", &["a.*.b"], "{\"a\":[{\"b\":1},[],\"\"]}\n"),
        (
            "{\"a\":[{\"b\":1,\"c\":[0]},[{\"b\":2}],\"text\"]}\n",
            &["a.*.*.b"],
            "{\"a\":[{},[{\"b\":2}],\"\"]}\n",
        ),
        // Descendants, in arrays of arrays too, and only below a name.
        (
            "{\"x\":1,\"a\":[[{\"b\":null,\"c\":0}],{\"d\":{\"b\":7}}],\"b\":{\"c\":1}}\n",
            &[".b"],
            "{\"a\":[[{\"b\":null}],{\"d\":{\"b\":7}}],\"b\":{\"c\":1}}\n",
        ),
        ("{\"b\":1,\"a\":{\"b\":2,\"c\":{\"b\":3}}}\n", &["a..b"], "{\"a\":{\"b\":2,\"c\":{\"b\":3}}}\n"),
        (
            "{\"a\":{\"b\":{\"c\":1,\"d\":2},\"c\":3},\"e\":{\"b\":4}}\n",
            &[".b.c"],
            "{\"a\":{\"b\":{\"c\":1}}}\n",
        ),
        ("{\"a\":{\"a\":{\"a\":1,\"x\":2}},\"b\":{\"x\":1}}\n", &[".a..a..a"], "{\"a\":{\"a\":{\"a\":1}}}\n"),
        ("{\"a\":{\"c\":1},\"d\":[{\"e\":null}]}\n", &[".b"], "{}\n"),
        // Members of a repeated name stay, so that the first of them is still the first.
        (
            "{\"x\":1,\"a\":1,\"a\":{\"b\":1,\"a\":0},\"y\":[2]}\n{\"a\":{\"b\":1,\"c\":2}}\n",
            &[".b"],
            "{\"a\":1,\"a\":{\"b\":1,\"a\":0}}\n{\"a\":{\"b\":1,\"c\":2}}\n",
        ),
        ("{\"a\":null,\"a\":{\"b\":1},\"c\":2}\n", &["*.b"], "{\"a\":null,\"a\":{\"b\":1}}\n"),
        ("{\"c\":[{\"a\":null,\"a\":3}]}\n", &["c.*.*"], "{\"c\":[{\"a\":null,\"a\":3}]}\n"),
        // A number that is no double is a text, in which there could be anything.
        ("{\"a\":1e999,\"b\":2,\"c\":[1]}\n", &[".d"], "{\"a\":1e999}\n"),
    ] {
        assert_eq!(of(text, paths), want, "{text}{paths:?}");
    }
}

#[test]
fn texts_of_maps_are_whole_where_paths_can_reach() {
    let map = |row: usize| {
        (0..400).map(|key| format!("\"k{}\":{{\"b\":{key}}}", row * 9 + key)).collect::<Vec<_>>()
    };
    let line =
        |row: usize| format!("{{\"id\":{row},\"m\":{{{}}},\"n\":[{{\"b\":0}}]}}\n", map(row).join(","));
    let text: String = (0..20).map(line).collect();
    for (path, is_whole) in [(".b", true), ("m.*", true), ("*.b", true), ("n..b", false), ("n.*.b", false)] {
        let out = of(&text, &[path]);
        assert_eq!(out.contains("\"k7\":{\"b\":7}"), is_whole, "{path}");
        assert!(!out.contains("\"id\""), "{path}");
    }
}

#[test]
fn no_lines_have_no_partial_lines() {
    let mut shredder = Shredder::new();
    let group = shredder.shred(b"").unwrap();
    let file = Reader::open(written(shredder.tree(), &[group])).unwrap();
    let mut out = Vec::new();
    for projection in [Projection::All, projection(&[vec![At::Key(b"a".to_vec())]])] {
        partial(&file, 0, &projection, &mut out).unwrap();
    }
    assert_eq!(out, b"");
    assert!(matches!(
        partial(&file, 1, &Projection::All, &mut out),
        Err(crate::partial::Error::File(crate::file::Error::Missing(_)))
    ));
}

#[test]
fn surrogates_without_a_partner_may_be_replaced() {
    let text = "{\"\\ud800\":1,\"b\":2}\n";
    assert_eq!(of(text, &["\u{fffd}"]), "{\"\\ud800\":1}\n");
}

#[test]
fn few_bytes_are_read_for_few_members() {
    let text = include_bytes!("../../../../../tests/data/tweets.ndjson");
    let (shredder, groups) = check(text, 1 << 30);
    let source = written(shredder.tree(), &groups);
    let file = Reader::open(source.clone()).unwrap();
    let read = |path: &str| {
        let path = parsed(path);
        let (before, mut out) = (source.0.1.load(Ordering::Relaxed), Vec::new());
        partial(&file, 0, &projection(&[path]), &mut out).unwrap();
        (source.0.1.load(Ordering::Relaxed) - before, out.len())
    };
    let all = source.len();
    for (path, part) in
        [("user.lang", 8), ("id_str", 8), ("user.none", 8), (".id_str", 2), (".none", 8), ("user.*.none", 8)]
    {
        let (bytes, _) = read(path);
        assert!(bytes < all / part, "{path:?}: {bytes} of {all} bytes");
    }
}

#[test]
fn forged_groups_do_no_harm_to_partial_lines() {
    let mut rng = Rng::new(6);
    let (mut same, mut errors) = (0, 0);
    for seed in 0..20 {
        let mut made = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..30).for_each(|_| made.line(&mut text));
        let (shredder, groups) = check(&text, 1 << 30);
        let all = lines(&text);
        for _ in 0..cases(500) {
            let paths: Vec<_> = (0..3).map(|_| path(&mut rng, &all)).collect();
            let projection = projection(&paths);
            let mut group = groups[0].clone();
            let want = projected(shredder.tree(), &group, &projection).unwrap();
            (0..=rng.below(3)).for_each(|_| forge(&mut rng, &mut group));
            match projected(shredder.tree(), &group, &projection) {
                Ok(out) if out == want => same += 1,
                Ok(_) => {}
                Err(_) => errors += 1,
            }
        }
    }
    assert!(same > 1000 && errors > 1000, "{same} {errors}");
}

/// Measures the files that `WARPATH_MEASURE` names, with the paths that `WARPATH_PATHS` names: keys with
/// points between them, and commas between paths.
#[test]
#[ignore = "measures; run it in release with WARPATH_MEASURE and WARPATH_PATHS set"]
fn measure() {
    use std::time::Instant;

    let variable = |name| std::env::var(name).unwrap_or_default();
    for path in variable("WARPATH_MEASURE").split_whitespace() {
        let text = std::fs::read(path).unwrap();
        let mut shredder = Shredder::new();
        let group_bytes = 64 << 20;
        let (mut groups, mut rest) = (Vec::new(), &text[..]);
        while !rest.is_empty() {
            let cut = memchr::memrchr(b'\n', &rest[..rest.len().min(group_bytes)]).unwrap() + 1;
            groups.push(shredder.shred(&rest[..cut]).unwrap());
            rest = &rest[cut..];
        }
        let source = written(shredder.tree(), &groups);
        let file = Reader::open(source.clone()).unwrap();
        let rows: u32 = groups.iter().map(|group| group.rows).sum();
        println!("{path}: {} bytes, {rows} rows, {} groups", text.len(), groups.len());
        for (name, len) in file.sections(0) {
            println!("  {name} {len}");
        }
        for list in variable("WARPATH_PATHS").split_whitespace() {
            let paths: Vec<Vec<At>> = list.split(',').map(parsed).collect();
            let projection = projection(&paths);
            let mut best = (f64::MAX, 0, 0);
            for _ in 0..5 {
                let (mut out, begin) = (Vec::new(), Instant::now());
                let bytes = source.0.1.load(Ordering::Relaxed);
                (0..groups.len()).for_each(|group| partial(&file, group, &projection, &mut out).unwrap());
                let seconds = begin.elapsed().as_secs_f64();
                let bytes = source.0.1.load(Ordering::Relaxed) - bytes;
                if seconds < best.0 {
                    best = (seconds, out.len(), bytes);
                }
            }
            let (seconds, len, bytes) = best;
            let columns = |group: usize| {
                let outline = Outline::read(shredder.tree(), &groups[group]).unwrap();
                let size = |leaf| file.leaf(group, leaf).map_or(0, |leaf| leaf.uncompressed);
                let (parts, _) = plan(shredder.tree(), &outline, &projection, size).unwrap();
                let begin = Instant::now();
                file.columns(group, &parts.leaves).unwrap();
                begin.elapsed().as_secs_f64() * 1e3
            };
            let columns = || (0..groups.len()).map(columns).sum::<f64>();
            println!(
                "  {list}: {:.1} ms, {:.1} of them columns, {:.2} GB/s of text, {:.0} ns a row, {len} bytes \
                 made, {bytes} read",
                seconds * 1e3,
                (0..5).map(|_| columns()).fold(f64::MAX, f64::min),
                text.len() as f64 / seconds / 1e9,
                seconds * 1e9 / f64::from(rows)
            );
        }
    }
}
