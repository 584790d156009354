//! Checks questions about tables of leaves on a device against the same questions on the host.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use warpath_core::cancel::Stop;
use warpath_core::leaves::LeafDevice;
use warpath_core::rows::RowSet;
use warpath_device::{Accelerator, DeviceLeaves};
use warpath_lang::predicate::Predicate;
use warpath_part::text::Shredder;
use warpath_resident::aggregate::{
    Aggregate, First, GroupColumn, GroupValue, Grouped, Numbers, TableOf, Values, group, group_on,
};
use warpath_resident::{DeviceTable, Dictionaries, Question, Segment, SegmentRows};

use crate::random::Rng;

/// A record with members of one kind and of several.
fn record(rng: &mut Rng, number: usize, users: usize) -> String {
    let mut line = "{".to_owned();
    let mut add = |name: &str, value: String| {
        let _ = write!(line, "{}\"{name}\":{value}", if line.len() > 1 { "," } else { "" });
    };
    if rng.below(9) > 0 {
        add("kind", ["\"commit\"", "\"identity\"", "null", "\"account\""][rng.below(4)].into());
    }
    if rng.below(5) > 0 {
        add("user", format!("\"u{}\"", rng.below(users)));
    }
    add("time", format!("{}", 1_700_000_000_000_000 + (number as u64) * 1_000 + rng.below(90) as u64));
    // A few are far from the others.
    add("at", format!("{}", number * 1_000 + if rng.below(400) == 0 { 1_000_000_000_000 } else { 0 }));
    if rng.below(3) > 0 {
        add("n", format!("{}", rng.below(12) as i64 - 6));
    }
    match rng.below(7) {
        0 => add("mixed", "true".into()),
        1 => add("mixed", format!("{}", rng.below(3))),
        2 => add("mixed", format!("{}.5", rng.below(3))),
        3 => add("mixed", "{\"in\":1}".into()),
        4 => add("mixed", format!("\"s{}\"", rng.below(3))),
        5 => add("mixed", "[1]".into()),
        _ => {}
    }
    if rng.below(2) > 0 {
        add("is", ["true", "false"][rng.below(2)].into());
        add("x", format!("{}.25", rng.below(8) as i64 - 4));
    }
    if rng.below(200) == 0 {
        add("wide", ["-9223372036854775808", "9223372036854775807", "0", "1"][rng.below(4)].into());
    }
    line + "}"
}

/// Random records, one in each line.
#[must_use]
pub fn lines(rng: &mut Rng, rows: usize, users: usize) -> String {
    (0..rows).map(|number| record(rng, number, users) + "\n").collect()
}

/// Segments of random records. Some rows are no records. With `is_even`, all records have a time; otherwise
/// some segments lack members.
#[must_use]
pub fn segments(
    rng: &mut Rng,
    rows: &[usize],
    users: usize,
    is_even: bool,
    dictionaries: &Dictionaries,
) -> Vec<Segment> {
    let mut number = 0;
    let one = |rows: &usize| {
        let is_plain = !is_even && rng.below(4) == 0;
        let mut text = String::new();
        for _ in 0..*rows {
            number += 1;
            match rng.below(100) {
                0 => {}
                1 if !is_even => text.push_str("{}"),
                _ if is_plain => _ = write!(text, "{{\"n\":{},\"user\":\"u1\"}}", number % 5),
                _ => text.push_str(&record(rng, number, users)),
            }
            text.push('\n');
        }
        let mut shredder = Shredder::new();
        let group = shredder.shred(text.as_bytes()).expect("lines that are right");
        Segment::of(shredder.tree(), &group, text.as_bytes(), dictionaries).expect("a right group")
    };
    rows.iter().map(one).collect()
}

