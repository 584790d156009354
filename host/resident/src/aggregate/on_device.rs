//! Groups on a device. Each group has a number, made of a digit for each column, so that a device finds its
//! counts without a search:
//!
//! ```text
//! columns          lang: codes 0 ‥ 2      n: 10 ‥ 14
//! digit            1 + code, or 0         1 + n - 10, or 0 for no value
//! group            digit of lang + 4 × digit of n                     24 groups, some without rows
//! ```

use warpath_core::error::Error;
use warpath_core::leaves::{Grouping, Numbers, Part, Program};
use warpath_core::pool;
use warpath_shared::leaf::table::{Aggregate as DeviceAggregate, AggregateCode, Key};
use warpath_shared::leaf::{double, integer, of_integer};

use super::{Aggregate, ColumnKind, GroupColumn, GroupValue, Grouped, MOST_COLUMNS, Number, kind_of};
use crate::rows::Question;
use crate::segment::Segment;
use crate::table::{Class, DeviceTable};

/// Groups of which the numbers take more memory than this part of what is free stay on the host.
const PART_OF_FREE: u64 = 2;
/// So many groups are never too many.
const FEW: u64 = 1 << 16;
/// More groups than this many times the rows stay on the host.
const MOST_OF_ROWS: u64 = 4;

/// A table on a device, and its segments.
pub type TableOf<'a> = (&'a DeviceTable, &'a [&'a Segment]);

/// Buckets of integers: the bucket of *v* is ⌊(*v* - `origin`) / `width`⌋, modulo `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The first integer of a bucket.
    pub origin: i64,
    /// The integers of a bucket; at least 1.
    pub width: u64,
    /// The number of buckets after which they are the same again, such as the 24 hours of a day; 0 if they
    /// never are.
    pub count: u64,
}

/// The range of a column in all tables.
struct Digits {
    class: Class,
    least: u64,
    /// The number of digits, that of no value included.
    digits: u64,
    stride: u64,
    bucket: Option<Bucket>,
}

impl Digits {
    fn of(class: Class, least: u64, greatest: u64, stride: u64, bucket: Option<Bucket>) -> Option<Self> {
        let Some(Bucket { origin, width, count }) = bucket else {
            let digits = greatest.checked_sub(least)?.checked_add(2)?;
            return Some(Self { class, least, digits, stride, bucket });
        };
        if class != Class::Integers || width == 0 {
            return None;
        }
        // The first integer of the first bucket. It may be less than all integers of 64 bits.
        let period = i128::from(width) * i128::from(count.max(1));
        let first = i128::from(integer(least));
        let first = i64::try_from(first - (first - i128::from(origin)).rem_euclid(period)).ok()?;
        let least = of_integer(first);
        let digits = if count > 0 { count } else { greatest.checked_sub(least)? / width + 1 };
        Some(Self { class, least, digits: digits.checked_add(1)?, stride, bucket })
    }

    /// The value of a group in this column.
    fn value(&self, group: u64) -> GroupValue {
        let Some(digit) = (group / self.stride % self.digits).checked_sub(1) else { return GroupValue::Null };
        match (self.bucket, self.class) {
            (Some(Bucket { count: 0, width, .. }), _) => {
                GroupValue::Integer(integer(self.least.wrapping_add(digit.wrapping_mul(width))))
            }
            (Some(_), _) => GroupValue::Integer(digit as i64),
            (None, Class::Booleans) => GroupValue::Boolean(self.least + digit != 0),
            (None, Class::Integers) => GroupValue::Integer(integer(self.least + digit)),
            (None, Class::Doubles) => GroupValue::Double(double(self.least + digit)),
            (None, _) => GroupValue::Code((self.least + digit) as u32),
        }
    }
}

fn class_of(kind: &ColumnKind) -> Option<Class> {
    match kind {
        ColumnKind::Nothing => None,
        ColumnKind::Booleans => Some(Class::Booleans),
        ColumnKind::Integers => Some(Class::Integers),
        ColumnKind::Doubles => Some(Class::Doubles),
        ColumnKind::Codes(_) => Some(Class::Codes),
    }
}

