//! `warpath stats`.

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::aggregate::{Fraction, Statistics, StatisticsGroup, Summary};
use warpath::{Batch, Program};
use warpath_exec::aggregate::order::append_key;
use warpath_exec::aggregate::sorter::{Sorted, Sorter};
use warpath_exec::aggregate::stats::{Describe, Described};
use warpath_exec::stream::Digest;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{DescribeArgs, RowsFormat};
use super::failure::Failure;
use super::files::{self, Reading};
use super::formats;
use super::groups::{Cells, Groups};
use super::out::Out;
use super::paths;
use super::rows::RowWriter;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::screen::Screen;
use super::sort;
use super::statistics::named;

/// Prints statistics of the values of paths.
pub fn run(mut args: DescribeArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    args.run.on_error.skip_if_followed(&args.follow);
    let (paths, files) = args.words.split()?;
    let by: Vec<String> = args.by.iter().map(|path| paths::full(path).into_owned()).collect();
    let mut sources = files::inputs(
        &files,
        Reading::of_run(&args.column, &args.engine, &args.run).following(&args.follow),
        ui,
    )?;
    let groups = Groups::new(&by, &args.groups, &args.run.only, &mut sources, ui)?;
    let queries = paths.iter().map(|path| args.run.only.query(path)).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(&[&queries[..], groups.grouping.paths()].concat())?;
    if args.groups.every.is_none() {
        run::check_times(&args.run.only, Some(&program))?;
    }
    let engine = run::engine_of(&args.engine, &args.run)?;
    let fractions = once(args.quantiles);
    let look = Look::of(ui.when(), args.run.output.is_file(), false);
    let format = formats::named(&args.run.output, args.format, RowsFormat::of_ending)?;
    let layout = Layout::new(&groups, paths.len(), &fractions, args.distinct, format);
    let order = Order::new(&args.sort, &layout, &groups)?;
    if !groups.has_groups() && (args.top.is_some() || !args.sort.is_empty()) {
        return Err(Failure::usage("`--sort` and `--top` are about groups, and there are none")
            .with_help("`--by PATH`, `--every LENGTH` and `--by-file` make groups"));
    }
    let describe = Describe::new(paths.len(), groups.grouping.clone())?.with_distinct(args.distinct);
    let mut stats = Stats {
        describe: Arc::new(describe),
        statistics: Some(Statistics::new(paths.len(), args.memory.bytes()).with_distinct(args.distinct)),
        paths,
        fractions,
        screen: Screen::of(&args.follow, look),
        look,
        layout,
        order,
        top: args.top.unwrap_or(usize::MAX),
        memory: args.memory.bytes(),
        groups,
        values: 0,
    };
    run::consume(&engine, sources, program, &mut stats, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && stats.values == 0)))
}

/// The fractions, each once. The name of a quantile is a column, and no two columns have one name.
fn once(mut fractions: Vec<Fraction>) -> Vec<Fraction> {
    let mut seen = HashSet::new();
    fractions.retain(|fraction| seen.insert(*fraction));
    fractions
}

/// The columns that are printed.
struct Layout {
    format: RowsFormat,
    /// The names of the columns of groups, of all columns, and of those that are printed.
    groups: Vec<String>,
    names: Vec<String>,
    shown: Vec<usize>,
}

impl Layout {
    fn new(
        groups: &Groups,
        paths: usize,
        fractions: &[Fraction],
        distinct: bool,
        format: RowsFormat,
    ) -> Self {
        let of_path: Vec<String> =
            columns(&Summary::default(), "", fractions, &[]).into_iter().map(|(name, _)| name).collect();
        let is_printed = |name: &String| match name.as_str() {
            "path" => paths > 1 || !groups.has_groups(),
            "distinct" => distinct,
            _ => true,
        };
        // A table for people has room for few columns.
        let is_short = |name: &String| {
            let of_strings = ["first", "last", "missing", "null", "records"];
            !KINDS.contains(&name.as_str()) && !of_strings.contains(&name.as_str())
                || name == "number"
                || name == "records"
        };
        let is_table = groups.has_groups() && matches!(format, RowsFormat::Text | RowsFormat::Table);
        let names = groups.names.iter().chain(&of_path).cloned().collect::<Vec<_>>();
        let first = groups.names.len();
        let shown = (0..names.len())
            .filter(|at| *at < first || is_printed(&names[*at]) && (!is_table || is_short(&names[*at])))
            .collect();
        let format = if is_table { RowsFormat::Table } else { format };
        Self { format, groups: groups.names.clone(), names, shown }
    }

    fn is_table(&self) -> bool {
        self.format == RowsFormat::Table && !self.groups.is_empty()
    }
}

/// The order of the rows of groups.
struct Order {
    /// The columns, and true where greater values come first.
    by: Vec<(usize, bool)>,
    /// The number of groups' values in whose order the rows are, if no column is named.
    leading: usize,
}

