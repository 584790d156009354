//! The documents that match, in Arrow's form.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::Filtered;

impl Filtered<'_> {
    /// The schema of [`to_arrow`](Self::to_arrow) has three columns: `file`, a `Utf8`; `line`, a `UInt64`,
    /// from 1 on, null if an input is one document; and `ids`, a `List` of `Utf8`.
    #[must_use]
    pub fn arrow_schema() -> SchemaRef {
        let ids = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, false)));
        Arc::new(Schema::new(vec![
            Field::new("file", DataType::Utf8, false),
            Field::new("line", DataType::UInt64, true),
            Field::new("ids", ids, false),
        ]))
    }

    /// The documents that match any subscription, one row for each, with the ids of the subscriptions that
    /// they match.
    ///
    /// # Errors
    /// [`ArrowError`] if there are 2³⁰ bytes of names or of ids, or more.
    pub fn to_arrow(&self) -> Result<RecordBatch, ArrowError> {
        let (mut files, mut lines) = (StringBuilder::new(), UInt64Builder::new());
        let mut ids =
            ListBuilder::new(StringBuilder::new()).with_field(Field::new_list_field(DataType::Utf8, false));
        let (mut file_bytes, mut id_bytes) = (0_usize, 0_usize);
        for document in self.documents() {
            file_bytes += self.source().len();
            files.append_value(self.source());
            lines.append_option(document.line());
            for id in document.ids() {
                id_bytes += id.len();
                ids.values().append_value(id);
            }
            ids.append(true);
            // The builders count in 32 bits, and end the program on overflow.
            if file_bytes.max(id_bytes) > i32::MAX as usize / 2 {
                return Err(ArrowError::ComputeError("too many bytes of ids for a batch".into()));
            }
        }
        let columns: Vec<ArrayRef> =
            vec![Arc::new(files.finish()), Arc::new(lines.finish()), Arc::new(ids.finish())];
        RecordBatch::try_new(Self::arrow_schema(), columns)
    }
}
