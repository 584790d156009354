//! Indexes as text: the format of `warpath index dump` and of the snapshots.
//!
//! ```text
//! 23 bytes, 2 lines, 2 levels, 0 faulty
//! line 1  bytes 0..19
//! line 2  bytes 19..23
//! word 0  bytes 0..23
//!   text     {"a":[1,{"b":"]"}]}⏎[2]⏎
//!   string   .##..........##.........
//!   level 0  #...#............. …
//! ```
//!
//! The counts come first. Then comes the newline index: the number of each line in its input, from 1, and its
//! bytes with its newline. After a faulty line come its fault and the byte of the fault in the line, from 1.
//! Then comes each word of 64 bytes with the bitmaps aligned under the text: `#` for 1, `.` for 0, one column
//! a byte. In the text, `⏎` means a line feed, `␍` a carriage return, `␉` a tab, and `·` any other byte that
//! is not printable ASCII. Byte positions count from the start of the input.

use std::io::{self, Write};

use warpath_answer::backend::StructuralIndex;
use warpath_shared::units::{ByteOffset, WORD_BYTES};

/// Writes the index of one partition. In its input, the partition begins at byte `offset` and at line
/// `first_line`.
///
/// # Errors
/// The errors of the writer.
pub fn write(
    out: &mut impl Write,
    text: &[u8],
    index: &StructuralIndex,
    offset: ByteOffset,
    first_line: u64,
) -> io::Result<()> {
    let lines = index.line_starts.len() - 1;
    writeln!(
        out,
        "{}, {}, {}, {} faulty",
        counted(text.len(), "byte"),
        counted(lines, "line"),
        counted(index.levels.len(), "level"),
        index.faults.len()
    )?;
    let mut faults = index.faults.iter().peekable();
    for (line, bounds) in index.line_starts.windows(2).enumerate() {
        let (start, end) = (offset + bounds[0] as u64, offset + bounds[1] as u64);
        write!(out, "line {}  bytes {start}..{end}", first_line + line as u64 + 1)?;
        if let Some(faulty) = faults.next_if(|fault| fault.line as usize == line) {
            write!(out, "  byte {}: {}", faulty.fault.at + 1, faulty.fault.kind)?;
        }
        writeln!(out)?;
    }
    for (w, bytes) in text.chunks(WORD_BYTES).enumerate() {
        let start = offset + (w * WORD_BYTES) as u64;
        writeln!(out, "word {w}  bytes {start}..{}", start + bytes.len() as u64)?;
        let shown: String = bytes.iter().map(|byte| shown(*byte)).collect();
        writeln!(out, "  text     {shown}")?;
        let row = |bits: u64| -> String {
            (0..bytes.len()).map(|i| if bits >> i & 1 == 1 { '#' } else { '.' }).collect()
        };
        writeln!(out, "  string   {}", row(index.string[w]))?;
        for (level, words) in index.levels.iter().enumerate() {
            writeln!(out, "  level {level}  {}", row(words[w]))?;
        }
    }
    Ok(())
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn shown(byte: u8) -> char {
    match byte {
        b'\n' => '⏎',
        b'\r' => '␍',
        b'\t' => '␉',
        b' '..=b'~' => byte as char,
        _ => '·',
    }
}
