//! Tables of cases: data files beside the tests that read them.
//!
//! ```text
//! == paths ==
//! # A comment.
//! $.a<TAB>1
//! $.b‹0a›<TAB>2
//! ```
//!
//! A heading begins a section. Each other line is a row, and tabs separate its fields. `‹0a ff›` is bytes in
//! hexadecimal digits, and `‹›` no bytes. Empty lines are ignored.

/// The rows of a section. Fields that are missing at the end of a row are empty.
///
/// # Panics
/// If the section is missing or has no rows, if a row has more than `N` fields, or if bytes are not
/// hexadecimal.
#[must_use]
pub fn rows<const N: usize>(table: &str, section: &str) -> Vec<[Vec<u8>; N]> {
    let heading = format!("== {section} ==");
    let lines = table.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("== "));
    let rows: Vec<_> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(fields).collect();
    assert!(!rows.is_empty(), "no rows of a section {section}");
    rows
}

/// The rows of a section whose fields are texts.
///
/// # Panics
/// For the reasons of [`rows`], and if a field is not UTF-8.
#[must_use]
pub fn texts<const N: usize>(table: &str, section: &str) -> Vec<[String; N]> {
    let text = |field| String::from_utf8(field).expect("a text");
    rows(table, section).into_iter().map(|row| row.map(text)).collect()
}

fn fields<const N: usize>(line: &str) -> [Vec<u8>; N] {
    let fields: Vec<&str> = line.split('\t').collect();
    assert!(fields.len() <= N, "more than {N} fields: {line}");
    std::array::from_fn(|at| fields.get(at).map(|field| bytes(field)).unwrap_or_default())
}

fn bytes(field: &str) -> Vec<u8> {
    let mut parts = field.split('‹');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_once('›').expect("`›` after `‹`");
        let byte = |digits| u8::from_str_radix(digits, 16).expect("two hexadecimal digits");
        bytes.extend(digits.split_whitespace().map(byte));
        bytes.extend(rest.bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_rows_of_fields() {
        let table = "== a ==\nx\n\n== b ==\n# none\ny\t‹0a ff›z‹20›\n‹›\n\t2\n== c ==\nw\n";
        assert_eq!(rows(table, "a"), [[b"x"]]);
        assert_eq!(rows(table, "b"), [[&b"y"[..], b"\n\xffz "], [b"", b""], [b"", b"2"]]);
        assert_eq!(texts(table, "c"), [["w", ""]]);
    }
}
