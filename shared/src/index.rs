//! The structural index: newline index, string bitmap and leveled bitmaps, one 64-byte word at a time.
//!
//! Bitmaps are little-endian `u64` words. Bit *i* of word *w* is for byte *64w + i*, and bits after the end
//! are zero. A newline resets everything: the string state and the depth start anew on each line.
//!
//! ```text
//! text      {"a":[1,"x\"],"],"b":{}}⏎
//! string     ■■  . .  ■■■■■■ ■■            1 from an opening quote up to, not including, the closing one
//! level 0   ■   ■           ■   ■  ■       the root's brackets, and its : and ,
//! level 1       .■ ■       ■     ■■        the brackets, : and , of the containers inside it
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`class`] | the classes of bytes: quotes, backslashes, newlines, brackets, separators |
//! | [`escape`] | the bytes that follow an odd run of backslashes |
//! | [`string`] | the bytes in strings |
//! | [`line`](mod@line) | the effect of a stretch of text on the state at its left: a [`Monoid`] |
//! | [`loose`] | the lines in which names cannot be found by their lengths |
//! | [`level`] | the container of each structural byte, and the check that bracket kinds match |

pub mod class;
pub mod escape;
pub mod level;
pub mod line;
pub mod loose;
pub mod string;

/// An associative operation with an identity, over which kernels scan.
///
/// `Default` is the identity, and `combine` is associative: `a.combine(b).combine(c)` equals
/// `a.combine(b.combine(c))`. The operation need not commute: `self` lies to the left of `right` in the text.
/// Both laws are property-tested for every implementation.
pub trait Monoid: Copy + Default {
    /// Returns the effect of `self` followed by `right`.
    #[must_use]
    fn combine(self, right: Self) -> Self;
}

impl Monoid for u32 {
    /// Addition, wrapping. The size of a partition bounds all counts of 32 bits.
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        self.wrapping_add(right)
    }
}

impl Monoid for u64 {
    /// Addition, wrapping. The size of a partition rules out an overflow.
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        self.wrapping_add(right)
    }
}
