//! The schema of records: every path, with the kinds of its values and what they are like.
//!
//! A [`SchemaTree`] has a node for each path. A path leads to the members of objects by name, to all elements
//! of an array together, and to all values of an object that is a map together. A walk over text fills the
//! tree, one tree for each worker. Trees are merged in any order with the same result: positions are numbers
//! that grow in the order of the inputs, and everything else in a node is a sum, a minimum, a maximum or a
//! set.
//!
//! | module | contents |
//! |---|---|
//! | `kind` | the kinds of values |
//! | `node` | a node: counts, ranges, first values |
//! | `distinct` | estimates of the number of distinct values |
//! | `tree` | the tree, its merge and its bounds |
//! | `walk` | the walk over text that fills a tree |
//! | `rows` | a tree as rows, one for each path |
//! | `saved` | the tree of rows that were saved |
//! | `bytes` | a tree as bytes, and back |
//! | `diff` | the differences between two schemas |
//! | `json_schema` | JSON Schema |
//! | `arrow`, `sql` | the Arrow type of a node; Arrow schemas as text and as SQL (feature `arrow`) |

#[cfg(feature = "arrow")]
pub mod arrow;
mod bytes;
mod diff;
mod distinct;
mod json_schema;
mod json_type;
mod node;
mod rows;
mod saved;
#[cfg(feature = "arrow")]
mod sql;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

pub use diff::{Change, Difference, diff};
pub use json_schema::json_schema;
pub use json_type::JsonType;
pub use node::{Excerpt, First, MOST_TEXT, Position, Step};
pub use rows::{SchemaRow, ndjson, rows, step_text};
#[cfg(feature = "arrow")]
pub use sql::{arrow_text, create_table};
pub use tree::{MOST_MEMBERS, MOST_NODES, SchemaNode, SchemaTree};
pub use walk::{WalkOptions, Walked, Walker};
