//! Rows of few columns, whose cells are JSON texts.

use warpath::answer::{RowForm, RowText, TextForm, text};
use warpath::json;

use super::args::{RowsArgs, RowsFormat};
use super::grid::Grid;
use super::look::Look;

/// A cell: the JSON text of a value, or `None` for a missing value.
pub type Cell<'a> = Option<&'a [u8]>;

/// Writes rows in the format that the options name.
pub struct RowWriter(Form);

enum Form {
    /// Fields separated by tabs, in this form.
    Text(TextForm),
    /// Objects without missing values. The names of the columns as keys, with their colons.
    Ndjson(Vec<String>),
    /// Fields in which `null` and a missing value differ.
    Fields(RowText),
    Table(Grid),
}

impl RowWriter {
    pub fn new(args: &RowsArgs, look: Look, names: Vec<String>) -> Self {
        let form = match args.format {
            RowsFormat::Text if args.raw_output => Form::Text(TextForm::Raw),
            RowsFormat::Text => Form::Text(TextForm::Json),
            RowsFormat::Ndjson => Form::Ndjson(names.iter().map(|name| json::encode(name) + ":").collect()),
            RowsFormat::Csv => Form::Fields(RowText::new(RowForm::Csv, &names)),
            RowsFormat::Tsv => Form::Fields(RowText::new(RowForm::Tsv, &names)),
            RowsFormat::Table => Form::Table(Grid::new(&names, look)),
        };
        Self(form)
    }

    /// Writes what comes before the first row.
    pub fn header(&self, out: &mut Vec<u8>) {
        if let Form::Fields(rows) = &self.0 {
            out.extend_from_slice(&rows.header());
        }
    }

    /// Writes a row, which has a cell for each column.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>, out: &mut Vec<u8>) {
        // These formats leave the field of `null` empty, as of a missing value. A string is shown as it is.
        let field = |cell: Cell<'a>| match cell {
            None => &b"null"[..],
            Some(b"null") => b"\"null\"",
            Some(value) => value,
        };
        match &mut self.0 {
            Form::Text(form) => {
                for (i, cell) in cells.into_iter().enumerate() {
                    if i > 0 {
                        out.push(b'\t');
                    }
                    match cell {
                        Some(value) => text::append(value, *form, out),
                        None => out.extend_from_slice(b"missing"),
                    }
                }
                out.push(b'\n');
            }
            Form::Ndjson(keys) => {
                out.push(b'{');
                let begin = out.len();
                for (value, key) in cells.into_iter().zip(keys).filter_map(|(cell, key)| Some((cell?, key))) {
                    if out.len() > begin {
                        out.push(b',');
                    }
                    out.extend_from_slice(key.as_bytes());
                    out.extend_from_slice(value);
                }
                out.extend_from_slice(b"}\n");
            }
            Form::Fields(rows) => rows.append(cells.into_iter().map(field), out),
            Form::Table(grid) => grid.row(cells.into_iter().map(field), out),
        }
    }

    /// Writes what is left after the last row.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if let Form::Table(grid) = &mut self.0 {
            grid.end(out);
        }
    }
}
