//! The four data sets of Nelson et al. (2019, section 4), made from a seed. Three have the rows, attributes,
//! bins and compressibility of data that cannot be distributed here. Zipf's is made by its definition.
//!
//! | set | rows | attributes | bins | compressed to | assumption about the rows |
//! |---|---:|---:|---:|---:|---|
//! | [`DataSet::Kdd`] | 4,898,431 | 42 | 475 | 0.6 % | connections come in long stretches of one kind, most of them floods of the same |
//! | [`DataSet::Bpa`] | 7,273,800 | 20 | 1,367 | 6 % | measurements move slowly, and tremble |
//! | [`DataSet::Linkage`] | 5,749,132 | 12 | 130 | 63 % | pairs of records, most of them unlike, those of a person together |
//! | [`DataSet::Zipf`] | 32,000,000 | 10 | 100 | 87 % | rows are independent; bin *k* of 10 has probability ~ *k*⁻² |
//!
//! The values of an attribute are left out: a set has the *bin* of each row ([`Table`]), one of the
//! attribute's bins. The paper gives no ratios of its sets in figures. In its plot, KDD has by far the lowest
//! ratio, and Zipf the highest.
//!
//! # The same rows everywhere
//!
//! Rows are made in blocks of [`BLOCK_ROWS`]: block *b* of attribute *a* starts a generator from (set, seed,
//! *a*, *b*). So the number of threads changes nothing, and a smaller table is the beginning of a larger one.

mod bpa;
mod kdd;
mod linkage;
mod zipf;

use rayon::prelude::*;
use warpath_core::wah::{Builder, WahBuf};
use warpath_shared::wah::CHUNK_ROWS;

use crate::generate::random::Random;

/// Rows that are made, and compressed, at a time: whole chunks of 63.
pub const BLOCK_ROWS: usize = 1024 * CHUNK_ROWS as usize;

/// The most bins that an attribute has: a row's is a byte.
pub const MAX_BINS: usize = 128;

/// A data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum DataSet {
    /// Network traffic, as of the KDD Cup of 1999: continuous attributes cut by Lloyd's algorithm. Compresses
    /// best.
    Kdd,
    /// Pairs of records of a cancer registry, and how much alike they are.
    Linkage,
    /// Measurements of twenty synchrophasors of a power grid, 60 a second.
    Bpa,
    /// Ten attributes of ten bins, by Zipf's distribution with skew 2. Hardly compresses.
    Zipf,
}

impl DataSet {
    /// All, from the one that compresses best on.
    pub const ALL: [Self; 4] = [Self::Kdd, Self::Bpa, Self::Linkage, Self::Zipf];

    /// Its name, as in results and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kdd => "kdd",
            Self::Linkage => "linkage",
            Self::Bpa => "bpa",
            Self::Zipf => "zipf",
        }
    }

    /// The number of rows of the whole set.
    #[must_use]
    pub fn rows(self) -> u64 {
        match self {
            Self::Kdd => 4_898_431,
            Self::Linkage => 5_749_132,
            Self::Bpa => 7_273_800,
            Self::Zipf => 32_000_000,
        }
    }

    /// Makes the first rows, on all threads of the calling pool. Rows after the last of the set follow the
    /// same rules.
    #[must_use]
    pub fn make(self, rows: u64, seed: u64) -> Table {
        match self {
            Self::Kdd => table(&kdd::Kdd::new(seed), rows),
            Self::Linkage => table(&linkage::Linkage::new(seed), rows),
            Self::Bpa => table(&bpa::Bpa::new(seed), rows),
            Self::Zipf => table(&zipf::Zipf::new(seed), rows),
        }
    }
}

/// The generator of a set.
trait Source: Sync {
    /// The number of bins of each attribute.
    fn bins(&self) -> Vec<usize>;

    /// Writes the bins of the rows of a block: all of [`BLOCK_ROWS`], or the first of them.
    fn fill(&self, attribute: usize, block: usize, numbers: &mut [u8]);
}

/// The generator of a block of an attribute.
fn random(set: DataSet, seed: u64, attribute: usize, block: usize) -> Random {
    // Not the numbers of the shapes of text, which are small.
    let shape = 0x6269_746d_6170 + set as u64;
    Random::new(shape, seed, (attribute as u64) << 32 | block as u64)
}

/// Rows, and which bin of each attribute they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The number of rows.
    pub rows: u64,
    /// The attributes.
    pub attributes: Vec<Attribute>,
}

/// An attribute of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The number of bins: at most [`MAX_BINS`].
    pub bins: usize,
    /// The bin of each row.
    pub numbers: Vec<u8>,
}

