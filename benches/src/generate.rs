//! Data of the shapes that published measurements use, made from a seed.
//!
//! The files of JSONPath papers (tweets, Walmart and Best Buy products, map directions) cannot be
//! distributed. The speed of a query depends on their shape. This is the record size, the depth, the order of
//! the keys, and the share of bytes inside strings. It is also the frequency of escapes and non-ASCII text,
//! and the selectivity of a filter. This module makes records of the same shape, with invented content. The
//! records of each shape are a template in `benches/templates`, which `build.rs` compiles.
//!
//! | shape | a record | mean size | queries over it |
//! |---|---|---|---|
//! | [`Shape::Twitter`] | a tweet as the v1.1 streaming API sent it, 30 % with a whole retweeted tweet inside | 4.7 kB | `$.user.lang`, `$.lang`, `$.user.lang[?(@ == 'nl')]` (0.5 %), `'en'` (40 %) |
//! | [`Shape::Walmart`] | a product; 30 % have `bestMarketplacePrice` | 1.2 kB | `$.bestMarketplacePrice.price`, `$.name` |
//! | [`Shape::BestBuy`] | a product; `categoryPath` has 2 to 6 entries, and other arrays nest | 2.5 kB | `$.categoryPath[1:3].id` |
//! | [`Shape::Maps`] | a response with directions: routes of legs of steps | 34 kB (10 to 60) | `$.routes[*].legs[*].steps[*].distance.text` |
//! | [`Shape::Urls`] | a URL, for measuring how strings are compressed: no JSON | 62 B | |
//! | [`Shape::Events`] | an event in an envelope: what happened, to whom, where and how; 48 members | 900 B | the subscriptions of [`event_twigs`] |
//! | [`Shape::Bluesky`] | an event of a social network: a like (45 %), a follow (36 %), a post (9 %), a repost (6 %) or another | 479 B | `$.commit.collection`, `$.did` |
//! | [`Shape::Log`] | a line of a log with 5 members, or 6 with a message; the order of the members is the same, alternates, or is random | 84 B, 242 B | `$.status`, `$.service` |
//! | [`Shape::Sized`] | lists of small objects around a user | exactly the given size | `$.user.name`, `$.user[?@ == "mythic"]` (0.1 %), `"rare"` (1 %), `"scarce"` (10 %), `"common"` (88.9 %) |
//!
//! 85 % of the bytes of the tweets are in strings as a string bitmap counts them, from the opening quote up
//! to but not including the closing one. With the closing quotes it is 88 %; others report 87 % of theirs.
//! Four tweets of five are all ASCII, with other characters as `\uXXXX`, as the API sent them. The fifth has
//! UTF-8 in sixteen languages.
//!
//! # The same bytes everywhere
//!
//! The endless sequence of records for a shape and seed is made in *blocks*. Block *b* starts a generator
//! from (shape, seed, *b*) and holds whole lines, up to and including the one that brings it to 1 MiB. A file
//! is the blocks in order, cut after the line that reaches the requested size. So threads can make blocks
//! independently, and the number of threads cannot change a byte. A smaller file is a prefix of a larger one
//! with the same seed.

mod array;
pub mod columns;
pub mod dblp;
pub mod event_twigs;
pub(crate) mod random;
mod template;
mod text;
pub mod twigs;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;

pub use array::ArrayWriter;
use serde::Deserialize;
use template::{BESTBUY, BLUESKY, EVENTS, LOGS, MAPS, Run, SIZED, TWITTER, Template, URLS, WALMART};

/// The size at which a block ends: with the line that reaches it. Part of the data's definition: another size
/// gives other bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// The length of the longest record, of shapes without a length of their own. A block's buffer has room for
/// it, so that the buffer never grows.
const LONGEST_RECORD_BYTES: usize = 96 << 10;

/// The lengths that records of [`Shape::Sized`] can have, with the newline, in bytes.
pub const SIZED_BYTES: RangeInclusive<u32> = 100..=64 << 20;

/// The shape of the records.
///
/// Its text is `twitter`, `walmart`, `bestbuy`, `maps`, `urls`, `events`, `bluesky`, `log:84`, `log:242`, or
/// `sized:BYTES`. The texts of logs may end with `:alternate` or `:random`, the order of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Shape {
    /// Tweets, some with a whole tweet inside.
    Twitter,
    /// Small products, most fields plain.
    Walmart,
    /// Products with arrays of objects and arrays of arrays.
    BestBuy,
    /// Directions: large, deep records of short strings and numbers.
    Maps,
    /// URLs as a web counter meets them, one a line: no JSON.
    Urls,
    /// Events that services send to whoever has subscribed.
    Events,
    /// Events of Bluesky's network: likes, follows, posts and others.
    Bluesky,
    /// Lines of the log of services.
    Log(Log),
    /// Records of this many bytes each, newline included, of which there must be [`SIZED_BYTES`].
    Sized(u32),
}

