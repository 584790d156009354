//! Numbers and strings of sections.

use super::error::{Error, Result, damaged};

/// Appends a number, seven bits in each byte, the lowest first.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a string of bytes after its length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends small numbers, which are often all equal. [`Ids`] reads them.
///
/// The first byte is the number of bytes of each number. If it is 0, one number follows. Otherwise the lowest
/// bytes of all numbers follow, then the bytes above these.
pub(super) fn put_ids(out: &mut Vec<u8>, ids: &[u32]) {
    let first = ids.first().copied().unwrap_or_default();
    if ids.iter().all(|id| *id == first) {
        out.push(0);
        return put(out, u64::from(first));
    }
    let greatest = ids.iter().copied().max().unwrap_or_default();
    let width = (32 - greatest.leading_zeros()).div_ceil(8) as u8;
    out.push(width);
    put(out, ids.len() as u64);
    for plane in 0..width {
        out.extend(ids.iter().map(|id| (id >> (8 * u32::from(plane))) as u8));
    }
}

/// The bytes of a section that are still to be read.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Name of the section, for errors.
    place: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], place: &'static str) -> Self {
        Self { rest: bytes, place }
    }

    pub(super) fn error(&self, what: impl Into<String>) -> Error {
        damaged(self.place, what)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes that are still to be read.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| self.error("it ends too early"))?;
        self.rest = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error("a number has more than ten bytes"))
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize, what: &str) -> Result<usize> {
        let number = self.number()?;
        let fits = usize::try_from(number).ok().filter(|number| *number < limit);
        fits.ok_or_else(|| self.error(format!("{what} is {number}, and must be below {limit}")))
    }

    /// A number of items that take at least one byte each.
    pub(super) fn count(&mut self, what: &str) -> Result<usize> {
        let number = self.number()?;
        let fits = usize::try_from(number).ok().filter(|number| *number <= self.rest.len());
        fits.ok_or_else(|| {
            self.error(format!("it has {number} {what}, and only {} bytes follow", self.rest.len()))
        })
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.error("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A string of bytes after its length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.count("bytes of a string")?;
        self.take(len)
    }

    pub(super) fn ids(&mut self) -> Result<Ids<'a>> {
        let width = self.byte()?;
        match width {
            0 => {
                let id = self.number()?;
                u32::try_from(id).map(Ids::Constant).map_err(|_| self.error(format!("number {id}")))
            }
            1..=4 => {
                let len = self.count("small numbers")?;
                let bytes = len.checked_mul(usize::from(width)).ok_or_else(|| self.error("its size"))?;
                Ok(Ids::Planes { len, stride: len, bytes: self.take(bytes)? })
            }
            _ => Err(self.error(format!("numbers of {width} bytes"))),
        }
    }
}

/// Small numbers that [`put_ids`] has written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ids<'a> {
    /// All numbers are equal. Their count is not known.
    Constant(u32),
    /// The lowest bytes of all numbers, then those above.
    Planes {
        /// Number of numbers.
        len: usize,
        /// Bytes from one plane to the next: more than numbers, if the first ones are skipped.
        stride: usize,
        bytes: &'a [u8],
    },
}

impl Ids<'_> {
    /// The numbers after the first `count`.
    pub(super) fn skip(self, count: u32) -> Self {
        let Self::Planes { len, stride, bytes } = self else { return self };
        let count = len.min(count as usize);
        Self::Planes { len: len - count, stride, bytes: bytes.get(count..).unwrap_or_default() }
    }

    /// The number at an index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<u32> {
        match *self {
            Self::Constant(id) => Some(id),
            Self::Planes { len, bytes, .. } if bytes.len() == len => {
                bytes.get(index).map(|id| u32::from(*id))
            }
            Self::Planes { len, stride, bytes } if index < len => {
                let planes = bytes.get(index..)?.iter().step_by(stride);
                Some(planes.enumerate().fold(0, |id, (at, byte)| id | u32::from(*byte) << (8 * at as u32)))
            }
            Self::Planes { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for ids in [&[][..], &[7, 7], &[0, 255], &[1, 256, 65_535], &[70_000, 1], &[u32::MAX, 0]] {
            let mut out = Vec::new();
            put_ids(&mut out, ids);
            put(&mut out, u64::MAX);
            put_bytes(&mut out, b"end");
            let mut reader = Reader::new(&out, "test");
            let read = reader.ids().unwrap();
            let all: Vec<_> = (0..ids.len()).map(|at| read.get(at).unwrap()).collect();
            assert_eq!(all, ids);
            for skipped in 0..=ids.len() {
                let left = read.skip(skipped as u32);
                let all: Vec<_> = (0..ids.len() - skipped).map(|at| left.get(at).unwrap()).collect();
                assert_eq!(all, ids[skipped..]);
                assert!(matches!(left, Ids::Constant(_)) || left.get(all.len()).is_none());
            }
            assert_eq!(reader.number().unwrap(), u64::MAX);
            assert_eq!(reader.bytes().unwrap(), b"end");
            assert!(reader.is_empty() && reader.byte().is_err());
        }
    }

    #[test]
    fn counts_are_bounded_by_the_bytes() {
        let mut out = vec![1];
        put(&mut out, 1 << 60);
        assert!(Reader::new(&out, "test").ids().is_err());
        assert!(Reader::new(&out[1..], "test").bytes().is_err());
        assert!(Reader::new(&[0xff; 20], "test").number().is_err());
    }
}
