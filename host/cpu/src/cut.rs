//! Conversion of documents on several lines to lines. White space that ends lines becomes spaces. If the
//! elements of an array are to be the records, each comma between two elements becomes a newline. No byte
//! moves.
//!
//! ```text
//! document   [\n {"a":\n 1},\n {"b":"x,\"]"} , 2\n]
//! depth      0   1      0 0    1            0   -1       counted from within the array
//! cut        [   {"a":  1}\n   {"b":"x,\"]"} \n 2 ]
//! ```
//!
//! A part of a document is read before it is known what is open at its left. So the part is read twice, in
//! the cache. First, its [`Summary`] computes its effect on either state of strings. Then, after the
//! summaries of all text before it are known, the part is cut.

use std::fmt;

use warpath_core::simd::outline::{Outline, Stretch, WORDS};
use warpath_core::simd::{Isa, Simd, Work};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::WORD_BYTES;

/// The number of bytes that are outlined at once.
pub const STRETCH_BYTES: usize = WORDS * WORD_BYTES;

/// The nesting between two bytes of a document, at which no escape is pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// Set if a string is open.
    pub string: bool,
    /// The number of open containers, counted from within the array that is cut; negative after the end of
    /// the array.
    pub depth: i64,
}

/// The change of [`Nesting`] over a stretch of text, if no escape is pending at its left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Set if the number of its quotes is odd.
    odd: bool,
    /// The change of depth if no string was open at the left, and the change if one was.
    outside: i64,
    inside: i64,
}

impl Summary {
    /// Summarises a text.
    pub fn of(text: &[u8]) -> Self {
        Isa::best().run(Summarise(text))
    }

    /// The nesting at the right of the text.
    pub fn after(&self, left: Nesting) -> Nesting {
        let change = if left.string { self.inside } else { self.outside };
        Nesting { string: left.string ^ self.odd, depth: left.depth.saturating_add(change) }
    }
}

/// The stretch of a text that begins at a byte. If the text is too short, zeros follow it.
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

/// Returns whether a string is open after an outlined stretch. Zeros after its text change nothing.
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
        // `advance` has moved the last word of the last stretch to index 0.
        Summary { odd: outline.string[0] >> 63 == 1, outside, inside }
    }
}

/// The reason why a text is not cut. The caller then reads the text as one record, and decides about faults
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irregular {
    /// Only white space is in the position of an element.
    NoElement,
    /// Containers may be nested deeper than the limit for records.
    TooDeep,
    /// A string contains a newline.
    NewlineInString,
    /// An element is longer than the longest text.
    TooLong,
    /// The document ends before the array does.
    NotClosed,
}

impl fmt::Display for Irregular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoElement => "its array has an empty element",
            Self::TooDeep => "its containers nest about as deep as the limit",
            Self::NewlineInString => "a string contains a newline",
            Self::TooLong => "an element is longer than the largest partition",
            Self::NotClosed => "its array is not closed",
        })
    }
}

/// Cuts an array that is given stretch by stretch, beginning at some byte within it.
pub struct Cutter {
    outline: Outline,
    depth: i64,
    /// The depth at which containers are nested too deep.
    most_depth: i64,
    /// The start of the first element whose start was seen, and the start of the current element.
    pub first: Option<usize>,
    begin: usize,
    /// The number of elements that have begun and ended, and the end of the last of them.
    pub elements: u64,
    /// The offset after the last byte of the elements.
    pub end: usize,
    /// The offset of the array's closing bracket.
    pub closed: Option<usize>,
    /// The reason why cutting stopped early.
    pub irregular: Option<Irregular>,
}

impl Cutter {
    /// Makes a cutter for text that begins with this nesting. `within` is the start of an element that begins
    /// there without a comma of the array before it.
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

    /// Prepares for a next stretch at which no escape is pending. `string` says whether a string is open.
    fn resume(&mut self, string: bool) {
        self.outline.begin();
        self.outline.string[0] = (string as u64).wrapping_neg();
    }

    /// Returns whether cutting has ended, so that text after this has no use.
    pub fn is_done(&self) -> bool {
        self.closed.is_some() || self.irregular.is_some()
    }

    /// Cuts `text[from..]` up to the end of the array, or, with `one`, only up to the end of the current
    /// element.
    ///
    /// Each call continues at the end of the previous one. No escape may be pending between calls.
    pub fn cut(&mut self, text: &mut [u8], from: usize, one: bool) {
        Isa::best().run(Cut { cutter: self, text, from, one });
    }

    /// Ends the current element at a byte.
    #[inline(always)]
    fn end_element(&mut self, text: &mut [u8], at: usize, closes: bool) {
        if self.first.is_some() {
            let blank = text[self.begin..at].iter().rev().all(|byte| is_whitespace(*byte));
            let is_empty = closes && self.elements == 0 && self.first == Some(self.begin);
            match blank {
                false => (self.elements, self.end) = (self.elements + 1, at),
                // The array is known to be empty only if its opening bracket was seen. After a comma there
                // must be an element.
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

/// Returns whether an array begins immediately before a byte.
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
    /// Cuts the outlined stretch. Returns whether cutting has ended.
    #[inline(always)]
    fn stretch<S: Simd>(&mut self, simd: S, text: &mut [u8], at: usize, one: bool) -> bool {
        let words = (text.len() - at).div_ceil(WORD_BYTES).min(WORDS);
        let mut word = 0;
        loop {
            // Words without brackets can end elements only if no container within the array is open.
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

/// Makes one line of a document, and reports each newline that it replaces. It stops at a newline in a string
/// and returns the offset of that newline as error.
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

    /// The nesting after a text, found a byte at a time.
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

    /// The commas between elements and the end of the array, found a byte at a time; `None` if a string
    /// contains a newline.
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
                    // A newline after the end of the array may be seen or not.
                    (None, Some(Irregular::NewlineInString)) | (None, None) => {
                        assert!(cutter.irregular.is_some() || cutter.closed.is_some(), "{}", said());
                    }
                    // Another irregularity may come first.
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
