//! Indexes of files that stay where they are: made, described and checked.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;

use indicatif::BinaryBytes;
use warpath::bitmap::BitmapIndex;
use warpath::{Engine, IndexFile, IndexInfo, IndexSpec, Source};
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;

use super::super::args::{OnErrorArgs, StoreIndexArgs, StrictArgs};
use super::super::failure::Failure;
use super::super::filter::all_subscriptions;
use super::super::out::Out;
use super::super::statistics::named;
use super::super::written::Written;
use super::super::{files, index, run};
use super::bins;

/// Makes the index of each file. A line for each says what was made.
pub fn make(args: &StoreIndexArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    files::refuse_tables(&args.engine)?;
    let columns = bins::specs(args)?;
    let mut spec = IndexSpec::new(args.levels.levels).with_columns(columns.clone());
    let mut done = ExitCode::SUCCESS;
    if let Some(file) = &args.subscriptions {
        let (subscriptions, code) = all_subscriptions(file, ui)?;
        (spec, done) = (spec.with_subscriptions(subscriptions), code);
    }
    let sources = files::sources(&args.files, Written::default(), ui)?;
    let paths = sources.into_iter().map(|source| match source {
        Source::File(path) => Ok(path),
        other => Err(Failure::usage(format!("{}: an index is of a file, and this is none", other.name()))
            .with_help("copy the text to a file first")),
    });
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let engine = run::engine(&args.engine, &OnErrorArgs::SKIP, &StrictArgs::default())?;
    let mut out = Out::stdout();
    let mut failure = None;
    let is_plain = columns.is_empty() && args.subscriptions.is_none();
    for path in &paths {
        let old = IndexFile::open(IndexFile::path_of(path)).ok().filter(|_| is_plain && !args.no_columns);
        let kept = old.as_ref().and_then(IndexFile::bins).map(|bins| bins::kept(bins, spec.clone()));
        let kept = kept.transpose()?;
        match make_one(&engine, path, kept.as_ref().unwrap_or(&spec), args) {
            Ok(index) => {
                if let Some(made) = index.bins() {
                    bins::warn_of_no_values(&path.display().to_string(), made, &columns, ui);
                }
                out.buffer.extend_from_slice(made(path, &index).as_bytes());
                out.pause()?;
            }
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    out.finish()?;
    failure.map_or(Ok(done), Err)
}

fn make_one(
    engine: &Engine,
    path: &Path,
    spec: &IndexSpec,
    args: &StoreIndexArgs,
) -> Result<IndexFile, Failure> {
    let bytes = Source::File(path.to_owned()).text_bytes();
    let mut progress = Progress::new(args.progress.progress, bytes, false);
    let mut indexed = 0;
    let built = IndexFile::build_watched(engine, path, spec, &mut |bytes| {
        indexed = bytes;
        progress.update(bytes);
    });
    progress.finish(indexed);
    Ok(built?)
}

/// The line about an index that was made.
fn made(path: &Path, index: &IndexFile) -> String {
    let IndexInfo { lines, faulty, input_bytes, bytes, .. } = index.info();
    let name = path.display().to_string();
    let columns = index.bins().map_or(0, |bins| bins.info().columns.len());
    let columns = match columns {
        0 => String::new(),
        1 => ", 1 column".to_owned(),
        many => format!(", {many} columns"),
    };
    let malformed = if faulty > 0 { format!(" ({faulty} malformed)") } else { String::new() };
    format!(
        "{}: {lines} lines{malformed}, {input_bytes} bytes of text{columns}, index of {bytes} bytes\n",
        escaped(&name)
    )
}

/// The index of a file of text; `None` for a folder, and for a part.
pub fn of_file(path: &Path) -> Result<Option<IndexFile>, Failure> {
    let index = IndexFile::path_of(path);
    if !path.is_file() || !index.is_file() && ends_as_parquet(path) {
        return Ok(None);
    }
    if !index.is_file() {
        let name = path.display().to_string();
        return Err(Failure::usage(format!("{name}: is no store and no part, and has no index beside it"))
            .with_help("`warpath store index FILE` makes the index of a text"));
    }
    Ok(Some(IndexFile::open(index)?))
}

/// True if a file ends as Parquet files do.
fn ends_as_parquet(path: &Path) -> bool {
    let end = || {
        let (mut file, mut end) = (File::open(path)?, [0; 4]);
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut end)?;
        Ok::<_, io::Error>(end)
    };
    end().is_ok_and(|end| end == *b"PAR1")
}

/// The rows of `store info` for a file with an index. With `all`, the bins of its columns are rows, too.
pub fn described_all(index: &IndexFile, all: bool) -> String {
    let mut text = named(&[("index".to_owned(), escaped(index.name()).to_string())]);
    text.push_str(&described(&index.info(), index.bins()));
    if let Some(bins) = index.bins() {
        text.push_str(&bins::described(bins, all));
    }
    text
}

/// Checks every byte of an index and of the text that it was made of. Returns the line of `store verify`.
pub fn verify(path: &Path, index: &IndexFile) -> Result<String, Failure> {
    let (covered, all) = index.verify(path)?;
    let IndexInfo { lines, partitions, .. } = index.info();
    let more = if covered < all { format!(" of {all}") } else { String::new() };
    let partitions = format!("{partitions} {}", if partitions == 1 { "partition" } else { "partitions" });
    Ok(format!(
        "{lines} lines in {partitions}, {covered}{more} bytes of text: all checksums match, and so does \
         the text\n"
    ))
}

fn described(info: &IndexInfo, bins: Option<&BitmapIndex>) -> String {
    let per_input = |bytes: u64| {
        let share = bytes as f64 / info.input_bytes.max(1) as f64;
        format!("{bytes} bytes ({:.1} % of the input)", 100.0 * share)
    };
    let mut rows = vec![
        ("input".to_owned(), format!("{} bytes", info.input_bytes)),
        ("modified".to_owned(), format!("{} s since 1970", index::since_1970(info.input_modified))),
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
    rows.extend(bins.map(|bins| ("bins".to_owned(), per_input(bins.info().bytes))));
    rows.push(("all".to_owned(), per_input(info.bytes)));
    named(&rows)
}
