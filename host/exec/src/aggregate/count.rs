//! Counts of values, in memory as far as they fit, and in temporary files beyond.
//!
//! Values that do not fit are written as a run that is sorted by key ([`Sorter`]), and counting begins anew.
//! At the end, the runs are merged and the counts of each key added.

use std::vec;

use warpath_core::error::Error;
use warpath_core::key;

use super::sorter::{Sorted, Sorter};
use super::values::{ValueCount, ValueTable};

/// The count of a value, as a run has it.
#[derive(Clone, Copy)]
struct Counted {
    count: u64,
    /// The number of the call that first added the value.
    first: u64,
    /// True if [`Counter::add`] reported the value as new.
    is_reported: bool,
}

impl Counted {
    const BYTES: usize = 17;

    fn of(entry: &ValueCount) -> Self {
        let ValueCount { count, first, is_reported, .. } = *entry;
        Self { count, first, is_reported }
    }

    fn join(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            first: self.first.min(other.first),
            is_reported: self.is_reported || other.is_reported,
        }
    }

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first.to_le_bytes());
        bytes[16] = self.is_reported.into();
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        Self { count: number(0), first: number(8), is_reported: bytes[16] != 0 }
    }
}

/// Counts values by their keys.
///
/// ```
/// use warpath::aggregate::{Counter, DEFAULT_MEMORY};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let tweets = "{\"lang\":\"nl\"}\n{\"lang\":\"en\"}\n{\"lang\":\"nl\"}\n";
/// let lang = [Query::compile("$.lang")?];
/// let counter: Counter = Engine::builder().build()?.bytes(tweets).count_by(&lang, DEFAULT_MEMORY)?;
/// let most = counter.by_count(Some(1))?.values().next().unwrap()?;
/// assert_eq!(most, (vec![Some("\"nl\"".into())], 2));
/// # Ok(())
/// # }
/// ```
pub struct Counter {
    memory: usize,
    values: ValueTable,
    next: u64,
    /// The values that did not fit in memory.
    spilled: Option<Sorter>,
}

