//! Codes to a string, for codes from any source. With AVX-512 and VBMI2 ([`Simd::expand`]), 64 codes at a
//! time; without, and near the end, eight at a time.
//!
//! A symbol is written as a word of 8 bytes, and the next symbol overwrites the excess bytes. One load gives
//! a code's symbol, and one its length, from tables of 512 entries. The upper half of the tables is for bytes
//! after an escape. An escape is a symbol without bytes. So eight codes with escapes need only one more
//! operation, which finds the bytes after an escape ([`begins`]).
//!
//! ```text
//! codes     0   1   255   x   2          lengths 4, 1, 0, 1, 3 bytes
//! looked up 0   1   255 256+x 2
//! ```
//!
//! An unknown code has 0 bytes and adds 2^16, so that the sum of eight lengths shows an unknown code. Then,
//! and where the output becomes narrow, the reference decoder ([`Table::decode`]) finds the first error.
//!
//! Tried and lost, measured with an escape in every fourth word of tweets and URLs:
//!
//! * Decoding up to an escape and resuming after it, with pointers: 1.1 to 1.3 ns per code.
//! * Always the path without branches, with bits spread by `pdep`: 1.3.
//!
//! This code takes 1.0 to 1.2. Without escapes all three take 0.7. So fewer escapes would be faster, which
//! depends on training.
//!
//! Eight symbols have at most 64 bytes, so offsets within a window of 71 bytes are below 64. A mask shows
//! this to the compiler, and no offset needs a check of its own. Near the end, strings are decoded to the
//! stack and then moved, so that no byte past a string's end is written.

use warpath_core::simd::{EXPANDED, Isa, Simd, Work};
use warpath_shared::fsst::{CodeFault, ESCAPE, Table, begins};

/// Number of codes that are decoded together.
const GROUP: usize = 8;
/// The length of an unknown code.
const UNKNOWN: u32 = 1 << 16;
/// A group writes words at offsets below 64, all within this window.
const WINDOW: usize = 64 + 7;
/// Number of codes that [`Simd::expand`] decodes together.
const WIDE: usize = 64;
/// Number of codes that are decoded to the stack together near the end.
const LAST: usize = 16;

/// A decoder of strings of one table.
#[derive(Clone)]
pub struct Decoder {
    table: Table,
    worths: [u32; 512],
    symbols: [u64; 512],
    /// For each code, one bit for each byte of its symbol: no bits for an escape and for unknown codes.
    masks: [u8; 256],
    isa: Isa,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("symbols", &self.table.len()).finish_non_exhaustive()
    }
}

/// Returns true if one of eight codes is an escape.
///
/// ```text
/// !word               00 in the bytes that are an escape
/// - 0x0101…           borrows there first, and sets their top bits
/// & word & 0x8080…    keeps those whose top bit was set before, too
/// ```
#[inline(always)]
pub(super) const fn has_escape(word: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    (!word).wrapping_sub(LOW) & word & (LOW << 7) != 0
}

/// Returns a mask of those of eight codes that are bytes after an escape, the first in bit 0. `pending` is
/// true if the code before the first is an escape; then it is set for the last code.
#[inline(always)]
pub(super) fn literals(word: u64, pending: &mut bool) -> usize {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Bit 7 of each byte that is 255: its low bits carry into bit 7, and bit 7 was set.
    let full = ((word & LOW) + 0x0101_0101_0101_0101) & word & !LOW;
    let escapes = (full >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let literals = !begins(escapes, pending);
    *pending = literals >> GROUP & 1 != 0;
    literals as usize & 0xff
}

/// Returns the lengths of codes: first as symbols, then as bytes after an escape.
pub(super) fn worths(table: &Table) -> [u32; 512] {
    let mut worths = [1; 512];
    for (worth, len) in worths.iter_mut().zip(table.lens()) {
        *worth = if *len == 0 { UNKNOWN } else { u32::from(*len) };
    }
    worths[usize::from(ESCAPE)] = 0;
    worths
}

/// Returns true if a sum of lengths includes an unknown code.
#[inline(always)]
pub(super) const fn has_unknown(worth: u32) -> bool {
    worth >= UNKNOWN
}

/// [`Decoder::wide`].
struct Wide<'a> {
    decoder: &'a Decoder,
    codes: &'a [u8],
    room: &'a mut [u8],
}

impl Work for Wide<'_> {
    type Output = (usize, usize, bool);

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        self.decoder.wide(simd, self.codes, self.room)
    }
}

