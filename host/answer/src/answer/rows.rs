//! Records as rows of text: one line a record, one cell a path.

use std::ops::Range;

use csv_core::{WriteResult, Writer};
use warpath_core::json;
use warpath_core::time::{Instant, Unit, Zone};
use warpath_lang::column_type::ColumnType;
use warpath_lang::program::{Column, Program};
use warpath_shared::kernel::Match;

use super::text::{self, TextForm};
use super::{Piece, RowForm};
use crate::columns::scalar;

impl RowForm {
    /// The bytes before the first row: the line of names in CSV and TSV, and nothing in other forms.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn header(self, program: &Program) -> Vec<u8> {
        self.names(program.columns().iter().map(|column| column.name.as_str()))
    }

    /// The line of names.
    fn names<'a>(self, names: impl Iterator<Item = &'a str>) -> Vec<u8> {
        match self {
            Self::Ndjson | Self::Sparse => Vec::new(),
            Self::Csv => {
                let mut csv = Csv::default();
                names.enumerate().for_each(|(i, name)| csv.field(i, name.as_bytes()));
                csv.end();
                csv.out
            }
            Self::Tsv => {
                let mut tsv = Tsv::default();
                names.enumerate().for_each(|(i, name)| tsv.field(i, name.as_bytes()));
                RowWriter::end(&mut tsv);
                tsv.out
            }
        }
    }

    /// The offset of the end of the first `count` rows; the length of `rows` if it has fewer.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn end_of(self, rows: &[u8], count: usize) -> usize {
        let mut quoted = false;
        // A newline within a row of CSV is in quotes, and every field has an even number of quotes. Rows of
        // other forms have no newline.
        let ends = memchr::memchr2_iter(b'\n', b'"', rows).filter(|at| {
            let quote = rows[*at] == b'"';
            quoted ^= quote && self == Self::Csv;
            !quote && !quoted
        });
        match count.checked_sub(1) {
            None => 0,
            Some(before) => ends.map(|at| at + 1).nth(before).unwrap_or(rows.len()),
        }
    }
}

/// The rows of a piece's records, each followed by a newline, and the number of their bytes that come before
/// the first fault. They are made from the piece's records and matches. `text` is the text of the piece.
pub(super) fn of_rows(text: &[u8], piece: &Piece, program: &Program, form: RowForm) -> (Vec<u8>, usize) {
    match form {
        RowForm::Ndjson => write(text, piece, program, Ndjson::default()),
        RowForm::Sparse => write(text, piece, program, Ndjson { sparse: true, ..Ndjson::default() }),
        RowForm::Csv => write(text, piece, program, Csv::default()),
        RowForm::Tsv => write(text, piece, program, Tsv::default()),
    }
}

/// Rows of values that come from elsewhere than a program, in the same forms.
///
/// ```
/// use warpath::RowForm;
/// use warpath_answer::answer::RowText;
///
/// let rows = RowText::new(RowForm::Csv, &["lang", "count"]);
/// let mut text = rows.header();
/// rows.append([&b"\"nl\""[..], b"7"], &mut text);
/// assert_eq!(text, b"lang,count\nnl,7\n");
/// ```
#[derive(Clone, Debug)]
pub struct RowText {
    form: RowForm,
    names: Vec<String>,
    /// The names as keys of JSON, with their colons.
    keys: Vec<String>,
}

impl RowText {
    /// Rows in a form, with columns of these names.
    #[must_use]
    pub fn new(form: RowForm, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        let keys = names.iter().map(|name| json::encode(name) + ":").collect();
        Self { form, names, keys }
    }

    /// The bytes before the first row.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        self.form.names(self.names.iter().map(String::as_str))
    }

    /// Appends a row: one JSON value for each column, in their order. A missing value is `null`.
    pub fn append<'a>(&self, cells: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
        match self.form {
            RowForm::Ndjson | RowForm::Sparse => self.append_by(Ndjson::default(), cells, out),
            RowForm::Csv => self.append_by(Csv::default(), cells, out),
            RowForm::Tsv => self.append_by(Tsv::default(), cells, out),
        }
    }

    fn append_by<'a>(
        &self,
        mut writer: impl RowWriter,
        cells: impl IntoIterator<Item = &'a [u8]>,
        out: &mut Vec<u8>,
    ) {
        for (i, (cell, key)) in cells.into_iter().zip(&self.keys).enumerate() {
            writer.value(i, Cell::from(key.as_bytes()), Cell::from(cell));
        }
        writer.end();
        out.extend_from_slice(writer.text());
    }
}

