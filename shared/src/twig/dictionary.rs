//! The numbers of names and values in twigs: a table for look-ups on a device.
//!
//! One table with open addressing has all names of members. For each name with tests of its values, it also
//! has the tested strings and numbers. Strings are stored decoded. Numbers are stored as digits, power of ten
//! and sign, so that equal numbers have the same bytes. Other tests, for example `>=`, are tried one at a
//! time.

use super::NONE;
use crate::ir::relation;
use crate::query::compare::{Decimal, ValueBytes, relate_numbers, relate_strings};
use crate::query::document::Text;
use crate::tree::tape::TapeNode;
use crate::view::View;

/// The class of entries for names. For list `i` of tests, the class of strings is `2 i + 1`, and that of
/// numbers is `2 i + 2`.
pub const NAMES: u32 = 0;
/// The class of entries for names of attributes.
pub const ATTRIBUTES: u32 = NONE - 1;

/// An entry. 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DictionaryEntry {
    /// The class of the entry; [`NONE`] for an empty entry.
    pub of: u32,
    /// The hash of the bytes.
    pub hash: u32,
    /// The offset of the bytes.
    pub at: u32,
    /// The number of bytes.
    pub len: u32,
    /// The number of a name, or the row of a value.
    pub value: u32,
    /// Zero.
    pub reserved: u32,
}

impl Default for DictionaryEntry {
    fn default() -> Self {
        Self { of: NONE, hash: 0, at: 0, len: 0, value: 0, reserved: 0 }
    }
}

/// The row and tests of a name. Numbers 0 and 1 are for names that no twig has: 0 of elements, 1 of
/// attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TagPlace {
    /// The row of nodes without a test, or [`NONE`].
    pub row: u32,
    /// The list of tests of the other nodes, or [`NONE`].
    pub tests: u32,
}

/// The tests of the values of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TestList {
    /// The rows of nodes that test for `false`, `true` and `null`, or [`NONE`].
    pub literals: [u32; 3],
    /// Bit 0: strings are looked up. Bit 1: numbers are looked up.
    pub looked_up: u32,
    /// The first of the other tests.
    pub begin: u32,
    /// The position after the last of the other tests.
    pub end: u32,
}

/// A test that is tried. The tests of one row are adjacent, and all of them have to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ValueTest {
    /// The row of values that pass, or [`NONE`] if the next test has to hold as well.
    pub row: u32,
    /// The kind of the literal ([`kind`]).
    pub kind: u32,
    /// The relations for which the test holds: bits of [`relation`].
    pub relation: u32,
    /// The offset of the literal's bytes, in its own spelling, without quotes or escapes.
    pub at: u32,
    /// The number of bytes.
    pub len: u32,
    /// Zero.
    pub reserved: u32,
}

/// Kinds of literals.
pub mod kind {
    /// A string.
    pub const STRING: u32 = 0;
    /// A number.
    pub const NUMBER: u32 = 1;
    /// `false`.
    pub const FALSE: u32 = 2;
    /// `true`.
    pub const TRUE: u32 = 3;
    /// `null`.
    pub const NULL: u32 = 4;
}

/// All names and values in the tests of twigs.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Dictionary<'a> {
    /// The entries. Their number is a power of two, and some are empty.
    pub entries: View<'a, DictionaryEntry>,
    /// The bytes of names and values.
    pub bytes: View<'a, u8>,
    /// The rows and tests of names.
    pub tags: View<'a, TagPlace>,
    /// Lists of tests. The first is for `*`, the second for `@*`.
    pub lists: View<'a, TestList>,
    /// Tests.
    pub tests: View<'a, ValueTest>,
    /// Bit 0: the row has nodes with nothing below them. Bit 1: it has nodes with others below them.
    pub rows: View<'a, u8>,
    /// Bit 0: nodes `*` have tests of their values. Bit 1: nodes `@*` have.
    pub tests_any: u64,
}

/// A hash of bytes (Fowler, Noll and Vo, 1a).
#[derive(Clone, Copy, Debug)]
pub struct Hash(u32);

impl Hash {
    /// The hash of no bytes, for entries of a class.
    #[inline(always)]
    #[must_use]
    pub const fn new(of: u32) -> Self {
        Self(0x811c_9dc5 ^ of.wrapping_mul(0x9e37_79b1))
    }

