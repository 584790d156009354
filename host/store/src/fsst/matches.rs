//! The match of a pattern against many compressed strings, on all cores.
//!
//! A step of a walk waits for the look-up of the step before it, so one string at a time leaves a core mostly
//! idle. This module walks six strings in parallel, eight codes each, even past a string's end. From the
//! states after each of these codes it picks the state at the end. A lane at the end of its string takes the
//! next one.
//!
//! ```text
//! codes       │ f o o x y z . . │        a string ends after `foo`; the next string follows
//! trail         4 7 9 1 1 1 1 1          the states of eight look-ups, of which 9 counts
//! ```
//!
//! The first code of a string is looked up alone, because it often decides: then the string needs no lane.
//! Measured on one core of a shared machine (AMD EPYC, codes of 4.2 bytes each, one of 256 an escape), in MB
//! of codes per second. Runs differ by a third:
//!
//! ```text
//! codes per string, on average          5      20      200
//! contains, ends with, LIKE           500     730     1200         one string at a time: 450, 630, 490
//! equals, starts with (ns a string)     5       4       25         until memory limits it
//! decoded first                        80     110      130         LIKE: 11, 21, 28
//! ```
//!
//! Tried and lost: four strings in parallel reach 950 where six reach 1200, and eight no more. A trail in a
//! word, shifted by a byte per step, with each lane's eight steps before the next lane's: no faster than one
//! string at a time.

use warpath_core::pool;
use warpath_lang::like::Pattern;
use warpath_shared::fsst::automaton::{NO_FAULT, fault_of, fault_word, is_decided, place};
use warpath_shared::fsst::{CodeFault, Table};

use super::automaton::{AutomatonError, CodeAutomaton};

/// The reason why strings cannot be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The end of this string is before its start, or past the codes.
    #[error("string {0} ends before it begins, or after the codes")]
    Offsets(usize),
    /// A string has invalid codes; the first such string.
    #[error("string {string}: {fault}")]
    Codes {
        /// The string's number.
        string: usize,
        /// The fault, at its offset in the string's codes.
        fault: CodeFault,
    },
    /// A string has to be decoded, and memory does not suffice.
    #[error("string {string}: there is no memory for its {bytes} bytes")]
    Memory {
        /// The string's number.
        string: usize,
        /// Its length in bytes.
        bytes: u64,
    },
}

/// A pattern for strings of one table. The pattern is evaluated on codes, or on decoded strings if it is too
/// large for codes. The variant shows which: decoded strings are five to thirty times slower.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// Evaluation on codes.
    Codes(CodeAutomaton),
    /// Evaluation on decoded strings.
    Decoded {
        /// The pattern.
        pattern: Pattern,
        /// The table that decodes the strings.
        table: Box<Table>,
        /// The reason why codes do not suffice.
        why: AutomatonError,
    },
}

impl Matcher {
    /// Chooses the fastest evaluation of a pattern.
    #[must_use]
    pub fn new(pattern: &Pattern, table: &Table) -> Self {
        match CodeAutomaton::new(pattern, table) {
            Ok(automaton) => Self::Codes(automaton),
            Err(why) => Self::Decoded { pattern: pattern.clone(), table: Box::new(*table), why },
        }
    }

    /// Matches strings like [`CodeAutomaton::matches`]. In strings that are decoded, every fault is found.
    ///
    /// # Errors
    /// [`MatchError`] of the first string with a fault.
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
    /// Returns the strings that match: bit *i* of word *w* for string 64 *w* + *i*; bits past the last string
    /// are 0. String *i* is the codes from `offsets[i]` to `offsets[i + 1]`, and there is one string less
    /// than offsets. All cores work on it, and the result is the same for any number of cores.
    ///
    /// A null is matched like any other string. A caller with nulls removes them from the result, and should
    /// give them no codes.
    ///
    /// # Errors
    /// [`MatchError::Offsets`]; [`MatchError::Codes`] of the first string with a fault before the code that
    /// decides. Later codes are not read.
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

/// Checks the offsets, and returns a result of zeros.
fn bitmap(codes: &[u8], offsets: &[u64]) -> Result<Vec<u64>, MatchError> {
    let is_wrong = |pair: &[u64]| pair[0] > pair[1] || pair[1] > codes.len() as u64;
    match offsets.windows(2).position(is_wrong) {
        Some(string) => Err(MatchError::Offsets(string)),
        None => Ok(vec![0; offsets.len().saturating_sub(1).div_ceil(64)]),
    }
}

/// Maximum words of a piece: 16,384 strings.
const PIECE_WORDS: usize = 256;

/// Fills pieces of a result on all cores, each with the offsets of its strings. Returns the first fault, with
/// the number of its string among all.
fn each_piece<F: Send>(
    words: &mut [u64],
    offsets: &[u64],
    fill: impl Fn(&[u64], &mut [u64]) -> Option<(usize, F)> + Sync,
) -> Option<(usize, F)> {
    // Pieces are small where there are few strings, which may be long.
    let piece = (words.len() / (8 * pool::threads())).clamp(1, PIECE_WORDS);
    let pieces = words.chunks_mut(piece).enumerate().collect();
    let faults = pool::map(pieces, |(at, words): (usize, &mut [u64])| {
        let first = at * piece * 64;
        let end = (first + 64 * words.len()).min(offsets.len() - 1);
        fill(&offsets[first..=end], words).map(|(string, fault)| (first + string, fault))
    });
    faults.into_iter().flatten().next()
}

/// The reason why a decoded string is not matched.
enum DecodeFault {
    Codes(CodeFault),
    /// Memory does not suffice for this number of bytes.
    Memory(u64),
}

/// Matches strings after decoding them, up to the first fault.
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

/// Number of strings that are walked in parallel.
const LANES: usize = 6;
/// Number of codes that a lane takes at a time.
const STEP: usize = 8;

/// Strings to walk.
struct Walk<'a> {
    automaton: &'a CodeAutomaton,
    codes: &'a [u8],
    offsets: &'a [u64],
}

