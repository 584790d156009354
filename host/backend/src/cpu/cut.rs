//! Documents on several lines made lines: the white space that ends lines becomes spaces, and of an array whose elements are to be
//! records, each comma between two becomes a newline. No byte changes its place.
//!
//! ```text
//! document   [\n {"a":\n 1},\n {"b":"x,\"]"} , 2\n]
//! depth      0   1      0 0    1            0   -1       counted from within the array
//! cut        [   {"a":  1}\n   {"b":"x,\"]"} \n 2 ]
//! ```
//!
//! A part of a document is read without knowing what is open at its left. So it is gone through twice, in the cache: first its
//! [`Summary`] says what it does to either state of strings, and then, when what stands before it has said the same, it is cut.

use std::fmt;

use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::WORD_BYTES;

use warpath_core::simd::outline::{Outline, Stretch, WORDS};
use warpath_core::simd::{Isa, Simd, Work};

/// Bytes that are outlined at once.
pub const STRETCH_BYTES: usize = WORDS * WORD_BYTES;

/// What is open between two bytes of a document, where no escape is pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// A string.
    pub string: bool,
    /// So many containers, counted from within the array that is cut: negative where that has been left.
    pub depth: i64,
}

/// What a stretch of text does to the [`Nesting`] at its left, if no escape is pending there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of its quotes is odd.
    odd: bool,
    /// Change of depth if no string was open at the left, and if one was.
    outside: i64,
    inside: i64,
}

impl Summary {
    /// Of a text.
    pub fn of(text: &[u8]) -> Self {
        Isa::best().run(Summarise(text))
    }

    /// What is open at the right.
    pub fn after(&self, left: Nesting) -> Nesting {
        let change = if left.string { self.inside } else { self.outside };
        Nesting { string: left.string ^ self.odd, depth: left.depth.saturating_add(change) }
    }
}

/// The stretch of a text that begins at a byte: zeros stand behind a text that does not fill it.
#[inline(always)]
fn stretch_at<'a>(text: &'a [u8], at: usize, padded: &'a mut Stretch) -> &'a Stretch {
    let rest = &text[at..];
    if let Some(words) = rest.as_chunks().0.first_chunk() {
        return words;
    }
    let bytes = padded.as_flattened_mut();
    bytes[..rest.len()].copy_from_slice(rest);
    bytes[rest.len()..].fill(0);
    padded
}

/// Whether a string is open behind an outlined stretch. Zeros behind its text change nothing.
fn open_behind(outline: &Outline) -> bool {
    outline.string[WORDS] >> 63 == 1
}

struct Summarise<'a>(&'a [u8]);

impl Work for Summarise<'_> {
    type Output = Summary;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Summary {
        let mut outline = Outline::default();
        let mut padded = [[0; WORD_BYTES]; WORDS];
        let (mut outside, mut inside) = (0, 0);
        for at in (0..self.0.len()).step_by(STRETCH_BYTES) {
            simd.outline(stretch_at(self.0, at, &mut padded), false, &mut outline);
            let mut busy = outline.busy;
            while busy != 0 {
                let word = busy.trailing_zeros() as usize;
                busy &= busy - 1;
                let (planes, string) = (&outline.planes[word], outline.string[word + 1]);
                let count = |bits: u64| i64::from(bits.count_ones());
                let net = |mask: u64| count(planes.open & mask) - count(planes.close & mask);
                outside += net(!string);
                inside += net(string);
            }
            outline.advance();
        }
        // The last stretch was advanced past: its last word stands first.
        Summary { odd: outline.string[0] >> 63 == 1, outside, inside }
    }
}

/// Why a text is not cut: whoever reads it as one record knows what that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irregular {
    /// Nothing but white space where an element should be.
    NoElement,
    /// Containers may nest deeper than records may.
    TooDeep,
    /// A newline stands in a string.
    NewlineInString,
    /// An element is longer than a text may be.
    TooLong,
    /// The document ends before the array does.
    NotClosed,
}

