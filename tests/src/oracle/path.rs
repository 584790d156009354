//! Normalised paths (RFC 9535 section 2.7).

use super::json::{Content, Value};

/// Returns the normalised path of a node of the tree under `root`. The node is found by its byte range, so
/// the query that selected it does not matter.
///
/// Members of a repeated name have the same path, which as a query selects the first of them. A name that is
/// not Unicode cannot be written exactly. A lone surrogate is shown as U+FFFD, as in decoded output, and so
/// are bytes that are not UTF-8.
///
/// # Panics
/// If the node is not in that tree.
pub fn normalised(root: &Value, node: &Value) -> String {
    let mut path = String::from("$");
    let mut at = root;
    while (at.start, at.end) != (node.start, node.end) {
        let holds_it = |child: &Value| child.start <= node.start && node.end <= child.end;
        at = match &at.kind {
            Content::Array(elements) => {
                let index = elements.iter().position(holds_it).expect("a node of this tree");
                path.push_str(&format!("[{index}]"));
                &elements[index]
            }
            Content::Object(members) => {
                let found = members.iter().find(|(_, value)| holds_it(value));
                let (name, value) = found.expect("a node of this tree");
                path.push_str(&format!("['{}']", escaped(name)));
                value
            }
            _ => panic!("not a node of this tree"),
        };
    }
    path
}

/// `*normal-single-quoted` of the grammar.
fn escaped(name: &[u8]) -> String {
    let mut out = String::new();
    for c in unicode(name).chars() {
        match c {
            '\u{8}' => out.push_str(r"\b"),
            '\t' => out.push_str(r"\t"),
            '\n' => out.push_str(r"\n"),
            '\u{c}' => out.push_str(r"\f"),
            '\r' => out.push_str(r"\r"),
            '\'' => out.push_str(r"\'"),
            '\\' => out.push_str(r"\\"),
            '\0'..'\u{20}' => out.push_str(&format!(r"\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A decoded name with U+FFFD in place of bytes that are not Unicode, one for each surrogate.
fn unicode(name: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some((byte, behind)) = rest.split_first() {
        if let [0xed, 0xa0..=0xbf, 0x80..=0xbf, behind @ ..] = rest {
            bytes.extend_from_slice("\u{fffd}".as_bytes());
            rest = behind;
        } else {
            bytes.push(*byte);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