/// A value or a key, and the text after it as far as there is any. With the text after it, a short one is
/// copied as [`SHORT`] bytes, whatever its length.
#[derive(Clone, Copy)]
struct Cell<'a> {
    text: &'a [u8],
    len: usize,
}

/// The most bytes of a short value.
const SHORT: usize = 32;

impl<'a> Cell<'a> {
    /// A range of a text.
    #[inline(always)]
    fn of(text: &'a [u8], range: Range<usize>) -> Self {
        let len = range.len();
        Self { text: &text[range.start..(range.start + len.max(SHORT)).min(text.len())], len }
    }

    #[inline(always)]
    fn bytes(self) -> &'a [u8] {
        &self.text[..self.len]
    }
}

impl<'a> From<&'a [u8]> for Cell<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self { text, len: text.len() }
    }
}

/// A key, followed by as many bytes as a short copy may read.
fn padded(key: &str) -> Vec<u8> {
    let mut bytes = key.as_bytes().to_vec();
    bytes.resize(key.len().max(SHORT), 0);
    bytes
}

/// A writer of rows in one form. Columns are counted from 0. `key` is the name of a column as a key of JSON,
/// with its colon.
trait RowWriter {
    /// Writes the cell of a column that has one value.
    fn value(&mut self, i: usize, key: Cell<'_>, value: Cell<'_>);
    /// Writes the cell of a column that has no value.
    fn missing(&mut self, i: usize, key: Cell<'_>) {
        self.value(i, key, Cell::from(&b"null"[..]));
    }
    /// Writes the cell of a column that has an array of values.
    fn array<'a>(&mut self, i: usize, key: Cell<'_>, values: impl Iterator<Item = &'a [u8]>);
    /// Ends a row.
    fn end(&mut self);
    /// The rows written so far.
    fn text(&self) -> &[u8];
    /// All rows.
    fn into_text(self) -> Vec<u8>;
}

fn write(text: &[u8], piece: &Piece, program: &Program, mut rows: impl RowWriter) -> (Vec<u8>, usize) {
    let columns = program.columns();
    let fault = piece.faults.first().map_or(piece.lines, |fault| fault.line);
    let mut before = None;
    let mut cells: Vec<_> = (0..columns.len()).map(|path| piece.cells(path)).collect();
    let keys: Vec<Vec<u8>> = columns.iter().map(|column| padded(&column.key)).collect();
    for row in piece.records.iter().copied() {
        if row >= fault && before.is_none() {
            before = Some(rows.text().len());
        }
        for (i, (column, cells)) in columns.iter().zip(&mut cells).enumerate() {
            let found = cells.of_record(row);
            let cell = |found: &Match| Cell::of(text, found.start as usize..found.end as usize);
            if let (Some(zone), ColumnType::Time, true) = (column.shown_in, &column.values, column.singular) {
                let value = or_default(found.first().map(|found| cell(found).bytes()), column);
                let key = Cell::of(&keys[i], 0..column.key.len());
                match value.map(|value| (value, shown(value, column, zone))) {
                    Some((_, Some(shown))) => rows.value(i, key, Cell::from(shown.as_bytes())),
                    Some((value, None)) => rows.value(i, key, Cell::from(value)),
                    None => rows.missing(i, key),
                }
                continue;
            }
            let mut values = found.iter().map(cell);
            let key = Cell::of(&keys[i], 0..column.key.len());
            if !column.singular {
                rows.array(i, key, values.map(Cell::bytes));
                continue;
            }
            match (values.next(), &column.default) {
                (Some(value), None) => rows.value(i, key, value),
                (value, _) => match or_default(value.map(Cell::bytes), column) {
                    Some(value) => rows.value(i, key, Cell::from(value)),
                    None => rows.missing(i, key),
                },
            }
        }
        rows.end();
    }
    let rows = rows.into_text();
    let before = before.unwrap_or(rows.len());
    (rows, before)
}

/// The JSON text of an instant in a time zone; `None` if a value is no instant.
fn shown(value: &[u8], column: &Column, zone: Zone) -> Option<String> {
    let nanoseconds = scalar::time(value, column.time_format.as_deref(), Unit::Nanosecond).ok()?;
    Some(format!("\"{}\"", zone.show(Instant(i128::from(nanoseconds)))?))
}

