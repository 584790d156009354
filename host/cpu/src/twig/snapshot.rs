//! The subscriptions at one point in time, which do not change.

use std::ops::Deref;
use std::sync::OnceLock;

use warpath_shared::twig::Matched;

use super::Subscriptions;
use super::encode::Compiled;
use super::names::Names;

/// The subscriptions at one point in time.
///
/// ```
/// use warpath::twig::{Standing, Subscriptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let standing = Standing::new(Subscriptions::default());
/// let before = standing.current();
/// standing.change(|subscriptions| subscriptions.add("errors", "/status[. >= 500]"))?;
/// // A snapshot stays as it was.
/// assert_eq!((before.len(), standing.current().len()), (0, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Snapshot {
    pub(super) subscriptions: Subscriptions,
    /// The arrays for devices, made at their first use.
    arrays: OnceLock<(Compiled, Names)>,
}

impl Snapshot {
    pub(super) fn new(subscriptions: Subscriptions) -> Self {
        Self { subscriptions, arrays: OnceLock::new() }
    }

    /// The subscriptions as arrays for devices.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn arrays(&self) -> &(Compiled, Names) {
        self.arrays.get_or_init(|| {
            let set = self.subscriptions.set();
            (Compiled::of(set), Names::of(set))
        })
    }

    /// The matches that a device found as pairs of document and subscription, ordered by document, then by
    /// subscription.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn pairs(&self, matched: &[Matched]) -> Vec<(u32, u32)> {
        let answers = self.set().answers(matched);
        let numbers = |(document, twig)| self.numbers_of(twig).iter().map(move |number| (document, *number));
        let mut pairs: Vec<(u32, u32)> = answers.into_iter().flat_map(numbers).collect();
        pairs.chunk_by_mut(|a, b| a.0 == b.0).for_each(<[_]>::sort_unstable);
        pairs
    }
}

impl Deref for Snapshot {
    type Target = Subscriptions;

    fn deref(&self) -> &Subscriptions {
        &self.subscriptions
    }
}
