//! A walk over Thrift's compact form, which finds counts that readers would allocate memory for.

/// Structures and lists within each other. Parquet's structures are not so deep.
const MAX_DEPTH: u32 = 16;

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// A number of seven bits a byte, the lowest first.
pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let digit = byte(rest)?;
        number |= u64::from(digit & 0x7f) << shift;
        if digit & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

pub(super) fn skip_bytes(rest: &mut &[u8], len: u64) -> Option<()> {
    *rest = rest.get(usize::try_from(len).ok()?..)?;
    Some(())
}

/// Skips a structure in Thrift's compact form, and gives its integers to `take`, and those of the structures
/// in it: the field of such a structure, or 0, and their own field.
pub(super) fn skip_struct(rest: &mut &[u8], take: &mut dyn FnMut(u8, u8, i64)) -> Option<()> {
    skip_fields(rest, 0, 0, take)
}

fn skip_fields(rest: &mut &[u8], outer: u8, depth: u32, take: &mut dyn FnMut(u8, u8, i64)) -> Option<()> {
    let mut field = 0_u8;
    loop {
        let header = byte(rest)?;
        if header == 0 {
            return Some(());
        }
        field = match header >> 4 {
            0 => u8::try_from(varint(rest)? >> 1).ok()?,
            delta => field.checked_add(delta)?,
        };
        match header & 0xf {
            kind @ 4..=6 => {
                let number = varint(rest)?;
                // Zigzag: the lowest bit is the sign. Other types than i32 are no sizes of a page.
                let number = (number >> 1) as i64 ^ -((number & 1) as i64);
                take(outer, if kind == 5 { field } else { 0 }, number);
            }
            12 if depth == 0 => skip_fields(rest, field, 1, take)?,
            kind => skip(rest, kind, depth)?,
        }
    }
}

fn skip(rest: &mut &[u8], kind: u8, depth: u32) -> Option<()> {
    if depth >= MAX_DEPTH {
        return None;
    }
    match kind {
        1 | 2 => Some(()),
        3 => skip_bytes(rest, 1),
        4..=6 => varint(rest).map(|_| ()),
        7 => skip_bytes(rest, 8),
        8 => {
            let len = varint(rest)?;
            skip_bytes(rest, len)
        }
        9 | 10 => {
            let header = byte(rest)?;
            let count = match header >> 4 {
                15 => varint(rest)?,
                count => count.into(),
            };
            // Each element takes at least a byte. Readers allocate memory for the count before they read on.
            if count > rest.len() as u64 {
                return None;
            }
            // Booleans of a list take a byte each, unlike those of a structure.
            let kind = if matches!(header & 0xf, 1 | 2) { 3 } else { header & 0xf };
            (0..count).try_for_each(|_| skip(rest, kind, depth + 1))
        }
        12 => skip_fields(rest, 0, depth + 1, &mut |_, _, _| {}),
        // Parquet has no maps.
        _ => None,
    }
}
