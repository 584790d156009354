//! The strings of a member, numbered. All segments share the dictionary of a member, so equal strings have
//! equal codes in all of them. A dictionary only grows: a code is never changed.
//!
//! The first strings have the codes from 0 on. The others are divided by their hashes, so that several
//! threads add strings at the same time. Parts have about as many strings each. A code between the least and
//! the greatest may therefore have no string, as 4100 here:
//!
//! ```text
//! code     0 1 2 … 4095 │ 4096 4097 4098 4099 … 4127 │ 4128 4129 …
//! part     the first    │    0    1    2    3 …   31 │    0    1 …
//! number   0 1 2 … 4095 │    0    0    0    0 …    0 │    1    1 …
//! ```

use std::array;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use foldhash::HashMap;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// The number of first strings.
const FIRST: usize = 4096;

/// The number of parts of all other strings; a power of two.
const PARTS: usize = 32;

/// The strings of one member.
#[derive(Debug, Default)]
pub struct Dictionary {
    first: RwLock<Strings>,
    /// The parts of all other strings, once there are such.
    others: OnceLock<Box<[RwLock<Strings>; PARTS]>>,
}

/// The strings of a dictionary, while nobody adds to it.
pub struct Read<'a> {
    first: RwLockReadGuard<'a, Strings>,
    others: Vec<RwLockReadGuard<'a, Strings>>,
}

#[derive(Debug, Default)]
struct Strings {
    bytes: Vec<u8>,
    /// The end of each string.
    ends: Vec<u64>,
    /// The numbers, by the hashes of their strings.
    numbers: HashTable<u32>,
}

fn hash(string: &[u8]) -> u64 {
    FixedState::default().hash_one(string)
}

/// The part of a string that is none of the first. Tables use the lowest and the highest bits of hashes.
fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

/// The code of a string of a part; `None` if there is none.
fn code_of(part: usize, number: u32) -> Option<u32> {
    let code = FIRST as u64 + u64::from(number) * PARTS as u64 + part as u64;
    u32::try_from(code).ok().filter(|code| *code < u32::MAX)
}

impl Strings {
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with a number; an empty one if no string has it.
    fn get(&self, number: usize) -> &[u8] {
        let Some(end) = self.ends.get(number) else { return &[] };
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..*end as usize]
    }

    fn find(&self, hash: u64, string: &[u8]) -> Option<u32> {
        self.numbers.find(hash, |number| self.get(*number as usize) == string).copied()
    }

    /// The number of a string, which is added if it is new. `None` if it is new and there are `most` strings.
    fn add(&mut self, (of_string, string): (u64, &[u8]), most: usize) -> Option<u32> {
        if let Some(number) = self.find(of_string, string) {
            return Some(number);
        }
        let number = u32::try_from(self.len()).ok().filter(|number| (*number as usize) < most)?;
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len() as u64);
        let Self { bytes, ends, numbers } = self;
        numbers.insert_unique(of_string, number, |number| {
            let at = *number as usize;
            let begin = at.checked_sub(1).map_or(0, |before| ends[before]);
            hash(&bytes[begin as usize..ends[at] as usize])
        });
        Some(number)
    }

    /// Bytes of memory.
    fn memory(&self) -> u64 {
        let Self { bytes, ends, numbers } = self;
        (bytes.capacity() + ends.capacity() * size_of::<u64>() + numbers.capacity() * 5) as u64
    }
}

impl Dictionary {
    /// The codes of strings, which are added as far as they are new. `None` if all codes are taken; some of
    /// the strings may have been added then.
    #[must_use]
    pub fn add_all<'a>(&self, strings: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u32>> {
        let hashed: Vec<_> = strings.map(|string| (hash(string), string)).collect();
        let mut codes = vec![0; hashed.len()];
        let first = self.first.read().unwrap_or_else(PoisonError::into_inner);
        let is_full = first.len() == FIRST;
        // Sets the code of a string. True if there is none yet.
        let mut is_left = |at: usize, code: Option<u32>| {
            codes[at] = code.unwrap_or_default();
            code.is_none()
        };
        let mut others: Vec<usize> = (0..hashed.len()).collect();
        others.retain(|at| is_left(*at, first.find(hashed[*at].0, hashed[*at].1)));
        drop(first);
        if !is_full && !others.is_empty() {
            let mut first = self.first.write().unwrap_or_else(PoisonError::into_inner);
            others.retain(|at| is_left(*at, first.add(hashed[*at], FIRST)));
        }
        if others.is_empty() {
            return Some(codes);
        }
        let parts = self.others.get_or_init(|| Box::new(array::from_fn(|_| RwLock::default())));
        let mut of_parts = [const { Vec::new() }; PARTS];
        others.into_iter().for_each(|at| of_parts[part_of(hashed[at].0)].push(at));
        // Threads begin with different parts, so that they seldom wait for each other.
        static BEGIN: AtomicUsize = AtomicUsize::new(0);
        let begin = BEGIN.fetch_add(PARTS / 4 + 1, Ordering::Relaxed);
        for part in (0..PARTS).map(|part| (begin + part) % PARTS) {
            if of_parts[part].is_empty() {
                continue;
            }
            let mut all = parts[part].write().unwrap_or_else(PoisonError::into_inner);
            for at in &of_parts[part] {
                codes[*at] = code_of(part, all.add(hashed[*at], usize::MAX)?)?;
            }
        }
        Some(codes)
    }

    /// The strings. Additions wait until the result is dropped.
    #[must_use]
    pub fn read(&self) -> Read<'_> {
        let read = |strings| RwLock::read(strings).unwrap_or_else(PoisonError::into_inner);
        let first = read(&self.first);
        Read { first, others: self.others.get().map_or_else(Vec::new, |all| all.iter().map(read).collect()) }
    }
}

