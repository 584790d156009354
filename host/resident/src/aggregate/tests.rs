//! Aggregates beside those of a naive count over the same records.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::sync::Arc;

use warpath_core::cancel::Interrupt;
use warpath_core::comparison::{Comparison, Condition, Constant, Test};
use warpath_part::text::Shredder;
use warpath_random::Rng;

use super::distinct::Distinct;
use super::*;
use crate::dictionary::Dictionaries;

struct Record {
    kind: Option<&'static str>,
    user: String,
    at: Option<i64>,
    flag: Option<bool>,
}

fn records(rng: &mut Rng, count: usize) -> Vec<Record> {
    let record = |_| Record {
        kind: rng.pick(&[Some("a"), Some("b"), Some("\u{e9}"), None]),
        user: format!("user {}", rng.below(50)),
        at: if rng.below(10) == 0 { None } else { Some(rng.below(100_000) as i64 - 5_000) },
        flag: rng.pick(&[Some(true), Some(false), None]),
    };
    (0..count).map(record).collect()
}

fn lines(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let _ = write!(text, "{{\"user\":\"{}\"", record.user);
        let _ = record.kind.map(|kind| write!(text, ",\"kind\":\"{kind}\""));
        let _ = record.at.map(|at| write!(text, ",\"at\":{at}"));
        let _ = record.flag.map(|flag| write!(text, ",\"flag\":{flag}"));
        text += "}\n";
    }
    text
}

fn segments(records: &[Record], rows: usize, dictionaries: &Dictionaries) -> Vec<Segment> {
    let segment = |records: &[Record]| {
        let (mut shredder, text) = (Shredder::new(), lines(records));
        let group = shredder.shred(text.as_bytes()).unwrap();
        Segment::of(shredder.tree(), &group, text.as_bytes(), dictionaries).unwrap()
    };
    records.chunks(rows).map(segment).collect()
}

fn path(name: &str) -> Vec<Vec<u8>> {
    vec![name.as_bytes().to_vec()]
}

/// Groups by a string, and by a string, a boolean and the result of a function, over one segment and several.
#[test]
fn groups_are_those_of_a_naive_count() {
    let mut rng = Rng::new(3);
    let records = records(&mut rng, 5000);
    let tens: Arc<Derive> =
        Arc::new(|values| Ok(values.iter().map(|value| Some(value.as_ref()?.div_euclid(10_000))).collect()));
    let unit = NonZeroU64::new(2_000);
    let aggregates = [
        Aggregate::Rows,
        Aggregate::Count(path("at")),
        Aggregate::Distinct(path("user")),
        Aggregate::Distinct(path("at")),
        Aggregate::Least(path("at")),
        Aggregate::Greatest(path("at")),
        Aggregate::Sum(path("at")),
    ];
    for rows in [10_000, 1300] {
        let dictionaries = Dictionaries::default();
        let segments = segments(&records, rows, &dictionaries);
        let segments: Vec<&Segment> = segments.iter().collect();
        // Without a unit, groups are listed; with one, keys are indices.
        for (count, unit) in [(0, None), (1, None), (2, None), (3, None), (3, unit)] {
            let all = [("kind", None), ("flag", None), ("at", Some(tens.clone()))];
            let columns = all[..count].iter().map(|(name, derive)| GroupColumn {
                path: path(name),
                derive: derive.clone(),
                unit,
            });
            let columns: Vec<_> = columns.collect();
            let stop = Stop::new(Interrupt::default());
            let grouped = group(&segments, None, &columns, &aggregates, &stop).unwrap();
            let mut got = BTreeMap::new();
            for at in 0..grouped.len {
                let shown = grouped.columns.iter().enumerate().map(|(column, values)| match values.get(at) {
                    GroupValue::Code(code) => {
                        let text = grouped.dictionary(column).unwrap().read().get(code).to_vec();
                        String::from_utf8(text).unwrap()
                    }
                    GroupValue::Null => "null".to_owned(),
                    GroupValue::Boolean(value) => value.to_string(),
                    GroupValue::Integer(value) => value.to_string(),
                    GroupValue::Double(value) => value.to_string(),
                });
                let numbers = grouped.numbers.iter().map(|numbers| match numbers {
                    Numbers::Counts(counts) => Some(i128::from(counts[at])),
                    Numbers::Integers(values) => values[at].map(i128::from),
                    Numbers::Sums(sums) => sums[at],
                    Numbers::Doubles(_) => panic!("no member has doubles"),
                });
                let before = got.insert(shown.collect::<Vec<_>>(), numbers.collect::<Vec<_>>());
                assert!(before.is_none(), "a group is there twice");
            }
            let mut of: BTreeMap<Vec<String>, Vec<&Record>> = BTreeMap::new();
            for record in &records {
                let null = || "null".to_owned();
                let all = [
                    record.kind.map_or_else(null, str::to_owned),
                    record.flag.map_or_else(null, |flag| flag.to_string()),
                    record.at.map_or_else(null, |at| at.div_euclid(10_000).to_string()),
                ];
                of.entry(all[..count].to_vec()).or_default().push(record);
            }
            let want: BTreeMap<_, _> = of
                .into_iter()
                .map(|(key, records)| {
                    let at: Vec<i64> = records.iter().filter_map(|record| record.at).collect();
                    let users: BTreeSet<_> = records.iter().map(|record| &record.user).collect();
                    let sum = at.iter().map(|at| i128::from(*at)).reduce(|a, b| a + b);
                    let numbers = vec![
                        Some(records.len() as i128),
                        Some(at.len() as i128),
                        Some(users.len() as i128),
                        Some(at.iter().collect::<BTreeSet<_>>().len() as i128),
                        at.iter().min().map(|at| i128::from(*at)),
                        at.iter().max().map(|at| i128::from(*at)),
                        sum,
                    ];
                    (key, numbers)
                })
                .collect();
            assert_eq!(got, want, "{count} columns, segments of {rows} rows, {unit:?}");
        }
    }
}

