//! The subscriptions that one event in memory matches.

use std::sync::Arc;
use std::thread::LocalKey;

use warpath_core::error::Error;

use super::json::Lines;
use super::matcher::{MatcherMemory, TwigMatcher};
use super::snapshot::Snapshot;
use crate::cpu::record::{Line, error_of};
use crate::lease::{Kept, Lease, Pool};

/// The memory of one call.
#[derive(Debug, Default)]
struct EventMemory {
    line: Line,
    lines: Lines,
    matcher: MatcherMemory,
    /// The numbers of the subscriptions that match, ascending.
    numbers: Vec<u32>,
}

impl Kept for EventMemory {
    fn pool() -> &'static LocalKey<Pool<Self>> {
        thread_local! {
            static POOL: Pool<EventMemory> = const { Pool::new() };
        }
        &POOL
    }

    fn is_small(&self) -> bool {
        self.line.is_small()
    }
}

/// The subscriptions that one event matches ([`Standing::matches`](super::Standing::matches)).
///
/// Holds memory that its thread uses again after it is dropped.
#[derive(Debug)]
pub struct EventMatches {
    subscriptions: Arc<Snapshot>,
    memory: Lease<EventMemory>,
}

impl EventMatches {
    /// Matches an event against subscriptions.
    pub(super) fn of(subscriptions: Arc<Snapshot>, event: &[u8]) -> Result<Self, Error> {
        let mut memory = Lease::<EventMemory>::take();
        let EventMemory { line, lines, matcher: kept, numbers } = &mut *memory;
        numbers.clear();
        let text = line.of(event)?;
        if !text.is_empty() {
            let mut matcher = TwigMatcher::new(subscriptions.set(), std::mem::take(kept));
            let mut fault = None;
            lines.read(text, &mut matcher, |matcher, _, ended| match ended {
                Ok(()) => matcher.each_match(|twig| numbers.extend(subscriptions.numbers_of(twig))),
                Err(found) => fault = Some(found),
            });
            *kept = matcher.into_memory();
            if let Some(fault) = fault {
                return Err(error_of(line.text_of(event), fault));
            }
            numbers.sort_unstable();
        }
        Ok(Self { subscriptions, memory })
    }

    /// The ids of the subscriptions, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.numbers().iter().filter_map(|number| self.subscriptions.id(*number as usize))
    }

    /// The numbers of the subscriptions among
    /// [`Subscriptions::ids`](super::Subscriptions::ids), ascending.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.memory.numbers
    }

    /// The number of subscriptions that match.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers().len()
    }

    /// Returns `true` if no subscription matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers().is_empty()
    }

    /// The subscriptions at the time of the call.
    #[must_use]
    pub fn subscriptions(&self) -> &Arc<Snapshot> {
        &self.subscriptions
    }
}
