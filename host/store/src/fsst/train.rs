//! The choice of symbols for strings like a sample's: frequent substrings that other symbols do not spell
//! almost as well.
//!
//! 1. *Candidates* are the substrings of 1 to 8 bytes that occur three times or more, counted in the sorted
//!    list of the sample's words. A candidate is left out if one longer candidate begins at each of its
//!    occurrences. The best by count × (length − 1) are kept.
//! 2. For each position of the sample, a table stores the candidates that begin there, by length. A mask of
//!    eight bits marks those that are in use. All later steps use this table: no word is looked up again.
//! 3. *Rounds*: the sample is parsed, in the fewest codes while there are many symbols, then by the longest
//!    match as a compressor does it. A symbol's worth is the number of additional codes to spell it by
//!    others, times its uses. The worst quarter is dropped, until there are at most 255 symbols.
//! 4. *Second thoughts*: candidates that would replace two neighbouring symbols return, the best of them, and
//!    are weighed again.
//!
//! The result is the best table of all rounds, by the number of codes for the sample. The figures below are
//! bytes per code, for 16 MiB. In parentheses is the trainer of the crate `fsst-rs`, which works in the other
//! direction, like the paper: it starts from bytes, joins neighbours in five rounds, and takes 1 ms.
//!
//! ```text
//! tweets 2.08 (1.82)    products of Best Buy 3.35 (2.07)    of Walmart 2.97 (1.97)
//! ```
//!
//! Tried and lost:
//!
//! * Samples of 64 KiB: 2.03, 3.35, 2.91 in half the time.
//! * Samples of 192 KiB: 2.04 for tweets, which is no better, in 1.5 times the time.
//! * Twice as many candidates: no better either.
//! * More rounds that change less: with 64 KiB 2.05, 3.40, 2.88.
//! * The last round instead of the best one: 3.07 for Best Buy, because rounds may make a table worse.

use std::cmp::Reverse;
use std::mem::take;

use warpath_shared::fsst::{MAX_SYMBOL_BYTES, MAX_SYMBOLS, Table};

use super::{low_bytes, word_at};

/// Size of a sample of a long text, or of many strings.
pub const SAMPLE_BYTES: usize = 128 << 10;
/// The maximum size of a sample, so that offsets have 32 bits.
const MOST_BYTES: usize = 256 << 20;
/// Size of each part of a long text, or of a string, in the sample.
const PART_BYTES: usize = 512;

/// Number of candidates in the first parse, and of all candidates.
const FIRST: usize = 4096;
const CANDIDATES: usize = 12288;
/// The minimum count of a candidate.
const LEAST: u32 = 3;
/// The weight, in codes, of a byte without a symbol. Such a byte takes two codes, but each escape also costs
/// decoding time worth some codes, because its branch is not predictable. Measured: the share of groups of 8
/// codes with an escape, and the bytes per code, for tweets, Best Buy's products and URLs.
///
/// * Weight 2: 28, 46 and 29 %; 2.061, 3.368 and 3.131.
/// * Weight 3: 21, 30 and 22 %; 2.072, 3.401 and 3.096.
/// * Weight 4: 14, 23 and 12 %; 2.052, 3.361 and 3.023.
const ESCAPE_CODES: u32 = 4;
/// With more symbols the sample is parsed in the fewest codes, with fewer as by a compressor.
const FEWEST_ABOVE: usize = 512;
/// Number of rounds of second thoughts, of candidates that return in each, and of symbols dropped between two
/// parses.
const SECOND_ROUNDS: usize = 10;
const BACK: usize = 48;
const GO: usize = 48;

/// No candidate.
const NONE: u16 = u16::MAX;

/// Strings, or parts of strings, from which a trainer learns what similar strings contain.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    bytes: Vec<u8>,
    /// The end of each string.
    ends: Vec<usize>,
}

