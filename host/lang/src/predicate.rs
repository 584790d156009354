//! Conditions on a record: `$.user.followers_count >= 1000 && $.user.lang in ("en", "nl")`; and on a value in
//! a record, which is `@`: `@.price > 10`.
//!
//! A predicate is a filter expression of RFC 9535 that is applied to the record, which is `$`. It has the
//! tests of filters, the tests `in`, `between` and `is`, and the words `and`, `or` and `not`. A name without
//! `$` is a column of a bitmap index. [`jsonpath`](crate::jsonpath) has the grammar and the syntax tree,
//! which filters share.
//!
//! # Meaning
//! * A test of a path is true or false, never unknown, as in a filter: `$.a != 5` is true of a record
//!   without `a`. `not` before `in` and `between`, and after `is`, negates the test.
//! * A comparison of a column is unknown for a row without a value of the column's type, and also `in`
//!   and `between`. A negation inside the test, as in `a != 5` or `a not in (5)`, stays unknown.
//! * A record matches if the predicate is true. `not` and `!` before a test or parentheses select the records
//!   for which their operand is false or unknown.

mod algebra;
mod comparisons;
mod needles;

use std::str::FromStr;

use warpath_core::diagnostic::QueryError;
use warpath_core::error::Error;

use crate::cache::Cache;
use crate::instants::set_format;
use crate::jsonpath::{
    ColumnName, ComparableKind, LogicalExpr, LogicalExprKind, TimeFormat, parse_predicate,
    parse_value_predicate,
};

pub use algebra::Parts;

/// A condition on a record, parsed.
///
/// ```
/// use warpath_lang::predicate::Predicate;
///
/// # fn main() -> Result<(), warpath_core::error::Error> {
/// let predicate = Predicate::parse("$.followers >= 1000 and $.lang in ('en', 'nl')")?;
/// let canonical = "$['followers'] >= 1000 && $['lang'] in ('en', 'nl')";
/// assert_eq!(predicate.expr().to_string(), canonical);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    text: String,
    expr: LogicalExpr,
    /// True if the predicate is about a value of a record, which is `@`.
    of_value: bool,
    cache: Cache,
}

impl Predicate {
    /// Parses a predicate.
    ///
    /// # Errors
    /// [`Error::Expression`] for the first mistake, with its position and often a hint.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match parse_predicate(text) {
            Ok(expr) => Ok(Self { text: text.to_owned(), expr, of_value: false, cache: Cache::default() }),
            Err(error) => Err(Error::Expression(QueryError::new(text, error))),
        }
    }

    /// Parses a predicate about a value, such as a match. `@` is the value, and `$` the record that has it.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn of_value(text: &str) -> Result<Self, Error> {
        match parse_value_predicate(text) {
            Ok(expr) => Ok(Self { text: text.to_owned(), expr, of_value: true, cache: Cache::default() }),
            Err(error) => Err(Error::Expression(QueryError::new(text, error))),
        }
    }

    /// Returns true if the predicate is about a value of a record, which is `@`.
    #[must_use]
    pub fn is_of_value(&self) -> bool {
        self.of_value
    }

    /// Sets the format of the instants that `time` reads, where a call has no format of its own.
    #[must_use]
    pub fn with_time_format(mut self, format: &TimeFormat) -> Self {
        set_format(&mut self.expr, format);
        self.cache = Cache::default();
        self
    }

    /// Returns a part of the predicate as a predicate. Errors of the part show the whole text.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn part(&self, expr: LogicalExpr) -> Self {
        Self { text: self.text.clone(), expr, of_value: self.of_value, cache: Cache::default() }
    }

    /// Returns the predicate as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the syntax tree.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn expr(&self) -> &LogicalExpr {
        &self.expr
    }

    /// The cache of a backend's form of the predicate.
    #[doc(hidden)]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }
}

impl FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

/// Returns the column that a test is about; `None` for a test of anything else.
#[must_use]
pub fn column_of(test: &LogicalExpr) -> Option<&ColumnName> {
    let subject = match &test.kind {
        LogicalExprKind::Comparison(comparison) => &comparison.left,
        LogicalExprKind::Value(test) => &test.subject,
        _ => return None,
    };
    match &subject.kind {
        ComparableKind::Column(column) => Some(column),
        _ => None,
    }
}
