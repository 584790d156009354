//! Trees as text: the format of `warpath tree` and of the snapshots.
//!
//! ```text
//! line 1  bytes 0..14  5 nodes, 4 deep, 9 cells
//!   rank  parent  first  next  children  cell  bytes  node
//!      0       .      1     .         1     0  0..14  object
//!      1       0      2     .         1     2  1..4     name "a"
//!      2       1      3     .         2     4  5..13      array
//!      3       2      .     4         0     7  6..7         number 1
//!      4       2      .     .         0     8  8..12        true
//!   cells           0: 1 2 1 4 2 7 8 0 0
//! ```
//!
//! The first line has the position of the text and the counts. Then follows a row for each node, in the order
//! of the text. Its last column is indented by the depth of the node. The columns are:
//!
//! | column | contents |
//! |---|---|
//! | rank | the number of the node, which the other columns use |
//! | parent, first, next | the ranks of its parent, first child and next sibling; `.` if there is none |
//! | children | the number of its children |
//! | cell | the index of its block in the cells |
//! | bytes | the positions of its bytes, from the start of the input |
//! | node | its kind, and the first 40 characters of the text of a string, number or name |
//!
//! The cells follow, 16 a row, after the index of the first cell in the row.
//!
//! With steps, the arrays that the steps make come before the table, in rows of 16 entries. All entries have
//! the width of the widest. The cells are the last of these arrays.

use std::fmt::Display;
use std::io::{self, Write};

use warpath_shared::tree::token::TokenKind;
use warpath_shared::units::ByteOffset;

use super::{NONE, NodeKind, Tree};

/// The number of entries of an array in a row.
const ROW: usize = 16;
/// The number of characters of a node's text that are shown.
const SHOWN: usize = 40;

/// Writes one tree. `text` is its text, `offset` is the offset of the text in its input, and `line` is the
/// number of its line, from 1.
///
/// # Errors
/// The errors of the writer.
pub fn write(
    out: &mut impl Write,
    tree: &Tree,
    text: &[u8],
    offset: ByteOffset,
    line: u64,
    with_steps: bool,
) -> io::Result<()> {
    let deep = tree.nodes().iter().map(|node| node.depth + 1).max().unwrap_or(0);
    let (nodes, cells) = (counted(tree.len(), "node"), counted(tree.cells().len(), "cell"));
    let end = offset + text.len() as u64;
    writeln!(out, "line {line}  bytes {offset}..{end}  {nodes}, {deep} deep, {cells}")?;
    if with_steps {
        steps(out, tree)?;
    }
    table(out, tree, text, offset)?;
    if with_steps { Ok(()) } else { array(out, "cells", &shown(tree.cells()), 0) }
}

fn table(out: &mut impl Write, tree: &Tree, text: &[u8], offset: ByteOffset) -> io::Result<()> {
    let place = |rank: usize| {
        let node = &tree.nodes()[rank];
        format!("{}..{}", offset + u64::from(node.start), offset + u64::from(node.end))
    };
    let bytes = (0..tree.len()).map(|rank| place(rank).len()).max().unwrap_or(0).max("bytes".len());
    writeln!(out, "  rank  parent  first  next  children  cell  {:bytes$}  node", "bytes")?;
    for rank in tree.in_text_order() {
        let at = *rank as usize;
        let node = &tree.nodes()[at];
        let (parent, first, next) =
            (entry(tree.parents()[at]), entry(tree.first_children()[at]), entry(tree.next_siblings()[at]));
        let (children, cell, place) = (tree.child_counts()[at], tree.addresses()[at], place(at));
        let (indent, kind) = (2 * node.depth as usize, node.kind());
        write!(out, "  {rank:>4}  {parent:>6}  {first:>5}  {next:>4}  {children:>8}  {cell:>4}  ")?;
        write!(out, "{place:bytes$}  {:indent$}{}", "", kind.as_str())?;
        if matches!(kind, NodeKind::String | NodeKind::Number | NodeKind::Name) {
            write!(out, " {}", excerpt(&text[node.start as usize..node.end as usize]))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn steps(out: &mut impl Write, tree: &Tree) -> io::Result<()> {
    let steps = tree.steps();
    let arrays = [
        ("tokens", tree.tokens().iter().map(|kind| symbol(*kind).to_owned()).collect()),
        ("T1 node", shown(steps.before.iter().map(|before| &before.nodes))),
        ("T1 depth", shown(steps.before.iter().map(|before| &before.depth))),
        ("T2 depth", shown(&steps.depth)),
        ("T3 rank", shown(&steps.rank)),
        ("T4 first of", entries(&steps.first_of)),
        ("T5 parent", entries(&steps.parent)),
        ("T5 count", shown(&steps.count)),
        ("T6 children", shown(&steps.children)),
        ("T7 address", shown(&steps.address)),
        ("T8 cells", shown(&steps.cells)),
    ];
    let width = arrays.iter().flat_map(|(_, entries)| entries).map(String::len).max().unwrap_or(0);
    for (name, entries) in &arrays {
        array(out, name, entries, width)?;
    }
    Ok(())
}

/// Writes an array, [`ROW`] entries a row, with its name before the first row.
fn array(out: &mut impl Write, name: &str, entries: &[String], width: usize) -> io::Result<()> {
    for (row, entries) in entries.chunks(ROW).enumerate() {
        write!(out, "  {:<11} {:>5}:", if row == 0 { name } else { "" }, row * ROW)?;
        for entry in entries {
            write!(out, " {entry:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn shown<'a, T: Display + 'a>(values: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    values.into_iter().map(ToString::to_string).collect()
}

fn entries(values: &[u32]) -> Vec<String> {
    values.iter().map(|value| entry(*value)).collect()
}

fn entry(value: u32) -> String {
    if value == NONE { ".".to_owned() } else { value.to_string() }
}

/// The symbol of a token, four characters at most.
fn symbol(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::OpenObject => "{",
        TokenKind::OpenArray => "[",
        TokenKind::CloseObject => "}",
        TokenKind::CloseArray => "]",
        TokenKind::Colon => ":",
        TokenKind::Comma => ",",
        TokenKind::String => "str",
        TokenKind::Name => "name",
        TokenKind::Number => "num",
        TokenKind::True => "true",
        TokenKind::False => "fals",
        TokenKind::Null => "null",
        TokenKind::Other | TokenKind::Edge => "?",
    }
}

/// The start of a text on one line, with a mark if the text is longer.
fn excerpt(text: &[u8]) -> String {
    // A character has at most four bytes, so later bytes are never shown.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * (SHOWN + 1))]);
    let char = |c: char| match c {
        '\n' => '⏎',
        '\r' => '␍',
        '\t' => '␉',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let mut shown: String = text.chars().take(SHOWN).map(char).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
