//! The lines of a group from and to columns and sections.
//!
//! | item | contents |
//! |---|---|
//! | [`Shredder`] | groups from lines, and the tree of their columns |
//! | [`Reserved`] | the columns of earlier parts, whose names and types a new part keeps |
//! | [`Restorer`], [`restore()`] | lines from a group, all or any |
//! | [`Names`] | the true keys of the columns of a group, and the kinds of their values |
//! | [`Members`] | the members of records that have one value in each row, with their rows |
//!
//! Columns have every value once. Their levels say which values are present, and how long arrays are.
//! Sections have what levels cannot say: which members an object has and in which order, the bytes between
//! values, and how values are spelled.
//!
//! | in the text | in the columns |
//! |---|---|
//! | object | struct; one that never has a value has the leaf `:present` |
//! | array | list; elements of several kinds are a struct with a field for each kind |
//! | string | string without escapes |
//! | integer of 64 bits | int64; a double where the first group of the first part has other numbers, too |
//! | other number | double |
//! | `true`, `false` | boolean |
//! | `null`, or no member | null |
//! | values of another kind than the first at their position | a sibling, for example `name:string` |
//! | objects used as maps, deep values, more than the tree may have | the text as JSON |
//! | a line that is no JSON, or no object | `_raw` |
//! | a line of white space | a row of nulls |
//!
//! A tree has less than 2,000 leaves, at most 36 nodes below each other. An object of more than 256 different
//! keys, or of more than 1,024 shapes in one group, is used as a map.

mod bytes;
mod children;
mod count;
mod draft;
mod error;
mod known;
mod levels;
mod members;
mod names;
mod number;
mod occurrences;
mod piece;
mod position;
mod project;
mod reserved;
mod restore;
mod scan;
mod sections;
mod shred;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use count::{COUNTED, counts_of};
pub use error::{Error, Result};
pub use members::{Member, MemberKind, Members};
pub use names::{Kind, Names, Role, Step};
pub(crate) use occurrences::{Mark, OCCURRENCES};
pub(crate) use position::{Position, values_of};
pub(crate) use project::{Outline, plan};
pub use reserved::Reserved;
pub use restore::{Restorer, restore};
pub(crate) use sections::{EXCEPTIONS, SHAPE_IDS};
pub use shred::Shredder;
