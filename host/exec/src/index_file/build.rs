//! The writer of index files.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use warpath_core::error::{Error, IndexError, InputError};
use warpath_core::stamp::Stamp;
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_cpu::host_index::HostIndex;
use warpath_part::file::{Error as PartError, Options, Writer};
use warpath_part::group::{Layout, Node, Tree};
use warpath_plan::{Evaluated, Facts};
use warpath_shared::units::Level;
use warpath_store::bitmap::BitmapIndex;

use super::layout::{self, IndexFacts};
use super::{IndexFile, IndexSpec};
use crate::bitmap::build::{build as build_columns, build_matches};
use crate::engine::Engine;
use crate::input::{Buffers, Inputs, PlainFile, Source, Text};
use crate::stream::{EachValue, Ordered};
use crate::trace::Operation;

impl IndexFile {
    /// Makes the index of a plain file, with `levels` levels, and opens it. An index that is there is
    /// replaced. It is written to a temporary file, and renamed when it is complete. Who may not read the
    /// input may not read the index.
    ///
    /// # Errors
    /// * The errors of the input, except malformed records.
    /// * [`Error::Output`] if the index cannot be written.
    /// * [`Error::Index`] if the input is compressed, is not a file, or has changed meanwhile.
    pub fn build(engine: &Engine, input: impl AsRef<Path>, levels: Level) -> Result<Self, Error> {
        Self::build_as(engine, input, &IndexSpec::new(levels))
    }

    /// Makes the index of a file, as [`build`](Self::build) does, with columns.
    ///
    /// # Errors
    /// The errors of [`build`](Self::build). [`Error::Query`] for a path that is none. [`Error::Usage`] for a
    /// path that may find several values of a record, for equal names, and for values that cannot be cut as
    /// wanted.
    pub fn build_as(engine: &Engine, input: impl AsRef<Path>, spec: &IndexSpec) -> Result<Self, Error> {
        Self::build_watched(engine, input, spec, &mut |_| {})
    }

    /// Makes the index of a file, as [`build_as`](Self::build_as) does. Calls `progress` now and then with
    /// the bytes of text that have been indexed.
    ///
    /// # Errors
    /// The errors of [`build_as`](Self::build_as).
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn build_watched(
        engine: &Engine,
        input: impl AsRef<Path>,
        spec: &IndexSpec,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        let output = Self::path_of(&input);
        build(engine, input.as_ref(), &output, spec, progress)?;
        Self::open(output)
    }
}

/// Opens a regular file.
fn open(input: &Path) -> Result<File, Error> {
    let name = input.display().to_string();
    let failed = |source| InputError::Io { name: name.clone(), source };
    let metadata = input.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(InputError::Directory(input.to_owned()).into());
    }
    if !metadata.is_file() {
        return Err(IndexError::NotPlain { input: name, why: "is not a regular file" }.into());
    }
    Ok(File::open(input).map_err(failed)?)
}

/// Bytes of the text of a file that can be read at any offset.
fn text_bytes(file: &File, input: &Path) -> Result<u64, Error> {
    let name = input.display().to_string();
    let file = file.try_clone().map_err(|source| InputError::Io { name: name.clone(), source })?;
    match PlainFile::of(file, &name)? {
        Some(file) => Ok(file.len()),
        None => Err(IndexError::NotPlain { input: name, why: "is compressed" }.into()),
    }
}

/// The columns of an index, over `lines` lines. `None` if it has none.
fn bins(engine: &Engine, input: &Path, spec: &IndexSpec, lines: u64) -> Result<Option<BitmapIndex>, Error> {
    let ids = (0..spec.subscriptions.len()).filter_map(|number| spec.subscriptions.id(number));
    let mut names: HashSet<&str> = spec.columns.iter().map(|column| column.name.as_str()).collect();
    if let Some(twice) = ids.into_iter().find(|id| !names.insert(id)) {
        return Err(Error::Usage(format!("two columns have the name `{twice}`")));
    }
    let mut all = Vec::new();
    if !spec.columns.is_empty() {
        all.push(build_columns(engine, input, &spec.columns)?.0);
    }
    if !spec.subscriptions.is_empty() {
        all.push(build_matches(engine, input, &spec.subscriptions)?);
    }
    let mut all = all.into_iter();
    let Some(mut built) = all.next() else { return Ok(None) };
    for more in all {
        built = built.joined(more);
    }
    if built.rows != lines {
        return Err(IndexError::Unsettled { input: input.display().to_string() }.into());
    }
    BitmapIndex::from_built(built).map(Some)
}

