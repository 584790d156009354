//! The column of file names before the other columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use warpath::{Error, RowForm};
use warpath_answer::answer::RowText;
use warpath_core::json;

use super::super::failure::Failure;

/// The name of the column.
pub const NAME: &str = "file";

/// Writes the name of a file before each row of text.
pub struct NamePrefix(RowForm);

impl NamePrefix {
    pub fn new(form: RowForm) -> Self {
        Self(form)
    }

    /// Appends rows, each with the name of its file before it. `name` returns the name for the number of a
    /// row.
    pub fn append<'a>(&self, rows: &[u8], name: impl Fn(usize) -> &'a str, out: &mut Vec<u8>) {
        let field = RowText::new(self.0, &[NAME]);
        let (mut rest, mut row, mut prefix, mut last) = (rows, 0, Vec::new(), None);
        while !rest.is_empty() {
            let name = name(row);
            if last != Some(name) {
                prefix.clear();
                field.append([json::encode(name).as_bytes()], &mut prefix);
                // The field without the end of its row.
                prefix.truncate(prefix.len() - self.end().len());
                prefix.push(if self.0 == RowForm::Tsv { b'\t' } else { b',' });
                last = Some(name);
            }
            let (this, after) = rest.split_at(self.0.end_of(rest, 1));
            out.extend_from_slice(&prefix);
            out.extend_from_slice(this.strip_prefix(self.begin()).unwrap_or(this));
            (rest, row) = (after, row + 1);
        }
    }

    /// The bytes before the first field of a row.
    fn begin(&self) -> &'static [u8] {
        match self.0 {
            RowForm::Csv | RowForm::Tsv => b"",
            RowForm::Ndjson | RowForm::Sparse => b"{",
        }
    }

    /// The bytes after the last field of a row.
    fn end(&self) -> &'static [u8] {
        match self.0 {
            RowForm::Csv | RowForm::Tsv => b"\n",
            RowForm::Ndjson | RowForm::Sparse => b"}\n",
        }
    }
}

/// The schema with the column before its columns.
pub fn schema(schema: &SchemaRef) -> SchemaRef {
    let file = Arc::new(Field::new(NAME, DataType::Utf8, false));
    let fields: Vec<_> = std::iter::once(file).chain(schema.fields().iter().cloned()).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The rows with the column before their columns. `names` are the names of the rows' files, in order.
pub fn columns<'a>(
    batch: &RecordBatch,
    names: impl Iterator<Item = &'a str>,
) -> Result<RecordBatch, Failure> {
    let file: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let columns = std::iter::once(file).chain(batch.columns().iter().cloned()).collect();
    Ok(RecordBatch::try_new(schema(&batch.schema()), columns)
        .map_err(|error| Error::Internal(error.to_string()))?)
}
