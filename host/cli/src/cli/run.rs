//! The run of a query over its inputs: results, errors, limits, statistics and progress.

use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::BinaryBytes;
use warpath::columns::NestedSchema;
use warpath::plan::Reading;
use warpath::{
    Answers, Batch, Engine, Error, Input, InputError, Plan, Predicate, Program, Query, RecordError, Source,
    Stats, Want,
};
use warpath_exec::stream::{Digest, Setup};
use warpath_lang::jsonpath::visit::{Subexpression, visit, visit_segments};
use warpath_shared::units::LineIx;
use warpath_terminal::escape::{escaped, is_escaped};
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;

use super::args::{EngineArgs, OnErrorArg, OnErrorArgs, RunArgs, StrictArgs, WhereArgs};
use super::engines::builder;
use super::failure::Failure;
use super::files::{Recognised, for_paths, text_bytes};
use super::out::Out;
use super::reasons::{self, Readable, Reasons};
use super::rejects::{self, Reject, Rejects};
use super::statistics::{self, Statistics};
use super::written::Written;

/// The needs of a sink in a run. They are fixed before the first batch.
#[derive(Default)]
pub struct Needs {
    /// The results that the backend must produce.
    pub want: Want,
    /// The digest that workers make of the results.
    pub digest: Option<Arc<dyn Digest>>,
    /// The nested columns that records are decoded to, besides the results.
    pub decodes: Option<Arc<NestedSchema>>,
    /// True if the sink needs no results at all.
    pub is_done: bool,
    /// True if results are printed while the input is read. No bar of progress is then shown beside them on a
    /// terminal.
    pub prints_meanwhile: bool,
    /// True if the sink shows malformed records itself.
    pub shows_faults: bool,
    /// True if the sink leaves records out that have a value which it does not take.
    pub skips_records: bool,
    /// True if the results are about all records together. A run that fails then has none, and
    /// [`Sink::end`] is not called, unless the sink itself ended the run ([`Refused::failure`]).
    pub is_about_all: bool,
    /// True if a part of the results is of no use. A file of such results takes its name when it is complete,
    /// and a run that fails leaves the file of that name as it is.
    pub is_whole: bool,
}

impl Needs {
    /// Needs some results. They are printed while the input is read.
    pub fn new(want: Want) -> Self {
        Self { want, prints_meanwhile: true, ..Self::default() }
    }

    /// Needs some results. What is printed at the end is about all of them.
    pub fn about_all(want: Want) -> Self {
        Self { want, is_about_all: true, is_whole: true, ..Self::default() }
    }
}

/// The records of a batch that a sink does not take.
#[derive(Default)]
pub struct Refused {
    /// The records that are left out.
    pub records: Vec<Reject>,
    /// The reason for which the run ends in this batch. The results before it are written.
    pub failure: Option<Failure>,
}

/// A taker of the results of a run: it prints, counts or converts them.
pub trait Sink {
    /// The needs of this sink. Called before the first batch.
    fn needs(&self) -> Needs;

    /// Called once before the first batch, after the first input could be read.
    fn start(&mut self, _out: &mut Out) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes the results of the next partition.
    fn batch(&mut self, batch: &mut Batch, out: &mut Out, refused: &mut Refused) -> Result<Flow, Failure>;

    /// Called when the next results may take time.
    fn pause(&mut self, _out: &mut Out) -> Result<(), Failure> {
        Ok(())
    }

    /// Called once after the last batch.
    fn end(&mut self, _out: &mut Out) -> Result<(), Failure> {
        Ok(())
    }

    /// Reports what the results lack, after the last batch.
    fn report(&self, _ui: &Ui) {}

    /// Adds statistics of the results.
    fn statistics(&self, statistics: Statistics) -> Statistics {
        statistics
    }
}

/// The decision to continue or to stop after a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// No further results are needed. Names the last piece of the batch that was used, and the last line in
    /// it.
    Stop {
        piece: usize,
        line: LineIx,
    },
}

/// Returns the engine for the given options.
pub fn engine(args: &EngineArgs, on_error: &OnErrorArgs, strict: &StrictArgs) -> Result<Engine, Failure> {
    Ok(builder(&args.backend, on_error).strict(strict.strict).format(args.layout.format()).build()?)
}