impl Counter {
    /// A counter that keeps about `memory` bytes in memory.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(memory: usize) -> Self {
        Self { memory, values: ValueTable::default(), next: 0, spilled: None }
    }

    /// Adds `count` to the count of a value. Returns true if the value is known to be new, which is known as
    /// long as all values fit in memory.
    ///
    /// # Errors
    /// The errors of temporary files. [`Error::Usage`] for a value of 4 GiB or more.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn add(&mut self, key: &[u8], count: u64) -> Result<bool, Error> {
        self.next += 1;
        let hash = match self.values.find(key) {
            Ok(entry) => {
                entry.count += count;
                return Ok(false);
            }
            Err(hash) => hash,
        };
        let fits = self.values.bytes_with(key) <= self.memory && self.values.has_numbers();
        if !fits && !self.values.entries.is_empty() {
            self.spill()?;
        }
        let is_reported = self.spilled.is_none();
        self.values.add(key, hash, (count, self.next, is_reported))?;
        Ok(is_reported)
    }

    /// True if values were written to temporary files.
    #[must_use]
    pub fn has_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.values.sort();
        let bytes = &self.values.bytes;
        // The sorter merges runs, and keeps no items.
        let sorter = self.spilled.get_or_insert_with(|| Sorter::new(0));
        let item = |entry: &ValueCount| (entry.key(bytes), Counted::of(entry).to_bytes());
        sorter.push_sorted(self.values.entries.iter().map(item))?;
        self.values.clear();
        Ok(())
    }

    /// Calls `each` with every value that was added, in any order.
    fn each(mut self, mut each: impl FnMut(&[u8], Counted) -> Result<(), Error>) -> Result<(), Error> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        let Self { values, spilled, .. } = self;
        let Some(spilled) = spilled else {
            let ValueTable { bytes, entries, .. } = values;
            return entries.iter().try_for_each(|entry| each(entry.key(&bytes), Counted::of(entry)));
        };
        // The caller may need as much memory as the values took.
        drop(values);
        let (mut sorted, mut key, mut payload) = (spilled.finish()?, Vec::new(), Vec::new());
        let mut last: Option<(Vec<u8>, Counted)> = None;
        while sorted.next(&mut key, &mut payload)? {
            let entry = Counted::from_bytes(&payload);
            match &mut last {
                Some((of, known)) if *of == key => *known = known.join(entry),
                Some((of, known)) => {
                    each(of, *known)?;
                    std::mem::swap(of, &mut key);
                    *known = entry;
                }
                None => last = Some((std::mem::take(&mut key), entry)),
            }
        }
        last.map_or(Ok(()), |(key, entry)| each(&key, entry))
    }

    /// The number of different values.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn distinct(self) -> Result<u64, Error> {
        if self.spilled.is_none() {
            return Ok(self.values.entries.len() as u64);
        }
        let mut count = 0;
        self.each(|_, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// The values by their counts, greatest first; values with the same count in their order
    /// ([`warpath_core::key`]). At most `top` values, if it is set.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn by_count(self, top: Option<usize>) -> Result<Counts, Error> {
        self.within(0, top)
    }

    /// The combinations of values in the order of their first `leading` values, and those with the same first
    /// values by their counts, as [`by_count`](Self::by_count) does. At most `top` combinations for each of
    /// these first values, if it is set.
    ///
    /// ```
    /// use warpath::aggregate::DEFAULT_MEMORY;
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let text = "{\"d\":2,\"k\":1}\n{\"d\":1,\"k\":1}\n{\"d\":1,\"k\":7}\n{\"d\":1,\"k\":7}\n";
    /// let paths = [Query::compile("$.d")?, Query::compile("$.k")?];
    /// let counter = Engine::builder().build()?.bytes(text).count_by(&paths, DEFAULT_MEMORY)?;
    /// let counts = counter.within(1, Some(1))?.values().collect::<Result<Vec<_>, _>>()?;
    /// let value = |text: &str| Some(text.to_owned());
    /// assert_eq!(counts, [(vec![value("1"), value("7")], 2), (vec![value("2"), value("1")], 1)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn within(self, leading: usize, top: Option<usize>) -> Result<Counts, Error> {
        let top = top.unwrap_or(usize::MAX);
        if self.spilled.is_some() {
            let (mut sorter, mut sort_key) = (Sorter::new(self.memory), Vec::new());
            let (mut text, mut most) = (Vec::new(), 0);
            self.each(|key, entry| {
                most = most.max(entry.count);
                let (first, rest) = key.split_at(first_values(key, leading, &mut text));
                sort_key.clear();
                sort_key.extend_from_slice(first);
                sort_key.extend((!entry.count).to_be_bytes());
                sort_key.extend_from_slice(rest);
                let payload = [entry.count.to_le_bytes(), (first.len() as u64).to_le_bytes()];
                sorter.push(&sort_key, payload.as_flattened())
            })?;
            let from = From::Sorted(sorter.finish()?);
            return Ok(Counts { top, left: top, leading, most, ..Counts::all(from) });
        }
        let (entries, most) = (self.ordered(leading, top), self.values.most());
        let from = From::Memory(self.values.bytes, entries.into_iter());
        Ok(Counts { top, left: top, leading, most, ..Counts::all(from) })
    }

    /// The values that are counted so far, as [`within`](Self::within) has them. `None` if values were
    /// written to temporary files.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn now(&self, leading: usize, top: Option<usize>) -> Option<Counts> {
        if self.spilled.is_some() {
            return None;
        }
        let top = top.unwrap_or(usize::MAX);
        let from = From::Memory(self.values.bytes.clone(), self.ordered(leading, top).into_iter());
        Some(Counts { top, left: top, leading, most: self.values.most(), ..Counts::all(from) })
    }

    /// The values in memory, in the order of [`within`](Self::within).
    fn ordered(&self, leading: usize, top: usize) -> Vec<ValueCount> {
        let (bytes, mut entries) = (&self.values.bytes, self.values.entries.clone());
        let order = |a: &ValueCount, b: &ValueCount| {
            b.count.cmp(&a.count).then_with(|| a.key(bytes).cmp(b.key(bytes)))
        };
        if leading == 0 {
            if top < entries.len() {
                entries.select_nth_unstable_by(top, order);
                entries.truncate(top);
            }
            entries.sort_unstable_by(order);
            return entries;
        }
        let mut text = Vec::new();
        let first = |entry: ValueCount| (first_values(entry.key(bytes), leading, &mut text), entry);
        let mut entries: Vec<(usize, ValueCount)> = entries.into_iter().map(first).collect();
        entries.sort_unstable_by(|(a_len, a), (b_len, b)| {
            a.key(bytes)[..*a_len].cmp(&b.key(bytes)[..*b_len]).then_with(|| order(a, b))
        });
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// The values in the order in which they were first added, without those that [`add`](Self::add)
    /// reported as new. With `all`, these are included.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn in_order(self, all: bool) -> Result<Counts, Error> {
        if self.spilled.is_none() {
            // All of them were reported.
            let ValueTable { bytes, entries, .. } = self.values;
            let entries = if all { entries } else { Vec::new() };
            return Ok(Counts::all(From::Memory(bytes, entries.into_iter())));
        }
        let (mut sorter, mut sort_key) = (Sorter::new(self.memory), Vec::new());
        self.each(|key, entry| {
            if entry.is_reported && !all {
                return Ok(());
            }
            sort_key.clear();
            sort_key.extend(entry.first.to_be_bytes());
            sort_key.extend_from_slice(key);
            sorter.push(&sort_key, [entry.count, 0].map(u64::to_le_bytes).as_flattened())
        })?;
        Ok(Counts::all(From::Sorted(sorter.finish()?)))
    }
}

