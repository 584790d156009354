//! Subscriptions to the events of [`Shape::Events`](super::Shape::Events).
//!
//! Each is drawn with an event: it tests one to four fields of the event for their values. So a value is as
//! frequent in subscriptions as in events, and values that come together are tested together. Each
//! subscription has an event to match. Fields of many values are tested the most, at least one by each.
//!
//! | kind | tests | matches of an event, of 1,000, 10,000 and 100,000 |
//! |---|---|---|
//! | [`Kind::Exact`] | fields equal strings, numbers and booleans, and lists have a string | 7, 40, 160 |
//! | [`Kind::Mixed`] | the same without booleans; numbers have a least value; members exist; and fields of any member (`*`), or anywhere (`//`) | 7, 49, 270 |
//!
//! About half of 1,000 match any of some thousand events, and the most frequent one a quarter of them.
//!
//! An event's members are in one member of the record, `event`, because one twig cannot test several members
//! of a record itself.
//!
//! The patterns of quamina and EventBridge can express every test of [`Kind::Exact`], too. Of [`Kind::Mixed`]
//! they have ranges and existence in words of their own, but neither wildcards nor descendants.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use super::events::{Event, Value};
use super::random::Random;

/// The key that separates the random streams of subscriptions from others. Part of the data's definition.
const KEY: u64 = 0x203;

/// The kinds of tests in subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Fields have certain values.
    Exact,
    /// Also ranges, existence, wildcards and descendants.
    Mixed,
}

/// A subscription: tests of an event, all of which have to hold.
#[derive(Clone, Debug)]
pub struct Subscription {
    kind: Kind,
    tests: Vec<Test>,
}

/// A test of a field.
#[derive(Clone, Copy, Debug)]
struct Test {
    field: &'static Field,
    relation: Relation,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Relation {
    Is(Value),
    AtLeast(u64),
    Exists,
}

/// The way to find a field.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// By its path.
    Path,
    /// In any member.
    Wildcard,
    /// Anywhere below.
    Anywhere,
}

/// A field that subscriptions may test.
#[derive(Debug)]
struct Field {
    /// The names on the way to it, below `event`.
    path: &'static [&'static str],
    /// The frequency of its tests, relative to other fields.
    weight: u32,
    /// True if it has so many values that one of them may be tested alone.
    telling: bool,
    /// True if it is a list, one of whose elements is tested.
    list: bool,
    /// Its value in an event.
    value: fn(&Event) -> Option<Value>,
}

impl Field {
    const fn new(path: &'static [&'static str], weight: u32, value: fn(&Event) -> Option<Value>) -> Self {
        Self { path, weight, telling: false, list: false, value }
    }

    const fn telling(self) -> Self {
        Self { telling: true, ..self }
    }
}

/// The fields, in the order of the record.
static FIELDS: [Field; 22] = [
    Field::new(&["level"], 12, |event| Some(Value::String(event.level))),
    Field::new(&["service"], 30, |event| Some(Value::String(event.service))).telling(),
    Field::new(&["env"], 3, |event| Some(Value::String(event.env))),
    Field::new(&["action"], 20, |event| Some(Value::String(event.action))).telling(),
    Field::new(&["user", "id"], 12, |event| Some(Value::Number(event.user))).telling(),
    Field::new(&["user", "lang"], 12, |event| Some(Value::String(event.lang))),
    Field::new(&["user", "plan"], 6, |event| Some(Value::String(event.plan))),
    Field::new(&["user", "verified"], 3, |event| Some(Value::Bool(event.verified))),
    Field::new(&["user", "org"], 10, |event| event.org.map(Value::Number)).telling(),
    Field::new(&["device", "os"], 6, |event| Some(Value::String(event.os))),
    Field::new(&["device", "model"], 8, |event| Some(Value::String(event.model))),
    Field::new(&["device", "mobile"], 3, |event| Some(Value::Bool(event.mobile))),
    Field::new(&["geo", "country"], 20, |event| Some(Value::String(event.country))).telling(),
    Field::new(&["request", "method"], 4, |event| Some(Value::String(event.method))),
    Field::new(&["request", "status"], 14, |event| Some(Value::Number(event.status))),
    Field::new(&["request", "retries"], 3, |event| Some(Value::Number(event.retries))),
    Field::new(&["request", "cached"], 3, |event| Some(Value::Bool(event.cached))),
    Field::new(&["error", "code"], 6, |event| event.error.map(Value::String)).telling(),
    Field::new(&["labels", "region"], 8, |event| Some(Value::String(event.region))),
    Field::new(&["labels", "team"], 6, |event| Some(Value::String(event.team))),
    Field::new(&["labels", "canary"], 3, |event| Some(Value::Bool(event.canary))),
    Field { list: true, ..Field::new(&["tags"], 10, |event| event.tags.last().copied().map(Value::String)) },
];

