//! Columns of matches: one column for each subscription, with the lines that it matches.

use std::path::Path;

use warpath_core::error::Error;
use warpath_core::wah::{OnesBuilder, WahBuf};
use warpath_cpu::twig::standing::{Documents, Standing};
use warpath_cpu::twig::subscriptions::Subscriptions;
use warpath_store::bitmap::built::{Built, BuiltColumn, StoredValues};
use warpath_store::bitmap::column::{Bin, Column, Holds, Kind, Scalar};

use super::Opened;
use crate::engine::Engine;
use crate::stream::Filtered;

/// Builds a history of matches. Each subscription has a column of [`Kind::Bool`], named by its id, that
/// records for each line of a file if it matches. There is one row for each line, blank and malformed ones
/// too. A row that is not a document has no value.
///
/// # Errors
/// * The errors of the file.
/// * [`IndexError::Unsettled`](warpath_core::error::IndexError::Unsettled) if it was written to meanwhile.
/// * [`Error::Device`].
pub(crate) fn build_matches(
    engine: &Engine,
    path: &Path,
    subscriptions: &Subscriptions,
) -> Result<Built, Error> {
    let opened = Opened::new(path)?;
    let standing = Standing::new(subscriptions.clone());
    let mut matches = Matches::new(subscriptions.len());
    for filtered in engine.open(path)?.filter(&standing, Documents::Ndjson) {
        matches.add(&filtered?);
    }
    opened.check_settled()?;
    Ok(matches.finish(subscriptions))
}

/// Bitmaps that are being built.
struct Matches {
    columns: Vec<OnesBuilder>,
    no_records: OnesBuilder,
    rows: u64,
}

impl Matches {
    fn new(columns: usize) -> Self {
        let (columns, no_records) = (vec![OnesBuilder::default(); columns], OnesBuilder::default());
        Self { columns, no_records, rows: 0 }
    }

    /// Adds the lines that follow.
    fn add(&mut self, filtered: &Filtered) {
        let first = self.rows;
        for (line, column) in filtered.pairs() {
            self.columns[*column as usize].push(first + u64::from(*line));
        }
        self.rows += u64::from(filtered.lines());
        let mut faulty = filtered.faulty_lines().iter().copied().peekable();
        let (text, mut start) = (filtered.text(), 0);
        for line in 0..filtered.lines() {
            let row = first + u64::from(line);
            let len = memchr::memchr(b'\n', &text[start..]).unwrap_or(text.len() - start);
            let is_blank = text[start..start + len].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
            if faulty.next_if_eq(&line).is_some() || is_blank {
                self.no_records.push(row);
            }
            start = (start + len + 1).min(text.len());
        }
    }

    fn finish(self, subscriptions: &Subscriptions) -> Built {
        let Self { columns, no_records, rows } = self;
        let no_records = no_records.finish(rows);
        let missing = no_records.as_wah().count();
        let records = (missing > 0).then(|| WahBuf::not(no_records.as_wah()));
        let columns = columns.into_iter().enumerate().map(|(number, column)| {
            let is_true = column.finish(rows);
            let trues = is_true.as_wah().count();
            let is_false =
                WahBuf::of(warpath_shared::wah::ops::Op::Or, is_true.as_wah(), no_records.as_wah());
            let is_false = WahBuf::not(is_false.as_wah());
            let value = |value| Holds::Values { least: Scalar::Bool(value), greatest: Scalar::Bool(value) };
            let all = [
                (value(false), rows - trues - missing, is_false),
                (value(true), trues, is_true),
                (Holds::Missing, missing, no_records.clone()),
            ];
            let (mut bins, mut bitmaps, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for (holds, rows, bitmap) in all.into_iter().filter(|(_, rows, _)| *rows > 0) {
                values.push(StoredValues::of(&holds));
                bins.push(Bin { holds, rows });
                bitmaps.push(bitmap);
            }
            let name = subscriptions.id(number).unwrap_or_default().to_owned();
            // Not a path alone: the column has no values of a path.
            let source = format!("matches of {}", subscriptions.query(number).unwrap_or_default());
            let binning = "distinct".to_owned();
            BuiltColumn { column: Column { name, source, kind: Kind::Bool, binning, bins }, bitmaps, values }
        });
        Built { rows, records, columns: columns.collect() }
    }
}
