//! Tables of leaves on a device, and questions about them. [`warpath_shared::leaf::table`] has the rules.

use warpath_shared::leaf::Block;
use warpath_shared::leaf::table::{Aggregate, AggregateCode, Column, Instr, Key, OpCode, Order};

use crate::error::Error;

/// A table of leaves in host memory, as it is copied to a device.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// The columns.
    pub columns: Vec<Column>,
    /// The blocks of all columns: `count` for each.
    pub blocks: Vec<Block>,
    /// The words of all blocks.
    pub words: Vec<u32>,
    /// The sets of rows; the first has the records.
    pub sets: Vec<u32>,
    /// The number of blocks of each column.
    pub count: usize,
}

impl Image {
    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let Self { columns, blocks, words, sets, .. } = self;
        let bytes = size_of_val(&columns[..]) + size_of_val(&blocks[..]) + size_of_val(&words[..]);
        (bytes + size_of_val(&sets[..])) as u64
    }
}

/// A condition on the rows of a table. Without instructions, it is true of no row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The instructions. They push at most [`MOST_PUSHED`](warpath_shared::leaf::table::MOST_PUSHED) sets.
    pub instrs: Vec<Instr>,
    /// Sets of codes.
    pub codes: Vec<u32>,
}

impl Program {
    /// The condition that is true of all records.
    #[must_use]
    pub fn all() -> Self {
        Self { instrs: vec![Instr::new(OpCode::Not)], codes: Vec::new() }
    }
}

/// The grouping of the rows of one table. Its groups and the positions of its numbers are those of a
/// [`Grouping`].
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The number of the table, as [`LeafDevice::load`] gave it.
    pub table: u64,
    /// The rows to be grouped.
    pub program: Program,
    /// The columns by which they are grouped.
    pub keys: Vec<Key>,
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
}

/// Groups of the rows of some tables.
#[derive(Clone, Debug, Default)]
pub struct Grouping {
    /// The number of groups.
    pub groups: u64,
    /// The aggregates that have one number for each group.
    pub numbers: Vec<AggregateCode>,
    /// Words of each set of each aggregate that has one set for each group.
    pub sets: Vec<u64>,
    /// The tables.
    pub parts: Vec<Part>,
    /// The groups that are wanted; `None` for all.
    pub first: Option<First>,
    /// True if the sets themselves are wanted, in place of their sizes.
    pub has_bits: bool,
}

/// The groups with rows that are first in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Their number; not 0.
    pub count: u64,
    /// The order.
    pub order: Order,
    /// The position of the numbers of rows among all numbers.
    pub rows: u64,
}

/// The numbers of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The groups, ascending, that have numbers here: at least those that are [first](Grouping::first).
    /// `None` for all groups.
    pub groups: Option<Vec<u64>>,
    /// For each aggregate of [`Grouping::numbers`] the numbers of these groups.
    pub numbers: Vec<Vec<u64>>,
    /// For each aggregate of [`Grouping::sets`] the sizes of the sets of these groups. Empty if the sets are
    /// wanted.
    pub sizes: Vec<Vec<u64>>,
    /// The sets, if they are wanted: for each aggregate the words of all groups.
    pub bits: Vec<u32>,
}

/// Rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRows {
    /// The number of rows of each block.
    pub counts: Vec<u32>,
    /// The rows: 32 words for each block; none if only counts were wanted.
    pub words: Vec<u32>,
}

/// A device that can hold tables of leaves.
pub trait LeafForm: Send + Sync {
    /// Room for tables on the device, with a queue of its own.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn room(&self) -> Result<Box<dyn LeafDevice>, Error>;
}

/// Tables of leaves on a device, or on several. Any number of threads may use them; a device evaluates one
/// question after the other.
pub trait LeafDevice: Send + Sync {
    /// The name of the device.
    fn name(&self) -> String;

    /// Bytes of the device's memory that are free; of several devices, those of the one that has most.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn free_memory(&self) -> Result<u64, Error>;

    /// Copies a table to the device, and returns its number.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short. [`Error::Internal`] for a table whose parts do not fit
    /// together.
    fn load(&self, image: &Image) -> Result<u64, Error>;

    /// Removes a table.
    fn remove(&self, table: u64);

    /// The rows of a table of which a condition is true.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] for an unknown table, or a program that is not of this table.
    fn rows(&self, table: u64, program: &Program, has_words: bool) -> Result<TableRows, Error>;

    /// Groups rows.
    ///
    /// # Errors
    /// The errors of [`rows`](Self::rows). [`Error::Device`] if the numbers do not fit in the device's
    /// memory.
    fn group(&self, grouping: &Grouping) -> Result<Numbers, Error>;
}
