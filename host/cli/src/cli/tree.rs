//! `warpath tree`.

use std::process::ExitCode;

use warpath::{DeviceChoice, Engine, Error, InputError, Source};
use warpath_cpu::tree::{Tree, dump};
use warpath_exec::stream::IndexedPartition;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::args::{OnErrorArg, TreeArgs};
use super::failure::Failure;
use super::files;
use super::formats;
use super::out::Out;
use super::run::excerpt;
use super::written::Written;

/// Prints the trees of records.
pub fn run(args: &TreeArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    formats::check_text(&args.output)?;
    let sources = files::sources(&args.files, Written::of(&args.output), ui)?;
    let several = sources.len() > 1;
    let engine = Engine::builder().device(DeviceChoice::Cpu).build()?;
    let out = Out::new(&args.output).made_from(Source::output_mode(&sources));
    let mut trees = Trees { args, out, skipped: Skipped::default() };
    let mut failure = None;
    for partition in engine.input(sources).indexes(0) {
        match partition {
            Ok(partition) => {
                trees.out.open()?;
                if several && partition.offset() == 0 {
                    let name = format!("==> {} <==\n", escaped(partition.source()));
                    trees.out.buffer.extend_from_slice(name.as_bytes());
                }
                match trees.partition(&partition) {
                    Ok(()) => trees.out.pause()?,
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            Err(error) => failure = Some(error.into()),
        }
    }
    if failure.is_none() {
        trees.out.open()?;
    }
    trees.out.finish_if_open()?;
    ui.skipped("record", trees.skipped.count, trees.skipped.first);
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

struct Trees<'a> {
    args: &'a TreeArgs,
    out: Out,
    skipped: Skipped,
}

/// The malformed records that were skipped.
#[derive(Default)]
struct Skipped {
    count: u64,
    first: Option<InputError>,
}

impl Trees<'_> {
    fn partition(&mut self, partition: &IndexedPartition) -> Result<(), Failure> {
        let text = partition.text();
        for (line, bounds) in partition.index.line_starts.windows(2).enumerate() {
            let (start, end) = (bounds[0] as usize, bounds[1] as usize);
            let record = text[start..end].strip_suffix(b"\n").unwrap_or(&text[start..end]);
            let line = partition.first_line + line as u64 + 1;
            let tree = if self.args.brackets { Tree::of_brackets(record) } else { Tree::of_json(record) };
            match tree {
                // A blank line is not a record.
                Ok(tree) if tree.is_empty() => {}
                Ok(tree) => {
                    let offset = partition.offset() + start as u64;
                    dump::write(&mut self.out, &tree, record, offset, line, self.args.steps)
                        .map_err(|error| self.out.failed(error))?;
                }
                Err(fault) => {
                    let error = InputError::of_tree(partition.source(), line, fault);
                    match self.args.on_error.action() {
                        OnErrorArg::Fail => {
                            let shown = excerpt(record, fault.at);
                            return Err(Failure::Library(Box::new(Error::from(error)), Some(shown)));
                        }
                        OnErrorArg::Skip => {
                            self.skipped.count += 1;
                            self.skipped.first.get_or_insert(error);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
