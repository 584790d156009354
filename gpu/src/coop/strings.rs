//! A warp reads one string: its lanes take 32 neighbouring bytes at once.
//!
//! Escapes depend on the bytes before them. A ballot makes a mask of the backslashes of 32 bytes, and
//! arithmetic on the mask finds the first byte of each escape ([`starts`]). Each lane that has such a byte
//! then reads its escape by itself ([`column::said_at`]).
//!
//! ```text
//! text     c a f \ u 0 0 e 9 \ \ n        a lane a byte
//! starts   . . . 1 . . . . . 1 . .        from the ballot of backslashes
//! inner    . . . . 1 1 1 1 1 . 1 .        bytes of an escape after its first
//! length   1 1 1 2 0 0 0 0 0 1 0 1        decoded bytes of each lane
//! before   0 1 2 3 5 5 5 5 5 5 6 6        their sums, from ballots of the bits of the lengths
//! ```
//!
//! A warp decodes each string with escapes. It measures values only where they are long, or JSON: other
//! strings are measured by one thread each, 32 at once ([`measure_alone`]). Kernels over 12 MiB of tweets,
//! the column `$.text`, H100, 2026-11-25:
//!
//! | | measured | decoded |
//! |---|---|---|
//! | one thread a string | 0.187 ms | 0.188 ms |
//! | one warp a string; measured one after the other by the warp of 32 rows | 0.313 ms | 0.042 ms |
//!
//! For `$` as JSON, of 4,700 bytes a record, the warp takes 0.270 ms, and one thread a record 0.611 ms.

use cuda_std::warp::{warp_reduce_add, warp_vote_any, warp_vote_ballot};
use cuda_std::wide::{U32x4, load_readonly_8, load_readonly_16};
use warpath_shared::column::{self, PLAIN_BYTES, Said};
use warpath_shared::index::escape::starts;
use warpath_shared::units::PartOffset;
use warpath_shared::view::{View, ViewMut};

use super::LANES;
use super::warp::ALL;

/// A string, or another value, that the lanes of a warp read together. All lanes have the same one.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// The text of a partition: 16-byte aligned, whole vectors.
    pub text: View<'a, u8>,
    /// The first byte; for strings, after the quote.
    pub start: PartOffset,
    /// The end; for strings, the quote. It is after `start` where lanes read together.
    pub end: PartOffset,
    /// True if the value is a string. Other values have no escapes.
    pub in_string: bool,
    /// True if malformed bytes are left as they are.
    pub lenient: bool,
}

impl Value<'_> {
    /// The quote and the backslash; for a value that is not a string, two numbers that are no bytes.
    #[inline(always)]
    fn marks(&self) -> (u32, u32) {
        const NO_BYTE: u32 = 0x100;
        if self.in_string { (b'"' as u32, b'\\' as u32) } else { (NO_BYTE, NO_BYTE) }
    }
}

/// Returns a byte of the text.
#[inline(always)]
pub fn reader(text: View<'_, u8>) -> impl Fn(PartOffset) -> u8 + Copy {
    // SAFETY: the offset is checked, and no kernel that reads a text writes to it.
    move |at| unsafe { load_readonly_8(text.at(at as usize, 1)) }
}

/// Returns 16 bytes of the text, from a multiple of 16 on.
#[inline(always)]
fn vector(text: View<'_, u8>, at: PartOffset) -> [u32; 4] {
    // SAFETY: the offset is checked, texts are 16-byte aligned, and no kernel that reads a text writes to it.
    let U32x4(words) = unsafe { load_readonly_16(text.at(at as usize, PLAIN_BYTES as usize).cast()) };
    words
}

/// Returns whether four words are plain.
#[inline(always)]
fn are_plain([a, b, c, d]: [u32; 4], in_string: bool) -> bool {
    let is_plain = |word| column::is_plain(word, in_string);
    is_plain(a) && is_plain(b) && is_plain(c) && is_plain(d)
}

/// Returns whether all bytes of a value are plain, for one thread. It looks at no more than 128 bytes: a
/// longer value is not plain.
#[inline(always)]
pub fn is_plain(value: Value<'_>) -> bool {
    let Value { text, start, end, in_string, .. } = value;
    if end - start > 8 * PLAIN_BYTES {
        return false;
    }
    let mut at = start / PLAIN_BYTES * PLAIN_BYTES;
    while at < end {
        let mut words = vector(text, at);
        if at < start || at + PLAIN_BYTES > end {
            let mut word = 0;
            while word < 4 {
                words[word] = column::within(words[word], at + 4 * word as PartOffset, start, end);
                word += 1;
            }
        }
        if !are_plain(words, in_string) {
            return false;
        }
        at += PLAIN_BYTES;
    }
    true
}

