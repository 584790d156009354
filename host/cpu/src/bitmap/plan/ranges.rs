//! Sets of values of an ordered kind, as ranges between positions.
//!
//! A position is immediately before or after a value. So `<`, `<=` and their complements have the same form:
//! a range from one position to another. Integers, instants and truth values are points on one line of
//! integers. Doubles are too, in their own order ([`double`]).

use std::cmp::Ordering;

use warpath_store::bitmap::column::Scalar;

/// A value, in the order of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    /// A value of any kind except texts.
    Number(i64),
    /// A text, by its bytes.
    Text(&'a [u8]),
}

impl<'a> Key<'a> {
    /// The key of a value of a column.
    pub fn of(value: &'a Scalar) -> Self {
        match value {
            Scalar::Int(value) | Scalar::Time(value) => Self::Number(*value),
            Scalar::Float(value) => Self::Number(double(*value)),
            Scalar::Bool(value) => Self::Number((*value).into()),
            Scalar::Text(value) => Self::Text(value.as_bytes()),
        }
    }
}

/// Maps doubles to integers in the same order. The low 63 bits of a negative double are inverted, because its
/// magnitude grows downwards. -0 becomes 0.
pub fn double(value: f64) -> i64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() as i64 };
    bits ^ (bits >> 63 & i64::MAX)
}

/// An owned value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    Number(i64),
    Text(Box<str>),
}

impl Point {
    pub fn key(&self) -> Key<'_> {
        match self {
            Self::Number(value) => Key::Number(*value),
            Self::Text(value) => Key::Text(value.as_bytes()),
        }
    }
}

/// A side of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Before,
    Behind,
}

/// An end of a range: a position between values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The position before all values.
    Start,
    /// A position beside a value. The position after a number is stored as the position before the next
    /// number, so that equal positions have equal forms.
    At(Point, Side),
    /// The position after all values.
    End,
}

impl Endpoint {
    /// The position before a number.
    pub fn before(number: i64) -> Self {
        if number == i64::MIN { Self::Start } else { Self::At(Point::Number(number), Side::Before) }
    }

    /// The position after a number.
    pub fn behind(number: i64) -> Self {
        number.checked_add(1).map_or(Self::End, Self::before)
    }

    /// Compares this position with the one on a side of a value.
    fn to(&self, key: Key<'_>, side: Side) -> Ordering {
        match self {
            Self::Start => Ordering::Less,
            Self::At(point, own) => (point.key(), *own).cmp(&(key, side)),
            Self::End => Ordering::Greater,
        }
    }
}

impl Ord for Endpoint {
    fn cmp(&self, other: &Self) -> Ordering {
        match other {
            Self::At(point, side) => self.to(point.key(), *side),
            Self::Start if *self == Self::Start => Ordering::Equal,
            Self::Start => Ordering::Greater,
            Self::End if *self == Self::End => Ordering::Equal,
            Self::End => Ordering::Less,
        }
    }
}

impl PartialOrd for Endpoint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A set of values: ranges from a position to a later position, in order. No two ranges touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<(Endpoint, Endpoint)>);

/// The share of the values between two bounds for which a condition is true. The bounds themselves are
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    None,
    All,
    /// Some, none or all values: the bounds do not decide.
    Unknown,
}

