//! Data in frames, one after the other, decoded by one thread or by several.
//!
//! A frame depends on no other frame, and the headers of its blocks say where it ends (RFC 8878, section
//! 3.1). So frames are found without decoding, from header to header:
//!
//! ```text
//!   the data   [ frame ][ frame ][ frame ][ a frame that is too long      …][ frame ][ frame ]
//!   batches    |---- thread 0 ---|- thr. 1|                                 |--- thread 0 ---|
//!   one by one                            |- the thread that reads ---------|
//! ```
//!
//! Threads decode batches of whole frames. A frame that is too long for that, is damaged or ends early is
//! left to the thread that reads, and so are bytes that are no frame. This thread decodes as [`sequential`]
//! does, and reports the error. Both feed a decoder piece by piece: a header, a block, a checksum. Text and
//! errors therefore depend neither on the number of threads nor on the size of a read.
//!
//! A file may have a seek table, in a frame that is skipped ("Zstandard Seekable Format"). It is not
//! used: the headers of blocks show the same positions, and are read anyway. A table could be wrong.

mod batches;
#[cfg(all(test, feature = "zstd"))]
mod tests;

use std::io::{self, BufRead, Read};

pub(super) use batches::ParallelFrames;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// A format of frames.
pub(super) trait FrameFormat: Send + Sync + Sized + 'static {
    /// The pieces of a frame after its header.
    type Body: Body;
    /// Memory that a thread keeps from one batch to the next.
    type State: Default;

    /// The text of frames.
    ///
    /// # Errors
    /// The error of a decoder that cannot be made.
    fn reader(frames: Frames<'static>) -> io::Result<Box<dyn Read + Send>>;

    /// Passes the text of some whole frames to a function.
    ///
    /// # Errors
    /// The error of a decoder that cannot be made, and that of the function.
    fn read(
        state: &mut Self::State,
        frames: Frames<'_>,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()>;
}

/// Bytes of frames, piece by piece ([`Pieces`]). Decoders get this type alone, because each type that they
/// are compiled for costs seconds of a build.
pub(super) type Frames<'a> = Box<dyn BufRead + Send + 'a>;

/// The frames of a format, apart from those that are skipped. A value is a position in a frame, after its
/// header.
pub(super) trait Body: Sized + Send + 'static {
    /// The first bytes of a frame.
    const MAGIC: [u8; 4];

    /// The header of the frame at the beginning of `bytes`.
    ///
    /// # Errors
    /// The number of bytes that are needed, if `bytes` are fewer.
    fn begin(bytes: &[u8]) -> Result<Header<Self>, usize>;

    /// The next piece, at the beginning of `bytes`. `NextPiece::Needs` leaves the position as it is.
    fn step(&mut self, bytes: &[u8]) -> NextPiece;
}

/// The header of a frame.
pub(super) struct Header<B> {
    pub len: usize,
    /// Bytes of text of the frame, if the header says so. Damaged data may say anything.
    pub text_bytes: Option<u64>,
    /// The position after the header.
    pub body: B,
}

/// A position in frames, from piece to piece.
pub(super) struct Walk<B> {
    next: Next<B>,
    text_bytes: Option<u64>,
}

/// The next piece.
enum Next<B> {
    Header,
    Body(B),
    /// Bytes of a frame that is skipped.
    Skipped(u32),
}

impl<B: Body> Walk<B> {
    /// The beginning of a frame.
    pub fn new() -> Self {
        Self { next: Next::Header, text_bytes: None }
    }

    /// Bytes of text of the frame, if its header says so. Damaged data may say anything.
    pub fn text_bytes(&self) -> Option<u64> {
        self.text_bytes
    }

    /// The next piece, at the beginning of `bytes`. `NextPiece::Needs` leaves the position as it is.
    pub fn step(&mut self, bytes: &[u8]) -> NextPiece {
        let step = match &mut self.next {
            Next::Header => self.header(bytes),
            Next::Body(body) => body.step(bytes),
            Next::Skipped(left) => {
                let (len, rest) = part(*left);
                *left = rest;
                NextPiece::Piece { len, is_last: rest == 0 }
            }
        };
        if let NextPiece::Piece { is_last: true, .. } = step {
            self.next = Next::Header;
        }
        step
    }

