//! Byte classes of one word.

use crate::units::WORD_BYTES;

/// The bytes of one 64-byte word that the structural index needs, one bitmap for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Classes {
    /// `"`
    pub quote: u64,
    /// `\`
    pub backslash: u64,
    /// Line feeds.
    pub newline: u64,
    /// `{` and `[`
    pub open: u64,
    /// `}` and `]`
    pub close: u64,
    /// The braces among `open` and `close`. From a kernel, also the colons among `separator`. The other bits
    /// are undefined.
    pub brace: u64,
    /// `:` and `,`
    pub separator: u64,
    /// Bytes below 0x20, except line feeds.
    pub control: u64,
}

impl Classes {
    /// The classes of a word, computed byte by byte: the rule with which faster versions are compared.
    pub fn of(word: &[u8; WORD_BYTES]) -> Self {
        let mut classes = Self::default();
        for (i, byte) in word.iter().enumerate() {
            let bit = 1u64 << i;
            match byte {
                b'"' => classes.quote |= bit,
                b'\\' => classes.backslash |= bit,
                b'\n' => classes.newline |= bit,
                b'{' => {
                    classes.open |= bit;
                    classes.brace |= bit;
                }
                b'[' => classes.open |= bit,
                b'}' => {
                    classes.close |= bit;
                    classes.brace |= bit;
                }
                b']' => classes.close |= bit,
                b':' | b',' => classes.separator |= bit,
                0..0x20 => classes.control |= bit,
                _ => {}
            }
        }
        classes
    }

    /// The classes with the undefined bits of `brace` cleared, for comparisons.
    #[must_use]
    pub fn normalised(self) -> Self {
        Self { brace: self.brace & (self.open | self.close), ..self }
    }
}

/// Returns true for white space of RFC 8259: space, tab, line feed or carriage return.
#[inline(always)]
pub const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
