//! The interface of a method, its check and its timing.
//!
//! The setup of a method over a workload is not timed: an index has this in memory, or on a device, before a
//! query. The first result is compared with the workload's, bit for bit. Then the method runs several times,
//! the first time to warm up. The results of a run are dropped between runs.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use warpath_shared::wah::last_chunk;

use super::workload::Workload;

/// Names that plots look for.
pub mod name {
    /// The seed's method on processors: a union of pairs of columns.
    pub const PAIRWISE: &str = "pairwise";
    /// One column after the other.
    pub const ITERATIVE: &str = "iterative";
    /// Column-oriented access, on a device.
    pub const COA: &str = "coa";
    /// Row-oriented access, on a device.
    pub const ROA: &str = "roa";
    /// Tiles of columns and rows, on a device.
    pub const HYBRID: &str = "hybrid";
    /// Tiles of all columns, on a device.
    pub const IDEAL: &str = "ideal hybrid";
    /// Warpath's own, on whatever runs it.
    pub const WARPATH: &str = "warpath";
}

/// The origin of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Warpath's.
    Ours,
    /// The paper's, to be measured against.
    Seed,
    /// A library of others.
    Peer,
}

/// The processor or device that runs a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// N threads of a processor.
    Threads(usize),
    /// A device that has the columns before the query comes, and keeps the result.
    Resident,
    /// A device that gets the columns for the query, and sends the result back.
    Copied,
}

/// A method that can be set up.
pub struct Candidate {
    /// Its name: one of [`name`], or a peer's.
    pub name: &'static str,
    /// Its origin.
    pub family: Family,
    /// The processor or device that runs it.
    pub place: Executor,
    /// Sets it up.
    pub setup: Box<Setup>,
}

/// Sets a method up over a workload.
pub type Setup = dyn for<'a> Fn(&'a Workload<'a>) -> Result<Box<dyn Method + 'a>>;

/// A method that has been set up.
pub trait Method {
    /// Makes the union, and counts its rows.
    ///
    /// # Errors
    /// If it cannot, which ends the bench.
    fn run(&mut self) -> Result<Ran>;

    /// Drops what the last run made, where the next would.
    fn forget(&mut self) {}

    /// The union that the last run made, as chunks of 63 rows.
    ///
    /// # Errors
    /// As for [`Method::run`].
    fn union(&mut self) -> Result<Vec<u64>>;
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Rows of the union.
    pub count: u64,
    /// The duration by a device's events; `None` if the wall clock is right.
    pub time: Option<Duration>,
}

impl Ran {
    /// A run that the wall clock times.
    #[must_use]
    pub fn counted(count: u64) -> Self {
        Self { count, time: None }
    }
}

/// Sets a method up, checks it, and returns the times of its runs, in order, in milliseconds.
///
/// # Errors
/// A method that cannot be set up or run, or a result that is not `want`.
pub fn measure(
    candidate: &Candidate,
    workload: &Workload<'_>,
    want: &[u64],
    runs: usize,
) -> Result<Vec<f64>> {
    let of = || format!("{}, {:?}", candidate.name, candidate.place);
    let mut method = (candidate.setup)(workload).with_context(of)?;
    check(&mut *method, workload, want).with_context(of)?;
    let count: u64 = want.iter().map(|chunk| u64::from(chunk.count_ones())).sum();
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        method.forget();
        let start = Instant::now();
        let ran = method.run().with_context(of)?;
        let time = ran.time.unwrap_or_else(|| start.elapsed());
        ensure!(ran.count == count, "{}: {} rows, not {count}", of(), ran.count);
        times.push(time.as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// Runs a method and compares its result with the expected one.
fn check(method: &mut dyn Method, workload: &Workload<'_>, want: &[u64]) -> Result<()> {
    let ran = method.run()?;
    let union = method.union()?;
    ensure!(union.len() == want.len(), "{} chunks, not {}", union.len(), want.len());
    if let Some(at) = union.iter().zip(want).position(|(got, want)| got != want) {
        anyhow::bail!("chunk {at} is {:#018x}, not {:#018x}", union[at], want[at]);
    }
    let count: u64 = want.iter().map(|chunk| u64::from(chunk.count_ones())).sum();
    ensure!(ran.count == count, "{} rows are counted, not {count}", ran.count);
    let beyond = want.last().is_some_and(|last| last & !last_chunk(workload.table.rows) != 0);
    ensure!(!beyond, "a row after the last");
    Ok(())
}

/// The mean and the least of all runs but the first, as the paper has it; of the first, if there is no other.
#[must_use]
pub fn mean_and_least(times: &[f64]) -> (f64, f64) {
    let counted = if times.len() > 1 { &times[1..] } else { times };
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    (mean, counted.iter().copied().fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    use super::super::data::DataSet;
    use super::*;

    /// A method with a fixed result.
    struct Fixed(Vec<u64>, u64);

    impl Method for Fixed {
        fn run(&mut self) -> Result<Ran> {
            Ok(Ran { count: self.1, time: Some(Duration::from_millis(3)) })
        }

        fn union(&mut self) -> Result<Vec<u64>> {
            Ok(self.0.clone())
        }
    }

    #[test]
    fn what_answers_wrongly_is_not_timed() {
        let table = DataSet::Zipf.make(1000, 1);
        let index = table.columns();
        let workload = Workload::random(&table, &index, 4, 1);
        let want = workload.answer();
        let count = want.iter().map(|chunk| u64::from(chunk.count_ones())).sum();
        let mut wrong = want.clone();
        wrong[3] ^= 1;
        let fixed = |chunks: Vec<u64>, count| Candidate {
            name: "fixed",
            family: Family::Peer,
            place: Executor::Resident,
            setup: Box::new(move |_| Ok(Box::new(Fixed(chunks.clone(), count)))),
        };
        let told = |candidate| match measure(&candidate, &workload, &want, 6) {
            Ok(times) => format!("{times:?}"),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(told(fixed(want.clone(), count)), "[3.0, 3.0, 3.0, 3.0, 3.0, 3.0]");
        assert!(told(fixed(wrong, count)).contains("chunk 3 is"));
        assert!(told(fixed(want[1..].to_vec(), count)).contains("15 chunks, not 16"));
        assert!(told(fixed(want.clone(), count + 1)).contains("rows are counted"));
    }

    #[test]
    fn the_first_run_is_not_counted() {
        assert_eq!(mean_and_least(&[100.0, 2.0, 4.0]), (3.0, 2.0));
        assert_eq!(mean_and_least(&[100.0]), (100.0, 100.0));
    }
}
