//! `warpath validate`.
//!
//! | module | contents |
//! |---|---|
//! | `schema` | a JSON Schema, and the records that it refuses |
//! | `record` | records as the library of JSON Schema reads them |
//! | `numbers` | exact numbers, and the keywords that compare them |
//! | `deep` | a stack that is large enough, or work that ends before the stack does |
//! | `describe` | reports about values that are not as a schema requires |

#[cfg(feature = "json-schema")]
mod deep;
#[cfg(feature = "json-schema")]
mod describe;
#[cfg(feature = "json-schema")]
mod numbers;
#[cfg(feature = "json-schema")]
mod record;
#[cfg(feature = "json-schema")]
mod schema;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use warpath::{Batch, DeviceChoice, Error, Foreign, Program, Query, RecordError, Want};
use warpath_exec::stream::Digest;
use warpath_shared::units::LineIx;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::{Location, Message, Ui, looks_like};

use super::args::{
    BackendArgs, ColumnArgs, DeviceArgs, EngineArgs, OnErrorArgs, RunArgs, StrictArgs, ValidateArgs,
};
use super::failure::Failure;
use super::files::{self, Reading};
use super::out::Out;
use super::rejects::Reject;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::statistics::Statistics;
#[cfg(feature = "json-schema")]
use super::written::Written;

/// The exit code for malformed and invalid records. It is the code for bad input in other commands.
const MALFORMED: u8 = 4;

