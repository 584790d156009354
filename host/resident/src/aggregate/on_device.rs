//! Groups on a device. Each group has a number, made of a digit for each column, so that a device finds its
//! counts without a search:
//!
//! ```text
//! columns          lang: codes 0 ‥ 2      n: 10 ‥ 14
//! digit            1 + code, or 0         1 + n - 10, or 0 for no value
//! group            digit of lang + 4 × digit of n                     24 groups, some without rows
//! ```

use std::num::NonZeroU64;
use std::sync::Arc;

use foldhash::HashMap;
use warpath_core::leaves::{First as FirstGroups, Grouping, Numbers as Found, Part, Program};
use warpath_core::pool;
use warpath_shared::leaf::table::{Aggregate as DeviceAggregate, AggregateCode, Key, Order};
use warpath_shared::leaf::{double, integer, of_integer};

use super::grouped::{Grouped, Numbers, Values};
use super::wanted::{Aggregate, ColumnKind, Derive, Error, First, GroupColumn, MOST_COLUMNS};
use crate::rows::Question;
use crate::segment::Segment;
use crate::table::{Class, DeviceTable};

/// Groups of which the numbers take more memory than this part of what is free stay on the host.
const PART_OF_FREE: u64 = 2;
/// This many groups are never too many.
const FEW: u64 = 1 << 16;
/// More groups than this many times the rows stay on the host.
const MOST_OF_ROWS: u64 = 4;

/// A table on a device, and its segments.
pub type TableOf<'a> = (&'a DeviceTable, &'a [&'a Segment]);

/// The range of a column in all tables.
struct Digits {
    class: Class,
    least: u64,
    /// The number of digits, that of no value included.
    digits: u64,
    stride: u64,
    /// Values whose differences to the least have the same quotient by this number have the same digit.
    unit: u64,
    /// The result of the column's function for each digit, and the results.
    derived: Option<(Vec<u32>, Vec<Option<i64>>)>,
}

impl Digits {
    fn of(class: Class, least: u64, greatest: u64, stride: u64, unit: Option<u64>) -> Option<Self> {
        let unit = unit.unwrap_or(1);
        // The first of the integers with the same quotient as the least, which is rounded down.
        let first = i128::from(integer(least));
        let least = if unit == 1 {
            least
        } else {
            of_integer(i64::try_from(first - first.rem_euclid(unit.into())).ok()?)
        };
        let digits = (greatest.checked_sub(least)? / unit).checked_add(2)?;
        Some(Self { class, least, digits, stride, unit, derived: None })
    }

    /// Finds the results of a function for all digits.
    fn derive(&mut self, derive: &Derive) -> Result<(), String> {
        let value = |digit: u64| Some(integer(self.least + (digit - 1) * self.unit));
        let values: Vec<Option<i64>> = std::iter::once(None).chain((1..self.digits).map(value)).collect();
        let (mut known, mut results) = (HashMap::default(), Vec::new());
        let of_digits = derive(&values)?.into_iter().map(|result| {
            *known.entry(result).or_insert_with(|| {
                results.push(result);
                results.len() as u32 - 1
            })
        });
        self.derived = Some((of_digits.collect(), results));
        Ok(())
    }

    /// The number of different values, that of no value included.
    fn values(&self) -> u64 {
        self.derived.as_ref().map_or(self.digits, |(_, results)| results.len() as u64)
    }

    /// The number of the value of a digit.
    fn value_of(&self, digit: u64) -> u64 {
        self.derived.as_ref().map_or(digit, |(of_digits, _)| of_digits[digit as usize].into())
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

/// The values of a class of a member.
type Of<'a> = (&'a [Vec<u8>], Class);

/// The numbers and sets that a grouping needs.
#[derive(Default)]
struct Places<'a> {
    /// Aggregates with a number for each group, and their paths and classes.
    numbers: Vec<(AggregateCode, Option<Of<'a>>)>,
    sets: Vec<(&'a [Vec<u8>], u64)>,
}

impl<'a> Places<'a> {
    fn number(&mut self, op: AggregateCode, column: Option<Of<'a>>) -> usize {
        let wanted = (op, column);
        let known = self.numbers.iter().position(|known| *known == wanted);
        known.unwrap_or_else(|| {
            self.numbers.push(wanted);
            self.numbers.len() - 1
        })
    }
}

/// The numbers of a device of which an aggregate is made.
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
        /// The least and the greatest value of the member in all tables.
        range: (u64, u64),
    },
    Sum {
        low: usize,
        high: usize,
        count: usize,
    },
}

