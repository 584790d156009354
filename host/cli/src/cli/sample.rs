//! `warpath sample`.

use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;
use std::time::Instant;

use warpath::{Batch, Program, Query, Want};
use warpath_exec::aggregate::sample::Sample;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::SampleArgs;
use super::failure::Failure;
use super::files;
use super::formats;
use super::out::Out;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::written::Written;

/// Prints random records.
pub fn run(args: SampleArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    formats::check_records(&args.run.output)?;
    run::check_times(&args.run.only, None)?;
    files::refuse_paths(
        &args.files,
        "`warpath sample` prints whole records; `warpath query PATH` prints values",
    )?;
    let program = Program::new(&[Query::compile("$")?])?;
    let sources = files::tables_too(&args.files, &args.column, &args.engine, Written::of_run(&args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    let mut records = Records {
        size: args.size,
        sample: Sample::new(args.size, seed),
        memory: args.memory.memory,
        bytes: 0,
        is_empty: true,
        look: Look::of(ui.when(), args.run.output.is_file(), false),
    };
    run::consume(&engine, sources, program, &mut records, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && records.is_empty)))
}

/// A sink that prints a sample of the records at the end.
struct Records {
    size: usize,
    sample: Sample<Box<[u8]>>,
    memory: usize,
    bytes: usize,
    is_empty: bool,
    look: Look,
}

/// The memory of a record of the sample, beside its text.
const RECORD_BYTES: usize = 48;

impl Sink for Records {
    fn needs(&self) -> Needs {
        Needs { is_done: self.size == 0, ..Needs::about_all(Want::default().matches(true).sparse(true)) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Self { sample, bytes, .. } = self;
        for (_, piece) in batch.pieces() {
            for found in piece.matches.first().into_iter().flatten() {
                let replaced = sample.offer(|| {
                    let record = batch.match_text(piece, found);
                    *bytes += record.len() + RECORD_BYTES;
                    record.into()
                });
                *bytes -= replaced.map_or(0, |record| record.len() + RECORD_BYTES);
                if *bytes > self.memory {
                    return Err(Failure::usage(format!(
                        "a sample of {} records does not fit in {} bytes of memory",
                        self.size, self.memory
                    ))
                    .with_help("set `--memory`, or draw fewer records"));
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let sample = std::mem::replace(&mut self.sample, Sample::new(0, 0));
        for record in sample.finish() {
            self.is_empty = false;
            self.look.append(&record, &mut out.buffer);
            out.buffer.push(b'\n');
            out.line_end()?;
        }
        Ok(())
    }
}
