//! Groups on a device. Each group has a number, made of a digit for each column, so that a device finds its
//! counts without a search:
//!
//! ```text
//! columns          lang: codes 0 ‥ 2      n: 10 ‥ 14
//! digit            1 + code, or 0         1 + n - 10, or 0 for no value
//! group            digit of lang × 6 + digit of n                     24 groups, some without rows
//! ```

use warpath_core::error::Error;
use warpath_core::leaves::{Grouping, Numbers, Part, Program};
use warpath_shared::leaf::table::{Aggregate as DeviceAggregate, AggregateCode, Key};
use warpath_shared::leaf::{double, integer};

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

/// The range of a column in all tables.
struct Digits {
    class: Class,
    least: u64,
    /// The number of digits, that of no value included.
    digits: u64,
    stride: u64,
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

/// Groups the rows of tables that are on one device, as [`group`](super::group) does on the host. `None` if
/// the tables cannot, or if the groups would be too many for a device.
///
/// # Errors
/// [`Error::Device`].
pub fn group_on(
    tables: &[TableOf<'_>],
    question: Option<&Question>,
    columns: &[GroupColumn],
    aggregates: &[Aggregate],
) -> Result<Option<Grouped>, Error> {
    let Some((first, _)) = tables.first() else { return Ok(None) };
    let device = first.device().clone();
    let segments = || tables.iter().flat_map(|(_, segments)| segments.iter().copied());
    if columns.len() > MOST_COLUMNS
        || columns.iter().any(|column| column.derive.is_some())
        || segments().any(|segment| !segment.is_whole())
    {
        return Ok(None);
    }
    let kind = |path: &[Vec<u8>]| kind_of(path, segments());
    let kinds: Option<Vec<_>> = columns.iter().map(|column| kind(&column.path)).collect();
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
        parts.push(plan.part(table, program, columns));
    }
    let Plan { groups, places, .. } = &plan;
    let sets = places.sets.iter().map(|(_, words)| *words).collect();
    let grouping = Grouping { groups: *groups, numbers: places.numbers.len(), sets, parts };
    let numbers = device.group(&grouping)?;
    Ok(Some(plan.grouped(&numbers, &kinds, columns.is_empty())))
}

struct Plan<'a> {
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
        let (mut groups, mut digits) = (1_u64, Vec::with_capacity(columns.len()));
        for (column, kind) in columns.iter().zip(kinds) {
            let Some(class) = class_of(kind) else {
                digits.push(None);
                continue;
            };
            let (least, greatest) = range(&column.path, class);
            let count = greatest.checked_sub(least)?.checked_add(2)?;
            digits.push(Some(Digits { class, least, digits: count, stride: groups }));
            groups = groups.checked_mul(count)?;
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
        fits.then_some(Self { digits, groups, places, of_aggregates, rows: rows_at })
    }

    /// The grouping of one table.
    fn part(&self, table: &DeviceTable, program: Program, columns: &[GroupColumn]) -> Part {
        let of_table = table.table();
        let mut keys = Vec::with_capacity(columns.len());
        for (column, digits) in columns.iter().zip(&self.digits) {
            let Some(Digits { class, least, stride, .. }) = digits else { continue };
            // A table without the column has no values: the digit 0.
            let Some(found) = of_table.column(&column.path, *class) else { continue };
            keys.push(Key {
                column: found.number,
                least: *least,
                divide: 1,
                stride: *stride,
                ..Key::default()
            });
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

    /// The groups that have rows.
    fn grouped(&self, found: &Numbers, kinds: &[ColumnKind], is_one: bool) -> Grouped {
        let rows = &found.numbers[self.rows];
        let present: Vec<usize> = if is_one {
            vec![0]
        } else {
            rows.iter().enumerate().filter(|(_, rows)| **rows > 0).map(|(group, _)| group).collect()
        };
        let value = |group: usize, digits: &Option<Digits>| {
            let Some(Digits { class, least, digits, stride }) = digits else { return GroupValue::Null };
            let Some(digit) = (group as u64 / stride % digits).checked_sub(1) else {
                return GroupValue::Null;
            };
            let value = least + digit;
            match class {
                Class::Booleans => GroupValue::Boolean(value != 0),
                Class::Integers => GroupValue::Integer(integer(value)),
                Class::Doubles => GroupValue::Double(double(value)),
                _ => GroupValue::Code(value as u32),
            }
        };
        let values = |group: &usize| self.digits.iter().map(|digits| value(*group, digits)).collect();
        let number = |group: usize, place: &Place| {
            let of = |at: usize| found.numbers[at][group];
            match place {
                Place::Nothing => Number::Null,
                Place::Zero => Number::Count(0),
                Place::Count(at) => Number::Count(of(*at)),
                Place::Size(at) => Number::Count(found.sizes[*at][group]),
                Place::Extreme { count, .. } | Place::Sum { count, .. } if of(*count) == 0 => Number::Null,
                Place::Extreme { is_least, is_double, at, .. } => {
                    let value = if *is_least { !of(*at) } else { of(*at) };
                    if *is_double {
                        Number::Double(double(value))
                    } else {
                        Number::Integer(integer(value).into())
                    }
                }
                Place::Sum { low, high, count } => {
                    // Each value has 2^63 more than its integer.
                    let sum = i128::from(of(*low)) + (i128::from(of(*high)) << 32);
                    Number::Integer(sum - (i128::from(of(*count)) << 63))
                }
            }
        };
        let numbers = |group: &usize| self.of_aggregates.iter().map(|place| number(*group, place)).collect();
        let dictionary = |kind: &ColumnKind| match kind {
            ColumnKind::Codes(dictionary) => Some(dictionary.clone()),
            _ => None,
        };
        Grouped {
            groups: present.iter().map(values).collect(),
            numbers: present.iter().map(numbers).collect(),
            dictionaries: kinds.iter().map(dictionary).collect(),
        }
    }
}
