//! Tests of texts that only the host makes: ranges of instants, and blocks of addresses.
//!
//! Such a test is a pattern of [`TestKind::PatternAtRun`](warpath_shared::ir::TestKind), and the pattern is
//! the number of the test ([`HostTests`]). A pattern of a record may have any bytes. Therefore the number
//! follows a key that each process draws at random, which no record can know.
//!
//! ```text
//! literal   ff | key: 16 bytes from 80 to ff | number: 5 bytes from 80 to ff, 7 bits each
//! ```

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use warpath_core::time::{self, Format, Instant};

use crate::addresses::{self, Block};
use crate::instants::Range;

/// The byte that begins a test in a program's literals. It occurs in no UTF-8 text.
const MARK: u8 = 0xff;

/// The bytes of the key in a literal.
const KEY_BYTES: usize = 16;
/// The bytes of a literal.
const LITERAL_BYTES: usize = 1 + KEY_BYTES + 5;

/// The tests of a program that the host makes, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTests(Vec<HostTest>);

#[derive(Clone, Debug, PartialEq)]
enum HostTest {
    Range(TextRange),
    Blocks(Vec<Block>),
}

#[derive(Clone, Debug, PartialEq)]
struct TextRange {
    range: Range,
    format: Option<Format>,
    /// The first range whose texts have the same format.
    first: usize,
}

/// Returns the seven bits of a number from bit `7 * at` on, as a byte that is neither ASCII nor special in a
/// string.
fn bits(number: u64, at: usize) -> u8 {
    0x80 | (number >> (7 * at)) as u8
}

/// Returns the bytes that begin each test in the literals of this process's programs.
fn head() -> &'static [u8; 1 + KEY_BYTES] {
    static HEAD: OnceLock<[u8; 1 + KEY_BYTES]> = OnceLock::new();
    HEAD.get_or_init(|| {
        let random = RandomState::new();
        let words = [random.hash_one(0), random.hash_one(1)];
        std::array::from_fn(|at| match at.checked_sub(1) {
            None => MARK,
            Some(at) => bits(words[at / 8], at % 8),
        })
    })
}

impl HostTests {
    /// Returns what the tests do, for a plan; `None` if there is no test.
    #[must_use]
    pub fn purpose(&self) -> Option<&'static str> {
        Some(match self.0.first()? {
            HostTest::Range(_) => "compares instants",
            HostTest::Blocks(_) => "tests IP addresses",
        })
    }

    /// Adds the test for a range of instants. Returns the bytes of its literal.
    pub(crate) fn range(&mut self, range: Range, format: Option<&Format>) -> Vec<u8> {
        let is_same = |test: &HostTest| matches!(test, HostTest::Range(of) if of.format.as_ref() == format);
        let first = self.0.iter().position(is_same).unwrap_or(self.0.len());
        self.literal(HostTest::Range(TextRange { range, format: format.cloned(), first }))
    }

    /// Adds the test for blocks of addresses. Returns the bytes of its literal.
    pub(crate) fn blocks(&mut self, blocks: Vec<Block>) -> Vec<u8> {
        self.literal(HostTest::Blocks(blocks))
    }

    fn literal(&mut self, test: HostTest) -> Vec<u8> {
        let number = self.0.len();
        self.0.push(test);
        let number = (0..LITERAL_BYTES - 1 - KEY_BYTES).map(|at| bits(number as u64, at));
        head().iter().copied().chain(number).collect()
    }

    /// Returns the test of a literal; `None` if a pattern is no such literal.
    fn of(&self, pattern: &[u8]) -> Option<&HostTest> {
        if self.0.is_empty() || pattern.len() != LITERAL_BYTES {
            return None;
        }
        let number = pattern.strip_prefix(head())?;
        let number = number.iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f));
        self.0.get(number)
    }

    /// Describes the test of a literal, for the text of a program.
    pub(crate) fn describe(&self, literal: &[u8]) -> Option<&'static str> {
        Some(match self.of(literal)? {
            HostTest::Range(_) => "a range of instants",
            HostTest::Blocks(_) => "blocks of addresses",
        })
    }
}

/// Tests texts for a program.
pub struct HostTester<'a> {
    tests: &'a HostTests,
    memory: RefCell<HostMemory>,
}

/// The memory of tests, which other programs may use again.
#[derive(Default)]
pub struct HostMemory {
    last: Last,
    pattern: Vec<u8>,
    text: Vec<u8>,
}

/// The text that was read last as an instant. Several tests of a record often are about one text.
#[derive(Default)]
struct Last {
    text: Vec<u8>,
    /// The first range of the text's format; `None` before the first text.
    first: Option<usize>,
    instant: Option<Instant>,
}

