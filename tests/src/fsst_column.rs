//! Checks columns of compressed strings against the rule, string by string, for files of any bytes.

use warpath::bitmap::RowSet;
use warpath_shared::fsst::CodeFault;
use warpath_store::fsst::{Pattern, StringColumn, Strings, splits};
use xxhash_rust::xxh3::xxh3_64;

use crate::random::Rng;

/// Lays out strings and nulls in Arrow's layout. If `garbage`, nulls have bytes too.
#[must_use]
pub fn layout(strings: &[Option<Vec<u8>>], garbage: bool) -> Strings {
    let mut all = Strings { offsets: vec![0], ..Strings::default() };
    let mut validity = vec![0; strings.len().div_ceil(64)];
    for (row, string) in strings.iter().enumerate() {
        match string {
            Some(string) => all.values.extend_from_slice(string),
            None if garbage => all.values.extend_from_slice(&b"\xffgarbage"[..row % 9 % 8]),
            None => {}
        }
        validity[row / 64] |= u64::from(string.is_some()) << (row % 64);
        all.offsets.push(all.values.len() as u64);
    }
    all.validity = strings.iter().any(Option::is_none).then_some(validity);
    all
}

/// A web address like those of a log.
#[must_use]
pub fn url(rng: &mut Rng) -> String {
    const HOSTS: [&str; 6] = [
        "news.example.com",
        "www.example.org",
        "shop.example.ru",
        "m.example.net",
        "maps.example.com",
        "example.io",
    ];
    const PATHS: [&str; 8] =
        ["search", "catalog/item", "users", "articles", "img/photo", "api/v2/list", "tags", "video"];
    const NAMES: [&str; 5] = ["id", "page", "utm_source", "q", "from"];
    let mut url = format!(
        "http{}://{}/{}/{}",
        if rng.below(3) == 0 { "" } else { "s" },
        HOSTS[rng.below(6)],
        PATHS[rng.below(8)],
        rng.below(1_000_000)
    );
    for at in 0..rng.below(4) {
        let value = rng.next_u64() >> (8 * rng.below(8));
        url.push_str(&format!("{}{}={value:x}", if at == 0 { '?' } else { '&' }, NAMES[rng.below(5)]));
    }
    url
}

/// Decodes each string by the rule.
#[must_use]
pub fn by_rule(column: &StringColumn) -> Vec<Result<Option<Vec<u8>>, CodeFault>> {
    let codes = column.codes();
    let string = |(row, pair): (usize, &[u64])| {
        let codes_of = &codes.codes[pair[0] as usize..pair[1] as usize];
        let mut room = vec![0; 8 * codes_of.len()];
        let len = codes.table.decode(codes_of, &mut room)?;
        room.truncate(len);
        Ok((!column.is_null(row as u64)).then_some(room))
    };
    codes.offsets.windows(2).enumerate().map(string).collect()
}