    fn header(&mut self, bytes: &[u8]) -> NextPiece {
        match Beginning::of(bytes, B::MAGIC) {
            Beginning::Needs(count) => NextPiece::Needs(count),
            Beginning::Skipped(len) => {
                (self.text_bytes, self.next) = (Some(0), Next::Skipped(len));
                NextPiece::Piece { len: 8, is_last: len == 0 }
            }
            Beginning::Other if !bytes.starts_with(&B::MAGIC) => NextPiece::Broken,
            Beginning::Other => match B::begin(bytes) {
                Err(count) => NextPiece::Needs(count),
                Ok(Header { len, text_bytes, body }) => {
                    (self.text_bytes, self.next) = (text_bytes, Next::Body(body));
                    NextPiece::Piece { len, is_last: false }
                }
            },
        }
    }
}

/// The next piece of some data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextPiece {
    /// At least this many bytes are needed to know the piece.
    Needs(usize),
    /// A piece, which is the last of its frame or not. It may be longer than the bytes that are there.
    Piece { len: usize, is_last: bool },
    /// Bytes that no frame has here. The decoder refuses them.
    Broken,
}

/// The beginning of a frame, as far as skipped frames show.
enum Beginning {
    /// At least this many bytes are needed.
    Needs(usize),
    /// A frame that is skipped: a header of eight bytes, and this many bytes more.
    Skipped(u32),
    /// Four bytes of another magic number, or fewer that do not begin the format's own.
    Other,
}

impl Beginning {
    /// The beginning of a frame of zstd or LZ4, whose magic number is `own`. Both have the same frames that
    /// are skipped (RFC 8878, section 3.1.2).
    fn of(bytes: &[u8], own: [u8; 4]) -> Self {
        let known = &bytes[..bytes.len().min(4)];
        let is_skipped = match known {
            [0x50..=0x5f, rest @ ..] => [0x2a, 0x4d, 0x18].starts_with(rest),
            _ => known.is_empty(),
        };
        match bytes.first_chunk::<8>() {
            Some([_, _, _, _, len @ ..]) if is_skipped => Self::Skipped(u32::from_le_bytes(*len)),
            None if is_skipped && known.len() == 4 => Self::Needs(8),
            _ if known.len() < 4 && (is_skipped || own.starts_with(known)) => Self::Needs(known.len() + 1),
            _ => Self::Other,
        }
    }
}

/// The next piece of `left` bytes that a decoder need not get at once, and the number of bytes after it.
pub(super) fn part(left: u32) -> (usize, u32) {
    /// Bytes that are passed on at once.
    const MOST: u32 = 256 << 10;
    let len = left.min(MOST);
    (len as usize, left - len)
}

/// The text of frames, decoded in the thread that reads.
pub(super) fn sequential<F: FrameFormat>(raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    F::reader(Pieces::<_, F::Body>::new(Window::new(raw)).boxed())
}

/// Bytes of which as many as necessary can be looked at.
pub(super) trait Ahead: Send {
    /// The bytes that come next, at least `count` of them; fewer before the end, or before an error of the
    /// reader.
    fn look(&mut self, count: usize) -> &[u8];

    /// Drops bytes that were looked at.
    fn skip(&mut self, count: usize);

    /// Reads some of the bytes that come next; none at the end.
    ///
    /// # Errors
    /// The error of the reader, if it has ended the data.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read_looked_at(room)
    }

    /// Copies some of the bytes that come next; none at the end.
    ///
    /// # Errors
    /// The error of the reader, if it has ended the data.
    fn read_looked_at(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.look(1);
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.skip(count);
        match count {
            0 => self.take_error().map_or(Ok(0), Err),
            _ => Ok(count),
        }
    }

    /// Returns the error of the reader, if it has ended the data.
    fn take_error(&mut self) -> Option<io::Error> {
        None
    }
}

impl Ahead for &[u8] {
    fn look(&mut self, _: usize) -> &[u8] {
        self
    }

    fn skip(&mut self, count: usize) {
        *self = &self[count..];
    }
}

