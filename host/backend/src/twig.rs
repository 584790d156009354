//! Standing queries: which of many subscriptions does a document match, by its structure?
//!
//! A subscription is a *twig*, a small tree of tests: of names, of what is below what, and of values (Absalyamov, Moussalli, Tsotras and Najjar, "High-Performance Holistic XML Twig
//! Filtering Using GPUs", EDBT 2013). A document matches it if each node of the twig can be given a node of the document, so that all tests hold. Twigs are written as XPath
//! ([`xpath`](warpath_lang::twig::xpath)) or as JSONPath ([`Twig::of_jsonpath`](warpath_lang::twig::Twig::of_jsonpath)); documents are XML or JSON, and both become the same [events](Events).
//!
//! ```
//! use warpath::twig::{Subscriptions, xml};
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
//! | module | question it answers |
//! |---|---|
//! | [`set`]; `layout`, `group`, `rows`, `values` | how are many twigs asked at once, by a bit for each of their nodes? where are the bits, and who passes which tests? |
//! | `resolve`, `matcher` | what does an event do to them? |
//! | [`encode`], [`names`] | how does a device have twigs and documents? |
//! | [`seed`] | how do others ask twigs on a device? |
//! | [`subscriptions`] | what is in a subscription file? |
//! | [`standing`] | who asks them of streams, while they change? |
//! | [`xml`], [`json`] | which events does a document give? |

pub mod encode;
mod group;
pub mod json;
mod layout;
mod matcher;
pub mod names;
mod resolve;
mod rows;
pub mod seed;
pub mod set;
pub mod standing;
pub mod subscriptions;
mod values;
pub mod xml;

pub use layout::TooLarge;
pub use matcher::TwigMatcher;
pub use set::{SetSize, TagIx, TwigIx, TwigSet};
pub use standing::{Documents, Snapshot, Standing};
pub use subscriptions::{FileChange, Matcher, SubscriptionError, Subscriptions};
use warpath_lang::twig::value::Value;

/// What a node of a document is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// An element, or the value of a member, of this name.
    Element(&'a [u8]),
    /// An attribute of this name.
    Attribute(&'a [u8]),
    /// An element of an array, which has no name.
    Item,
}

/// Who is told of a document, node by node: first that a node begins, then of the nodes below it, then that it ends.
pub trait Events {
    /// A node begins, below those that have not ended. Whether its value will be looked at.
    fn open(&mut self, name: Name<'_>) -> bool;
    /// The last node that began ends. Its value matters only if [`open`](Self::open) said so.
    fn close(&mut self, value: Value<'_>);
}
