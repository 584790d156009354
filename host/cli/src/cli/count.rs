//! `warpath count-by` and `warpath distinct`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::aggregate::{Counter, Counts, Grouping};
use warpath::{Batch, Program, Query, Want};
use warpath_exec::aggregate::count::values as texts;
use warpath_exec::aggregate::first::{FindFirst, FirstRecord, FirstRecords, Firsts};
use warpath_exec::aggregate::tally::{Tallied, Tally};
use warpath_exec::stream::Digest;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{CountByArgs, DistinctArgs, RowsFormat, WhereArgs};
use super::failure::Failure;
use super::files::{self, Reading};
use super::formats;
use super::grid::{Cell, Grid};
use super::groups::{self, Cells, Groups};
use super::out::Out;
use super::paths;
use super::rows::RowWriter;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::screen::Screen;
use super::shell::quoted;

/// The program of paths, with the format of instants that `only` has.
pub fn program(paths: &[String], only: &WhereArgs) -> Result<Program, Failure> {
    let queries = paths.iter().map(|path| only.query(path)).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&queries)?;
    run::check_times(only, Some(&program))?;
    Ok(program)
}

/// Prints how often each value occurs.
pub fn count_by(mut args: CountByArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    args.run.on_error.skip_if_followed(&args.follow);
    let has_groups = args.groups.every.is_some() || args.groups.by_file;
    let (paths, files) = if has_groups { args.words.split_any()? } else { args.words.split()? };
    let mut sources = files::inputs(
        &files,
        Reading::of_run(&args.column, &args.engine, &args.run).following(&args.follow),
        ui,
    )?;
    let groups = Groups::new(&paths, &args.groups, &args.run.only, &mut sources, ui)?;
    // Only inputs are counted: every record has a value of `$`.
    let counts_records = groups.grouping.is_empty();
    let program = match counts_records {
        true => Program::new(&[Query::compile("$")?])?,
        false => Program::new(groups.grouping.paths())?,
    };
    if args.groups.every.is_none() {
        run::check_times(&args.run.only, Some(&program))?;
    }
    let engine = run::engine_of(&args.engine, &args.run)?;
    let format = args.rows.of(&args.run.output)?;
    if args.bars && format != RowsFormat::Text {
        return Err(Failure::usage(
            "`--bars` prints a table for people, and the output's name is of another format",
        )
        .with_help("leave `--bars` out, or write to a file such as `-o counts.txt`"));
    }
    let tally = match counts_records {
        true => None,
        false => Some(Arc::new(Tally::new(groups.grouping.clone())?.with_missing())),
    };
    let look = Look::of(ui.when(), args.run.output.is_file(), false);
    let mut count = CountBy {
        tally,
        counter: Some(Counter::new(args.memory.bytes())),
        top: args.top,
        layout: if args.bars { Layout::Bars } else { Layout::Rows(format, args.rows.raw_output) },
        screen: Screen::of(&args.follow, look),
        look,
        groups,
        is_empty: true,
        leaves_out: false,
    };
    run::consume(&engine, sources, program, &mut count, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && count.is_empty)))
}

/// Prints each value once.
pub fn distinct(args: DistinctArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    if !args.by.is_empty() {
        return first_records(args, ui, started);
    }
    let (paths, files) = args.words.split()?;
    let program = program(&paths, &args.run.only)?;
    let sources = files::inputs(&files, Reading::of_run(&args.column, &args.engine, &args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let format = if args.count { None } else { Some(args.rows.of(&args.run.output)?) };
    let look = Look::of(ui.when(), args.run.output.is_file(), false);
    if args.count {
        formats::check_text(&args.run.output)?;
    }
    let mut distinct = Distinct {
        tally: Arc::new(Tally::new(Grouping::of_values(program.queries()))?),
        counter: Some(Counter::new(args.memory.bytes())),
        rows: format.map(|format| RowWriter::new(format, args.rows.raw_output, look, paths)),
        limit: args.limit.limit,
        found: 0,
    };
    run::consume(&engine, sources, program, &mut distinct, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && distinct.found == 0)))
}

