//! Decoding tables of a block: prefix codes of literals, lengths and distances.
//!
//! An entry of 32 bits is one of these. The first two fields have the same bits in all of them.
//!
//! ```text
//! literals    consumed:6 count:2 first:8 second:8 third:8       as many as fit into the index
//! length      consumed:6 0:2 code:4 extra:4 base:15 0:1         `consumed` counts the code and its extra bits
//! distance    the same
//! subtable    0:6        0:2 offset:16 .. 1 1                   codes that are longer than the index
//! end         code:6     0:2           .. 1 0 1
//! no symbol   code:6     0:2           .. 1 0 0
//! ```

/// Bits of the index of the table of literals and lengths.
pub const LITERAL_BITS: u32 = 12;
/// Bits of the index of the table of distances.
pub const DISTANCE_BITS: u32 = 10;
/// The longest code of literals, lengths and distances.
const LONGEST: u32 = 15;
/// Symbols of literals and lengths, with those that no block may use.
pub const LITERALS: usize = 288;
/// Symbols of distances, with those that no block may use.
pub const DISTANCES: usize = 32;
/// Entries of the table of literals and lengths. A subtable has at least two codes.
const LITERAL_ENTRIES: usize = (1 << LITERAL_BITS) + (LITERALS / 2) * (1 << (LONGEST - LITERAL_BITS));
/// Entries of the table of distances.
const DISTANCE_ENTRIES: usize = (1 << DISTANCE_BITS) + (DISTANCES / 2) * (1 << (LONGEST - DISTANCE_BITS));

/// The number of bits that an entry consumes.
pub const CONSUMED: u32 = 63;
/// The literals of an entry are counted from this bit on.
pub const COUNT_SHIFT: u32 = 6;
/// The count of literals is not zero.
pub const IS_LITERAL: u32 = 3 << COUNT_SHIFT;
/// The entry is neither literals nor a length or distance.
pub const IS_OTHER: u32 = 1 << 31;
const IS_SUBTABLE: u32 = 1 << 30;
/// The entry is the end of the block. The bit says this only if [`IS_OTHER`] is set.
pub const IS_END: u32 = 1 << 29;

