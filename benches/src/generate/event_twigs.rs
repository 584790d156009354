//! Subscriptions to the events of [`Shape::Events`](super::Shape::Events).
//!
//! Each is drawn with an event: it tests one to four fields of the event for their values. So a value is as
//! frequent in subscriptions as in events, and values that come together are tested together. Each
//! subscription has an event to match. Fields of many values are tested the most, at least one by each.
//!
//! | kind | tests | matches of an event, of 1,000, 10,000 and 100,000 |
//! |---|---|---|
//! | [`SubscriptionKind::Exact`] | fields equal strings, numbers and booleans, and lists have a string | 7, 40, 160 |
//! | [`SubscriptionKind::Mixed`] | the same without booleans; numbers have a least value; members exist; and fields of any member (`*`), or anywhere (`//`) | 7, 49, 270 |
//!
//! About half of 1,000 match any of some thousand events, and the most frequent one a quarter of them.
//!
//! An event's members are in one member of the record, `event`, because one twig cannot test several members
//! of a record itself.
//!
//! The patterns of quamina and EventBridge can express every test of [`SubscriptionKind::Exact`], too. Of
//! [`SubscriptionKind::Mixed`] they have ranges and existence in words of their own, but neither wildcards
//! nor descendants.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use super::template::{EVENTS, Run, Value};

/// The key that separates the random streams of subscriptions from others. Part of the data's definition.
const KEY: u64 = 0x203;

/// The kinds of tests in subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubscriptionKind {
    /// Fields have certain values.
    Exact,
    /// Also ranges, existence, wildcards and descendants.
    Mixed,
}

/// A subscription: tests of an event, all of which have to hold.
#[derive(Clone, Debug)]
pub struct Subscription {
    kind: SubscriptionKind,
    tests: Vec<Test>,
}

/// A test of a field.
#[derive(Clone, Debug)]
struct Test {
    field: Field,
    relation: Relation,
    place: PathForm,
}

#[derive(Clone, Debug)]
enum Relation {
    /// Equals this string, number or boolean.
    Is(Json),
    AtLeast(u64),
    Exists,
}

/// The way to find a field.
#[derive(Clone, Copy, Debug)]
enum PathForm {
    /// By its path.
    Path,
    /// In any member.
    Wildcard,
    /// Anywhere below.
    Anywhere,
}

/// A field that subscriptions may test: a row of the tables of `events.tmpl`.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// The names on the way to it, below `event`, with slashes between them.
    path: &'static str,
    kind: &'static str,
    variable: &'static str,
}

impl Field {
    fn of(row: Value) -> Self {
        let [path, _, kind, variable] = row.table() else { panic!("a field has four columns: {row:?}") };
        Self { path: path.text(), kind: kind.text(), variable: variable.text() }
    }

    /// Its value in the event that was drawn last.
    fn value(self, event: &Run) -> Option<Json> {
        match event.variable(self.variable) {
            Value::Text("") => None,
            Value::Text(text) => Some(json!(text)),
            value if self.kind == "bool" => Some(json!(value.holds())),
            value => Some(json!(value.number())),
        }
    }
}

