//! Standing queries: which of many subscriptions does a document match, by its structure?
//!
//! A subscription is a *twig*, a small tree of tests: of names, of what is below what, and of values (Absalyamov, Moussalli, Tsotras and Najjar, "High-Performance Holistic XML Twig
//! Filtering Using GPUs", EDBT 2013). A document matches it if each node of the twig can be given a node of the document, so that all tests hold. Twigs are written as XPath
//! ([`xpath`]) or as JSONPath ([`Twig::of_jsonpath`]); documents are XML or JSON, and both become the same [events](Events).
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
//! | [`xpath`], `jsonpath` | what does a subscription say? |
//! | [`value`] | does a value pass a test? |
//! | [`set`]; `layout`, `group`, `rows`, `values` | how are many twigs asked at once, by a bit for each of their nodes? where are the bits, and who passes which tests? |
//! | `resolve`, `matcher` | what does an event do to them? |
//! | [`encode`], [`names`] | how does a device have twigs and documents? |
//! | [`seed`], [`yfilter`] | how do others ask twigs: on a device, and on a CPU? |
//! | [`subscriptions`] | what is in a subscription file? |
//! | [`standing`] | who asks them of streams, while they change? |
//! | [`xml`], [`json`] | which events does a document give? |

pub mod encode;
mod group;
pub mod json;
mod jsonpath;
mod layout;
mod matcher;
pub mod names;
mod resolve;
mod rows;
pub mod seed;
pub mod set;
pub mod standing;
pub mod subscriptions;
pub mod value;
mod values;
pub mod xml;
pub mod xpath;
pub mod yfilter;

pub use matcher::TwigMatcher;
pub use set::{SetSize, TagIx, TooLarge, TwigIx, TwigSet};
pub use standing::{Documents, Snapshot, Standing};
pub use subscriptions::{FileChange, Matcher, SubscriptionError, Subscriptions};
pub use value::{Literal, Operator, Value, ValueTest};

/// A twig: a tree of tests, whose root stands for the document itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Twig {
    /// The nodes, each behind the one that it is below; those of one node are in the order in which they were written.
    nodes: Vec<TwigNode>,
}

/// A node of a twig.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwigNode {
    /// The node that it is below, by its number; `None`: the document.
    pub parent: Option<usize>,
    /// How far below.
    pub axis: Axis,
    /// What a node of the document has to be.
    pub name: NameTest,
    /// What its value has to be: all of it.
    pub values: Vec<ValueTest>,
}

/// How far below another node a node has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// `/`: it is a child.
    Child,
    /// `//`: it is anywhere below.
    Descendant,
}

/// What a node of a document has to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NameTest {
    /// `name`: an element of this name, with its prefix if it has one; or the value of a member of this name.
    Name(String),
    /// `*`: an element, or the value of a member, or of an element of an array.
    Any,
    /// `@name`: an attribute of this name.
    Attribute(String),
    /// `@*`: an attribute.
    AnyAttribute,
}

/// Why there is no twig.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TwigError {
    /// The byte of the text where it was found, from 0 on.
    pub at: usize,
    /// What it is.
    pub message: String,
}

impl TwigError {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl Twig {
    /// What a subscription says: JSONPath if it begins with `$`, XPath else.
    ///
    /// # Errors
    /// [`TwigError`].
    pub fn parse(text: &str) -> Result<Self, TwigError> {
        if text.starts_with('$') { Self::of_jsonpath(text) } else { xpath::parse(text) }
    }

    /// The twig of a JSONPath query: whether it selects anything. Names, wildcards and descendants are those of [`xpath`]; a filter is asked of the children that its segment looks at, and consists of queries of the
    /// same kind and of comparisons of what such a singular query selects with a literal, all of which have to hold.
    ///
    /// # Errors
    /// [`TwigError`] if it is no JSONPath query, or asks for more: for places in arrays, for what is not there, for one of several, by functions.
    pub fn of_jsonpath(text: &str) -> Result<Self, TwigError> {
        jsonpath::parse(text)
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[TwigNode] {
        &self.nodes
    }

    /// Adds a node below another, or the document; its number.
    fn add(&mut self, parent: Option<usize>, axis: Axis, name: NameTest) -> usize {
        self.nodes.push(TwigNode { parent, axis, name, values: Vec::new() });
        self.nodes.len() - 1
    }
}

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
