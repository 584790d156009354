//! A column chunk of Parquet, encoded from rows in parts: strings and integers of 64 bits.
//!
//! The library compares each value with the least and the most of its page, and makes an index and a level
//! for each row. Its dictionary ends at 1 MiB. Here the encoding follows from the values:
//!
//! | values | encoding |
//! |---|---|
//! | that repeat | a dictionary, and the numbers of the values as runs and packed bits |
//! | integers that are near each other | packed differences |
//! | strings that begin as the one before | the length of what is equal, and the rest |
//! | others | plain |
//!
//! A dictionary of values that mostly differ costs time, because it does not fit into the cache of a core.
//! The first values of a chunk are therefore a sample. Statistics are of the chunk; those of a dictionary
//! come from its values. Pages are compressed by Snappy, unless a page of the chunk shows that it does not
//! help.
//!
//! Strings are numbered, or copied into a page, as soon as they come, while they are in the cache. The
//! encoder's memory is used again for the next chunk, because the system takes longer to give new memory
//! than the encoding takes.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::distinct::Distinct;
use super::hybrid::{differences, hybrid, run, width};

/// The rows of a page, and the bytes of plain strings that end a page earlier.
const PAGE_ROWS: usize = 1 << 14;
const PAGE_BYTES: usize = 1 << 20;
/// The least number of values by which a column is judged.
const SAMPLE: usize = 1 << 10;
/// The most bytes of a dictionary of strings, and the most values of one of integers.
const MOST_DICTIONARY_BYTES: usize = 1 << 20;
const MOST_DICTIONARY_INTEGERS: usize = 1 << 14;
/// The bytes of a page that decide about compression. A dictionary that is shorter decides nothing, because
/// most of the chunk is not in it.
const JUDGED_BYTES: usize = 64 << 10;
/// The most bytes of a string in statistics, as the library has it.
const STATISTICS_BYTES: usize = 64;

/// Returns true if columns of a type can be encoded here.
pub fn is_encoded(values: &DataType) -> bool {
    matches!(
        values,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Int64 | DataType::Timestamp(TimeUnit::Nanosecond, _)
    )
}

/// An encoded column chunk.
pub struct Chunk {
    pub bytes: Vec<u8>,
    pub close: ColumnCloseResult,
}

/// Encodes chunks of one column, one after the other.
pub struct ChunkEncoder {
    column: ColumnDescPtr,
    rows: Rows,
    values: Values,
    pages: Pages,
}

enum Values {
    Text(Box<Texts>),
    Long(Vec<i64>),
}

/// The rows of a chunk, and which of them are null.
struct Rows {
    len: usize,
    nulls: usize,
    /// A bit for each row, which is not set for a null; none if there are no nulls.
    valid: Option<BooleanBufferBuilder>,
    /// True if the column may have nulls, so that its pages have levels.
    has_levels: bool,
}

impl Rows {
    fn add(&mut self, part: &dyn Array) {
        let nulls = part.nulls().filter(|nulls| nulls.null_count() > 0);
        if nulls.is_some() && self.valid.is_none() {
            let mut valid = BooleanBufferBuilder::new(self.len + part.len());
            valid.append_n(self.len, true);
            self.valid = Some(valid);
        }
        match (&mut self.valid, nulls) {
            (Some(valid), Some(nulls)) => {
                self.nulls += nulls.null_count();
                valid.append_buffer(nulls.inner());
            }
            (Some(valid), None) => valid.append_n(part.len(), true),
            (None, _) => {}
        }
        self.len += part.len();
    }

    /// Appends the levels of rows, as a page begins with them: 1 for a value, 0 for a null. Returns the
    /// number of values.
    fn levels(&self, rows: Range<usize>, page: &mut Vec<u8>) -> usize {
        if !self.has_levels {
            return rows.len();
        }
        let at = page.len();
        page.extend_from_slice(&[0; 4]);
        let values = match &self.valid {
            None => {
                run(1, rows.len(), 1, page);
                rows.len()
            }
            Some(valid) => {
                let levels: Vec<u32> = rows.map(|row| u32::from(valid.get_bit(row))).collect();
                hybrid(&levels, 1, page);
                levels.iter().sum::<u32>() as usize
            }
        };
        let len = (page.len() - at - 4) as u32;
        page[at..at + 4].copy_from_slice(&len.to_le_bytes());
        values
    }