/// The aggregates of a grouping: their places.
#[derive(Default)]
struct Places<'a> {
    /// Aggregates with a number for each group, and their paths and classes.
    numbers: Vec<(AggregateCode, Option<(&'a [Vec<u8>], Class)>)>,
    sets: Vec<(&'a [Vec<u8>], u64)>,
}

impl<'a> Places<'a> {
    fn number(&mut self, op: AggregateCode, column: Option<(&'a [Vec<u8>], Class)>) -> usize {
        let wanted = (op, column);
        let known = self.numbers.iter().position(|known| *known == wanted);
        known.unwrap_or_else(|| {
            self.numbers.push(wanted);
            self.numbers.len() - 1
        })
    }
}

/// The place of an aggregate among the numbers of a device.
enum Place {
    /// No value anywhere: no extreme and no sum.
    Nothing,
    /// No value anywhere: the count is 0.
    Zero,
    Count(usize),
    Size(usize),
    Extreme {
        is_least: bool,
        is_double: bool,
        at: usize,
        count: usize,
    },
    Sum {
        low: usize,
        high: usize,
        count: usize,
    },
}

/// Groups of the rows of tables, as a device found them: numbers for each group that could be, of which many
/// may have no rows.
pub struct DeviceGroups<'a> {
    plan: Plan<'a>,
    kinds: Vec<ColumnKind>,
    found: Numbers,
}

/// The number by which groups are put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The number of an aggregate.
    Of(usize),
    /// The number of the first aggregate less that of the second.
    Difference(usize, usize),
}

/// Groups the rows of tables that are on one device, as [`group`](super::group) does on the host. Columns
/// with a bucket are grouped by it, in place of their values. `None` if the tables cannot, or if the groups
/// would be too many for a device.
///
/// # Errors
/// [`Error::Device`].
pub fn group_on<'a>(
    tables: &[TableOf<'_>],
    question: Option<&Question>,
    columns: &'a [(GroupColumn, Option<Bucket>)],
    aggregates: &'a [Aggregate],
) -> Result<Option<DeviceGroups<'a>>, Error> {
    let Some((first, _)) = tables.first() else { return Ok(None) };
    let device = first.device().clone();
    let segments = || tables.iter().flat_map(|(_, segments)| segments.iter().copied());
    let is_derived =
        |(column, bucket): &(GroupColumn, Option<Bucket>)| column.derive.is_some() && bucket.is_none();
    if columns.len() > MOST_COLUMNS
        || columns.iter().any(is_derived)
        || segments().any(|segment| !segment.is_whole())
    {
        return Ok(None);
    }
    let kind = |path: &[Vec<u8>]| kind_of(path, segments());
    let kinds: Option<Vec<_>> = columns.iter().map(|(column, _)| kind(&column.path)).collect();
    let of_values: Option<Vec<_>> = aggregates
        .iter()
        .map(|aggregate| aggregate.path().map_or(Some(None), |path| kind(path).map(Some)))
        .collect();
    let (Some(kinds), Some(of_values)) = (kinds, of_values) else { return Ok(None) };
    let free = device.free_memory()?;
    let Some(plan) = Plan::of(tables, columns, &kinds, aggregates, &of_values, free) else { return Ok(None) };
    let mut parts = Vec::with_capacity(tables.len());
    for (table, segments) in tables {
        let program = match question {
            None => Program::all(),
            Some(question) => match question.program(table.table(), segments) {
                None => return Ok(None),
                Some(program) => program,
            },
        };
        parts.push(plan.part(table, program));
    }
    let Plan { groups, places, .. } = &plan;
    let sets = places.sets.iter().map(|(_, words)| *words).collect();
    let grouping = Grouping { groups: *groups, numbers: places.numbers.len(), sets, parts };
    let found = device.group(&grouping)?;
    Ok(Some(DeviceGroups { plan, kinds, found }))
}