impl fmt::Display for Irregular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoElement => "there is no element between two commas of its array, or before its end",
            Self::TooDeep => "its containers nest about as deep as they may",
            Self::NewlineInString => "a newline stands in a string",
            Self::TooLong => "an element is longer than a partition may be",
            Self::NotClosed => "its array is not closed",
        })
    }
}

/// Cuts an array that is given stretch by stretch, from some place within it on.
pub struct Cutter {
    outline: Outline,
    depth: i64,
    /// From here on containers nest too deep.
    most_depth: i64,
    /// Where the first element begins that was seen to begin, and the one at work.
    pub first: Option<usize>,
    begin: usize,
    /// How many elements have begun and ended, and where the last of them ended.
    pub elements: u64,
    /// One past the last byte.
    pub end: usize,
    /// Where the array ends: its closing bracket.
    pub closed: Option<usize>,
    /// Why the text is not cut any further.
    pub irregular: Option<Irregular>,
}

impl Cutter {
    /// Begins where this much is open; `within` where an element begins there, for which the array has no comma.
    pub fn new(left: Nesting, within: Option<usize>, most_depth: i64) -> Self {
        let mut cutter = Self {
            outline: Outline::default(),
            depth: left.depth,
            most_depth,
            first: within,
            begin: within.unwrap_or(0),
            elements: 0,
            end: within.unwrap_or(0),
            closed: None,
            irregular: None,
        };
        cutter.resume(left.string);
        cutter
    }

    /// The next stretch begins where no escape is pending, and a string is open or not.
    fn resume(&mut self, string: bool) {
        self.outline.begin();
        self.outline.string[0] = (string as u64).wrapping_neg();
    }

    /// Whether nothing behind what was cut is of any use.
    pub fn is_done(&self) -> bool {
        self.closed.is_some() || self.irregular.is_some()
    }

    /// Cuts `text[from..]` as far as the array goes; or, where only the element at work is wanted, as far as it goes.
    ///
    /// All calls go on where the one before ended, and no escape is pending between them.
    pub fn cut(&mut self, text: &mut [u8], from: usize, one: bool) {
        Isa::best().run(Cut { cutter: self, text, from, one });
    }

    /// An element ends at a byte.
    #[inline(always)]
    fn end_element(&mut self, text: &mut [u8], at: usize, closes: bool) {
        if self.first.is_some() {
            let blank = text[self.begin..at].iter().rev().all(|byte| is_whitespace(*byte));
            let is_empty = closes && self.elements == 0 && self.first == Some(self.begin);
            match blank {
                false => (self.elements, self.end) = (self.elements + 1, at),
                // It is known to be empty only where all of it is seen: behind a comma there is something to come.
                true if is_empty && at_start(text, self.begin) => self.end = at,
                true => self.irregular = Some(Irregular::NoElement),
            }
        }
        if closes {
            self.closed = Some(at);
        } else {
            text[at] = b'\n';
            self.begin = at + 1;
            self.first.get_or_insert(at + 1);
        }
    }
}

/// Whether an array begins before a byte.
fn at_start(text: &[u8], begin: usize) -> bool {
    begin > 0 && text[begin - 1] == b'['
}

struct Cut<'a> {
    cutter: &'a mut Cutter,
    text: &'a mut [u8],
    from: usize,
    one: bool,
}

impl Work for Cut<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { cutter, text, from, one } = self;
        let mut padded = [[0; WORD_BYTES]; WORDS];
        for at in (from..text.len()).step_by(STRETCH_BYTES) {
            simd.outline(stretch_at(text, at, &mut padded), false, &mut cutter.outline);
            if cutter.stretch(simd, text, at, one) {
                return;
            }
            if text.len() - at < STRETCH_BYTES {
                let open = open_behind(&cutter.outline);
                cutter.resume(open);
            } else {
                cutter.outline.advance();
            }
        }
    }
}

