//! The construction of a column: a table trained on a sample, and compression on all cores.
//!
//! The strings alone determine the cuts between fragments of work, so the column is the same for any number
//! of cores. A fragment is some strings, or a part of a long one. The codes of consecutive parts are together
//! the codes of the whole.
//!
//! ```text
//! strings   │ a │ b │ c │           d           │ e │ …
//! fragments └──── 0 ────┘└ 1 ┘└ 2 ┘└ 3 ┘└── 4 ──┘└── 5 …
//! ```
//!
//! The start of each fragment is known in the codes and in the strings. So splits cost little: a split is
//! only a few codes after the start of the string that contains it.

use std::ops::Range;

use warpath_core::error::{ColumnError, Error};
use warpath_core::pool;
use warpath_shared::fsst::{CodeFault, SPLIT_CODES, Split, Table};

use super::super::{Compressor, Offset, SEGMENT_BYTES, Sample, splits, train};
use super::{ColumnParts, PIECE_NUMBERS, StringColumn, StringKind, is_valid};

/// Approximate size of a fragment: whole segments, so that a long string is cut at a segment's end.
const FRAGMENT_BYTES: usize = 128 * SEGMENT_BYTES;
/// The maximum number of strings of a fragment, because some may be empty.
const FRAGMENT_STRINGS: usize = 1 << 16;

/// Strings, or a part of one, that are compressed at a time.
struct Fragment {
    strings: Range<usize>,
    /// The range of these strings or this part in the values.
    values: Range<usize>,
    /// True for a part of a string that a later fragment ends.
    part: bool,
}

/// The codes of a fragment.
struct Done {
    codes: Vec<u8>,
    /// The end of each string that ends in the fragment, in its codes.
    ends: Vec<u64>,
}

/// Cuts strings into fragments.
fn fragments(offsets: &[impl Offset]) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    let count = offsets.len().saturating_sub(1);
    let mut first = 0;
    while first < count {
        let (begin, next) = (offsets[first].place(), offsets[first + 1].place());
        if next - begin > FRAGMENT_BYTES {
            let strings = first..first + 1;
            for from in (begin..next).step_by(FRAGMENT_BYTES) {
                let values = from..next.min(from + FRAGMENT_BYTES);
                fragments.push(Fragment { strings: strings.clone(), part: values.end < next, values });
            }
            first += 1;
            continue;
        }
        let most = &offsets[first + 1..=count.min(first + FRAGMENT_STRINGS)];
        let strings = most.partition_point(|end| end.place() - begin <= FRAGMENT_BYTES);
        let end = first + strings;
        fragments.push(Fragment { strings: first..end, values: begin..offsets[end].place(), part: false });
        first = end;
    }
    fragments
}

impl Fragment {
    fn compress(&self, compressor: &Compressor, values: &[u8], offsets: &[impl Offset]) -> Done {
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        let len = offsets[self.strings.end].place() - offsets[self.strings.start].place();
        if len > FRAGMENT_BYTES {
            compressor.compress(&values[self.values.clone()], &mut codes);
            if !self.part {
                ends.push(codes.len() as u64);
            }
        } else {
            let offsets = &offsets[self.strings.start..=self.strings.end];
            compressor.compress_strings(values, offsets, &mut codes, &mut ends);
        }
        Done { codes, ends }
    }
}

/// Returns the splits in a fragment. Its codes begin at `at` among all codes, and its strings at `offset`.
fn splits_in(
    table: &Table,
    done: &Done,
    at: usize,
    offset: u64,
    lens: impl Fn(usize) -> u64,
) -> Result<Vec<Split>, CodeFault> {
    let mut found = Vec::new();
    let first = at.next_multiple_of(SPLIT_CODES) - at;
    // A step, by its position in these codes and its output; and the string that ends next.
    let (mut step, mut to, mut string) = (0, offset, 0);
    for split in (first..done.codes.len()).step_by(SPLIT_CODES) {
        // The last string that begins at the split or before it.
        while let Some(end) = done.ends.get(string).filter(|end| **end <= split as u64) {
            string += 1;
            (step, to) = (*end as usize, offset + lens(string));
        }
        let mut before = 0;
        while step < split {
            let (_, len, taken) = table.step(&done.codes, step)?;
            before = u64::from(len);
            (step, to) = (step + taken, to + before);
        }
        found.push(Split::new(to, step > split));
        debug_assert!(step == split || before == 1, "one byte follows an escape");
    }
    Ok(found)
}

