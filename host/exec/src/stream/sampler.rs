//! Some records of an input, which workers copy while they read it. The caller looks at these after the run.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpath_lang::jsonpath::{self, SelectorKind};

/// A bound on the bytes that the workers of a run copy.
#[derive(Debug)]
pub struct Sampler {
    left: AtomicUsize,
}

impl Sampler {
    /// A bound in bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { left: AtomicUsize::new(bytes) }
    }

    /// Returns true if all records that were read were copied.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Copies the first lines of a text, as far as the bound allows.
    #[must_use]
    pub fn copy(&self, text: &[u8]) -> Vec<u8> {
        self.copy_of(text.len(), |most| {
            let end = match text.len() <= most {
                true => text.len(),
                false => memchr::memrchr(b'\n', &text[..most]).map_or(0, |newline| newline + 1),
            };
            text[..end].to_vec()
        })
    }

    /// Copies the first lines of a text of `len` bytes, as far as the bound allows. `first` gives lines of at
    /// most that many bytes.
    pub(super) fn copy_of(&self, len: usize, first: impl FnOnce(usize) -> Vec<u8>) -> Vec<u8> {
        let rest = |left: usize| Some(left.saturating_sub(len));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).unwrap_or(0);
        if left == 0 { Vec::new() } else { first(left) }
    }
}

/// Makes documents of the elements of an array, one on each line. `array` is its normalised path.
pub(super) fn within(array: &str, elements: &[u8]) -> Vec<u8> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for segment in jsonpath::parse(array).map_or_else(|_| Vec::new(), |query| query.segments) {
        if let Some(SelectorKind::Name(name)) = segment.selectors.first().map(|selector| &selector.kind) {
            before.extend_from_slice(format!("{{{}:", warpath_core::json::encode(name)).as_bytes());
            after.push(b'}');
        } else {
            before.push(b'[');
            after.push(b']');
        }
    }
    before.push(b'[');
    after.push(b']');
    after.reverse();
    let mut lines = Vec::new();
    for element in elements.split(|byte| *byte == b'\n').filter(|element| !element.is_empty()) {
        for part in [&before, element, &after, b"\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_copied_up_to_the_bound() {
        let sampler = Sampler::new(10);
        assert_eq!(sampler.copy(b"{}\n[]\n"), b"{}\n[]\n");
        assert!(sampler.has_all());
        assert_eq!(sampler.copy(b"1\n[1,2]\n"), b"1\n");
        assert!(!sampler.has_all());
        assert_eq!(sampler.copy(b"{}\n"), b"");
    }

    #[test]
    fn elements_become_documents() {
        assert_eq!(within("$", b"1\n2\n"), b"[1]\n[2]\n");
        assert_eq!(within("$['a'][3]['\"']", b"{}"), b"{\"a\":[{\"\\\"\":[{}]}]}\n");
    }
}
