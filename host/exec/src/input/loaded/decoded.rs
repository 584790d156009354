//! A loaded input as text, read from start to end.

use std::io::{self, Read};
use std::sync::Arc;

use super::leaves::Contents;

/// Rows that are decoded at once.
const ROWS: u32 = 8 << 10;

/// The text of a loaded input.
pub(crate) struct LoadedText {
    contents: Arc<Contents>,
    /// The next segment and the next of its rows.
    segment: usize,
    row: u32,
    text: Vec<u8>,
    taken: usize,
}

impl LoadedText {
    pub fn new(contents: Arc<Contents>) -> Self {
        Self { contents, segment: 0, row: 0, text: Vec::new(), taken: 0 }
    }
}

impl Read for LoadedText {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() {
            let Some(placed) = self.contents.segments.get(self.segment) else { return Ok(0) };
            let rows = placed.segment.rows();
            let end = rows.min(self.row.saturating_add(ROWS));
            self.text.clear();
            self.taken = 0;
            placed.segment.lines().decode(self.row..end, &mut self.text).map_err(io::Error::other)?;
            (self.segment, self.row) = if end == rows { (self.segment + 1, 0) } else { (self.segment, end) };
        }
        let read = (&self.text[self.taken..]).read(room)?;
        self.taken += read;
        Ok(read)
    }
}
