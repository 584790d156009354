//! Braces in patterns of names: `{a,b}`.

/// The most patterns that the braces of one pattern may stand for.
const MOST_PATTERNS: usize = 4096;

/// Returns the patterns that a pattern with braces means. Braces without a comma stand for themselves,
/// and so do those within `[]`.
///
/// ```
/// use warpath_core::braces::expanded;
///
/// assert_eq!(expanded("logs/{a,b}.json"), Ok(vec!["logs/a.json".to_owned(), "logs/b.json".to_owned()]));
/// ```
///
/// # Errors
/// If there are more than 4096 of them.
pub fn expanded(pattern: &str) -> Result<Vec<String>, &'static str> {
    let mut patterns = Vec::new();
    expand(String::new(), pattern, &mut patterns);
    if patterns.len() > MOST_PATTERNS {
        return Err("the braces of this pattern stand for more than 4096 patterns");
    }
    Ok(patterns)
}

/// Adds the patterns that a pattern with braces means, each after `before`. Braces without a comma stand
/// for themselves, and so do those within `[]`. Stops after more than [`MOST_PATTERNS`].
fn expand(before: String, pattern: &str, patterns: &mut Vec<String>) {
    if patterns.len() > MOST_PATTERNS {
        return;
    }
    let Some((start, end, commas)) = braces(pattern) else {
        patterns.push(before + pattern);
        return;
    };
    let ends = commas.iter().copied().chain([end]);
    let mut from = start + 1;
    for to in ends {
        // An alternative may have braces of its own.
        let rest = format!("{}{}", &pattern[from..to], &pattern[end + 1..]);
        expand(format!("{before}{}", &pattern[..start]), &rest, patterns);
        from = to + 1;
    }
}

/// The offsets of the first pair of braces with a comma, and of its commas.
fn braces(pattern: &str) -> Option<(usize, usize, Vec<usize>)> {
    let bytes = pattern.as_bytes();
    let mut from = 0;
    'pairs: while let Some(start) = next_brace(bytes, from) {
        let (mut depth, mut commas) = (0, Vec::new());
        for (at, byte) in bytes.iter().enumerate().skip(start) {
            match byte {
                b'{' => depth += 1,
                b',' if depth == 1 => commas.push(at),
                b'}' if depth == 1 && !commas.is_empty() => return Some((start, at, commas)),
                b'}' if depth == 1 => {
                    from = start + 1;
                    continue 'pairs;
                }
                b'}' => depth -= 1,
                _ => {}
            }
        }
        from = start + 1;
    }
    None
}

/// The next opening brace that is not in brackets.
fn next_brace(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => return Some(at),
            b'[' => match bytes[at + 1..].iter().position(|byte| *byte == b']') {
                Some(len) => at += len + 2,
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_each_of_their_patterns() {
        for (pattern, want) in [
            ("a", &["a"][..]),
            ("{a,b}", &["a", "b"]),
            ("x{a,b}y{1,2}", &["xay1", "xay2", "xby1", "xby2"]),
            ("{a,{b,c}d}", &["a", "bd", "cd"]),
            ("{a,}b", &["ab", "b"]),
            ("{a}", &["{a}"]),
            ("{a}{b,c}", &["{a}b", "{a}c"]),
            ("{a{b,c}}", &["{ab}", "{ac}"]),
            ("{a,b", &["{a,b"]),
            ("[{a,b}]", &["[{a,b}]"]),
            ("é{☺,b}", &["é☺", "éb"]),
        ] {
            let mut patterns = Vec::new();
            expand(String::new(), pattern, &mut patterns);
            assert_eq!(patterns, want, "{pattern}");
        }
        let mut patterns = Vec::new();
        expand(String::new(), &"{a,b}".repeat(40), &mut patterns);
        assert!(patterns.len() > MOST_PATTERNS && patterns.len() < 2 * MOST_PATTERNS);
    }
}