/// Calls every reading function of a column, and compares each result with the rule.
///
/// # Panics
/// If a result differs.
pub fn ask(column: &StringColumn) {
    let want = by_rule(column);
    let codes = column.codes();
    let strings: Option<Vec<Option<Vec<u8>>>> = want.iter().map(|string| string.clone().ok()).collect();
    let mut are_splits = false;
    if let (Some(_), Ok((mut found, len))) = (&strings, splits(codes.table, codes.codes)) {
        found.push(warpath_shared::fsst::Split::new(len, false));
        are_splits = found == codes.splits;
    }
    let decoded = column.decode();
    assert_eq!(decoded.is_ok(), are_splits, "{:?}", decoded.err());
    let all = RowSet::all(column.len());
    match (&strings, &decoded) {
        (Some(strings), Ok(decoded)) => assert_eq!(*decoded, layout(strings, false)),
        _ => assert!(column.check().is_err()),
    }
    match (&strings, column.decode_rows(&all)) {
        (Some(strings), Ok(decoded)) => assert_eq!(decoded, layout(strings, false)),
        (strings, decoded) => assert!(strings.is_none() && decoded.is_err()),
    }
    for (row, want) in (0..).zip(&want) {
        match (want, column.get(row)) {
            (Ok(want), Ok(found)) => assert_eq!(*want, found),
            (want, found) => assert!(want.is_err() && found.is_err()),
        }
        // Wrong splits lead to wrong parts, or to errors. The results are compared only if the splits are
        // right.
        let Ok(len) = column.string_len(row) else {
            assert!(!are_splits);
            continue;
        };
        for range in [0..len, len / 3..len / 2, len..len, len.saturating_sub(1)..len] {
            let found = column.get_range(row, range.clone());
            if are_splits {
                let want = want.as_ref().unwrap().as_ref();
                let want = want.map(|string| &string[range.start as usize..range.end as usize]);
                assert_eq!(found.unwrap().as_deref(), want);
            }
        }
        assert!(column.get_range(row, 0..len + 1).is_err());
    }
    assert!(column.get(column.len()).is_err() && column.get_range(column.len(), 0..0).is_err());
    for pattern in [Pattern::Contains(b"e".to_vec()), Pattern::EndsWith(b"\xff".to_vec())] {
        match (&strings, column.matches(&pattern)) {
            (Some(strings), Ok(found)) => {
                let is =
                    |string: &Option<Vec<u8>>| string.as_ref().is_some_and(|string| pattern.matches(string));
                assert!(strings.iter().zip(0..).all(|(string, row)| found.get(row) == is(string)));
            }
            (strings, found) => assert!(strings.is_none() || found.is_ok()),
        }
    }
    // A copy that is written and read again is equal.
    let again = StringColumn::from_bytes("again", column.to_bytes().unwrap()).unwrap();
    assert_eq!((again.len(), again.nulls(), again.bytes()), (column.len(), column.nulls(), column.bytes()));
    assert_eq!(again.codes().offsets, codes.offsets);
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns a copy of a file with its length and checksums corrected (docs/fsst-file.md), so that the code
/// after the checksum test is reached. `None` if the file has no whole header, or its sizes overflow.
#[must_use]
pub fn repaired(file: &[u8]) -> Option<Vec<u8>> {
    let mut file = file.to_vec();
    let at = |file: &[u8], at: usize| number(&file[at..at + 8]);
    let head = file.get(..128)?;
    let (flags, rows, codes, symbols) = (number(&head[12..16]), at(head, 16), at(head, 32), at(head, 48));
    let width = if flags & 4 != 0 { 8 } else { 4 };
    let sizes = [
        symbols.checked_mul(9)?,
        if flags & 2 != 0 { 8 * rows.div_ceil(64) } else { 0 },
        8 * (codes.div_ceil(2048) + 1),
        rows.checked_add(1)?.checked_mul(width)?,
    ];
    let mut front = 0_u64;
    for size in sizes {
        front = front.checked_add(size)?.checked_next_multiple_of(64)?;
    }
    let blocks = front.div_ceil(1 << 20) + codes.div_ceil(1 << 20);
    let begin = 128_u64.checked_add(8 * blocks)?.checked_next_multiple_of(64)?;
    let len = begin.checked_add(front)?.checked_add(codes)?;
    let file_bytes = file.len() as u64;
    file[56..64].copy_from_slice(&file_bytes.to_le_bytes());
    if len == file.len() as u64 {
        let (begin, front) = (begin as usize, front as usize);
        let (before, behind) = file.split_at_mut(begin);
        let (front, codes) = behind.split_at(front);
        let sums = front.chunks(1 << 20).chain(codes.chunks(1 << 20)).map(xxh3_64);
        let sums: Vec<u8> = sums.flat_map(u64::to_le_bytes).collect();
        before[128..128 + sums.len()].copy_from_slice(&sums);
        before[64..72].copy_from_slice(&xxh3_64(&sums).to_le_bytes());
    }
    let checksum = xxh3_64(&file[..120]);
    file[120..128].copy_from_slice(&checksum.to_le_bytes());
    Some(file)
}

/// The body of the fuzz target `fsst_column`. It opens a file as it is, and with corrected checksums, and
/// returns how many of the two were opened.
///
/// # Panics
/// If an opened file differs from the rule.
pub fn fuzz_one(file: &[u8]) -> usize {
    let mut opened = 0;
    for file in [Some(file.to_vec()), repaired(file)].into_iter().flatten() {
        if let Ok(column) = StringColumn::from_bytes("fuzz", file) {
            ask(&column);
            opened += 1;
        }
    }
    opened
}
