//! A chunk: the text from a position to the first block that begins in a later part of the file.

use crate::block::{Inflater, Stopped};
use crate::find::{Start, find};
use crate::member::{Fault, TRAILER_BYTES, Trailer, header};
use crate::raw::{Part, Raw};
use crate::text::{DecodedText, Memory};

/// Bytes of text, from which on a chunk ends with its block.
const TEXT_BYTES: usize = 8 << 20;
/// The most bytes of text of a chunk.
const MOST_TEXT_BYTES: usize = 2 * TEXT_BYTES;
/// Bytes of text that could be decoded in the time of one attempt to decode at a position that is no header.
const ATTEMPT_BYTES: usize = 256;

/// A position between two symbols.
pub enum Position {
    /// At a header. The bit is where it begins.
    Start { start: Start, bit: u64 },
    /// In a block, at a bit.
    Within(Box<Inflater>, u64),
}

impl Position {
    pub fn bit(&self) -> u64 {
        match self {
            Self::Start { bit, .. } | Self::Within(_, bit) => *bit,
        }
    }

    /// True if this is the header that a search found.
    pub fn is(&self, found: Start) -> bool {
        matches!(self, Self::Start { start, .. } if *start == found)
    }
}

/// The end of a chunk.
pub enum End {
    /// The text continues.
    At(Position),
    /// The last member has ended, and the file with it.
    File,
    /// The text ends with a fault.
    Fault(Fault),
}

/// The bytes of a file from some byte on, as far as they are needed.
struct Input<'a> {
    raw: &'a Raw,
    /// The offset of the first byte.
    offset: u64,
    bytes: Vec<u8>,
    /// The number of the next part.
    next: usize,
}

impl<'a> Input<'a> {
    /// The input from a byte on, which is in a part, or is the end of the file.
    fn new(raw: &'a Raw, number: usize, byte: u64) -> Self {
        let mut input = Self { raw, offset: byte, bytes: Vec::new(), next: number };
        while input.bytes.is_empty() && input.more() {}
        input
    }

    /// Appends the next part. Returns false at the end of the file.
    fn more(&mut self) -> bool {
        let Some(Part { offset, bytes }) = self.raw.part(self.next) else { return false };
        let skipped = self.offset.saturating_sub(offset) as usize;
        self.bytes.extend_from_slice(bytes.get(skipped..).unwrap_or_default());
        self.next += 1;
        true
    }

    /// The three bits of a block's header; fewer at the end of the file.
    fn peek(&mut self, bit: usize) -> u64 {
        while 8 * self.bytes.len() < bit + 3 && self.more() {}
        let two = self.bytes.get(bit / 8..).unwrap_or_default().iter().take(2).rev();
        two.fold(0, |bits, byte| bits << 8 | u64::from(*byte)) >> (bit % 8) & 7
    }
}

/// The next thing that is decoded.
enum Next {
    Header,
    Blocks,
    Trailer,
    /// Zeros after the last member, up to the end.
    Zeros,
}

/// A chunk whose position was found by a search.
pub struct FoundChunk {
    pub start: Start,
    pub text: DecodedText,
    pub end: End,
}

/// Searches a part for a position, and decodes from there. `Err` with the memory if there is no position, if
/// the text is too long, or if too much was decoded at positions that are no headers.
pub fn search(raw: &Raw, number: usize, part: &Part, memory: Memory) -> Result<FoundChunk, Memory> {
    let mut input = Input::new(raw, number, part.offset);
    let text = DecodedText::unknown(memory);
    let mut decoder = Decoder { text, inflater: Inflater::default(), has_proof: false, is_searched: true };
    let (mut from, to, mut wasted) = (0, 8 * part.bytes.len(), 0);
    while let Some(start) = find(&input.bytes, from, to) {
        let bit = start.bit() as usize;
        let next = if matches!(start, Start::Member(_)) { Next::Header } else { Next::Blocks };
        match decoder.run(&mut input, bit, next, 8 * part.end(), None) {
            Some(End::At(Position::Within(..))) => break,
            Some(end) => {
                return Ok(FoundChunk { start: start.plus(8 * part.offset), text: decoder.text, end });
            }
            None => {
                wasted += ATTEMPT_BYTES + decoder.text.len();
                if wasted > TEXT_BYTES {
                    break;
                }
                decoder.text.restart();
                decoder.inflater.restart();
                from = bit + 1;
            }
        }
    }
    Err(decoder.text.into_memory())
}

