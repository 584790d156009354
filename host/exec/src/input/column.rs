//! Columns of text in tables, as lines: each value is a record.

use std::fs::File;
use std::io::{self, Read};

use warpath_core::error::InputError;
use warpath_core::foreign::Foreign;

use super::decoded::Decoded;
use super::source::{Source, stdin_file};
use crate::table::TableForm;

/// The formats of tables whose columns can be read as lines.
///
/// ```
/// use warpath::{Source, TableFormat, TextColumn};
///
/// let column = TextColumn::new(TableFormat::Arrow, "payload");
/// let source = Source::Column(Box::new("events.arrow".into()), column);
/// assert_eq!(source.name(), "events.arrow");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// Arrow's file format (Feather) and stream format.
    Arrow,
}

/// A column of text in a table.
///
/// ```
/// use warpath::{Engine, Query, Source, TableFormat, TextColumn};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let column = TextColumn::new(TableFormat::Parquet, "payload");
/// assert_eq!(column.name.as_deref(), Some("payload"));
/// let source = Source::Column(Box::new("events.parquet".into()), column);
/// let events = Engine::builder().build()?.input(vec![source]);
/// # drop(events);
/// # #[cfg(any())]
/// println!("{}", events.count(&Query::compile("$.id")?)?);
/// # let _ = Query::compile("$.id")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextColumn {
    /// The format of the table.
    pub format: TableFormat,
    /// The name of the column; `None` for all columns: each row is a record, an object with a member for each
    /// value that is not null.
    pub name: Option<String>,
}

impl TableFormat {
    fn has(self, form: TableForm) -> bool {
        (self == Self::Parquet) == (form == TableForm::Parquet)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow file or stream",
        }
    }
}

impl TextColumn {
    /// The column `name` of tables in a format.
    #[must_use]
    pub fn new(format: TableFormat, name: impl Into<String>) -> Self {
        Self { format, name: Some(name.into()) }
    }

    /// All columns of tables in a format: each row is a record.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use warpath::{Engine, Query, Source, TableFormat, TextColumn};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// let batch = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![7, 8])) as _)])?;
    /// let mut writer = arrow_ipc::writer::FileWriter::try_new(std::fs::File::create(&path)?, &batch.schema())?;
    /// writer.write(&batch)?;
    /// writer.finish()?;
    /// let rows = Source::Column(Box::new(path.to_path_buf().into()), TextColumn::rows(TableFormat::Arrow));
    /// let mut hits = Engine::builder().build()?.input(vec![rows]).query(&Query::compile("$.id")?)?;
    /// assert_eq!(hits.next().unwrap()?.text(), "7");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn rows(format: TableFormat) -> Self {
        Self { format, name: None }
    }

    /// Opens the lines of the column in a table.
    ///
    /// # Errors
    /// [`InputError::Io`], [`InputError::Directory`], and [`InputError::Table`] if the input is no table of
    /// this format, or has no column of text of this name.
    pub(super) fn open(self, source: Source) -> Result<Decoded, InputError> {
        let name = source.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        let file = match source {
            Source::File(path) if path.is_dir() => return Err(InputError::Directory(path)),
            Source::File(path) => File::open(path).map_err(failed)?,
            Source::Stdin => match stdin_file() {
                Some(file) => file,
                None => return self.of_pipe(name, Box::new(io::stdin())),
            },
            Source::Reader(_, reader) => return self.of_pipe(name, reader),
            Source::Bytes(_, bytes) => return self.of_pipe(name, Box::new(io::Cursor::new(bytes))),
            #[cfg(feature = "store")]
            Source::Stored(_) => {
                return Err(table_error(&name, "only a file or a pipe can be read as a table"));
            }
            Source::Loaded(_)
            | Source::Followed(..)
            | Source::FollowedAll(_)
            | Source::Part(..)
            | Source::Column(..)
            | Source::Values(..)
            | Source::Records(..) => {
                return Err(table_error(&name, "only a file or a pipe can be read as a table"));
            }
        };
        if !file.metadata().map_err(failed)?.is_file() {
            return self.of_pipe(name, Box::new(file));
        }
        let mut head = [0; Foreign::HEAD_BYTES];
        let (filled, _) = warpath_core::file::fill_at(&file, &mut head, 0);
        let form = self.check(&name, &head[..filled])?;
        self.of_file(name, file, form)
    }

    /// Refuses data that is no table of this format.
    fn check(&self, name: &str, head: &[u8]) -> Result<TableForm, InputError> {
        match TableForm::of(head) {
            Some(form) if self.format.has(form) => Ok(form),
            Some(form) => Err(table_error(name, &format!("is {form}, not {}", self.format.name()))),
            None => Err(table_error(name, &format!("is not {}", self.format.name()))),
        }
    }

    /// The lines of a table that is read from start to end: an Arrow stream.
    fn of_pipe(self, name: String, mut reader: Box<dyn Read + Send>) -> Result<Decoded, InputError> {
        let mut head = Vec::new();
        let read = reader.by_ref().take(8).read_to_end(&mut head);
        read.map_err(|source| InputError::Io { name: name.clone(), source })?;
        match self.check(&name, &head)? {
            TableForm::ArrowStream => self.of_stream(name, Box::new(io::Cursor::new(head).chain(reader))),
            form => {
                let what = format!("is {form} in a pipe; only an Arrow stream can be read from one");
                Err(table_error(&name, &what))
            }
        }
    }
}

