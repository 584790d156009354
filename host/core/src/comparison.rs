//! Comparisons of the members of records with constants, which readers of columns understand.

use std::cmp::Ordering;
use std::fmt::{self, Debug, Formatter};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::decimal::Decimal;

/// A condition on a record that is made of comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A comparison.
    Is(Comparison),
    /// All of these are true.
    All(Vec<Condition>),
    /// At least one of these is true.
    Any(Vec<Condition>),
}

impl Condition {
    /// The number of comparisons.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Is(_) => 1,
            Self::All(all) | Self::Any(all) => all.iter().map(Self::comparisons).sum(),
        }
    }
}

/// A condition on the value of a member of a record. It means what it means in a predicate: see RFC 9535,
/// section 2.3.5.2.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The names that lead from the record to the value, at least one. Their escapes are resolved.
    pub path: Vec<Vec<u8>>,
    /// The condition.
    pub test: Test,
}

/// A condition on a value, which may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// There is a value; `null` is one.
    Exists,
    /// The value is equal to one of several.
    Equal(Vec<Constant>),
    /// `<`
    Less(Constant),
    /// `<=`
    AtMost(Constant),
    /// `>`
    Greater(Constant),
    /// `>=`
    AtLeast(Constant),
    /// The value is a string with a property.
    Matches(Pattern),
    /// The test is false. The value may be missing.
    Not(Box<Test>),
}

impl Test {
    /// The test that is true of all values, and of missing ones, of which this one is false.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Not(test) => *test,
            test => Self::Not(Box::new(test)),
        }
    }

    /// The constants, and the order of a value to one of them that passes.
    #[must_use]
    pub fn constants(&self) -> (&[Constant], Wanted) {
        match self {
            Self::Exists | Self::Matches(_) | Self::Not(_) => (&[], Ordering::is_eq),
            Self::Equal(all) => (all, Ordering::is_eq),
            Self::Less(one) => (std::slice::from_ref(one), Ordering::is_lt),
            Self::AtMost(one) => (std::slice::from_ref(one), Ordering::is_le),
            Self::Greater(one) => (std::slice::from_ref(one), Ordering::is_gt),
            Self::AtLeast(one) => (std::slice::from_ref(one), Ordering::is_ge),
        }
    }
}

/// A condition on the order of a value and a constant.
pub type Wanted = fn(Ordering) -> bool;

/// The integers that have a wanted order to a number; `None` if they are not known. The range may be empty.
#[must_use]
pub fn integers(number: &str, wanted: Wanted) -> Option<RangeInclusive<i64>> {
    const NONE: RangeInclusive<i64> = RangeInclusive::new(1, 0);

    let decimal = Decimal::read(number.as_bytes())?;
    let exact = decimal.integer();
    // The integers below the number end before this one, and those above it begin at the other.
    let below = match decimal.ceiling() {
        Ok(ceiling) => ceiling.checked_sub(1).map_or(NONE, |last| i64::MIN..=last),
        Err(Ordering::Greater) => i64::MIN..=i64::MAX,
        Err(_) => NONE,
    };
    let above = match (decimal.ceiling(), exact) {
        (Ok(_), Some(exact)) => exact.checked_add(1).map_or(NONE, |first| first..=i64::MAX),
        (Ok(ceiling), None) => ceiling..=i64::MAX,
        (Err(Ordering::Less), _) => i64::MIN..=i64::MAX,
        (Err(_), _) => NONE,
    };
    let equal = exact.map_or(NONE, |exact| exact..=exact);
    let parts = [(Ordering::Less, below), (Ordering::Equal, equal), (Ordering::Greater, above)];
    let parts = parts.into_iter().filter(|(order, range)| wanted(*order) && !range.is_empty());
    Some(parts.map(|(_, range)| range).reduce(|one, other| *one.start()..=*other.end()).unwrap_or(NONE))
}

/// A property of strings. Two properties of the same name are the same.
#[derive(Clone)]
pub struct Pattern {
    /// The name.
    pub name: String,
    /// The property of a string without escapes, in UTF-8.
    pub holds: Arc<Property>,
}

/// A function that is true of strings with a property.
pub type Property = dyn Fn(&[u8]) -> bool + Send + Sync;

impl Debug for Pattern {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Pattern {}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number of JSON, as it is written.
    Number(String),
    /// A string, without escapes.
    String(String),
}
