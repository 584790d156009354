//! One word of 64 bytes of XML, as bitmaps.

use super::{XmlMap, event_of, state, step};
use crate::index::Monoid;
use crate::strict::Planes;

/// The bytes of a word that matter, one bitmap for each class.
#[derive(Clone, Copy, Debug, Default)]
pub struct XmlWord {
    /// Bytes that may change the state.
    special: u64,
    /// Bit *b* of the [`symbol`](mod@super::symbol)s of these bytes.
    symbols: [u64; 4],
    /// `&`
    reference: u64,
    /// Bytes that are not valid UTF-8 after the bytes before them.
    faults: u64,
}

/// The contents of a word, once its state is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XmlRead {
    /// The events.
    pub events: u64,
    /// Bit *b* of the kinds of the events.
    pub kinds: [u64; 4],
    /// `&` in text and in the values of attributes.
    pub references: u64,
    /// Bytes that are not valid UTF-8 after the bytes before them. If a character is split between two
    /// documents, the fault is in the second document or in none. But then both documents have text outside
    /// their roots.
    pub faults: u64,
    /// The state after the word.
    pub after: u32,
}

impl XmlRead {
    /// The kind of the event at a bit.
    #[inline(always)]
    #[must_use]
    pub const fn kind(&self, bit: u32) -> u32 {
        number(&self.kinds, bit)
    }
}

/// The number whose bits are in four planes at a position.
#[inline(always)]
const fn number(planes: &[u64; 4], place: u32) -> u32 {
    let [a, b, c, d] = *planes;
    (a >> place & 1 | (b >> place & 1) << 1 | (c >> place & 1) << 2 | (d >> place & 1) << 3) as u32
}

/// The bytes that are equal to `byte`.
#[inline(always)]
const fn equal(planes: &Planes, byte: u8) -> u64 {
    let (mut equal, mut bit) = (!0, 0);
    while bit < 8 {
        equal &= if byte >> bit & 1 == 1 { planes[bit] } else { !planes[bit] };
        bit += 1;
    }
    equal
}

impl XmlWord {
    /// A word: its planes, the three bytes before it, the last of which is the nearest, and the two bytes
    /// after it. The bytes after a `<` and before a `>` give its kind:
    ///
    /// ```text
    /// text       <!-- a -->
    /// !           ■                shifted to the left of the text by one
    /// -            ■■     ■■       by two to the left; by one and two to the right
    /// comment    ■
    /// its end             ■
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn of(planes: &Planes, left: [u8; 3], right: [u8; 2]) -> Self {
        let of = |byte: u8| equal(planes, byte);
        let next = |byte: u8| of(byte) >> 1 | ((right[0] == byte) as u64) << 63;
        let second =
            |byte: u8| of(byte) >> 2 | ((right[0] == byte) as u64) << 62 | ((right[1] == byte) as u64) << 63;
        let before = |byte: u8| of(byte) << 1 | (left[2] == byte) as u64;
        let twice_before = |byte: u8| {
            before(byte) & (of(byte) << 2 | ((left[2] == byte) as u64) << 1 | (left[1] == byte) as u64)
        };
        let (less, greater, double, single) = (of(b'<'), of(b'>'), of(b'"'), of(b'\''));
        let bang = less & next(b'!');
        let (comment, cdata) = (bang & second(b'-'), bang & second(b'['));
        let instruction = less & next(b'?');
        let comment_end = greater & twice_before(b'-');
        let cdata_end = greater & twice_before(b']');
        let instruction_end = greater & before(b'?');
        let plain = greater & !(comment_end | cdata_end | instruction_end);
        let types = bang & !(comment | cdata);
        Self {
            special: less | greater | double | single,
            // The bits of the numbers in `symbol`.
            symbols: [
                comment | instruction | plain | cdata_end | double,
                cdata | instruction | comment_end | cdata_end | single,
                types | plain | comment_end | cdata_end,
                instruction_end | double | single,
            ],
            reference: of(b'&'),
            faults: faults(planes, left),
        }
    }

