//! The bytes in strings.

/// Returns a word whose bit *i* is the exclusive or of bits 0 to *i*.
///
/// ```text
/// quotes        . . 1 . . 1 . 1 . 1
/// prefix_xor    . . 1 1 1 . . 1 1 .      1 from an opening quote up to, not including, its closing one
/// ```
#[inline(always)]
pub const fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    bits
}

/// The string bits of one word, and the newlines at which a string was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strings {
    /// The string bitmap's word.
    pub string: u64,
    /// The newlines at which a string was open. Each of them closes its string.
    pub unclosed: u64,
}

/// Returns the string bits of a word with unescaped quotes `quote` and newlines `newline`.
///
/// `prefix` is [`prefix_xor`] or a faster equivalent. On entry, `open` says if a string is open before the
/// word. On return, it says if one is open after the word. A newline within a string acts as a closing quote.
/// Well-formed text has no such newline, so the loop below runs once. Each unclosed string of the word costs
/// one more turn.
#[inline(always)]
pub fn strings(quote: u64, newline: u64, open: &mut bool, prefix: impl Fn(u64) -> u64) -> Strings {
    let mut string = prefix(quote) ^ (*open as u64).wrapping_neg();
    let mut unclosed = 0;
    loop {
        let broken = string & newline;
        if broken == 0 {
            break;
        }
        // The first such newline closes its string, so all bits from there on flip. Later newlines are
        // checked again.
        let first = broken & broken.wrapping_neg();
        unclosed |= first;
        string ^= first.wrapping_neg();
    }
    *open = string >> 63 == 1;
    Strings { string, unclosed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newline_closes_a_string() {
        let mut seed = 7u64;
        for round in 0..20_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let quote = seed & (seed >> 9) & (seed << 21);
            let newline = !quote & (seed >> 3) & (seed << 13) & (seed.rotate_left(31));
            let start = round & 1 == 1;
            let (mut want, mut unclosed, mut inside) = (0u64, 0u64, start);
            for i in 0..64 {
                let bit = 1u64 << i;
                if newline & bit != 0 {
                    unclosed |= if inside { bit } else { 0 };
                    inside = false;
                } else if quote & bit != 0 {
                    inside = !inside;
                }
                want |= if inside { bit } else { 0 };
            }
            let mut open = start;
            let got = strings(quote, newline, &mut open, prefix_xor);
            assert_eq!(got, Strings { string: want, unclosed });
            assert_eq!(open, inside);
        }
    }
}
