//! The structural indexes of inputs, with their texts.

use std::option;
use std::sync::Arc;

use warpath_answer::backend::StructuralIndex;
use warpath_core::error::{Error, RecordError};
use warpath_cpu::strict;
use warpath_plan::{Evaluated, Purpose};
use warpath_shared::units::{ByteOffset, Level};

use super::batch::record_error;
use super::operator::{Operator, Taken, TextResult};
use super::values::{self, Make, PerText};
use super::{Ordered, Running, Stats};
use crate::input::Text;
use crate::request::Request;
use crate::trace::Operation;

/// The structural indexes of inputs, one partition at a time. See
/// [`Input::indexes`](crate::operators::Input::indexes).
pub type Indexes<'a> = Ordered<'a, Indexing>;

/// The operator that yields structural indexes with their texts.
pub struct Indexing;

/// One partition with its index.
pub struct IndexedPartition<'a> {
    text: Text<'a>,
    source: Arc<str>,
    /// The number of the first line in its input, counted from 0.
    pub first_line: u64,
    /// The index.
    pub index: StructuralIndex,
}

impl IndexedPartition<'_> {
    /// The input's name.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The partition's text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.text.bytes()
    }

    /// The offset of the partition in its input, in decompressed bytes.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.text.offset()
    }

    /// The malformed records of the partition.
    pub fn faults(&self) -> impl Iterator<Item = RecordError> {
        self.index.faults.iter().map(|fault| record_error(self.source(), self.first_line, fault))
    }
}

impl<'a> Operator<'a> for Indexing {
    type Task = PerText<StructuralIndex>;
    type Items = option::IntoIter<IndexedPartition<'a>>;

    fn take(&mut self, part: TextResult<'a, StructuralIndex>) -> Taken<Self::Items> {
        let TextResult { text, result: index, origin, first_line } = part;
        let lines = index.line_starts.len() as u64 - 1;
        let counts = Stats { lines, skipped: index.faults.len() as u64, ..Stats::default() };
        let partition = IndexedPartition { text, source: origin.name, first_line, index };
        Taken { items: Some(partition).into_iter(), lines, counts, error: None }
    }
}

impl<'a> Indexes<'a> {
    pub(crate) fn start(input: Request<'a>, levels: Level) -> Self {
        Self::new(Indexing, index(input, levels))
    }
}

fn index<'a>(mut input: Request<'a>, levels: Level) -> Result<Running<'a, PerText<StructuralIndex>>, Error> {
    let facts = input.facts();
    let (mut chosen, plan) = input.planned(Purpose::Other, Evaluated::Structure, facts)?;
    let Request { inputs, .. } = input;
    chosen.begin(Operation::Indexes, || inputs.names());
    let (backend, is_strict) = (chosen.backend().clone(), chosen.strict);
    let make: Make<StructuralIndex> = Box::new(move |_, text| {
        let mut index = backend.index(text.bytes(), levels)?;
        if is_strict {
            index.faults = strict::faults(text.bytes());
        }
        Ok(index)
    });
    values::start(inputs, &chosen, plan, chosen.buffers.clone(), make)
}
