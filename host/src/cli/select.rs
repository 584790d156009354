//! `warpath select`.

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use warpath::answer::{Limit, Piece, TextForm, Want, text};
use warpath::{Batch, Program, Query};
use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

use super::args::{RowFormat, SelectArgs};
use super::failure::Failure;
use super::files;
use super::out::Out;
use super::run::{self, Consumer, Flow};
use super::ui::Ui;

pub fn run(args: SelectArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    args.planned.refuse()?;
    let named = columns(&args.columns)?;
    let queries = named.iter().map(|(_, path)| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    let program = Program::new(&queries)?.with_names(&names)?;
    let columns = named
        .iter()
        .zip(&queries)
        .map(|((name, _), query)| Column {
            name: (*name).to_owned(),
            key: text::encode(name) + ":",
            singular: query.is_singular(),
        })
        .collect();
    let sources = files::sources(&args.files, args.run.output.as_deref(), ui)?;
    let engine = run::engine(&args.engine, args.run.on_error)?;
    let rows = Rows { columns, limit: args.limit, rows: 0 };
    match args.format {
        RowFormat::Ndjson if args.limit.is_none() => {
            run::consume(&engine, sources, program, &mut WholeRows, &args.run, ui, started)?;
        }
        RowFormat::Ndjson => {
            run::consume(&engine, sources, program, &mut Ndjson(rows), &args.run, ui, started)?;
        }
        RowFormat::Csv => {
            let mut csv = Csv { rows, field: Vec::new() };
            run::consume(&engine, sources, program, &mut csv, &args.run, ui, started)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and paths.
fn columns(args: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let mut columns: Vec<(&str, &str)> = Vec::with_capacity(args.len());
    for arg in args {
        let help = match arg.strip_prefix('$') {
            // A path may hold `=`, too, in a filter.
            Some(_) => format!("give the column a name: `name={arg}`"),
            None => format!("a column is `NAME=PATH`; files come after `--`: `select NAME=PATH -- {arg}`"),
        };
        let (name, path) = match arg.split_once('=') {
            Some(column) if !arg.starts_with('$') => column,
            _ => return Err(Failure::usage(format!("`{arg}` is no column")).with_help(help)),
        };
        if name.is_empty() {
            return Err(Failure::usage(format!("the column `{arg}` has no name"))
                .with_help(format!("give the column a name: `name{arg}`")));
        }
        if columns.iter().any(|(known, _)| *known == name) {
            return Err(Failure::usage(format!("two columns have the name `{name}`")));
        }
        columns.push((name, path));
    }
    Ok(columns)
}

struct Column {
    name: String,
    /// The name as it stands in an object, with its colon.
    key: String,
    /// Whether it has one value a record at most.
    singular: bool,
}

/// What both formats share: the walk over records.
struct Rows {
    columns: Vec<Column>,
    limit: Option<u64>,
    rows: u64,
}

impl Rows {
    fn want(&self) -> Want {
        let limit = self.limit.map(Limit::Records);
        Want { matches: true, records: true, limit, ..Want::default() }
    }

    fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.rows >= limit)
    }

    /// Calls `row` for each record.
    fn walk<E>(
        &mut self,
        batch: &Batch,
        mut row: impl FnMut(&[Column], &mut Cells<'_>) -> Result<(), E>,
    ) -> Result<Flow, E> {
        let mut next = vec![0; self.columns.len()];
        for (at, (_, piece)) in batch.pieces().enumerate() {
            next.fill(0);
            let mut cells = Cells { batch, piece, next: &mut next, line: 0 };
            for line in &piece.records {
                cells.line = *line;
                row(&self.columns, &mut cells)?;
                self.rows += 1;
                if self.is_done() {
                    return Ok(Flow::Stop { piece: at, line: *line });
                }
            }
        }
        Ok(Flow::Continue)
    }
}

/// The values of one record.
struct Cells<'a> {
    batch: &'a Batch,
    piece: &'a Piece,
    /// For each column, its first match that has not been taken.
    next: &'a mut [usize],
    line: LineIx,
}

impl<'a> Cells<'a> {
    /// The matches of a column in this record. To be asked once a record, for each.
    fn take(&mut self, column: usize) -> &'a [Match] {
        let all = self.piece.matches.get(column).map_or(&[][..], Vec::as_slice);
        let rest = all.get(self.next[column]..).unwrap_or_default();
        let count = rest.iter().take_while(|found| found.line == self.line).count();
        self.next[column] += count;
        &rest[..count]
    }

    fn text(&self, found: &Match) -> &'a [u8] {
        self.batch.match_text(self.piece, found)
    }

    /// The matches as a JSON array.
    fn array(&self, matches: &[Match], out: &mut Vec<u8>) {
        out.push(b'[');
        for (i, found) in matches.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(self.text(found));
        }
        out.push(b']');
    }
}

