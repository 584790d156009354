//! Roles and true keys of the nodes of a tree.

use super::bytes::{Reader, put_bytes};
use super::error::{Result, damaged};
use crate::group::{Group, Layout, Node, NodeIx, Tree};

/// Name of the section with the roles and keys.
pub(super) const SECTION: &str = Names::SECTION;

/// Name of the column with whole lines.
pub(super) const RAW: &str = "_raw";
/// Name of the leaf of a struct that has no other leaf.
pub(super) const PRESENT: &str = ":present";
/// Name of the element of a list.
pub(super) const ELEMENT: &str = "element";

/// The kinds of values at one position: a field of an object, or the element of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An object whose members are columns.
    Object,
    /// An array whose elements are columns.
    List,
    /// A string.
    String,
    /// An integer of 64 bits.
    Int,
    /// Another number.
    Double,
    /// `true` or `false`.
    Bool,
    /// The text of a value that is not split into columns.
    Json,
}

impl Kind {
    /// Number of kinds.
    pub(super) const COUNT: usize = 7;

    /// The name of a sibling of this kind, after a colon.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["object", "list", "string", "int", "double", "bool", "json"][self as usize]
    }

    /// The layout of a node of this kind.
    pub(super) fn layout(self) -> Layout {
        match self {
            Self::Object => Layout::Struct,
            Self::List => Layout::List,
            Self::String => Layout::String,
            Self::Int => Layout::Int,
            Self::Double => Layout::Double,
            Self::Bool => Layout::Boolean,
            Self::Json => Layout::Json,
        }
    }
}

/// The meaning of a node in the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The record.
    Root,
    /// Whole lines that are not split into columns.
    Raw,
    /// Values of one kind of the member with this key. The key's escapes are resolved; a surrogate without
    /// its partner has the three bytes that UTF-8 would have for it.
    Field(Vec<u8>),
    /// The element of a list whose elements have one kind.
    Element,
    /// The element of a list whose elements have several kinds. Its children have the role [`Role::Kind`].
    Mixed,
    /// Values of one kind of an element.
    Kind,
    /// The leaf that says that its struct is present.
    Present,
}

/// A step of a path in the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The member with this key.
    Key(&'a [u8]),
    /// Any element of an array.
    Element,
}

/// The roles of the nodes of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    roles: Vec<Role>,
}

impl Names {
    /// The name of the section that has the roles.
    pub const SECTION: &str = "names";

    /// Reads the section of a group.
    ///
    /// # Errors
    /// [`Error::Damaged`](super::Error::Damaged) for a tree and a section that contradict each other.
    pub fn read(tree: &Tree, group: &Group) -> Result<Self> {
        let nodes = tree.nodes.get(..group.nodes as usize);
        let nodes = nodes.ok_or_else(|| damaged("tree", format!("it has no {} nodes", group.nodes)))?;
        Self::of(nodes, Reader::new(section(group, SECTION)?, SECTION))
    }

