//! Bloom filters, which show that no value of a chunk equals a constant.
//!
//! Bounds exclude nothing where values have no order, such as identifiers. The column of such values is long,
//! and a filter has 8 to 16 bits for each value. A chunk gets one if all of this is true:
//!
//! | | because |
//! |---|---|
//! | its values are strings or integers, outside of lists | these are compared with constants |
//! | they are not in a dictionary | values that repeat are in few groups, or make short columns |
//! | one in 16 is less than the value before it | bounds of pages serve values that ascend |
//! | they have at most 64 bytes on average | longer texts are seldom compared |
//! | the filter has at most a quarter of the bytes of the chunk | a short column is read as fast |
//! | the filters of the group have at most 1/32 of its bytes | space; nodes near the root come first |
//!
//! A filter is that of Parquet: split blocks (Putze, Sanders and Singler 2007), hashed by xxHash of 64 bits.
//! Other readers find it by the footer.

use parquet::bloom_filter::Sbbf;

use super::Filters;
use super::encode::{Chunk, Encoding};
use super::error::Error;
use crate::group::{Column, Layout, NodeIx, Tree, Values};

/// The beginning of the names of sections that are filters.
const PREFIX: &str = "bloom-";
/// The most bytes of a string on average.
const MOST_MEAN: usize = 64;
/// Values of which one must be less than the value before it.
const DESCENT: usize = 16;

/// The name of the section that is the filter of a leaf.
pub(super) fn section(leaf: NodeIx) -> String {
    format!("{PREFIX}{leaf}")
}

/// The leaf whose filter a section is; `None` for other sections.
pub(super) fn leaf(section: &str) -> Option<NodeIx> {
    section.strip_prefix(PREFIX)?.parse().ok()
}

/// A Bloom filter of the values of a leaf in one group.
#[derive(Debug)]
pub struct BloomFilter(Sbbf);

impl BloomFilter {
    pub(super) fn of(values: &Values) -> Self {
        let mut filter = Sbbf::new_with_num_of_bytes(len(values));
        match values {
            Values::Int(values) => values.iter().for_each(|value| filter.insert(value)),
            Values::Bytes(strings) => strings.each().for_each(|value| filter.insert(value)),
            Values::Boolean(_) | Values::Double(_) => {}
        }
        Self(filter)
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.0.write(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let filter = Sbbf::from_bytes(bytes).ok()?;
        (filter.num_blocks() > 0).then_some(Self(filter))
    }

    /// Returns false if no string is equal to a value.
    #[must_use]
    pub fn may_have(&self, value: &[u8]) -> bool {
        self.0.check(value)
    }

    /// Returns false if no integer is equal to a value.
    #[must_use]
    pub fn may_have_integer(&self, value: i64) -> bool {
        self.0.check(&value)
    }

    /// Returns true if the filter excludes none of some values.
    pub(super) fn has_all(&self, values: &Values) -> bool {
        match values {
            Values::Int(values) => values.iter().all(|value| self.may_have_integer(*value)),
            Values::Bytes(strings) => strings.each().all(|value| self.may_have(value)),
            Values::Boolean(_) | Values::Double(_) => false,
        }
    }
}

/// The bytes of the filter of some values.
fn len(values: &Values) -> usize {
    values.len().next_power_of_two()
}

/// The columns of a group that get filters.
pub(super) fn chosen<'a, 'c>(
    tree: &Tree,
    columns: impl Iterator<Item = (&'a Column, &'c Chunk)>,
    rule: Filters,
) -> Vec<&'a Column> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for (column, chunk) in columns {
        bytes += chunk.bytes.len();
        let is_of_type = matches!(tree.nodes[column.node as usize].layout, Layout::String | Layout::Int);
        if is_of_type
            && column.repetitions.is_empty()
            && column.values.len() >= rule.values
            && chunk.encoding != Encoding::Dictionary
            && len(&column.values) * rule.chunk <= chunk.bytes.len()
            && is_unordered(&column.values)
        {
            all.push(column);
        }
    }
    all.sort_by_key(|column| (tree.levels(column.node).0, column.node));
    let mut used = 0;
    all.retain(|column| {
        let more = used + len(&column.values);
        let fits = more * rule.group <= bytes;
        used = if fits { more } else { used };
        fits
    });
    all
}

/// True if values are short, and in no order.
fn is_unordered(values: &Values) -> bool {
    let descents = match values {
        Values::Int(values) => values.windows(2).filter(|pair| pair[1] < pair[0]).count(),
        Values::Bytes(strings) if strings.bytes.len() <= MOST_MEAN * strings.ends.len() => {
            strings.each().zip(strings.each().skip(1)).filter(|(one, next)| next < one).count()
        }
        _ => return false,
    };
    descents * DESCENT >= values.len()
}
