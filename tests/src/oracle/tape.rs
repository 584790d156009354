//! The trees of a text's lines, by the sequential builder, from tokens that are found byte by byte.

use warpath_cpu::tree::line_fault;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::tree::tape::{Builder, Line, Tape, TapeIx, TapeNode};

/// The trees of all lines.
#[derive(Debug, Default)]
pub struct Trees {
    /// The nodes. Nodes that the builder never put are zero.
    pub nodes: Vec<TapeNode>,
    /// The first node of each line, and the number of nodes at the end.
    pub roots: Vec<TapeIx>,
    /// For each line, true if the check of all records or the builder finds a fault.
    pub faulty: Vec<bool>,
}

struct Nodes<'a>(&'a mut Vec<TapeNode>);

impl Tape for Nodes<'_> {
    fn node(&self, at: TapeIx) -> TapeNode {
        self.0[at as usize]
    }
    fn put(&mut self, at: TapeIx, node: TapeNode) {
        self.0.resize(at as usize, TapeNode::default());
        self.0.push(node);
    }
    fn set_next(&mut self, at: TapeIx, next: TapeIx) {
        self.0[at as usize].next = next;
    }
    fn set_end(&mut self, at: TapeIx, end: u32) {
        self.0[at as usize].end = end;
    }
    fn set_named(&mut self, at: TapeIx) {
        self.0[at as usize] = self.0[at as usize].named();
    }
}

/// Marks each quote of a line that no backslash escapes, inside strings and outside.
fn quotes(line: &[u8]) -> Vec<bool> {
    let mut escaped = false;
    let quote = |byte: &u8| {
        let found = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        found
    };
    line.iter().map(quote).collect()
}

/// One past the last byte of the token that begins at `at`.
fn end_of(line: &[u8], quotes: &[bool], at: usize) -> usize {
    let single = |at: usize| b"{}[]:,".contains(&line[at]);
    let rest = at + 1..line.len();
    if quotes[at] {
        rest.clone().find(|at| quotes[*at]).map_or(line.len(), |end| end + 1)
    } else if single(at) {
        at + 1
    } else {
        let ends = |at: &usize| quotes[*at] || single(*at) || is_whitespace(line[*at]);
        rest.clone().find(ends).unwrap_or(line.len())
    }
}

/// Builds the trees of a text.
pub fn trees(text: &[u8]) -> Trees {
    let mut trees = Trees { roots: vec![0], ..Trees::default() };
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let mut builder = Builder::at_line(*trees.roots.last().expect("the first"));
        let (mut at, quotes) = (0, quotes(line));
        while at < line.len() {
            if is_whitespace(line[at]) {
                at += 1;
                continue;
            }
            let end = end_of(line, &quotes, at);
            let place = |at: usize| (start + at) as u32;
            builder.token(&mut Nodes(&mut trees.nodes), place(at), line[at], place(end));
            at = end;
        }
        trees.roots.push(builder.next);
        trees.nodes.resize(builder.next as usize, TapeNode::default());
        let found = builder.end_line() == Line::Faulty;
        // The rule for a line must find every fault that the builder finds.
        let fault = line_fault(line);
        assert!(fault.is_some() || !found, "{}", line.escape_ascii());
        trees.faulty.push(found || warpath_shared::check::diagnose(line).is_some());
        start += line.len();
    }
    trees
}
