//! The distinct values of a column, in order, with their counts.

use warpath_core::pool;
use warpath_lang::jsonpath::State;

use super::super::column::{Kind, Scalar};

/// The sign bit.
const SIGN: u64 = 1 << 63;

/// Values that are compared by 64-bit keys.
pub trait KeyedValue: Copy + Send + Sync {
    /// Returns the key, whose order is that of the values.
    fn key(self) -> u64;
}

impl KeyedValue for i64 {
    fn key(self) -> u64 {
        self as u64 ^ SIGN
    }
}

impl KeyedValue for f64 {
    /// Returns the key of a double that is neither NaN nor -0. The bits of positive doubles are in order;
    /// those of negative doubles are in reverse order.
    fn key(self) -> u64 {
        let bits = self.to_bits();
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    }
}

impl KeyedValue for bool {
    fn key(self) -> u64 {
        self.into()
    }
}

/// Returns the integer of a key.
pub(super) fn int(key: u64) -> i64 {
    (key ^ SIGN) as i64
}

/// Returns the double of a key.
pub(crate) fn float(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })
}

/// Returns the value of a key. The kind has keys.
pub(crate) fn scalar(kind: Kind, key: u64) -> Scalar {
    match kind {
        Kind::Float => Scalar::Float(float(key)),
        Kind::Time => Scalar::Time(int(key)),
        Kind::Bool => Scalar::Bool(key != 0),
        Kind::Int | Kind::Text => Scalar::Int(int(key)),
    }
}

/// Distinct things in order, with their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs<K> {
    /// The distinct values, ascending.
    pub things: Vec<K>,
    /// The count of each.
    pub counts: Vec<u64>,
}

impl<K: Ord + Copy> Runs<K> {
    /// Counts things that are in order.
    fn of_sorted(mut things: Vec<K>) -> Self {
        let mut counts: Vec<u64> = Vec::new();
        let mut kept = 0;
        for at in 0..things.len() {
            if kept > 0 && things[kept - 1] == things[at] {
                counts[kept - 1] += 1;
            } else {
                things[kept] = things[at];
                counts.push(1);
                kept += 1;
            }
        }
        things.truncate(kept);
        Self { things, counts }
    }

    fn merge(a: Self, b: Self) -> Self {
        let (len_a, len_b) = (a.things.len(), b.things.len());
        let mut merged = Self { things: Vec::with_capacity(len_a), counts: Vec::with_capacity(len_a) };
        let (mut i, mut j) = (0, 0);
        while i < len_a && j < len_b {
            let (x, y) = (a.things[i], b.things[j]);
            let (from_a, from_b) = (x <= y, y <= x);
            merged.things.push(if from_a { x } else { y });
            let count = |from: bool, counts: &[u64], at: usize| if from { counts[at] } else { 0 };
            merged.counts.push(count(from_a, &a.counts, i) + count(from_b, &b.counts, j));
            i += usize::from(from_a);
            j += usize::from(from_b);
        }
        for (rest, at) in [(&a, i), (&b, j)] {
            merged.things.extend_from_slice(&rest.things[at..]);
            merged.counts.extend_from_slice(&rest.counts[at..]);
        }
        merged
    }
}

impl<K: Ord + Copy + Send> Runs<K> {
    /// Merges all, pair by pair.
    pub fn merge_all(mut all: Vec<Self>) -> Self {
        while all.len() > 1 {
            let mut pairs = Vec::with_capacity(all.len().div_ceil(2));
            let mut rest = all.into_iter();
            while let Some(first) = rest.next() {
                pairs.push((first, rest.next()));
            }
            all = pool::map(pairs, |(a, b)| match b {
                Some(b) => Self::merge(a, b),
                None => a,
            });
        }
        all.pop().unwrap_or(Self { things: Vec::new(), counts: Vec::new() })
    }
}

/// Sorts and counts the keys of the rows that have a value.
pub fn sort_keys<T: KeyedValue>(values: &[T], states: &[State]) -> Runs<u64> {
    let ranges = pool::ranges(values.len(), 1);
    Runs::merge_all(pool::map(ranges, |range| {
        let rows = values[range.clone()].iter().zip(&states[range]);
        let has_value = |(_, state): &(&T, &State)| **state == State::Value;
        let mut keys: Vec<u64> = rows.filter(has_value).map(|(value, _)| value.key()).collect();
        keys.sort_unstable();
        Runs::of_sorted(keys)
    }))
}

/// The distinct values of a column, in order.
#[derive(Clone, Debug)]
pub struct Sorted<'a> {
    /// The kind of the column.
    pub kind: Kind,
    /// The distinct values with their counts.
    pub points: Points<'a>,
    /// Number of rows with this value or a lesser one, for each value.
    pub ends: Vec<u64>,
}

/// The distinct values of a column, ascending.
#[derive(Clone, Debug)]
pub enum Points<'a> {
    /// Keys whose order is that of the values.
    Keys(Vec<u64>),
    /// Texts.
    Texts(Vec<&'a [u8]>),
}

fn ends(mut counts: Vec<u64>) -> Vec<u64> {
    let mut sum = 0;
    for count in &mut counts {
        sum += *count;
        *count = sum;
    }
    counts
}

impl<'a> Sorted<'a> {
    /// Creates sorted values of a kind other than text from their keys.
    pub fn of_keys(kind: Kind, runs: Runs<u64>) -> Self {
        Self { kind, points: Points::Keys(runs.things), ends: ends(runs.counts) }
    }

    /// Creates sorted texts.
    pub fn of_texts(runs: Runs<&'a [u8]>) -> Self {
        Self { kind: Kind::Text, points: Points::Texts(runs.things), ends: ends(runs.counts) }
    }

    /// Returns the number of distinct values.
    pub fn distinct(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of rows whose value is less than value `at`.
    pub fn before(&self, at: usize) -> u64 {
        at.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// Returns a value by its number.
    pub fn scalar(&self, at: usize) -> Scalar {
        match &self.points {
            Points::Keys(keys) => scalar(self.kind, keys[at]),
            // The source of the texts has checked that they are UTF-8.
            Points::Texts(texts) => Scalar::Text(String::from_utf8_lossy(texts[at]).into()),
        }
    }

    /// Returns the keys of values by their numbers; none for texts.
    pub fn keys_at(&self, at: &[usize]) -> Vec<u64> {
        let Points::Keys(keys) = &self.points else { return Vec::new() };
        at.iter().map(|at| keys[*at]).collect()
    }

    /// Returns the texts of values by their numbers; none for other kinds.
    pub fn texts_at(&self, at: &[usize]) -> Vec<&'a [u8]> {
        let Points::Texts(texts) = &self.points else { return Vec::new() };
        at.iter().map(|at| texts[*at]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_values() {
        let ints = [i64::MIN, -1, 0, 1, (1 << 53) + 1, i64::MAX];
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
        assert!(ints.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        assert!(floats.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        assert!(ints.iter().all(|value| int(value.key()) == *value));
        assert!(floats.iter().all(|value| float(value.key()).to_bits() == value.to_bits()));
        assert!(false.key() < true.key());
    }

    #[test]
    fn runs_are_merged() {
        let of = |things: &[u64]| Runs::of_sorted(things.to_vec());
        let merged = Runs::merge_all(vec![of(&[1, 1, 3]), of(&[]), of(&[0, 1, 4, 4]), of(&[9]), of(&[3])]);
        assert_eq!(merged.things, [0, 1, 3, 4, 9]);
        assert_eq!(merged.counts, [1, 3, 2, 2, 1]);
        assert_eq!(Runs::<u64>::merge_all(vec![]), of(&[]));
    }
}