/// The form of the lines of [`Shape::Log`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Log {
    /// Lines also have a message, and 242 bytes in place of 84, on average.
    pub message: bool,
    /// The order of the members.
    pub order: Order,
}

/// The order of the members of a line. Lines of all orders have the same members: line *n* of one order has
/// the members, and the length, of line *n* of another with the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The same in each line.
    Same,
    /// The same in every other line, and reversed in the lines between. Each block begins with the first.
    Alternate,
    /// Random in each line.
    Random,
}

/// All forms of lines of a log, and their names.
const ALL_LOGS: [(&str, Log); 6] = [
    ("log:84", Log { message: false, order: Order::Same }),
    ("log:84:alternate", Log { message: false, order: Order::Alternate }),
    ("log:84:random", Log { message: false, order: Order::Random }),
    ("log:242", Log { message: true, order: Order::Same }),
    ("log:242:alternate", Log { message: true, order: Order::Alternate }),
    ("log:242:random", Log { message: true, order: Order::Random }),
];

impl Shape {
    /// The shapes of the field's files, in the order of the table in this module's documentation.
    pub const ALL: [Shape; 4] = [Shape::Twitter, Shape::Walmart, Shape::BestBuy, Shape::Maps];

    /// The other shapes whose records have lengths of their own.
    const OTHERS: [Shape; 3] = [Shape::Urls, Shape::Events, Shape::Bluesky];

    /// The shapes that have a name.
    fn named() -> impl Iterator<Item = Shape> {
        Self::ALL.into_iter().chain(Self::OTHERS).chain(ALL_LOGS.map(|(_, log)| Shape::Log(log)))
    }

    /// The name by which the `generate` program knows the shape.
    pub fn name(self) -> &'static str {
        self.definition().0
    }

    /// The name, the key that separates the random numbers from those of other shapes, and the template. The
    /// last two are the data's definition.
    fn definition(self) -> (&'static str, u64, &'static Template) {
        match self {
            Shape::Twitter => ("twitter", 0, &TWITTER),
            Shape::Walmart => ("walmart", 1, &WALMART),
            Shape::BestBuy => ("bestbuy", 2, &BESTBUY),
            Shape::Maps => ("maps", 3, &MAPS),
            Shape::Sized(line_bytes) => ("sized", 4 | u64::from(line_bytes) << 8, &SIZED),
            Shape::Urls => ("urls", 5, &URLS),
            Shape::Events => ("events", 6, &EVENTS),
            Shape::Bluesky => ("bluesky", 7, &BLUESKY),
            // All orders have the same values.
            Shape::Log(log) => {
                let (name, _) = ALL_LOGS.into_iter().find(|(_, other)| *other == log).expect("all are there");
                (name, 8 | u64::from(log.message) << 8, &LOGS)
            }
        }
    }

    /// No record is longer, in bytes.
    fn longest(self) -> usize {
        match self {
            Shape::Sized(line_bytes) => line_bytes as usize,
            _ => LONGEST_RECORD_BYTES,
        }
    }
}

impl TryFrom<String> for Shape {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(shape) = Self::named().find(|shape| shape.name() == text) {
            return Ok(shape);
        }
        let line_bytes = text.strip_prefix("sized:").and_then(|bytes| bytes.parse().ok());
        match line_bytes {
            Some(line_bytes) if SIZED_BYTES.contains(&line_bytes) => Ok(Shape::Sized(line_bytes)),
            _ => Err(format!(
                "shapes are twitter, walmart, bestbuy, maps, urls, events, bluesky, log:84 and log:242 (or with \
                 :alternate or :random), and sized:BYTES, of {} to {} bytes a record",
                SIZED_BYTES.start(),
                SIZED_BYTES.end()
            )),
        }
    }
}

/// The amount of written data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Lines, each of them one record.
    pub records: u64,
    /// Bytes, newlines included.
    pub bytes: u64,
}

/// Makes records one at a time.
///
/// The records are those at the beginning of [`write_ndjson`]'s output for the same shape and seed, up to the
/// end of its first block (1 MiB). After that both continue with different records.
#[derive(Clone, Debug)]
pub struct Generator(Run);

impl Generator {
    /// A generator at the first record for `seed`.
    ///
    /// # Panics
    ///
    /// If the shape is [`Shape::Sized`] with a length not in [`SIZED_BYTES`].
    pub fn new(shape: Shape, seed: u64) -> Self {
        Self::for_block(shape, seed, 0)
    }

