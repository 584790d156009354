//! The builder: from the lines of a file to columns with bitmaps.
//!
//! | module | contents |
//! |---|---|
//! | `ndjson` | columns of values, built in one pass |
//! | `matches` | columns of the lines that subscriptions match |
//! | `bitmaps` | bitmaps of bins, from bins of rows |
//! | `maker` | the same on a device |
//! | `values` | the stored values of each bin |
//!
//! ```
//! use warpath::bitmap::ColumnSpec;
//! use warpath_exec::bitmap::build::build_column;
//! use warpath_store::bitmap::value::ColumnValues;
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let values = ColumnValues::ints(vec![7, 3, 7, 9]);
//! let built = build_column("n", "n", values, &"distinct".parse()?)?;
//! let rows: Vec<u64> = built.bitmaps[1].as_wah().ones().collect();
//! assert_eq!(rows, [0, 2]);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "store")]
mod matches;
mod ndjson;
mod values;

use std::fs::File;
use std::path::Path;

use warpath_core::error::{Error, IndexError, InputError, RecordError};
use warpath_core::pool;
use warpath_core::stamp::Stamp;
use warpath_core::wah::WahBuf;
use warpath_lang::jsonpath::State;
use warpath_store::bitmap::bins::BinSpec;
use warpath_store::bitmap::bins::cut::cut;
use warpath_store::bitmap::bins::sorted::{KeyedValue, Sorted, sort_keys};
use warpath_store::bitmap::bins::texts::Dictionary;
use warpath_store::bitmap::built::{Built, BuiltColumn};
use warpath_store::bitmap::column::{Bin, Column, Holds, Kind};
use warpath_store::bitmap::value::raw::{Raw, finish};
use warpath_store::bitmap::value::{ColumnValues, Data};

use crate::engine::Engine;

#[cfg(feature = "store")]
pub(crate) use matches::build_matches;
pub use warpath_cpu::bitmap::maker::{BitmapMaker, Made};
use warpath_store::bitmap::bitmaps::BinNumbers;
pub use warpath_store::bitmap::bitmaps::{BinNumber, bitmaps_of};

/// A column to be built.
///
/// ```
/// use warpath::bitmap::{BitmapIndex, ColumnSpec, Kind, build};
/// use warpath::Engine;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"n\":5,\"id\":1}\n{\"n\":6,\"id\":2}\n{\"n\":7,\"id\":3}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let path = Path::new("tweets.ndjson");
/// let column = ColumnSpec::new("n", "$.n").with_kind(Kind::Int).with_bins("quantiles:2".parse()?);
/// let (built, _) = build(&engine, &path, &[column])?;
/// let index = BitmapIndex::from_built(built)?;
/// assert_eq!(index.info().columns[0].bins, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The name that expressions use.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub name: String,
    /// The source of its values: a singular JSONPath of each record.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub source: String,
    /// The kind of its values. The default is described in [`value`](warpath_store::bitmap::value).
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub kind: Option<Kind>,
    /// The rule that cuts values into bins.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub bins: BinSpec,
}

impl ColumnSpec {
    /// A column of the kind of its values, with [`BinSpec::Auto`].
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        Self { name: name.into(), source: source.into(), kind: None, bins: BinSpec::Auto }
    }

    /// Sets the kind. `None` is that of most values.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<Option<Kind>>) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// Sets the rule that cuts values into bins.
    #[must_use]
    pub fn with_bins(self, bins: BinSpec) -> Self {
        Self { bins, ..self }
    }
}

/// The malformed records that were skipped, under [`OnError::Skip`](crate::engine::OnError::Skip).
///
/// ```
/// use warpath::bitmap::{ColumnSpec, build};
/// use warpath::{Engine, OnError};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"n\":5}\n{\"n\":\n")?;
/// let engine = Engine::builder().on_error(OnError::Skip).build()?;
/// # #[cfg(any())]
/// let path = Path::new("tweets.ndjson");
/// let (_, left_out) = build(&engine, &path, &[ColumnSpec::new("n", "$.n")])?;
/// assert_eq!((left_out.count, left_out.first.unwrap().line), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The number of skipped records.
    pub count: u64,
    /// The first skipped record.
    pub first: Option<RecordError>,
}

