//! Compares a device's trees with those of the sequential builder, and with those of recursive descent.

use anyhow::{Context, Result, ensure};
use warpath_cpu::tree::{NONE, NodeKind, line_fault};
use warpath_device::{Accelerator, HostTrees, Pipeline, TreeCut};
use warpath_shared::tree::tape::TapeNode;
use warpath_shared::units::MAX_DEPTH;

use crate::data::{BOUNDARY_LINES, FILES};
use crate::oracle;
use crate::random::{self, Rng};

/// Ways to cut lines: the default; all lines, in words; and long pieces.
pub const CUTS: [TreeCut; 3] = [
    TreeCut { longest: 16 << 10, piece: 2 << 10 },
    TreeCut { longest: 0, piece: 64 },
    TreeCut { longest: 200, piece: 192 },
];

fn show(text: &[u8]) -> String {
    format!("{} bytes: {}", text.len(), text[..text.len().min(400)].escape_ascii())
}

/// Compares the trees of a text with the oracle's.
///
/// # Errors
/// A difference, or an error of the device.
pub fn check<A: Accelerator>(pipeline: &Pipeline<A>, text: &[u8], cuts: &[TreeCut]) -> Result<()> {
    let want = oracle::tape::trees(text);
    for cut in cuts {
        let got = pipeline.trees(text, *cut)?;
        compare(text, &got, &want).with_context(|| format!("{cut:?} of {}", show(text)))?;
    }
    Ok(())
}

/// Compares trees with the oracle's, and those of good lines also with the trees of recursive descent.
///
/// # Errors
/// A difference.
pub fn compare(text: &[u8], got: &HostTrees, want: &oracle::tape::Trees) -> Result<()> {
    ensure!(got.roots == want.roots, "roots {:?}, not {:?}", got.roots, want.roots);
    ensure!(got.nodes.len() == want.nodes.len(), "{} nodes, not {}", got.nodes.len(), want.nodes.len());
    let mut faults = got.faults.iter().peekable();
    let mut start = 0;
    for (i, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let fault = faults.next_if(|fault| fault.line as usize == i);
        let shown = || format!("line {i}, {}", show(line));
        ensure!(fault.is_some() == want.faulty[i], "fault {fault:?} of {}", shown());
        ensure!(fault.is_none_or(|fault| Some(fault.fault) == line_fault(line)), "{fault:?} of {}", shown());
        if !want.faulty[i] {
            let of = want.roots[i] as usize..want.roots[i + 1] as usize;
            for node in of.clone() {
                let (got, want) = (got.nodes[node], want.nodes[node]);
                ensure!(got == want, "node {node} is {got:?}, not {want:?}, of {}", shown());
            }
            by_descent(line, start, (&got.nodes[of.clone()], of.start)).with_context(shown)?;
        }
        start += line.len();
    }
    ensure!(faults.next().is_none(), "faults {:?}", got.faults);
    Ok(())
}

/// Compares the nodes of a line with the tree that the oracle reads. The first node has number `first`.
fn by_descent(line: &[u8], start: usize, (nodes, first): (&[TapeNode], usize)) -> Result<()> {
    // The oracle refuses tokens that are not JSON values; the tape does not check them.
    let Ok(root) = oracle::tree::json(line.strip_suffix(b"\n").unwrap_or(line)) else { return Ok(()) };
    let tree = oracle::tree::arrays(root.as_ref());
    ensure!(tree.nodes.len() == nodes.len(), "{} nodes, not {}", nodes.len(), tree.nodes.len());
    let mut in_text = vec![0; nodes.len()];
    for (node, rank) in tree.text_order.iter().enumerate() {
        in_text[*rank as usize] = node;
    }
    let place = |rank: u32| if rank == NONE { NONE } else { (first + in_text[rank as usize]) as u32 };
    for (at, (node, rank)) in nodes.iter().zip(&tree.text_order).enumerate() {
        let (kind, from, to, _) = tree.nodes[*rank as usize];
        let span = ((start + from) as u32, (start + to) as u32);
        ensure!((node.start(), node.end) == span, "node {at}: {node:?} at {span:?}");
        ensure!(node.up() == place(tree.parent[*rank as usize]), "node {at} is in {}", node.up());
        let kinds = (node.is_object(), node.is_array(), node.is_name());
        let want = (kind == NodeKind::Object, kind == NodeKind::Array, kind == NodeKind::Name);
        ensure!(kinds == want, "node {at}: {node:?} is {kind:?}");
        // The node after this one and its descendants: its next sibling, or the next sibling of the nearest
        // ancestor that has one.
        let mut up = *rank;
        while up != NONE && tree.next_sibling[up as usize] == NONE {
            up = tree.parent[up as usize];
        }
        let next =
            if up == NONE { (first + nodes.len()) as u32 } else { place(tree.next_sibling[up as usize]) };
        ensure!(node.next == next, "behind node {at} is {}, not {next}", node.next);
    }
    Ok(())
}