    /// The number of values in rows.
    fn values(&self, rows: Range<usize>) -> usize {
        match &self.valid {
            Some(valid) => rows.filter(|row| valid.get_bit(*row)).count(),
            None => rows.len(),
        }
    }

    fn clear(&mut self) {
        (self.len, self.nulls, self.valid) = (0, 0, None);
    }
}

impl ChunkEncoder {
    /// An encoder of values of a type of which [`is_encoded`] is true.
    pub fn new(column: ColumnDescPtr, values: &DataType) -> Self {
        let has_levels = column.max_def_level() > 0;
        let values = match values {
            DataType::Utf8 | DataType::LargeUtf8 => Values::Text(Box::new(Texts::new())),
            _ => Values::Long(Vec::new()),
        };
        let rows = Rows { len: 0, nulls: 0, valid: None, has_levels };
        Self { column, rows, values, pages: Pages::new() }
    }

    /// Adds rows to the chunk.
    pub fn add(&mut self, part: &ArrayRef) -> Result<(), ParquetError> {
        match &mut self.values {
            Values::Text(texts) => match part.data_type() {
                DataType::LargeUtf8 => texts.add(&mut self.rows, part.as_string::<i64>(), &mut self.pages),
                _ => texts.add(&mut self.rows, part.as_string::<i32>(), &mut self.pages),
            },
            Values::Long(values) => {
                self.rows.add(part);
                let (these, nulls) = match part.as_primitive_opt::<Int64Type>() {
                    Some(part) => (part.values(), part.nulls()),
                    None => {
                        let part = part.as_primitive::<TimestampNanosecondType>();
                        (part.values(), part.nulls())
                    }
                };
                match nulls.filter(|nulls| nulls.null_count() > 0) {
                    Some(nulls) => values.extend(nulls.valid_indices().map(|row| these[row])),
                    None => values.extend_from_slice(these),
                }
                Ok(())
            }
        }
    }

    /// Ends the chunk.
    pub fn end(&mut self) -> Result<Chunk, ParquetError> {
        let statistics = match &mut self.values {
            Values::Text(texts) => texts.end(&self.rows, &mut self.pages)?,
            Values::Long(values) => {
                let statistics = integers(&self.rows, values, &mut self.pages)?;
                values.clear();
                statistics
            }
        };
        let chunk = self.pages.end(&self.column, self.rows.len, statistics);
        self.rows.clear();
        chunk
    }

    /// Takes back the bytes of a chunk that is written, for the next one.
    pub fn reuse(&mut self, bytes: Vec<u8>) {
        self.pages.spare = bytes;
    }
}

/// The strings of a chunk.
struct Texts {
    distinct: Distinct,
    /// The distinct strings as a dictionary has them, and where each of them ends.
    dictionary: Vec<u8>,
    ends: Vec<usize>,
    numbers: Vec<u32>,
    /// The bytes of all strings in plain pages.
    plain_bytes: usize,
    is_judged: bool,
    /// True if there is no dictionary.
    is_plain: bool,
    plain: Plain,
}

/// Strings in pages without a dictionary.
#[derive(Default)]
struct Plain {
    /// The rows of the page that has begun, and their values.
    rows: Range<usize>,
    values: Vec<u8>,
    /// The front coding of the page.
    front: Front,
    /// False if values are whole.
    has_front: bool,
    page: Vec<u8>,
    extremes: Option<(Vec<u8>, Vec<u8>)>,
}

/// The front coding of a page: of each value, the length that is equal to the value before, and the length of
/// the rest.
#[derive(Default)]
struct Front {
    before: Vec<u8>,
    equal: Vec<i64>,
    rest: Vec<i64>,
}

