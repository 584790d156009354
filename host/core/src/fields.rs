//! Fields of binary files, read and written one after the other.

/// The bytes whose fields are still to be read. Numbers are little-endian. Each method returns `None` if too
/// few bytes are left.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// The next number of 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next number of 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next length of 64 bits, and this many bytes.
    pub fn sized(&mut self) -> Option<&'a [u8]> {
        let len = self.u64()?;
        self.bytes(len)
    }

    /// The next text, of `len` bytes; `None` also if it is not UTF-8.
    pub fn text(&mut self, len: u64) -> Option<&'a str> {
        self.bytes(len).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Skips the zeros up to a multiple of eight bytes; `None` also if they are not zeros. `start` is the
    /// number of bytes at the beginning.
    pub fn padding(&mut self, start: usize) -> Option<()> {
        let len = (start - self.0.len()).next_multiple_of(8) - (start - self.0.len());
        let (zeros, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        zeros.iter().all(|byte| *byte == 0).then_some(())
    }

    /// True if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bytes of the fields that were written, for [`Fields`].
#[derive(Default)]
pub struct Out(pub Vec<u8>);

impl Out {
    /// Writes a number of 32 bits.
    pub fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes a number of 64 bits.
    pub fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes the length of some bytes, and the bytes.
    pub fn sized(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}
