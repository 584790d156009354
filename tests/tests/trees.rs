//! Trees: the worked example step by step, the laws of the operators, and random documents compared with the
//! oracle.

use anyhow::{Context, Result, ensure};
use proptest::prelude::*;
use warpath::TreeFaultKind;
use warpath_cpu::tree::{NONE, NodeKind, Tree, TreeFault};
use warpath_random::table::texts;
use warpath_shared::check::{FaultKind, diagnose};
use warpath_shared::index::Monoid;
use warpath_shared::tree::MAX_NODE_DEPTH;
use warpath_shared::tree::operator::Count;
use warpath_shared::units::{MAX_DEPTH, MAX_PARTITION_BYTES};
use warpath_tests::data::FILES;
use warpath_tests::oracle::tree as oracle;
use warpath_tests::random::{self, Rng};

// --- the worked example ------------------------------------------------------------------------------------

const EXAMPLE: &[u8] = b"[[][[][][[]]][][]]";
const DEPTH: [i32; 9] = [0, 1, 1, 2, 2, 2, 3, 1, 1];
const RANK: [u32; 9] = [0, 1, 2, 5, 6, 7, 8, 3, 4];
const FIRST_OF: [u32; 9] = [NONE, 0, NONE, NONE, NONE, 2, NONE, NONE, 7];
const PARENT: [u32; 9] = [NONE, 0, 0, 0, 0, 2, 2, 2, 7];
const COUNT: [u32; 9] = [1, 1, 2, 3, 4, 1, 2, 3, 1];
const CHILDREN: [u32; 9] = [4, 0, 3, 0, 0, 0, 0, 1, 0];
const ADDRESS: [u32; 9] = [0, 5, 6, 10, 11, 12, 13, 14, 16];
const CELLS: [u32; 17] = [4, 5, 6, 10, 11, 0, 3, 12, 13, 14, 0, 0, 0, 0, 1, 16, 0];

#[test]
fn all_steps_of_the_example() -> Result<()> {
    let tree = Tree::of_brackets(EXAMPLE)?;
    let steps = tree.steps();
    let nodes: Vec<u32> = steps.before.iter().map(|before| before.nodes).collect();
    let depth: Vec<i32> = steps.before.iter().map(|before| before.depth).collect();
    assert_eq!(nodes, [0, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 7, 7, 8, 8, 9, 9]);
    assert_eq!(depth, [0, 1, 2, 1, 2, 3, 2, 3, 2, 3, 4, 3, 2, 1, 2, 1, 2, 1]);
    assert_eq!(steps.depth, DEPTH);
    assert_eq!(steps.rank, RANK);
    assert_eq!(steps.first_of, FIRST_OF);
    assert_eq!((&steps.parent[..], &steps.count[..]), (&PARENT[..], &COUNT[..]));
    assert_eq!(steps.children, CHILDREN);
    assert_eq!(steps.address, ADDRESS);
    assert_eq!(steps.cells, CELLS);
    assert_eq!(tree.first_children(), [1, NONE, 5, NONE, NONE, NONE, NONE, 8, NONE]);
    assert_eq!(tree.next_siblings(), [NONE, 2, 3, 4, NONE, 6, 7, NONE, NONE]);
    Ok(())
}

// --- the operators -----------------------------------------------------------------------------------------

fn is_monoid<M: Monoid + PartialEq + std::fmt::Debug>(a: M, b: M, c: M) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
    prop_assert_eq!(M::default().combine(a), a);
    prop_assert_eq!(a.combine(M::default()), a);
    Ok(())
}

fn count() -> impl Strategy<Value = Count> {
    (any::<u32>(), any::<i32>()).prop_map(|(nodes, depth)| Count { nodes, depth })
}

proptest! {
    #[test]
    fn sums_are_a_monoid(a: u32, b: u32, c: u32) {
        is_monoid(a, b, c)?;
    }

    #[test]
    fn counts_are_a_monoid(a in count(), b in count(), c in count()) {
        is_monoid(a, b, c)?;
    }
}

// --- random trees beside the oracle ------------------------------------------------------------------------

fn judge_brackets(text: &[u8]) -> Result<Result<Tree, TreeFault>> {
    let (tree, want) = (Tree::of_brackets(text), oracle::brackets(text));
    judge(&tree, &want).with_context(|| format!("{}", text.escape_ascii()))?;
    Ok(tree)
}

fn judge_json(line: &[u8]) -> Result<Result<Tree, TreeFault>> {
    let (tree, want) = (Tree::of_json(line), oracle::json(line));
    judge(&tree, &want).with_context(|| format!("{}", line.escape_ascii()))?;
    Ok(tree)
}

