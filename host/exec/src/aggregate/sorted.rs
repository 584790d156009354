//! Matches in the order of values of their records.

use std::any::Any;

use warpath_answer::answer::{TextForm, Want, text};
use warpath_core::error::Error;
use warpath_lang::program::Query;
use warpath_shared::units::LineIx;

use super::order::append_key;
use crate::stream::{Digest, PieceResults};

/// Gives each match of a partition the sort key of its record. The path of the matches comes first in the
/// program, then the paths by which records are sorted. Null and missing values come last.
pub struct SortMatches {
    /// For each path, true if greater values come first.
    descending: Vec<bool>,
    form: TextForm,
}

impl SortMatches {
    /// Sorts by paths, each with true if greater values come first. Matches have the text of `form`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a path that can match several values of a record.
    pub fn new(by: &[(Query, bool)], form: TextForm) -> Result<Self, Error> {
        if let Some((path, _)) = by.iter().find(|(path, _)| !path.is_singular()) {
            return Err(Error::Usage(format!(
                "`{}` can match several values of a record; expected a path that matches at most one, because \
                 records are sorted by it",
                path.text()
            )));
        }
        Ok(Self { descending: by.iter().map(|(_, descending)| *descending).collect(), form })
    }
}

/// Matches with the sort keys of their records.
#[derive(Default)]
pub struct KeyedMatches {
    bytes: Vec<u8>,
    /// The ends of each key and text.
    ends: Vec<(usize, usize)>,
}

impl KeyedMatches {
    /// The key and the text of each match, in the order of the records.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut begin = 0;
        self.ends.iter().map(move |(key, end)| {
            let (from, bytes) = (begin, &self.bytes);
            begin = *end;
            (&bytes[from..*key], &bytes[*key..*end])
        })
    }
}

impl Digest for SortMatches {
    fn want(&self) -> Want {
        Want::default().matches(true).partial(true)
    }

    /// Makes [`KeyedMatches`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let mut keyed = KeyedMatches::default();
        let mut key = Vec::new();
        for piece in found {
            let Some((matches, lists)) = piece.matches.split_first() else { continue };
            let mut of_key: Option<LineIx> = None;
            for found in *matches {
                if of_key != Some(found.line) {
                    of_key = Some(found.line);
                    key.clear();
                    for (list, descending) in lists.iter().zip(&self.descending) {
                        let at = list.partition_point(|value| value.line < found.line);
                        let value = list.get(at).filter(|value| value.line == found.line);
                        append_key(value.map(|value| piece.bytes(value)), *descending, &mut key);
                    }
                }
                keyed.bytes.extend_from_slice(&key);
                let end = keyed.bytes.len();
                text::append(piece.bytes(found), self.form, &mut keyed.bytes);
                keyed.ends.push((end, keyed.bytes.len()));
            }
        }
        Box::new(keyed)
    }
}
