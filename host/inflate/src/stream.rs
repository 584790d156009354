//! Members read from start to end, in the thread that reads.

use std::io::{self, Read};

use crc32fast::Hasher;

use crate::block::{Inflater, ROOM, Stopped, WINDOW};
use crate::member::{Fault, TRAILER_BYTES, Trailer, header};

/// Bytes of input that are read at once.
const INPUT_BYTES: usize = 256 << 10;
/// Bytes of text that are decoded at once: few enough to remain in a core's cache.
const OUTPUT_BYTES: usize = 128 << 10;

/// Text of all members of a gzip file, one after the other. Zeros after the last member are padding.
///
/// A read returns what the input has brought so far, and waits for more only if that is nothing. An error
/// comes after all text before it. It is of kind [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the input
/// ends early, of kind [`InvalidInput`](io::ErrorKind::InvalidInput) if it is not valid, or the error of the
/// reader.
///
/// ```
/// use std::io::Read;
///
/// // `printf 'a\n' | gzip --no-name`
/// let packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03K\xe4\x02\0\x07\xa1\xea\xdd\x02\0\0\0";
/// let mut text = String::new();
/// warpath_inflate::GzipReader::new(&packed[..]).read_to_string(&mut text)?;
/// assert_eq!(text, "a\n");
/// # std::io::Result::Ok(())
/// ```
pub struct GzipReader<R> {
    raw: R,
    input: Vec<u8>,
    /// The bytes of `input` that were read.
    filled: usize,
    /// The first bit of `input` that was not used.
    bit: usize,
    /// True if `raw` has ended.
    ended: bool,
    output: Vec<u8>,
    /// Text that has not been handed out, and its end.
    taken: usize,
    decoded: usize,
    /// The first byte of the member in `output`, or a byte that is more than a window before `decoded`.
    begin: usize,
    inflater: Inflater,
    hasher: Hasher,
    size: u32,
    phase: Phase,
}

/// The phase of decoding, named after the next part of the input.
enum Phase {
    Header,
    Blocks,
    Trailer,
    /// Another member, zeros, or the end.
    Next,
    /// Zeros after the last member, up to the end.
    Zeros,
    /// An error that comes after the text before it.
    Fault(Fault),
    End,
}

impl<R: Read> GzipReader<R> {
    /// The text of gzip data.
    pub fn new(raw: R) -> Self {
        Self {
            raw,
            input: vec![0; INPUT_BYTES],
            filled: 0,
            bit: 0,
            ended: false,
            output: vec![0; WINDOW + OUTPUT_BYTES + ROOM],
            taken: 0,
            decoded: 0,
            begin: 0,
            inflater: Inflater::default(),
            hasher: Hasher::new(),
            size: 0,
            phase: Phase::Header,
        }
    }

    /// Reads more input. At the end of the input, `fault` comes next.
    fn more(&mut self, fault: Option<Fault>) -> io::Result<()> {
        if !self.ended {
            let used = self.bit / 8;
            self.input.copy_within(used..self.filled, 0);
            self.filled -= used;
            self.bit -= 8 * used;
            // Only a header may be longer.
            if self.filled == self.input.len() {
                self.input.resize(2 * self.filled, 0);
            }
            let count = self.raw.read(&mut self.input[self.filled..])?;
            self.ended = count == 0;
            self.filled += count;
        }
        if let Some(fault) = fault.filter(|_| self.ended) {
            self.phase = Phase::Fault(fault);
        }
        Ok(())
    }

    /// Decodes, until there is some text, or an end.
    fn advance(&mut self) -> io::Result<()> {
        while self.taken == self.decoded {
            match &self.phase {
                Phase::Header => match header(&self.input[self.bit / 8..self.filled]) {
                    Ok(Some(length)) => {
                        self.bit += 8 * length;
                        self.begin = self.decoded;
                        (self.hasher, self.size) = (Hasher::new(), 0);
                        self.inflater.restart();
                        self.phase = Phase::Blocks;
                    }
                    Ok(None) => self.more(Some(Fault::Ends))?,
                    Err(fault) => self.phase = Phase::Fault(fault),
                },
                Phase::Blocks => self.blocks()?,
                Phase::Trailer => match Trailer::of(&self.input[self.bit / 8..self.filled]) {
                    Some(trailer) => {
                        let checksum = self.hasher.clone().finalize();
                        if trailer != (Trailer { checksum, size: self.size }) {
                            self.phase = Phase::Fault(Fault::Checksum);
                            continue;
                        }
                        self.bit += 8 * TRAILER_BYTES;
                        self.phase = Phase::Next;
                    }
                    None => self.more(Some(Fault::Ends))?,
                },
                Phase::Next if self.bit < 8 * self.filled => {
                    let is_zero = self.input[self.bit / 8] == 0;
                    self.phase = if is_zero { Phase::Zeros } else { Phase::Header };
                }
                Phase::Zeros if self.bit < 8 * self.filled => {
                    if self.input[self.bit / 8..self.filled].iter().any(|byte| *byte != 0) {
                        self.phase = Phase::Fault(Fault::Header);
                    }
                    self.bit = 8 * self.filled;
                }
                Phase::Next | Phase::Zeros if self.ended => self.phase = Phase::End,
                Phase::Next | Phase::Zeros => self.more(None)?,
                Phase::Fault(_) => {
                    if let Phase::Fault(fault) = std::mem::replace(&mut self.phase, Phase::End) {
                        return Err(fault.into());
                    }
                }
                Phase::End => return Ok(()),
            }
        }
        Ok(())
    }

    /// Decodes blocks until the output is full, or something else is needed.
    fn blocks(&mut self) -> io::Result<()> {
        if self.output.len() - self.decoded < 2 * ROOM {
            let kept = self.decoded.saturating_sub(WINDOW);
            self.output.copy_within(kept..self.decoded, 0);
            self.begin = self.begin.saturating_sub(kept);
            self.decoded -= kept;
            self.taken = self.decoded;
        }
        let (input, from) = (&self.input[..self.filled], self.decoded);
        let stopped = loop {
            let (bit, at) = (&mut self.bit, &mut self.decoded);
            match self.inflater.run(input, bit, &mut self.output, at, self.begin) {
                Stopped::Block => {}
                stopped => break stopped,
            }
        };
        let text = &self.output[from..self.decoded];
        self.hasher.update(text);
        self.size = self.size.wrapping_add(text.len() as u32);
        match stopped {
            Stopped::Input if text.is_empty() => self.more(Some(Fault::EndsInBlock))?,
            Stopped::Input | Stopped::Output | Stopped::Block => {}
            Stopped::Last => {
                self.bit = self.bit.next_multiple_of(8);
                self.phase = Phase::Trailer;
            }
            Stopped::Fault => self.phase = Phase::Fault(Fault::Block),
        }
        Ok(())
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        self.advance()?;
        let text = &self.output[self.taken..self.decoded];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text[..count]);
        self.taken += count;
        Ok(count)
    }
}