impl Sample {
    /// Takes a sample of a long text: [`SAMPLE_BYTES`] in evenly spread parts, or the whole text if it is
    /// shorter.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Self {
        let mut sample = Self::default();
        if text.len() <= SAMPLE_BYTES {
            text.chunks(PART_BYTES.max(SAMPLE_BYTES)).for_each(|all| sample.add(all));
            return sample;
        }
        let parts = SAMPLE_BYTES / PART_BYTES;
        let step = text.len() / parts;
        for part in 0..parts {
            // The distances vary, because records may have a constant length.
            let slack = step - PART_BYTES;
            let at = part * step + if slack == 0 { 0 } else { part * 7919 % slack };
            sample.add(&text[at..at + PART_BYTES]);
        }
        sample
    }

    /// Takes a sample of strings: [`SAMPLE_BYTES`] of evenly spread strings and parts of long strings, or all
    /// strings if they are shorter. String *i* is in `values` from offset *i* to offset *i* + 1.
    ///
    /// # Panics
    /// Panics if an offset is less than its predecessor, or past the end of `values`.
    #[must_use]
    pub fn of_strings(values: &[u8], offsets: &[impl super::Offset]) -> Self {
        let mut sample = Self::default();
        let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return sample };
        let (count, bytes) = (offsets.len() - 1, last.place().saturating_sub(first.place()));
        let string = |at: usize| &values[offsets[at].place()..offsets[at + 1].place()];
        if bytes <= SAMPLE_BYTES {
            (0..count).for_each(|at| sample.add(string(at)));
            return sample;
        }
        // From evenly spread offsets, take some strings each, from the first that begins there, or a part of
        // a long string.
        let parts = SAMPLE_BYTES / PART_BYTES;
        let mut done = first.place();
        for part in 0..parts {
            let from = done.max(first.place() + bytes / parts * part);
            let mut at = offsets.partition_point(|offset| offset.place() <= from).min(count) - 1;
            let mut skip = from - offsets[at].place();
            if skip > 0 && string(at).len() <= PART_BYTES {
                (at, skip) = (at + 1, 0);
            }
            let full = (part + 1) * PART_BYTES;
            while at < count && sample.bytes.len() < full {
                let rest = &string(at)[skip..];
                let some = rest.len().min(full - sample.bytes.len());
                sample.add(&rest[..some]);
                done = offsets[at].place() + skip + some;
                (at, skip) = (at + 1, 0);
            }
        }
        sample
    }

    /// Adds a string, unless the sample would exceed 256 MiB. No symbol spans two strings.
    pub fn add(&mut self, string: &[u8]) {
        if !string.is_empty() && self.bytes.len() + string.len() <= MOST_BYTES {
            self.bytes.extend_from_slice(string);
            self.ends.push(self.bytes.len());
        }
    }

    /// Returns the bytes of all strings.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Trains a table of up to 255 symbols for strings like a sample's. The same sample gives the same table. A
/// sample of [`SAMPLE_BYTES`] takes about 25 ms.
#[must_use]
pub fn train(sample: &Sample) -> Table {
    let mut trainer = Trainer::new(sample);
    trainer.narrow();
    // The best symbols so far, by the number of codes for the sample.
    let mut best = (trainer.parse(Parse::Longest), trainer.symbols.clone());
    for _ in 0..SECOND_ROUNDS {
        if !trainer.reconsider() {
            break;
        }
        let codes = trainer.parse(Parse::Longest);
        if codes < best.0 {
            best = (codes, trainer.symbols.clone());
        }
    }
    trainer.replace(best.1);
    trainer.table()
}

/// A substring of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// A first estimate of the candidate's worth; the greatest is first in order.
    worth: Reverse<u64>,
    /// The bytes, the first highest.
    word: u64,
    len: u8,
    /// The candidate's first suffix in the sorted list. `run` suffixes from there on begin with the
    /// candidate, or with the part of it before a string's end.
    first: u32,
    run: u32,
}

/// The bytes at a position of the sample: up to 8, the first highest, and 0 past the string's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Suffix {
    word: u64,
    place: u32,
    /// Number of bytes before the string's end.
    left: u8,
}

/// Returns the suffixes of all positions, in order.
fn suffixes(sample: &Sample) -> Vec<Suffix> {
    let mut all = Vec::with_capacity(sample.bytes.len());
    let mut begin = 0;
    for end in &sample.ends {
        all.extend((begin..*end).map(|place| {
            let left = (end - place).min(MAX_SYMBOL_BYTES);
            let word = (word_at(&sample.bytes, place) & low_bytes(left)).swap_bytes();
            Suffix { word, place: place as u32, left: left as u8 }
        }));
        begin = *end;
    }
    // A bucket sort by the first two bytes, then comparisons within each bucket: half the time of a sort by
    // comparison.
    let mut begins = vec![0_u32; (1 << 16) + 1];
    all.iter().for_each(|suffix| begins[(suffix.word >> 48) as usize + 1] += 1);
    for at in 1..begins.len() {
        begins[at] += begins[at - 1];
    }
    let mut sorted = all.clone();
    for suffix in all {
        let to = &mut begins[(suffix.word >> 48) as usize];
        sorted[*to as usize] = suffix;
        *to += 1;
    }
    sorted.chunk_by_mut(|a, b| a.word >> 48 == b.word >> 48).for_each(<[Suffix]>::sort_unstable);
    sorted
}