/// The bytes of a reader.
pub(super) struct Window {
    raw: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    /// The bytes that were read, and not skipped.
    begin: usize,
    end: usize,
    has_ended: bool,
    error: Option<io::Error>,
}

impl Window {
    fn new(raw: Box<dyn Read + Send>) -> Self {
        Self { raw, bytes: Vec::new(), begin: 0, end: 0, has_ended: false, error: None }
    }

    /// Reads some bytes more.
    fn fill(&mut self) {
        // The same memory is used again, as soon as there is enough of it, so that it stays in the cache.
        if self.begin >= READ_BYTES {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        let end = self.end + READ_BYTES;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        match self.raw.read(&mut self.bytes[self.end..end]) {
            Ok(0) => self.has_ended = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => (self.has_ended, self.error) = (true, Some(error)),
        }
    }
}

impl Ahead for Window {
    fn look(&mut self, count: usize) -> &[u8] {
        while self.end - self.begin < count && !self.has_ended {
            self.fill();
        }
        &self.bytes[self.begin..self.end]
    }

    fn skip(&mut self, count: usize) {
        self.begin += count;
    }

    /// Many bytes go straight into `room`, where no other bytes wait.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.begin < self.end || self.has_ended || room.len() < READ_BYTES / 4 {
            return self.read_looked_at(room);
        }
        let read = self.raw.read(room);
        self.has_ended = match &read {
            Ok(count) => *count == 0,
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        };
        read
    }

    fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }
}

/// A reader whose buffer is always one piece, or the rest of one.
///
/// Decoders decode all that they are given, and lose what they have decoded if they find a fault. With one
/// piece at a time they lose nothing of the pieces before it. zstd's also decodes a whole frame at once if it
/// is there, and then reports other faults than otherwise.
pub(super) struct Pieces<A, B> {
    ahead: A,
    walk: Walk<B>,
    /// Bytes of the piece that have not been read.
    left: usize,
    /// True if the piece is the last of its frame.
    is_last: bool,
    /// True if the data ends for the decoder where the frame ends.
    is_single: bool,
}

impl<A: Ahead, B: Body> Pieces<A, B> {
    pub(super) fn new(ahead: A) -> Self {
        Self { ahead, walk: Walk::new(), left: 0, is_last: false, is_single: false }
    }

    /// The pieces of the first frame.
    fn of_one(ahead: A) -> Self {
        Self { is_single: true, ..Self::new(ahead) }
    }

    fn boxed<'a>(self) -> Frames<'a>
    where
        Self: 'a,
    {
        Box::new(self)
    }

    /// Finds the next piece.
    fn advance(&mut self) {
        let mut needs = 1;
        loop {
            let bytes = self.ahead.look(needs);
            // The decoder knows what a frame that is cut means.
            if bytes.len() < needs {
                (self.left, self.is_last) = (bytes.len(), false);
                return;
            }
            match self.walk.step(bytes) {
                NextPiece::Needs(count) => needs = count,
                NextPiece::Piece { len, is_last } => {
                    (self.left, self.is_last) = (len, is_last);
                    return;
                }
                NextPiece::Broken => {
                    (self.left, self.is_last) = (bytes.len(), false);
                    return;
                }
            }
        }
    }
}

impl<A: Ahead, B: Body> BufRead for Pieces<A, B> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            if self.is_last && self.is_single {
                return Ok(&[]);
            }
            self.advance();
        }
        let left = self.left;
        if self.ahead.look(left).is_empty() {
            // The error is reported after all bytes before it.
            return self.ahead.take_error().map_or(Ok(&[]), Err);
        }
        let bytes = self.ahead.look(left);
        Ok(&bytes[..left.min(bytes.len())])
    }

    fn consume(&mut self, count: usize) {
        self.ahead.skip(count);
        self.left -= count;
    }
}

impl<A: Ahead, B: Body> Read for Pieces<A, B> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if self.is_last && self.is_single {
                return Ok(0);
            }
            self.advance();
        }
        if self.left == 0 {
            return self.ahead.take_error().map_or(Ok(0), Err);
        }
        let most = room.len().min(self.left);
        let count = self.ahead.read(&mut room[..most])?;
        self.left -= count;
        Ok(count)
    }
}
