//! Encodings of integers in Parquet: runs and packed bits, and packed differences.
//!
//! The formats are those of the specification, "Encodings", sections "Run Length Encoding / Bit-Packing
//! Hybrid" and "Delta Encoding".

/// Values that are packed together. Each takes the same number of bits, so a group ends with a byte.
const GROUP: usize = 8;
/// The differences of a block share a least difference. The differences of a part share a width.
const BLOCK: usize = 128;
const PART: usize = 32;

/// The number of bits of a value.
pub fn width(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Appends an integer of variable length, seven bits a byte, lowest first.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed integer, whose sign becomes the lowest bit.
fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63) as u64, out);
}

/// Appends values of `width` bits, at most 32. The last byte is filled with zeros.
fn pack(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0_u64, 0);
    for value in values {
        bits |= u64::from(*value) << filled;
        filled += width;
        if filled >= u32::BITS {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= u32::BITS;
            filled -= u32::BITS;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes()[..filled.div_ceil(u8::BITS) as usize]);
}

/// Appends values of `width` bits, at most 64. The last byte is filled with zeros.
fn pack_long(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0_u128, 0);
    for value in values {
        bits |= u128::from(*value) << filled;
        filled += width;
        if filled >= u64::BITS {
            out.extend_from_slice(&(bits as u64).to_le_bytes());
            bits >>= u64::BITS;
            filled -= u64::BITS;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes()[..filled.div_ceil(u8::BITS) as usize]);
}

/// Appends a run of equal values.
pub fn run(value: u32, len: usize, width: u32, out: &mut Vec<u8>) {
    varint((len as u64) << 1, out);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(u8::BITS) as usize]);
}

/// Appends groups of packed values. Only the last group of all values may be short.
fn groups(values: &[u32], width: u32, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    pack(values, width, out);
    out.resize(end, 0);
}

/// Appends values of `width` bits as runs, where eight values or more are equal, and as groups.
pub fn hybrid(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut at, mut packed_to) = (0, 0);
    while let Some((first, group)) = values[at..].first_chunk::<GROUP>().map(|group| (group[0], group)) {
        if group.iter().any(|value| *value != first) {
            at += GROUP;
            continue;
        }
        groups(&values[packed_to..at], width, out);
        let len = values[at..].iter().position(|value| *value != first).unwrap_or(values.len() - at);
        run(first, len, width, out);
        at += len;
        packed_to = at;
    }
    groups(&values[packed_to..], width, out);
}

/// Appends integers as packed differences.
pub fn differences(values: &[i64], out: &mut Vec<u8>) {
    varint(BLOCK as u64, out);
    varint((BLOCK / PART) as u64, out);
    varint(values.len() as u64, out);
    let Some((first, rest)) = values.split_first() else { return zigzag(0, out) };
    zigzag(*first, out);
    let mut before = *first;
    let mut block = [0_u64; BLOCK];
    for values in rest.chunks(BLOCK) {
        let mut least = i64::MAX;
        for (place, value) in block.iter_mut().zip(values) {
            let difference = value.wrapping_sub(before);
            before = *value;
            least = least.min(difference);
            *place = difference as u64;
        }
        let block = &mut block[..values.len()];
        block.iter_mut().for_each(|difference| *difference = difference.wrapping_sub(least as u64));
        zigzag(least, out);
        let widths = out.len();
        out.extend_from_slice(&[0; BLOCK / PART]);
        for (part, differences) in block.chunks(PART).enumerate() {
            let width = width(differences.iter().fold(0, |bits, difference| bits | difference));
            out[widths + part] = width as u8;
            // A part that has begun has all its values.
            let end = out.len() + PART * width as usize / 8;
            pack_long(differences, width, out);
            out.resize(end, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint_at(bytes: &mut &[u8]) -> u64 {
        let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
        let value = bytes[..=end].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
        *bytes = &bytes[end + 1..];
        value
    }

    fn zigzag_at(bytes: &mut &[u8]) -> i64 {
        let value = varint_at(bytes);
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    fn bits(bytes: &[u8], width: u32, at: usize) -> u64 {
        let bit = |bit: usize| u64::from(bytes[bit / 8] >> (bit % 8) & 1);
        (0..width as usize).fold(0, |value, i| value | bit(at * width as usize + i) << i)
    }

    /// Reads `len` values of [`hybrid`].
    fn read(mut bytes: &[u8], width: u32, len: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while !bytes.is_empty() {
            let head = varint_at(&mut bytes);
            let count = (head >> 1) as usize;
            let size = if head & 1 == 1 { count * width as usize } else { width.div_ceil(8) as usize };
            let (these, rest) = bytes.split_at(size);
            if head & 1 == 1 {
                values.extend((0..count * GROUP).map(|at| bits(these, width, at) as u32));
            } else {
                values.extend(vec![these.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b)); count]);
            }
            bytes = rest;
        }
        assert!(values.len() < len + GROUP);
        values.truncate(len);
        values
    }

    #[test]
    fn runs_and_groups_are_the_values() {
        for width in 0..=32 {
            let most = u32::MAX.checked_shr(32 - width).unwrap_or(0);
            for len in [0, 1, 7, 8, 9, 63, 200] {
                // Runs of one value to sixteen, and values that all differ.
                for run in [1, 3, 8, 9, 16, 1000] {
                    let value = |at: usize| ((at / run) as u32).wrapping_mul(0x9e37_79b1) & most;
                    let values: Vec<u32> = (0..len).map(value).collect();
                    let mut out = Vec::new();
                    hybrid(&values, width, &mut out);
                    assert_eq!(read(&out, width, len), values, "{width} {len} {run}");
                }
            }
        }
    }

    #[test]
    fn differences_are_those_of_the_values() {
        let cases: [Vec<i64>; 6] = [
            vec![],
            vec![5],
            (0..300).collect(),
            (0..129).map(|i| i * i * 1000 - i).collect(),
            vec![i64::MAX, i64::MIN, 0, -1, i64::MIN, i64::MAX],
            (0..161).map(|i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)).collect(),
        ];
        for values in cases {
            let mut out = Vec::new();
            differences(&values, &mut out);
            let mut bytes = &out[..];
            assert_eq!([varint_at(&mut bytes), varint_at(&mut bytes)], [128, 4]);
            assert_eq!(varint_at(&mut bytes), values.len() as u64);
            let mut read = vec![zigzag_at(&mut bytes)];
            while read.len() < values.len() {
                let least = zigzag_at(&mut bytes);
                let (widths, mut rest) = bytes.split_at(4);
                for width in widths.iter().map(|width| u32::from(*width)) {
                    let left = (values.len() - read.len()).min(PART);
                    let Some(before) = (left > 0).then(|| read[read.len() - 1]) else { break };
                    let mut value = before;
                    for at in 0..left {
                        value = value.wrapping_add(least).wrapping_add(bits(rest, width, at) as i64);
                        read.push(value);
                    }
                    rest = &rest[width as usize * PART / 8..];
                }
                bytes = rest;
            }
            assert!(bytes.is_empty());
            assert_eq!(read[..values.len()], values[..]);
        }
    }
}
