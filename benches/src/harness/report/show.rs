//! The title and the axis of each chart.

/// The presentation of a chart.
pub(super) struct Show {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The title of the axis at the bottom; `None` if cases are compared one by one.
    pub(super) axis: Option<&'static str>,
    pub(super) log: bool,
    /// A position on the axis in a sentence, of the name of a case.
    pub(super) at: fn(&str) -> String,
}

fn at(case: &str) -> String {
    format!("at {case}")
}

fn partition(case: &str) -> String {
    match case {
        "default" => "in default partitions".into(),
        "whole" => "in one partition".into(),
        size => format!("in partitions of {size}"),
    }
}

fn passing(case: &str) -> String {
    format!("where {case} pass")
}

fn levels(case: &str) -> String {
    format!("at {case} level{}", if case == "1" { "" } else { "s" })
}

fn paths(case: &str) -> String {
    format!("with {case} path{}", if case == "1" { "" } else { "s" })
}

const fn cases(id: &'static str, title: &'static str) -> Show {
    Show { id, title, axis: None, log: false, at }
}

const fn linear(id: &'static str, title: &'static str, axis: &'static str) -> Show {
    Show { id, title, axis: Some(axis), log: false, at }
}

const fn log(id: &'static str, title: &'static str, axis: &'static str) -> Show {
    Show { id, title, axis: Some(axis), log: true, at }
}

impl Show {
    const fn with(self, at: fn(&str) -> String) -> Self {
        Self { at, ..self }
    }
}

const MEAN: &str = "mean length of a record";

/// The presentations, in the order of the page.
pub(super) const SHOWS: [Show; 18] = [
    cases("queries", "The queries of the field"),
    log("sizes", "$.user.lang, by size of the file", "size of the file"),
    linear("partitions", "$.user.lang, by size of a partition", "size of a partition").with(partition),
    linear("levels", "Paths of growing depth", "levels of the index that the path needs").with(levels),
    log("record-bytes", "$.user.name, by length of a record", "length of a record"),
    log("selectivity", "A filter, by how many records pass it", "records that pass").with(passing),
    log("paths", "Many paths in one pass", "paths").with(paths),
    log("lengths-path", "One path, by mean length of a record", MEAN),
    log("lengths-rows", "Rows of five fields, by mean length of a record", MEAN),
    log("lengths-arrow", "Five typed columns in Arrow, by mean length of a record", MEAN),
    log("lengths-filter", "A filter that few records pass, by mean length of a record", MEAN),
    log("lengths-descendants", "A name at any depth, by mean length of a record", MEAN),
    cases("components", "Kernels and copies"),
    log("components-sizes", "Kernels, by size of the file", "size of the file"),
    log("components-record-bytes", "Kernels, by length of a record", "length of a record"),
    log("components-selectivity", "Kernels, by how many records pass a filter", "records that pass")
        .with(passing),
    linear("components-levels", "Kernels, by levels of the index", "levels").with(levels),
    cases("components-trees", "Kernels that make trees"),
];
