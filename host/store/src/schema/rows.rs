//! A schema as rows, one for each path.

use std::fmt::Write as _;

use super::json_type::JsonType;
use super::node::{Excerpt, Position, Step};
use super::tree::{SchemaNode, SchemaTree};

/// The schema of one path.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{JsonType, rows};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"x\"}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let rows = rows(&schema.tree, &|position| schema.locate(position));
/// let id = &rows[1];
/// assert_eq!((id.path.as_str(), id.total(), id.count(JsonType::Int64)), ("$.id", 2, 1));
/// assert_eq!((id.example(), id.integers), (Some("1"), Some((1, 1))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaRow {
    /// The path as JSONPath: `$.tags[*]`. The values of a map are `.*`.
    pub path: String,
    /// The number of steps of the path.
    pub depth: usize,
    /// The last step as text, and `$` for the records.
    pub step: String,
    /// The number of values of each kind.
    pub counts: [u64; JsonType::COUNT],
    /// The objects that lack the member.
    pub missing: u64,
    /// The position of the first value of each kind, `name:line`, and its JSON text, in the order of the
    /// inputs.
    pub firsts: Vec<(JsonType, String, String)>,
    /// The estimated number of distinct scalars, and true if it is exact.
    pub distinct: (u64, bool),
    /// The texts of the least and the greatest number.
    pub numbers: Option<(String, String)>,
    /// The least and the greatest string. Long ones are cut, and end in `…`.
    pub strings: Option<(String, String)>,
    /// The least and the greatest number of elements of arrays.
    pub lengths: Option<(u64, u64)>,
    /// True if the objects are maps.
    pub is_map: bool,
    /// Members that an object had before.
    pub repeated: u64,
    /// The least and the greatest integer that an `i64` holds.
    pub integers: Option<(i64, i64)>,
    /// The most digits of an integer beyond `i64`; 0 if there is none.
    pub big_digits: usize,
}

impl SchemaRow {
    /// The number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The number of values of a kind.
    #[must_use]
    pub fn count(&self, kind: JsonType) -> u64 {
        self.counts[kind as usize]
    }

    /// The kinds of the values without `null`, in the order of their first values.
    pub fn kinds(&self) -> impl Iterator<Item = JsonType> {
        self.firsts.iter().map(|(kind, ..)| *kind).filter(|kind| *kind != JsonType::Null)
    }

    /// The JSON text of the first scalar that is not `null`.
    #[must_use]
    pub fn example(&self) -> Option<&str> {
        let scalar = |kind: JsonType| kind != JsonType::Null && !kind.is_container();
        self.firsts.iter().find(|(kind, ..)| scalar(*kind)).map(|(.., text)| text.as_str())
    }
}

/// The rows of a tree: parents before children, members in the order of their first values. `locate` writes a
/// position.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::rows;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"tags\":[\"a\"]}").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let rows = rows(&schema.tree, &|position| schema.locate(position));
/// let paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
/// assert_eq!(paths, ["$", "$.tags", "$.tags[*]"]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn rows(tree: &SchemaTree, locate: &dyn Fn(Position) -> String) -> Vec<SchemaRow> {
    let mut rows = Vec::new();
    // Records nest 1024 levels at most, so that a stack of calls suffices.
    add(tree.root(), "", 0, locate, &mut rows);
    rows
}

fn add(
    node: SchemaNode<'_>,
    parent: &str,
    depth: usize,
    locate: &dyn Fn(Position) -> String,
    rows: &mut Vec<SchemaRow>,
) {
    let step = step_text(node.step());
    let path = format!("{parent}{step}");
    let shown = |text: &Excerpt| text.text() + if text.cut { "…" } else { "" };
    let firsts = node.kinds().into_iter().filter_map(|kind| {
        let first = node.first(kind)?;
        Some((kind, locate(first.position), shown(&first.example)))
    });
    rows.push(SchemaRow {
        path: path.clone(),
        depth,
        step,
        counts: JsonType::ALL.map(|kind| node.count(kind)),
        missing: node.missing(),
        firsts: firsts.collect(),
        distinct: (node.distinct(), node.is_distinct_exact()),
        numbers: node.numbers(),
        strings: node.strings().map(|(least, greatest)| (shown(least), shown(greatest))),
        lengths: node.lengths(),
        is_map: node.values().is_some(),
        repeated: node.repeated(),
        integers: node.integers(),
        big_digits: node.big_digits(),
    });
    for child in node.children() {
        add(child, &path, depth + 1, locate, rows);
    }
}