    fn for_block(shape: Shape, seed: u64, block: u64) -> Self {
        let given = match shape {
            Shape::Sized(line_bytes) => {
                assert!(SIZED_BYTES.contains(&line_bytes), "records of {line_bytes} bytes");
                [line_bytes.into(), 0, 0]
            }
            Shape::Log(log) => [0, log.message.into(), log.order as u64],
            _ => [0; 3],
        };
        let (_, key, template) = shape.definition();
        Self(Run::new(template, key, seed, block, given))
    }

    /// Appends the next record to `out`: one JSON object, or a URL, in one line, without the newline.
    pub fn record(&mut self, out: &mut Vec<u8>) {
        self.0.record(out);
    }

    /// Appends the next record and a newline to `out`.
    pub fn line(&mut self, out: &mut Vec<u8>) {
        self.record(out);
        out.push(b'\n');
    }
}

/// Writes the fewest lines that have at least `target_bytes` bytes together, with one thread for each core.
///
/// # Errors
///
/// Those of `out`.
///
/// # Panics
///
/// If a thread cannot be started, or as [`Generator::new`] does.
pub fn write_ndjson(shape: Shape, seed: u64, target_bytes: u64, out: &mut impl Write) -> io::Result<Stats> {
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    write_ndjson_with_threads(shape, seed, target_bytes, threads, out)
}

/// [`write_ndjson`] with a number of threads to make blocks with; the bytes do not depend on it.
///
/// Each thread keeps at most three blocks of about 1 MiB.
///
/// # Errors
///
/// Those of `out`.
///
/// # Panics
///
/// If a thread cannot be started, or as [`Generator::new`] does.
pub fn write_ndjson_with_threads(
    shape: Shape,
    seed: u64,
    target_bytes: u64,
    threads: NonZeroUsize,
    out: &mut impl Write,
) -> io::Result<Stats> {
    // A block has at least BLOCK_BYTES, so this number is enough; the last block may be unused.
    let blocks = target_bytes.div_ceil(BLOCK_BYTES as u64);
    let threads = (threads.get() as u64).min(blocks);

    thread::scope(|scope| {
        // Thread t makes the blocks t, t + threads, t + 2 threads, …. The writer takes from the threads in
        // turn, and gives the buffers back.
        let makers: Vec<_> = (0..threads)
            .map(|first| {
                let (full, from_maker) = mpsc::sync_channel(1);
                let (back, used) = mpsc::channel::<Vec<u8>>();
                scope.spawn(move || {
                    for block in (first..blocks).step_by(threads as usize) {
                        let mut buffer = used.try_recv().unwrap_or_default();
                        let records = fill_block(shape, seed, block, &mut buffer);
                        if full.send((buffer, records)).is_err() {
                            // The writer has all it needs, or failed.
                            return;
                        }
                    }
                });
                (from_maker, back)
            })
            .collect();

        let mut stats = Stats::default();
        for (from_maker, back) in makers.iter().cycle() {
            let missing = target_bytes - stats.bytes;
            let Ok((buffer, records)) = from_maker.recv() else { break };
            if buffer.len() as u64 >= missing {
                let lines = &buffer[..end_of_line_that_reaches(&buffer, missing as usize)];
                out.write_all(lines)?;
                stats.records += lines.iter().filter(|&&byte| byte == b'\n').count() as u64;
                stats.bytes += lines.len() as u64;
                break;
            }
            out.write_all(&buffer)?;
            stats.records += records;
            stats.bytes += buffer.len() as u64;
            // A thread that has made its last block takes no more buffers.
            back.send(buffer).ok();
        }
        out.flush()?;
        Ok(stats)
    })
}

/// [`write_ndjson`] into memory.
pub fn ndjson(shape: Shape, seed: u64, target_bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(target_bytes + shape.longest());
    write_ndjson(shape, seed, target_bytes as u64, &mut out).expect("memory takes every write");
    out
}

/// Replaces `buffer` by a block's lines; how many they are.
fn fill_block(shape: Shape, seed: u64, block: u64, buffer: &mut Vec<u8>) -> u64 {
    let mut generator = Generator::for_block(shape, seed, block);
    buffer.clear();
    buffer.reserve(BLOCK_BYTES + shape.longest());
    let mut records = 0;
    while buffer.len() < BLOCK_BYTES {
        generator.line(buffer);
        records += 1;
    }
    records
}

/// The length of the fewest lines of `lines` that have at least `bytes` bytes, where `lines` has that many.
fn end_of_line_that_reaches(lines: &[u8], bytes: usize) -> usize {
    let last = bytes.saturating_sub(1);
    lines[last..].iter().position(|&byte| byte == b'\n').map_or(lines.len(), |newline| last + newline + 1)
}

#[cfg(test)]
mod tests;