impl Order {
    fn new(sort: &[String], layout: &Layout, groups: &Groups) -> Result<Self, Failure> {
        let column = |text: &String| {
            let (name, descending) = sort::direction(text);
            let named =
                |at: &usize| layout.names[*at] == name || layout.names[*at].strip_prefix("$.") == Some(name);
            match layout.shown.iter().copied().find(named) {
                Some(at) => Ok((at, descending)),
                None => {
                    Err(sort::no_column(text, name, layout.shown.iter().map(|at| layout.names[*at].as_str())))
                }
            }
        };
        Ok(Self { by: sort.iter().map(column).collect::<Result<_, _>>()?, leading: groups.leading() })
    }

    /// Appends the sort key of a row: of the columns, or else of the leading groups and the number of
    /// records.
    fn key(&self, row: &[Option<Vec<u8>>], group: &[u8], records: u64, out: &mut Vec<u8>) {
        for (column, descending) in &self.by {
            append_key(row[*column].as_deref(), *descending, out);
        }
        if self.by.is_empty() {
            let (mut rest, mut text) = (group, Vec::new());
            for _ in 0..self.leading {
                warpath_core::key::decode(&mut rest, &mut text);
            }
            out.extend_from_slice(&group[..group.len() - rest.len()]);
            out.extend((!records).to_be_bytes());
        }
        out.extend_from_slice(group);
    }
}

/// A sink that prints statistics at the end.
struct Stats {
    paths: Vec<String>,
    describe: Arc<Describe>,
    /// `None` at the end.
    statistics: Option<Statistics>,
    fractions: Vec<Fraction>,
    groups: Groups,
    look: Look,
    layout: Layout,
    order: Order,
    /// The most groups that are printed.
    top: usize,
    memory: usize,
    /// The terminal on which statistics are shown while they change.
    screen: Option<Screen>,
    values: u64,
}

impl Stats {
    /// The rows of a group, one for each path.
    fn rows(&self, group: &StatisticsGroup<'_>, cells: &mut Cells) -> Vec<Vec<Option<Vec<u8>>>> {
        let of_group: Vec<Option<Vec<u8>>> =
            cells.of(group.key).map(|cell| cell.map(<[u8]>::to_vec)).collect();
        let row = |(path, (summary, quantiles)): (&String, &(Summary, Vec<f64>))| {
            let columns = columns(summary, path, &self.fractions, quantiles);
            let mut row: Vec<_> =
                of_group.iter().cloned().chain(columns.into_iter().map(|(_, value)| value)).collect();
            let at = |name: &str| self.layout.names.iter().position(|other| other == name);
            if let (true, Some(at), Some(mean)) = (self.layout.is_table(), at("mean"), summary.mean()) {
                // People read few digits.
                row[at] = Some(double(format!("{mean:.4}").parse().unwrap_or(mean)));
            }
            if let (true, Some((first, last))) = (self.layout.is_table(), summary.strings()) {
                for (name, value) in [("least", first), ("greatest", last)] {
                    if let Some(at) = at(name) {
                        row[at].get_or_insert(value);
                    }
                }
            }
            row
        };
        self.paths.iter().zip(&group.paths).map(row).collect()
    }

    /// Prints the statistics of all records as lines of names and values.
    fn text(&mut self, statistics: Statistics, out: &mut Out) -> Result<(), Failure> {
        for (i, (summary, quantiles)) in statistics.finish(&self.fractions)?.iter().enumerate() {
            self.values += summary.kinds.all();
            let is_shown = |(name, value): (String, Option<Vec<u8>>)| {
                let value = String::from_utf8_lossy(&value?).into_owned();
                let always = ["path", "records", "missing", "null"].contains(&&*name);
                let value = if name == "path" { self.paths[i].clone() } else { value };
                (always || value != "0" || !KINDS.contains(&&*name)).then_some((name, value))
            };
            let columns = columns(summary, &self.paths[i], &self.fractions, quantiles);
            let shown: Vec<_> = columns.into_iter().filter_map(is_shown).collect();
            out.buffer.extend_from_slice(if i > 0 { b"\n" } else { b"" });
            out.buffer.extend_from_slice(named(&shown).as_bytes());
        }
        Ok(())
    }

    /// Prints rows, which have all columns.
    fn print(&self, mut sorted: Sorted, out: &mut Out) -> Result<(), Failure> {
        let names = self.layout.shown.iter().map(|at| self.layout.names[*at].clone()).collect();
        let mut writer = RowWriter::new(self.layout.format, false, self.look, names);
        writer.header(&mut out.buffer);
        let (mut key, mut payload, mut groups) = (Vec::new(), Vec::new(), 0);
        while groups < self.top && sorted.next(&mut key, &mut payload)? {
            groups += 1;
            for row in unpacked(&payload).chunks(self.layout.names.len()) {
                writer.row(self.layout.shown.iter().map(|at| row[*at]), &mut out.buffer);
                out.line_end()?;
            }
        }
        writer.end(&mut out.buffer);
        Ok(())
    }
}