/// All rows as JSON objects, as the workers made them.
struct WholeRows;

impl Consumer for WholeRows {
    fn want(&self) -> Want {
        Want { rows: true, ..Want::default() }
    }

    fn is_done(&self) -> bool {
        false
    }

    fn batch(&mut self, batch: &Batch, out: &mut Out) -> Result<Flow, Failure> {
        for (_, piece) in batch.pieces() {
            out.lines(&piece.rows)?;
        }
        Ok(Flow::Continue)
    }
}

/// A JSON object a row, up to a limit.
struct Ndjson(Rows);

impl Consumer for Ndjson {
    fn want(&self) -> Want {
        self.0.want()
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    fn batch(&mut self, batch: &Batch, out: &mut Out) -> Result<Flow, Failure> {
        self.0.walk(batch, |columns, cells| {
            for (i, column) in columns.iter().enumerate() {
                out.buffer.push(if i == 0 { b'{' } else { b',' });
                out.buffer.extend_from_slice(column.key.as_bytes());
                match cells.take(i) {
                    matches if !column.singular => cells.array(matches, &mut out.buffer),
                    [] => out.buffer.extend_from_slice(b"null"),
                    [found, ..] => out.buffer.extend_from_slice(cells.text(found)),
                }
            }
            out.buffer.extend_from_slice(b"}\n");
            out.line_end()
        })
    }
}

/// A header, and a line a row.
struct Csv {
    rows: Rows,
    /// Reused from field to field.
    field: Vec<u8>,
}

impl Consumer for Csv {
    fn want(&self) -> Want {
        self.rows.want()
    }

    fn is_done(&self) -> bool {
        self.rows.is_done()
    }

    fn start(&mut self, out: &mut Out) -> Result<(), Failure> {
        let mut writer = csv::Writer::from_writer(&mut out.buffer);
        let header = writer.write_record(self.rows.columns.iter().map(|column| &column.name));
        drop(writer);
        header.map_err(|error| out.failed(io_error(error)))
    }

    fn batch(&mut self, batch: &Batch, out: &mut Out) -> Result<Flow, Failure> {
        let mut writer = csv::WriterBuilder::new().buffer_capacity(64 << 10).from_writer(&mut *out);
        let flow = self.write(batch, &mut writer);
        drop(writer);
        flow.map_err(|error| out.failed(error))
    }
}

impl Csv {
    fn write(&mut self, batch: &Batch, writer: &mut csv::Writer<&mut Out>) -> io::Result<Flow> {
        let Self { rows, field } = self;
        let flow = rows.walk(batch, |columns, cells| {
            for (i, column) in columns.iter().enumerate() {
                field.clear();
                match cells.take(i) {
                    matches if !column.singular => cells.array(matches, field),
                    [] => {}
                    [found, ..] => match cells.text(found) {
                        b"null" => {}
                        value => text::append(value, TextForm::Raw, field),
                    },
                }
                writer.write_field(&*field).map_err(io_error)?;
            }
            writer.write_record(None::<&[u8]>).map_err(io_error)
        })?;
        writer.flush()?;
        Ok(flow)
    }
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
