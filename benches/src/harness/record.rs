//! Result files: JSON lines, one for each tool in each case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The measurements of one tool in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The chart that it belongs to, such as `sizes`.
    pub chart: String,
    /// The case: a query, or a position on the chart's axis, such as `100 MB`.
    pub case: String,
    /// The position on the chart's axis, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// The tool, such as `qj 0.1.4`.
    pub tool: String,
    /// The version that the tool reports.
    pub version: String,
    /// The command, with bare names for programs and files.
    pub command: String,
    /// The data's shape.
    pub shape: String,
    /// The file's length in bytes.
    pub bytes: u64,
    /// The query, as JSONPath.
    pub query: String,
    /// The outcome of the runs.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The machine, in the words of `machine::describe`.
    pub machine: String,
    /// The time of the start, in UTC.
    pub date: String,
}

/// The outcome of a tool in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Measured, and every result checked.
    Measured(Measured),
    /// Not measured, and why.
    NotRun {
        /// The reason.
        why: String,
    },
}

/// Times and sizes of a tool in a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Wall clock of each run in the order of the runs, in milliseconds. For a device's component, its median
    /// alone.
    pub wall_ms: Vec<f64>,
    /// Processor time of each run in user space.
    #[serde(default)]
    pub user_ms: Vec<f64>,
    /// Processor time of each run in the kernel.
    #[serde(default)]
    pub system_ms: Vec<f64>,
    /// The largest peak memory of any run, in bytes.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Values, or rows, in the result.
    #[serde(default)]
    pub count: u64,
    /// The part of the result that was checked against the reference.
    pub checked: Checked,
    /// The times that `--stats` reported for each run, by its names, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stats_ms: BTreeMap<String, Vec<f64>>,
}

/// The checked part of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checked {
    /// Every value, in order.
    Values,
    /// The number of values.
    Count,
    /// The tool has no results: it shows a limit.
    #[default]
    Nothing,
    /// `bench kernels` compares counts with those of the CPU before it prints.
    ByProgram,
}

/// The middle of a sample: the mean of the middle two, if their number is even.
pub fn median(sample: &[f64]) -> Option<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + upper) / 2.0 } else { upper })
}

/// The least and the most of a sample.
pub fn spread(sample: &[f64]) -> Option<(f64, f64)> {
    let least = sample.iter().copied().min_by(f64::total_cmp)?;
    Some((least, sample.iter().copied().max_by(f64::total_cmp)?))
}

impl Record {
    /// Times and sizes, if there are any.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::NotRun { .. } => None,
        }
    }

    /// The rate of input for a time in milliseconds, in 10⁹ bytes a second.
    pub fn rate(&self, milliseconds: f64) -> f64 {
        self.bytes as f64 / milliseconds / 1e6
    }
}

/// The records of a file, none if there is no such file.
///
/// # Errors
///
/// If it cannot be read, or a line of it is no record.
pub fn load(file: &Path) -> Result<Vec<Record>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).with_context(|| format!("{}:{}", file.display(), at + 1))
        })
        .collect()
}

/// Writes a file of records, whole or not at all.
///
/// # Errors
///
/// Those of the file system.
pub fn save(file: &Path, records: &[Record]) -> Result<()> {
    let mut text = String::new();
    for record in records {
        text += &serde_json::to_string(record)?;
        text.push('\n');
    }
    let new = file.with_extension("new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, file)).with_context(|| file.display().to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record with these times, for tests of what is made of records.
    pub fn record(chart: &str, case: &str, x: Option<f64>, tool: &str, wall_ms: &[f64]) -> Record {
        let outcome = if wall_ms.is_empty() {
            Outcome::NotRun { why: "not installed: run benches/peers.sh".into() }
        } else {
            Outcome::Measured(Measured {
                wall_ms: wall_ms.to_vec(),
                user_ms: wall_ms.to_vec(),
                system_ms: wall_ms.iter().map(|_| 1.0).collect(),
                peak_bytes: 50 << 20,
                count: 88_952,
                checked: Checked::Values,
                stats_ms: BTreeMap::from([("setup".into(), wall_ms.iter().map(|_| 0.5).collect())]),
            })
        };
        Record {
            chart: chart.into(),
            case: case.into(),
            x,
            tool: tool.into(),
            version: "1.0".into(),
            command: "tool '$.a|b' file.ndjson".into(),
            shape: "twitter".into(),
            bytes: 100_000_000,
            query: "$.user.lang".into(),
            outcome,
            machine: "A <machine> & more".into(),
            date: "2026-11-21T15:00:00Z".into(),
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 9.0, 2.0]), Some(3.0));
    }

    #[test]
    fn spreads() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
    }

    #[test]
    fn records_survive_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.jsonl");
        assert_eq!(load(&file).unwrap(), []);
        let records =
            [record("sizes", "1 MB", Some(1e6), "a", &[1.5, 2.0]), record("peers", "lang", None, "b", &[])];
        save(&file, &records).unwrap();
        assert_eq!(load(&file).unwrap(), records);
        fs::write(&file, "{}\n").unwrap();
        assert!(load(&file).is_err());
    }

    #[test]
    fn rates_are_in_gigabytes_a_second() {
        assert_eq!(record("c", "c", None, "t", &[]).rate(50.0), 2.0);
    }
}
