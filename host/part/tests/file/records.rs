//! Random trees and records, and their columns by the definition of Dremel's levels: the oracle of the tests.

use warpath_part::group::{Column, Group, Layout, Node, NodeIx, Strings, Tree, Values};
use warpath_random::Rng;

/// The value of a node in a record.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Struct(Vec<(NodeIx, Value)>),
    List(Vec<Value>),
    Boolean(bool),
    Int(i64),
    Double(f64),
    Bytes(Vec<u8>),
}

pub fn tree() -> Tree {
    Tree { nodes: vec![Node { parent: 0, name: String::new(), layout: Layout::Struct }] }
}

/// Appends a node.
pub fn add(tree: &mut Tree, parent: NodeIx, name: &str, layout: Layout) -> NodeIx {
    tree.nodes.push(Node { parent, name: name.into(), layout });
    (tree.nodes.len() - 1) as NodeIx
}

fn children(tree: &Tree, parent: NodeIx) -> Vec<NodeIx> {
    let all = tree.nodes.iter().enumerate().skip(1);
    all.filter(|(_, node)| node.parent == parent).map(|(index, _)| index as NodeIx).collect()
}

/// Appends a random node, with the nodes below it.
fn grow_at(tree: &mut Tree, rng: &mut Rng, parent: NodeIx, name: &str, depth: usize) {
    let groups = [Layout::Struct, Layout::List];
    let leaves = [Layout::Boolean, Layout::Int, Layout::Double, Layout::String, Layout::Json, Layout::Bytes];
    let is_group = depth < 4 && rng.below(2) == 0;
    let layout = if is_group { rng.pick(&groups) } else { rng.pick(&leaves) };
    let node = add(tree, parent, name, layout);
    match layout {
        Layout::Struct => (0..1 + rng.below(3)).for_each(|_| grow(tree, rng, node, depth + 1)),
        Layout::List => grow_at(tree, rng, node, "element", depth + 1),
        _ => {}
    }
}

fn grow(tree: &mut Tree, rng: &mut Rng, parent: NodeIx, depth: usize) {
    // The number of the node makes the name unique. Dots and capitals are allowed in it.
    let name = format!("{}{}", rng.pick(&["a", "B.b", "ä ", "list"]), tree.nodes.len());
    grow_at(tree, rng, parent, &name, depth);
}

/// Appends random nodes to random structs.
pub fn grow_anywhere(tree: &mut Tree, rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        let structs: Vec<NodeIx> = (0..tree.nodes.len() as NodeIx)
            .filter(|node| tree.nodes[*node as usize].layout == Layout::Struct)
            .collect();
        let parent = rng.pick(&structs);
        let mut depth = 0;
        let mut node = parent;
        while node != 0 {
            node = tree.nodes[node as usize].parent;
            depth += 1;
        }
        grow(tree, rng, parent, depth);
    }
}

fn bytes(rng: &mut Rng) -> Vec<u8> {
    match rng.below(4) {
        0 => Vec::new(),
        1 => format!("https://example.org/{}", rng.below(30)).into_bytes(),
        2 => "ß🦀".repeat(rng.below(5)).into_bytes(),
        _ => format!("{:x}", rng.next_u64()).into_bytes(),
    }
}

/// A random value of a node; `nulls` in 8 are null.
pub fn value(tree: &Tree, rng: &mut Rng, node: NodeIx, nulls: usize) -> Value {
    if rng.below(8) < nulls {
        return Value::Null;
    }
    match tree.nodes[node as usize].layout {
        Layout::Struct => {
            let fields = children(tree, node).into_iter();
            Value::Struct(fields.map(|child| (child, value(tree, rng, child, nulls))).collect())
        }
        Layout::List => {
            let element = children(tree, node)[0];
            let len = rng.pick(&[0, 1, 2, 5]);
            Value::List((0..len).map(|_| value(tree, rng, element, nulls)).collect())
        }
        Layout::Boolean => Value::Boolean(rng.below(2) == 0),
        Layout::Int => Value::Int(rng.pick(&[0, -1, i64::MAX, i64::MIN, rng.clone().below(100) as i64])),
        Layout::Double => Value::Double(rng.pick(&[0.5, -1e300, 3.25, rng.clone().below(1000) as f64])),
        Layout::Bytes => Value::Bytes(if rng.below(2) == 0 { vec![0xff, 0] } else { bytes(rng) }),
        Layout::String | Layout::Json => Value::Bytes(bytes(rng)),
    }
}

