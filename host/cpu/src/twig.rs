//! Standing queries: find the subscriptions that match a document by its structure.
//!
//! A subscription is a *twig*: a small tree of tests of names, of nesting and of values (Absalyamov,
//! Moussalli, Tsotras and Najjar, "High-Performance Holistic XML Twig Filtering Using GPUs", EDBT 2013). A
//! document matches a twig if each node of the twig can be mapped to a node of the document so that all tests
//! hold. Twigs are written as XPath ([`xpath`](warpath_lang::twig::xpath)) or as JSONPath
//! ([`Twig::of_jsonpath`](warpath_lang::twig::Twig::of_jsonpath)). Documents are XML or JSON; both become the
//! same [events](Events).
//!
//! ```
//! use warpath::twig::Subscriptions;
//! use warpath_cpu::twig::xml;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut subscriptions = Subscriptions::default();
//! subscriptions.add("theses", "/dblp/*[author][year >= 2010]/title")?;
//! subscriptions.add("notes", "//note[@lang = 'en']")?;
//! let mut matcher = subscriptions.matcher();
//! xml::read("<dblp><phd><author>X</author><year>2011</year><title>Y</title></phd></dblp>", &mut matcher)?;
//! assert_eq!(matcher.matches().collect::<Vec<_>>(), ["theses"]);
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`set`]; `layout`, `group`, `rows`, `values` | many twigs evaluated at once, with one bit for each node; the layout of the bits; the rows of bits that pass a test |
//! | `resolve`, `matcher`; [`members`] | the effect of an event on the bits; names that an object repeats |
//! | [`encode`], [`names`] | twigs and documents as arrays for a device |
//! | [`subscriptions`] | subscription files |
//! | [`standing`], `snapshot` | subscriptions that streams are matched against, and that may change meanwhile; the subscriptions at one point in time |
//! | `event` | the subscriptions that one event in memory matches |
//! | [`xml`], [`json`] | the events of a document |

pub mod encode;
mod event;
mod group;
pub mod json;
mod layout;
mod matcher;
pub mod members;
pub mod names;
mod resolve;
mod rows;
pub mod set;
mod snapshot;
pub mod standing;
pub mod subscriptions;
mod values;
pub mod xml;

pub use event::EventMatches;
pub use layout::TooLarge;
pub use matcher::TwigMatcher;
pub use set::{SetSize, TagIx, TwigIx, TwigSet};
pub use standing::{Documents, Snapshot, Standing, TwigForm};
pub use subscriptions::{FileChange, Matcher, SubscriptionError, Subscriptions};
use warpath_lang::twig::value::Value;

/// The name of a node of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// An element of this name.
    Element(&'a [u8]),
    /// The value of an object's member of this name. Only the first member of a name has it
    /// ([`members`]).
    Member(&'a [u8]),
    /// An attribute of this name.
    Attribute(&'a [u8]),
    /// An element of an array, which has no name.
    Item,
}

/// Receives the events of a document: each node begins, then the nodes below it follow, then it ends.
pub trait Events {
    /// Begins a node, below the nodes that have not ended. Returns whether the node's value is needed.
    fn open(&mut self, name: Name<'_>) -> bool;
    /// Ends the node that began last. The value matters only if [`open`](Self::open) returned `true` for the
    /// node.
    fn close(&mut self, value: Value<'_>);
}
