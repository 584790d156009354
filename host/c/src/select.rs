//! Columns of an input, by the Arrow C stream interface.

use std::collections::BTreeSet;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::{ptr, slice};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use warpath::Program;
use warpath::columns::{ColumnTally, ColumnType, RecordBatches, Schema, Tally};

use crate::error::{Failure, border, c_name, text};
use crate::input::WarpathInput;

/// A column to select.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WarpathColumn {
    /// The name of the column.
    pub name: *const c_char,
    /// The path of its values: JSONPath (RFC 9535).
    pub path: *const c_char,
    /// The type of its values: `bool`, `int64`, `float64`, `decimal(P,S)`, `string`, `text`, `json`, `time`,
    /// `date`, `list<TYPE>` or `struct<NAME:TYPE,...>`; `int64(string)` and the like for numbers that may be
    /// strings. NULL for `text`, which takes every value in UTF-8.
    pub type_: *const c_char,
    /// The JSON text of the value for missing values and null; NULL for none.
    pub default_: *const c_char,
}

/// The values that the columns of a stream did not take. The counts grow while the stream is read, and are
/// complete at its end.
pub struct WarpathLosses {
    tally: Arc<Mutex<Tally>>,
    /// The names of files that were given out. None is removed before the losses are freed.
    names: Mutex<BTreeSet<CString>>,
}

/// The values that one column did not take, and that are null therefore. The names of files are valid until
/// `warpath_losses_free` for the losses that they were read from.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WarpathLoss {
    /// The rows in which the path selects no value.
    pub missing: u64,
    /// The values that are `null`.
    pub null: u64,
    /// The values of another type.
    pub mismatch: u64,
    /// The numbers that the type does not hold.
    pub overflow: u64,
    /// The line of the first mismatch in its file, counted from 1; 0 if there is none.
    pub first_mismatch: u64,
    /// The line of the first overflow in its file, counted from 1; 0 if there is none.
    pub first_overflow: u64,
    /// The name of the file with the first mismatch, which ends with a zero byte; NULL if there is none.
    pub first_mismatch_source: *const c_char,
    /// The name of the file with the first overflow, which ends with a zero byte; NULL if there is none.
    pub first_overflow_source: *const c_char,
}

/// Selects `count` columns, with a row for each record. Fills `stream`, whose consumer calls its `release`.
/// Errors of the input are errors of the stream: `get_last_error` has their messages. Returns 0, or -1 if it
/// fails; `stream` is then unchanged.
///
/// # Safety
/// `input` is a result of `warpath_open` or `warpath_open_bytes` that is not freed. `columns` points to
/// `count` columns, whose strings end with a zero byte. `stream` points to writable memory for a stream that
/// needs no release. `losses` is NULL, or points to memory for a pointer, which is freed by
/// `warpath_losses_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_select(
    input: *const WarpathInput,
    columns: *const WarpathColumn,
    count: usize,
    stream: *mut FFI_ArrowArrayStream,
    losses: *mut *mut WarpathLosses,
) -> i32 {
    border(-1, || {
        // SAFETY: the caller upholds that the pointer is null or a live input.
        let input = unsafe { input.as_ref() }.ok_or_else(|| Failure::usage("the input is NULL"))?;
        if columns.is_null() || count == 0 {
            return Err(Failure::usage("there are no columns"));
        }
        if stream.is_null() {
            return Err(Failure::usage("the memory for the stream is NULL"));
        }
        // SAFETY: not null, and the caller upholds that `count` columns follow, whose strings end with a zero
        // byte.
        let schema = unsafe { schema(input, slice::from_raw_parts(columns, count))? };
        let batches = input.input().record_batches(&schema);
        let tally = Arc::new(Mutex::new(batches.losses().clone()));
        let reader = BatchStream { arrow: batches.schema(), batches: Some(batches), tally: tally.clone() };
        // SAFETY: not null, and the caller upholds that the memory is writable. It holds no stream that is to
        // be released, so nothing is dropped.
        unsafe { stream.write(FFI_ArrowArrayStream::new(Box::new(reader))) };
        if !losses.is_null() {
            let made = WarpathLosses { tally, names: Mutex::default() };
            // SAFETY: not null, and the caller upholds that the memory is writable.
            unsafe { losses.write(Box::into_raw(Box::new(made))) };
        }
        Ok(0)
    })
}

