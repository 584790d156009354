//! The columns by which parts of a store are read.

use warpath_answer::answer::Want;
use warpath_core::comparison::Condition;
use warpath_core::projection::{Projection, Step};
use warpath_lang::program::{Program, Query};

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
    /// True if the result is the schema of all records, which a part may have as a section.
    pub schema: bool,
    /// The results that leaves of loaded inputs can have, if they are such ones.
    pub leaves: Option<LeafPaths>,
}

/// Results that depend on the values of members alone: counts, or a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafPaths {
    /// The names of each path, of which `$` has none.
    pub paths: Vec<Vec<Vec<u8>>>,
    /// The condition that is true of exactly the records that the results are about; `None` for all of them.
    pub condition: Option<Condition>,
}

impl LeafPaths {
    /// The paths and the condition of a program, if they are about values of members alone.
    fn of(program: &Program) -> Option<Self> {
        let paths = program.queries().iter().map(Query::names).collect::<Option<_>>()?;
        let condition = match program.predicate() {
            None => None,
            Some(predicate) => Some(predicate.exact_condition()?),
        };
        Some(Self { paths, condition })
    }
}

impl PartColumns {
    /// The columns that a request needs; `None` if it needs all of the lines.
    pub(crate) fn of(request: &Request<'_>, is_loaded: bool) -> Option<Self> {
        // A record that is longer than the limit is an error, whatever is read of it.
        if request.limits_records {
            return None;
        }
        let this = match request.evaluated {
            Evaluated::Program { program, want, is_digested } => {
                let this = Self::of_program(program, want, is_digested);
                // Strict checks are of the text of each line.
                let has_leaves =
                    is_loaded && !request.strict && (is_digested || want.is_count()) && want.partial;
                Self { leaves: if has_leaves { LeafPaths::of(program) } else { None }, ..this }
            }
            Evaluated::Subscriptions { tested: Some(tested), only, .. } => Self::of_twigs(tested, only),
            Evaluated::Schema { whole } => Self { schema: whole, ..Self::default() },
            _ => return None,
        };
        (this != Self::default()).then_some(this)
    }

    /// The columns that the results of a program need.
    fn of_program(program: &Program, want: Want, is_digested: bool) -> Self {
        if !(want.partial || want.sparse) {
            return Self::default();
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
        Self {
            members: Some(members).filter(|members| want.partial && !members.is_all()),
            condition: program.predicate().and_then(|predicate| predicate.condition()),
            counted: program.counted_paths().filter(|_| is_counted),
            schema: false,
            leaves: None,
        }
    }

    /// The columns that subscriptions and their condition need. `only` has the condition, and no path.
    fn of_twigs(tested: &Projection, only: Option<&Program>) -> Self {
        let mut members = tested.clone();
        only.iter().for_each(|only| members.merge(&only.projection_of_counts()));
        Self {
            members: Some(members).filter(|members| !members.is_all()),
            condition: only.and_then(Program::predicate).and_then(|predicate| predicate.condition()),
            counted: None,
            schema: false,
            leaves: None,
        }
    }

    /// The step that reads, in a plan.
    pub(crate) fn reading(&self, is_loaded: bool) -> Reading {
        if self.schema {
            return Reading::Schemas;
        }
        if is_loaded {
            let conditions = self.condition.as_ref().map_or(0, Condition::comparisons);
            return Reading::Loaded { leaves: self.leaves.is_some(), conditions };
        }
        Reading::Members {
            paths: self.members.as_ref().map_or_else(|| "all".into(), Projection::to_string),
            conditions: self.condition.as_ref().map_or(0, Condition::comparisons),
            counts: self.counted.is_some(),
        }
    }
}
