//! The rows for which a test of a column is true.
//!
//! ```text
//! followers > 1500      bins: 0..=99  100..=999  1000..=4999  5000..=90000  missing
//!                             none      none        cut           all         none
//! ```
//!
//! The stored values decide the rows of a cut bin. All other rows need only their bins. There are two lists
//! of other bins: the test is true of all rows of the first, and of no row of the second. A row matches if it
//! is in a bin of the first list, or, equally, if it is in no bin of the second. The test uses the list with
//! fewer atoms.

use std::cell::OnceCell;

use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_core::wah::Bitmap;
use warpath_shared::wah::chunks_for;
use warpath_store::bitmap::column::{Bin, Column, Holds};
use warpath_store::bitmap::index::BitmapIndex;
use warpath_store::bitmap::values::{Texts, Values};

use super::STRETCH;
use super::compare::Compare;
use crate::bitmap::plan::formula::Choice;
use crate::bitmap::plan::ranges::{Key, Ranges};
use crate::bitmap::plan::sets::Bins;
use crate::bitmap::tile;
use crate::bitmap::tile::TILE;

/// The chunks of a stretch.
type Chunks = Box<[u64; STRETCH]>;

fn no_chunks() -> Chunks {
    Box::new([0; STRETCH])
}

/// A test of a column.
pub(super) struct Leaf<'a> {
    column: usize,
    /// The bins that the test cuts.
    cut: Vec<Cut<'a>>,
    /// Bins that decide the other rows: all bins for whose rows the test is true, or all bins for whose rows
    /// it is false.
    others: Vec<usize>,
    /// Set if the test is true of the rows of `others`; otherwise it is false of these.
    inside: bool,
}

/// A bin that is cut.
struct Cut<'a> {
    number: usize,
    bitmap: Bitmap<'a>,
    /// The number of the bin's rows before each stretch, followed by the number of all its rows.
    before: Vec<u64>,
    wanted: Wanted<'a>,
}

/// The values of a bin that match.
enum Wanted<'a> {
    /// Ranges of numbers, as differences from the bin's least value.
    Numbers(Vec<(u64, u64)>),
    Texts(&'a Ranges),
}

impl<'a> Leaf<'a> {
    /// Makes a test, and counts the rows of the bins that it cuts in `threads` threads.
    pub fn new(
        column: usize,
        choice: &'a Choice,
        index: &'a BitmapIndex,
        threads: usize,
    ) -> Result<Self, Error> {
        let described = &index.columns()[column];
        let bins = Bins::new(column, choice, index.columns(), true);
        let cut =
            pool::map_in(threads, bins.cut.clone(), |bin| Cut::new(index, described, column, bin, choice));
        let cut = cut.into_iter().collect::<Result<_, Error>>()?;
        let atoms =
            |bins: &mut dyn Iterator<Item = usize>| bins.map(|bin| index.atoms(column, bin)).sum::<u64>();
        let inside = atoms(&mut bins.all()) <= atoms(&mut bins.none());
        let others = if inside { bins.all().collect() } else { bins.none().collect() };
        Ok(Self { column, cut, others, inside })
    }

    /// An estimate of the cost of the test.
    pub fn cost(&self) -> u64 {
        let of = |cut: &Cut<'_>| match cut.wanted {
            Wanted::Numbers(_) => 2,
            Wanted::Texts(_) => 16,
        };
        self.cut.iter().map(of).sum::<u64>() + self.others.len() as u64
    }
}

impl<'a> Cut<'a> {
    fn new(
        index: &'a BitmapIndex,
        described: &Column,
        column: usize,
        number: usize,
        choice: &'a Choice,
    ) -> Result<Self, Error> {
        let (bitmap, bin) = (index.bitmap(column, number)?, &described.bins[number]);
        let before = Isa::best().run(Count { bitmap });
        if before.last() != Some(&bin.rows) {
            let name = &described.name;
            return Err(index.damaged(&format!(
                "bin {number} of column `{name}`: its bitmap does not have the number of rows in the table"
            )));
        }
        Ok(Self { number, bitmap, before, wanted: Wanted::new(&choice.values, bin) })
    }
}

impl<'a> Wanted<'a> {
    fn new(values: &'a Ranges, bin: &Bin) -> Self {
        let Holds::Values { least, greatest } = &bin.holds else { return Self::Numbers(Vec::new()) };
        let (Key::Number(least), Key::Number(greatest)) = (Key::of(least), Key::of(greatest)) else {
            return Self::Texts(values);
        };
        let far = |number: i64| number.wrapping_sub(least) as u64;
        let within = values.numbers(least, greatest).into_iter();
        Self::Numbers(within.map(|(from, to)| (far(from), far(to))).collect())
    }
}

/// A count of the rows of a bitmap before each stretch, followed by the number of all rows.
struct Count<'a> {
    bitmap: Bitmap<'a>,
}

impl Work for Count<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Vec<u64> {
        let chunks = chunks_for(self.bitmap.wah.rows()) as usize;
        let mut before = Vec::with_capacity(chunks.div_ceil(STRETCH) + 1);
        let mut count = 0;
        for first in (0..chunks).step_by(TILE) {
            if first % STRETCH == 0 {
                before.push(count);
            }
            let mut part = [0; TILE];
            tile::add(&self.bitmap, first / TILE, TILE.min(chunks - first), &mut part);
            for chunk in part {
                count += u64::from(chunk.count_ones());
            }
        }
        before.push(count);
        before
    }
}

