//! The writer of packed files: groups of whole lines, one after the other, so that a packed file may be
//! written to a pipe.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use memchr::memchr_iter;
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::stamp::hash;
use warpath_core::temporary::{Temporary, is_special};
use warpath_store::fsst::train;
use warpath_store::fsst::train::Sample;
use warpath_store::packed::group::group;
use warpath_store::packed::layout;
use warpath_store::packed::layout::{GroupEntry, Trailer};

use crate::input::{LineGroups, Source};

/// Bytes of text of a group by default: the amount that a device decodes and evaluates at once.
pub const DEFAULT_GROUP_BYTES: usize = 16 << 20;

/// Groups that are compressed at the same time, with one table. Training a table takes 25 ms; compressing 64
/// MiB on one core takes about 150.
const TOGETHER: usize = 4;

/// The least bytes of text that are compressed at the same time, if groups are small.
const TOGETHER_BYTES: usize = 4 << 20;

/// Settings of a packed file.
///
/// ```
/// use warpath::Source;
/// use warpath::packed::{PackOptions, pack_to};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"a\":1}\n{\"a\":2}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// // A group for each line. Small groups cost space, and less is decoded for one line.
/// let stats = pack_to(source, &mut Vec::new(), "log.wpk", PackOptions::default().group_bytes(8))?;
/// assert_eq!(stats.groups, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackOptions {
    /// Bytes of text of a group. A group has more only if it is one longer line, and fewer only at the end.
    pub group_bytes: usize,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { group_bytes: DEFAULT_GROUP_BYTES }
    }
}

impl PackOptions {
    /// Sets the bytes of text of a group; at least one.
    #[must_use]
    pub fn group_bytes(self, bytes: usize) -> Self {
        Self { group_bytes: bytes.max(1) }
    }
}

/// Totals of a packed file.
///
/// ```
/// use warpath::Source;
/// use warpath::packed::{PackOptions, pack_to};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"a\":1}\n{\"a\":2}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// let mut packed = Vec::new();
/// let stats = pack_to(source, &mut packed, "log.wpk", PackOptions::default())?;
/// assert_eq!((stats.text_bytes, stats.lines), (16, 2));
/// assert_eq!(stats.file_bytes, packed.len() as u64);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackStats {
    /// Bytes of text.
    pub text_bytes: u64,
    /// Bytes of the packed file.
    pub file_bytes: u64,
    /// Newlines of the text.
    pub lines: u64,
    /// Groups.
    pub groups: u64,
}

/// Packs an input into a file. The file appears when all of it has been written; if `output` is a device or a
/// pipe, it is written directly. Compressed input ([`Source`]) is decompressed first. The
/// permissions of the file are no wider than the input's
/// ([`OutputMode`](warpath_core::temporary::OutputMode)).
///
/// ```
/// use warpath::packed::{PackOptions, pack};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let (log, packed) = (folder.path().join("log.ndjson"), folder.path().join("log.wpk"));
/// std::fs::write(&log, "{\"a\":1}\n{\"a\":2}\n")?;
/// pack(log.into(), &packed, PackOptions::default())?;
/// // Packed lines are read as plain ones.
/// assert_eq!(Engine::builder().build()?.open(&packed)?.count(&Query::compile("$.a")?)?, 2);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Input`] if the input cannot be read or is packed already, or if the file cannot be written.
pub fn pack(input: Source, output: &Path, options: PackOptions) -> Result<PackStats, Error> {
    pack_watched(input, output, options, &mut |_| {})
}

