//! No index files: they are parts, which need the feature `store`.

use std::sync::Arc;

use warpath_plan::Structural;

use crate::engine::Chosen;
use crate::stream::{Rest, Store};

/// No index file.
#[derive(Debug)]
pub(crate) enum CheckedIndex {}

impl CheckedIndex {
    pub fn facts(&self) -> Structural {
        match *self {}
    }

    pub fn store(&self, _: &Chosen, _: bool) -> Arc<dyn Store> {
        match *self {}
    }

    pub fn rest(&self) -> Option<Rest> {
        match *self {}
    }
}
