//! The primitives that the steps consist of: scan, scatter and stable sort. Here, each is a loop; threads can
//! share the work of each.
//!
//! No primitive allocates. The caller provides the output, which is as long as the input unless stated
//! otherwise.

use warpath_shared::index::Monoid;

/// Combines the elements before each element; the first gets the identity. Returns the combination of all
/// elements.
pub fn exclusive_scan<M: Monoid>(items: impl Iterator<Item = M>, out: &mut [M]) -> M {
    let mut sum = M::default();
    for (item, out) in items.zip(out) {
        *out = sum;
        sum = sum.combine(item);
    }
    sum
}

/// Combines each element with all elements before it, and passes each result to `write`, in order.
pub fn inclusive_scan<M: Monoid>(items: impl Iterator<Item = M>, mut write: impl FnMut(M)) {
    let mut sum = M::default();
    for item in items {
        sum = sum.combine(item);
        write(sum);
    }
}

/// Writes values at indexes: `(index, value)` sets `out[index]`. No two items have the same index, so their
/// order does not matter.
///
/// # Panics
/// If an index is not below `out.len()`.
pub fn scatter<T>(items: impl Iterator<Item = (u32, T)>, out: &mut [T]) {
    for (index, value) in items {
        out[index as usize] = value;
    }
}

/// Computes the position of each element in a stable sort by key. It is a counting sort that keeps only these
/// ranks. `places` is scratch memory with one entry for each possible key.
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
