//! Blocks of DEFLATE (RFC 1951), decoded from a slice of input into a slice of output.
//!
//! A call decodes whole symbols. It ends before a symbol that the input does not contain in full, and before
//! one that the output may not have room for. The next call continues there. The decoder keeps no bits
//! between calls: the position in the input is a number of bits.

use crate::table::{
    CONSUMED, COUNT_SHIFT, DISTANCES, IS_END, IS_LITERAL, IS_OTHER, LITERALS, Tables, code_length, value,
};

/// The longest distance of a match.
pub const WINDOW: usize = 32 << 10;
/// Units of the output that must be free before a symbol: the longest match, in blocks of a copy, and the
/// literals of several entries.
pub const ROOM: usize = 320;
/// Bytes of the input from which on symbols are decoded one by one.
const INPUT_MARGIN: usize = 16;

/// A unit of output: a byte, or the symbol of a byte of an unknown window.
pub trait Unit: Copy + Default {
    /// The unit of a byte.
    fn of(byte: u8) -> Self;

    /// Writes the literals of an entry of a table, and possibly further units.
    fn put(room: &mut [Self; 4], entry: u32);
}

impl Unit for u8 {
    #[inline(always)]
    fn of(byte: u8) -> Self {
        byte
    }

    #[inline(always)]
    fn put(room: &mut [Self; 4], entry: u32) {
        *room = (entry >> 8).to_le_bytes();
    }
}

impl Unit for u16 {
    #[inline(always)]
    fn of(byte: u8) -> Self {
        byte.into()
    }

    #[inline(always)]
    fn put(room: &mut [Self; 4], entry: u32) {
        let [_, first, second, third] = entry.to_le_bytes();
        *room = [first.into(), second.into(), third.into(), 0];
    }
}

/// The reason why a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The input ends before the next symbol does.
    Input,
    /// The output has less room than [`ROOM`].
    Output,
    /// A block has ended, and another follows.
    Block,
    /// The last block has ended.
    Last,
    /// The next symbol or header is not valid.
    Fault,
}

/// The blocks of one member: what is known between two symbols.
pub struct Inflater {
    state: State,
    /// True in the last block.
    is_last: bool,
    /// True if the tables are those of fixed codes.
    is_fixed: bool,
    tables: Box<Tables>,
}

enum State {
    /// Before the header of a block.
    Header,
    /// In a stored block, with this many bytes left.
    Stored(usize),
    /// In a block of codes.
    Codes,
}

/// The input ends before the bits that are needed.
struct Short;

/// A reason to stop that is found in the header of a block.
enum HeaderError {
    Short,
    Fault,
}

impl From<Short> for HeaderError {
    fn from(Short: Short) -> Self {
        Self::Short
    }
}

/// Bits of the input, which are read from the lowest bit of each byte on.
#[derive(Clone, Copy)]
struct Bits<'a> {
    input: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// At least 57 of the next bits. Zeros follow the input.
    fn peek(&self) -> u64 {
        let rest = self.input.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        word >> (self.at % 8)
    }

    /// The number of bits to the end of the input.
    fn left(&self) -> usize {
        (8 * self.input.len()).saturating_sub(self.at)
    }

    fn take(&mut self, count: u32) -> Result<u32, Short> {
        if self.left() < count as usize {
            return Err(Short);
        }
        let bits = self.peek() as u32 & ((1 << count) - 1);
        self.at += count as usize;
        Ok(bits)
    }
}

impl Default for Inflater {
    /// Before the first block.
    fn default() -> Self {
        Self { state: State::Header, is_last: false, is_fixed: false, tables: Box::new(Tables::new()) }
    }
}

impl Inflater {
    /// Begins another member, or begins at another block.
    pub fn restart(&mut self) {
        (self.state, self.is_last) = (State::Header, false);
    }

