//! The subscriptions that one event in memory matches.
//!
//! The cost is that of the CPU's worker: 6.0 µs for an event of 900 bytes and 1,000 subscriptions whose tests
//! are for equality, 6.6 µs with ranges, wildcards and descendants (AMD EPYC with AVX-512, 2026-11-24). Bits
//! take 45 % of this, names and values that are looked up 25 %, and the tree of the event 15 %. With ranges,
//! to read each number as a decimal for each test lost: 8.5 µs
//! ([`PlainNumber`](warpath_lang::twig::value::PlainNumber)).

use std::sync::Arc;
use std::thread::LocalKey;

use warpath_core::error::Error;

use super::json::LineReader;
use super::matcher::{MatcherMemory, TwigMatcher};
use super::snapshot::Snapshot;
use crate::lease::{Lease, Pool, Reusable};
use crate::record::{Line, error_of};

/// The memory of one call.
#[derive(Debug, Default)]
struct EventMemory {
    line: Line,
    lines: LineReader,
    matcher: MatcherMemory,
    /// The numbers of the subscriptions that match, ascending.
    numbers: Vec<u32>,
}

impl Reusable for EventMemory {
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
///
/// ```
/// use warpath::twig::{Standing, Subscriptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add("dutch", "//user[lang = 'nl']")?;
/// subscriptions.add("errors", "/status[. >= 500]")?;
/// let standing = Standing::new(subscriptions);
/// let found = standing.matches(br#"{"status": 503}"#)?;
/// assert_eq!((found.len(), found.numbers()), (1, &[1][..]));
/// assert_eq!(found.ids().collect::<Vec<_>>(), ["errors"]);
/// assert!(standing.matches(b"{}")?.is_empty());
/// # Ok(())
/// # }
/// ```
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
