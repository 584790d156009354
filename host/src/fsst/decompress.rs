//! From codes to a string, eight codes at a time, whoever wrote them.
//!
//! A symbol is written as a word of 8 bytes, and the next one over what that wrote too much. Eight codes that are all symbols, which a bit trick tells, are
//! written without a look at any; of others those up to the first escape are, and the byte behind it. (Codes with escapes among them looked up in tables of twice the
//! length, without branches, took 1.2 ns each in place of 0.7, though there is an escape in every tenth word of tweets.)
//!
//! A code that is neither a symbol nor an escape leaves the rest, as where the room gets narrow, to a slower way: code by code from tables of 512, of which the upper half is of bytes that
//! stand for themselves, to the stack, from where whole bytes are moved; so nothing behind a string's end is written. There codes that stand for nothing are worth 0 bytes, and 2^16, so that the sum of
//! worths says if there was one. Then the rule itself ([`Table::decode`]) says which error comes first.
//!
//! ```text
//! codes     0   1   255   x   2          worth 4, 1, 0, 1, 3 bytes
//! looked up 0   1   255 256+x 2
//! ```

use warpath_shared::fsst::{CodeFault, ESCAPE, Table, begins};

/// Codes that are decoded together.
const GROUP: usize = 8;
/// What a code is worth if it stands for nothing.
const UNKNOWN: u32 = 1 << 16;
/// A group's last symbol begins below 57, and writes 8 bytes.
const WINDOW: usize = 64 + 7;
/// Codes that are decoded to the stack together near the end.
const LAST: usize = 16;

/// Decodes strings of one table.
#[derive(Clone)]
pub struct Decoder {
    table: Table,
    worths: [u32; 512],
    symbols: [u64; 512],
    lens: [u8; 256],
    /// What is added to the lower seven bits of each of eight codes, and all bits if there are fewer than 128 symbols: for [`Self::beyond`].
    carry: u64,
    below_half: u64,
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

impl Decoder {
    /// Takes a table.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let mut symbols = [0; 512];
        symbols[..256].copy_from_slice(table.symbols());
        symbols[256..].iter_mut().zip(0..).for_each(|(symbol, byte)| *symbol = byte);
        let count = table.len() as u64;
        let (missing, below_half) = if count < 128 { (128 - count, u64::MAX) } else { (256 - count, 0) };
        let carry = 0x0101_0101_0101_0101 * missing;
        Self { table: *table, worths: worths(table), symbols, lens: *table.lens(), carry, below_half }
    }

    /// Decodes a string, as [`Table::decode`] does. Says how many bytes it has, which are the first of `room`; nothing behind them is written.
    ///
    /// # Errors
    /// [`CodeFault`]. What was decoded before is in `room`, and behind that there may be anything.
    pub fn decode(&self, codes: &[u8], room: &mut [u8]) -> Result<usize, CodeFault> {
        let (mut at, mut end) = (0, 0);
        // Behind each group there are codes for the 7 bytes that it may write too much.
        while codes.len() - at >= GROUP + 14 && room.len() - end >= WINDOW {
            // SAFETY: so many codes and bytes of room are there.
            (at, end) = match unsafe { self.group(codes, at, room, end) } {
                Some(places) => places,
                None => break,
            };
        }
        self.last(codes, at, room, end)
    }

    /// Decodes eight codes, or those up to the byte behind the first escape. Says where to go on; `None` if the first of them that is no symbol is no escape either.
    ///
    /// # Safety
    /// There are [`GROUP`] + 1 codes from `at` on, and [`WINDOW`] bytes of room from `end` on.
    #[inline(always)]
    unsafe fn group(&self, codes: &[u8], at: usize, room: &mut [u8], end: usize) -> Option<(usize, usize)> {
        let (from, mut to) = (codes.as_ptr().wrapping_add(at), room.as_mut_ptr().wrapping_add(end));
        let begin = to;
        // SAFETY: there are eight codes.
        let word = u64::from_le(unsafe { from.cast::<u64>().read_unaligned() });
        let mut put = |code: u64| {
            let code = code as usize & 0xff;
            // SAFETY: up to eight symbols, of eight bytes at most, begin below byte 57 of the window, and each store writes eight: it has 64 and more.
            unsafe { to.cast::<u64>().write_unaligned(self.symbols[code].to_le()) };
            to = to.wrapping_add(usize::from(self.lens[code]));
        };
        let beyond = self.beyond(word);
        if beyond == 0 {
            put(word);
            put(word >> 8);
            put(word >> 16);
            put(word >> 24);
            put(word >> 32);
            put(word >> 40);
            put(word >> 48);
            put(word >> 56);
            return Some((at + GROUP, end + (to as usize - begin as usize)));
        }
        let before = beyond.trailing_zeros() as usize / 8;
        for code in 0..before {
            put(word >> (8 * code));
        }
        if (word >> (8 * before)) as u8 != ESCAPE {
            return None;
        }
        // SAFETY: the byte behind the escape is the ninth code at most; and seven symbols leave room for it.
        unsafe { to.write(from.wrapping_add(before + 1).read()) };
        Some((at + before + 2, end + (to as usize - begin as usize) + 1))
    }

    /// Which of eight codes are no symbols: the highest bit of each. Those of symbols are the lowest.
    ///
    /// ```text
    /// a code is n or more     its lower seven bits and 128 - n carry into the eighth, or that is 1 already, where n is below 128;
    ///                         its lower seven bits and 256 - n carry, and that is 1, where it is not
    /// ```
    #[inline(always)]
    fn beyond(&self, word: u64) -> u64 {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let carried = (word & !HIGH).wrapping_add(self.carry);
        (carried & (word | self.below_half) | word & self.below_half) & HIGH
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
