//! Trees by recursive descent, and the arrays of a tree by a queue.

use std::collections::VecDeque;

use warpath::TreeFaultKind;
use warpath_cpu::tree::{NONE, NodeKind, Tree, TreeFault};
use warpath_shared::check::FaultKind;
use warpath_shared::units::MAX_DEPTH;

use super::index;

/// A node with its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The kind of the node.
    pub kind: NodeKind,
    /// Its first byte.
    pub start: usize,
    /// One past its last.
    pub end: usize,
    /// Its children, in order.
    pub children: Vec<Node>,
}

/// The compared arrays of a tree. Each but `cells` has one entry per node, breadth first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrays {
    /// Kind, start, end, depth.
    pub nodes: Vec<(NodeKind, usize, usize, usize)>,
    /// Parents.
    pub parent: Vec<u32>,
    /// First children.
    pub first_child: Vec<u32>,
    /// The next sibling of each node.
    pub next_sibling: Vec<u32>,
    /// The number of children.
    pub children: Vec<u32>,
    /// The offset of each node's block in `cells`.
    pub address: Vec<u32>,
    /// The blocks.
    pub cells: Vec<u32>,
    /// The nodes in the order of the text.
    pub text_order: Vec<u32>,
}

/// Makes the arrays of the tree below a node, or of no node.
pub fn arrays(root: Option<&Node>) -> Arrays {
    let mut out = Arrays::default();
    let mut queue: VecDeque<(&Node, usize, u32)> = root.map(|root| (root, 0, NONE)).into_iter().collect();
    let mut length = 0;
    // The rank of a child is the number of nodes that entered the queue before it.
    let mut queued = queue.len() as u32;
    while let Some((node, depth, parent)) = queue.pop_front() {
        let rank = out.nodes.len() as u32;
        out.nodes.push((node.kind, node.start, node.end, depth));
        out.parent.push(parent);
        out.children.push(node.children.len() as u32);
        out.first_child.push(if node.children.is_empty() { NONE } else { queued });
        let next_is_sibling = queue.front().is_some_and(|(_, _, next)| *next == parent && parent != NONE);
        out.next_sibling.push(if next_is_sibling { rank + 1 } else { NONE });
        out.address.push(length);
        length += 1 + node.children.len() as u32;
        for child in &node.children {
            queue.push_back((child, depth + 1, rank));
            queued += 1;
        }
    }
    for (rank, children) in out.children.iter().enumerate() {
        out.cells.push(*children);
        for child in 0..*children {
            out.cells.push(out.address[(out.first_child[rank] + child) as usize]);
        }
    }
    // A node comes before all nodes that begin after it. No two nodes begin at the same byte.
    let mut order: Vec<u32> = (0..out.nodes.len() as u32).collect();
    order.sort_by_key(|rank| out.nodes[*rank as usize].1);
    out.text_order = order;
    out
}

/// The arrays of a tree under test.
pub fn arrays_of(tree: &Tree) -> Arrays {
    let node = |node: &warpath_cpu::tree::Node| {
        (node.kind(), node.start as usize, node.end as usize, node.depth as usize)
    };
    Arrays {
        nodes: tree.nodes().iter().map(node).collect(),
        parent: tree.parents().to_vec(),
        first_child: tree.first_children().to_vec(),
        next_sibling: tree.next_siblings().to_vec(),
        children: tree.child_counts().to_vec(),
        address: tree.addresses().to_vec(),
        cells: tree.cells().to_vec(),
        text_order: tree.in_text_order().to_vec(),
    }
}

type Read<T> = Result<T, TreeFault>;

fn fault<T>(kind: TreeFaultKind, at: usize) -> Read<T> {
    Err(TreeFault { kind, at })
}

/// The tree of a string of brackets, or its first fault.
pub fn brackets(text: &[u8]) -> Read<Option<Node>> {
    let mut parser = TreeParser { text, at: 0 };
    let root = match parser.peek() {
        None => return Ok(None),
        Some(_) => parser.bracket(0)?,
    };
    match parser.peek() {
        None => Ok(Some(root)),
        Some(b'{' | b'[') => fault(TreeFaultKind::Record(FaultKind::SecondRoot), parser.at),
        Some(b'}' | b']') => fault(TreeFaultKind::Record(FaultKind::UnopenedContainer), parser.at),
        Some(_) => fault(TreeFaultKind::NotABracket, parser.at),
    }
}

