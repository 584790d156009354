//! Byte classes of one word.

use crate::units::WORD_BYTES;

/// The bytes of one 64-byte word that matter to the structural index, a bitmap each.
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
    /// Among `open` and `close`, the braces; from a kernel, also the colons among `separator`. Elsewhere the bits mean nothing.
    pub brace: u64,
    /// `:` and `,`
    pub separator: u64,
}

impl Classes {
    /// The classes of a word, a byte at a time: the rule that faster forms are held equal to.
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
                _ => {}
            }
        }
        classes
    }

    /// The same with the meaningless bits of `brace` cleared, for comparisons.
    #[must_use]
    pub fn normalised(self) -> Self {
        Self { brace: self.brace & (self.open | self.close), ..self }
    }
}

/// Whether `byte` is white space of RFC 8259: space, tab, line feed or carriage return.
#[inline(always)]
pub const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
