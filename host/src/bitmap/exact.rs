//! Rows that bins leave undecided: each is asked by the values that are stored.
//!
//! ```text
//! answer     chunk 0    ├── 63 rows ──┤  chunk 1 …      a thread takes stretches of 1,024 chunks
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
use super::ask::Answer;
use super::plan::Plan;
use super::plan::formula::Formula;
use super::{BitmapIndex, parallel};
use crate::error::Error;

/// Chunks that a thread takes at a time.
const STRETCH: usize = 8 * TILE_CHUNKS as usize;
/// For fewer rows, a thread more costs more than it saves.
const ROWS_OF_A_THREAD: u64 = 1 << 14;

impl Plan {
    /// What the program stored becomes the answer: rows of output 1 of which the expression is true are added to output 0, which are some of them.
    ///
    /// `outputs` has the chunks of each output, or none of an output 0 that was only counted, where there is no other.
    ///
    /// # Errors
    /// [`Error::Index`] where stored values are not as they were written; [`Error::Internal`] for outputs that are not this plan's.
    pub fn settle(
        &self,
        index: &BitmapIndex,
        outputs: Vec<Vec<u64>>,
        counts: &[u64],
        threads: usize,
    ) -> Result<Answer, Error> {
        let mut outputs = outputs.into_iter();
        let mut chunks = outputs.next().unwrap_or_default();
        let sure = counts.first().copied().unwrap_or(0);
        let Some(formula) = &self.check else { return Ok(Answer { chunks, rows: sure, checked: 0 }) };
        let (Some(possible), Some(count)) = (outputs.next(), counts.get(1)) else {
            return Err(Error::Internal("a plan that is not exact has two outputs".into()));
        };
        let undecided = count.checked_sub(sure);
        let (Some(count), true) = (undecided, possible.len() == chunks.len()) else {
            return Err(Error::Internal("the outputs of a plan have different chunks".into()));
        };
        let threads = threads.min(count.div_ceil(ROWS_OF_A_THREAD) as usize).max(1);
        let more = if count > 0 { settle(formula, index, &mut chunks, &possible, threads)? } else { 0 };
        Ok(Answer { chunks, rows: sure + more, checked: count })
    }
}

/// Adds the rows of `possible` of which a formula is true to `chunks`, of which it is known, and says how many these are.
fn settle(
    formula: &Formula,
    index: &BitmapIndex,
    chunks: &mut [u64],
    possible: &[u64],
    threads: usize,
) -> Result<u64, Error> {
    let mut leaves = Vec::new();
    let asked = Asked::new(formula, index, &mut leaves, threads)?;
    let stretches = chunks.chunks_mut(STRETCH).zip(possible.chunks(STRETCH)).enumerate().collect();
    let added =
        parallel::map_in(threads, stretches, |(number, (chunks, possible)): (_, (&mut [u64], &[u64]))| {
            let mut stretch =
                Stretch { index, leaves: &leaves, number, read: leaves.iter().map(|_| None).collect() };
            let mut added = 0;
            for (at, (chunk, possible)) in chunks.iter_mut().zip(possible).enumerate() {
                let undecided = *possible & !*chunk;
                if undecided != 0 {
                    let found = asked.of(&mut stretch, at, undecided)?;
                    *chunk |= found;
                    added += u64::from(found.count_ones());
                }
            }
            Ok(added)
        });
    added.into_iter().sum()
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
        formula: &Formula,
        index: &'a BitmapIndex,
        leaves: &mut Vec<Leaf<'a>>,
        threads: usize,
    ) -> Result<Self, Error> {
        let mut all = |all: &[Formula]| {
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
    read: Vec<Option<Box<Read<'a>>>>,
}

impl<'a> Stretch<'a> {
    /// What has been read of a test's column.
    fn leaf(&mut self, leaf: usize) -> Result<&mut Read<'a>, Error> {
        Ok(match &mut self.read[leaf] {
            Some(read) => read,
            none => none.insert(Box::new(Read::new(&self.leaves[leaf], self.index, self.number)?)),
        })
    }
}
