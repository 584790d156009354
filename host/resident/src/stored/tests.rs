//! Bytes of segments beside the segments that they are of.

use std::fmt::Write as _;

use warpath_core::cancel::{Interrupt, Stop};
use warpath_core::comparison::{Comparison, Condition, Constant, Test};
use warpath_part::group::{Group, Tree};
use warpath_part::text::Shredder;
use warpath_random::{Rng, cases};

use super::*;
use crate::aggregate::{Aggregate, GroupColumn, group, kind_of};
use crate::coded::Coded;
use crate::rows::Question;
use crate::table::Table as LeafTable;

const VALUES: &[&str] = &[
    "1",
    "-7",
    "9223372036854775807",
    "-9223372036854775808",
    "0.5",
    "-1.7976931348623157e308",
    "5e-324",
    "1e999",
    "true",
    "false",
    "null",
    "\"x\"",
    "\"\"",
    "\"\u{e9}\u{1f600}\"",
    "{\"b\":1}",
    "{\"b\":null,\"c\":\"x\"}",
    "[1,{\"b\":2}]",
    "{}",
];
const WILD: &[&str] = &["1E5", "-0", "1.10", "\"\\ud800\"", "{\"b\":1,\"b\":2}", "123456789012345678901"];
const LINES: &[&str] = &["", " ", "7", "{\"a\":", "{\"a\":1,\"a\":\"x\"}"];

fn text(rng: &mut Rng, lines: usize, wild: bool) -> String {
    let mut text = String::new();
    for number in 0..lines {
        if wild && rng.below(50) == 0 {
            text += rng.pick(LINES);
        } else {
            // Members of one kind, of several, with strings that repeat and with others.
            let is_wild = wild && rng.below(20) == 0;
            let any = rng.pick(if is_wild { WILD } else { VALUES });
            let (few, many) = (rng.below(5), rng.next_u64());
            let _ =
                write!(text, "{{\"a\":{any},\"id\":\"{number} {many}\",\"few\":\"{few}\",\"at\":{number}");
            if rng.below(3) == 0 {
                let _ = write!(text, ",\"in\":{{\"d\":{},\"s\":\"{}\"}}", many as i64, many % 400);
            }
            text += "}";
        }
        if number + 1 < lines || rng.below(2) == 0 {
            text += "\n";
        }
    }
    text
}

fn shredded(text: &str) -> (Tree, Group) {
    let mut shredder = Shredder::new();
    let group = shredder.shred(text.as_bytes()).unwrap();
    (shredder.tree().clone(), group)
}

fn read(bytes: &[u8], codes: &[u8], group: &Group) -> Result<Option<Stored>> {
    Stored::read(bytes.to_vec(), codes.to_vec(), group.rows, group.text_len)
}

/// Reads bytes, and gets the columns that are missing from the group.
fn segment_of(stored: Option<Stored>, group: &Group, dictionaries: &Dictionaries) -> Result<Segment> {
    let mut stored = stored.expect("a known version");
    stored.choose(dictionaries);
    let missing = stored.missing();
    let columns = group.columns.iter().filter(|column| missing.contains(&column.node));
    stored.into_segment(&columns.cloned().collect::<Vec<_>>(), dictionaries)
}

fn path(name: &str) -> Vec<Vec<u8>> {
    name.split('.').map(|name| name.as_bytes().to_vec()).collect()
}

/// Random lines, with dictionaries that are new, that have other strings, and that were chosen by segments
/// whose strings repeat less or more.
#[test]
fn segments_come_back() {
    for seed in 0..cases(24) as u64 {
        let mut rng = Rng::new(seed);
        let lines = rng.pick(&[0, 1, 63, 300, 1024, 3000]);
        let text = text(&mut rng, lines, seed % 3 == 1);
        let (tree, group) = shredded(&text);
        let dictionaries = Dictionaries::default();
        let other = if lines > 2000 { 100 } else { 2500 };
        match seed % 4 {
            0 => {}
            1 => drop(dictionaries.of(&path("few"), true).unwrap().add_all([&b"4"[..], b"z"].into_iter())),
            2 => ["id", "few", "in.s"].iter().for_each(|name| drop(dictionaries.of(&path(name), false))),
            _ => {
                let text = self::text(&mut rng, other, false);
                let (tree, group) = shredded(&text);
                Segment::of(&tree, &group, text.as_bytes(), &dictionaries).unwrap();
            }
        }
        let made = Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap();
        let (bytes, codes) = (bytes_of(&made), made.lines().codes());
        assert!(is_known(&bytes));
        let got = segment_of(read(&bytes, codes, &group).unwrap(), &group, &dictionaries).unwrap();
        let want = Segment::of(&tree, &group, text.as_bytes(), &dictionaries).unwrap();
        assert_eq!(format!("{got:?}"), format!("{want:?}"), "seed {seed}");
        assert_eq!(got.bytes(), want.bytes(), "seed {seed}");
        let fresh = segment_of(read(&bytes, codes, &group).unwrap(), &group, &Dictionaries::default());
        assert!(are_equal(&fresh.unwrap(), &made, text.as_bytes()), "seed {seed}");
    }
}