/// Checks the files of `tests/data`.
///
/// # Errors
/// A difference, or an error of the device.
pub fn files<A: Accelerator>(pipeline: &Pipeline<A>) -> Result<()> {
    for (name, text) in FILES {
        check(pipeline, text, &CUTS).with_context(|| name.to_owned())?;
    }
    Ok(())
}

/// Moves a text across the offsets of a word, in steps. The text has all hand-written lines, and tokens far
/// from each other.
///
/// # Errors
/// A difference, or an error of the device.
pub fn slide<A: Accelerator>(pipeline: &Pipeline<A>, step: usize) -> Result<()> {
    for shift in (0..64).step_by(step) {
        let mut text = format!("{}{}\r\n\r\n", " ".repeat(shift), BOUNDARY_LINES.join("\n"));
        for gap in [0, 1, 60, 64, 130] {
            let gap = " ".repeat(gap);
            for line in [
                format!(
                    "{{\"name\"{gap}:{gap}1{gap},{gap}\"other\":{gap}{{{gap}\"a\":{gap}[{gap}]{gap}}}{gap}}}"
                ),
                format!("[\"{}\"{gap},{gap}\"x\"{gap}:1]", "long ".repeat(shift)),
                format!("{gap}\"{}\"{gap}", "root \\\" ".repeat(shift)),
                format!("{gap}:{gap}{{}}"),
                format!("{gap}{gap}12{gap}"),
                format!("[1{gap}2]"),
                format!("[1,{gap}]"),
                format!("{{\"a\":{gap}}}"),
                format!("{{\"a\"{gap},\"b\":2}}"),
            ] {
                text.push_str(&line);
                text.push('\n');
            }
        }
        // The last line has no newline.
        text.push_str("{\"last\":[1,2]}");
        check(pipeline, text.as_bytes(), &CUTS).with_context(|| format!("shift {shift}"))?;
    }
    Ok(())
}

/// Checks random JSON, the same with bytes changed, and random bytes.
///
/// # Errors
/// A difference, or an error of the device.
pub fn random<A: Accelerator>(pipeline: &Pipeline<A>, rounds: usize, bytes: usize, seed: u64) -> Result<()> {
    for round in 0..rounds {
        let rng = &mut Rng::new(seed + round as u64);
        let text = match round % 4 {
            0 => random::json(rng, bytes),
            1 => {
                let mut text = random::json(rng, bytes);
                random::mutate(rng, &mut text, 1 + bytes / 300);
                text
            }
            2 => random::bytes(rng, bytes),
            _ => random::long_record(rng, bytes, round % 8 == 3).into_bytes(),
        };
        check(pipeline, &text, &CUTS).with_context(|| format!("seed {}", seed + round as u64))?;
    }
    Ok(())
}

/// A JSON text of nested random arrays, with `brackets` opening brackets and at most [`MAX_DEPTH`] deep.
pub fn brackets(rng: &mut Rng, brackets: usize) -> Vec<u8> {
    let (mut text, mut depth, mut left, mut bits) = (vec![b'['], 1, brackets - 1, 0);
    let mut after_open = true;
    while depth > 0 {
        bits = if bits > 1 { bits >> 1 } else { rng.next_u64() | 1 << 63 };
        // All open brackets are closed at the end. The root is not closed before.
        if left > 0 && (depth == 1 || bits & 1 == 1 && depth < MAX_DEPTH) {
            if !after_open {
                text.push(b',');
            }
            text.push(b'[');
            (depth, left, after_open) = (depth + 1, left - 1, true);
        } else {
            text.push(b']');
            (depth, after_open) = (depth - 1, false);
        }
    }
    text
}

