//! Frames of Zstandard (RFC 8878, section 3).

use std::io::{self, Read};

use zstd::stream::read::Decoder;
use zstd::zstd_safe::DCtx;

use super::frames::{Beginning, FrameFormat, Frames, NextPiece, Walk, part};

/// The most bytes of a block (section 3.1.1.2.4).
const BLOCK_BYTES: usize = 128 << 10;
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Frames of Zstandard.
pub(super) struct Zstd;

impl FrameFormat for Zstd {
    type Walk = ZstdWalk;
    type State = Option<DCtx<'static>>;

    fn reader(frames: Frames<'static>) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Decoder::with_buffer(frames)?))
    }

    fn read(
        state: &mut Self::State,
        frames: Frames<'_>,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        let context = match state {
            Some(context) => context,
            None => state.insert(DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?),
        };
        read(&mut Decoder::with_context(frames, context))
    }
}

/// A position in frames of Zstandard.
#[derive(Debug, Default)]
pub(super) struct ZstdWalk {
    next: Next,
    text_bytes: Option<u64>,
}

/// The next piece.
#[derive(Clone, Copy, Debug, Default)]
enum Next {
    #[default]
    Header,
    Block {
        has_checksum: bool,
    },
    Checksum,
    /// Bytes of a frame that is skipped.
    Skipped(u32),
}

impl Walk for ZstdWalk {
    fn step(&mut self, bytes: &[u8]) -> NextPiece {
        match self.next {
            Next::Header => self.header(bytes),
            Next::Block { has_checksum } => {
                let Some(header) = bytes.first_chunk() else { return NextPiece::Needs(3) };
                let [a, b, c] = *header;
                let header = u32::from_le_bytes([a, b, c, 0]);
                let len = match header >> 1 & 3 {
                    0 | 2 => header as usize >> 3,
                    1 => 1,
                    _ => return NextPiece::Broken,
                };
                if len > BLOCK_BYTES {
                    return NextPiece::Broken;
                }
                let is_last = header & 1 != 0;
                if is_last {
                    self.next = if has_checksum { Next::Checksum } else { Next::Header };
                }
                NextPiece::Piece { len: 3 + len, is_last: is_last && !has_checksum }
            }
            Next::Checksum => {
                self.next = Next::Header;
                NextPiece::Piece { len: 4, is_last: true }
            }
            Next::Skipped(left) => {
                let (len, left) = part(left);
                self.next = if left > 0 { Next::Skipped(left) } else { Next::Header };
                NextPiece::Piece { len, is_last: left == 0 }
            }
        }
    }

    fn text_bytes(&self) -> Option<u64> {
        self.text_bytes
    }
}

impl ZstdWalk {
    /// The header of a frame (sections 3.1.1.1 and 3.1.2).
    fn header(&mut self, bytes: &[u8]) -> NextPiece {
        match Beginning::of(bytes, MAGIC) {
            Beginning::Needs(count) => return NextPiece::Needs(count),
            Beginning::Skipped(len) => {
                self.text_bytes = Some(0);
                self.next = if len > 0 { Next::Skipped(len) } else { Next::Header };
                return NextPiece::Piece { len: 8, is_last: len == 0 };
            }
            Beginning::Other if !bytes.starts_with(&MAGIC) => return NextPiece::Broken,
            Beginning::Other => {}
        }
        let Some(descriptor) = bytes.get(4) else { return NextPiece::Needs(5) };
        let is_single_segment = descriptor >> 5 & 1 != 0;
        let window = usize::from(!is_single_segment);
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = [usize::from(is_single_segment), 2, 4, 8][usize::from(descriptor >> 6)];
        let begin = 5 + window + dictionary;
        let Some(said) = bytes.get(begin..begin + size) else { return NextPiece::Needs(begin + size) };
        let mut number = [0; 8];
        number[..size].copy_from_slice(said);
        let number = u64::from_le_bytes(number);
        self.text_bytes = match size {
            0 => None,
            2 => Some(number + 256),
            _ => Some(number),
        };
        self.next = Next::Block { has_checksum: descriptor >> 2 & 1 != 0 };
        NextPiece::Piece { len: begin + size, is_last: false }
    }
}
