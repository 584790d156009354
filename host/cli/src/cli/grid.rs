//! Rows as a table of aligned columns.
//!
//! The first rows are kept until there are enough of them, or no more. They decide how wide the columns are,
//! and which ones are aligned at the right. Later rows are printed at once. Memory does not grow with the
//! number of rows.
//!
//! Texts are shortened to fit on a terminal. Numbers and times are not, because a part of one is another one.
//! The last columns are left out where numbers and times have no room.
//!
//! The layout is this module's own. A library such as comfy-table lays a table out when it has all rows.
//! Memory would then grow with the number of rows, and a followed file would print nothing.

use clap::builder::styling::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use warpath::TextForm;
use warpath_answer::answer::text;
use warpath_core::time;
use warpath_terminal::escape::escaped;
use warpath_terminal::json::{HEADER, Look};

/// The rows that decide the widths, and the bytes of their cells that end them earlier.
const SAMPLE_ROWS: usize = 1000;
const SAMPLE_BYTES: usize = 1 << 20;

/// The space between two columns.
const GAP: usize = 2;
/// The least width of a column that is shortened.
const LEAST: usize = 4;

/// A writer of rows as a table.
pub struct Grid {
    look: Look,
    names: Vec<String>,
    /// True if the names are printed above the rows.
    has_header: bool,
    /// True if the first column is never shortened.
    has_whole_first: bool,
    /// The most rows that decide the widths.
    sample_rows: usize,
    /// The rows that are kept, and the bytes of their cells. Empty once the widths are known.
    sample: Vec<Vec<Cell>>,
    sample_bytes: usize,
    /// The columns that are printed. `None` until the widths are known.
    columns: Option<Vec<Column>>,
}

/// The printed form of a value.
pub struct Cell {
    text: String,
    /// True if the text is aligned at the right, where all of its column are.
    is_number: bool,
}

struct Column {
    width: usize,
    /// True if no value of the first rows is other than a number.
    is_right: bool,
    /// True if it is never shortened.
    is_whole: bool,
}

impl Grid {
    pub fn new(names: &[impl AsRef<str>], look: Look) -> Self {
        let names = names.iter().map(|name| escaped(name.as_ref()).into_owned()).collect();
        Self {
            look,
            names,
            has_header: true,
            has_whole_first: false,
            sample_rows: SAMPLE_ROWS,
            sample: Vec::new(),
            sample_bytes: 0,
            columns: None,
        }
    }

    /// Rows that are all printed at the end, so that the widths fit each of them.
    pub fn of_all(names: &[&str], look: Look) -> Self {
        Self { sample_rows: usize::MAX, ..Self::new(names, look) }
    }

    /// Leaves out the names above the rows.
    pub fn without_header(self) -> Self {
        let names = vec![String::new(); self.names.len()];
        Self { has_header: false, names, ..self }
    }

    /// Never shortens the first column.
    pub fn with_whole_first(self) -> Self {
        Self { has_whole_first: true, ..self }
    }

