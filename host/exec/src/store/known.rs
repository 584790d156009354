//! Inputs that a store knows, and what is new in them.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memrchr;
use warpath_core::error::{Error, InputError, StoreError};
use warpath_core::file::read_exact_at;
use warpath_core::stamp::Stamp;
use warpath_folder::{Folder, Input, Known, LocalStorage, Part, Snapshot};
use warpath_part::partial::lines as lines_of_group;
use warpath_shared::units::MAX_PARTITION_BYTES;

use super::StoreLocation;
use super::location::StoreFile;
use super::texts::Lines;
use crate::input::{Source, is_store};

/// Bytes that are read at once to find the begin of a file's last line.
const BLOCK_BYTES: u64 = 64 << 10;

/// The inputs of one addition, compared with those that the store knows.
#[derive(Default)]
pub(super) struct Inputs {
    /// The lines to add.
    pub fresh: Vec<Lines>,
    /// The names of inputs that the store has.
    pub known: Vec<String>,
    /// The ones of them whose time has changed.
    pub touched: Vec<String>,
    /// Inputs that become known.
    pub new: Vec<Input>,
    /// The known states of inputs, and their new ones.
    pub grown: Vec<(Input, Input)>,
    /// Lines of the store that had not ended when they were added, with the names of their files. They are
    /// among the fresh ones, whole.
    pub cut: Vec<(String, Vec<u8>)>,
    /// The names of files that have changed in another way than by growing.
    changed: Vec<String>,
    /// The files that are read from start to end, by their names.
    whole: Vec<(String, Input)>,
    /// The plain files of which a range is read, by their names. They may grow meanwhile.
    ranges: Vec<(String, Input)>,
}

/// The relation of a plain file that has more bytes than a store knows to the lines that the store has of it.
pub(super) enum Growth {
    /// The bytes from this offset on are new.
    From(u64),
    /// Only the newline of the last line is new.
    LineEnd,
    /// The store has the beginning of a line, which begins at this offset.
    Cut(u64, Vec<u8>),
    /// The store has other bytes.
    Changed,
}

