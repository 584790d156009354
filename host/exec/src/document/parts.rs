//! The elements of a large array, one part of the file at a time.
//!
//! Parts are stretches of the file. A part owns the elements that begin in it: those whose preceding comma it
//! contains, and part 0 also the first element. The open brackets and strings at the start of a part depend
//! on all parts before it. They are known as soon as those parts have been summarised, which is earlier than
//! their evaluation. Therefore each reader of a part summarises it, waits for the state at its start,
//! computes the state at its end, and hands that on.
//!
//! ```text
//! part 0  read, summarise, hand on ─┐  cut, evaluate ...
//! part 1     read, summarise, wait  └─ hand on ─┐  cut, evaluate ...
//! part 2        read, summarise, wait           └─ hand on, cut ...
//! ```
//!
//! A part begins where no escape is pending: after the backslashes at its start.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use warpath_core::error::Error;
use warpath_cpu::cut::{Cutter, Irregular, Nesting, STRETCH_BYTES, Summary};
use warpath_lang::elements::Split;
use warpath_shared::units::{MAX_DEPTH, MAX_PARTITION_BYTES};

use super::Head;
use super::note::Note;
use crate::input::Extract;
use crate::input::{Buffers, Cut, PlainFile, Stretch, Text};

/// Bytes that are read first of an element that continues after its part. Each further read is twice as long.
const TAIL_BYTES: usize = STRETCH_BYTES;
/// The most bytes of one such read.
const MOST_TAIL_BYTES: usize = 1 << 20;

/// The parts of one document.
pub(crate) struct Parts {
    file: Arc<PlainFile>,
    pub head: Head,
    pub split: Arc<Split>,
    /// Bytes of a part.
    size: u64,
    chain: Mutex<Chain>,
    handed_on: Condvar,
    /// The last part that is needed, as far as is known.
    last: AtomicU64,
    /// True if parts are only checked for faults.
    surveyed: AtomicBool,
}

/// The open brackets and strings at the start of each part, as far as they are known.
struct Chain {
    begins: Vec<Nesting>,
    /// True if some part could not be read.
    broken: bool,
}

/// Marks the chain as broken when dropped, unless the part has handed on its state.
struct Duty<'a>(&'a Parts, bool);

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.lock().broken = true;
            self.0.handed_on.notify_all();
        }
    }
}

impl Parts {
    /// The parts of an array whose head was found.
    pub fn new(file: Arc<PlainFile>, head: Head, split: Arc<Split>, size: usize) -> Self {
        let chain = Chain { begins: vec![Nesting::default()], broken: false };
        Self {
            file,
            head,
            split,
            // An element that continues after its part needs room after it.
            size: size.min(MAX_PARTITION_BYTES / 2) as u64,
            chain: Mutex::new(chain),
            handed_on: Condvar::new(),
            last: AtomicU64::new(u64::MAX),
            surveyed: AtomicBool::new(false),
        }
    }

    /// The document.
    pub fn file(&self) -> &Arc<PlainFile> {
        &self.file
    }

    /// True if there is a part with this number.
    pub fn has(&self, number: u64) -> bool {
        let begin = number.checked_mul(self.size).and_then(|at| at.checked_add(self.head.end()));
        number <= self.last.load(Ordering::Relaxed) && begin.is_some_and(|begin| begin < self.file.len())
    }

    /// Sets whether parts are only checked for faults from now on.
    pub fn survey(&self, only: bool) {
        self.surveyed.store(only, Ordering::Relaxed);
    }

