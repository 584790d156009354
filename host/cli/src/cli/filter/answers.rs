//! Writers of results: counts, lines and tables.

use std::io::Write as _;
use std::sync::Arc;

use warpath::twig::Snapshot;
use warpath::{Error, Filtered, FoundDocument};
use warpath_core::pool;
use warpath_terminal::escape::{escaped, quoted};

use super::super::args::{FilterArgs, IdsFormatArg};
use super::super::failure::Failure;
use super::super::formats;
use super::super::out::Out;
use super::super::table::TableWriter;

/// The approximate number of pairs of a document and a subscription that one thread writes at a time.
const TOGETHER: usize = 8 << 10;

/// A writer of results.
pub enum Answers {
    /// The number of documents that match each subscription.
    Counts(Vec<u64>),
    Text(Text),
    Table(TableWriter),
}

impl Answers {
    pub fn new(
        args: &FilterArgs,
        format: IdsFormatArg,
        subscriptions: &Arc<Snapshot>,
    ) -> Result<Self, Failure> {
        if args.count {
            return Ok(Self::Counts(vec![0; subscriptions.len()]));
        }
        if format == IdsFormatArg::Arrow {
            let form = formats::arrow_form(&args.output);
            return Ok(Self::Table(TableWriter::new(form, Filtered::arrow_schema())?));
        }
        let text = Text::new(format == IdsFormatArg::Ndjson, subscriptions.clone());
        Ok(Self::Text(Text { has_records: args.print_record, ..text }))
    }

    /// Adds the matches of documents.
    pub fn add(&mut self, filtered: &Filtered, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::Counts(counts) => {
                filtered.pairs().iter().for_each(|(_, number)| counts[*number as usize] += 1);
                Ok(())
            }
            Self::Text(text) => text.add(filtered, out),
            Self::Table(table) => {
                let batch = filtered.to_arrow().map_err(|error| Error::Internal(error.to_string()))?;
                if batch.num_rows() > 0 { table.add(batch, out) } else { Ok(()) }
            }
        }
    }

    /// Writes the results so far, because the next ones may take time.
    pub fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        if let Self::Table(table) = self {
            table.pause(out)?;
        }
        out.pause()
    }

    /// Returns true if the results are about all documents together.
    pub fn is_about_all(&self) -> bool {
        matches!(self, Self::Counts(_))
    }

    /// Returns true if a part of the results is of no use.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Counts(_) => true,
            Self::Text(_) => false,
            Self::Table(table) => table.is_whole(),
        }
    }

    /// Writes the counts, or the end of a table. Called once, after the last result.
    pub fn end(&mut self, subscriptions: &Snapshot, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::Counts(counts) => {
                for (id, count) in subscriptions.ids().zip(counts) {
                    // Writing to a vector cannot fail.
                    let _ = writeln!(out.buffer, "{}\t{count}", escaped(id));
                }
                Ok(())
            }
            Self::Text(_) => Ok(()),
            Self::Table(table) => table.finish(out),
        }
    }
}

/// A writer of lines.
pub struct Text {
    is_json: bool,
    /// True if records are printed after their ids.
    has_records: bool,
    subscriptions: Arc<Snapshot>,
    /// The ids of the subscriptions, as they are printed.
    ids: Vec<String>,
}

impl Text {
    fn new(is_json: bool, subscriptions: Arc<Snapshot>) -> Self {
        let written = |id: &str| written(id, is_json);
        let ids = subscriptions.ids().map(written).collect();
        Self { is_json, has_records: false, subscriptions, ids }
    }

    fn add(&mut self, filtered: &Filtered, out: &mut Out) -> Result<(), Failure> {
        if !Arc::ptr_eq(filtered.subscriptions(), &self.subscriptions) {
            let has_records = self.has_records;
            *self = Self { has_records, ..Self::new(self.is_json, filtered.subscriptions().clone()) };
        }
        let name = written(filtered.source(), self.is_json);
        let documents: Vec<(FoundDocument<'_>, &[u8])> = match self.has_records {
            true => filtered.documents_with_text().collect(),
            false => filtered.documents().map(|document| (document, &[][..])).collect(),
        };
        if filtered.pairs().len() < 2 * TOGETHER {
            documents.iter().for_each(|document| self.write(&name, *document, &mut out.buffer));
            return out.line_end();
        }
        let each = (documents.len() * TOGETHER / filtered.pairs().len()).max(1);
        let parts =
            pool::map(documents.chunks(each).collect(), |documents: &[(FoundDocument<'_>, &[u8])]| {
                let mut lines = Vec::with_capacity(16 * TOGETHER);
                documents.iter().for_each(|document| self.write(&name, *document, &mut lines));
                lines
            });
        parts.iter().try_for_each(|part| out.lines(part))
    }

    fn write(&self, name: &str, (document, record): (FoundDocument<'_>, &[u8]), lines: &mut Vec<u8>) {
        let line = document.line();
        // Writing to a vector cannot fail.
        let _ = match (self.is_json, line) {
            (false, Some(line)) => write!(lines, "{name}:{line}\t"),
            (false, None) => write!(lines, "{name}\t"),
            (true, Some(line)) => write!(lines, "{{\"file\":{name},\"line\":{line},\"ids\":["),
            (true, None) => write!(lines, "{{\"file\":{name},\"ids\":["),
        };
        for (at, number) in document.numbers().enumerate() {
            if at > 0 {
                lines.push(if self.is_json { b',' } else { b' ' });
            }
            lines.extend_from_slice(self.ids[number].as_bytes());
        }
        if self.is_json {
            lines.push(b']');
        }
        if self.has_records {
            lines.extend_from_slice(if self.is_json { b",\"record\":" } else { b"\t" });
            lines.extend_from_slice(record.trim_ascii());
        }
        lines.extend_from_slice(if self.is_json { b"}\n" } else { b"\n" });
    }
}
/// A name as it is printed: as a JSON string, or escaped.
fn written(name: &str, is_json: bool) -> String {
    if is_json { quoted(name) } else { escaped(name).into_owned() }
}