impl DeviceGroups<'_> {
    /// The groups that have rows, by their numbers. Without columns, all rows are the group 0.
    #[must_use]
    pub fn present(&self) -> Vec<u64> {
        if self.plan.digits.is_empty() {
            return vec![0];
        }
        let rows = &self.found.numbers[self.plan.rows];
        rows.iter().zip(0..).filter(|(rows, _)| **rows > 0).map(|(_, group)| group).collect()
    }

    /// The first groups in the descending or ascending order of a number. `None` if some group has no number,
    /// or a number of another form than an integer.
    #[must_use]
    pub fn first(&self, order: Order, is_descending: bool, count: usize) -> Option<Vec<u64>> {
        /// Groups that a thread looks at.
        const PART: u64 = 1 << 16;

        let of = |at: usize| match self.plan.of_aggregates[at] {
            Place::Count(_) | Place::Size(_) => true,
            Place::Extreme { is_double, .. } => !is_double,
            _ => false,
        };
        let (one, other) = match order {
            Order::Of(one) => (one, None),
            Order::Difference(one, other) => (one, Some(other)),
        };
        if !of(one) || !other.is_none_or(of) {
            return None;
        }
        let number = |group: u64, at: usize| match self.number(group, at) {
            Number::Count(count) => Some(i128::from(count)),
            Number::Integer(number) => Some(number),
            Number::Null | Number::Double(_) => None,
        };
        let key = |group: u64| {
            let less = other.map_or(Some(0), |other| number(group, other));
            Some(number(group, one)? - less?)
        };
        let rows = &self.found.numbers[self.plan.rows];
        let parts: Vec<u64> = (0..rows.len() as u64).step_by(PART as usize).collect();
        let parts = pool::map(parts, |from| {
            let mut best: Vec<(i128, u64)> = Vec::with_capacity(count + 1);
            for group in (from..rows.len() as u64).take(PART as usize) {
                if rows[group as usize] == 0 && !self.plan.digits.is_empty() {
                    continue;
                }
                let key = key(group)?;
                let entry = (if is_descending { -key } else { key }, group);
                if best.len() < count || best.last().is_some_and(|last| entry < *last) {
                    let at = best.partition_point(|other| *other < entry);
                    best.insert(at, entry);
                    best.truncate(count);
                }
            }
            Some(best)
        });
        let mut all = parts.into_iter().collect::<Option<Vec<_>>>()?.concat();
        all.sort_unstable();
        Some(all.into_iter().take(count).map(|(_, group)| group).collect())
    }

    /// The values of a group, column by column.
    #[must_use]
    pub fn values(&self, group: u64) -> Vec<GroupValue> {
        let value = |digits: &Option<Digits>| digits.as_ref().map_or(GroupValue::Null, |of| of.value(group));
        self.plan.digits.iter().map(value).collect()
    }

    /// The number of an aggregate of a group.
    ///
    /// # Panics
    /// If there is no such group or aggregate.
    #[must_use]
    pub fn number(&self, group: u64, aggregate: usize) -> Number {
        let of = |at: usize| self.found.numbers[at][group as usize];
        match self.plan.of_aggregates[aggregate] {
            Place::Nothing => Number::Null,
            Place::Zero => Number::Count(0),
            Place::Count(at) => Number::Count(of(at)),
            Place::Size(at) => Number::Count(self.found.sizes[at][group as usize]),
            Place::Extreme { count, .. } | Place::Sum { count, .. } if of(count) == 0 => Number::Null,
            Place::Extreme { is_least, is_double, at, .. } => {
                let value = if is_least { !of(at) } else { of(at) };
                if is_double { Number::Double(double(value)) } else { Number::Integer(integer(value).into()) }
            }
            Place::Sum { low, high, count } => {
                // Each value has 2^63 more than its integer.
                let sum = i128::from(of(low)) + (i128::from(of(high)) << 32);
                Number::Integer(sum - (i128::from(of(count)) << 63))
            }
        }
    }

    /// Groups with all of their values and numbers.
    #[must_use]
    pub fn grouped(&self, groups: &[u64]) -> Grouped {
        let aggregates = self.plan.of_aggregates.len();
        let numbers = |group: &u64| (0..aggregates).map(|at| self.number(*group, at)).collect();
        let dictionary = |kind: &ColumnKind| match kind {
            ColumnKind::Codes(dictionary) => Some(dictionary.clone()),
            _ => None,
        };
        Grouped {
            groups: groups.iter().map(|group| self.values(*group)).collect(),
            numbers: groups.iter().map(numbers).collect(),
            dictionaries: self.kinds.iter().map(dictionary).collect(),
        }
    }
}

/// The numbers of groups, and the places of their aggregates.
struct Plan<'a> {
    columns: &'a [(GroupColumn, Option<Bucket>)],
    digits: Vec<Option<Digits>>,
    groups: u64,
    places: Places<'a>,
    of_aggregates: Vec<Place>,
    /// The place of the numbers of rows.
    rows: usize,
}