impl Inputs {
    /// Compares inputs with the known ones, before a line is read.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with the names of all files that have changed, and those of files that cannot
    /// be read.
    pub fn new(
        sources: Vec<Source>,
        identities: Vec<Option<Input>>,
        snapshot: &Snapshot,
    ) -> Result<Self, Error> {
        check_stores(identities.iter().flatten(), snapshot)?;
        let mut inputs = Self::default();
        for (source, input) in sources.into_iter().zip(identities) {
            match input {
                None => inputs.fresh.push(Lines::Of(source)),
                // The same file may be named twice.
                Some(input) if inputs.has(&input.name) => inputs.known.push(source.name()),
                Some(input) => inputs.take(source, input, snapshot)?,
            }
        }
        match inputs.changed.is_empty() {
            true => Ok(inputs),
            false => Err(refused(&inputs.changed, &Known::Changed.to_string())),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.new.iter().chain(self.grown.iter().map(|(_, after)| after)).any(|input| input.name == name)
    }

    fn take(&mut self, source: Source, input: Input, snapshot: &Snapshot) -> Result<(), Error> {
        let before = snapshot.input(&input.name);
        match (snapshot.known(&input), before) {
            (Known::Same, before) => {
                if before.is_some_and(|before| *before != input) {
                    self.touched.push(source.name());
                }
                self.known.push(source.name());
            }
            (Known::New, _) | (_, None) if source.has_parts() => {
                self.ranges.push((source.name(), input.clone()));
                self.fresh.push(lines_of(&source, 0..input.size)?);
                self.new.push(input);
            }
            (Known::New, _) | (_, None) => {
                self.whole.push((source.name(), input.clone()));
                self.fresh.push(Lines::Of(source));
                self.new.push(input);
            }
            (Known::Grown, Some(before)) if source.has_parts() => self.grow(&source, before, input)?,
            _ => self.changed.push(source.name()),
        }
        Ok(())
    }

    fn grow(&mut self, source: &Source, before: &Input, input: Input) -> Result<(), Error> {
        let (name, path) = file_of(source);
        let failed = |error| Error::from(InputError::Io { name: name.clone(), source: error });
        let file = File::open(path).map_err(failed)?;
        let from = match growth(&name, &file, before, &input)? {
            Growth::From(from) => from,
            Growth::Cut(from, line) => {
                self.cut.push((source.name(), line));
                from
            }
            // The newline is stored with the next line.
            Growth::LineEnd => {
                self.known.push(source.name());
                return Ok(());
            }
            Growth::Changed => {
                self.changed.push(source.name());
                return Ok(());
            }
        };
        self.ranges.push((source.name(), input.clone()));
        self.fresh.push(lines_of(source, from..input.size)?);
        self.grown.push((before.clone(), input));
        Ok(())
    }

    /// Checks that the files still have the bytes that were read.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with the names of all files that have not.
    pub fn check(&self) -> Result<(), Error> {
        let mut changed = Vec::new();
        for (name, before) in &self.whole {
            let now = identified(&Source::File(PathBuf::from(&before.name)))?;
            if now.is_none_or(|now| now.known(Some(before)) != Known::Same) {
                changed.push(name.clone());
            }
        }
        // A plain file may have grown, but the bytes that were read have to be there.
        for (name, before) in &self.ranges {
            let file = File::open(&before.name).ok();
            let stamp = file.and_then(|file| Stamp::of_first(&file, before.size).ok());
            let stamp = stamp.map(|stamp| Input::new(before.name.clone(), &stamp));
            if !stamp.is_some_and(|stamp| stamp.has_samples_of(before)) {
                changed.push(name.clone());
            }
        }
        match changed.is_empty() {
            true => Ok(()),
            false => Err(refused(&changed, "changed while it was read; add it while nothing writes to it")),
        }
    }
}

/// Checks that the stores which inputs are parts of still have the parts that were added earlier. Otherwise
/// their lines may be in new parts, and nobody knows which.
fn check_stores<'a>(inputs: impl Iterator<Item = &'a Input>, snapshot: &Snapshot) -> Result<(), Error> {
    let folder_of = |input: &Input| Path::new(&input.name).parent().map(Path::to_owned);
    let folders: HashSet<PathBuf> = inputs.filter_map(folder_of).filter(|path| is_store(path)).collect();
    for path in folders {
        // A table of another program has other files.
        let Ok(folder) = Folder::open(LocalStorage::new(&path)) else { continue };
        let source = folder.snapshot();
        let is_gone = |input: &Input| {
            let name = Path::new(&input.name).strip_prefix(&path).ok().and_then(Path::to_str);
            name.is_some_and(|name| is_part(name) && source.part(name).is_none())
        };
        if snapshot.inputs().any(is_gone) {
            let reason =
                "is a store, and has other parts since it was added: `compact` or `drop` wrote them; \
                          lines of `warpath store text` are always added"
                    .to_owned();
            return Err(StoreError::Refused { name: path.display().to_string(), reason }.into());
        }
    }
    Ok(())
}

/// True if a file in a store is a part, and not one in a folder of it.
fn is_part(name: &str) -> bool {
    !name.contains(std::path::MAIN_SEPARATOR) && name.ends_with(".parquet")
}

/// The error for some files. `reason` is about one of them.
pub(super) fn refused(names: &[String], reason: &str) -> Error {
    let (name, reason) = match names {
        [name] => (name.clone(), reason.to_owned()),
        names => (names.join(", "), format!("each of these {} files {reason}", names.len())),
    };
    StoreError::Refused { name, reason }.into()
}

/// The identity of a file; `None` for an input that is no file.
pub(super) fn identified(source: &Source) -> Result<Option<Input>, Error> {
    let Source::File(path) = source else { return Ok(None) };
    let failed = |error| Error::from(InputError::Io { name: source.name(), source: error });
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let stamp = Stamp::of(&file).map_err(failed)?;
    // A name that is not UTF-8 has no form in the log, so such a file is added each time.
    let path = path.canonicalize().map_err(failed)?;
    Ok(path.to_str().map(|name| Input::new(name, &stamp)))
}

/// The lines in a range of a plain file's bytes. The file may grow meanwhile.
fn lines_of(source: &Source, range: Range<u64>) -> Result<Lines, Error> {
    let (name, path) = file_of(source);
    let failed = |error| Error::from(InputError::Io { name: name.clone(), source: error });
    let path = path.canonicalize().map_err(failed)?;
    let is_begin = range.start == 0;
    Ok(Lines::Plain { name, reader: Box::new(Exactly { path, file: None, range }), is_begin })
}

