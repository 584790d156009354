//! Records of one length, for measuring how speed depends on it.

use super::random::Random;
use super::text::{Put, put_words};

/// A source of records of a length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    line_bytes: u32,
    next_id: u64,
}

/// No entry of the two lists is longer.
const LONGEST_ENTRY: usize = 200;

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "river", "stone", "of", "the", "light", "seven", "morning", r#"\"quoted\""#, "paper", "left", "under", "bridge", "café",
    "winter", "a", r"back\\slash", "to", "glass", "[brackets]", "{braces}", "garden", "north", "blue", "and", "window",
];

impl Records {
    pub(super) fn new(line_bytes: u32, block: u64) -> Self {
        // A block has less than 16,384 records, as a record has at least 100 bytes.
        Self { line_bytes, next_id: 1_000_000_000 + block * 16_384 }
    }

    /// Appends one record, which with its newline has the configured length:
    ///
    /// ```text
    /// {"id":N,"before":[ENTRY,…],"user":{"name":"…","kind":"…"},"after":[ENTRY,…],"pad":"…"}
    /// ```
    ///
    /// The queried members are in the middle. Short records have empty lists.
    pub(super) fn record(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        let start = out.len();
        let end = start + self.line_bytes as usize - 1;
        self.next_id += 1;
        out.put(r#"{"id":"#);
        out.put_number(self.next_id);
        out.put(r#","before":["#);
        put_entries(random, out, start + (end - start) / 2);
        out.put(r#"],"user":{"name":""#);
        out.put_code(random.bits(), 6);
        out.put(r#"","kind":""#);
        out.put(match random.below(1000) {
            0 => "mythic",
            1..11 => "rare",
            11..111 => "scarce",
            _ => "common",
        });
        out.put(r#""},"after":["#);
        put_entries(random, out, end - 20);
        out.put(r#"],"pad":""#);
        let tail = r#""}"#;
        out.resize(end - tail.len(), b'.');
        out.put(tail);
    }
}

/// Appends entries, as long as one of any length keeps `out` shorter than `end`.
fn put_entries(random: &mut Random, out: &mut Vec<u8>, end: usize) {
    let mut first = true;
    // The name and the kind of the user come after the first list, and need about half an entry.
    while out.len() + 2 * LONGEST_ENTRY < end {
        out.put(if first { r#"{"id":"# } else { r#",{"id":"# });
        first = false;
        out.put_number(u64::from(random.below(1_000_000)));
        out.put(r#","text":""#);
        put_words(out, random, WORDS, 20, 90);
        out.put(r#"","score":"#);
        out.put_money(u64::from(random.below(100_000)));
        out.put(if random.chance(500) { r#","tags":["x","y"]}"# } else { r#","tags":[]}"# });
    }
}
