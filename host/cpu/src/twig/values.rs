//! The tests of values that nodes of one name have, and the rows of those that pass.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use warpath_lang::twig::value::{Literal, Operator, PlainNumber, Value, ValueTest, decode, number_key};

use super::rows::RowIx;

type ByKey = HashMap<Box<[u8]>, RowIx, FixedState>;

/// The tests of values of one name. Tests for one equal value are looked up; the others are tried in turn.
#[derive(Clone, Debug, Default)]
pub struct ValueTests {
    strings: ByKey,
    numbers: ByKey,
    /// `false`, `true` and `null`.
    literals: [Option<RowIx>; 3],
    others: Vec<Others>,
}

/// Tests that are tried together.
#[derive(Clone, Debug)]
struct Others {
    tests: Box<[ValueTest]>,
    /// The literal of each test, if it is such a number.
    numbers: Box<[Option<PlainNumber>]>,
    row: RowIx,
}

impl Others {
    fn new(tests: &[ValueTest], row: RowIx) -> Self {
        let number = |test: &ValueTest| match &test.literal {
            Literal::Number(number) => PlainNumber::read(number.as_bytes()),
            _ => None,
        };
        Self { tests: tests.into(), numbers: tests.iter().map(number).collect(), row }
    }

    /// Returns whether a value passes all tests. `number` is the value, if it is such a number.
    #[inline]
    fn pass(&self, value: Value<'_>, number: Option<PlainNumber>) -> bool {
        self.tests.iter().zip(&self.numbers).all(|(test, literal)| match (number, literal) {
            (Some(number), Some(literal)) => test.operator.holds(number.cmp(literal)),
            _ => test.passes(value),
        })
    }
}

/// Memory that is reused from value to value.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    key: Vec<u8>,
}

impl ValueTests {
    /// Returns the row of nodes whose value must pass these tests. There is at least one test. `new` makes a
    /// row if these tests have none yet.
    pub fn row(&mut self, tests: &[ValueTest], new: impl FnOnce() -> RowIx) -> RowIx {
        let equal = match tests {
            [ValueTest { operator: Operator::Equal, literal }] => Some(literal),
            _ => None,
        };
        match equal {
            Some(Literal::String(string)) => {
                *self.strings.entry(string.as_bytes().into()).or_insert_with(new)
            }
            Some(Literal::Number(number)) => {
                let mut key = Vec::new();
                number_key(number.as_bytes(), &mut key);
                *self.numbers.entry(key.into()).or_insert_with(new)
            }
            Some(Literal::Bool(value)) => *self.literals[usize::from(*value)].get_or_insert_with(new),
            Some(Literal::Null) => *self.literals[2].get_or_insert_with(new),
            None => match self.others.iter().find(|others| *others.tests == *tests) {
                Some(others) => others.row,
                None => {
                    let row = new();
                    self.others.push(Others::new(tests, row));
                    row
                }
            },
        }
    }

    /// The strings that are looked up, and their rows.
    pub fn strings(&self) -> impl Iterator<Item = (&[u8], RowIx)> {
        self.strings.iter().map(|(key, row)| (&**key, *row))
    }

    /// The keys of numbers that are looked up, and their rows.
    pub fn numbers(&self) -> impl Iterator<Item = (&[u8], RowIx)> {
        self.numbers.iter().map(|(key, row)| (&**key, *row))
    }

    /// The rows of `false`, `true` and `null`.
    pub fn literals(&self) -> [Option<RowIx>; 3] {
        self.literals
    }

    /// The tests that are tried in turn, and their rows.
    pub fn others(&self) -> impl Iterator<Item = (&[ValueTest], RowIx)> {
        self.others.iter().map(|others| (&*others.tests, others.row))
    }

    /// Calls `row` with each row whose tests the value passes.
    #[inline]
    pub fn passed(&self, value: Value<'_>, Scratch { key }: &mut Scratch, mut row: impl FnMut(RowIx)) {
        let mut looked_up = |rows: &ByKey, key: &[u8]| {
            if let Some(found) = rows.get(key) {
                row(*found);
            }
        };
        match value {
            Value::None => return,
            Value::String(_) if self.strings.is_empty() => {}
            Value::String(spelt) if spelt.contains(&b'\\') => {
                decode(spelt, key);
                looked_up(&self.strings, key);
            }
            Value::String(spelt) => looked_up(&self.strings, spelt),
            Value::Number(_) if self.numbers.is_empty() => {}
            Value::Number(spelt) => {
                number_key(spelt, key);
                looked_up(&self.numbers, key);
            }
            Value::Text(text) => {
                looked_up(&self.strings, text);
                if !self.numbers.is_empty() && number_key(text.trim_ascii(), key) {
                    looked_up(&self.numbers, key);
                }
            }
            Value::Bool(value) => self.literals[usize::from(value)].into_iter().for_each(&mut row),
            Value::Null => self.literals[2].into_iter().for_each(&mut row),
        }
        if self.others.is_empty() {
            return;
        }
        // Most numbers are short, and are read once for all tests.
        let number = match value {
            Value::Number(spelt) => PlainNumber::read(spelt),
            Value::Text(text) => PlainNumber::read(text.trim_ascii()),
            _ => None,
        };
        for others in self.others.iter().filter(|others| others.pass(value, number)) {
            row(others.row);
        }
    }
}