/// Packs an input into a file, as [`pack`] does. Calls `progress` now and then with the bytes of text that
/// have been packed.
///
/// # Errors
/// The same as for [`pack`].
pub fn pack_watched(
    input: Source,
    output: &Path,
    options: PackOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<PackStats, Error> {
    let failed = |source| Error::Output { name: output.display().to_string(), source };
    let name = output.display().to_string();
    if is_special(output) {
        let file = OpenOptions::new().write(true).open(output).map_err(failed)?;
        return pack_to_watched(input, &mut BufWriter::new(file), &name, options, progress);
    }
    let mode = Source::output_mode([&input]);
    let (temporary, file) = Temporary::beside(output, mode).map_err(failed)?;
    let mut out = BufWriter::new(file);
    let stats = pack_to_watched(input, &mut out, &name, options, progress)?;
    drop(out.into_inner().map_err(|error| failed(error.into_error()))?);
    temporary.rename().map_err(failed)?;
    Ok(stats)
}

/// Packs an input into any writer. Messages name the writer `name`.
///
/// ```
/// use warpath::Source;
/// use warpath::packed::{PackOptions, PackedFile, pack_to};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"a\":1}\n{\"a\":2}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// let mut packed = Vec::new();
/// pack_to(source, &mut packed, "log.wpk", PackOptions::default())?;
/// assert_eq!(PackedFile::from_bytes(packed, "log.wpk")?.lines(1..2)?, b"{\"a\":2}\n");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The same as for [`pack`].
pub fn pack_to(
    input: Source,
    out: &mut dyn Write,
    name: &str,
    options: PackOptions,
) -> Result<PackStats, Error> {
    pack_to_watched(input, out, name, options, &mut |_| {})
}

/// Packs an input into any writer, as [`pack_to`] does. Calls `progress` now and then with the bytes of text
/// that have been packed.
///
/// # Errors
/// The same as for [`pack`].
pub fn pack_to_watched(
    input: Source,
    out: &mut dyn Write,
    name: &str,
    options: PackOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<PackStats, Error> {
    let failed = |source| Error::Output { name: name.to_owned(), source };
    let mut lines = LineGroups::new(input.name(), input.into_reader()?);
    let mut entries = Vec::new();
    let mut stats = PackStats::default();
    let mut place = 0;
    let mut write = |bytes: &[u8]| {
        place += bytes.len() as u64;
        out.write_all(bytes).map_err(failed).map(|()| place)
    };
    write(&layout::header())?;
    loop {
        let (mut texts, mut bytes) = (Vec::new(), 0);
        while (texts.len() < TOGETHER || bytes < TOGETHER_BYTES)
            && let Some(text) = lines.next(options.group_bytes)?
        {
            bytes += text.len();
            texts.push(text);
        }
        if texts.is_empty() {
            break;
        }
        let table = train(&sample(&texts));
        let groups = pool::map(texts.iter().collect(), |text: &Vec<u8>| group(&table, text));
        for (text, group) in texts.iter().zip(groups) {
            let group = group.map_err(Error::Internal)?;
            let end = write(&group)?;
            entries.push(GroupEntry {
                place: end - group.len() as u64,
                text: stats.text_bytes,
                line: stats.lines,
            });
            stats.text_bytes += text.len() as u64;
            stats.lines += memchr_iter(b'\n', text).count() as u64;
            progress(stats.text_bytes);
        }
    }
    stats.groups = entries.len() as u64;
    let table = layout::table(&entries);
    let trailer = Trailer {
        table: write(&table)? - table.len() as u64,
        groups: stats.groups,
        text: stats.text_bytes,
        lines: stats.lines,
        checksum: hash(&table),
    };
    stats.file_bytes = write(&trailer.to_bytes())?;
    out.flush().map_err(failed)?;
    Ok(stats)
}

/// A sample of all of these texts.
fn sample(texts: &[Vec<u8>]) -> Sample {
    let [text] = texts else {
        // An equal share of each text, because all but the last have about the same length.
        let mut all = Sample::default();
        for text in texts {
            let part = Sample::of_text(text);
            let bytes = part.bytes();
            bytes.chunks(SAMPLE_PART).step_by(texts.len()).for_each(|part| all.add(part));
        }
        return all;
    };
    Sample::of_text(text)
}

/// Bytes of one part of a sample that is taken from several texts.
const SAMPLE_PART: usize = 1 << 10;
