//! The inputs that the arguments name.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use warpath::{
    Error, FolderFiles, FollowEnd, FollowFrom, FollowedFiles, Format, InputError, Query, Records, Source,
    TableFormat, TextColumn,
};
use warpath_exec::input::FindsRecords;
use warpath_lang::jsonpath::{SegmentKind, SelectorKind};
use warpath_remote::address::is_url;
use warpath_remote::{Address, READS_OBJECTS};
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::args::{
    ColumnArgs, EngineArgs, FileArgs, FollowArgs, InputFormat, OnErrorArgs, RecordsArgs, RunArgs, StrictArgs,
};
use super::engines::builder;
use super::failure::{Failure, reason};
use super::inherited;
#[cfg(feature = "parquet")]
use super::locations;
use super::paths;
use super::served;
use super::served::Inputs;
#[cfg(unix)]
use super::signals;
use super::written::Written;

/// The command that builds the program with object stores.
const WITH_OBJECTS: &str = "cargo install --path host/cli --features object-store";

/// The description of a list of names in messages.
const LIST: &str = "the list of `--files-from`";

/// Returns the inputs, in order. No file, and `-`, mean standard input. A folder or a pattern means its
/// files, unless a file has exactly this name. The files of a list follow.
///
/// A file that cannot be read is reported when its turn comes.
pub fn sources(args: &FileArgs, written: Written<'_>, ui: &Ui) -> Result<Vec<Source>, Failure> {
    sources_of(args, FolderFiles::Json, written, ui)
}

/// The number of bytes in all inputs; `None` if it is unknown or an input is compressed.
pub fn text_bytes(sources: &[Source]) -> Option<u64> {
    sources.iter().map(Source::text_bytes).sum()
}

/// Returns the inputs, as [`sources`] does. `files` are the files that are read of folders.
pub fn sources_of(
    args: &FileArgs,
    files: FolderFiles,
    written: Written<'_>,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    if let Some(inputs) = served::inputs() {
        return sources_in_server(args, files, &*inputs, ui);
    }
    let dash = Path::new("-");
    let mut sources = Vec::new();
    for name in &args.files {
        if name == dash {
            if sources.iter().any(|source| matches!(source, Source::Stdin)) {
                return Err(Failure::usage("`-` is given twice, and standard input can be read only once"));
            }
            sources.push(stdin()?);
        } else {
            let named = match url(name)? {
                Some(address) => at(address, files)?,
                None => Source::named(name, files).map_err(Error::from)?,
            };
            for source in named {
                if let Source::File(path) = &source {
                    file(path)?;
                }
                note_if_empty(&source, ui);
                sources.push(source);
            }
        }
    }
    if let Some(list) = &args.files_from {
        let has_stdin = sources.iter().any(|source| matches!(source, Source::Stdin));
        if list == dash && has_stdin {
            return Err(Failure::usage("standard input is both an input and the list of `--files-from`"));
        }
        written.refuse(LIST, list)?;
        for path in listed(list, ui)? {
            // A name in a list is no pattern.
            if let Some(address) = url(&path)? {
                sources.extend(at(address, files)?);
            } else if path.is_dir() {
                sources.extend(Source::named(&path, files).map_err(Error::from)?);
            } else {
                sources.push(exactly(&path)?);
            }
        }
    } else if sources.is_empty() {
        sources.push(stdin()?);
    }
    written.refuse_inputs(&sources)?;
    for source in &sources {
        // Later inputs are missed at once, and not when they are reached.
        if let Source::File(path) = source
            && let Err(source) = path.symlink_metadata()
        {
            let name = path.display().to_string();
            let failure = Failure::from(Error::from(InputError::Io { name, source }));
            return Err(match path.to_str() {
                Some(name) if name.starts_with("--") => {
                    failure.with_help("options come before `--`, and files after it")
                }
                _ => failure,
            });
        }
    }
    if sources.iter().any(|source| matches!(source, Source::Stdin)) && io::stdin().is_terminal() {
        ui.note("reading standard input; Ctrl-D ends it");
    }
    Ok(sources)
}

