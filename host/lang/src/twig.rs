//! Twigs: trees of tests of names, of ancestors, and of values, written as XPath or as JSONPath.
//!
//! | module | contents |
//! |---|---|
//! | [`xpath`], `jsonpath` | the parsers of subscriptions |
//! | [`value`] | the tests of values |
//! | `projection` | the members of JSON records that twigs name |

mod jsonpath;
mod projection;
pub mod value;
pub mod xpath;

pub use value::{Literal, Operator, Value, ValueTest};

/// A twig: a tree of tests. Its root is the document itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Twig {
    /// The nodes, each after its parent. The children of one node are in the order in which they were
    /// written.
    nodes: Vec<TwigNode>,
}

/// A node of a twig.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwigNode {
    /// The number of the parent; `None` for the document.
    pub parent: Option<usize>,
    /// The distance to the parent.
    pub axis: Axis,
    /// The name test for a node of the document.
    pub name: NameTest,
    /// The tests of the node's value, all of which must pass.
    pub values: Vec<ValueTest>,
}

/// The required distance of a node below another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// `/`: a child.
    Child,
    /// `//`: any descendant.
    Descendant,
}

/// A test of the kind and name of a document's node.
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

/// The reason why a text is not a twig.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TwigError {
    /// The offset in bytes of the fault in the text.
    pub at: usize,
    /// The description of the fault.
    pub message: String,
}

impl TwigError {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl Twig {
    /// Parses a subscription: JSONPath if it begins with `$`, otherwise XPath.
    ///
    /// # Errors
    /// [`TwigError`] for a text that is not a subscription.
    pub fn parse(text: &str) -> Result<Self, TwigError> {
        if text.starts_with('$') { Self::of_jsonpath(text) } else { xpath::parse(text) }
    }

    /// Converts a JSONPath query to a twig, which matches if the query selects any node. Names, wildcards and
    /// descendants are those of [`xpath`]. A filter is evaluated on the children of its segment's nodes. It
    /// consists of queries of this form, and of comparisons of a singular query of this form with a literal;
    /// all of them must hold. `$` in a filter is the document. A text may also be a predicate about the
    /// document, which consists of the same tests: `$.level == 'error' && $.user`.
    ///
    /// # Errors
    /// [`TwigError`] for a text that is neither a JSONPath query nor a predicate, and for a text with
    /// positions in arrays, negations, alternatives or functions.
    pub fn of_jsonpath(text: &str) -> Result<Self, TwigError> {
        jsonpath::parse(text)
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[TwigNode] {
        &self.nodes
    }

    /// Adds a node below another, or below the document. Returns its number.
    fn add(&mut self, parent: Option<usize>, axis: Axis, name: NameTest) -> usize {
        self.nodes.push(TwigNode { parent, axis, name, values: Vec::new() });
        self.nodes.len() - 1
    }
}