fn judge(tree: &Result<Tree, TreeFault>, want: &Result<Option<oracle::Node>, TreeFault>) -> Result<()> {
    match (tree, want) {
        (Ok(tree), Ok(want)) => {
            let (have, want) = (oracle::arrays_of(tree), oracle::arrays(want.as_ref()));
            ensure!(have == want, "{have:?}\nwhere the oracle has\n{want:?}");
            ensure!(tree.cells().len() == (2 * tree.len()).saturating_sub(1), "two cells a node, less one");
        }
        (Err(have), Err(want)) => ensure!(have == want, "{have}, where the oracle says: {want}"),
        (Ok(_), Err(want)) => anyhow::bail!("a tree, where the oracle says: {want}"),
        (Err(have), Ok(_)) => anyhow::bail!("{have}, where the oracle has a tree"),
    }
    Ok(())
}

/// A random tree of brackets, with at most `nodes` nodes, and at most `deepest` deep. `climb` of 10 steps go
/// deeper where they can.
fn random_brackets(rng: &mut Rng, nodes: usize, deepest: usize, climb: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut open = Vec::new();
    for node in 0..nodes {
        if node > 0 {
            while open.len() == deepest || open.len() > 1 && rng.below(10) >= climb {
                text.extend(open.pop());
            }
        }
        let object = rng.below(2) == 0;
        text.push(if object { b'{' } else { b'[' });
        open.push(if object { b'}' } else { b']' });
    }
    text.extend(open.iter().rev());
    text
}

#[test]
fn ten_thousand_random_trees() -> Result<()> {
    let mut rng = Rng::new(1);
    let (mut deepest, mut widest, mut nodes) = (0, 0, 0);
    for round in 0..10_000 {
        let text = match round % 100 {
            // As deep as there is.
            0 => {
                let (nodes, climb) = (1 + rng.below(4_000), 8 + rng.below(3));
                random_brackets(&mut rng, nodes, MAX_DEPTH, climb)
            }
            // Children of the root, and no others.
            1 => {
                let nodes = 1 + rng.below(4_000);
                random_brackets(&mut rng, nodes, 2, 10)
            }
            2 => {
                let (nodes, deepest) = (1 + rng.below(4_000), 2 + rng.below(6));
                random_brackets(&mut rng, nodes, deepest, 5)
            }
            _ => {
                let (nodes, deepest, climb) = (1 + rng.below(40), 2 + rng.below(30), 1 + rng.below(9));
                random_brackets(&mut rng, nodes, deepest, climb)
            }
        };
        let tree = judge_brackets(&text)?.with_context(|| format!("round {round}"))?;
        deepest = deepest.max(tree.nodes().iter().map(|node| node.depth + 1).max().unwrap_or(0));
        widest = widest.max(tree.child_counts().iter().copied().max().unwrap_or(0));
        nodes += tree.len();
    }
    ensure!(deepest == MAX_DEPTH as i32 && widest > 3_000 && nodes > 500_000, "{deepest} {widest} {nodes}");
    Ok(())
}

#[test]
fn ten_thousand_random_strings_of_brackets() -> Result<()> {
    let mut rng = Rng::new(2);
    let (mut trees, mut faults) = (0, std::collections::BTreeMap::<String, usize>::new());
    for _ in 0..10_000 {
        let (nodes, deepest, climb) = (1 + rng.below(30), 1 + rng.below(8), 1 + rng.below(9));
        let mut text = random_brackets(&mut rng, nodes, deepest.max(2), climb);
        for _ in 0..rng.below(3) {
            let (at, byte) = (rng.below(text.len()), b"[]{}[]{} x"[rng.below(10)]);
            match rng.below(4) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 if text.len() > 1 => drop(text.remove(at)),
                _ => text.truncate(at + 1),
            }
        }
        match judge_brackets(&text)? {
            Ok(_) => trees += 1,
            Err(fault) => *faults.entry(format!("{:?}", fault.kind)).or_default() += 1,
        }
        // What is looked for in every record finds the same, where there are only brackets.
        if !text.contains(&b'x') {
            let found = diagnose(&text).map(|fault| (TreeFaultKind::Record(fault.kind), fault.at));
            let have = Tree::of_brackets(&text).err().map(|fault| (fault.kind, fault.at));
            ensure!(have == found, "{}: {have:?} {found:?}", text.escape_ascii());
        }
    }
    ensure!(
        trees > 1_000 && faults.len() == 5 && faults.values().all(|count| *count > 200),
        "{trees} {faults:?}"
    );
    Ok(())
}