    /// Adds a byte.
    #[inline(always)]
    pub const fn push(&mut self, byte: u8) {
        self.0 = (self.0 ^ byte as u32).wrapping_mul(0x0100_0193);
    }

    /// The hash.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0 ^ self.0 >> 16
    }
}

/// A key of a look-up.
trait Key {
    /// Passes the bytes of the key to `byte`, one at a time.
    fn tell(&self, byte: impl FnMut(u8));
}

/// A string in a text, between its quotes, as its decoded bytes.
struct StringKey<'a, T> {
    reader: ValueBytes<'a, T>,
    start: u32,
    end: u32,
}

impl<T: Text> Key for StringKey<'_, T> {
    #[inline(always)]
    fn tell(&self, mut byte: impl FnMut(u8)) {
        let mut decoder = self.reader.decode(self.start, self.end);
        while let Some(next) = decoder.next_byte() {
            byte(next);
        }
    }
}

/// A range of a text, as its own bytes.
struct PlainKey<'a> {
    text: View<'a, u8>,
    start: u32,
    end: u32,
}

impl Key for PlainKey<'_> {
    #[inline(always)]
    fn tell(&self, mut byte: impl FnMut(u8)) {
        let mut at = self.start;
        while at < self.end {
            byte(self.text.get(at as usize));
            at += 1;
        }
    }
}

/// An empty text, for readers of literals only.
struct Nothing;

impl Text for Nothing {
    #[inline(always)]
    fn byte(&self, _at: u32) -> u8 {
        0
    }
}

/// A possible number in a text. Equal numbers have the same bytes, and different ones do not.
struct NumberKey<'a, T> {
    reader: ValueBytes<'a, T>,
    start: u32,
    end: u32,
}

impl<T: Text> Key for NumberKey<'_, T> {
    #[inline(always)]
    fn tell(&self, mut byte: impl FnMut(u8)) {
        let Some(number) = Decimal::read(self.reader, self.start, self.end) else { return };
        let (is_negative, scale) = number.canonical(&mut byte);
        let mut i = 0;
        while i < 64 {
            byte((scale >> i) as u8);
            i += 8;
        }
        byte(is_negative as u8);
    }
}

impl<'a> Dictionary<'a> {
    /// Looks up a key, and returns its value, or [`NONE`].
    #[inline(always)]
    fn find(&self, of: u32, key: &impl Key) -> u32 {
        self.find_hash(of, key).0
    }

    /// Looks up a key, and returns its value, or [`NONE`], and its hash.
    #[inline(always)]
    fn find_hash(&self, of: u32, key: &impl Key) -> (u32, u32) {
        let mut hash = Hash::new(of);
        key.tell(|byte| hash.push(byte));
        let hash = hash.get();
        let last = self.entries.len() as u32 - 1;
        let mut at = hash & last;
        loop {
            let entry = self.entries.get(at as usize);
            if entry.of == NONE {
                return (NONE, hash);
            }
            if entry.of == of && entry.hash == hash {
                let (mut i, mut is_equal) = (0, true);
                key.tell(|byte| {
                    is_equal = is_equal && i < entry.len && self.bytes.get((entry.at + i) as usize) == byte;
                    i += 1;
                });
                if is_equal && i == entry.len {
                    return (entry.value, hash);
                }
            }
            at = (at + 1) & last;
        }
    }

    /// The number of a member's name.
    #[inline(always)]
    pub fn tag<T: Text>(&self, text: &T, name: TapeNode) -> u32 {
        let reader = ValueBytes::text(text, self.bytes);
        let found = self.find(NAMES, &StringKey { reader, start: name.start() + 1, end: name.end - 1 });
        if found == NONE { 0 } else { found }
    }

    /// The number of a name in an XML text, in class [`NAMES`] or [`ATTRIBUTES`], and its hash.
    #[inline(always)]
    pub fn name(&self, of: u32, text: View<'_, u8>, start: u32, end: u32) -> (u32, u32) {
        let (found, hash) = self.find_hash(of, &PlainKey { text, start, end });
        (if found == NONE { (of == ATTRIBUTES) as u32 } else { found }, hash)
    }