/// The inputs that the arguments name: all that the server has, if they name none.
///
/// # Errors
/// If a name is not loaded, and for a list of names.
fn sources_in_server(
    args: &FileArgs,
    files: FolderFiles,
    inputs: &dyn Inputs,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for name in names_in_server(args, inputs)? {
        match inputs.sources(&name, files)? {
            Some(named) => sources.extend(named),
            None => return Err(served::not_loaded(&name, inputs)),
        }
    }
    sources.iter().for_each(|source| note_if_empty(source, ui));
    Ok(sources)
}

/// The names of the inputs that are read.
///
/// # Errors
/// For a list of names, which is a file.
fn names_in_server(args: &FileArgs, inputs: &dyn Inputs) -> Result<Vec<PathBuf>, Failure> {
    if args.files_from.is_some() {
        served::refuse("`--files-from`")?;
    }
    Ok(if args.files.is_empty() { inputs.names() } else { args.files.clone() })
}

/// Says that a store has no lines, if the input is such a store.
pub fn note_if_empty(source: &Source, ui: &Ui) {
    if let Source::Bytes(name, _) = source {
        ui.note(format_args!("{}: the store has no lines", escaped(name)));
    }
}

/// Returns what a URL means. `None` for other names, and for a file that has exactly this name.
pub fn url(name: &Path) -> Result<Option<Address>, Failure> {
    match name.to_str().filter(|text| is_url(text) && name.symlink_metadata().is_err()) {
        Some(text) => Ok(Some(Address::parse(text).map_err(Failure::from)?)),
        None => Ok(None),
    }
}

/// Returns the inputs that a URL means.
fn at(address: Address, files: FolderFiles) -> Result<Vec<Source>, Failure> {
    match address {
        Address::File(path) if path.is_dir() => Ok(Source::named(&path, files).map_err(Error::from)?),
        Address::File(path) => Ok(vec![exactly(&path)?]),
        Address::Objects(objects) => {
            #[cfg(feature = "parquet")]
            if matches!(files, FolderFiles::Json | FolderFiles::Documents)
                && let Some(sources) = locations::sources(&objects)?
            {
                return Ok(sources);
            }
            let readers = warpath_remote::readers(&objects).map_err(refused)?;
            Ok(readers.into_iter().map(|(name, reader)| Source::Reader(name, reader)).collect())
        }
    }
}

/// The failure for a URL that cannot be used.
pub fn refused(error: Error) -> Failure {
    match READS_OBJECTS {
        true => error.into(),
        false => Failure::usage(error.to_string())
            .with_help(format!("`{WITH_OBJECTS}` builds a program that does")),
    }
}

/// Returns the path of the one file that a command reads at any offset, if a URL names it.
///
/// # Errors
/// If the URL means an object.
pub fn local(path: &Path, what: &str) -> Result<PathBuf, Failure> {
    match url(path)? {
        None => Ok(path.to_owned()),
        Some(Address::File(path)) => Ok(path),
        Some(Address::Objects(objects)) => Err(Failure::usage(format!("{}: {what}", objects.shown()))
            .with_help("copy the object to a file first")),
    }
}

/// The options that say how inputs are read, beside their names.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub follow: Option<&'a FollowArgs>,
    pub column: &'a ColumnArgs,
    pub engine: &'a EngineArgs,
    pub on_error: &'a OnErrorArgs,
    pub strict: &'a StrictArgs,
    pub written: Written<'a>,
}

impl<'a> Reading<'a> {
    /// The inputs of a run.
    pub fn of_run(column: &'a ColumnArgs, engine: &'a EngineArgs, run: &'a RunArgs) -> Self {
        let written = Written::of_run(run);
        Self { follow: None, column, engine, on_error: &run.on_error, strict: &run.strict, written }
    }

    /// Follows the inputs, if the options include this.
    pub fn following(self, follow: &'a FollowArgs) -> Self {
        Self { follow: Some(follow), ..self }
    }

    /// The records within records that the options name.
    fn records(&self) -> Result<Option<Records>, Failure> {
        let RecordsArgs { records: Some(path), with } = &self.engine.layout.records else { return Ok(None) };
        let mut records = Records::new(Query::compile(&paths::full(path))?);
        for with in with {
            let Some((name, path)) = named(with) else {
                return Err(Failure::usage(format!("`--with {with}`: a name and a path are expected"))
                    .with_help("such as `--with host='$.host'`"));
            };
            records = records.with(name, Query::compile(&paths::full(path))?)?;
        }
        Ok(Some(records))
    }
}