/// The number of first bytes that are equal.
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(a), Some(b)) = (a[at..].first_chunk::<8>(), b[at..].first_chunk::<8>()) {
        let differs = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differs != 0 {
            return at + differs.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

/// Appends a string as it is in dictionaries and plain pages: its length in bytes, and the bytes.
fn put(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

/// Calls a function with each value of rows that is not null.
fn each<O: OffsetSizeTrait>(part: &GenericStringArray<O>, rows: Range<usize>, mut take: impl FnMut(&[u8])) {
    let (offsets, bytes) = (part.value_offsets(), part.value_data());
    let text = |row: usize| &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()];
    match part.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => {
            let valid = nulls.inner().slice(rows.start, rows.len());
            valid.set_indices().for_each(|row| take(text(rows.start + row)));
        }
        None => rows.for_each(|row| take(text(row))),
    }
}

/// The rows of a page, by the bytes that `rows` rows take.
fn page_rows(rows: usize, bytes: usize) -> usize {
    (rows.saturating_mul(PAGE_BYTES) / bytes.max(1)).clamp(1, PAGE_ROWS)
}

/// The string of a number in a dictionary.
fn text<'a>(dictionary: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let start = if number == 0 { 0 } else { ends[number as usize - 1] };
    &dictionary[start + 4..ends[number as usize]]
}

impl Texts {
    fn new() -> Self {
        Self {
            distinct: Distinct::new(),
            dictionary: Vec::new(),
            ends: Vec::new(),
            numbers: Vec::new(),
            plain_bytes: 0,
            is_judged: false,
            is_plain: false,
            plain: Plain::default(),
        }
    }

    fn add<O: OffsetSizeTrait>(
        &mut self,
        rows: &mut Rows,
        part: &GenericStringArray<O>,
        pages: &mut Pages,
    ) -> Result<(), ParquetError> {
        let bytes = part.value_offsets()[part.len()].as_usize() - part.value_offsets()[0].as_usize();
        rows.add(part);
        if self.is_plain {
            let plain = &mut self.plain;
            let step = page_rows(part.len(), bytes);
            for start in (0..part.len()).step_by(step) {
                let these = start..part.len().min(start + step);
                let len = these.len();
                each(part, these, |text| plain.add(text));
                plain.rows.end += len;
                if plain.rows.len() >= PAGE_ROWS || plain.values.len() >= PAGE_BYTES {
                    plain.end_page(rows, pages)?;
                }
            }
            return Ok(());
        }
        let Self { distinct, dictionary, ends, numbers, .. } = self;
        each(part, 0..part.len(), |value| {
            let hash = distinct.hash_text(value);
            let (number, is_new) = distinct.number(hash, |number| text(dictionary, ends, number) == value);
            if is_new {
                put(value, dictionary);
                ends.push(dictionary.len());
            }
            numbers.push(number);
        });
        self.plain_bytes += bytes + 4 * (part.len() - part.null_count());
        let is_sample = !self.is_judged && self.numbers.len() >= SAMPLE;
        self.is_judged |= is_sample;
        let mostly_differ = is_sample && self.distinct.len() * 2 > self.numbers.len();
        if mostly_differ || self.dictionary.len() > MOST_DICTIONARY_BYTES {
            self.end_dictionary(rows, pages)?;
        }
        Ok(())
    }

    /// True if values begin as the ones before, so that an eighth of the bytes is not written.
    fn follow_each_other(&self) -> bool {
        let mut saved = 0;
        for pair in self.numbers.windows(2) {
            let [before, value] = [pair[0], pair[1]].map(|number| text(&self.dictionary, &self.ends, number));
            saved += equal_bytes(before, value);
        }
        saved * 8 > self.plain_bytes
    }

    /// Writes all strings so far as pages without a dictionary.
    fn end_dictionary(&mut self, rows: &Rows, pages: &mut Pages) -> Result<(), ParquetError> {
        let has_front = self.follow_each_other();
        pages.begin(if has_front { Encoding::DELTA_BYTE_ARRAY } else { Encoding::PLAIN });
        self.is_plain = true;
        let extremes = self.extremes().map(|(least, most)| (least.to_vec(), most.to_vec()));
        let plain = &mut self.plain;
        (plain.rows, plain.has_front, plain.extremes) = (0..0, has_front, extremes);
        let step = page_rows(rows.len, self.plain_bytes);
        let mut numbers = &self.numbers[..];
        while plain.rows.end < rows.len {
            plain.rows.end = rows.len.min(plain.rows.end + step);
            let (these, rest) = numbers.split_at(rows.values(plain.rows.clone()));
            numbers = rest;
            these.iter().for_each(|number| plain.put(text(&self.dictionary, &self.ends, *number)));
            plain.end_page(rows, pages)?;
        }
        Ok(())
    }