/// Numbers that are tested for a least value: round numbers, about half of the event's.
static MEASURES: [Field; 4] = [
    Field::new(&["request", "bytes"], 2, |event| at_least(event.bytes / 200 * 100)),
    Field::new(&["request", "latency_ms"], 3, |event| at_least(event.latency / 2_000 * 10)),
    Field::new(&["request", "status"], 2, |event| {
        at_least(event.status / 100 * 100).filter(|_| event.status >= 300)
    }),
    Field::new(&["request", "retries"], 1, |event| at_least(event.retries)),
];

/// A test that all numbers pass, of a least value of 0, is left out.
fn at_least(number: u64) -> Option<Value> {
    (number > 0).then_some(Value::Number(number))
}

/// Members that are tested for existence.
static MEMBERS: [Field; 3] = [
    Field::new(&["user", "org"], 2, |event| event.org.map(Value::Number)),
    Field::new(&["error"], 1, |event| event.error.map(Value::String)),
    Field::new(&["error", "retryable"], 1, |event| event.error.map(Value::String)),
];

/// Makes `count` different subscriptions. A smaller list is the beginning of a larger one.
#[must_use]
pub fn subscriptions(count: usize, kind: Kind, seed: u64) -> Vec<Subscription> {
    let mut random = Random::new(KEY, seed, kind as u64);
    let mut known = HashSet::new();
    let mut made = Vec::with_capacity(count);
    while made.len() < count {
        let subscription = Subscription::drawn(kind, &mut random);
        if known.insert(subscription.query()) {
            made.push(subscription);
        }
    }
    made
}

/// Subscriptions as lines of a file: `s1`, `s2` and so on, a tab, and the query.
#[must_use]
pub fn lines(subscriptions: &[Subscription]) -> String {
    let queries = subscriptions.iter().enumerate();
    queries.map(|(at, subscription)| format!("s{}\t{}\n", at + 1, subscription.query())).collect()
}

/// The subscriptions as patterns, with the same names. `None` if some are not of [`Kind::Exact`].
#[must_use]
pub fn pattern_lines(subscriptions: &[Subscription]) -> Option<String> {
    let patterns = subscriptions.iter().enumerate();
    patterns.map(|(at, subscription)| Some(format!("s{}\t{}\n", at + 1, subscription.pattern()?))).collect()
}

impl Subscription {
    fn drawn(kind: Kind, random: &mut Random) -> Self {
        let event = Event::drawn(random);
        let count = match random.below(100) {
            0..5 => 1,
            5..40 => 2,
            40..75 => 3,
            _ => 4,
        };
        let mut tests: Vec<Test> = Vec::new();
        while tests.len() < count {
            let Some(test) = Test::drawn(kind, &event, tests.is_empty(), random) else { continue };
            if tests.iter().all(|other| other.field.path != test.field.path) {
                tests.push(test);
            }
        }
        // In the order of the record, so that equal ones are known by their text.
        tests.sort_by_key(|test| {
            (FIELDS.iter().position(|field| field.path == test.field.path), test.field.path)
        });
        Self { kind, tests }
    }

    /// The subscription as a query: JSONPath of [`Kind::Exact`], XPath of [`Kind::Mixed`].
    #[must_use]
    pub fn query(&self) -> String {
        match self.kind {
            Kind::Exact => {
                let tests: Vec<String> = self.tests.iter().map(Test::json_path).collect();
                format!("$[?{}]", tests.join(" && "))
            }
            Kind::Mixed => {
                let tests: String = self.tests.iter().map(|test| format!("[{}]", test.xpath())).collect();
                format!("/event{tests}")
            }
        }
    }

