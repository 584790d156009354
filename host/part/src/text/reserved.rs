//! The names and types of the columns of earlier parts.

use super::bytes::{Reader, put, put_bytes};
use super::error::Result;
use super::known::{Known, Plan};
use super::names::{self, Names};
use crate::group::{Layout, Node, NodeIx, Tree};

/// The names and types of the columns of the parts of a store. A [`Shredder`](super::Shredder) that
/// [resumes](super::Shredder::resume) gives them to the same values again, so that no column changes its type
/// from part to part. A column that no line of a part needs is not in the part's tree.
///
/// A part has the columns of the parts before it in a section of its first group. So the last part of a store
/// has them all.
///
/// ```
/// use warpath_part::group::Group;
/// use warpath_part::text::{Names, Reserved, Shredder};
///
/// let mut first = Shredder::new();
/// let group = first.shred(b"{\"a\":1,\"b\":[true]}\n").unwrap();
/// let mut reserved = Reserved::new();
/// reserved.add(first.tree(), &Names::read(first.tree(), &group).unwrap(), None).unwrap();
/// let mut second = Shredder::resume(reserved);
/// second.shred(b"{\"a\":\"x\"}\n").unwrap();
/// // The record, the column of whole lines, and this one.
/// assert_eq!(second.tree().nodes.len(), 3);
/// assert_eq!(second.tree().nodes[2].name, "a:string");
/// ```
#[derive(Debug)]
pub struct Reserved {
    pub(super) known: Known,
}

impl Default for Reserved {
    fn default() -> Self {
        Self::new()
    }
}

impl Reserved {
    /// The name of the section that has the columns of earlier parts. The first group of a part has it, if
    /// there were any.
    pub const SECTION: &str = "reserved";

    /// No names.
    #[must_use]
    pub fn new() -> Self {
        Self { known: Known::new() }
    }

    /// Adds the columns of a part, and those in its section of this [name](Self::SECTION). `names` are those
    /// of the part's last group, which has all nodes of the tree.
    ///
    /// # Errors
    /// [`Error::Damaged`](super::Error::Damaged) for a section that no shredder can have made.
    pub fn add(&mut self, tree: &Tree, names: &Names, section: Option<&[u8]>) -> Result<()> {
        if let Some(section) = section {
            let (earlier, names) = read(section)?;
            self.known.reserve(&earlier, names.roles());
        }
        self.known.reserve(tree, names.roles());
        Ok(())
    }

    /// Adds columns of which only the names that other readers see are known, because the parts that had them
    /// are gone.
    pub fn add_unknown(&mut self, tree: &Tree) {
        self.known.reserve_unknown(tree);
    }

    /// True if all columns of a tree are reserved, by the names that other readers see.
    #[must_use]
    pub fn has_all(&self, tree: &Tree) -> bool {
        self.known.has_all(tree)
    }
}

/// Writes the section of a group.
pub(super) fn write(plan: &Plan) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, plan.tree.nodes.len() as u64);
    for node in &plan.tree.nodes {
        put(&mut out, u64::from(node.parent));
        out.push(node.layout.number());
        put_bytes(&mut out, node.name.as_bytes());
    }
    out.extend(names::write(&plan.tree, &plan.roles));
    out
}

fn read(section: &[u8]) -> Result<(Tree, Names)> {
    let mut reader = Reader::new(section, Reserved::SECTION);
    let mut tree = Tree::default();
    for index in 0..reader.count("nodes")? {
        let parent = reader.below(index.max(1), "the number of a parent")? as NodeIx;
        let layout = Layout::of_number(u32::from(reader.byte()?));
        let layout = layout.ok_or_else(|| reader.error(format!("node {index} has no known layout")))?;
        let name = str::from_utf8(reader.bytes()?);
        let name = name.map_err(|_| reader.error(format!("the name of node {index} is not UTF-8")))?;
        tree.nodes.push(Node { parent, name: name.to_owned(), layout });
    }
    let names = Names::of(&tree.nodes, reader)?;
    Ok((tree, names))
}