/// The name and the path of `NAME=PATH` or `PATH AS NAME`.
fn named(text: &str) -> Option<(&str, &str)> {
    let at = text.to_ascii_lowercase().rfind(" as ");
    let (name, path) = match at.filter(|_| text.starts_with(['$', '.'])) {
        Some(at) => (&text[at + 4..], &text[..at]),
        None => text.split_once('=')?,
    };
    Some((name.trim(), path.trim())).filter(|(name, path)| !name.is_empty() && !path.is_empty())
}

/// Returns the inputs of lines, documents or rows of tables, as the options of the engine name their format;
/// followed, and as their records, if the options include this.
pub fn inputs(args: &FileArgs, reading: Reading<'_>, ui: &Ui) -> Result<Vec<Source>, Failure> {
    let sources = whole_inputs(args, reading, ui)?;
    let Some(records) = reading.records()? else { return Ok(sources) };
    records_of(sources, &records, reading.engine.layout.input.into(), reading)
}

/// Returns the records in inputs of a format, as lines.
pub fn records_of(
    sources: Vec<Source>,
    records: &Records,
    format: Format,
    reading: Reading<'_>,
) -> Result<Vec<Source>, Failure> {
    let engine = builder(&reading.engine.backend, reading.on_error).strict(reading.strict.strict);
    let engine = engine.format(format).build()?;
    let sources = for_paths(sources, [records.path()]);
    Ok(sources.into_iter().map(|source| records.of(&engine, source)).collect())
}

/// Facts about inputs for messages. They are taken before the inputs are read.
pub struct Recognised {
    records: Option<Arc<dyn FindsRecords>>,
    /// The name and the layout of each input that has no lines.
    pub layouts: Vec<(String, &'static str)>,
}

impl Recognised {
    pub fn of(sources: &[Source]) -> Self {
        let layout = |source: &Source| Some((source.name(), source.layout()?));
        Self {
            records: sources.iter().find_map(Source::records).cloned(),
            layouts: sources.iter().filter_map(layout).collect(),
        }
    }

    /// Reports the malformed records that were skipped while records were looked for in them, and records
    /// that are nowhere.
    pub fn report(&self, ui: &Ui) {
        if let Some(records) = &self.records {
            let tally = records.tally();
            ui.skipped("record", tally.skipped, tally.first);
            if tally.found == 0 && tally.lines > 0 {
                let (path, lines) = (escaped(records.path()), tally.lines);
                let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
                ui.note(format_args!("there is no record, because `{path}` has no match in {lines}"));
            }
        }
    }
}

/// Returns inputs for paths. If a path goes into the elements of records, such as `$[*].id`, an array is a
/// record. Otherwise each element of an array is one.
pub fn for_paths<'a>(sources: Vec<Source>, paths: impl IntoIterator<Item = &'a Query>) -> Vec<Source> {
    let is_name = |kind: &SelectorKind| matches!(kind, SelectorKind::Name(_));
    let enters = |path: &Query| {
        path.ast().segments.first().is_some_and(|first| {
            first.kind == SegmentKind::Child
                && !first.selectors.iter().all(|selector| is_name(&selector.kind))
        })
    };
    match paths.into_iter().any(enters) {
        true => sources.into_iter().map(Source::with_whole_arrays).collect(),
        false => sources,
    }
}

/// Returns inputs with the layout that their first bytes show.
pub fn recognised(sources: Vec<Source>) -> Result<Vec<Source>, Failure> {
    let recognised = sources.into_iter().map(Source::recognised);
    Ok(recognised.collect::<Result<_, _>>().map_err(Error::from)?)
}

