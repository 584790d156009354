//! The names and values of a set of twigs, as the arrays of a device's
//! [`Dictionary`](warpath_shared::twig::dictionary::Dictionary).

use warpath_lang::twig::value::{Literal, Operator, ValueTest};
use warpath_shared::ir::relation;
use warpath_shared::twig::NONE;
use warpath_shared::twig::dictionary::{
    ATTRIBUTES, DictionaryEntry, Hash, NAMES, TagPlace, TestList, ValueTest as DeviceTest, kind,
};

use super::rows::RowIx;
use super::set::TwigSet;
use super::values::ValueTests;

/// The arrays of a set.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The hash table.
    pub entries: Vec<DictionaryEntry>,
    /// The bytes of names and values.
    pub bytes: Vec<u8>,
    /// For each tag, the row and the tests of its nodes.
    pub tags: Vec<TagPlace>,
    /// Lists of tests.
    pub lists: Vec<TestList>,
    /// Tests.
    pub tests: Vec<DeviceTest>,
    /// For each row, bit 0 if it has leaves, and bit 1 if it has inner nodes.
    pub rows: Vec<u8>,
    /// Bit 0 if nodes `*` have tests, and bit 1 if nodes `@*` have.
    pub tests_any: u64,
}

impl Names {
    /// The arrays of a set.
    #[must_use]
    pub fn of(set: &TwigSet) -> Self {
        let mut names = Self::default();
        let mut entries: Vec<(u32, &[u8], u32)> = Vec::new();
        let none = ValueTests::default();
        for (kind, any) in set.any.iter().enumerate() {
            names.tests_any |= u64::from(any.is_some()) << kind;
            names.list(any.as_deref().unwrap_or(&none), &mut entries);
        }
        for tag in &set.tags {
            let tests = tag.values.as_ref().map_or(NONE, |values| names.list(values, &mut entries));
            names.tags.push(TagPlace { row: tag.row.unwrap_or(NONE), tests });
        }
        entries.extend(set.elements().map(|(name, tag)| (NAMES, name, tag)));
        entries.extend(set.attributes().map(|(name, tag)| (ATTRIBUTES, name, tag)));
        // Half of the table stays empty, so that the search for an unknown key ends early.
        names.entries = vec![DictionaryEntry::default(); (2 * entries.len() + 1).next_power_of_two()];
        for (of, key, value) in entries {
            let mut hash = Hash::new(of);
            key.iter().for_each(|byte| hash.push(*byte));
            let (at, len) = (names.put(key), key.len() as u32);
            let last = names.entries.len() - 1;
            let mut place = hash.get() as usize & last;
            while names.entries[place].of != NONE {
                place = (place + 1) & last;
            }
            names.entries[place] = DictionaryEntry { of, hash: hash.get(), at, len, value, reserved: 0 };
        }
        names.rows = (0..set.rows.len())
            .map(|row| {
                let row = set.rows.get(row as RowIx);
                u8::from(!row.leaves.is_empty()) | u8::from(!row.inner.is_empty()) << 1
            })
            .collect();
        names
    }

    fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        at as u32
    }

    /// Adds a list of tests, and returns its number.
    fn list<'a>(&mut self, values: &'a ValueTests, entries: &mut Vec<(u32, &'a [u8], u32)>) -> u32 {
        let number = self.lists.len() as u32;
        let before = entries.len();
        entries.extend(values.strings().map(|(key, row)| (2 * number + 1, key, row)));
        let strings = entries.len() > before;
        let before = entries.len();
        entries.extend(values.numbers().map(|(key, row)| (2 * number + 2, key, row)));
        let numbers = entries.len() > before;
        let begin = self.tests.len() as u32;
        for (tests, row) in values.others() {
            for (at, test) in tests.iter().enumerate() {
                let row = if at + 1 == tests.len() { row } else { NONE };
                let test = self.test(test, row);
                self.tests.push(test);
            }
        }
        self.lists.push(TestList {
            literals: values.literals().map(|row| row.unwrap_or(NONE)),
            looked_up: u32::from(strings) | u32::from(numbers) << 1,
            begin,
            end: self.tests.len() as u32,
        });
        number
    }

    fn test(&mut self, ValueTest { operator, literal }: &ValueTest, row: RowIx) -> DeviceTest {
        let relation = match operator {
            Operator::Equal => relation::EQUAL,
            Operator::NotEqual => relation::LESS | relation::GREATER,
            Operator::Less => relation::LESS,
            Operator::LessOrEqual => relation::LESS | relation::EQUAL,
            Operator::Greater => relation::GREATER,
            Operator::GreaterOrEqual => relation::GREATER | relation::EQUAL,
        };
        let (kind, bytes) = match literal {
            Literal::String(string) => (kind::STRING, string.as_bytes()),
            Literal::Number(number) => (kind::NUMBER, number.as_bytes()),
            Literal::Bool(false) => (kind::FALSE, &b""[..]),
            Literal::Bool(true) => (kind::TRUE, &b""[..]),
            Literal::Null => (kind::NULL, &b""[..]),
        };
        DeviceTest { row, kind, relation, at: self.put(bytes), len: bytes.len() as u32, reserved: 0 }
    }
}
