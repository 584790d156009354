//! The primitives that the steps are made of: scan, scatter, stable sort. Here each is a loop; all may be cut among threads.
//!
//! None allocates: what is written is the caller's, as long as what is read unless said otherwise.

use warpath_shared::index::Monoid;

/// Each element becomes what all before it amount to; the first becomes the identity. Returns what all amount to.
pub fn exclusive_scan<M: Monoid>(items: impl Iterator<Item = M>, out: &mut [M]) -> M {
    let mut sum = M::default();
    for (item, out) in items.zip(out) {
        *out = sum;
        sum = sum.combine(item);
    }
    sum
}

/// Each element becomes what it and all before it amount to, and `write` is told, in order.
pub fn inclusive_scan<M: Monoid>(items: impl Iterator<Item = M>, mut write: impl FnMut(M)) {
    let mut sum = M::default();
    for item in items {
        sum = sum.combine(item);
        write(sum);
    }
}

/// Puts values where they belong: `(index, value)` sets `out[index]`. No two have the same index, so their order does not matter.
///
/// # Panics
/// If an index is not below `out.len()`.
pub fn scatter<T>(items: impl Iterator<Item = (u32, T)>, out: &mut [T]) {
    for (index, value) in items {
        out[index as usize] = value;
    }
}

/// Where each element stands once all are sorted by key, those of one key in the order that they have: a counting sort, of
/// which only the ranks are kept. `places` is scratch, an entry for each possible key.
///
/// # Panics
/// If a key is not below `places.len()`.
pub fn stable_ranks(keys: impl Iterator<Item = u32> + Clone, places: &mut [u32], ranks: &mut [u32]) {
    places.fill(0);
    for key in keys.clone() {
        places[key as usize] += 1;
    }
    let mut before = 0;
    for place in &mut *places {
        before += std::mem::replace(place, before);
    }
    for (key, rank) in keys.zip(ranks) {
        *rank = places[key as usize];
        places[key as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans() {
        let mut out = [9u32; 4];
        assert_eq!(exclusive_scan([1u32, 2, 3, 4].into_iter(), &mut out), 10);
        assert_eq!(out, [0, 1, 3, 6]);
        let mut sums = Vec::new();
        inclusive_scan([1u32, 2, 3, 4].into_iter(), |sum| sums.push(sum));
        assert_eq!(sums, [1, 3, 6, 10]);
    }

    #[test]
    fn scatters() {
        let mut out = ['.'; 4];
        scatter([(3, 'a'), (0, 'b')].into_iter(), &mut out);
        assert_eq!(out, ['b', '.', '.', 'a']);
    }

    #[test]
    fn ranks_are_those_of_a_stable_sort() {
        let keys = [2u32, 0, 2, 1, 0, 2];
        let (mut places, mut ranks) = ([7; 3], [7; 6]);
        stable_ranks(keys.into_iter(), &mut places, &mut ranks);
        assert_eq!(ranks, [3, 0, 4, 2, 1, 5]);
    }
}