/// Returns the best candidates, in order.
fn candidates(suffixes: &[Suffix]) -> Vec<Candidate> {
    let mut all = Vec::new();
    // For each length, the start of its run, and the count of the substring.
    let (mut first, mut counts) = ([0; MAX_SYMBOL_BYTES + 1], [0_u32; MAX_SYMBOL_BYTES + 2]);
    for at in 0..=suffixes.len() {
        let common = match (at, suffixes.get(at)) {
            (0, _) | (_, None) => 0,
            (_, Some(suffix)) => ((suffix.word ^ suffixes[at - 1].word).leading_zeros() / 8) as usize,
        };
        let mut longer = 0;
        for len in (common + 1..=MAX_SYMBOL_BYTES).rev().filter(|_| at > 0) {
            let count = take(&mut counts[len]);
            if len == 1 && count > 0 || count >= LEAST && count > longer {
                let worth = if len == 1 { u64::MAX } else { u64::from(count) * (len as u64 - 1) };
                let word = suffixes[at - 1].word & !(u64::MAX.checked_shr(8 * len as u32).unwrap_or(0));
                let run = (at - first[len]) as u32;
                let first = first[len] as u32;
                all.push(Candidate { worth: Reverse(worth), word, len: len as u8, first, run });
            }
            // A candidate one byte longer may have the same start, and is less frequent then.
            longer = count;
            first[len] = at;
        }
        if let Some(suffix) = suffixes.get(at) {
            counts[1..=usize::from(suffix.left)].iter_mut().for_each(|count| *count += 1);
        }
    }
    if all.len() > CANDIDATES {
        all.select_nth_unstable(CANDIDATES);
        all.truncate(CANDIDATES);
    }
    all.sort_unstable();
    all
}

/// The rule by which a sample is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parse {
    /// The fewest codes.
    Fewest,
    /// The longest symbol at each position.
    Longest,
}

struct Trainer {
    suffixes: Vec<Suffix>,
    candidates: Vec<Candidate>,
    /// For each position of the sample, the candidate of each length that begins there.
    begins: Vec<[u16; MAX_SYMBOL_BYTES]>,
    /// For each position, a mask of the candidates in use: bit 0 for one byte.
    masks: Vec<u8>,
    /// One position of each candidate.
    places: Vec<usize>,
    /// The candidates in use, and a flag for each candidate.
    symbols: Vec<u16>,
    used: Vec<bool>,
    /// The count of each candidate in the last parse. For candidates not in use, how often they would replace
    /// two neighbours.
    counts: Vec<u32>,
    /// For the parse in the fewest codes: the number of codes from each position to the end, and the length
    /// of the symbol there, or 0.
    fewest: Vec<u32>,
    choices: Vec<u8>,
}

impl Trainer {
    fn new(sample: &Sample) -> Self {
        let suffixes = suffixes(sample);
        let candidates = candidates(&suffixes);
        let (places, count) = (sample.bytes.len(), candidates.len());
        let mut trainer = Self {
            begins: vec![[NONE; MAX_SYMBOL_BYTES]; places],
            masks: vec![0; places],
            places: vec![0; count],
            symbols: Vec::new(),
            used: vec![false; count],
            counts: vec![0; count],
            fewest: vec![0; places + 1],
            choices: vec![0; places],
            suffixes,
            candidates,
        };
        for (id, candidate) in trainer.candidates.iter().enumerate() {
            for suffix in &trainer.suffixes[candidate.first as usize..][..candidate.run as usize] {
                if suffix.left >= candidate.len {
                    trainer.begins[suffix.place as usize][usize::from(candidate.len) - 1] = id as u16;
                    trainer.places[id] = suffix.place as usize;
                }
            }
        }
        (0..count.min(FIRST)).for_each(|id| trainer.enter(id as u16));
        trainer
    }

    /// Puts a candidate into use.
    fn enter(&mut self, id: u16) {
        self.used[usize::from(id)] = true;
        self.symbols.push(id);
        self.mark(id, |mask, bit| *mask |= bit);
    }

    /// Takes a candidate out of use; the caller removes it from the list of symbols.
    fn leave(&mut self, id: u16) {
        self.used[usize::from(id)] = false;
        self.mark(id, |mask, bit| *mask &= !bit);
    }

    fn mark(&mut self, id: u16, mark: impl Fn(&mut u8, u8)) {
        let Candidate { len, first, run, .. } = self.candidates[usize::from(id)];
        for suffix in &self.suffixes[first as usize..][..run as usize] {
            if suffix.left >= len {
                mark(&mut self.masks[suffix.place as usize], 1 << (len - 1));
            }
        }
    }