impl Ranges {
    /// The union of ranges in any order. Ranges that end before they begin are empty.
    pub fn new(mut ranges: Vec<(Endpoint, Endpoint)>) -> Self {
        ranges.retain(|(from, to)| from < to);
        ranges.sort_unstable();
        let mut all: Vec<(Endpoint, Endpoint)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match all.last_mut() {
                Some((_, end)) if from <= *end => {
                    if to > *end {
                        *end = to;
                    }
                }
                _ => all.push((from, to)),
            }
        }
        Self(all)
    }

    /// The empty set.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// The set of all values.
    pub fn all() -> Self {
        Self(vec![(Endpoint::Start, Endpoint::End)])
    }

    /// The values that the set does not contain.
    pub fn complement(&self) -> Self {
        let mut from = Endpoint::Start;
        let mut rest = Vec::with_capacity(self.0.len() + 1);
        for (start, end) in &self.0 {
            rest.push((from, start.clone()));
            from = end.clone();
        }
        rest.push((from, Endpoint::End));
        rest.retain(|(from, to)| from < to);
        Self(rest)
    }

    /// The intersection (`both`) or union of some sets.
    pub fn joined<'a>(sets: impl Iterator<Item = &'a Self>, both: bool) -> Self {
        if both {
            let complements: Vec<Self> = sets.map(Self::complement).collect();
            Self::joined(complements.iter(), false).complement()
        } else {
            Self::new(sets.flat_map(|set| &set.0).cloned().collect())
        }
    }

    /// The numbers of the set from `least` to `greatest`, as inclusive ranges.
    pub fn numbers(&self, least: i64, greatest: i64) -> Vec<(i64, i64)> {
        let number = |endpoint: &Endpoint| match endpoint {
            Endpoint::At(Point::Number(number), _) => Some(*number),
            _ => None,
        };
        // A stored position beside a number is always before the number.
        let range = |(from, to): &(Endpoint, Endpoint)| {
            let (from, to) = (number(from).unwrap_or(i64::MIN), number(to).map_or(i64::MAX, |next| next - 1));
            (from.max(least), to.min(greatest))
        };
        self.0[self.overlapping(Key::Number(least), Key::Number(greatest))].iter().map(range).collect()
    }

    /// The indexes of the ranges that overlap the values from `least` to `greatest`.
    fn overlapping(&self, least: Key<'_>, greatest: Key<'_>) -> std::ops::Range<usize> {
        let first = self.0.partition_point(|(_, end)| end.to(least, Side::Before).is_le());
        let behind = self.0.partition_point(|(start, _)| start.to(greatest, Side::Behind).is_lt());
        first..behind.max(first)
    }

    /// Finds the share of the set in each of `count` spans of values. Spans are in order and do not overlap;
    /// `bounds` returns the least and the greatest value of a span.
    ///
    /// `call` gets runs of spans that are fully in the set, and single spans that the bounds do not decide,
    /// in order.
    pub fn each_share<'a>(
        &self,
        count: usize,
        bounds: impl Fn(usize) -> (Key<'a>, Key<'a>),
        mut call: impl FnMut(std::ops::Range<usize>, Share),
    ) {
        let point = |holds: &dyn Fn(usize) -> bool| {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low + (high - low) / 2;
                if holds(middle) { low = middle + 1 } else { high = middle }
            }
            low
        };
        let mut told = 0;
        for (start, end) in &self.0 {
            let first = told.max(point(&|at| start.to(bounds(at).1, Side::Behind).is_ge()));
            let behind = point(&|at| end.to(bounds(at).0, Side::Before).is_gt());
            if first >= behind {
                continue;
            }
            told = behind;
            // Only the first and the last span can have values outside this range.
            let share = |at: usize| self.share(bounds(at).0, bounds(at).1);
            let mut all = first..behind;
            let last = behind - 1;
            if share(first) != Share::All {
                call(first..first + 1, share(first));
                all.start += 1;
            }
            let is_last_cut = last > first && share(last) != Share::All;
            all.end -= usize::from(is_last_cut);
            if !all.is_empty() {
                call(all, Share::All);
            }
            if is_last_cut {
                call(last..behind, share(last));
            }
        }
    }

    /// Returns whether the set contains a value.
    pub fn contains(&self, key: Key<'_>) -> bool {
        self.share(key, key) == Share::All
    }

    /// The share of the values from `least` to `greatest` that the set contains.
    pub fn share(&self, least: Key<'_>, greatest: Key<'_>) -> Share {
        // If any range has some or all of the values, the first range that ends after the least value does.
        let first = self.0.partition_point(|(_, end)| end.to(least, Side::Before).is_le());
        let Some((start, end)) = self.0.get(first) else { return Share::None };
        if start.to(greatest, Side::Behind).is_ge() {
            Share::None
        } else if start.to(least, Side::Before).is_le() && end.to(greatest, Side::Behind).is_ge() {
            Share::All
        } else {
            Share::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    fn number(from: i64, to: i64) -> (Endpoint, Endpoint) {
        (Endpoint::before(from), Endpoint::behind(to))
    }

    #[test]
    fn doubles_are_in_order() {
        let all = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            1.0 + f64::EPSILON,
            f64::MAX,
            f64::INFINITY,
        ];
        assert!(all.windows(2).all(|pair| double(pair[0]) < double(pair[1])));
        assert_eq!(double(-0.0), 0);
    }

    #[test]
    fn ends_of_the_line_have_one_name() {
        assert_eq!(Ranges::new(vec![number(i64::MIN, i64::MAX)]), Ranges::all());
        assert_eq!(Ranges::new(vec![number(1, 2), number(3, 4)]), Ranges::new(vec![number(1, 4)]));
        assert_eq!(Ranges::all().complement(), Ranges::none());
        assert_eq!(Ranges::none().complement(), Ranges::all());
    }

    /// Sets of small numbers, as bits.
    #[test]
    fn sets_of_ranges_are_sets() {
        const VALUES: i64 = 6;
        let set = |bits: u32| {
            Ranges::new((0..VALUES).filter(|at| bits >> at & 1 != 0).map(|at| number(at, at)).collect())
        };
        let bits_of = |set: &Ranges| {
            (0..VALUES).filter(|at| set.contains(Key::Number(*at))).fold(0_u32, |bits, at| bits | 1 << at)
        };
        for a in 0..1 << VALUES {
            assert_eq!(bits_of(&set(a)), a);
            assert_eq!(bits_of(&set(a).complement()), !a & 63);
            assert_eq!(set(a).complement().complement(), set(a));
            assert!(!set(a).contains(Key::Number(VALUES)) && set(a).complement().contains(Key::Number(-1)));
            for b in 0..1 << VALUES {
                assert_eq!(Ranges::joined([&set(a), &set(b)].into_iter(), false), set(a | b));
                assert_eq!(Ranges::joined([&set(a), &set(b)].into_iter(), true), set(a & b));
            }
            for least in 0..VALUES {
                for greatest in least..VALUES {
                    let between = a >> least & ((1 << (greatest - least + 1)) - 1);
                    let share = match (between.count_ones(), i64::from(between.count_ones())) {
                        (0, _) => Share::None,
                        (_, ones) if ones == greatest - least + 1 => Share::All,
                        _ => Share::Unknown,
                    };
                    assert_eq!(
                        set(a).share(Key::Number(least), Key::Number(greatest)),
                        share,
                        "{a:b} {least} {greatest}"
                    );
                }
            }
        }
    }

    /// Bins of values, with and without gaps, get the same shares together as one by one.
    #[test]
    fn shares_of_many_are_those_of_each() {
        let bins = [(-3, -3), (-1, 2), (3, 3), (4, 9), (12, 12), (13, 20)];
        let bounds = |at: usize| (Key::Number(bins[at].0), Key::Number(bins[at].1));
        let mut rng = Rng::new(1);
        for _ in 0..2000 {
            let mut next = || rng.below(27) as i64 - 5;
            let ranges = (0..1 + next().rem_euclid(4)).map(|_| {
                let from = next();
                number(from, from + next().rem_euclid(8))
            });
            let ranges = Ranges::new(ranges.collect());
            for ranges in [ranges.complement(), ranges] {
                let mut shares = [Share::None; 6];
                ranges.each_share(bins.len(), bounds, |bins, share| {
                    bins.for_each(|bin| assert_eq!(std::mem::replace(&mut shares[bin], share), Share::None));
                });
                let each: Vec<Share> = (0..6).map(|at| ranges.share(bounds(at).0, bounds(at).1)).collect();
                assert_eq!(shares[..], each, "{ranges:?}");
                let all = ranges.numbers(i64::MIN, i64::MAX);
                for (least, greatest) in bins {
                    let within: Vec<i64> = ranges
                        .numbers(least, greatest)
                        .into_iter()
                        .flat_map(|(from, to)| from..=to)
                        .collect();
                    let naive: Vec<i64> = (least..=greatest)
                        .filter(|value| all.iter().any(|(from, to)| from <= value && value <= to))
                        .collect();
                    assert_eq!(within, naive);
                }
            }
        }
    }

    #[test]
    fn texts_have_others_between_them() {
        let at = |text: &str, side| Endpoint::At(Point::Text(text.into()), side);
        let b = Ranges::new(vec![(at("b", Side::Before), at("b", Side::Behind))]);
        let share = |set: &Ranges, least: &str, greatest: &str| {
            set.share(Key::Text(least.as_bytes()), Key::Text(greatest.as_bytes()))
        };
        assert_eq!(share(&b, "a", "c"), Share::Unknown);
        assert_eq!((share(&b, "a", "ab"), share(&b, "b\0", "c")), (Share::None, Share::None));
        assert!(b.contains(Key::Text(b"b")) && !b.complement().contains(Key::Text(b"b")));
        let up_to_b = Ranges::new(vec![(Endpoint::Start, at("b", Side::Behind))]);
        assert_eq!((share(&up_to_b, "", "b"), share(&up_to_b, "", "ba")), (Share::All, Share::Unknown));
        assert_eq!(Ranges::joined([&up_to_b, &up_to_b.complement()].into_iter(), false), Ranges::all());
        assert_eq!(Ranges::joined([&up_to_b, &b].into_iter(), true), b);
    }
}
