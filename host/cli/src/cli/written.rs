//! The files that a run writes. None of them may be a file that the run reads, or another one that it writes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use warpath::{IndexFile, Source};

use super::args::{OutputArgs, RejectArgs, RunArgs};
use super::failure::Failure;
use super::served;

/// The destinations of a run.
#[derive(Clone, Copy, Default)]
pub struct Written<'a> {
    /// The file of `--output`. `None` is standard output.
    output: Option<&'a Path>,
    /// The file of `--rejects`.
    rejects: Option<&'a Path>,
}

impl<'a> Written<'a> {
    /// The destination of a command that writes one.
    pub fn of(output: &'a OutputArgs) -> Self {
        Self { output: output.path(), rejects: None }
    }

    /// The destinations of a command that runs queries.
    pub fn of_run(run: &'a RunArgs) -> Self {
        Self::of(&run.output).and(&run.rejects)
    }

    /// Adds the file of `--rejects`.
    pub fn and(self, rejects: &'a RejectArgs) -> Self {
        Self { rejects: rejects.rejects.as_deref(), ..self }
    }

    /// Refuses a file of `--rejects` that also has the results.
    ///
    /// # Errors
    /// If it is standard output or the file of `--output`, under whatever name.
    pub fn refuse_one_for_both(&self) -> Result<(), Failure> {
        // The client of a server has checked its files.
        let Some(rejects) = self.rejects.filter(|_| served::inputs().is_none()) else { return Ok(()) };
        if rejects == Path::new("-") {
            return Err(Failure::usage("`--rejects` names a file: standard output has the results"));
        }
        let results = self.output.unwrap_or(Path::new(STDOUT));
        if identity(rejects).is_some_and(|rejects| Some(rejects) == identity(results)) {
            let results = if self.output.is_some() { "`--output`" } else { "standard output" };
            return Err(Failure::usage(format!(
                "`{}` is the file of both {results} and `--rejects`",
                rejects.display()
            )));
        }
        Ok(())
    }

    /// Refuses inputs. The run would overwrite its input, or read its own output without end.
    ///
    /// # Errors
    /// If a destination is an input.
    pub fn refuse_inputs(&self, sources: &[Source]) -> Result<(), Failure> {
        // The identities of destinations are looked up once: there may be many inputs.
        let written = self.identities();
        if written.is_empty() {
            return Ok(());
        }
        // The index of one file is read, too.
        if let [Source::File(path) | Source::Part(path, _)] = sources {
            let index = IndexFile::path_of(path);
            refuse_file(&written, "an index", &index, &index.display().to_string())?;
        }
        sources.iter().try_for_each(|source| refuse_source(&written, source))
    }

    /// Refuses another file that is read. `what` says what it is: `an index`. An index is mapped into memory.
    /// If another writer made it shorter, a signal would end its reader.
    ///
    /// # Errors
    /// If a destination is this file.
    pub fn refuse(&self, what: &str, path: &Path) -> Result<(), Failure> {
        refuse_file(&self.identities(), what, path, &path.display().to_string())
    }

    /// Refuses another file that is read, if it is an input, too. `what` says what the file is: `the schema`.
    ///
    /// # Errors
    /// If an input is this file, under whatever name.
    #[cfg(feature = "json-schema")]
    pub fn refuse_twice(what: &str, path: &Path, sources: &[Source]) -> Result<(), Failure> {
        let Some(read @ Identity::File(..)) = identity(path) else { return Ok(()) };
        fn file(source: &Source) -> Option<&Path> {
            match source {
                Source::File(path) | Source::Part(path, _) => Some(path),
                Source::Stdin => Some(Path::new(STDIN)),
                Source::Column(inner, _) | Source::Values(inner, _) | Source::Records(inner, _) => {
                    file(inner)
                }
                _ => None,
            }
        }
        let is_same = |source: &&Source| file(source).and_then(identity).as_ref() == Some(&read);
        match sources.iter().find(is_same) {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!("{}: is both {what} and an input", path.display()))),
        }
    }

    /// The destinations that are regular files, or may become one.
    fn identities(&self) -> Vec<Destination> {
        // The files of a client are on another machine than the inputs of its server.
        if served::inputs().is_some() {
            return Vec::new();
        }
        let shown = |path: &Path| format!("`{}`", path.display());
        let results = match self.output {
            Some(path) => (path, format!("the output ({})", shown(path))),
            None => (Path::new(STDOUT), "the output (standard output)".to_owned()),
        };
        let rejects = self.rejects.map(|path| (path, format!("the file of `--rejects` ({})", shown(path))));
        let all = std::iter::once(results).chain(rejects);
        all.filter_map(|(path, shown)| Some(Destination { identity: identity(path)?, shown })).collect()
    }
}

const STDIN: &str = "/dev/stdin";
const STDOUT: &str = "/dev/stdout";

/// A file that is written, and its description in messages.
struct Destination {
    identity: Identity,
    shown: String,
}

fn refuse_source(written: &[Destination], source: &Source) -> Result<(), Failure> {
    let refuse = |path: &Path, name: &str| refuse_file(written, "an input", path, name);
    let named = |path: &PathBuf| refuse(path, &path.display().to_string());
    match source {
        Source::File(path) | Source::Part(path, _) | Source::Followed(path, ..) => named(path),
        Source::Stdin => refuse(Path::new(STDIN), &source.name()),
        Source::FollowedAll(all) => all.all_files().unwrap_or_default().iter().try_for_each(named),
        Source::Column(inner, _) | Source::Values(inner, _) | Source::Records(inner, _) => {
            refuse_source(written, inner)
        }
        // Others are no files.
        _ => Ok(()),
    }
}

fn refuse_file(written: &[Destination], what: &str, path: &Path, name: &str) -> Result<(), Failure> {
    let path = if path == Path::new("-") { Path::new(STDIN) } else { path };
    // Only a file that exists is read.
    let Some(read @ Identity::File(..)) = identity(path) else { return Ok(()) };
    match written.iter().find(|destination| destination.identity == read) {
        None => Ok(()),
        Some(Destination { shown, .. }) => Err(Failure::usage(format!("{name}: is both {what} and {shown}"))
            .with_help("write to another file, and rename it afterwards")),
    }
}

/// The identity of a regular file, which does not depend on its name.
#[derive(PartialEq, Eq)]
enum Identity {
    /// A file that exists.
    File(FileNumber),
    /// A file that would be made: its folder, and its name in the folder.
    New(PathBuf, OsString),
}

/// The identity of what a path names. `None` for a path that names no file: a pipe, or one in no folder.
fn identity(path: &Path) -> Option<Identity> {
    if let Ok(metadata) = path.metadata() {
        return metadata.is_file().then(|| file_number(path, &metadata)).flatten().map(Identity::File);
    }
    // Writing through a link makes the file that it names.
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = path.read_link() else { break };
        path = folder_of(&path).join(target);
    }
    Some(Identity::New(folder_of(&path).canonicalize().ok()?, path.file_name()?.to_owned()))
}

/// The most links that are followed from one to another, as Linux does.
const MOST_LINKS: usize = 40;

/// The folder that has a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The numbers of a device and of a file on it.
#[cfg(unix)]
type FileNumber = (u64, u64);

#[cfg(unix)]
fn file_number(_: &Path, metadata: &std::fs::Metadata) -> Option<FileNumber> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// The canonical path of a file.
#[cfg(not(unix))]
type FileNumber = PathBuf;

#[cfg(not(unix))]
fn file_number(path: &Path, _: &std::fs::Metadata) -> Option<FileNumber> {
    path.canonicalize().ok()
}