    /// The least and the most string of the dictionary.
    fn extremes(&self) -> Option<(&[u8], &[u8])> {
        let texts = (0..self.ends.len()).map(|number| text(&self.dictionary, &self.ends, number as u32));
        texts.fold(None, |extremes, text| match extremes {
            None => Some((text, text)),
            Some((least, most)) if text < least => Some((text, most)),
            Some((least, most)) if text > most => Some((least, text)),
            extremes => extremes,
        })
    }

    /// Writes the pages that are not written yet. Returns the statistics of the chunk.
    fn end(&mut self, rows: &Rows, pages: &mut Pages) -> Result<Statistics, ParquetError> {
        let width = width(self.ends.len().saturating_sub(1) as u64) as usize;
        let dictionary_bytes = self.dictionary.len() + self.numbers.len() * width / 8;
        if !self.is_plain && (self.ends.is_empty() || dictionary_bytes > self.plain_bytes) {
            self.end_dictionary(rows, pages)?;
        }
        let statistics = if self.is_plain {
            if !self.plain.rows.is_empty() {
                self.plain.end_page(rows, pages)?;
            }
            let extremes = self.plain.extremes.as_ref();
            text_statistics(extremes.map(|(least, most)| (&least[..], &most[..])), rows.nulls)
        } else {
            with_dictionary(rows, (&self.dictionary, self.ends.len()), &self.numbers, pages)?;
            text_statistics(self.extremes(), rows.nulls)
        };
        self.distinct.clear();
        self.dictionary.clear();
        self.ends.clear();
        self.numbers.clear();
        (self.plain_bytes, self.is_judged, self.is_plain) = (0, false, false);
        Ok(statistics)
    }
}

impl Plain {
    fn add(&mut self, text: &[u8]) {
        self.put(text);
        match &mut self.extremes {
            Some((least, _)) if text < &least[..] => text.clone_into(least),
            Some((_, most)) if text > &most[..] => text.clone_into(most),
            Some(_) => {}
            None => self.extremes = Some((text.to_vec(), text.to_vec())),
        }
    }

    fn put(&mut self, text: &[u8]) {
        if !self.has_front {
            return put(text, &mut self.values);
        }
        let front = &mut self.front;
        let equal = equal_bytes(&front.before, text);
        let rest = &text[equal..];
        front.before.truncate(equal);
        front.before.extend_from_slice(rest);
        front.equal.push(equal as i64);
        front.rest.push(rest.len() as i64);
        self.values.extend_from_slice(rest);
    }

    fn end_page(&mut self, rows: &Rows, pages: &mut Pages) -> Result<(), ParquetError> {
        self.page.clear();
        rows.levels(self.rows.clone(), &mut self.page);
        if self.has_front {
            let front = &mut self.front;
            differences(&front.equal, &mut self.page);
            differences(&front.rest, &mut self.page);
            // The first value of a page is whole.
            front.before.clear();
            front.equal.clear();
            front.rest.clear();
        }
        self.page.append(&mut self.values);
        pages.data(&self.page, self.rows.len())?;
        self.rows.start = self.rows.end;
        Ok(())
    }
}

/// Writes the pages of integers. Returns the statistics of the chunk.
fn integers(rows: &Rows, values: &[i64], pages: &mut Pages) -> Result<Statistics, ParquetError> {
    let (least, most) = (values.iter().min().copied(), values.iter().max().copied());
    let statistics = ValueStatistics::new(least, most, None, Some(rows.nulls as u64), false);
    let statistics = Statistics::Int64(statistics.with_backwards_compatible_min_max(true));
    if let Some((known, numbers)) = distinct_integers(values) {
        let dictionary: Vec<u8> = known.iter().flat_map(|value| value.to_le_bytes()).collect();
        with_dictionary(rows, (&dictionary, known.len()), &numbers, pages)?;
        return Ok(statistics);
    }
    pages.begin(Encoding::DELTA_BINARY_PACKED);
    pages.all(rows, values, differences)?;
    if pages.sink.bytes_written() * 4 >= size_of_val(values) * 3 {
        pages.begin(Encoding::PLAIN);
        pages.all(rows, values, |values, page| {
            values.iter().for_each(|value| page.extend_from_slice(&value.to_le_bytes()));
        })?;
    }
    Ok(statistics)
}

