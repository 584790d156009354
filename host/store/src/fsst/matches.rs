//! Which of many compressed strings match, on all cores.
//!
//! A step of a walk waits for the look-up of the step before it, so one string at a time leaves a core idle most of the time. Here six are walked side by side, eight codes each,
//! whether or not that is beyond a string's end: of the states behind each of them, that at the end is picked. Who is at its end makes room for the next string.
//!
//! ```text
//! codes       │ f o o x y z . . │        a string ends behind `foo`: what is behind it is the next one's
//! trail         4 7 9 1 1 1 1 1          the states of eight look-ups, of which 9 counts
//! ```
//!
//! The first code of a string is looked up alone, since often it decides: then the string needs no place. Measured on one core of a shared machine (AMD EPYC, codes of 4.2 bytes each, one of 256 an escape), in MB of codes a second, in
//! runs that differ by a third:
//!
//! ```text
//! codes a string, on average            5      20      200
//! contains, ends with, LIKE           500     730     1200         one string at a time: 450, 630, 490
//! equals, starts with (ns a string)     5       4       25         until memory bounds it
//! decoded first                        80     110      130         LIKE: 11, 21, 28
//! ```
//!
//! Four side by side reach 950 where six reach 1200, and eight no more. With the trail in a word, shifted by a byte a step, and each lane's eight steps before the next one's, it
//! was no faster than one string at a time.

use rayon::prelude::*;
use warpath_shared::fsst::automaton::{NO_FAULT, fault_of, fault_word, is_decided, place};
use warpath_shared::fsst::{CodeFault, Table};

use super::automaton::{AutomatonError, CodeAutomaton};
use warpath_lang::like::Pattern;

/// Why strings cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The end of a string, by its number, is before its beginning or behind the codes.
    #[error("string {0} ends before it begins, or behind the codes")]
    Offsets(usize),
    /// The codes of a string, the first of such, are none.
    #[error("string {string}: {fault}")]
    Codes {
        /// Its number.
        string: usize,
        /// What is wrong, by the place in its codes.
        fault: CodeFault,
    },
    /// A string has to be decoded, and there is no memory for it.
    #[error("string {string}: there is no memory for its {bytes} bytes")]
    Memory {
        /// Its number.
        string: usize,
        /// How long it is.
        bytes: u64,
    },
}

/// Asks strings of one table whether they match a pattern: by their codes, or, if the pattern is too large for that, by what they are decoded to. Which it is, is in the
/// variant: the second is five to thirty times slower.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// By their codes.
    Codes(CodeAutomaton),
    /// By their bytes.
    Decoded {
        /// What is asked.
        pattern: Pattern,
        /// By what they are decoded.
        table: Box<Table>,
        /// Why it is not asked of codes.
        why: AutomatonError,
    },
}

impl Matcher {
    /// The best way there is to ask this.
    #[must_use]
    pub fn new(pattern: &Pattern, table: &Table) -> Self {
        match CodeAutomaton::new(pattern, table) {
            Ok(automaton) => Self::Codes(automaton),
            Err(why) => Self::Decoded { pattern: pattern.clone(), table: Box::new(*table), why },
        }
    }

    /// As [`CodeAutomaton::matches`]; of strings that are decoded, each fault is found.
    ///
    /// # Errors
    /// [`MatchError`], of the first string that has one.
    pub fn matches(&self, codes: &[u8], offsets: &[u64]) -> Result<Vec<u64>, MatchError> {
        match self {
            Self::Codes(automaton) => automaton.matches(codes, offsets),
            Self::Decoded { pattern, table, .. } => {
                let mut words = bitmap(codes, offsets)?;
                let faults = each_piece(&mut words, offsets, |offsets, words| {
                    decoded(pattern, table, codes, offsets, words)
                });
                match faults {
                    None => Ok(words),
                    Some((string, DecodeFault::Codes(fault))) => Err(MatchError::Codes { string, fault }),
                    Some((string, DecodeFault::Memory(bytes))) => Err(MatchError::Memory { string, bytes }),
                }
            }
        }
    }
}

