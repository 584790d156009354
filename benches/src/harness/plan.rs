//! The charts, their cases, and the tools of each case.

use super::ask::{self, Ask};
use super::data::Data;
use super::lengths::{self, Length};
use super::tool::Tool;
use crate::generate::Shape;

/// Cases that belong together.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its name in result files.
    pub id: &'static str,
    /// The most runs of a tool in a case.
    pub runs: usize,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// One query over one file.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name that distinguishes it from the chart's other cases.
    pub label: String,
    /// Its position on the chart's axis.
    pub x: Option<f64>,
    /// The file.
    pub data: Data,
    /// The query.
    pub ask: Ask,
    /// The measured work.
    pub work: Work,
}

/// The measured work of a case.
#[derive(Clone, Debug)]
pub enum Work {
    /// Whole programs.
    Tools(Vec<Tool>),
    /// Kernels and copies on a device, by `bench kernels`, with an index of the given levels, or of the
    /// needed ones.
    Components {
        /// The value of `--levels`.
        levels: Option<usize>,
    },
    /// The kernels that make trees, of the file and of one line of brackets, by `bench kernels`.
    Trees {
        /// The value of `--brackets`.
        brackets: u64,
    },
}

/// The device to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Warpath on the CPU, beside its peers.
    Cpu,
    /// Warpath on a GPU.
    Gpu,
}

impl Suite {
    /// Its name in file names.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Cpu => "cpu",
            Suite::Gpu => "gpu",
        }
    }
}

/// The amount of data to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Files of a tenth of the size: to see that everything works, not for numbers.
    Quick,
    /// The sizes of the published charts.
    Full,
    /// A file of 8 GB as well.
    Large,
}

impl Extent {
    /// The size of a file at this extent.
    fn bytes(self, bytes: u64) -> u64 {
        if self == Extent::Quick { bytes / 10 } else { bytes }
    }
}

/// GpJSON's file of tweets has this many bytes; the bars of the GPU are for it.
const GPJSON_BYTES: u64 = 841_681_456;

/// The bars of the CPU are for this many.
const CPU_BYTES: u64 = 419_430_400;

/// The size of the files along an axis, unless a case needs more.
const SWEEP_BYTES: u64 = 100_000_000;

/// The size of the files along the axis of record length.
const LENGTHS_BYTES: u64 = 200_000_000;

/// The versions of `qj` that are measured.
pub const QJ: [&str; 2] = ["0.1.4", "0.3.0"];

/// The charts of a suite.
pub fn charts(suite: Suite, extent: Extent) -> Vec<Chart> {
    match suite {
        Suite::Cpu => cpu(extent),
        Suite::Gpu => gpu(extent),
    }
}

fn cpu(extent: Extent) -> Vec<Chart> {
    let libraries = [
        "serde_json-typed",
        "serde_json-value",
        "simd-json-typed",
        "simd-json-value",
        "sonic-rs-get",
        "sonic-rs-typed",
        "rsonpath",
    ];
    let mut all = vec![Tool::Cat, Tool::warpath("cpu"), Tool::warpath_count("cpu")];
    all.extend(QJ.map(Tool::Qj));
    all.extend([Tool::Jaq, Tool::Jq]);
    all.extend([false, true].map(|count| Tool::DuckDb { count }));
    all.extend([false, true].map(|count| Tool::Polars { count }));
    all.extend(libraries.into_iter().flat_map(|name| [false, true].map(|all| Tool::Library { name, all })));
    let few = [&[Tool::Cat, Tool::warpath("cpu")][..], &QJ.map(Tool::Qj)].concat();
    let with_count = [&few[..], &[Tool::warpath_count("cpu")]].concat();
    let peers =
        [&QJ.map(Tool::Qj)[..], &[Tool::Jq, Tool::DuckDb { count: false }, Tool::Polars { count: false }]];
    let peers =
        [&[Tool::Cat, Tool::warpath("cpu"), Tool::warpath_strict("cpu")][..], &peers.concat()].concat();
    let mut charts = vec![
        queries(extent.bytes(CPU_BYTES), &all),
        sizes(
            extent,
            &[&with_count[..], &[Tool::DuckDb { count: true }, Tool::Polars { count: true }]].concat(),
        ),
        partitions(extent, &["cpu"]),
        levels(extent, &[Tool::Cat, Tool::warpath_count("cpu")]),
        record_bytes(extent.bytes(SWEEP_BYTES), 10, &with_count),
        selectivity(extent.bytes(SWEEP_BYTES), 10, &with_count),
        paths(extent.bytes(CPU_BYTES), 5, &few),
    ];
    charts.extend(lengths(extent.bytes(LENGTHS_BYTES), &peers));
    charts
}

