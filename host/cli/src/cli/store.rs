//! Stores: made, appended to, described, checked, and given back as text.

mod bins;
mod indexed;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::BinaryBytes;
use warpath::store::{AddOptions, Added, CompactOptions, Followed, Rewritten, Store, StoreColumn, StorePart};
use warpath::{Engine, FollowEnd, OnError, Predicate, Source};
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;

use super::args::{
    ReportArgs, StoreAddArgs, StoreCommand, StoreCompactArgs, StoreDropArgs, StoreFollowArgs, StoreInfoArgs,
    StoreTextArgs, StoreVacuumArgs, StoreVerifyArgs,
};
use super::failure::Failure;
use super::files;
use super::formats;
use super::locations;
use super::out::Out;
#[cfg(unix)]
use super::signals;
use super::statistics::{self, Statistics, named};
use super::written::Written;

/// Runs a command over a store.
pub fn run(command: StoreCommand, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    match command {
        StoreCommand::Add(args) => add(args, ui, started),
        StoreCommand::Index(args) => indexed::make(&args, ui),
        StoreCommand::Info(args) => info(&args),
        StoreCommand::Verify(args) => verify(&args),
        StoreCommand::Text(args) => text(&args, ui),
        StoreCommand::Drop(args) => drop_lines(&args, ui, started),
        StoreCommand::Compact(args) => compact(&args, ui, started),
        StoreCommand::Vacuum(args) => vacuum(&args, ui, started),
    }
}

fn add(args: StoreAddArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let mut options = AddOptions::default().resident(args.resident);
    if let Some(bytes) = args.group_size {
        options = options.group_bytes(bytes);
    }
    let added = match args.follow.follow {
        true => follow(&args, options, ui)?,
        false => add_now(&args, options, ui)?,
    };
    for input in &added.known {
        let why = match added.touched.contains(input) {
            true => "; its time has changed, its size and samples of its bytes have not",
            false => "",
        };
        ui.note(format_args!("{}: is in the store already{why}", escaped(input)));
    }
    if added.malformed > 0 {
        ui.warning(format_args!(
            "malformed lines: {} of {}; the store keeps them, and a question stops there unless `--on-error \
             skip` is given",
            added.malformed, added.lines
        ));
        if let Some((name, layout)) = of_another_layout(&args, ui) {
            let (name, store) = (escaped(&name), escaped(&args.store.display().to_string()).to_string());
            ui.help(format_args!(
                "{name} has {layout}: `warpath query '$' {name} | warpath store add {store} -` adds them as lines"
            ));
        }
    }
    if added.lines == 0 && added.known.is_empty() && !args.follow.follow {
        ui.note("the inputs have no lines");
    }
    if let Some(format) = args.report.stats.stats {
        let took = started.elapsed();
        let said = format!(
            "{} lines, {} of text in {}{}; {}; {:.3} s",
            added.lines,
            BinaryBytes(added.text_bytes),
            BinaryBytes(added.file_bytes),
            ratio(added.text_bytes, added.file_bytes),
            counted(added.parts),
            took.as_secs_f64(),
        );
        let statistics = Statistics::new([("added", said)])
            .exactly("added", "lines", added.lines)
            .exactly("added", "text_bytes", added.text_bytes)
            .exactly("added", "file_bytes", added.file_bytes)
            .exactly("added", "parts", added.parts)
            .exactly("added", "known", added.known.len())
            .seconds("added", "total_seconds", took);
        statistics::show(ui, &statistics, format);
    }
    Ok(ExitCode::SUCCESS)
}

/// The first file that has another layout of JSON than lines, and that layout.
fn of_another_layout(args: &StoreAddArgs, ui: &Ui) -> Option<(String, &'static str)> {
    let sources = files::sources(&args.files, Written::default(), ui).ok()?;
    let files = sources.into_iter().filter(|source| matches!(source, Source::File(_)));
    files.into_iter().find_map(|source| {
        let name = source.name();
        Some((name, source.recognised().ok()?.layout()?))
    })
}

/// Adds the lines that the inputs have now.
fn add_now(args: &StoreAddArgs, options: AddOptions, ui: &Ui) -> Result<Added, Failure> {
    let sources = files::sources(&args.files, Written::default(), ui)?;
    let mut progress = Progress::new(args.report.progress.progress, files::text_bytes(&sources), false);
    let mut read = 0;
    let mut show = |bytes| {
        read = bytes;
        progress.update(bytes);
    };
    let added = Store::add(locations::location(&args.store)?, sources, options, &mut show);
    progress.finish(read);
    Ok(added?)
}

