//! Result files of `bench twig`: JSON lines, one for each way in each case.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The chart of twigs of JSON events; all others are of XML documents.
pub const EVENTS: &str = "events";
/// The chart whose documents differ in size.
pub const SIZES: &str = "sizes";

/// The measurements of one way to evaluate twigs, in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The chart that it belongs to, such as `sizes`.
    pub chart: String,
    /// The way, such as `yfilter`.
    pub what: String,
    /// Threads of the host that took part.
    pub threads: usize,
    /// The number of twigs, all of them evaluated at once.
    pub queries: usize,
    /// Nodes of each. None is said of twigs of events.
    #[serde(default)]
    pub nodes: usize,
    /// Nodes with several below them, of each.
    #[serde(default)]
    pub splits: usize,
    /// The number of `*` nodes, and of nodes after `//`, in a hundred.
    #[serde(default)]
    pub percent: u32,
    /// The kind of twigs of events: `exact` or `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Documents, or lines of events, that were read.
    pub documents: usize,
    /// Their text.
    pub bytes: usize,
    /// Nodes of XML documents that begin or end.
    #[serde(default)]
    pub events: usize,
    /// The median of the runs.
    pub seconds: f64,
    /// Pairs of a document and a twig that match.
    pub matches: usize,
    /// The machine, in the words of `machine::describe`.
    pub machine: String,
    /// The time, in UTC.
    pub date: String,
}

/// The work of a case, which is the same for all its ways. Ordered like a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case<'a> {
    /// The chart.
    pub chart: &'a str,
    /// The kind of twigs of events.
    pub kind: Option<&'a str>,
    /// Documents; 0 of events, of which a slow way reads fewer.
    pub documents: usize,
    /// Nodes of a twig, and how many of them have several below them.
    pub nodes: (usize, usize),
    /// `*` and `//`.
    pub percent: u32,
    /// The size of the text where this is what changes, else 0.
    pub bytes: usize,
    /// Twigs.
    pub queries: usize,
}

impl Record {
    /// The case of the record.
    #[must_use]
    pub fn case(&self) -> Case<'_> {
        Case {
            chart: &self.chart,
            kind: self.kind.as_deref(),
            documents: if self.chart == EVENTS { 0 } else { self.documents },
            nodes: (self.nodes, self.splits),
            percent: self.percent,
            bytes: if self.chart == SIZES { self.bytes } else { 0 },
            queries: self.queries,
        }
    }

    /// 10⁶ bytes of text a second.
    #[must_use]
    pub fn megabytes(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e6
    }

    /// 10⁶ documents, or lines of events, a second.
    #[must_use]
    pub fn documents_a_second(&self) -> f64 {
        self.documents as f64 / self.seconds / 1e6
    }

    /// Returns true if both are of the same way in the same case.
    fn is_of(&self, other: &Self) -> bool {
        (&self.what, self.threads, self.case()) == (&other.what, other.threads, other.case())
    }
}

/// Reads result files as one. A later line replaces an earlier one of the same way in the same case.
///
/// # Errors
/// An error of the file system, or a malformed line.
pub fn load<P: AsRef<Path>>(files: &[P]) -> Result<Vec<Record>> {
    let mut all: Vec<Record> = Vec::new();
    for file in files {
        let name = file.as_ref().display();
        let text = fs::read_to_string(file).with_context(|| name.to_string())?;
        for (at, line) in text.lines().enumerate() {
            let record: Record = serde_json::from_str(line).with_context(|| format!("{name}:{}", at + 1))?;
            match all.iter_mut().find(|old| old.is_of(&record)) {
                Some(old) => *old = record,
                None => all.push(record),
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A line of a result file, as `bench twig` writes it of XML documents.
    fn line(chart: &str, what: &str, threads: usize) -> String {
        format!(
            "{{\"chart\":\"{chart}\",\"what\":\"{what}\",\"threads\":{threads},\"queries\":256,\"nodes\":10,\"splits\":3,\
             \"percent\":10,\"documents\":1,\"bytes\":1000196,\"events\":57000,\"seconds\":0.5,\"matches\":7,\
             \"machine\":\"A <machine>\",\"date\":\"2026-11-22T01:02:03Z\"}}"
        )
    }

    pub fn record(chart: &str, what: &str, threads: usize) -> Record {
        serde_json::from_str(&line(chart, what, threads)).unwrap()
    }

    #[test]
    fn later_lines_count() {
        let folder = tempfile::tempdir().unwrap();
        let files = [folder.path().join("1.jsonl"), folder.path().join("2.jsonl")];
        let other = line("queries", "cpu", 16);
        let first = format!("{}\n{other}\n", line("queries", "cpu", 1));
        fs::write(&files[0], &first).unwrap();
        let again = line("queries", "cpu", 1).replace("0.5", "0.25").replace("1000196", "1000200");
        fs::write(&files[1], format!("{}\n{again}\n", again.replace("0.25", "0.1"))).unwrap();
        let all = load(&files).unwrap();
        assert_eq!(all.iter().map(|record| record.seconds).collect::<Vec<_>>(), [0.25, 0.5]);
        assert_eq!((all[0].bytes, all[1].bytes), (1_000_200, 1_000_196));
        assert!((all[1].megabytes() - 2.000_392).abs() < 1e-9);
    }

    #[test]
    fn documents_of_other_sizes_are_other_cases_where_sizes_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1.jsonl");
        let small = line(SIZES, "cpu", 1);
        fs::write(&file, format!("{small}\n{}\n", small.replace("1000196", "2000100"))).unwrap();
        assert_eq!(load(&[&file]).unwrap().len(), 2);
    }

    #[test]
    fn events_are_the_same_case_however_many_were_read() {
        let line = |what: &str, documents: usize| {
            format!(
                "{{\"chart\":\"events\",\"what\":\"{what}\",\"threads\":16,\"queries\":1000,\"kind\":\"exact\",\"documents\":{documents},\
                 \"bytes\":400000518,\"seconds\":2.0,\"matches\":3,\"machine\":\"m\",\"date\":\"2026-11-22T01:02:03Z\"}}"
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1.jsonl");
        fs::write(&file, [line("cpu", 50_000), line("gpu", 443_150), line("cpu", 40_000)].join("\n"))
            .unwrap();
        let all = load(&[&file]).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].case(), all[1].case());
        assert!((all[0].documents_a_second() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_malformed_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1.jsonl");
        fs::write(&file, format!("{}\n{{}}\n", line("bar", "cpu", 1))).unwrap();
        assert!(format!("{:#}", load(&[&file]).unwrap_err()).contains("1.jsonl:2"));
    }
}
