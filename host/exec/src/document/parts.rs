//! The elements of a large array, part by part of its file.
//!
//! Parts are stretches of the file. A part owns the elements that begin in it: those behind whose comma it reads, and the first
//! one of all. What is open where a part begins is known when all before it have been summarised, not when they have been
//! answered: so whoever has read a part says what it does to that, waits for the same of the part before, and hands on what
//! follows.
//!
//! ```text
//! part 0  read, summarise, hand on ─┐  cut, answer ...
//! part 1     read, summarise, wait  └─ hand on ─┐  cut, answer ...
//! part 2        read, summarise, wait           └─ hand on, cut ...
//! ```
//!
//! A part begins where no escape is pending: behind the backslashes that stand at its begin.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use warpath_shared::units::{MAX_DEPTH, MAX_PARTITION_BYTES};

use super::Head;
use super::note::Note;
use crate::input::Extract;
use crate::input::{Buffers, Cut, PlainFile, Stretch, Text};
use warpath_backend::cpu::cut::{Cutter, Irregular, Nesting, STRETCH_BYTES, Summary};
use warpath_core::error::Error;
use warpath_lang::elements::Split;

/// Bytes that are read at first of an element that goes on behind its part; then twice as many, and so on.
const TAIL_BYTES: usize = STRETCH_BYTES;
/// How many are read at once, at most.
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
    /// The last part that is of any use, as far as is known.
    last: AtomicU64,
    /// Whether answers are only to tell that nothing is wrong.
    surveyed: AtomicBool,
}

/// What is open where each part begins, as far as that is known.
struct Chain {
    begins: Vec<Nesting>,
    /// Some part could not be read.
    broken: bool,
}

/// Hands on that a part could not be read, unless what it has has been handed on.
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
    /// Of an array whose head was found.
    pub fn new(file: Arc<PlainFile>, head: Head, split: Arc<Split>, size: usize) -> Self {
        let chain = Chain { begins: vec![Nesting::default()], broken: false };
        Self {
            file,
            head,
            split,
            // An element that goes on behind its part has to find room behind it.
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

    /// Whether there is a part of this number.
    pub fn has(&self, number: u64) -> bool {
        let begin = number.checked_mul(self.size).and_then(|at| at.checked_add(self.head.end()));
        number <= self.last.load(Ordering::Relaxed) && begin.is_some_and(|begin| begin < self.file.len())
    }

    /// From now on it is only to be found out whether anything is wrong; or not any more.
    pub fn survey(&self, only: bool) {
        self.surveyed.store(only, Ordering::Relaxed);
    }

    /// Whether that is so.
    pub fn is_surveyed(&self) -> bool {
        self.surveyed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is open where a part begins, once all before it have been summarised; `None` where one of them could not be read.
    fn hand_on(&self, number: u64, summary: Summary) -> Option<Nesting> {
        let number = number as usize;
        let mut chain = self.lock();
        loop {
            if let Some(left) = chain.begins.get(number).copied() {
                // It may have been gone through before.
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

    /// Reads the elements of a part, a line each. All parts before it must be read by others, or have been.
    pub fn read(&self, number: u64, buffers: &Arc<Buffers>) -> Cut {
        match self.try_read(number, buffers) {
            Ok((text, note)) => Cut { texts: text.into_iter().collect(), note: Some(note), ..Cut::default() },
            Err(error) => Cut { error: Some(error), ..Cut::default() },
        }
    }

    fn try_read(&self, number: u64, buffers: &Arc<Buffers>) -> Result<(Option<Text>, Note), Error> {
        let mut duty = Duty(self, false);
        let begin = self.head.end() + number * self.size;
        // The byte before tells whether an escape may be pending.
        let from = begin - 1;
        let own = (self.file.len().min(begin + self.size) - from) as usize;
        let mut stretch = self.file.stretch(from, own + TAIL_BYTES, buffers)?;
        stretch.read_to(own)?;
        // What has been added to the file since it was opened is not read.
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

/// The first place from `at` on before which no backslash stands, or `most`. Reads on to find it.
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