impl Cutter {
    /// Cuts what has been outlined. Returns whether no more is wanted.
    #[inline(always)]
    fn stretch<S: Simd>(&mut self, simd: S, text: &mut [u8], at: usize, one: bool) -> bool {
        let words = (text.len() - at).div_ceil(WORD_BYTES).min(WORDS);
        let mut word = 0;
        loop {
            // Between brackets, elements end only where the array itself is all that is open.
            if self.depth != 0 {
                word += self.outline.busy.checked_shr(word as u32).unwrap_or(0).trailing_zeros() as usize;
            }
            if word >= words {
                return false;
            }
            let place = at + word * WORD_BYTES;
            let outside = !self.outline.string[word + 1];
            let (mut open, mut close) = (0, 0);
            if self.outline.busy >> word & 1 == 1 {
                let planes = &self.outline.planes[word];
                (open, close) = (planes.open & outside, planes.close & outside);
                if planes.newline & !outside != 0 {
                    self.irregular = Some(Irregular::NewlineInString);
                    return true;
                }
                let mut newlines = planes.newline;
                while newlines != 0 {
                    text[place + newlines.trailing_zeros() as usize] = b' ';
                    newlines &= newlines - 1;
                }
            }
            word += 1;
            let (opens, closes) = (i64::from(open.count_ones()), i64::from(close.count_ones()));
            if self.depth + opens >= self.most_depth {
                self.irregular = Some(Irregular::TooDeep);
                return true;
            }
            if self.depth > closes || self.depth < 0 {
                self.depth += opens - closes;
                continue;
            }
            let commas = match text.get(place..).and_then(<[u8]>::first_chunk) {
                Some(bytes) => simd.equal(bytes, b','),
                None => {
                    let mut bytes = [0; WORD_BYTES];
                    let rest = &text[place..];
                    bytes[..rest.len()].copy_from_slice(rest);
                    simd.equal(&bytes, b',')
                }
            };
            let mut events = open | close | commas & outside;
            while events != 0 {
                let bit = events & events.wrapping_neg();
                events ^= bit;
                let here = place + bit.trailing_zeros() as usize;
                if open & bit != 0 {
                    self.depth += 1;
                } else if close & bit != 0 {
                    self.depth -= 1;
                    if self.depth < 0 {
                        self.end_element(text, here, true);
                        return true;
                    }
                } else if self.depth == 0 {
                    self.end_element(text, here, false);
                    if one || self.irregular.is_some() {
                        return true;
                    }
                }
            }
        }
    }
}

/// Makes one line of a document. Returns the newlines that were replaced; it ends at one that stands in a string, which is none
/// of them.
pub fn flatten(text: &mut [u8], newlines: &mut dyn FnMut(usize)) -> Result<(), usize> {
    Isa::best().run(Flatten { text, newlines })
}

struct Flatten<'a> {
    text: &'a mut [u8],
    newlines: &'a mut dyn FnMut(usize),
}

