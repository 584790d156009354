//! Groups with their values and numbers, column by column.

use std::sync::Arc;

use warpath_core::key::write_string;
use warpath_shared::leaf::{double, integer};

use super::wanted::ColumnKind;
use crate::coded::{write_double, write_integer};
use crate::dictionary::Dictionary;

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupValue {
    /// No value, or `null`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A string: its code in the dictionary of the column ([`Grouped::dictionary`]).
    Code(u32),
}

/// Groups, in any order.
#[derive(Clone, Debug, Default)]
pub struct Grouped {
    /// The number of groups.
    pub len: usize,
    /// The values of each column.
    pub columns: Vec<Values>,
    /// The numbers of each aggregate.
    pub numbers: Vec<Numbers>,
}

/// The values of a column: one for each group, `None` for null.
#[derive(Clone, Debug)]
pub enum Values {
    /// No group has a value.
    Nothing,
    /// Booleans.
    Booleans(Vec<Option<bool>>),
    /// Integers, or results of a function.
    Integers(Vec<Option<i64>>),
    /// Doubles.
    Doubles(Vec<Option<f64>>),
    /// Strings: their codes, and the dictionary of these.
    Codes(Vec<Option<u32>>, Arc<Dictionary>),
}

/// The numbers of an aggregate: one for each group. `None` is a least or a greatest value, or a sum, of
/// nothing.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Counts.
    Counts(Vec<u64>),
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// Sums of integers.
    Sums(Vec<Option<i128>>),
    /// Doubles.
    Doubles(Vec<Option<f64>>),
}

impl Values {
    pub(super) fn of(
        kind: &ColumnKind,
        is_derived: bool,
        numbers: impl Iterator<Item = Option<u64>>,
    ) -> Self {
        match kind {
            _ if is_derived => Self::Integers(numbers.map(|number| number.map(|it| it as i64)).collect()),
            ColumnKind::Nothing => Self::Nothing,
            ColumnKind::Booleans => Self::Booleans(numbers.map(|number| number.map(|it| it != 0)).collect()),
            ColumnKind::Integers => Self::Integers(numbers.map(|number| number.map(integer)).collect()),
            ColumnKind::Doubles => Self::Doubles(numbers.map(|number| number.map(double)).collect()),
            ColumnKind::Codes(dictionary) => {
                Self::Codes(numbers.map(|number| number.map(|it| it as u32)).collect(), dictionary.clone())
            }
        }
    }

    /// The value of a group.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn get(&self, group: usize) -> GroupValue {
        let value = match self {
            Self::Nothing => None,
            Self::Booleans(values) => values[group].map(GroupValue::Boolean),
            Self::Integers(values) => values[group].map(GroupValue::Integer),
            Self::Doubles(values) => values[group].map(GroupValue::Double),
            Self::Codes(codes, _) => codes[group].map(GroupValue::Code),
        };
        value.unwrap_or(GroupValue::Null)
    }

    /// Appends the value of a group as JSON, in the form of [`Coded::text`](crate::coded::Coded::text);
    /// nothing for null.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn write_json(&self, group: usize, text: &mut Vec<u8>) {
        match (self.get(group), self) {
            (GroupValue::Boolean(value), _) => text.extend_from_slice(value.to_string().as_bytes()),
            (GroupValue::Integer(value), _) => write_integer(value, text),
            (GroupValue::Double(value), _) => write_double(value, text),
            (GroupValue::Code(code), Self::Codes(_, dictionary)) => {
                write_string(dictionary.read().get(code), text);
            }
            _ => {}
        }
    }

    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Booleans(one), Self::Booleans(other)) => one.extend(other),
            (Self::Integers(one), Self::Integers(other)) => one.extend(other),
            (Self::Doubles(one), Self::Doubles(other)) => one.extend(other),
            (Self::Codes(one, _), Self::Codes(other, _)) => one.extend(other),
            _ => {}
        }
    }

    fn keep(&mut self, groups: &[usize]) {
        match self {
            Self::Nothing => {}
            Self::Booleans(values) => keep(values, groups),
            Self::Integers(values) => keep(values, groups),
            Self::Doubles(values) => keep(values, groups),
            Self::Codes(codes, _) => keep(codes, groups),
        }
    }
}

impl Numbers {
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Counts(one), Self::Counts(other)) => one.extend(other),
            (Self::Integers(one), Self::Integers(other)) => one.extend(other),
            (Self::Sums(one), Self::Sums(other)) => one.extend(other),
            (Self::Doubles(one), Self::Doubles(other)) => one.extend(other),
            _ => {}
        }
    }

    fn keep(&mut self, groups: &[usize]) {
        match self {
            Self::Counts(counts) => keep(counts, groups),
            Self::Integers(values) => keep(values, groups),
            Self::Sums(sums) => keep(sums, groups),
            Self::Doubles(values) => keep(values, groups),
        }
    }
}

fn keep<T: Copy>(all: &mut Vec<T>, groups: &[usize]) {
    *all = groups.iter().map(|group| all[*group]).collect();
}

impl Grouped {
    /// The dictionary of a column of strings.
    #[must_use]
    pub fn dictionary(&self, column: usize) -> Option<&Arc<Dictionary>> {
        match self.columns.get(column)? {
            Values::Codes(_, dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// Keeps some groups, in the given order.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn keep(&mut self, groups: &[usize]) {
        self.columns.iter_mut().for_each(|values| values.keep(groups));
        self.numbers.iter_mut().for_each(|numbers| numbers.keep(groups));
        self.len = groups.len();
    }

    /// Adds groups of the same columns and aggregates.
    pub fn append(&mut self, other: Self) {
        self.len += other.len;
        self.columns.iter_mut().zip(other.columns).for_each(|(values, other)| values.append(other));
        self.numbers.iter_mut().zip(other.numbers).for_each(|(numbers, other)| numbers.append(other));
    }
}
