//! No row is left out of the candidates that satisfies the conditions.

use std::cmp::Ordering;
use std::sync::Arc;

use warpath_core::comparison::{Comparison, Condition, Constant, Pattern, Test};
use warpath_core::decimal::Decimal;
use warpath_core::json::{Cursor, Malformed};
use warpath_core::rows::RowSet;

use super::project::{At, lines as lines_of_text, path, projection, record, selected, written_in};
use super::*;
use crate::file::Reader;
use crate::partial::{lines_of, partial};
use crate::select::{Candidates, candidates};

/// A value of JSON that is compared.
#[derive(Clone, Debug, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    Number(Decimal),
    String(Vec<u8>),
    Other,
}

impl Scalar {
    fn of(value: &[u8]) -> Self {
        match value[0] {
            b'n' => Self::Null,
            b't' | b'f' => Self::Bool(value[0] == b't'),
            b'{' | b'[' => Self::Other,
            b'"' => {
                let string = Cursor::new(value).string().unwrap();
                Self::String(string.text(Malformed::Order, &mut Vec::new()).unwrap().to_vec())
            }
            _ => Self::Number(Decimal::read(value).unwrap()),
        }
    }

    fn of_constant(constant: &Constant) -> Self {
        match constant {
            Constant::Null => Self::Null,
            Constant::Bool(value) => Self::Bool(*value),
            Constant::Number(text) => Self::of(text.as_bytes()),
            Constant::String(text) => Self::String(text.clone().into_bytes()),
        }
    }

    /// The order of two values, if they have one. Other values are only equal or not.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => {
                let size = |number: &Decimal| {
                    let is_zero = number.digits.is_empty();
                    (!is_zero, if is_zero { 0 } else { number.exponent }, number.digits.clone())
                };
                let sign = |number: &Decimal| match (number.digits.is_empty(), number.negative) {
                    (true, _) => 0,
                    (false, true) => -1,
                    (false, false) => 1,
                };
                let sizes =
                    if one.negative { size(other).cmp(&size(one)) } else { size(one).cmp(&size(other)) };
                Some(sign(one).cmp(&sign(other)).then(if sign(one) == 0 { Ordering::Equal } else { sizes }))
            }
            (Self::String(one), Self::String(other)) => Some(one.cmp(other)),
            _ if self == other && *self != Self::Other => Some(Ordering::Equal),
            _ => None,
        }
    }
}

/// Returns true if a value, or its lack, satisfies a test.
fn holds(test: &Test, value: Option<&Scalar>) -> bool {
    let order = |constant: &Constant| value?.order(&Scalar::of_constant(constant));
    match test {
        Test::Exists => value.is_some(),
        Test::Equal(all) => all.iter().any(|constant| order(constant) == Some(Ordering::Equal)),
        Test::Matches(pattern) => matches!(value, Some(Scalar::String(text)) if (pattern.holds)(text)),
        Test::Not(test) => !holds(test, value),
        Test::Less(constant) => order(constant) == Some(Ordering::Less),
        Test::AtMost(constant) => order(constant).is_some_and(Ordering::is_le),
        // Equal values of other kinds have no order but this.
        Test::Greater(constant) => order(constant) == Some(Ordering::Greater),
        Test::AtLeast(constant) => order(constant).is_some_and(Ordering::is_ge),
    }
}

fn constant(rng: &mut Rng, near: Option<&[u8]>) -> Constant {
    let near = near.map(Scalar::of);
    match (rng.below(10), near) {
        (0..7, Some(Scalar::Null)) | (7, _) => Constant::Null,
        (0..7, Some(Scalar::Bool(value))) => Constant::Bool(value),
        (0..7, Some(Scalar::String(text))) => {
            let mut text = String::from_utf8_lossy(&text).into_owned();
            if rng.below(4) == 0 {
                text.push_str(rng.pick(&["", "a", "\u{fffd}"]));
            }
            Constant::String(text)
        }
        (8, _) => Constant::Bool(rng.below(2) == 0),
        (9, _) => Constant::String(rng.pick(&["", "a", "word", "\u{fffd}"]).to_owned()),
        _ => Constant::Number(
            rng.pick(&[
                "0",
                "-0.0",
                "1",
                "1.5",
                "0.1",
                "0.10000000000000000001",
                "1e5",
                "100000",
                "1e400",
                "-1e400",
                "9007199254740993",
                "9223372036854775807",
                "9223372036854775808",
                "-9223372036854775808",
                "-9223372036854775808.5",
                "12344.5",
            ])
            .to_owned(),
        ),
    }
}

/// Returns true if a condition is true of a record.
fn is_true(condition: &Condition, line: &[u8]) -> bool {
    match condition {
        Condition::Is(Comparison { path, test }) => holds(test, value(line, path).map(Scalar::of).as_ref()),
        Condition::All(all) => all.iter().all(|condition| is_true(condition, line)),
        Condition::Any(any) => any.iter().any(|condition| is_true(condition, line)),
    }
}

/// A property of strings: that a byte is in them.
fn with_byte(byte: u8) -> Test {
    Test::Matches(Pattern { name: byte.to_string(), holds: Arc::new(move |text| text.contains(&byte)) })
}

