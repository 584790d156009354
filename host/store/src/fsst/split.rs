//! Where decoding can begin in a long stream of codes.

use warpath_shared::fsst::{CodeFault, SPLIT_CODES, Split, Table};

use super::decompress::{has_escape, has_unknown, literals, worths};

/// The splits of a stream of codes, one for each [`SPLIT_CODES`] of them that begin, and how many bytes its string has.
///
/// # Errors
/// [`CodeFault::Escape`] and [`CodeFault::Unknown`].
pub fn splits(table: &Table, codes: &[u8]) -> Result<(Vec<Split>, u64), CodeFault> {
    let worths = worths(table);
    let mut splits = Vec::with_capacity(codes.len().div_ceil(SPLIT_CODES));
    let (mut offset, mut pending) = (0, false);
    for (block, codes_here) in codes.chunks(SPLIT_CODES).enumerate() {
        splits.push(Split::new(offset + u64::from(pending), pending));
        let began_pending = pending;
        let (words, rest) = codes_here.as_chunks::<8>();
        let mut worth = 0;
        for word in words {
            let word = u64::from_le_bytes(*word);
            let literals = if has_escape(word) || pending { literals(word, &mut pending) } else { 0 };
            worth += sum(&worths, word, literals);
        }
        for code in rest {
            worth += worths[usize::from(*code) | usize::from(pending) << 8];
            pending = !pending && *code == u8::MAX;
        }
        if has_unknown(worth) {
            let from = block * SPLIT_CODES - usize::from(began_pending);
            return Err(first_fault(table, codes, from));
        }
        offset += u64::from(worth);
    }
    if pending { Err(CodeFault::Escape(codes.len() - 1)) } else { Ok((splits, offset)) }
}

/// What eight codes are worth.
#[inline(always)]
fn sum(worths: &[u32; 512], word: u64, literals: usize) -> u32 {
    (0..8).map(|at| worths[word as usize >> (8 * at) & 0xff | (literals >> at & 1) << 8]).sum()
}

/// The first fault there is from a step on. One is there.
#[cold]
fn first_fault(table: &Table, codes: &[u8], mut at: usize) -> CodeFault {
    loop {
        match table.step(codes, at) {
            Ok((_, _, taken)) => at += taken,
            Err(fault) => return fault,
        }
    }
}
