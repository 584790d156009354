//! Batches of frames, decoded by several threads.

use std::io::{self, Cursor, Read};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpath_core::cancel::{Interrupt, Stop};
use warpath_core::pool::stream::{Limits, Stream, Turn, Work};

use super::{Ahead, Body, FrameFormat, NextPiece, Pieces, Walk, Window, sequential};

/// Sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Frames and their text from which on a batch is complete.
    pub batch: [usize; 2],
    /// The longest frame of a batch, and its longest text.
    pub frame: [usize; 2],
    /// The longest frame at the beginning, if its header does not say the size of its text. The data often is
    /// a single frame, and nothing is decoded until the end of the frame is found.
    pub first: usize,
}

/// A thread holds one frame and its text, so these bound the memory. A batch is long in comparison with the
/// work of handing it on, and short in comparison with a cache.
const SIZES: Sizes = Sizes { batch: [512 << 10, 2 << 20], frame: [16 << 20, 32 << 20], first: 1 << 20 };
/// Bytes of text that are assumed for each byte of a frame whose header does not say its size.
const TEXT_OF_BYTE: usize = 4;
/// Bytes by which the room for a text grows. They are still in the cache when the text is written.
const ROOM: usize = 128 << 10;

/// The text of frames, decoded by several threads.
///
/// Text and errors are those of [`sequential`](super::sequential). The input is read ahead, so it should not
/// be one that waits. Each thread takes 48 MiB at most, and the decoder's memory; one more batch waits.
pub(in super::super) struct ParallelFrames<F: FrameFormat> {
    sizes: Sizes,
    threads: usize,
    /// Holds the data between two frames; the threads, or the decoder of one frame, return it.
    home: Home,
    state: State<F>,
}

type Home = Arc<Mutex<Option<FrameData>>>;

enum State<F: FrameFormat> {
    /// Before a frame; the data is at home.
    Between,
    /// The threads, the text that is handed out, and the bytes of it that have been.
    Batches(Stream<Decoding<F>>, Current),
    /// One frame, or the last batch.
    Single(Box<dyn Read + Send>),
    Ended,
}

/// The text that is handed out.
enum Current {
    /// The bytes up to `end`, from `taken` on; and the error after them.
    Text { text: Vec<u8>, taken: usize, end: usize, error: Option<io::Error> },
    /// A batch whose text is too long.
    Long(Box<dyn Read + Send>),
}

impl Current {
    fn empty() -> Self {
        Self::Text { text: Vec::new(), taken: 0, end: 0, error: None }
    }
}

impl<F: FrameFormat> ParallelFrames<F> {
    /// The text of frames, decoded by `threads` threads, at least one. There are fewer if the operating
    /// system starts no more.
    pub fn new(raw: Box<dyn Read + Send>, threads: usize) -> Self {
        Self::with_sizes(raw, threads, SIZES)
    }

    pub(super) fn with_sizes(raw: Box<dyn Read + Send>, threads: usize, sizes: Sizes) -> Self {
        let data = FrameData { window: Window::new(raw), first: None, passed: usize::MAX };
        Self { sizes, threads, home: Arc::new(Mutex::new(Some(data))), state: State::Between }
    }

    /// Starts to decode the next frames: by threads, if there are several batches.
    fn start(&self) -> io::Result<State<F>> {
        let gone = || io::Error::other("a thread that decompresses has failed");
        let mut lent = Lent::new(&self.home).ok_or_else(gone)?;
        let Sizes { frame: [longest, _], first, .. } = self.sizes;
        // The frame that follows one of usual length is probably of usual length, too.
        let longest = if lent.data.passed <= longest { longest } else { first.min(longest) };
        Ok(match lent.data.next::<F::Body>(self.sizes, longest, Vec::new) {
            Next::End => State::Ended,
            Next::Single => {
                lent.data.passed = 0;
                State::Single(F::reader(Pieces::<_, F::Body>::of_one(lent).boxed())?)
            }
            Next::Batch(batch) if lent.data.window.is_at_end() => State::Single(batch.reader::<F>()?),
            Next::Batch(batch) => {
                lent.data.first = Some(batch);
                let work = Decoding { sizes: self.sizes, spare: Mutex::default(), format: PhantomData };
                let limits = Limits { threads: self.threads, jobs: self.threads + 1, slow_start: None };
                let stream = Stream::start(work, lent, limits, Interrupt::default());
                State::Batches(stream.map_err(io::Error::other)?, Current::empty())
            }
        })
    }
}

