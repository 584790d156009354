//! Partial lines from a file: only the columns and sections that some members of the records need are read.

use std::ops::Range;

use warpath_core::projection::Projection;
use warpath_core::rows::RowSet;

use crate::file::{self, Reader};
use crate::group::{Group, NodeIx};
use crate::text::{self, Mark, OCCURRENCES, Outline, Restorer, plan};

/// The reason for which partial lines, or numbers of values, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] file::Error),
    /// A group of the file cannot be read.
    #[error("group {group}: {reason}")]
    Group {
        /// The number of the group.
        group: usize,
        /// The reason.
        reason: text::Error,
    },
}

/// Appends the partial lines of a group to `out`: one for each row, in their order.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read or is damaged, and [`Error::Group`] for a group that no
/// shredder made. Then `out` may end with some of the lines.
pub fn partial(
    reader: &Reader,
    group: usize,
    projection: &Projection,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    lines(reader, group, 0..rows_of(reader, group)?, Some(projection), out)
}

/// Appends the lines of some rows of a group to `out`, whole or partial. Only the pages that have these rows
/// are read, apart from sections.
///
/// # Errors
/// The errors of [`partial`]; also if the group does not have all of the rows.
pub fn lines(
    reader: &Reader,
    group: usize,
    rows: Range<u32>,
    projection: Option<&Projection>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let of_group = |reason| Error::Group { group, reason };
    let all = rows_of(reader, group)?;
    if rows.start > rows.end || rows.end > all {
        return Err(of_group(text::Error::NoSuchRows { begin: rows.start, end: rows.end, rows: all }));
    }
    if rows.is_empty() {
        return Ok(());
    }
    some(reader, group, &rows, None, projection, out)
}

/// Appends the lines of a set of rows of a group to `out`, whole or partial.
///
/// # Errors
/// The errors of [`lines`].
pub fn lines_of(
    reader: &Reader,
    group: usize,
    rows: &RowSet,
    projection: Option<&Projection>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let all = rows_of(reader, group)?;
    let (Some(first), Some(last)) = (rows.ones().next(), rows.last()) else { return Ok(()) };
    let end = u32::try_from(last).ok().and_then(|last| last.checked_add(1)).filter(|end| *end <= all);
    let Some(end) = end else {
        let reason = text::Error::NoSuchRows { begin: 0, end: u32::MAX, rows: all };
        return Err(Error::Group { group, reason });
    };
    some(reader, group, &(first as u32..end), Some(rows), projection, out)
}

/// Appends the lines of a range of rows that the group has, or of a set of rows in it.
fn some(
    reader: &Reader,
    group: usize,
    rows: &Range<u32>,
    set: Option<&RowSet>,
    projection: Option<&Projection>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let of_group = |reason| Error::Group { group, reason };
    let first = sections(reader, group, &Outline::SECTIONS)?;
    let tree = reader.tree();
    let mut outline = Outline::read(tree, &first).map_err(of_group)?;
    let is_whole = *rows == (0..first.rows);
    if !is_whole {
        outline.mark = Some(match reader.section(group, OCCURRENCES)? {
            Some(section) => Mark::find(&section, rows, first.rows, first.nodes).map_err(of_group)?,
            None => Mark::begin(first.nodes),
        });
    }
    let begin = outline.mark.as_ref().map_or(0, |mark| mark.row);
    let projection = projection.unwrap_or(&Projection::All);
    let (parts, plan) =
        plan(tree, &outline, projection, |leaf| size(reader, group, leaf)).map_err(of_group)?;
    let mut second = sections(reader, group, &parts.sections)?;
    second.columns = match is_whole {
        true => reader.columns(group, &parts.leaves)?,
        false => reader.rows(group, &parts.leaves, begin..rows.end)?,
    };
    second.rows = rows.end - begin;
    let restorer = Restorer::with(tree, &second, outline, parts, plan).map_err(of_group)?;
    match set {
        Some(set) => restorer.selected(set.ones().map(|row| row - u64::from(begin)), out),
        None => restorer.rows(rows.start - begin..rows.end - begin, out),
    }
    .map_err(of_group)
}

/// The number of rows of a group.
fn rows_of(reader: &Reader, group: usize) -> Result<u32, Error> {
    let size = reader.size(group).ok_or_else(|| file::Error::Missing(format!("group {group}")))?;
    Ok(size.rows)
}

/// The size of a column after it is read.
fn size(reader: &Reader, group: usize, leaf: NodeIx) -> u64 {
    reader.leaf(group, leaf).map_or(0, |leaf| leaf.uncompressed)
}

/// A group with some of its sections, and no columns.
pub(crate) fn sections(reader: &Reader, number: usize, names: &[&str]) -> Result<Group, Error> {
    let size = reader.size(number).ok_or_else(|| file::Error::Missing(format!("group {number}")))?;
    let file::GroupSize { rows, nodes, text_len, text_hash } = size;
    let sections = reader.named_sections(number, names)?;
    Ok(Group { rows, nodes, text_len, text_hash, sections, ..Group::default() })
}