/// The bytes of the first values of a key. `text` is a buffer.
fn first_values(key: &[u8], count: usize, text: &mut Vec<u8>) -> usize {
    let mut rest = key;
    for _ in 0..count {
        text.clear();
        if key::decode(&mut rest, text).is_none() {
            break;
        }
    }
    key.len() - rest.len()
}

/// Iterates over keys and their counts.
///
/// ```
/// use warpath::aggregate::{Counts, DEFAULT_MEMORY};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let tweets = "{\"lang\":\"nl\"}\n{\"lang\":\"en\"}\n{\"lang\":\"nl\"}\n";
/// let lang = [Query::compile("$.lang")?];
/// let counts: Counts = Engine::builder().build()?.bytes(tweets).count_by(&lang, DEFAULT_MEMORY)?.in_order(true)?;
/// let counts = counts.values().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(counts[0], (vec![Some("\"nl\"".into())], 2));
/// assert_eq!(counts[1], (vec![Some("\"en\"".into())], 1));
/// # Ok(())
/// # }
/// ```
pub struct Counts {
    from: From,
    /// The most values with the same first values, and the number of them that are still wanted.
    top: usize,
    left: usize,
    /// The number of first values, and the bytes of the last ones.
    leading: usize,
    last: Vec<u8>,
    text: Vec<u8>,
    most: u64,
}

enum From {
    /// Entries, with the bytes of all keys.
    Memory(Vec<u8>, vec::IntoIter<ValueCount>),
    /// Sorted items. A key has eight bytes more, after as many bytes as the payload says: the count precedes
    /// that number.
    Sorted(Sorted),
}

impl From {
    fn next(&mut self) -> Option<Result<(Vec<u8>, u64), Error>> {
        match self {
            Self::Memory(bytes, entries) => {
                entries.next().map(|entry| Ok((entry.key(bytes).to_vec(), entry.count)))
            }
            Self::Sorted(sorted) => {
                let (mut key, mut payload) = (Vec::new(), Vec::new());
                match sorted.next(&mut key, &mut payload) {
                    Ok(false) => None,
                    Ok(true) => {
                        let number = |at: usize| {
                            let mut number = [0; 8];
                            number.copy_from_slice(&payload[at..at + 8]);
                            u64::from_le_bytes(number)
                        };
                        let first = number(8) as usize;
                        key.drain(first..first + 8);
                        Some(Ok((key, number(0))))
                    }
                    Err(error) => Some(Err(error)),
                }
            }
        }
    }
}

impl Counts {
    fn all(from: From) -> Self {
        let (top, left, leading) = (usize::MAX, usize::MAX, 0);
        Self { from, top, left, leading, last: Vec::new(), text: Vec::new(), most: 0 }
    }

