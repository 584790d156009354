//! `select --sort`: rows that are sorted before they are printed.

use std::sync::Arc;

use warpath::aggregate::order::{KeyedRows, SortBy, SortRows, SortedText};
use warpath::aggregate::sorter::Sorter;
use warpath::answer::Want;
use warpath::{Batch, DeviceChoice, Digest, Engine, Program, Source};

use super::args::SortArgs;
use super::failure::Failure;
use super::out::Out;
use super::run::{Consumer, Flow};
use super::ui::Ui;

/// The columns by which rows are sorted, as the options name them.
pub fn columns(args: &SortArgs, program: &Program) -> Result<Vec<SortBy>, Failure> {
    let column = |text: &String| {
        let (name, descending) = match text.rsplit_once(':') {
            Some((name, "desc")) => (name, true),
            Some((name, "asc")) => (name, false),
            _ => (text.as_str(), false),
        };
        let at = |name: &str| program.columns().iter().position(|column| column.name == name);
        match at(name) {
            Some(column) => Ok(SortBy { column, descending }),
            None => {
                let names: Vec<_> =
                    program.columns().iter().map(|column| format!("`{}`", column.name)).collect();
                Err(Failure::usage(format!("`--sort {text}`: there is no column `{name}`")).with_help(
                    format!("the columns are {}; greater values first: `--sort NAME:desc`", names.join(", ")),
                ))
            }
        }
    };
    args.sort.iter().map(column).collect()
}

/// A consumer that sorts all rows, and gives them to another consumer at the end.
pub struct Sorting<C> {
    inner: C,
    /// The program over the sorted rows.
    program: Program,
    rows: Arc<SortRows>,
    /// `None` at the end.
    sorter: Option<Sorter>,
}

impl<C: Consumer> Sorting<C> {
    /// Sorts the rows of a program for `inner`.
    pub fn new(inner: C, program: &Program, by: Vec<SortBy>, memory: usize) -> Result<Self, Failure> {
        let rows = Arc::new(SortRows::new(program, by));
        Ok(Self {
            inner,
            program: SortRows::program_of_rows(program)?,
            rows,
            sorter: Some(Sorter::new(memory)),
        })
    }
}

impl<C: Consumer> Consumer for Sorting<C> {
    fn want(&self) -> Want {
        self.rows.want()
    }

    fn digest(&self) -> Option<Arc<dyn Digest>> {
        Some(self.rows.clone())
    }

    fn is_done(&self) -> bool {
        self.inner.is_done()
    }

    fn batch(&mut self, batch: &mut Batch, _out: &mut Out) -> Result<Flow, Failure> {
        if let (Some(sorter), Some(rows)) = (&mut self.sorter, batch.take_digest::<KeyedRows>()) {
            rows.sort(sorter)?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(sorter) = self.sorter.take() else { return Ok(()) };
        self.inner.start(out)?;
        if !self.inner.is_done() {
            let rows = Source::Reader("sorted rows".into(), Box::new(SortedText::new(sorter.finish()?)));
            let input = Engine::builder().device(DeviceChoice::Cpu).build()?.input(vec![rows]);
            for batch in input.answers(self.program.clone(), self.inner.want()) {
                if self.inner.batch(&mut batch?, out)? != Flow::Continue {
                    break;
                }
            }
        }
        self.inner.end(out)
    }

    fn report(&self, ui: &Ui) {
        self.inner.report(ui);
    }

    fn statistics(&self) -> Vec<(&'static str, String)> {
        self.inner.statistics()
    }
}
