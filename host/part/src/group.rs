//! A row group in memory: the tree of its columns, their values with Dremel's levels, and its sections.
//!
//! [`crate::text`] makes groups from lines and lines from groups. [`crate::file`] writes groups to a Parquet
//! file and reads them back. Neither knows how the other works.

/// The number of a node in a [`Tree`].
pub type NodeIx = u32;

/// The columns of a part as a tree. The root is the record; a node comes after its parent.
///
/// A part has one tree. It grows while groups are made: nodes are appended and never changed, so a group that
/// was made earlier is of a prefix of the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The nodes. Children of one parent are in the order of their numbers.
    pub nodes: Vec<Node>,
}

/// A column or a group of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The parent. The root is its own parent.
    pub parent: NodeIx,
    /// The name that other readers of Parquet see. Names of siblings differ also if case is ignored. The
    /// element of a list has the name `element`.
    pub name: String,
    /// The content of the node.
    pub layout: Layout,
}

/// The content of a node of a [`Tree`]. Every node but the root is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A struct with at least one child when its group is written.
    Struct,
    /// A list (`LIST` of Parquet, three levels). Its only child is the element.
    List,
    /// `BOOLEAN`.
    Boolean,
    /// `INT64`.
    Int,
    /// `DOUBLE`.
    Double,
    /// `BYTE_ARRAY` with the logical type `STRING`: text without JSON's escapes.
    String,
    /// `BYTE_ARRAY` with the logical type `STRING`: the text of a JSON value.
    Json,
    /// `BYTE_ARRAY`: bytes that need not be UTF-8.
    Bytes,
}

/// The rows of one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Number of rows.
    pub rows: u32,
    /// A column for each leaf among the first [`Group::nodes`] nodes of the tree, by ascending node.
    pub columns: Vec<Column>,
    /// The number of nodes of the tree that this group has columns for.
    pub nodes: u32,
    /// Sections, not compressed, by name. The file compresses them and adds checksums.
    pub sections: Vec<(String, Vec<u8>)>,
    /// Length in bytes, and xxh3 (64 bits), of the text that the group gives back.
    pub text_len: u64,
    /// See [`Group::text_len`].
    pub text_hash: u64,
}

/// The values of a leaf, without nulls, and Dremel's levels.
///
/// Each optional node on the way from the root adds 1 to the greatest definition level, a list adds another 1
/// for its repeated group, and 1 to the greatest repetition level. So the element of a list at the root that
/// is an optional leaf has definition levels 0 (no list), 1 (empty list), 2 (null element) and 3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The leaf.
    pub node: NodeIx,
    /// One value for each entry with the greatest definition level.
    pub values: Values,
    /// Definition levels, one for each entry.
    pub definitions: Vec<i16>,
    /// Repetition levels, one for each entry. Empty if no list is above the leaf.
    pub repetitions: Vec<i16>,
}

/// Values of one physical type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Values of [`Layout::Boolean`].
    Boolean(Vec<bool>),
    /// Values of [`Layout::Int`].
    Int(Vec<i64>),
    /// Values of [`Layout::Double`].
    Double(Vec<f64>),
    /// Values of [`Layout::String`], [`Layout::Json`] and [`Layout::Bytes`].
    Bytes(Strings),
}

impl Default for Values {
    fn default() -> Self {
        Self::Int(Vec::new())
    }
}

impl Values {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Boolean(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Bytes(strings) => strings.ends.len(),
        }
    }

    /// True if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Strings of bytes, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// The bytes of all strings.
    pub bytes: Vec<u8>,
    /// The end of each string in `bytes`.
    pub ends: Vec<u32>,
}

impl Strings {
    /// Each string. An end that is none of the bytes gives an empty string.
    pub fn each(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| self.bytes.get(begin as usize..*end as usize).unwrap_or_default())
    }
}

impl Layout {
    /// The number that files have for the layout.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The layout with a number; `None` if there is none.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        use Layout::{Boolean, Bytes, Double, Int, Json, List, String, Struct};

        [Struct, List, Boolean, Int, Double, String, Json, Bytes].get(number as usize).copied()
    }
}

impl Tree {
    /// The leaves among the first `nodes` nodes, ascending.
    pub fn leaves(&self, nodes: u32) -> impl Iterator<Item = NodeIx> + '_ {
        (0..nodes).filter(|&node| !matches!(self.nodes[node as usize].layout, Layout::Struct | Layout::List))
    }

    /// The greatest definition and repetition level of the entries of `node`.
    #[must_use]
    pub fn levels(&self, mut node: NodeIx) -> (i16, i16) {
        let (mut definition, mut repetition) = (0, 0);
        while node != 0 {
            definition += 1;
            if self.nodes[node as usize].layout == Layout::List {
                definition += 1;
                repetition += 1;
            }
            node = self.nodes[node as usize].parent;
        }
        (definition, repetition)
    }
}