    /// The effect of the word on each state, if documents begin at the bytes `begins`.
    #[inline(always)]
    #[must_use]
    pub fn map(&self, begins: u64) -> XmlMap {
        let mut map = XmlMap::default();
        let mut left = self.special | begins;
        while left != 0 {
            let place = left.trailing_zeros();
            if begins >> place & 1 == 1 {
                map = XmlMap::BEGIN;
            }
            if self.special >> place & 1 == 1 {
                map = map.combine(XmlMap::of(number(&self.symbols, place)));
            }
            left &= left - 1;
        }
        map
    }

    /// Reads the word from the state `before` on, if documents begin at the bytes `begins`.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, begins: u64, before: u32) -> XmlRead {
        let mut read = XmlRead { faults: self.faults, ..XmlRead::default() };
        let mut now = before;
        // The start of the current text or value, if the state is one of these.
        let mut text = 0;
        let mut left = self.special | begins;
        while left != 0 {
            let place = left.trailing_zeros();
            if begins >> place & 1 == 1 {
                if !has_references(now) {
                    text = place;
                }
                now = state::TEXT;
            }
            if self.special >> place & 1 == 1 {
                let symbol = number(&self.symbols, place);
                let next = step(now, symbol);
                if next != now {
                    let kind = event_of(now, symbol) as u64;
                    read.events |= 1 << place;
                    let mut bit = 0;
                    while bit < 4 {
                        read.kinds[bit] |= (kind >> bit & 1) << place;
                        bit += 1;
                    }
                    if has_references(now) {
                        read.references |= self.reference & (!0 << text) & ((1 << place) - 1);
                    }
                    text = place;
                    now = next;
                }
            }
            left &= left - 1;
        }
        if has_references(now) {
            read.references |= self.reference & (!0 << text);
        }
        read.after = now;
        read
    }
}

/// Returns true if references may be in this state.
#[inline(always)]
const fn has_references(state: u32) -> bool {
    matches!(state, state::TEXT | state::DOUBLE | state::SINGLE)
}

/// Returns the bytes that are not valid UTF-8 after the bytes before them (RFC 3629). These are bytes 80 to
/// BF where none is required, other bytes where one is required, and bytes that are never valid.
///
/// ```text
/// text       C3 A9 41 E2 82 AC        é, A and €
/// leads      ■        ■
/// wanted        ■        ■  ■         a byte 80 to BF is required here, and not allowed elsewhere
/// ```
#[inline(always)]
fn faults(planes: &Planes, left: [u8; 3]) -> u64 {
    let [p0, p1, p2, p3, p4, p5, p6, p7] = *planes;
    let leads = p7 & p6;
    let before = left[0] as u32 | left[1] as u32 | left[2] as u32;
    if p7 == 0 && before < 0x80 {
        return 0;
    }
    let continuation = p7 & !p6;
    // E0 to EF, F0 to FF.
    let (three, four) = (leads & p5 & !p4, leads & p5 & p4);
    let was = |at: usize, least: u8| (left[at] >= least) as u64;
    let wanted = leads << 1
        | was(2, 0xc0)
        | (three | four) << 2
        | was(2, 0xe0) << 1
        | was(1, 0xe0)
        | four << 3
        | was(2, 0xf0) << 2
        | was(1, 0xf0) << 1
        | was(0, 0xf0);
    let low_zero = !(p3 | p2 | p1 | p0);
    // C0, C1, F5 to FF.
    let never = leads & !p5 & !p4 & !(p3 | p2 | p1) | four & (p3 | p2 & (p1 | p0));
    // The restrictions on the byte after E0, ED, F0 and F4.
    let behind = |set: u64, byte: u8| set << 1 | (left[2] == byte) as u64;
    let long = behind(three & low_zero, 0xe0) & !p5;
    let surrogate = behind(three & p3 & p2 & !p1 & p0, 0xed) & p5;
    let small = behind(four & low_zero, 0xf0) & !(p5 | p4);
    let large = behind(four & !p3 & p2 & !p1 & !p0, 0xf4) & (p5 | p4);
    wanted ^ continuation | never | continuation & (long | surrogate | small | large)
}
