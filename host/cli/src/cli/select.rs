//! `warpath select`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use arrow_schema::SchemaRef;
use warpath::answer::{Limit, Piece, RowForm, Want};
use warpath::columns::{ColumnType, Schema};
use warpath::{Batch, Error, Query};
use warpath_shared::units::LineIx;

use super::args::{RowFormat, SelectArgs};
use super::failure::Failure;
use super::grid::Grid;
use super::look::{self, Look};
use super::out::Out;
use super::run::{self, Consumer, Flow};
use super::sort::{self, Sorting};
use super::table::TableWriter;
use super::ui::Ui;
use super::{files, formats};

pub fn run(mut args: SelectArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    // Files need no `--` where they are unmistakable.
    let (files, columns): (Vec<String>, Vec<String>) = args.columns.drain(..).partition(|arg| is_file(arg));
    args.columns = columns;
    args.files.files.splice(..0, files.into_iter().map(Into::into));
    if args.columns.is_empty() {
        return Err(Failure::usage("no column is given").with_help("a column is `NAME=PATH`: `id='$.id'`"));
    }
    let (format, look) = (args.format.format, ui.look(&args.run.output, args.format.pretty.pretty));
    // Tables are made of rows of NDJSON.
    let text = formats::text_form(format).or((format == RowFormat::Table).then_some(RowForm::Ndjson));
    let columns =
        args.columns.iter().map(|arg| column(arg, text.is_some())).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    if let Some((_, twice)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        return Err(Failure::usage(format!("two columns have the name `{twice}`")));
    }
    let compile = |column: &Column<'_>| Ok((Query::compile(column.path)?, column.values.clone()));
    let columns = columns.iter().map(compile).collect::<Result<Vec<_>, Error>>()?;
    let schema = Schema::new(&columns)?.with_names(&names)?;
    let program = schema.program().clone();
    let (sort, memory) = (sort::columns(&args.sort, &program)?, args.sort.memory.memory);
    formats::check(format, &args.run.output, look)?;
    let sources = files::inputs(&args.files, &args.follow, &args.column, &args.engine, &args.run.output, ui)?;
    let engine = run::engine(&args.engine, &args.run.on_error, &args.run.strict)?;
    let limit = Rest { rows: 0, most: args.limit.limit };
    let format = match (formats::binary_form(format, &args.run.output), text) {
        (Some(binary), None) => binary,
        (_, form) => {
            let form = form.unwrap_or(RowForm::Ndjson);
            let print = match format {
                RowFormat::Table => Print::Table(Grid::new(&names, look)),
                RowFormat::Ndjson if !look.is_plain() => Print::Styled(look),
                _ => Print::AsMade,
            };
            let mut rows = Rows { form, header: form.header(&program), print, limit };
            if sort.is_empty() {
                run::consume(&engine, sources, program, &mut rows, &args.run, ui, started)?;
            } else {
                let mut sorting = Sorting::new(rows, &program, sort, memory)?;
                run::consume(&engine, sources, program, &mut sorting, &args.run, ui, started)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
    };
    let arrow = schema.to_arrow();
    let mut table = Table { writer: TableWriter::new(format, arrow.clone())?, schema, arrow, limit };
    if sort.is_empty() {
        run::consume(&engine, sources, program, &mut table, &args.run, ui, started)?;
    } else {
        let mut sorting = Sorting::new(table, &program, sort, memory)?;
        run::consume(&engine, sources, program, &mut sorting, &args.run, ui, started)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns true if an argument is no column, but a file that exists, a pattern, or standard input.
fn is_file(arg: &str) -> bool {
    let is_column =
        arg.starts_with('$') || arg.split_once('=').is_some_and(|(_, path)| path.starts_with('$'));
    let is_pattern = arg.contains(['*', '?', '[']) && !arg.contains('=');
    !is_column && (arg == "-" || is_pattern || Path::new(arg).exists())
}

/// A column as the argument gives it.
struct Column<'a> {
    name: &'a str,
    values: ColumnType,
    path: &'a str,
}

/// The types of typed columns, by name.
const TYPES: [(&str, ColumnType); 5] = [
    ("bool", ColumnType::Boolean),
    ("int64", ColumnType::Int64),
    ("float64", ColumnType::Float64),
    ("string", ColumnType::Utf8),
    ("json", ColumnType::Json),
];

/// Parses a column: a name, an optional type, and a path. `text` is true for rows of text, which have no
/// types. A colon that no type follows is then part of the name.
fn column(arg: &str, text: bool) -> Result<Column<'_>, Failure> {
    let help = match arg.strip_prefix('$') {
        // A filter in a path may contain `=`, too.
        Some(_) => format!("give the column a name: `name={arg}`"),
        None => format!("a column is `NAME=PATH`, and there is no file `{arg}`"),
    };
    let (name, path) = match arg.split_once('=') {
        Some(column) if !arg.starts_with('$') => column,
        _ => return Err(Failure::usage(format!("`{arg}` is not a column")).with_help(help)),
    };
    let typed = name.rsplit_once(':').map(|(name, end)| {
        let known = TYPES.iter().find(|(known, _)| *known == end);
        (name, end, known.map(|(_, values)| values.clone()))
    });
    let (name, values) = match typed {
        None => (name, ColumnType::Json),
        Some((_, _, None)) if text => (name, ColumnType::Json),
        Some((name, _, Some(values))) if !text => (name, values),
        Some((bare, end, Some(_))) => {
            return Err(Failure::usage(format!(
                "`{name}`: columns have types with `--format arrow` or `parquet` only"
            ))
            .with_help(format!("text formats have no types: write `{bare}={path}`, without `:{end}`")));
        }
        Some((_, end, None)) => {
            let known = TYPES.map(|(known, _)| known).join(", ");
            return Err(Failure::usage(format!("`{name}`: there is no type `{end}`")).with_help(format!(
                "the types are {known}; if the colon is part of the name: `{name}:json={path}`"
            )));
        }
    };
    if name.is_empty() {
        return Err(Failure::usage(format!("the column `{arg}` has no name"))
            .with_help(format!("give the column a name: `name{arg}`")));
    }
    Ok(Column { name, values, path })
}

/// The number of rows written so far, and the largest number wanted.
struct Rest {
    rows: u64,
    most: Option<u64>,
}

impl Rest {
    /// Adds the limit to `want`. With a limit, the caller must know which lines are rows.
    fn of(&self, want: Want) -> Want {
        Want { records: self.most.is_some(), limit: self.most.map(Limit::Records), ..want }
    }

    fn is_reached(&self) -> bool {
        self.most.is_some_and(|most| self.rows >= most)
    }

    /// Counts a piece's rows. If the limit is reached in this piece, returns the number of its rows up to the
    /// limit, and the line of the last one.
    fn count(&mut self, piece: &Piece, rows: usize) -> Option<(usize, LineIx)> {
        let left = self.most.map(|most| most - self.rows).and_then(|left| usize::try_from(left).ok());
        let last = left.and_then(|left| Some((left, *piece.records.get(left.checked_sub(1)?)?)));
        self.rows += last.map_or(rows, |(rows, _)| rows) as u64;
        last
    }
}

/// A consumer that prints rows of text, up to a limit.
struct Rows {
    form: RowForm,
    header: Vec<u8>,
    print: Print,
    limit: Rest,
}

/// The way from the rows that the workers made to those that are printed.
enum Print {
    AsMade,
    /// Rows of NDJSON, with indentation or colours.
    Styled(Look),
    /// Rows of NDJSON, as a table.
    Table(Grid),
}

impl Rows {
    fn print(&mut self, rows: &[u8], out: &mut Out) -> Result<(), Failure> {
        if matches!(self.print, Print::AsMade) {
            return out.lines(rows);
        }
        let mut cells = Vec::new();
        for row in rows.split_inclusive(|byte| *byte == b'\n') {
            match &mut self.print {
                Print::AsMade => out.buffer.extend_from_slice(row),
                Print::Styled(look) => formats::styled(row, *look, &mut out.buffer),
                Print::Table(grid) => {
                    look::cells(row, &mut cells);
                    grid.row(cells.iter().copied(), &mut out.buffer);
                }
            }
            out.line_end()?;
        }
        Ok(())
    }
}

impl Consumer for Rows {
    fn want(&self) -> Want {
        self.limit.of(Want { rows: Some(self.form), ..Want::default() })
    }

    fn is_done(&self) -> bool {
        self.limit.is_reached()
    }

    fn start(&mut self, out: &mut Out) -> Result<(), Failure> {
        out.buffer.extend_from_slice(&self.header);
        Ok(())
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        for (at, (_, piece)) in batch.pieces().enumerate() {
            if let Some((rows, line)) = self.limit.count(piece, piece.records.len()) {
                self.print(&piece.rows[..self.form.end_of(&piece.rows, rows)], out)?;
                return Ok(Flow::Stop { piece: at, line });
            }
            self.print(&piece.rows, out)?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        if let Print::Table(grid) = &mut self.print {
            grid.end(&mut out.buffer);
        }
        Ok(())
    }
}

/// A consumer that writes typed columns in a binary format, up to a limit.
struct Table {
    schema: Schema,
    arrow: SchemaRef,
    writer: TableWriter,
    limit: Rest,
}

impl Consumer for Table {
    fn want(&self) -> Want {
        self.limit.of(Want { columns: Some(self.schema.width()), ..Want::default() })
    }

    fn is_done(&self) -> bool {
        self.limit.is_reached()
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        let mut flow = Flow::Continue;
        for (at, mut columns) in batch.take_columns().into_iter().enumerate() {
            let last = batch.piece(at).and_then(|piece| self.limit.count(piece, columns.rows));
            if let Some((rows, line)) = last {
                columns.truncate(rows);
                flow = Flow::Stop { piece: at, line };
            }
            if columns.rows > 0 {
                let batch =
                    columns.into_arrow(&self.arrow).map_err(|error| Error::Internal(error.to_string()))?;
                self.writer.add(batch)?;
            }
            if last.is_some() {
                break;
            }
        }
        out.lines(&self.writer.take())?;
        Ok(flow)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.writer.finish()?;
        out.lines(&self.writer.take())
    }
}
