//! Frames of LZ4 (lz4_Frame_format.md, version 1.6.4).

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

use super::frames::{Body, FrameFormat, Frames, Header, NextPiece, part};

/// The most bytes of a block.
const BLOCK_BYTES: u32 = 4 << 20;

/// Frames of LZ4.
pub(super) struct Lz4;

impl FrameFormat for Lz4 {
    type Body = Lz4Body;
    type State = ();

    fn reader(frames: Frames<'static>) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Lz4Decoder::new(frames)))
    }

    fn read(
        (): &mut (),
        frames: Frames<'_>,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        read(&mut Lz4Decoder::new(frames))
    }
}

/// The next piece of a frame.
pub(super) struct Lz4Body {
    block_has_checksum: bool,
    text_has_checksum: bool,
    /// Bytes of a block that were not passed on; 0 before the size of a block, or the mark of the end.
    left: u32,
}

impl Body for Lz4Body {
    const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();

    fn begin(bytes: &[u8]) -> Result<Header<Self>, usize> {
        let flags = bytes.get(4).ok_or(5_usize)?;
        let has = |bit: u8| flags >> bit & 1 != 0;
        let (has_size, has_dictionary) = (has(3), has(0));
        // The magic number, flags, the size of blocks, the size of the text, a dictionary and a checksum.
        let len = 7 + 8 * usize::from(has_size) + 4 * usize::from(has_dictionary);
        let text_bytes = match bytes.get(6..).and_then(|rest| rest.first_chunk()) {
            _ if !has_size => None,
            Some(size) => Some(u64::from_le_bytes(*size)),
            None => return Err(len),
        };
        let body = Self { block_has_checksum: has(4), text_has_checksum: has(2), left: 0 };
        Ok(Header { len, text_bytes, body })
    }

    fn step(&mut self, bytes: &[u8]) -> NextPiece {
        if self.left > 0 {
            let (len, left) = part(self.left);
            self.left = left;
            return NextPiece::Piece { len, is_last: false };
        }
        let Some(size) = bytes.first_chunk() else { return NextPiece::Needs(4) };
        // The highest bit says that the block is not compressed.
        let size = u32::from_le_bytes(*size) & 0x7fff_ffff;
        if size > BLOCK_BYTES {
            return NextPiece::Broken;
        }
        if size == 0 {
            return NextPiece::Piece { len: 4 + 4 * usize::from(self.text_has_checksum), is_last: true };
        }
        self.left = size + 4 * u32::from(self.block_has_checksum);
        NextPiece::Piece { len: 4, is_last: false }
    }
}

/// Decompresses frames of LZ4, until the data ends after one. Frames that are to be skipped are skipped.
///
/// The decoder of one frame takes an end of the data between two blocks as the end of its frame. This reader
/// therefore notes whether the decoder met the end of the data: a frame that ends by its end mark reads no
/// byte after it.
///
/// Each frame has a decoder of its own, because one decoder expects that all frames have the same kind of
/// blocks.
struct Lz4Decoder<'a> {
    /// The decoder of the frame that is read, or is read next; always there.
    frame: Option<FrameDecoder<Noted<'a>>>,
    /// True within a frame.
    within: bool,
}

/// A reader that notes that its data has ended.
struct Noted<'a> {
    /// Bytes that were read ahead of the decoder.
    ahead: [u8; 4],
    /// The number of those that the decoder has not read yet.
    left: usize,
    raw: Frames<'a>,
    ended: bool,
}

impl Read for Noted<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.left > 0 {
            let count = self.left.min(room.len());
            let from = self.ahead.len() - self.left;
            room[..count].copy_from_slice(&self.ahead[from..from + count]);
            self.left -= count;
            return Ok(count);
        }
        let count = self.raw.read(room)?;
        self.ended |= count == 0 && !room.is_empty();
        Ok(count)
    }
}