    /// Parses the sample. Counts the uses of each symbol, and the neighbours that a candidate would replace.
    /// Returns the number of codes.
    fn parse(&mut self, parse: Parse) -> usize {
        if parse == Parse::Fewest {
            self.choose();
        }
        self.counts.fill(0);
        let (mut at, mut before, mut codes) = (0, 8, 0);
        while at < self.masks.len() {
            let len = match parse {
                Parse::Fewest => usize::from(self.choices[at]),
                Parse::Longest => 8 - self.masks[at].leading_zeros() as usize,
            };
            if len > 0 {
                self.counts[usize::from(self.begins[at][len - 1])] += 1;
            }
            codes += if len > 0 { 1 } else { ESCAPE_CODES as usize };
            let len = len.max(1);
            if before < 8 {
                let both = self.begins[at - before][(before + len).min(8) - 1];
                if both != NONE && !self.used[usize::from(both)] {
                    self.counts[usize::from(both)] += 1;
                }
            }
            before = len;
            at += len;
        }
        codes
    }

    /// Finds the fewest codes from each position on; on a tie, the longest symbol.
    fn choose(&mut self) {
        for at in (0..self.masks.len()).rev() {
            let (mut codes, mut choice) = (ESCAPE_CODES + self.fewest[at + 1], 0);
            let mut left = self.masks[at];
            while left != 0 {
                let len = left.trailing_zeros() as u8 + 1;
                left &= left - 1;
                let others = 1 + self.fewest[at + usize::from(len)];
                if others <= codes {
                    (codes, choice) = (others, len);
                }
            }
            (self.fewest[at], self.choices[at]) = (codes, choice);
        }
    }

    /// Returns a candidate's saving: the codes to spell it by others less its own code, times its count.
    fn worth(&self, id: u16) -> u64 {
        let count = self.counts[usize::from(id)];
        if count == 0 {
            return 0;
        }
        let len = usize::from(self.candidates[usize::from(id)].len);
        let place = self.places[usize::from(id)];
        let mut codes = [0_u64; MAX_SYMBOL_BYTES + 1];
        for at in (0..len).rev() {
            let mut fewest = u64::from(ESCAPE_CODES) + codes[at + 1];
            // Symbols that end within the candidate, without the candidate itself.
            let longest = if at == 0 { len - 1 } else { len - at };
            let mut left = self.masks[place + at] & 0xff_u8.unbounded_shr(8 - longest as u32);
            while left != 0 {
                fewest = fewest.min(1 + codes[at + left.trailing_zeros() as usize + 1]);
                left &= left - 1;
            }
            codes[at] = fewest;
        }
        (codes[0] - 1) * u64::from(count)
    }

    /// Keeps the best `count` symbols in use.
    fn keep(&mut self, count: usize) {
        let mut ranked: Vec<(Reverse<u64>, u16)> =
            self.symbols.iter().map(|id| (Reverse(self.worth(*id)), *id)).collect();
        ranked.sort_unstable();
        ranked[count..].iter().for_each(|(_, id)| self.leave(*id));
        self.symbols = ranked[..count].iter().map(|(_, id)| *id).collect();
    }

    /// Reduces the symbols to the size of a table.
    fn narrow(&mut self) {
        while self.symbols.len() > MAX_SYMBOLS {
            let count = self.symbols.len();
            self.parse(if count > FEWEST_ABOVE { Parse::Fewest } else { Parse::Longest });
            self.keep((count * 3 / 4).max(MAX_SYMBOLS));
        }
    }

    /// Lets candidates return that would replace two neighbours of the last parse, and drops the worst
    /// symbols. Returns false if none returned.
    fn reconsider(&mut self) -> bool {
        let mut back: Vec<(Reverse<u64>, u16)> = (0..self.candidates.len() as u16)
            .filter(|id| !self.used[usize::from(*id)] && self.counts[usize::from(*id)] > 0)
            .map(|id| (Reverse(self.worth(id)), id))
            .collect();
        back.sort_unstable();
        back.truncate(BACK);
        back.iter().for_each(|(_, id)| self.enter(*id));
        while self.symbols.len() > MAX_SYMBOLS {
            self.parse(Parse::Longest);
            self.keep(self.symbols.len().saturating_sub(GO).max(MAX_SYMBOLS));
        }
        !back.is_empty()
    }

    /// Replaces the symbols in use.
    fn replace(&mut self, symbols: Vec<u16>) {
        take(&mut self.symbols).into_iter().for_each(|id| self.leave(id));
        symbols.into_iter().for_each(|id| self.enter(id));
    }

    /// Returns the table of those symbols in use that have uses.
    fn table(mut self) -> Table {
        self.parse(Parse::Longest);
        let counted = self.symbols.iter().filter(|id| self.counts[usize::from(**id)] > 0);
        let symbols = counted.map(|id| self.candidates[usize::from(*id)]);
        let (words, lens): (Vec<u64>, Vec<u8>) =
            symbols.map(|symbol| (symbol.word.swap_bytes(), symbol.len)).unzip();
        Table::new(&words, &lens)
            .unwrap_or_else(|fault| unreachable!("up to 255 substrings of 1 to 8 bytes: {fault}"))
    }
}