/// The columns of strings that hardly repeat are wanted if other segments have codes of them, and only then.
#[test]
fn strings_that_others_have_codes_of_come_from_columns() {
    let text = text(&mut Rng::new(7), 2000, false);
    let (tree, group) = shredded(&text);
    let made = Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap();
    let stored = || read(&bytes_of(&made), made.lines().codes(), &group).unwrap().unwrap();
    let (mut alone, mut after) = (stored(), stored());
    alone.choose(&Dictionaries::default());
    assert!(alone.missing().is_empty());
    let dictionaries = Dictionaries::default();
    drop(dictionaries.of(&path("id"), true));
    after.choose(&dictionaries);
    let [node] = after.missing()[..] else { panic!("one node") };
    assert_eq!(tree.nodes[node as usize].name, "id");
    let other = Column { node, ..group.columns[0].clone() };
    assert!(after.into_segment(&[other], &dictionaries).unwrap_err().why.contains("column"));
}

/// Uses whatever a segment has.
fn use_all(segment: &Segment, dictionaries: &Dictionaries) {
    let mut text = Vec::new();
    for row in 0..segment.rows() {
        // Codes that decode to another length are a fault.
        let _ = segment.lines().decode(row..row + 1, &mut text);
    }
    let _ = segment.lines().decode_rows(segment.records(), &mut text);
    let numbers = ["1", "0.5", "-7"].map(|number| Constant::Number(number.into()));
    for member in segment.members() {
        let coded = Coded::of(segment, Some(member));
        let texts = coded.iter().flat_map(|coded| (0..coded.codes()).map(|code| coded.text(code as u32)));
        assert!(texts.map(<[u8]>::len).sum::<usize>() < 1 << 20);
        let path = &member.path;
        for test in [
            Test::Exists,
            Test::Equal(numbers.to_vec()),
            Test::Less(numbers[1].clone()),
            Test::AtLeast(Constant::String("x".into())),
            Test::Not(Box::new(Test::Equal(vec![Constant::Bool(true), Constant::Null]))),
        ] {
            drop(Question::new(Condition::Is(Comparison { path: path.clone(), test })).rows(segment));
        }
        let column = GroupColumn { path: path.clone(), derive: None, unit: None };
        let mut aggregates =
            vec![Aggregate::Rows, Aggregate::Count(path.clone()), Aggregate::Distinct(path.clone())];
        if kind_of(path, [segment].into_iter()).is_some() {
            aggregates.extend([Aggregate::Least(path.clone()), Aggregate::Greatest(path.clone())]);
        }
        let _ = group(&[segment], None, &[column], &aggregates, &Stop::new(Interrupt::default()));
    }
    let _ = LeafTable::of(&[segment]);
    let _ = (segment.bytes(), dictionaries.bytes());
}

