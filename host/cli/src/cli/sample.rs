//! `warpath sample`.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use warpath::aggregate::Grouping;
use warpath::{Batch, Program, Query, Want};
use warpath_core::key;
use warpath_exec::aggregate::sample::Sample;
use warpath_terminal::escape::escaped;
use warpath_terminal::json::Look;
use warpath_terminal::messages::Ui;

use super::args::{self, SampleArgs};
use super::failure::Failure;
use super::files::{self, Reading};
use super::formats;
use super::out::Out;
use super::paths;
use super::run::{self, Flow, Needs, Refused, Sink};
use super::served;

/// Prints random records.
pub fn run(mut args: SampleArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let size = size(&mut args)?;
    formats::check_records(&args.run.output)?;
    run::check_times(&args.run.only, None)?;
    files::refuse_paths(
        &args.files,
        "`warpath sample` prints whole records; `warpath query PATH` prints values",
    )?;
    let by =
        args.by.iter().map(|path| args.run.only.query(&paths::full(path))).collect::<Result<Vec<_>, _>>()?;
    Grouping::of_values(&by).check()?;
    let program = Program::new(&[&[Query::compile("$")?], &by[..]].concat())?;
    let sources = files::inputs(&args.files, Reading::of_run(&args.column, &args.engine, &args.run), ui)?;
    let engine = run::engine_of(&args.engine, &args.run)?;
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    let mut records = Records {
        size,
        seed,
        groups: HashMap::new(),
        offered: 0,
        memory: args.memory.bytes(),
        bytes: 0,
        is_empty: true,
        look: Look::of(ui.when(), args.run.output.is_file(), false),
    };
    run::consume(&engine, sources, program, &mut records, &args.run, ui, started)?;
    Ok(ExitCode::from(u8::from(args.exit_status.exit_status && records.is_empty)))
}

/// The number of records: that of the option, or a number in place of the first file.
fn size(args: &mut SampleArgs) -> Result<usize, Failure> {
    let first = args.files.files.first().map(|first| first.to_string_lossy().into_owned());
    let number = first.filter(|first| {
        let is_whole = first.bytes().all(|byte| byte.is_ascii_digit());
        first.starts_with(|c: char| c.is_ascii_digit()) && (is_whole || !served::is_input(Path::new(first)))
    });
    match (args.size, number) {
        (None, Some(number)) => {
            args.files.files.remove(0);
            args::number(&number).map_err(|why| Failure::usage(format!("`{}`: {why}", escaped(&number))))
        }
        (size, _) => Ok(size.unwrap_or(10)),
    }
}

/// A sink that prints a sample of the records at the end.
struct Records {
    size: usize,
    seed: u64,
    /// The sample of each group, by its key.
    groups: HashMap<Vec<u8>, Sample<Record>>,
    /// The number of records so far.
    offered: u64,
    memory: usize,
    bytes: usize,
    is_empty: bool,
    look: Look,
}

/// A record of a sample: its number in the input, and its text.
struct Record(u64, Box<[u8]>);

/// The memory of a record of the sample, beside its text.
const RECORD_BYTES: usize = 56;

/// The memory of a group, beside its key.
const GROUP_BYTES: usize = 160;

impl Sink for Records {
    fn needs(&self) -> Needs {
        Needs { is_done: self.size == 0, ..Needs::about_all(Want::default().matches(true).sparse(true)) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Self { groups, bytes, offered, .. } = self;
        let mut key = Vec::new();
        for (_, piece) in batch.pieces() {
            let Some((records, by)) = piece.matches.split_first() else { continue };
            let mut next = vec![0; by.len()];
            for found in records {
                key.clear();
                for (list, next) in by.iter().zip(&mut next) {
                    match list.get(*next).filter(|value| value.line == found.line) {
                        None => key::encode_missing(&mut key),
                        Some(value) => {
                            *next += 1;
                            key::encode(batch.match_text(piece, value), &mut key);
                        }
                    }
                }
                if !groups.contains_key(&key) {
                    *bytes += key.len() + GROUP_BYTES;
                    groups.insert(key.clone(), Sample::of_group(self.size, self.seed, &key));
                }
                let Some(sample) = groups.get_mut(&key) else { continue };
                *offered += 1;
                let replaced = sample.offer(|| {
                    let record = batch.match_text(piece, found);
                    *bytes += record.len() + RECORD_BYTES;
                    Record(*offered, record.into())
                });
                *bytes -= replaced.map_or(0, |Record(_, record)| record.len() + RECORD_BYTES);
                if *bytes > self.memory {
                    let of = if by.is_empty() {
                        String::new()
                    } else {
                        format!(" of each of {} groups", groups.len())
                    };
                    return Err(Failure::usage(format!(
                        "a sample of {} records{of} does not fit in {} bytes of memory",
                        self.size, self.memory
                    ))
                    .with_help("set `--memory`, or draw fewer records"));
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let groups = std::mem::take(&mut self.groups);
        let mut records: Vec<Record> = groups.into_values().flat_map(Sample::finish).collect();
        records.sort_unstable_by_key(|Record(number, _)| *number);
        for Record(_, record) in records {
            self.is_empty = false;
            self.look.append(&record, &mut out.buffer);
            out.buffer.push(b'\n');
            out.line_end()?;
        }
        Ok(())
    }
}