/// Groups the rows of tables that are on one device, as [`group`](super::group) does on the host. `None` if
/// the tables cannot, or if the groups would be too many for a device. With `first`, groups that are not
/// among the first may be left out.
///
/// # Errors
/// [`Error::Device`].
pub fn group_on(
    tables: &[TableOf<'_>],
    question: Option<&Question>,
    columns: &[GroupColumn],
    aggregates: &[Aggregate],
    first: Option<&First>,
) -> Result<Option<Grouped>, Error> {
    let Some((table, _)) = tables.first() else { return Ok(None) };
    let device = table.device().clone();
    if !tables.iter().all(|(table, _)| Arc::ptr_eq(table.device(), &device))
        || columns.len() > MOST_COLUMNS
        // Each value would have a result of its own.
        || columns.iter().any(|column| column.derive.is_some() && column.unit.is_none())
        || tables.iter().any(|(table, _)| !table.table().is_whole())
    {
        return Ok(None);
    }
    // The kind of a member in all tables.
    let kind = |path: &[Vec<u8>]| {
        tables.iter().try_fold(ColumnKind::Nothing, |kind, (table, segments)| {
            kind.and(table.table().kind(path, segments)?)
        })
    };
    let kinds: Option<Vec<_>> = columns.iter().map(|column| kind(&column.path)).collect();
    let of_values: Option<Vec<_>> = aggregates
        .iter()
        .map(|aggregate| aggregate.path().map_or(Some(None), |path| kind(path).map(Some)))
        .collect();
    let (Some(kinds), Some(of_values)) = (kinds, of_values) else { return Ok(None) };
    let free = device.free_memory()?;
    let Some(mut plan) = Plan::of(tables, columns, &kinds, aggregates, &of_values, free) else {
        return Ok(None);
    };
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
    for (digits, column) in plan.digits.iter_mut().zip(columns) {
        // The function may fail for a quotient that no row has. The host evaluates those of rows alone.
        if let (Some(digits), Some(derive)) = (digits, &column.derive)
            && digits.derive(&**derive).is_err()
        {
            return Ok(None);
        }
    }
    let Plan { groups, places, .. } = &plan;
    let sets = places.sets.iter().map(|(_, words)| *words).collect();
    let first = first.and_then(|first| plan.first(first));
    let numbers = places.numbers.iter().map(|(op, _)| *op).collect();
    let grouping = Grouping { groups: *groups, numbers, sets, parts, first, has_bits: false };
    let found = device.group(&grouping)?;
    let found = plan.joined(found);
    let rows = &found.numbers[plan.rows];
    // All rows are one group, also if there are none.
    let present: Vec<usize> = if columns.is_empty() {
        vec![0]
    } else {
        let pieces = pool::map(pool::ranges(rows.len(), 1), |range| {
            range.filter(|at| rows[*at] > 0).collect::<Vec<_>>()
        });
        pieces.concat()
    };
    let mut pieces =
        pool::map(pool::ranges(present.len(), 1), |range| plan.grouped(&found, &kinds, &present[range]))
            .into_iter();
    let mut grouped = pieces.next().unwrap_or_else(|| plan.grouped(&found, &kinds, &[]));
    pieces.for_each(|piece| grouped.append(piece));
    Ok(Some(grouped))
}

/// The digits of groups, and the numbers of their aggregates.
struct Plan<'a> {
    columns: &'a [GroupColumn],
    digits: Vec<Option<Digits>>,
    groups: u64,
    places: Places<'a>,
    of_aggregates: Vec<Place>,
    /// The position of the numbers of rows.
    rows: usize,
}

