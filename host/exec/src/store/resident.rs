//! The sections of a part that have its groups as they are in memory.

use warpath_core::error::Error;
use warpath_core::pool;
use warpath_part::file::{Error as PartError, RESIDENT, RESIDENT_LINES, Reader, Writer};
use warpath_part::group::{Group, Tree};
use warpath_resident::stored::{self, Stored, are_equal, bytes_of};
use warpath_resident::{Dictionaries, Segment};

use super::of_part;
use crate::input::text_of_group;

/// Bytes of the resident form of a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResidentSize {
    /// Bytes of the sections.
    pub bytes: u64,
    /// The groups that have a form of this version.
    pub groups: usize,
}

/// The resident form of a group, which depends on the group alone.
///
/// # Errors
/// [`Error::Internal`] if the group is not of the text.
pub(super) fn form_of(tree: &Tree, group: &Group, text: &[u8]) -> Result<Segment, Error> {
    let segment = Segment::of(tree, group, text, &Dictionaries::default());
    segment.map_err(|error| Error::Internal(error.to_string()))
}

/// Adds the sections with a form to the group that was written last. A form that is too long for a section,
/// as that of very many short lines is, is left out.
pub(super) fn add<W: std::io::Write>(writer: &mut Writer<W>, form: &Segment) -> Result<(), PartError> {
    let (bytes, codes) = (bytes_of(form), form.lines().codes());
    if bytes.len().max(codes.len()) > u32::MAX as usize {
        return Ok(());
    }
    writer.add_section_as_is(RESIDENT, &bytes)?;
    writer.add_section_as_is(RESIDENT_LINES, codes)
}

/// The size of the resident form of a part.
pub(super) fn size_of(part: &Reader) -> Result<ResidentSize, PartError> {
    let mut size = ResidentSize::default();
    for group in 0..part.groups() {
        let of_form = part.sections(group).filter(|(name, _)| matches!(*name, RESIDENT | RESIDENT_LINES));
        size.bytes += of_form.map(|(_, bytes)| bytes).sum::<u64>();
        let start = part.section_start(group, RESIDENT, stored::FRONT)?;
        size.groups += usize::from(start.is_some_and(|start| stored::is_known(&start)));
    }
    Ok(size)
}

/// True if a part has a resident form of this version.
pub(super) fn is_in(part: &Reader) -> Result<bool, PartError> {
    Ok(size_of(part)?.groups > 0)
}

/// True if all row groups of a part have the resident form of this version.
///
/// # Errors
/// The errors of [`is_in`].
pub(super) fn is_whole(part: &Reader) -> Result<bool, PartError> {
    Ok(size_of(part)?.groups >= part.groups())
}

/// The resident form of a group; `None` if the part has none of this version.
///
/// # Errors
/// The errors of [`Reader::section`], and [`PartError::Invalid`] for a form that no group has.
pub(crate) fn read(part: &Reader, group: usize) -> Result<Option<Stored>, PartError> {
    let section = |name| part.section(group, name);
    let (Some(size), Some(bytes)) = (part.size(group), section(RESIDENT)?) else { return Ok(None) };
    if !stored::is_known(&bytes) {
        return Ok(None);
    }
    let Some(codes) = section(RESIDENT_LINES)? else {
        return Err(invalid(group, &format!("there is no section `{RESIDENT_LINES}`")));
    };
    Stored::read(bytes, codes, size.rows, size.text_len).map_err(|fault| invalid(group, &fault.to_string()))
}

/// The segment of a form whose dictionaries were [chosen](Stored::choose). Columns are read only of strings
/// that have codes in other groups.
///
/// # Errors
/// As [`read`].
pub(crate) fn segment(
    part: &Reader,
    group: usize,
    form: Stored,
    dictionaries: &Dictionaries,
) -> Result<Segment, PartError> {
    let columns = match form.missing() {
        missing if missing.is_empty() => Vec::new(),
        missing => part.columns(group, &missing)?,
    };
    let segment = form.into_segment(&columns, dictionaries);
    segment.map_err(|fault| invalid(group, &fault.to_string()))
}

fn invalid(group: usize, why: &str) -> PartError {
    PartError::Invalid { what: format!("section `{RESIDENT}` of group {group}"), why: why.to_owned() }
}

/// Compares the forms of a part with its columns and lines.
pub(super) fn verify(part: &Reader, name: &str) -> Result<(), Error> {
    let checked = pool::map((0..part.groups()).collect(), |group| verify_group(part, group));
    checked.into_iter().collect::<Result<(), _>>().map_err(|error| of_part(name, error))
}

fn verify_group(part: &Reader, number: usize) -> Result<(), PartError> {
    let Some(mut form) = read(part, number)? else { return Ok(()) };
    let dictionaries = Dictionaries::default();
    form.choose(&dictionaries);
    let said = segment(part, number, form, &dictionaries)?;
    let group = part.group(number)?;
    let text = text_of_group(part, number, &group).map_err(|why| invalid(number, &why))?;
    let made = Segment::of(part.tree(), &group, &text, &Dictionaries::default());
    let made = made.map_err(|error| invalid(number, &error.to_string()))?;
    match are_equal(&said, &made, &text) {
        true => Ok(()),
        false => Err(invalid(number, "it says something else than the columns and the lines")),
    }
}
