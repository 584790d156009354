//! The bytes that follow an odd run of backslashes.

const EVEN: u64 = 0x5555_5555_5555_5555;

/// Returns the bytes that follow an odd run of backslashes, for the backslashes of one word.
///
/// On entry, `pending` says if the byte before the word ended an odd run. On return, `pending` says if the
/// word's last byte does. Backslashes count in strings and outside them. A newline after an odd run is itself
/// the escaped byte, so no run crosses a line.
///
/// ```text
/// text         a \ " b \ \ " \ \ \ " c        (bit 0 at the left)
/// backslash    . 1 . . 1 1 . 1 1 1 . .
/// run starts   . 1 . . 1 . . 1 . . . .        even: the one at 4; odd: those at 1 and 7
/// + even       . . . . . . 1 . . . . .        adding a start to its run carries out at the run's end;
/// + odd        . . 1 . . . . . . . 1 .        parity of start and end differ exactly for odd runs
/// escaped      . . 1 . . . . . . . 1 .
/// ```
#[inline(always)]
pub fn escaped(backslash: u64, pending: &mut bool) -> u64 {
    let carry = *pending as u64;
    // An escaped backslash does not start a run.
    let runs = backslash & !carry;
    let starts = runs & !(runs << 1);
    let even_ends = runs.wrapping_add(starts & EVEN) & !runs;
    let odd_ends = runs.wrapping_add(starts & !EVEN) & !runs;
    *pending = runs.leading_ones() & 1 == 1;
    // A carry into a backslash escapes that backslash, so its bit is set too. `carry & !backslash` would
    // clear the bit, but no caller reads it.
    (even_ends & !EVEN) | (odd_ends & EVEN) | carry
}

/// Returns the backslashes that begin an escape, for the backslashes of 32 bytes: those that are not escaped
/// themselves.
///
/// `pending` says on entry if the byte before begins an escape, and on return if the last byte does.
///
/// ```text
/// text         a \ " b \ \ " \ \ \ "    (bit 0 at the left)
/// backslash    . 1 . . 1 1 . 1 1 1 .
/// starts       . 1 . . 1 . . 1 . 1 .
/// ```
///
/// The subtraction borrows through each run of backslashes, and leaves every second bit of the run. The odd
/// bits are set before it, and flipped after it, so that runs that begin at odd and at even bits come out
/// alike. The method is simdjson's (`json_escape_scanner.h`).
#[inline(always)]
pub fn starts(backslash: u32, pending: &mut bool) -> u32 {
    const ODD: u32 = 0xaaaa_aaaa;
    // An escaped backslash begins nothing.
    let runs = backslash & !(*pending as u32);
    let starts = ((runs << 1 | ODD).wrapping_sub(runs) ^ ODD) & runs;
    *pending = starts >> 31 == 1;
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(text: &[u8], mut pending: bool) -> (u64, bool) {
        let mut bits = 0;
        for (i, byte) in text.iter().enumerate() {
            let escaped = pending;
            bits |= (escaped as u64) << i;
            pending = *byte == b'\\' && !escaped;
        }
        (bits, pending)
    }

    #[test]
    fn starts_of_runs_of_every_length_at_every_offset() {
        for pending in [false, true] {
            for start in 0..32 {
                for len in 0..=32 - start {
                    for second in [0u32, 0x8000_0000, 0x00f0_0d01, 0xe000_0000] {
                        let run = ((1u64 << len) - 1) << start;
                        let backslash = run as u32 | second;
                        let (mut want, mut escaped) = (0, pending);
                        for i in 0..32 {
                            let is_start = backslash >> i & 1 == 1 && !escaped;
                            want |= u32::from(is_start) << i;
                            escaped = is_start;
                        }
                        let mut got = pending;
                        assert_eq!(starts(backslash, &mut got), want, "{backslash:032b} {pending}");
                        assert_eq!(got, escaped, "{backslash:032b} {pending}");
                    }
                }
            }
        }
    }

    #[test]
    fn runs_of_every_length_at_every_offset() {
        for pending in [false, true] {
            for start in 0..64 {
                for len in 0..=64 - start {
                    for second in [0u64, 0x8000_0000_0000_0000, 0x00f0_0000_0d00_0001] {
                        let run = if len == 64 { !0 } else { ((1u64 << len) - 1) << start };
                        let backslash = run | second;
                        let text: std::vec::Vec<u8> =
                            (0..64).map(|i| if backslash >> i & 1 == 1 { b'\\' } else { b'x' }).collect();
                        let (want, want_pending) = naive(&text, pending);
                        let mut got_pending = pending;
                        let got = escaped(backslash, &mut got_pending);
                        // Callers read only the bits of bytes that are not backslashes.
                        assert_eq!(got & !backslash, want & !backslash, "{backslash:064b} {pending}");
                        assert_eq!(got_pending, want_pending, "{backslash:064b} {pending}");
                    }
                }
            }
        }
    }
}
