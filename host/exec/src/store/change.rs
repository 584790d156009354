//! Lines that are removed from a store, and parts that become one.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use memchr::memchr_iter;
use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_core::temporary::OutputMode;
use warpath_folder::{Change, Folder, Part};
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};

use super::add::{PART_BYTES, PartsWriter};
use super::location::StoreFile;
use super::texts::{Lines, Texts};
use super::{Store, StoreLocation, of_part, resident};
use crate::engine::Engine;
use crate::input::Source;

/// Bytes of text of a row group that is written again.
pub(super) const GROUP_BYTES: usize = 64 << 20;

/// Totals of a change of a store.
///
/// ```
/// use warpath::store::{AddOptions, Store};
/// use warpath::{Engine, Predicate, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// let lines = || Source::Reader("log".into(), Box::new(&b"{\"id\":1}\n{\"id\":2}\n"[..]));
/// Store::add(&path, vec![lines()], AddOptions::default(), &mut |_| {})?;
/// let engine = Engine::builder().build()?;
/// let changed = Store::drop_matching(&path, &engine, &Predicate::parse("$.id < 2")?)?;
/// assert_eq!((changed.parts_before, changed.parts_after, changed.lines_removed), (1, 1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewritten {
    /// Parts that were removed.
    pub parts_before: usize,
    /// Parts that were written in their place.
    pub parts_after: usize,
    /// Lines that were removed.
    pub lines_removed: u64,
}

/// Settings of [`Store::compact_with`].
///
/// ```
/// use warpath::Source;
/// use warpath::store::{AddOptions, CompactOptions, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// for line in [&b"{\"id\":1}\n"[..], b"{\"id\":2}\n"] {
///     let source = Source::Reader("log".into(), Box::new(line));
///     Store::add(&path, vec![source], AddOptions::default(), &mut |_| {})?;
/// }
/// Store::compact_with(&path, CompactOptions::default().resident(true))?;
/// assert_eq!(Store::open(&path)?.parts()?[0].resident_groups, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CompactOptions {
    /// True if all parts get a [resident form](super::AddOptions::resident). Otherwise a new part has one if
    /// most of the text of its old parts has one.
    pub(super) resident: bool,
}

impl CompactOptions {
    /// Sets whether all parts get a resident form, those that are not merged, too.
    #[must_use]
    pub fn resident(self, resident: bool) -> Self {
        Self { resident }
    }
}

impl Store {
    /// Removes the lines whose records match a predicate. Lines that are no records stay. Parts without such
    /// a line stay as they are. The others keep their [resident form](super::AddOptions::resident).
    ///
    /// # Errors
    /// [`Error::Store`] for a store that is damaged, or if another writer removed one of the parts meanwhile;
    /// the errors of the predicate's evaluation.
    pub fn drop_matching(
        location: impl Into<StoreLocation>,
        engine: &Engine,
        predicate: &Predicate,
    ) -> Result<Rewritten, Error> {
        let location = &location.into();
        let mut folder = location.open(OutputMode::default())?;
        let record = Program::new(&[Query::compile("$")?])?;
        let (mut changed, mut total) = (Vec::new(), Rewritten::default());
        for part in folder.snapshot().parts() {
            let file = location.file(part);
            let lines = matching(engine, &record, predicate, &file)?;
            if lines.is_empty() {
                continue;
            }
            total.lines_removed += lines.len() as u64;
            let is_all = lines.len() as u64 == part.rows;
            changed.push((part.name.clone(), if is_all { None } else { Some((file, lines)) }));
        }
        if changed.is_empty() {
            return Ok(total);
        }
        let kept = changed.iter().filter_map(|(_, text)| text.as_ref());
        let mode = kept.fold(OutputMode::default(), |mode, (file, _)| file.and_mode(mode));
        let mut writer = PartsWriter::new(location, Some(&folder), mode)?;
        let mut replaced = Vec::new();
        for (name, text) in changed {
            let parts = match text {
                Some((file, lines)) => writer.write_without(&file, lines)?,
                None => Vec::new(),
            };
            replaced.push((name, parts));
        }
        total.parts_before = replaced.len();
        total.parts_after = writer.parts.len();
        let change = Change { operation: "DELETE".to_owned(), replaced, ..Change::default() };
        writer.commit(&mut folder, change).map_err(|error| location.failed(error))?;
        Ok(total)
    }

    /// Merges parts that follow one another, as long as they have less than 1 GiB of text together.
    ///
    /// # Errors
    /// [`Error::Store`] for a store that is damaged, or if another writer removed one of the parts meanwhile.
    pub fn compact(location: impl Into<StoreLocation>) -> Result<Rewritten, Error> {
        Self::compact_with(location, CompactOptions::default())
    }

