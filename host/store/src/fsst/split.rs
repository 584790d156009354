//! The positions at which decoding of a long stream of codes can begin.

use warpath_shared::fsst::{CodeFault, SPLIT_CODES, Split, Table};

use super::decompress::{has_escape, has_unknown, literals, worths};

/// Returns the splits of a stream of codes, one for every [`SPLIT_CODES`] codes or part of them. Also returns
/// the length in bytes of the decoded stream.
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

/// Returns the sum of the lengths of eight codes.
#[inline(always)]
fn sum(worths: &[u32; 512], word: u64, literals: usize) -> u32 {
    (0..8).map(|at| worths[word as usize >> (8 * at) & 0xff | (literals >> at & 1) << 8]).sum()
}

/// Returns the first fault from a step on. There must be one.
#[cold]
fn first_fault(table: &Table, codes: &[u8], mut at: usize) -> CodeFault {
    loop {
        match table.step(codes, at) {
            Ok((_, _, taken)) => at += taken,
            Err(fault) => return fault,
        }
    }
}
