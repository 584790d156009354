//! Bit operations that are one instruction of the hardware. They involve no other thread and work in any
//! code.

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics as device;

/// Builds a word from four bytes picked out of eight: PTX's `prmt`.
///
/// Bytes 0 to 3 are those of `a`, bytes 4 to 7 those of `b`, least significant first. Nibble *i* of
/// `selector` picks byte *i* of the result. If the nibble's high bit is set, the sign bit of the picked byte
/// fills the whole byte instead.
///
/// ```
/// use cuda_std::bits::byte_permute;
/// assert_eq!(byte_permute(0x3322_1100, 0x7766_5544, 0x7250), 0x7722_5500);
/// assert_eq!(byte_permute(0x0000_8001, 0, 0x9810), 0xff00_8001);
/// ```
#[inline(always)]
#[must_use]
pub fn byte_permute(a: u32, b: u32, selector: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::prmt(a, b, selector);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let bytes = u64::from(b) << 32 | u64::from(a);
        let mut result = 0;
        for i in 0..4 {
            let nibble = selector >> (4 * i) & 0xf;
            let byte = (bytes >> (8 * (nibble & 7))) as u8;
            let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
            result |= u32::from(byte) << (8 * i);
        }
        result
    }
}

/// The upper word of `hi:lo` shifted left by `shift` modulo 32: PTX's `shf.l.wrap`.
///
/// ```
/// use cuda_std::bits::funnel_shift_left;
/// assert_eq!(funnel_shift_left(0x8000_0000, 0x1, 1), 0x3);
/// ```
#[inline(always)]
#[must_use]
pub fn funnel_shift_left(lo: u32, hi: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::fshl(hi, lo, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return ((u64::from(hi) << 32 | u64::from(lo)) << (shift & 31) >> 32) as u32;
}

/// The lower word of `hi:lo` shifted right by `shift` modulo 32: PTX's `shf.r.wrap`.
///
/// ```
/// use cuda_std::bits::funnel_shift_right;
/// assert_eq!(funnel_shift_right(0x8000_0000, 0x1, 1), 0xc000_0000);
/// ```
#[inline(always)]
#[must_use]
pub fn funnel_shift_right(lo: u32, hi: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::fshr(hi, lo, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return ((u64::from(hi) << 32 | u64::from(lo)) >> (shift & 31)) as u32;
}

/// Any bitwise function of three words, given by its truth table: PTX's `lop3`.
///
/// Bit *4a + 2b + c* of `LUT` is the result for the bits *a*, *b*, *c*. So the table of a formula is the
/// formula applied to 0xF0, 0xCC and 0xAA:
/// ```
/// use cuda_std::bits::lop3;
/// const SELECT: u8 = (0xF0 & 0xCC) | (!0xF0 & 0xAA); // a ? b : c
/// assert_eq!(lop3::<SELECT>(0xffff_0000, 0x1234_5678, 0x9abc_def0), 0x1234_def0);
/// ```
#[inline(always)]
#[must_use]
pub fn lop3<const LUT: u8>(a: u32, b: u32, c: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result: u32;
        // SAFETY: the instruction reads and writes registers only.
        unsafe {
            core::arch::asm!(
                "lop3.b32 {}, {}, {}, {}, {};",
                out(reg32) result, in(reg32) a, in(reg32) b, in(reg32) c, const LUT,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let mut result = 0;
        for row in 0..8 {
            if LUT >> row & 1 != 0 {
                let pick = |word: u32, bit: u32| if row & bit != 0 { word } else { !word };
                result |= pick(a, 4) & pick(b, 2) & pick(c, 1);
            }
        }
        result
    }
}
