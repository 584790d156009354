//! The writer of index files.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use warpath_core::error::{Error, IndexError, InputError};
use warpath_core::stamp::{Stamp, hash};
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_cpu::host_index::HostIndex;
use warpath_plan::{Evaluated, Facts};
use warpath_shared::units::Level;

use super::layout::{self, HEADER_BYTES, IndexHeader, PartitionEntry};
use crate::engine::Engine;
use crate::input::{Inputs, PlainFile, Source, Text};
use crate::stream::{EachValue, Ordered};
use crate::trace::Operation;

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

/// Makes the index file of an input.
pub(super) fn build(
    engine: &Engine,
    input: &Path,
    output: &Path,
    levels: Level,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    engine.wants_lines("an index file requires NDJSON input")?;
    let file = open(input)?;
    let input_failed = |source| Error::from(InputError::Io { name: input.display().to_string(), source });
    let failed = |source| Error::Output { name: output.display().to_string(), source };
    if let (Ok(from), Ok(to)) = (input.canonicalize(), output.canonicalize())
        && from == to
    {
        return Err(Error::Usage(format!("{}: is both the input and the output", input.display())));
    }
    let before = Stamp::of(&file).map_err(input_failed)?;
    let len = text_bytes(&file, input)?;
    let sources = vec![Source::File(input.to_owned())];
    let inputs = Inputs::Sources(sources);
    let facts = Facts::new(inputs.access(), engine.format());
    let mut chosen = engine.choose_to_store(facts.bytes.plain())?;
    let plan = engine.plan(&chosen, Evaluated::Structure, false, facts, Vec::new())?;
    chosen.begin(Operation::IndexFile, || inputs.names());
    let backend = chosen.backend().clone();
    let make = move |_, text: &Text<'_>| {
        let index = if backend.abilities().uses_index_files {
            HostIndex::build(text.bytes(), levels)
        } else {
            HostIndex::from(backend.index(text.bytes(), levels)?)
        };
        layout::encode(text.bytes(), text.offset(), &index, levels).map_err(Error::Internal)
    };
    let (temporary, mut out) =
        Temporary::beside(output, OutputMode::default().and_open(&file)).map_err(failed)?;
    out.write_all(&[0; HEADER_BYTES]).map_err(failed)?;
    let mut place = HEADER_BYTES as u64;
    let mut table: Vec<PartitionEntry> = Vec::new();
    let lines = |(_, entry): &(Vec<u8>, PartitionEntry)| entry.lines.into();
    for made in Ordered::<EachValue<_>>::of_each(inputs, &chosen, plan, lines, make) {
        let (_, (bytes, mut entry)) = made?;
        out.write_all(&bytes).map_err(failed)?;
        entry.place = place;
        place += bytes.len() as u64;
        progress(entry.end());
        table.push(entry);
    }
    // The indexed text has to be the whole file: if the last line became longer meanwhile, it was read to its
    // new end. A file that is only a byte order mark has no partition.
    let read = table.last().map_or(len.min(3), PartitionEntry::end);
    if Stamp::of(&file).map_err(input_failed)? != before || read != len {
        return Err(IndexError::Unsettled { input: input.display().to_string() }.into());
    }
    let bytes = layout::encode_table(&table);
    out.write_all(&bytes).map_err(failed)?;
    let header = IndexHeader {
        levels,
        stamp: before,
        partitions: u32::try_from(table.len())
            .map_err(|_| Error::Usage("there are more partitions than 2³²; make them larger".into()))?,
        lines: table.iter().map(|entry| u64::from(entry.lines)).sum(),
        faulty: table.iter().map(|entry| u64::from(entry.faults)).sum(),
        table_place: place,
        file_bytes: place + bytes.len() as u64,
        table_checksum: hash(&bytes),
    };
    let written = out.seek(SeekFrom::Start(0)).and_then(|_| out.write_all(&header.encode()));
    written.and_then(|()| temporary.rename()).map_err(failed)
}