/// The longest string that one thread measures. Its warp waits for it.
pub const LONGEST_ALONE: PartOffset = 1024;

/// Returns the length of a decoded string, measured by one thread; `None` if it is malformed.
#[inline(always)]
pub fn measure_alone(value: Value<'_>) -> Option<u32> {
    let Value { text, start, end, lenient, .. } = value;
    let plain = |at| are_plain(vector(text, at), true);
    column::said_len(start, end, reader(text), plain, lenient)
}

/// The state between two chunks of 32 bytes.
struct Chunks<'a> {
    value: Value<'a>,
    lane: u32,
    /// The first byte of the next chunk, a multiple of 32.
    at: PartOffset,
    /// True if the last chunk's last byte begins an escape.
    pending: bool,
    /// The first bytes of escapes in the last chunk.
    before: u32,
}

/// The byte of one lane of a chunk, and the escapes of the chunk.
struct Chunk {
    /// The offset of the byte.
    at: PartOffset,
    /// True if the byte is in the value.
    inside: bool,
    byte: u8,
    backslashes: u32,
    /// The first bytes of escapes.
    starts: u32,
    /// The second bytes of escapes.
    escaped: u32,
    /// The first bytes of escapes in the last chunk.
    before: u32,
}

impl<'a> Chunks<'a> {
    #[inline(always)]
    fn new(value: Value<'a>, lane: u32) -> Self {
        Self { value, lane, at: value.start / LANES * LANES, pending: false, before: 0 }
    }

    /// Reads the next chunk.
    ///
    /// # Safety
    /// All 32 lanes call it together.
    #[inline(always)]
    unsafe fn next(&mut self) -> Chunk {
        let Value { text, start, end, .. } = self.value;
        let at = self.at + self.lane;
        let inside = at >= start && at < end;
        // A byte outside the value is taken for a space, which begins nothing. Each lane loads a byte: with a
        // branch around the load, the compiler would copy the votes below into both arms.
        let loaded = reader(text)(at.max(start).min(end - 1));
        let byte = if inside { loaded } else { b' ' };
        let (_, backslash) = self.value.marks();
        // SAFETY: the caller's contract: all 32 lanes call this function together.
        let backslashes = unsafe { warp_vote_ballot(ALL, byte as u32 == backslash) };
        let (carry, before) = (self.pending as u32, self.before);
        let starts = starts(backslashes, &mut self.pending);
        self.before = starts;
        self.at += LANES;
        Chunk { at, inside, byte, backslashes, starts, escaped: starts << 1 | carry, before }
    }

    /// Passes over pairs of plain vectors, of which each lane takes one.
    ///
    /// # Safety
    /// All 32 lanes call it together.
    #[inline(always)]
    unsafe fn pass_plain(&mut self) {
        let Value { text, end, in_string, .. } = self.value;
        loop {
            let at = self.at + PLAIN_BYTES * self.lane;
            let plain = at + PLAIN_BYTES <= end && are_plain(vector(text, at), in_string);
            // SAFETY: the caller's contract, and the loop ends in all lanes together, because each has the
            // same ballot.
            let passed = unsafe { warp_vote_ballot(ALL, plain) }.trailing_ones() / 2;
            if passed == 0 {
                return;
            }
            self.at += passed * 2 * PLAIN_BYTES;
            (self.pending, self.before) = (false, 0);
            if passed < LANES / 2 {
                return;
            }
        }
    }
}

impl Chunk {
    /// Returns whether this lane's byte begins an escape.
    #[inline(always)]
    fn is_start(&self, lane: u32) -> bool {
        self.starts >> lane & 1 == 1
    }

    /// Decodes the escape that this lane's byte begins.
    #[inline(always)]
    fn said(&self, value: &Value<'_>, lane: u32) -> Option<Said> {
        let all = (self.starts as u64) << LANES | self.before as u64;
        let follows = all >> (lane + LANES - column::LONGEST_ESCAPE) & 1 == 1;
        column::said_at(self.at, value.end, reader(value.text), value.lenient, follows)
    }
}