/// Checks long lines: brackets, and containers that begin far before their ends, with the depth at its limit.
///
/// # Errors
/// A difference, or an error of the device.
pub fn long_lines<A: Accelerator>(pipeline: &Pipeline<A>, bytes: usize) -> Result<()> {
    let rng = &mut Rng::new(17);
    let mut text = b"{\"a\":1}\n".to_vec();
    text.extend(brackets(rng, bytes / 3));
    text.extend_from_slice(b"\n\n");
    for deep in [MAX_DEPTH, MAX_DEPTH + 1] {
        text.extend_from_slice(&b"[{\"name\": ".repeat(deep / 2));
        text.extend_from_slice(if deep % 2 == 0 { b"1" } else { b"[]" });
        text.extend_from_slice(&b"}]".repeat(deep / 2));
        text.push(b'\n');
    }
    text.extend_from_slice(b"{\"first\":[[{\"a\":[");
    while text.len() < 3 * bytes {
        text.extend_from_slice(b"{\"b\":\"some text, {[ and \\\"more\\\"\",\"c\":[1,2.5,null]},\"text\",");
    }
    text.extend_from_slice(b"\"a long string ");
    text.extend(std::iter::repeat_n(b'.', bytes));
    text.extend_from_slice(b"\"]}]]}\n[2]");
    check(pipeline, &text, &CUTS[..1])?;
    // The same without the object's end.
    text.truncate(text.len() - 5);
    check(pipeline, &text, &[TreeCut { longest: 1000, piece: 512 }])
}

/// Checks all lines of at most `tokens` tokens, in one text. A container that a line leaves open must not be
/// open in the next line.
///
/// # Errors
/// A difference, or an error of the device.
pub fn short_lines<A: Accelerator>(pipeline: &Pipeline<A>, tokens: u32) -> Result<()> {
    const TOKENS: [&str; 8] = ["{", "}", "[", "]", ":", ",", "\"a\"", "1"];
    let mut text = String::new();
    for len in 0..=tokens {
        for mut line in 0..TOKENS.len().pow(len) {
            for _ in 0..len {
                text.push_str(TOKENS[line % TOKENS.len()]);
                // The space separates two numbers.
                text.push(' ');
                line /= TOKENS.len();
            }
            text.push('\n');
        }
    }
    check(pipeline, text.as_bytes(), &CUTS)
}

/// Checks tokens whose neighbours, and whose ends, are stretches away.
///
/// # Errors
/// A difference, or an error of the device.
pub fn far_tokens<A: Accelerator>(pipeline: &Pipeline<A>, step: usize) -> Result<()> {
    let mut gaps: Vec<usize> = (1900..2100).step_by(step).collect();
    gaps.extend([4096, 33 * 2048, 70_000]);
    for gap in gaps {
        let (space, long) = (" ".repeat(gap), "x".repeat(gap));
        let mut text = String::new();
        for line in [
            format!("{{\"a\"{space}:{space}[1{space}]{space},{space}\"b\"{space}:\"{long}\"}}"),
            format!("{{\"{long}\":{space}{{\"{long}\"{space}:{space}2}}}}"),
            format!("[\"{long}\",\"a\"{space}]{space}"),
            // The colon after the newline is not part of this line.
            format!("\"a\"{space}"),
            format!("{space}:1"),
            format!("{space}\"{long}\""),
            format!("[\"a\"{space}:{space}{{}}]"),
            format!("{{\"a\":1{space}2}}"),
            format!("{{{space}"),
            format!("{space}1{space}"),
        ] {
            text.push_str(&line);
            text.push('\n');
        }
        // A string without an end, up to the end of the text.
        text.push_str(&format!("{space}\"{long}"));
        check(pipeline, text.as_bytes(), &CUTS[..2]).with_context(|| format!("gaps of {gap}"))?;
    }
    Ok(())
}

/// Checks more nodes than the buffers first have room for, then fewer nodes in the same buffers.
///
/// # Errors
/// A difference, or an error of the device.
pub fn room<A: Accelerator>(pipeline: &Pipeline<A>) -> Result<()> {
    for bytes in [100_000, 70_000, 200] {
        check(pipeline, format!("[{}1]\n", "1,".repeat(bytes / 2)).as_bytes(), &CUTS[..1])?;
        check(pipeline, "[1,[2]]\n".repeat(bytes / 8).as_bytes(), &CUTS[..1])?;
    }
    Ok(())
}

/// Runs all checks above, at the sizes for a real device.
///
/// # Errors
/// A difference, or an error of the device.
pub fn all<A: Accelerator>(pipeline: &Pipeline<A>, rounds: usize, long: usize) -> Result<()> {
    files(pipeline).context("files")?;
    slide(pipeline, 1).context("words")?;
    random(pipeline, rounds, 400, 1).context("random")?;
    random(pipeline, rounds / 40, 100_000, 100_000).context("random, of several tiles")?;
    short_lines(pipeline, 5).context("short lines")?;
    far_tokens(pipeline, 1).context("far tokens")?;
    room(pipeline).context("room")?;
    long_lines(pipeline, long).context("long lines")
}
