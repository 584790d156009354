//! Line numbers of partitions, counted over an input.

use warpath_core::error::{Error, InputError};

use super::jobs::Origin;

/// The line number of the next partition's first line, counted from 0.
#[derive(Default)]
pub(crate) struct LineCounter {
    input: usize,
    pub line: u64,
}

impl LineCounter {
    /// The next line of an input.
    pub fn of(&mut self, origin: &Origin) -> u64 {
        if self.input != origin.input {
            *self = Self { input: origin.input, line: 0 };
        }
        self.line
    }

    /// Fills in what the reader does not know.
    pub fn locate(&mut self, origin: &Origin, error: Error) -> Error {
        match error {
            // Who reads selected lines knows it.
            Error::Input(InputError::RecordTooLong { name, line: 0, limit }) => {
                let line = self.of(origin) + 1;
                InputError::RecordTooLong { name, line, limit }.into()
            }
            other => other,
        }
    }
}