/// Every byte of a segment altered, and every length: a fault, or a segment that breaks nothing.
#[test]
fn altered_bytes_are_refused_or_harmless() {
    let text = "{\"a\":1,\"s\":\"x\",\"b\":true,\"o\":{\"s\":\"y\"}}\n{\"a\":0.5,\"s\":\"\u{e9}\"}\n\n\
                {\"a\":null,\"s\":[1],\"o\":\"z\"}\n{\"a\":7,\"a\":8}\n{\"a\":12,\"b\":false}\n";
    let (tree, group) = shredded(text);
    let made = Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap();
    assert!(made.is_whole());
    let (bytes, codes) = (bytes_of(&made), made.lines().codes().to_vec());
    let try_all = |bytes: &[u8], codes: &[u8]| {
        let dictionaries = Dictionaries::default();
        let stored = read(bytes, codes, &group)?;
        let is_known = stored.is_some();
        if is_known {
            use_all(&segment_of(stored, &group, &dictionaries)?, &dictionaries);
        }
        Ok::<_, Fault>(is_known)
    };
    assert_eq!(try_all(&bytes, &codes), Ok(true));
    let (mut faults, mut harmless) = (0, 0);
    for at in 0..bytes.len() {
        for change in [1 << (at % 8), 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= change;
            match try_all(&bytes, &codes) {
                Ok(is_known) => {
                    assert_eq!(is_known, at >= FRONT, "byte {at}");
                    harmless += 1;
                }
                Err(fault) => {
                    assert!(fault.at <= bytes.len(), "{fault}");
                    faults += 1;
                }
            }
        }
        let cut = try_all(&bytes[..at], &codes);
        assert_eq!(cut.is_err(), at >= FRONT, "{at} bytes");
    }
    assert!(faults > 1000 && harmless > 1000, "{faults} faults, {harmless} harmless changes");
    for at in 0..codes.len() {
        let mut codes = codes.clone();
        codes[at] ^= 0xff;
        assert_eq!(try_all(&bytes, &codes), Ok(true));
        assert!(try_all(&bytes, &codes[..at]).is_err());
    }
    assert!(try_all(&[&bytes[..], b"x"].concat(), &codes).unwrap_err().why.contains("follow"));
    assert!(try_all(&bytes, &[&codes[..], b"x"].concat()).is_err());
    let other = Stored::read(bytes.clone(), codes.clone(), group.rows + 1, group.text_len);
    assert!(other.unwrap_err().why.contains("rows"));
    let other = Stored::read(bytes, codes, group.rows, group.text_len + 1);
    assert!(other.unwrap_err().why.contains("text"));
}

/// Several changes at once, in larger segments: words of fields, and pieces that are moved.
#[test]
fn random_changes_are_refused_or_harmless() {
    for seed in 0..cases(100) as u64 {
        let mut rng = Rng::new(seed);
        let lines = rng.pick(&[3, 40, 1100]);
        let text = text(&mut rng, lines, seed % 2 == 0);
        let (tree, group) = shredded(&text);
        let made = Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap();
        let (mut bytes, mut codes) = (bytes_of(&made), made.lines().codes().to_vec());
        for _ in 0..1 + rng.below(4) {
            let len = 1 + rng.below(12);
            let [from, to] = [(); 2].map(|()| FRONT + rng.below(bytes.len() - FRONT - len));
            match rng.below(4) {
                0 => bytes.copy_within(from..from + len, to),
                1 => bytes[to..to + len].fill(rng.pick(&[0, 1, 0xff])),
                2 => drop(bytes.splice(to..to, vec![0; len])),
                _ => drop(bytes.drain(to..to + len)),
            }
            let at = rng.below(codes.len());
            codes[at] = rng.below(256) as u8;
        }
        let dictionaries = Dictionaries::default();
        let Ok(stored) = read(&bytes, &codes, &group) else { continue };
        if let Ok(segment) = segment_of(stored, &group, &dictionaries) {
            use_all(&segment, &dictionaries);
        }
    }
}

/// Counts that would need much memory are compared with the bytes that there are.
#[test]
fn forged_counts_allocate_nothing() {
    for counts in [&[u32::MAX][..], &[0, 0, u32::MAX, u32::MAX], &[0, 0, 1, 0, u32::MAX]] {
        let mut out = Out(front().to_vec());
        counts.iter().for_each(|count| out.u32(*count));
        let read = Stored::read(out.0, Vec::new(), counts[0], 0).unwrap_err();
        let want =
            if counts[0] > 0 { "it has fewer codes than lines" } else { "the bytes end within a field" };
        assert_eq!(read.why, want, "{counts:?}");
    }
}

