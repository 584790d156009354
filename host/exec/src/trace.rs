//! Spans of `tracing`: one for each operation, with an event for each partition. Without the feature
//! `tracing` a span is nothing.
//!
//! The target is `warpath`. The span of an operation has its name, the level DEBUG, and these fields:
//!
//! | field | value |
//! |---|---|
//! | `input` | the names of the inputs |
//! | `backend` | the backend that was chosen |
//! | `bytes`, `lines`, `matches`, `skipped` | totals, recorded at the end of the results |
//!
//! Events in the span: `evaluated` for each partition, at TRACE, with `partition`, `worker`, `bytes` and
//! `micros`; `failed` with `error`, at DEBUG, where the results end with an error.

use std::time::Duration;

use warpath_core::error::Error;
use warpath_core::pool::stream::Turn;

/// The operations that have spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Query,
    Count,
    Answers,
    Columns,
    #[cfg(feature = "arrow")]
    Nested,
    CountBy,
    Distinct,
    Statistics,
    Filter,
    Schema,
    Indexes,
    Index,
    #[cfg(feature = "store")]
    IndexFile,
}

/// The span of an operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span(
    #[cfg(feature = "tracing")] Option<tracing::Span>,
    #[cfg(not(feature = "tracing"))] (),
);

#[cfg(feature = "tracing")]
impl Span {
    /// The span of an operation that begins. `input` is called if a subscriber wants the span.
    pub fn of(
        operation: Operation,
        backend: impl FnOnce() -> String,
        input: impl FnOnce() -> String,
    ) -> Self {
        use tracing::field::Empty;

        macro_rules! span {
            ($name:literal) => {
                tracing::debug_span!(
                    target: "warpath",
                    $name,
                    input = input(),
                    backend = backend(),
                    bytes = Empty,
                    lines = Empty,
                    matches = Empty,
                    skipped = Empty,
                )
            };
        }
        let span = match operation {
            Operation::Query => span!("query"),
            Operation::Count => span!("count"),
            Operation::Answers => span!("answers"),
            Operation::Columns => span!("columns"),
            #[cfg(feature = "arrow")]
            Operation::Nested => span!("nested"),
            Operation::CountBy => span!("count_by"),
            Operation::Distinct => span!("distinct"),
            Operation::Statistics => span!("statistics"),
            Operation::Filter => span!("filter"),
            Operation::Schema => span!("schema"),
            Operation::Indexes => span!("indexes"),
            Operation::Index => span!("index"),
            #[cfg(feature = "store")]
            Operation::IndexFile => span!("index_file"),
        };
        Self((!span.is_disabled()).then_some(span))
    }

    /// Reports a partition.
    pub fn partition(&self, turn: Turn, bytes: usize, time: Duration) {
        if let Some(span) = &self.0 {
            tracing::trace!(
                target: "warpath",
                parent: span,
                partition = turn.number,
                worker = turn.thread,
                bytes,
                micros = time.as_micros() as u64,
                "evaluated"
            );
        }
    }

    /// Reports the error with which the results end.
    pub fn failed(&self, error: &Error) {
        if let Some(span) = &self.0 {
            tracing::debug!(target: "warpath", parent: span, error = error.chain(), "failed");
        }
    }

    /// Records the totals at the end of the results, each with its field.
    pub fn end(&self, totals: [(&str, u64); 4]) {
        if let Some(span) = &self.0 {
            for (field, total) in totals {
                span.record(field, total);
            }
        }
    }
}

#[cfg(not(feature = "tracing"))]
impl Span {
    pub fn of(_: Operation, _: impl FnOnce() -> String, _: impl FnOnce() -> String) -> Self {
        Self(())
    }

    pub fn partition(&self, _: Turn, _: usize, _: Duration) {}

    pub fn failed(&self, _: &Error) {}

    pub fn end(&self, _: [(&str, u64); 4]) {}
}