#[test]
fn ten_thousand_random_records() -> Result<()> {
    let mut rng = Rng::new(3);
    let mut records = 0;
    while records < 10_000 {
        for line in random::json(&mut rng, 4_000).split(|byte| *byte == b'\n') {
            let tree = judge_json(line)?.with_context(|| line.escape_ascii().to_string())?;
            records += usize::from(!tree.is_empty());
        }
    }
    for round in 0..300 {
        let bytes = 1 + rng.below(4_000);
        let record = random::long_record(&mut rng, bytes, round % 3 == 0);
        let tree = judge_json(record.as_bytes())?;
        ensure!(round % 3 == 0 || tree.is_ok(), "{record}");
    }
    Ok(())
}

#[test]
fn ten_thousand_random_faults() -> Result<()> {
    let mut rng = Rng::new(4);
    let mut faults = std::collections::BTreeMap::<String, usize>::new();
    for round in 0..10_000 {
        let mut text = random::json(&mut rng, 20);
        let changes = 1 + rng.below(4);
        random::mutate(&mut rng, &mut text, changes);
        // Tokens where they should not be, too.
        if round % 2 == 0 {
            let tokens = [",", ":", "\"a\"", "1", "[]", "{}", " true", "\"a\":", "nul", r#"\""#, r#"1\" "#];
            let (at, token) = (rng.below(text.len() + 1), tokens[rng.below(tokens.len())]);
            text.splice(at..at, token.bytes());
        }
        for line in text.split(|byte| *byte == b'\n') {
            if let Err(fault) = judge_json(line)? {
                *faults.entry(format!("{:?}", fault.kind)).or_default() += 1;
            }
        }
    }
    for kind in ["NoName", "NoColon", "NoValue", "NameAsValue", "NoComma", "NotAValue"] {
        ensure!(faults.get(kind).is_some_and(|count| *count > 20), "{kind} of {faults:?}");
    }
    ensure!(faults.contains_key("Record(SecondRoot)"), "{faults:?}");
    Ok(())
}

#[test]
fn trees_of_random_bytes() -> Result<()> {
    let mut rng = Rng::new(5);
    for _ in 0..3_000 {
        let len = rng.below(400);
        for line in random::bytes(&mut rng, len).split(|byte| *byte == b'\n') {
            let _ = judge_json(line)?;
            let _ = judge_brackets(line)?;
        }
    }
    Ok(())
}

#[test]
fn trees_of_the_test_data() -> Result<()> {
    let mut trees = 0;
    for (name, text) in FILES {
        for line in text.split(|byte| *byte == b'\n') {
            let tree = judge_json(line).with_context(|| name.to_owned())?;
            trees += usize::from(tree.is_ok_and(|tree| !tree.is_empty()));
        }
    }
    ensure!(trees > 250, "{trees}");
    Ok(())
}

// --- documents by hand -------------------------------------------------------------------------------------

#[test]
fn nothing_is_a_tree_without_a_node() -> Result<()> {
    for text in ["", "\n", " \t\r\n"] {
        for tree in [Tree::of_json(text.as_bytes())?, Tree::of_brackets(text.as_bytes())?] {
            assert!(tree.is_empty() && tree.cells().is_empty() && tree.tokens().is_empty());
            assert_eq!(tree, Tree::default());
        }
    }
    Ok(())
}

#[test]
fn a_scalar_is_a_tree_of_one_node() -> Result<()> {
    for (text, kind) in [
        ("\"\"", NodeKind::String),
        ("\"a:b\"", NodeKind::String),
        ("-1", NodeKind::Number),
        ("true", NodeKind::True),
        ("false", NodeKind::False),
        ("null", NodeKind::Null),
        ("{}", NodeKind::Object),
        ("[]", NodeKind::Array),
    ] {
        let tree = Tree::of_json(format!("  {text}\r\n").as_bytes())?;
        assert_eq!(tree.cells(), [0]);
        assert_eq!(
            (tree.parents(), tree.first_children(), tree.next_siblings()),
            (&[NONE][..], &[NONE][..], &[NONE][..])
        );
        let node = tree.nodes()[0];
        assert_eq!((node.kind(), node.start, node.end, node.depth), (kind, 2, 2 + text.len() as u32, 0));
        // White space is in no node.
        assert_eq!(Tree::of_json(format!("  {text}").as_bytes())?, tree);
    }
    Ok(())
}

#[test]
fn a_member_is_a_name_with_a_value() -> Result<()> {
    use NodeKind::{Array, Name, Null, Number, Object};
    let text = br#"{"a":[1,{}],"b":{"c":null}}"#;
    let tree = Tree::of_json(text)?;
    let nodes: Vec<(NodeKind, &[u8])> = tree
        .nodes()
        .iter()
        .map(|node| (node.kind(), &text[node.start as usize..node.end as usize]))
        .collect();
    let want: [(NodeKind, &[u8]); 9] = [
        (Object, text),
        (Name, b"\"a\""),
        (Name, b"\"b\""),
        (Array, b"[1,{}]"),
        (Object, b"{\"c\":null}"),
        (Number, b"1"),
        (Object, b"{}"),
        (Name, b"\"c\""),
        (Null, b"null"),
    ];
    assert_eq!(nodes, want);
    assert_eq!(tree.parents(), [NONE, 0, 0, 1, 2, 3, 3, 4, 7]);
    assert_eq!(tree.in_text_order(), [0, 1, 3, 5, 6, 2, 4, 7, 8]);
    Ok(())
}

#[test]
fn a_document_of_several_lines_is_one_tree() -> Result<()> {
    let spread = "{\n  \"a\": [\n    1,\r\n\ttrue\n  ],\n  \"\\\"b\\\\\" : \"x\"\n}\n";
    let line: String = spread.replace(['\n', '\r'], " ");
    assert_eq!(Tree::of_json(spread.as_bytes())?, Tree::of_json(line.as_bytes())?);
    judge_json(line.as_bytes())??;
    Ok(())
}

/// Tokens that end with a word, one byte before its end, and one byte after it.
#[test]
fn documents_of_every_length() -> Result<()> {
    for pad in 0..200 {
        for text in [
            format!("{}[1,\"x\"]", " ".repeat(pad)),
            format!("[{}]", "1,".repeat(pad) + "2"),
            format!("\"{}\"", "\\\"".repeat(pad)),
            format!("{{\"{}\":{}}}", "n".repeat(pad), "7".repeat(pad + 1)),
            "4".repeat(pad + 1),
        ] {
            judge_json(text.as_bytes())?.with_context(|| text)?;
        }
    }
    Ok(())
}

#[test]
fn as_deep_as_records_may_be() -> Result<()> {
    for (open, inner, close, deepest) in [
        ("[", "", "]", MAX_DEPTH - 1),
        ("[", "0", "]", MAX_DEPTH),
        ("{\"a\":", "0", "}", MAX_NODE_DEPTH),
        ("[0,", "1,2", ",3]", MAX_DEPTH),
    ] {
        let nested = |depth: usize| [&open.repeat(depth), inner, &close.repeat(depth)].concat();
        let tree = judge_json(nested(MAX_DEPTH).as_bytes())?.context(open)?;
        assert_eq!(tree.nodes().iter().map(|node| node.depth as usize).max(), Some(deepest), "{open}");
        let want = TreeFault { kind: TreeFaultKind::Record(FaultKind::TooDeep), at: MAX_DEPTH * open.len() };
        let deeper = nested(MAX_DEPTH + 1);
        assert_eq!(judge_json(deeper.as_bytes())?.err(), Some(want), "{open}");
    }
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    judge_brackets(nested(MAX_DEPTH).as_bytes())??;
    let want = TreeFault { kind: TreeFaultKind::Record(FaultKind::TooDeep), at: MAX_DEPTH };
    assert_eq!(judge_brackets(nested(MAX_DEPTH + 1).as_bytes())?.err(), Some(want));
    Ok(())
}

#[test]
fn as_long_as_partitions_may_be() {
    // Never looked at, so it takes no memory.
    let text = vec![0; MAX_PARTITION_BYTES + 1];
    let want = TreeFault { kind: TreeFaultKind::TooLong, at: MAX_PARTITION_BYTES };
    assert_eq!(Tree::of_json(&text), Err(want));
    assert_eq!(Tree::of_brackets(&text), Err(want));
}

/// The first fault of each text of a section, by a function.
fn check_faults(section: &str, judge: fn(&[u8]) -> Result<Result<Tree, TreeFault>>) -> Result<()> {
    for [text, kind, at] in texts(include_str!("../data/json.txt"), section) {
        let fault = judge(text.as_bytes())?.err().with_context(|| format!("a tree of {text}"))?;
        ensure!((format!("{:?}", fault.kind), fault.at.to_string()) == (kind, at), "{text}: {fault:?}");
    }
    Ok(())
}

#[test]
fn first_faults_of_brackets() -> Result<()> {
    check_faults("faults of brackets", judge_brackets)
}

#[test]
fn first_faults_of_json() -> Result<()> {
    check_faults("faults of trees", judge_json)
}