/// Rules that a change of one byte hardly breaks alone.
#[test]
fn rules_of_leaves_are_checked() {
    let numbers = |value: u64| Packed::of(&[value, 1]);
    let made = |leaf: &dyn Fn(&mut Out)| {
        let mut out = Out(front().to_vec());
        [2, 0].iter().for_each(|number| out.u32(*number));
        // All rows are records, and there is one member.
        [3, 1].iter().for_each(|number| out.u64(*number));
        out.u32(1);
        out.sized(b"a");
        [0, 0, 1, 0, 1].iter().for_each(|number| out.u32(*number));
        leaf(&mut out);
        // A symbol of one byte, and two lines of that symbol.
        out.u32(1);
        out.0.push(1);
        out.u64(b'\n'.into());
        [(); 2].iter().for_each(|()| put_packed(&Packed::of(&[1, 1]), &mut out));
        Stored::read(out.0, vec![0, 0], 2, 2).map(|stored| stored.expect("a known version"))
    };
    let coded = |number: u64, ends: [u32; 2], strings: &[u8]| {
        made(&|out| {
            out.u32(CODES);
            put_packed(&numbers(number), out);
            out.u32(2);
            ends.iter().for_each(|end| out.u32(*end));
            out.0.extend_from_slice(strings);
        })
    };
    coded(0, [2, 3], "\u{e9}x".as_bytes()).unwrap();
    assert_eq!(
        coded(2, [2, 3], "\u{e9}x".as_bytes()).unwrap_err().why,
        "a row has a number that no string has"
    );
    assert_eq!(coded(0, [1, 3], "\u{e9}x".as_bytes()).unwrap_err().why, "strings have no such ends");
    assert_eq!(coded(0, [3, 2], b"abc").unwrap_err().why, "strings have no such ends");
    assert_eq!(coded(0, [1, 3], b"a\xffc").unwrap_err().why, "strings are not UTF-8");
    let double = |value: f64| {
        made(&|out| {
            [DOUBLES, 0].iter().for_each(|number| out.u32(*number));
            put_packed(&Packed::of(&[of_double(value), of_double(0.5)]), out);
        })
    };
    double(f64::MIN).unwrap();
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN] {
        assert_eq!(double(value).unwrap_err().why, "a double is not finite");
    }
    assert_eq!(made(&|out| out.u32(WHOLE + 8)).unwrap_err().why, "a leaf has an unknown form");
}

/// Another version or layout is not read, and is no fault.
#[test]
fn other_versions_are_ignored() {
    let text = "{\"a\":1}\n";
    let (tree, group) = shredded(text);
    let made = Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap();
    let (bytes, codes) = (bytes_of(&made), made.lines().codes());
    for at in 0..FRONT {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes.truncate(FRONT + 2);
        assert!(!is_known(&bytes) && read(&bytes, codes, &group).unwrap().is_none());
    }
    assert!(read(b"", b"", &group).unwrap().is_none());
}

/// The hashes of the fields and of their bytes. Other fields need another [`LAYOUT`] or [`VERSION`].
#[test]
fn the_fields_are_those_of_the_layout() {
    let text =
        "{\"a\":1,\"s\":\"x\",\"b\":true,\"d\":0.5,\"n\":null,\"o\":{\"s\":\"y\"}}\n{\"a\":300}\n[1]\n";
    let (tree, group) = shredded(text);
    let made = Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap();
    let mut out = Out::default();
    put_leaves(&made, &mut out);
    let hashes = (hash(LAYOUT.as_bytes()), hash(&out.0));
    assert_eq!((VERSION, hashes), (1, (12247651960462347008, 7751539915081703577)));
}

/// Segments of other lines, and of other leaves.
#[test]
fn unequal_segments_differ() {
    let of = |text: &str| {
        let (tree, group) = shredded(text);
        Segment::of(&tree, &group, text.as_bytes(), &Dictionaries::default()).unwrap()
    };
    let text = "{\"a\":1,\"s\":\"x\"}\n{\"a\":2,\"s\":\"y\"}\n";
    let one = of(text);
    assert!(are_equal(&one, &of(text), text.as_bytes()));
    for other in [
        "{\"a\":1,\"s\":\"x\"}\n{\"a\":3,\"s\":\"y\"}\n",
        "{\"a\":1,\"s\":\"x\"}\n{\"a\":2,\"s\":\"z\"}\n",
        "{\"a\":1,\"s\":\"x\"}\n{\"a\":2, \"s\":\"y\"}\n",
    ] {
        assert!(!are_equal(&one, &of(other), text.as_bytes()), "{other}");
    }
    let mut other = of(text);
    other.members[0].is_exact = false;
    assert!(!are_equal(&one, &other, text.as_bytes()));
    let mut other = of(text);
    if let Leaf::Codes { numbers, .. } = &mut other.members[1].kinds[0].leaf {
        *numbers = Packed::of(&[1, 0]);
    }
    assert!(!are_equal(&one, &other, text.as_bytes()));
}
