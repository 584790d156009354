//! `warpath query`.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use warpath::answer::Want;
use warpath::{Batch, Program, Query};

use super::args::QueryArgs;
use super::failure::Failure;
use super::out::Out;
use super::run::{self, Consumer, Flow};
use super::ui::Ui;
use super::{files, text};

pub fn run(args: QueryArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    args.planned.refuse()?;
    let query = Query::compile(&args.path)?;
    let program = Program::new(std::slice::from_ref(&query))?;
    let sources = files::sources(&args.files.files, args.run.output.as_deref(), ui)?;
    let engine = run::engine(&args.engine, args.run.on_error)?;
    let limit = args.limit.unwrap_or(u64::MAX);
    let found = if args.count {
        let mut count = Count { limit, found: 0 };
        run::consume(&engine, sources, program, &mut count, &args.run, ui, started)?;
        count.found
    } else {
        let form = match (args.raw_output, args.offsets) {
            (raw, true) => Form::Offsets { raw, name: sources.len() > 1 },
            (true, false) => Form::Raw,
            (false, false) => Form::Json,
        };
        let mut lines = Lines { form, limit, found: 0 };
        run::consume(&engine, sources, program, &mut lines, &args.run, ui, started)?;
        lines.found
    };
    Ok(if args.exit_status && found == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Prints the number of matches.
struct Count {
    limit: u64,
    found: u64,
}

impl Consumer for Count {
    fn want(&self) -> Want {
        Want::default()
    }

    fn is_done(&self) -> bool {
        self.found >= self.limit
    }

    fn batch(&mut self, batch: &Batch, _out: &mut Out) -> Result<Flow, Failure> {
        for (at, (_, piece)) in batch.pieces().enumerate() {
            self.found += piece.counts.first().copied().unwrap_or(0);
            if self.is_done() {
                self.found = self.limit;
                // In which line is not known.
                return Ok(Flow::Stop { piece: at, line: piece.lines });
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        out.buffer.extend_from_slice(format!("{}\n", self.found).as_bytes());
        Ok(())
    }
}

/// How a match is printed.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Raw,
    Offsets { raw: bool, name: bool },
}

/// Prints each match on a line of its own.
struct Lines {
    form: Form,
    limit: u64,
    found: u64,
}

impl Consumer for Lines {
    fn want(&self) -> Want {
        Want { matches: true, records: false }
    }

    fn is_done(&self) -> bool {
        self.found >= self.limit
    }

    fn batch(&mut self, batch: &Batch, out: &mut Out) -> Result<Flow, Failure> {
        for (at, (_, piece)) in batch.pieces().enumerate() {
            for found in piece.matches.first().map_or(&[][..], Vec::as_slice) {
                let value = batch.match_text(piece, found);
                let raw = match self.form {
                    Form::Json => false,
                    Form::Raw => true,
                    Form::Offsets { raw, name } => {
                        if name {
                            out.buffer.extend_from_slice(batch.source().as_bytes());
                            out.buffer.push(b'\t');
                        }
                        let base = batch.offset() + u64::from(piece.base);
                        let (start, end) = (base + u64::from(found.start), base + u64::from(found.end));
                        // A vector takes everything.
                        let _ = write!(out.buffer, "{start}\t{end}\t");
                        raw
                    }
                };
                if raw && text::is_string(value) {
                    text::decode(value, &mut out.buffer);
                } else {
                    out.buffer.extend_from_slice(value);
                }
                out.buffer.push(b'\n');
                out.line_end()?;
                self.found += 1;
                if self.is_done() {
                    return Ok(Flow::Stop { piece: at, line: found.line });
                }
            }
        }
        Ok(Flow::Continue)
    }
}