    /// Adds a row, one JSON value for each column, and appends what can be printed.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
        self.cells(cells.into_iter().map(Cell::new).collect(), out);
    }

    /// Adds a row, one cell for each column, and appends what can be printed.
    pub fn cells(&mut self, row: Vec<Cell>, out: &mut Vec<u8>) {
        if let Some(columns) = &self.columns {
            return self.line(columns, &row, None, out);
        }
        self.sample_bytes += row.iter().map(|cell| cell.text.len()).sum::<usize>();
        self.sample.push(row);
        let is_limited = self.sample_rows < usize::MAX;
        if self.sample.len() >= self.sample_rows || is_limited && self.sample_bytes >= SAMPLE_BYTES {
            self.end(out);
        }
    }

    /// Appends the names and the rows that are kept, if there are rows.
    pub fn pause(&mut self, out: &mut Vec<u8>) {
        if !self.sample.is_empty() {
            self.end(out);
        }
    }

    /// Appends the names and the rows that are kept, if they have not been printed.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.columns.is_some() {
            return;
        }
        let rows = std::mem::take(&mut self.sample);
        let columns = self.layout(&rows);
        let header: Vec<Cell> =
            self.names.iter().map(|name| Cell { text: name.clone(), is_number: false }).collect();
        if self.has_header {
            self.line(&columns, &header, Some(HEADER).filter(|_| self.look.color), out);
        }
        rows.iter().for_each(|row| self.line(&columns, row, None, out));
        self.columns = Some(columns);
    }

    /// The columns for these rows. Columns that cannot be shown on the terminal even when all are short are
    /// left out.
    fn layout(&self, rows: &[Vec<Cell>]) -> Vec<Column> {
        let cells = |at: usize| rows.iter().filter_map(move |row| row.get(at));
        let mut columns: Vec<Column> = (self.names.iter().enumerate())
            .map(|(at, name)| {
                let widest = cells(at).map(|cell| cell.text.width()).max().unwrap_or(0);
                let mut values = cells(at).filter(|cell| !cell.text.is_empty()).peekable();
                let is_right = values.peek().is_some() && values.all(|cell| cell.is_number);
                let mut values = cells(at).filter(|cell| !cell.text.is_empty());
                let are_times = !is_right && values.all(|cell| time::read(&cell.text).is_some());
                let is_whole = at == 0 && self.has_whole_first || is_right || are_times && widest > 0;
                Column { width: widest.max(name.width()), is_right, is_whole }
            })
            .collect();
        if let Some(room) = self.look.columns {
            // The last column of the terminal stays free, because some terminals wrap after it.
            fit(&mut columns, room.saturating_sub(1));
        }
        columns
    }

    /// Appends a row. The last column is not filled up.
    fn line(&self, columns: &[Column], row: &[Cell], style: Option<Style>, out: &mut Vec<u8>) {
        let mut line = String::new();
        let is_cut = columns.len() < self.names.len();
        for (at, (column, cell)) in columns.iter().zip(row).enumerate() {
            let text = match self.look.columns {
                Some(_) if !column.is_whole || column.is_right && !cell.is_number => {
                    &shortened(&cell.text, column.width)
                }
                _ => &cell.text,
            };
            if at > 0 {
                line.extend([' '; GAP]);
            }
            let fill = std::iter::repeat_n(' ', column.width.saturating_sub(text.width()));
            let (before, after) = if column.is_right { (Some(fill), None) } else { (None, Some(fill)) };
            line.extend(before.into_iter().flatten());
            match style {
                Some(style) => line.push_str(&format!("{style}{text}{style:#}")),
                None => line.push_str(text),
            }
            line.extend(after.into_iter().flatten());
        }
        if is_cut {
            line.extend([' '; GAP]);
            line.push('…');
        }
        out.extend_from_slice(line.trim_end_matches(' ').as_bytes());
        out.push(b'\n');
    }
}

impl Cell {
    /// A text without control characters.
    pub fn text(text: String) -> Self {
        Self { text, is_number: false }
    }

    /// A number, which is aligned at the right.
    pub fn number(text: String) -> Self {
        Self { text, is_number: true }
    }

    /// The printed form of a JSON value.
    pub fn new(json: &[u8]) -> Self {
        if json == b"null" {
            return Self { text: String::new(), is_number: false };
        }
        let mut bytes = Vec::with_capacity(json.len());
        text::append(json, TextForm::Raw, &mut bytes);
        let text = escaped(&String::from_utf8_lossy(&bytes)).into_owned();
        Self { text, is_number: json.first().is_some_and(|byte| *byte == b'-' || byte.is_ascii_digit()) }
    }
}

impl Column {
    /// The width, if columns have at most `most`.
    fn within(&self, most: usize) -> usize {
        if self.is_whole { self.width } else { self.width.min(most) }
    }
}

/// Makes columns narrower until they fit in a room: the widest ones first. Where the least widths do not fit
/// either, the last columns are removed, and a mark for them fits. A single column that is never shortened
/// may be wider than the room.
fn fit(columns: &mut Vec<Column>, room: usize) {
    let least = |columns: &[Column]| -> usize {
        columns.iter().map(|column| column.within(LEAST) + GAP).sum::<usize>().saturating_sub(GAP)
    };
    if least(columns) > room {
        while columns.len() > 1 && least(columns) + GAP + 1 > room {
            columns.pop();
        }
        return fit(columns, room.saturating_sub(GAP + 1).max(least(columns)));
    }
    let room = room - GAP * columns.len().saturating_sub(1);
    let total = |most: usize| columns.iter().map(|column| column.within(most)).sum::<usize>();
    let widest = columns.iter().map(|column| column.width).max().unwrap_or(0);
    let most = (LEAST..=widest).rev().find(|most| total(*most) <= room).unwrap_or(LEAST);
    // What is left is given to the first columns that are shortened, one column each.
    let mut left = room.saturating_sub(total(most));
    for column in columns.iter_mut().filter(|column| column.within(most) < column.width) {
        column.width = most + usize::from(left > 0);
        left = left.saturating_sub(1);
    }
}

