//! The order of the parts of all inputs.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use warpath_core::cancel::Stop;
use warpath_core::error::Error;
use warpath_plan::PartColumns;

#[cfg(feature = "store")]
use super::leaves::ByLeaves;
#[cfg(feature = "store")]
use super::{Digest, Sampler};
use super::{Rest, Store};
use crate::document::{Parts, Whole};
use crate::input::{
    BYTE_ORDER_MARK, Buffers, Cut, MAX_LATENCY, OpenedSource, PartLines, PlainFile, Selection, Sequence,
    Source, Text,
};
#[cfg(feature = "store")]
use crate::input::{Contents, LoadedInput, lines, slice_end};
use crate::input::{Extract, FollowedLines, FollowedText, HeldLines, has_compressed_name, whole};
#[cfg(feature = "store")]
use crate::input::{Slice, StoredPart};

/// The input that a part belongs to.
#[derive(Clone, Default)]
pub struct Origin {
    /// The input's name.
    pub name: Arc<str>,
    /// The input's number, from 1 on.
    pub input: usize,
    /// True if parts of this input may come after those of other inputs.
    pub returns: bool,
}

/// The most files that are evaluated together.
const MOST_FILES: usize = 1024;

/// The framing in which documents are handed on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Each document as one line. An empty text is no document.
    Line,
    /// The bytes of the input unchanged, also if there are none.
    Text,
}

impl Framing {
    pub fn of<'a>(self, text: Text<'a>, buffers: &Arc<Buffers>) -> Result<Text<'a>, Error> {
        match self {
            Self::Line => text.flattened(buffers),
            Self::Text => Ok(text),
        }
    }
}

/// A part of an input.
pub(super) enum Job {
    /// A part that is still to be read: `size` bytes from `begin` on.
    Part { file: Arc<PlainFile>, begin: u64, size: usize },
    /// A group of a part of a store, by its number; still to be read, as texts of about `size` bytes.
    #[cfg(feature = "store")]
    Rows { part: Arc<StoredPart>, group: usize, slice: Slice, size: usize },
    /// Rows of a segment of a loaded input, by its number. They are still to be evaluated on its leaves, or
    /// to be decoded as texts of about `size` bytes.
    #[cfg(feature = "store")]
    Loaded { contents: Arc<Contents>, at: usize, rows: Range<u32>, by: Option<Arc<ByLeaves>>, size: usize },
    /// A text that was already read, from an input that is read in order.
    Text(Text<'static>),
    /// A document that is still to be read.
    Document(Arc<PlainFile>, Framing),
    /// A document that has been read.
    DocumentText(Text<'static>, Framing),
    /// Files that are one document each, still to be opened and read.
    Files(Vec<PathBuf>, Framing),
    /// A part of the elements of a document, by its number.
    Elements(Arc<Parts>, u64),
    /// Selected lines of some blocks, still to be read; about as many bytes as the last number.
    Selected(Arc<Selection>, Range<u64>, usize),
}

impl Job {
    /// Reads the lines of the job.
    pub fn read(self, buffers: &Arc<Buffers>) -> Cut<'static> {
        match self {
            Self::Part { file, begin, size } if buffers.are_unread() => {
                match file.lines(begin, size, buffers.longest()) {
                    Ok(PartLines::None) => Cut::default(),
                    Ok(PartLines::At(range)) => Cut::of(Ok(Text::unread(file, range))),
                    // Reading cuts the part in two, or finds the error.
                    Ok(PartLines::TooLong) => file.read(begin, size, buffers.longest(), buffers),
                    Err(error) => Cut::of(Err(error)),
                }
            }
            Self::Part { file, begin, size } => file.read(begin, size, buffers.longest(), buffers),
            #[cfg(feature = "store")]
            Self::Rows { part, group, slice, size } => part.read(group, slice, size, buffers),
            #[cfg(feature = "store")]
            Self::Loaded { contents, at, rows, by, size } => {
                read_loaded(&contents, at, rows, by.as_deref(), size, buffers)
            }
            Self::Text(text) => Cut { texts: vec![text], ..Cut::default() },
            Self::Document(file, framing) => {
                Cut::of(file.read_all(buffers).and_then(|text| framing.of(text, buffers)))
            }
            Self::DocumentText(text, framing) => Cut::of(framing.of(text, buffers)),
            Self::Files(paths, framing) => read_files(paths, framing),
            Self::Elements(parts, number) => parts.read(number, buffers),
            Self::Selected(selection, blocks, size) => {
                selection.read(blocks, size, buffers.longest(), buffers)
            }
        }
    }
}

/// The texts of files, up to the first one that cannot be read.
fn read_files(paths: Vec<PathBuf>, framing: Framing) -> Cut<'static> {
    let mut cut = Cut::default();
    for path in paths {
        let source = Source::File(path);
        let name = source.name().into();
        match source.read_whole() {
            Ok(mut bytes) => {
                let begin = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
                let whole = (framing == Framing::Line).then(|| Whole::of(&mut bytes[begin..]));
                let end = whole.as_ref().map_or(bytes.len(), |(_, len)| begin + len);
                let text = Text::kept(bytes[begin..end].into(), begin as u64);
                cut.texts.push(match whole {
                    Some((whole, _)) => text.with_extract(Extract::Whole(Arc::new(whole))),
                    None => text,
                });
                cut.names.push(name);
            }
            Err(error) => {
                cut.error = Some(error.into());
                break;
            }
        }
    }
    cut
}

