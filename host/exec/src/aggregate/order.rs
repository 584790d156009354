//! Rows in the order of their columns' values.

use std::any::Any;
use std::io::{self, Read};

use warpath_backend::answer::{RowForm, Want};
use warpath_core::error::Error;
use warpath_core::key::{self, Kind};
use warpath_lang::program::{Program, Query};

use super::sorter::{Sorted, Sorter};
use crate::stream::{Digest, Found};

/// A column by which rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortBy {
    /// The number of the column in its program, from 0 on.
    pub column: usize,
    /// True if greater values come first.
    pub descending: bool,
}

/// Sorts rows of NDJSON by the values of columns. Numbers are in their order, strings in that of their code
/// points, and null and missing values come last in both directions. Rows with equal values stay in the order
/// of the records.
pub struct SortRows {
    /// The columns' names as keys, each with its colon.
    keys: Vec<String>,
    by: Vec<SortBy>,
}

impl SortRows {
    /// Sorts the rows of a program by these columns: by the first one, where its values are equal by the
    /// second one, and so on.
    #[must_use]
    pub fn new(program: &Program, by: Vec<SortBy>) -> Self {
        Self { keys: program.columns().iter().map(|column| column.key.clone()).collect(), by }
    }

    /// The program over sorted rows that has the same columns as the program over the records.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are too many columns.
    pub fn program_of_rows(program: &Program) -> Result<Program, Error> {
        let columns = program.columns();
        let query = |name: &str, singular| {
            let name = warpath_core::json::encode(name);
            Query::compile(&if singular { format!("$[{name}]") } else { format!("$[{name}][*]") })
        };
        let queries = columns.iter().map(|column| query(&column.name, column.singular));
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let types: Vec<_> = columns.iter().map(|column| column.values.clone()).collect();
        let queries = queries.collect::<Result<Vec<_>, Error>>()?;
        let sorted = Program::new(&queries)?.with_names(&names)?.with_types(&types)?;
        Ok(match columns.iter().find_map(|column| column.time_format.as_ref()) {
            Some(format) => sorted.with_time_format(format),
            None => sorted,
        })
    }

    /// Appends the sort key of a row.
    fn key(&self, row: &[u8], cells: &mut Vec<(usize, usize)>, out: &mut Vec<u8>) {
        cells.clear();
        let mut at = 1;
        for key in &self.keys {
            let begin = (at + key.len()).min(row.len());
            let end = begin + value_len(&row[begin..]);
            cells.push((begin, end));
            at = end + 1;
        }
        for SortBy { column, descending } in &self.by {
            let cell = cells.get(*column).map_or(&b"null"[..], |(begin, end)| &row[*begin..*end]);
            let begin = out.len();
            out.push(0);
            key::encode(cell, out);
            match Kind::of(&out[begin + 1..]) {
                Some(Kind::Null) | None => {
                    out.truncate(begin);
                    out.push(1);
                }
                Some(_) if *descending => out[begin + 1..].iter_mut().for_each(|byte| *byte = !*byte),
                Some(_) => {}
            }
        }
    }
}

/// The length of the JSON value at the start of a text.
fn value_len(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(offset) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
                    at += offset;
                    if text[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

impl Digest for SortRows {
    fn want(&self) -> Want {
        Want { rows: Some(RowForm::Ndjson), ..Want::default() }
    }

    /// Makes [`KeyedRows`].
    fn digest(&self, found: &[Found<'_>]) -> Box<dyn Any + Send + Sync> {
        let (mut rows, mut cells) = (KeyedRows::default(), Vec::new());
        for piece in found {
            for row in piece.rows.split_inclusive(|byte| *byte == b'\n') {
                self.key(row, &mut cells, &mut rows.bytes);
                let key = rows.bytes.len();
                rows.bytes.extend_from_slice(row);
                rows.ends.push((key, rows.bytes.len()));
            }
        }
        Box::new(rows)
    }
}

/// The rows of a partition, each with its sort key.
#[derive(Default)]
pub struct KeyedRows {
    bytes: Vec<u8>,
    /// The end of each key, and the end of its row, which follows the key.
    ends: Vec<(usize, usize)>,
}

impl KeyedRows {
    /// Adds the rows to a sorter, after the rows that it has.
    ///
    /// # Errors
    /// The errors of [`Sorter::push`].
    pub fn sort(&self, sorter: &mut Sorter) -> Result<(), Error> {
        let mut begin = 0;
        for (key, row) in &self.ends {
            sorter.push(&self.bytes[begin..*key], &self.bytes[*key..*row])?;
            begin = *row;
        }
        Ok(())
    }
}

/// Reads the payloads of sorted items, one after the other.
pub struct SortedText {
    sorted: Sorted,
    key: Vec<u8>,
    text: Vec<u8>,
    /// The bytes of `text` that have been read.
    read: usize,
}

impl SortedText {
    /// The payloads of these items.
    #[must_use]
    pub fn new(sorted: Sorted) -> Self {
        Self { sorted, key: Vec::new(), text: Vec::new(), read: 0 }
    }
}

impl Read for SortedText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < buffer.len() {
            if self.read == self.text.len() {
                self.read = 0;
                if !self.sorted.next(&mut self.key, &mut self.text).map_err(io::Error::other)? {
                    self.text.clear();
                    break;
                }
            }
            let count = (self.text.len() - self.read).min(buffer.len() - written);
            buffer[written..written + count].copy_from_slice(&self.text[self.read..self.read + count]);
            (self.read, written) = (self.read + count, written + count);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_should() {
        for (text, value) in [
            ("1,", "1"),
            ("null}", "null"),
            (r#""a,\"]}","b":1}"#, r#""a,\"]}""#),
            (r#"[1,[2],{"a":","}],"#, r#"[1,[2],{"a":","}]"#),
            ("{},{}", "{}"),
            ("\"\\", "\"\\"),
            ("", ""),
        ] {
            assert_eq!(&text[..value_len(text.as_bytes()).min(text.len())], value, "{text}");
        }
    }
}
