//! Result files of `bench bitmap`: one JSON file per run.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::method::{Executor, Family, mean_and_least};

/// The results of a run of the bench.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The machine, in the words of `machine::describe`.
    pub machine: String,
    /// The time of the start, in UTC.
    pub date: String,
    /// The data sets.
    pub data: Vec<Data>,
    /// Each method over each workload.
    pub times: Vec<Times>,
}

/// A data set as it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Attributes.
    pub attributes: usize,
    /// Bins of all attributes: columns of the index.
    pub columns: usize,
    /// Columns without a row.
    pub empty: usize,
    /// Bytes of the compressed columns, a bit for each row and column taken as 1.
    pub ratio: f64,
    /// The seed of its rows.
    pub seed: u64,
}

/// Times of a method over a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The data set.
    pub data: String,
    /// The number of united columns.
    pub columns: usize,
    /// Their bytes, compressed.
    pub bytes: u64,
    /// Rows of the union.
    pub count: u64,
    /// The method.
    pub method: String,
    /// The origin of the method.
    pub family: Family,
    /// The processor or device that ran it.
    pub place: Executor,
    /// All runs in their order, in milliseconds. The first warms up.
    pub runs_ms: Vec<f64>,
}

impl Times {
    /// The mean of all runs but the first, in milliseconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean_and_least(&self.runs_ms).0
    }

    /// The least of all runs but the first, in milliseconds.
    #[must_use]
    pub fn least(&self) -> f64 {
        mean_and_least(&self.runs_ms).1
    }

    /// Its name with what ran it.
    #[must_use]
    pub fn label(&self) -> String {
        match self.place {
            Executor::Threads(1) => format!("{}, 1 thread", self.method),
            Executor::Threads(threads) => format!("{}, {threads} threads", self.method),
            Executor::Resident => format!("{}, device", self.method),
            Executor::Copied => format!("{}, device, with copies", self.method),
        }
    }

    /// Returns true if both are of the same method over the same workload.
    fn is_of(&self, other: &Self) -> bool {
        (&self.data, self.columns, &self.method, self.place)
            == (&other.data, other.columns, &other.method, other.place)
    }
}

impl Results {
    /// Reads result files as one. A data set or method in a later file replaces that of an earlier one.
    ///
    /// # Errors
    /// An error of the file system, or a malformed file.
    pub fn load<P: AsRef<Path>>(files: &[P]) -> Result<Self> {
        let mut all = Self::default();
        for file in files {
            let name = || file.as_ref().display().to_string();
            let text = fs::read_to_string(file).with_context(name)?;
            let one: Self = serde_json::from_str(&text).with_context(name)?;
            (all.machine, all.date) = (one.machine, one.date);
            for data in one.data {
                all.data.retain(|old| old.name != data.name);
                all.data.push(data);
            }
            for times in one.times {
                all.times.retain(|old| !old.is_of(&times));
                all.times.push(times);
            }
        }
        Ok(all)
    }

    /// Writes a result file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(file, text + "\n").with_context(|| file.display().to_string())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Times of a method that always takes as long.
    pub(crate) fn times(data: &str, columns: usize, method: &str, place: Executor, ms: f64) -> Times {
        Times {
            data: data.into(),
            columns,
            bytes: 1000,
            count: 10,
            method: method.into(),
            family: Family::Seed,
            place,
            runs_ms: vec![9.0 * ms, ms, ms],
        }
    }

    #[test]
    fn files_come_back_and_later_ones_count() {
        let folder = tempfile::tempdir().unwrap();
        let data = |rows| Data {
            name: "zipf".into(),
            rows,
            attributes: 10,
            columns: 100,
            empty: 0,
            ratio: 0.9,
            seed: 1,
        };
        let first = Results {
            machine: "a".into(),
            date: "2026-11-22T00:00:00Z".into(),
            data: vec![data(1)],
            times: vec![
                times("zipf", 4, "x", Executor::Threads(1), 1.0),
                times("zipf", 4, "x", Executor::Resident, 2.0),
            ],
        };
        let second = Results {
            data: vec![data(2)],
            times: vec![times("zipf", 4, "x", Executor::Threads(1), 3.0)],
            ..first.clone()
        };
        let files = [folder.path().join("1.json"), folder.path().join("2.json")];
        first.save(&files[0]).unwrap();
        second.save(&files[1]).unwrap();
        assert_eq!(Results::load(&files[..1]).unwrap(), first);
        let both = Results::load(&files).unwrap();
        assert_eq!(both.data, [data(2)]);
        assert_eq!(both.times, [first.times[1].clone(), second.times[0].clone()]);
        assert_eq!((both.times[1].mean(), both.times[1].least()), (3.0, 3.0));
    }
}