/// The tree of a record on one line, or its first fault. Faults that the oracle of the index finds come
/// before all others.
pub fn json(line: &[u8]) -> Read<Option<Node>> {
    assert!(!line.contains(&b'\n'));
    if let Some(found) = index::index(line, 0).faults.first() {
        return fault(TreeFaultKind::Record(found.fault.kind), found.fault.at);
    }
    let mut parser = TreeParser { text: line, at: 0 };
    if parser.peek().is_none() {
        return Ok(None);
    }
    let root = parser.value()?;
    match parser.peek() {
        None => Ok(Some(root)),
        Some(_) => fault(TreeFaultKind::Record(FaultKind::SecondRoot), parser.at),
    }
}

struct TreeParser<'a> {
    text: &'a [u8],
    at: usize,
}

impl TreeParser<'_> {
    /// Skips white space and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Reads a pair of brackets and the pairs inside.
    fn bracket(&mut self, depth: usize) -> Read<Node> {
        let start = self.at;
        let (kind, close) = match self.text[start] {
            b'[' => (NodeKind::Array, b']'),
            b'{' => (NodeKind::Object, b'}'),
            b']' | b'}' => return fault(TreeFaultKind::Record(FaultKind::UnopenedContainer), start),
            _ => return fault(TreeFaultKind::NotABracket, start),
        };
        if depth == MAX_DEPTH {
            return fault(TreeFaultKind::Record(FaultKind::TooDeep), start);
        }
        self.at += 1;
        let mut children = Vec::new();
        loop {
            match self.peek() {
                None => return fault(TreeFaultKind::Record(FaultKind::UnclosedContainer), start),
                Some(byte) if byte == close => break,
                Some(b']' | b'}') => {
                    return fault(TreeFaultKind::Record(FaultKind::MismatchedBracket), self.at);
                }
                Some(_) => children.push(self.bracket(depth + 1)?),
            }
        }
        self.at += 1;
        Ok(Node { kind, start, end: self.at, children })
    }

    fn value(&mut self) -> Read<Node> {
        let byte = self.peek();
        let start = self.at;
        let (kind, children) = match byte {
            None | Some(b',' | b':' | b']' | b'}') => return fault(TreeFaultKind::NoValue, start),
            Some(b'{') => (NodeKind::Object, self.members()?),
            Some(b'[') => (NodeKind::Array, self.elements()?),
            Some(b'"') => {
                self.string();
                let end = self.at;
                if self.peek() == Some(b':') {
                    return fault(TreeFaultKind::NameAsValue, start);
                }
                self.at = end;
                (NodeKind::String, Vec::new())
            }
            Some(_) => (self.scalar()?, Vec::new()),
        };
        Ok(Node { kind, start, end: self.at, children })
    }

    fn elements(&mut self) -> Read<Vec<Node>> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.peek() != Some(b']') {
            elements.push(self.value()?);
            while self.comma(b']')? {
                elements.push(self.value()?);
            }
        }
        self.at += 1;
        Ok(elements)
    }

    fn members(&mut self) -> Read<Vec<Node>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.peek() != Some(b'}') {
            members.push(self.member()?);
            while self.comma(b'}')? {
                members.push(self.member()?);
            }
        }
        self.at += 1;
        Ok(members)
    }

    fn member(&mut self) -> Read<Node> {
        if self.peek() != Some(b'"') {
            return fault(TreeFaultKind::NoName, self.at);
        }
        let start = self.at;
        self.string();
        let end = self.at;
        if self.peek() != Some(b':') {
            return fault(TreeFaultKind::NoColon, start);
        }
        self.at += 1;
        Ok(Node { kind: NodeKind::Name, start, end, children: vec![self.value()?] })
    }

    /// Returns true if a comma follows, and reads the comma. Returns false if the bracket `close` follows.
    fn comma(&mut self, close: u8) -> Read<bool> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => Ok(false),
            Some(b':') => fault(TreeFaultKind::StrayColon, self.at),
            _ => fault(TreeFaultKind::NoComma, self.at),
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while self.text[self.at] != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }

    fn scalar(&mut self) -> Read<NodeKind> {
        let start = self.at;
        let mut backslashes = 0;
        while let Some(byte) = self.text.get(self.at) {
            let escaped = backslashes % 2 == 1;
            let ends = b" \t\r\n,:[]{}".contains(byte) || *byte == b'"' && !escaped;
            if ends {
                break;
            }
            backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
            self.at += 1;
        }
        match &self.text[start..self.at] {
            b"true" => Ok(NodeKind::True),
            b"false" => Ok(NodeKind::False),
            b"null" => Ok(NodeKind::Null),
            [b'-' | b'0'..=b'9', ..] => Ok(NodeKind::Number),
            _ => fault(TreeFaultKind::NotAValue, start),
        }
    }
}
