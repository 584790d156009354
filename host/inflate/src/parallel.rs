//! Members read by several threads, in two stages (rapidgzip, Knespel and Brunst 2023).
//!
//! ```text
//!   parts    |---- 0 ----|---- 1 ----|---- 2 ----|---- 3 ----|      as they are read, at any byte
//!   chunks   [ known        )[ searched  )[ searched   )[ sea…      from header to header
//!                            ^ the header that the search in part 1 found first
//! ```
//!
//! Each part is searched for its first header of a block or of a member, and decoded from there, before the
//! text ahead of it is known. Such a chunk ends at the first header in a later part. It counts only if the
//! chunk before it ended at exactly the header that the search had found. Otherwise the part is decoded from
//! the true end, to the found header or to the next part. Therefore no text depends on what a search finds.
//!
//! The window of a chunk comes from the chunk before it. Only the last 32 KiB of a chunk have to be resolved
//! for that, in order. All other text is resolved and checked by any thread.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crc32fast::Hasher;

use crate::chunk::{End, FoundChunk, Position, decode, search};
use crate::find::Start;
use crate::member::{Fault, Trailer};
use crate::raw::Raw;
use crate::text::{DecodedBytes, DecodedText, Memory};

/// The text of all members of a gzip file, decoded by several threads.
///
/// Text and errors are those of [`GzipReader`](crate::GzipReader). The input is read ahead, so it should not
/// be one that waits. Memory is bounded by the number of threads: about 40 MB for each, and 100 MB
/// where one byte of the input is hundreds of bytes of text.
pub struct ParallelGzip {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The text that is handed out, from one byte on and up to another.
    text: Option<DecodedBytes>,
    taken: usize,
    end: usize,
    /// The checksum and the size of the member so far.
    hasher: Hasher,
    size: u32,
    /// The end, after the text.
    last: Last,
}

/// The end after a text, or the fault; `None` if there is more text.
type Last = Option<Result<(), Fault>>;

struct Shared {
    raw: Raw,
    /// The most parts that are decoded, or wait to be handed out.
    ahead: usize,
    state: Mutex<State>,
    /// Something may be done.
    work: Condvar,
    /// The next text may be complete.
    ready: Condvar,
}

struct State {
    /// The next part to search.
    searched: usize,
    /// True if there is no such part.
    no_part: bool,
    /// The parts that were searched, or are being searched.
    parts: BTreeMap<usize, Search>,
    front: Front,
    /// Texts in order, each with the number of its part.
    texts: VecDeque<(usize, Option<Done>)>,
    /// The number of texts that were handed out.
    handed_out: usize,
    /// Texts that must be resolved, with their windows and their numbers.
    unresolved: VecDeque<Unresolved>,
    units: Vec<Vec<u16>>,
    bytes: Vec<Vec<u8>>,
    stopped: bool,
    /// True if a thread has panicked.
    failed: bool,
}

/// The end of the text that is known to be right.
struct Front {
    /// The part in which the position is.
    part: usize,
    /// The position; `None` while a thread decodes from there.
    position: Option<Position>,
    window: Vec<u8>,
    /// The header up to which the part must be decoded, if a search has found one.
    target: Option<Start>,
    /// True if a thread must decode from the position.
    must_decode: bool,
    has_ended: bool,
}

/// A part that is searched.
enum Search {
    Running,
    /// The offset of the part's end, and what was found in it.
    Done(u64, Option<Box<FoundChunk>>),
}

/// A text with the checksums of its pieces, which end with the members.
struct Done {
    text: DecodedBytes,
    checksums: Vec<u32>,
    last: Last,
}

/// A text that still has markers, and whose window is known.
struct Unresolved {
    /// The number of the text.
    number: usize,
    text: DecodedText,
    window: Vec<u8>,
    last: Last,
}

/// The next work of a thread.
enum Job {
    Resolve(Unresolved),
    Decode { part: usize, position: Position, window: Vec<u8>, target: Option<Start> },
    Search(usize),
}