/// Prints the first record for each combination of values.
fn first_records(args: DistinctArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let (paths, files) = args.words.split_any()?;
    if let Some(path) = paths.first() {
        return Err(Failure::usage(format!(
            "with `--by`, `distinct` prints whole records, and takes no `{path}`"
        ))
        .with_help(format!(
            "the different values for each group: `warpath distinct {} '{path}'`",
            quoted(&args.by[0])
        )));
    }
    formats::check_records(&args.run.output)?;
    let by =
        args.by.iter().map(|path| args.run.only.query(&paths::full(path))).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&[&by[..], &[Query::compile("$")?]].concat())?;
    run::check_times(&args.run.only, Some(&program))?;
    let sources = files::inputs(&files, Reading::of_run(&args.column, &args.engine, &args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let mut records = FirstOnes {
        find: Arc::new(FindFirst::new(Grouping::of_values(&by))?),
        firsts: Some(Firsts::new(args.memory.bytes())),
        look: Look::of(ui.when(), args.run.output.is_file(), false),
        limit: args.limit.limit.unwrap_or(u64::MAX),
        found: 0,
    };
    run::consume(&engine, sources, program, &mut records, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && records.found == 0)))
}

/// A sink that prints the first record of each group.
struct FirstOnes {
    find: Arc<FindFirst>,
    /// `None` at the end.
    firsts: Option<Firsts>,
    look: Look,
    limit: u64,
    found: u64,
}

impl FirstOnes {
    fn print(&mut self, record: &[u8], out: &mut Out) -> Result<(), Failure> {
        self.look.append(record, &mut out.buffer);
        out.buffer.push(b'\n');
        self.found += 1;
        out.line_end()
    }
}

