//! Checks columns of compressed strings against the rule, string by string, for codes of any bytes.

use warpath::bitmap::RowSet;
use warpath_store::fsst::{Pattern, Split, StringColumn, StringKind, Strings, Table, splits};

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
///
/// # Panics
/// If a string has invalid codes, which no column has.
#[must_use]
pub fn by_rule(column: &StringColumn) -> Vec<Option<Vec<u8>>> {
    let codes = column.codes();
    let string = |(row, pair): (usize, &[u64])| {
        let codes_of = &codes.codes[pair[0] as usize..pair[1] as usize];
        let mut room = vec![0; 8 * codes_of.len()];
        let len = codes.table.decode(codes_of, &mut room).expect("valid codes");
        room.truncate(len);
        (!column.is_null(row as u64)).then_some(room)
    };
    codes.offsets.windows(2).enumerate().map(string).collect()
}

/// Calls every reading function of a column, and compares each result with the rule.
///
/// # Panics
/// If a result differs.
pub fn ask(column: &StringColumn) {
    let strings = by_rule(column);
    let codes = column.codes();
    let (mut found, len) = splits(codes.table, codes.codes).expect("valid codes");
    found.push(Split::new(len, false));
    assert_eq!(found, codes.splits);
    assert_eq!(column.decode().unwrap(), layout(&strings, false));
    assert_eq!(column.decode_rows(&RowSet::all(column.len())).unwrap(), layout(&strings, false));
    for (row, want) in (0..).zip(&strings) {
        assert_eq!(column.get(row).unwrap(), *want);
        let len = column.string_len(row).unwrap();
        assert_eq!(len, want.as_ref().map_or(0, Vec::len) as u64);
        for range in [0..len, len / 3..len / 2, len..len, len.saturating_sub(1)..len] {
            let want = want.as_ref().map(|string| &string[range.start as usize..range.end as usize]);
            assert_eq!(column.get_range(row, range).unwrap().as_deref(), want);
        }
        assert!(column.get_range(row, 0..len + 1).is_err());
    }
    assert!(column.get(column.len()).is_err() && column.get_range(column.len(), 0..0).is_err());
    let is_text = strings.iter().flatten().all(|string| std::str::from_utf8(string).is_ok());
    assert_eq!(column.check().is_ok(), column.kind() == StringKind::Binary || is_text);
    for pattern in [Pattern::Contains(b"e".to_vec()), Pattern::EndsWith(b"\xff".to_vec())] {
        let found = column.matches(&pattern).unwrap();
        let is = |string: &Option<Vec<u8>>| string.as_ref().is_some_and(|string| pattern.matches(string));
        assert!(strings.iter().zip(0..).all(|(string, row)| found.get(row) == is(string)));
    }
}

/// The first bytes of a list, which are removed from it.
fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (head, tail) = rest.split_at(count.min(rest.len()));
    *rest = tail;
    head
}

/// The body of the fuzz target `fsst_column`. It takes any bytes as a table, lengths of strings in codes,
/// nulls and codes, and returns true if these are a column.
///
/// # Panics
/// If the column differs from the rule.
pub fn fuzz_one(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let [symbols, rows, flags] = *take(&mut rest, 3) else { return false };
    let (words, lens): (Vec<u64>, Vec<u8>) = take(&mut rest, 9 * usize::from(symbols % 32))
        .chunks_exact(9)
        .map(|symbol| (symbol[1..].iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), symbol[0]))
        .unzip();
    let Ok(table) = Table::new(&words, &lens) else { return false };
    let rows = usize::from(rows);
    let lens = take(&mut rest, rows);
    let validity = (flags & 1 != 0).then(|| {
        let nulls = take(&mut rest, 8 * rows.div_ceil(64));
        nulls.chunks(8).map(|word| word.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))).collect()
    });
    let mut offsets = vec![0];
    let mut end = 0;
    for len in lens {
        end += u64::from(*len);
        offsets.push(end);
    }
    if flags & 2 != 0 {
        // The last string has all codes that are left.
        offsets.push(rest.len() as u64);
    }
    let kind = if flags & 4 != 0 { StringKind::Utf8 } else { StringKind::Binary };
    let column = StringColumn::from_codes(kind, &table, rest.to_vec(), offsets, validity);
    column.is_ok_and(|column| {
        ask(&column);
        true
    })
}
