//! Text to JSON strings.

/// `text` as a JSON string, with its quotes.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use warpath::answer::text::{decode, is_string};

    use super::*;

    #[test]
    fn encoding_is_undone_by_decoding() {
        let all: String = ('\0'..='\u{ff}').chain("☺😀\u{fffd}".chars()).collect();
        let json = encode(&all);
        assert!(json.bytes().all(|byte| byte >= b' '));
        assert!(is_string(json.as_bytes()));
        let mut decoded = Vec::new();
        decode(json.as_bytes(), &mut decoded);
        assert_eq!(decoded, all.as_bytes());
    }
}