/// The value of a cell, with the default of its column in place of no value and of `null`.
pub(super) fn or_default<'a>(value: Option<&'a [u8]>, column: &'a Column) -> Option<&'a [u8]> {
    value.filter(|value| column.default.is_none() || *value != b"null").or(column.default.as_deref())
}

/// Appends values as a JSON array.
fn append_array<'a>(values: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, value) in values.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value);
    }
    out.push(b']');
}

/// Writes each row as a JSON object.
#[derive(Default)]
struct Ndjson {
    /// The rows, and room after them.
    out: Vec<u8>,
    /// The length of the rows.
    len: usize,
    /// True if columns without a value have no member.
    sparse: bool,
    /// True after the first member of a row.
    in_row: bool,
}

impl Ndjson {
    /// Makes room for some bytes, and for the excess of two short copies.
    #[inline(always)]
    fn reserve(&mut self, len: usize) {
        if self.out.len() - self.len < len + 2 * SHORT {
            self.grow(len);
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.out.resize((2 * self.out.len()).max(self.len + len + (4 << 10)), 0);
    }

    /// Writes one byte, for which there is room.
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.out[self.len] = byte;
        self.len += 1;
    }

    /// Writes bytes, for which there is room.
    #[inline(always)]
    fn put(&mut self, cell: Cell<'_>) {
        let to = &mut self.out[self.len..];
        match (to.first_chunk_mut::<SHORT>(), cell.text.first_chunk::<SHORT>()) {
            (Some(to), Some(from)) if cell.len <= SHORT => *to = *from,
            _ => to[..cell.len].copy_from_slice(cell.bytes()),
        }
        self.len += cell.len;
    }

    #[inline(always)]
    fn key(&mut self, key: Cell<'_>) {
        self.byte(if self.in_row { b',' } else { b'{' });
        self.put(key);
        self.in_row = true;
    }
}

impl RowWriter for Ndjson {
    #[inline(always)]
    fn value(&mut self, _: usize, key: Cell<'_>, value: Cell<'_>) {
        self.reserve(1 + key.len + value.len);
        self.key(key);
        self.put(value);
    }

    fn missing(&mut self, i: usize, key: Cell<'_>) {
        if !self.sparse {
            self.value(i, key, Cell::from(&b"null"[..]));
        }
    }

    fn array<'a>(&mut self, _: usize, key: Cell<'_>, values: impl Iterator<Item = &'a [u8]>) {
        self.reserve(key.len + 3);
        self.key(key);
        self.byte(b'[');
        for (i, value) in values.enumerate() {
            self.reserve(value.len() + 2);
            if i > 0 {
                self.byte(b',');
            }
            self.put(Cell::from(value));
        }
        self.byte(b']');
    }

    fn end(&mut self) {
        self.reserve(3);
        if !self.in_row {
            self.byte(b'{');
        }
        self.in_row = false;
        self.byte(b'}');
        self.byte(b'\n');
    }

    fn text(&self) -> &[u8] {
        &self.out[..self.len]
    }

    fn into_text(mut self) -> Vec<u8> {
        self.out.truncate(self.len);
        self.out
    }
}

/// Writes each row as a line of fields (RFC 4180, but each row ends with a line feed). Strings are decoded,
/// `null` and missing values are empty, and other values are JSON. An empty string is `""`. An
/// empty row of one column is `""`, too, because other programs pass over blank lines.
#[derive(Default)]
struct Csv {
    writer: Writer,
    out: Vec<u8>,
    /// True if field 0 of the row is an empty string, whose quotes are not written yet. If the row has
    /// no other field, the quotes are written at its end.
    is_empty: bool,
    /// A buffer for one field, reused.
    field: Vec<u8>,
}

impl Csv {
    /// Writes field `i` of its row, counted from 0.
    fn field(&mut self, i: usize, field: &[u8]) {
        let Self { writer, out, is_empty, .. } = self;
        if std::mem::take(is_empty) {
            out.extend_from_slice(b"\"\"");
        }
        // Room for the quote that closes the previous field, a delimiter, and a field that consists of
        // quotes.
        append(out, 2 + 1 + 2 * field.len(), |room| {
            let delimiter = if i > 0 { writer.delimiter(room).1 } else { 0 };
            let (written, read, len) = writer.field(field, &mut room[delimiter..]);
            debug_assert!(written == WriteResult::InputEmpty && read == field.len());
            delimiter + len
        });
    }