/// Rows as bytes.
fn packed(rows: &[Vec<Option<Vec<u8>>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cell in rows.iter().flatten() {
        let len = cell.as_ref().map_or(u32::MAX, |cell| cell.len() as u32);
        bytes.extend(len.to_le_bytes());
        bytes.extend_from_slice(cell.as_deref().unwrap_or_default());
    }
    bytes
}

/// The cells of [`packed`] rows.
fn unpacked(mut bytes: &[u8]) -> Vec<Option<&[u8]>> {
    let mut cells = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let len = u32::from_le_bytes(*len);
        let (cell, rest) = if len == u32::MAX {
            (None, rest)
        } else {
            let (cell, rest) = rest.split_at(len as usize);
            (Some(cell), rest)
        };
        cells.push(cell);
        bytes = rest;
    }
    cells
}

impl Sink for Stats {
    fn needs(&self) -> Needs {
        let needs = Needs::about_all(self.describe.want());
        Needs { digest: Some(self.describe.clone()), prints_meanwhile: self.screen.is_some(), ..needs }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        if let (Some(statistics), Some(described)) = (&mut self.statistics, batch.take_digest::<Described>())
        {
            statistics.add(&described, self.groups.prefix(batch))?;
            self.groups.count_no_times(batch, &described.no_times);
        }
        Ok(Flow::Continue)
    }

    fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(mut screen) = self.screen.take() else { return Ok(()) };
        let Some(mut statistics) = self.statistics.take() else { return Ok(()) };
        if !statistics.has_spilled() {
            let (mut sorter, mut cells) = (Sorter::new(self.memory), Cells::of_groups(&self.groups));
            statistics.now(&self.fractions, |group| self.push(&group, &mut cells, &mut sorter))?;
            let sorted = sorter.finish()?;
            screen.draw(out, |out| self.print(sorted, out))?;
        }
        (self.screen, self.statistics) = (Some(screen), Some(statistics));
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(statistics) = self.statistics.take() else { return Ok(()) };
        if let Some(screen) = &mut self.screen {
            screen.clear(out);
        }
        if self.layout.format == RowsFormat::Text {
            return self.text(statistics, out);
        }
        let (mut sorter, mut cells, mut values) =
            (Sorter::new(self.memory), Cells::of_groups(&self.groups), 0);
        statistics.groups(&self.fractions, |group| {
            values += group.paths.iter().map(|(summary, _)| summary.kinds.all()).sum::<u64>();
            self.push(&group, &mut cells, &mut sorter)
        })?;
        self.values += values;
        self.print(sorter.finish()?, out)
    }

    fn report(&self, ui: &Ui) {
        self.groups.report(ui);
    }
}

impl Stats {
    /// Adds the rows of a group to those that are sorted.
    fn push(
        &self,
        group: &StatisticsGroup<'_>,
        cells: &mut Cells,
        sorter: &mut Sorter,
    ) -> Result<(), Failure> {
        let rows = self.rows(group, cells);
        let mut key = Vec::new();
        let first = rows.first().map(Vec::as_slice).unwrap_or_default();
        self.order.key(first, group.key, group.records, &mut key);
        Ok(sorter.push(&key, &packed(&rows))?)
    }
}

/// The columns that count kinds. Counts of 0 are not shown as text.
const KINDS: [&str; 6] = ["boolean", "number", "string", "array", "object", "other"];

/// The statistics of a path: a name and a JSON text each, or nothing where there is no such value.
fn columns(
    summary: &Summary,
    path: &str,
    fractions: &[Fraction],
    quantiles: &[f64],
) -> Vec<(String, Option<Vec<u8>>)> {
    let count = |count: u64| Some(count.to_string().into_bytes());
    let kinds = summary.kinds;
    let (least, greatest) = summary.numbers().unzip();
    let (first, last) = summary.strings().unzip();
    let [boolean, number, string, array, object, other] = KINDS;
    let columns = [
        ("path", Some(warpath_core::json::encode(path).into_bytes())),
        ("records", count(summary.records)),
        ("missing", count(summary.missing)),
        ("null", count(kinds.nulls)),
        (boolean, count(kinds.booleans)),
        (number, count(kinds.numbers)),
        (string, count(kinds.strings)),
        (array, count(kinds.arrays)),
        (object, count(kinds.objects)),
        (other, count(kinds.others)),
        ("distinct", summary.distinct.and_then(count)),
        ("sum", (kinds.numbers > 0).then(|| summary.exact_sum())),
        ("least", least),
        ("greatest", greatest),
        ("mean", summary.mean().map(double)),
    ];
    let mut row: Vec<(String, Option<Vec<u8>>)> =
        columns.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    for (i, fraction) in fractions.iter().enumerate() {
        row.push((format!("p{}", fraction.percent()), quantiles.get(i).copied().map(double)));
    }
    row.push(("first".to_owned(), first));
    row.push(("last".to_owned(), last));
    row
}

/// The JSON text of a double.
fn double(number: f64) -> Vec<u8> {
    let (mut key, mut text) = (Vec::new(), Vec::new());
    warpath_core::key::encode(format!("{number:e}").as_bytes(), &mut key);
    warpath_core::key::decode(&mut &key[..], &mut text);
    text
}
