//! The texts that parts are made of.

use std::io::Read;

use warpath_core::error::Error;

use crate::input::{BYTE_ORDER_MARK, LineGroups, Source};

/// The lines of one input.
pub(super) enum Lines {
    /// Lines of a source, which may be compressed, or a part.
    Of(Source),
    /// Bytes of a plain text. Whatever they begin with, they are not compressed.
    Plain {
        name: String,
        reader: Box<dyn Read + Send>,
        /// True if they begin the text, so that a byte order mark is no part of the first line.
        is_begin: bool,
    },
}

/// The lines of some inputs, as texts of about the same size. A line is never cut. A line that ends an input
/// and lacks its newline gets one, if more lines follow.
pub(super) struct Texts {
    inputs: std::vec::IntoIter<Lines>,
    lines: Option<LineGroups>,
    size: usize,
    /// True if a part ends where an input ends without a newline.
    ends_parts: bool,
    /// The beginning of the next text.
    next: Option<NextText>,
}

/// A text of [`Texts`].
pub(super) struct NextText {
    pub bytes: Vec<u8>,
    /// True if the text has to be the first of a part: it begins with a byte order mark that is no part of a
    /// line, or follows an input whose last line had not ended.
    pub begins_part: bool,
    /// True if the text begins with a byte order mark that is a part of its first line.
    pub begins_within: bool,
}

impl NextText {
    fn new(bytes: Vec<u8>, is_within: bool, begins_part: bool) -> Self {
        let is_marked = bytes.starts_with(BYTE_ORDER_MARK);
        let begins_part = begins_part || is_marked && !is_within;
        Self { bytes, begins_part, begins_within: is_marked && is_within }
    }
}

impl Texts {
    pub fn new(inputs: Vec<Lines>, size: usize) -> Self {
        let (lines, size, ends_parts, next) = (None, size.max(1), false, None);
        Self { inputs: inputs.into_iter(), lines, size, ends_parts, next }
    }

    /// Ends a part where an input ends without a newline: the last line of the part may be the beginning of a
    /// longer one. Without it, the line gets a newline.
    pub fn ending_parts(self) -> Self {
        Self { ends_parts: true, ..self }
    }

    /// The next text; `None` at the end.
    pub fn next(&mut self) -> Result<Option<NextText>, Error> {
        let text = match self.next.take() {
            Some(text) => text,
            None => match self.more(self.size)? {
                Some(bytes) => NextText::new(bytes, true, false),
                None => match self.first()? {
                    Some((bytes, is_within)) => NextText::new(bytes, is_within, false),
                    None => return Ok(None),
                },
            },
        };
        self.complete(text).map(Some)
    }

    /// A text that has begun, with what follows it.
    fn complete(&mut self, mut text: NextText) -> Result<NextText, Error> {
        let bytes = &mut text.bytes;
        // Only the end of an input has no newline.
        while bytes.len() < self.size || bytes.last() != Some(&b'\n') {
            if let Some(more) = self.more(self.size.saturating_sub(bytes.len()))? {
                bytes.extend_from_slice(&more);
                continue;
            }
            let Some((first, is_within)) = self.first()? else { break };
            let is_open = bytes.last() != Some(&b'\n');
            if is_open && !self.ends_parts {
                bytes.push(b'\n');
            }
            let first = NextText::new(first, is_within, is_open && self.ends_parts);
            if first.begins_part || bytes.len() + first.bytes.len() > self.size {
                self.next = Some(first);
                break;
            }
            bytes.extend_from_slice(&first.bytes);
        }
        Ok(text)
    }

    /// More lines of the input that is read; `None` at its end.
    fn more(&mut self, size: usize) -> Result<Option<Vec<u8>>, Error> {
        let more = match &mut self.lines {
            Some(lines) => lines.next(size.max(1))?,
            None => None,
        };
        if more.is_none() {
            self.lines = None;
        }
        Ok(more)
    }

    /// The first lines of the next input that has any, and true if they begin within a text.
    fn first(&mut self) -> Result<Option<(Vec<u8>, bool)>, Error> {
        for input in self.inputs.by_ref() {
            let (name, reader, is_within) = match input {
                Lines::Of(source) => {
                    let name = source.name();
                    let (reader, is_within) = source.into_lines()?;
                    (name, reader, is_within)
                }
                Lines::Plain { name, reader, is_begin } => (name, reader, !is_begin),
            };
            let mut lines = LineGroups::new(name, reader);
            if let Some(first) = lines.next(self.size)? {
                self.lines = Some(lines);
                return Ok(Some((first, is_within)));
            }
        }
        Ok(None)
    }
}
