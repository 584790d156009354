//! `warpath index dump`.

use std::process::ExitCode;
use std::time::SystemTime;

use warpath::{Program, Query, Source};
use warpath_exec::dump as text;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::args::{DumpArgs, OnErrorArgs};
use super::failure::Failure;
use super::out::Out;
use super::written::Written;
use super::{files, formats, run};

/// A time in seconds since 1970, with all nine decimal digits.
pub fn since_1970(time: SystemTime) -> String {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => format!("{}.{:09}", after.as_secs(), after.subsec_nanos()),
        Err(before) => format!("-{}.{:09}", before.duration().as_secs(), before.duration().subsec_nanos()),
    }
}

/// Prints indexes as text.
pub fn dump(args: DumpArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    formats::check_text(&args.output)?;
    let levels = match &args.query {
        Some(path) => Program::new(&[Query::compile(path)?])?.levels(),
        None => args.levels.levels,
    };
    let sources = files::sources(&args.files, Written::of(&args.output), ui)?;
    let several = sources.len() > 1;
    files::refuse_tables(&args.engine)?;
    let engine = run::engine(&args.engine, &OnErrorArgs::default(), &args.strict)?;
    let mut out = Out::new(&args.output).made_from(Source::output_mode(&sources));
    let mut failure = None;
    for partition in engine.input(sources).indexes(levels) {
        match partition {
            Ok(partition) => {
                out.open()?;
                if several && partition.offset() == 0 {
                    out.buffer
                        .extend_from_slice(format!("==> {} <==\n", escaped(partition.source())).as_bytes());
                }
                let (bytes, index) = (partition.text(), &partition.index);
                text::write(&mut out, bytes, index, partition.offset(), partition.first_line)
                    .map_err(|error| out.failed(error))?;
                out.pause()?;
            }
            Err(error) => failure = Some(error.into()),
        }
    }
    if failure.is_none() {
        out.open()?;
    }
    out.finish_if_open()?;
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}
