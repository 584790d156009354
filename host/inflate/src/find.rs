//! Search for positions at which decoding can begin.
//!
//! A position is a header of a member, or one of a block that is not the last of its member: a block of
//! dynamic codes, or a stored block. What is found may be no such header. A caller decodes from there, and
//! accepts the text only if the text before it ends at exactly this position.
//!
//! A header of dynamic codes has to be almost as a compressor writes it (RFC 1951, 3.2.7), because all bits
//! that say something are checked: the numbers of codes, the code of lengths, which has to be complete, and
//! then the lengths themselves, with the decoder. The first two checks need two loads. They refuse all but
//! one of about 2,000 positions.

use crate::member::header;

/// A position in the input, from which on a decoder can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The header of a member, at this byte.
    Member(u64),
    /// The header of a block, at this bit.
    Block(u64),
    /// The header of a stored block, whose length is at this byte. The header is one of several bits before
    /// it.
    Stored(u64),
}

impl Start {
    /// The position of a block at a bit, whose first three bits are those of `header`.
    pub fn of_block(bit: u64, header: u64) -> Self {
        match header & 7 {
            0 => Self::Stored((bit + 3).div_ceil(8)),
            _ => Self::Block(bit),
        }
    }

    /// The position, in an input with `bits` more bits before it.
    pub fn plus(self, bits: u64) -> Self {
        match self {
            Self::Member(byte) => Self::Member(byte + bits / 8),
            Self::Block(bit) => Self::Block(bit + bits),
            Self::Stored(byte) => Self::Stored(byte + bits / 8),
        }
    }

    /// The first bit that a decoder reads, if it begins here.
    pub fn bit(self) -> u64 {
        match self {
            Self::Member(byte) => 8 * byte,
            Self::Block(bit) => bit,
            Self::Stored(byte) => 8 * byte - 3,
        }
    }
}

/// The first position from bit `from` on and before bit `to`, relative to the first byte of `input`.
pub fn find(input: &[u8], from: usize, to: usize) -> Option<Start> {
    let to = to.min(8 * input.len());
    // A header or a stored block begins before the block that is found, or not at all.
    let block = (from..to).find(|bit| is_dynamic(input, *bit));
    let end = block.unwrap_or(to);
    let byte = (from.div_ceil(8)..end.div_ceil(8)).find_map(|byte| {
        let rest = &input[byte..];
        if rest.starts_with(b"\x1f\x8b\x08") && header(&rest[..rest.len().min(1 << 10)]).is_ok() {
            return Some(Start::Member(byte as u64));
        }
        // The bits of the header are the highest ones of the byte before.
        let is_stored = 8 * byte >= from + 3
            && input[byte - 1] >> 5 == 0
            && rest.first_chunk::<4>().is_some_and(|[a, b, c, d]| a ^ c == 0xff && b ^ d == 0xff);
        is_stored.then_some(Start::Stored(byte as u64))
    });
    match (byte, block) {
        (Some(start), block) if block.is_none_or(|block| start.bit() < block as u64) => Some(start),
        (_, block) => block.map(|bit| Start::Block(bit as u64)),
    }
}

/// True if the bits may be the header of a block of dynamic codes that is not the last one.
#[inline]
fn is_dynamic(input: &[u8], bit: usize) -> bool {
    let Some(head) = word(input, bit) else { return false };
    // Not the last block; dynamic codes; at most 286 literals and lengths, and 30 distances.
    if head & 7 != 4 || head >> 3 & 31 > 29 || head >> 8 & 31 > 29 {
        return false;
    }
    let Some(lengths) = word(input, bit + 17) else { return false };
    let count = (head >> 13 & 15) + 4;
    // A code of `n` bits takes 2⁷⁻ⁿ of the 128 entries of a table.
    let mut entries = 0;
    for index in 0..count {
        let length = lengths >> (3 * index) & 7;
        entries += if length == 0 { 0 } else { 128 >> length };
    }
    entries == 128
}

/// At least 57 bits from a bit on.
#[inline]
fn word(input: &[u8], bit: usize) -> Option<u64> {
    let word = input.get(bit / 8..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word) >> (bit % 8))
}
