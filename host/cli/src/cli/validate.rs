//! `warpath validate`.

use std::process::ExitCode;
use std::time::Instant;

use warpath::{Batch, DeviceChoice, Foreign, Program, Query, RecordError};
use warpath_answer::answer::Piece;
use warpath_shared::units::LineIx;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::{Location, Message, Ui, looks_like};

use super::args::{BackendArgs, DeviceArgs, OnErrorArgs, RunArgs, ValidateArgs};
use super::failure::Failure;
use super::files;
use super::out::Out;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::written::Written;

/// The exit code for malformed records. It is the code for bad input in other commands.
const MALFORMED: u8 = 4;

pub fn run(args: ValidateArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    run::check_times(&args.only, None)?;
    let ValidateArgs { files, limit, all, rejects, only, partitions, report } = args;
    // No query is needed, and the check runs on the host.
    let program = Program::new(&[Query::compile("$")?])?;
    let device = DeviceArgs { device: DeviceChoice::Cpu };
    let engine =
        run::builder(&BackendArgs { device, partitions }, &OnErrorArgs::SKIP).strict(true).build()?;
    let reads_all = all || rejects.rejects.is_some() || rejects.max_errors.is_some();
    let run = RunArgs { report, rejects, only, on_error: OnErrorArgs::SKIP, ..RunArgs::default() };
    files::refuse_paths(&files, "`warpath validate` checks whole records")?;
    let sources = files::sources(&files, Written::of_run(&run), ui)?;
    let list = all || limit.limit.is_some();
    let most = limit.limit.unwrap_or(if reads_all { u64::MAX } else { 1 });
    let is_part = run.only.only.is_some();
    let mut verdict = Verdict { list, most, is_part, ..Verdict::default() };
    run::consume(&engine, sources, program, &mut verdict, &run, ui, started)?;
    if verdict.malformed > 0 {
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
    /// True if malformed records are listed; and the number of them at which the run stops.
    list: bool,
    most: u64,
    /// True if only records are counted that match a predicate. Malformed records are counted all the same.
    is_part: bool,
    /// The numbers of records without a fault, of malformed records, and of bytes of text.
    records: u64,
    malformed: u64,
    bytes: u64,
    /// The first malformed record, and the text around its fault. Used only if records are
    /// not listed.
    first: Option<(RecordError, String)>,
}

impl Verdict {
    fn report(&self, ui: &Ui) {
        if let (1, Some((fault, excerpt))) = (self.most, &self.first) {
            let help = match fault.input {
                Some(Foreign::Document) => format!(
                    "this looks like {}; `warpath query --strict --count --input json '$' FILE` checks it",
                    Foreign::Document
                ),
                Some(format) => looks_like(format),
                None => "`--all` lists all malformed records".to_owned(),
            };
            ui.report(&Message {
                text: fault.to_string(),
                place: Some(Location::at(fault.name.clone(), fault.line, fault.byte)),
                excerpt: Some(excerpt.clone()),
                help: Some(help),
            });
        } else if self.malformed == self.most {
            ui.error(format_args!("{} malformed; stopped there", count(self.malformed)));
        } else if self.is_part {
            ui.error(format_args!("{} malformed", count(self.malformed)));
        } else {
            let all = count(self.records + self.malformed);
            ui.error(format_args!("{} of {all} malformed", self.malformed));
        }
    }
}

impl Sink for Verdict {
    fn needs(&self) -> Needs {
        Needs { shows_faults: true, ..Needs::default() }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        self.records += batch.count(0);
        self.bytes += batch.text_bytes();
        let line_of = |(at, (_, piece)): (usize, (u64, &Piece))| {
            piece.faults.iter().map(move |fault| (at, fault.line)).collect::<Vec<_>>()
        };
        let lines: Vec<(usize, LineIx)> = batch.pieces().enumerate().flat_map(line_of).collect();
        for (fault, (piece, line)) in batch.skipped().zip(lines) {
            self.malformed += 1;
            if self.list {
                out.buffer.extend_from_slice(escaped(&fault.to_string()).as_bytes());
                out.buffer.push(b'\n');
                out.line_end()?;
            } else if self.most == 1 {
                let excerpt = run::excerpt(batch.line_of(&fault), fault.byte as usize - 1);
                self.first = Some((fault, excerpt));
            }
            if self.malformed >= self.most {
                // The malformed line is part of the results.
                return Ok(Flow::Stop { piece, line: line + 1 });
            }
        }
        Ok(Flow::Continue)
    }
}
