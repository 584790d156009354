//! The code that both programs share: it deals files to cores, and cuts them into lines.

/// Bytes of whole lines that a core is dealt at once: in its cache, and long beside what dealing costs.
const STRETCH_BYTES: usize = 1 << 20;

/// `text` cut after newlines into stretches of about [`STRETCH_BYTES`].
#[must_use]
pub fn stretches(mut text: &[u8]) -> Vec<&[u8]> {
    let mut stretches = Vec::new();
    while text.len() > STRETCH_BYTES {
        let tail = &text[STRETCH_BYTES..];
        let Some(newline) = memchr::memchr(b'\n', tail) else { break };
        let (stretch, rest) = text.split_at(STRETCH_BYTES + newline + 1);
        stretches.push(stretch);
        text = rest;
    }
    stretches.push(text);
    stretches
}

/// The lines of a stretch that are not empty, without their newlines.
pub fn lines(stretch: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr::memchr_iter(b'\n', stretch).chain([stretch.len()]);
    let lines = ends.scan(0, move |start, end| Some(&stretch[std::mem::replace(start, end + 1)..end]));
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_whole_lines_and_lose_nothing() {
        let text = b"{\"a\":1}\n".repeat(500_000);
        let stretches = stretches(&text);
        assert!(stretches.len() > 2);
        assert!(stretches.iter().all(|stretch| stretch.is_empty() || stretch.ends_with(b"\n")));
        assert_eq!(stretches.concat(), text);
    }

    #[test]
    fn lines_are_those_that_hold_anything() {
        for (stretch, want) in
            [("", &[][..]), ("\n", &[]), ("a", &["a"]), ("a\n\nbc\n", &["a", "bc"]), ("\na\nb", &["a", "b"])]
        {
            let found: Vec<&str> =
                lines(stretch.as_bytes()).map(|line| str::from_utf8(line).unwrap()).collect();
            assert_eq!(found, want, "{stretch:?}");
        }
    }
}