/// Base and number of extra bits of the symbols of lengths, from 257 on (RFC 1951, 3.2.5).
const LENGTHS: [(u32, u32); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The lengths of a set of codes are no prefix code.
#[derive(Debug)]
pub struct NoCode;

/// The tables of a block.
pub struct Tables {
    literals: [u32; LITERAL_ENTRIES],
    distances: [u32; DISTANCE_ENTRIES],
    /// The lengths of the codes of literals.
    lengths: [u8; 256],
}

impl Tables {
    /// Tables without a symbol.
    pub fn new() -> Self {
        Self {
            literals: [IS_OTHER; LITERAL_ENTRIES],
            distances: [IS_OTHER; DISTANCE_ENTRIES],
            lengths: [0; 256],
        }
    }

    /// Sets the tables by the lengths of codes: at most [`LITERALS`] and [`DISTANCES`].
    pub fn set(&mut self, literals: &[u8], distances: &[u8]) -> Result<(), NoCode> {
        build(&mut self.literals, LITERAL_BITS, literals, literal_entry)?;
        build(&mut self.distances, DISTANCE_BITS, distances, distance_entry)?;
        let count = literals.len().min(256);
        self.lengths[..count].copy_from_slice(&literals[..count]);
        Ok(())
    }

    /// The entry of the literals or the length at the beginning of `bits`.
    #[inline(always)]
    pub fn literal(&self, bits: u64) -> u32 {
        self.literals[(bits & ((1 << LITERAL_BITS) - 1)) as usize]
    }

    /// The entry of a longer code, or the same entry.
    #[inline(always)]
    pub fn long_literal(&self, entry: u32, bits: u64) -> u32 {
        follow(&self.literals, LITERAL_BITS, entry, bits)
    }

    /// The entry of the distance at the beginning of `bits`, if the code is not longer than the index.
    #[inline(always)]
    pub fn distance(&self, bits: u64) -> u32 {
        self.distances[(bits & ((1 << DISTANCE_BITS) - 1)) as usize]
    }

    /// The entry of a longer code, or the same entry.
    #[inline(always)]
    pub fn long_distance(&self, entry: u32, bits: u64) -> u32 {
        follow(&self.distances, DISTANCE_BITS, entry, bits)
    }

    /// The length of the code of a literal.
    pub fn literal_length(&self, literal: u8) -> u32 {
        self.lengths[usize::from(literal)].into()
    }
}

/// The value of a length or distance, with its extra bits.
#[inline(always)]
pub fn value(entry: u32, bits: u64) -> usize {
    let (code, extra) = (entry >> 8 & 15, entry >> 12 & 15);
    ((entry >> 16 & 0x7fff) + ((bits >> code) as u32 & ((1 << extra) - 1))) as usize
}

/// The length of the code of an entry that is no literal.
pub fn code_length(entry: u32) -> u32 {
    if entry & IS_OTHER == 0 { entry >> 8 & 15 } else { entry & CONSUMED }
}

#[inline(always)]
fn follow(table: &[u32], index_bits: u32, entry: u32, bits: u64) -> u32 {
    // The highest bits of an entry of literals are those of the third one.
    if entry & (IS_OTHER | IS_SUBTABLE | IS_LITERAL) != IS_OTHER | IS_SUBTABLE {
        return entry;
    }
    let at = (bits >> index_bits & ((1 << (LONGEST - index_bits)) - 1)) as u32;
    table[((entry >> 8 & 0xffff) + at) as usize]
}

fn with_extra((base, extra): (u32, u32), code: u32) -> u32 {
    (code + extra) | code << 8 | extra << 12 | base << 16
}

fn literal_entry(symbol: usize, code: u32) -> u32 {
    match symbol {
        0..256 => code | 1 << COUNT_SHIFT | (symbol as u32) << 8,
        256 => code | IS_OTHER | IS_END,
        _ => LENGTHS.get(symbol - 257).map_or(code | IS_OTHER, |length| with_extra(*length, code)),
    }
}

fn distance_entry(symbol: usize, code: u32) -> u32 {
    let extra = (symbol as u32 / 2).saturating_sub(1);
    match symbol {
        0..2 => with_extra((symbol as u32 + 1, 0), code),
        2..30 => with_extra((1 + ((2 + (symbol as u32 & 1)) << extra), extra), code),
        _ => code | IS_OTHER,
    }
}

/// Fills a table. A code must be complete, or have at most one symbol, of length 1.
fn build(
    table: &mut [u32],
    index_bits: u32,
    lengths: &[u8],
    entry: impl Fn(usize, u32) -> u32,
) -> Result<(), NoCode> {
    let mut counts = [0u16; LONGEST as usize + 1];
    lengths.iter().for_each(|length| counts[usize::from(*length)] += 1);
    counts[0] = 0;
    let longest = (1..=LONGEST).rev().find(|length| counts[*length as usize] > 0).unwrap_or_default();
    let (mut left, mut total, mut starts) = (1i32, 0, [0u16; LONGEST as usize + 1]);
    for (start, count) in starts.iter_mut().zip(counts).skip(1) {
        left = 2 * left - i32::from(count);
        if left < 0 {
            return Err(NoCode);
        }
        *start = total;
        total += count;
    }
    if left > 0 && (total > 1 || total != counts[1]) {
        return Err(NoCode);
    }
    let mut sorted = [0u16; LITERALS];
    for (symbol, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
        let start = &mut starts[usize::from(*length)];
        sorted[usize::from(*start)] = symbol as u16;
        *start += 1;
    }
    // The table for an index of `bits` bits. One more bit repeats the entries.
    let mut bits = 0;
    let mut widen = |table: &mut [u32], to: u32| {
        while bits < to {
            table.copy_within(..1 << bits, 1 << bits);
            bits += 1;
        }
    };
    // The entry of bits that begin no code. A complete code overwrites it.
    table[0] = IS_OTHER | 1;
    let mut literals = Literals::default();
    let (mut symbols, mut code, mut free, mut prefix) = (sorted.iter(), 0u32, 1 << index_bits, None);
    for length in 1..=longest {
        widen(table, length.min(index_bits));
        for symbol in symbols.by_ref().take(counts[length as usize].into()) {
            let entry = entry((*symbol).into(), length);
            let reversed = (code.reverse_bits() >> (32 - length)) as usize;
            code += 1;
            if length <= index_bits {
                table[reversed] = entry;
                if entry & IS_LITERAL != 0 {
                    literals.push(reversed as u16, *symbol as u8);
                }
                continue;
            }
            let index = reversed & ((1 << index_bits) - 1);
            if prefix != Some(index) {
                prefix = Some(index);
                table[index] = IS_OTHER | IS_SUBTABLE | (free as u32) << 8;
                free += 1 << (LONGEST - index_bits);
            }
            let subtable = &mut table[free - (1 << (LONGEST - index_bits))..free];
            let step = 1 << (length - index_bits);
            subtable.iter_mut().skip(reversed >> index_bits).step_by(step).for_each(|place| *place = entry);
        }
        code <<= 1;
        if length <= index_bits {
            literals.end(length);
            literals.join(table, length);
        }
    }
    for length in longest + 1..=index_bits {
        widen(table, length);
        literals.end(length);
        literals.join(table, length);
    }
    Ok(())
}

/// The literals of a table, sorted by the lengths of their codes.
struct Literals {
    /// The bits of each code, as they are in the input, and its literal.
    codes: [(u16, u8); 256],
    count: usize,
    /// The number of literals whose codes have at most this length.
    ends: [u16; LONGEST as usize + 1],
}

impl Default for Literals {
    fn default() -> Self {
        Self { codes: [(0, 0); 256], count: 0, ends: [0; LONGEST as usize + 1] }
    }
}

impl Literals {
    fn push(&mut self, code: u16, literal: u8) {
        self.codes[self.count] = (code, literal);
        self.count += 1;
    }

    /// Ends the codes of a length.
    fn end(&mut self, length: u32) {
        self.ends[length as usize] = self.count as u16;
    }

    fn of(&self, length: u32) -> &[(u16, u8)] {
        let [from, to] = [length - 1, length].map(|length| usize::from(self.ends[length as usize]));
        &self.codes[from..to]
    }

    /// Writes the entries of two and three literals whose codes have `length` bits together. The table's
    /// index has this many bits.
    fn join(&self, table: &mut [u32], length: u32) {
        for first_length in (1..length).filter(|first| !self.of(*first).is_empty()) {
            let rest = length - first_length;
            for (code, first) in self.of(first_length) {
                let (code, entry) = (usize::from(*code), length | 2 << COUNT_SHIFT | u32::from(*first) << 8);
                for (next, second) in self.of(rest) {
                    table[code | usize::from(*next) << first_length] = entry | u32::from(*second) << 16;
                }
            }
            for second_length in (1..rest).filter(|second| !self.of(*second).is_empty()) {
                let third_length = rest - second_length;
                if self.of(third_length).is_empty() {
                    continue;
                }
                let both = first_length + second_length;
                for (code, first) in self.of(first_length) {
                    for (next, second) in self.of(second_length) {
                        let code = usize::from(*code) | usize::from(*next) << first_length;
                        let literals = u32::from(*first) << 8 | u32::from(*second) << 16;
                        let entry = length | 3 << COUNT_SHIFT | literals;
                        for (last, third) in self.of(third_length) {
                            table[code | usize::from(*last) << both] = entry | u32::from(*third) << 24;
                        }
                    }
                }
            }
        }
    }
}
