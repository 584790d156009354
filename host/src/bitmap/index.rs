//! A bitmap index that is open: a file, mapped, or the same bytes in memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use warpath_shared::bitmap::TileStart;
use warpath_shared::wah::{Wah, chunks_for};

use super::built::Built;
use super::column::{Column, Kind};
use super::file::Image;
use super::layout::{BLOCK_ROWS, BitmapPlace, ColumnPlace, Contents, Form, Section, blocks_for};
use super::wah::Bitmap;
use super::{check, store};
use crate::error::{Error, IndexError, InputError};
use crate::input::{PlainFile, Source};
use crate::stamp::{Stamp, hash};

/// A bitmap index. Cheap to clone, and may be asked by several threads at once.
///
/// Its header and its table are checked when it is opened; whatever else is read, when it is first read: that it is as it was written, and
/// that no number in it leads anywhere else ([`bitmap`](Self::bitmap), [`values`](Self::values), …). So a query reads, and checks, what it
/// needs. docs/bitmap-file.md has the format, and says what happens to a file that is written to while it is open.
#[derive(Clone)]
pub struct BitmapIndex(Arc<Opened>);

struct Opened {
    name: String,
    image: Image,
    contents: Contents,
    checked: Checked,
}

/// What has been found to be as it should.
struct Checked {
    columns: Vec<CheckedColumn>,
    records: AtomicBool,
    lines: AtomicBool,
}

struct CheckedColumn {
    bins: Vec<AtomicBool>,
    /// The checksums of its values.
    checksums: AtomicBool,
    /// Its values, block by block.
    blocks: Vec<AtomicBool>,
}