/// Numbers integers. Returns `None` if there are many of them, or none.
fn distinct_integers(values: &[i64]) -> Option<(Vec<i64>, Vec<u32>)> {
    let mut distinct = Distinct::new();
    let (mut known, mut numbers) = (Vec::new(), Vec::new());
    for (at, value) in values.iter().enumerate() {
        let hash = distinct.hash_long(*value);
        let (number, is_new) = distinct.number(hash, |number| known[number as usize] == *value);
        if is_new {
            known.push(*value);
            let most = if at < SAMPLE { SAMPLE / 4 } else { MOST_DICTIONARY_INTEGERS };
            if known.len() > most {
                return None;
            }
        }
        numbers.push(number);
    }
    (!known.is_empty()).then_some((known, numbers))
}

/// Writes a dictionary, and pages of the numbers of values.
fn with_dictionary(
    rows: &Rows,
    (dictionary, len): (&[u8], usize),
    numbers: &[u32],
    pages: &mut Pages,
) -> Result<(), ParquetError> {
    let width = width(len.saturating_sub(1) as u64);
    let encode = |numbers: &[u32], page: &mut Vec<u8>| {
        page.push(width as u8);
        hybrid(numbers, width, page);
    };
    pages.begin(Encoding::RLE_DICTIONARY);
    if dictionary.len() >= JUDGED_BYTES {
        pages.judge(dictionary)?;
    } else {
        // The first values decide, so they are encoded twice.
        let mut page = Vec::new();
        encode(&numbers[..numbers.len().min(PAGE_ROWS)], &mut page);
        pages.judge(&page)?;
    }
    pages.dictionary(dictionary, len)?;
    pages.all(rows, numbers, encode)
}

/// Statistics of strings. Long ones are cut: the least to one that is less, the most to one that is more.
fn text_statistics(extremes: Option<(&[u8], &[u8])>, nulls: usize) -> Statistics {
    let (least, most) = extremes.unzip();
    let is_long = |text: Option<&[u8]>| text.is_some_and(|text| text.len() > STATISTICS_BYTES);
    let shown_most = if is_long(most) { most.and_then(more) } else { most.map(<[u8]>::to_vec) };
    let statistics = ValueStatistics::new(
        least.map(|text| ByteArray::from(begin(text).to_vec())),
        shown_most.map(ByteArray::from),
        None,
        Some(nulls as u64),
        false,
    );
    let statistics = statistics.with_min_is_exact(least.is_some() && !is_long(least));
    Statistics::ByteArray(statistics.with_max_is_exact(most.is_some() && !is_long(most)))
}

/// The first characters of a string, as many as statistics have.
fn begin(text: &[u8]) -> &[u8] {
    let mut end = text.len().min(STATISTICS_BYTES);
    while text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    &text[..end]
}

/// A short string that is more than a long one: the first characters, with the last of these replaced by the
/// next character. Returns `None` if no character of them has a next one.
fn more(text: &[u8]) -> Option<Vec<u8>> {
    let mut start: Vec<char> = str::from_utf8(begin(text)).ok()?.chars().collect();
    while let Some(last) = start.pop() {
        // Between these two are the surrogates, which are no characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            start.push(next);
            return Some(String::from_iter(start).into_bytes());
        }
    }
    None
}

/// The pages of a chunk.
struct Pages {
    /// The encoding of data.
    encoding: Encoding,
    sink: TrackedWrite<Vec<u8>>,
    snappy: snap::raw::Encoder,
    /// The buffers of a page before and after it is compressed.
    page: Vec<u8>,
    compressed: Vec<u8>,
    /// The bytes of an earlier chunk.
    spare: Vec<u8>,
    /// True if pages are compressed; none before the first page.
    is_compressed: Option<bool>,
    uncompressed_len: usize,
    has_dictionary: bool,
    /// The offset of the data, after a dictionary.
    data_at: usize,
    data_pages: i32,
}

impl Pages {
    fn new() -> Self {
        Self {
            encoding: Encoding::PLAIN,
            sink: TrackedWrite::new(Vec::new()),
            snappy: snap::raw::Encoder::new(),
            page: Vec::new(),
            compressed: Vec::new(),
            spare: Vec::new(),
            is_compressed: None,
            uncompressed_len: 0,
            has_dictionary: false,
            data_at: 0,
            data_pages: 0,
        }
    }

    /// Begins a chunk.
    fn begin(&mut self, encoding: Encoding) {
        self.spare.clear();
        self.sink = TrackedWrite::new(std::mem::take(&mut self.spare));
        (self.encoding, self.is_compressed, self.has_dictionary) = (encoding, None, false);
        (self.uncompressed_len, self.data_at, self.data_pages) = (0, 0, 0);
    }