/// A string, and the progress of its walk.
#[derive(Clone, Copy, Default)]
struct StringWalk {
    string: usize,
    at: usize,
    end: usize,
    state: u8,
}

/// The results so far: the matches, in words that began as zeros, and the least fault word.
struct MatchWords<'a> {
    words: &'a mut [u64],
    fault: u64,
}

impl Walk<'_> {
    /// Matches all strings, into words of zeros. Returns the least fault word.
    fn all(&self, words: &mut [u64]) -> u64 {
        let mut matched = MatchWords { words, fault: NO_FAULT };
        // A lane reads eight codes at once, so the last strings are walked code by code.
        let readable = self.codes.len() as u64;
        let together = self.offsets[1..].partition_point(|end| end + STEP as u64 <= readable);
        let mut next = 0;
        let mut lanes = [StringWalk::default(); LANES];
        let mut filled = 0;
        while let Some(lane) = lanes.get_mut(filled)
            && let Some(new) = self.take(&mut next, together, &mut matched)
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
                self.note(lane, &mut matched);
                match self.take(&mut next, together, &mut matched) {
                    Some(new) => *lane = new,
                    None => is_full = false,
                }
            }
        }
        // A lane at its end is noted again, with the same result.
        lanes[..filled].iter().for_each(|lane| self.finish(*lane, &mut matched));
        (next..self.offsets.len() - 1).for_each(|string| self.finish(self.lane(string), &mut matched));
        matched.fault
    }

    fn lane(&self, string: usize) -> StringWalk {
        let (at, end) = (self.offsets[string] as usize, self.offsets[string + 1] as usize);
        StringWalk { string, at, end, state: self.automaton.marks().start }
    }

    /// Returns the next string that needs more than one code. The first code often decides, and then a lane
    /// is not worth its cost.
    #[inline(always)]
    fn take(&self, next: &mut usize, end: usize, matched: &mut MatchWords<'_>) -> Option<StringWalk> {
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
            self.note(&lane, matched);
        }
        None
    }

    /// Returns, for each lane, the states after each of the next codes.
    #[inline(always)]
    fn step(&self, lanes: &[StringWalk; LANES]) -> [[u8; STEP]; LANES] {
        let rows = self.automaton.next();
        let codes: [&[u8; STEP]; LANES] = lanes.each_ref().map(|lane| {
            self.codes[lane.at..]
                .first_chunk()
                .unwrap_or_else(|| unreachable!("the slice has at least this many bytes"))
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

    /// Walks a string to its end, or to the code that decides.
    fn finish(&self, mut lane: StringWalk, matched: &mut MatchWords<'_>) {
        for code in &self.codes[lane.at..lane.end] {
            if is_decided(lane.state) {
                break;
            }
            lane.state = self.automaton.next()[place(lane.state, *code) as usize];
        }
        self.note(&lane, matched);
    }

    /// Stores the result of a string that has been walked.
    #[inline(always)]
    fn note(&self, lane: &StringWalk, matched: &mut MatchWords<'_>) {
        let verdict = self.automaton.marks().verdict(lane.state);
        matched.words[lane.string / 64] |= u64::from(verdict.is_match()) << (lane.string % 64);
        matched.fault = matched.fault.min(fault_word(lane.string as u64, verdict));
    }
}