/// Builds columns of a file of newline-delimited JSON, plain or compressed.
///
/// The device on which the engine evaluates makes the bitmaps, or the CPU. An engine that chooses
/// ([`DeviceChoice::Auto`](crate::devices::DeviceChoice::Auto)) chooses as for a query of the file.
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
/// assert_eq!((index.rows(), index.info().columns[0].bins), (2, 2));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// * [`Error::Query`] for a source that is not a JSONPath.
/// * [`Error::Usage`] for a path that may find several values of a record, and for equal names. Also for
///   values that cannot be cut as wanted, and for an engine of documents.
/// * The errors of the input, and [`IndexError::Unsettled`] if the file was written to meanwhile.
/// * [`Error::Device`] if a device fails, or has not enough memory.
pub fn build(engine: &Engine, path: &Path, specs: &[ColumnSpec]) -> Result<(Built, LeftOut), Error> {
    ndjson::build_ndjson(&mut engine.bitmap_maker_for(path)?, engine, path, specs)
}

/// A regular file that is open, with its state when it was opened.
struct Opened {
    name: String,
    file: File,
    stamp: Stamp,
}

impl Opened {
    fn new(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |source| InputError::Io { name: name.clone(), source };
        let metadata = path.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        if !metadata.is_file() {
            return Err(IndexError::NotPlain { input: name, why: "is not a regular file" }.into());
        }
        let file = File::open(path).map_err(failed)?;
        let stamp = Stamp::of(&file).map_err(failed)?;
        Ok(Self { name, file, stamp })
    }

    /// Checks that the file is unchanged.
    fn check_settled(&self) -> Result<(), Error> {
        let now =
            Stamp::of(&self.file).map_err(|source| InputError::Io { name: self.name.clone(), source })?;
        if now == self.stamp {
            Ok(())
        } else {
            Err(IndexError::Unsettled { input: self.name.clone() }.into())
        }
    }
}

/// Refuses columns without a name or with equal names, and an empty list.
fn check_names(specs: &[ColumnSpec]) -> Result<(), Error> {
    if specs.is_empty() {
        return Err(Error::Usage("a bitmap index has at least one column".into()));
    }
    for (at, ColumnSpec { name, source, .. }) in specs.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::Usage(format!("the column of `{source}` has no name")));
        }
        if specs[..at].iter().any(|other| other.name == *name) {
            return Err(Error::Usage(format!("two columns have the name `{name}`")));
        }
    }
    Ok(())
}

/// Builds each column from its parts, one column after the other, because each takes all cores and its own
/// memory.
fn build_parts(
    maker: &mut BitmapMaker,
    specs: &[ColumnSpec],
    sources: Vec<String>,
    parts: Vec<Vec<Raw>>,
) -> Result<Vec<BuiltColumn>, Error> {
    let mut columns: Vec<Vec<Raw>> = specs.iter().map(|_| Vec::with_capacity(parts.len())).collect();
    for part in parts {
        columns.iter_mut().zip(part).for_each(|(column, raw)| column.push(raw));
    }
    let all = specs.iter().zip(sources).zip(columns);
    all.map(|((spec, source), raw)| {
        build_column_by(maker, &spec.name, &source, finish(raw, spec.kind, Kind::Text), &spec.bins)
    })
    .collect()
}

/// Cuts values into bins, and makes the bitmap of each bin.
///
/// All cores share the work. For each value, only the part that its bin does not determine is stored: the
/// distance from the least value of the bin, or the text.
///
/// # Errors
/// [`Error::Usage`] if the values cannot be cut by this rule.
pub fn build_column(
    name: &str,
    source: &str,
    values: ColumnValues,
    spec: &BinSpec,
) -> Result<BuiltColumn, Error> {
    build_column_by(&mut BitmapMaker::cpu(), name, source, values, spec)
}