/// The next work of a worker.
pub(super) enum Next {
    /// A job: read, index and evaluate it.
    Job(Job),
    /// A partition of a store, by its number. It is already indexed.
    Stored(Arc<dyn Store>, usize),
}

/// The source of partitions.
pub(super) enum Jobs {
    /// Inputs.
    Lines(Box<LineJobs>),
    /// A store, from this partition on, and lines after it.
    Store(Arc<dyn Store>, usize, Option<Box<LineJobs>>),
    /// Documents, each one record.
    Documents(DocumentJobs),
    /// The elements of one document, from part `next` on.
    Elements { parts: Arc<Parts>, origin: Origin, next: u64 },
    /// Selected lines of a file.
    Selected(Box<SelectedJobs>),
}

/// Documents that are one record each, one after the other. Each is opened when its turn comes.
pub(super) struct DocumentJobs {
    /// The origin of the previous document; the next ones follow it.
    pub origin: Origin,
    pub sources: VecDeque<Document>,
    /// Bytes that are read at first of an input that is not a plain file.
    pub size: usize,
    pub framing: Framing,
    /// True if an input without any text is handed on, too.
    pub with_empty: bool,
    /// True if small files are handed on together.
    pub together: bool,
    /// The most threads that decompress an input.
    pub decoders: usize,
    pub failed: bool,
}

/// A document.
pub(super) enum Document {
    Source(Source),
    /// A document that has been opened already.
    Plain(Arc<PlainFile>, Arc<str>),
}

impl Document {
    fn name(&self) -> Arc<str> {
        match self {
            Self::Source(source) => source.name().into(),
            Self::Plain(_, name) => name.clone(),
        }
    }
}

impl DocumentJobs {
    /// Inputs that are one document each, with small files together.
    pub fn together(sources: VecDeque<Document>, size: usize, framing: Framing) -> Self {
        let (origin, with_empty) = (Origin::default(), framing == Framing::Text);
        Self { origin, sources, size, framing, with_empty, together: true, decoders: 1, failed: false }
    }

    /// The next files that are small enough to be evaluated together, and the name of the first.
    fn small_files(&mut self) -> Option<(Vec<PathBuf>, Arc<str>)> {
        let (mut files, mut bytes, mut first) = (Vec::new(), 0, None);
        while files.len() < MOST_FILES
            && let Some(Document::Source(source @ Source::File(path))) = self.sources.front()
        {
            // A compressed file is longer than its metadata says.
            if has_compressed_name(path) {
                break;
            }
            let len = path.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
            match len {
                Some(len) if len <= (self.size as u64).saturating_sub(bytes) => bytes += len,
                _ => break,
            }
            first.get_or_insert_with(|| source.name().into());
            files.push(path.clone());
            self.sources.pop_front();
        }
        Some((files, first?))
    }

    /// All of an input that is read from start to end, as a document.
    fn whole(
        &self,
        mut sequence: Sequence,
        buffers: &Arc<Buffers>,
        stop: &Stop,
    ) -> Result<Option<Job>, Error> {
        let text = sequence.read_all(self.size, buffers, stop)?;
        let is_there = self.with_empty && !stop.is_set();
        let text = text.or_else(|| is_there.then(Text::empty));
        Ok(text.map(|text| Job::DocumentText(text, self.framing)))
    }