/// A decompression of the rows of a bitmap in a stretch, which begins at a tile.
struct Add<'a> {
    bitmap: Bitmap<'a>,
    first: usize,
    to: &'a mut [u64; STRETCH],
}

impl Work for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let chunks = chunks_for(self.bitmap.wah.rows()) as usize;
        let (parts, _) = self.to.as_chunks_mut();
        for (part, first) in parts.iter_mut().zip((self.first..chunks).step_by(TILE)) {
            tile::add(&self.bitmap, first / TILE, TILE.min(chunks - first), part);
        }
    }
}

/// The data that has been read of a test's column for a stretch.
pub(super) struct LeafData<'a> {
    leaf: &'a Leaf<'a>,
    index: &'a BitmapIndex,
    /// The number of the stretch.
    stretch: usize,
    cut: Vec<ReadCut<'a>>,
    /// The rows of the other bins, once they are needed.
    others: OnceCell<Chunks>,
}

/// The data of a cut bin that has rows in the stretch.
struct ReadCut<'a> {
    of: &'a Cut<'a>,
    /// The rows of the bin.
    rows: Chunks,
    /// The matching rows, once they are needed.
    hits: OnceCell<Hits<'a>>,
}

/// The rows of a bin whose values match.
enum Hits<'a> {
    /// The matching rows, known for the whole stretch.
    Known(Chunks),
    /// Texts, which are compared row by row: the texts, their number before each chunk, and the ranges that
    /// match.
    Texts(Texts<'a>, Vec<u32>, &'a Ranges),
}

impl<'a> LeafData<'a> {
    pub fn new(leaf: &'a Leaf<'a>, index: &'a BitmapIndex, stretch: usize) -> Self {
        let is_here = |cut: &&Cut<'_>| cut.before[stretch] < cut.before[stretch + 1];
        let cut = leaf.cut.iter().filter(is_here).map(|cut| ReadCut::new(cut, stretch)).collect();
        Self { leaf, index, stretch, cut, others: OnceCell::new() }
    }

    /// The rows among the rows `of` of a chunk for which the test is true.
    pub fn of(&self, chunk: usize, of: u64) -> Result<u64, Error> {
        let (mut left, mut found) = (of, 0);
        for cut in &self.cut {
            let here = left & cut.rows[chunk];
            if here != 0 {
                let hits = match cut.hits.get() {
                    Some(hits) => hits,
                    None => {
                        let hits = cut.read(self.leaf.column, self.index, self.stretch)?;
                        cut.hits.get_or_init(|| hits)
                    }
                };
                found |= hits.of(&cut.rows, chunk, here);
                left &= !here;
            }
        }
        if left == 0 {
            return Ok(found);
        }
        let others = match self.others.get() {
            Some(others) => others,
            None => {
                let others = self.others()?;
                self.others.get_or_init(|| others)
            }
        };
        let others = others[chunk];
        Ok(found | left & if self.leaf.inside { others } else { !others })
    }

    /// Reads the rows of the other bins.
    fn others(&self) -> Result<Chunks, Error> {
        let mut others = no_chunks();
        for bin in &self.leaf.others {
            let bitmap = self.index.bitmap(self.leaf.column, *bin)?;
            Isa::best().run(Add { bitmap, first: self.stretch * STRETCH, to: &mut others });
        }
        Ok(others)
    }
}

impl<'a> ReadCut<'a> {
    fn new(cut: &'a Cut<'a>, stretch: usize) -> Self {
        let mut rows = no_chunks();
        Isa::best().run(Add { bitmap: cut.bitmap, first: stretch * STRETCH, to: &mut rows });
        Self { of: cut, rows, hits: OnceCell::new() }
    }

    /// Reads the stored values.
    fn read(&self, column: usize, index: &'a BitmapIndex, stretch: usize) -> Result<Hits<'a>, Error> {
        let Self { of: Cut { number, before, wanted, .. }, rows, .. } = self;
        let values = index.values_of(column, *number, before[stretch]..before[stretch + 1])?;
        Ok(match (wanted, values) {
            (Wanted::Texts(ranges), Values::Text(texts)) => {
                let count = |before: &mut u32, chunk: &u64| {
                    let here = *before;
                    *before += chunk.count_ones();
                    Some(here)
                };
                Hits::Texts(texts, rows.iter().scan(0, count).collect(), ranges)
            }
            (Wanted::Numbers(ranges), values) if !matches!(values, Values::Text(_)) => {
                let mut hits = no_chunks();
                let matches = &mut Vec::new();
                Isa::best().run(Compare { values, ranges, chunks: &rows[..], hits: &mut hits[..], matches });
                Hits::Known(hits)
            }
            _ => {
                return Err(Error::Internal(
                    "the stored values have another kind than the plan expects".into(),
                ));
            }
        })
    }
}

impl Hits<'_> {
    /// The rows among the rows `of` of a chunk whose values match. All rows `of` are in the bin, whose rows
    /// are `rows`.
    fn of(&self, rows: &Chunks, chunk: usize, of: u64) -> u64 {
        match self {
            Self::Known(hits) => hits[chunk] & of,
            Self::Texts(texts, before, ranges) => {
                let (mut left, mut found) = (of, 0);
                while left != 0 {
                    let bit = left & left.wrapping_neg();
                    let row = before[chunk] + (rows[chunk] & (bit - 1)).count_ones();
                    if texts.get(row as usize).is_some_and(|text| ranges.contains(Key::Text(text))) {
                        found |= bit;
                    }
                    left ^= bit;
                }
                found
            }
        }
    }
}