impl Work for Flatten<'_> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Self { text, newlines } = self;
        let mut outline = Outline::default();
        let mut padded = [[0; WORD_BYTES]; WORDS];
        for at in (0..text.len()).step_by(STRETCH_BYTES) {
            simd.outline(stretch_at(text, at, &mut padded), false, &mut outline);
            let mut busy = outline.busy;
            while busy != 0 {
                let word = busy.trailing_zeros() as usize;
                busy &= busy - 1;
                let (mut found, string) = (outline.planes[word].newline, outline.string[word + 1]);
                while found != 0 {
                    let here = at + word * WORD_BYTES + found.trailing_zeros() as usize;
                    if string >> found.trailing_zeros() & 1 == 1 {
                        return Err(here);
                    }
                    text[here] = b' ';
                    newlines(here);
                    found &= found - 1;
                }
            }
            outline.advance();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    /// Random bytes, dense in structure.
    fn text(rng: &mut Rng, len: usize) -> Vec<u8> {
        let (mut out, mut quiet) = (Vec::new(), 0);
        while out.len() < len {
            // Stretches without brackets, and dense ones.
            if quiet == 0 && rng.below(40) == 0 {
                quiet = rng.below(300);
            }
            quiet = usize::saturating_sub(quiet, 1);
            let from: &[u8] = if quiet > 0 { b"ab, :x\"\"" } else { b"{}[]{}[],,,\"\"\\\n a" };
            out.push(rng.pick(from));
        }
        out
    }

    /// What is open behind a text, a byte at a time.
    fn naive(text: &[u8], mut left: Nesting) -> Nesting {
        let mut escape = false;
        for byte in text {
            let escaped = std::mem::take(&mut escape);
            match byte {
                b'\\' => escape = !escaped,
                b'"' if !escaped => left.string = !left.string,
                b'{' | b'[' if !left.string => left.depth += 1,
                b'}' | b']' if !left.string => left.depth -= 1,
                _ => {}
            }
        }
        left
    }

    #[test]
    fn summaries_are_those_of_the_bytes() {
        let mut rng = Rng::new(1);
        for round in 0..3000 {
            let text = text(&mut rng, [0, 1, 63, 64, 65, 4095, 4096, 4097, 9000][round % 9]);
            for isa in Isa::all() {
                let summary = isa.run(Summarise(&text));
                for left in [Nesting { string: false, depth: 3 }, Nesting { string: true, depth: -1 }] {
                    assert_eq!(summary.after(left), naive(&text, left), "{}", isa.name());
                }
            }
        }
    }

    /// Where the commas between elements are, and the end, a byte at a time; `None` where a newline stands in a string.
    fn naive_cuts(text: &[u8], left: Nesting) -> Option<(Vec<usize>, Option<usize>)> {
        let mut commas = Vec::new();
        if text.iter().enumerate().any(|(at, byte)| *byte == b'\n' && naive(&text[..at], left).string) {
            return None;
        }
        for (at, byte) in text.iter().enumerate() {
            let open = naive(&text[..at], left);
            match (byte, open.depth) {
                (b',', 0) if !open.string => commas.push(at),
                (b'}' | b']', 0) if !open.string => return Some((commas, Some(at))),
                _ => {}
            }
        }
        Some((commas, None))
    }

    #[test]
    fn cuts_are_those_of_the_bytes() {
        let mut rng = Rng::new(2);
        let (mut closed, mut regular) = (0, 0);
        for round in 0..2000 {
            let mut text = text(&mut rng, [10, 63, 64, 65, 200, 700][round % 6]);
            // Commas without an element between them are another matter.
            for at in 1..text.len() {
                if text[at] == b',' {
                    text[at - 1] = b'7';
                }
            }
            let left = Nesting { string: round % 3 == 0, depth: [0, 0, 1, 5][round % 4] };
            let want = naive_cuts(&text, left);
            for isa in Isa::all() {
                let mut got = text.clone();
                let mut cutter = Cutter::new(left, None, 1000);
                isa.run(Cut { cutter: &mut cutter, text: &mut got, from: 0, one: false });
                let said = || format!("{} {left:?} {}", isa.name(), text.escape_ascii());
                match (&want, cutter.irregular) {
                    // Behind the end, that may be seen or not.
                    (None, Some(Irregular::NewlineInString)) | (None, None) => {
                        assert!(cutter.irregular.is_some() || cutter.closed.is_some(), "{}", said());
                    }
                    // Something else may have been seen before.
                    (_, Some(Irregular::NoElement)) => {}
                    (Some((commas, end)), None) => {
                        regular += 1;
                        closed += end.is_some() as usize;
                        assert_eq!(cutter.closed, *end, "{}", said());
                        assert_eq!(cutter.first, commas.first().map(|at| at + 1), "{}", said());
                        let lines: Vec<usize> =
                            (0..end.unwrap_or(got.len())).filter(|at| got[*at] == b'\n').collect();
                        assert_eq!(lines, *commas, "{}", said());
                        let ends = (commas.len() + end.is_some() as usize).saturating_sub(1);
                        assert_eq!(cutter.elements, ends as u64, "{}", said());
                    }
                    other => panic!("{other:?} {}", said()),
                }
            }
        }
        assert!(regular > 300 && closed > 300, "{regular} {closed}");
    }
}
