//! `warpath index dump`.

use std::process::ExitCode;

use warpath::{Program, Query, dump};

use super::args::{DumpArgs, OnErrorArg};
use super::failure::Failure;
use super::out::Out;
use super::ui::Ui;
use super::{files, run};

pub fn run(args: DumpArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let levels = match &args.query {
        Some(path) => Program::new(&[Query::compile(path)?])?.levels(),
        None => args.levels,
    };
    let sources = files::sources(&args.files.files, args.output.as_deref(), ui)?;
    let several = sources.len() > 1;
    let engine = run::engine(&args.engine, OnErrorArg::Fail)?;
    let mut out = Out::new(args.output.as_deref());
    let mut failure = None;
    for partition in engine.input(sources).indexes(levels) {
        match partition {
            Ok(partition) => {
                if several && partition.offset() == 0 {
                    out.buffer.extend_from_slice(format!("==> {} <==\n", partition.source()).as_bytes());
                }
                let (text, index) = (partition.text(), &partition.index);
                dump::write(&mut out, text, index, partition.offset(), partition.first_line)
                    .map_err(|error| out.failed(error))?;
                out.pause()?;
            }
            Err(error) => failure = Some(error.into()),
        }
    }
    out.finish()?;
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}