impl Sink for FirstOnes {
    fn needs(&self) -> Needs {
        let needs = Needs::new(self.find.want());
        Needs { digest: Some(self.find.clone()), is_done: self.found >= self.limit, ..needs }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Some(records) = batch.take_digest::<FirstRecords>() else { return Ok(Flow::Continue) };
        for FirstRecord { key, record, piece, line } in records.iter() {
            let Some(firsts) = &mut self.firsts else { break };
            if firsts.add(key, record)? {
                self.print(record, out)?;
                if self.found >= self.limit {
                    return Ok(Flow::Stop { piece, line });
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(firsts) = self.firsts.take() else { return Ok(()) };
        for record in firsts.rest()? {
            if self.found >= self.limit {
                break;
            }
            self.print(&record?, out)?;
        }
        Ok(())
    }
}

/// The layout of counts.
#[derive(Clone, Copy)]
enum Layout {
    /// Rows in a format, with strings as text.
    Rows(RowsFormat, bool),
    /// A table with a bar for each count.
    Bars,
}

/// The most rows of buckets that no record is in.
const EMPTY_BUCKETS: u64 = 10_000;

/// A sink that prints the counts of values at the end.
struct CountBy {
    /// `None` if only records are counted.
    tally: Option<Arc<Tally>>,
    /// `None` at the end.
    counter: Option<Counter>,
    groups: Groups,
    top: Option<usize>,
    layout: Layout,
    look: Look,
    /// The terminal on which counts are shown while they change.
    screen: Option<Screen>,
    is_empty: bool,
    /// True if empty buckets have no row.
    leaves_out: bool,
}

impl CountBy {
    /// Prints counts.
    fn print(&mut self, counts: Counts, out: &mut Out) -> Result<(), Failure> {
        let most = counts.most();
        let names = || std::iter::once("count".to_owned()).chain(self.groups.names.iter().cloned());
        let mut cells = Cells::of_groups(&self.groups);
        match self.layout {
            Layout::Rows(format, is_raw) => {
                let mut rows = RowWriter::new(format, is_raw, self.look, names().collect());
                rows.header(&mut out.buffer);
                for counted in counts {
                    let (key, count) = counted?;
                    self.is_empty = false;
                    let count = count.to_string();
                    rows.row(std::iter::once(Some(count.as_bytes())).chain(cells.of(&key)), &mut out.buffer);
                    out.line_end()?;
                }
                rows.end(&mut out.buffer);
            }
            Layout::Bars => {
                let names: Vec<String> = names().chain([String::new()]).collect();
                let mut grid = Grid::new(&names, self.look);
                let every = self.groups.only_every();
                let (mut next, mut empty) = (None, 0);
                for counted in counts {
                    let (key, count) = counted?;
                    self.is_empty = false;
                    let mut row: Vec<Cell> = Vec::new();
                    let values: Vec<Option<Vec<u8>>> =
                        cells.of(&key).map(|cell| cell.map(<[u8]>::to_vec)).collect();
                    if let (Some(every), Some(Some(value))) = (every, texts(&key).first()) {
                        let start = groups::instant(value.trim_matches('"'));
                        while let (Some(at), Some(start)) = (next, start)
                            && at < start
                        {
                            if empty < EMPTY_BUCKETS {
                                let shown = every.zone().show(at).unwrap_or_default();
                                let cells = [
                                    Cell::number("0".to_owned()),
                                    Cell::text(shown),
                                    Cell::text(String::new()),
                                ];
                                grid.cells(cells.into(), &mut out.buffer);
                                empty += 1;
                            } else {
                                self.leaves_out = true;
                                break;
                            }
                            next = every.bucket(at).map(|(_, end)| end);
                        }
                        next = start.and_then(|start| every.bucket(start)).map(|(_, end)| end);
                    }
                    row.push(Cell::number(count.to_string()));
                    row.extend(values.iter().map(|value| match value {
                        None => Cell::text("missing".to_owned()),
                        Some(value) => Cell::new(value),
                    }));
                    row.push(Cell::text(bar(count, most, self.look)));
                    grid.cells(row, &mut out.buffer);
                    out.line_end()?;
                }
                grid.end(&mut out.buffer);
            }
        }
        Ok(())
    }
}

/// A bar whose length is to that of the longest one as `count` is to `most`.
///
/// The last character of a bar has an eighth to eight eighths of its width.
fn bar(count: u64, most: u64, look: Look) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let width = look.columns.map_or(40, |columns| (columns / 3).clamp(8, 40)) as u64;
    let eighths = (u128::from(count) * u128::from(8 * width)).div_ceil(u128::from(most.max(1))) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

impl Sink for CountBy {
    fn needs(&self) -> Needs {
        let want = self.tally.as_ref().map_or(Want::default().partial(true), |tally| tally.want());
        let digest = self.tally.clone().map(|tally| tally as Arc<dyn Digest>);
        Needs { digest, prints_meanwhile: self.screen.is_some(), ..Needs::about_all(want) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Some(counter) = &mut self.counter else { return Ok(Flow::Continue) };
        let prefix = self.groups.prefix(batch);
        if self.tally.is_none() {
            if batch.count(0) > 0 {
                counter.add(prefix, batch.count(0))?;
            }
        } else if let Some(tallied) = batch.take_digest::<Tallied>() {
            let mut whole = prefix.to_vec();
            let len = whole.len();
            for found in tallied.iter() {
                if len == 0 {
                    counter.add(found.key, found.count)?;
                } else {
                    whole.truncate(len);
                    whole.extend_from_slice(found.key);
                    counter.add(&whole, found.count)?;
                }
            }
            self.groups.count_no_times(batch, &tallied.no_times);
        }
        Ok(Flow::Continue)
    }

    fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        let (Some(mut screen), Some(counter)) = (self.screen.take(), &self.counter) else { return Ok(()) };
        let top = Some(self.top.unwrap_or(usize::MAX).min(screen.rows()));
        if let Some(counts) = counter.now(self.groups.leading(), top) {
            screen.draw(out, |out| self.print(counts, out))?;
        }
        self.screen = Some(screen);
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(counter) = self.counter.take() else { return Ok(()) };
        if let Some(screen) = &mut self.screen {
            screen.clear(out);
        }
        self.print(counter.within(self.groups.leading(), self.top)?, out)
    }

    fn report(&self, ui: &Ui) {
        self.groups.report(ui);
        if self.leaves_out {
            ui.note(format_args!("empty buckets beyond the first {EMPTY_BUCKETS} have no row"));
        }
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