    /// Merges parts as [`compact`](Self::compact) does, with settings.
    ///
    /// # Errors
    /// The errors of [`compact`](Self::compact).
    pub fn compact_with(
        location: impl Into<StoreLocation>,
        options: CompactOptions,
    ) -> Result<Rewritten, Error> {
        let location = &location.into();
        let mut total = Self::merge(location, options, next_run)?;
        if options.resident {
            Self::add_forms(location, &mut total)?;
        }
        Ok(total)
    }

    /// Writes each part that lacks the resident form of a row group once more. A group whose form is too long
    /// has none then, too.
    fn add_forms(location: &StoreLocation, total: &mut Rewritten) -> Result<(), Error> {
        let parts: Vec<Part> = location.open(OutputMode::default())?.snapshot().parts().cloned().collect();
        for part in parts {
            let file = location.file(&part);
            if resident::is_whole(&*file.open()?).map_err(|error| of_part(&file.shown(), error))? {
                continue;
            }
            let mut folder = location.open(OutputMode::default())?;
            let mut writer = PartsWriter::new(location, Some(&folder), file.and_mode(OutputMode::default()))?;
            writer.write(Texts::new(vec![Lines::Of(file.source())], GROUP_BYTES), true, &mut |_| {})?;
            Self::replace(location, &mut folder, &[part], writer, total)?;
        }
        Ok(())
    }

    /// Makes a version with new parts for others that have the same lines.
    fn replace(
        location: &StoreLocation,
        folder: &mut Folder,
        old: &[Part],
        writer: PartsWriter<'_>,
        total: &mut Rewritten,
    ) -> Result<(), Error> {
        total.parts_before += old.len();
        total.parts_after += writer.parts.len();
        let removed = old.iter().map(|part| part.name.clone()).collect();
        let (operation, added) = ("OPTIMIZE".to_owned(), writer.parts.clone());
        let change = Change { operation, removed, added, same_rows: true, ..Change::default() };
        writer.commit(folder, change).map_err(|error| location.failed(error))
    }

    /// Merges the last parts, if at least 32 parts with less than 4 MiB of text follow one another there. A
    /// program that adds few lines at a time calls this after each addition: a store then has few small
    /// parts, and a line is written again only while its part is small.
    ///
    /// # Errors
    /// The errors of [`compact`](Self::compact).
    pub fn compact_last(location: impl Into<StoreLocation>) -> Result<Rewritten, Error> {
        Self::merge(&location.into(), CompactOptions::default(), last_run)
    }

    /// Merges the runs of parts that `next` finds: it gets all parts, and the number of the first that may be
    /// in a run.
    fn merge(
        location: &StoreLocation,
        options: CompactOptions,
        next: impl Fn(&[Part], usize) -> Option<Range<usize>>,
    ) -> Result<Rewritten, Error> {
        let (mut total, mut first) = (Rewritten::default(), 0);
        loop {
            let mut folder = location.open(OutputMode::default())?;
            let parts: Vec<Part> = folder.snapshot().parts().cloned().collect();
            let Some(range) = next(&parts, first) else { return Ok(total) };
            let run = &parts[range.clone()];
            let sources = || run.iter().map(|part| location.file(part).source()).collect::<Vec<_>>();
            let mut writer = PartsWriter::new(location, Some(&folder), Source::output_mode(&sources()))?;
            let resident = options.resident || has_mostly_form(location, run)?;
            let lines = sources().into_iter().map(Lines::Of).collect();
            writer.write(Texts::new(lines, GROUP_BYTES), resident, &mut |_| {})?;
            if writer.parts.len() >= run.len() {
                // Parts that begin with a byte order mark do not go into others. The last one may go with
                // those after it.
                first = range.end - 1;
                continue;
            }
            Self::replace(location, &mut folder, run, writer, &mut total)?;
        }
    }
}