    /// The greatest of all counts; 0 of values in the order in which they were added.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The values with their counts: one value for each path, as JSON text. A record without a value has
    /// `None`.
    pub fn values(self) -> impl Iterator<Item = Result<(Vec<Option<String>>, u64), Error>> {
        self.map(|counted| counted.map(|(key, count)| (values(&key), count)))
    }
}

impl Iterator for Counts {
    type Item = Result<(Vec<u8>, u64), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.leading == 0 && self.left == 0 {
                return None;
            }
            let counted = self.from.next()?;
            if let (1.., Ok((key, _))) = (self.leading, &counted) {
                let first = &key[..first_values(key, self.leading, &mut self.text)];
                if self.last != first {
                    self.last.clear();
                    self.last.extend_from_slice(first);
                    self.left = self.top;
                }
            }
            if let Some(left) = self.left.checked_sub(1) {
                self.left = left;
                return Some(counted);
            }
        }
    }
}

/// The JSON texts of a key's values; `None` for a missing value. Bytes that are not UTF-8 become U+FFFD.
#[must_use]
pub fn values(key: &[u8]) -> Vec<Option<String>> {
    let (mut text, mut ends, mut begin) = (Vec::new(), Vec::new(), 0);
    append_values(key, &mut text, &mut ends);
    let value = |(end, is_there): (usize, bool)| {
        let value = String::from_utf8_lossy(&text[begin..end]).into_owned();
        begin = end;
        is_there.then_some(value)
    };
    ends.into_iter().map(value).collect()
}

/// Appends the JSON texts of a key's values, and for each value the end of its text, and false if it is
/// missing.
pub fn append_values(key: &[u8], text: &mut Vec<u8>, ends: &mut Vec<(usize, bool)>) {
    let mut rest = key;
    while !rest.is_empty() {
        let Some(is_there) = key::decode(&mut rest, text) else { break };
        ends.push((text.len(), is_there));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use warpath_random::Rng;

    use super::*;

    #[test]
    fn files_give_the_counts_of_memory() {
        let mut random = Rng::new(3);
        let added: Vec<(Vec<u8>, u64)> = (0..20_000)
            .map(|_| {
                let most = 1 + random.below(400);
                (random.below(most).to_be_bytes().to_vec(), 1 + random.below(3) as u64)
            })
            .collect();
        let mut want: BTreeMap<&[u8], u64> = BTreeMap::new();
        let mut order: Vec<&[u8]> = Vec::new();
        for (key, count) in &added {
            let known = want.entry(key).or_insert_with(|| {
                order.push(key);
                0
            });
            *known += count;
        }
        let mut by_count: Vec<(Vec<u8>, u64)> =
            want.iter().map(|(key, count)| (key.to_vec(), *count)).collect();
        by_count.sort_by_key(|(_, count)| u64::MAX - count);
        for memory in [1_000, 10_000, 1 << 30] {
            let counter = || {
                let (mut counter, mut told) = (Counter::new(memory), Vec::new());
                for (key, count) in &added {
                    if counter.add(key, *count).unwrap() {
                        told.push(&key[..]);
                    }
                }
                assert_eq!(counter.has_spilled(), memory < 1 << 30);
                (counter, told)
            };
            let all = |counts: Counts| counts.collect::<Result<Vec<_>, _>>().unwrap();
            assert_eq!(all(counter().0.by_count(None).unwrap()), by_count, "{memory}");
            for top in [0, 1, 7, 1000] {
                let top_counts = &by_count[..top.min(by_count.len())];
                assert_eq!(all(counter().0.by_count(Some(top)).unwrap()), top_counts, "{memory} {top}");
            }
            assert_eq!(counter().0.distinct().unwrap(), want.len() as u64);
            let in_order = |all: Vec<(Vec<u8>, u64)>| all.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
            assert_eq!(in_order(all(counter().0.in_order(true).unwrap())), order, "{memory}");
            let (counter, told) = counter();
            let rest = in_order(all(counter.in_order(false).unwrap()));
            let both: Vec<&[u8]> = told.into_iter().chain(rest.iter().map(Vec::as_slice)).collect();
            assert_eq!(both, order, "{memory}");
        }
    }
}
