//! Comparisons of the members of records with constants, which readers of columns understand.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

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
