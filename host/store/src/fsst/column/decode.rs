//! The decoding of a column: of all strings by splits, of some strings, of one, or of a part of one.
//!
//! A piece of the codes is decoded as one string, across string boundaries, because that is fast. At the same
//! time the piece is measured: the start of each string in the output is computed. A column is made of codes
//! that were checked, so a piece that does not fit its splits is an internal error.

use std::ops::Range;

use warpath_core::error::{ColumnError, Error};
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_shared::fsst::{ESCAPE, MAX_SYMBOL_BYTES, SPLIT_CODES, Table};

use super::super::decompress::has_escape;
use super::build::not_utf8;
use super::{StringColumn, StringKind, Strings, is_valid};

/// Number of splits of a piece: its codes and their text stay in a second-level cache.
const PIECE_SPLITS: usize = 32;
/// Number of words of rows that a core takes at a time.
const PIECE_WORDS: usize = 64;
/// A longer string is measured before memory is allocated for it: it may need an eighth of the maximum.
const LONG_CODES: usize = 1 << 14;

/// The length in bytes of each code: first as a symbol, then as a byte after an escape.
struct Lens([u64; 512]);

/// The length of an unknown code: more than any codes have together.
const UNKNOWN: u64 = 1 << 56;

impl Lens {
    fn new(table: &Table) -> Self {
        let mut lens = [1; 512];
        for (to, len) in lens.iter_mut().zip(table.lens()) {
            *to = if *len == 0 { UNKNOWN } else { u64::from(*len) };
        }
        lens[usize::from(ESCAPE)] = 0;
        Self(lens)
    }

    #[inline(always)]
    fn of(&self, codes: &[u8], pending: &mut bool) -> u64 {
        codes.iter().fold(0, |sum: u64, code| {
            let len = self.0[usize::from(*code) | usize::from(*pending) << 8];
            *pending = !*pending && *code == ESCAPE;
            sum.saturating_add(len)
        })
    }

    /// Returns the length in bytes of the decoded codes: [`UNKNOWN`] or more if a code is unknown. `pending`
    /// is true if the code before the first is an escape; then it is set for the last code.
    #[inline(always)]
    fn sum(&self, codes: &[u8], pending: &mut bool) -> u64 {
        let (words, rest) = codes.as_chunks::<8>();
        let mut sum = 0_u64;
        for word in words {
            let len = if *pending || has_escape(u64::from_le_bytes(*word)) {
                self.of(word, pending)
            } else {
                word.iter().map(|code| self.0[usize::from(*code)]).sum()
            };
            sum = sum.saturating_add(len);
        }
        sum.saturating_add(self.of(rest, pending))
    }
}

/// The codes between two splits, and the destinations of their text.
struct DecodeRange<'a> {
    splits: Range<usize>,
    /// The offsets of the strings that begin in the range.
    offsets: &'a [u64],
    values: &'a mut [u8],
    to: &'a mut [u64],
}

/// The strings of a piece, and the end of each.
type Decoded = Result<(Vec<u8>, Vec<u64>), Error>;

/// Returns zeros, if memory suffices.
fn zeroed<T: Copy>(zero: T, len: u64) -> Result<Vec<T>, ColumnError> {
    let none = || ColumnError::Memory { bytes: len.saturating_mul(size_of::<T>() as u64) };
    let len = usize::try_from(len).map_err(|_| none())?;
    // `vec![zero; len]` aborts the process where memory does not suffice, so the attempt to reserve comes
    // first.
    Vec::<T>::new().try_reserve_exact(len).map_err(|_| none())?;
    Ok(vec![zero; len])
}

/// Returns the error for codes that do not fit their splits.
#[cold]
fn other_codes() -> Error {
    Error::Internal("the codes of a column do not fit its splits".into())
}

impl StringColumn {
    /// Returns the start of a split's first step: in the codes, and in the output.
    fn split(&self, split: usize) -> (usize, u64) {
        let codes = self.codes.len();
        let at = (split * SPLIT_CODES).min(codes) + usize::from(self.splits[split].behind_escape());
        (at.min(codes), self.splits[split].offset())
    }

    /// Decodes all strings, on all cores.
    ///
    /// # Errors
    /// [`ColumnError::Memory`].
    pub fn decode(&self) -> Result<Strings, Error> {
        let mut values = zeroed(0_u8, self.bytes())?;
        let mut offsets = zeroed(0_u64, self.offsets.len() as u64)?;
        let tiles = self.splits.len() - 1;
        let (mut values_left, mut to_left) = (&mut values[..], &mut offsets[..]);
        let mut offsets_left = &self.offsets[..];
        let mut pieces = Vec::with_capacity(tiles.div_ceil(PIECE_SPLITS));
        for from in (0..tiles).step_by(PIECE_SPLITS) {
            let splits = from..tiles.min(from + PIECE_SPLITS);
            let bytes = self.splits[splits.end].offset() - self.splits[from].offset();
            let end = (splits.end * SPLIT_CODES).min(self.codes.len()) as u64;
            let count = offsets_left.partition_point(|offset| *offset < end);
            let (values, to, offsets);
            (values, values_left) = values_left.split_at_mut(bytes as usize);
            (to, to_left) = to_left.split_at_mut(count);
            (offsets, offsets_left) = offsets_left.split_at(count);
            pieces.push(DecodeRange { splits, offsets, values, to });
        }
        // The offsets after the last code: empty strings, and the end.
        to_left.fill(self.bytes());
        let lens = Lens::new(&self.table);
        if pool::map(pieces, |piece| self.decode_piece(&lens, piece)).contains(&false) {
            return Err(other_codes());
        }
        Ok(Strings { values, offsets, validity: self.validity.clone() })
    }

