//! A request to an engine: inputs, and how they are read.

use std::sync::Arc;

#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedSchema;
use warpath_core::error::Error;
use warpath_lang::predicate::Predicate;

use crate::engine::Engine;
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
    /// The index file that is used to read the inputs.
    pub index: Option<Arc<CheckedIndex>>,
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
    /// Refuses selected lines and a predicate, where all lines of an input are needed.
    pub fn wants_all_lines(&self, what: &str) -> Result<(), Error> {
        if self.selected.is_some() || self.predicate.is_some() {
            return Err(Error::Usage(format!("{what} all lines of an input; some lines are selected here")));
        }
        Ok(())
    }
}
