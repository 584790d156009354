//! Frames of Zstandard (RFC 8878, section 3).

use std::io::{self, Read};

use zstd::stream::read::Decoder;
use zstd::zstd_safe::DCtx;

use super::frames::{Body, FrameFormat, Frames, Header, NextPiece};

/// The most bytes of a block (section 3.1.1.2.4).
const BLOCK_BYTES: usize = 128 << 10;

/// Frames of Zstandard.
pub(super) struct Zstd;

impl FrameFormat for Zstd {
    type Body = ZstdBody;
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

/// The next piece of a frame.
pub(super) enum ZstdBody {
    Block { has_checksum: bool },
    Checksum,
}

impl Body for ZstdBody {
    const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

    /// The header of a frame (sections 3.1.1.1 and 3.1.2).
    fn begin(bytes: &[u8]) -> Result<Header<Self>, usize> {
        let descriptor = bytes.get(4).ok_or(5_usize)?;
        let is_single_segment = descriptor >> 5 & 1 != 0;
        let window = usize::from(!is_single_segment);
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = [usize::from(is_single_segment), 2, 4, 8][usize::from(descriptor >> 6)];
        let begin = 5 + window + dictionary;
        let field = bytes.get(begin..begin + size).ok_or(begin + size)?;
        let mut number = [0; 8];
        number[..size].copy_from_slice(field);
        let number = u64::from_le_bytes(number);
        let text_bytes = match size {
            0 => None,
            2 => Some(number + 256),
            _ => Some(number),
        };
        let body = Self::Block { has_checksum: descriptor >> 2 & 1 != 0 };
        Ok(Header { len: begin + size, text_bytes, body })
    }

    fn step(&mut self, bytes: &[u8]) -> NextPiece {
        let Self::Block { has_checksum } = *self else { return NextPiece::Piece { len: 4, is_last: true } };
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
        if is_last && has_checksum {
            *self = Self::Checksum;
        }
        NextPiece::Piece { len: 3 + len, is_last: is_last && !has_checksum }
    }
}
