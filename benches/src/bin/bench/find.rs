//! Times calls over one record in memory, on one thread: `Query::find` beside an engine and beside other
//! libraries, and `Standing::matches` of 1,000 subscriptions.
//!
//! Before anything is timed, all ways must give the same values. Records take turns, 32 of each kind, so that
//! no branch predictor knows a record. In each round every way has its turn. The median of the rounds is
//! shown, and the least. A round is shorter than a time slice of the system, so that the median holds on a
//! busy machine.
//!
//! ```text
//! cargo run --release -p warpath-benches --features libraries --bin bench -- find
//! ```
//!
//! sonic-rs recommends `RUSTFLAGS='-C target-cpu=native'`; Warpath chooses its instructions when it runs.

use std::fmt;
use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json_path::JsonPath;
use simd_json::Buffers;
use simd_json::prelude::{ValueAsScalar, ValueObjectAccess};
use sonic_rs::LazyValue;
use warpath::twig::{Standing, Subscriptions};
use warpath::{Engine, Find, Query};
use warpath_answer::backend::Backend;
use warpath_benches::generate::event_twigs::{self, SubscriptionKind};
use warpath_benches::generate::{Generator, Shape};
use warpath_benches::harness::timing::Loop;
use warpath_cpu::Cpu;
use warpath_cpu::twig::json;

#[derive(clap::Args)]
pub struct Args {
    /// Rounds; the median and the least are shown.
    #[arg(long, default_value_t = 301)]
    rounds: usize,
    /// Milliseconds for each way in a round.
    #[arg(long, default_value_t = 1)]
    millis: u64,
}

/// The number of records of a kind that take turns.
const RECORDS: usize = 32;

/// Records of a kind, and the names of a member in them.
struct Case {
    kind: &'static str,
    records: Vec<Vec<u8>>,
    names: &'static [&'static str],
}

/// The first records of a shape whose lengths are in a range.
fn records(shape: Shape, lengths: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let mut generator = Generator::new(shape, 1);
    let all = std::iter::repeat_with(|| {
        let mut record = Vec::new();
        generator.record(&mut record);
        record
    });
    all.filter(|record| lengths.contains(&record.len())).take(RECORDS).collect()
}

fn cases() -> Vec<Case> {
    let small = || records(Shape::Sized(200), 150..250);
    let events = || records(Shape::Events, 950..1050);
    let tweets = || records(Shape::Twitter, 4400..4800);
    vec![
        Case { kind: "small", records: small(), names: &["id"] },
        Case { kind: "small", records: small(), names: &["user", "kind"] },
        Case { kind: "event", records: events(), names: &["event", "user", "lang"] },
        Case { kind: "event", records: events(), names: &["event", "trace"] },
        Case { kind: "tweet", records: tweets(), names: &["user", "lang"] },
        Case { kind: "tweet", records: tweets(), names: &["lang"] },
    ]
}

/// One way to find the member in a record. Returns a number that depends on the value ([`of_json`]).
type Way<'a> = Box<dyn FnMut(&[u8]) -> Result<u64> + 'a>;

/// The number of a string without escapes.
fn of_string(string: &[u8]) -> u64 {
    string.iter().take(8).fold(string.len() as u64, |number, byte| number << 8 ^ u64::from(*byte))
}

/// The number of a value that is a string without escapes, or an integer.
fn of_json(json: &[u8]) -> Result<u64> {
    match json {
        [b'"', inside @ .., b'"'] => Ok(of_string(inside)),
        number => Ok(str::from_utf8(number)?.parse()?),
    }
}

fn of_value(value: &Value) -> Result<u64> {
    match value {
        Value::String(string) => Ok(of_string(string.as_bytes())),
        other => other.as_u64().context("neither a string nor an integer"),
    }
}