fn table(source: &impl Source, rows: u64) -> Table {
    let attribute = |(number, bins): (usize, usize)| {
        assert!(bins <= MAX_BINS, "{bins} bins");
        let mut numbers = vec![0; rows as usize];
        let blocks = numbers.par_chunks_mut(BLOCK_ROWS).enumerate();
        blocks.for_each(|(block, numbers)| source.fill(number, block, numbers));
        Attribute { bins, numbers }
    };
    Table { rows, attributes: source.bins().into_iter().enumerate().map(attribute).collect() }
}

impl Table {
    /// The number of bins of all attributes: the columns of the index.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.attributes.iter().map(|attribute| attribute.bins).sum()
    }

    /// The attribute, and the bin of it, that a column of the index is.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    pub fn place(&self, column: usize) -> (usize, u8) {
        let mut first = 0;
        for (number, attribute) in self.attributes.iter().enumerate() {
            if column < first + attribute.bins {
                return (number, (column - first) as u8);
            }
            first += attribute.bins;
        }
        panic!("column {column} of {first}")
    }

    /// The index: a compressed bitmap for each bin of each attribute, attribute by attribute. It is made on
    /// all threads of the calling pool. Blocks are compressed side by side, and then joined bin by bin.
    #[must_use]
    pub fn columns(&self) -> Vec<WahBuf> {
        self.attributes.iter().flat_map(|attribute| attribute.columns(self.rows)).collect()
    }
}

impl Attribute {
    fn columns(&self, rows: u64) -> Vec<WahBuf> {
        let blocks: Vec<Vec<WahBuf>> =
            self.numbers.par_chunks(BLOCK_ROWS).map(|numbers| compress(numbers, self.bins)).collect();
        let column = |bin: usize| {
            let mut builder = Builder::default();
            for block in &blocks {
                block[bin].as_wah().atoms().for_each(|atom| builder.atom(atom));
            }
            builder.finish(rows)
        };
        (0..self.bins).into_par_iter().map(column).collect()
    }
}

/// The bitmaps of the bins of some rows.
fn compress(numbers: &[u8], bins: usize) -> Vec<WahBuf> {
    // The number of chunks in each bin's builder. Chunks without a row of the bin are skipped until one has a
    // row.
    let (mut builders, mut done) = (vec![Builder::default(); bins], vec![0; bins]);
    let mut chunks = [0_u64; MAX_BINS];
    let count = numbers.len().div_ceil(CHUNK_ROWS as usize) as u64;
    for (at, rows) in (0..).zip(numbers.chunks(CHUNK_ROWS as usize)) {
        let mut touched = 0_u128;
        for (bit, bin) in rows.iter().enumerate() {
            chunks[*bin as usize] |= 1 << bit;
            touched |= 1 << *bin;
        }
        while touched != 0 {
            let bin = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            builders[bin].fill(false, at - done[bin]);
            builders[bin].chunk(std::mem::take(&mut chunks[bin]));
            done[bin] = at + 1;
        }
    }
    let finish = |(mut builder, done): (Builder, u64)| {
        builder.fill(false, count - done);
        builder.finish(numbers.len() as u64)
    };
    builders.into_iter().zip(done).map(finish).collect()
}

/// The compressed size of columns, as a fraction of one bit per row and column.
#[must_use]
pub fn ratio(columns: &[WahBuf]) -> f64 {
    let compressed: u64 = columns.iter().map(|column| 64 * column.words().len() as u64).sum();
    let bits: u64 = columns.iter().map(WahBuf::rows).sum();
    if bits == 0 { 0.0 } else { compressed as f64 / bits as f64 }
}

/// Bins by weights.
#[derive(Clone, Debug)]
struct Weighted {
    /// The last of the 2³² numbers that are of each bin.
    last: Vec<u32>,
    /// The bin of the first number of each 256th of them.
    guide: [u8; 256],
}

impl Weighted {
    /// Bins of such weights, which need not be of sum 1.
    fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let weights: Vec<f64> = weights.into_iter().collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut last: Vec<u32> = Vec::new();
        for weight in weights {
            sum += weight;
            last.push((sum / total * 2_f64.powi(32)) as u32);
        }
        if let Some(end) = last.last_mut() {
            *end = u32::MAX;
        }
        let mut guide = [0; 256];
        for (high, first) in guide.iter_mut().enumerate() {
            *first = last.partition_point(|last| *last < (high as u32) << 24) as u8;
        }
        Self { last, guide }
    }

    /// The bin that a random number is of.
    #[inline]
    fn pick(&self, number: u32) -> u8 {
        let mut bin = self.guide[(number >> 24) as usize];
        while number > self.last[bin as usize] {
            bin += 1;
        }
        bin
    }
}

#[cfg(test)]
mod tests;