impl<F: FrameFormat> Read for ParallelFrames<F> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        loop {
            let read = match &mut self.state {
                State::Ended => return Ok(0),
                State::Between => match self.start() {
                    Ok(state) => {
                        self.state = state;
                        continue;
                    }
                    Err(error) => Err(error),
                },
                State::Single(reader) => reader.read(room),
                State::Batches(stream, current) => current.read(stream, room),
            };
            match read {
                Ok(0) => self.state = State::Between,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    self.state = State::Ended;
                    return Err(error);
                }
                read => return read,
            }
        }
    }
}

impl Current {
    /// Reads some text; none after the last batch.
    fn read<F: FrameFormat>(&mut self, stream: &Stream<Decoding<F>>, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Self::Text { text, taken, end, error } => {
                    if taken < end {
                        let count = room.len().min(*end - *taken);
                        room[..count].copy_from_slice(&text[*taken..*taken + count]);
                        *taken += count;
                        return Ok(count);
                    }
                    if let Some(error) = error.take() {
                        return Err(error);
                    }
                    stream.work().spare().texts.push(std::mem::take(text));
                }
                Self::Long(reader) => match reader.read(room)? {
                    0 => {}
                    count => return Ok(count),
                },
            }
            *self = match stream.next() {
                None => return Ok(0),
                Some(Err(error)) => return Err(io::Error::other(error)),
                Some(Ok(Made::Text { text, end, error })) => Self::Text { text, taken: 0, end, error },
                Some(Ok(Made::Long(batch))) => Self::Long(batch.reader::<F>()?),
            };
        }
    }
}

/// The data, which returns home when this is dropped.
struct Lent {
    data: FrameData,
    home: Home,
}

impl Lent {
    /// Takes the data from home; `None` if it is not there.
    fn new(home: &Home) -> Option<Self> {
        let data = home.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Self { data, home: home.clone() })
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let data = std::mem::take(&mut self.data);
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = Some(data);
    }
}

impl Ahead for Lent {
    fn look(&mut self, count: usize) -> &[u8] {
        self.data.window.look(count)
    }

    fn skip(&mut self, count: usize) {
        self.data.window.skip(count);
        self.data.passed += count;
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.data.window.read(room)?;
        self.data.passed += count;
        Ok(count)
    }

    fn take_error(&mut self) -> Option<io::Error> {
        self.data.window.take_error()
    }
}

/// Whole frames.
struct FrameBatch {
    bytes: Vec<u8>,
    range: Range<usize>,
}

impl FrameBatch {
    /// The text of the frames, decoded in the thread that reads.
    fn reader<F: FrameFormat>(self) -> io::Result<Box<dyn Read + Send>> {
        let Self { bytes, range } = self;
        let mut frames = Cursor::new(bytes);
        frames.set_position(range.start as u64);
        sequential::<F>(Box::new(frames.take(range.len() as u64)))
    }
}

/// The frames that come next.
enum Next {
    Batch(FrameBatch),
    /// A frame that the thread that reads decodes, or bytes that are no frame, or an error of the reader.
    Single,
    End,
}

/// The data from the beginning of a frame on.
struct FrameData {
    window: Window,
    /// A batch that comes before the bytes of the window.
    first: Option<FrameBatch>,
    /// Bytes of the frame that was decoded last by the thread that reads. At first, more than any frame has.
    passed: usize,
}

impl Default for FrameData {
    fn default() -> Self {
        Self { window: Window::new(Box::new(io::empty())), first: None, passed: usize::MAX }
    }
}