/// Decodes from a position after a known window, to the first header at or after bit `to`, or to `target`.
pub fn decode(
    raw: &Raw,
    number: usize,
    position: Position,
    window: &[u8],
    to: u64,
    target: Option<Start>,
    memory: Memory,
) -> (DecodedText, End) {
    let bit = position.bit();
    let mut input = Input::new(raw, number, bit / 8);
    let (inflater, next) = match position {
        Position::Start { start: Start::Member(_), .. } => (Inflater::default(), Next::Header),
        Position::Start { .. } => (Inflater::default(), Next::Blocks),
        Position::Within(inflater, _) => (*inflater, Next::Blocks),
    };
    let text = DecodedText::known(memory, window);
    let mut decoder = Decoder { text, inflater, has_proof: true, is_searched: false };
    let end = decoder.run(&mut input, (bit % 8) as usize, next, to, target);
    (decoder.text, end.unwrap_or(End::Fault(Fault::Block)))
}

struct Decoder {
    text: DecodedText,
    inflater: Inflater,
    /// True if a block has been decoded. What a search has found may be no header.
    has_proof: bool,
    /// True if the position was found by a search. The window is then unknown.
    is_searched: bool,
}

impl Decoder {
    /// Decodes from a bit of the input. `None` if that was no header.
    fn run(
        &mut self,
        input: &mut Input<'_>,
        mut bit: usize,
        mut next: Next,
        to: u64,
        target: Option<Start>,
    ) -> Option<End> {
        let base = 8 * input.offset;
        let first = bit;
        // A position at which the chunk may end.
        let is_end = |start: Start, bit: usize, text: &DecodedText| {
            bit != first && (base + bit as u64 >= to || target == Some(start) || text.len() >= TEXT_BYTES)
        };
        let fault = loop {
            match next {
                Next::Header => {
                    let byte = bit / 8;
                    let start = Start::Member(input.offset + byte as u64);
                    if is_end(start, bit, &self.text) {
                        let position = Position::Start { start, bit: base + bit as u64 };
                        return Some(End::At(position));
                    }
                    // Zeros after a member are padding, up to the end of the file.
                    if base + bit as u64 > 0 && input.bytes.get(byte) == Some(&0) {
                        next = Next::Zeros;
                        continue;
                    }
                    match header(&input.bytes[byte..]) {
                        Ok(Some(length)) => {
                            bit += 8 * length;
                            self.text.begin_member();
                            self.inflater.restart();
                            next = Next::Blocks;
                        }
                        Ok(None) if input.more() => {}
                        Ok(None) if byte == input.bytes.len() && base + bit as u64 > 0 => {
                            return Some(End::File);
                        }
                        Ok(None) => break Fault::Ends,
                        Err(fault) => break fault,
                    }
                }
                Next::Zeros => {
                    if input.bytes[bit / 8..].iter().any(|byte| *byte != 0) {
                        break Fault::Header;
                    }
                    bit = 8 * input.bytes.len();
                    if !input.more() {
                        return Some(End::File);
                    }
                }
                Next::Blocks => match self.text.run(&mut self.inflater, &input.bytes, &mut bit) {
                    Stopped::Input if input.more() => {}
                    Stopped::Input => break Fault::EndsInBlock,
                    Stopped::Fault => break Fault::Block,
                    Stopped::Output if self.text.len() < MOST_TEXT_BYTES => self.text.grow(),
                    Stopped::Output => {
                        let position =
                            Position::Within(Box::new(std::mem::take(&mut self.inflater)), base + bit as u64);
                        return Some(End::At(position));
                    }
                    Stopped::Block => {
                        self.has_proof = true;
                        let start = Start::of_block(base + bit as u64, input.peek(bit));
                        if is_end(start, bit, &self.text) {
                            let position = Position::Start { start, bit: base + bit as u64 };
                            return Some(End::At(position));
                        }
                        self.text.settle();
                    }
                    Stopped::Last => {
                        self.has_proof = true;
                        bit = bit.next_multiple_of(8);
                        next = Next::Trailer;
                    }
                },
                Next::Trailer => match Trailer::of(&input.bytes[bit / 8..]) {
                    Some(trailer) => {
                        self.text.members.push((self.text.len(), trailer));
                        bit += 8 * TRAILER_BYTES;
                        next = Next::Header;
                    }
                    None if input.more() => {}
                    None => break Fault::Ends,
                },
            }
        };
        (self.has_proof || !self.is_searched).then_some(End::Fault(fault))
    }
}
