//! The inputs that the arguments name.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::slice;

use warpath::{Error, FolderFiles, FollowEnd, FollowedFiles, InputError, Source, TableFormat, TextColumn};

use super::args::{ColumnArgs, EngineArgs, FileArgs, FollowArgs, InputFormat, OutputArgs};
use super::failure::Failure;
use super::inherited;
#[cfg(unix)]
use super::signals;
use super::ui::Ui;

/// Returns the inputs, in order. No file, and `-`, mean standard input. A folder or a pattern means its
/// files, unless a file has exactly this name. The files of a list follow.
///
/// A file that cannot be read is reported when its turn comes.
pub fn sources(args: &FileArgs, output: &OutputArgs, ui: &Ui) -> Result<Vec<Source>, Failure> {
    sources_of(args, FolderFiles::Json, output, ui)
}

/// Returns the inputs, as [`sources`] does. `files` are the files that are read of folders.
pub fn sources_of(
    args: &FileArgs,
    files: FolderFiles,
    output: &OutputArgs,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    let dash = Path::new("-");
    let mut sources = Vec::new();
    for name in &args.files {
        if name == dash {
            sources.push(stdin()?);
        } else {
            for source in Source::named(name, files).map_err(Error::from)? {
                if let Source::File(path) = &source {
                    file(path)?;
                }
                sources.push(source);
            }
        }
    }
    if let Some(list) = &args.files_from {
        let has_stdin = sources.iter().any(|source| matches!(source, Source::Stdin));
        if list == dash && has_stdin {
            return Err(Failure::usage("standard input is both an input and the list of `--files-from`"));
        }
        for path in listed(list, ui)? {
            // A name in a list is no pattern.
            if path.is_dir() {
                sources.extend(Source::named(&path, files).map_err(Error::from)?);
            } else {
                sources.push(file(&path)?);
            }
        }
    } else if sources.is_empty() {
        sources.push(stdin()?);
    }
    refuse_writing_to_an_input(&sources, output.path())?;
    if sources.iter().any(|source| matches!(source, Source::Stdin)) && io::stdin().is_terminal() {
        ui.note("reading standard input; Ctrl-D ends it");
    }
    Ok(sources)
}

/// Returns the inputs of lines, documents or rows of tables, as the options of the engine name their format;
/// followed, if the options include this.
pub fn inputs(
    args: &FileArgs,
    follow: &FollowArgs,
    column: &ColumnArgs,
    engine: &EngineArgs,
    output: &OutputArgs,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    let format = match (engine.input, &column.column) {
        (InputFormat::Ndjson | InputFormat::Json, Some(_)) => {
            return Err(Failure::usage("`--column` requires `--input parquet` or `--input arrow`"));
        }
        (InputFormat::Ndjson | InputFormat::Json, None) => {
            let is_lines = engine.input == InputFormat::Ndjson;
            return sources_or_followed(args, FolderFiles::Json, follow, is_lines, output, ui);
        }
        (InputFormat::Parquet, _) => TableFormat::Parquet,
        (InputFormat::Arrow, _) => TableFormat::Arrow,
    };
    let Some(name) = &column.column else {
        return Err(Failure::usage("a table requires the name of a column of JSON text: `--column NAME`"));
    };
    let files = match format {
        TableFormat::Parquet => FolderFiles::Parquet,
        TableFormat::Arrow => FolderFiles::Arrow,
    };
    let tables = sources_or_followed(args, files, follow, false, output, ui)?;
    let column = TextColumn { format, name: name.clone() };
    Ok(tables.into_iter().map(|table| Source::Column(Box::new(table), column.clone())).collect())
}

/// Returns the inputs of a command that follows no file.
pub fn tables_too(
    args: &FileArgs,
    column: &ColumnArgs,
    engine: &EngineArgs,
    output: &OutputArgs,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    inputs(args, &FollowArgs::default(), column, engine, output, ui)
}

/// Refuses `--input parquet` and `--input arrow` in a command that reads no columns of tables.
pub fn refuse_tables(engine: &EngineArgs) -> Result<(), Failure> {
    match engine.input {
        InputFormat::Ndjson | InputFormat::Json => Ok(()),
        InputFormat::Parquet | InputFormat::Arrow => Err(Failure::usage(
            "this command reads no columns of tables; `--input` is `ndjson` or `json` here",
        )),
    }
}

/// Returns the names in a list of files.
fn listed(list: &Path, ui: &Ui) -> Result<Vec<PathBuf>, Failure> {
    if list == Path::new("-") {
        stdin()?;
        if io::stdin().is_terminal() {
            ui.note("reading names of files from standard input; Ctrl-D ends it");
        }
        return Ok(Source::listed(&Source::Stdin.name(), io::stdin()).map_err(Error::from)?);
    }
    let name = list.display().to_string();
    let file = File::open(list).map_err(|source| InputError::Io { name: name.clone(), source });
    Ok(file.and_then(|file| Source::listed(&name, file)).map_err(Error::from)?)
}

