//! The lines of a store, and its columns.

use std::ops::Range;

use warpath_core::error::{Error, StoreError};
use warpath_core::pool::cores;
use warpath_core::pool::stream::Limits;
use warpath_part::group::{Layout, NodeIx, Tree};

use super::{Store, open_part};
use crate::input::text_of;

impl Store {
    /// Passes the text of some lines, counted from 0, to `write`, until it returns false. Groups without such
    /// a line are not read.
    ///
    /// # Errors
    /// [`Error::Store`] and [`Error::Input`] for a part that cannot be read or is damaged. The text before
    /// the damage was passed on.
    pub fn text(&self, lines: Range<u64>, write: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Error> {
        let mut first = 0;
        let mut ends_line = true;
        for path in self.paths() {
            let reader = open_part(&path)?;
            let rows = |group| reader.size(group).map_or(0, |size| u64::from(size.rows));
            let starts: Vec<u64> = (0..reader.groups())
                .scan(first, |at, group| {
                    let start = *at;
                    *at += rows(group);
                    Some(start)
                })
                .collect();
            first = starts.last().map_or(first, |start| start + rows(starts.len() - 1));
            let wanted: Vec<usize> = (0..starts.len())
                .filter(|&group| starts[group] < lines.end && starts[group] + rows(group) > lines.start)
                .collect();
            let limits =
                Limits { threads: cores().min(wanted.len().max(1)), jobs: cores(), slow_start: None };
            let name = path.display().to_string();
            let mut is_wanted = true;
            let make = |(): &mut (), group: usize| (group, text_of(&reader, group));
            warpath_core::pool::stream::each(limits, wanted.into_iter(), make, |(group, text)| {
                let damaged = |reason| StoreError::Damaged { name: name.clone(), reason };
                let text = text.map_err(damaged)?;
                let part = within(&text, starts[group], rows(group), &lines);
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

/// The text of the lines of a group that are in a range. `start` is the number of the group's first line.
fn within<'a>(text: &'a [u8], start: u64, rows: u64, lines: &Range<u64>) -> &'a [u8] {
    let (skipped, end) = (lines.start.saturating_sub(start), lines.end.saturating_sub(start));
    let at = |line: u64| match line {
        0 => 0,
        line if line >= rows => text.len(),
        line => memchr::memchr_iter(b'\n', text).nth(line as usize - 1).map_or(text.len(), |at| at + 1),
    };
    &text[at(skipped)..at(end)]
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