impl ParallelGzip {
    /// The text of gzip data, decoded by `threads` threads, at least one. There are fewer if the operating
    /// system starts no more.
    ///
    /// # Errors
    /// The error of the operating system, if it starts no thread.
    pub fn new(raw: impl Read + Send + 'static, threads: usize) -> io::Result<Self> {
        Self::with_parts(raw, threads, None)
    }

    /// With parts of `bytes` bytes.
    pub(crate) fn with_parts(
        raw: impl Read + Send + 'static,
        threads: usize,
        bytes: Option<usize>,
    ) -> io::Result<Self> {
        let front = Front {
            part: 0,
            position: Some(Position::Start { start: Start::Member(0), bit: 0 }),
            window: Vec::new(),
            target: None,
            must_decode: true,
            has_ended: false,
        };
        let state = State {
            searched: 1,
            no_part: false,
            parts: BTreeMap::new(),
            front,
            texts: VecDeque::new(),
            handed_out: 0,
            unresolved: VecDeque::new(),
            units: Vec::new(),
            bytes: Vec::new(),
            stopped: false,
            failed: false,
        };
        let shared = Arc::new(Shared {
            raw: Raw::new(Box::new(raw), bytes),
            ahead: threads + threads / 2 + 2,
            state: Mutex::new(state),
            work: Condvar::new(),
            ready: Condvar::new(),
        });
        let mut this = Self {
            shared,
            threads: Vec::new(),
            text: None,
            taken: 0,
            end: 0,
            hasher: Hasher::new(),
            size: 0,
            last: None,
        };
        for _ in 0..threads.max(1) {
            let shared = this.shared.clone();
            let thread = thread::Builder::new().name("warpath inflate".into());
            match thread.spawn(move || shared.work()) {
                Ok(thread) => this.threads.push(thread),
                Err(error) if this.threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(this)
    }

    /// Takes the next text, once it is complete.
    fn next(&mut self) -> io::Result<()> {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        if let Some(text) = self.text.take() {
            state.bytes.push(text.into_memory());
        }
        let done = loop {
            if state.failed {
                return Err(io::Error::other("a thread that decompresses has failed"));
            }
            if let Some((_, done)) = state.texts.front_mut()
                && let Some(done) = done.take()
            {
                state.texts.pop_front();
                state.handed_out += 1;
                break done;
            }
            state = shared.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        shared.work.notify_all();
        let Done { text, checksums, mut last } = done;
        (self.taken, self.end) = (0, text.len());
        let mut from = 0;
        let ends = text.members.iter().map(|(end, trailer)| (*end, Some(trailer)));
        for (checksum, (end, trailer)) in checksums.into_iter().zip(ends.chain([(text.len(), None)])) {
            self.hasher.combine(&Hasher::new_with_initial_len(checksum, (end - from) as u64));
            self.size = self.size.wrapping_add((end - from) as u32);
            from = end;
            if let Some(trailer) = trailer {
                let checksum = std::mem::take(&mut self.hasher).finalize();
                if *trailer != (Trailer { checksum, size: std::mem::take(&mut self.size) }) {
                    (self.end, last) = (end, Some(Err(Fault::Checksum)));
                    break;
                }
            }
        }
        (self.text, self.last) = (Some(text), last);
        Ok(())
    }
}

impl Read for ParallelGzip {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.end && !room.is_empty() {
            match &self.last {
                Some(Ok(())) => return Ok(0),
                Some(Err(_)) => {
                    if let Some(Err(fault)) = self.last.replace(Ok(())) {
                        return Err(fault.into());
                    }
                }
                None => self.next()?,
            }
        }
        let Some(text) = &self.text else { return Ok(0) };
        let bytes = text.slice(self.taken, self.end.min(self.taken + room.len()));
        room[..bytes.len()].copy_from_slice(bytes);
        self.taken += bytes.len();
        Ok(bytes.len())
    }
}

impl Drop for ParallelGzip {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of the thread has been reported by its message.
            let _ = thread.join();
        }
    }
}