pub fn run(args: ValidateArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    run::check_times(&args.only, None)?;
    #[cfg(feature = "json-schema")]
    let path = args.schema;
    let ValidateArgs { files, limit, all, rejects, only, layout, partitions, report, .. } = args;
    // No query is needed, and the check runs on the host.
    let program = Program::new(&[Query::compile("$")?])?;
    let device = DeviceArgs { device: DeviceChoice::Cpu };
    let engine_args = EngineArgs { backend: BackendArgs { device, partitions }, layout };
    let strict = StrictArgs { strict: true };
    let engine = run::engine(&engine_args, &OnErrorArgs::SKIP, &strict)?;
    let reads_all = all || rejects.rejects.is_some() || rejects.max_errors.is_some();
    let run = RunArgs { report, rejects, only, on_error: OnErrorArgs::SKIP, ..RunArgs::default() };
    files::refuse_paths(&files, "`warpath validate` checks whole records")?;
    // A malformed line has no records of `--records`, so it ends the run.
    let (on_error, column) = (OnErrorArgs::default(), ColumnArgs::default());
    let reading = Reading::of_run(&column, &engine_args, &run);
    let sources = files::inputs(&files, Reading { on_error: &on_error, strict: &strict, ..reading }, ui)?;
    let list = all || limit.limit.is_some();
    let most = limit.limit.unwrap_or(if reads_all { u64::MAX } else { 1 });
    let is_part = run.only.only.is_some();
    let mut verdict = Verdict { list, most, is_part, ..Verdict::default() };
    #[cfg(feature = "json-schema")]
    if let Some(path) = path {
        let schema = schema::Schema::read(&path, Written::of_run(&run), &sources)?;
        let is_first_only = most == 1;
        verdict.checks =
            Some(Arc::new(schema.checks(is_first_only || run.rejects.rejects.is_some(), is_first_only)));
    }
    run::consume(&engine, sources, program, &mut verdict, &run, ui, started)?;
    if verdict.malformed + verdict.invalid > 0 {
        verdict.report(ui);
        return Ok(ExitCode::from(MALFORMED));
    }
    if !list {
        let mut out = Out::stdout();
        let Verdict { records, bytes, .. } = verdict;
        let that_match = if is_part { " that match" } else { "" };
        out.buffer.extend_from_slice(
            format!("{}{that_match}, {bytes} bytes: all valid\n", count(records)).as_bytes(),
        );
        out.finish()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn count(records: u64) -> String {
    format!("{records} record{}", if records == 1 { "" } else { "s" })
}

/// The result of the check.
#[derive(Default)]
struct Verdict {
    /// True if malformed and invalid records are listed; and the number of them at which the run stops.
    list: bool,
    most: u64,
    /// True if only records are counted that match a predicate. Malformed records are counted all the same.
    is_part: bool,
    /// The check against a schema. Its digests are the invalid records of a batch.
    checks: Option<Arc<dyn Digest>>,
    /// The numbers of records without a fault, of malformed records, and of bytes of text.
    records: u64,
    malformed: u64,
    bytes: u64,
    /// The number of records without a fault that the schema refuses.
    invalid: u64,
    /// The report about the first malformed or invalid record. Used only if records are not listed.
    first: Option<Message>,
}

/// The digest of a text: its invalid records, or the error of the thread that looks for them.
type Judged = io::Result<Vec<Invalid>>;

/// A record that the schema refuses.
struct Invalid {
    /// The piece of its text, and the line in the piece.
    piece: usize,
    line: LineIx,
    /// The byte of the value in the line, counted from 1.
    byte: u64,
    /// The report: the path of the value, and the reason.
    text: String,
    /// The line, if it is wanted.
    record: Vec<u8>,
}

/// A record of a batch that is reported: a malformed one, or one that the schema refuses.
enum Refusal {
    Malformed(RecordError),
    Invalid(Invalid),
}

impl Verdict {
    fn report(&self, ui: &Ui) {
        let Self { records, malformed, invalid, .. } = *self;
        if let (1, Some(first)) = (self.most, &self.first) {
            ui.report(first);
            return;
        }
        let what = match (malformed, invalid) {
            (malformed, 0) => format!("{} malformed", count(malformed)),
            (0, invalid) => format!("{} invalid", count(invalid)),
            (malformed, invalid) => format!("{} malformed, {invalid} invalid", count(malformed)),
        };
        if malformed + invalid == self.most {
            ui.error(format_args!("{what}; stopped there"));
        } else if self.is_part {
            ui.error(format_args!("{what}"));
        } else {
            let all = count(records + malformed);
            match (malformed, invalid) {
                (malformed, 0) => ui.error(format_args!("{malformed} of {all} malformed")),
                (0, invalid) => ui.error(format_args!("{invalid} of {all} invalid")),
                (malformed, invalid) => {
                    ui.error(format_args!("{malformed} of {all} malformed, {invalid} invalid"));
                }
            }
        }
    }

    /// The report about the first malformed record.
    fn first_malformed(&self, fault: &RecordError, line: &[u8]) -> Message {
        let help = match fault.input {
            Some(Foreign::Document) => format!(
                "this looks like {}; `warpath query --strict --count --input json '$' FILE` checks it",
                Foreign::Document
            ),
            Some(format) => looks_like(format),
            None if self.checks.is_some() => LISTED.to_owned(),
            None => "`--all` lists all malformed records".to_owned(),
        };
        Message {
            text: fault.to_string(),
            place: Some(Location::at(fault.name.clone(), fault.line, fault.byte)),
            excerpt: Some(run::excerpt(line, fault.byte as usize - 1)),
            help: Some(help),
        }
    }

    /// The malformed and the invalid records of a batch in their order, each with its piece and its line.
    fn refusals(&self, batch: &mut Batch) -> Result<Vec<(usize, LineIx, Refusal)>, Failure> {
        let judged: Option<Judged> = batch.take_digest();
        let invalid = judged.map_or(Ok(Vec::new()), |judged| judged.map_err(Error::Thread))?;
        let pieces = batch.pieces().enumerate();
        let lines =
            pieces.flat_map(|(at, (_, piece))| piece.faults.iter().map(move |fault| (at, fault.line)));
        let malformed = lines.zip(batch.skipped());
        let mut all: Vec<_> =
            malformed.map(|((piece, line), fault)| (piece, line, Refusal::Malformed(fault))).collect();
        all.extend(invalid.into_iter().map(|one| (one.piece, one.line, Refusal::Invalid(one))));
        all.sort_by_key(|(piece, line, _)| (*piece, *line));
        Ok(all)
    }
}

/// The way to see more than the first record.
const LISTED: &str = "`--all` lists all malformed and invalid records";

impl Sink for Verdict {
    fn needs(&self) -> Needs {
        let want = self.checks.as_ref().map_or_else(Want::default, |checks| checks.want());
        Needs { want, digest: self.checks.clone(), shows_faults: true, ..Needs::default() }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, refused: &mut Refused) -> Result<Flow, Failure> {
        self.records += batch.count(0);
        self.bytes += batch.text_bytes();
        for (piece, line, refusal) in self.refusals(batch)? {
            let text = match refusal {
                Refusal::Malformed(fault) => {
                    self.malformed += 1;
                    if !self.list && self.most == 1 {
                        self.first = Some(self.first_malformed(&fault, batch.line_of(&fault)));
                    }
                    fault.to_string()
                }
                Refusal::Invalid(invalid) => {
                    self.invalid += 1;
                    let before = batch.pieces().nth(piece).map_or(0, |(first, _)| first);
                    let number = batch.line(before + u64::from(line)) + 1;
                    let Invalid { byte, text: reason, record, .. } = invalid;
                    let text = format!("{}:{number}:{byte}: {reason}", batch.source());
                    if !self.list && self.most == 1 {
                        self.first = Some(Message {
                            text: text.clone(),
                            place: Some(Location::at(batch.source().to_owned(), number, byte)),
                            excerpt: Some(run::excerpt(&record, byte as usize - 1)),
                            help: Some(LISTED.to_owned()),
                        });
                    }
                    refused.records.push(Reject { line: number, byte, reason, column: None, record });
                    text
                }
            };
            if self.list {
                out.buffer.extend_from_slice(escaped(&text).as_bytes());
                out.buffer.push(b'\n');
                out.line_end()?;
            }
            if self.malformed + self.invalid >= self.most {
                // The line is part of the results.
                return Ok(Flow::Stop { piece, line: line + 1 });
            }
        }
        Ok(Flow::Continue)
    }

    fn statistics(&self, statistics: Statistics) -> Statistics {
        match self.checks {
            Some(_) => statistics.and(vec![("invalid", self.invalid.to_string())]).exactly(
                "invalid",
                "invalid",
                self.invalid,
            ),
            None => statistics,
        }
    }
}
