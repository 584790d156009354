//! FSST on the CPU: compression of strings, each of which can be decoded on its own.
//!
//! [`warpath_shared::fsst`] defines the meaning of codes. This module produces codes and decodes them fast.
//!
//! | module | contents |
//! |---|---|
//! | `train` | the choice of symbols for strings like a sample's |
//! | `compress` | strings to codes, by the longest symbol at each position |
//! | `decompress` | codes to strings, for codes from any source |
//! | `split` | the positions at which decoding of a long stream of codes can begin |
//! | [`automaton`] | patterns over codes, evaluated without decoding |
//! | [`matches`](mod@matches) | patterns over many strings, on all cores |
//! | [`column`](mod@column) | columns of compressed strings |
//!
//! ```
//! use warpath_store::fsst::{train, Compressor, Decoder, Sample};
//!
//! let text = b"http://www.example.com/a http://www.example.com/b http://www.example.com/c";
//! let table = train(&Sample::of_text(text));
//! let mut codes = Vec::new();
//! Compressor::new(&table).compress(text, &mut codes);
//! assert!(codes.len() < text.len());
//! let mut room = vec![0; text.len()];
//! assert_eq!(Decoder::new(&table).decode(&codes, &mut room), Ok(text.len()));
//! assert_eq!(room, text);
//! ```

pub mod automaton;
mod codes;
pub mod column;
mod compress;
mod decompress;
pub mod matches;
mod split;
#[cfg(test)]
mod tests;
pub mod train;

pub use automaton::{AutomatonError, CodeAutomaton};
pub use codes::Codes;
pub use column::{StringColumn, StringKind, Strings};
pub use compress::{Compressor, Offset, SEGMENT_BYTES};
pub use decompress::Decoder;
pub use matches::{MatchError, Matcher};
pub use split::splits;
pub use train::{SAMPLE_BYTES, Sample, train};
pub use warpath_lang::like::{LikeError, Pattern};
pub use warpath_shared::fsst::{
    CodeFault, ESCAPE, MAX_SYMBOL_BYTES, MAX_SYMBOLS, SPLIT_CODES, Split, Table, TableFault,
};

/// Returns the word at an offset, the first byte lowest; bytes past the end are 0.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes[at..].first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes, at),
    }
}

#[cold]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len() - at].copy_from_slice(&bytes[at..]);
    u64::from_le_bytes(word)
}

/// Returns a mask of the lowest `len` bytes of a word; all 8 for greater `len`.
#[inline(always)]
fn low_bytes(len: usize) -> u64 {
    if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 }
}