    /// The next job, as in [`LineJobs::next`].
    fn next(&mut self, buffers: &Arc<Buffers>, stop: &Stop) -> Option<(Origin, Result<Job, Error>)> {
        while !self.failed && !stop.is_set() {
            if self.together
                && let Some((files, name)) = self.small_files()
            {
                self.origin = Origin { name, input: self.origin.input + files.len(), returns: false };
                return Some((self.origin.clone(), Ok(Job::Files(files, self.framing))));
            }
            let document = self.sources.pop_front()?;
            self.origin = Origin { name: document.name(), input: self.origin.input + 1, returns: false };
            let framing = self.framing;
            let job = match document {
                Document::Plain(file, _) => Ok(Some(Job::Document(file, framing))),
                Document::Source(source) => {
                    source.open(self.decoders).map_err(Error::from).and_then(|opened| match opened {
                        OpenedSource::Plain(file) => Ok(Some(Job::Document(Arc::new(file), framing))),
                        OpenedSource::Followed(_) => {
                            Err(Error::Usage("followed files are read as lines only".into()))
                        }
                        OpenedSource::Sequence(sequence) => self.whole(sequence, buffers, stop),
                        #[cfg(feature = "store")]
                        OpenedSource::Stored(part) => {
                            self.whole(part.into_sequence(self.decoders)?, buffers, stop)
                        }
                        #[cfg(feature = "store")]
                        OpenedSource::Loaded(contents) => {
                            self.whole(LoadedInput::of(contents).into_sequence(), buffers, stop)
                        }
                        OpenedSource::Held(bytes) => {
                            let text = Some(whole(&bytes)).filter(|text| self.with_empty || text.len() > 0);
                            Ok(text.map(|text| Job::DocumentText(text, framing)))
                        }
                    })
                }
            };
            self.failed = job.is_err();
            if let Some(job) = job.transpose() {
                return Some((self.origin.clone(), job));
            }
        }
        None
    }
}

impl Jobs {
    /// The next job or stored partition, as in [`LineJobs::next`].
    pub fn next(&mut self, buffers: &Arc<Buffers>, stop: &Stop) -> Option<(Origin, Result<Next, Error>)> {
        match self {
            Self::Lines(jobs) => {
                let (origin, job) = jobs.next(buffers, stop)?;
                Some((origin, job.map(Next::Job)))
            }
            Self::Store(store, next, rest) => {
                let Some(origin) = store.origin(*next) else {
                    let (origin, job) = rest.as_mut()?.next(buffers, stop)?;
                    return Some((origin, job.map(Next::Job)));
                };
                if stop.is_set() {
                    return None;
                }
                *next += 1;
                Some((origin, Ok(Next::Stored(store.clone(), *next - 1))))
            }
            Self::Documents(documents) => {
                let (origin, job) = documents.next(buffers, stop)?;
                Some((origin, job.map(Next::Job)))
            }
            Self::Elements { parts, origin, next } => {
                if stop.is_set() || !parts.has(*next) {
                    return None;
                }
                *next += 1;
                Some((origin.clone(), Ok(Next::Job(Job::Elements(parts.clone(), *next - 1)))))
            }
            Self::Selected(parts) => {
                let job = parts.next().filter(|_| !stop.is_set())?;
                Some((parts.origin.clone(), Ok(Next::Job(job))))
            }
        }
    }

    /// Makes the parts grow, as in [`LineJobs::growing`]. Partitions of a store and documents keep their
    /// sizes.
    pub fn growing(self) -> Self {
        match self {
            Self::Lines(jobs) => Self::Lines(Box::new(jobs.growing())),
            Self::Selected(parts) => Self::Selected(Box::new(parts.growing())),
            other => other,
        }
    }

    /// Sets the most threads that decompress an input.
    pub fn with_decoders(mut self, decoders: usize) -> Self {
        match &mut self {
            Self::Lines(jobs) => jobs.decoders = decoders,
            Self::Documents(jobs) => jobs.decoders = decoders,
            // Stores, and inputs that are read in parts, are not compressed.
            Self::Store(..) | Self::Elements { .. } | Self::Selected(_) => {}
        }
        self
    }

    /// Sets the columns by which parts of a store are read.
    pub fn with_columns(mut self, columns: Option<&PartColumns>) -> Self {
        if let Self::Lines(jobs) = &mut self {
            jobs.columns = columns.cloned().map(Arc::new);
            #[cfg(feature = "store")]
            jobs.find_leaves();
        }
        self
    }

