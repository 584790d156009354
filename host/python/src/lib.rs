//! The Python module `warpath._warpath`, which the package `warpath` re-exports.
//!
//! | module | contents |
//! |---|---|
//! | `input` | `open`, `from_bytes`, and what is read from an input |
//! | `reading` | inputs that may be read several times, and their engines |
//! | `matches` | the matches of a query |
//! | `columns` | the columns of a selection, as the caller gives them |
//! | `rows` | the rows of a selection, up to a limit and a mismatch |
//! | `selection` | columns, given to libraries of Arrow |
//! | `device` | columns that stay on a CUDA device |
//! | `schema` | schemas of records |
//! | `error` | errors as exceptions |
//! | `border` | panics, and work without Python's lock |
//! | `interrupt` | handlers of signals, while the library reads |
//!
//! Python's lock is released while the library reads or waits. Signals are handled meanwhile.

mod border;
mod columns;
mod device;
mod error;
mod input;
mod interrupt;
mod matches;
mod reading;
mod rows;
mod schema;
mod selection;

use pyo3::prelude::*;

#[pymodule]
mod _warpath {
    use super::*;

    #[pymodule_export]
    use super::device::{DeviceBatch, DeviceColumn};
    #[pymodule_export]
    use super::input::{Input, from_bytes, open};
    #[pymodule_export]
    use super::matches::{Match, Matches};
    #[pymodule_export]
    use super::schema::Schema;
    #[pymodule_export]
    use super::selection::{Batch, Selection};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        interrupt::remember(module.py())
    }
}
