//! Frames of LZ4, one after the other.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

/// Decompresses frames of LZ4, until the data ends after one. Frames that are to be skipped are skipped.
///
/// The decoder of one frame takes an end of the data between two blocks as the end of its frame. This reader
/// therefore notes whether the decoder met the end of the data: a frame that ends by its end mark reads no
/// byte after it.
pub(super) struct Lz4Decoder<R: BufRead> {
    frames: FrameDecoder<Noted<R>>,
    /// True within a frame.
    within: bool,
}

/// A reader that notes that its data has ended.
struct Noted<R> {
    /// Bytes that were read ahead of the decoder.
    ahead: [u8; 4],
    /// The number of those that the decoder has not read yet.
    left: usize,
    raw: R,
    ended: bool,
}

impl<R: BufRead> Read for Noted<R> {
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

impl<R: BufRead> Lz4Decoder<R> {
    pub fn new(raw: R) -> Self {
        let noted = Noted { ahead: [0; 4], left: 0, raw, ended: false };
        Self { frames: FrameDecoder::new(noted), within: false }
    }

    /// Reads ahead to the beginning of the next frame. Returns false if the data has ended.
    fn begin(&mut self) -> io::Result<bool> {
        let noted = self.frames.get_mut();
        loop {
            if noted.raw.fill_buf()?.is_empty() {
                return Ok(false);
            }
            noted.raw.read_exact(&mut noted.ahead)?;
            if !matches!(noted.ahead, [0x50..=0x5f, 0x2a, 0x4d, 0x18]) {
                noted.left = noted.ahead.len();
                return Ok(true);
            }
            let mut len = [0; 4];
            noted.raw.read_exact(&mut len)?;
            let len = u64::from(u32::from_le_bytes(len));
            if io::copy(&mut (&mut noted.raw).take(len), &mut io::sink())? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: BufRead> Read for Lz4Decoder<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within && !self.begin()? {
                return Ok(0);
            }
            self.within = true;
            let count = self.frames.read(room)?;
            if count > 0 {
                return Ok(count);
            }
            if self.frames.get_ref().ended {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the frame has no end mark"));
            }
            self.within = false;
        }
    }
}