/// Counts of rows alone, by no column, by few codes and by many, with and without a condition. Members are in
/// all records, in most, and in few.
#[test]
fn counts_of_rows_are_those_of_a_naive_count() {
    let mut rng = Rng::new(5);
    let members: [(&str, usize, usize); 4] =
        [("whole", 7, 100), ("most", 256, 90), ("few", 3, 4), ("many", 400, 95)];
    let records: Vec<Vec<Option<String>>> = (0..9000)
        .map(|_| {
            let value = |(name, values, percent): &(&str, usize, usize)| {
                let value = format!("{name} {}", rng.below(*values));
                (rng.below(100) < *percent).then_some(value)
            };
            members.iter().map(value).collect()
        })
        .collect();
    let line = |record: &Vec<Option<String>>| {
        let member = |(at, (name, ..)): (usize, &(&str, usize, usize))| {
            Some(format!("\"{name}\":\"{}\"", record[at].as_ref()?))
        };
        format!("{{{}}}\n", members.iter().enumerate().filter_map(member).collect::<Vec<_>>().join(","))
    };
    let dictionaries = Dictionaries::default();
    let segments: Vec<Segment> = records
        .chunks(5000)
        .map(|records| {
            let (mut shredder, text) = (Shredder::new(), records.iter().map(line).collect::<String>());
            let group = shredder.shred(text.as_bytes()).unwrap();
            Segment::of(shredder.tree(), &group, text.as_bytes(), &dictionaries).unwrap()
        })
        .collect();
    let segments: Vec<&Segment> = segments.iter().collect();
    let wanted = ["whole 1", "whole 2", "whole 5"].map(|text| Constant::String(text.to_owned()));
    let test = Test::Equal(wanted.to_vec());
    let question = Question::new(Condition::Is(Comparison { path: path("whole"), test }));
    let of_question = |record: &&Vec<Option<String>>| {
        record[0].as_deref().is_some_and(|text| matches!(text, "whole 1" | "whole 2" | "whole 5"))
    };
    let columns: Vec<Option<usize>> = std::iter::once(None).chain((0..members.len()).map(Some)).collect();
    for (column, question) in columns.iter().flat_map(|column| [(column, None), (column, Some(&question))]) {
        let by = column.map(|at| GroupColumn { path: path(members[at].0), derive: None, unit: None });
        let (by, stop) = (Vec::from_iter(by), Stop::new(Interrupt::default()));
        let mut want: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for record in records.iter().filter(|record| question.is_none() || of_question(record)) {
            *want.entry(column.and_then(|at| record[at].clone())).or_default() += 1;
        }
        for aggregates in [&[][..], &[Aggregate::Rows], &[Aggregate::Rows, Aggregate::Rows]] {
            let grouped = group(&segments, question, &by, aggregates, &stop).unwrap();
            let value = |group: usize| match grouped.columns.first().map(|values| values.get(group)) {
                Some(GroupValue::Code(code)) => {
                    let text = grouped.dictionary(0).unwrap().read().get(code).to_vec();
                    Some(String::from_utf8(text).unwrap())
                }
                _ => None,
            };
            assert_eq!(grouped.len, want.len());
            assert_eq!((0..grouped.len).map(value).collect::<BTreeSet<_>>(), want.keys().cloned().collect());
            for numbers in &grouped.numbers {
                let Numbers::Counts(counts) = numbers else { panic!("{numbers:?}") };
                let got: BTreeMap<_, _> =
                    counts.iter().enumerate().map(|(at, of)| (value(at), *of)).collect();
                assert_eq!(got, want, "{column:?}, {}", question.is_some());
            }
        }
    }
}

