//! The part of a condition that the columns of an index decide, so that other lines need not be read.
//!
//! A column decides its own tests exactly. It also bounds the tests of the path that it was made
//! of: lines that fail these tests by the column are not read. What is left to the text depends on the
//! condition:
//!
//! ```text
//! $.followers > 1500 && $.lang == "en"                   read followers > 1500, with the whole condition
//!
//! followers > 1500 && $.lang == "en"                     read followers > 1500, with $.lang == "en"
//!
//! followers > 1500 && ($.lang == "en" || verified = true)   two sets, before any line is read:
//! possible   followers > 1500                               every test of a path may be true
//! sure       followers > 1500 ∩ verified = true             every test of a path may be false
//! checked    possible − sure, for $.lang == "en"
//! ```

use std::sync::Arc;

use warpath_core::error::PlanError;
use warpath_cpu::bitmap::plan::Plan as BitmapPlan;
use warpath_lang::predicate::{Parts, Predicate};
use warpath_store::bitmap::BitmapIndex;

use crate::facts::{Facts, Format};

/// A condition on the records of a request.
pub struct Condition<'a> {
    /// The condition.
    pub predicate: &'a Arc<Predicate>,
    /// True if records are checked by all of RFC 8259.
    pub strict: bool,
    /// Returns true if the program with this condition needs trees, whose checks find more malformed records.
    pub needs_trees: &'a dyn Fn() -> bool,
}

/// The part of an index in a plan.
#[derive(Clone, Debug)]
pub struct Prune {
    /// The tests of columns, with tests of paths that must be known before lines are read. `None` if the
    /// condition is about paths alone.
    pub parts: Option<Parts>,
    /// The condition on the lines that are read. The program evaluates it.
    pub rest: Option<Arc<Predicate>>,
    /// The lines for which `rest` may be true; `None` if the columns decide nothing about it.
    pub possible: Option<BitmapPlan>,
}

impl Prune {
    /// Returns true if `lines` of `of` lines are so few that reading them alone costs less than reading all
    /// of them. Lines that are read alone are found and moved together; of lines of 84 bytes, all cost 1.1
    /// times as much (docs/lab/bitmaps.md). Tests of columns have no other way.
    #[must_use]
    pub fn pays(&self, lines: u64, of: u64) -> bool {
        self.parts.is_some() || lines / 7 <= of / 8
    }
}

/// Plans the use of an index for a condition. The inner error is the reason why the index does not
/// serve the condition, so that the text decides.
///
/// # Errors
/// [`PlanError`] if the condition has a test of a column, and no index can be of the input.
pub fn prune(
    condition: &Condition<'_>,
    index: &BitmapIndex,
    facts: &Facts,
) -> Result<Result<Prune, &'static str>, PlanError> {
    let predicate = condition.predicate;
    let (parts, rest) = predicate.parts().without_rest();
    let cannot = match facts.format {
        Format::Json => Some("the input is one JSON document"),
        Format::Ndjson => facts.bytes.has_no_index(),
    };
    let cannot = cannot.or_else(|| facts.selected.is_some().then_some("the caller has selected lines"));
    if let Some(why) = cannot {
        return match parts {
            Some(_) => Err(PlanError::new("a test of a column requires one plain file of lines", why)),
            None => Ok(Err(why)),
        };
    }
    let possible = rest.as_ref().and_then(|rest| BitmapPlan::possible(index, rest));
    if parts.is_none() {
        let why = if condition.strict {
            "strict checks are of all lines"
        } else if (condition.needs_trees)() {
            "the program needs trees, whose checks are of all lines"
        } else if possible.is_none() {
            "no column decides a test of the condition"
        } else {
            let rest = Some(predicate.clone());
            return Ok(Ok(Prune { parts, rest, possible }));
        };
        return Ok(Err(why));
    }
    let rest = rest.map(|rest| Arc::new(predicate.part(rest)));
    Ok(Ok(Prune { parts, rest, possible }))
}
