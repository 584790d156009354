//! Short pieces of bytes, compared and copied without calls. Most literals and many strings have less than 32
//! bytes.

/// The eight bytes at the start of a text, the first in the lowest byte. Bytes after the end are 0.
#[inline(always)]
pub(super) fn word(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Classes of the bytes of a long piece, which the compiler finds by vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classes {
    /// True if a byte may not be in a string as it is.
    pub(super) special: bool,
    /// True if a byte is above 0x7f.
    pub(super) high: bool,
    /// True if a byte is `/`.
    pub(super) slash: bool,
}

/// Bytes of a long piece.
pub(super) const LONG: usize = 32;

/// The classes of the bytes of a piece.
#[inline(always)]
pub(super) fn classes(piece: &[u8; LONG]) -> Classes {
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let any = |class: fn(u8) -> u8| piece.iter().fold(0, |any, byte| any | class(*byte));
    Classes {
        special: piece.iter().fold(false, |any, byte| any | special(*byte)),
        high: any(|byte| byte) >= 0x80,
        slash: any(|byte| u8::from(byte == b'/')) != 0,
    }
}

/// Appends the first `len` bytes of a text, which may have more.
#[inline(always)]
pub(super) fn append(text: &[u8], len: usize, out: &mut Vec<u8>) {
    match text.first_chunk::<LONG>() {
        // A fixed number of bytes is copied without a call.
        Some(piece) if len <= LONG => {
            let end = out.len() + len;
            out.extend_from_slice(piece);
            out.truncate(end);
        }
        _ => out.extend_from_slice(&text[..len.min(text.len())]),
    }
}

/// Returns true if two texts begin with the same `len` bytes. `one` is not shorter, and both may have more.
#[inline(always)]
pub(super) fn begin_alike(one: &[u8], other: &[u8], len: usize) -> bool {
    let sixteen = |text: &[u8], at: usize| {
        let piece = text.get(at..)?.first_chunk()?;
        Some(u128::from_le_bytes(*piece))
    };
    let pieces = |at| Some((sixteen(one, at)?, sixteen(other, at)?));
    match len {
        0 => true,
        1..=16 if let Some((one, other)) = pieces(0) => (one ^ other) << (128 - 8 * len) == 0,
        17..=32 if let (Some(first), Some(last)) = (pieces(0), pieces(len - 16)) => {
            first.0 == first.1 && last.0 == last.1
        }
        _ => other.starts_with(&one[..len.min(one.len())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_each_byte() {
        for byte in 0..=255_u8 {
            for at in 0..LONG {
                let mut piece = [b'a'; LONG];
                piece[at] = byte;
                let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(classes(&piece), Classes { special, high: byte > 0x7f, slash: byte == b'/' });
            }
        }
    }

    #[test]
    fn pieces_of_all_lengths() {
        let text: Vec<u8> = (1..=64).collect();
        for (begin, end) in (0..64).flat_map(|begin| (begin..=64).map(move |end| (begin, end))) {
            let piece = &text[begin..end];
            let mut bytes = [0; 8];
            bytes[..piece.len().min(8)].copy_from_slice(&piece[..piece.len().min(8)]);
            assert_eq!(word(piece), u64::from_le_bytes(bytes));
            for len in 0..=piece.len() {
                let mut out = vec![7];
                append(piece, len, &mut out);
                assert_eq!(out, [&[7], &piece[..len]].concat());
                assert!(begin_alike(piece, piece, len) && begin_alike(piece, &piece[..len], len));
                for wrong in [0, len / 2, len.saturating_sub(1)] {
                    let mut other = piece.to_vec();
                    other.iter_mut().skip(wrong).take(1).for_each(|byte| *byte += 100);
                    assert_eq!(begin_alike(piece, &other, len), wrong >= len, "{begin} {end} {len}");
                }
                assert!(len == 0 || !begin_alike(piece, &piece[..len - 1], len));
            }
        }
    }
}