/// Sets of many groups become pairs, within a thread and where threads are joined.
#[test]
fn different_values_of_many_groups() {
    let (mut one, mut other) = (Distinct::new(Some(128), 100), Distinct::new(Some(128), 100));
    one.resize(3);
    other.resize(2);
    [(0, 5), (0, 70), (2, 5)].iter().for_each(|(group, value)| one.add(*group, *value));
    [(0, 5), (1, 6)].iter().for_each(|(group, value)| other.add(*group, *value));
    one.join(other, |group| [2, 0][group as usize]);
    assert_eq!(one.counts(3), [3, 0, 1]);
    // Two sets of two words are too many, here and where threads are joined.
    for most in [100, 3] {
        let mut bits = Distinct::new(Some(128), most);
        bits.resize(2);
        [(1, 127), (0, 64)].iter().for_each(|(group, value)| bits.add(*group, *value));
        assert_eq!(matches!(bits, Distinct::Pairs(_)), most == 3);
        let mut pairs = Distinct::new(None, most);
        [(0, 127), (0, 1), (0, 127)].iter().for_each(|(group, value)| pairs.add(*group, *value));
        bits.join(pairs, |_| 1);
        assert_eq!(bits.counts(2), [1, 2]);
    }
}

#[test]
fn members_of_several_kinds_are_not_grouped() {
    let mut shredder = Shredder::new();
    let text = b"{\"a\":1,\"b\":{\"c\":1}}\n{\"a\":\"x\"}\n";
    let group_of = shredder.shred(text).unwrap();
    let segment = Segment::of(shredder.tree(), &group_of, text, &Dictionaries::default()).unwrap();
    let stop = Stop::new(Interrupt::default());
    for name in ["a", "b"] {
        let columns = [GroupColumn { path: path(name), derive: None, unit: None }];
        let grouped = group(&[&segment], None, &columns, &[Aggregate::Rows], &stop);
        assert!(matches!(grouped, Err(Error::NotInLeaves)), "{name}");
    }
    let none = group(&[], None, &[], &[Aggregate::Rows, Aggregate::Least(path("a"))], &stop).unwrap();
    let [Numbers::Counts(counts), Numbers::Integers(least)] = &none.numbers[..] else { panic!("{none:?}") };
    assert_eq!((none.len, &counts[..], &least[..]), (1, &[0][..], &[None][..]));
}
