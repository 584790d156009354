//! Lines of the log of services: short records whose members have the same names in every line.

use super::random::Random;
use super::text::{Moment, Put, put_words};

/// The form of the lines of [`super::Shape::Log`].
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

impl Log {
    /// All forms, in the order of the names.
    pub(super) const ALL: [Log; 6] = [
        Log { message: false, order: Order::Same },
        Log { message: false, order: Order::Alternate },
        Log { message: false, order: Order::Random },
        Log { message: true, order: Order::Same },
        Log { message: true, order: Order::Alternate },
        Log { message: true, order: Order::Random },
    ];

    pub(super) fn name(self) -> &'static str {
        match (self.message, self.order) {
            (false, Order::Same) => "log:84",
            (false, Order::Alternate) => "log:84:alternate",
            (false, Order::Random) => "log:84:random",
            (true, Order::Same) => "log:242",
            (true, Order::Alternate) => "log:242:alternate",
            (true, Order::Random) => "log:242:random",
        }
    }
}

/// A member of a line.
#[derive(Clone, Copy, Debug)]
enum Member {
    Time,
    Level,
    Service,
    Status,
    Ms,
    Message,
}

const MEMBERS: [Member; 6] =
    [Member::Time, Member::Level, Member::Service, Member::Status, Member::Ms, Member::Message];

/// 2026-03-01 00:00:00 UTC, in seconds of Unix time: the moment of the first line.
const FIRST_LINE: u64 = 1_772_323_200;

/// The lines of one block take less than this: 12,483 lines of 84 bytes, 50 of them in a second.
const BLOCK_SECONDS: u64 = 320;

/// The key that separates the random orders of a log from its other random numbers.
const ORDER_KEY: u64 = 1 << 32;

/// Services, the most frequent first.
const SERVICES: &[&str] = &["api", "web", "db", "auth", "pay", "cdn", "cart", "geo", "mq", "mail", "jobs"];

/// Status codes but for 200, the most frequent first.
const STATUSES: &[u64] = &[304, 204, 404, 201, 302, 401, 400, 500, 403, 503, 429, 301, 502, 504];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "request", "handled", "after", "retry", "of", "upstream", "with", "cache miss", "for", r#"user=\"a7\""#, "was", "slow:", "took", "the",
    "longer", "path=/v2/items", "token", "refreshed;", "queue", "full,", "then", r#"\"ok\""#, "sent", "to", "shard[3]", "→", "partial",
    "result", "from", "replica", "café", "GET", "/index.html?q=1&r=2", "{id: 17}", r"C:\\logs\\app", "connection reset by peer",
    r"\n\tat", "pool.acquire", "10.0.3.17:8443", "deadline exceeded",
];

/// A source of lines: its clock, and room for a message.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    log: Log,
    now: u64,
    /// True if the next line has the reversed order, of those that alternate.
    reversed: bool,
    orders: Random,
    message: Vec<u8>,
}

/// The values of a line, but for its message.
struct Values {
    time: Moment,
    level: &'static str,
    service: &'static str,
    status: u64,
    tenths: u64,
    with_tenths: bool,
}

impl Lines {
    pub(super) fn new(log: Log, key: u64, seed: u64, block: u64) -> Self {
        Self {
            log,
            now: FIRST_LINE + block * BLOCK_SECONDS,
            reversed: false,
            orders: Random::new(key | ORDER_KEY, seed, block),
            message: Vec::new(),
        }
    }

    /// Appends one line.
    pub(super) fn record(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        let values = self.values(random);
        let mut members = MEMBERS;
        let members = if self.log.message { &mut members[..] } else { &mut members[..5] };
        match self.log.order {
            Order::Same => {}
            Order::Alternate => {
                if self.reversed {
                    members.reverse();
                }
                self.reversed = !self.reversed;
            }
            Order::Random => {
                for at in (1..members.len()).rev() {
                    members.swap(at, self.orders.below(at as u32 + 1) as usize);
                }
            }
        }
        for (at, member) in members.iter().enumerate() {
            out.push(if at == 0 { b'{' } else { b',' });
            self.put(*member, &values, out);
        }
        out.push(b'}');
    }

    fn values(&mut self, random: &mut Random) -> Values {
        self.now += u64::from(random.chance(20));
        let status = if random.chance(700) { 200 } else { random.skewed(STATUSES) };
        let level = match (status, random.below(100)) {
            (500.., _) => "error",
            (400.., _) => "warn",
            (_, 0..85) => "info",
            (_, 85..97) => "debug",
            _ => "warn",
        };
        let tenths = match random.below(100) {
            0..55 => u64::from(random.below(100)),
            55..90 => u64::from(random.between(100, 999)),
            90..98 => u64::from(random.between(1_000, 9_999)),
            _ => u64::from(random.between(10_000, 49_999)),
        };
        self.message.clear();
        let service = random.skewed(SERVICES);
        let with_tenths = random.chance(145);
        if self.log.message {
            put_words(&mut self.message, random, WORDS, 69, 211);
        }
        Values { time: Moment::from_unix(self.now), level, service, status, tenths, with_tenths }
    }

    /// Appends the name and the value of a member.
    fn put(&self, member: Member, values: &Values, out: &mut Vec<u8>) {
        match member {
            Member::Time => {
                out.put(r#""time":""#);
                values.time.put_date(out);
                out.push(b'T');
                values.time.put_time(out);
                out.put(r#"Z""#);
            }
            Member::Level => {
                out.put(r#""level":""#);
                out.put(values.level);
                out.push(b'"');
            }
            Member::Service => {
                out.put(r#""service":""#);
                out.put(values.service);
                out.push(b'"');
            }
            Member::Status => {
                out.put(r#""status":"#);
                out.put_number(values.status);
            }
            Member::Ms => {
                out.put(r#""ms":"#);
                out.put_number(values.tenths / 10);
                if values.with_tenths {
                    out.push(b'.');
                    out.put_number(values.tenths % 10);
                }
            }
            Member::Message => {
                out.put(r#""message":""#);
                out.extend_from_slice(&self.message);
                out.push(b'"');
            }
        }
    }
}
