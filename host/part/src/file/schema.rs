//! The schema of Parquet for a tree of columns.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type};

use super::error::Error;
use crate::group::{Layout, NodeIx, Tree};

/// The greatest number of nodes on the way from the root. Walks of a schema in the library for Parquet are
/// recursive.
pub(super) const MAX_DEPTH: u32 = 100;
/// The greatest number of nodes of a tree.
pub(super) const MAX_NODES: usize = 1 << 16;
/// The name of the only child of a list.
const ELEMENT: &str = "element";

/// A tree as a schema of Parquet. Its leaves have another order there.
pub(super) struct Schema {
    /// The schema.
    pub descriptor: SchemaDescPtr,
    /// The leaf of each column of the schema.
    pub leaves: Vec<NodeIx>,
    /// The column of the schema for each node; [`u32::MAX`] if the node is no leaf.
    columns: Vec<u32>,
}

/// Checks that a tree is a schema: parents before children, unique names, one child for a list.
pub(super) fn check(tree: &Tree) -> Result<(), String> {
    let Some(root) = tree.nodes.first() else { return Err("it has no root".into()) };
    if root.layout != Layout::Struct || root.parent != 0 {
        return Err("its root is not a struct that is its own parent".into());
    }
    if tree.nodes.len() > MAX_NODES {
        return Err(format!("it has {} nodes; at most {MAX_NODES} are possible", tree.nodes.len()));
    }
    let mut depths = vec![0_u32; tree.nodes.len()];
    let mut has_child = vec![false; tree.nodes.len()];
    let mut names = HashSet::with_capacity_and_hasher(tree.nodes.len(), RandomState::default());
    for (index, node) in tree.nodes.iter().enumerate().skip(1) {
        let parent = node.parent as usize;
        if parent >= index {
            return Err(format!("node {index} comes before its parent {parent}"));
        }
        depths[index] = depths[parent] + 1;
        if depths[index] > MAX_DEPTH {
            return Err(format!("node {index} is deeper than {MAX_DEPTH} levels"));
        }
        match tree.nodes[parent].layout {
            Layout::Struct => {}
            Layout::List if has_child[parent] => return Err(format!("list {parent} has two children")),
            Layout::List if node.name == ELEMENT => {}
            Layout::List => return Err(format!("the child of list {parent} is not named `{ELEMENT}`")),
            _ => return Err(format!("leaf {parent} has a child")),
        }
        has_child[parent] = true;
        if !names.insert((node.parent, node.name.to_lowercase())) {
            return Err(format!("node {parent} has two children named `{}`, if case is ignored", node.name));
        }
    }
    Ok(())
}

/// Checks that each struct and list among the first `nodes` nodes has a child there. Parquet has no empty
/// ones.
pub(super) fn check_children(tree: &Tree, nodes: u32) -> Result<(), String> {
    let prefix = &tree.nodes[..nodes as usize];
    let mut has_child = vec![false; prefix.len()];
    for node in prefix.iter().skip(1) {
        has_child[node.parent as usize] = true;
    }
    let empty = (1..prefix.len()).find(|index| is_group(prefix[*index].layout) && !has_child[*index]);
    match empty {
        None => Ok(()),
        Some(index) => Err(format!("node {index}, `{}`, has no child", prefix[index].name)),
    }
}

/// True for structs and lists.
pub(super) fn is_group(layout: Layout) -> bool {
    matches!(layout, Layout::Struct | Layout::List)
}

fn leaf(name: &str, layout: Layout) -> Result<Type, Error> {
    let (physical, logical) = match layout {
        Layout::Boolean => (Physical::BOOLEAN, None),
        Layout::Int => (Physical::INT64, None),
        Layout::Double => (Physical::DOUBLE, None),
        // With the logical type JSON, Polars 2.1 reads bytes in place of text.
        Layout::String | Layout::Json => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Layout::Bytes | Layout::Struct | Layout::List => (Physical::BYTE_ARRAY, None),
    };
    let builder = Type::primitive_type_builder(name, physical);
    Ok(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?)
}

fn list(name: &str, fields: Vec<Arc<Type>>) -> Result<Type, Error> {
    let repeated = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let repeated = repeated.with_fields(fields).build()?;
    let outer = Type::group_type_builder(name).with_repetition(Repetition::OPTIONAL);
    let outer = outer.with_converted_type(ConvertedType::LIST).with_logical_type(Some(LogicalType::List));
    Ok(outer.with_fields(vec![Arc::new(repeated)]).build()?)
}

impl Schema {
    /// The schema of a tree for which [`check`] and [`check_children`] hold.
    pub fn of(tree: &Tree) -> Result<Self, Error> {
        // A node comes after its parent, so from the last node on, all children are built before the parent.
        let mut fields: Vec<Vec<Arc<Type>>> = vec![Vec::new(); tree.nodes.len()];
        let mut children: Vec<Vec<NodeIx>> = vec![Vec::new(); tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate().skip(1).rev() {
            let mut own = std::mem::take(&mut fields[index]);
            own.reverse();
            let built = match node.layout {
                Layout::Struct => {
                    let group = Type::group_type_builder(&node.name).with_repetition(Repetition::OPTIONAL);
                    group.with_fields(own).build()?
                }
                Layout::List => list(&node.name, own)?,
                layout => leaf(&node.name, layout)?,
            };
            fields[node.parent as usize].push(Arc::new(built));
            children[node.parent as usize].push(index as NodeIx);
        }
        let mut own = fields.swap_remove(0);
        own.reverse();
        let root = Type::group_type_builder("schema").with_fields(own).build()?;
        let descriptor = Arc::new(SchemaDescriptor::new(Arc::new(root)));
        let mut leaves = Vec::with_capacity(descriptor.num_columns());
        let mut columns = vec![u32::MAX; tree.nodes.len()];
        // Children are in descending order, so the first one is on top of the stack.
        let mut stack = children[0].clone();
        while let Some(node) = stack.pop() {
            if is_group(tree.nodes[node as usize].layout) {
                stack.extend_from_slice(&children[node as usize]);
            } else {
                columns[node as usize] = leaves.len() as u32;
                leaves.push(node);
            }
        }
        Ok(Self { descriptor, leaves, columns })
    }

    /// The column of a leaf.
    pub fn column(&self, leaf: NodeIx) -> Option<usize> {
        self.columns.get(leaf as usize).filter(|column| **column != u32::MAX).map(|column| *column as usize)
    }
}
