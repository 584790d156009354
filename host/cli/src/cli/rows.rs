//! Rows of few columns, whose cells are JSON texts.

use warpath::{RowForm, TextForm};
use warpath_answer::answer::{RowText, text};
use warpath_core::json;
use warpath_terminal::json::Look;

use super::args::RowsFormat;
use super::grid::Grid;

/// A cell: the JSON text of a value, or `None` for a missing value.
pub type Cell<'a> = Option<&'a [u8]>;

/// Writes rows in the format that the options name.
pub struct RowWriter(RowEncoder);

/// The encoder of rows in one format.
enum RowEncoder {
    /// Fields separated by tabs, in this form, and coloured as JSON is.
    Text(TextForm, Look),
    /// Objects without missing values. The names of the columns as keys, with their colons.
    Ndjson(Vec<String>, Look),
    /// Fields in which `null` and a missing value differ.
    Fields(RowText),
    Table(Grid),
}

impl RowWriter {
    /// Rows in a format. `is_raw` is true if strings are text in [`RowsFormat::Text`].
    pub fn new(format: RowsFormat, is_raw: bool, look: Look, names: Vec<String>) -> Self {
        let encoder = match format {
            RowsFormat::Text if is_raw => RowEncoder::Text(TextForm::Raw, look),
            RowsFormat::Text => RowEncoder::Text(TextForm::Json, look),
            RowsFormat::Ndjson => {
                RowEncoder::Ndjson(names.iter().map(|name| json::encode(name) + ":").collect(), look)
            }
            RowsFormat::Csv => RowEncoder::Fields(RowText::new(RowForm::Csv, &names)),
            RowsFormat::Tsv => RowEncoder::Fields(RowText::new(RowForm::Tsv, &names)),
            RowsFormat::Table => RowEncoder::Table(Grid::new(&names, look)),
        };
        Self(encoder)
    }

    /// Writes what comes before the first row.
    pub fn header(&self, out: &mut Vec<u8>) {
        if let RowEncoder::Fields(rows) = &self.0 {
            out.extend_from_slice(&rows.header());
        }
    }

    /// Writes a row, which has a cell for each column.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>, out: &mut Vec<u8>) {
        // `null` makes these writers leave a field empty, and a string makes them write its text. The text of
        // the string `"null"` is its JSON, so that it is not that of `null`.
        let field = |cell: Cell<'a>| match cell {
            None => &b"null"[..],
            Some(b"null") => b"\"null\"",
            Some(b"\"null\"") => br#""\"null\"""#,
            Some(value) => value,
        };
        match &mut self.0 {
            RowEncoder::Text(form, look) => {
                for (i, cell) in cells.into_iter().enumerate() {
                    if i > 0 {
                        out.push(b'\t');
                    }
                    match cell {
                        Some(value) if *form == TextForm::Raw && value.starts_with(b"\"") => {
                            text::append(value, *form, out);
                        }
                        Some(value) => look.append(value, out),
                        None => out.extend_from_slice(b"missing"),
                    }
                }
                out.push(b'\n');
            }
            RowEncoder::Ndjson(keys, look) => {
                let mut line = vec![b'{'];
                for (value, key) in cells.into_iter().zip(keys).filter_map(|(cell, key)| Some((cell?, key))) {
                    if line.len() > 1 {
                        line.push(b',');
                    }
                    line.extend_from_slice(key.as_bytes());
                    line.extend_from_slice(value);
                }
                line.push(b'}');
                look.append(&line, out);
                out.push(b'\n');
            }
            RowEncoder::Fields(rows) => rows.append(cells.into_iter().map(field), out),
            RowEncoder::Table(grid) => grid.row(cells.into_iter().map(field), out),
        }
    }

    /// Writes what is left after the last row.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if let RowEncoder::Table(grid) = &mut self.0 {
            grid.end(out);
        }
    }
}