/// The tree of a part without columns.
fn no_columns() -> Tree {
    Tree { nodes: vec![Node { parent: 0, name: String::new(), layout: Layout::Struct }] }
}

/// Makes the index file of an input.
fn build(
    engine: &Engine,
    input: &Path,
    output: &Path,
    spec: &IndexSpec,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    engine.wants_lines("an index file requires NDJSON input")?;
    let (file, levels) = (open(input)?, spec.levels);
    let input_failed = |source| Error::from(InputError::Io { name: input.display().to_string(), source });
    let failed = |source| Error::Output { name: output.display().to_string(), source };
    let part_failed = |error| match error {
        PartError::Io(source) => failed(source),
        error => Error::Internal(error.to_string()),
    };
    let stamp = Stamp::of(&file).map_err(input_failed)?;
    let len = text_bytes(&file, input)?;
    let sources = vec![Source::File(input.to_owned())];
    let inputs = Inputs::Sources(sources);
    let facts = Facts::new(inputs.access(), engine.format());
    let mut chosen = engine.choose_to_store(facts.bytes.plain())?;
    let plan = engine.plan(&chosen, Evaluated::Structure, false, facts, Vec::new())?;
    chosen.begin(Operation::IndexFile, || inputs.names());
    let backend = chosen.backend().clone();
    let make = move |_, text: &mut Text<'_>| {
        let index = if backend.abilities().uses_index_files {
            HostIndex::build(text.bytes(), levels)
        } else {
            HostIndex::from(backend.index(text.bytes(), levels)?)
        };
        let group = layout::encode(text.bytes(), &index, levels).map_err(Error::Internal)?;
        Ok((group, text.offset()))
    };
    let (temporary, out) =
        Temporary::beside(output, OutputMode::default().and_open(&file)).map_err(failed)?;
    // A query reads the first levels of a partition as they are. Compressed ones would be smaller and slower.
    let options = Options { section_level: None, section_align: 64, workers: 1, ..Options::default() };
    let mut writer = Writer::new(BufWriter::new(out), options).map_err(part_failed)?;
    let tree = no_columns();
    let mut facts = IndexFacts { stamp, begin: 0, levels, lines: 0, faulty: 0, columns: 0 };
    // The end of the text that was read. A file that is only a byte order mark has no partition.
    let mut end = None;
    let lines = |(group, _): &_| layout::counts(group).0;
    let buffers = Buffers::new(chosen.backend().clone());
    for made in Ordered::<EachValue<_>>::of_each(inputs, &chosen, plan, buffers, lines, make) {
        let (_, (group, offset)) = made?;
        writer.write(&tree, &group).map_err(part_failed)?;
        if end.is_none() {
            facts.begin = offset;
        }
        end = Some(offset + group.text_len);
        progress(offset + group.text_len);
        let (lines, faulty) = layout::counts(&group);
        facts.lines += lines;
        facts.faulty += faulty;
    }
    if let Some(bins) = bins(engine, input, spec, facts.lines)? {
        facts.columns = bins.columns().len() as u64;
        writer.write(&tree, &layout::encode_bins(&bins)).map_err(part_failed)?;
    }
    // The indexed text has to be the whole file: if the last line became longer meanwhile, it was read to its
    // new end.
    if Stamp::of(&file).map_err(input_failed)? != stamp || end.unwrap_or(len.min(3)) != len {
        return Err(IndexError::Unsettled { input: input.display().to_string() }.into());
    }
    writer.finish(&tree, &facts.encode()).map_err(part_failed)?;
    temporary.rename().map_err(failed)
}