/// Returns the engine for a run.
pub fn engine_of(args: &EngineArgs, run: &RunArgs) -> Result<Engine, Failure> {
    engine_with(args, run, run.strict.strict)
}

/// Returns the engine for a run, with strict checks or without.
pub fn engine_with(args: &EngineArgs, run: &RunArgs, strict: bool) -> Result<Engine, Failure> {
    let builder = builder(&args.backend, &run.on_error).strict(strict).format(args.layout.format());
    Ok(builder.find_indexes(!run.index.no_index).build()?)
}

/// Evaluates a program over inputs and passes the results to `sink`. Reports skipped records, and
/// statistics if the options include them.
pub fn consume(
    engine: &Engine,
    sources: Vec<Source>,
    program: Program,
    sink: &mut dyn Sink,
    args: &RunArgs,
    ui: &Ui,
    started: Instant,
) -> Result<(), Failure> {
    Written::of_run(args).refuse_one_for_both()?;
    let predicate = args.only.predicate()?;
    let mode = Source::output_mode(&sources);
    let needs = sink.needs();
    let skips = args.on_error.action() == OnErrorArg::Skip || needs.skips_records;
    let mut rejects = Rejects::new(&args.rejects, skips, mode)?;
    let mut out = Out::new(&args.output).made_from(mode);
    if needs.is_whole {
        out.make_whole();
    }
    if needs.is_done {
        // A condition that cannot be evaluated is refused in a run without results, too.
        if predicate.is_some() {
            prepared(engine.input(sources), predicate.as_ref(), &needs).explain(program, needs.want)?;
        }
        return without_input(sink, &mut out, &mut rejects);
    }
    let sources = for_paths(sources, program.queries());
    let is_shown = out.is_terminal() && needs.prints_meanwhile;
    let mut progress = Progress::new(args.report.progress.progress, text_bytes(&sources), is_shown);
    let mut reasons = (!ui.is_quiet()).then(|| Reasons::new(&program, args.of_elements));
    let again = Readable::of(&sources);
    let recognised = Recognised::of(&sources);
    reasons::report_patterns(&program, predicate.as_ref(), ui);
    let mut input = prepared(engine.input(sources), predicate.as_ref(), &needs);
    if let Some(sampler) = reasons.as_ref().and_then(Reasons::sampler) {
        input = input.sampling(sampler);
    }
    // Rejects are written as they were.
    let (is_partial, is_sparse) = (needs.want.partial && !rejects.wants_records(), needs.want.sparse);
    let want = needs.want.sparse(is_sparse || needs.want.partial).partial(is_partial);
    let mut answers = input.answers(program, want);
    let started_reading = started.elapsed();
    say_unused(answers.plan(), ui);
    // Workers copy few records, or none, where an index serves to read the file, and parts of records of a
    // store.
    let is_partial = answers.plan().index().is_some() || answers.plan().part_columns().is_some();
    if is_partial {
        reasons = reasons.filter(|_| !again.is_empty()).map(|reasons| reasons.of_inputs(again));
    }
    let early = answers.early();
    let mut skipped = Skipped { count: early.skipped, first: early.first.clone() };
    let is_about_all = needs.is_about_all;
    let mut beside =
        Beside { is_about_all, skipped: &mut skipped, reasons: reasons.as_mut(), progress: &mut progress };
    let done = consume_all(&mut answers, sink, &mut out, &mut rejects, &mut beside);
    progress.finish(answers.bytes_read());
    if matches!(done, Err(Failure::BrokenPipe)) {
        return done;
    }
    recognised.report(ui);
    ui.skipped("record", skipped.count, skipped.first.filter(|_| !needs.shows_faults));
    sink.report(ui);
    if let (Some(reasons), Ok(())) = (&reasons, &done) {
        reasons.report(predicate.as_ref(), ui);
    }
    if let Some(format) = args.report.stats.stats {
        let times = [started_reading, started.elapsed()];
        let layout = |(name, layout): &(String, &str)| ("input", format!("{name}: {layout}"));
        let layouts = recognised.layouts.iter().map(layout).collect();
        let table = statistics(&answers, predicate.as_ref(), started, times).and(layouts);
        statistics::show(ui, &sink.statistics(table), format);
    }
    done
}