fn table_error(name: &str, what: &str) -> InputError {
    InputError::Table { name: name.to_owned(), what: what.to_owned() }
}

#[cfg(not(feature = "arrow-ipc"))]
impl TextColumn {
    fn of_file(self, name: String, _: File, form: TableForm) -> Result<Decoded, InputError> {
        Err(form.not_built(&name))
    }

    fn of_stream(self, name: String, _: Box<dyn Read + Send>) -> Result<Decoded, InputError> {
        Err(TableForm::ArrowStream.not_built(&name))
    }
}

#[cfg(feature = "arrow-ipc")]
mod lines {
    use std::fs::File;
    use std::io::{self, Read};

    use arrow_array::cast::AsArray;
    use arrow_array::{Array, ArrayRef, new_empty_array};
    use arrow_json::LineDelimitedWriter;
    use arrow_schema::{DataType, Schema};
    use warpath_core::error::{Error, InputError};
    use warpath_cpu::cut::flatten;

    use super::{Decoded, TableForm, TextColumn, table_error};
    use crate::table::{self, Batches};

    /// The most rows of a batch of Parquet. Few values may have most of the bytes of a row group.
    const BATCH_ROWS: usize = 4096;
    /// The bytes of lines from which no further values are added.
    const LINES_BYTES: usize = 256 << 10;
    /// The most values that are looked up at once.
    const SLICE_ROWS: usize = 64;

    impl TextColumn {
        pub(super) fn of_file(
            self,
            name: String,
            file: File,
            form: TableForm,
        ) -> Result<Decoded, InputError> {
            let wanted = |schema: &Schema| match &self.name {
                Some(name) => schema.index_of(name).into_iter().collect(),
                None => (0..schema.fields().len()).collect(),
            };
            let batches = table::of_file(file, form, &name, BATCH_ROWS, &wanted)
                .map_err(|error| input_error(&name, error))?;
            self.lines(name, batches)
        }

        pub(super) fn of_stream(
            self,
            name: String,
            stream: Box<dyn Read + Send>,
        ) -> Result<Decoded, InputError> {
            let batches = table::of_stream(stream, &name).map_err(|error| input_error(&name, error))?;
            self.lines(name, batches)
        }

        fn lines(self, name: String, batches: Batches) -> Result<Decoded, InputError> {
            let Some(wanted) = self.name else {
                let lines = RowLines { name: name.clone(), batches, lines: Vec::new(), given: 0 };
                return Ok(Decoded::plain(name, lines));
            };
            let schema = batches.schema();
            let Ok(column) = schema.index_of(&wanted) else {
                return Err(table_error(&name, &format!("there is no column `{wanted}`")));
            };
            let found = schema.field(column).data_type();
            if !is_text(found) {
                let what = format!(
                    "the column `{wanted}` has the type {found}; only strings and binary values are read as lines"
                );
                return Err(table_error(&name, &what));
            }
            let rest = new_empty_array(found);
            let lines =
                ColumnLines { name: name.clone(), batches, column, rest, lines: Vec::new(), given: 0 };
            Ok(Decoded::plain(name, lines))
        }
    }

    fn input_error(name: &str, error: Error) -> InputError {
        match error {
            Error::Input(error) => error,
            error => InputError::unreadable(name, error),
        }
    }

    /// The values of a column as lines, one for each row. A null is an empty line.
    struct ColumnLines {
        name: String,
        batches: Batches,
        column: usize,
        /// The values of the last batch that have not become lines.
        rest: ArrayRef,
        /// Lines that have not been given out, except for the first `given` bytes.
        lines: Vec<u8>,
        given: usize,
    }

