//! Words as a shell reads them.

/// Returns a word as a shell reads it: in quotes, unless it has only characters without a meaning there.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a-b.ndjson"), "a-b.ndjson");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$.a == 'x'"), r"'$.a == '\''x'\'''");
    }
}