/// Refuses `--time-format` where nothing reads instants. A command whose queries
/// cannot read instants has no `program`.
///
/// # Errors
/// If the option is given, and neither the predicate nor the program reads a time.
pub fn check_times(only: &WhereArgs, program: Option<&Program>) -> Result<(), Failure> {
    if only.time_format.is_none() {
        return Ok(());
    }
    let mut is_used = false;
    let mut see = |part: Subexpression<'_>| is_used |= matches!(part, Subexpression::Time(_));
    let predicate = only.predicate()?;
    let queries = program.map_or(&[][..], Program::queries);
    queries.iter().for_each(|query| visit_segments(&query.ast().segments, &mut see));
    for predicate in queries.iter().filter_map(Query::condition).chain(&predicate) {
        visit(predicate.expr(), &mut see);
    }
    let columns = program.map_or(&[][..], Program::columns);
    if is_used || columns.iter().any(|column| column.values.has_time()) {
        return Ok(());
    }
    Err(Failure::usage("`--time-format` is about `time(…)`, and nothing here reads a time")
        .with_help("as in `--where 'time($.created_at) >= \"2017-03-01\"'`"))
}

/// Says which indexes are not used, where the user named them, or where they do not fit the input any more;
/// and which index lacks lines.
pub fn say_unused(plan: &Plan, ui: &Ui) {
    if let Reading::Levels { index, text: (covered, all), .. } = &plan.reading
        && covered < all
    {
        ui.note(format_args!(
            "{} has {covered} of {all} bytes of text, because the file has grown; `warpath store index FILE` renews \
             it",
            escaped(index)
        ));
    }
    for unused in plan.unused.iter().filter(|unused| unused.matters) {
        ui.note(format_args!("{} is not used: {}", escaped(&unused.index), escaped(&unused.why)));
    }
}

/// Writes the results of a sink that needs no input.
fn without_input(sink: &mut dyn Sink, out: &mut Out, rejects: &mut Rejects) -> Result<(), Failure> {
    rejects.open()?;
    sink.start(out)?;
    sink.end(out)?;
    rejects.finish()?;
    out.complete()
}

/// The condition of a run, and how it was decided.
fn decided(plan: &Plan, predicate: &Predicate) -> String {
    let Some(pruned) = &plan.pruned else {
        return format!("{}, with the query", escaped(&predicate.expr().to_string()));
    };
    let lines = match &plan.reading {
        Reading::Selected(selected) => selected.lines.0,
        _ => 0,
    };
    let checked = format!("{} were checked, in {:.3} s", pruned.checked, pruned.took.as_secs_f64());
    match &pruned.rest {
        None => format!("{lines} lines found, after {checked}"),
        Some(rest) => format!("{lines} lines read, after {checked}; {} with the query", escaped(rest)),
    }
}

/// Adds the condition, and what workers make for the sink.
fn prepared<'a>(mut input: Input<'a>, predicate: Option<&Predicate>, needs: &Needs) -> Input<'a> {
    if let Some(predicate) = predicate {
        input = input.matching(predicate);
    }
    if let Some(digest) = &needs.digest {
        input = input.digesting(digest.clone());
    }
    if let Some(schema) = &needs.decodes {
        input = input.decoding(schema.clone());
    }
    input
}

/// The statistics of a run that has ended. `times` are the times until it began to read, and until now.
fn statistics(
    answers: &Answers,
    predicate: Option<&Predicate>,
    started: Instant,
    [started_reading, total]: [Duration; 2],
) -> Statistics {
    let made = answers.setup();
    // Setup ends when the first partition can be evaluated. Reading that overlaps with setup is not counted.
    let ready = made.ready.map(|ready| ready.saturating_duration_since(started));
    let setup = ready.map_or(started_reading, |ready| ready.max(started_reading));
    let found = predicate.map(|predicate| decided(answers.plan(), predicate));
    table(answers.plan(), &answers.stats(), setup, &made, total, found)
}

/// The parts of a run beside its results.
struct Beside<'a> {
    is_about_all: bool,
    skipped: &'a mut Skipped,
    reasons: Option<&'a mut Reasons>,
    progress: &'a mut Progress,
}

