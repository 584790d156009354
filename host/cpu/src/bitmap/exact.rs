//! Checks of rows that bins leave undecided, against the stored values.
//!
//! ```text
//! sure       chunk 0    ├── 63 rows ──┤  chunk 1 …      a thread takes stretches of 1,024 chunks
//! possible   chunk 0    │ 0 1 0 0 1 … │                 and goes from chunk to chunk
//! ```
//!
//! A chunk is evaluated as a whole. Each operand of an `and` gets the rows that the operands before it have
//! left. Each operand of an `or` gets the rows that no operand before it has taken. A test of a column
//! decides the rows of a cut bin by their stored values, and all other rows by their bins. Columns, bins and
//! blocks of values are read only when needed.
//!
//! | module | contents |
//! |---|---|
//! | `leaf` | the rows of a chunk for which a test of a column is true |
//! | `compare` | the rows of a bin whose stored numbers are within ranges |

mod compare;
mod leaf;

use warpath_core::error::Error;
use warpath_core::pool;
use warpath_shared::bitmap::TILE_CHUNKS;
use warpath_store::bitmap::index::BitmapIndex;

use self::leaf::{Leaf, LeafData};
use super::plan::formula::Formula;

/// The number of tiles of a stretch.
pub const STRETCH_TILES: usize = 8;
/// The number of chunks that a thread takes at a time.
pub const STRETCH: usize = STRETCH_TILES * TILE_CHUNKS as usize;

/// A check of a plan's undecided rows over an index.
pub struct Checker<'a> {
    index: &'a BitmapIndex,
    asked: Asked,
    leaves: Vec<Leaf<'a>>,
}

impl<'a> Checker<'a> {
    /// Makes a checker, and counts the rows of the cut bins in `threads` threads.
    pub fn new(formula: &'a Formula, index: &'a BitmapIndex, threads: usize) -> Result<Self, Error> {
        let mut leaves = Vec::new();
        let asked = Asked::new(formula, index, &mut leaves, threads)?;
        Ok(Self { index, asked, leaves })
    }

    /// Evaluates the formula on the rows that are in `possible` and not in `sure`. Adds the rows for which it
    /// is true to `sure`, and returns their number. Both slices have the chunks of the stretch with this
    /// number.
    pub fn check(&self, number: usize, sure: &mut [u64], possible: &[u64]) -> Result<u64, Error> {
        let Self { index, asked, leaves } = self;
        let mut stretch = Stretch { index, leaves, number, read: leaves.iter().map(|_| None).collect() };
        let mut added = 0;
        for (at, (sure, possible)) in sure.iter_mut().zip(possible).enumerate() {
            let undecided = *possible & !*sure;
            if undecided != 0 {
                let found = asked.of(&mut stretch, at, undecided)?;
                *sure |= found;
                added += u64::from(found.count_ones());
            }
        }
        Ok(added)
    }

    /// Calls [`check`](Self::check) for all stretches, in `threads` threads.
    pub fn check_all(&self, sure: &mut [u64], possible: &[u64], threads: usize) -> Result<u64, Error> {
        let stretches = sure.chunks_mut(STRETCH).zip(possible.chunks(STRETCH)).enumerate().collect();
        let check =
            |(number, (sure, possible)): (usize, (&mut [u64], &[u64]))| self.check(number, sure, possible);
        pool::map_in(threads, stretches, check).into_iter().sum()
    }
}

/// A formula that is ready to be evaluated on rows.
enum Asked {
    Constant(bool),
    /// A test of a column, by its index in `leaves`.
    Leaf(usize),
    And(Vec<Self>),
    Or(Vec<Self>),
}

impl Asked {
    fn new<'a>(
        formula: &'a Formula,
        index: &'a BitmapIndex,
        leaves: &mut Vec<Leaf<'a>>,
        threads: usize,
    ) -> Result<Self, Error> {
        let mut all = |all: &'a [Formula]| {
            let all: Result<Vec<Self>, Error> =
                all.iter().map(|of| Self::new(of, index, leaves, threads)).collect();
            all.map(|mut all| {
                // The cheapest operand comes first, because it may decide all rows.
                all.sort_by_key(|of| of.cost(leaves));
                all
            })
        };
        Ok(match formula {
            Formula::Constant(value) => Self::Constant(*value),
            Formula::And(of) => Self::And(all(of)?),
            Formula::Or(of) => Self::Or(all(of)?),
            Formula::Leaf { column, choice } => {
                leaves.push(Leaf::new(*column, choice, index, threads)?);
                Self::Leaf(leaves.len() - 1)
            }
        })
    }

    fn cost(&self, leaves: &[Leaf<'_>]) -> u64 {
        match self {
            Self::Constant(_) => 0,
            Self::Leaf(leaf) => leaves[*leaf].cost(),
            Self::And(all) | Self::Or(all) => all.iter().map(|of| of.cost(leaves)).sum(),
        }
    }

    /// The rows among the rows `of` of a chunk for which the formula is true.
    fn of(&self, stretch: &mut Stretch<'_>, chunk: usize, of: u64) -> Result<u64, Error> {
        match self {
            Self::Constant(value) => Ok(if *value { of } else { 0 }),
            Self::Leaf(leaf) => stretch.leaf(*leaf)?.of(chunk, of),
            Self::And(all) => {
                let mut left = of;
                for each in all {
                    if left == 0 {
                        break;
                    }
                    left = each.of(stretch, chunk, left)?;
                }
                Ok(left)
            }
            Self::Or(all) => {
                let mut left = of;
                for each in all {
                    if left == 0 {
                        break;
                    }
                    left &= !each.of(stretch, chunk, left)?;
                }
                Ok(of & !left)
            }
        }
    }
}

/// Neighbouring chunks, and the data that has been read for them.
struct Stretch<'a> {
    index: &'a BitmapIndex,
    leaves: &'a [Leaf<'a>],
    number: usize,
    read: Vec<Option<LeafData<'a>>>,
}

impl<'a> Stretch<'a> {
    /// The data that has been read of a test's column.
    fn leaf(&mut self, leaf: usize) -> Result<&mut LeafData<'a>, Error> {
        Ok(match &mut self.read[leaf] {
            Some(read) => read,
            none => none.insert(LeafData::new(&self.leaves[leaf], self.index, self.number)),
        })
    }
}