fn test(rng: &mut Rng, near: Option<&[u8]>) -> Test {
    match rng.below(10) {
        8 => test(rng, near).negated(),
        9 => with_byte(rng.pick(b"ar\xbd")),
        0 => Test::Exists,
        1 => Test::Equal((0..rng.below(12)).map(|_| constant(rng, near)).collect()),
        2 => Test::Equal(vec![constant(rng, near)]),
        3 => Test::Equal(vec![constant(rng, near)]).negated(),
        4 => Test::Less(constant(rng, near)),
        5 => Test::AtMost(constant(rng, near)),
        6 => Test::Greater(constant(rng, near)),
        _ => Test::AtLeast(constant(rng, near)),
    }
}

fn value<'a>(line: &'a [u8], path: &[Vec<u8>]) -> Option<&'a [u8]> {
    let path: Vec<At> = path.iter().cloned().map(At::Key).collect();
    let mut found = Vec::new();
    selected(record(line)?, &path, &mut found);
    found.first().copied()
}

fn rows_of(candidates: &Candidates, rows: u32) -> RowSet {
    match candidates {
        Candidates::None => RowSet::none(rows.into()),
        Candidates::All => RowSet::all(rows.into()),
        Candidates::Some(set) => set.clone(),
    }
}

#[test]
fn candidates_are_a_superset() {
    let (mut rng, mut left, mut all) = (Rng::new(5), 0, 0);
    for seed in 0..cases(60) as u64 {
        let mut made = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..1 + rng.below(100)).for_each(|_| made.line(&mut text));
        let (shredder, groups) = check(&text, 1 + rng.below(text.len().max(2)));
        let file = Reader::open(written_in(shredder.tree(), &groups, 16)).unwrap();
        let whole = lines_of_text(&text);
        for _ in 0..20 {
            let one = |rng: &mut Rng| {
                let names = path(rng, &whole).into_iter();
                let names = names.map_while(|step| if let At::Key(key) = step { Some(key) } else { None });
                let path: Vec<Vec<u8>> = names.collect();
                let near = value(whole[rng.below(whole.len())], &path);
                let near = near.or_else(|| whole.iter().find_map(|line| value(line, &path)));
                let test = test(rng, near);
                Condition::Is(Comparison { path, test })
            };
            let mut condition = one(&mut rng);
            for _ in 0..rng.below(3) {
                let both = vec![condition, one(&mut rng)];
                condition = if rng.below(2) == 0 { Condition::All(both) } else { Condition::Any(both) };
            }
            let members = projection(&[path(&mut rng, &whole)]);
            let mut first = 0;
            for (number, group) in groups.iter().enumerate() {
                let found = candidates(&file, number, &condition).unwrap();
                let set = rows_of(&found, group.rows);
                (left, all) = (left + set.count(), all + u64::from(group.rows));
                let own = &whole[first..first + group.rows as usize];
                for (row, line) in own.iter().enumerate() {
                    let is_true = record(line).is_some() && is_true(&condition, line);
                    let is_kept = set.get(row as u64);
                    assert!(is_kept || !is_true, "{condition:?}\n{}", line.escape_ascii());
                }
                let (mut out, mut short) = (Vec::new(), Vec::new());
                lines_of(&file, number, &set, None, &mut out).unwrap();
                let want: Vec<u8> = set.ones().flat_map(|row| own[row as usize]).copied().collect();
                assert!(out == want);
                out.clear();
                lines_of(&file, number, &set, Some(&members), &mut out).unwrap();
                partial(&file, number, &members, &mut short).unwrap();
                let short = lines_of_text(&short);
                let want: Vec<u8> = set.ones().flat_map(|row| short[row as usize]).copied().collect();
                assert!(out == want);
                first += group.rows as usize;
            }
        }
    }
    assert!(left < all * 3 / 4, "{left} of {all} rows");
}

/// The candidates of a text for one condition.
fn found(text: &str, path: &str, test: Test) -> Candidates {
    let (shredder, groups) = check(text.as_bytes(), 1 << 30);
    let file = Reader::open(written_in(shredder.tree(), &groups, 16)).unwrap();
    let path = path.split('.').map(|name| name.as_bytes().to_vec()).collect();
    candidates(&file, 0, &Condition::Is(Comparison { path, test })).unwrap()
}