fn consume_all(
    answers: &mut Answers,
    sink: &mut dyn Sink,
    out: &mut Out,
    rejects: &mut Rejects,
    beside: &mut Beside,
) -> Result<(), Failure> {
    let mut open = false;
    // A faulty record may follow the last evaluated one. This is the text around its fault.
    let mut excerpt = None;
    // True if the sink ends the run: the records before are then all that it is about.
    let mut is_chosen = false;
    let failure = loop {
        match answers.next() {
            None => break None,
            Some(Err(error)) => {
                let bad_record = matches!(error, Error::Input(InputError::Record(_)));
                let excerpt = excerpt.or_else(|| {
                    let (fault, line) = answers.early().fault.as_ref()?;
                    Some(self::excerpt(line, fault.byte as usize - 1))
                });
                break Some(Failure::Library(Box::new(error), excerpt.filter(|_| bad_record)));
            }
            Some(Ok(mut batch)) => {
                if !open {
                    out.open()?;
                    rejects.open()?;
                    sink.start(out)?;
                    open = true;
                }
                if let Some(reasons) = &mut beside.reasons {
                    reasons.add(&mut batch);
                }
                let mut refused = Refused::default();
                let flow = sink.batch(&mut batch, out, &mut refused)?;
                let malformed = rejects::malformed(&batch, flow);
                beside.skipped.add(&batch, malformed);
                rejects.add_batch(&batch, malformed, refused.records)?;
                is_chosen = refused.failure.is_some();
                if let Some(failure) = refused.failure.or_else(|| rejects.failure()) {
                    break Some(failure);
                }
                if flow != Flow::Continue {
                    if let Some(reasons) = &mut beside.reasons {
                        reasons.stop();
                    }
                    break None;
                }
                excerpt =
                    batch.fault().map(|fault| self::excerpt(batch.line_of(fault), fault.byte as usize - 1));
                if !answers.is_ready() {
                    sink.pause(out)?;
                    out.pause()?;
                    rejects.pause()?;
                }
                beside.progress.update(answers.bytes_read());
            }
        }
    };
    if !open && failure.is_none() {
        rejects.open()?;
        sink.start(out)?;
        open = true;
    }
    beside.progress.finish(answers.bytes_read());
    if open {
        if failure.is_none() || is_chosen || !beside.is_about_all && !out.is_whole() {
            sink.end(out)?;
            out.complete()?;
        }
        rejects.finish()?;
    }
    failure.map_or(Ok(()), Err)
}

/// The malformed records that were skipped.
#[derive(Default)]
struct Skipped {
    count: u64,
    first: Option<RecordError>,
}

impl Skipped {
    /// Adds the malformed records of a batch, of which there are `count` before the end of the results.
    fn add(&mut self, batch: &Batch, count: u64) {
        let before = self.count;
        self.count += count;
        if before == 0 && self.count > 0 {
            self.first = batch.skipped().next();
        }
    }
}

/// The number of bytes of a malformed record that are shown on each side of its fault.
const CONTEXT: usize = 50;

/// The text around a fault, with a caret under it. `at` is the byte of the fault in the line, counted from 0.
pub fn excerpt(line: &[u8], at: usize) -> String {
    let at = at.min(line.len());
    // The excerpt does not begin or end within a character, if the line is UTF-8.
    let boundary = |at: &usize| line.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let from = at.saturating_sub(CONTEXT);
    let from = (from..=at).find(boundary).unwrap_or(at);
    let to = (at + CONTEXT).min(line.len());
    let to = (to..=line.len()).find(boundary).unwrap_or(to);
    let show = |bytes: &[u8]| -> String {
        String::from_utf8_lossy(bytes).chars().map(|c| if is_escaped(c) { '\u{fffd}' } else { c }).collect()
    };
    let (before, after) = (show(&line[from..at]), show(&line[at..to]));
    let start = if from > 0 { "…" } else { "" };
    let end = if to < line.len() { "…" } else { "" };
    let indent = start.chars().count() + before.chars().count();
    format!("  {start}{before}{after}{end}\n  {:indent$}^", "")
}