    /// True if there may be another part, as in [`LineJobs::may_go_on`].
    pub fn may_go_on(&self) -> bool {
        match self {
            Self::Lines(jobs) => jobs.may_go_on(),
            Self::Store(store, next, rest) => {
                store.origin(*next).is_some() || rest.as_ref().is_some_and(|rest| rest.may_go_on())
            }
            Self::Documents(documents) => !documents.failed && !documents.sources.is_empty(),
            Self::Elements { parts, next, .. } => parts.has(*next),
            Self::Selected(parts) => parts.next.is_some(),
        }
    }
}

/// Iterates over selected lines of a file.
pub(super) struct SelectedJobs {
    selection: Arc<Selection>,
    origin: Origin,
    /// True until the results that are known were given out.
    has_known: bool,
    /// The block from which on the next part is looked for; `None` after the last one.
    next: Option<u64>,
    /// Bytes of the next part, and the limit of its growth.
    size: usize,
    most: usize,
}

impl SelectedJobs {
    /// Parts for which about `size` bytes are read.
    pub fn new(selection: Arc<Selection>, size: usize) -> Self {
        let origin = Origin { name: selection.name().clone(), input: 1, returns: false };
        let has_known = selection.has_known();
        Self { selection, origin, has_known, next: Some(0), size, most: size }
    }

    /// Makes the parts grow, as in [`LineJobs::growing`].
    fn growing(self) -> Self {
        Self { size: (self.most / GROWTH).max(1), ..self }
    }

    /// The next part.
    fn next(&mut self) -> Option<Job> {
        if std::mem::take(&mut self.has_known) {
            return Some(Job::Selected(self.selection.clone(), 0..0, self.size));
        }
        let blocks = self.selection.part(self.next.take()?, self.size)?;
        let size = self.size;
        self.next = Some(blocks.end);
        self.size = (2 * size).min(self.most);
        Some(Job::Selected(self.selection.clone(), blocks, size))
    }
}

/// The next job of a loaded input: a whole segment, if its leaves are evaluated, else lines of a partition.
#[cfg(feature = "store")]
fn next_loaded(
    contents: &Arc<Contents>,
    next: &mut usize,
    row: &mut u32,
    by: Option<&Arc<ByLeaves>>,
    size: usize,
) -> Option<Job> {
    let at = *next;
    let placed = contents.segments.get(at)?;
    let rows = placed.segment.rows();
    let is_whole = by.is_some_and(|by| by.may_answer() || by.schema || by.selects());
    let (begin, end) = (*row, if is_whole { rows } else { slice_end(placed, *row, size) });
    (*next, *row) = if end == rows { (at + 1, 0) } else { (at, end) };
    Some(Job::Loaded { contents: contents.clone(), at, rows: begin..end, by: by.cloned(), size })
}

/// Reads rows of a segment: their results, if leaves have these, else their lines.
#[cfg(feature = "store")]
fn read_loaded(
    contents: &Arc<Contents>,
    at: usize,
    rows: Range<u32>,
    by: Option<&ByLeaves>,
    size: usize,
    buffers: &Arc<Buffers>,
) -> Cut<'static> {
    let Some(placed) = contents.segments.get(at) else { return Cut::default() };
    if by.is_some_and(|by| by.schema)
        && let Some(known) = contents.schema_of(at)
    {
        let text = Text::kept(Arc::new([]), placed.offset);
        return Cut { texts: vec![text.with_extract(Extract::Schema(Arc::new(known)))], ..Cut::default() };
    }
    let of_leaves = || {
        let Some(by) = by else { return Ok((None, None)) };
        Ok(match by.known(contents, at)? {
            Some(known) => (Some(known), None),
            None => (None, by.selected(contents, at)?),
        })
    };
    let selected = match of_leaves() {
        Ok((None, selected)) => selected,
        Ok((Some(known), _)) => {
            let text = Text::kept(Arc::new([]), placed.offset);
            return Cut {
                texts: vec![text.with_extract(Extract::Leaves(Arc::new(known)))],
                ..Cut::default()
            };
        }
        Err(error) => return Cut { error: Some(error), ..Cut::default() },
    };
    lines(contents, placed, rows, selected, size, buffers)
}