    /// Decodes a piece. Returns false if it does not fit its splits.
    fn decode_piece(&self, lens: &Lens, piece: DecodeRange<'_>) -> bool {
        let codes = &self.codes;
        let DecodeRange { splits, offsets, values, to } = piece;
        let (begin, first) = self.split(splits.start);
        let (mut at, mut offset) = (begin, first);
        let mut next = offsets.iter().zip(to).peekable();
        for split in splits {
            // The codes of the split, up to the next split or the end.
            let end = ((split + 1) * SPLIT_CODES).min(codes.len());
            while let Some((string, to)) = next.next_if(|(string, _)| **string < end as u64) {
                let string = *string as usize;
                let Some(before) = codes.get(at..string) else { return false };
                let mut pending = false;
                offset = offset.saturating_add(lens.sum(before, &mut pending));
                if pending {
                    return false;
                }
                (*to, at) = (offset, string);
            }
            let mut pending = false;
            let Some(rest) = codes.get(at..end) else { return false };
            offset = offset.saturating_add(lens.sum(rest, &mut pending));
            at = end;
            if pending && at < codes.len() {
                (at, offset, pending) = (at + 1, offset.saturating_add(1), false);
            }
            if pending || self.split(split + 1) != (at, offset) {
                return false;
            }
        }
        self.decoder.decode(&codes[begin..at], values) == Ok((offset - first) as usize)
    }

    /// Checks that each string of a column of text is UTF-8. Needs memory for all strings and their offsets.
    ///
    /// # Errors
    /// Those of [`Self::decode`], and [`ColumnError::NotUtf8`].
    pub fn check(&self) -> Result<(), Error> {
        if self.kind == StringKind::Binary {
            return Ok(());
        }
        let Strings { values, offsets, .. } = self.decode()?;
        Ok(self.check_utf8(&values, &offsets)?)
    }

    pub(super) fn check_utf8(&self, values: &[u8], offsets: &[u64]) -> Result<(), ColumnError> {
        match not_utf8(values, offsets) {
            None => Ok(()),
            Some(row) => Err(ColumnError::NotUtf8 { row: row as u64 }),
        }
    }

    /// Returns a string; `None` for a null.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such string. [`ColumnError::Memory`].
    pub fn get(&self, row: u64) -> Result<Option<Vec<u8>>, Error> {
        let mut string = Vec::new();
        Ok(self.get_into(row, &mut string)?.then_some(string))
    }

    /// Appends a string to `to`. Returns false for a null.
    ///
    /// # Errors
    /// Those of [`Self::get`]. On an error, `to` is unchanged.
    pub fn get_into(&self, row: u64, to: &mut Vec<u8>) -> Result<bool, Error> {
        let place = self.place(row)?;
        let codes = &self.codes[place];
        let most = if codes.len() < LONG_CODES {
            (codes.len() * MAX_SYMBOL_BYTES) as u64
        } else {
            self.table.decoded_len(codes).map_err(|_| other_codes())?
        };
        let begin = to.len();
        let none = || ColumnError::Memory { bytes: most };
        to.try_reserve(usize::try_from(most).map_err(|_| none())?).map_err(|_| none())?;
        to.resize(begin + most as usize, 0);
        let decoded = self.decoder.decode(codes, &mut to[begin..]);
        to.truncate(begin + decoded.unwrap_or(0));
        decoded.map_err(|_| other_codes())?;
        Ok(!self.is_null(row))
    }

    /// Returns the length of all strings that begin before a code. A step must begin at this code.
    fn bytes_before(&self, place: usize) -> Result<u64, Error> {
        let codes = &self.codes;
        if place == codes.len() {
            return Ok(self.bytes());
        }
        let (at, offset) = self.split(place / SPLIT_CODES);
        let mut pending = false;
        let len = codes.get(at..place).map_or(UNKNOWN, |codes| {
            codes.iter().fold(0_u64, |sum, code| {
                let len = match (pending, *code) {
                    (true, _) => 1,
                    (false, ESCAPE) => 0,
                    (false, code) => match self.table.lens()[usize::from(code)] {
                        0 => UNKNOWN,
                        len => u64::from(len),
                    },
                };
                pending = !pending && *code == ESCAPE;
                sum.saturating_add(len)
            })
        });
        if pending || len >= UNKNOWN { Err(other_codes()) } else { Ok(offset + len) }
    }