/// Reports a thread that ends before its time.
struct Guard<'a>(&'a Shared);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().failed = true;
            self.0.ready.notify_all();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a thread.
    fn work(&self) {
        let _guard = Guard(self);
        while let Some((job, memory)) = self.next() {
            match job {
                Job::Resolve(unresolved) => self.resolve(unresolved),
                Job::Decode { part, position, window, target } => {
                    self.decode(part, position, &window, target, memory);
                }
                Job::Search(number) => self.search(number, memory),
            }
        }
    }

    /// Waits for a job; `None` at the end.
    fn next(&self) -> Option<(Job, Memory)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.job(self.ahead) {
                let memory = match job {
                    Job::Resolve(..) => Memory::default(),
                    Job::Decode { .. } => {
                        Memory { units: Vec::new(), bytes: state.bytes.pop().unwrap_or_default() }
                    }
                    Job::Search(_) => Memory {
                        units: state.units.pop().unwrap_or_default(),
                        bytes: state.bytes.pop().unwrap_or_default(),
                    },
                };
                return Some((job, memory));
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn search(&self, number: usize, memory: Memory) {
        let part = self.raw.part(number);
        let found = part.as_ref().map(|part| (part.end(), search(&self.raw, number, part, memory)));
        let mut state = self.lock();
        match found {
            None => {
                state.no_part = true;
                state.parts.remove(&number);
            }
            Some((end, found)) => {
                let found = found.map_err(|memory| state.keep(memory)).ok();
                state.parts.insert(number, Search::Done(end, found.map(Box::new)));
            }
        }
        self.advance(state);
    }

    fn decode(
        &self,
        number: usize,
        position: Position,
        window: &[u8],
        target: Option<Start>,
        memory: Memory,
    ) {
        let part_end = self.raw.part(number).map_or(u64::MAX, |part| part.end());
        let from = position.bit();
        let to = part_end.saturating_mul(8);
        let (text, end) = decode(&self.raw, number, position, window, to, target, memory);
        let window = text.window(window);
        let (position, last) = self.after(end);
        if let Some(position) = &position {
            self.raw.count((position.bit() - from) / 8, text.len() as u64);
        }
        let (bytes, memory) = text.into_bytes(&[]);
        let done = Some(checked(bytes, last));
        let mut state = self.lock();
        state.keep(memory);
        state.texts.push_back((number, done));
        state.front.window = window;
        state.front.has_ended = position.is_none();
        state.front.position = position;
        // A target replaces what was found in this part.
        if target.is_none() {
            state.parts.insert(number, Search::Done(part_end, None));
        }
        self.advance(state);
    }

    fn resolve(&self, Unresolved { number, text, window, last }: Unresolved) {
        let (bytes, memory) = text.into_bytes(&window);
        let done = checked(bytes, last);
        let mut state = self.lock();
        state.keep(memory);
        let at = number - state.handed_out;
        if let Some((_, text)) = state.texts.get_mut(at) {
            *text = Some(done);
        }
        drop(state);
        self.ready.notify_all();
    }

    /// The position after a chunk, or the end of the text.
    fn after(&self, end: End) -> (Option<Position>, Last) {
        match end {
            End::At(position) => (Some(position), None),
            // The end of the data may be an error of the reader.
            End::File => (None, Some(self.raw.take_error().map_or(Ok(()), |error| Err(Fault::Io(error))))),
            End::Fault(fault @ (Fault::Ends | Fault::EndsInBlock)) => {
                (None, Some(Err(self.raw.take_error().map_or(fault, Fault::Io))))
            }
            End::Fault(fault) => (None, Some(Err(fault))),
        }
    }

    /// Accepts chunks, as far as they follow each other, and wakes threads.
    fn advance(&self, mut state: MutexGuard<'_, State>) {
        while let Some((found, window)) = state.accept() {
            let FoundChunk { start, text, end } = *found;
            let (position, last) = self.after(end);
            if let Some(position) = &position {
                self.raw.count((position.bit() - start.bit()) / 8, text.len() as u64);
            }
            let number = state.handed_out + state.texts.len();
            let part = state.front.part;
            state.front.window = text.window(&window);
            state.front.has_ended = position.is_none();
            state.front.position = position;
            state.texts.push_back((part, None));
            state.unresolved.push_back(Unresolved { number, text, window, last });
        }
        self.raw.release(state.front.part);
        drop(state);
        self.work.notify_all();
        self.ready.notify_all();
    }
}

