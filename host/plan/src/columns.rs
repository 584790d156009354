//! The columns by which parts of a store are read.

use warpath_core::comparison::Comparison;
use warpath_core::projection::{Projection, Step};

use crate::plan::{Evaluated, Reading, Request};

/// The columns by which parts of a store are read, where that is less than all of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartColumns {
    /// The members of records that the results depend on; `None` for all of a record.
    pub members: Option<Projection>,
    /// Comparisons that are true of each record that the results depend on.
    pub comparisons: Vec<Comparison>,
    /// The paths, if the results are numbers of their values that depend on names alone.
    pub counted: Option<Vec<Vec<Step>>>,
}

impl PartColumns {
    /// The columns that a request needs; `None` if it needs all of the lines.
    pub(crate) fn of(request: &Request<'_>) -> Option<Self> {
        let Evaluated::Program { program, want, is_digested } = request.evaluated else { return None };
        // A record that is longer than the limit is an error, whatever is read of it.
        if !want.partial || request.limits_records {
            return None;
        }
        let is_counted = !(is_digested || want.matches || want.records || want.on_device)
            && want.text.is_none()
            && want.rows.is_none()
            && want.columns.is_none()
            && want.limit.is_none();
        let this = Self {
            members: Some(program.projection()).filter(|members| !members.is_all()),
            comparisons: program.predicate().map_or_else(Vec::new, |predicate| predicate.comparisons()),
            counted: program.counted_paths().filter(|_| is_counted),
        };
        (this != Self::default()).then_some(this)
    }

    /// The step that reads, in a plan.
    pub(crate) fn reading(&self) -> Reading {
        Reading::Members {
            paths: self.members.as_ref().map_or_else(|| "all".into(), Projection::to_string),
            conditions: self.comparisons.len(),
            counts: self.counted.is_some(),
        }
    }
}