impl<'a> HostTester<'a> {
    /// Tests texts for a program.
    #[must_use]
    pub fn new(tests: &'a HostTests) -> Self {
        Self::using(tests, HostMemory::default())
    }

    /// Tests texts for a program, with memory of earlier tests.
    #[must_use]
    pub fn using(tests: &'a HostTests, mut memory: HostMemory) -> Self {
        // The text may have been read in the format of another program.
        memory.last.first = None;
        Self { tests, memory: RefCell::new(memory) }
    }

    /// Returns the memory, for other tests.
    #[must_use]
    pub fn into_memory(self) -> HostMemory {
        self.memory.into_inner()
    }

    /// Returns whether a text passes the test that a pattern names. If the pattern names no test, `otherwise`
    /// decides about the pattern and the text.
    pub fn holds(
        &self,
        pattern: impl Iterator<Item = u8>,
        text: impl Iterator<Item = u8>,
        otherwise: impl FnOnce(&[u8], &[u8]) -> bool,
    ) -> bool {
        let HostMemory { last, pattern: pattern_bytes, text: text_bytes } = &mut *self.memory.borrow_mut();
        pattern_bytes.clear();
        pattern_bytes.extend(pattern);
        text_bytes.clear();
        text_bytes.extend(text);
        let passes = self.test(last, pattern_bytes, text_bytes);
        passes.unwrap_or_else(|| otherwise(pattern_bytes, text_bytes))
    }

    /// Returns whether a text passes the test that a pattern names. `None` if the pattern names no test.
    #[must_use]
    pub fn passes(&self, pattern: &[u8], text: &[u8]) -> Option<bool> {
        self.test(&mut self.memory.borrow_mut().last, pattern, text)
    }

    fn test(&self, last: &mut Last, pattern: &[u8], text: &[u8]) -> Option<bool> {
        let TextRange { range, format, first } = match self.tests.of(pattern)? {
            HostTest::Range(range) => range,
            HostTest::Blocks(blocks) => return Some(addresses::are_of(blocks, text)),
        };
        if last.first != Some(*first) || last.text != text {
            last.first = Some(*first);
            last.text.clear();
            last.text.extend_from_slice(text);
            last.instant = std::str::from_utf8(text).ok().and_then(|text| match format {
                Some(format) => format.read(text),
                None => time::read_range(text).map(|range| range.start),
            });
        }
        Some(last.instant.is_some_and(|instant| range.has(instant.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::{ComparisonOp, Literal, LiteralKind};

    #[test]
    fn only_literals_of_a_program_are_tests() {
        let range = |from: i32| {
            let constant = Literal { kind: LiteralKind::Number(from.to_string()), span: Default::default() };
            Range::of(ComparisonOp::Ge, &constant, None).unwrap()
        };
        let format = Format::new("%d.%m.%Y").unwrap();
        let mut tests = HostTests::default();
        assert_eq!(tests.purpose(), None);
        let literals: Vec<Vec<u8>> =
            (0..300).map(|from| tests.range(range(from), (from % 2 == 1).then_some(&format))).collect();
        let blocks = tests.blocks(vec![Block::parse("10.0.0.0/8").unwrap(), Block::parse("::1").unwrap()]);
        assert_eq!(tests.purpose(), Some("compares instants"));
        assert_eq!(tests.describe(&blocks), Some("blocks of addresses"));
        let tester = HostTester::new(&tests);
        for (number, literal) in literals.iter().enumerate() {
            assert!(literal.iter().all(|byte| *byte >= 0x80));
            for second in [0, 1, 127, 128, 299] {
                let text = format!("1970-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
                let is_in = number % 2 == 0 && second >= number;
                assert_eq!(tester.passes(literal, text.as_bytes()), Some(is_in), "{number} {text}");
                assert_eq!(tester.passes(&blocks, b"10.1.2.3"), Some(true));
            }
            assert_eq!(tester.passes(literal, b"02.01.1970"), Some(number % 2 == 1));
            assert_eq!(tester.passes(literal, b"\xff"), Some(false));
            assert_eq!(tester.passes(&literal[1..], b""), None);
            assert_eq!(HostTester::new(&HostTests::default()).passes(literal, b""), None);
        }
        assert_eq!(tester.passes(&blocks, b"::1"), Some(true));
        assert_eq!(tester.passes(&blocks, b"11.0.0.1"), Some(false));
        let mut beyond = literals[0].clone();
        beyond[LITERAL_BYTES - 1] = 0xff;
        assert_eq!(tester.passes(&beyond, b""), None);
        for pattern in [&b"\xff0|99999999999999999999|"[..], b"", b"\xff", &[0xff; LITERAL_BYTES]] {
            assert_eq!(tester.passes(pattern, b"2020-01-01"), None);
        }
    }
}
