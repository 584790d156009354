//! `warpath count-by` and `warpath distinct`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::aggregate::{Counter, Counts};
use warpath::{Batch, Program};
use warpath_exec::aggregate::count::append_values;
use warpath_exec::aggregate::tally::{Tallied, Tally};
use warpath_exec::stream::Digest;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{CountByArgs, DistinctArgs, WhereArgs};
use super::failure::Failure;
use super::files;
use super::formats;
use super::out::Out;
use super::rows::{Cell, RowWriter};
use super::run::{self, Flow, Needs, Refused, Sink};
use super::written::Written;

/// The program of paths, with the format of instants that `only` has.
pub fn program(paths: &[String], only: &WhereArgs) -> Result<Program, Failure> {
    let queries = paths.iter().map(|path| only.query(path)).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&queries)?;
    run::check_times(only, Some(&program))?;
    Ok(program)
}

/// Prints how often each value occurs.
pub fn count_by(args: CountByArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let (paths, files) = args.words.split()?;
    let program = program(&paths, &args.run.only)?;
    let sources = files::tables_too(&files, &args.column, &args.engine, Written::of_run(&args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let format = args.rows.of(&args.run.output)?;
    let names = std::iter::once("count".to_owned()).chain(paths).collect();
    let mut count = CountBy {
        tally: Arc::new(Tally::new(program.queries())?.with_missing()),
        counter: Some(Counter::new(args.memory.memory)),
        top: args.top,
        rows: RowWriter::new(
            format,
            args.rows.raw_output,
            Look::of(ui.when(), args.run.output.is_file(), false),
            names,
        ),
        is_empty: true,
    };
    run::consume(&engine, sources, program, &mut count, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && count.is_empty)))
}

/// Prints each value once.
pub fn distinct(args: DistinctArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let (paths, files) = args.words.split()?;
    let program = program(&paths, &args.run.only)?;
    let sources = files::tables_too(&files, &args.column, &args.engine, Written::of_run(&args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let format = if args.count { None } else { Some(args.rows.of(&args.run.output)?) };
    let look = Look::of(ui.when(), args.run.output.is_file(), false);
    if args.count {
        formats::check_text(&args.run.output)?;
    }
    let mut distinct = Distinct {
        tally: Arc::new(Tally::new(program.queries())?),
        counter: Some(Counter::new(args.memory.memory)),
        rows: format.map(|format| RowWriter::new(format, args.rows.raw_output, look, paths)),
        limit: args.limit.limit,
        found: 0,
    };
    run::consume(&engine, sources, program, &mut distinct, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && distinct.found == 0)))
}

/// The values of a key as cells of a row, in buffers that are used again.
#[derive(Default)]
struct Cells {
    text: Vec<u8>,
    /// The end of each value, and false for a missing value.
    ends: Vec<(usize, bool)>,
}

impl Cells {
    fn of(&mut self, key: &[u8]) -> impl Iterator<Item = Cell<'_>> {
        self.text.clear();
        self.ends.clear();
        append_values(key, &mut self.text, &mut self.ends);
        let (text, mut begin) = (&self.text, 0);
        self.ends.iter().map(move |(end, is_there)| {
            let value = &text[begin..*end];
            begin = *end;
            is_there.then_some(value)
        })
    }
}

/// A sink that prints the counts of values at the end.
struct CountBy {
    tally: Arc<Tally>,
    /// `None` at the end.
    counter: Option<Counter>,
    top: Option<usize>,
    rows: RowWriter,
    is_empty: bool,
}

impl Sink for CountBy {
    fn needs(&self) -> Needs {
        Needs { digest: Some(self.tally.clone()), ..Needs::about_all(self.tally.want()) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        if let (Some(counter), Some(tallied)) = (&mut self.counter, batch.take_digest::<Tallied>()) {
            for found in tallied.iter() {
                counter.add(found.key, found.count)?;
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        self.rows.header(&mut out.buffer);
        let Some(counter) = self.counter.take() else { return Ok(()) };
        let mut cells = Cells::default();
        for counted in counter.by_count(self.top)? {
            let (key, count) = counted?;
            self.is_empty = false;
            let count = count.to_string();
            self.rows.row(std::iter::once(Some(count.as_bytes())).chain(cells.of(&key)), &mut out.buffer);
            out.line_end()?;
        }
        self.rows.end(&mut out.buffer);
        Ok(())
    }
}

/// A sink that prints each value once, or the number of values.
struct Distinct {
    tally: Arc<Tally>,
    /// `None` at the end.
    counter: Option<Counter>,
    /// `None` if only the number of values is printed.
    rows: Option<RowWriter>,
    limit: Option<u64>,
    found: u64,
}

impl Distinct {
    fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.found >= limit)
    }

    /// Prints values that follow the ones printed so far.
    fn rest(&mut self, counts: Counts, rows: &mut RowWriter, out: &mut Out) -> Result<(), Failure> {
        let mut cells = Cells::default();
        for counted in counts {
            if self.is_done() {
                break;
            }
            rows.row(cells.of(&counted?.0), &mut out.buffer);
            self.found += 1;
            out.line_end()?;
        }
        rows.end(&mut out.buffer);
        Ok(())
    }
}

impl Sink for Distinct {
    fn needs(&self) -> Needs {
        let want = self.tally.want();
        let needs = if self.rows.is_some() { Needs::new(want) } else { Needs::about_all(want) };
        Needs { digest: Some(self.tally.clone()), is_done: self.is_done(), ..needs }
    }

    fn start(&mut self, out: &mut Out) -> Result<(), Failure> {
        if let Some(rows) = &self.rows {
            rows.header(&mut out.buffer);
        }
        Ok(())
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let (Some(counter), Some(tallied)) = (&mut self.counter, batch.take_digest::<Tallied>()) else {
            return Ok(Flow::Continue);
        };
        let mut cells = Cells::default();
        for found in tallied.iter() {
            if counter.add(found.key, found.count)?
                && let Some(rows) = &mut self.rows
            {
                rows.row(cells.of(found.key), &mut out.buffer);
                out.line_end()?;
                self.found += 1;
                if self.limit.is_some_and(|limit| self.found >= limit) {
                    return Ok(Flow::Stop { piece: found.piece, line: found.line });
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(counter) = self.counter.take() else { return Ok(()) };
        match self.rows.take() {
            None => {
                self.found = counter.distinct()?;
                out.buffer.extend_from_slice(format!("{}\n", self.found).as_bytes());
                Ok(())
            }
            Some(mut rows) => self.rest(counter.in_order(false)?, &mut rows, out),
        }
    }
}
