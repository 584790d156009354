//! Twigs: trees of tests of names, of what is below what, and of values, written as XPath or as JSONPath.
//!
//! | module | question it answers |
//! |---|---|
//! | [`xpath`], `jsonpath` | what does a subscription say? |
//! | [`value`] | does a value pass a test? |

mod jsonpath;
pub mod value;
pub mod xpath;

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