const PREDICATES: &[&str] = &[
    "$.kind == 'commit'",
    "$.kind != 'commit'",
    "$.kind in ('commit', 'account', null)",
    "$.kind == 'commit' and $.n > 0",
    "$.kind == 'commit' and $.n > 0 and $.user in ('u1', 'u3', 'u5', 'none') or $.is == true",
    "$.n between -2 and 3",
    "not ($.n between -2 and 3 or $.kind is null)",
    "$.n is missing",
    "$.mixed",
    "$.mixed == true",
    "$.mixed >= 1",
    "$.mixed == 's1' or $.mixed == 1.5",
    "$.mixed.in == 1",
    "!$.mixed and !$.user",
    "$.x < 0",
    "$.x <= 0.25 and $.x > -1.5",
    "match($.user, 'u[0-9]*7')",
    "$.time >= 1700000000500000",
    "$.none == 1",
    "$.none is missing",
    "$.wide == -9223372036854775808",
    "$.wide > 9223372036854775806",
    "(($.n > 0 or $.x > 0) and ($.n < 4 or ($.x < 3 and ($.is == false or $.kind == 'commit'))))",
];

fn path(name: &str) -> Vec<Vec<u8>> {
    name.split('.').map(|name| name.as_bytes().to_vec()).collect()
}

/// A grouping: columns, and aggregates.
type Wanted = (Vec<GroupColumn>, Vec<Aggregate>);

fn groupings() -> Vec<Wanted> {
    let column = |name: &&str| GroupColumn { path: path(name), derive: None, unit: None };
    let of = |names: &[&str], aggregates: Vec<Aggregate>| -> Wanted {
        (names.iter().map(column).collect(), aggregates)
    };
    // The quotients by a number, or their remainders by 24, as hours are.
    let quotients = |name: &str, unit: i64, is_reduced: bool| {
        let quotient = move |value: &Option<i64>| {
            let quotient = value.as_ref()?.div_euclid(unit);
            Some(if is_reduced { quotient.rem_euclid(24) } else { quotient })
        };
        let derive = move |values: &[Option<i64>]| Ok(values.iter().map(quotient).collect());
        let unit = NonZeroU64::new(unit as u64);
        GroupColumn { path: path(name), derive: Some(Arc::new(derive)), unit }
    };
    let (n, x, time, user) = (path("n"), path("x"), path("time"), path("user"));
    vec![
        of(&[], vec![Aggregate::Rows]),
        of(
            &[],
            vec![Aggregate::Sum(n.clone()), Aggregate::Distinct(user.clone()), Aggregate::Least(x.clone())],
        ),
        of(&["kind"], vec![Aggregate::Rows]),
        of(&["kind"], vec![Aggregate::Rows, Aggregate::Distinct(user.clone())]),
        of(&["kind", "is"], vec![Aggregate::Rows, Aggregate::Count(n.clone())]),
        of(&["kind", "n", "is"], vec![Aggregate::Rows, Aggregate::Greatest(time.clone())]),
        of(
            &["user"],
            vec![Aggregate::Least(time.clone()), Aggregate::Greatest(time.clone()), Aggregate::Sum(time)],
        ),
        of(
            &["user", "kind"],
            vec![Aggregate::Sum(n), Aggregate::Distinct(path("kind")), Aggregate::Greatest(x)],
        ),
        of(&["none"], vec![Aggregate::Rows, Aggregate::Count(path("none")), Aggregate::Sum(path("none"))]),
        of(
            &["n"],
            vec![
                Aggregate::Least(path("wide")),
                Aggregate::Greatest(path("wide")),
                Aggregate::Sum(path("wide")),
            ],
        ),
        of(&["n"], vec![Aggregate::Distinct(user)]),
        (vec![quotients("n", 4, false)], vec![Aggregate::Rows]),
        (
            vec![column(&"kind"), quotients("time", 90_000, true)],
            vec![Aggregate::Rows, Aggregate::Sum(path("n")), Aggregate::Least(path("time"))],
        ),
        (vec![quotients("wide", 1 << 62, false)], vec![Aggregate::Rows, Aggregate::Greatest(path("n"))]),
    ]
}

/// Groups in an order, with texts in place of codes.
fn ordered(grouped: &Grouped) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for (group, numbers) in named(grouped) {
        assert!(all.insert(group, numbers).is_none(), "a group is there twice");
    }
    all
}