    /// Decodes from bit `bit` of the input, and writes from `at` on. Both are advanced. A match may refer to
    /// `WINDOW` units before it, but not to those before `begin`.
    pub fn run<T: Unit>(
        &mut self,
        input: &[u8],
        bit: &mut usize,
        output: &mut [T],
        at: &mut usize,
        begin: usize,
    ) -> Stopped {
        loop {
            match self.state {
                State::Header => {
                    let mut bits = Bits { input, at: *bit };
                    match self.header(&mut bits) {
                        Ok(state) => (self.state, *bit) = (state, bits.at),
                        Err(HeaderError::Short) => return Stopped::Input,
                        Err(HeaderError::Fault) => return Stopped::Fault,
                    }
                }
                State::Stored(left) => {
                    let from = *bit / 8;
                    let count = left.min(input.len() - from).min(output.len() - *at);
                    let bytes = input[from..from + count].iter();
                    output[*at..*at + count].iter_mut().zip(bytes).for_each(|(to, byte)| *to = T::of(*byte));
                    *at += count;
                    *bit += 8 * count;
                    self.state = State::Stored(left - count);
                    if left == count {
                        return self.end();
                    }
                    return if *at == output.len() { Stopped::Output } else { Stopped::Input };
                }
                State::Codes => {
                    match fast(&self.tables, input, bit, output, at, begin) {
                        Some(Stopped::Block) => return self.end(),
                        Some(stopped) => return stopped,
                        None => {}
                    }
                    return match careful(&self.tables, input, bit, output, at, begin) {
                        Stopped::Block => self.end(),
                        stopped => stopped,
                    };
                }
            }
        }
    }

    fn end(&mut self) -> Stopped {
        self.state = State::Header;
        if self.is_last { Stopped::Last } else { Stopped::Block }
    }

    /// Reads the header of a block. It changes nothing but the tables if it fails.
    fn header(&mut self, bits: &mut Bits<'_>) -> Result<State, HeaderError> {
        let is_last = bits.take(1)? == 1;
        let state = match bits.take(2)? {
            0 => {
                bits.at = bits.at.next_multiple_of(8);
                let (len, complement) = (bits.take(16)?, bits.take(16)?);
                if len ^ complement != 0xffff {
                    return Err(HeaderError::Fault);
                }
                State::Stored(len as usize)
            }
            1 => {
                self.fixed();
                State::Codes
            }
            2 => {
                self.is_fixed = false;
                dynamic(&mut self.tables, bits)?;
                State::Codes
            }
            _ => return Err(HeaderError::Fault),
        };
        self.is_last = is_last;
        Ok(state)
    }

    /// Sets the tables of fixed codes.
    fn fixed(&mut self) {
        if self.is_fixed {
            return;
        }
        let mut literals = [8; LITERALS];
        literals[144..256].fill(9);
        literals[256..280].fill(7);
        // These lengths are a prefix code.
        self.is_fixed = self.tables.set(&literals, &[5; DISTANCES]).is_ok();
    }
}

/// The order in which a header has the lengths of the codes of lengths.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Reads the codes of a block.
fn dynamic(tables: &mut Tables, bits: &mut Bits<'_>) -> Result<(), HeaderError> {
    let (literals, distances, count) = (257 + bits.take(5)?, 1 + bits.take(5)?, 4 + bits.take(4)?);
    if literals > 286 || distances > 30 {
        return Err(HeaderError::Fault);
    }
    let (literals, all) = (literals as usize, (literals + distances) as usize);
    let mut lengths = [0; 19];
    for place in &ORDER[..count as usize] {
        lengths[*place] = bits.take(3)?;
    }
    let table = length_codes(&lengths).ok_or(HeaderError::Fault)?;
    let mut codes = [0u8; LITERALS + DISTANCES];
    let mut filled = 0;
    while filled < all {
        let next = bits.peek();
        let (symbol, length) = table[(next & 127) as usize];
        if bits.left() < length.into() {
            return Err(HeaderError::Short);
        }
        let (base, extra) = match symbol {
            0..16 => {
                bits.at += usize::from(length);
                codes[filled] = symbol;
                filled += 1;
                continue;
            }
            16 => (3, 2),
            17 => (3, 3),
            _ => (11, 7),
        };
        if bits.left() < usize::from(length) + extra {
            return Err(HeaderError::Short);
        }
        let repeated = match symbol {
            16 if filled == 0 => return Err(HeaderError::Fault),
            16 => codes[filled - 1],
            _ => 0,
        };
        let times = base + (next >> length) as usize % (1 << extra);
        if filled + times > all {
            return Err(HeaderError::Fault);
        }
        codes[filled..filled + times].fill(repeated);
        filled += times;
        bits.at += usize::from(length) + extra;
    }
    // A block without an end.
    if codes[256] == 0 {
        return Err(HeaderError::Fault);
    }
    tables.set(&codes[..literals], &codes[literals..all]).map_err(|_| HeaderError::Fault)
}