/// Adds lines as they come.
fn follow(args: &StoreAddArgs, options: AddOptions, ui: &Ui) -> Result<Added, Failure> {
    let StoreFollowArgs { max_latency, acknowledge, .. } = args.follow;
    let options = max_latency.map_or(options, |latency| options.max_latency(latency));
    let location = locations::location(&args.store)?;
    let sources = files::growing(&args.files, ui)?;
    let end = FollowEnd::default();
    #[cfg(unix)]
    signals::end_input_first(end.clone());
    let (mut out, mut failure) = (Out::stdout(), None);
    let mut report = |event: &Followed| match event {
        Followed::Stored { version, lines } if acknowledge && failure.is_none() => {
            let line = format!("{{\"version\":{version},\"lines\":{lines}}}\n");
            out.buffer.extend_from_slice(line.as_bytes());
            if let Err(failed) = out.pause() {
                // Nobody reads what is stored.
                failure = Some(failed);
                end.end();
            }
        }
        Followed::Replaced(name) => ui.note(format_args!(
            "{}: another file has taken this name, and is read from its start",
            escaped(name)
        )),
        Followed::Shortened(name) => {
            ui.note(format_args!("{}: has become shorter, and is read from its start", escaped(name)));
        }
        Followed::Overtaken => {
            ui.note("another program has added lines of the same files; the lines after them are read");
        }
        _ => {}
    };
    let added = Store::follow(location, sources, options, &end, &mut report)?;
    failure.map_or(Ok(added), Err)
}

