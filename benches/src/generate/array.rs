//! Lines as the elements of one array.

use std::io::{self, Write};

/// Writes lines as the elements of one JSON array, a line each. The document has the bytes of the lines, one
/// more per line, and two more.
pub struct ArrayWriter<W> {
    out: W,
    /// True until something is written.
    empty: bool,
    /// True if a line has ended and nothing has been written after it.
    ended: bool,
}

impl<W: Write> ArrayWriter<W> {
    /// An array that goes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, empty: true, ended: false }
    }

    /// Closes the array.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(if self.empty { b"[]\n" } else { b"\n]\n" })?;
        self.out.flush()
    }
}

impl<W: Write> Write for ArrayWriter<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            if std::mem::take(&mut self.empty) {
                self.out.write_all(b"[")?;
            }
            if std::mem::take(&mut self.ended) {
                self.out.write_all(b",\n")?;
            }
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            self.ended = text.len() < line.len();
            self.out.write_all(text)?;
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_elements() {
        for (lines, want) in [("", "[]\n"), ("1\n", "[1\n]\n"), ("1\n{}\n\"x\"\n", "[1,\n{},\n\"x\"\n]\n")] {
            for cut in 0..=lines.len() {
                let mut out = Vec::new();
                let mut array = ArrayWriter::new(&mut out);
                array.write_all(&lines.as_bytes()[..cut]).unwrap();
                array.write_all(&lines.as_bytes()[cut..]).unwrap();
                array.finish().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), want);
            }
        }
    }
}