    /// Decides by a page whether pages are compressed. They are if this saves a sixteenth.
    fn judge(&mut self, page: &[u8]) -> Result<bool, ParquetError> {
        let sample = &page[..page.len().min(JUDGED_BYTES)];
        let is_compressed = self.snappy.compress_vec(sample)?.len() * 16 < sample.len() * 15;
        self.is_compressed = Some(is_compressed);
        Ok(is_compressed)
    }

    fn page(&mut self, raw: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<(), ParquetError> {
        let is_compressed = match self.is_compressed {
            Some(is_compressed) => is_compressed,
            None => self.judge(raw)?,
        };
        let mut buffer = std::mem::take(&mut self.compressed);
        if is_compressed {
            buffer.resize(snap::raw::max_compress_len(raw.len()), 0);
            let len = self.snappy.compress(raw, &mut buffer)?;
            buffer.truncate(len);
        } else {
            buffer.clear();
            buffer.extend_from_slice(raw);
        }
        let bytes = Bytes::from(buffer);
        let page = CompressedPage::new(page(bytes.clone()), raw.len());
        self.uncompressed_len +=
            SerializedPageWriter::new(&mut self.sink).write_page(page)?.uncompressed_size;
        // The page is gone, so this copies nothing.
        self.compressed = Vec::from(bytes);
        Ok(())
    }

    fn dictionary(&mut self, raw: &[u8], values: usize) -> Result<(), ParquetError> {
        self.has_dictionary = true;
        let (num_values, encoding) = (values as u32, Encoding::PLAIN);
        self.page(raw, |buf| Page::DictionaryPage { buf, num_values, encoding, is_sorted: false })?;
        self.data_at = self.sink.bytes_written();
        Ok(())
    }

    /// Writes a page of data: levels and values.
    fn data(&mut self, raw: &[u8], rows: usize) -> Result<(), ParquetError> {
        let encoding = self.encoding;
        self.data_pages += 1;
        self.page(raw, |buf| Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })
    }

    /// Writes pages of all values.
    fn all<T>(
        &mut self,
        rows: &Rows,
        values: &[T],
        encode: impl Fn(&[T], &mut Vec<u8>),
    ) -> Result<(), ParquetError> {
        let (mut values, mut page) = (values, std::mem::take(&mut self.page));
        for start in (0..rows.len).step_by(PAGE_ROWS) {
            let end = rows.len.min(start + PAGE_ROWS);
            page.clear();
            let (these, rest) = values.split_at(rows.levels(start..end, &mut page));
            values = rest;
            encode(these, &mut page);
            self.data(&page, end - start)?;
        }
        self.page = page;
        Ok(())
    }

    /// Ends a chunk.
    fn end(
        &mut self,
        column: &ColumnDescPtr,
        rows: usize,
        statistics: Statistics,
    ) -> Result<Chunk, ParquetError> {
        let len = self.sink.bytes_written();
        let data = PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: self.encoding,
            count: self.data_pages,
        };
        let (mut encodings, mut pages) = (vec![Encoding::RLE, self.encoding], vec![data]);
        if self.has_dictionary {
            let (page_type, encoding) = (PageType::DICTIONARY_PAGE, Encoding::PLAIN);
            encodings.push(encoding);
            pages.insert(0, PageEncodingStats { page_type, encoding, count: 1 });
        }
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(match self.is_compressed {
                Some(false) => Compression::UNCOMPRESSED,
                _ => Compression::SNAPPY,
            })
            .set_encodings(encodings)
            .set_page_encoding_stats(pages)
            .set_num_values(rows as i64)
            .set_total_compressed_size(len as i64)
            .set_total_uncompressed_size(self.uncompressed_len as i64)
            .set_data_page_offset(self.data_at as i64)
            .set_dictionary_page_offset(self.has_dictionary.then_some(0))
            .set_statistics(statistics)
            .build()?;
        let sink = std::mem::replace(&mut self.sink, TrackedWrite::new(Vec::new()));
        Ok(Chunk {
            bytes: sink.into_inner()?,
            close: ColumnCloseResult {
                bytes_written: len as u64,
                rows_written: rows as u64,
                metadata,
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            },
        })
    }
}