impl CodeAutomaton {
    /// Which strings match: bit *i* of word *w* for string 64 *w* + *i*; bits behind the last string are 0. String *i* is the codes from `offsets[i]` to `offsets[i + 1]`; there are as
    /// many strings as offsets but one. All cores work on it, and the answer is the same for any number of them.
    ///
    /// A string of a null is asked as any other: who knows of nulls takes them out of the answer, and should give them no codes.
    ///
    /// # Errors
    /// [`MatchError::Offsets`]; [`MatchError::Codes`] of the first string that has a fault before the code that decides. What is behind that is not looked at.
    pub fn matches(&self, codes: &[u8], offsets: &[u64]) -> Result<Vec<u64>, MatchError> {
        let mut words = bitmap(codes, offsets)?;
        let walk = |offsets: &[u64], words: &mut [u64]| {
            let (string, _) = fault_of(Walk { automaton: self, codes, offsets }.all(words))?;
            let string = string as usize;
            let fault =
                self.matches_one(&codes[offsets[string] as usize..offsets[string + 1] as usize]).err()?;
            Some((string, fault))
        };
        match each_piece(&mut words, offsets, walk) {
            None => Ok(words),
            Some((string, fault)) => Err(MatchError::Codes { string, fault }),
        }
    }
}

/// The words of an answer, zeroed, once offsets are good.
fn bitmap(codes: &[u8], offsets: &[u64]) -> Result<Vec<u64>, MatchError> {
    let is_wrong = |pair: &[u64]| pair[0] > pair[1] || pair[1] > codes.len() as u64;
    match offsets.windows(2).position(is_wrong) {
        Some(string) => Err(MatchError::Offsets(string)),
        None => Ok(vec![0; offsets.len().saturating_sub(1).div_ceil(64)]),
    }
}

/// Words of a piece, at most: 16,384 strings.
const PIECE_WORDS: usize = 256;

/// Has all cores fill pieces of an answer, each with the offsets of its strings; the first fault, its string numbered among all.
fn each_piece<F: Send>(
    words: &mut [u64],
    offsets: &[u64],
    fill: impl Fn(&[u64], &mut [u64]) -> Option<(usize, F)> + Sync,
) -> Option<(usize, F)> {
    // Long strings are worth a piece of few.
    let piece = (words.len() / (8 * rayon::current_num_threads())).clamp(1, PIECE_WORDS);
    let faults = words.par_chunks_mut(piece).enumerate().filter_map(|(at, words)| {
        let first = at * piece * 64;
        let end = (first + 64 * words.len()).min(offsets.len() - 1);
        fill(&offsets[first..=end], words).map(|(string, fault)| (first + string, fault))
    });
    faults.min_by_key(|(string, _)| *string)
}

/// Why a string is not asked for what it is decoded to.
enum DecodeFault {
    Codes(CodeFault),
    /// There is no memory for so many bytes.
    Memory(u64),
}

/// Asks strings for what they are decoded to, up to the first fault.
fn decoded(
    pattern: &Pattern,
    table: &Table,
    codes: &[u8],
    offsets: &[u64],
    words: &mut [u64],
) -> Option<(usize, DecodeFault)> {
    let mut room = Vec::new();
    for (string, pair) in offsets.windows(2).enumerate() {
        let codes = &codes[pair[0] as usize..pair[1] as usize];
        let bytes = match table.decoded_len(codes) {
            Ok(bytes) => bytes,
            Err(fault) => return Some((string, DecodeFault::Codes(fault))),
        };
        let missing = usize::try_from(bytes).map(|bytes| bytes.saturating_sub(room.len()));
        match missing.map(|missing| (missing, room.try_reserve(missing))) {
            Ok((missing, Ok(()))) => room.resize(room.len() + missing, 0),
            _ => return Some((string, DecodeFault::Memory(bytes))),
        }
        match table.decode(codes, &mut room) {
            Ok(len) => words[string / 64] |= u64::from(pattern.matches(&room[..len])) << (string % 64),
            Err(fault) => return Some((string, DecodeFault::Codes(fault))),
        }
    }
    None
}

/// Strings that are walked side by side.
const LANES: usize = 6;
/// Codes that a lane takes at a time.
const STEP: usize = 8;

/// Strings to be walked.
struct Walk<'a> {
    automaton: &'a CodeAutomaton,
    codes: &'a [u8],
    offsets: &'a [u64],
}

