//! Answers about all records together: counts of values, distinct values, statistics, samples, sorted rows.
//!
//! Workers digest the results of their partitions ([`Digest`]), and the caller's thread adds the digests in
//! order. Results therefore depend neither on the number of workers nor on the partition size. Values are
//! compared by their [keys](warpath_core::key). Each aggregate keeps about as many bytes in memory as its
//! caller allows, and the rest in temporary files ([`sorter`]).
//!
//! | module | contents |
//! |---|---|
//! | [`tally`] | the values of a partition with their counts |
//! | [`count`]; `values` | counts of values, and distinct values; values in memory |
//! | [`first`], [`split`] | the first record of each group; the records of each group |
//! | [`grouping`] | groups of records: by values, and by buckets of time |
//! | [`stats`], [`sum`], [`fraction`] | kinds, extremes, mean and quantiles of values; exact sums; fractions |
//! | [`sample`] | random samples |
//! | [`order`]; [`sorted`] | rows in the order of their columns' values; matches in the order of their records' values |
//! | [`sorter`] | more items than memory holds, sorted |

pub mod count;
pub mod first;
pub mod fraction;
pub mod grouping;
pub mod order;
pub mod sample;
pub mod sorted;
pub mod sorter;
pub mod split;
pub mod stats;
pub mod sum;
pub mod tally;
mod values;

use std::sync::Arc;

use warpath_core::error::Error;
use warpath_lang::program::{Program, Query};

use crate::operators::Input;
use crate::stream::Digest;
use crate::trace::Operation;
use count::Counter;
use grouping::Grouping;
use stats::{Describe, Described, Statistics};
use tally::{Tallied, Tally};

/// The memory that an aggregate may use, unless its caller says otherwise, in bytes.
///
/// ```
/// use warpath::aggregate::DEFAULT_MEMORY;
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let tweets = "{\"lang\":\"nl\"}\n{\"lang\":\"en\"}\n{\"lang\":\"nl\"}\n";
/// let input = Engine::builder().build()?.bytes(tweets);
/// assert_eq!(input.distinct(&[Query::compile("$.lang")?], DEFAULT_MEMORY)?.distinct()?, 2);
/// # Ok(())
/// # }
/// ```
pub const DEFAULT_MEMORY: usize = 1 << 30;

impl Input<'_> {
    /// Counts how often each value of a path occurs, or each combination of values of several paths. Uses
    /// about `memory` bytes; more values are counted in temporary files.
    ///
    /// ```
    /// use warpath::aggregate::DEFAULT_MEMORY;
    /// use warpath_exec::aggregate::count::values;
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tweets = "{\"lang\":\"nl\"}\n{\"lang\":\"en\"}\n{\"lang\":\"nl\"}\n{}\n";
    /// let input = Engine::builder().build()?.reader("tweets", tweets.as_bytes());
    /// let counter = input.count_by(&[Query::compile("$.lang")?], DEFAULT_MEMORY)?;
    /// let mut counts = Vec::new();
    /// for counted in counter.by_count(None)? {
    ///     let (key, count) = counted?;
    ///     counts.push((values(&key), count));
    /// }
    /// let value = |text: &str| vec![Some(text.to_owned())];
    /// assert_eq!(counts, [(value("\"nl\""), 2), (vec![None], 1), (value("\"en\""), 1)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] for several paths of which one can match several values of a record; the errors of
    /// the queries, of the input and of temporary files.
    pub fn count_by(self, paths: &[Query], memory: usize) -> Result<Counter, Error> {
        self.counts_of(Grouping::of_values(paths), memory)
    }

    /// Counts the records of each group.
    // Hidden: for tests. `count_by` may take groups one day.
    #[doc(hidden)]
    pub fn counts_of(self, groups: Grouping, memory: usize) -> Result<Counter, Error> {
        let paths = groups.paths().to_vec();
        let tally = Tally::new(groups)?.with_missing();
        self.doing(Operation::CountBy).tally(&paths, tally, memory)
    }

    /// Finds the distinct values of a path, or combinations of values of several paths, in the order in which
    /// they are first seen. Uses memory as [`count_by`](Self::count_by) does.
    ///
    /// # Errors
    /// The errors of [`count_by`](Self::count_by).
    pub fn distinct(self, paths: &[Query], memory: usize) -> Result<Counter, Error> {
        self.doing(Operation::Distinct).tally(paths, Tally::new(Grouping::of_values(paths))?, memory)
    }

    /// Describes the values of paths: how many of each kind, least, greatest, mean and quantiles.
    ///
    /// ```
    /// use warpath::aggregate::DEFAULT_MEMORY;
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "{\"ms\":30}\n{\"ms\":10}\n{\"ms\":null}\n{\"ms\":20.5}\n{}\n";
    /// let input = Engine::builder().build()?.reader("text", text.as_bytes());
    /// let statistics = input.statistics(&[Query::compile("$.ms")?], DEFAULT_MEMORY)?;
    /// let (summary, quantiles) = &statistics.finish(&["0.5".parse()?, "0.9".parse()?])?[0];
    /// assert_eq!((summary.missing, summary.kinds.nulls, summary.kinds.numbers), (1, 1, 3));
    /// assert_eq!((summary.mean(), &quantiles[..]), (Some(60.5 / 3.0), &[20.5, 30.0][..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of the queries, of the input and of temporary files.
    pub fn statistics(self, paths: &[Query], memory: usize) -> Result<Statistics, Error> {
        self.statistics_by(paths, Grouping::default(), memory)
    }

    /// Counts the different values, too: as [`statistics_by`](Self::statistics_by) with `distinct`.
    // Hidden: an option of its own may become a builder.
    #[doc(hidden)]
    pub fn statistics_of(
        self,
        paths: &[Query],
        groups: Grouping,
        distinct: bool,
        memory: usize,
    ) -> Result<Statistics, Error> {
        let memory = self.memory_of(memory);
        let program = Program::new(&[paths, groups.paths()].concat())?;
        let describe = Describe::new(paths.len(), groups)?.with_distinct(distinct);
        let mut statistics = Statistics::new(paths.len(), memory).with_distinct(distinct);
        let want = describe.want();
        let input = self.doing(Operation::Statistics).digesting(Arc::new(describe));
        for batch in input.answers(program, want) {
            if let Some(described) = batch?.take_digest::<Described>() {
                statistics.add(&described, &[])?;
            }
        }
        Ok(statistics)
    }

    /// Describes the values of paths, as [`statistics`](Self::statistics) does, for each group of records.
    /// [`Grouping`] has an example.
    ///
    /// # Errors
    /// [`Error::Usage`] for a path of groups that can match several values of a record; the errors of the
    /// queries, of the input and of temporary files.
    pub fn statistics_by(
        self,
        paths: &[Query],
        groups: Grouping,
        memory: usize,
    ) -> Result<Statistics, Error> {
        self.statistics_of(paths, groups, false, memory)
    }

    fn tally(self, paths: &[Query], tally: Tally, memory: usize) -> Result<Counter, Error> {
        let (want, mut counter) = (tally.want(), Counter::new(self.memory_of(memory)));
        for batch in self.digesting(Arc::new(tally)).answers(Program::new(paths)?, want) {
            if let Some(tallied) = batch?.take_digest::<Tallied>() {
                for found in tallied.iter() {
                    counter.add(found.key, found.count)?;
                }
            }
        }
        Ok(counter)
    }
}
