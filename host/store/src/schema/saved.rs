//! The tree of rows that were saved.

use super::json_type::{JsonType, StringForm};
use super::node::{Excerpt, First, NodeId, Number, Position, ROOT};
use super::rows::SchemaRow;
use super::tree::SchemaTree;

impl SchemaTree {
    /// Makes a tree of its rows. It has what the types of columns depend on: paths, kinds and their counts,
    /// maps, and the ranges of numbers. Examples, estimates and strings are not restored. A value is at the
    /// line that is the number of its row.
    ///
    /// # Errors
    /// The number of the first row, from 0 on, that is not below an earlier row.
    pub fn of_rows(rows: &[SchemaRow]) -> Result<Self, usize> {
        let mut tree = Self::default();
        // The nodes and the paths from the root to the last row.
        let mut above: Vec<(NodeId, &str)> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let id = if at == 0 && row.path == "$" && row.depth == 0 {
                ROOT
            } else {
                if row.depth == 0 || row.depth > above.len() {
                    return Err(at);
                }
                above.truncate(row.depth);
                let (parent, path) = above[row.depth - 1];
                let step = row.path.strip_prefix(path).ok_or(at)?;
                match step {
                    "[*]" => tree.elements(parent),
                    ".*" => tree.values(parent),
                    step => tree.member(parent, &name(step).ok_or(at)?),
                }
            };
            tree.fill(id, at as u64, row);
            above.push((id, &row.path));
        }
        tree.settle();
        Ok(tree)
    }

    fn fill(&mut self, id: NodeId, line: u64, row: &SchemaRow) {
        let node = &mut self.nodes[id as usize];
        for (offset, (kind, ..)) in row.firsts.iter().enumerate() {
            let (stored, form) = match kind {
                JsonType::Time => (JsonType::String, StringForm::Time),
                JsonType::Date => (JsonType::String, StringForm::Date),
                JsonType::String => (JsonType::String, StringForm::Any),
                other => (*other, StringForm::None),
            };
            node.counts[stored as usize] += row.count(*kind);
            node.form = node.form.join(form);
            let position = Position { text: 0, line, offset: offset as u64 };
            node.rare.firsts.push((stored, First { position, example: Excerpt::default() }));
        }
        node.repeated = row.repeated;
        if let Some(integers) = row.integers {
            node.integers = integers;
        }
        node.rare.big_digits = row.big_digits;
        if row.count(JsonType::Float64) > 0
            && let Some((least, greatest)) = &row.numbers
        {
            // All numbers are between these. A float that no double holds is the least or the greatest one.
            let number = |text: &str| Some(Number::of(text.as_bytes(), text.parse().ok()?));
            node.rare.floats = number(least).zip(number(greatest));
        }
    }
}

/// The name in a step: `.name` or `['name']`. `None` if the step is no name.
fn name(step: &str) -> Option<Vec<u8>> {
    let Some(quoted) = step.strip_prefix("['") else {
        return step.strip_prefix('.').map(|name| name.as_bytes().to_vec());
    };
    let mut rest = quoted.strip_suffix("']")?;
    let mut out = Vec::new();
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let (unit, len) = match rest.as_bytes().first()? {
            b'n' => (u32::from(b'\n'), 1),
            b'r' => (u32::from(b'\r'), 1),
            b't' => (u32::from(b'\t'), 1),
            b'u' => (u32::from_str_radix(rest.get(1..5)?, 16).ok()?, 5),
            other @ (b'\'' | b'\\') => (u32::from(*other), 1),
            _ => return None,
        };
        rest = &rest[len..];
        match char::from_u32(unit) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            // A surrogate without its partner has the three bytes that UTF-8 would have for it.
            None => out.extend([0xed, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::rows::rows;
    use super::super::walk::{WalkOptions, Walker};
    use super::*;

    #[test]
    fn rows_become_a_tree_with_the_same_rows() {
        let text = r#"{"a":1,"b":{"x y":[1.5,2],"it's\\":null,"\ud800z\n":[[]]},"d":"2026-01-31","*":{"":0}}
{"a":123456789012345678901,"b":7,"t":"2026-01-31T00:00:00Z","d":"2026-02-01","m":true}"#;
        let mut tree = SchemaTree::default();
        let options = WalkOptions { text: 0, most_records: u64::MAX, skips: false, without: &[] };
        assert_eq!(Walker::default().walk(&mut tree, text.as_bytes(), options).records, 2);
        let facts = |tree: &SchemaTree| -> Vec<_> {
            let all = rows(tree, &|_| String::new()).into_iter();
            let fact = |row: SchemaRow| {
                let kinds: Vec<JsonType> = row.firsts.iter().map(|(kind, ..)| *kind).collect();
                (row.path, row.counts, row.missing, kinds, row.integers, row.big_digits, row.is_map)
            };
            all.map(fact).collect()
        };
        let saved = rows(&tree, &|_| String::new());
        let again = SchemaTree::of_rows(&saved).unwrap();
        assert_eq!(facts(&again), facts(&tree));
        assert_eq!(SchemaTree::of_rows(&saved[1..]).unwrap_err(), 0);
    }
}
