//! A table on a terminal that is drawn again when its rows change.

use warpath_terminal::json::Look;
use warpath_terminal::streams::{Stream, Streams};

use super::args::FollowArgs;
use super::failure::Failure;
use super::out::Out;

/// The rows of terminals that do not say how many they have.
const ROWS: usize = 24;

/// A terminal on which a table is drawn again and again.
pub struct Screen {
    /// The rows of the terminal.
    rows: usize,
    /// The lines of the last table, which are above the cursor.
    drawn: usize,
}

impl Screen {
    /// The terminal, if results are printed there while files are followed.
    pub fn of(follow: &FollowArgs, look: Look) -> Option<Self> {
        follow.follow?;
        look.columns?;
        let rows = Streams::current().size(Stream::Output).map_or(ROWS, |(_, rows)| rows);
        Some(Self { rows, drawn: 0 })
    }

    /// The most rows of a table that fits, under its names.
    pub fn rows(&self) -> usize {
        self.rows.saturating_sub(2).max(1)
    }

    /// Draws a table in place of the last one. A table that is too long is cut.
    pub fn draw(
        &mut self,
        out: &mut Out,
        print: impl FnOnce(&mut Out) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.clear(out);
        let begin = out.buffer.len();
        print(out)?;
        let most = self.rows.saturating_sub(1).max(1);
        let lines = out.buffer[begin..].split_inclusive(|byte| *byte == b'\n').take(most);
        let (lines, len) = lines.fold((0, 0), |(lines, len), line| (lines + 1, len + line.len()));
        out.buffer.truncate(begin + len);
        self.drawn = lines;
        Ok(())
    }

    /// Removes the last table.
    pub fn clear(&mut self, out: &mut Out) {
        if self.drawn > 0 {
            // Up to the first line of the table, and everything below is erased.
            out.buffer.extend_from_slice(format!("\x1b[{}A\r\x1b[J", self.drawn).as_bytes());
            self.drawn = 0;
        }
    }
}
