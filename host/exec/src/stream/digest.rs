//! Digests: values that workers make of the results for a text, so that the caller need not read each match.

use std::any::Any;

use warpath_answer::answer::{Answer, Piece, Want};
#[cfg(feature = "store")]
use warpath_core::error::Error;
use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

#[cfg(feature = "store")]
use super::leaves::{DeviceResults, LeafResults};
use crate::engine::OnError;

/// Makes one value from the results for each text, in the worker that evaluated the text.
///
/// The value comes with the batch ([`Batch::take_digest`](super::Batch::take_digest)), which then has counts
/// and faults, but neither matches nor records nor text. With columns it has the records, too. Under
/// [`OnError::Fail`] the results end before the first faulty record.
pub trait Digest: Send + Sync {
    /// The results that are digested.
    fn want(&self) -> Want;

    /// Digests the results for one text, piece by piece.
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync>;

    /// Digests the results for a segment of a loaded input. `None` if its leaves do not have all that is
    /// needed; the text is then evaluated.
    #[cfg(feature = "store")]
    fn of_leaves(&self, _: &LeafResults<'_>) -> Option<Box<dyn Any + Send + Sync>> {
        None
    }

    /// Digests the results for all lines of a loaded input at once, on the device that has its leaves. The
    /// order of lines is then not known. `None` if it cannot; the segments are digested one by one.
    ///
    /// # Errors
    /// [`Error::Device`].
    #[cfg(feature = "store")]
    fn of_device(&self, _: &DeviceResults<'_>) -> Result<Option<Box<dyn Any + Send + Sync>>, Error> {
        Ok(None)
    }
}

/// The results of a piece.
pub struct PieceResults<'a> {
    /// The text of the piece. Matches are offsets in it.
    pub text: &'a [u8],
    /// The number of lines, as [`Piece::lines`].
    pub lines: LineIx,
    /// The lines that are records, as [`Piece::records`].
    pub records: &'a [LineIx],
    /// The matches, path by path.
    pub matches: Vec<&'a [Match]>,
    /// The rows of the records, as [`Piece::rows`].
    pub rows: &'a [u8],
}

impl<'a> PieceResults<'a> {
    fn of(text: &'a [u8], piece: &'a Piece, end: LineIx, rows: usize) -> Self {
        let records = piece.records.partition_point(|line| *line < end);
        let before = |list: &'a Vec<Match>| &list[..list.partition_point(|found| found.line < end)];
        Self {
            // A text that no result refers to may be gone.
            text: text.get(piece.base as usize..).unwrap_or_default(),
            lines: piece.lines,
            records: &piece.records[..records],
            matches: piece.matches.iter().map(before).collect(),
            rows: &piece.rows[..rows],
        }
    }

    /// The bytes of a match.
    #[must_use]
    pub fn bytes(&self, found: &Match) -> &'a [u8] {
        self.text.get(found.start as usize..found.end as usize).unwrap_or_default()
    }
}

/// Digests the results for a text, and drops the results.
pub(super) fn digest(
    digest: &dyn Digest,
    text: &[u8],
    answer: &mut Answer,
    on_error: OnError,
) -> Box<dyn Any + Send + Sync> {
    let mut found = Vec::with_capacity(answer.pieces.len());
    for piece in &answer.pieces {
        let fault = piece.faults.first().filter(|_| on_error == OnError::Fail);
        let end = fault.map_or(LineIx::MAX, |fault| fault.line);
        let rows = fault.and(piece.rows_before_fault).unwrap_or(piece.rows.len());
        found.push(PieceResults::of(text, piece, end, rows));
        if fault.is_some() {
            break;
        }
    }
    let made = digest.digest(&found);
    for piece in &mut answer.pieces {
        piece.matches = Vec::new();
        // The rows of columns, which come with the digest, are those of the records.
        if piece.columns.columns.is_empty() {
            piece.records = Vec::new();
        }
        (piece.rows, piece.rows_before_fault) = (Vec::new(), piece.rows_before_fault.map(|_| 0));
    }
    made
}
