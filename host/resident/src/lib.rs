//! Records that stay in memory: *segments* of rows, each with the leaves of its records' members and with the
//! text of its lines.
//!
//! A leaf has one value in each row, or none. Integers and doubles are packed ([`packed`]). Strings that
//! repeat are codes of a [`dictionary`] that all segments share. Other strings are in the lines, which are
//! compressed by FSST ([`compressed`]). Conditions and groups are evaluated on leaves without the text, if
//! the leaves are *exact* ([`warpath_part::text::Members`]). What leaves cannot answer is evaluated on the
//! text.
//!
//! | module | contents |
//! |---|---|
//! | [`packed`] | numbers of 64 bits, packed into few bits |
//! | [`dictionary`] | the strings of a member, numbered |
//! | [`compressed`] | strings and lines, compressed by FSST |
//! | [`segment`] | the rows of a segment, made of a group of a part |
//! | [`stored`] | segments as bytes of a store, and back |
//! | [`rows`] | the rows of which a condition is true |
//! | [`aggregate`](mod@aggregate) | groups of the rows of all segments, with counts, extremes and sums |
//! | [`table`] | segments on a device |
//! | [`coded`] | the values of a member as codes, for groups |

pub mod aggregate;
pub mod coded;
pub mod compressed;
pub mod dictionary;
pub mod packed;
pub mod rows;
pub mod segment;
pub mod stored;
pub mod table;

pub use coded::Coded;
pub use dictionary::{Dictionaries, Dictionary};
pub use rows::Question;
pub use segment::{Kind, Leaf, Member, Rows, Segment};
pub use stored::Stored;
pub use table::{Class, DeviceTable, SegmentRows};