/// The statistics of a run.
pub fn table(
    plan: &Plan,
    stats: &Stats,
    setup: Duration,
    made: &Setup,
    total: Duration,
    found: Option<String>,
) -> Statistics {
    let running = total.saturating_sub(setup);
    let rate = stats.bytes as f64 / running.as_secs_f64().max(1e-9) / 1e9;
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    let part = |(part, time): &(&str, Duration)| format!("{part} {}", seconds(*time));
    let parts: Vec<String> = made.parts.iter().map(part).collect();
    let workers = match stats.workers {
        1 => "1".to_owned(),
        workers => format!("{workers} at the same time"),
    };
    let all = if stats.workers == 1 { "" } else { ", all workers together" };
    let partitions = format!("{} of {}", stats.partitions, BinaryBytes(plan.partition_size as u64));
    let mut rows = vec![
        ("backend", plan.backend.clone()),
        ("chosen", plan.reason.clone().unwrap_or_else(|| "as requested".to_owned())),
        ("workers", workers),
        ("partitions", partitions),
        ("bytes", format!("{} ({})", stats.bytes, BinaryBytes(stats.bytes))),
        ("lines", stats.lines.to_string()),
        ("matches", stats.matches.to_string()),
        ("skipped", stats.skipped.to_string()),
        (
            "setup",
            if parts.is_empty() {
                seconds(setup)
            } else {
                format!("{} ({})", seconds(setup), parts.join(", "))
            },
        ),
        ("reading", seconds(stats.reading) + all),
        ("answering", seconds(stats.answering) + all),
        ("total", seconds(total)),
        ("speed", format!("{rate:.2} GB/s without setup")),
    ];
    if let Some(index) = plan.index() {
        rows.insert(2, ("index", index));
    }
    if let Some(found) = found {
        rows.insert(3, ("where", found));
    }
    if plan.strict {
        let place = if plan.strict_on_device { "the device" } else { "the host" };
        rows.push(("checks", format!("all of RFC 8259, and UTF-8; on {place}, as part of the evaluation")));
    }
    for unused in &plan.unused {
        rows.push(("not used", format!("{}: {}", escaped(&unused.index), escaped(&unused.why))));
    }
    rows.extend(made.notes.iter().map(|note| ("note", note.clone())));
    Statistics::new(rows)
        .exactly("workers", "workers", stats.workers)
        .exactly("partitions", "partitions", stats.partitions)
        .exactly("partitions", "partition_bytes", plan.partition_size)
        .exactly("bytes", "bytes", stats.bytes)
        .exactly("lines", "lines", stats.lines)
        .exactly("matches", "matches", stats.matches)
        .exactly("skipped", "skipped", stats.skipped)
        .seconds("setup", "setup_seconds", setup)
        .seconds("reading", "reading_seconds", stats.reading)
        .seconds("answering", "answering_seconds", stats.answering)
        .seconds("total", "total_seconds", total)
        .exactly("speed", "bytes_per_second", (rate * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_byte() {
        assert_eq!(excerpt(b"[1,2", 0), "  [1,2\n  ^");
        assert_eq!(excerpt("{\"☺\": \"x}".as_bytes(), 8), "  {\"☺\": \"x}\n        ^");
        assert_eq!(excerpt(b"\t\0\xff]", 3), "  \u{fffd}\u{fffd}\u{fffd}]\n     ^");
        assert_eq!(excerpt(b"", 0), "  \n  ^");
    }

    #[test]
    fn notes_are_shown_if_there_are_any() {
        let shown = |notes: Vec<String>| {
            let made = Setup { notes, ..Setup::default() };
            table(&Plan::default(), &Stats::default(), Duration::ZERO, &made, Duration::ZERO, None).to_text()
        };
        assert!(!shown(Vec::new()).contains("note"));
        assert!(shown(vec!["slower".into()]).ends_with("\nnote        slower\n"));
    }

    #[test]
    fn long_lines_are_cut_at_characters() {
        for at in 1..400 {
            let line = "☺é".repeat(80);
            if !line.is_char_boundary(at - 1) {
                continue;
            }
            let text = excerpt(line.as_bytes(), at - 1);
            assert!(!text.contains('\u{fffd}'), "{text}");
            let (first, second) = text.split_once('\n').unwrap();
            let caret = second.chars().count() - 1;
            assert_eq!(first.chars().nth(caret), line[at - 1..].chars().next(), "{text}");
        }
    }
}
