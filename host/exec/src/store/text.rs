//! The lines of a store, and its columns.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use memchr::memchr_iter;
use warpath_answer::answer::Want;
use warpath_core::error::{Error, StoreError};
use warpath_core::pool::cores;
use warpath_core::pool::stream::Limits;
use warpath_folder::{Field, Type};
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};
use warpath_part::file::Reader;
use warpath_part::group::{Layout, NodeIx, Tree};
use warpath_part::partial::lines as lines_of_group;
use warpath_shared::units::LineIx;

use super::Store;
use crate::engine::Engine;
use crate::input::{BYTE_ORDER_MARK, begins_within, text_of};

impl Store {
    /// Passes the text of some lines, counted from 0, to `write`, until it returns false. Groups without such
    /// a line are not read. Of the byte order marks at the beginning of inputs, only one at the beginning of
    /// this text is passed.
    ///
    /// # Errors
    /// [`Error::Store`] and [`Error::Input`] for a part that cannot be read or is damaged. The text before
    /// the damage was passed on.
    pub fn text(&self, lines: Range<u64>, write: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Error> {
        let mut first = 0;
        let (mut ends_line, mut is_first) = (true, true);
        for file in &self.files {
            let reader = file.open()?;
            let groups = 0..reader.groups();
            let rows: Vec<u64> =
                groups.map(|group| reader.size(group).map_or(0, |size| size.rows.into())).collect();
            let starts: Vec<u64> =
                rows.iter().scan(first, |at, rows| Some(mem::replace(at, *at + rows))).collect();
            first += rows.iter().sum::<u64>();
            let wanted: Vec<usize> = (0..starts.len())
                .filter(|&group| starts[group] < lines.end && starts[group] + rows[group] > lines.start)
                .collect();
            // Threads that have no group decode columns of the others.
            let workers = cores() / wanted.len().max(1);
            let reader = Arc::try_unwrap(reader)
                .map_or_else(|shared| shared, |reader| Arc::new(reader.with_workers(workers)));
            let limits =
                Limits { threads: cores().min(wanted.len().max(1)), jobs: cores(), slow_start: None };
            let name = file.shown();
            let mut is_wanted = true;
            let make = |(): &mut (), group: usize| {
                let start = starts[group];
                let inside = lines.start.max(start) - start..lines.end.min(start + rows[group]) - start;
                (group, part_of(&reader, group, rows[group], inside))
            };
            warpath_core::pool::stream::each(limits, wanted.into_iter(), make, |(group, text)| {
                let damaged = |reason| StoreError::Damaged { name: name.clone(), reason };
                let text = text.map_err(damaged)?;
                let mut part = &text[..];
                // The mark is no part of a line, and in the middle of a text it would be one.
                if group == 0 && starts[0] >= lines.start && !is_first && !begins_within(&reader) {
                    part = part.strip_prefix(BYTE_ORDER_MARK).unwrap_or(part);
                }
                is_first = false;
                if !ends_line && !part.is_empty() && is_wanted {
                    is_wanted = write(b"\n");
                }
                if is_wanted && !part.is_empty() {
                    ends_line = part.ends_with(b"\n");
                    is_wanted = write(part);
                }
                Ok(())
            })?;
            if !is_wanted {
                break;
            }
        }
        Ok(())
    }
}

impl Store {
    /// Passes the lines of the records for which a predicate is true to `write`, byte for byte, until it
    /// returns false. A byte order mark at the beginning of an input is no part of its first line. The engine
    /// decides about malformed lines.
    ///
    /// No line is built of which the columns show that the predicate is false.
    ///
    /// ```
    /// use warpath::store::{AddOptions, Store};
    /// use warpath::{Engine, Predicate, Source};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("logs.wp");
    /// # #[cfg(any())]
    /// let path = Path::new("logs.wp");
    /// let lines = || Source::Reader("log".into(), Box::new(&b"{\"id\": 1}\n{\"id\": 2}\n"[..]));
    /// Store::add(&path, vec![lines()], AddOptions::default(), &mut |_| {})?;
    /// let (engine, mut found) = (Engine::builder().build()?, Vec::new());
    /// let mut append = |text: &[u8]| {
    ///     found.extend_from_slice(text);
    ///     true
    /// };
    /// Store::open(&path)?.text_matching(&engine, &Predicate::parse("$.id > 1")?, &mut append)?;
    /// assert_eq!(found, b"{\"id\": 2}\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Input`] for a part that cannot be read or is damaged, and the errors of the predicate's
    /// evaluation. The text before the error was passed on.
    pub fn text_matching(
        &self,
        engine: &Engine,
        predicate: &Predicate,
        write: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let record = Program::new(&[Query::compile("$")?])?;
        let input = engine.input(self.sources()).matching(predicate);
        let mut ends_line = true;
        for batch in input.answers(record, Want::new().records(true).sparse(true)) {
            let batch = batch?;
            for (_, piece) in batch.pieces() {
                let text = batch.text().get(piece.base as usize..).unwrap_or_default();
                for lines in runs_of(text, &piece.records) {
                    let lines = &text[lines];
                    if !ends_line && !write(b"\n") || !write(lines) {
                        return Ok(());
                    }
                    ends_line = lines.ends_with(b"\n");
                }
            }
        }
        Ok(())
    }
}

/// The ranges of some lines of a text, which ascend. Lines that follow one another are one range.
fn runs_of<'t>(text: &'t [u8], lines: &'t [LineIx]) -> impl Iterator<Item = Range<usize>> + 't {
    let mut ends = memchr_iter(b'\n', text).map(|newline| newline + 1).chain([text.len()]);
    let (mut line, mut start) = (0, 0);
    lines.chunk_by(|one, next| *next == one + 1).map(move |run| {
        let skipped = run[0].saturating_sub(line) as usize;
        let begin = match skipped {
            0 => start,
            skipped => ends.nth(skipped - 1).unwrap_or(text.len()),
        };
        start = ends.nth(run.len() - 1).unwrap_or(text.len());
        line = run[0] + run.len() as LineIx;
        begin..start
    })
}

/// The text of some lines of a group. The hash of the text is compared if these are all of its lines.
fn part_of(reader: &Reader, group: usize, rows: u64, wanted: Range<u64>) -> Result<Vec<u8>, String> {
    if wanted == (0..rows) {
        return text_of(reader, group);
    }
    // Groups have rows of 32 bits.
    let wanted = wanted.start as u32..wanted.end as u32;
    let mut text = Vec::new();
    lines_of_group(reader, group, wanted, None, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// A field of the log in Arrow's terms.
pub(super) fn arrow_field(field: &Field) -> arrow_schema::Field {
    arrow_schema::Field::new(&field.name, arrow_type(&field.kind), true)
}

fn arrow_type(kind: &Type) -> DataType {
    match kind {
        Type::String => DataType::Utf8,
        Type::Long => DataType::Int64,
        Type::Double => DataType::Float64,
        Type::Boolean => DataType::Boolean,
        Type::Binary => DataType::Binary,
        Type::Struct(fields) => DataType::Struct(fields.iter().map(arrow_field).collect()),
        Type::List(element) => DataType::new_list(arrow_type(element), true),
    }
}

/// The path and the type of a leaf, as other readers of Parquet see them.
pub(super) fn described(tree: &Tree, leaf: NodeIx) -> (String, &'static str) {
    let mut names = Vec::new();
    let mut node = leaf;
    while node != 0 {
        let at = &tree.nodes[node as usize];
        names.push(match at.layout {
            Layout::List => format!("{}[]", at.name),
            _ => at.name.clone(),
        });
        node = at.parent;
    }
    // The element of a list is a part of its path that every list has.
    let names: Vec<String> = names.into_iter().rev().collect();
    let path = names.join(".").replace("[].element", "[]");
    let kind = match tree.nodes[leaf as usize].layout {
        Layout::Boolean => "bool",
        Layout::Int => "int64",
        Layout::Double => "float64",
        Layout::String => "string",
        Layout::Json => "json",
        _ => "binary",
    };
    (path, kind)
}