#[test]
fn rows_are_left_out() {
    let number = |text: &str| Constant::Number(text.into());
    let string = |text: &str| Constant::String(text.into());
    let text = "{\"a\":1,\"b\":{\"c\":\"x\"}}\n{\"a\":5}\n{\"a\":null}\n{\"a\":\"x\",\"b\":{}}\n{\"b\":{\"c\":\"y\"}}\n{}\n";
    for (path, test, want) in [
        ("a", Test::Equal(vec![number("5")]), &[1][..]),
        ("a", Test::Equal(vec![number("5.0"), string("x")]), &[1, 3]),
        ("a", Test::Less(number("4.5")), &[0]),
        ("a", Test::AtMost(number("1e400")), &[0, 1]),
        ("a", Test::AtLeast(number("5")), &[1]),
        ("a", Test::Greater(number("5")), &[]),
        ("a", Test::Greater(string("w")), &[3]),
        ("a", Test::Equal(vec![Constant::Null]), &[2]),
        ("a", Test::AtMost(Constant::Null), &[2]),
        ("a", Test::Exists, &[0, 1, 2, 3]),
        ("a", Test::Equal(vec![string("x")]).negated(), &[0, 1, 2, 4, 5]),
        ("a", Test::Equal(vec![string("x"), number("5.0"), Constant::Null]).negated(), &[0, 2, 4, 5]),
        ("a", Test::Less(number("1.5")).negated(), &[1, 2, 3, 4, 5]),
        ("a", Test::Exists.negated(), &[2, 4, 5]),
        ("a", with_byte(b'x'), &[3]),
        ("a", with_byte(b'x').negated(), &[0, 1, 2, 4, 5]),
        ("a", Test::Equal(vec![Constant::Bool(true)]), &[]),
        ("a", Test::Equal(Vec::new()), &[]),
        ("b", Test::Exists, &[0, 3, 4]),
        ("b", Test::Equal(vec![string("x")]), &[]),
        ("b.c", Test::Exists, &[0, 4]),
        ("b.c", Test::AtLeast(string("x")), &[0, 4]),
        ("b.c.d", Test::Exists, &[]),
        ("none", Test::Exists, &[]),
        ("b", Test::Exists.negated(), &[1, 2, 5]),
        ("none", Test::Equal(vec![string("x")]).negated(), &[0, 1, 2, 3, 4, 5]),
    ] {
        let rows: Vec<u64> = rows_of(&found(text, path, test.clone()), 6).ones().collect();
        assert_eq!(rows, want, "{path} {test:?}");
    }
    // A line in one piece stays, and so does a string that columns cannot have, and a repeated name.
    let number = || Test::Equal(vec![number("7")]);
    assert_eq!(rows_of(&found("{\"a\":1}\nno JSON\n", "a", number()), 2).ones().collect::<Vec<_>>(), [1]);
    let lone = "{\"a\":\"\\ud800\"}\n{\"a\":\"b\"}\n";
    assert!(rows_of(&found(lone, "a", Test::Equal(vec![string("z")])), 2).get(0));
    assert_eq!(found("{\"a\":1,\"b\":0,\"a\":7}\n{\"a\":1}\n", "a", number()), Candidates::All);
}

/// Statistics and Bloom filters decide without a column: its bytes may be anything.
#[test]
fn statistics_and_filters_exclude_groups() {
    let mut text = String::new();
    let id = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..300).for_each(|at| {
        let (id, number) = (id(at), id(at) as i64);
        text.push_str(&format!("{{\"n\":{at},\"s\":\"k{at:03}\",\"d\":{at}.25,"));
        text.push_str(&format!("\"id\":\"{id:016x}\",\"i\":{number}}}\n"));
    });
    let (shredder, groups) = check(text.as_bytes(), 1 << 30);
    let bytes = written_in(shredder.tree(), &groups, 8192);
    let reader = Reader::open(bytes.clone()).unwrap();
    let mut broken = bytes;
    // The chunks come first.
    let chunks: u64 =
        shredder.tree().leaves(groups[0].nodes).map(|leaf| reader.leaf(0, leaf).unwrap().compressed).sum();
    broken[4..4 + chunks as usize].fill(0xff);
    let broken = Reader::open(broken).unwrap();
    let text_of = |id: u64| Constant::String(format!("{id:016x}"));
    let number_of = |id: u64| Constant::Number((id as i64).to_string());
    for (name, test, is_none) in [
        ("n", Test::Greater(Constant::Number("299".into())), true),
        ("n", Test::Greater(Constant::Number("298.5".into())), false),
        ("n", Test::Equal(vec![Constant::String("5".into())]), true),
        ("s", Test::Less(Constant::String("k000".into())), true),
        ("s", Test::AtMost(Constant::String("k000".into())), false),
        ("d", Test::AtMost(Constant::Number("0.2".into())), true),
        ("d", Test::Equal(vec![Constant::Number("299.25".into())]), false),
        ("none", Test::Exists, true),
        ("id", Test::Equal(vec![text_of(id(7))]), false),
        ("id", Test::Equal(vec![text_of(id(7) ^ 1)]), true),
        ("id", Test::Equal(vec![text_of(id(7) ^ 1), text_of(id(8) ^ 1), Constant::Bool(true)]), true),
        ("id", Test::Equal(vec![text_of(id(7) ^ 1), text_of(id(8))]), false),
        ("i", Test::Equal(vec![number_of(id(7))]), false),
        ("i", Test::Equal(vec![number_of(id(7) ^ 1)]), true),
        ("i", Test::Equal(vec![Constant::Number("0.5".into())]), true),
    ] {
        let condition = Condition::Is(Comparison { path: vec![name.as_bytes().to_vec()], test });
        match candidates(&broken, 0, &condition) {
            Ok(found) => assert!(is_none && found == Candidates::None, "{condition:?}"),
            Err(_) => assert!(!is_none, "{condition:?}"),
        }
    }
}