/// The stored values of some rows of a column, from a first one on. What is stored for a row without a value means nothing: its bin tells.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values<'a> {
    /// The number of each row's bin.
    Bins(Numbers<'a>),
    /// Of [`Kind::Int`].
    Int(&'a [i64]),
    /// Of [`Kind::Float`].
    Float(&'a [f64]),
    /// Of [`Kind::Time`].
    Time(&'a [i64]),
    /// Of [`Kind::Text`].
    Text(Texts<'a>),
}

/// Numbers of bins, row by row. Each is that of a bin of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers<'a> {
    /// Of a byte each.
    U8(&'a [u8]),
    /// Of two.
    U16(&'a [u16]),
    /// Of four.
    U32(&'a [u32]),
}

impl Numbers<'_> {
    /// The number of a row, counted from the first one here.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<usize> {
        match self {
            Self::U8(numbers) => numbers.get(row).map(|number| usize::from(*number)),
            Self::U16(numbers) => numbers.get(row).map(|number| usize::from(*number)),
            Self::U32(numbers) => numbers.get(row).map(|number| *number as usize),
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U8(numbers) => numbers.len(),
            Self::U16(numbers) => numbers.len(),
            Self::U32(numbers) => numbers.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Texts, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    /// Where each row's text begins in `bytes`, and behind the last, where that ends. They grow, and stay within `bytes`.
    pub offsets: &'a [u64],
    /// The texts of all rows of the column, one behind the other.
    pub bytes: &'a [u8],
}

impl<'a> Texts<'a> {
    /// The text of a row, counted from the first one here.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        let (start, end) = (*self.offsets.get(row)?, *self.offsets.get(row + 1)?);
        self.bytes.get(start as usize..end as usize)
    }
}

/// What a bitmap index says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapInfo {
    /// The version of its format.
    pub version: u32,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes of header and table among them.
    pub table_bytes: u64,
    /// Bytes of the file that it was made of, and when that was last written to; `None` where it was made of no file.
    pub input: Option<(u64, SystemTime)>,
    /// Rows.
    pub rows: u64,
    /// Bytes of the bitmap of records; `None` where every row is one.
    pub record_bytes: Option<u64>,
    /// Bytes of the places of lines; `None` where rows are no lines of a plain file.
    pub line_bytes: Option<u64>,
    /// The columns.
    pub columns: Vec<ColumnInfo>,
}

/// What a bitmap index says of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Where its values are from.
    pub source: String,
    /// What they are.
    pub kind: Kind,
    /// How they were cut.
    pub binning: String,
    /// How many bins there are.
    pub bins: u64,
    /// Bytes of a bit for each row and bin: the bitmaps, if they were not compressed.
    pub plain_bytes: u64,
    /// Bytes of all atoms.
    pub atom_bytes: u64,
    /// Bytes of the places of tiles.
    pub tile_bytes: u64,
    /// Bytes of the stored values.
    pub value_bytes: u64,
}

impl ColumnInfo {
    /// How many times shorter compressed bitmaps are than plain ones; 1 where there is none.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.atom_bytes == 0 { 1.0 } else { self.plain_bytes as f64 / self.atom_bytes as f64 }
    }
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
    /// Nothing yet.
    fn none(contents: &Contents) -> Self {
        let blocks = blocks_for(contents.rows) as usize;
        let column = |place: &ColumnPlace| CheckedColumn {
            bins: flags(place.bins.len()),
            checksums: AtomicBool::new(false),
            blocks: flags(blocks),
        };
        let columns = contents.places.iter().map(column).collect();
        Self { columns, records: AtomicBool::new(false), lines: AtomicBool::new(false) }
    }
}

impl Opened {
    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        IndexError::Damaged { name: self.name.clone(), what: what.to_string() }.into()
    }

    /// Does a check, unless it has been done. Two threads may do it at once: both find the same.
    fn once(
        &self,
        done: &AtomicBool,
        of: &dyn Fn() -> String,
        check: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), Error> {
        // What it says was there before, and nothing else depends on it.
        if !done.load(Ordering::Relaxed) {
            check().map_err(|what| self.damaged(format_args!("{}: {what}", of())))?;
            done.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn is_as_written(&self, section: &Section, what: &str) -> Result<(), String> {
        let bytes = self.image.bytes().get(section.place.clone()).unwrap_or_default();
        let same = hash(bytes) == section.checksum;
        if same { Ok(()) } else { Err(format!("{what} are not as they were written")) }
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

    /// Checks the values of a block of rows.
    fn check_block(&self, column: usize, block: u64) -> Result<(), Error> {
        let Contents { rows, columns, places, .. } = &self.contents;
        let (place, done) = (&places[column], &self.checked.columns[column]);
        let of = || format!("values of column `{}`", columns[column].name);
        self.once(&done.checksums, &of, || self.is_as_written(&place.checksums, "their checksums"))?;
        self.once(&done.blocks[block as usize], &of, || {
            let (from, to) = (block * BLOCK_ROWS, ((block + 1) * BLOCK_ROWS).min(*rows));
            let begin = place.values.start as u64;
            let width = place.form.width();
            let values = (begin + width * from) as usize..(begin + width * place.form.count(to)) as usize;
            let checksums: &[u64] = self.image.numbers(&place.checksums.place);
            let said = |what: &str| format!("rows {from} to {to}: {what}");
            let bytes = |place: std::ops::Range<usize>| self.image.bytes().get(place).unwrap_or_default();
            let changed = || said("they are not as they were written");
            if checksums.get(block as usize) != Some(&hash(bytes(values.clone()))) {
                return Err(changed());
            }
            let bins = columns[column].bins.len();
            let too_large = match place.form {
                Form::Bins1 => bytes(values).iter().any(|number| usize::from(*number) >= bins),
                Form::Bins2 => {
                    self.image.numbers::<u16>(&values).iter().any(|number| usize::from(*number) >= bins)
                }
                Form::Bins4 => {
                    self.image.numbers::<u32>(&values).iter().any(|number| *number as usize >= bins)
                }
                Form::Words => false,
                Form::Text => {
                    let offsets: &[u64] = self.image.numbers(&values);
                    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
                    let ends = (from > 0 || first == 0) && (to < *rows || last == place.text.len() as u64);
                    if !ends || !offsets.is_sorted() || last > place.text.len() as u64 {
                        return Err(said("the places of texts make no sense"));
                    }
                    let begin = place.text.start as u64;
                    let text = bytes((begin + first) as usize..(begin + last) as usize);
                    let behind = (blocks_for(*rows) + block) as usize;
                    if checksums.get(behind) != Some(&hash(text)) {
                        return Err(changed());
                    }
                    false
                }
            };
            if too_large { Err(said("there is no such bin")) } else { Ok(()) }
        })
    }

    fn line_offsets(&self, section: &Section) -> Result<&[u64], Error> {
        let offsets: &[u64] = self.image.numbers(&section.place);
        let of = || "places of lines".to_owned();
        self.once(&self.checked.lines, &of, || {
            self.is_as_written(section, "they")?;
            let size = self.contents.stamp.map_or(u64::MAX, |stamp| stamp.size);
            let grows = offsets.windows(2).all(|pair| pair[0] < pair[1]);
            let within = offsets.last().is_some_and(|last| *last <= size);
            if grows && within { Ok(()) } else { Err("they make no sense".into()) }
        })?;
        Ok(offsets)
    }

    fn columns(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.contents.columns.len()
    }
}

impl BitmapIndex {
    /// Opens an index, and checks its header and its table.
    ///
    /// # Errors
    /// [`Error::Index`] if it cannot be read, is no bitmap index, is damaged, or is of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let image = Image::open(path.as_ref())?;
        let name = path.as_ref().display().to_string();
        match Contents::decode(image.bytes()) {
            Ok(contents) => Ok(Self::new(name, image, contents)),
            Err(what) => Err(IndexError::Damaged { name, what: what.into() }.into()),
        }
    }

    /// The index of what was built, in memory.
    ///
    /// # Errors
    /// [`Error::Usage`] where it is none: where bitmaps, values and bins do not belong together, a bin is empty or out of order, a name comes
    /// twice, or there are more rows than 63 · (2³² − 1).
    pub fn from_built(built: Built) -> Result<Self, Error> {
        let not = |what: String| Error::Usage(format!("this is no bitmap index: {what}"));
        let (words, contents) = store::store(built).map_err(not)?;
        let index = Self::new("the bitmap index".into(), Image::Owned(words), contents);
        match index.check_sections() {
            Err(Error::Index(IndexError::Damaged { what, .. })) => Err(not(what)),
            other => other.map(|()| index),
        }
    }

    fn new(name: String, image: Image, contents: Contents) -> Self {
        let checked = Checked::none(&contents);
        Self(Arc::new(Opened { name, image, contents, checked }))
    }

    /// Writes it to a file: beside `path`, and renamed when all of it is there. The same columns give the same bytes.
    ///
    /// # Errors
    /// [`Error::Index`] where it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = |source| IndexError::Io { name: path.display().to_string(), source }.into();
        self.0.image.write(path).map_err(failed)
    }

    /// Its bytes, as its file has them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.image.bytes()
    }

    /// How many rows it has: lines, or rows of a table.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.contents.rows
    }

    /// Its columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.0.contents.columns
    }

    /// The number of the column of a name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// How many atoms a bin has; 0 where there is no such bin. Reads nothing.
    #[must_use]
    pub fn atoms(&self, column: usize, bin: usize) -> u64 {
        let place = self.0.contents.places.get(column).and_then(|place| place.bins.get(bin));
        place.map_or(0, |place| place.atoms.place.len() as u64 / 8)
    }

    /// The bitmap of a bin. It is checked when it is first asked for, by the thread that asks.
    ///
    /// # Errors
    /// [`Error::Index`] where it is not as it was written; [`Error::Usage`] where there is no such bin.
    pub fn bitmap(&self, column: usize, bin: usize) -> Result<Bitmap<'_>, Error> {
        let Opened { contents, checked, .. } = &*self.0;
        let place = contents.places.get(column).and_then(|place| place.bins.get(bin));
        let Some(place) = place else {
            return Err(Error::Usage(format!("the bitmap index has no bin {bin} of column {column}")));
        };
        let of = || format!("bin {bin} of column `{}`", contents.columns[column].name);
        self.0.bitmap(place, &checked.columns[column].bins[bin], &of)
    }

    /// Which rows are records; `None` where all are. Checked as [`bitmap`](Self::bitmap) is.
    ///
    /// # Errors
    /// [`Error::Index`] where it is not as it was written.
    pub fn records(&self) -> Result<Option<Bitmap<'_>>, Error> {
        let Opened { contents, checked, .. } = &*self.0;
        let of = || "the bitmap of records".to_owned();
        contents.records.as_ref().map(|place| self.0.bitmap(place, &checked.records, &of)).transpose()
    }

    /// The stored values of a column, of all rows.
    ///
    /// # Errors
    /// As for [`values_of`](Self::values_of).
    pub fn values(&self, column: usize) -> Result<Values<'_>, Error> {
        self.values_of(column, 0..self.rows())
    }

    /// The stored values of some rows of a column. They are checked when they are first asked for, 65,536 rows at a time, by the thread that
    /// asks: so who needs few of them asks for few.
    ///
    /// # Errors
    /// [`Error::Index`] where they are not as they were written; [`Error::Usage`] where there are no such rows, or no such column.
    pub fn values_of(&self, column: usize, rows: std::ops::Range<u64>) -> Result<Values<'_>, Error> {
        let Opened { image, contents, .. } = &*self.0;
        let Some(place) =
            contents.places.get(column).filter(|_| rows.start <= rows.end && rows.end <= contents.rows)
        else {
            return Err(Error::Usage(format!("the bitmap index has no rows {rows:?} of column {column}")));
        };
        if !rows.is_empty() {
            for block in rows.start / BLOCK_ROWS..blocks_for(rows.end) {
                self.0.check_block(column, block)?;
            }
        }
        let at = |row: u64| place.values.start + (place.form.width() * row) as usize;
        let range = at(rows.start)..at(place.form.count(rows.end));
        Ok(match (place.form, contents.columns[column].kind) {
            (Form::Bins1, _) => Values::Bins(Numbers::U8(image.numbers(&range))),
            (Form::Bins2, _) => Values::Bins(Numbers::U16(image.numbers(&range))),
            (Form::Bins4, _) => Values::Bins(Numbers::U32(image.numbers(&range))),
            (Form::Text, _) => {
                Values::Text(Texts { offsets: image.numbers(&range), bytes: image.numbers(&place.text) })
            }
            (Form::Words, Kind::Float) => Values::Float(image.numbers(&range)),
            (Form::Words, Kind::Time) => Values::Time(image.numbers(&range)),
            (Form::Words, _) => Values::Int(image.numbers(&range)),
        })
    }

    /// Where every 64th line begins in the input, in bytes, from line 0 on, and behind these where the last one ends; `None` where rows are
    /// no lines of a plain file. They grow.
    ///
    /// # Errors
    /// [`Error::Index`] where they are not as they were written.
    pub fn line_offsets(&self) -> Result<Option<&[u64]>, Error> {
        self.0.contents.lines.as_ref().map(|section| self.0.line_offsets(section)).transpose()
    }

    /// Checks that a file is the one that the index was made of, as it was: by its size, its time and samples of its bytes.
    ///
    /// # Errors
    /// [`Error::Index`] where it is not; [`Error::Input`] where it cannot be read; [`Error::Usage`] where the index was made of no file.
    pub fn check(&self, input: impl AsRef<Path>) -> Result<(), Error> {
        self.check_file(input.as_ref()).map(drop)
    }

    /// The file, if it is the one that the index was made of.
    fn check_file(&self, path: &Path) -> Result<File, Error> {
        let Some(before) = &self.0.contents.stamp else {
            return Err(Error::Usage(format!("{}: was made of no file", self.name())));
        };
        let name = path.display().to_string();
        let failed = |source| InputError::Io { name: name.clone(), source };
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        let file = File::open(path).map_err(failed)?;
        match Stamp::of(&file).map_err(failed)?.differs_from(before) {
            Some(what) => Err(IndexError::OtherInput { name: self.name().into(), input: name, what }.into()),
            None => Ok(file),
        }
    }

    /// The input, if it is one plain file, the one that the index was made of.
    pub(crate) fn check_sources(&self, sources: &[Source]) -> Result<PlainFile, Error> {
        let [Source::File(path)] = sources else {
            return Err(Error::Usage("a bitmap index is for one plain file, and not for a pipe".into()));
        };
        let (file, name) = (self.check_file(path)?, path.display().to_string());
        PlainFile::new(file, name.as_str().into(), 0).map_err(|source| InputError::Io { name, source }.into())
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// An error that says that it is not as it should be.
    pub(crate) fn damaged(&self, what: &str) -> Error {
        self.0.damaged(what)
    }

    /// What it says of itself.
    #[must_use]
    pub fn info(&self) -> BitmapInfo {
        let contents = &self.0.contents;
        let column = |(column, place): (&Column, &ColumnPlace)| {
            let total =
                |bytes: fn(&BitmapPlace) -> usize| place.bins.iter().map(|bin| bytes(bin) as u64).sum();
            ColumnInfo {
                name: column.name.clone(),
                source: column.source.clone(),
                kind: column.kind,
                binning: column.binning.clone(),
                bins: column.bins.len() as u64,
                plain_bytes: contents.rows.div_ceil(8) * column.bins.len() as u64,
                atom_bytes: total(|bin| bin.atoms.place.len()),
                tile_bytes: total(|bin| bin.tiles.place.len()),
                value_bytes: (place.values.len() + place.text.len()) as u64,
            }
        };
        let bitmap = |place: &BitmapPlace| (place.atoms.place.len() + place.tiles.place.len()) as u64;
        BitmapInfo {
            version: super::layout::VERSION,
            bytes: contents.file_bytes as u64,
            table_bytes: (super::layout::HEADER_BYTES + contents.table_bytes) as u64,
            input: contents.stamp.map(|stamp| (stamp.size(), stamp.modified())),
            rows: contents.rows,
            record_bytes: contents.records.as_ref().map(bitmap),
            line_bytes: contents.lines.as_ref().map(|lines| lines.place.len() as u64),
            columns: contents.columns.iter().zip(&contents.places).map(column).collect(),
        }
    }

    /// Reads all of it, and checks every byte; that each row is in one bin of each column; and that each value is within the bounds of its bin.
    ///
    /// # Errors
    /// [`Error::Index`] where something is not as it was written.
    pub fn verify(&self) -> Result<(), Error> {
        self.check_sections()?;
        self.check_gaps()?;
        self.0.columns().try_for_each(|column| self.check_column(column))
    }

    /// Checks everything that has a checksum.
    fn check_sections(&self) -> Result<(), Error> {
        for column in self.0.columns() {
            for bin in 0..self.columns()[column].bins.len() {
                self.bitmap(column, bin)?;
            }
            self.values(column)?;
        }
        self.records()?;
        self.line_offsets()?;
        Ok(())
    }

    /// Checks that there are zeros between sections.
    fn check_gaps(&self) -> Result<(), Error> {
        let Contents { places, records, lines, table_bytes, file_bytes, .. } = &self.0.contents;
        let bitmap = |place: &BitmapPlace| [place.atoms.place.clone(), place.tiles.place.clone()];
        let mut sections = vec![0..super::layout::HEADER_BYTES + table_bytes, *file_bytes..*file_bytes];
        for ColumnPlace { bins, values, text, checksums, .. } in places {
            sections.extend(bins.iter().flat_map(bitmap));
            sections.extend([values, text, &checksums.place].map(Clone::clone));
        }
        sections.extend(records.iter().flat_map(bitmap));
        sections.extend(lines.iter().map(|lines| lines.place.clone()));
        sections.sort_by_key(|place| (place.start, place.end));
        let bytes = self.0.image.bytes();
        let is_zero = |pair: &[std::ops::Range<usize>]| {
            bytes.get(pair[0].end..pair[1].start).is_some_and(|gap| gap.iter().all(|byte| *byte == 0))
        };
        let zeros = sections.windows(2).all(is_zero);
        if zeros { Ok(()) } else { Err(self.0.damaged("there is something between its sections")) }
    }

    /// Checks that each row is in one bin, and its value within the bounds of that.
    fn check_column(&self, column: usize) -> Result<(), Error> {
        let Column { name, bins, .. } = &self.columns()[column];
        let said =
            |bin: usize, what: &str| self.0.damaged(format_args!("bin {bin} of column `{name}`: {what}"));
        let values = self.values(column)?;
        let mut all = vec![0; chunks_for(self.rows()) as usize];
        for (number, bin) in bins.iter().enumerate() {
            let Bitmap { wah, .. } = self.bitmap(column, number)?;
            if wah.count() != bin.rows {
                return Err(said(number, "it has other rows than it says"));
            }
            let mut at = 0;
            for atom in wah.atoms() {
                let to = &mut all[at..at + atom.chunks() as usize];
                at += to.len();
                for chunk in to {
                    if *chunk & atom.chunk() != 0 {
                        return Err(said(number, "it has rows of another"));
                    }
                    *chunk |= atom.chunk();
                }
            }
            if !wah.ones().all(|row| values.are_of(row as usize, number, &bin.holds)) {
                return Err(said(number, "a value is not one of it"));
            }
        }
        // Bins have no row in common, and all rows together: the table was held to that.
        Ok(())
    }
}

