//! The syntax tree of a query, with the RFC 9535 names of its parts. [`super::grammar`] builds it.
//!
//! The tree shares no type with Warpath's own tree, so that a fault in Warpath's parser cannot hide in both.

/// A query and where it starts: a whole query, or a query inside a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The node from which it starts.
    pub start: Start,
    /// Its segments, from left to right.
    pub segments: Vec<Segment>,
}

/// The node from which a query starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// `$`: the record.
    Root,
    /// `@`: the node that the filter tests.
    Current,
}

/// A segment (section 2.5).
#[derive(Clone, Debug, PartialEq)]
pub enum Segment {
    /// A child segment.
    Child(Vec<Selector>),
    /// A descendant segment.
    Descendant(Vec<Selector>),
}

/// A selector (section 2.3).
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// A name, escapes decoded.
    Name(String),
    /// `*`
    Wildcard,
    /// `start:end:step`, each of which may be left out.
    Slice(Option<i64>, Option<i64>, Option<i64>),
    /// An index, from the end where negative.
    Index(i64),
    /// `?` and an expression.
    Filter(Logical),
}

/// An expression that is true or false (section 2.3.5).
#[derive(Clone, Debug, PartialEq)]
pub enum Logical {
    /// Two or more expressions between `||`.
    Or(Vec<Logical>),
    /// Two or more expressions between `&&`.
    And(Vec<Logical>),
    /// `!` and an expression.
    Not(Box<Logical>),
    /// A comparison.
    Comparison(Comparable, Operator, Comparable),
    /// A query that is tested for existence.
    Exists(Query),
    /// `match` of a string and a pattern.
    Match(Comparable, Comparable),
    /// `search` in a string for a pattern.
    Search(Comparable, Comparable),
    /// A test of a string for a text, which is Warpath's own: the name of the function, the string, the text.
    Text(&'static str, Comparable, String),
    /// `cidr`, which is Warpath's own: a string, and blocks of addresses as bits.
    Cidr(Comparable, Vec<Vec<bool>>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    LessOrEqual,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
}

/// A value or `Nothing`: an operand of a comparison, or an argument of the declared type `ValueType` (section
/// 2.4.1).
#[derive(Clone, Debug, PartialEq)]
pub enum Comparable {
    /// A number, as it is written.
    Number(String),
    /// A string, escapes decoded.
    String(String),
    /// `true` or `false`
    Bool(bool),
    /// `null`
    Null,
    /// A query of names and indexes only, which selects at most one node.
    Singular(Query),
    /// `length` of a value.
    Length(Box<Comparable>),
    /// `count` of the nodes of a query.
    Count(Query),
    /// `value` of the only node of a query.
    Value(Query),
}
