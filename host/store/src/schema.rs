//! The schema of records: every path, with the kinds of its values and what they are like.
//!
//! A [`SchemaTree`] has a node for each place of a value: a member of an object by its name, all elements of an
//! array together, all values of an object that is a map together. It is filled by a walk over text, one tree
//! for each worker. Trees are merged in any order with the same result: positions are numbers that grow in
//! the order of the inputs, and everything else in a node is a sum, a minimum, a maximum or a set.
//!
//! | module | contents |
//! |---|---|
//! | `kind` | the kinds of values |
//! | `node` | a node: counts, ranges, first values |
//! | `distinct` | estimates of the number of distinct values |
//! | `tree` | the tree, its merge and its bounds |
//! | `arrow` | the Arrow type of a node (feature `arrow`) |

#[cfg(feature = "arrow")]
pub mod arrow;
mod distinct;
mod kind;
mod node;
mod tree;

pub use kind::Kind;
pub use node::{First, MOST_TEXT, Place, Step, Text};
pub use tree::{MOST_MEMBERS, MOST_NODES, SchemaNode, SchemaTree};