/// Totals of [`Store::vacuum`].
///
/// ```
/// use std::time::Duration;
/// use warpath::store::{AddOptions, Store};
/// use warpath::Source;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// for line in [&b"{\"id\":1}\n"[..], b"{\"id\":2}\n"] {
///     let source = Source::Reader("log".into(), Box::new(line));
///     Store::add(&path, vec![source], AddOptions::default(), &mut |_| {})?;
/// }
/// Store::compact(&path)?;
/// // The parts that were merged are read by nobody who opens the store now.
/// assert_eq!(Store::vacuum(&path, Duration::from_secs(3600))?.files, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vacuumed {
    /// Files that were removed.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// Removes the files that the store does not need: parts that a change removed, and what additions that
    /// did not end have left. Files that Warpath did not write stay. A file stays for at least the time
    /// `keep` after that. Readers and writers that began before `keep` may fail, so it should be longer than
    /// any of them takes.
    ///
    /// # Errors
    /// [`Error::Store`] for a store that is damaged, and for files that cannot be removed.
    pub fn vacuum(location: impl Into<StoreLocation>, keep: Duration) -> Result<Vacuumed, Error> {
        let location = &location.into();
        // A time before all files keeps them all.
        let before = SystemTime::now().checked_sub(keep).unwrap_or(SystemTime::UNIX_EPOCH);
        let is_part = |name: &str| location.is_unfinished(name);
        let removed = location.open(OutputMode::default())?.vacuum(before.into(), &is_part);
        let removed = removed.map_err(|error| location.failed(error))?;
        Ok(Vacuumed { files: removed.len(), bytes: removed.iter().map(|file| file.size).sum() })
    }
}

/// True if parts with most of the text of a run have a resident form.
fn has_mostly_form(location: &StoreLocation, run: &[Part]) -> Result<bool, Error> {
    let (mut with, mut all) = (0_u128, 0_u128);
    for part in run {
        let file = location.file(part);
        let is_with = resident::is_in(&*file.open()?).map_err(|error| of_part(&file.shown(), error))?;
        all += u128::from(part.text_bytes);
        with += if is_with { u128::from(part.text_bytes) } else { 0 };
    }
    Ok(2 * with > all)
}

/// The first parts from `start` on that follow one another and become one: at least two, with no more text
/// than a part has.
fn next_run(parts: &[Part], mut start: usize) -> Option<Range<usize>> {
    while start < parts.len() {
        let mut bytes = 0_u64;
        let more = parts[start..].iter().take_while(|part| {
            bytes = bytes.saturating_add(part.text_bytes);
            bytes <= PART_BYTES
        });
        match more.count() {
            0 | 1 => start += 1,
            count => return Some(start..start + count),
        }
    }
    None
}

/// The number of small parts that become one, and the bytes of text that such a part has less than.
const SMALL_PARTS: usize = 32;
const SMALL_BYTES: u64 = 4 << 20;

/// The small parts at the end, if at least [`SMALL_PARTS`] follow one another there.
fn last_run(parts: &[Part], start: usize) -> Option<Range<usize>> {
    let small = parts[start..].iter().rev().take_while(|part| part.text_bytes < SMALL_BYTES).count();
    (small >= SMALL_PARTS).then(|| parts.len() - small..parts.len())
}

/// The numbers of the lines whose records match, counted from 0, ascending.
fn matching(
    engine: &Engine,
    record: &Program,
    predicate: &Predicate,
    part: &StoreFile,
) -> Result<Vec<u64>, Error> {
    let mut lines = Vec::new();
    let input = engine.input(vec![part.source()]).matching(predicate);
    for batch in input.answers(record.clone(), Want::new().records(true).partial(true)) {
        let batch = batch?;
        for (first, piece) in batch.pieces() {
            lines.extend(piece.records.iter().map(|line| batch.line(first + u64::from(*line))));
        }
    }
    Ok(lines)
}

/// The text of a part without some lines.
pub(super) struct Without {
    text: Texts,
    /// The numbers of the lines to leave out, ascending.
    lines: VecDeque<u64>,
    /// The number of the next line.
    line: u64,
    left: Vec<u8>,
    taken: usize,
}

impl Without {
    /// The lines of a part, except those of these numbers, which count from 0 and ascend.
    pub fn new(part: &StoreFile, lines: Vec<u64>) -> Self {
        let text = Texts::new(vec![Lines::Of(part.source())], GROUP_BYTES);
        Self { text, lines: lines.into(), line: 0, left: Vec::new(), taken: 0 }
    }
}

impl std::io::Read for Without {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.left.len() {
            let Some(text) = self.text.next().map_err(std::io::Error::other)? else { return Ok(0) };
            self.left.clear();
            self.taken = 0;
            let mut from = 0;
            let ends = memchr_iter(b'\n', &text.bytes).map(|at| at + 1);
            let last = (text.bytes.last() != Some(&b'\n')).then_some(text.bytes.len());
            for end in ends.chain(last) {
                if self.lines.front() == Some(&self.line) {
                    self.lines.pop_front();
                } else {
                    self.left.extend_from_slice(&text.bytes[from..end]);
                }
                from = end;
                self.line += 1;
            }
        }
        let read = (&self.left[self.taken..]).read(room)?;
        self.taken += read;
        Ok(read)
    }
}
