//! Line numbers of partitions, counted over an input.

use std::collections::HashMap;

use warpath_core::error::{Error, InputError};

use super::jobs::Origin;

/// The line number of the next partition's first line, counted from 0.
#[derive(Default)]
pub(crate) struct LineCounter {
    input: usize,
    pub line: u64,
    /// True if parts of the input may come after those of other inputs.
    returns: bool,
    /// The next lines of such inputs.
    others: HashMap<usize, u64>,
}

impl LineCounter {
    /// The number of the next line of an input.
    pub fn of(&mut self, origin: &Origin) -> u64 {
        if self.input != origin.input {
            if self.returns {
                self.others.insert(self.input, self.line);
            }
            self.line = self.others.remove(&origin.input).unwrap_or(0);
            (self.input, self.returns) = (origin.input, origin.returns);
        }
        self.line
    }

    /// Adds the line number to an error, where the reader does not know it.
    pub fn locate(&mut self, origin: &Origin, error: Error) -> Error {
        match error {
            // The reader of selected lines does know the number, and then it is not 0.
            Error::Input(InputError::RecordTooLong { name, line: 0, limit }) => {
                let line = self.of(origin) + 1;
                InputError::RecordTooLong { name, line, limit }.into()
            }
            other => other,
        }
    }
}
