//! The strings of a member, numbered. All segments share the dictionary of a member, so equal strings have
//! equal codes in all of them. A dictionary only grows: a code is never changed.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use foldhash::HashMap;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The strings of one member.
#[derive(Debug, Default)]
pub struct Dictionary(RwLock<Strings>);

/// The strings of a dictionary, while nobody adds to it.
pub struct Read<'a>(RwLockReadGuard<'a, Strings>);

#[derive(Debug, Default)]
struct Strings {
    bytes: Vec<u8>,
    /// The end of each string.
    ends: Vec<u64>,
    /// The codes, by the hashes of their strings.
    codes: HashTable<u32>,
}

fn hash(string: &[u8]) -> u64 {
    FixedState::default().hash_one(string)
}

impl Strings {
    fn get(&self, code: u32) -> &[u8] {
        let at = code as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..self.ends[at] as usize]
    }

    fn find(&self, string: &[u8]) -> Option<u32> {
        self.find_hashed(hash(string), string)
    }

    fn find_hashed(&self, hash: u64, string: &[u8]) -> Option<u32> {
        self.codes.find(hash, |code| self.get(*code) == string).copied()
    }

    /// The code of a string, which is added if it is new. `None` if all codes are taken.
    fn add(&mut self, (of_string, string): (u64, &[u8])) -> Option<u32> {
        if let Some(code) = self.find_hashed(of_string, string) {
            return Some(code);
        }
        let code = u32::try_from(self.ends.len()).ok().filter(|code| *code < u32::MAX)?;
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len() as u64);
        let Self { bytes, ends, codes } = self;
        codes.insert_unique(of_string, code, |code| {
            let at = *code as usize;
            let begin = at.checked_sub(1).map_or(0, |before| ends[before]);
            hash(&bytes[begin as usize..ends[at] as usize])
        });
        Some(code)
    }
}

impl Dictionary {
    /// The codes of strings, which are added as far as they are new. `None` if all codes are taken; some of
    /// the strings may have been added then.
    #[must_use]
    pub fn add_all<'a>(&self, strings: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u32>> {
        let hashed: Vec<_> = strings.map(|string| (hash(string), string)).collect();
        let (mut codes, mut new) = (Vec::with_capacity(hashed.len()), Vec::new());
        // Most strings are known from other segments, and threads look for these at the same time.
        let known = self.read();
        for (at, (of_string, string)) in hashed.iter().enumerate() {
            let code = known.0.find_hashed(*of_string, string);
            codes.push(code.unwrap_or_default());
            if code.is_none() {
                new.push(at);
            }
        }
        drop(known);
        if !new.is_empty() {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            for at in new {
                codes[at] = all.add(hashed[at])?;
            }
        }
        Some(codes)
    }

    /// The strings. Additions wait until the result is dropped.
    #[must_use]
    pub fn read(&self) -> Read<'_> {
        Read(self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Read<'_> {
    /// The number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// True if there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// The string with a code.
    ///
    /// # Panics
    /// If no string has the code.
    #[must_use]
    pub fn get(&self, code: u32) -> &[u8] {
        self.0.get(code)
    }

    /// The code of a string; `None` if it is not in the dictionary.
    #[must_use]
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        self.0.find(string)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let Strings { bytes, ends, codes } = &*self.0;
        (bytes.capacity() + ends.capacity() * size_of::<u64>() + codes.capacity() * 5) as u64
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
        let more: Vec<Vec<u8>> = (0..5000_u32).map(|number| number.to_string().into_bytes()).collect();
        let codes = dictionary.add_all(more.iter().map(Vec::as_slice)).unwrap();
        let read = dictionary.read();
        assert_eq!((read.get(0), read.get(1), read.get(2)), (&b"b"[..], &b""[..], &b"a"[..]));
        assert!(more.iter().zip(&codes).all(|(text, code)| read.get(*code) == text));
        assert!(more.iter().zip(&codes).all(|(text, code)| read.find(text) == Some(*code)));
        assert_eq!((read.len(), read.find(b"c")), (5003, None));
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
