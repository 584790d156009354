//! Partial lines from a file: only the columns and sections that some members of the records need are read.

use warpath_core::projection::Projection;

use crate::file::{self, Reader};
use crate::group::{Group, NodeIx};
use crate::text::{self, Outline, Restorer, plan};

/// The reason for which partial lines cannot be read.
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
    let of_group = |reason| Error::Group { group, reason };
    let first = sections(reader, group, &Outline::SECTIONS)?;
    let tree = reader.tree();
    let outline = Outline::read(tree, &first).map_err(of_group)?;
    let (parts, plan) =
        plan(tree, &outline, projection, |leaf| size(reader, group, leaf)).map_err(of_group)?;
    let mut second = sections(reader, group, &parts.sections)?;
    second.columns = reader.columns(group, &parts.leaves)?;
    let restorer = Restorer::with(tree, &second, outline, parts, plan).map_err(of_group)?;
    restorer.rows(0..second.rows, out).map_err(of_group)
}

/// The size of a column after it is read.
fn size(reader: &Reader, group: usize, leaf: NodeIx) -> u64 {
    reader.leaf(group, leaf).map_or(0, |leaf| leaf.uncompressed)
}

/// A group with some of its sections, and no columns.
fn sections(reader: &Reader, number: usize, names: &[&str]) -> Result<Group, Error> {
    let size = reader.size(number).ok_or_else(|| file::Error::Missing(format!("group {number}")))?;
    let file::GroupSize { rows, nodes, text_len, text_hash } = size;
    let mut group = Group { rows, nodes, text_len, text_hash, ..Group::default() };
    for name in names {
        if let Some(section) = reader.section(number, name)? {
            group.sections.push(((*name).to_owned(), section));
        }
    }
    Ok(group)
}