fn gpu(extent: Extent) -> Vec<Chart> {
    let both = [Tool::warpath("cuda"), Tool::warpath_count("cuda"), Tool::warpath("cpu")];
    let few = [&[Tool::Cat][..], &both].concat();
    let peers = [&few[..], &QJ.map(Tool::Qj)].concat();
    let mut charts = vec![
        queries(extent.bytes(GPJSON_BYTES), &peers),
        sizes(extent, &few),
        partitions(extent, &["cuda", "cpu"]),
        levels(extent, &[Tool::warpath_count("cuda"), Tool::warpath_count("cpu")]),
        record_bytes(extent.bytes(GPJSON_BYTES / 2), 5, &both),
        selectivity(extent.bytes(GPJSON_BYTES / 2), 5, &both),
        paths(extent.bytes(GPJSON_BYTES), 5, &[Tool::warpath("cuda"), Tool::warpath("cpu")]),
    ];
    let components = |id: &'static str, cases: Vec<Case>| Chart { id, runs: 1, cases };
    let of = |chart: &Chart| {
        let work = Work::Components { levels: None };
        chart.cases.iter().map(|case| Case { work: work.clone(), ..case.clone() }).collect::<Vec<_>>()
    };
    let depths = (1..=8).map(|levels| Case {
        label: levels.to_string(),
        x: Some(levels as f64),
        data: Data { shape: Shape::Twitter, bytes: extent.bytes(GPJSON_BYTES) },
        ask: ask::lang(),
        work: Work::Components { levels: Some(levels) },
    });
    charts.extend([
        components("components", of(&charts[0])),
        components("components-sizes", of(&charts[1])),
        components("components-record-bytes", of(&charts[4])),
        components("components-selectivity", of(&charts[5])),
        components("components-levels", depths.collect()),
        components("components-trees", trees(extent)),
    ]);
    charts
}

/// Trees of tweets and of directions, and of one line of brackets. The query of these cases is not evaluated.
fn trees(extent: Extent) -> Vec<Case> {
    let case = |(shape, brackets): (Shape, u64)| Case {
        label: shape.name().into(),
        x: None,
        data: Data { shape, bytes: extent.bytes(GPJSON_BYTES) },
        ask: ask::lang(),
        work: Work::Trees { brackets: extent.bytes(brackets) },
    };
    [(Shape::Twitter, 100_000_000), (Shape::Maps, 1_000_000)].map(case).into()
}

/// The queries of the field, each over its data.
fn queries(bytes: u64, tools: &[Tool]) -> Chart {
    let case = |(shape, ask): (Shape, Ask)| Case {
        label: ask.name.clone(),
        x: None,
        data: Data { shape, bytes },
        // Not all tools have words for what only some can say.
        work: Work::Tools(
            tools
                .iter()
                .filter(|tool| tool.command(&ask, "f").is_some() || ask.sql.is_some())
                .cloned()
                .collect(),
        ),
        ask,
    };
    Chart { id: "queries", runs: 10, cases: ask::queries().map(case).collect() }
}

/// The sizes of GpJSON's tables.
fn sizes(extent: Extent, tools: &[Tool]) -> Chart {
    let sizes = [
        ("100 KB", 100_000),
        ("100 MB", 100_000_000),
        ("800 MB", 800_000_000),
        ("1.6 GB", 1_600_000_000),
        ("8 GB", 8_000_000_000),
    ];
    let case = |(label, bytes): (&str, u64)| Case {
        label: label.into(),
        x: Some(bytes as f64),
        data: Data { shape: Shape::Twitter, bytes },
        ask: ask::lang(),
        work: Work::Tools(tools.to_vec()),
    };
    let count = match extent {
        Extent::Quick => 2,
        Extent::Full => 4,
        Extent::Large => 5,
    };
    Chart { id: "sizes", runs: 10, cases: sizes.into_iter().take(count).map(case).collect() }
}