    /// True if parts are only checked for faults.
    pub fn is_surveyed(&self) -> bool {
        self.surveyed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state at the start of a part, after all parts before it have been summarised. `None` if one of
    /// them could not be read.
    fn hand_on(&self, number: u64, summary: Summary) -> Option<Nesting> {
        let number = number as usize;
        let mut chain = self.lock();
        loop {
            if let Some(left) = chain.begins.get(number).copied() {
                // In a second pass, the state is known already.
                if chain.begins.len() == number + 1 {
                    chain.begins.push(summary.after(left));
                    self.handed_on.notify_all();
                }
                return Some(left);
            }
            if chain.broken {
                return None;
            }
            chain = self.handed_on.wait(chain).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads the elements of a part, one line each. Other threads must read all parts before it, or have read
    /// them.
    pub fn read(&self, number: u64, buffers: &Arc<Buffers>) -> Cut<'static> {
        match self.try_read(number, buffers) {
            Ok((text, note)) => Cut { texts: text.into_iter().collect(), note: Some(note), ..Cut::default() },
            Err(error) => Cut { error: Some(error), ..Cut::default() },
        }
    }

    fn try_read(&self, number: u64, buffers: &Arc<Buffers>) -> Result<(Option<Text<'static>>, Note), Error> {
        let mut duty = Duty(self, false);
        let begin = self.head.end() + number * self.size;
        // The byte before the part shows whether an escape may be pending.
        let from = begin - 1;
        let own = (self.file.len().min(begin + self.size) - from) as usize;
        let mut stretch = self.file.stretch(from, own + TAIL_BYTES, buffers)?;
        stretch.read_to(own)?;
        // Bytes that were added to the file after it was opened are not read.
        let most = (self.file.len() - from) as usize;
        let start = behind_backslashes(&mut stretch, 1, most)?;
        let end = behind_backslashes(&mut stretch, own, most)?;
        let left = self.hand_on(number, Summary::of(&stretch.bytes()[start..end]));
        duty.1 = true;
        let mut note = Note::default();
        let Some(left) = left.filter(|_| number <= self.last.load(Ordering::Relaxed)) else {
            return Ok((None, note));
        };
        let most_depth = (MAX_DEPTH - self.split.steps.len().min(MAX_DEPTH)) as i64;
        let mut cutter = Cutter::new(left, (number == 0).then_some(start), most_depth);
        cutter.cut(&mut stretch.bytes_mut()[..end], start, false);
        let (mut at, mut step) = (end, TAIL_BYTES);
        while let Some(first) = cutter.first.filter(|_| !cutter.is_done()) {
            if at - first > MAX_PARTITION_BYTES {
                return Ok((None, Note { irregular: Some(Irregular::TooLong), ..note }));
            }
            let to = most.min(at + step);
            stretch.read_to(to)?;
            let before = cutter.end;
            cutter.cut(&mut stretch.bytes_mut()[..to], at, true);
            if cutter.end != before {
                break;
            }
            if to == most && !cutter.is_done() {
                note.irregular = Some(Irregular::NotClosed);
                return Ok((None, note));
            }
            (at, step) = (to, (2 * step).min(MOST_TAIL_BYTES));
        }
        note.elements = cutter.elements;
        note.irregular = cutter.irregular;
        note.closed = cutter.closed.map(|at| from + at as u64);
        if note.closed.is_some() || note.irregular.is_some() {
            self.last.fetch_min(number, Ordering::Relaxed);
        }
        let text = match cutter.first {
            Some(first) if cutter.elements > 0 && note.irregular.is_none() => {
                let extract = Extract::Elements(self.split.path.clone());
                Some(stretch.into_text(first, cutter.end).with_extract(extract))
            }
            _ => None,
        };
        Ok((text, note))
    }
}

/// The first offset from `at` on that does not follow a backslash, or `most`. Reads on to find it.
fn behind_backslashes(stretch: &mut Stretch<'_>, mut at: usize, most: usize) -> Result<usize, Error> {
    loop {
        let bytes = stretch.bytes();
        at += bytes[at - 1..].iter().take_while(|byte| **byte == b'\\').count();
        if at <= bytes.len() {
            return Ok(at);
        }
        at = bytes.len();
        if at == most {
            return Ok(at);
        }
        stretch.read_to(most.min(at + MOST_TAIL_BYTES))?;
    }
}
