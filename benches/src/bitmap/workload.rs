//! A range query: the union of some columns of a set.

use warpath_core::wah::WahBuf;
use warpath_shared::wah::{CHUNK_ROWS, Wah, chunks_for};

use super::data::Table;
use crate::generate::random::Random;

/// Columns that are to be united.
#[derive(Clone, Debug)]
pub struct Workload<'a> {
    /// The rows.
    pub table: &'a Table,
    /// The index of them: all columns.
    pub index: &'a [WahBuf],
    /// The numbers of the united columns.
    pub chosen: Vec<usize>,
}

impl<'a> Workload<'a> {
    /// A union of `count` random columns, each once, or of all if there are no more. For one seed, a smaller
    /// choice is the beginning of a larger one.
    #[must_use]
    pub fn random(table: &'a Table, index: &'a [WahBuf], count: usize, seed: u64) -> Self {
        let mut random = Random::new(0x636f_6c75_6d6e, seed, 0);
        let mut chosen: Vec<usize> = (0..index.len()).collect();
        for at in 0..count.min(index.len()) {
            chosen.swap(at, at + random.below((index.len() - at) as u32) as usize);
        }
        chosen.truncate(count);
        Self { table, index, chosen }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> Vec<Wah<'a>> {
        self.chosen.iter().map(|column| self.index[*column].as_wah()).collect()
    }

    /// The compressed size of the columns, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.columns().iter().map(|column| 8 * column.words().len() as u64).sum()
    }

    /// The bins of the query, by attribute.
    #[must_use]
    pub fn bins(&self) -> Vec<Vec<u8>> {
        let mut bins = vec![Vec::new(); self.table.attributes.len()];
        for column in &self.chosen {
            let (attribute, bin) = self.table.place(*column);
            bins[attribute].push(bin);
        }
        bins
    }

    /// Returns the expected result as chunks of 63 rows. It is computed from the rows, one at a time, and not
    /// from the index.
    #[must_use]
    pub fn answer(&self) -> Vec<u64> {
        let mut chunks = vec![0; chunks_for(self.table.rows) as usize];
        for (attribute, bins) in self.table.attributes.iter().zip(self.bins()) {
            let asked: Vec<bool> = (0..=u8::MAX).map(|bin| bins.contains(&bin)).collect();
            for (chunk, rows) in chunks.iter_mut().zip(attribute.numbers.chunks(CHUNK_ROWS as usize)) {
                for (bit, bin) in rows.iter().enumerate() {
                    *chunk |= u64::from(asked[*bin as usize]) << bit;
                }
            }
        }
        chunks
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::data::DataSet;
    use super::*;

    #[test]
    fn columns_are_chosen_once_each() {
        let table = DataSet::Zipf.make(1000, 1);
        let index = table.columns();
        let choose = |count, seed| Workload::random(&table, &index, count, seed).chosen;
        for count in [0, 1, 64, 100, 200] {
            let set: BTreeSet<usize> = choose(count, 5).into_iter().collect();
            assert_eq!(set.len(), count.min(100));
            assert!(set.iter().all(|column| *column < 100));
        }
        assert_eq!(choose(64, 5)[..8], choose(8, 5));
        assert_ne!(choose(64, 5), choose(64, 6));
    }

    #[test]
    fn the_answer_has_the_rows_of_all_columns() {
        for set in DataSet::ALL {
            let table = set.make(5000, 1);
            let index = table.columns();
            let workload = Workload::random(&table, &index, 20, 2);
            let rows: BTreeSet<u64> = workload.columns().iter().flat_map(Wah::ones).collect();
            assert_eq!(WahBuf::from_ones(rows, 5000).chunks(), workload.answer(), "{}", set.name());
        }
    }
}
