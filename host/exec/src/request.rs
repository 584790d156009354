//! What is asked of an engine: inputs, and what is used to read them.

use std::sync::Arc;

use warpath_core::error::Error;

use crate::engine::Engine;
use crate::index_file::CheckedIndex;
use crate::input::{Selection, Source};

/// Inputs that an engine is about to read.
pub(crate) struct Request {
    pub engine: Engine,
    pub sources: Vec<Source>,
    /// The index file by which it is answered.
    pub index: Option<Arc<CheckedIndex>>,
    /// The lines that are answered, if not all are.
    pub selected: Option<Arc<Selection>>,
}

impl Request {
    /// Refuses selected lines, where all of an input is needed.
    pub fn wants_all_lines(&self, what: &str) -> Result<(), Error> {
        match &self.selected {
            Some(_) => {
                Err(Error::Usage(format!("{what} of all lines of an input, and not of selected ones")))
            }
            None => Ok(()),
        }
    }
}
