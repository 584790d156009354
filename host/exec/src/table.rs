//! Tables: files in Apache Parquet, and in Arrow's file and stream formats, as record batches.

use std::fmt;

#[cfg(not(feature = "parquet"))]
use warpath_core::error::InputError;
use warpath_core::foreign::Foreign;

/// The file format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableForm {
    Parquet,
    ArrowFile,
    ArrowStream,
}

impl TableForm {
    /// The format of a file that begins with these bytes; `None` if it is no table.
    pub fn of(head: &[u8]) -> Option<Self> {
        match Foreign::of(head) {
            Some(Foreign::Parquet) => Some(Self::Parquet),
            Some(Foreign::ArrowFile) => Some(Self::ArrowFile),
            Some(Foreign::ArrowStream) => Some(Self::ArrowStream),
            _ => None,
        }
    }

    /// The error for an input of this format, if the feature that reads the format is off.
    #[cfg(not(feature = "parquet"))]
    pub fn not_built(self, name: &str) -> InputError {
        let feature = if self == Self::Parquet { "parquet" } else { "arrow-ipc" };
        InputError::NotBuilt { name: name.to_owned(), format: self.to_string(), feature }
    }
}

impl fmt::Display for TableForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "a Parquet file",
            Self::ArrowFile => "an Arrow file",
            Self::ArrowStream => "an Arrow stream",
        })
    }
}

#[cfg(feature = "arrow-ipc")]
pub(crate) use batches::{Batches, of_file, of_stream, table_error};

/// Record batches of tables.
#[cfg(feature = "arrow-ipc")]
mod batches {
    use std::fs::File;
    use std::io::{BufReader, Read};

    use arrow_array::{RecordBatchIterator, RecordBatchReader};
    use arrow_ipc::reader::{FileReader, StreamReader};
    use arrow_schema::{ArrowError, Schema};
    use warpath_core::error::{Error, InputError};

    use super::TableForm;

    /// The record batches of a table.
    pub type Batches = Box<dyn RecordBatchReader + Send>;

    /// The record batches of a file named `name`. Only the columns whose indexes `wanted` returns are read,
    /// except of a stream. A batch of Parquet has at most `most_rows` rows, and about 8 MiB. The
    /// batches of Arrow are those of the file.
    pub fn of_file(
        file: File,
        form: TableForm,
        name: &str,
        most_rows: usize,
        wanted: &dyn Fn(&Schema) -> Vec<usize>,
    ) -> Result<Batches, Error> {
        let failed = |error| table_error(name, error);
        Ok(match form {
            TableForm::Parquet => parquet(file, name, most_rows, wanted)?,
            TableForm::ArrowFile => {
                let schema = arrow_file(&file, None).map_err(failed)?.schema();
                let columns = wanted(&schema);
                let projected = schema.project(&columns).map_err(failed)?;
                let batches = arrow_file(&file, Some(columns)).map_err(failed)?;
                // In some versions of the library the reader itself has the schema of all columns.
                Box::new(RecordBatchIterator::new(batches, projected.into()))
            }
            TableForm::ArrowStream => of_stream(Box::new(file), name)?,
        })
    }

    /// The record batches of an Arrow stream.
    pub fn of_stream(stream: Box<dyn Read + Send>, name: &str) -> Result<Batches, Error> {
        let stream = StreamReader::try_new(BufReader::new(stream), None);
        Ok(Box::new(stream.map_err(|error| table_error(name, error))?))
    }

    /// The error of a table that cannot be read.
    pub fn table_error(name: &str, error: ArrowError) -> InputError {
        match error {
            // The inner error has the message.
            ArrowError::ExternalError(error) => InputError::unreadable(name, error),
            error => InputError::unreadable(name, error),
        }
    }

    fn arrow_file(
        file: &File,
        columns: Option<Vec<usize>>,
    ) -> Result<FileReader<BufReader<File>>, ArrowError> {
        FileReader::try_new_buffered(file.try_clone()?, columns)
    }

    /// The bytes of a batch of Parquet, as far as the file's metadata show them.
    #[cfg(feature = "parquet")]
    const BATCH_BYTES: u64 = 8 << 20;

    #[cfg(feature = "parquet")]
    fn parquet(
        file: File,
        name: &str,
        most_rows: usize,
        wanted: &dyn Fn(&Schema) -> Vec<usize>,
    ) -> Result<Batches, Error> {
        use parquet::arrow::ProjectionMask;
        use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

        let failed = |error: parquet::errors::ParquetError| Error::from(InputError::unreadable(name, error));
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?;
        let columns = ProjectionMask::roots(builder.parquet_schema(), wanted(builder.schema()));
        let rows = rows_of_batch(builder.metadata(), |column| columns.leaf_included(column), most_rows);
        let builder = builder.with_projection(columns).with_batch_size(rows);
        Ok(Box::new(builder.build().map_err(failed)?))
    }

    /// The rows of a batch, from the mean size of the rows of the row group whose rows are largest.
    #[cfg(feature = "parquet")]
    fn rows_of_batch(
        metadata: &parquet::file::metadata::ParquetMetaData,
        is_wanted: impl Fn(usize) -> bool,
        most_rows: usize,
    ) -> usize {
        let rows = metadata.row_groups().iter().map(|group| {
            let columns = group.columns().iter().enumerate().filter(|(column, _)| is_wanted(*column));
            let bytes = columns.map(|(_, column)| {
                // A value of a dictionary is written once, however often it occurs.
                let values = column.unencoded_byte_array_data_bytes().unwrap_or(0);
                values.max(column.uncompressed_size()).unsigned_abs()
            });
            let (bytes, rows) = (bytes.sum::<u64>(), group.num_rows().unsigned_abs());
            (u128::from(rows) * u128::from(BATCH_BYTES) / u128::from(bytes.max(1))) as usize
        });
        rows.min().unwrap_or(most_rows).clamp(1, most_rows.max(1))
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet(_: File, name: &str, _: usize, _: &dyn Fn(&Schema) -> Vec<usize>) -> Result<Batches, Error> {
        Err(TableForm::Parquet.not_built(name).into())
    }
}
