//! The structural index: newline index, string bitmap and leveled bitmaps, one 64-byte word at a time.
//!
//! Bitmaps are little-endian `u64` words: bit *i* of word *w* speaks of byte *64w + i*, and bits past
//! the end are zero. A newline ends everything: string state and depth start anew on each line.
//!
//! ```text
//! text      {"a":[1,"x\"],"],"b":{}}⏎
//! string     ■■  . .  ■■■■■■ ■■            1 from an opening quote up to, not including, the closing one
//! level 0   ■   ■           ■   ■  ■       the root's brackets, and its : and ,
//! level 1       .■ ■       ■     ■■        the brackets, : and , of the containers inside it
//! ```
//!
//! | module | rule |
//! |---|---|
//! | [`class`] | which bytes of a word are quotes, backslashes, newlines, brackets, separators |
//! | [`escape`] | which bytes follow an odd run of backslashes |
//! | [`string`] | which bytes lie in strings |
//! | [`line`](mod@line) | what a stretch of text does to the state at its left: a [`Monoid`] |
//! | [`loose`] | in which lines names can be found by how long they are |
//! | [`level`] | which container each structural byte belongs to, and whether bracket kinds match |

pub mod class;
pub mod escape;
pub mod level;
pub mod line;
pub mod loose;
pub mod string;

/// An associative operation with an identity, over which kernels scan.
///
/// `Default` is the identity, and `combine` is associative: `a.combine(b).combine(c)` equals
/// `a.combine(b.combine(c))`. It need not commute: `self` lies to the left of `right` in the text.
/// Both laws are property-tested for every implementation.
pub trait Monoid: Copy + Default {
    /// What `self` followed by `right` amounts to.
    #[must_use]
    fn combine(self, right: Self) -> Self;
}

impl Monoid for u32 {
    /// Addition, wrapping: what is counted in 32 bits is bounded by the size of a partition.
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        self.wrapping_add(right)
    }
}

impl Monoid for u64 {
    /// Addition, wrapping: counts whose sum does not fit are excluded by the size of a partition.
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        self.wrapping_add(right)
    }
}
