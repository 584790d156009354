//! The title and the axis of each chart.

/// The presentation of a chart.
pub(super) struct Show {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The title of the axis at the bottom; `None` if cases are compared one by one.
    pub(super) axis: Option<&'static str>,
    pub(super) log: bool,
}

/// The presentations, in the order of the page.
pub(super) const SHOWS: [Show; 18] = [
    Show { id: "queries", title: "The queries of the field", axis: None, log: false },
    Show {
        id: "sizes",
        title: "$.user.lang, by size of the file",
        axis: Some("size of the file"),
        log: true,
    },
    Show {
        id: "partitions",
        title: "$.user.lang, by size of a partition",
        axis: Some("size of a partition"),
        log: false,
    },
    Show {
        id: "levels",
        title: "Paths of growing depth",
        axis: Some("levels of the index that the path needs"),
        log: false,
    },
    Show {
        id: "record-bytes",
        title: "$.user.name, by length of a record",
        axis: Some("length of a record"),
        log: true,
    },
    Show {
        id: "selectivity",
        title: "A filter, by how many records pass it",
        axis: Some("records that pass"),
        log: true,
    },
    Show { id: "paths", title: "Many paths in one pass", axis: Some("paths"), log: true },
    Show {
        id: "lengths-path",
        title: "One path, by mean length of a record",
        axis: Some("mean length of a record"),
        log: true,
    },
    Show {
        id: "lengths-rows",
        title: "Rows of five fields, by mean length of a record",
        axis: Some("mean length of a record"),
        log: true,
    },
    Show {
        id: "lengths-arrow",
        title: "Five typed columns in Arrow, by mean length of a record",
        axis: Some("mean length of a record"),
        log: true,
    },
    Show {
        id: "lengths-filter",
        title: "A filter that few records pass, by mean length of a record",
        axis: Some("mean length of a record"),
        log: true,
    },
    Show {
        id: "lengths-descendants",
        title: "A name at any depth, by mean length of a record",
        axis: Some("mean length of a record"),
        log: true,
    },
    Show { id: "components", title: "Kernels and copies", axis: None, log: false },
    Show {
        id: "components-sizes",
        title: "Kernels, by size of the file",
        axis: Some("size of the file"),
        log: true,
    },
    Show {
        id: "components-record-bytes",
        title: "Kernels, by length of a record",
        axis: Some("length of a record"),
        log: true,
    },
    Show {
        id: "components-selectivity",
        title: "Kernels, by how many records pass a filter",
        axis: Some("records that pass"),
        log: true,
    },
    Show {
        id: "components-levels",
        title: "Kernels, by levels of the index",
        axis: Some("levels"),
        log: false,
    },
    Show { id: "components-trees", title: "Kernels that make trees", axis: None, log: false },
];
