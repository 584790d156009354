//! Numbers of values that paths select in a group of a file, without the values.

use warpath_core::projection::Step;

use crate::file::Reader;
use crate::partial::{Error, sections};
use crate::text;

/// The number of values that each path selects in the records of a group, in the order of the paths. `$`, the
/// path without steps, counts records. `None` if the group does not have all of these numbers. Then the
/// caller evaluates the paths on its lines.
///
/// The numbers are known if the group has no line that is kept whole, and none with a byte order mark. Paths
/// may have names, wildcards and one descendant. A path may not lead into values that are texts. After a
/// wildcard, or below a descendant, it may not lead into objects with a repeated name.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read or is damaged, and [`Error::Group`] for a group that no
/// shredder made.
pub fn count(reader: &Reader, group: usize, paths: &[Vec<Step>]) -> Result<Option<Vec<u64>>, Error> {
    let read = sections(reader, group, &text::COUNTED)?;
    text::counts_of(reader.tree(), &read, paths).map_err(|reason| Error::Group { group, reason })
}