/// A random record.
pub fn record(tree: &Tree, rng: &mut Rng, nulls: usize) -> Value {
    let fields = children(tree, 0).into_iter();
    Value::Struct(fields.map(|child| (child, value(tree, rng, child, nulls))).collect())
}

pub fn no_values(layout: Layout) -> Values {
    match layout {
        Layout::Boolean => Values::Boolean(Vec::new()),
        Layout::Int => Values::Int(Vec::new()),
        Layout::Double => Values::Double(Vec::new()),
        _ => Values::Bytes(Strings::default()),
    }
}

struct Shredder<'a> {
    tree: &'a Tree,
    nodes: u32,
    columns: Vec<Column>,
}

impl Shredder<'_> {
    fn children(&self, node: NodeIx) -> Vec<NodeIx> {
        let mut all = children(self.tree, node);
        all.retain(|child| *child < self.nodes);
        all
    }

    fn emit(&mut self, node: NodeIx, levels: (i16, i16)) -> Option<&mut Column> {
        let has_lists = self.tree.levels(node).1 > 0;
        let column = self.columns.iter_mut().find(|column| column.node == node)?;
        column.definitions.push(levels.0);
        if has_lists {
            column.repetitions.push(levels.1);
        }
        Some(column)
    }

    /// Adds an entry without a value to all leaves at or below a node.
    fn stop(&mut self, node: NodeIx, levels: (i16, i16)) {
        if self.emit(node, levels).is_none() {
            self.children(node).into_iter().for_each(|child| self.stop(child, levels));
        }
    }

    fn add(&mut self, node: NodeIx, value: &Value, (definition, repetition): (i16, i16)) {
        match value {
            Value::Null => self.stop(node, (definition, repetition)),
            Value::Struct(fields) => self.fields(node, fields, (definition + 1, repetition)),
            Value::List(elements) if elements.is_empty() => self.stop(node, (definition + 1, repetition)),
            Value::List(elements) => {
                let element = self.children(node)[0];
                let own = self.tree.levels(node).1;
                for (index, value) in elements.iter().enumerate() {
                    self.add(element, value, (definition + 2, if index == 0 { repetition } else { own }));
                }
            }
            leaf => {
                let Some(column) = self.emit(node, (definition + 1, repetition)) else { return };
                match (&mut column.values, leaf) {
                    (Values::Boolean(values), Value::Boolean(value)) => values.push(*value),
                    (Values::Int(values), Value::Int(value)) => values.push(*value),
                    (Values::Double(values), Value::Double(value)) => values.push(*value),
                    (Values::Bytes(strings), Value::Bytes(value)) => {
                        strings.bytes.extend_from_slice(value);
                        strings.ends.push(strings.bytes.len() as u32);
                    }
                    _ => panic!("{leaf:?} is no value of node {node}"),
                }
            }
        }
    }

    fn fields(&mut self, node: NodeIx, fields: &[(NodeIx, Value)], levels: (i16, i16)) {
        for child in self.children(node) {
            let value =
                fields.iter().find(|(field, _)| *field == child).map_or(&Value::Null, |(_, value)| value);
            self.add(child, value, levels);
        }
    }
}

/// The group of records for the first `nodes` nodes of a tree.
pub fn group(tree: &Tree, nodes: u32, records: &[Value]) -> Group {
    let columns = tree.leaves(nodes).map(|node| {
        let values = no_values(tree.nodes[node as usize].layout);
        Column { node, values, ..Column::default() }
    });
    let mut shredder = Shredder { tree, nodes, columns: columns.collect() };
    for record in records {
        let Value::Struct(fields) = record else { panic!("a record is a struct") };
        shredder.fields(0, fields, (0, 0));
    }
    let rows = records.len() as u32;
    Group { rows, columns: shredder.columns, nodes, ..Group::default() }
}