/// Builds a column, with bitmaps by the given maker.
///
/// # Errors
/// The errors of [`build_column`]. [`Error::Device`] if the maker's device fails, or has not enough memory.
pub fn build_column_by(
    maker: &mut BitmapMaker,
    name: &str,
    source: &str,
    values: ColumnValues,
    spec: &BinSpec,
) -> Result<BuiltColumn, Error> {
    let (kind, (states, data)) = (values.kind(), values.into_parts());
    let failed = |what| Error::Usage(format!("column `{name}`: {what}"));
    let keyed = |runs| {
        let sorted = Sorted::of_keys(kind, runs);
        cut(&sorted, spec).map(|cut| (sorted, cut)).map_err(failed)
    };
    let made = match &data {
        Data::Int(values) | Data::Time(values) => {
            let (sorted, (starts, spec)) = keyed(sort_keys(values, &states))?;
            Numbered::by_keys(&sorted, &starts, spec, values, &states)
        }
        Data::Float(values) => {
            let (sorted, (starts, spec)) = keyed(sort_keys(values, &states))?;
            Numbered::by_keys(&sorted, &starts, spec, values, &states)
        }
        Data::Bool(values) => {
            let (sorted, (starts, spec)) = keyed(sort_keys(values, &states))?;
            Numbered::by_keys(&sorted, &starts, spec, values, &states)
        }
        Data::Text(texts) => {
            let (dictionary, runs) = Dictionary::of(texts);
            let sorted = Sorted::of_texts(runs);
            let (starts, spec) = cut(&sorted, spec).map_err(failed)?;
            let bins = dictionary.cut(&sorted.texts_at(&starts));
            Numbered::of(&sorted, &starts, spec, &states, |row| bins.get(row))
        }
    };
    let Numbered { bins, numbers, spec } = made;
    let bitmaps = maker.make(&numbers, bins.len())?;
    let values = values::of_bins(&bins, &numbers, &data);
    let (name, source) = (name.to_owned(), source.to_owned());
    Ok(BuiltColumn {
        column: Column { name, source, kind, binning: spec.to_string(), bins },
        bitmaps,
        values,
    })
}

/// The bins of a column, and the bin number of each row.
struct Numbered {
    bins: Vec<Bin>,
    numbers: BinNumbers,
    /// The rule by which the values were cut.
    spec: BinSpec,
}

impl Numbered {
    fn by_keys<T: KeyedValue>(
        sorted: &Sorted<'_>,
        starts: &[usize],
        spec: BinSpec,
        values: &[T],
        states: &[State],
    ) -> Self {
        let starts_at = sorted.keys_at(starts);
        Self::of(sorted, starts, spec, states, |row| {
            let key = values[row].key();
            (starts_at.partition_point(|start| *start <= key) as u32).saturating_sub(1)
        })
    }

    /// Numbers the bins. `bin_of` is called only for rows that have a value.
    fn of(
        sorted: &Sorted<'_>,
        starts: &[usize],
        spec: BinSpec,
        states: &[State],
        bin_of: impl Fn(usize) -> u32 + Sync,
    ) -> Self {
        let ends = starts.iter().skip(1).copied().chain([sorted.distinct()]);
        let mut bins: Vec<Bin> = starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| Bin {
                holds: Holds::Values { least: sorted.scalar(start), greatest: sorted.scalar(end - 1) },
                rows: sorted.before(end) - sorted.before(start),
            })
            .collect();
        // The states without a value, in the order of their bins.
        let others = [
            (State::Missing, Holds::Missing),
            (State::Null, Holds::Null),
            (State::Other, Holds::Other),
            (State::NaN, Holds::NaN),
        ];
        let counts = count_states(states);
        let mut numbers = [0_u32; STATES];
        for (state, holds) in others {
            let rows = counts[state as usize];
            if rows > 0 {
                numbers[state as usize] = bins.len() as u32;
                bins.push(Bin { holds, rows });
            }
        }
        let number = |row: usize| match states[row] {
            State::Value => bin_of(row),
            state => numbers[state as usize],
        };
        let numbers = match bins.len() {
            0..=0x100 => BinNumbers::U8(fill(states.len(), |row| number(row) as u8)),
            0x101..=0x1_0000 => BinNumbers::U16(fill(states.len(), |row| number(row) as u16)),
            _ => BinNumbers::U32(fill(states.len(), number)),
        };
        Self { bins, numbers, spec }
    }
}

/// The number of states.
const STATES: usize = State::NaN as usize + 1;

/// The number of rows in each state.
fn count_states(states: &[State]) -> [u64; STATES] {
    let count = |range: std::ops::Range<usize>| {
        let mut counts = [0_u64; STATES];
        states[range].iter().for_each(|state| counts[*state as usize] += 1);
        counts
    };
    let mut sum = [0; STATES];
    for counts in pool::map(pool::ranges(states.len(), 1), count) {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    sum
}

/// A vector with one element for each row.
fn fill<T: Copy + Default + Send>(rows: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut all = vec![T::default(); rows];
    let step = pool::range_rows(rows, 1);
    pool::map(all.chunks_mut(step).enumerate().collect(), |(at, room)| {
        for (row, place) in (at * step..).zip(room) {
            *place = of(row);
        }
    });
    all
}

/// A bitmap of the rows that are records; `None` if all are.
fn records_of(rows: u64, no_records: impl IntoIterator<Item = u64>) -> Option<WahBuf> {
    let mut others = no_records.into_iter().peekable();
    others.peek()?;
    Some(WahBuf::not(WahBuf::from_ones(others, rows).as_wah()))
}