impl FrameData {
    /// Finds the next batch, and takes it out. A frame whose header does not say the size of its text has at
    /// most `longest` bytes. `room` returns memory for the bytes after the batch.
    fn next<B: Body>(&mut self, sizes: Sizes, longest: usize, room: impl FnOnce() -> Vec<u8>) -> Next {
        if let Some(batch) = self.first.take() {
            return Next::Batch(batch);
        }
        let mut walk = Walk::<B>::new();
        // The ends of the last piece and of the last frame, and the text of the frames.
        let (mut at, mut end, mut text) = (0, 0, 0);
        let mut needs = 1;
        while end < sizes.batch[0] && text < sizes.batch[1] {
            let bytes = self.window.look(at + needs).get(at..).unwrap_or_default();
            let step = if bytes.len() < needs { NextPiece::Broken } else { walk.step(bytes) };
            match step {
                NextPiece::Needs(count) => needs = count,
                NextPiece::Broken => break,
                NextPiece::Piece { len, is_last } => {
                    (at, needs) = (at + len, 1);
                    let said = walk.text_bytes().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
                    let is_long = match said {
                        Some(said) => said > sizes.frame[1] || at - end > sizes.frame[0],
                        None => at - end > longest,
                    };
                    if is_long || is_last && self.window.look(at).len() < at {
                        break;
                    }
                    if is_last {
                        text += said.unwrap_or(TEXT_OF_BYTE * (at - end));
                        end = at;
                    }
                }
            }
        }
        match end {
            0 if self.window.is_at_end() => Next::End,
            0 => Next::Single,
            _ => Next::Batch(self.window.split(end, room())),
        }
    }
}

impl Window {
    /// True if no byte follows, nor an error.
    fn is_at_end(&mut self) -> bool {
        self.look(1).is_empty() && self.error.is_none()
    }

    /// Takes out the next `count` bytes, which were looked at. The rest goes to other memory.
    fn split(&mut self, count: usize, mut other: Vec<u8>) -> FrameBatch {
        let (begin, end) = (self.begin, self.begin + count);
        let rest = &self.bytes[end..self.end];
        if other.len() < rest.len() {
            other.resize(rest.len(), 0);
        }
        other[..rest.len()].copy_from_slice(rest);
        (self.begin, self.end) = (0, rest.len());
        FrameBatch { bytes: std::mem::replace(&mut self.bytes, other), range: begin..end }
    }
}

/// The work of the threads.
struct Decoding<F> {
    sizes: Sizes,
    spare: Mutex<Spare>,
    format: PhantomData<fn() -> F>,
}

/// Memory that is used again. Each is as long as it was ever needed.
#[derive(Default)]
struct Spare {
    frames: Vec<Vec<u8>>,
    texts: Vec<Vec<u8>>,
}

/// A batch, decoded.
enum Made {
    /// The text up to `end`, and the error after it.
    Text { text: Vec<u8>, end: usize, error: Option<io::Error> },
    /// A batch whose text is too long.
    Long(FrameBatch),
}

impl<F> Decoding<F> {
    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: FrameFormat> Work for Decoding<F> {
    type Source = Lent;
    type Job = FrameBatch;
    type Made = Made;
    type State<'a> = F::State;

    fn next(&self, source: &mut Lent, _: &Stop) -> Option<FrameBatch> {
        let room = || self.spare().frames.pop().unwrap_or_default();
        match source.data.next::<F::Body>(self.sizes, self.sizes.frame[0], room) {
            Next::Batch(batch) => Some(batch),
            Next::Single | Next::End => None,
        }
    }

    fn may_go_on(&self, _: &Lent) -> bool {
        true
    }

    fn make(&self, _: Turn, state: &mut F::State, batch: FrameBatch) -> Made {
        let most = self.sizes.batch[1] + self.sizes.frame[1];
        let mut text = self.spare().texts.pop().unwrap_or_default();
        let mut end = 0;
        let frames = Pieces::<_, F::Body>::new(&batch.bytes[batch.range.clone()]).boxed();
        let read = F::read(state, frames, &mut |reader| {
            loop {
                if end == text.len() {
                    if end >= most {
                        return Ok(());
                    }
                    text.resize((end + ROOM).min(most), 0);
                }
                match reader.read(&mut text[end..]) {
                    Ok(0) => return Ok(()),
                    Ok(count) => end += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        });
        if read.is_ok() && end >= most {
            self.spare().texts.push(text);
            return Made::Long(batch);
        }
        self.spare().frames.push(batch.bytes);
        Made::Text { text, end, error: read.err() }
    }
}
