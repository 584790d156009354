//! Lines that are not usual: their ends, colons and control characters are looked at byte by byte.
//!
//! Usually, a line begins and ends with brackets, a quote is just before a colon, and nothing below 0x20 is
//! outside strings but newlines. `structure_write` flags the tiles in which something else is. Their words
//! are classified once more here, and each such byte is looked at. A line that may be faulty is reported, and
//! the host judges it.
//!
//! *Threads*: one warp a tile, one lane a word.
//! *Cost*: four bytes a tile. A tile that is looked at is read once more.
//! *Tried and lost*: the same within `structure_write`. Its registers were too few: 8 % more time for tweets,
//! and 16 % for lines of 84 bytes, of which one in thirty has its newline at the edge of a word (NVIDIA H100,
//! 2026-11-27).

use cuda_std::kernel;
use cuda_std::thread::{block_idx_x, thread_idx_x};
use warpath_shared::check::{follows_quote, is_space_below, scalar_fault};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::kernel::{ODD_TILE, OddCheckArgs, TILE_FLAGS};
use warpath_shared::tree::outline::below;
use warpath_shared::units::{LineIx, PartOffset, TILE_BYTES, WORD_BYTES};
use warpath_shared::view::View;

use super::faulty::report;
use crate::coop::stretch::classes_of_word;
use crate::coop::{LANES, WARPS};

/// Words of a tile.
const WORDS: usize = TILE_BYTES / WORD_BYTES;

/// Reports lines that may be faulty at bytes that are not usual.
///
/// # Safety
/// Launched as [`OddCheck`](warpath_shared::kernel::OddCheck) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn odd_check(args: OddCheckArgs<'_>) {
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.counts.len() || args.counts.get(tile) & ODD_TILE == 0 {
        return;
    }
    let ends = Ends { text: args.text, len: args.len };
    if tile == 0 && lane == 0 && !ends.begins_well(0) {
        report(&args.faulty, 0);
    }
    let mut word = tile * WORDS + lane as usize;
    while word < (tile + 1) * WORDS && word * WORD_BYTES <= args.len as usize {
        let (c, string) = (classes_of_word(args.text, word * WORD_BYTES), args.string.get(word));
        // A quote before a colon outside strings closes a string.
        let colon = c.separator & c.brace & !string & !(c.quote << 1);
        // Zeros pad the text. A newline may end it.
        let mut odd =
            c.newline & !(c.close << 1 & c.open >> 1) | (c.control & !string | colon) & below(args.len, word);
        while odd != 0 {
            let at = (word * WORD_BYTES) as PartOffset + odd.trailing_zeros();
            odd &= odd - 1;
            let (holds, next_holds) = ends.around(at);
            if !holds {
                report(&args.faulty, line_of(&args, tile, at));
            }
            if !next_holds {
                report(&args.faulty, line_of(&args, tile, at) + 1);
            }
        }
        word += LANES as usize;
    }
}

/// The line of a byte of a tile. It is a wrong one where the tile has more lines than room. The host then
/// makes room and launches again.
#[inline(always)]
fn line_of(args: &OddCheckArgs<'_>, tile: usize, at: PartOffset) -> LineIx {
    // The line that the end of the text ends has the text's length as its end.
    let (first, at) = (tile * args.room as usize, at.min(args.len - 1));
    let (mut from, mut to) = (0, (args.counts.get(tile) & !TILE_FLAGS).min(args.room));
    while from < to {
        let middle = (from + to) / 2;
        if args.ends.get(first + middle as usize) <= at { from = middle + 1 } else { to = middle }
    }
    args.first_lines.get(tile) + from
}

/// The most bytes in which a thread looks for the other end of a line. Longer lines that are no containers
/// are suspected.
const SEARCHED: PartOffset = 256;

/// The ends of lines, where a thread looks at bytes of the text.
struct Ends<'a> {
    text: View<'a, u8>,
    /// The length of the text.
    len: PartOffset,
}

impl Ends<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        self.text.get(at as usize)
    }

    /// Looks at a newline, a colon, or another byte below 0x20 outside strings. Returns false if the byte's
    /// line is suspect, and false if the line after it is.
    #[inline(always)]
    fn around(&self, at: PartOffset) -> (bool, bool) {
        match self.byte(at) {
            b'\n' => (self.ends_well(at), self.begins_well(at + 1)),
            b':' => (follows_quote(at, |at| self.byte(at)), true),
            byte => (is_space_below(byte), true),
        }
    }

    /// Returns false if the line that begins at `start` is suspect: it begins with no bracket, and it is not
    /// known to be a scalar without a fault.
    #[inline(always)]
    fn begins_well(&self, start: PartOffset) -> bool {
        let mut first = start;
        while first < self.len && self.byte(first) != b'\n' && is_whitespace(self.byte(first)) {
            first += 1;
        }
        if first >= self.len || matches!(self.byte(first), b'{' | b'[' | b'\n') {
            return true;
        }
        let (mut end, most) = (first, self.len.min(first + SEARCHED));
        while end < most && self.byte(end) != b'\n' {
            end += 1;
        }
        let is_found = end == self.len || self.byte(end) == b'\n';
        is_found && scalar_fault(first, end, |at| self.byte(at)).is_none()
    }

    /// Returns false if the line that ends at `end` is suspect: it ends with no bracket, and it is not known
    /// to begin with none. [`begins_well`](Self::begins_well) decides about a line that begins with none.
    #[inline(always)]
    fn ends_well(&self, end: PartOffset) -> bool {
        let mut at = end;
        while at > 0 && self.byte(at - 1) != b'\n' && is_whitespace(self.byte(at - 1)) {
            at -= 1;
        }
        if at == 0 || matches!(self.byte(at - 1), b'}' | b']' | b'\n') {
            return true;
        }
        let (mut start, least) = (at, at.saturating_sub(SEARCHED));
        while start > least && self.byte(start - 1) != b'\n' {
            start -= 1;
        }
        let is_found = start == 0 || self.byte(start - 1) == b'\n';
        while is_whitespace(self.byte(start)) {
            start += 1;
        }
        is_found && !matches!(self.byte(start), b'{' | b'[')
    }
}