impl Decoder {
    /// Prepares a table.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let mut symbols = [0; 512];
        symbols[..256].copy_from_slice(table.symbols());
        symbols[256..].iter_mut().zip(0..).for_each(|(symbol, byte)| *symbol = byte);
        let masks = table.lens().map(|len| if len == 0 { 0 } else { u8::MAX >> (8 - len) });
        Self { table: *table, worths: worths(table), symbols, masks, isa: Isa::best() }
    }

    /// Returns the table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the decoder for another instruction set.
    #[cfg(test)]
    pub(super) fn with(self, isa: Isa) -> Self {
        Self { isa, ..self }
    }

    /// Decodes a string like [`Table::decode`]. Returns its length; the string is at the start of `room`. No
    /// byte after it is written.
    ///
    /// # Errors
    /// [`CodeFault`] for the first fault. The text before the fault is in `room`; the bytes after it are
    /// unspecified.
    pub fn decode(&self, codes: &[u8], room: &mut [u8]) -> Result<usize, CodeFault> {
        let (mut at, mut end, mut pending) = (0, 0, false);
        if codes.len() >= 3 * WIDE && room.len() >= EXPANDED {
            (at, end, pending) = self.isa.run_expanding(Wide { decoder: self, codes, room });
        }
        // A group may write 7 bytes too many; the codes after the group overwrite them.
        while let Some(next) = codes.get(at..at + GROUP + 14) {
            let Some(window) = room.get_mut(end..).and_then(|room| room.first_chunk_mut::<WINDOW>()) else {
                break;
            };
            let Some(word) = next.first_chunk().map(|word| u64::from_le_bytes(*word)) else { break };
            let worth = if has_escape(word) || pending {
                let mut after = pending;
                let worth = self.group(word, literals(word, &mut after), window);
                if has_unknown(worth) {
                    break;
                }
                pending = after;
                worth
            } else {
                let worth = self.group(word, 0, window);
                if has_unknown(worth) {
                    break;
                }
                worth
            };
            end += worth as usize;
            at += GROUP;
        }
        // The escape itself wrote no bytes, so the rest can begin with it.
        self.last(codes, at - usize::from(pending), room, end)
    }

    /// Decodes 64 codes at a time, up to a fault or the end of the output. Returns the number of codes, their
    /// length, and true if the last code is an escape.
    #[inline(always)]
    fn wide<S: Simd>(&self, simd: S, codes: &[u8], room: &mut [u8]) -> (usize, usize, bool) {
        let (mut at, mut end, mut pending) = (0, 0, false);
        if !S::EXPANDS {
            return (at, end, pending);
        }
        // A step may write 64 bytes too many; the codes after it overwrite them. A byte takes at most two
        // codes.
        while let (Some(next), Some(window)) = (
            codes.get(at..at + 3 * WIDE).and_then(|codes| codes.first_chunk::<WIDE>()),
            room.get_mut(end..).and_then(|room| room.first_chunk_mut::<EXPANDED>()),
        ) {
            let (escapes, mut after) = (simd.equal(next, ESCAPE), pending);
            let bytes = if escapes != 0 || pending { !begins(escapes, &mut after) } else { 0 };
            let (len, nothing) = simd.expand(next, bytes, &self.symbols, &self.masks, window);
            if nothing != escapes & !bytes {
                break;
            }
            (at, end, pending) = (at + WIDE, end + len, after);
        }
        (at, end, pending)
    }

    /// Writes the symbols of eight codes, and returns the sum of their lengths.
    #[inline(always)]
    fn group(&self, word: u64, literals: usize, window: &mut [u8; WINDOW]) -> u32 {
        let mut end = 0;
        for code in 0..GROUP {
            let code = word as usize >> (8 * code) & 0xff | (literals >> code & 1) << 8;
            let to = end as usize % 64;
            window[to..to + 8].copy_from_slice(&self.symbols[code].to_le_bytes());
            end += self.worths[code];
        }
        end
    }

    /// Decodes the remaining codes.
    fn last(&self, codes: &[u8], mut at: usize, room: &mut [u8], mut end: usize) -> Result<usize, CodeFault> {
        while at < codes.len() {
            let some = &codes[at..codes.len().min(at + LAST)];
            let mut bytes = [0; 8 * LAST + 8];
            let (mut len, mut behind) = (0, 0);
            for code in some {
                let code = usize::from(*code) | behind << 8;
                let to = len as usize % (8 * LAST);
                bytes[to..to + 8].copy_from_slice(&self.symbols[code].to_le_bytes());
                len += self.worths[code];
                behind = usize::from(code == usize::from(ESCAPE));
            }
            // The next step takes an escape at the end; without further codes the escape is an error.
            let taken = some.len() - behind;
            let to = room.get_mut(end..).and_then(|room| room.get_mut(..len as usize));
            let (Some(to), false) = (to, has_unknown(len) || taken == 0) else {
                return self.by_rule(codes, at, room, end);
            };
            to.copy_from_slice(&bytes[..len as usize]);
            end += len as usize;
            at += taken;
        }
        Ok(end)
    }

    /// Decodes the remaining codes by the reference decoder, which finds the first of several errors.
    #[cold]
    fn by_rule(&self, codes: &[u8], at: usize, room: &mut [u8], end: usize) -> Result<usize, CodeFault> {
        match self.table.decode(&codes[at..], &mut room[end..]) {
            Ok(len) => Ok(end + len),
            Err(CodeFault::Escape(place)) => Err(CodeFault::Escape(at + place)),
            Err(CodeFault::Unknown(place)) => Err(CodeFault::Unknown(at + place)),
            Err(fault) => Err(fault),
        }
    }
}
