//! No index files: they are parts, which need the feature `store`.

use std::sync::Arc;

use warpath_core::error::Error;
use warpath_core::rows::RowSet;
use warpath_plan::Structural;
use warpath_store::bitmap::BitmapIndex;

use crate::engine::Chosen;
use crate::input::FileLines;
use crate::stream::{Rest, Store};

/// No index file.
#[derive(Debug)]
pub(crate) enum CheckedIndex {}

impl CheckedIndex {
    pub fn name(&self) -> &str {
        match *self {}
    }

    pub fn bins(&self) -> Option<&BitmapIndex> {
        match *self {}
    }

    pub fn grown_by(&self) -> u64 {
        match *self {}
    }

    pub fn check_whole(&self, _: &'static str) -> Result<(), Error> {
        match *self {}
    }

    pub fn lines(&self, _: Option<&RowSet>) -> Result<FileLines, Error> {
        match *self {}
    }

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