/// Reads one member with `serde_json`, and skips the others.
struct Member<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return Value::deserialize(deserializer).map(Some);
        }
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<&str>()? {
            if name == self.0[0] {
                found = map.next_value_seed(Member(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// All ways to find the member of a case.
fn ways<'a>(names: &'a [&'a str], engine: &'a Engine) -> Result<Vec<(&'static str, Way<'a>)>> {
    let path = format!("$.{}", names.join("."));
    let pointer = format!("/{}", names.join("/"));
    let (query, again) = (Query::compile(&path)?, Query::compile(&path)?);
    let parsed = JsonPath::parse(&path)?;
    let (mut copy, mut buffers) = (Vec::new(), Buffers::default());
    Ok(vec![
        (
            "warpath, Query::find",
            Box::new(move |record| of_json(query.find(record)?.next().context("no match")?.bytes())),
        ),
        (
            "warpath, Engine::reader",
            Box::new(move |record| {
                let input = engine.reader("record", Cursor::new(record.to_vec()));
                of_json(input.query(&again)?.next().context("no match")??.bytes())
            }),
        ),
        (
            "sonic-rs, get",
            Box::new(move |record| {
                let found: LazyValue<'_> = sonic_rs::get(record, names)?;
                of_json(found.as_raw_str().as_bytes())
            }),
        ),
        (
            "simd-json, value",
            Box::new(move |record| {
                copy.clear();
                copy.extend_from_slice(record);
                let value = simd_json::borrowed::to_value_with_buffers(&mut copy, &mut buffers)?;
                let found = names.iter().try_fold(&value, |value, name| value.get(*name));
                let found = found.context("no match")?;
                match found.as_str() {
                    Some(string) => Ok(of_string(string.as_bytes())),
                    None => found.as_u64().context("neither a string nor an integer"),
                }
            }),
        ),
        (
            "serde_json, one member",
            Box::new(move |record| {
                let mut deserializer = serde_json::Deserializer::from_slice(record);
                let found = Member(names).deserialize(&mut deserializer)?;
                deserializer.end()?;
                of_value(&found.context("no match")?)
            }),
        ),
        (
            "serde_json, value",
            Box::new(move |record| {
                let value: Value = serde_json::from_slice(record)?;
                of_value(value.pointer(&pointer).context("no match")?)
            }),
        ),
        (
            "serde_json_path",
            Box::new(move |record| {
                let value: Value = serde_json::from_slice(record)?;
                of_value(parsed.query(&value).first().context("no match")?)
            }),
        ),
    ])
}

/// Calls `run`, which makes `calls` calls, for some milliseconds. Returns the nanoseconds of a call.
fn round(millis: u64, calls: usize, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed().as_millis() < u128::from(millis) {
        run()?;
        count += calls;
    }
    Ok(start.elapsed().as_nanos() as f64 / count as f64)
}

/// Times all ways of a case, and prints a table.
fn time(case: &Case, args: &Args, engine: &Engine) -> Result<()> {
    let mut ways = ways(case.names, engine)?;
    for record in &case.records {
        let value: Value = serde_json::from_slice(record)?;
        let want =
            of_value(case.names.iter().try_fold(&value, |value, name| value.get(*name)).context("no")?)?;
        for (name, way) in &mut ways {
            ensure!(
                way(record)? == want,
                "{name} finds another value in {}",
                String::from_utf8_lossy(record)
            );
        }
    }
    let bytes = case.records.iter().map(Vec::len).sum::<usize>() / case.records.len();
    println!("\n{}, {bytes} bytes, $.{}", case.kind, case.names.join("."));
    let times = Loop::new(0, args.rounds).turns(&mut ways, |(_, way)| {
        round(args.millis, case.records.len(), || {
            case.records
                .iter()
                .try_for_each(|record| way(black_box(record)).map(|found| _ = black_box(found)))
        })
    })?;
    let first = times[0].median();
    for ((name, _), times) in ways.iter().zip(times) {
        let (median, least) = (times.median(), times.least());
        println!("  {name:24} {median:10.0} ns   least {least:10.0} ns   {:7.2} ×", median / first);
    }
    Ok(())
}

/// Times 1,000 subscriptions over events, and prints a line.
fn time_subscriptions(kind: SubscriptionKind, args: &Args) -> Result<()> {
    let mut subscriptions = Subscriptions::default();
    let made = event_twigs::subscriptions(1000, kind, 1);
    ensure!(subscriptions.add_file(&event_twigs::lines(&made)).is_empty(), "a subscription is not valid");
    let standing = Standing::new(subscriptions);
    let events = records(Shape::Events, 850..950);
    for event in &events {
        let current = standing.current();
        let mut matcher = current.matcher();
        json::read(event, &mut matcher).ok().context("an event is not valid")?;
        let found = standing.matches(event)?;
        ensure!(matcher.matches().eq(found.ids()), "other subscriptions match an event by itself");
    }
    let times = Loop::new(0, args.rounds).turns(&mut [()], |()| {
        round(args.millis, events.len(), || {
            events.iter().try_for_each(|event| {
                black_box(standing.matches(black_box(event))?.len());
                Ok(())
            })
        })
    })?;
    let (median, least) = (times[0].median(), times[0].least());
    println!("  {:24} {median:10.0} ns   least {least:10.0} ns", format!("{kind:?}").to_lowercase());
    Ok(())
}

pub fn run(args: &Args) -> Result<()> {
    println!("{}, records take turns, {} rounds", Cpu.name(), args.rounds);
    let engine = Engine::builder().backend(Arc::new(Cpu)).build()?;
    for case in cases() {
        time(&case, args, &engine)?;
    }
    println!("\nevent, 900 bytes, Standing::matches of 1,000 subscriptions");
    for kind in [SubscriptionKind::Exact, SubscriptionKind::Mixed] {
        time_subscriptions(kind, args)?;
    }
    Ok(())
}
