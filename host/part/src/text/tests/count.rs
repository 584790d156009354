//! Numbers of values from the section `counts` are those of the lines.

use warpath_core::projection::Step as PathStep;

use super::project::{At, Counted, lines, parsed, path, record, selected, steps, written};
use super::*;
use crate::file::Reader;

/// The number of values that a path selects in all records of a text.
fn naive(text: &[u8], path: &[At]) -> u64 {
    let mut found = Vec::new();
    lines(text).into_iter().filter_map(record).for_each(|record| selected(record, path, &mut found));
    found.len() as u64
}

fn counted(shredder: &Shredder, group: &Group, path: &[At]) -> Option<u64> {
    let counts = counts_of(shredder.tree(), group, &[steps(path)]).unwrap();
    counts.map(|counts| counts[0])
}

#[test]
fn random_paths_have_their_numbers() {
    let (mut rng, mut known, mut unknown, mut many) = (Rng::new(1), 0, 0, 0);
    for seed in 0..cases(150) as u64 {
        let mut made = Lines(Rng::new(seed));
        let mut text = Vec::new();
        for _ in 0..1 + rng.below(60) {
            let begin = text.len();
            made.line(&mut text);
            // One other line hides all numbers of its group.
            if record(&text[begin..]).is_none() && text[begin..] != *b"\n" && rng.below(100) > 0 {
                text.truncate(begin);
            }
        }
        let (shredder, groups) = check(&text, 1 + rng.below(text.len().max(2)));
        let file = Reader::open(written(shredder.tree(), &groups)).unwrap();
        let all = lines(&text);
        if all.is_empty() {
            continue;
        }
        for _ in 0..20 {
            let path = path(&mut rng, &all);
            let mut rest = &text[..];
            for (number, group) in groups.iter().enumerate() {
                let (own, after) = rest.split_at(group.text_len as usize);
                rest = after;
                let found = counted(&shredder, group, &path);
                let read = crate::count::count(&file, number, &[steps(&path)]).unwrap();
                assert_eq!(read, found.map(|found| vec![found]));
                let Some(found) = found else {
                    unknown += 1;
                    continue;
                };
                let want = naive(own, &path);
                assert_eq!(found, want, "{path:?}\n{}", own.escape_ascii());
                (known, many) = (known + 1, many + u64::from(want > 1));
            }
        }
    }
    assert!(known > unknown && many > 500, "{known} known, {many} above 1, {unknown} unknown");
}

#[test]
fn numbers_are_known_where_nodes_have_all_values() {
    let map: Vec<String> = (0..400).map(|key| format!("\"k{key}\":1")).collect();
    let map = format!("{{\"m\":{{{}}},\"b\":1}}\n", map.join(","));
    let repeated = "{\"a\":1,\"a\":{\"b\":2},\"c\":{\"b\":3}}\n{\"a\":{\"b\":4}}\n";
    for (text, path, want) in [
        ("{\"a\":1}\n\n{}\r\n  \n{ }", None, Some(3)),
        ("{\"a\":1}\n{\"a\":null}\n{\"a\":{\"b\":null}}\n{}\n", Some("a"), Some(3)),
        ("{\"a\":1}\n{\"a\":null}\n{\"a\":{\"b\":null}}\n{}\n", Some("a.b"), Some(1)),
        ("{\"a\":null,\"b\":1}\n{\"a\":null}\n{}\n", Some("a"), Some(2)),
        ("{\"a\":null,\"b\":1}\n{\"a\":null}\n{}\n", Some("*"), Some(3)),
        ("{\"a\":[1,null,[2,3],{\"b\":4}]}\n{\"a\":[]}\n{\"a\":[null]}\n", Some("a.*"), Some(5)),
        ("{\"a\":[1,null,[2,3],{\"b\":4}]}\n{\"a\":[]}\n{\"a\":[null]}\n", Some("a.*.*"), Some(3)),
        ("{\"a\":[1,null,[2,3],{\"b\":4}]}\n{\"a\":[]}\n", Some("a.*.b"), Some(1)),
        ("{\"a\":[1,null,[2,3],{\"b\":4}]}\n{\"a\":[]}\n", Some(".b"), Some(1)),
        ("{\"a\":[[{\"b\":{\"b\":null}}]],\"b\":0}\n{\"b\":1}\n", Some(".b"), Some(4)),
        ("{\"a\":[[{\"b\":{\"b\":null}}]],\"b\":0}\n{\"b\":1}\n", Some("a..b"), Some(2)),
        ("{\"a\":[[{\"b\":{\"b\":null}}]],\"b\":0}\n{\"b\":1}\n", Some(".b.*"), Some(1)),
        ("{\"a\":[[{\"b\":{\"b\":null}}]],\"b\":0}\n", Some(".b.b..b"), None),
        ("{\"a\":[1]}\n", Some("a.[]"), None),
        ("{\"a\":1}\n", Some("\u{fffd}"), None),
        // Lines that are kept whole.
        ("{\"a\":1}\n[1]\n", Some("a"), None),
        ("{\"a\":1}\n{\"a\":1", None, None),
        ("\u{feff}{\"a\":1}\n", Some("a"), None),
        // Values that are texts.
        (&map, Some("b"), Some(1)),
        (&map, Some("m"), Some(1)),
        (&map, Some("*"), Some(2)),
        (&map, Some("m.k1"), None),
        (&map, Some("*.k1"), None),
        (&map, Some(".k1"), None),
        ("{\"a\":1e999}\n{\"a\":[2]}\n", Some("a"), Some(2)),
        ("{\"a\":1e999}\n{\"a\":[2]}\n", Some("a.*"), None),
        // Repeated names: a name selects the first, others visit all.
        (repeated, Some("a"), Some(2)),
        (repeated, Some("a.b"), Some(1)),
        (repeated, Some("*"), Some(4)),
        (repeated, Some("*.b"), None),
        (repeated, Some(".b"), None),
        (repeated, Some("c..b"), Some(1)),
    ] {
        let (shredder, groups) = check(text.as_bytes(), 1 << 30);
        let path = path.map_or_else(Vec::new, parsed);
        assert_eq!(counted(&shredder, &groups[0], &path), want, "{text} {path:?}");
        if let Some(want) = want {
            assert_eq!(naive(text.as_bytes(), &path), want);
        }
    }
}

