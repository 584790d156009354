//! Columns of matches: one column for each subscription, with the documents that it matches.

use warpath_core::error::{Error, IndexError, InputError};
use warpath_core::wah::{OnesBuilder, WahBuf};
use warpath_cpu::twig::standing::{Documents, Standing};
use warpath_cpu::twig::subscriptions::Subscriptions;
use warpath_lang::predicate::Predicate;
use warpath_store::bitmap::built::{Built, BuiltColumn, StoredValues};
use warpath_store::bitmap::column::{Bin, Column, Holds, Kind, Scalar};

use super::Opened;
use super::ndjson::LINES;
use crate::engine::Engine;
use crate::input::Source;
use crate::stream::Filtered;

/// The malformed documents that were skipped.
#[derive(Debug, Default)]
pub struct DocumentsLeftOut {
    /// The number of skipped documents.
    pub count: u64,
    /// The error of the first one.
    pub first: Option<InputError>,
}

/// Builds a history of matches. Each subscription has a column of [`Kind::Bool`], named by its id, that
/// records for each document if it matches. Documents are lines, one row for each, blank and malformed ones
/// too; or inputs, one row for each. A row that is not a document has no value. A document for which the
/// predicate `only` is not true matches nothing.
///
/// If the documents are the lines of one file, the index has the offsets of lines, as with
/// [`build`](super::build). Rows of several inputs follow each other.
///
/// # Errors
/// * The errors of the inputs.
/// * [`IndexError::Unsettled`] if a file of lines was written to meanwhile.
/// * [`Error::Usage`] if there is no subscription.
/// * [`Error::Device`].
pub fn build_matches(
    engine: &Engine,
    sources: Vec<Source>,
    subscriptions: &Subscriptions,
    documents: Documents,
    only: Option<&Predicate>,
) -> Result<(Built, DocumentsLeftOut), Error> {
    if subscriptions.is_empty() {
        return Err(Error::Usage(
            "a bitmap index has at least one column, and there is no subscription".into(),
        ));
    }
    let opened = match &sources[..] {
        [Source::File(path)] if documents == Documents::Ndjson => Some(Opened::new(path)?),
        _ => None,
    };
    let standing = Standing::new(subscriptions.clone());
    let (mut matches, mut left_out) = (Matches::new(subscriptions.len()), DocumentsLeftOut::default());
    let mut input = engine.input(sources);
    if let Some(only) = only {
        input = input.matching(only);
    }
    for filtered in input.filter(&standing, documents) {
        let mut filtered = filtered?;
        matches.add(&filtered);
        let faults = filtered.take_skipped();
        left_out.count += faults.len() as u64;
        left_out.first = left_out.first.or(faults.into_iter().next());
    }
    let mut built = matches.finish(subscriptions);
    let Some(opened) = opened else {
        built.lines.clear();
        return Ok((built, left_out));
    };
    let len = opened.text_bytes()?;
    // A file that is only a byte order mark has no partition.
    let end = built.lines.pop().filter(|_| built.rows > 0).unwrap_or(len.unwrap_or(0).min(3));
    built.stamp = Some(opened.settled()?);
    match len {
        Some(len) if len != end => return Err(IndexError::Unsettled { input: opened.name }.into()),
        Some(_) => built.lines.push(end),
        None => built.lines.clear(),
    }
    Ok((built, left_out))
}

/// Bitmaps that are being built.
struct Matches {
    columns: Vec<OnesBuilder>,
    no_records: OnesBuilder,
    rows: u64,
    /// The offsets of every 64th line; `finish` adds the end of the last line.
    lines: Vec<u64>,
    end: u64,
}

impl Matches {
    fn new(columns: usize) -> Self {
        let (columns, no_records) = (vec![OnesBuilder::default(); columns], OnesBuilder::default());
        Self { columns, no_records, rows: 0, lines: Vec::new(), end: 0 }
    }

    /// Adds the documents that follow.
    fn add(&mut self, filtered: &Filtered) {
        let first = self.rows;
        for (line, column) in filtered.pairs() {
            self.columns[*column as usize].push(first + u64::from(*line));
        }
        self.rows += u64::from(filtered.lines());
        if !filtered.is_lines() {
            if filtered.is_blank() || filtered.skipped().next().is_some() {
                self.no_records.push(first);
            }
            return;
        }
        let mut faulty = filtered.faulty_lines().iter().copied().peekable();
        let (text, mut start) = (filtered.text(), 0);
        for line in 0..filtered.lines() {
            let row = first + u64::from(line);
            if row.is_multiple_of(LINES) {
                self.lines.push(filtered.offset() + start as u64);
            }
            let len = memchr::memchr(b'\n', &text[start..]).unwrap_or(text.len() - start);
            let is_blank = text[start..start + len].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
            if faulty.next_if_eq(&line).is_some() || is_blank {
                self.no_records.push(row);
            }
            start = (start + len + 1).min(text.len());
        }
        self.end = filtered.offset() + text.len() as u64;
    }

    fn finish(self, subscriptions: &Subscriptions) -> Built {
        let Self { columns, no_records, rows, mut lines, end } = self;
        lines.push(end);
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
        Built { rows, records, columns: columns.collect(), lines, stamp: None }
    }
}
