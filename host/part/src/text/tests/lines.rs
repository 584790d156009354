//! Lines of some rows are those of the text, whichever pages have them.

use warpath_core::projection::Projection;

use super::project::{lines as lines_of, path, projection, written_in};
use super::*;
use crate::file::{Options, Reader};
use crate::partial::{lines, partial};

/// Ranges of rows that begin and end anywhere.
fn ranges(rng: &mut Rng, rows: u32) -> Vec<std::ops::Range<u32>> {
    let mut all = vec![0..rows, 0..0, rows..rows];
    for _ in 0..12 {
        let start = rng.below(rows as usize + 1) as u32;
        let len = rng.below((rows - start) as usize + 1) as u32;
        all.push(start..start + len.min(rng.pick(&[1, 3, 20, u32::MAX])));
    }
    all
}

#[test]
fn any_rows_are_those_of_the_text() {
    let mut rng = Rng::new(1);
    for seed in 0..cases(60) as u64 {
        let mut made = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..1 + rng.below(150)).for_each(|_| made.line(&mut text));
        if rng.below(2) == 0 {
            text.pop();
        }
        let (shredder, groups) = check(&text, 1 + rng.below(text.len().max(2)));
        let file = Reader::open(written_in(shredder.tree(), &groups, rng.pick(&[1, 5, 16, 8192]))).unwrap();
        let all = lines_of(&text);
        let paths: Vec<_> = (0..3).map(|_| path(&mut rng, &all)).collect();
        let (members, mut first) = (projection(&paths), 0);
        for (number, group) in groups.iter().enumerate() {
            let whole = &all[first..first + group.rows as usize];
            let mut short = Vec::new();
            partial(&file, number, &members, &mut short).unwrap();
            let short = lines_of(&short);
            for rows in ranges(&mut rng, group.rows) {
                let wanted = rows.start as usize..rows.end as usize;
                for (want, members) in
                    [(whole, None), (whole, Some(&Projection::All)), (&short, Some(&members))]
                {
                    let mut out = b"before".to_vec();
                    lines(&file, number, rows.clone(), members, &mut out).unwrap();
                    let want = [&b"before"[..], &want[wanted.clone()].concat()].concat();
                    assert_eq!(out.escape_ascii().to_string(), want.escape_ascii().to_string(), "{rows:?}");
                }
            }
            first += group.rows as usize;
            for rows in [group.rows..group.rows + 1, std::ops::Range { start: 1, end: 0 }] {
                assert!(lines(&file, number, rows, None, &mut Vec::new()).is_err());
            }
        }
        assert!(lines(&file, groups.len(), 0..1, None, &mut Vec::new()).is_err());
    }
}

/// Lists, repeated names, exceptions and other kinds around marks and the borders of pages.
#[test]
fn rows_begin_between_marks() {
    let kinds = [
        r#"{"a":[1,[2]],"b":{"c":"x"}}"#,
        r#"{"a":[],"n":1e400,"b":{}}"#,
        "",
        r#"{"a":null,"n":1.50,"n":"again"}"#,
        "no JSON",
        r#"{"a":"\u0061","n":1}"#,
        "[1]",
    ];
    let mut text = Vec::new();
    for at in 0..200 {
        text.extend_from_slice(kinds[at * at % 11 % 7].as_bytes());
        text.push(b'\n');
    }
    let (shredder, groups) = check(&text, 1 << 30);
    let all = lines_of(&text);
    for page_rows in [1, 7, 64] {
        let file = Reader::open(written_in(shredder.tree(), &groups, page_rows)).unwrap();
        for start in 0..200 {
            for len in [1, 9, 40] {
                let end = (start + len).min(200);
                let mut out = Vec::new();
                lines(&file, 0, start..end, None, &mut out).unwrap();
                assert!(out == all[start as usize..end as usize].concat(), "{start}..{end}");
            }
        }
    }
}

/// A part without marks, as earlier writers made it; and altered marks.
#[test]
fn marks_that_are_missing_or_altered() {
    let mut made = Lines(Rng::new(7));
    let mut text = Vec::new();
    (0..100).for_each(|_| made.line(&mut text));
    let (shredder, groups) = check(&text, 1 << 30);
    let all = lines_of(&text);
    let mut group = groups[0].clone();
    let at = group.sections.iter().position(|(name, _)| name == OCCURRENCES).unwrap();
    let (name, section) = group.sections.remove(at);
    let file = Reader::open(written_in(shredder.tree(), &[group.clone()], 16)).unwrap();
    let mut out = Vec::new();
    lines(&file, 0, 40..60, None, &mut out).unwrap();
    assert!(out == all[40..60].concat());
    // The checksum of such a section is right, so there is an error or other lines, and never a panic.
    let (mut rng, mut errors) = (Rng::new(2), 0);
    for _ in 0..cases(200) {
        let mut altered = section.clone();
        match rng.below(3) {
            0 => altered.truncate(rng.below(altered.len())),
            1 => altered.push(rng.next_u64() as u8),
            _ => {
                let at = rng.below(altered.len());
                altered[at] = rng.next_u64() as u8;
            }
        }
        group.sections.push((name.clone(), altered));
        let file = Reader::open(written_in(shredder.tree(), &[group.clone()], 16)).unwrap();
        errors += usize::from(lines(&file, 0, 40..60, None, &mut Vec::new()).is_err());
        group.sections.pop();
    }
    assert!(errors > 0);
    // Altered bytes in the file are found by their checksum.
    let stored = zstd::bulk::compress(&section, Options::default().section_level.unwrap()).unwrap();
    group.sections.push((name, section));
    let file = written_in(shredder.tree(), &[group], 16);
    let begin = memchr::memmem::find(&file, &stored).unwrap();
    for at in begin..begin + stored.len() {
        let mut bytes = file.clone();
        bytes[at] ^= 1 << rng.below(8);
        let reader = Reader::open(bytes).unwrap();
        assert!(lines(&reader, 0, 40..60, None, &mut Vec::new()).is_err(), "byte {at}");
    }
}