/// The table of the codes of lengths: the symbol and the length of its code. `None` if the code is not
/// complete. Without any code, each bit is a length of 0; the header has then no end of the block.
fn length_codes(lengths: &[u32; 19]) -> Option<[(u8, u8); 128]> {
    let mut table = [(0, 1); 128];
    let (mut code, mut used) = (0u32, 0);
    for length in 1..8 {
        for (symbol, _) in lengths.iter().enumerate().filter(|(_, of)| **of == length) {
            let reversed = (code.reverse_bits() >> (32 - length)) as usize;
            used += 128 >> length;
            if used > 128 {
                return None;
            }
            table
                .iter_mut()
                .skip(reversed)
                .step_by(1 << length)
                .for_each(|to| *to = (symbol as u8, length as u8));
            code += 1;
        }
        code <<= 1;
    }
    (used == 128 || used == 0).then_some(table)
}

/// Decodes symbols while input and output have enough of a margin. `None` if one of them has not.
#[inline(always)]
fn fast<T: Unit>(
    tables: &Tables,
    input: &[u8],
    bit: &mut usize,
    output: &mut [T],
    at: &mut usize,
    begin: usize,
) -> Option<Stopped> {
    let (Some(last_input), Some(last_output)) =
        (input.len().checked_sub(INPUT_MARGIN), output.len().checked_sub(ROOM))
    else {
        return None;
    };
    // `count` bits of `buffer` are those before byte `next` of the input. Further bits of it are right, too.
    let (mut buffer, mut count, mut next, mut to) = (0u64, 0u32, *bit / 8, *at);
    macro_rules! refill {
        () => {
            if let Some(word) = input[next..].first_chunk::<8>() {
                buffer |= u64::from_le_bytes(*word) << count;
            }
            next += (63 - count as usize) >> 3;
            count |= 56;
        };
    }
    macro_rules! consume {
        ($entry:expr) => {
            buffer >>= $entry & CONSUMED;
            count -= $entry & CONSUMED;
        };
    }
    macro_rules! put {
        ($entry:expr) => {
            if let Some(room) = output[to..].first_chunk_mut::<4>() {
                T::put(room, $entry);
            }
            to += ($entry >> COUNT_SHIFT & 3) as usize;
        };
    }
    let mut stopped = None;
    if next >= last_input || to >= last_output {
        return None;
    }
    refill!();
    consume!((*bit % 8) as u32);
    while next < last_input && to < last_output {
        refill!();
        let mut entry = tables.literal(buffer);
        if entry & IS_LITERAL != 0 {
            consume!(entry);
            put!(entry);
            entry = tables.literal(buffer);
            if entry & IS_LITERAL != 0 {
                consume!(entry);
                put!(entry);
                entry = tables.literal(buffer);
                if entry & IS_LITERAL != 0 {
                    consume!(entry);
                    put!(entry);
                    continue;
                }
            }
        }
        if entry & IS_OTHER != 0 {
            entry = tables.long_literal(entry, buffer);
            if entry & IS_LITERAL != 0 {
                consume!(entry);
                put!(entry);
                continue;
            }
            if entry & IS_OTHER != 0 {
                if entry & IS_END != 0 {
                    count -= entry & CONSUMED;
                    stopped = Some(Stopped::Block);
                } else {
                    stopped = Some(Stopped::Fault);
                }
                break;
            }
        }
        let length = value(entry, buffer);
        let (count_before, next_before) = (count, next);
        consume!(entry);
        refill!();
        let mut entry = tables.distance(buffer);
        if entry & IS_OTHER != 0 {
            entry = tables.long_distance(entry, buffer);
        }
        let distance = value(entry, buffer);
        if entry & IS_OTHER != 0 || distance > to - begin {
            // Nothing of this match has been consumed.
            (count, next) = (count_before, next_before);
            stopped = Some(Stopped::Fault);
            break;
        }
        consume!(entry);
        copy(output, to, distance, length);
        to += length;
    }
    *bit = 8 * next - count as usize;
    *at = to;
    stopped
}