fn whole_inputs(args: &FileArgs, reading: Reading<'_>, ui: &Ui) -> Result<Vec<Source>, Failure> {
    let Reading { follow, column, engine, written, .. } = reading;
    let none = FollowArgs::default();
    let follow = follow.unwrap_or(&none);
    let is_text = matches!(engine.layout.input, InputFormat::Auto | InputFormat::Ndjson | InputFormat::Json);
    if is_text && column.column.is_some() {
        return Err(Failure::usage("`--column` requires `--input parquet` or `--input arrow`"));
    }
    let (format, files) = match engine.layout.input {
        InputFormat::Json | InputFormat::Ndjson => {
            let is_lines = engine.layout.input == InputFormat::Ndjson;
            return sources_or_followed(args, FolderFiles::Json, follow, is_lines, written, ui);
        }
        InputFormat::Auto => {
            let sources = sources_or_followed(args, FolderFiles::Json, follow, true, written, ui)?;
            return recognised(sources);
        }
        InputFormat::Parquet => (TableFormat::Parquet, FolderFiles::Parquet),
        InputFormat::Arrow => (TableFormat::Arrow, FolderFiles::Arrow),
    };
    let column = match &column.column {
        Some(name) => TextColumn::new(format, name.clone()),
        None => TextColumn::rows(format),
    };
    let tables = sources_or_followed(args, files, follow, false, written, ui)?;
    Ok(tables.into_iter().map(|table| Source::Column(Box::new(table), column.clone())).collect())
}

/// Refuses `--input parquet` and `--input arrow` in a command that reads no columns of tables.
pub fn refuse_tables(engine: &EngineArgs) -> Result<(), Failure> {
    match engine.layout.input {
        InputFormat::Auto | InputFormat::Ndjson | InputFormat::Json => Ok(()),
        InputFormat::Parquet | InputFormat::Arrow => Err(Failure::usage(
            "this command reads no columns of tables; `--input` is `ndjson` or `json` here",
        )),
    }
}

/// Returns the names in a list of files. All of them exist.
fn listed(list: &Path, ui: &Ui) -> Result<Vec<PathBuf>, Failure> {
    let name = if list == Path::new("-") { Source::Stdin.name() } else { list.display().to_string() };
    let names = if list == Path::new("-") {
        stdin()?;
        if io::stdin().is_terminal() {
            ui.note("reading names of files from standard input; Ctrl-D ends it");
        }
        Source::listed(&name, io::stdin())
    } else {
        let file = File::open(list).map_err(|source| InputError::Io { name: name.clone(), source });
        file.and_then(|file| Source::listed(&name, file))
    };
    let names = names.map_err(Error::from)?;
    let exists = |(number, path): (u64, PathBuf)| match path.metadata() {
        Ok(_) => Ok(path),
        Err(_) if path.to_str().is_some_and(is_url) => Ok(path),
        Err(error) => {
            let shown = path.display().to_string();
            let failure = Failure::usage(format!("{name}:{number}: {shown}: {}", reason(&error)));
            Err(match shown.contains(['*', '?', '[', '{']) {
                true => failure.with_help("names in a list are no patterns"),
                false => failure,
            })
        }
    };
    names.into_iter().map(exists).collect()
}

/// Refuses paths of JSON in place of files.
///
/// # Errors
/// If a name begins with `$`, and no file has it.
pub fn refuse_paths(args: &FileArgs, help: &str) -> Result<(), Failure> {
    let is_path =
        |name: &&PathBuf| name.to_str().is_some_and(|name| name.starts_with('$')) && !served::is_input(name);
    match args.files.iter().find(is_path) {
        None => Ok(()),
        Some(name) => {
            Err(Failure::usage(format!("`{}` is a path, and no file", name.display())).with_help(help))
        }
    }
}

/// Returns the inputs as [`sources_of`] does, or as they are followed, if the options include this.
/// `is_lines` is true if they are lines of JSON.
pub fn sources_or_followed(
    args: &FileArgs,
    files: FolderFiles,
    follow: &FollowArgs,
    is_lines: bool,
    written: Written<'_>,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    let Some(from) = follow.follow else { return sources_of(args, files, written, ui) };
    if !is_lines {
        let message = "`--follow` requires lines of JSON: a document or a table ends with its file";
        return Err(Failure::usage(message));
    }
    if let Some(inputs) = served::inputs() {
        return followed_in_server(args, from.into(), &*inputs);
    }
    let (dash, names) = (Path::new("-"), &args.files);
    if names.iter().any(|name| name == dash) || names.is_empty() && args.files_from.is_none() {
        return Err(Failure::usage("`--follow` requires a file; standard input is read as it comes"));
    }
    let paths = paths_to_follow(args, written, ui)?;
    let end = FollowEnd::default();
    let source = followed(paths, from.into(), &end)?;
    written.refuse_inputs(slice::from_ref(&source))?;
    #[cfg(unix)]
    signals::end_input_first(end);
    Ok(vec![source])
}

