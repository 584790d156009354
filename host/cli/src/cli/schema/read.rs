//! The schema of inputs.

use std::time::Instant;

use warpath::schema::InputSchema;
use warpath::{Engine, Error, InputError, Predicate, RecordError, Source};
use warpath_terminal::messages::Ui;
use warpath_terminal::options::When;
use warpath_terminal::progress::Progress;

use super::super::args::StatsFormat;
use super::super::failure::Failure;
use super::super::files::{Recognised, text_bytes};
use super::super::run;
use super::super::statistics;

/// The choice of records, and the reports about them.
pub struct Reading {
    /// The most records.
    pub limit: Option<u64>,
    /// The condition on records.
    pub predicate: Option<Predicate>,
    /// True if no object is a map.
    pub keeps_names: bool,
    pub progress: When,
    pub stats: Option<StatsFormat>,
    /// True if the inputs are read once more. The second pass reports skipped records.
    pub is_first_pass: bool,
}

/// Reads the schema of some inputs. Reports skipped records, and statistics if the options include them.
pub fn read(
    engine: &Engine,
    sources: Vec<Source>,
    options: Reading,
    ui: &Ui,
    started: Instant,
) -> Result<InputSchema, Failure> {
    let Reading { limit, predicate, .. } = options;
    let mut progress = Progress::new(options.progress, text_bytes(&sources), false);
    let recognised = Recognised::of(&sources);
    let mut input = engine.input(sources);
    if let Some(predicate) = &predicate {
        input = input.matching(predicate);
    }
    let mut parts = input.schema(limit).keeping_names(options.keeps_names);
    let setup = started.elapsed();
    let (mut skipped, mut first, mut faulty) = (0, None::<RecordError>, None);
    while let Some(part) = parts.next() {
        match part {
            Ok(part) => {
                skipped += part.skipped.len() as u64;
                first = first.or(part.skipped.into_iter().next());
                faulty = part.faulty;
                progress.update(parts.bytes_read());
            }
            Err(error) => {
                progress.finish(parts.bytes_read());
                let is_record = matches!(error, Error::Input(InputError::Record(_)));
                let shown = faulty.filter(|_| is_record).map(|(line, at)| run::excerpt(&line, at));
                return Err(Failure::Library(Box::new(error), shown));
            }
        }
    }
    progress.finish(parts.bytes_read());
    if !options.is_first_pass {
        recognised.report(ui);
        ui.skipped("record", skipped, first);
    }
    if let Some(format) = options.stats {
        let (stats, made) = (parts.stats(), parts.setup());
        statistics::show(
            ui,
            &run::table(parts.plan(), &stats, setup, &made, started.elapsed(), None),
            format,
        );
    }
    let schema = parts.finish();
    if let Some(most) = schema.tree.lowered_members() {
        ui.note(format_args!(
            "the schema has too many paths: objects of more than {most} names are shown as maps"
        ));
    }
    if let Some(depth) = schema.tree.lowered_depth() {
        ui.note(format_args!("the schema has too many paths: none deeper than {depth} is shown"));
    }
    Ok(schema)
}