impl<'a> Lz4Decoder<'a> {
    fn new(raw: Frames<'a>) -> Self {
        let noted = Noted { ahead: [0; 4], left: 0, raw, ended: false };
        Self { frame: Some(FrameDecoder::new(noted)), within: false }
    }
}

impl Noted<'_> {
    /// Reads ahead to the beginning of the next frame. Returns false if the data has ended.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.raw.fill_buf()?.is_empty() {
                return Ok(false);
            }
            self.raw.read_exact(&mut self.ahead)?;
            if !matches!(self.ahead, [0x50..=0x5f, 0x2a, 0x4d, 0x18]) {
                self.left = self.ahead.len();
                return Ok(true);
            }
            let mut len = [0; 4];
            self.raw.read_exact(&mut len)?;
            let len = u64::from(u32::from_le_bytes(len));
            if io::copy(&mut (&mut self.raw).take(len), &mut io::sink())? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl Read for Lz4Decoder<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(frame) = &mut self.frame else { return Ok(0) };
            if !self.within && !frame.get_mut().begin()? {
                return Ok(0);
            }
            self.within = true;
            let count = frame.read(room)?;
            if count > 0 {
                return Ok(count);
            }
            if frame.get_ref().ended {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the frame has no end mark"));
            }
            self.within = false;
            self.frame = self.frame.take().map(|frame| FrameDecoder::new(frame.into_inner()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use warpath_random::Rng;

    use super::super::frames::{ParallelFrames, sequential};
    use super::*;

    type Outcome = (Vec<u8>, Option<String>);

    fn outcome(mut reader: impl Read) -> Outcome {
        let mut text = Vec::new();
        let error = reader.read_to_end(&mut text).err();
        (text, error.map(|error| error.to_string()))
    }

    fn frame(random: &mut Rng, text: &[u8]) -> Vec<u8> {
        let mut info = FrameInfo::new().block_size(BlockSize::Max64KB);
        info.block_mode = [BlockMode::Independent, BlockMode::Linked][random.below(2)];
        info.block_checksums = random.below(2) == 0;
        info.content_checksum = random.below(2) == 0;
        info.content_size = (random.below(2) == 0).then_some(text.len() as u64);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Frames, whole and damaged, decoded by one thread and by several.
    #[test]
    fn several_threads_decode_as_one_does() {
        let mut random = Rng::new(1);
        for case in 0..60 {
            let (mut packed, mut all) = (Vec::new(), Vec::new());
            // Batches have half a MiB.
            for _ in 0..10 + random.below(30) {
                if random.below(5) == 0 {
                    packed.extend_from_slice(b"\x53\x2a\x4d\x18\x03\0\0\0xyz");
                }
                let text: Vec<u8> = (0..random.below(150_000)).map(|_| random.below(200) as u8).collect();
                packed.extend(frame(&mut random, &text));
                all.extend(text);
            }
            let whole = outcome(sequential::<Lz4>(Box::new(Cursor::new(packed.clone()))).unwrap());
            assert!(whole == (all, None), "case {case}: {:?}", whole.1);
            match random.below(4) {
                0 => {}
                1 => packed.truncate(random.below(packed.len())),
                2 => packed.extend_from_slice(&b"\x04\x22\x4d\x18garbage"[random.below(5)..]),
                _ => {
                    let at = random.below(packed.len());
                    packed[at] ^= 1 << random.below(8);
                }
            }
            let one = outcome(sequential::<Lz4>(Box::new(Cursor::new(packed.clone()))).unwrap());
            let library = outcome(Lz4Decoder::new(Box::new(&packed[..])));
            assert!(one == library, "case {case}: {:?} and {:?}", one.1, library.1);
            let threads = 1 + random.below(3);
            let several = outcome(ParallelFrames::<Lz4>::new(Box::new(Cursor::new(packed)), threads));
            assert_eq!(several.1, one.1, "case {case}");
            assert!(several.0 == one.0, "case {case}: {} and {} bytes", several.0.len(), one.0.len());
        }
    }
}
