//! An open bitmap index: a mapped section of a file, or the same bytes in memory.
//!
//! | module | contents |
//! |---|---|
//! | `info` | the index's description of itself |
//! | `verify` | the check of the whole index |

mod info;
mod verify;

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpath_core::error::{Error, IndexError};
use warpath_core::stamp::hash;
use warpath_core::wah::Bitmap;
use warpath_shared::bitmap::TileStart;
use warpath_shared::wah::Wah;

use super::built::Built;
use super::column::Column;
use super::file::Image;
use super::layout::{
    BLOCK_ROWS, BinPlace, BitmapPlace, ColumnPlace, Contents, Encoding, Section, blocks_for,
};
use super::values::{Texts, Values};
use super::{check, store};

/// A bitmap index. Clones are cheap, and several threads may read it at once.
///
/// Opening an index checks its header and its table. Each other part is checked when it is first read: its
/// checksum must match, and its numbers must lead nowhere outside ([`bitmap`](Self::bitmap),
/// [`values`](Self::values), …). So a query reads, and checks, only the parts that it needs.
/// docs/part-file.md has the format. docs/store.md describes the effects of writes to a file that is open.
///
/// ```
/// use warpath::Engine;
/// use warpath::bitmap::{BitmapIndex, ColumnSpec, build};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let log = folder.path().join("log.ndjson");
/// std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n")?;
/// let status = ColumnSpec::new("status", "$.status");
/// let (built, _) = build(&Engine::builder().build()?, &log, &[status])?;
/// let index = BitmapIndex::from_built(built)?;
/// assert_eq!((index.rows(), index.column("status")), (2, Some(0)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct BitmapIndex(Arc<Opened>);

pub use info::{BitmapInfo, ColumnInfo};

struct Opened {
    name: String,
    image: Image,
    contents: Contents,
    checked: Checked,
}

/// The parts that have passed their checks.
struct Checked {
    columns: Vec<CheckedColumn>,
    records: AtomicBool,
}

struct CheckedColumn {
    bins: Vec<AtomicBool>,
    /// A flag for the section of checksums of the values.
    checksums: AtomicBool,
    /// Flags for the values, bin by bin and block by block, one per checksum. A block of texts has two
    /// checksums and uses the first flag.
    blocks: Vec<AtomicBool>,
}

impl std::fmt::Debug for BitmapIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Opened { name, contents, .. } = &*self.0;
        f.debug_struct("BitmapIndex").field("name", name).field("contents", contents).finish_non_exhaustive()
    }
}

fn flags(count: usize) -> Vec<AtomicBool> {
    (0..count).map(|_| AtomicBool::new(false)).collect()
}

impl Checked {
    /// Returns flags with no check done.
    fn none(contents: &Contents) -> Self {
        let column = |place: &ColumnPlace| CheckedColumn {
            bins: flags(place.bins.len()),
            checksums: AtomicBool::new(false),
            blocks: flags(place.checksums.place.len() / 8),
        };
        let columns = contents.places.iter().map(column).collect();
        Self { columns, records: AtomicBool::new(false) }
    }
}