/// Returns the values without the bytes of nulls, which may be arbitrary, and their offsets.
fn without_nulls(values: &[u8], offsets: &[impl Offset], validity: &[u64]) -> (Vec<u8>, Vec<u64>) {
    let (mut kept, mut ends) = (Vec::new(), vec![0]);
    for (row, pair) in offsets.windows(2).enumerate() {
        if is_valid(Some(validity), row) {
            kept.extend_from_slice(&values[pair[0].place()..pair[1].place()]);
        }
        ends.push(kept.len() as u64);
    }
    (kept, ends)
}

/// Returns validity in a column's form: the words of `rows` strings, with no bits set past the last string.
fn trimmed(validity: &[u64], rows: usize) -> Result<Vec<u64>, Error> {
    let Some(words) = validity.get(..rows.div_ceil(64)) else {
        let said = format!("{} words of validity are too few for {rows} strings", validity.len());
        return Err(Error::Usage(said));
    };
    let mut words = words.to_vec();
    if let Some(last) = words.last_mut() {
        *last &= u64::MAX >> ((64 - rows % 64) % 64);
    }
    Ok(words)
}

/// Returns the first string that is not UTF-8. Each string is UTF-8 if all bytes together are, and each
/// string begins at a character's start.
pub(super) fn not_utf8<O: Offset>(values: &[u8], offsets: &[O]) -> Option<usize> {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return None };
    let is_continued = |offset: usize| values.get(offset).is_some_and(|byte| byte & 0xc0 == 0x80);
    let all = simdutf8::basic::from_utf8(&values[first.place()..last.place()]).is_ok();
    let is_cut = |offset: &O| offset.place() < last.place() && is_continued(offset.place());
    let any_cut = |offsets: &[O]| offsets.iter().any(is_cut);
    if all && !pool::map(offsets.chunks(PIECE_NUMBERS).collect(), any_cut).contains(&true) {
        return None;
    }
    offsets
        .windows(2)
        .position(|pair| std::str::from_utf8(&values[pair[0].place()..pair[1].place()]).is_err())
}

impl StringColumn {
    /// Compresses strings, with a table that is trained on a sample of them. String *i* is in `values` from
    /// offset *i* to offset *i* + 1, as in Arrow; no offsets mean no strings.
    ///
    /// Bit *i* of word *w* of `validity` is set if string 64 *w* + *i* is not null. The values of nulls are
    /// ignored. Without `validity` no string is null. All cores work on it; the column is the same for any
    /// number of them.
    ///
    /// # Errors
    /// [`Error::Usage`] for offsets that decrease or exceed `values`, and for too few words of validity.
    /// [`ColumnError::NotUtf8`] for a column of text with a string that is not UTF-8.
    pub fn compress(
        kind: StringKind,
        values: &[u8],
        offsets: &[impl Offset],
        validity: Option<&[u64]>,
    ) -> Result<Self, Error> {
        compress(kind, None, values, offsets, validity)
    }

    /// [`Self::compress`] with an existing table.
    ///
    /// # Errors
    /// As for [`Self::compress`].
    pub fn compress_with(
        kind: StringKind,
        table: &Table,
        values: &[u8],
        offsets: &[impl Offset],
        validity: Option<&[u64]>,
    ) -> Result<Self, Error> {
        compress(kind, Some(table), values, offsets, validity)
    }

    /// Creates a column from existing codes of strings. `offsets` has the start of each string, and last the
    /// number of codes. One core computes the splits.
    ///
    /// # Errors
    /// [`Error::Column`] if the codes are not strings of the table, or a null has codes. UTF-8 is not
    /// checked; use [`Self::check`].
    pub fn from_codes(
        kind: StringKind,
        table: &Table,
        codes: Vec<u8>,
        offsets: Vec<u64>,
        validity: Option<Vec<u64>>,
    ) -> Result<Self, Error> {
        let found = splits(table, &codes);
        let (mut fault, mut known) = (None, Vec::new());
        match found {
            Ok((splits, len)) => {
                known = splits;
                known.push(Split::new(len, false));
            }
            Err(found) => fault = Some(found),
        }
        if let Some(CodeFault::Escape(at) | CodeFault::Unknown(at)) = fault {
            // The string that contains the fault, if the offsets are valid.
            let row = offsets.partition_point(|offset| *offset <= at as u64).saturating_sub(1);
            let at = at.saturating_sub(offsets.get(row).map_or(0, |offset| *offset as usize));
            let fault = if matches!(fault, Some(CodeFault::Escape(_))) {
                CodeFault::Escape(at)
            } else {
                CodeFault::Unknown(at)
            };
            return Err(ColumnError::Codes { row: row as u64, fault: fault.to_string() }.into());
        }
        let parts = ColumnParts { kind, table: *table, codes, offsets, splits: known, validity };
        let column = parts.assemble()?;
        match column.escape_at_end() {
            Some((row, at)) => Err(column.codes_fault(row, CodeFault::Escape(at)).into()),
            None => Ok(column),
        }
    }

