//! Rows that bins leave undecided: each is asked by the values that are stored.
//!
//! ```text
//! answer     chunk 0    ├── 63 rows ──┤  chunk 1 …      a thread takes stretches of 1,024 chunks
//! undecided  chunk 0    │ 0 1 0 0 1 … │                 and goes from chunk to chunk
//! ```
//!
//! A chunk is asked as a whole: each operand of an `and` gets the rows that those before it have left, each of an `or` those that none has
//! taken, and a test looks at the values of the rows that it gets. Rows without a value are known by the bitmaps of their bins, which are
//! gone through in step. So what nobody asks is not read: not a column, and not a block of its values.

use std::sync::{Mutex, PoisonError};

use warpath_shared::bitmap::TILE_CHUNKS;
use warpath_shared::wah::{Atom, CHUNK_ROWS};

use super::column::{Holds, Kind};
use super::plan::formula::{Choice, Formula};
use super::plan::ranges::{Key, Ranges, Share, double, of_double};
use super::plan::{Operand, Plan};
use super::run::run;
use super::wah::Bitmap;
use super::{BitmapIndex, Values};
use crate::error::Error;

/// Chunks that a thread takes at a time.
const STRETCH: usize = 8 * TILE_CHUNKS as usize;
/// For fewer rows, a thread more costs more than it saves.
const ROWS_OF_A_THREAD: u64 = 1 << 14;

/// What an expression is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The rows, in chunks of 63, the first in bit 0. Empty where they were counted alone.
    pub chunks: Vec<u64>,
    /// How many they are.
    pub rows: u64,
    /// How many rows were checked against their stored values.
    pub checked: u64,
}

impl Plan {
    /// The bitmaps that the program reads, each of which is checked when it is first read.
    ///
    /// # Errors
    /// [`Error::Index`] where one is not as it was written.
    pub fn operands<'a>(&self, index: &'a BitmapIndex) -> Result<Vec<Bitmap<'a>>, Error> {
        let none = || Error::Internal("a plan reads records where all rows are".into());
        let of = |operand: &Operand| match operand {
            Operand::Bin { column, bin } => index.bitmap(*column, *bin),
            Operand::Records => index.records()?.ok_or_else(none),
        };
        self.bitmaps.iter().map(of).collect()
    }

    /// The answer, on the CPU, by so many threads. With `keep` its rows are kept, and else only counted.
    ///
    /// # Errors
    /// [`Error::Index`] where the index is not as it was written. The plan must be one of this index.
    pub fn answer(&self, index: &BitmapIndex, threads: usize, keep: bool) -> Result<Answer, Error> {
        let outputs =
            run(&self.operands(index)?, &self.program, index.rows(), threads, keep || !self.is_exact())?;
        self.settle(index, outputs.chunks, &outputs.counts, threads)
    }

    /// What the program stored becomes the answer: rows of output 1 of which the expression is true are added to output 0.
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
        let (Some(undecided), Some(count)) = (outputs.next(), counts.get(1)) else {
            return Err(Error::Internal("a plan that is not exact has two outputs".into()));
        };
        if undecided.len() != chunks.len() {
            return Err(Error::Internal("the outputs of a plan have different chunks".into()));
        }
        let threads = threads.min(count.div_ceil(ROWS_OF_A_THREAD) as usize).max(1);
        let more = settle(formula, index, &mut chunks, &undecided, threads)?;
        Ok(Answer { chunks, rows: sure + more, checked: *count })
    }
}

