//! `warpath query`.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use warpath::answer::{Limit, TextForm, Want, text};
use warpath::{Batch, Program, Query};

use super::args::QueryArgs;
use super::escape::escaped;
use super::failure::Failure;
use super::files;
use super::out::Out;
use super::run::{self, Consumer, Flow};
use super::ui::Ui;

pub fn run(args: QueryArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let query = Query::compile(&args.path)?;
    let program = Program::new(std::slice::from_ref(&query))?;
    let sources = files::sources(&args.files, &args.run.output, ui)?;
    let engine = run::engine(&args.engine, &args.run.on_error, &args.run.strict)?;
    let form = if args.raw_output { TextForm::Raw } else { TextForm::Json };
    let found = if args.count {
        let mut count = Count { limit: args.limit.limit, found: 0 };
        run::consume(&engine, sources, program, &mut count, &args.run, ui, started)?;
        count.found
    } else if args.offsets || args.with_path || args.limit.limit.is_some() {
        let offsets = args.offsets.then_some(sources.len() > 1);
        let mut lines = Lines { form, offsets, with_path: args.with_path, limit: args.limit.limit, found: 0 };
        run::consume(&engine, sources, program, &mut lines, &args.run, ui, started)?;
        lines.found
    } else {
        let mut texts = Texts { form, found: 0 };
        run::consume(&engine, sources, program, &mut texts, &args.run, ui, started)?;
        texts.found
    };
    Ok(if args.exit_status.exit_status && found == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// A consumer that prints the number of matches.
struct Count {
    limit: Option<u64>,
    found: u64,
}

impl Consumer for Count {
    fn want(&self) -> Want {
        // With a limit, the run ends at a match. The line of this match is needed, so the matches are.
        Want { matches: self.limit.is_some(), limit: self.limit.map(Limit::Matches), ..Want::default() }
    }

    fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.found >= limit)
    }

    fn batch(&mut self, batch: &mut Batch, _out: &mut Out) -> Result<Flow, Failure> {
        for (at, (_, piece)) in batch.pieces().enumerate() {
            let count = piece.counts.first().copied().unwrap_or(0);
            if let Some(left) = self.limit.map(|limit| limit - self.found)
                && left <= count
                && let Some(last) = piece.matches.first().and_then(|list| list.get(left as usize - 1))
            {
                self.found += left;
                return Ok(Flow::Stop { piece: at, line: last.line });
            }
            self.found += count;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        out.buffer.extend_from_slice(format!("{}\n", self.found).as_bytes());
        Ok(())
    }
}

/// A consumer that prints the text of the matches, as the workers made it.
struct Texts {
    form: TextForm,
    found: u64,
}

impl Consumer for Texts {
    fn want(&self) -> Want {
        Want { text: Some(self.form), ..Want::default() }
    }

    fn is_done(&self) -> bool {
        false
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        self.found += batch.count(0);
        for (_, piece) in batch.pieces() {
            out.lines(piece.texts.first().map_or(&[][..], Vec::as_slice))?;
        }
        Ok(Flow::Continue)
    }
}

/// A consumer that prints each match on a line of its own, up to a limit. Offsets and paths are optional.
struct Lines {
    form: TextForm,
    /// `Some` if the offsets of a match are printed; `Some(true)` if the name of its file is printed, too.
    offsets: Option<bool>,
    with_path: bool,
    limit: Option<u64>,
    found: u64,
}

impl Consumer for Lines {
    fn want(&self) -> Want {
        Want { matches: true, limit: self.limit.map(Limit::Matches), ..Want::default() }
    }

    fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.found >= limit)
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        let (mut paths, mut path) = (batch.paths(), String::new());
        for (at, (_, piece)) in batch.pieces().enumerate() {
            for found in piece.matches.first().map_or(&[][..], Vec::as_slice) {
                if let Some(name) = self.offsets {
                    if name {
                        out.buffer.extend_from_slice(escaped(batch.source()).as_bytes());
                        out.buffer.push(b'\t');
                    }
                    let start = batch.offset_of(u64::from(piece.base) + u64::from(found.start));
                    let end = start + u64::from(found.end - found.start);
                    // Writing to a vector cannot fail.
                    let _ = write!(out.buffer, "{start}\t{end}\t");
                }
                if self.with_path {
                    path.clear();
                    paths.append(piece.base as usize + found.start as usize, &mut path);
                    out.buffer.extend_from_slice(path.as_bytes());
                    out.buffer.push(b'\t');
                }
                text::append(batch.match_text(piece, found), self.form, &mut out.buffer);
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