impl State {
    /// A job that may be done now.
    fn job(&mut self, ahead: usize) -> Option<Job> {
        if let Some(unresolved) = self.unresolved.pop_front() {
            return Some(Job::Resolve(unresolved));
        }
        if self.front.must_decode
            && self.texts.len() < ahead
            && let Some(position) = self.front.position.take()
        {
            self.front.must_decode = false;
            let (part, window) = (self.front.part, self.front.window.clone());
            self.searched = self.searched.max(part + 1);
            return Some(Job::Decode { part, position, window, target: self.front.target.take() });
        }
        let first = self.texts.front().map_or(self.front.part, |(part, _)| *part);
        let part = self.searched.max(self.front.part);
        if !self.front.has_ended && !self.no_part && part < first + ahead {
            // The front waits for the search.
            self.front.must_decode &= part != self.front.part;
            self.searched = part + 1;
            self.parts.insert(part, Search::Running);
            return Some(Job::Search(part));
        }
        None
    }

    /// The next chunk that was found by a search, if it begins at the front. Else decides how to go on.
    fn accept(&mut self) -> Option<(Box<FoundChunk>, Vec<u8>)> {
        loop {
            let position = self.front.position.as_ref().filter(|_| !self.front.has_ended)?;
            match self.parts.get_mut(&self.front.part) {
                Some(Search::Running) => return None,
                Some(Search::Done(end, found)) => {
                    if let Some(start) = found.as_ref().map(|found| found.start) {
                        if position.is(start)
                            && let Some(found) = found.take()
                        {
                            return Some((found, std::mem::take(&mut self.front.window)));
                        }
                        if position.bit() < start.bit() {
                            (self.front.must_decode, self.front.target) = (true, Some(start));
                            return None;
                        }
                        if let Some(found) = found.take() {
                            let memory = found.text.into_memory();
                            self.keep(memory);
                        }
                        continue;
                    }
                    if position.bit() < end.saturating_mul(8) {
                        (self.front.must_decode, self.front.target) = (true, None);
                        return None;
                    }
                    self.parts.remove(&self.front.part);
                    self.front.part += 1;
                }
                None => {
                    (self.front.must_decode, self.front.target) = (true, None);
                    return None;
                }
            }
        }
    }

    /// Keeps memory for other text.
    fn keep(&mut self, memory: Memory) {
        if !memory.units.is_empty() {
            self.units.push(memory.units);
        }
        if !memory.bytes.is_empty() {
            self.bytes.push(memory.bytes);
        }
    }
}

/// The checksums of a text.
fn checked(text: DecodedBytes, mut last: Last) -> Done {
    if text.is_cut {
        last = Some(Err(Fault::Block));
    }
    let mut checksums = Vec::with_capacity(text.members.len() + 1);
    let mut from = 0;
    for end in text.members.iter().map(|(end, _)| *end).chain([text.len()]) {
        if end < from || end > text.len() {
            break;
        }
        let mut hasher = Hasher::new();
        while from < end {
            let bytes = text.slice(from, end);
            hasher.update(bytes);
            from += bytes.len();
        }
        checksums.push(hasher.finalize());
    }
    Done { text, checksums, last }
}
