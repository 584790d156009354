//! The spans and events of operations.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use warpath::{Engine, Query};
use warpath_exec::aggregate::DEFAULT_MEMORY;

/// The observations of a subscriber: a line for each new span, record and event.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() != "micros" {
            let _ = write!(self.0, " {}={value:?}", field.name());
        }
    }
}

impl Seen {
    fn push(&self, begin: String, record: impl FnOnce(&mut Fields)) {
        let mut fields = Fields(begin);
        record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Subscriber for Seen {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "warpath"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let number = self.0.lock().unwrap().iter().filter(|line| line.starts_with("span")).count() as u64;
        let metadata = span.metadata();
        self.push(format!("span {} {}", metadata.level(), metadata.name()), |fields| span.record(fields));
        Id::from_u64(number + 1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.push("record".into(), |fields| values.record(fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let parent = event.parent().map(Id::into_u64).unwrap_or_default();
        self.push(format!("event {} in {parent}", event.metadata().level()), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn run(operation: impl FnOnce(&Engine) -> Result<()>) -> Result<Vec<String>> {
    let seen = Seen::default();
    let engine = Engine::builder()
        .device(warpath_exec::devices::DeviceChoice::Cpu)
        .partition_size(16)
        .workers(1)
        .build()?;
    tracing::subscriber::with_default(seen.clone(), || operation(&engine))?;
    Ok(seen.take())
}

#[test]
fn an_operation_is_a_span_with_an_event_for_each_partition() -> Result<()> {
    let text = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";
    let seen = run(|engine| {
        ensure!(engine.bytes(text).named("message").count(&Query::compile("$.a")?)? == 3);
        Ok(())
    })?;
    let [span, first, second, rest @ ..] = &seen[..] else { panic!("{seen:?}") };
    ensure!(span.starts_with("span DEBUG count input=\"message\" backend=\"cpu ("), "{span}");
    ensure!(first == "event TRACE in 1 message=evaluated partition=0 worker=0 bytes=16", "{first}");
    ensure!(second == "event TRACE in 1 message=evaluated partition=1 worker=0 bytes=8", "{second}");
    ensure!(
        rest == ["record bytes=24", "record lines=3", "record matches=3", "record skipped=0"],
        "{rest:?}"
    );
    Ok(())
}

#[test]
fn an_error_is_an_event() -> Result<()> {
    let seen = run(|engine| {
        ensure!(engine.bytes("{]\n").query(&Query::compile("$.a")?)?.any(|hit| hit.is_err()));
        Ok(())
    })?;
    let failed: Vec<_> =
        seen.iter().filter(|line| line.starts_with("event DEBUG in 1 message=failed error=")).collect();
    ensure!(failed.len() == 1 && failed[0].contains("<bytes>:1:2: "), "{seen:?}");
    Ok(())
}

#[test]
fn every_operation_has_a_span_of_its_name() -> Result<()> {
    let seen = run(|engine| {
        let query = Query::compile("$.a")?;
        let input = || engine.bytes("{\"a\":1}\n");
        input().query(&query)?.for_each(drop);
        input().schema(None).for_each(drop);
        input().indexes(1).for_each(drop);
        input().count_by(std::slice::from_ref(&query), DEFAULT_MEMORY)?;
        input().distinct(std::slice::from_ref(&query), DEFAULT_MEMORY)?;
        input().statistics(std::slice::from_ref(&query), DEFAULT_MEMORY)?;
        input().index(1)?.input(engine).count(&query)?;
        Ok(())
    })?;
    let names: Vec<_> = seen.iter().filter_map(|line| line.strip_prefix("span DEBUG ")).collect();
    let names: Vec<_> = names.iter().filter_map(|line| line.split(' ').next()).collect();
    ensure!(
        names == ["query", "schema", "indexes", "count_by", "distinct", "statistics", "index", "count"],
        "{names:?}"
    );
    Ok(())
}
