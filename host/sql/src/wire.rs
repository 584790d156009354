//! Scans as data, for plans that other processes run.
//!
//! A scan crosses the wire as the configuration that DataFusion encodes itself (files, schema, projection,
//! limit) and as what is here: its filters, and how its records are read. Filters that operators change
//! while they run do not cross. The process that runs the scan has [`Engines`] of its own, with its own
//! device and workers. The policy for malformed records is that of the query.
//!
//! The reports of such scans are in the names of counters, because metrics are all that a cluster returns
//! beside rows.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use serde_json::{Value, json};
use warpath::OnError;

use crate::report::{LeftOut, Refused};
use crate::source::WarpathSource;

pub use crate::engines::Engines;

/// The version of the form on the wire.
pub const VERSION: u32 = 1;

/// A scan, apart from the configuration that DataFusion encodes.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The policy for malformed records.
    pub on_error: OnError,
    /// True if the types of columns are those of all records.
    pub are_of_all_records: bool,
    /// The filters that the scan applies, over the columns of the table.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Scan {
    /// The scan that a source is; `None` for sources of other formats.
    pub fn of(source: &dyn FileSource) -> Option<Self> {
        let source = source.downcast_ref::<WarpathSource>()?;
        Some(Self {
            on_error: source.engines().options.on_error,
            are_of_all_records: source.are_of_all_records(),
            filters: source.filters().to_vec(),
        })
    }

    /// The source of all columns of a table that is this scan, over engines with its policy.
    ///
    /// # Errors
    /// A filter that cannot be evaluated.
    pub fn source(self, engines: &Arc<Engines>, table: TableSchema) -> Result<Arc<dyn FileSource>> {
        let source = WarpathSource::new(engines.clone(), table, self.are_of_all_records);
        Ok(Arc::new(source.filtered(self.filters)?))
    }
}

/// The beginning of the names of counters that are reports.
const PREFIX: &str = "warpath:";

/// Counters for what a scan of a part of a file left out. The part makes their names unique in a scan.
pub(crate) fn names_of(left_out: &LeftOut, scanned: &str, base: u64) -> Vec<(String, u64)> {
    let skipped = left_out.skipped.iter().map(|(file, records)| (json!({ "skipped": file }), *records));
    let refused = left_out.columns.iter().map(|(column, refused)| {
        let first = refused.first.as_ref().map(|(file, line)| json!([file, line]));
        (json!({ "column": column, "first": first }), refused.count)
    });
    let name = |mut it: Value| {
        it["of"] = json!([scanned, base]);
        format!("{PREFIX}{it}")
    };
    let notes = left_out.notes.iter().map(|note| (json!({ "note": note }), 1));
    skipped.chain(refused).chain(notes).map(|(it, count)| (name(it), count)).collect()
}

/// The report that a counter of a scan is; `None` for other counters.
///
/// ```
/// let name = "warpath:{\"skipped\":\"log.ndjson\",\"of\":[\"log.ndjson\",0]}";
/// assert_eq!(warpath_sql::wire::left_out(name, 2).unwrap().skipped["log.ndjson"], 2);
/// assert_eq!(warpath_sql::wire::left_out("output_rows", 2), None);
/// ```
#[must_use]
pub fn left_out(name: &str, count: u64) -> Option<LeftOut> {
    let value: Value = serde_json::from_str(name.strip_prefix(PREFIX)?).ok()?;
    let mut left_out = LeftOut::default();
    if let Some(file) = value["skipped"].as_str() {
        left_out.skipped.insert(file.to_owned(), count);
    }
    if let Some(column) = value["column"].as_str() {
        let first = value["first"][0].as_str().map(str::to_owned).zip(value["first"][1].as_u64());
        left_out.columns.insert(column.to_owned(), Refused { count, first });
    }
    left_out.notes.extend(value["note"].as_str().map(str::to_owned));
    Some(left_out)
}