/// The factor by which the first part is shorter where parts grow; a power of two. Where parts grow to 1 MiB,
/// the first has 64 KiB, which are read and evaluated while a thread starts.
pub(super) const GROWTH: usize = 16;

/// Iterates over the parts of inputs, one input after the other. Each is opened when its turn comes.
pub(super) struct LineJobs {
    sources: std::vec::IntoIter<Source>,
    open: Option<Open>,
    origin: Origin,
    /// Bytes of the next part, and the limit of its growth.
    size: usize,
    most: usize,
    /// The longest time that a line waits for the lines after it, where an input may wait.
    latency: Duration,
    /// The most threads that decompress an input.
    decoders: usize,
    /// The columns by which parts of a store are read; `None` for all of their lines.
    columns: Option<Arc<PartColumns>>,
    /// The digest that workers make of the results, and the sampler that copies records, if any: leaves make
    /// digests, too.
    #[cfg(feature = "store")]
    summary: (Option<Arc<dyn Digest>>, Option<Arc<Sampler>>),
    /// The results that leaves of loaded inputs can have.
    #[cfg(feature = "store")]
    leaves: Option<Arc<ByLeaves>>,
    failed: bool,
}

enum Open {
    Plain {
        file: Arc<PlainFile>,
        next: u64,
        end: u64,
    },
    #[cfg(feature = "store")]
    Stored {
        part: Arc<StoredPart>,
        /// The next group, and the number of its rows that were read already.
        next: usize,
        read: u32,
    },
    #[cfg(feature = "store")]
    Loaded {
        contents: Arc<Contents>,
        /// The next segment, and the next of its rows.
        next: usize,
        row: u32,
    },
    Sequence(Sequence),
    Held(HeldLines<'static>),
    /// Several followed files. The first one has this number among the inputs.
    Followed(FollowedLines, usize),
}

impl LineJobs {
    /// Parts of about `size` bytes.
    pub fn new(sources: Vec<Source>, size: usize) -> Self {
        let sources = sources.into_iter();
        let (open, origin) = (None, Origin::default());
        Self {
            sources,
            open,
            origin,
            size,
            most: size,
            latency: MAX_LATENCY,
            decoders: 1,
            columns: None,
            #[cfg(feature = "store")]
            summary: (None, None),
            #[cfg(feature = "store")]
            leaves: None,
            failed: false,
        }
    }

    /// Sets the digest that workers make of the results, and the sampler that copies records.
    #[cfg(feature = "store")]
    pub fn with_digest(self, digest: Option<Arc<dyn Digest>>, sampler: Option<Arc<Sampler>>) -> Self {
        Self { summary: (digest, sampler), ..self }
    }

    /// Finds what is evaluated on leaves, if any input is loaded.
    #[cfg(feature = "store")]
    fn find_leaves(&mut self) {
        let is_loaded = |source: &Source| matches!(source, Source::Loaded(input) if input.levels().is_none());
        if let Some(columns) = &self.columns
            && self.sources.as_slice().iter().any(is_loaded)
        {
            let (digest, sampler) = self.summary.clone();
            let leaves = ByLeaves::new(columns, digest, sampler);
            self.leaves = Some(Arc::new(leaves));
        }
    }

    /// Parts of about `size` bytes of the lines after those of a store. They belong to the first input, too.
    pub fn of_rest(rest: Rest, size: usize) -> Self {
        let Rest { file, name, from } = rest;
        let open = Open::Plain { end: file.len(), file, next: from };
        let origin = Origin { name, input: 1, returns: false };
        Self { open: Some(open), origin, ..Self::new(Vec::new(), size) }
    }

    /// Sets the longest time that a line waits for the lines after it.
    pub fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Makes the parts grow. The first part is [`GROWTH`] times shorter than the full size. Each part is
    /// twice as long as the one before, until the full size is reached.
    pub fn growing(self) -> Self {
        Self { size: (self.most / GROWTH).max(1), ..self }
    }