impl<'a> Plan<'a> {
    fn of(
        tables: &[TableOf<'_>],
        columns: &'a [(GroupColumn, Option<Bucket>)],
        kinds: &[ColumnKind],
        aggregates: &'a [Aggregate],
        of_values: &[Option<ColumnKind>],
        free: u64,
    ) -> Option<Self> {
        let rows: u64 = tables.iter().map(|(table, _)| table.table().rows()).sum();
        // The least and the greatest value of a column in all tables.
        let range = |path: &[Vec<u8>], class| {
            let all = tables.iter().filter_map(|(table, _)| table.table().column(path, class));
            all.fold((u64::MAX, 0), |(least, greatest), column| {
                (least.min(column.least), greatest.max(column.greatest))
            })
        };
        let (mut groups, mut digits) = (1_u64, Vec::with_capacity(columns.len()));
        for ((column, bucket), kind) in columns.iter().zip(kinds) {
            let Some(class) = class_of(kind) else {
                digits.push(None);
                continue;
            };
            let (least, greatest) = range(&column.path, class);
            let of = Digits::of(class, least, greatest, groups, *bucket)?;
            groups = groups.checked_mul(of.digits)?;
            digits.push(Some(of));
        }
        let (mut places, mut of_aggregates) = (Places::default(), Vec::with_capacity(aggregates.len()));
        let rows_at = places.number(AggregateCode::Rows, None);
        for (aggregate, kind) in aggregates.iter().zip(of_values) {
            let column = match (aggregate.path(), kind) {
                (Some(path), Some(kind)) => class_of(kind).map(|class| (path, class)),
                _ => None,
            };
            let class = column.map(|(_, class)| class);
            of_aggregates.push(match (aggregate, column) {
                (Aggregate::Rows, _) => Place::Count(rows_at),
                (Aggregate::Count(_) | Aggregate::Distinct(_), None) => Place::Zero,
                (_, None) => Place::Nothing,
                (Aggregate::Count(_), column) => Place::Count(places.number(AggregateCode::Count, column)),
                (Aggregate::Distinct(path), _) if class == Some(Class::Codes) => {
                    let (_, greatest) = range(path, Class::Codes);
                    places.sets.push((path, greatest / 32 + 1));
                    Place::Size(places.sets.len() - 1)
                }
                // Sets of other values would need a number for each.
                (Aggregate::Distinct(_), _) => return None,
                (Aggregate::Least(_) | Aggregate::Greatest(_), column) => {
                    let is_least = matches!(aggregate, Aggregate::Least(_));
                    let op = if is_least { AggregateCode::Least } else { AggregateCode::Greatest };
                    let (at, count) =
                        (places.number(op, column), places.number(AggregateCode::Count, column));
                    Place::Extreme { is_least, is_double: class == Some(Class::Doubles), at, count }
                }
                (Aggregate::Sum(_), column) if class == Some(Class::Integers) => Place::Sum {
                    low: places.number(AggregateCode::LowSum, column),
                    high: places.number(AggregateCode::HighSum, column),
                    count: places.number(AggregateCode::Count, column),
                },
                (Aggregate::Sum(_), _) => return None,
            });
        }
        let words: u64 =
            places.sets.iter().map(|(_, words)| words.saturating_add(2)).fold(0, u64::saturating_add);
        let bytes = words.saturating_mul(4).saturating_add(8 * places.numbers.len() as u64);
        let fits = groups.checked_mul(bytes).is_some_and(|bytes| bytes <= free / PART_OF_FREE)
            && groups < u64::from(u32::MAX)
            && groups <= FEW.max(rows.saturating_mul(MOST_OF_ROWS));
        fits.then_some(Self { columns, digits, groups, places, of_aggregates, rows: rows_at })
    }

    /// The grouping of one table.
    fn part(&self, table: &DeviceTable, program: Program) -> Part {
        let of_table = table.table();
        let mut keys = Vec::with_capacity(self.columns.len());
        for ((column, _), digits) in self.columns.iter().zip(&self.digits) {
            let Some(Digits { class, least, stride, bucket, .. }) = digits else { continue };
            // A table without the column has no values: the digit 0.
            let Some(found) = of_table.column(&column.path, *class) else { continue };
            let (divide, modulo) = bucket.map_or((1, 0), |bucket| (bucket.width, bucket.count));
            let (column, least, stride) = (found.number, *least, *stride);
            keys.push(Key { column, least, divide, modulo, stride, ..Key::default() });
        }
        let mut aggregates = Vec::with_capacity(self.places.numbers.len() + self.places.sets.len());
        for (at, (op, column)) in self.places.numbers.iter().enumerate() {
            let number = match column {
                None => Some(0),
                Some((path, class)) => of_table.column(path, *class).map(|column| column.number),
            };
            if let Some(column) = number {
                let at = at as u64 * self.groups;
                aggregates.push(DeviceAggregate { op: *op as u32, column, at, words: 0 });
            }
        }
        let mut begin = 0;
        for (path, words) in &self.places.sets {
            if let Some(column) = of_table.column(path, Class::Codes) {
                let op = AggregateCode::Distinct as u32;
                aggregates.push(DeviceAggregate { op, column: column.number, at: begin, words: *words });
            }
            begin += words * self.groups;
        }
        Part { table: table.number(), program, keys, aggregates }
    }
}