#[test]
fn groups_have_numbers_of_their_own() {
    let text = "{\"a\":{\"b\":1}}\n{\"a\":2}\n{\"a\":null}\n{\"c\":1e999}\n{\"a\":{\"b\":1}}\n";
    let (shredder, groups) = check(text.as_bytes(), 1);
    let of =
        |path: &str| groups.iter().map(|group| counted(&shredder, group, &parsed(path))).collect::<Vec<_>>();
    assert_eq!(of("a"), [1, 1, 1, 0, 1].map(Some));
    assert_eq!(of("a.b"), [1, 0, 0, 0, 1].map(Some));
    // A text is only in one group.
    assert_eq!(of(".b"), [Some(1), Some(0), Some(0), None, Some(1)]);
    let mut group = groups[0].clone();
    group.sections.retain(|(name, _)| name != COUNTS);
    assert_eq!(counted(&shredder, &group, &[]), None);
    let mut shredder = Shredder::new();
    let empty = shredder.shred(b"").unwrap();
    assert_eq!(counted(&shredder, &empty, &parsed("a")), Some(0));
}

const COUNTS: &str = super::super::count::COUNTS;

#[test]
fn forged_numbers_do_no_harm() {
    let (mut rng, mut errors, mut same) = (Rng::new(4), 0, 0);
    for seed in 0..20 {
        let mut made = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..30).for_each(|_| made.object(0, false, &mut text));
        let text = String::from_utf8(text).unwrap().replace("}{", "}\n{");
        let (shredder, groups) = check(text.as_bytes(), 1 << 30);
        let all = lines(text.as_bytes());
        for _ in 0..cases(500) {
            let path = steps(&path(&mut rng, &all));
            let mut group = groups[0].clone();
            let want = counts_of(shredder.tree(), &group, std::slice::from_ref(&path)).unwrap();
            group.sections.retain(|(name, _)| name == COUNTS || name == Names::SECTION);
            for _ in 0..=rng.below(2) {
                let at = rng.below(group.sections.len());
                let bytes = &mut group.sections[at].1;
                let at = rng.below(bytes.len());
                match rng.below(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = rng.next_u64() as u8,
                    2 => bytes[at] = bytes[at].wrapping_add(1),
                    _ => group.rows = rng.pick(&[0, 1, group.rows.wrapping_add(1), u32::MAX]),
                }
            }
            match counts_of(shredder.tree(), &group, &[path]) {
                Ok(found) => same += u64::from(found == want),
                Err(_) => errors += 1,
            }
        }
    }
    assert!(errors > 1000 && same > 100, "{errors} errors, {same} the same");
}

#[test]
fn every_altered_byte_is_found() {
    let text = "{\"a\":{\"b\":1,\"b\":2},\"c\":null}\n{\"a\":[1,\"x\"]}\n";
    let (shredder, groups) = check(text.as_bytes(), 1 << 30);
    let file = written(shredder.tree(), &groups).bytes().to_vec();
    let paths: [Vec<PathStep>; 3] = ["a.b", "a.*", "c"].map(|path| steps(&parsed(path)));
    let of = |bytes: Vec<u8>| {
        let file = Reader::open(Counted::of(bytes)).ok()?;
        crate::count::count(&file, 0, &paths).ok()
    };
    assert_eq!(of(file.clone()), Some(Some(vec![1, 4, 1])));
    let mut errors = 0;
    for at in 0..file.len() {
        let mut bytes = file.clone();
        bytes[at] ^= 1;
        match of(bytes) {
            None => errors += 1,
            Some(found) => assert_eq!(found, Some(vec![1, 4, 1]), "byte {at}"),
        }
    }
    assert!(errors > file.len() / 3, "{errors} of {}", file.len());
}
