//! From codes to a string, whoever wrote them: 64 codes at a time where there is AVX-512 with VBMI2 ([`Simd::expand`]), and eight where there is not, or less is left.
//!
//! A symbol is written as a word of 8 bytes, and the next one over what that wrote too much. What a code is worth is one load, as is its symbol,
//! from tables of 512: the upper half is of bytes that stand for themselves. An escape is a symbol without bytes, so that eight codes
//! with escapes among them differ only in that a bit trick says first which are bytes behind one ([`begins`]).
//!
//! ```text
//! codes     0   1   255   x   2          worth 4, 1, 0, 1, 3 bytes
//! looked up 0   1   255 256+x 2
//! ```
//!
//! Codes that stand for nothing are worth 0 bytes, and 2^16, so that the sum of eight worths says if there was one. Then, as where the room gets
//! narrow, the rule itself ([`Table::decode`]) says which error comes first.
//!
//! What did not pay: with an escape in every fourth word of tweets and URLs, decoding up to it and going on behind it (1.1 to 1.3 ns a code, by pointers), and always the way without branches,
//! with bits spread by `pdep` (1.3), are no faster than this (1.0 to 1.2); without escapes all are, at 0.7. So fewer escapes would be, which is a matter of training.
//!
//! Eight symbols have at most 64 bytes, so places within a window of 71 bytes are below 64: a mask says so to the compiler, and no
//! place is checked on its own. Near the end, strings are decoded to the stack and then moved, so that nothing behind a string's end is written.

use warpath_shared::fsst::{CodeFault, ESCAPE, Table, begins};

use warpath_core::simd::{EXPANDED, Isa, Simd, Work};

/// Codes that are decoded together.
const GROUP: usize = 8;
/// What a code is worth if it stands for nothing.
const UNKNOWN: u32 = 1 << 16;
/// A group writes below this, at places below 64.
const WINDOW: usize = 64 + 7;
/// Codes that are decoded together by [`Simd::expand`].
const WIDE: usize = 64;
/// Codes that are decoded to the stack together near the end.
const LAST: usize = 16;

/// Decodes strings of one table.
#[derive(Clone)]
pub struct Decoder {
    table: Table,
    worths: [u32; 512],
    symbols: [u64; 512],
    /// As many bits as each symbol has bytes: none for an escape, and what stands for nothing.
    masks: [u8; 256],
    isa: Isa,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("symbols", &self.table.len()).finish_non_exhaustive()
    }
}

/// Whether one of eight codes is an escape.
///
/// ```text
/// !word               00 in the bytes sought
/// - 0x0101…           borrows there first, and sets their top bits
/// & word & 0x8080…    which were set before, too
/// ```
#[inline(always)]
pub(super) const fn has_escape(word: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    (!word).wrapping_sub(LOW) & word & (LOW << 7) != 0
}

/// Which of eight codes are bytes behind an escape, from bit 0 on, if `pending` says that the code before the first is one; and if the last is
/// one.
#[inline(always)]
pub(super) fn literals(word: u64, pending: &mut bool) -> usize {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Bit 7 of each byte that is 255: its low bits carry into it, and it was set.
    let full = ((word & LOW) + 0x0101_0101_0101_0101) & word & !LOW;
    let escapes = (full >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let literals = !begins(escapes, pending);
    *pending = literals >> GROUP & 1 != 0;
    literals as usize & 0xff
}

/// What codes are worth, by themselves and, behind them, behind an escape.
pub(super) fn worths(table: &Table) -> [u32; 512] {
    let mut worths = [1; 512];
    for (worth, len) in worths.iter_mut().zip(table.lens()) {
        *worth = if *len == 0 { UNKNOWN } else { u32::from(*len) };
    }
    worths[usize::from(ESCAPE)] = 0;
    worths
}

/// Whether a sum of worths has one of a code that stands for nothing.
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
    /// Takes a table.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let mut symbols = [0; 512];
        symbols[..256].copy_from_slice(table.symbols());
        symbols[256..].iter_mut().zip(0..).for_each(|(symbol, byte)| *symbol = byte);
        let masks = table.lens().map(|len| if len == 0 { 0 } else { u8::MAX >> (8 - len) });
        Self { table: *table, worths: worths(table), symbols, masks, isa: Isa::best() }
    }

    /// The same by another instruction set than the best one here.
    #[cfg(test)]
    pub(super) fn with(self, isa: Isa) -> Self {
        Self { isa, ..self }
    }

    /// Decodes a string, as [`Table::decode`] does. Says how many bytes it has, which are the first of `room`; nothing behind them is written.
    ///
    /// # Errors
    /// [`CodeFault`]. What was decoded before is in `room`, and behind that there may be anything.
    pub fn decode(&self, codes: &[u8], room: &mut [u8]) -> Result<usize, CodeFault> {
        let (mut at, mut end, mut pending) = (0, 0, false);
        if codes.len() >= 3 * WIDE && room.len() >= EXPANDED {
            (at, end, pending) = self.isa.run(Wide { decoder: self, codes, room });
        }
        // Behind each group there are codes for the 7 bytes that it may write too much.
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
        // The escape itself writes nothing, so it can be taken again.
        self.last(codes, at - usize::from(pending), room, end)
    }

    /// Decodes by 64 codes, while there is room and nothing is wrong. Says how many codes it took, what they gave, and whether the last is an escape.
    #[inline(always)]
    fn wide<S: Simd>(&self, simd: S, codes: &[u8], room: &mut [u8]) -> (usize, usize, bool) {
        let (mut at, mut end, mut pending) = (0, 0, false);
        if !S::EXPANDS {
            return (at, end, pending);
        }
        // Behind them there are codes for the 64 bytes that they may write too much: two a byte at most.
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

    /// Writes eight codes' symbols, and says what they are worth.
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

    /// Decodes what is left.
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
            // An escape at the end is for the next to take, and an error if there is none.
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

    /// Decodes what is left by the rule, which tells the first of several errors.
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