/// Returns the length of a decoded value; `None` if it is malformed.
///
/// # Safety
/// All 32 lanes of a warp call it together, with the same value.
#[inline(always)]
pub unsafe fn measure(value: Value<'_>, lane: u32) -> Option<u32> {
    let Value { end, lenient, .. } = value;
    let (quote, _) = value.marks();
    let mut chunks = Chunks::new(value, lane);
    // The bytes that escapes add, modulo 2³², and the continuation bytes that lead bytes promise.
    let (mut more, mut promised) = (0u32, 0u32);
    // There is one vote about malformed bytes, at the end. The compiler would copy a vote in each round into
    // the branches before it, and lanes of different branches would wait for each other.
    let mut malformed = false;
    while chunks.at < end {
        // SAFETY: the caller's contract, and the loop has as many rounds in each lane.
        let chunk = unsafe { chunks.next() };
        // SAFETY: as above.
        let (quotes, beyond_ascii) = unsafe {
            (warp_vote_ballot(ALL, chunk.byte as u32 == quote), warp_vote_ballot(ALL, chunk.byte >= 0x80))
        };
        // The branches below look at the ballots and not at the byte. The compiler therefore cannot copy a
        // ballot into them.
        let is_in = |ballot: u32| ballot >> lane & 1 == 1;
        if chunk.backslashes | quotes | beyond_ascii == 0 {
            // SAFETY: as above; the ballots are the same in each lane.
            unsafe { chunks.pass_plain() };
        } else if chunk.is_start(lane) {
            match chunk.said(&value, lane) {
                Some(said) => {
                    let width = (said.next - chunk.at).min(column::LONGEST_ESCAPE);
                    more = more.wrapping_add(said.len).wrapping_sub(width);
                }
                None => malformed = true,
            }
        } else if !lenient && is_in(quotes) {
            malformed |= !is_in(chunk.escaped);
        } else if !lenient && is_in(beyond_ascii) {
            match column::utf8_promise(chunk.at, end, reader(value.text)) {
                Some(promise) => promised = promised.wrapping_add(promise),
                None => malformed = true,
            }
        }
    }
    // SAFETY: as above: the loop ends in all lanes together, and no lane has returned.
    let (malformed, more, promised) = unsafe {
        (warp_vote_any(ALL, malformed), warp_reduce_add(ALL, more), warp_reduce_add(ALL, promised))
    };
    (!malformed && promised == 0).then_some((end - value.start).wrapping_add(more))
}

/// Writes a decoded string, whose length [`measure`] returned, to `out`, from `to` on.
///
/// # Safety
/// All 32 lanes of a warp call it together, with the same arguments. No other thread writes these bytes.
#[inline(always)]
pub unsafe fn decode(value: Value<'_>, lane: u32, out: ViewMut<'_, u8>, mut to: usize) {
    let mut chunks = Chunks::new(value, lane);
    // The bytes of the next chunk that belong to an escape of this one.
    let mut carry = 0u32;
    let lanes_below = (1u32 << lane) - 1;
    while chunks.at < value.end {
        // SAFETY: the caller's contract, and the loop has as many rounds in each lane.
        let chunk = unsafe { chunks.next() };
        let (mut bytes, mut len, mut is_long) = (chunk.byte as u32, chunk.inside as u32, false);
        if chunk.is_start(lane) {
            // A value that was measured has no malformed escape.
            (bytes, len) = (0, 0);
            if let Some(said) = chunk.said(&value, lane) {
                (bytes, len) = (said.bytes, said.len);
                is_long = said.next - chunk.at >= column::LONGEST_ESCAPE;
            }
        }
        // SAFETY: as above.
        let long = unsafe { warp_vote_ballot(ALL, is_long) } as u64;
        let inner = (chunk.starts as u64) << 1 | long << 2 | long << 3 | long << 4 | long << 5;
        if (inner as u32 | carry) >> lane & 1 == 1 {
            len = 0;
        }
        carry = (inner >> LANES) as u32;
        // SAFETY: as above.
        let bits = unsafe {
            [
                warp_vote_ballot(ALL, len & 1 != 0),
                warp_vote_ballot(ALL, len & 2 != 0),
                warp_vote_ballot(ALL, len & 4 != 0),
            ]
        };
        let sum = |among: u32| {
            let count = |bit: usize| (bits[bit] & among).count_ones() << bit;
            (count(0) + count(1) + count(2)) as usize
        };
        let place = to + sum(lanes_below);
        let mut i = 0;
        while i < len {
            // SAFETY: the lanes' ranges follow one another, and no other thread writes them.
            unsafe { out.set(place + i as usize, (bytes >> (8 * i)) as u8) };
            i += 1;
        }
        to += sum(ALL);
    }
}