    /// Returns the first string whose last code is an escape, and the offset of that escape in the string's
    /// codes.
    fn escape_at_end(&self) -> Option<(usize, usize)> {
        let codes = &self.codes;
        let in_row = |row: usize| {
            let codes = &codes[self.offsets[row] as usize..self.offsets[row + 1] as usize];
            let run = codes.iter().rev().take_while(|code| **code == u8::MAX).count();
            (run % 2 == 1).then(|| (row, codes.len() - 1))
        };
        let pieces = pool::pieces(self.offsets.len() - 1, PIECE_NUMBERS);
        pool::map(pieces, |mut rows| rows.find_map(in_row)).into_iter().flatten().next()
    }
}

fn compress(
    kind: StringKind,
    table: Option<&Table>,
    values: &[u8],
    offsets: &[impl Offset],
    validity: Option<&[u64]>,
) -> Result<StringColumn, Error> {
    let rows = offsets.len().saturating_sub(1);
    let wrong = offsets.windows(2).position(|pair| pair[0].place() > pair[1].place());
    if let Some(row) = wrong.or(offsets.last().is_some_and(|end| end.place() > values.len()).then_some(rows))
    {
        let what = if wrong.is_some() { "before it begins" } else { "after the values" };
        return Err(Error::Usage(format!("offset {row} of strings: a string ends {what}")));
    }
    let validity = validity.map(|words| trimmed(words, rows)).transpose()?;
    let is_null_with_bytes = |words: &[u64]| {
        let has_bytes = |row: &usize| offsets[*row].place() < offsets[*row + 1].place();
        (0..rows).any(|row| !is_valid(Some(words), row) && has_bytes(&row))
    };
    match validity.as_deref().filter(|words| is_null_with_bytes(words)) {
        Some(words) => {
            let (values, offsets) = without_nulls(values, offsets, words);
            make(kind, table, &values, &offsets, validity)
        }
        None => make(kind, table, values, offsets, validity),
    }
}

/// Compresses strings whose offsets are valid, and whose nulls are empty.
fn make(
    kind: StringKind,
    table: Option<&Table>,
    values: &[u8],
    offsets: &[impl Offset],
    validity: Option<Vec<u64>>,
) -> Result<StringColumn, Error> {
    if kind == StringKind::Utf8
        && let Some(row) = not_utf8(values, offsets)
    {
        return Err(ColumnError::NotUtf8 { row: row as u64 }.into());
    }
    let table = table.copied().unwrap_or_else(|| train(&Sample::of_strings(values, offsets)));
    let compressor = Compressor::new(&table);
    let fragments = fragments(offsets);
    let all = pool::map(fragments.iter().collect(), |fragment: &Fragment| {
        fragment.compress(&compressor, values, offsets)
    });

    let len: usize = all.iter().map(|done| done.codes.len()).sum();
    let (mut codes, mut ends) = (vec![0; len], vec![0; offsets.len().max(1)]);
    let (mut codes_left, mut ends_left) = (&mut codes[..], &mut ends[1..]);
    let (mut work, mut at) = (Vec::with_capacity(all.len()), 0);
    for (fragment, done) in fragments.iter().zip(&all) {
        let (to, ends_to);
        (to, codes_left) = codes_left.split_at_mut(done.codes.len());
        (ends_to, ends_left) = ends_left.split_at_mut(done.ends.len());
        work.push((fragment, done, to, ends_to, at));
        at += done.codes.len();
    }
    let first = offsets.first().map_or(0, |offset| offset.place());
    let found = pool::map(work, |(fragment, done, to, ends_to, at)| {
        to.copy_from_slice(&done.codes);
        ends_to.iter_mut().zip(&done.ends).for_each(|(to, end)| *to = at as u64 + end);
        let lens = |string: usize| {
            (offsets[fragment.strings.start + string].place() - offsets[fragment.strings.start].place())
                as u64
        };
        splits_in(&table, done, at, (fragment.values.start - first) as u64, lens)
    });
    let found: Vec<Vec<Split>> = found
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|fault| Error::Internal(format!("compression made invalid codes: {fault}")))?;
    let mut splits = found.concat();
    let bytes = offsets.last().map_or(0, |end| end.place() - first);
    splits.push(Split::new(bytes as u64, false));
    Ok(ColumnParts { kind, table, codes, offsets: ends, splits, validity }.assemble()?)
}
