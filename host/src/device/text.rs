//! The text of a partition's matches.

use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

use crate::answer::{TextForm, text};

/// Path by path, the text of the matches, and how much of it is of lines before `fault`. `text` is that in which matches
/// count.
///
/// The host writes it, from the matches and the text that it has.
pub(super) fn texts(
    text: &[u8],
    matches: &[Vec<Match>],
    form: TextForm,
    fault: Option<LineIx>,
) -> (Vec<Vec<u8>>, Option<Vec<usize>>) {
    text::of_paths(text, matches, form, fault)
}
