//! `warpath index build`, `info` and `dump`.

use std::process::ExitCode;
use std::time::SystemTime;

use indicatif::BinaryBytes;
use warpath::{IndexFile, IndexInfo, Program, Query, Source};
use warpath_exec::dump as text;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;

use super::args::{BuildArgs, DumpArgs, InfoArgs, OnErrorArgs, StrictArgs};
use super::failure::Failure;
use super::out::Out;
use super::statistics::named;
use super::written::Written;
use super::{files, formats, run};

/// Makes an index file.
pub fn build(args: &BuildArgs) -> Result<ExitCode, Failure> {
    files::refuse_index_to_stdout(&args.output.output)?;
    let levels = if args.queries.is_empty() {
        args.levels.levels
    } else {
        let queries = args.queries.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
        Program::new(&queries)?.levels()
    };
    files::refuse_tables(&args.engine)?;
    let file = files::local(&args.file, "an index is of a file, and this is an object")?;
    let engine = run::engine(&args.engine, &OnErrorArgs::SKIP, &StrictArgs::default())?;
    let mut progress = Progress::new(args.progress.progress, Source::File(file.clone()).text_bytes(), false);
    let mut indexed = 0;
    let built = IndexFile::build_watched(&engine, &file, &args.output.output, levels, &mut |bytes| {
        indexed = bytes;
        progress.update(bytes);
    });
    progress.finish(indexed);
    built?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the description of an index file, after a check of every byte of it.
pub fn info(args: &InfoArgs) -> Result<ExitCode, Failure> {
    let index = IndexFile::open(&args.file)?;
    index.verify()?;
    let mut out = Out::stdout();
    out.buffer.extend_from_slice(described(&index.info()).as_bytes());
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// A time in seconds since 1970, with all nine decimal digits.
pub fn since_1970(time: SystemTime) -> String {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => format!("{}.{:09}", after.as_secs(), after.subsec_nanos()),
        Err(before) => format!("-{}.{:09}", before.duration().as_secs(), before.duration().subsec_nanos()),
    }
}

fn described(info: &IndexInfo) -> String {
    let is_packed = info.text_bytes > 0 && info.text_bytes != info.input_bytes;
    let of = if is_packed { "the text" } else { "the input" };
    let per_input = |bytes: u64| {
        let share = bytes as f64 / (info.text_bytes.max(1)) as f64;
        format!("{bytes} bytes ({:.1} % of {of})", 100.0 * share)
    };
    let mut rows = vec![
        ("version".to_owned(), info.version.to_string()),
        (
            "input".to_owned(),
            if is_packed {
                format!("{} bytes, packed, of {} bytes of text", info.input_bytes, info.text_bytes)
            } else {
                format!("{} bytes", info.input_bytes)
            },
        ),
        ("modified".to_owned(), format!("{} s since 1970", since_1970(info.input_modified))),
        ("lines".to_owned(), info.lines.to_string()),
        ("malformed".to_owned(), info.faulty.to_string()),
        (
            "partitions".to_owned(),
            format!("{} of up to {}", info.partitions, BinaryBytes(info.longest_partition)),
        ),
        ("line starts".to_owned(), per_input(info.line_start_bytes)),
    ];
    let levels = info.level_bytes.iter().enumerate();
    rows.extend(levels.map(|(level, bytes)| (format!("level {level}"), per_input(*bytes))));
    rows.push(("all".to_owned(), per_input(info.bytes)));
    rows.push(("checksums".to_owned(), "all match".to_owned()));
    named(&rows)
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
