//! Columns and aggregates of groups, and the kinds of members.

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::dictionary::Dictionary;
use crate::segment::{Kind, Leaf, Segment};

/// The most columns by which rows are grouped.
pub const MOST_COLUMNS: usize = 4;

/// A function of integers. It returns one result for each of them, `None` for null.
pub type Derive = dyn Fn(&[Option<i64>]) -> Result<Vec<Option<i64>>, String> + Send + Sync;

/// A column by which rows are grouped.
#[derive(Clone)]
pub struct GroupColumn {
    /// The names that lead to the member.
    pub path: Vec<Vec<u8>>,
    /// The function whose results are the groups; `None` for the values themselves. The member then has
    /// integers.
    pub derive: Option<Arc<Derive>>,
    /// A number of which the caller knows: integers whose quotients by it, rounded down, are equal have equal
    /// results. The function is then called once for each quotient. Without it, the function is called for
    /// each block of rows.
    pub unit: Option<NonZeroU64>,
}

/// A number about each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of rows.
    Rows,
    /// The number of values of a member that are not null.
    Count(Vec<Vec<u8>>),
    /// The number of different values of a member.
    Distinct(Vec<Vec<u8>>),
    /// The least value of a member that has integers or doubles.
    Least(Vec<Vec<u8>>),
    /// The greatest value of a member that has integers or doubles.
    Greatest(Vec<Vec<u8>>),
    /// The sum of a member that has integers.
    Sum(Vec<Vec<u8>>),
}

/// The first groups by a value: an aggregate, or the difference of two that are extremes of integers, divided
/// by an integer. Only groups with a value have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// The number of groups.
    pub count: u64,
    /// The position of the aggregate.
    pub value: usize,
    /// The position of the aggregate that is subtracted.
    pub minus: Option<usize>,
    /// The divisor; not 0.
    pub divide: i64,
    /// True if the greatest value comes first.
    pub is_descending: bool,
}

impl Aggregate {
    pub(super) fn path(&self) -> Option<&[Vec<u8>]> {
        match self {
            Self::Rows => None,
            Self::Count(path)
            | Self::Distinct(path)
            | Self::Least(path)
            | Self::Greatest(path)
            | Self::Sum(path) => Some(path),
        }
    }
}

/// The kind of a member's values.
#[derive(Clone, Debug)]
pub enum ColumnKind {
    /// No segment has a value.
    Nothing,
    /// Booleans.
    Booleans,
    /// Integers.
    Integers,
    /// Doubles.
    Doubles,
    /// Strings with these codes.
    Codes(Arc<Dictionary>),
}

impl ColumnKind {
    /// The kind of values of both kinds; `None` if there is none.
    #[must_use]
    pub fn and(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Nothing, other) | (other, Self::Nothing) => other,
            (Self::Codes(one), Self::Codes(other)) if Arc::ptr_eq(&one, &other) => Self::Codes(one),
            (Self::Booleans, Self::Booleans) => Self::Booleans,
            (Self::Integers, Self::Integers) => Self::Integers,
            (Self::Doubles, Self::Doubles) => Self::Doubles,
            _ => return None,
        })
    }
}

/// The kind of a member's values in all segments. `None` if they have several kinds, or their leaves have not
/// all of the values as numbers.
#[must_use]
pub fn kind_of<'a>(path: &[Vec<u8>], segments: impl Iterator<Item = &'a Segment>) -> Option<ColumnKind> {
    let mut kind = ColumnKind::Nothing;
    for segment in segments {
        let Some(member) = segment.member(path)? else { continue };
        for Kind { leaf, .. } in &member.kinds {
            let next = match leaf {
                Leaf::Booleans(_) => ColumnKind::Booleans,
                Leaf::Integers(_) => ColumnKind::Integers,
                // The sign would be lost.
                Leaf::Doubles { had_negative_zero: true, .. } => return None,
                Leaf::Doubles { .. } => ColumnKind::Doubles,
                Leaf::Codes { dictionary, .. } => ColumnKind::Codes(dictionary.clone()),
                Leaf::Whole(_) => return None,
            };
            kind = kind.and(next)?;
        }
    }
    Some(kind)
}

/// The reason for which there are no groups.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The question was cancelled.
    #[error("the question was cancelled")]
    Stopped,
    /// A member has values of several kinds, or values that its leaves do not have.
    #[error("leaves do not have all values")]
    NotInLeaves,
    /// The function of a column failed.
    #[error("{0}")]
    Derive(String),
    /// A device failed.
    #[error(transparent)]
    Device(#[from] warpath_core::error::Error),
}