/// Groups with texts in place of codes.
fn named(grouped: &Grouped) -> Vec<(String, Vec<String>)> {
    let one = |group: usize| {
        let value = |(column, values): (usize, &Values)| match values.get(group) {
            GroupValue::Code(code) => {
                let strings = grouped.dictionary(column).expect("codes have a dictionary").read();
                String::from_utf8_lossy(strings.get(code)).into_owned()
            }
            value => format!("{value:?}"),
        };
        let number = |numbers: &Numbers| match numbers {
            Numbers::Counts(counts) => format!("{}", counts[group]),
            Numbers::Integers(integers) => format!("{:?}", integers[group]),
            Numbers::Sums(sums) => format!("{:?}", sums[group]),
            Numbers::Doubles(doubles) => format!("{:?}", doubles[group]),
        };
        let key: Vec<String> = grouped.columns.iter().enumerate().map(value).collect();
        (key.join("|"), grouped.numbers.iter().map(number).collect())
    };
    (0..grouped.len).map(one).collect()
}

/// Compares all questions about some tables with the host's results.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn check(device: &Arc<dyn LeafDevice>, of_tables: &[Vec<Segment>]) -> Result<Checked> {
    let of_tables: Vec<Vec<&Segment>> = of_tables.iter().map(|segments| segments.iter().collect()).collect();
    let tables = of_tables.iter().map(|segments| {
        let table = DeviceTable::load(device, segments)?;
        table.context("segments with rows have a table")
    });
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let pairs: Vec<TableOf<'_>> =
        tables.iter().zip(&of_tables).map(|(table, segments)| (table, &segments[..])).collect();
    let all: Vec<&Segment> = of_tables.iter().flatten().copied().collect();
    let (mut taken, mut left, mut bounded) = (0, 0, 0);
    let mut questions = vec![("all", None)];
    for predicate in PREDICATES {
        let condition = Predicate::parse(predicate)?.exact_condition().context("an exact condition")?;
        questions.push((predicate, Some(Question::new(condition))));
    }
    for (name, question) in &questions {
        for (table, segments) in &pairs {
            let want: Option<Vec<RowSet>> = match question {
                None => Some(segments.iter().map(|segment| segment.records().clone()).collect()),
                Some(question) => segments.iter().map(|segment| question.rows(segment)).collect(),
            };
            let found = table.rows(question.as_ref(), segments, true)?;
            ensure!(found.is_some() == want.is_some(), "{name}: only one of host and device decides");
            let (Some(found), Some(want)) = (found, want) else {
                left += 1;
                continue;
            };
            taken += 1;
            for (segment, (SegmentRows { count, rows }, want)) in found.into_iter().zip(want).enumerate() {
                let rows = rows.context("rows were wanted")?;
                ensure!(rows == want && count == want.count(), "{name}: segment {segment}, {count} rows");
            }
        }
        for (number, (columns, aggregates)) in groupings().iter().enumerate() {
            let want = group(&all, question.as_ref(), columns, aggregates, &Stop::default());
            match group_on(&pairs, question.as_ref(), columns, aggregates, None)? {
                Some(found) => {
                    let want = want.with_context(|| format!("{name}: grouping {number} on the host"))?;
                    let (found, want) = (ordered(&found), ordered(&want));
                    ensure!(found == want, "{name}: grouping {number} gives {found:?}, and not {want:?}");
                    taken += 1;
                }
                // What the host's leaves do not have, a device's do not have either.
                None => left += usize::from(want.is_ok()),
            }
        }
        for (columns, aggregates, first) in firsts() {
            let want = group(&all, question.as_ref(), &columns, &aggregates, &Stop::default());
            let Some(found) = group_on(&pairs, question.as_ref(), &columns, &aggregates, Some(&first))?
            else {
                left += usize::from(want.is_ok());
                continue;
            };
            let want = want.with_context(|| format!("{name}: {first:?} on the host"))?;
            bounded += usize::from(found.len < want.len);
            taken += 1;
            let keys = keys(&want, &first);
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let last = sorted.get((first.count as usize).min(sorted.len()).saturating_sub(1));
            let (found, want) = (ordered(&found), named(&want));
            for ((group, numbers), key) in want.into_iter().zip(keys) {
                let is_there = match found.get(&group) {
                    Some(found) => *found == numbers,
                    None => last.is_some_and(|last| key > *last),
                };
                ensure!(is_there, "{name}: {first:?} of {group} is not right");
            }
        }
    }
    Ok(Checked { taken, left, bounded })
}