/// Copies a match. The output has [`ROOM`] units after `to`.
#[inline(always)]
fn copy<T: Unit>(output: &mut [T], to: usize, distance: usize, length: usize) {
    const STEP: usize = 16;
    let from = to - distance;
    let mut done = 0;
    if distance >= STEP {
        while done < length {
            let step: [T; STEP] = *output[from + done..].first_chunk().unwrap_or(&[T::default(); STEP]);
            output[to + done..][..STEP].copy_from_slice(&step);
            done += STEP;
        }
    } else if distance == 1 {
        let unit = output[from];
        output[to..][..length].fill(unit);
    } else {
        // The units between `from` and `to` repeat.
        let mut period = distance;
        while done < length {
            let count = period.min(length - done);
            output.copy_within(from..from + count, to + done);
            done += count;
            period *= 2;
        }
    }
}

/// Decodes symbols one by one, near the end of the input.
fn careful<T: Unit>(
    tables: &Tables,
    input: &[u8],
    bit: &mut usize,
    output: &mut [T],
    at: &mut usize,
    begin: usize,
) -> Stopped {
    let mut bits = Bits { input, at: *bit };
    loop {
        *bit = bits.at;
        if output.len() - *at < ROOM {
            return Stopped::Output;
        }
        let (next, left) = (bits.peek(), bits.left());
        let entry = tables.long_literal(tables.literal(next), next);
        let consumed = (entry & CONSUMED) as usize;
        if entry & IS_LITERAL != 0 {
            // The input may contain the first literal of the entry and not the next one.
            let first = (entry >> 8) as u8;
            let (count, consumed) = match consumed <= left {
                true => ((entry >> COUNT_SHIFT & 3) as usize, consumed),
                false => (1, tables.literal_length(first) as usize),
            };
            if consumed > left {
                return Stopped::Input;
            }
            if let Some(room) = output[*at..].first_chunk_mut::<4>() {
                T::put(room, entry);
            }
            *at += count;
            bits.at += consumed;
            continue;
        }
        if consumed > left {
            return Stopped::Input;
        }
        if entry & IS_OTHER != 0 {
            if entry & IS_END == 0 {
                return Stopped::Fault;
            }
            *bit += consumed;
            return Stopped::Block;
        }
        let length = value(entry, next);
        let (next, left) = (next >> consumed, left - consumed);
        let entry = tables.long_distance(tables.distance(next), next);
        if code_length(entry) as usize > left {
            return Stopped::Input;
        }
        if entry & IS_OTHER != 0 {
            return Stopped::Fault;
        }
        if (entry & CONSUMED) as usize > left {
            return Stopped::Input;
        }
        let distance = value(entry, next);
        if distance > *at - begin {
            return Stopped::Fault;
        }
        copy(output, *at, distance, length);
        *at += length;
        bits.at += consumed + (entry & CONSUMED) as usize;
    }
}