    /// Passes to `row` the rows of a list whose tests an XML text passes. The text is tested as a string, and
    /// also as a number if it is spelled like one, except for white space around it.
    #[inline(always)]
    pub fn passed_text(&self, list: u32, text: View<'a, u8>, start: u32, end: u32, mut row: impl FnMut(u32)) {
        let tests = self.lists.get(list as usize);
        let (mut first, mut last) = (start, end);
        while first < last && text.get(first as usize).is_ascii_whitespace() {
            first += 1;
        }
        while first < last && text.get(last as usize - 1).is_ascii_whitespace() {
            last -= 1;
        }
        if tests.looked_up & 1 != 0 {
            let found = self.find(2 * list + 1, &PlainKey { text, start, end });
            if found != NONE {
                row(found);
            }
        }
        let reader = ValueBytes::literal(&Nothing, text);
        if tests.looked_up & 2 != 0 {
            let found = self.find(2 * list + 2, &NumberKey { reader, start: first, end: last });
            if found != NONE {
                row(found);
            }
        }
        let literals = ValueBytes::literal(&Nothing, self.bytes);
        let (mut at, mut holds) = (tests.begin, true);
        while at < tests.end {
            let test = self.tests.get(at as usize);
            if holds {
                let of = test.at + test.len;
                let related = if test.kind == kind::STRING {
                    relate_strings(reader.decode(start, end), literals.decode(test.at, of))
                } else if test.kind == kind::NUMBER {
                    match (Decimal::read(reader, first, last), Decimal::read(literals, test.at, of)) {
                        (Some(number), Some(literal)) => relate_numbers(number, literal),
                        _ => 0,
                    }
                } else {
                    0
                };
                holds = related & test.relation != 0;
            }
            if test.row != NONE {
                if holds {
                    row(test.row);
                }
                holds = true;
            }
            at += 1;
        }
    }

    /// Passes to `row` the rows of a list whose tests a value passes.
    #[inline(always)]
    pub fn passed<T: Text>(&self, list: u32, text: &T, value: TapeNode, mut row: impl FnMut(u32)) {
        if value.is_container() {
            return;
        }
        let tests = self.lists.get(list as usize);
        let (start, end) = (value.start(), value.end);
        let kind = match text.byte(start) {
            b'"' => kind::STRING,
            b'f' => kind::FALSE,
            b't' => kind::TRUE,
            b'n' => kind::NULL,
            _ => kind::NUMBER,
        };
        let reader = ValueBytes::text(text, self.bytes);
        let found = match kind {
            kind::STRING if tests.looked_up & 1 != 0 => {
                self.find(2 * list + 1, &StringKey { reader, start: start + 1, end: end - 1 })
            }
            // A value that is not a number has no bytes, and every number has some.
            kind::NUMBER if tests.looked_up & 2 != 0 => {
                self.find(2 * list + 2, &NumberKey { reader, start, end })
            }
            kind::FALSE => tests.literals[0],
            kind::TRUE => tests.literals[1],
            kind::NULL => tests.literals[2],
            _ => NONE,
        };
        if found != NONE {
            row(found);
        }
        let (mut at, mut holds) = (tests.begin, true);
        while at < tests.end {
            let test = self.tests.get(at as usize);
            holds = holds && self.holds(&test, kind, text, value);
            if test.row != NONE {
                if holds {
                    row(test.row);
                }
                holds = true;
            }
            at += 1;
        }
    }

    #[inline(always)]
    fn holds<T: Text>(&self, test: &ValueTest, kind: u32, text: &T, value: TapeNode) -> bool {
        let (start, end) = (value.start(), value.end);
        let literal = ValueBytes::literal(text, self.bytes);
        let of_text = ValueBytes::text(text, self.bytes);
        let both = relation::LESS | relation::GREATER;
        match kind {
            kind::STRING if test.kind == kind::STRING => {
                let literal = literal.decode(test.at, test.at + test.len);
                relate_strings(of_text.decode(start + 1, end - 1), literal) & test.relation != 0
            }
            kind::NUMBER if test.kind == kind::NUMBER => {
                let literal = Decimal::read(literal, test.at, test.at + test.len);
                match (Decimal::read(of_text, start, end), literal) {
                    (Some(number), Some(literal)) => relate_numbers(number, literal) & test.relation != 0,
                    _ => false,
                }
            }
            kind::FALSE | kind::TRUE if test.kind == kind::FALSE || test.kind == kind::TRUE => {
                // Values without an order are either equal or not.
                if kind == test.kind {
                    test.relation & relation::EQUAL != 0
                } else {
                    test.relation & both == both
                }
            }
            kind::NULL => test.kind == kind::NULL && test.relation & relation::EQUAL != 0,
            _ => false,
        }
    }
}
