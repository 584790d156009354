//! Comparisons of the members of records with constants, which readers of columns understand.

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
    /// The value is not equal to a constant, or missing.
    NotEqual(Constant),
    /// `<`
    Less(Constant),
    /// `<=`
    AtMost(Constant),
    /// `>`
    Greater(Constant),
    /// `>=`
    AtLeast(Constant),
}

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
