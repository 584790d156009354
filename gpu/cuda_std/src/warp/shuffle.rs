//! Shuffles: each lane reads a register of another lane.

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics as device;
#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator;

/// The rule by which a shuffle finds the lane that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarpShuffleMode {
    /// A given lane of the segment.
    Idx,
    /// The lane `delta` below.
    Up,
    /// The lane `delta` above.
    Down,
    /// The lane whose number is this lane's number xor a mask.
    Xor,
}

mod sealed {
    pub trait Sealed {}
}

/// A value of at most 64 bits that a shuffle can carry. Values over 32 bits travel as two shuffles.
pub trait WarpShuffleValue: Copy + sealed::Sealed {
    /// Set if the value fills more than 32 bits.
    #[doc(hidden)]
    const WIDE: bool;
    /// The value's bits, zero-extended.
    #[doc(hidden)]
    fn to_word(self) -> u64;
    /// The value with these low bits.
    #[doc(hidden)]
    fn from_word(word: u64) -> Self;
}

macro_rules! shuffle_value {
    ($($ty:ty: |$value:ident| $to:expr, |$word:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl WarpShuffleValue for $ty {
            const WIDE: bool = size_of::<$ty>() > 4;
            #[inline(always)]
            fn to_word(self) -> u64 {
                let $value = self;
                $to
            }
            #[inline(always)]
            fn from_word($word: u64) -> Self {
                $from
            }
        }
    )*};
}

shuffle_value! {
    u8: |v| v.into(), |w| w as u8;
    u16: |v| v.into(), |w| w as u16;
    u32: |v| v.into(), |w| w as u32;
    u64: |v| v, |w| w;
    usize: |v| v as u64, |w| w as usize;
    i8: |v| (v as u8).into(), |w| w as i8;
    i16: |v| (v as u16).into(), |w| w as i16;
    i32: |v| (v as u32).into(), |w| w as i32;
    i64: |v| v as u64, |w| w as i64;
    f32: |v| v.to_bits().into(), |w| f32::from_bits(w as u32);
    f64: |v| v.to_bits(), |w| f64::from_bits(w);
    bool: |v| v.into(), |w| w != 0;
}

/// Reads the value of the lane `delta` below this one.
///
/// The warp is divided into segments of `width` lanes, a power of two up to 32; `delta` is below 32. If the
/// lane to read is in another segment, the result is this lane's own value and `false`. Otherwise it is the
/// other lane's value and `true`.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives). Also `width` must be a power of two
/// from 1 to 32, the same in all lanes. A lane that is read must be in `mask`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller guarantees the contract of `shuffle`: mask, lane operand and width.
    unsafe { shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
}

/// Reads the value of the lane `delta` above this one. Segments and result are those of [`warp_shuffle_up`].
///
/// # Safety
///
/// The contract of [`warp_shuffle_up`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller guarantees the contract of `shuffle`: mask, lane operand and width.
    unsafe { shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
}

/// Reads the value of the lane whose number is this lane's number xor `lane_mask`.
///
/// A lane may read from its own segment and from the segments below. A lane that would read from a segment
/// above gets its own value and `false`.
///
/// # Safety
///
/// The contract of [`warp_shuffle_up`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: the caller guarantees the contract of `shuffle`: mask, lane operand and width.
    unsafe { shuffle(WarpShuffleMode::Xor, mask, value, lane_mask, width) }
}

/// Reads the value of lane `idx` of this lane's segment, modulo `width`. The flag is always `true`.
///
/// # Safety
///
/// The contract of [`warp_shuffle_up`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, idx: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller guarantees the contract of `shuffle`: mask, lane operand and width.
    unsafe { shuffle(WarpShuffleMode::Idx, mask, value, idx, width) }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn shuffle<T: WarpShuffleValue>(
    mode: WarpShuffleMode,
    mask: u32,
    value: T,
    operand: u32,
    width: u32,
) -> (T, bool) {
    // PTX packs the segment mask (the lane bits that name the segment) above the clamp (the last lane to
    // read).
    let clamp = if matches!(mode, WarpShuffleMode::Up) { 0 } else { 0x1f };
    let control = (32 - width) << 8 | clamp;
    let one = |word: u32| {
        // SAFETY: the caller guarantees mask, operand and width.
        unsafe {
            match mode {
                WarpShuffleMode::Up => device::shuffle_up(mask, word, operand, control),
                WarpShuffleMode::Down => device::shuffle_down(mask, word, operand, control),
                WarpShuffleMode::Xor => device::shuffle_xor(mask, word, operand, control),
                WarpShuffleMode::Idx => device::shuffle_idx(mask, word, operand, control),
            }
        }
    };
    let word = value.to_word();
    let (low, inside) = one(word as u32);
    if T::WIDE {
        let (high, _) = one((word >> 32) as u32);
        (T::from_word(u64::from(high) << 32 | u64::from(low)), inside)
    } else {
        (T::from_word(low.into()), inside)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline]
#[track_caller]
unsafe fn shuffle<T: WarpShuffleValue>(
    mode: WarpShuffleMode,
    mask: u32,
    value: T,
    operand: u32,
    width: u32,
) -> (T, bool) {
    let (word, inside) = emulator::warp_shuffle(mode, T::WIDE, mask, value.to_word(), operand, width);
    (T::from_word(word), inside)
}