impl Opened {
    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        IndexError::Damaged { name: self.name.clone(), what: what.to_string() }.into()
    }

    /// Does a check, unless it has been done. Two threads may do the same check at once, with the same
    /// result.
    fn once(
        &self,
        done: &AtomicBool,
        of: &dyn Fn() -> String,
        check: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), Error> {
        // Relaxed suffices: the flag guards bytes that were there before, and nothing else depends on it.
        if !done.load(Ordering::Relaxed) {
            check().map_err(|what| self.damaged(format_args!("{}: {what}", of())))?;
            done.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn is_as_written(&self, section: &Section, what: &str) -> Result<(), String> {
        let bytes = self.image.bytes().get(section.place.clone()).unwrap_or_default();
        let same = hash(bytes) == section.checksum;
        if same { Ok(()) } else { Err(format!("checksum mismatch in {what}")) }
    }

    fn bitmap(
        &self,
        place: &BitmapPlace,
        done: &AtomicBool,
        of: &dyn Fn() -> String,
    ) -> Result<Bitmap<'_>, Error> {
        let (atoms, rows) = (self.image.numbers(&place.atoms.place), self.contents.rows);
        let tiles: &[TileStart] = self.image.numbers(&place.tiles.place);
        self.once(done, of, || {
            self.is_as_written(&place.atoms, "atoms")?;
            self.is_as_written(&place.tiles, "tiles")?;
            check::bitmap(atoms, tiles, rows).map_err(|fault| fault.to_string())
        })?;
        Ok(Bitmap { wah: Wah::assume_canonical(atoms, rows), tiles })
    }

    /// Checks a block of a bin's values.
    fn check_block(&self, column: usize, bin: usize, block: u64) -> Result<(), Error> {
        let (described, place) = (&self.contents.columns[column], &self.contents.places[column]);
        let (done, rows) = (&self.checked.columns[column], described.bins[bin].rows);
        let of_column = || format!("values of column `{}`", described.name);
        self.once(&done.checksums, &of_column, || {
            self.is_as_written(&place.checksums, "the list of checksums")
        })?;
        let BinPlace { encoding, values, text, checksum, .. } = &place.bins[bin];
        let of = || format!("values of bin {bin} of column `{}`", described.name);
        let of_block = if *encoding == Encoding::Text { 2 } else { 1 };
        let at = checksum + of_block * block as usize;
        self.once(&done.blocks[at], &of, || {
            let (from, to) = (block * BLOCK_ROWS, ((block + 1) * BLOCK_ROWS).min(rows));
            let (begin, width) = (values.start as u64, encoding.width());
            let numbers = (begin + width * from) as usize..(begin + width * encoding.count(to)) as usize;
            let checksums: &[u64] = self.image.numbers(&place.checksums.place);
            let said = |what: &str| Err(format!("{from} to {to}: {what}"));
            let is = |at: usize, place: Range<usize>| {
                let bytes = self.image.bytes().get(place).unwrap_or_default();
                checksums.get(at) == Some(&hash(bytes))
            };
            if !is(at, numbers.clone()) {
                return said("checksum mismatch");
            }
            if *encoding == Encoding::Text {
                let offsets: &[u64] = self.image.numbers(&numbers);
                let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
                let ends = (from > 0 || first == 0) && (to < rows || last == text.len() as u64);
                if !ends || !offsets.is_sorted() || last > text.len() as u64 {
                    return said("invalid offsets of texts");
                }
                let begin = text.start as u64;
                if !is(at + 1, (begin + first) as usize..(begin + last) as usize) {
                    return said("checksum mismatch");
                }
            }
            Ok(())
        })
    }

    fn columns(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.contents.columns.len()
    }
}

