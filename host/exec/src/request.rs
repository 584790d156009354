//! A request to an engine: inputs, and how they are read.

use std::sync::Arc;

#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedSchema;
use warpath_core::error::Error;
use warpath_lang::predicate::Predicate;
use warpath_plan::{Evaluated, Facts, Plan, Purpose, Structural, Unused};

use crate::engine::{Chosen, Engine};
use crate::index_file::CheckedIndex;
use crate::input::{Inputs, Selection};
use crate::stream::{Digest, Sampler};
use crate::trace::Operation;

/// Inputs that an engine is about to read.
pub(crate) struct Request<'a> {
    /// The engine, with the limits of this request.
    pub engine: Engine,
    pub inputs: Inputs<'a>,
    /// The operation that the results are for, if it is not the one that is called.
    pub operation: Option<Operation>,
    /// The index that the caller named.
    pub index: Option<Arc<CheckedIndex>>,
    /// Indexes that the caller named, and that cannot be of the inputs.
    pub unused: Vec<Unused>,
    /// The selected lines; `None` for all lines.
    pub selected: Option<Arc<Selection>>,
    /// The predicate on records; `None` for all records.
    pub predicate: Option<Arc<Predicate>>,
    /// The digest that workers make of the results; `None` for batches with all results.
    pub digest: Option<Arc<dyn Digest>>,
    /// Copies some records for the caller.
    pub sampler: Option<Arc<Sampler>>,
    /// The nested columns that records are decoded to.
    #[cfg(feature = "arrow")]
    pub nested: Option<Arc<NestedSchema>>,
}

impl Request<'_> {
    /// Facts about the inputs, and about the indexes that the caller named.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::new(self.inputs.access(), self.engine.format());
        facts.selected = self.selected.as_ref().map(|selected| selected.facts());
        facts.has_parts |= self.inputs.may_have_parts();
        facts.is_loaded |= self.inputs.are_loaded();
        facts.structural = self.index.as_ref().map(|index| Structural { is_named: true, ..index.facts() });
        facts
    }

    /// The backend and the plan of an evaluation that is not that of a program.
    pub fn planned(
        &mut self,
        purpose: Purpose<'_>,
        evaluated: Evaluated<'_>,
        facts: Facts,
    ) -> Result<(Chosen, Plan), Error> {
        let chosen = self.engine.choose(purpose, facts.bytes.plain())?;
        let plan = self.planned_on(&chosen, evaluated, facts)?;
        Ok((chosen, plan))
    }

    /// The plan of an evaluation that is not that of a program, on a chosen backend.
    pub fn planned_on(
        &mut self,
        chosen: &Chosen,
        evaluated: Evaluated<'_>,
        facts: Facts,
    ) -> Result<Plan, Error> {
        let unused = std::mem::take(&mut self.unused);
        self.engine.plan(chosen, evaluated, self.predicate.is_some(), facts, unused)
    }
}
