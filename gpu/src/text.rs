//! A partition's text as one thread reads it.

use cuda_std::bits::funnel_shift_right;
use cuda_std::warp::{activemask, warp_vote_any};
use cuda_std::wide::{load_readonly_8, load_readonly_32};
use warpath_shared::query::document::Text;
use warpath_shared::units::PartOffset;
use warpath_shared::view::View;

/// The text of a partition, of four bytes at least, to which nobody writes while queries run.
#[derive(Clone, Copy)]
pub struct PartText<'a>(pub View<'a, u8>);

impl Text for PartText<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        // SAFETY: `at` is checked, and no query kernel writes to a text.
        unsafe { load_readonly_8(self.0.at(at as usize, 1)) }
    }

    #[inline(always)]
    fn together(&self) -> u32 {
        activemask()
    }

    #[inline(always)]
    fn any(&self, together: u32, holds: bool) -> bool {
        // SAFETY: these threads were together before a loop, and each asks behind it, or as often as the others within it.
        unsafe { warp_vote_any(together, holds) }
    }

    /// ```text
    /// text        ..,"u|ser"|:{"n      three loads, of which two at a time are shifted together
    /// literal        "use|r":.
    /// ```
    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        let (from, shift) = (at & !3, at % 4 * 8);
        // What is loaded behind the last bytes is shifted out again.
        let last = self.0.len() as u32 - 4;
        let text = |i: u32| {
            // SAFETY: the range is checked; texts are aligned, and no query kernel writes to one.
            unsafe { load_readonly_32(self.0.at((from + i).min(last) as usize, 4).cast()) }
        };
        let mut low = text(0);
        let mut i = 0;
        loop {
            let high = text(i + 4);
            // SAFETY: literals are padded to four bytes, aligned, and no kernel writes to them.
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
