//! A request to an engine: inputs, and how they are read.

use std::sync::Arc;

use warpath_core::error::Error;

use crate::engine::Engine;
use crate::index_file::CheckedIndex;
use crate::input::{Selection, Source};

/// Inputs that an engine is about to read.
pub(crate) struct Request {
    pub engine: Engine,
    pub sources: Vec<Source>,
    /// The index file that is used to read the inputs.
    pub index: Option<Arc<CheckedIndex>>,
    /// The selected lines; `None` for all lines.
    pub selected: Option<Arc<Selection>>,
}

impl Request {
    /// Refuses selected lines, where all lines of an input are needed.
    pub fn wants_all_lines(&self, what: &str) -> Result<(), Error> {
        match &self.selected {
            Some(_) => {
                Err(Error::Usage(format!("{what} all lines of an input; some lines are selected here")))
            }
            None => Ok(()),
        }
    }
}
