//! Which lines of a file a text consists of.

use warpath_shared::units::ByteOffset;

/// Which lines of a file a text consists of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    pub(super) runs: Vec<Run>,
}

/// Lines that follow each other in the file, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The first line, and where it begins, in the text.
    pub line: u64,
    pub at: u64,
    /// The same in the file.
    pub file_line: u64,
    pub file_at: ByteOffset,
}

impl Selected {
    /// The line of the file, of a line of the text; both count from 0.
    pub fn line(&self, line: u64) -> u64 {
        let before = self.runs.partition_point(|run| run.line <= line).saturating_sub(1);
        self.runs.get(before).map_or(line, |run| run.file_line + (line - run.line))
    }

    /// The byte of the file, of a byte of the text.
    pub fn offset(&self, at: u64) -> ByteOffset {
        let before = self.runs.partition_point(|run| run.at <= at).saturating_sub(1);
        self.runs.get(before).map_or(at, |run| run.file_at + (at - run.at))
    }

    /// The line of the text, of a line of the file that it has.
    pub fn line_in_text(&self, line: u64) -> u64 {
        let before = self.runs.partition_point(|run| run.file_line <= line).saturating_sub(1);
        self.runs.get(before).map_or(line, |run| run.line + (line - run.file_line))
    }
}