    /// Returns the length in bytes of a string, by splits: reads a few thousand codes at most, however long
    /// the string is. A null has length 0.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such string.
    pub fn string_len(&self, row: u64) -> Result<u64, Error> {
        let place = self.place(row)?;
        let (begin, end) = (self.bytes_before(place.start)?, self.bytes_before(place.end)?);
        end.checked_sub(begin).ok_or_else(other_codes)
    }

    /// Returns some bytes of a string, by splits: decodes little more than the requested range, even of a
    /// string of gigabytes. `None` for a null.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such string, or it has no such bytes. [`ColumnError::Memory`].
    pub fn get_range(&self, row: u64, bytes: Range<u64>) -> Result<Option<Vec<u8>>, Error> {
        let place = self.place(row)?;
        let (begin, end) = (self.bytes_before(place.start)?, self.bytes_before(place.end)?);
        let len = end.checked_sub(begin).ok_or_else(other_codes)?;
        if bytes.start > bytes.end || bytes.end > len {
            let Range { start, end } = bytes;
            return Err(Error::Usage(format!("bytes {start} to {end} of string {row}, which has {len}")));
        }
        if self.is_null(row) {
            return Ok(None);
        }
        let wanted = begin + bytes.start..begin + bytes.end;
        let mut found = Vec::new();
        let none = || ColumnError::Memory { bytes: wanted.end - wanted.start };
        let count = usize::try_from(wanted.end - wanted.start).map_err(|_| none())?;
        found.try_reserve_exact(count).map_err(|_| none())?;
        // The last split in the string, after its first code, that is not after the wanted range's start.
        let first = place.start / SPLIT_CODES + 1;
        let in_string = &self.splits[first..place.end.div_ceil(SPLIT_CODES).max(first)];
        let skip = in_string.partition_point(|split| split.offset() <= wanted.start);
        let mut split = first + skip;
        let (mut at, mut offset) = if skip == 0 { (place.start, begin) } else { self.split(split - 1) };
        let mut room = vec![0; (SPLIT_CODES + 1) * MAX_SYMBOL_BYTES];
        while found.len() < count && at < place.end {
            let (next, said) =
                if split * SPLIT_CODES < place.end { self.split(split) } else { (place.end, end) };
            let decoded = self.codes.get(at..next).map(|codes| self.decoder.decode(codes, &mut room));
            let Some(Ok(len)) = decoded.filter(|len| *len == Ok(said.wrapping_sub(offset) as usize)) else {
                return Err(other_codes());
            };
            let from = wanted.start.saturating_sub(offset).min(len as u64) as usize;
            found.extend_from_slice(&room[from..len.min((wanted.end - offset) as usize)]);
            (at, offset, split) = (next, said, split + 1);
        }
        if found.len() < count { Err(other_codes()) } else { Ok(Some(found)) }
    }

    /// Decodes the strings of some rows, in order, on all cores. Nulls remain nulls.
    ///
    /// # Errors
    /// [`Error::Usage`] if `rows` is for another number of strings. [`ColumnError::Memory`].
    pub fn decode_rows(&self, rows: &RowSet) -> Result<Strings, Error> {
        if rows.rows() != self.len() {
            let said = format!("rows of {} of {} strings", rows.rows(), self.len());
            return Err(Error::Usage(said));
        }
        let pieces = rows.words().chunks(PIECE_WORDS).enumerate().collect();
        let pieces = pool::map(pieces, |(piece, words): (usize, &[u64])| -> Decoded {
            let (mut values, mut ends) = (Vec::new(), Vec::new());
            for (at, word) in words.iter().enumerate() {
                let first = 64 * (PIECE_WORDS * piece + at) as u64;
                let mut left = *word;
                while left != 0 {
                    self.get_into(first + u64::from(left.trailing_zeros()), &mut values)?;
                    ends.push(values.len() as u64);
                    left &= left - 1;
                }
            }
            Ok((values, ends))
        });
        let pieces = pieces.into_iter().collect::<Result<Vec<_>, _>>()?;
        let bytes: usize = pieces.iter().map(|(values, _)| values.len()).sum();
        let none = || ColumnError::Memory { bytes: bytes as u64 };
        let mut values = Vec::new();
        values.try_reserve_exact(bytes).map_err(|_| none())?;
        let mut offsets = vec![0];
        for (piece, ends) in &pieces {
            let begin = values.len() as u64;
            values.extend_from_slice(piece);
            offsets.extend(ends.iter().map(|end| begin + end));
        }
        let validity = self.validity.as_deref().map(|validity| {
            let mut words = vec![0; (offsets.len() - 1).div_ceil(64)];
            for (at, row) in rows.ones().enumerate() {
                words[at / 64] |= u64::from(is_valid(Some(validity), row as usize)) << (at % 64);
            }
            words
        });
        let has_nulls = |words: &Vec<u64>| {
            words.iter().map(|word| word.count_ones() as usize).sum::<usize>() < offsets.len() - 1
        };
        Ok(Strings { validity: validity.filter(has_nulls), values, offsets })
    }
}