/// Returns files and folders as one input that is followed.
fn followed(paths: Vec<PathBuf>, from: FollowFrom, end: &FollowEnd) -> Result<Source, Failure> {
    let (folders, mut paths): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    for path in &paths {
        file(path)?;
    }
    Ok(match (&paths[..], &folders[..]) {
        ([path], []) => Source::Followed(path.clone(), from, end.clone()),
        _ => Source::FollowedAll(FollowedFiles::new(paths, folders, from, end.clone())),
    })
}

/// Returns inputs of a server as they are followed: files and folders, or one store with its later versions.
fn followed_in_server(
    args: &FileArgs,
    from: FollowFrom,
    inputs: &dyn Inputs,
) -> Result<Vec<Source>, Failure> {
    let names = names_in_server(args, inputs)?;
    let end = served::end();
    let mut paths = Vec::new();
    for name in &names {
        if let Some(path) = inputs.path(name) {
            paths.push(path);
        } else if let Some(tail) = inputs.tail(name, from, &end)? {
            return match names.len() {
                1 => Ok(vec![tail]),
                _ => Err(Failure::usage("`--follow` takes one store at a time")
                    .with_help(format!("such as {}", name.display()))),
            };
        } else {
            return Err(served::not_loaded(name, inputs));
        }
    }
    Ok(vec![followed(paths, from, &end)?])
}

/// Returns the paths of files and folders that are followed. `-` is left out.
fn paths_to_follow(args: &FileArgs, written: Written<'_>, ui: &Ui) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for name in args.files.iter().filter(|name| *name != Path::new("-")) {
        let name = local(name, "an object is not followed")?;
        match name.is_dir() {
            true => paths.push(name),
            false => paths.extend(Source::paths(&name).map_err(Error::from)?),
        }
    }
    if let Some(list) = &args.files_from {
        written.refuse(LIST, list)?;
        // A name in a list is no pattern.
        for path in listed(list, ui)? {
            paths.push(local(&path, "an object is not followed")?);
        }
    }
    Ok(paths)
}

/// Returns the inputs of `store add --follow`: files to follow, and standard input as it comes.
pub fn growing(args: &FileArgs, ui: &Ui) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths_to_follow(args, Written::default(), ui)? {
        if path.is_dir() {
            let message = format!("{}: is a folder; `store add --follow` follows files", path.display());
            return Err(
                Failure::usage(message).with_help("name its files, or a pattern such as 'logs/*.log'")
            );
        }
        sources.push(file(&path)?);
    }
    let has_dash = args.files.iter().any(|name| name == Path::new("-"));
    if has_dash && args.files_from.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("standard input is both an input and the list of `--files-from`"));
    }
    if has_dash || args.files.is_empty() && args.files_from.is_none() {
        sources.push(stdin()?);
        if io::stdin().is_terminal() {
            ui.note("reading standard input; Ctrl-D ends it");
        }
    }
    Ok(sources)
}

/// Returns the file of exactly this name as an input, as [`file`] does.
///
/// # Errors
/// For a part that its store does not have any more.
fn exactly(path: &Path) -> Result<Source, Failure> {
    file(path)?;
    Ok(Source::exactly(path).map_err(Error::from)?)
}

/// Returns a file as an input. If the path names a standard stream, the stream must be readable.
pub fn file(path: &Path) -> Result<Source, Failure> {
    let closed = |source| Error::from(InputError::Io { name: path.display().to_string(), source });
    inherited::named(path).map_err(closed)?;
    Ok(Source::File(path.to_owned()))
}

/// Returns standard input, if it can be read.
pub fn stdin() -> Result<Source, Failure> {
    let closed = |source| Error::from(InputError::Io { name: Source::Stdin.name(), source });
    inherited::stdin().map_err(closed)?;
    Ok(Source::Stdin)
}