impl Read<'_> {
    /// A number that is greater than all codes. It is the number of strings, if these are few, and little
    /// more otherwise.
    #[must_use]
    pub fn end(&self) -> usize {
        let most = self.others.iter().map(|part| part.len()).max().unwrap_or(0);
        if most == 0 { self.first.len() } else { FIRST + most * PARTS }
    }

    /// The string with a code; an empty one if no string has the code.
    #[must_use]
    pub fn get(&self, code: u32) -> &[u8] {
        match (code as usize).checked_sub(FIRST) {
            None => self.first.get(code as usize),
            Some(other) => self.others.get(other % PARTS).map_or(&[], |part| part.get(other / PARTS)),
        }
    }

    /// The code of a string; `None` if it is not in the dictionary.
    #[must_use]
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        let of_string = hash(string);
        self.first.find(of_string, string).or_else(|| {
            let part = part_of(of_string);
            code_of(part, self.others.get(part)?.find(of_string, string)?)
        })
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.first.memory() + self.others.iter().map(|part| part.memory()).sum::<u64>()
    }
}

/// The dictionaries of the members of some segments, by the paths of members.
#[derive(Debug, Default)]
pub struct Dictionaries(RwLock<HashMap<Vec<Vec<u8>>, Choice>>);

/// The form of the strings of a member, which is that of all segments.
#[derive(Clone, Debug)]
enum Choice {
    Coded(Arc<Dictionary>),
    /// Strings that hardly repeat are in the lines alone.
    InLines,
}

impl Dictionaries {
    /// The dictionary of a member. Its first segment decides whether there is one: strings that hardly repeat
    /// have none ([`repeat`]).
    #[must_use]
    pub fn of(&self, path: &[Vec<u8>], repeats: bool) -> Option<Arc<Dictionary>> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let choice = all.entry(path.to_vec()).or_insert_with(|| match repeats {
            true => Choice::Coded(Arc::default()),
            false => Choice::InLines,
        });
        match choice {
            Choice::Coded(dictionary) => Some(dictionary.clone()),
            Choice::InLines => None,
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let coded = all.values().filter_map(|choice| match choice {
            Choice::Coded(dictionary) => Some(dictionary.read().bytes()),
            Choice::InLines => None,
        });
        coded.sum()
    }
}

/// A member with at most this many strings has a dictionary, whether they repeat or not.
const FEW: usize = 256;

/// True if strings repeat so much that codes take less memory than the strings. `values` is the number of
/// strings, of which `distinct` are different.
#[must_use]
pub fn repeat(values: usize, distinct: usize) -> bool {
    distinct <= FEW || distinct.saturating_mul(10) <= values.saturating_mul(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stay() {
        let dictionary = Dictionary::default();
        let first = dictionary.add_all([&b"b"[..], b"", b"a", b"b"].into_iter());
        assert_eq!(first, Some(vec![0, 1, 2, 0]));
        let more: Vec<Vec<u8>> = (0..20_000_u32).map(|number| number.to_string().into_bytes()).collect();
        for some in [&more[..4000], &more[..5000], &more[100..], &more] {
            let codes = dictionary.add_all(some.iter().map(Vec::as_slice)).unwrap();
            let read = dictionary.read();
            assert_eq!((read.get(0), read.get(1), read.get(2)), (&b"b"[..], &b""[..], &b"a"[..]));
            assert!(some.iter().zip(&codes).all(|(text, code)| read.get(*code) == text));
            assert!(some.iter().zip(&codes).all(|(text, code)| read.find(text) == Some(*code)));
            assert!(codes.iter().all(|code| (*code as usize) < read.end()));
            assert_eq!((read.find(b"c"), read.get(read.end() as u32)), (None, &b""[..]));
        }
        assert!((20_003..23_000).contains(&dictionary.read().end()), "{}", dictionary.read().end());
    }

    /// Threads that add the same strings get the same codes.
    #[test]
    fn threads_add_at_the_same_time() {
        for count in [100, 4090, 30_000] {
            let (dictionary, all) = (Dictionary::default(), 0..count as u32);
            let strings: Vec<Vec<u8>> = all.map(|number| number.to_le_bytes().to_vec()).collect();
            let add = |begin: usize| {
                let turned = strings[begin..].iter().chain(&strings[..begin]).map(Vec::as_slice);
                let mut codes = dictionary.add_all(turned).unwrap();
                codes.rotate_right(begin);
                codes
            };
            let codes: Vec<Vec<u32>> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..4).map(|thread| scope.spawn(move || add(thread * count / 4))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(codes.windows(2).all(|pair| pair[0] == pair[1]));
            let read = dictionary.read();
            assert!(codes[0].iter().zip(&strings).all(|(code, string)| read.get(*code) == string));
        }
    }

    #[test]
    fn the_first_segment_chooses() {
        let all = Dictionaries::default();
        let path = |name: &str| vec![name.as_bytes().to_vec()];
        assert!(all.of(&path("id"), repeat(1000, 1000)).is_none());
        assert!(all.of(&path("id"), repeat(1000, 1)).is_none());
        let one = all.of(&path("lang"), repeat(1000, 3)).unwrap();
        assert!(Arc::ptr_eq(&one, &all.of(&path("lang"), repeat(1000, 1000)).unwrap()));
        assert!(repeat(5, 5) && repeat(1000, 900) && !repeat(1000, 901));
    }
}
