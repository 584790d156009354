//! Columns of strings, for the measurement of dictionaries and symbol tables.

use super::random::Random;
use super::template::{self, Run};
use super::text::Put;
use super::{Generator, Shape};

/// Strings in a column: string *i* is what is in `values` from offset *i* to offset *i* + 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// The bytes of all strings, one after the other.
    pub values: Vec<u8>,
    /// The offset of each string, and the end of the last.
    pub offsets: Vec<u64>,
}

/// Strings in a block. Each block has a random stream of its own, so that a smaller column is the beginning
/// of a larger one. Part of the data's definition.
const BLOCK: u64 = 1 << 16;

/// The keys that separate the random streams of columns from each other, and from those of shapes. Part of
/// the data's definition.
const NAMES: u64 = 0x101;
const RANDOM: u64 = 0x102;

impl Strings {
    /// Makes `count` strings, each of the bytes that the writer of its block appends.
    fn made<W: FnMut(&mut Vec<u8>)>(count: u64, writer: impl Fn(u64) -> W) -> Self {
        let (mut values, mut offsets) = (Vec::new(), vec![0]);
        for block in 0..count.div_ceil(BLOCK) {
            let mut write = writer(block);
            for _ in block * BLOCK..count.min((block + 1) * BLOCK) {
                write(&mut values);
                offsets.push(values.len() as u64);
            }
        }
        Self { values, offsets }
    }
}

/// The first `count` lines of a shape.
fn lines(shape: Shape, count: u64, seed: u64) -> Strings {
    let (mut strings, mut block) = (Strings { values: Vec::new(), offsets: vec![0] }, 0);
    while (strings.offsets.len() as u64) <= count {
        let mut generator = Generator::for_block(shape, seed, block);
        let begin = strings.values.len();
        while strings.values.len() - begin < super::BLOCK_BYTES && (strings.offsets.len() as u64) <= count {
            generator.record(&mut strings.values);
            strings.offsets.push(strings.values.len() as u64);
        }
        block += 1;
    }
    strings
}

/// URLs, as [`Shape::Urls`] has them.
#[must_use]
pub fn urls(count: u64, seed: u64) -> Strings {
    lines(Shape::Urls, count, seed)
}

/// JSON records, each with the keys of a small product.
#[must_use]
pub fn records(count: u64, seed: u64) -> Strings {
    lines(Shape::Walmart, count, seed)
}

/// Names of persons, as `names.tmpl` defines them.
#[must_use]
pub fn names(count: u64, seed: u64) -> Strings {
    Strings::made(count, |block| {
        let mut run = Run::new(&template::NAMES, NAMES, seed, block, [0; 3]);
        move |out| run.record(out)
    })
}

/// Strings of 0 to 63 random bytes: what cannot be compressed.
#[must_use]
pub fn random(count: u64, seed: u64) -> Strings {
    Strings::made(count, |block| {
        let mut random = Random::new(RANDOM, seed, block);
        move |out| {
            let len = random.below(64);
            out.extend((0..len).map(|_| random.bits() as u8));
        }
    })
}

/// A string of 20 bytes, equal for every seed.
#[must_use]
pub fn equal(count: u64, _seed: u64) -> Strings {
    Strings::made(count, |_| |out| out.put("the same every time."))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Make = fn(u64, u64) -> Strings;
    const ALL: [(&str, Make); 5] =
        [("urls", urls), ("records", records), ("names", names), ("random", random), ("equal", equal)];

    #[test]
    fn fewer_strings_are_the_first_of_more() {
        for (name, make) in ALL {
            let many = make(70_000, 1);
            assert_eq!(many.offsets.len(), 70_001, "{name}");
            assert!(many.offsets.is_sorted() && many.offsets[70_000] == many.values.len() as u64, "{name}");
            for count in [0, 1, 20_000] {
                let few = make(count, 1);
                assert_eq!(few.offsets, many.offsets[..=count as usize], "{name}");
                assert!(few.values == many.values[..few.values.len()], "{name}");
            }
            assert_eq!(make(20_000, 2).values != make(20_000, 1).values, name != "equal", "{name}");
        }
    }

    #[test]
    fn urls_are_as_long_as_clickbenchs() {
        let Strings { values, offsets } = urls(50_000, 1);
        let mean = values.len() as f64 / 50_000.0;
        assert!((60.0..90.0).contains(&mean), "{mean}");
        let url = |at: usize| &values[offsets[at] as usize..offsets[at + 1] as usize];
        assert!((0..50_000).all(|at| url(at).starts_with(b"http") && url(at).is_ascii()));
        // Many are there more than once, but most are not.
        let distinct: std::collections::HashSet<&[u8]> = (0..50_000).map(url).collect();
        assert!((15_000..45_000).contains(&distinct.len()), "{}", distinct.len());
    }
}