/// Makes `count` different subscriptions. A smaller list is the beginning of a larger one.
#[must_use]
pub fn subscriptions(count: usize, kind: SubscriptionKind, seed: u64) -> Vec<Subscription> {
    let mut events = Run::new(&EVENTS, KEY, seed, kind as u64, [0; 3]);
    let mut known = HashSet::new();
    let mut made = Vec::with_capacity(count);
    while made.len() < count {
        let subscription = Subscription::drawn(kind, &mut events);
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

/// The subscriptions as patterns, with the same names. `None` if some are not of [`SubscriptionKind::Exact`].
#[must_use]
pub fn pattern_lines(subscriptions: &[Subscription]) -> Option<String> {
    let patterns = subscriptions.iter().enumerate();
    patterns.map(|(at, subscription)| Some(format!("s{}\t{}\n", at + 1, subscription.pattern()?))).collect()
}

impl Subscription {
    fn drawn(kind: SubscriptionKind, events: &mut Run) -> Self {
        events.value_of("draw");
        let count = match events.random().below(100) {
            0..5 => 1,
            5..40 => 2,
            40..75 => 3,
            _ => 4,
        };
        let mut tests: Vec<Test> = Vec::new();
        while tests.len() < count {
            let Some(test) = Test::drawn(kind, events, tests.is_empty()) else { continue };
            if tests.iter().all(|other| other.field.path != test.field.path) {
                tests.push(test);
            }
        }
        // In the order of the record, so that equal ones are known by their text.
        let fields = EVENTS.table("fields");
        tests.sort_by_key(|test| {
            let path = test.field.path;
            (fields.iter().position(|field| Field::of(*field).path == path), path)
        });
        Self { kind, tests }
    }

    /// The subscription as a query: JSONPath of [`SubscriptionKind::Exact`], XPath of
    /// [`SubscriptionKind::Mixed`].
    #[must_use]
    pub fn query(&self) -> String {
        match self.kind {
            SubscriptionKind::Exact => {
                let tests: Vec<String> = self.tests.iter().map(Test::json_path).collect();
                format!("$[?{}]", tests.join(" && "))
            }
            SubscriptionKind::Mixed => {
                let tests: String = self.tests.iter().map(|test| format!("[{}]", test.xpath())).collect();
                format!("/event{tests}")
            }
        }
    }

    /// The subscription as a pattern of quamina and EventBridge:
    /// `{"event":{"level":["error"],"user":{"lang":["nl"]}}}`. `None` unless it is of
    /// [`SubscriptionKind::Exact`].
    #[must_use]
    pub fn pattern(&self) -> Option<String> {
        let mut event = Map::new();
        for test in &self.tests {
            let (Relation::Is(value), SubscriptionKind::Exact) = (&test.relation, self.kind) else {
                return None;
            };
            let (above, last) = test.field.path.rsplit_once('/').unwrap_or(("", test.field.path));
            let mut members = &mut event;
            for name in above.split('/').filter(|name| !name.is_empty()) {
                members = members.entry(name).or_insert_with(|| json!({})).as_object_mut()?;
            }
            members.insert(last.to_owned(), json!([value]));
        }
        Some(json!({ "event": Json::Object(event) }).to_string())
    }
}

impl Test {
    /// Draws a test that an event passes, and that not all others do if it is to be `telling`. `None` if the
    /// event lacks the drawn field, or the field is not tested.
    fn drawn(kind: SubscriptionKind, event: &mut Run, telling: bool) -> Option<Self> {
        let way = if kind == SubscriptionKind::Exact { 0 } else { event.random().below(100) };
        let table = match way {
            65..85 => "measures",
            85.. => "members",
            _ => "fields",
        };
        let field = Field::of(event.weighted(Value::Table(EVENTS.table(table)), Value::Number(1)));
        let value = field.value(event)?;
        let relation = match way {
            // All numbers pass a least value of 0.
            65..85 => Relation::AtLeast(value.as_u64().filter(|number| *number > 0)?),
            85.. => Relation::Exists,
            _ => Relation::Is(value),
        };
        let is_equality = matches!(relation, Relation::Is(_));
        if kind == SubscriptionKind::Mixed && is_equality && field.kind == "bool" {
            return None;
        }
        if telling && !(field.kind == "telling" && is_equality) {
            return None;
        }
        let place = match way {
            45..55 if field.path.contains('/') => PathForm::Wildcard,
            55..65 => PathForm::Anywhere,
            _ => PathForm::Path,
        };
        Some(Self { field, relation, place })
    }

    /// The test in a filter of the event.
    fn json_path(&self) -> String {
        let path = self.field.path.replace('/', ".");
        match &self.relation {
            Relation::Is(value) if self.field.kind == "list" => format!("@.{path}[?@ == {}]", literal(value)),
            Relation::Is(value) => format!("@.{path} == {}", literal(value)),
            Relation::AtLeast(number) => format!("@.{path} >= {number}"),
            Relation::Exists => format!("@.{path}"),
        }
    }

    /// The test in brackets after the event.
    fn xpath(&self) -> String {
        let path = self.field.path;
        let after = |found: Option<(&'static str, &'static str)>| found.map_or(path, |(_, after)| after);
        let place = match self.place {
            PathForm::Path => path.to_owned(),
            PathForm::Wildcard => format!("*/{}", after(path.split_once('/'))),
            PathForm::Anywhere => format!("//{}", after(path.rsplit_once('/'))),
        };
        let elements = if self.field.kind == "list" { "/*" } else { "" };
        match &self.relation {
            Relation::Is(value) => format!("{place}{elements} = {}", literal(value)),
            Relation::AtLeast(number) => format!("{place}{elements} >= {number}"),
            Relation::Exists => format!("{place}{elements}"),
        }
    }
}

/// A value as JSONPath and XPath have it. No text needs escapes.
fn literal(value: &Json) -> String {
    match value {
        Json::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}