fn info(args: &StoreInfoArgs) -> Result<ExitCode, Failure> {
    let mut out = Out::stdout();
    if let Some(index) = indexed::of_file(&args.store)? {
        out.buffer.extend_from_slice(indexed::described_all(&index, args.columns).as_bytes());
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = Store::open(locations::location(&args.store)?)?;
    let parts = store.parts()?;
    out.buffer.extend_from_slice(described(&store, &parts).as_bytes());
    if args.columns {
        out.buffer.extend_from_slice(columns(&store.columns()?).as_bytes());
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The rows of `store info`: totals, then one row for each part.
fn described(store: &Store, parts: &[StorePart]) -> String {
    let sum = |of: fn(&StorePart) -> u64| parts.iter().map(of).sum::<u64>();
    let (text, file) = (sum(|part| part.text_bytes), sum(|part| part.file_bytes));
    let mut rows = Vec::new();
    if let Some(version) = store.version() {
        rows.push(("version".to_owned(), version.to_string()));
        rows.push(("inputs".to_owned(), store.inputs().len().to_string()));
    }
    rows.extend([
        ("parts".to_owned(), parts.len().to_string()),
        ("lines".to_owned(), sum(|part| part.lines).to_string()),
        ("text".to_owned(), format!("{text} bytes")),
        ("files".to_owned(), format!("{file} bytes{}", ratio(text, file))),
    ]);
    let in_memory = sum(|part| part.resident_bytes);
    if in_memory > 0 {
        rows.push(("resident".to_owned(), format!("{in_memory} bytes of the files")));
    }
    let parts = parts.iter().map(|part| {
        let said = format!(
            "{} lines, {} bytes of text, {} bytes{}; {} groups{}",
            part.lines,
            part.text_bytes,
            part.file_bytes,
            ratio(part.text_bytes, part.file_bytes),
            part.groups,
            resident(part),
        );
        (part.name.clone(), said)
    });
    rows.extend(parts);
    named(&rows)
}

/// The resident form of a part, in words. Empty if it has none.
fn resident(part: &StorePart) -> String {
    match (part.resident_bytes, part.resident_groups) {
        (0, _) => String::new(),
        (bytes, 0) => format!("; {bytes} bytes resident, of a version that is not used"),
        (bytes, groups) if groups == part.groups => format!("; {bytes} bytes resident"),
        (bytes, groups) => format!("; {bytes} bytes resident, of {groups} groups"),
    }
}

/// The rows of `store info --columns`.
fn columns(columns: &[StoreColumn]) -> String {
    let mut text = String::new();
    for column in columns {
        let StoreColumn { path, kind, encoding, file_bytes, .. } = column;
        text += &format!("{}\t{kind}\t{encoding}\t{file_bytes}\n", escaped(path));
    }
    text
}

fn verify(args: &StoreVerifyArgs) -> Result<ExitCode, Failure> {
    let mut out = Out::stdout();
    if let Some(index) = indexed::of_file(&args.store)? {
        out.buffer.extend_from_slice(indexed::verify(&args.store, &index)?.as_bytes());
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = Store::open(locations::location(&args.store)?)?;
    store.verify()?;
    let parts = store.parts()?;
    let lines: u64 = parts.iter().map(|part| part.lines).sum();
    let said =
        format!("{}, {lines} lines: all checksums match, and so does the text\n", counted(parts.len()));
    out.buffer.extend_from_slice(said.as_bytes());
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn text(args: &StoreTextArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    formats::check_uncompressed(&args.output)?;
    let store = Store::open(locations::location(&args.store)?)?;
    Written::of(&args.output).refuse_inputs(&store.sources())?;
    let mut out = Out::new(&args.output).made_from(store.output_mode());
    if let Some(only) = &args.only {
        let predicate = Predicate::parse(only)?;
        let mut failure = None;
        let mut write = |text: &[u8]| out.lines(text).map_err(|failed| failure = Some(failed)).is_ok();
        store.text_matching(&lenient()?, &predicate, &mut write)?;
        return failure.map_or(Ok(()), Err).and_then(|()| out.finish()).map(|()| ExitCode::SUCCESS);
    }
    let lines = args.lines.clone().unwrap_or(0..u64::MAX);
    let (mut failure, mut is_empty) = (None, true);
    let mut write = |text: &[u8]| {
        is_empty = false;
        out.lines(text).map_err(|failed| failure = Some(failed)).is_ok()
    };
    store.text(lines, &mut write)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let (Some(wanted), true) = (&args.lines, is_empty) {
        let (first, total) = (wanted.start + 1, store.lines()?);
        ui.note(format_args!("there is no line {first}: the store has {total} lines"));
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn drop_lines(args: &StoreDropArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let predicate = Predicate::parse(&args.only)?;
    let engine = lenient()?;
    let changed = Store::drop_matching(locations::location(&args.store)?, &engine, &predicate)?;
    report(&changed, "removed", &args.store, &args.report, ui, started);
    Ok(ExitCode::SUCCESS)
}

/// An engine for which lines that are no records match nothing.
fn lenient() -> Result<Engine, Failure> {
    Ok(Engine::builder().on_error(OnError::Skip).build()?)
}

fn compact(args: &StoreCompactArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let options = CompactOptions::default().resident(args.resident);
    let changed = Store::compact_with(locations::location(&args.store)?, options)?;
    report(&changed, "compacted", &args.store, &args.report, ui, started);
    Ok(ExitCode::SUCCESS)
}

fn vacuum(args: &StoreVacuumArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let removed = Store::vacuum(locations::location(&args.store)?, args.keep)?;
    if removed.files == 0 {
        let keep = humantime::format_duration(args.keep);
        let store = args.store.display().to_string();
        ui.note(format_args!("{}: there are no files to remove that are older than {keep}", escaped(&store)));
    }
    if let Some(format) = args.report.stats.stats {
        let took = started.elapsed();
        let files = if removed.files == 1 { "file" } else { "files" };
        let said =
            format!("{} {files}, {}; {:.3} s", removed.files, BinaryBytes(removed.bytes), took.as_secs_f64());
        let statistics = Statistics::new([("removed", said)])
            .exactly("removed", "files", removed.files)
            .exactly("removed", "file_bytes", removed.bytes)
            .seconds("removed", "total_seconds", took);
        statistics::show(ui, &statistics, format);
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports a change of a store: a note if nothing changed, and the statistics if the options include them.
fn report(
    changed: &Rewritten,
    row: &'static str,
    store: &Path,
    report: &ReportArgs,
    ui: &Ui,
    started: Instant,
) {
    if changed.parts_before == 0 {
        ui.note(format_args!("{}: nothing to change", escaped(&store.display().to_string())));
    }
    if let Some(format) = report.stats.stats {
        let took = started.elapsed();
        let said = format!(
            "{} became {}; {} lines removed; {:.3} s",
            counted(changed.parts_before),
            changed.parts_after,
            changed.lines_removed,
            took.as_secs_f64()
        );
        let statistics = Statistics::new([(row, said)])
            .exactly(row, "parts_before", changed.parts_before)
            .exactly(row, "parts_after", changed.parts_after)
            .exactly(row, "lines_removed", changed.lines_removed)
            .seconds(row, "total_seconds", took);
        statistics::show(ui, &statistics, format);
    }
}

fn counted(parts: usize) -> String {
    format!("{parts} {}", if parts == 1 { "part" } else { "parts" })
}

/// The ratio of text bytes to file bytes, in words. Empty for an empty text.
fn ratio(text: u64, file: u64) -> String {
    if text == 0 { String::new() } else { format!(", {:.2} to 1", text as f64 / file.max(1) as f64) }
}