/// The questions of a check.
pub struct Checked {
    /// The number that the device took.
    pub taken: usize,
    /// The number that it left to the host.
    pub left: usize,
    /// The number of which it gave only the first groups.
    pub bounded: usize,
}

/// Groupings of which the first groups are wanted.
fn firsts() -> Vec<(Vec<GroupColumn>, Vec<Aggregate>, First)> {
    let column = |name: &str| GroupColumn { path: path(name), derive: None, unit: None };
    let (user, at) = (column("user"), path("at"));
    let extremes = vec![Aggregate::Rows, Aggregate::Least(at.clone()), Aggregate::Greatest(at)];
    let with_sets = [&extremes[..], &[Aggregate::Distinct(path("kind")), Aggregate::Sum(path("n"))]].concat();
    let first = First { count: 3, value: 0, minus: None, divide: 1, is_descending: false };
    let one = vec![user.clone()];
    vec![
        (one.clone(), extremes.clone(), First { is_descending: true, ..first }),
        (one.clone(), extremes.clone(), First { value: 1, ..first }),
        (one.clone(), with_sets, First { value: 2, count: 20, is_descending: true, ..first }),
        (one.clone(), extremes.clone(), First { value: 2, minus: Some(1), is_descending: true, ..first }),
        (one, extremes.clone(), First { value: 2, minus: Some(1), divide: 50_000, count: 7, ..first }),
        (
            vec![user, column("kind")],
            extremes,
            First { value: 1, minus: Some(2), divide: -1_000_000, count: 1, ..first },
        ),
    ]
}

/// The key of each group in the order of the first ones.
fn keys(grouped: &Grouped, first: &First) -> Vec<i64> {
    let of = |aggregate: usize, group: usize| match &grouped.numbers[aggregate] {
        Numbers::Counts(counts) => counts[group] as i64,
        Numbers::Integers(integers) => integers[group].unwrap_or_default(),
        _ => unreachable!("an order of counts and extremes"),
    };
    let key = |group: usize| {
        let value = of(first.value, group) - first.minus.map_or(0, |minus| of(minus, group));
        let value = value / first.divide;
        if first.is_descending { -value } else { value }
    };
    (0..grouped.len).map(key).collect()
}

/// Checks random tables of up to `most` rows a segment.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn suite<A: Accelerator>(device: &A, seed: u64, rounds: usize, most: usize) -> Result<()> {
    let bounded = suite_in(&|| Ok(Arc::new(DeviceLeaves::new(device.queue()?))), seed, rounds, most)?;
    ensure!(bounded > 0, "no first groups were chosen on the device");
    Ok(())
}

/// Checks random tables, as [`suite`] does, in rooms on a device or on several. Returns the number of
/// questions of which a device gave only the first groups.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn suite_in(
    room: &dyn Fn() -> Result<Arc<dyn LeafDevice>>,
    seed: u64,
    rounds: usize,
    most: usize,
) -> Result<usize> {
    let rng = &mut Rng::new(seed);
    let mut all_bounded = 0;
    for round in 0..rounds {
        let device = room()?;
        let users = [1, 2, 300, 40 * most][rng.below(4)];
        // Strings have the same codes in all tables.
        let (dictionaries, mut tables) = (Dictionaries::default(), Vec::new());
        for _ in 0..1 + rng.below(3) {
            let rows: Vec<usize> = (0..1 + rng.below(4))
                .map(|_| match rng.below(3) {
                    0 => [1, 31, 32, 33, 1023, 1024, 1025, 2048][rng.below(8)].min(most),
                    _ => 1 + rng.below(most),
                })
                .collect();
            tables.push(segments(rng, &rows, users, round % 2 == 0, &dictionaries));
        }
        let Checked { taken, left, bounded } =
            check(&device, &tables).with_context(|| format!("round {round} of seed {seed}"))?;
        ensure!(taken > 5 * left, "the device took {taken} questions, and left {left} to the host");
        all_bounded += bounded;
    }
    Ok(all_bounded)
}
