//! `select --sort`: rows that are sorted before they are printed.

use std::sync::Arc;

use warpath::{Batch, DeviceChoice, Engine, Program, Source, Want};
use warpath_exec::aggregate::order::{
    FoundRow, KeyedRows, RowLocation, RowLocations, SortBy, SortRows, SortedText,
};
use warpath_exec::aggregate::sorter::Sorter;
use warpath_exec::stream::Digest;
use warpath_terminal::messages::Ui;

use super::args::SortArgs;
use super::failure::Failure;
use super::out::Out;
use super::run::{Flow, Needs, Refused, Sink};
use super::served;
use super::statistics::Statistics;

/// The columns by which rows are sorted, as the options name them.
pub fn columns(args: &SortArgs, program: &Program) -> Result<Vec<SortBy>, Failure> {
    let column = |text: &String| {
        let (name, descending) = direction(text);
        match program.columns().iter().position(|column| column.name == name) {
            Some(column) => Ok(SortBy { column, descending }),
            None => Err(no_column(text, name, program.columns().iter().map(|column| column.name.as_str()))),
        }
    };
    args.sort.iter().map(column).collect()
}

/// The column that a value of `--sort` names, and true if greater values come first.
pub fn direction(text: &str) -> (&str, bool) {
    match text.rsplit_once(':') {
        Some((name, "desc")) => (name, true),
        Some((name, "asc")) => (name, false),
        _ => (text, false),
    }
}

/// The failure for a column that does not exist.
pub fn no_column<'a>(text: &str, name: &str, columns: impl Iterator<Item = &'a str>) -> Failure {
    let names: Vec<String> = columns.map(|column| format!("`{column}`")).collect();
    Failure::usage(format!("`--sort {text}`: there is no column `{name}`"))
        .with_help(format!("the columns are {}; greater values first: `--sort NAME:desc`", names.join(", ")))
}

/// The inputs of sorted rows, and the locations of the rows that are read next.
#[derive(Clone, Default)]
pub struct Origins {
    /// The names of the inputs. The same name comes once after itself.
    sources: Vec<Arc<str>>,
    locations: RowLocations,
}

impl Origins {
    /// The number of an input, which is added if it is not the last one.
    fn source(&mut self, name: &str) -> u32 {
        if self.sources.last().is_none_or(|last| **last != *name) {
            self.sources.push(name.into());
        }
        self.sources.len() as u32 - 1
    }

    /// Takes the inputs and the lines of the next rows.
    pub fn take(&self, rows: usize) -> Vec<(Arc<str>, u64)> {
        let name = |source: u32| self.sources.get(source as usize).cloned().unwrap_or_default();
        self.locations.take(rows).into_iter().map(|location| (name(location.source), location.line)).collect()
    }
}

/// The rows of a batch that are not sorted.
#[derive(Default)]
pub struct LeftOut {
    /// The piece and the row of each, ascending.
    pub rows: Vec<(usize, usize)>,
    /// The piece and the row of the first one that the run does not reach.
    pub end: Option<(usize, usize)>,
}

/// A sink whose rows can be sorted first.
pub trait Sortable: Sink {
    /// The results of the records that [`examine`](Self::examine) reads. Rows are sorted without them.
    fn examines(&self) -> Want {
        Want::default()
    }

    /// Examines records whose rows are to be sorted, in the order of the input. If a run ends in the batch,
    /// returns where, and `refused` has the reason.
    fn examine(&mut self, _batch: &mut Batch, _refused: &mut Refused) -> Result<(LeftOut, Flow), Failure> {
        Ok((LeftOut::default(), Flow::Continue))
    }

    /// Sets the locations of the rows that follow, which are sorted.
    fn set_origins(&mut self, origins: Origins);
}

/// A sink that sorts all rows, and gives them to another sink at the end.
pub struct Sorting<C> {
    inner: C,
    /// The program over the sorted rows.
    program: Program,
    rows: Arc<SortRows>,
    origins: Origins,
    /// `None` at the end.
    sorter: Option<Sorter>,
}

impl<C: Sortable> Sorting<C> {
    /// Sorts the rows of a program for `inner`.
    pub fn new(inner: C, program: &Program, by: Vec<SortBy>, memory: usize) -> Result<Self, Failure> {
        let rows = Arc::new(SortRows::new(program, by));
        Ok(Self {
            inner,
            program: SortRows::program_of_rows(program)?,
            rows,
            origins: Origins::default(),
            sorter: Some(Sorter::new(memory)),
        })
    }
}

impl<C: Sortable> Sink for Sorting<C> {
    fn needs(&self) -> Needs {
        let (examined, mut sorted) = (self.inner.examines(), self.rows.want());
        sorted.columns = examined.columns;
        let Needs { is_done, skips_records, want: of_rows, .. } = self.inner.needs();
        let want = sorted.records(examined.records || sorted.records);
        let want = want.partial(of_rows.partial).sparse(of_rows.sparse);
        Needs { digest: Some(self.rows.clone()), is_done, skips_records, ..Needs::about_all(want) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, refused: &mut Refused) -> Result<Flow, Failure> {
        let (Some(sorter), Some(rows)) = (&mut self.sorter, batch.take_digest::<KeyedRows>()) else {
            return Ok(Flow::Continue);
        };
        let (left_out, flow) = self.inner.examine(batch, refused)?;
        let source = self.origins.source(batch.source());
        let pieces: Vec<_> = batch.pieces().collect();
        rows.sort(sorter, |FoundRow { piece, row, line }| {
            let is_sorted = left_out.end.is_none_or(|end| (piece, row) < end)
                && left_out.rows.binary_search(&(piece, row)).is_err();
            let (first, piece) = pieces.get(piece).filter(|_| is_sorted)?;
            Some(RowLocation { source, line: batch.line_at(piece, *first, line, 0) })
        })?;
        Ok(flow)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(sorter) = self.sorter.take() else { return Ok(()) };
        self.inner.set_origins(self.origins.clone());
        self.inner.start(out)?;
        let needs = self.inner.needs();
        if !needs.is_done {
            let text = SortedText::new(sorter.finish()?, self.origins.locations.clone());
            let rows = Source::Reader("sorted rows".into(), Box::new(text));
            let input =
                served::limited(Engine::builder().device(DeviceChoice::Cpu)).build()?.input(vec![rows]);
            for batch in input.answers(self.program.clone(), needs.want) {
                // All values that a column does not take were found before their rows were sorted.
                if self.inner.batch(&mut batch?, out, &mut Refused::default())? != Flow::Continue {
                    break;
                }
            }
        }
        self.inner.end(out)
    }

    fn report(&self, ui: &Ui) {
        self.inner.report(ui);
    }

    fn statistics(&self, statistics: Statistics) -> Statistics {
        self.inner.statistics(statistics)
    }
}
