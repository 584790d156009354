//! Headers and trailers of gzip members (RFC 1952).

use std::io::{self, ErrorKind};

/// The length of a trailer: checksum and size of the text.
pub const TRAILER_BYTES: usize = 8;
/// The shortest header.
const SHORTEST: usize = 10;
/// The longest name and comment, so that bytes without an end do not fill the memory.
const LONGEST_FIELD: usize = 16 << 20;

const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0xe0;

/// The reason why a member cannot be read.
#[derive(Debug)]
pub enum Fault {
    /// The bytes are no header of a member.
    Header,
    /// A name or a comment is longer than 16 MiB.
    Field,
    /// The data ends in a header or a trailer.
    Ends,
    /// The data ends in a block.
    EndsInBlock,
    /// A block is not valid.
    Block,
    /// The checksum or the size of a text, or the checksum of a header, is not the one that is stored.
    Checksum,
    /// The input cannot be read.
    Io(io::Error),
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        let invalid = |message| Self::new(ErrorKind::InvalidInput, message);
        match fault {
            Fault::Header => invalid("invalid gzip header"),
            Fault::Field => invalid("gzip header field too long"),
            Fault::Ends => ErrorKind::UnexpectedEof.into(),
            Fault::EndsInBlock => Self::new(ErrorKind::UnexpectedEof, "incomplete deflate stream"),
            Fault::Block => invalid("corrupt deflate stream"),
            Fault::Checksum => invalid("corrupt gzip stream does not have a matching checksum"),
            Fault::Io(error) => error,
        }
    }
}

/// The length of the header at the beginning of `bytes`; `None` if the header does not end in them.
pub fn header(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let Some(first) = bytes.get(..SHORTEST) else { return Ok(None) };
    let flags = first[3];
    if first[..3] != *b"\x1f\x8b\x08" || flags & RESERVED != 0 {
        return Err(Fault::Header);
    }
    let mut end = SHORTEST;
    if flags & HAS_EXTRA != 0 {
        let Some(length) = number(bytes, end) else { return Ok(None) };
        end += 2 + usize::from(length);
    }
    for flag in [HAS_NAME, HAS_COMMENT] {
        if flags & flag != 0 {
            let rest = bytes.get(end..).unwrap_or_default();
            match rest.iter().take(LONGEST_FIELD + 1).position(|byte| *byte == 0) {
                Some(length) => end += length + 1,
                None if rest.len() > LONGEST_FIELD => return Err(Fault::Field),
                None => return Ok(None),
            }
        }
    }
    if flags & HAS_CHECKSUM != 0 {
        let Some(stored) = number(bytes, end) else { return Ok(None) };
        if crc32fast::hash(&bytes[..end]) as u16 != stored {
            return Err(Fault::Checksum);
        }
        end += 2;
    }
    Ok((end <= bytes.len()).then_some(end))
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The checksum and the size, modulo 2³², of a member's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    pub checksum: u32,
    pub size: u32,
}

impl Trailer {
    /// The trailer at the beginning of `bytes`; `None` if there are too few.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let (checksum, rest) = bytes.split_first_chunk()?;
        let size = rest.first_chunk()?;
        Some(Self { checksum: u32::from_le_bytes(*checksum), size: u32::from_le_bytes(*size) })
    }
}
