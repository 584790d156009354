//! Rows that bins leave undecided: each is asked by the values that are stored.
//!
//! ```text
//! sure       chunk 0    ├── 63 rows ──┤  chunk 1 …      a thread takes stretches of 1,024 chunks
//! possible   chunk 0    │ 0 1 0 0 1 … │                 and goes from chunk to chunk
//! ```
//!
//! A chunk is asked as a whole: each operand of an `and` gets the rows that those before it have left, each of an `or` those that none has
//! taken. A test of a column knows the rows of a bin that it cuts by their stored values, and all others by their bins: so what nobody asks is not
//! read, not a column, not a bin, and not a block of its values.
//!
//! | module | question it answers |
//! |---|---|
//! | `leaf` | of which rows is a test of a column true? |
//! | `compare` | which rows of a bin have stored numbers within some ranges? |

mod compare;
mod leaf;

use warpath_shared::bitmap::TILE_CHUNKS;

use self::leaf::{Leaf, Read};
use super::plan::formula::Formula;
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_store::bitmap::index::BitmapIndex;

/// Tiles of a stretch.
pub const STRETCH_TILES: usize = 8;
/// Chunks that a thread takes at a time.
pub const STRETCH: usize = STRETCH_TILES * TILE_CHUNKS as usize;

/// A plan's rows that bins leave undecided, to be asked of an index.
pub struct Checker<'a> {
    index: &'a BitmapIndex,
    asked: Asked,
    leaves: Vec<Leaf<'a>>,
}

impl<'a> Checker<'a> {
    /// Counts the rows of the bins that are cut, in so many threads.
    pub fn new(formula: &'a Formula, index: &'a BitmapIndex, threads: usize) -> Result<Self, Error> {
        let mut leaves = Vec::new();
        let asked = Asked::new(formula, index, &mut leaves, threads)?;
        Ok(Self { index, asked, leaves })
    }

    /// Adds the rows of `possible` of which the formula is true to `sure`, of whose rows that is known, and says how many were added. Both have the chunks of
    /// one stretch, by its number.
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

    /// The same of all stretches, in so many threads.
    pub fn check_all(&self, sure: &mut [u64], possible: &[u64], threads: usize) -> Result<u64, Error> {
        let stretches = sure.chunks_mut(STRETCH).zip(possible.chunks(STRETCH)).enumerate().collect();
        let check =
            |(number, (sure, possible)): (usize, (&mut [u64], &[u64]))| self.check(number, sure, possible);
        pool::map_in(threads, stretches, check).into_iter().sum()
    }
}

/// A formula, ready to be asked of rows.
enum Asked {
    Constant(bool),
    /// By its number.
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
                // What costs least comes first: it may leave nothing to do.
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

    /// Of which of the rows `of` of a chunk it is true.
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

/// Neighbouring chunks, and what has been read for them.
struct Stretch<'a> {
    index: &'a BitmapIndex,
    leaves: &'a [Leaf<'a>],
    number: usize,
    read: Vec<Option<Read<'a>>>,
}

impl<'a> Stretch<'a> {
    /// What has been read of a test's column.
    fn leaf(&mut self, leaf: usize) -> Result<&mut Read<'a>, Error> {
        Ok(match &mut self.read[leaf] {
            Some(read) => read,
            none => none.insert(Read::new(&self.leaves[leaf], self.index, self.number)),
        })
    }
}