/// A text in at most `width` columns. A text that is longer ends with `…`.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |char: &char| {
        taken += char.width().unwrap_or(0);
        taken < width
    };
    let mut short: String = text.chars().take_while(fits).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: Option<usize>, names: &[&str], rows: &[&[&str]]) -> String {
        let mut grid = Grid::new(names, Look { columns, ..Look::default() });
        let mut out = Vec::new();
        for row in rows {
            grid.row(row.iter().map(|cell| cell.as_bytes()), &mut out);
        }
        grid.end(&mut out);
        grid.end(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned() {
        let rows: [&[&str]; 3] =
            [&["1", "\"nl\"", "null"], &["-20.5", "\"a\\nb\"", "[1]"], &["null", "\"ü\"", "7"]];
        assert_eq!(
            table(None, &["id", "lang", "x"], &rows),
            "   id  lang  x\n    1  nl\n-20.5  a\\nb  [1]\n       ü     7\n"
        );
        assert_eq!(table(Some(80), &["a"], &[]), "a\n");
    }

    #[test]
    fn cells_are_shortened_to_fit() {
        let rows: [&[&str]; 2] =
            [&["1", "\"a long text, which is shortened\""], &["2", "\"日本語のテキスト\""]];
        assert_eq!(table(Some(16), &["id", "text"], &rows), "id  text\n 1  a long tex…\n 2  日本語のテ…\n");
        for columns in 1..60 {
            let names = ["first", "second", "third", "fourth"];
            let rows: [&[&str]; 2] =
                [&["1", "\"日本語\"", "\"a longer text\"", "null"], &["100", "{\"a\":1}", "true", "\"x\""]];
            let table = table(Some(columns), &names, &rows);
            for line in table.lines().filter(|_| columns > "first".len() + GAP + 1) {
                assert!(line.width() < columns, "{columns} columns:\n{table}");
            }
            assert_eq!(table.lines().count(), 3);
        }
    }

    #[test]
    fn numbers_and_times_are_never_shortened() {
        let names = ["time", "level", "sum", "mean", "greatest"];
        let row = ["\"2026-03-02T08:00:00Z\"", "\"a long level\"", "2210.75", "17.8625", "123456789"];
        assert_eq!(
            table(Some(58), &names, &[&row]),
            "time                  level       sum     mean   greatest\n\
             2026-03-02T08:00:00Z  a lon…  2210.75  17.8625  123456789\n"
        );
        assert_eq!(
            table(Some(50), &names, &[&row]),
            "time                  level       sum     mean  …\n\
             2026-03-02T08:00:00Z  a lon…  2210.75  17.8625  …\n"
        );
        for columns in 1..70 {
            let table = table(Some(columns), &names, &[&row]);
            for part in table.lines().last().unwrap().split_whitespace().filter(|part| part.len() > 8) {
                assert!(row.iter().any(|cell| cell.trim_matches('"') == part), "{columns}: {table}");
            }
        }
    }

    #[test]
    fn a_whole_column_is_never_shortened() {
        for columns in 1..60 {
            let look = Look { columns: Some(columns), ..Look::default() };
            let mut grid = Grid::of_all(&["path", "type", "example"], look).with_whole_first();
            let mut out = Vec::new();
            let cells = ["$.request.headers", "string", "a long example"].map(str::to_owned).map(Cell::text);
            grid.cells(cells.into(), &mut out);
            grid.end(&mut out);
            let shown = String::from_utf8(out).unwrap();
            for line in shown.lines() {
                assert!(line.width() < columns.max(21), "{columns}: {shown}");
            }
            assert!(shown.contains("\n$.request.headers"), "{columns}: {shown}");
        }
    }

    #[test]
    fn later_rows_are_printed_at_once() {
        let mut grid = Grid::new(&["a", "b"], Look { columns: Some(40), ..Look::default() });
        let mut out = Vec::new();
        for row in 1..=SAMPLE_ROWS {
            assert!(out.is_empty());
            grid.row([row.to_string().as_bytes(), b"\"x\""], &mut out);
        }
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), SAMPLE_ROWS + 1);
        out.clear();
        grid.row([&b"\"12345678\""[..], b"\"yz\""], &mut out);
        assert_eq!(out, "123…  …\n".as_bytes());
    }
}
