//! Counts and times, in the text format of Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// The labels of questions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Question {
    command: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Command {
    command: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// The metrics of a server.
pub struct Metrics {
    registry: Registry,
    questions: Family<Question, Counter>,
    seconds: Family<Command, Histogram, fn() -> Histogram>,
    refused: Family<Reason, Counter>,
    /// Lines of responses.
    pub rows: Counter,
    /// Bytes of responses.
    pub bytes: Counter,
    /// Questions that run.
    pub running: Gauge,
    /// Questions that wait for others.
    pub waiting: Gauge,
    /// Connections.
    pub connections: Gauge,
    /// Lines that were added to stores.
    pub appended: Counter,
    loaded: Gauge<u64, AtomicU64>,
    resident: Gauge<u64, AtomicU64>,
    unreadable: Gauge<u64, AtomicU64>,
}

/// The state of the inputs.
#[derive(Default)]
pub struct State {
    /// Their bytes.
    pub bytes: u64,
    /// The number of those that cannot be read.
    pub unreadable: u64,
    /// The memory of those that stay in memory.
    pub resident: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Self {
            registry: Registry::with_prefix("warpath"),
            questions: Family::default(),
            // From 100 microseconds to 400 seconds.
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(1e-4, 2.0, 22))),
            refused: Family::default(),
            rows: Counter::default(),
            bytes: Counter::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            connections: Gauge::default(),
            appended: Counter::default(),
            loaded: Gauge::default(),
            resident: Gauge::default(),
            unreadable: Gauge::default(),
        };
        let registry = &mut all.registry;
        registry.register("questions", "Questions that have ended", all.questions.clone());
        let help = "Times of questions, from their start to their last byte";
        registry.register_with_unit("question", help, Unit::Seconds, all.seconds.clone());
        registry.register("refused", "Requests that were refused before they ran", all.refused.clone());
        registry.register("rows", "Lines of responses", all.rows.clone());
        registry.register_with_unit("answer", "Bytes of responses", Unit::Bytes, all.bytes.clone());
        registry.register("running", "Questions that run", all.running.clone());
        registry.register("waiting", "Questions that wait for others", all.waiting.clone());
        registry.register("connections", "Connections", all.connections.clone());
        registry.register("appended_lines", "Lines that were added to stores", all.appended.clone());
        registry.register_with_unit("loaded", "Bytes of the inputs", Unit::Bytes, all.loaded.clone());
        registry.register_with_unit("resident", "Memory of loaded inputs", Unit::Bytes, all.resident.clone());
        let help = "Inputs that cannot be read";
        registry.register("unreadable_inputs", help, all.unreadable.clone());
        all
    }
}

impl Metrics {
    /// Counts a question that has ended.
    pub fn ended(&self, command: &'static str, status: &'static str, took: Duration) {
        self.questions.get_or_create(&Question { command, status }).inc();
        self.seconds.get_or_create(&Command { command }).observe(took.as_secs_f64());
    }

    /// Counts a request that was refused before it ran.
    pub fn refuse(&self, reason: &'static str) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    /// The text for Prometheus.
    pub fn text(&self, state: &State) -> String {
        self.loaded.set(state.bytes);
        self.resident.set(state.resident);
        self.unreadable.set(state.unreadable);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