/// A step as text. Paths of such steps are JSONPath (RFC 9535), and two different paths have different texts.
/// A step of a path as it is written: `.name`, `['a name']`, `[*]`, `.*`, or `$` for the records.
pub fn step_text(step: &Step) -> String {
    match step {
        Step::Root => "$".into(),
        Step::Elements => "[*]".into(),
        Step::Values => ".*".into(),
        Step::Name(name) => named(name),
    }
}

fn named(name: &[u8]) -> String {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || c >= '\u{80}';
    if let Ok(text) = std::str::from_utf8(name)
        && text.starts_with(is_first)
        && text.chars().all(|c| is_first(c) && !c.is_control() || c.is_ascii_digit())
    {
        return format!(".{text}");
    }
    let mut out = String::from("['");
    let mut rest = name;
    while !rest.is_empty() {
        // A surrogate without its partner has the three bytes that UTF-8 would have for it.
        if let [0xed, second @ 0xa0..=0xbf, third, ..] = *rest {
            let unit = 0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
            let _ = write!(out, "\\u{unit:04x}");
            rest = &rest[3..];
            continue;
        }
        let surrogate = rest.windows(2).position(|pair| pair[0] == 0xed && (0xa0..=0xbf).contains(&pair[1]));
        let (plain, after) = rest.split_at(surrogate.filter(|at| *at > 0).unwrap_or(rest.len()));
        for c in String::from_utf8_lossy(plain).chars() {
            // Writing to a string cannot fail.
            let _ = match c {
                '\'' => out.write_str("\\'"),
                '\\' => out.write_str("\\\\"),
                '\n' => out.write_str("\\n"),
                '\r' => out.write_str("\\r"),
                '\t' => out.write_str("\\t"),
                c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)),
                c => out.write_char(c),
            };
        }
        rest = after;
    }
    out + "']"
}

/// A row as one line of NDJSON, without its line feed. The first members are always `path` and `count`.
#[must_use]
pub fn ndjson(row: &SchemaRow) -> String {
    let quoted = warpath_core::json::encode;
    let mut out = format!("{{\"path\":{},\"count\":{}", quoted(&row.path), row.total());
    let _ = write!(out, ",\"depth\":{}", row.depth);
    let _ = write!(out, ",\"missing\":{}", row.missing);
    let mut object = |name: &str, members: Vec<(JsonType, String)>| {
        let members: Vec<String> =
            members.iter().map(|(kind, value)| format!("\"{}\":{value}", kind.name())).collect();
        let _ = write!(out, ",\"{name}\":{{{}}}", members.join(","));
    };
    let firsts = || row.firsts.iter();
    object("types", firsts().map(|(kind, ..)| (*kind, row.count(*kind).to_string())).collect());
    object("first", firsts().map(|(kind, at, _)| (*kind, quoted(at))).collect());
    if row.kinds().any(|kind| !kind.is_container()) {
        let _ = write!(out, ",\"distinct\":{},\"distinct_exact\":{}", row.distinct.0, row.distinct.1);
    }
    if let Some((least, greatest)) = &row.numbers {
        let _ = write!(out, ",\"least\":{least},\"greatest\":{greatest}");
    }
    if let Some((least, greatest)) = &row.strings {
        let _ = write!(out, ",\"least_string\":{},\"greatest_string\":{}", quoted(least), quoted(greatest));
    }
    if let Some((least, greatest)) = row.lengths {
        let _ = write!(out, ",\"least_length\":{least},\"greatest_length\":{greatest}");
    }
    if let Some(example) = row.example() {
        let _ = write!(out, ",\"example\":{}", quoted(example));
    }
    if let (Some((least, greatest)), true) = (row.integers, row.count(JsonType::Float64) > 0) {
        // The least and the greatest number may be floats.
        let _ = write!(out, ",\"least_integer\":{least},\"greatest_integer\":{greatest}");
    }
    if row.big_digits > 0 {
        let _ = write!(out, ",\"digits\":{}", row.big_digits);
    }
    if row.is_map {
        out.push_str(",\"map\":true");
    }
    if row.repeated > 0 {
        let _ = write!(out, ",\"repeated\":{}", row.repeated);
    }
    out + "}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_jsonpath() {
        for (name, text) in [
            (&b"user"[..], ".user"),
            ("größe_2".as_bytes(), ".größe_2"),
            (b"2nd", "['2nd']"),
            (b"$type", "['$type']"),
            (b"*", "['*']"),
            (b"", "['']"),
            (b"it's\\\n\0", "['it\\'s\\\\\\n\\u0000']"),
            (b"a\xed\xa0\x80\xed\xbf\xbfz", "['a\\ud800\\udfffz']"),
            ("\u{d7ff}x y".as_bytes(), "['\u{d7ff}x y']"),
            (b"\xff", "['\u{fffd}']"),
        ] {
            assert_eq!(named(name), text);
        }
    }
}
