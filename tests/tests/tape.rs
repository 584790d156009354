//! Trees by the emulated kernels, compared with the sequential builder and with the tree that is made by
//! sorting.

use std::fmt::Write;

use anyhow::Result;
use insta::{Settings, assert_snapshot};
use warpath_device::TreeCut;
use warpath_tests::trees;

use crate::common::emulated;

#[test]
fn files() -> Result<()> {
    trees::files(&emulated())
}

#[test]
fn lines_slid_across_words() -> Result<()> {
    trees::slide(&emulated(), 5)
}

#[test]
fn random() -> Result<()> {
    trees::random(&emulated(), 160, 400, 1)
}

#[test]
fn random_of_several_tiles() -> Result<()> {
    trees::random(&emulated(), 8, 70_000, 1000)
}

#[test]
fn short_lines() -> Result<()> {
    trees::short_lines(&emulated(), 4)
}

#[test]
fn far_tokens() -> Result<()> {
    trees::far_tokens(&emulated(), 40)
}

#[test]
fn room() -> Result<()> {
    trees::room(&emulated())
}

#[test]
fn long_lines() -> Result<()> {
    trees::long_lines(&emulated(), 100_000)
}

#[test]
fn nothing() -> Result<()> {
    for text in ["", "\n", " ", "\n\r\n"] {
        trees::check(&emulated(), text.as_bytes(), &trees::CUTS)?;
    }
    Ok(())
}

/// The nodes of a small partition, the same however lines are cut.
#[test]
fn a_small_partition() -> Result<()> {
    let text = "{\"a\":[1,true],\"b\":{}}\n\n[\"x\" 2]\n \"root\" \r\n[[],{\"c\":\"d\"}]";
    let mut dumps = Vec::new();
    for cut in trees::CUTS {
        let trees = emulated().trees(text.as_bytes(), cut)?;
        let mut out = format!("{text}\n\nroots {:?}\n", trees.roots);
        for fault in &trees.faults {
            writeln!(out, "line {}: {:?}", fault.line, fault.fault)?;
        }
        for line in 0..trees.roots.len() - 1 {
            if trees.faults.iter().any(|fault| fault.line as usize == line) {
                continue;
            }
            for at in trees.roots[line]..trees.roots[line + 1] {
                let node = trees.nodes[at as usize];
                let kind = match () {
                    () if node.is_object() => "object",
                    () if node.is_array() => "array",
                    () if node.is_name() => "name",
                    () => "value",
                };
                let up = node.up() as i32;
                let token = &text[node.start() as usize..node.end as usize];
                writeln!(out, "{at:2} {kind:6} up {up:2} next {:2} {token}", node.next)?;
            }
        }
        dumps.push(out);
    }
    assert!(dumps.iter().all(|dump| *dump == dumps[0]), "{dumps:#?}");
    let mut settings = Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| assert_snapshot!("tape_of_a_small_partition", dumps[0]));
    Ok(())
}

/// Threads that wait for no other, in several orders, and a piece for each word of a line. Most of these
/// pieces have no token.
#[test]
fn one_string() -> Result<()> {
    let text = format!("\"{}\"\n[\"{}\"]", "x".repeat(5000), "y".repeat(5000));
    for _ in 0..4 {
        trees::check(&emulated(), text.as_bytes(), &[TreeCut { longest: 100, piece: 64 }])?;
    }
    Ok(())
}
