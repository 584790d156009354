//! The text of a partition, as one thread reads it.

use cuda_std::bits::funnel_shift_right;
use cuda_std::warp::{activemask, warp_vote_any};
use cuda_std::wide::{load_readonly_8, load_readonly_32};
use warpath_shared::query::document::Text;
use warpath_shared::units::PartOffset;
use warpath_shared::view::View;

/// The text of a partition. Its layout is that of
/// [`LineStatesArgs::text`](warpath_shared::kernel::LineStatesArgs::text): 16-byte aligned, whole tiles. No
/// kernel writes to the text while queries run.
#[derive(Clone, Copy)]
pub struct PartText<'a>(pub View<'a, u8>);

impl Text for PartText<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        // SAFETY: `View::at` checks the range. The launch writes no text: the host lends it to query kernels
        // as a read-only view.
        unsafe { load_readonly_8(self.0.at(at as usize, 1)) }
    }

    #[inline(always)]
    fn together(&self) -> u32 {
        activemask()
    }

    #[inline(always)]
    fn any(&self, together: u32, holds: bool) -> bool {
        // SAFETY: `together` is the active mask before a loop (see [`Text::together`]). `Text::any` requires
        // that each of its threads calls `any` after that loop, or as often as the others within it. The
        // caller, `find_gap`, does so: only the common result of `any` ends its loops.
        unsafe { warp_vote_any(together, holds) }
    }

    /// ```text
    /// text        ..,"u|ser"|:{"n      three loads, of which two at a time are shifted together
    /// literal        "use|r":.
    /// ```
    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        let (from, shift) = (at & !3, at % 4 * 8);
        // Bytes that are loaded after the end of the text are shifted out again.
        let last = self.0.len() as u32 - 4;
        let text = |i: u32| {
            // SAFETY: `View::at` checks the range. The text is 16-byte aligned, and `from + i` and `last` are
            // multiples of 4, because the host pads the text to whole tiles. The launch writes no text.
            unsafe { load_readonly_32(self.0.at((from + i).min(last) as usize, 4).cast()) }
        };
        let mut low = text(0);
        let mut i = 0;
        loop {
            let high = text(i + 4);
            // SAFETY: `View::at` checks the range. The compiler of queries pads literals to four bytes and
            // the buffer is aligned, so `offset + i` is a multiple of 4. No kernel writes to literals.
            let wanted = unsafe { load_readonly_32(literals.at((offset + i) as usize, 4).cast()) };
            let different = funnel_shift_right(low, high, shift) ^ wanted;
            i += 4;
            if i >= len {
                return different << (8 * (i - len)) == 0;
            }
            if different != 0 {
                return false;
            }
            low = high;
        }
    }
}