/// Makes the schema of columns.
///
/// # Safety
/// The strings of the columns are null or end with a zero byte.
unsafe fn schema(input: &WarpathInput, columns: &[WarpathColumn]) -> Result<Schema, Failure> {
    let (mut names, mut queries, mut types, mut defaults) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for column in columns {
        // SAFETY: the caller of this function upholds that the text is null or ends with a zero byte.
        let name = unsafe { text(column.name, "name of a column")? };
        // SAFETY: as for the name, by the same caller.
        let path = unsafe { text(column.path, "path of a column")? };
        let values = match column.type_.is_null() {
            true => ColumnType::Text,
            false => {
                let wrong = |why| Failure::usage(format!("column `{name}`: {why}"));
                // SAFETY: as for the name, by the same caller.
                unsafe { text(column.type_, "type of a column")? }.parse().map_err(wrong)?
            }
        };
        defaults.push(match column.default_.is_null() {
            true => None,
            // SAFETY: as for the name, by the same caller.
            false => Some(unsafe { text(column.default_, "default of a column")? }),
        });
        if names.contains(&name) {
            return Err(Failure::usage(format!("two columns have the name `{name}`")));
        }
        names.push(name);
        queries.push(input.query(path)?);
        types.push(values);
    }
    let program = Program::new(&queries)?.with_names(&names)?.with_types(&types)?.with_defaults(&defaults)?;
    Ok(Schema::of_program(match input.time_format() {
        Some(format) => program.with_time_format(format),
        None => program,
    })?)
}

/// The batches of a stream.
struct BatchStream {
    /// `None` after the end.
    batches: Option<RecordBatches<'static>>,
    arrow: SchemaRef,
    tally: Arc<Mutex<Tally>>,
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Callbacks of Arrow abort at a panic. The batches are dropped after one; nothing else has changed.
        let made = catch_unwind(AssertUnwindSafe(|| {
            let batches = self.batches.as_mut()?;
            let made = batches.next();
            self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone_from(batches.losses());
            made
        }));
        let made = made.unwrap_or_else(|_| {
            Some(Err(ArrowError::ExternalError("internal error: a panic while the stream was read".into())))
        });
        if !matches!(made, Some(Ok(_))) {
            self.batches = None;
        }
        made
    }
}

impl RecordBatchReader for BatchStream {
    fn schema(&self) -> SchemaRef {
        self.arrow.clone()
    }
}

impl WarpathLosses {
    /// The name of a file for C. It is kept until the losses are freed.
    fn name(&self, name: &str) -> *const c_char {
        let name = c_name(name);
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = names.get(&name) {
            return kept.as_ptr();
        }
        // The bytes of the name stay where they are when it moves.
        let address = name.as_ptr();
        names.insert(name);
        address
    }
}

/// Reads the values that a column of a stream did not take, so far. The columns are counted from 0. Returns 0
/// and fills `loss`, or returns -1 if it fails.
///
/// # Safety
/// `losses` is a result of `warpath_select` that is not freed; the stream may be released. `loss` points to
/// writable memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_losses_get(
    losses: *const WarpathLosses,
    column: usize,
    loss: *mut WarpathLoss,
) -> i32 {
    border(-1, || {
        // SAFETY: the caller upholds that the pointer is null or live losses.
        let losses = unsafe { losses.as_ref() }.ok_or_else(|| Failure::usage("the losses are NULL"))?;
        if loss.is_null() {
            return Err(Failure::usage("the memory for a loss is NULL"));
        }
        let tally = losses.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ColumnTally { missing, null, mismatch, overflow }) = tally.columns.get(column) else {
            return Err(Failure::usage(format!(
                "there is no column {column}: there are {}",
                tally.columns.len()
            )));
        };
        let place = |first: &Option<(String, u64)>| match first {
            Some((name, line)) => (losses.name(name), *line),
            None => (ptr::null(), 0),
        };
        let (mismatch_place, overflow_place) = (place(&mismatch.first), place(&overflow.first));
        let made = WarpathLoss {
            missing: missing.count,
            null: null.count,
            mismatch: mismatch.count,
            overflow: overflow.count,
            first_mismatch: mismatch_place.1,
            first_overflow: overflow_place.1,
            first_mismatch_source: mismatch_place.0,
            first_overflow_source: overflow_place.0,
        };
        // SAFETY: not null, and the caller upholds that the memory is writable.
        unsafe { loss.write(made) };
        Ok(0)
    })
}

/// Frees losses.
///
/// # Safety
/// `losses` is NULL, or a result of `warpath_select` that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_losses_free(losses: *mut WarpathLosses) {
    border((), || {
        if !losses.is_null() {
            // SAFETY: the caller upholds that a box made this pointer, and that it is freed once.
            drop(unsafe { Box::from_raw(losses) });
        }
        Ok(())
    });
}

/// Returns the version of the library, such as `0.1.0`. The text lasts as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn warpath_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
