//! The lines of a file that a text consists of.

use warpath_shared::units::ByteOffset;

/// The lines of a file that a text consists of.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    pub(super) runs: Vec<LineRun>,
    /// The number of lines around and between them that were left out, if the texts of the input count all of
    /// its lines.
    pub left_out: u64,
}

/// Lines that are consecutive in the file too.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRun {
    /// The first line and its offset in the text.
    pub line: u64,
    pub at: u64,
    /// The first line and its offset in the file.
    pub file_line: u64,
    pub file_at: ByteOffset,
}

impl Selected {
    /// Consecutive lines of a text that are these rows of the input, ascending. `left_out` is the number of
    /// lines that are left out.
    #[cfg(feature = "store")]
    pub fn of_rows(rows: impl Iterator<Item = u64>, left_out: u64) -> Self {
        let mut runs: Vec<LineRun> = Vec::new();
        for (line, row) in (0..).zip(rows) {
            let goes_on = runs.last().is_some_and(|run| run.file_line + (line - run.line) == row);
            if !goes_on {
                runs.push(LineRun { line, at: 0, file_line: row, file_at: 0 });
            }
        }
        Self { runs, left_out }
    }

    /// The line in the file, for a line of the text; both count from 0.
    pub fn line(&self, line: u64) -> u64 {
        let before = self.runs.partition_point(|run| run.line <= line).saturating_sub(1);
        self.runs.get(before).map_or(line, |run| run.file_line + (line - run.line))
    }

    /// The offset in the file, for an offset in the text.
    pub fn offset(&self, at: u64) -> ByteOffset {
        let before = self.runs.partition_point(|run| run.at <= at).saturating_sub(1);
        self.runs.get(before).map_or(at, |run| run.file_at + (at - run.at))
    }

    /// The line in the text, for a line of the file that it contains.
    pub fn line_in_text(&self, line: u64) -> u64 {
        let before = self.runs.partition_point(|run| run.file_line <= line).saturating_sub(1);
        self.runs.get(before).map_or(line, |run| run.line + (line - run.file_line))
    }
}