    /// The subscription as a pattern of quamina and EventBridge:
    /// `{"event":{"level":["error"],"user":{"lang":["nl"]}}}`. `None` unless it is of [`Kind::Exact`].
    #[must_use]
    pub fn pattern(&self) -> Option<String> {
        let mut event = Map::new();
        for test in &self.tests {
            let (Relation::Is(value), Kind::Exact) = (test.relation, self.kind) else { return None };
            let (last, above) = test.field.path.split_last()?;
            let mut members = &mut event;
            for name in above {
                members = members.entry(*name).or_insert_with(|| json!({})).as_object_mut()?;
            }
            let value = match value {
                Value::String(string) => json!(string),
                Value::Number(number) => json!(number),
                Value::Bool(bool) => json!(bool),
            };
            members.insert((*last).to_owned(), json!([value]));
        }
        Some(json!({ "event": Json::Object(event) }).to_string())
    }
}

impl Test {
    /// Draws a test that an event passes, and that not all others do if it is to be `telling`. `None` if the
    /// event lacks the drawn field, or the field is not tested.
    fn drawn(kind: Kind, event: &Event, telling: bool, random: &mut Random) -> Option<Self> {
        let way = if kind == Kind::Exact { 0 } else { random.below(100) };
        let fields = match way {
            65..85 => &MEASURES[..],
            85.. => &MEMBERS[..],
            _ => &FIELDS[..],
        };
        let field = drawn(fields, random);
        let value = (field.value)(event)?;
        let relation = match (way, value) {
            (65..85, Value::Number(number)) => Relation::AtLeast(number),
            (85.., _) => Relation::Exists,
            _ => Relation::Is(value),
        };
        if kind == Kind::Mixed && matches!(relation, Relation::Is(Value::Bool(_))) {
            return None;
        }
        if telling && !(field.telling && matches!(relation, Relation::Is(_))) {
            return None;
        }
        let place = match way {
            45..55 if field.path.len() > 1 => Place::Wildcard,
            55..65 => Place::Anywhere,
            _ => Place::Path,
        };
        Some(Self { field, relation, place })
    }

    /// The test in a filter of the event.
    fn json_path(&self) -> String {
        let path: String = self.field.path.iter().map(|name| format!(".{name}")).collect();
        match self.relation {
            Relation::Is(value) if self.field.list => format!("@{path}[?@ == {}]", literal(value)),
            Relation::Is(value) => format!("@{path} == {}", literal(value)),
            Relation::AtLeast(number) => format!("@{path} >= {number}"),
            Relation::Exists => format!("@{path}"),
        }
    }

    /// The test in brackets after the event.
    fn xpath(&self) -> String {
        let path = self.field.path;
        let mut text = match self.place {
            Place::Path => path.join("/"),
            Place::Wildcard => format!("*/{}", path[1..].join("/")),
            Place::Anywhere => format!("//{}", path[path.len() - 1]),
        };
        if self.field.list {
            text.push_str("/*");
        }
        match self.relation {
            Relation::Is(value) => write!(text, " = {}", literal(value)),
            Relation::AtLeast(number) => write!(text, " >= {number}"),
            Relation::Exists => Ok(()),
        }
        .expect("text takes every write");
        text
    }
}

/// One of some fields, as their weights are.
fn drawn(fields: &'static [Field], random: &mut Random) -> &'static Field {
    let mut place = random.below(fields.iter().map(|field| field.weight).sum());
    let mut fields = fields.iter();
    loop {
        let field = fields.next().expect("the drawn number is less than the sum of all weights");
        match place.checked_sub(field.weight) {
            Some(rest) => place = rest,
            None => return field,
        }
    }
}

/// A value as JSONPath and XPath have it.
fn literal(value: Value) -> String {
    match value {
        Value::String(string) => format!("'{string}'"),
        Value::Number(number) => number.to_string(),
        Value::Bool(bool) => bool.to_string(),
    }
}
