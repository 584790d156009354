//! `warpath stats`.

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::Batch;
use warpath::aggregate::{Fraction, Statistics, Summary};
use warpath_exec::aggregate::stats::{Describe, Described};
use warpath_exec::stream::Digest;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{DescribeArgs, RowsFormat};
use super::count;
use super::failure::Failure;
use super::files;
use super::formats;
use super::out::Out;
use super::rows::RowWriter;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::statistics::named;
use super::written::Written;

/// Prints statistics of the values of paths.
pub fn run(args: DescribeArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let (paths, files) = args.words.split()?;
    let program = count::program(&paths, &args.run.only)?;
    let sources = files::tables_too(&files, &args.column, &args.engine, Written::of_run(&args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let mut stats = Stats {
        describe: Arc::new(Describe::new(paths.len())),
        statistics: Some(Statistics::new(paths.len(), args.memory.memory)),
        paths,
        fractions: once(args.quantiles),
        look: Look::of(ui.when(), args.run.output.is_file(), false),
        format: formats::named(&args.run.output, args.format, RowsFormat::of_ending)?,
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

/// A sink that prints statistics at the end.
struct Stats {
    paths: Vec<String>,
    describe: Arc<Describe>,
    /// `None` at the end.
    statistics: Option<Statistics>,
    fractions: Vec<Fraction>,
    look: Look,
    format: RowsFormat,
    values: u64,
}

impl Sink for Stats {
    fn needs(&self) -> Needs {
        Needs { digest: Some(self.describe.clone()), ..Needs::about_all(self.describe.want()) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        if let (Some(statistics), Some(described)) = (&mut self.statistics, batch.take_digest::<Described>())
        {
            statistics.add(&described)?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let Some(statistics) = self.statistics.take() else { return Ok(()) };
        let mut rows = Vec::new();
        for (path, (summary, quantiles)) in self.paths.iter().zip(statistics.finish(&self.fractions)?) {
            self.values += summary.kinds.all();
            rows.push(row(path, &summary, &self.fractions, &quantiles));
        }
        if self.format == RowsFormat::Text {
            for (i, row) in rows.into_iter().enumerate() {
                let is_shown = |(name, value): (String, Option<Vec<u8>>)| {
                    let value = String::from_utf8_lossy(&value?).into_owned();
                    let always = ["path", "records", "missing", "null"].contains(&&*name);
                    let value = if name == "path" { self.paths[i].clone() } else { value };
                    (always || value != "0" || !KINDS.contains(&&*name)).then_some((name, value))
                };
                let shown: Vec<_> = row.into_iter().filter_map(is_shown).collect();
                out.buffer.extend_from_slice(if i > 0 { b"\n" } else { b"" });
                out.buffer.extend_from_slice(named(&shown).as_bytes());
            }
            return Ok(());
        }
        let names = rows.first().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let mut writer = RowWriter::new(self.format, false, self.look, names);
        writer.header(&mut out.buffer);
        for row in &rows {
            writer.row(row.iter().map(|(_, value)| value.as_deref()), &mut out.buffer);
        }
        writer.end(&mut out.buffer);
        Ok(())
    }
}

/// The columns that count kinds. Counts of 0 are not shown as text.
const KINDS: [&str; 6] = ["boolean", "number", "string", "array", "object", "other"];

/// The statistics of a path: a name and a JSON text each, or nothing where there is no such value.
fn row(
    path: &str,
    summary: &Summary,
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