/// The partitions of GpJSON's tables.
fn partitions(extent: Extent, devices: &[&'static str]) -> Chart {
    let partitions = [
        ("default", None),
        ("50 MB", Some("50000000")),
        ("100 MB", Some("100000000")),
        ("200 MB", Some("200000000")),
        ("500 MB", Some("500000000")),
        ("whole", Some("1GiB")),
    ];
    let case = |(at, (label, partition)): (usize, (&str, Option<&str>))| Case {
        label: label.into(),
        x: Some(at as f64),
        data: Data { shape: Shape::Twitter, bytes: extent.bytes(800_000_000) },
        ask: ask::lang(),
        work: Work::Tools(
            devices
                .iter()
                .flat_map(|device| [false, true].map(|count| (*device, count)))
                .map(|(device, count)| Tool::Warpath {
                    device,
                    count,
                    strict: false,
                    partition: partition.map(str::to_owned),
                })
                .collect(),
        ),
    };
    Chart { id: "partitions", runs: 10, cases: partitions.into_iter().enumerate().map(case).collect() }
}

/// Paths that need an index of 1 to 8 levels.
fn levels(extent: Extent, tools: &[Tool]) -> Chart {
    let case = |levels: usize| Case {
        label: levels.to_string(),
        x: Some(levels as f64),
        data: Data { shape: Shape::Maps, bytes: extent.bytes(SWEEP_BYTES) },
        ask: ask::levels(levels),
        work: Work::Tools(tools.to_vec()),
    };
    Chart { id: "levels", runs: 10, cases: (1..=8).map(case).collect() }
}

/// Records of one length each.
fn record_bytes(bytes: u64, runs: usize, tools: &[Tool]) -> Chart {
    let lengths = [
        ("100 B", 100),
        ("300 B", 300),
        ("1 KB", 1_000),
        ("3 KB", 3_000),
        ("10 KB", 10_000),
        ("100 KB", 100_000),
        ("1 MB", 1_000_000),
    ];
    let case = |(label, length): (&str, u32)| Case {
        label: label.into(),
        x: Some(f64::from(length)),
        data: Data { shape: Shape::Sized(length), bytes },
        ask: ask::sized_name(),
        work: Work::Tools(tools.to_vec()),
    };
    Chart { id: "record-bytes", runs, cases: lengths.into_iter().map(case).collect() }
}

/// Records of growing length, and a chart for each kind of query.
fn lengths(bytes: u64, tools: &[Tool]) -> Vec<Chart> {
    /// A query of records of a length.
    type Make = fn(&Length) -> Ask;
    let charts: [(&str, Make); 5] = [
        ("lengths-path", Length::path),
        ("lengths-rows", Length::rows),
        ("lengths-arrow", Length::arrow),
        ("lengths-filter", Length::filter),
        ("lengths-descendants", Length::descendants),
    ];
    let case = |length: &Length, ask: Ask| Case {
        label: length.label.clone(),
        x: Some(length.bytes),
        data: Data { shape: length.shape, bytes },
        work: Work::Tools(tools.iter().filter(|tool| tool.command(&ask, "f").is_some()).cloned().collect()),
        ask,
    };
    charts
        .map(|(id, ask)| Chart {
            id,
            runs: 10,
            cases: lengths::lengths().iter().map(|length| case(length, ask(length))).collect(),
        })
        .into()
}

/// Filters that ever more records pass.
fn selectivity(bytes: u64, runs: usize, tools: &[Tool]) -> Chart {
    let shares = [("mythic", 0.1), ("rare", 1.0), ("scarce", 10.0), ("common", 88.9)];
    let case = |(kind, share): (&str, f64)| Case {
        label: format!("{share} %"),
        x: Some(share),
        data: Data { shape: Shape::Sized(1_000), bytes },
        ask: ask::sized_kind(kind),
        work: Work::Tools(tools.to_vec()),
    };
    Chart { id: "selectivity", runs, cases: shares.into_iter().map(case).collect() }
}

/// One path to 32 in one pass.
fn paths(bytes: u64, runs: usize, tools: &[Tool]) -> Chart {
    let case = |count: usize| Case {
        label: count.to_string(),
        x: Some(count as f64),
        data: Data { shape: Shape::Twitter, bytes },
        ask: ask::fields(count),
        work: Work::Tools(tools.to_vec()),
    };
    Chart { id: "paths", runs, cases: [1, 2, 4, 8, 16, 32].map(case).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tool that a case lists has a command for the case's query, except for counts of rows.
    #[test]
    fn every_tool_can_be_asked() {
        for suite in [Suite::Cpu, Suite::Gpu] {
            for chart in charts(suite, Extent::Large) {
                assert!(chart.cases.len() > 1);
                for case in &chart.cases {
                    let Work::Tools(tools) = &case.work else { continue };
                    for tool in tools {
                        let counts = matches!(
                            tool,
                            Tool::Warpath { count: true, .. }
                                | Tool::DuckDb { count: true }
                                | Tool::Polars { count: true }
                        );
                        let asked = tool.command(&case.ask, "f").is_some();
                        let rows = !case.ask.columns.is_plain();
                        assert_eq!(asked, !(counts && rows), "{}: {}: {tool:?}", chart.id, case.label);
                    }
                }
            }
        }
    }

    #[test]
    fn cases_differ_and_large_files_are_asked_for() {
        for suite in [Suite::Cpu, Suite::Gpu] {
            let largest = [Extent::Quick, Extent::Full, Extent::Large].map(|extent| {
                charts(suite, extent).iter().flat_map(|chart| &chart.cases).map(|case| case.data.bytes).max()
            });
            assert_eq!(largest, [Some(100_000_000), Some(1_600_000_000), Some(8_000_000_000)]);
            for chart in charts(suite, Extent::Large) {
                let mut labels: Vec<&str> = chart.cases.iter().map(|case| case.label.as_str()).collect();
                labels.sort_unstable();
                labels.dedup();
                assert_eq!(labels.len(), chart.cases.len(), "{}", chart.id);
            }
        }
    }
}