impl BitmapIndex {
    /// Opens an index that is a range of a file, and checks its header and its table. `name` is used in
    /// messages.
    ///
    /// # Errors
    /// [`Error::Index`] if the file cannot be read, or the index is damaged.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn in_file(name: &str, file: &File, range: Range<u64>) -> Result<Self, Error> {
        let failed = |source| IndexError::Io { name: name.to_owned(), source };
        let image = Image::map(file, range).map_err(failed)?;
        match Contents::decode(image.bytes()) {
            Ok(contents) => Ok(Self::new(name.to_owned(), image, contents)),
            Err(what) => {
                Err(IndexError::Damaged { name: name.to_owned(), what: format!("its bins: {what}") }.into())
            }
        }
    }

    /// Stores a built index in memory.
    ///
    /// # Errors
    /// [`Error::Usage`] where the build is not an index. Bitmaps, values and bins must match each other, and
    /// no bin may be empty or out of order. No name may occur twice, and 63 · (2³² − 1) is the maximum number
    /// of rows.
    pub fn from_built(built: Built) -> Result<Self, Error> {
        let not = |what: String| Error::Usage(format!("this is not a bitmap index: {what}"));
        let (words, contents) = store::store(built).map_err(not)?;
        let index = Self::new("the bitmap index".into(), Image::Owned(words), contents);
        match index.check_sections() {
            Err(Error::Index(IndexError::Damaged { what, .. })) => Err(not(what)),
            other => other.map(|()| index),
        }
    }

    /// Creates an index with a decoded header and table. `name` is used in messages.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn new(name: String, image: Image, contents: Contents) -> Self {
        let checked = Checked::none(&contents);
        Self(Arc::new(Opened { name, image, contents, checked }))
    }

    /// Returns the index's bytes. The same columns, bins and rows give the same bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.image.bytes()
    }

    /// Returns the number of rows: lines, or documents.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.contents.rows
    }

    /// Returns the columns.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.0.contents.columns
    }

    /// Returns the number of the column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// Returns the number of atoms of a bin; 0 if there is no such bin. Reads no bitmap.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn atoms(&self, column: usize, bin: usize) -> u64 {
        let place = self.0.contents.places.get(column).and_then(|place| place.bins.get(bin));
        place.map_or(0, |place| place.bitmap.atoms.place.len() as u64 / 8)
    }

    /// Returns the bitmap of a bin. The calling thread checks it on the first call.
    ///
    /// # Errors
    /// [`Error::Index`] where the bitmap's checksum or form is wrong; [`Error::Usage`] where there is no such
    /// bin.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn bitmap(&self, column: usize, bin: usize) -> Result<Bitmap<'_>, Error> {
        let Opened { contents, checked, .. } = &*self.0;
        let place = contents.places.get(column).and_then(|place| place.bins.get(bin));
        let Some(place) = place else {
            return Err(Error::Usage(format!("the bitmap index has no bin {bin} of column {column}")));
        };
        let of = || format!("bin {bin} of column `{}`", contents.columns[column].name);
        self.0.bitmap(&place.bitmap, &checked.columns[column].bins[bin], &of)
    }

    /// Returns the rows that are records; `None` where all are. Checked like [`bitmap`](Self::bitmap).
    ///
    /// # Errors
    /// [`Error::Index`] where the bitmap's checksum or form is wrong.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn records(&self) -> Result<Option<Bitmap<'_>>, Error> {
        let Opened { contents, checked, .. } = &*self.0;
        let of = || "the bitmap of records".to_owned();
        contents.records.as_ref().map(|place| self.0.bitmap(place, &checked.records, &of)).transpose()
    }

    /// Returns true if some rows are not records, so that [`records`](Self::records) returns a bitmap. Reads
    /// no bitmap.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.0.contents.records.is_some()
    }

    /// Returns the stored values of all rows of a bin, in row order.
    ///
    /// # Errors
    /// As for [`values_of`](Self::values_of).
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn values(&self, column: usize, bin: usize) -> Result<Values<'_>, Error> {
        let rows =
            self.columns().get(column).and_then(|column| column.bins.get(bin)).map_or(0, |bin| bin.rows);
        self.values_of(column, bin, 0..rows)
    }

    /// Returns the stored values of some of a bin's rows. `rows` counts the bin's rows, in row order. The
    /// calling thread checks values on the first call, in blocks of 65,536. So a short range costs little.
    ///
    /// # Errors
    /// [`Error::Index`] where a checksum of the values is wrong; [`Error::Usage`] where the bin has fewer
    /// rows, or there is no such bin.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn values_of(&self, column: usize, bin: usize, rows: Range<u64>) -> Result<Values<'_>, Error> {
        let Opened { image, contents, .. } = &*self.0;
        let place = contents.places.get(column).and_then(|place| place.bins.get(bin));
        let Some(BinPlace { encoding, values, text, .. }) =
            place.filter(|_| rows.start <= rows.end && rows.end <= contents.columns[column].bins[bin].rows)
        else {
            return Err(Error::Usage(format!(
                "the bitmap index has no rows {rows:?} of bin {bin} of column {column}"
            )));
        };
        if *encoding != Encoding::Same && !rows.is_empty() {
            for block in rows.start / BLOCK_ROWS..blocks_for(rows.end) {
                self.0.check_block(column, bin, block)?;
            }
        }
        let at = |row: u64| values.start + (encoding.width() * row) as usize;
        // An empty range of texts reads not even the first offset, because that offset has not been checked.
        let end = if rows.is_empty() { rows.start } else { encoding.count(rows.end) };
        let range = at(rows.start)..at(end);
        Ok(match encoding {
            Encoding::Same => Values::Same,
            Encoding::U8 => Values::U8(image.numbers(&range)),
            Encoding::U16 => Values::U16(image.numbers(&range)),
            Encoding::U32 => Values::U32(image.numbers(&range)),
            Encoding::U64 => Values::U64(image.numbers(&range)),
            Encoding::Text => {
                Values::Text(Texts { offsets: image.numbers(&range), bytes: image.numbers(text) })
            }
        })
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the error for a damaged index.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn damaged(&self, what: &str) -> Error {
        self.0.damaged(what)
    }
}
