//! The inputs that the arguments name.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use glob::{MatchOptions, glob_with};
use warpath::{Error, InputError, Source};

use super::args::{FileArgs, OutputArgs};
use super::failure::Failure;
use super::inherited;
use super::ui::Ui;

/// Matches as shells do: `*` does not match a `/`, and a pattern matches hidden files only by an explicit
/// dot.
const AS_SHELLS_DO: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// Returns the inputs, in order. No file, and `-`, mean standard input. A pattern means the files that match
/// it, sorted, unless a file has exactly this name.
///
/// A file that cannot be read is reported when its turn comes.
pub fn sources(args: &FileArgs, output: &OutputArgs, ui: &Ui) -> Result<Vec<Source>, Failure> {
    let only_stdin = [PathBuf::from("-")];
    let mut sources = Vec::new();
    for file in if args.files.is_empty() { &only_stdin[..] } else { &args.files } {
        if file == Path::new("-") {
            sources.push(stdin()?);
        } else if let Some(pattern) = pattern(file) {
            sources.extend(matching(pattern)?.into_iter().map(Source::File));
        } else {
            sources.push(self::file(file)?);
        }
    }
    refuse_writing_to_an_input(&sources, output.path())?;
    if sources.iter().any(|source| matches!(source, Source::Stdin)) && io::stdin().is_terminal() {
        ui.note("reading standard input; Ctrl-D ends it");
    }
    Ok(sources)
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

/// Returns `file` as a pattern, if it is one and no file has this name.
fn pattern(file: &Path) -> Option<&str> {
    let text = file.to_str()?;
    (text.contains(['*', '?', '[']) && file.symlink_metadata().is_err()).then_some(text)
}

/// Returns the files that match a pattern, without folders.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let none = || {
        Failure::usage(format!("{pattern}: no file has this name or matches this pattern"))
            .with_help("patterns have `*`, `?` and `[a-z]`; `**` enters folders")
    };
    // An invalid pattern was meant as a name.
    let paths = glob_with(pattern, AS_SHELLS_DO).map_err(|_| none())?;
    let mut files = Vec::new();
    for path in paths {
        let path = path.map_err(|error| {
            let source = io::Error::from(error.error().kind());
            Failure::usage(format!("{}: {source}", error.path().display()))
        })?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

/// Refuses an output that is also an input. The run would overwrite its input, or read its own output without
/// end.
pub fn refuse_writing_to_an_input(sources: &[Source], output: Option<&Path>) -> Result<(), Failure> {
    let file = |source: &Source| match source {
        Source::File(path) => Some(path.clone()),
        Source::Stdin => Some("/dev/stdin".into()),
        Source::Reader(..) => None,
    };
    let inputs = sources.iter().filter_map(|source| Some((file(source)?, source.name().to_string())));
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