    fn end(&mut self) {
        let Self { writer, out, is_empty, .. } = self;
        *is_empty = false;
        append(out, 3, |room| writer.terminator(room).1);
    }
}

/// Appends at most `most` bytes, which `write` produces. `write` returns their number.
fn append(out: &mut Vec<u8>, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
    let len = out.len();
    out.resize(len + most, 0);
    let written = write(&mut out[len..]);
    out.truncate(len + written);
}

impl RowWriter for Csv {
    fn value(&mut self, i: usize, _: Cell<'_>, value: Cell<'_>) {
        let value = value.bytes();
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        if value != b"null" {
            text::append(value, TextForm::Raw, &mut field);
        }
        self.field(i, &field);
        if field.is_empty() && value != b"null" {
            match i {
                0 => self.is_empty = true,
                _ => self.out.extend_from_slice(b"\"\""),
            }
        }
        self.field = field;
    }

    fn array<'a>(&mut self, i: usize, _: Cell<'_>, values: impl Iterator<Item = &'a [u8]>) {
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        append_array(values, &mut field);
        self.field(i, &field);
        self.field = field;
    }

    fn end(&mut self) {
        Self::end(self);
    }

    fn text(&self) -> &[u8] {
        &self.out
    }

    fn into_text(self) -> Vec<u8> {
        self.out
    }
}

/// Writes each row as a line of fields with tabs between them. Values are as in CSV, with the four characters
/// escaped that would end a field or a row.
#[derive(Default)]
struct Tsv {
    out: Vec<u8>,
    /// A buffer for one field, reused.
    field: Vec<u8>,
}

impl Tsv {
    /// Writes field `i` of its row, counted from 0.
    fn field(&mut self, i: usize, field: &[u8]) {
        if i > 0 {
            self.out.push(b'\t');
        }
        let mut rest = field;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\')) {
            let escape = match rest[at] {
                b'\t' => b"\\t",
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                _ => b"\\\\",
            };
            self.out.extend_from_slice(&rest[..at]);
            self.out.extend_from_slice(escape);
            rest = &rest[at + 1..];
        }
        self.out.extend_from_slice(rest);
    }
}

impl RowWriter for Tsv {
    fn value(&mut self, i: usize, _: Cell<'_>, value: Cell<'_>) {
        let value = value.bytes();
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        if value != b"null" {
            text::append(value, TextForm::Raw, &mut field);
        }
        self.field(i, &field);
        self.field = field;
    }

    fn array<'a>(&mut self, i: usize, _: Cell<'_>, values: impl Iterator<Item = &'a [u8]>) {
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        append_array(values, &mut field);
        self.field(i, &field);
        self.field = field;
    }

    fn end(&mut self) {
        self.out.push(b'\n');
    }

    fn text(&self) -> &[u8] {
        &self.out
    }

    fn into_text(self) -> Vec<u8> {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_strings_are_no_nulls_in_csv() {
        let rows = |columns: usize, rows: &[&[&str]]| {
            let text = RowText::new(RowForm::Csv, &["a"; 3][..columns]);
            let mut out = Vec::new();
            rows.iter().for_each(|row| text.append(row.iter().map(|cell| cell.as_bytes()), &mut out));
            String::from_utf8(out).unwrap()
        };
        let (empty, null) = ("\"\"", "null");
        assert_eq!(
            rows(
                3,
                &[&[empty, null, "1"], &[null, empty, null], &[null, null, empty], &[null; 3], &[empty; 3]]
            ),
            "\"\",,1\n,\"\",\n,,\"\"\n,,\n\"\",\"\",\"\"\n"
        );
        assert_eq!(rows(1, &[&[empty], &[null], &["1"]]), "\"\"\n\"\"\n1\n");
    }

    #[test]
    fn rows_are_counted_by_their_ends() {
        let csv = b"a,b\n\"x\ny\",\"\"\"\n\"\"\"\n\"\"\n1,2\n";
        let ends = [0, 4, 18, 21, 25, 25];
        for (count, end) in ends.into_iter().enumerate() {
            assert_eq!(RowForm::Csv.end_of(csv, count), end, "{count}");
        }
        let json = b"{\"a\":\"\\\"\"}\n{\"a\":1}\n";
        for (count, end) in [0, 11, 19, 19].into_iter().enumerate() {
            assert_eq!(RowForm::Ndjson.end_of(json, count), end, "{count}");
        }
    }
}