    /// Reads the roles of nodes, which must be all that is left to read.
    pub(super) fn of(nodes: &[Node], mut reader: Reader<'_>) -> Result<Self> {
        let mut roles: Vec<Role> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let role = match reader.byte()? {
                0 => Role::Field(node.name.clone().into_bytes()),
                1 => Role::Field(reader.bytes()?.to_vec()),
                2 => Role::Element,
                3 => Role::Mixed,
                4 => Role::Kind,
                5 => Role::Present,
                6 => Role::Raw,
                7 => Role::Root,
                code => return Err(reader.error(format!("node {index} has the role {code}"))),
            };
            let parent = node.parent as usize;
            let above = nodes.get(parent).map(|node| node.layout);
            let fits = match (&role, roles.get(parent)) {
                (Role::Root, _) => index == 0 && node.layout == Layout::Struct,
                // A parent comes before its children.
                (_, None) => false,
                (Role::Raw, Some(Role::Root)) => node.layout == Layout::Bytes,
                (Role::Field(_), Some(Role::Root | Role::Field(_) | Role::Element | Role::Kind)) => {
                    above == Some(Layout::Struct) && node.layout != Layout::Bytes
                }
                (Role::Element, Some(_)) => above == Some(Layout::List) && node.layout != Layout::Bytes,
                (Role::Mixed, Some(_)) => above == Some(Layout::List) && node.layout == Layout::Struct,
                (Role::Kind, Some(Role::Mixed)) => node.layout != Layout::Bytes,
                (Role::Present, Some(_)) => above == Some(Layout::Struct) && node.layout == Layout::Boolean,
                _ => false,
            };
            if !fits {
                return Err(reader.error(format!("node {index} cannot have the role {role:?}")));
            }
            roles.push(role);
        }
        if nodes.is_empty() || !reader.is_empty() {
            return Err(reader.error("it has another number of nodes than the tree"));
        }
        Ok(Self { roles })
    }

    /// The role of each node.
    #[must_use]
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    pub(super) fn into_roles(self) -> Vec<Role> {
        self.roles
    }

    /// The path of a node from the record, by true keys. `tree` is the tree of the names.
    #[must_use]
    pub fn path(&self, tree: &Tree, node: NodeIx) -> Vec<Step<'_>> {
        let mut path = Vec::new();
        let mut at = node as usize;
        while let (Some(role), Some(node)) = (self.roles.get(at), tree.nodes.get(at)) {
            match role {
                Role::Field(key) => path.push(Step::Key(key)),
                Role::Element | Role::Mixed => path.push(Step::Element),
                Role::Root => break,
                Role::Kind | Role::Present | Role::Raw => {}
            }
            at = node.parent as usize;
        }
        path.reverse();
        path
    }
}

/// Writes the section of a group.
pub(super) fn write(tree: &Tree, roles: &[Role]) -> Vec<u8> {
    let mut out = Vec::new();
    for (node, role) in tree.nodes.iter().zip(roles) {
        match role {
            Role::Field(key) if key == node.name.as_bytes() => out.push(0),
            Role::Field(key) => {
                out.push(1);
                put_bytes(&mut out, key);
            }
            Role::Element => out.push(2),
            Role::Mixed => out.push(3),
            Role::Kind => out.push(4),
            Role::Present => out.push(5),
            Role::Raw => out.push(6),
            Role::Root => out.push(7),
        }
    }
    out
}

/// The bytes of a section.
pub(super) fn section<'a>(group: &'a Group, name: &'static str) -> Result<&'a [u8]> {
    let found = group.sections.iter().find(|(other, _)| other == name);
    found.map(|(_, bytes)| &bytes[..]).ok_or_else(|| damaged(name, "the section is missing"))
}

/// The name that other readers see for a key: without characters that they reject, and never like the name
/// of a sibling, which has a colon before its kind.
pub(super) fn visible(key: &[u8]) -> String {
    /// Bytes of a name at most.
    const LONGEST: usize = 200;

    let mut name = String::new();
    for c in String::from_utf8_lossy(key).chars() {
        if name.len() + c.len_utf8() > LONGEST {
            break;
        }
        let rejected =
            c.is_control() || matches!(c, ' ' | ',' | ';' | '{' | '}' | '(' | ')' | '=' | '\u{fffd}');
        name.push(if rejected { '_' } else { c });
    }
    let sibling = name.rsplit_once(':').is_some_and(|(_, kind)| {
        let names = KINDS.into_iter().map(Kind::name).chain([&PRESENT[1..]]);
        names.into_iter().any(|name| kind.eq_ignore_ascii_case(name))
    });
    if name.is_empty() || sibling {
        name.push('~');
    }
    name
}

/// All kinds.
pub(super) const KINDS: [Kind; Kind::COUNT] =
    [Kind::Object, Kind::List, Kind::String, Kind::Int, Kind::Double, Kind::Bool, Kind::Json];