/// The relation of a file to its known state, as far as samples show. It has no fewer bytes than are known.
pub(super) fn growth(name: &str, file: &File, before: &Input, now: &Input) -> Result<Growth, Error> {
    let failed = |error| Error::from(InputError::Io { name: name.to_owned(), source: error });
    let stamp = Stamp::of_first(file, before.size).map_err(failed)?;
    if !Input::new(before.name.clone(), &stamp).has_samples_of(before) {
        return Ok(Growth::Changed);
    }
    let Some(last) = before.size.checked_sub(1) else { return Ok(Growth::From(0)) };
    let mut around = [0; 2];
    let around = if now.size > before.size { &mut around[..] } else { &mut around[..1] };
    read_exact_at(file, around, last).map_err(failed)?;
    if around[0] == b'\n' {
        return Ok(Growth::From(before.size));
    }
    if around.get(1) == Some(&b'\n') {
        // The line was complete, and the store ends it before the lines that follow.
        return Ok(match before.size + 1 {
            next if next < now.size => Growth::From(next),
            _ => Growth::LineEnd,
        });
    }
    let from = begin_of_line(file, before.size).map_err(failed)?;
    let len = before.size - from;
    if len > MAX_PARTITION_BYTES as u64 {
        let limit = MAX_PARTITION_BYTES;
        return Err(InputError::RecordTooLong { name: name.to_owned(), line: 1, limit }.into());
    }
    let mut line = vec![0; len as usize];
    read_exact_at(file, &mut line, from).map_err(failed)?;
    Ok(Growth::Cut(from, line))
}

/// The offset at which the line begins whose last byte that is known is before `end`.
fn begin_of_line(file: &File, end: u64) -> io::Result<u64> {
    let (mut to, mut block) = (end, Vec::new());
    while to > 0 {
        let from = to.saturating_sub(BLOCK_BYTES);
        block.resize((to - from) as usize, 0);
        read_exact_at(file, &mut block, from)?;
        if let Some(at) = memrchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        to = from;
    }
    Ok(0)
}

fn file_of(source: &Source) -> (String, &Path) {
    match source {
        Source::File(path) => (source.name(), path),
        _ => (source.name(), Path::new("")),
    }
}

/// The lines of a part, by their numbers from 0 on, ascending.
pub(super) type LinesOf = (Part, Vec<u64>);

/// Finds the lines that had not ended when their files were added: each is the last line of a part, and lacks
/// a newline. No other line is taken for one, though it may have the same bytes.
///
/// # Errors
/// [`Error::Store`] for a line that is not there any more, and for a part that is damaged.
pub(super) fn find_open_lines(
    location: &StoreLocation,
    folder: &Folder,
    wanted: &[(String, Vec<u8>)],
) -> Result<Vec<LinesOf>, Error> {
    let (mut missing, mut all): (Vec<_>, _) = (wanted.iter().collect(), Vec::new());
    for part in folder.snapshot().parts().rev() {
        if missing.is_empty() {
            break;
        }
        let line = last_line(&location.file(part))?;
        if let Some(at) = missing.iter().position(|(_, wanted)| *wanted == line) {
            missing.remove(at);
            all.push((part.clone(), vec![part.rows.saturating_sub(1)]));
        }
    }
    let names: Vec<String> = missing.into_iter().map(|(name, _)| name.clone()).collect();
    match names.is_empty() {
        true => Ok(all),
        false => Err(refused(
            &names,
            "had a last line that was not complete when it was added, and `compact` or `drop` changed that line \
             since; add its new lines as another file",
        )),
    }
}

/// The last line of a part.
fn last_line(file: &StoreFile) -> Result<Vec<u8>, Error> {
    let (reader, mut line) = (file.open()?, Vec::new());
    let rows = |group: &usize| reader.size(*group).is_some_and(|size| size.rows > 0);
    if let Some(group) = (0..reader.groups()).rev().find(rows) {
        let rows = reader.size(group).map_or(0, |size| size.rows);
        let read = lines_of_group(&reader, group, rows.saturating_sub(1)..rows, None, &mut line);
        read.map_err(|error| {
            Error::from(StoreError::Damaged { name: file.shown(), reason: error.to_string() })
        })?;
    }
    Ok(line)
}

/// A range of a file's bytes. The file is open only while it is read, because there may be many. An end
/// before all of the bytes is an error.
struct Exactly {
    path: PathBuf,
    file: Option<File>,
    range: Range<u64>,
}

impl Read for Exactly {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.range.end - self.range.start;
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        if left == 0 {
            self.file = None;
            return Ok(0);
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut file = File::open(&self.path)?;
                file.seek(SeekFrom::Start(self.range.start))?;
                self.file.insert(file)
            }
        };
        let count = file.read(&mut room[..most])?;
        if count == 0 && most > 0 {
            return Err(io::Error::other("the file became shorter while it was read"));
        }
        self.range.start += count as u64;
        Ok(count)
    }
}