    impl ColumnLines {
        /// Makes lines of the next values of the batch, as many as [`LINES_BYTES`] have.
        fn add(&mut self) -> Result<(), InputError> {
            while !self.rest.is_empty() && self.lines.len() < LINES_BYTES {
                let slice = self.rest.slice(0, self.rest.len().min(SLICE_ROWS));
                let Some(value) = values(slice.as_ref()) else {
                    return Err(table_error(&self.name, "the column has no text"));
                };
                let mut rows = 0;
                while rows < slice.len() && self.lines.len() < LINES_BYTES {
                    self.add_line(value(rows).unwrap_or_default());
                    rows += 1;
                }
                self.rest = self.rest.slice(rows, self.rest.len() - rows);
            }
            Ok(())
        }

        fn add_line(&mut self, value: &[u8]) {
            let start = self.lines.len();
            self.lines.extend_from_slice(value);
            if memchr::memchr(b'\n', &self.lines[start..]).is_some() {
                // A newline in a string ends the line, which is malformed then, as in a document.
                if let Err(end) = flatten(&mut self.lines[start..], &mut |_| {}) {
                    self.lines.truncate(start + end);
                }
            }
            self.lines.push(b'\n');
        }
    }

    impl Read for ColumnLines {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            while self.given == self.lines.len() {
                self.lines.clear();
                self.given = 0;
                if self.rest.is_empty() {
                    // An empty slice would keep the memory of its batch.
                    self.rest = new_empty_array(self.rest.data_type());
                    match self.batches.next() {
                        Some(Ok(batch)) => self.rest = batch.column(self.column).clone(),
                        Some(Err(error)) => return Err(table::table_error(&self.name, error).into()),
                        None => return Ok(0),
                    }
                }
                self.add()?;
            }
            let count = room.len().min(self.lines.len() - self.given);
            room[..count].copy_from_slice(&self.lines[self.given..self.given + count]);
            self.given += count;
            Ok(count)
        }
    }

    /// The rows of a table as lines, each an object.
    struct RowLines {
        name: String,
        batches: Batches,
        /// Lines that have not been given out, except for the first `given` bytes.
        lines: Vec<u8>,
        given: usize,
    }

    impl Read for RowLines {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            while self.given == self.lines.len() {
                self.lines.clear();
                self.given = 0;
                let failed = |error| table::table_error(&self.name, error);
                let Some(batch) = self.batches.next().transpose().map_err(failed)? else { return Ok(0) };
                let mut writer = LineDelimitedWriter::new(&mut self.lines);
                writer.write(&batch).and_then(|()| writer.finish()).map_err(failed)?;
            }
            let count = room.len().min(self.lines.len() - self.given);
            room[..count].copy_from_slice(&self.lines[self.given..self.given + count]);
            self.given += count;
            Ok(count)
        }
    }

    fn is_text(found: &DataType) -> bool {
        match found {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
            DataType::Dictionary(_, values) => is_text(values),
            _ => false,
        }
    }

    /// A function from a row to its value, which is `None` for a null.
    type Values<'a> = Box<dyn Fn(usize) -> Option<&'a [u8]> + 'a>;

    /// The values of an array of text; `None` for another type.
    fn values(array: &dyn Array) -> Option<Values<'_>> {
        macro_rules! of {
            ($array:expr, $value:expr) => {{
                let array = $array;
                Box::new(move |row| (!array.is_null(row)).then(|| $value(array.value(row))))
            }};
        }
        Some(match array.data_type() {
            DataType::Utf8 => of!(array.as_string::<i32>(), str::as_bytes),
            DataType::LargeUtf8 => of!(array.as_string::<i64>(), str::as_bytes),
            DataType::Utf8View => of!(array.as_string_view(), str::as_bytes),
            DataType::Binary => of!(array.as_binary::<i32>(), <[u8]>::as_ref),
            DataType::LargeBinary => of!(array.as_binary::<i64>(), <[u8]>::as_ref),
            DataType::BinaryView => of!(array.as_binary_view(), <[u8]>::as_ref),
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary_opt()?;
                if dictionary.values().is_empty() {
                    return Some(Box::new(|_| None));
                }
                let (keys, value) = (dictionary.normalized_keys(), values(dictionary.values().as_ref())?);
                Box::new(move |row| if array.is_null(row) { None } else { value(keys[row]) })
            }
            _ => return None,
        })
    }
}