/// A string, and how far it has been walked.
#[derive(Clone, Copy, Default)]
struct Lane {
    string: usize,
    at: usize,
    end: usize,
    state: u8,
}

/// What is known of the strings: which match, in words of zeros at first, and the least fault word.
struct Answer<'a> {
    words: &'a mut [u64],
    fault: u64,
}

impl Walk<'_> {
    /// Says of all strings whether they match, in words of zeros; the least fault word.
    fn all(&self, words: &mut [u64]) -> u64 {
        let mut answer = Answer { words, fault: NO_FAULT };
        // A lane reads eight codes at once, so the last strings are walked code by code.
        let readable = self.codes.len() as u64;
        let together = self.offsets[1..].partition_point(|end| end + STEP as u64 <= readable);
        let mut next = 0;
        let mut lanes = [Lane::default(); LANES];
        let mut filled = 0;
        while let Some(lane) = lanes.get_mut(filled)
            && let Some(new) = self.take(&mut next, together, &mut answer)
        {
            *lane = new;
            filled += 1;
        }
        let mut is_full = filled == LANES;
        while is_full {
            let trails = self.step(&lanes);
            for (lane, trail) in lanes.iter_mut().zip(trails) {
                let left = lane.end - lane.at;
                lane.state = trail[left.min(STEP) - 1];
                if left > STEP && !is_decided(lane.state) {
                    lane.at += STEP;
                    continue;
                }
                lane.at = lane.end;
                self.note(lane, &mut answer);
                match self.take(&mut next, together, &mut answer) {
                    Some(new) => *lane = new,
                    None => is_full = false,
                }
            }
        }
        // Whoever is at its end is noted again, and says the same.
        lanes[..filled].iter().for_each(|lane| self.finish(*lane, &mut answer));
        (next..self.offsets.len() - 1).for_each(|string| self.finish(self.lane(string), &mut answer));
        answer.fault
    }

    fn lane(&self, string: usize) -> Lane {
        let (at, end) = (self.offsets[string] as usize, self.offsets[string + 1] as usize);
        Lane { string, at, end, state: self.automaton.marks().start }
    }

    /// The next string that needs more than one code: often the first one decides, and a lane is too much for that.
    #[inline(always)]
    fn take(&self, next: &mut usize, end: usize, answer: &mut Answer<'_>) -> Option<Lane> {
        while *next < end {
            let mut lane = self.lane(*next);
            *next += 1;
            if lane.at < lane.end {
                lane.state = self.automaton.next()[place(lane.state, self.codes[lane.at]) as usize];
                lane.at += 1;
                if lane.at < lane.end && !is_decided(lane.state) {
                    return Some(lane);
                }
            }
            self.note(&lane, answer);
        }
        None
    }

    /// The states behind each of the next codes, of each lane.
    #[inline(always)]
    fn step(&self, lanes: &[Lane; LANES]) -> [[u8; STEP]; LANES] {
        let rows = self.automaton.next();
        let codes: [&[u8; STEP]; LANES] = lanes.each_ref().map(|lane| {
            self.codes[lane.at..].first_chunk().unwrap_or_else(|| unreachable!("so many are readable"))
        });
        let mut states = lanes.each_ref().map(|lane| lane.state);
        let mut trails = [[0; STEP]; LANES];
        for at in 0..STEP {
            for lane in 0..LANES {
                states[lane] = rows[place(states[lane], codes[lane][at]) as usize];
                trails[lane][at] = states[lane];
            }
        }
        trails
    }

    /// Walks a string to its end, or to where it is decided.
    fn finish(&self, mut lane: Lane, answer: &mut Answer<'_>) {
        for code in &self.codes[lane.at..lane.end] {
            if is_decided(lane.state) {
                break;
            }
            lane.state = self.automaton.next()[place(lane.state, *code) as usize];
        }
        self.note(&lane, answer);
    }

    /// Notes what a string says that has been walked.
    #[inline(always)]
    fn note(&self, lane: &Lane, answer: &mut Answer<'_>) {
        let verdict = self.automaton.marks().verdict(lane.state);
        answer.words[lane.string / 64] |= u64::from(verdict.is_match()) << (lane.string % 64);
        answer.fault = answer.fault.min(fault_word(lane.string as u64, verdict));
    }
}