/// Returns the inputs as [`sources_of`] does, or as they are followed, if the options include this.
/// `is_lines` is true if they are lines of JSON.
pub fn sources_or_followed(
    args: &FileArgs,
    files: FolderFiles,
    follow: &FollowArgs,
    is_lines: bool,
    output: &OutputArgs,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    let Some(from) = follow.follow else { return sources_of(args, files, output, ui) };
    if !is_lines {
        let message = "`--follow` requires lines of JSON: a document or a table ends with its file";
        return Err(Failure::usage(message));
    }
    let (dash, names) = (Path::new("-"), &args.files);
    if names.iter().any(|name| name == dash) || names.is_empty() && args.files_from.is_none() {
        return Err(Failure::usage("`--follow` requires a file; standard input is read as it comes"));
    }
    let mut paths = Vec::new();
    for name in names {
        match name.is_dir() {
            true => paths.push(name.clone()),
            false => paths.extend(Source::paths(name).map_err(Error::from)?),
        }
    }
    if let Some(list) = &args.files_from {
        // A name in a list is no pattern.
        paths.extend(listed(list, ui)?);
    }
    let (folders, mut paths): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    for path in &paths {
        file(path)?;
    }
    let end = FollowEnd::default();
    let source = match (&paths[..], &folders[..]) {
        ([path], []) => Source::Followed(path.clone(), from.into(), end.clone()),
        _ => Source::FollowedAll(FollowedFiles::new(paths, folders, from.into(), end.clone())),
    };
    refuse_writing_to_an_input(slice::from_ref(&source), output.path())?;
    #[cfg(unix)]
    signals::end_input_first(end);
    Ok(vec![source])
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

/// Refuses an output that is also an input. The run would overwrite its input, or read its own output without
/// end.
pub fn refuse_writing_to_an_input(sources: &[Source], output: Option<&Path>) -> Result<(), Failure> {
    let named = |path: PathBuf| (path.clone(), path.display().to_string());
    let files = |source: &Source| match source {
        Source::File(path) | Source::Followed(path, ..) => vec![named(path.clone())],
        Source::Stdin => vec![("/dev/stdin".into(), source.name())],
        Source::FollowedAll(all) => all.all_files().unwrap_or_default().into_iter().map(named).collect(),
        // Its table has been checked.
        Source::Reader(..) | Source::Column(..) => Vec::new(),
    };
    let inputs = sources.iter().flat_map(files);
    refuse_writing_to("an input", inputs, output)
}

/// Refuses an output that is also one of the given inputs or indexes. An index is mapped into memory. If
/// another writer made the file shorter, a signal would end its reader.
pub fn refuse_writing_to_what_is_read<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    indexes: impl IntoIterator<Item = &'a PathBuf>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let named = |path: &PathBuf| (path.clone(), path.display().to_string());
    refuse_writing_to("an input", inputs.into_iter().map(named), output)?;
    refuse_writing_to("an index", indexes.into_iter().map(named), output)
}

/// Refuses an output that is one of the files in `read`. Each file comes with its name in messages.
fn refuse_writing_to(
    what: &str,
    read: impl Iterator<Item = (PathBuf, String)>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let (output, shown) = match output.filter(|path| *path != Path::new("-")) {
        Some(path) => (identity(path), format!("`{}`", path.display())),
        None => (identity(Path::new("/dev/stdout")), "standard output".to_owned()),
    };
    let Some(output) = output else { return Ok(()) };
    for (path, name) in read {
        if identity(&path) == Some(output.clone()) {
            return Err(Failure::usage(format!("{name}: is both {what} and the output ({shown})"))
                .with_help("write to another file, and rename it afterwards"));
        }
    }
    Ok(())
}

/// Refuses standard output for an index. An index is written to a file under a temporary name, which is
/// renamed when the file is complete.
pub fn refuse_index_to_stdout(output: &Path) -> Result<(), Failure> {
    if output == Path::new("-") {
        return Err(Failure::usage("an index is written to a file, not to standard output")
            .with_help("`-o ./-` writes to a file of this name"));
    }
    Ok(())
}

/// The identity of a regular file, which is independent of its name.
#[cfg(unix)]
fn identity(path: &Path) -> Option<impl PartialEq + Clone + use<>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata().ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

/// The identity of a regular file: its canonical path.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<impl PartialEq + Clone + use<>> {
    path.is_file().then(|| path.canonicalize().ok()).flatten()
}
