//! The columns by which parts of a store are read.

use warpath_core::comparison::Condition;
use warpath_core::projection::{Projection, Step};

use crate::plan::{Evaluated, Reading, Request};

/// The columns by which parts of a store are read, where that is less than all of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartColumns {
    /// The members of records that the results depend on; `None` for all of a record.
    pub members: Option<Projection>,
    /// A condition that is true of each record that the results depend on, if one is known.
    pub condition: Option<Condition>,
    /// The paths, if the results are numbers of their values that depend on names alone.
    pub counted: Option<Vec<Vec<Step>>>,
}

impl PartColumns {
    /// The columns that a request needs; `None` if it needs all of the lines.
    pub(crate) fn of(request: &Request<'_>) -> Option<Self> {
        let Evaluated::Program { program, want, is_digested } = request.evaluated else { return None };
        // A record that is longer than the limit is an error, whatever is read of it.
        if !(want.partial || want.sparse) || request.limits_records {
            return None;
        }
        let has_values = want.matches
            || want.on_device
            || want.text.is_some()
            || want.rows.is_some()
            || want.columns.is_some();
        let is_counted = want.partial && !is_digested && want.is_count();
        let members = match is_digested || has_values {
            true => program.projection(),
            false => program.projection_of_counts(),
        };
        let this = Self {
            members: Some(members).filter(|members| want.partial && !members.is_all()),
            condition: program.predicate().and_then(|predicate| predicate.condition()),
            counted: program.counted_paths().filter(|_| is_counted),
        };
        (this != Self::default()).then_some(this)
    }

    /// The step that reads, in a plan.
    pub(crate) fn reading(&self) -> Reading {
        Reading::Members {
            paths: self.members.as_ref().map_or_else(|| "all".into(), Projection::to_string),
            conditions: self.condition.as_ref().map_or(0, Condition::comparisons),
            counts: self.counted.is_some(),
        }
    }
}