impl Values<'_> {
    /// Whether the value of a row may be of a bin.
    fn are_of(&self, row: usize, number: usize, holds: &super::column::Holds) -> bool {
        use super::column::{Holds, Scalar};
        if let Self::Bins(numbers) = self {
            return numbers.get(row) == Some(number);
        }
        let Holds::Values { least, greatest } = holds else { return true };
        match (self, least, greatest) {
            (Self::Int(values), Scalar::Int(least), Scalar::Int(greatest))
            | (Self::Time(values), Scalar::Time(least), Scalar::Time(greatest)) => {
                values.get(row).is_some_and(|value| (least..=greatest).contains(&value))
            }
            (Self::Float(values), Scalar::Float(least), Scalar::Float(greatest)) => {
                values.get(row).is_some_and(|value| (least..=greatest).contains(&value))
            }
            (Self::Text(texts), Scalar::Text(least), Scalar::Text(greatest)) => {
                texts.get(row).is_some_and(|text| (least.as_bytes()..=greatest.as_bytes()).contains(&text))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitmap::column::{Bin, Holds, Scalar};
    use crate::bitmap::file::bytes_of;
    use crate::bitmap::layout::HEADER_BYTES;
    use crate::bitmap::wah::{WahBuf, chunks};
    use crate::bitmap::{BinNumbers, BuiltColumn, StoredValues};

    /// An index of three tiles, and of all that an index has.
    fn small() -> BitmapIndex {
        let rows = 63 * 128 * 2 + 70;
        let texts = ["", "een", "twee"];
        let text = |row: u64| texts[(row / 1000 % 3) as usize];
        let bitmaps = |of: &dyn Fn(u64) -> u64| -> Vec<WahBuf> {
            (0..3).map(|bin| WahBuf::from_ones((0..rows).filter(|row| of(*row) == bin), rows)).collect()
        };
        let column = |name: &str, kind, bounds: [Scalar; 3], bitmaps: Vec<WahBuf>, values| {
            let bins = bounds.into_iter().zip(&bitmaps).map(|(bound, bitmap)| Bin {
                holds: Holds::Values { least: bound.clone(), greatest: bound },
                rows: bitmap.as_wah().count(),
            });
            let (name, source, binning) = (name.to_owned(), "$.a".to_owned(), "distinct".to_owned());
            let column = Column { name, source, kind, binning, bins: bins.collect() };
            BuiltColumn { column, bitmaps, values }
        };
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for row in 0..rows {
            bytes.extend_from_slice(text(row).as_bytes());
            offsets.push(bytes.len() as u64);
        }
        let columns = vec![
            column(
                "texts",
                Kind::Text,
                texts.map(|text| Scalar::Text(text.into())),
                bitmaps(&|row| row / 1000 % 3),
                StoredValues::Text { offsets, bytes },
            ),
            column(
                "numbers",
                Kind::Int,
                [0, 1, 2].map(Scalar::Int),
                bitmaps(&|row| row % 3),
                StoredValues::Bins(BinNumbers::U16((0..rows).map(|row| (row % 3) as u16).collect())),
            ),
        ];
        let records = Some(WahBuf::from_ones(1..rows, rows));
        let lines = (0..=rows.div_ceil(64)).map(|block| block * 100).collect();
        BitmapIndex::from_built(Built { rows, records, columns, lines, stamp: None }).unwrap()
    }

    /// Gives bytes the checksums that they should have, if they were an index.
    fn reseal(words: &mut [u64], contents: &Contents) {
        let mut contents = contents.clone();
        let image = Image::Owned(words.to_vec());
        let sum = |section: &mut Section| section.checksum = hash(&image.bytes()[section.place.clone()]);
        let bitmap = |place: &mut BitmapPlace| {
            sum(&mut place.atoms);
            sum(&mut place.tiles);
        };
        contents.places.iter_mut().flat_map(|place| &mut place.bins).for_each(bitmap);
        contents.records.iter_mut().for_each(bitmap);
        contents.lines.iter_mut().for_each(sum);
        for place in &mut contents.places {
            let at = |row: u64| place.values.start + (place.form.width() * place.form.count(row)) as usize;
            assert_eq!(blocks_for(contents.rows), 1);
            let mut sums = vec![hash(&image.bytes()[place.values.start..at(contents.rows)])];
            if place.form == Form::Text {
                // As long as the places of texts allow.
                let offsets: &[u64] = image.numbers(&place.values);
                let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
                let text = &image.bytes()[place.text.clone()];
                sums.push(hash(text.get(first..last).unwrap_or_default()));
            }
            words[place.checksums.place.start / 8..][..sums.len()].copy_from_slice(&sums);
            place.checksums.checksum = hash(bytes_of(&sums));
        }
        let head = contents.encode();
        write(words, 0, &head);
    }

    fn write(words: &mut [u64], at: usize, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes) {
            let shift = 8 * (at % 8);
            words[at / 8] = words[at / 8] & !(0xff << shift) | u64::from(*byte) << shift;
        }
    }

    /// Reads everything, as those do who answer by it. Whatever the bytes are, this comes to an end.
    fn read_all(image: Vec<u64>) -> Result<(), String> {
        let image = Image::Owned(image);
        let contents = Contents::decode(image.bytes())?;
        let index = BitmapIndex::new("altered".into(), image, contents);
        let all = || -> Result<(), Error> {
            for (column, described) in index.columns().iter().enumerate() {
                for bin in 0..described.bins.len() {
                    let Bitmap { wah, tiles } = index.bitmap(column, bin)?;
                    assert_eq!(chunks(wah).len() as u64, chunks_for(index.rows()));
                    assert!(wah.ones().all(|row| row < index.rows()));
                    assert!(tiles.iter().all(|start| start.atom as usize <= wah.words().len()));
                }
                match index.values(column)? {
                    Values::Bins(numbers) => {
                        assert!((0..numbers.len()).all(|row| numbers.get(row) < Some(described.bins.len())));
                    }
                    Values::Text(texts) => {
                        assert!((0..index.rows() as usize).all(|row| texts.get(row).is_some()));
                    }
                    _ => {}
                }
            }
            index.records()?;
            index.line_offsets()?;
            let _ = index.info();
            index.verify()
        };
        all().map_err(|error| error.to_string())
    }

    /// Somebody alters any word and gives it the checksums that it should have: then it is an error, or another index, and nothing is read
    /// out of bounds.
    #[test]
    fn what_is_forged_is_no_worse_than_wrong() {
        let index = small();
        let Image::Owned(words) = &index.0.image else { panic!("it is in memory") };
        let contents = &index.0.contents;
        let mut same = words.clone();
        reseal(&mut same, contents);
        assert!(same == *words);
        assert_eq!(read_all(same), Ok(()));
        let table_end = (HEADER_BYTES + contents.table_bytes) / 8;
        let others = |word: u64| {
            [
                0,
                !0,
                word ^ 1,
                word + 1,
                word.wrapping_sub(1),
                word ^ 1 << 63,
                word ^ 1 << 62,
                word ^ 1 << 32,
                1 << 61,
            ]
        };
        let mut refused = 0;
        // Of sections with the same numbers again and again, some of them.
        for at in
            (table_end..words.len()).filter(|at| at % 301 == 0 || at % 5 == 0 && contents.is_bitmap(8 * at))
        {
            for other in others(words[at]) {
                let mut altered = words.clone();
                altered[at] = other;
                reseal(&mut altered, contents);
                refused += usize::from(read_all(altered).is_err());
            }
        }
        assert!(refused > 500, "{refused}");
        // In header and table each byte, and each word.
        for at in 8..HEADER_BYTES + contents.table_bytes {
            let byte = (words[at / 8] >> (8 * (at % 8))) as u8;
            for other in [0, 0xff, byte ^ 1, byte ^ 0x80, byte.wrapping_add(1)] {
                let mut altered = words.clone();
                write(&mut altered, at, &[other]);
                reseal_head(&mut altered, contents.table_bytes);
                let _ = read_all(altered);
            }
        }
        for at in 1..table_end {
            for other in others(words[at]) {
                let mut altered = words.clone();
                altered[at] = other;
                reseal_head(&mut altered, contents.table_bytes);
                let _ = read_all(altered);
            }
        }
    }

    /// Gives header and table their checksums.
    fn reseal_head(words: &mut [u64], table_bytes: usize) {
        let table = hash(&bytes_of(words)[HEADER_BYTES..HEADER_BYTES + table_bytes]);
        words[8] = table;
        words[15] = hash(&bytes_of(words)[..HEADER_BYTES - 8]);
    }

    impl Contents {
        /// Whether a byte is of a bitmap.
        fn is_bitmap(&self, at: usize) -> bool {
            let bins = self.places.iter().flat_map(|place| &place.bins).chain(&self.records);
            bins.into_iter().any(|bin| bin.atoms.place.contains(&at) || bin.tiles.place.contains(&at))
        }
    }
}
