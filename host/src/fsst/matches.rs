//! Which of many compressed strings match, on all cores.
//!
//! A step of a walk waits for the look-up of the step before it, so one string at a time leaves a core idle most of the time. Here eight are
//! walked side by side, eight codes each before the next one's turn, and who has come to its end takes the next string in that place. Nothing in that is a branch that
//! has to be guessed: of the states behind each of the eight codes, that at the string's end is picked.
//!
//! ```text
//! codes       │ f o o x y z . . │        a string ends behind `foo`: what is behind it is the next one's
//! states        4 7 9 1 1 1 1 1          eight look-ups
//! trail         4 7 9 1 1 1 1 1          as bytes of a word: byte 2 is the state that counts
//! ```

use rayon::prelude::*;
use warpath_shared::fsst::automaton::{LIVE, NO_FAULT, Verdict, fault_of, fault_word, is_decided, place};
use warpath_shared::fsst::{CodeFault, MAX_SYMBOL_BYTES, Table};

use super::automaton::{AutomatonError, CodeAutomaton};
use super::pattern::Pattern;

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
}

/// Asks strings of one table whether they match a pattern: by their codes, or, if the pattern is too large for that, by what they are decoded to. Which it is, is in the
/// variant: the second is several times slower.
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
                    Some((string, fault)) => Err(MatchError::Codes { string, fault }),
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
fn each_piece(
    words: &mut [u64],
    offsets: &[u64],
    fill: impl Fn(&[u64], &mut [u64]) -> Option<(usize, CodeFault)> + Sync,
) -> Option<(usize, CodeFault)> {
    // Long strings are worth a piece of few.
    let piece = (words.len() / (8 * rayon::current_num_threads())).clamp(1, PIECE_WORDS);
    let faults = words.par_chunks_mut(piece).enumerate().filter_map(|(at, words)| {
        let first = at * piece * 64;
        let end = (first + 64 * words.len()).min(offsets.len() - 1);
        fill(&offsets[first..=end], words).map(|(string, fault)| (first + string, fault))
    });
    faults.min_by_key(|(string, _)| *string)
}

/// Asks strings for what they are decoded to, up to the first fault.
fn decoded(
    pattern: &Pattern,
    table: &Table,
    codes: &[u8],
    offsets: &[u64],
    words: &mut [u64],
) -> Option<(usize, CodeFault)> {
    let mut room = Vec::new();
    for (string, pair) in offsets.windows(2).enumerate() {
        let codes = &codes[pair[0] as usize..pair[1] as usize];
        let most = codes.len() * MAX_SYMBOL_BYTES;
        if room.len() < most {
            room.resize(most, 0);
        }
        match table.decode(codes, &mut room) {
            Ok(len) => words[string / 64] |= u64::from(pattern.matches(&room[..len])) << (string % 64),
            Err(fault) => return Some((string, fault)),
        }
    }
    None
}

/// Strings that are walked side by side.
const LANES: usize = 8;
/// Codes that a lane takes at a time: those of a word.
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

impl Walk<'_> {
    /// Says of all strings whether they match, in words of zeros; the least fault word.
    fn all(&self, words: &mut [u64]) -> u64 {
        let strings = self.offsets.len() - 1;
        if is_decided(self.automaton.marks().start) {
            let fault = (0..strings).map(|string| self.finish(self.lane(string), words));
            return fault.min().unwrap_or(NO_FAULT);
        }
        // A lane reads whole words, so the last strings are walked code by code.
        let readable = self.codes.len() as u64;
        let together = self.offsets[1..].partition_point(|end| end + STEP as u64 <= readable);
        let mut fault = NO_FAULT;
        let mut next = 0;
        if together >= LANES {
            let mut lanes: [Lane; LANES] = std::array::from_fn(|string| self.lane(string));
            next = LANES;
            // So many may end in a round.
            while next + LANES <= together {
                for lane in &mut lanes {
                    fault = fault.min(self.round(lane, &mut next, words));
                }
            }
            for lane in lanes {
                fault = fault.min(self.finish(lane, words));
            }
        }
        for string in next..strings {
            fault = fault.min(self.finish(self.lane(string), words));
        }
        fault
    }

    fn lane(&self, string: usize) -> Lane {
        let (at, end) = (self.offsets[string] as usize, self.offsets[string + 1] as usize);
        Lane { string, at, end, state: self.automaton.marks().start }
    }

    /// Walks a word of codes, and takes the next string if that is the end of this one.
    #[inline(always)]
    fn round(&self, lane: &mut Lane, next: &mut usize, words: &mut [u64]) -> u64 {
        let rows = self.automaton.next();
        let read = &self.codes[lane.at..lane.at + STEP];
        let (mut state, mut trail) = (lane.state, 0_u64);
        for code in read {
            state = rows[place(state, *code) as usize];
            trail = trail >> 8 | u64::from(state) << 56;
        }
        let left = lane.end - lane.at;
        let behind = (trail >> (8 * (left.clamp(1, STEP) - 1))) as u8;
        let behind = if left == 0 { lane.state } else { behind };
        let ends = left <= STEP || behind < LIVE;
        let verdict = self.automaton.marks().verdict(behind);
        words[lane.string / 64] |= u64::from(ends & verdict.is_match()) << (lane.string % 64);
        let fault = if ends { fault_word(lane.string as u64, verdict) } else { NO_FAULT };
        let new = self.lane(*next);
        let same = Lane { at: lane.at + STEP, state: behind, ..*lane };
        *next += usize::from(ends);
        *lane = if ends { new } else { same };
        fault
    }

    /// Walks a string to its end, or to where it is decided.
    fn finish(&self, lane: Lane, words: &mut [u64]) -> u64 {
        let rows = self.automaton.next();
        let mut state = lane.state;
        for code in &self.codes[lane.at..lane.end] {
            if is_decided(state) {
                break;
            }
            state = rows[place(state, *code) as usize];
        }
        let verdict = self.automaton.marks().verdict(state);
        words[lane.string / 64] |= u64::from(verdict == Verdict::Match) << (lane.string % 64);
        fault_word(lane.string as u64, verdict)
    }
}