/// Adds the rows of `undecided` of which a formula is true to `chunks`, and says how many these are.
fn settle(
    formula: &Formula,
    index: &BitmapIndex,
    chunks: &mut [u64],
    undecided: &[u64],
    threads: usize,
) -> Result<u64, Error> {
    let mut leaves = Vec::new();
    let asked = Asked::new(formula, index, &mut leaves)?;
    let stretches = chunks.chunks_mut(STRETCH).zip(undecided.chunks(STRETCH)).enumerate();
    let stretches = Mutex::new(stretches.filter(|(_, (_, asked))| asked.iter().any(|chunk| *chunk != 0)));
    let work = || -> Result<u64, Error> {
        let mut added = 0;
        loop {
            let next = stretches.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, (chunks, undecided))) = next else { return Ok(added) };
            let mut stretch = Stretch::new(index, &leaves, number as u64);
            for (at, (chunk, undecided)) in chunks.iter_mut().zip(undecided).enumerate() {
                if *undecided != 0 {
                    let found = asked.of(&mut stretch, at, *undecided)?;
                    *chunk |= found;
                    added += u64::from(found.count_ones());
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut added = work();
        for other in others {
            let died = |_| Err(Error::Internal("a thread that checks rows ended before it had".into()));
            let more = other.join().unwrap_or_else(died);
            added = added.and_then(|added| Ok(added + more?));
        }
        added
    })
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
    fn new(formula: &Formula, index: &BitmapIndex, leaves: &mut Vec<Leaf>) -> Result<Self, Error> {
        let mut all = |all: &[Formula]| {
            let all: Result<Vec<Self>, Error> = all.iter().map(|of| Self::new(of, index, leaves)).collect();
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
                leaves.push(Leaf::new(*column, choice, index)?);
                Self::Leaf(leaves.len() - 1)
            }
        })
    }

    fn cost(&self, leaves: &[Leaf]) -> u32 {
        match self {
            Self::Constant(_) => 0,
            Self::Leaf(leaf) => leaves[*leaf].wanted.cost(),
            Self::And(all) | Self::Or(all) => all.iter().map(|of| of.cost(leaves)).sum(),
        }
    }

    /// Of which of the rows `of` of a chunk it is true.
    fn of(&self, stretch: &mut Stretch<'_>, chunk: usize, of: u64) -> Result<u64, Error> {
        match self {
            Self::Constant(value) => Ok(if *value { of } else { 0 }),
            Self::Leaf(leaf) => stretch.leaf(*leaf, chunk, of),
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

/// What is asked of a column.
struct Leaf {
    column: usize,
    wanted: Wanted,
    /// Bins of rows without a value, and whether these are wanted.
    without: Vec<(usize, bool)>,
}

/// Which values are wanted.
enum Wanted {
    /// All, or none.
    Constant(bool),
    /// Rows of bins, by their numbers: those without a value, too.
    Bins(Vec<bool>),
    /// Integers and instants within these bounds, or outside (`false`).
    Ints(i64, i64, bool),
    /// Doubles within these bounds, or outside.
    Floats(f64, f64, bool),
    /// Integers and instants of many ranges, or doubles by their order.
    Many(Vec<(i64, i64)>),
    Texts(Ranges),
}

impl Leaf {
    fn new(column: usize, choice: &Choice, index: &BitmapIndex) -> Result<Self, Error> {
        let described = &index.columns()[column];
        let wanted: Vec<bool> = described.bins.iter().map(|bin| choice.share(bin) == Share::All).collect();
        // Of no rows: only how they are stored.
        if let Values::Bins(_) = index.values_of(column, 0..0)? {
            return Ok(Self { column, wanted: Wanted::Bins(wanted), without: Vec::new() });
        }
        let is_value = |bin: &usize| matches!(described.bins[*bin].holds, Holds::Values { .. });
        let without = (0..wanted.len()).filter(|bin| !is_value(bin)).map(|bin| (bin, wanted[bin])).collect();
        Ok(Self { column, wanted: Wanted::new(&choice.values, described.kind), without })
    }
}

impl Wanted {
    fn new(values: &Ranges, kind: Kind) -> Self {
        if kind == Kind::Text {
            return match values {
                all if *all == Ranges::all() => Self::Constant(true),
                none if *none == Ranges::none() => Self::Constant(false),
                some => Self::Texts(some.clone()),
            };
        }
        let within = |from, to, inside| match kind {
            Kind::Float => Self::floats(from, to, inside),
            _ => Self::Ints(from, to, inside),
        };
        match (&values.numbers()[..], &values.complement().numbers()[..]) {
            ([], _) => Self::Constant(false),
            (_, []) => Self::Constant(true),
            ([(from, to)], _) => within(*from, *to, true),
            (_, [(from, to)]) => within(*from, *to, false),
            (many, _) => Self::Many(many.to_vec()),
        }
    }

    /// Doubles from one to another, by their order.
    fn floats(from: i64, to: i64, inside: bool) -> Self {
        if from > double(f64::INFINITY) || to < double(f64::NEG_INFINITY) {
            return Self::Constant(!inside);
        }
        // Nothing is stored as -0, but 0 would not be greater.
        let to = if to == double(0.0) - 1 { to - 1 } else { to };
        Self::Floats(of_double(from), of_double(to), inside)
    }

    fn cost(&self) -> u32 {
        match self {
            Self::Constant(_) => 0,
            Self::Bins(_) => 1,
            Self::Ints(..) | Self::Floats(..) => 2,
            Self::Many(_) => 4,
            Self::Texts(_) => 8,
        }
    }
}

/// Neighbouring chunks, and what has been read for them.
struct Stretch<'a> {
    index: &'a BitmapIndex,
    leaves: &'a [Leaf],
    /// The first chunk.
    first: u64,
    read: Vec<Option<Read<'a>>>,
}

/// What has been read of a column: values, from the first row of the stretch on, and which rows have none.
struct Read<'a> {
    values: Values<'a>,
    without: Vec<(Cursor<'a>, bool)>,
}

impl<'a> Stretch<'a> {
    fn new(index: &'a BitmapIndex, leaves: &'a [Leaf], number: u64) -> Self {
        let read = leaves.iter().map(|_| None).collect();
        Self { index, leaves, first: number * STRETCH as u64, read }
    }

    /// Of which of the rows `of` of a chunk a leaf is true.
    fn leaf(&mut self, number: usize, chunk: usize, of: u64) -> Result<u64, Error> {
        let leaf = &self.leaves[number];
        let read = match &mut self.read[number] {
            Some(read) => read,
            none => none.insert(Read::new(leaf, self.index, self.first)?),
        };
        let (mut left, mut found) = (of, 0);
        for (cursor, is_wanted) in &mut read.without {
            let without = cursor.chunk(self.first + chunk as u64);
            if *is_wanted {
                found |= left & without;
            }
            left &= !without;
        }
        if left == 0 {
            return Ok(found);
        }
        let row = chunk * CHUNK_ROWS as usize;
        Ok(found | read.values_of(&leaf.wanted, row, left)?)
    }
}

impl<'a> Read<'a> {
    fn new(leaf: &Leaf, index: &'a BitmapIndex, first: u64) -> Result<Self, Error> {
        let rows = |chunk: u64| (chunk * u64::from(CHUNK_ROWS)).min(index.rows());
        let rows = match leaf.wanted {
            Wanted::Constant(_) => 0..0,
            _ => rows(first)..rows(first + STRETCH as u64),
        };
        let cursor = |(bin, is_wanted): &(usize, bool)| {
            Ok((Cursor::new(index.bitmap(leaf.column, *bin)?, first), *is_wanted))
        };
        let without = leaf.without.iter().map(cursor).collect::<Result<_, Error>>()?;
        Ok(Self { values: index.values_of(leaf.column, rows)?, without })
    }

    /// Which of the rows `of`, of which each has a value, have one that is wanted. `row` is that of bit 0.
    fn values_of(&self, wanted: &Wanted, row: usize, of: u64) -> Result<u64, Error> {
        Ok(match (wanted, self.values) {
            (Wanted::Constant(value), _) => {
                if *value {
                    of
                } else {
                    0
                }
            }
            (Wanted::Bins(bins), Values::Bins(numbers)) => {
                each(of, |bit| numbers.get(row + bit).is_some_and(|bin| bins.get(bin) == Some(&true)))
            }
            (Wanted::Ints(from, to, inside), Values::Int(values) | Values::Time(values)) => {
                masked(values, row, of, |value| ((*from <= value) & (value <= *to)) == *inside)
            }
            (Wanted::Floats(from, to, inside), Values::Float(values)) => {
                masked(values, row, of, |value| ((*from <= value) & (value <= *to)) == *inside)
            }
            (Wanted::Many(ranges), Values::Int(values) | Values::Time(values)) => {
                masked(values, row, of, |value| is_within(ranges, value))
            }
            (Wanted::Many(ranges), Values::Float(values)) => {
                masked(values, row, of, |value| is_within(ranges, double(value)))
            }
            (Wanted::Texts(ranges), Values::Text(texts)) => {
                each(of, |bit| texts.get(row + bit).is_some_and(|text| ranges.contains(Key::Text(text))))
            }
            _ => return Err(Error::Internal("values are stored as another kind than planned".into())),
        })
    }
}

/// The rows `of` for which a test holds, bit by bit.
#[inline]
fn each(of: u64, test: impl Fn(usize) -> bool) -> u64 {
    let (mut left, mut found) = (of, 0);
    while left != 0 {
        let bit = left.trailing_zeros();
        found |= u64::from(test(bit as usize)) << bit;
        left &= left - 1;
    }
    found
}

/// The rows `of` whose values pass a test: where they are many, all values of the chunk are tested, without a branch.
#[inline]
fn masked<T: Copy>(values: &[T], row: usize, of: u64, test: impl Fn(T) -> bool) -> u64 {
    /// So many tests in a row take as long as these one by one.
    const MANY: u32 = 12;
    let chunk = &values[row.min(values.len())..values.len().min(row + CHUNK_ROWS as usize)];
    if of.count_ones() < MANY {
        return each(of, |bit| chunk.get(bit).is_some_and(|value| test(*value)));
    }
    let found =
        chunk.iter().enumerate().fold(0, |found, (bit, value)| found | u64::from(test(*value)) << bit);
    found & of
}

/// Whether a number is in one of some ranges, which are in order.
fn is_within(ranges: &[(i64, i64)], value: i64) -> bool {
    let at = ranges.partition_point(|(_, to)| *to < value);
    ranges.get(at).is_some_and(|(from, _)| *from <= value)
}

/// Goes through a bitmap, chunk by chunk, and never back.
struct Cursor<'a> {
    atoms: std::slice::Iter<'a, u64>,
    /// Each chunk of the last atom that was taken, and the first behind it.
    chunk: u64,
    end: u64,
}

impl<'a> Cursor<'a> {
    /// Begins at a chunk that a tile begins with.
    fn new(of: Bitmap<'a>, first: u64) -> Self {
        let tile = of.tiles.get((first / u64::from(TILE_CHUNKS)) as usize).copied().unwrap_or_default();
        let atoms = of.wah.words().get(tile.atom as usize..).unwrap_or_default();
        Self { atoms: atoms.iter(), chunk: 0, end: first.saturating_sub(tile.skip.into()) }
    }

    /// A chunk; 0 behind the last.
    fn chunk(&mut self, number: u64) -> u64 {
        while self.end <= number {
            let Some(word) = self.atoms.next() else { return 0 };
            let atom = Atom(*word);
            self.chunk = atom.chunk();
            self.end = self.end.saturating_add(atom.chunks());
        }
        self.chunk
    }
}