    /// The next part, or an error; `None` at the end, after an error, and once `stop` is set.
    ///
    /// Inputs that are not plain files are read here, so that one thread reads while others evaluate.
    pub fn next(&mut self, buffers: &Arc<Buffers>, stop: &Stop) -> Option<(Origin, Result<Job, Error>)> {
        // A stopped sequence looks as if it had ended. No input after it must be opened.
        while !self.failed && !stop.is_set() {
            let next = match &mut self.open {
                None => {
                    let source = self.sources.next()?;
                    let range = source.range();
                    self.origin =
                        Origin { name: source.name().into(), input: self.origin.input + 1, returns: false };
                    match source.open(self.decoders) {
                        Ok(OpenedSource::Plain(file)) => {
                            let Range { start, end } = range.unwrap_or(0..file.len());
                            let (next, end) = (start, end.min(file.len()));
                            self.open = Some(Open::Plain { file: Arc::new(file), next, end });
                            continue;
                        }
                        Ok(OpenedSource::Sequence(sequence)) => {
                            self.open = Some(Open::Sequence(sequence.with_latency(self.latency)));
                            continue;
                        }
                        #[cfg(feature = "store")]
                        Ok(OpenedSource::Stored(part)) => {
                            let part = Arc::new(part.by_columns(self.columns.clone()));
                            self.open = Some(Open::Stored { part, next: 0, read: 0 });
                            continue;
                        }
                        #[cfg(feature = "store")]
                        Ok(OpenedSource::Loaded(contents)) => {
                            self.open = Some(Open::Loaded { contents, next: 0, row: 0 });
                            continue;
                        }
                        Ok(OpenedSource::Held(bytes)) => {
                            self.open = Some(Open::Held(HeldLines::new(self.origin.name.clone(), bytes)));
                            continue;
                        }
                        Ok(OpenedSource::Followed(lines)) => {
                            self.open = Some(Open::Followed(lines, self.origin.input));
                            continue;
                        }
                        Err(error) => Err(error.into()),
                    }
                }
                Some(Open::Followed(lines, first)) => {
                    let first = *first;
                    lines.next(self.size, buffers, stop).map(|part| {
                        part.map(|FollowedText { file, name, text }| {
                            self.origin = Origin { name, input: first + file, returns: true };
                            Job::Text(text)
                        })
                    })
                }
                Some(Open::Plain { file, next, end }) if *next < *end => {
                    let (begin, size) = (*next, (self.size as u64).min(*end - *next) as usize);
                    *next += self.size as u64;
                    Ok(Some(Job::Part { file: file.clone(), begin, size }))
                }
                Some(Open::Plain { .. }) => Ok(None),
                #[cfg(feature = "store")]
                Some(Open::Stored { part, next, read }) => {
                    let (group, size) = (*next, self.size);
                    // Parts grow because the first results may be all that are wanted.
                    let is_first = size < self.most && *read == 0;
                    let first = is_first.then(|| part.first_rows(group, size)).flatten();
                    let slice = match (first, *read) {
                        (Some(rows), _) => Slice::First(rows),
                        (None, 0) => Slice::All,
                        (None, read) => Slice::After(read),
                    };
                    (*next, *read) = first.map_or((group + 1, 0), |rows| (group, rows));
                    // The lines after the first ones take long, whatever their number.
                    self.size = if first.is_some() { self.most } else { self.size };
                    Ok((group < part.groups()).then(|| Job::Rows { part: part.clone(), group, slice, size }))
                }
                #[cfg(feature = "store")]
                Some(Open::Loaded { contents, next, row }) => {
                    Ok(next_loaded(contents, next, row, self.leaves.as_ref(), self.size))
                }
                Some(Open::Held(lines)) => lines.next(self.size).map(|text| text.map(Job::Text)),
                Some(Open::Sequence(sequence)) => {
                    sequence.next(self.size, buffers, stop).map(|text| text.map(Job::Text))
                }
            };
            let job = match next {
                Ok(None) => {
                    self.open = None;
                    continue;
                }
                Ok(Some(job)) => {
                    self.size = (2 * self.size).min(self.most);
                    Ok(job)
                }
                Err(error) => {
                    self.failed = true;
                    Err(error)
                }
            };
            return Some((self.origin.clone(), job));
        }
        None
    }

    /// True if there may be another part.
    pub fn may_go_on(&self) -> bool {
        let open = match &self.open {
            Some(Open::Plain { next, end, .. }) => next < end,
            #[cfg(feature = "store")]
            Some(Open::Stored { part, next, .. }) => *next < part.groups(),
            #[cfg(feature = "store")]
            Some(Open::Loaded { contents, next, .. }) => *next < contents.segments.len(),
            Some(Open::Held(lines)) => lines.may_go_on(),
            Some(Open::Sequence(_) | Open::Followed(..)) => true,
            None => false,
        };
        !self.failed && (open || self.sources.len() > 0)
    }
}