impl<'a> Plan<'a> {
    fn of(
        tables: &[TableOf<'_>],
        columns: &'a [GroupColumn],
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
        // Groups with the same result are joined, which sets cannot be once they are counted.
        let places_are_sums = !aggregates.iter().any(|aggregate| matches!(aggregate, Aggregate::Distinct(_)));
        let (mut groups, mut digits) = (1_u64, Vec::with_capacity(columns.len()));
        for (column, kind) in columns.iter().zip(kinds) {
            let Some(class) = class_of(kind) else {
                digits.push(None);
                continue;
            };
            let (least, greatest) = range(&column.path, class);
            let unit = column.derive.as_ref().and(column.unit).map(NonZeroU64::get);
            if unit.is_some() && (class != Class::Integers || !places_are_sums) {
                return None;
            }
            let of = Digits::of(class, least, greatest, groups, unit)?;
            groups = groups.checked_mul(of.digits)?;
            digits.push(Some(of));
        }
        // Values that each row has are as many as the rows.
        let is_full = |(path, class): (&[Vec<u8>], Class)| {
            tables.iter().all(|(table, _)| table.table().column(path, class).is_some_and(|of| of.is_full))
        };
        let counts = |places: &mut Places<'a>, column: Option<Of<'a>>| match column {
            Some(column) if is_full(column) => places.number(AggregateCode::Rows, None),
            column => places.number(AggregateCode::Count, column),
        };
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
                (Aggregate::Count(_), column) => Place::Count(counts(&mut places, column)),
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
                    let (at, count) = (places.number(op, column), counts(&mut places, column));
                    let range = column.map_or((0, 0), |(path, class)| range(path, class));
                    let is_double = class == Some(Class::Doubles);
                    Place::Extreme { is_least, is_double, at, count, range }
                }
                (Aggregate::Sum(_), column) if class == Some(Class::Integers) => Place::Sum {
                    low: places.number(AggregateCode::LowSum, column),
                    high: places.number(AggregateCode::HighSum, column),
                    count: counts(&mut places, column),
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
        for (column, digits) in self.columns.iter().zip(&self.digits) {
            let Some(Digits { class, least, stride, unit, .. }) = digits else { continue };
            // A table without the column has no values: the digit 0.
            let Some(found) = of_table.column(&column.path, *class) else { continue };
            let (column, least, divide, stride) = (found.number, *least, *unit, *stride);
            keys.push(Key { column, least, divide, stride, ..Key::default() });
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

    /// The first groups, as a device finds them. `None` if it cannot.
    fn first(&self, first: &First) -> Option<FirstGroups> {
        // Groups that are joined on the host have no numbers before.
        if first.count == 0 || self.digits.iter().flatten().any(|digits| digits.derived.is_some()) {
            return None;
        }
        // The position of the numbers of an aggregate, what turns them into its values, and their range.
        let numbers = |aggregate: usize, is_alone: bool| match *self.of_aggregates.get(aggregate)? {
            Place::Count(at) => is_alone.then_some((at, 0, (0, 0))),
            Place::Extreme { is_least, is_double, at, count, range } => {
                // A group without values has no rank.
                let is_full = self.places.numbers[count].0 == AggregateCode::Rows;
                let turn = if is_least { u64::MAX } else { 0 };
                (is_full && (is_alone || !is_double)).then_some((at, turn, range))
            }
            Place::Nothing | Place::Zero | Place::Size(_) | Place::Sum { .. } => None,
        };
        let is_alone = first.minus.is_none() && first.divide == 1;
        let (value, turn_value, of_value) = numbers(first.value, is_alone)?;
        let (minus, turn_minus) = match first.minus {
            None => (Order::NOTHING, 0),
            Some(minus) => {
                let (minus, turn, of_minus) = numbers(minus, false)?;
                // The host reports differences that have no room.
                let fits = |value, minus| integer(value).checked_sub(integer(minus)).is_some();
                if !fits(of_value.1, of_minus.0) || !fits(of_value.0, of_minus.1) {
                    return None;
                }
                (minus as u64 * self.groups, turn)
            }
        };
        let order = Order {
            value: value as u64 * self.groups,
            minus,
            divide: first.divide,
            turn_value,
            turn_minus,
            turn_rank: if first.is_descending { u64::MAX } else { 0 },
        };
        Some(FirstGroups { count: first.count, order, rows: self.rows as u64 })
    }

    /// Joins the groups whose columns have the same results.
    fn joined(&mut self, found: Found) -> Found {
        if self.digits.iter().flatten().all(|digits| digits.derived.is_none()) {
            return found;
        }
        let groups = self.digits.iter().flatten().map(Digits::values).product::<u64>();
        let joins: Vec<bool> = self
            .places
            .numbers
            .iter()
            .map(|(op, _)| matches!(op, AggregateCode::Least | AggregateCode::Greatest))
            .collect();
        let mut numbers = vec![vec![0_u64; groups as usize]; joins.len()];
        for group in 0..self.groups {
            if found.numbers[self.rows][group as usize] == 0 {
                continue;
            }
            let (mut to, mut stride) = (0, 1);
            for digits in self.digits.iter().flatten() {
                to += digits.value_of(group / digits.stride % digits.digits) * stride;
                stride *= digits.values();
            }
            for ((numbers, found), is_extreme) in numbers.iter_mut().zip(&found.numbers).zip(&joins) {
                let (number, more) = (&mut numbers[to as usize], found[group as usize]);
                *number = if *is_extreme { more.max(*number) } else { *number + more };
            }
        }
        let mut stride = 1;
        for digits in self.digits.iter_mut().flatten() {
            (digits.stride, digits.digits) = (stride, digits.values());
            stride *= digits.digits;
        }
        self.groups = groups;
        Found { numbers, ..Found::default() }
    }

    /// Some of the groups that were found, with all of their values and numbers.
    fn grouped(&self, found: &Found, kinds: &[ColumnKind], places: &[usize]) -> Grouped {
        let group_at = |place: &usize| found.groups.as_ref().map_or(*place as u64, |groups| groups[*place]);
        let values = |(digits, kind): (&Option<Digits>, &ColumnKind)| {
            let Some(Digits { least, digits, stride, derived, .. }) = digits else { return Values::Nothing };
            let of = places.iter().map(|place| group_at(place) / stride % digits);
            match derived {
                Some((_, results)) => Values::Integers(of.map(|value| results[value as usize]).collect()),
                None => Values::of(kind, false, of.map(|digit| Some(least + digit.checked_sub(1)?))),
            }
        };
        let numbers = |place: &Place| {
            let of = |at: usize| places.iter().map(move |place| found.numbers[at][*place]);
            let valued =
                |at, count| of(at).zip(of(count)).map(|(number, count)| (count > 0).then_some(number));
            match *place {
                Place::Nothing => Numbers::Integers(vec![None; places.len()]),
                Place::Zero => Numbers::Counts(vec![0; places.len()]),
                Place::Count(at) => Numbers::Counts(of(at).collect()),
                Place::Size(at) => {
                    Numbers::Counts(places.iter().map(|place| found.sizes[at][*place]).collect())
                }
                Place::Extreme { is_least, is_double, at, count, .. } => {
                    let values = valued(at, count).map(|it| it.map(|it| if is_least { !it } else { it }));
                    if is_double {
                        Numbers::Doubles(values.map(|it| it.map(double)).collect())
                    } else {
                        Numbers::Integers(values.map(|it| it.map(integer)).collect())
                    }
                }
                Place::Sum { low, high, count } => {
                    let sums = of(low).zip(of(high)).zip(of(count)).map(|((low, high), count)| {
                        // Each value has 2^63 more than its integer.
                        let sum = i128::from(low) + (i128::from(high) << 32) - (i128::from(count) << 63);
                        (count > 0).then_some(sum)
                    });
                    Numbers::Sums(sums.collect())
                }
            }
        };
        Grouped {
            len: places.len(),
            columns: self.digits.iter().zip(kinds).map(values).collect(),
            numbers: self.of_aggregates.iter().map(numbers).collect(),
        }
    }
}
