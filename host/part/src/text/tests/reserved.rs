//! Columns keep their names and types from part to part, and a part has only those that it needs.

use std::collections::HashMap;

use super::*;

/// The parts of a store, made one after the other.
#[derive(Default)]
struct Parts {
    trees: Vec<Tree>,
    /// The last and the first group of each part.
    groups: Vec<[Group; 2]>,
    /// The name and the type of each column, and the columns before it, by the path in lower case.
    schema: HashMap<String, (String, Layout, usize)>,
}

impl Parts {
    /// The columns of some parts.
    fn reserved(&self, parts: &[usize]) -> Reserved {
        let mut reserved = Reserved::new();
        for part in parts {
            let (tree, [last, first]) = (&self.trees[*part], &self.groups[*part]);
            let section = names::section(first, Reserved::SECTION).ok();
            reserved.add(tree, &Names::read(tree, last).unwrap(), section).unwrap();
        }
        reserved
    }

    /// Adds a part with groups of about `len` bytes.
    fn add(&mut self, text: &[u8], len: usize) -> &Tree {
        let last = self.trees.len().checked_sub(1);
        let mut shredder = Shredder::resume(self.reserved(last.as_slice()));
        let groups = check_with(&mut shredder, text, len);
        let tree = shredder.tree().clone();
        self.merge(&tree, groups.len() == 1);
        self.trees.push(tree);
        self.groups.push([groups.last().unwrap().clone(), groups[0].clone()]);
        self.trees.last().unwrap()
    }

    /// Checks that the columns of a part have the types that they have in all other parts, and the order too.
    fn merge(&mut self, tree: &Tree, ordered: bool) {
        let mut paths = vec![String::new()];
        let mut last = vec![0; tree.nodes.len()];
        for node in &tree.nodes[1..] {
            let path = format!("{}\n{}", paths[node.parent as usize], node.name.to_lowercase());
            let kind = if node.layout == Layout::Json { Layout::String } else { node.layout };
            let count = self.schema.len();
            let known = self.schema.entry(path.clone()).or_insert_with(|| (node.name.clone(), kind, count));
            assert_eq!((&known.0, known.1), (&node.name, kind));
            if ordered && node.name != names::PRESENT {
                assert!(known.2 >= last[node.parent as usize], "{path}");
                last[node.parent as usize] = known.2;
            }
            paths.push(path);
        }
        // No two columns of one part have the same name.
        let all = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }
}

/// Adds parts of these lines, and compares their leaves.
#[track_caller]
fn check_parts(parts: &[(&str, &[(&str, Layout)])]) {
    let mut store = Parts::default();
    for (text, want) in parts {
        let tree = store.add(text.as_bytes(), 1 << 30);
        let found = leaves(tree);
        let found: Vec<_> = found.iter().map(|(path, layout)| (path.as_str(), *layout)).collect();
        assert_eq!(found, *want, "{text}");
    }
}

#[test]
fn a_part_has_only_the_columns_that_it_needs() {
    let members: Vec<_> = (0..500).map(|key| format!("\"k{key}\":{{\"a\":[{key}]}}")).collect();
    let mut store = Parts::default();
    store.add(format!("{{{}}}\n", members.join(",")).as_bytes(), 1);
    assert!(names::section(&store.groups[0][0], Reserved::SECTION).is_err());
    assert_eq!(store.add(b"{\"a\":1}\n", 1).nodes.len(), 3);
    // The first group alone has the section.
    let tree = &store.add(b"{\"K7\":1,\"k9\":\"x\"}\n{\"k7\":{\"a\":[]}}\n", 1).clone();
    let [last, first] = &store.groups[2];
    assert!(names::section(first, Reserved::SECTION).is_ok());
    assert!(names::section(last, Reserved::SECTION).is_err());
    let want = [
        ("K7~2", Layout::Int),
        ("k9:string", Layout::String),
        // The line has no element; the column is that of the first part.
        ("k7.a.element", Layout::Int),
    ];
    assert_eq!(leaves(tree), want.map(|(path, layout)| (path.to_owned(), layout)));
}

#[test]
fn kinds_keep_their_names() {
    use Layout::{Boolean, Double, Int, Json, String};

    check_parts(&[
        ("{\"a\":1}\n", &[("a", Int)]),
        ("{\"a\":\"x\"}\n{\"a\":\"y\"}\n", &[("a:string", String)]),
        ("{\"a\":1.5}\n{\"a\":3}\n", &[("a", Int), ("a:double", Double)]),
        ("{\"a\":7}\n", &[("a", Int)]),
        ("{\"a\":null}\n", &[]),
        ("{\"a\":2.5,\"a:string\":true}\n", &[("a:double", Double), ("a:string~", Boolean)]),
    ]);
    check_parts(&[
        ("{\"a\":1.5}\n{\"a\":1}\n", &[("a", Double)]),
        ("{\"a\":1}\n", &[("a", Double)]),
        ("{\"a\":9007199254740993}\n", &[("a:int", Int)]),
        ("{\"a\":2}\n", &[("a", Double)]),
    ]);
    check_parts(&[
        ("{\"a\":\"x\"}\n", &[("a", String)]),
        ("{\"a\":1}\n{\"a\":0.5}\n{\"a\":2}\n", &[("a:double", Double)]),
        ("{\"a\":2}\n", &[("a:double", Double)]),
    ]);
    check_parts(&[
        ("{\"a\":1,\"o\":{\"x\":1}}\n", &[("a", Int), ("o.x", Int)]),
        ("{\"A\":1,\"o\":{}}\n", &[("A~2", Int), ("o.:present", Boolean)]),
        ("{\"A\":2,\"o\":{\"X\":true}}\n", &[("A~2", Int), ("o.X~2", Boolean)]),
        ("{\"o\":{\":Present\":1}}\n", &[("o.:Present~", Int)]),
        ("{\"a\":1,\"A\":1,\"o\":{\"X\":1}}\n", &[("a", Int), ("A~2", Int), ("o.X:int", Int)]),
        ("{\"O\":{\"x\":\"\"}}\n", &[("O~2.x", String)]),
    ]);
    let keys: Vec<_> = (0..300).map(|key| format!("\"{key}\":1")).collect();
    let map = format!("{{\"m\":{{{0}}},\"l\":[{{{0}}}]}}\n", keys.join(","));
    check_parts(&[
        (&map, &[("m", Json), ("l.element.json", Json)]),
        ("{\"m\":{\"x\":1},\"l\":[{\"x\":1},2]}\n", &[("m", Json), ("l.element.json", Json)]),
        ("{\"m\":5,\"l\":[]}\n", &[("m", Json), ("l.element.:present", Boolean)]),
    ]);
}

#[test]
fn elements_keep_their_types() {
    use Layout::{Boolean, Int, Json, String};

    check_parts(&[
        ("{\"a\":[]}\n", &[("a.element.:present", Boolean)]),
        ("{\"a\":[\"x\"]}\n", &[("a.element.string", String)]),
        ("{\"a\":[]}\n", &[("a.element.:present", Boolean)]),
        ("{\"a\":[1,\"x\"]}\n", &[("a.element.string", String), ("a.element.int", Int)]),
    ]);
    check_parts(&[
        ("{\"a\":[\"x\"]}\n", &[("a.element", String)]),
        ("{\"a\":[]}\n", &[("a.element", String)]),
        ("{\"a\":[1]}\n", &[("a.element", String), ("a:json", Json)]),
        ("{\"a\":[1,\"x\"]}\n{\"a\":[\"x\"]}\n", &[("a.element", String), ("a:json", Json)]),
    ]);
    check_parts(&[
        ("{\"a\":[[1]],\"b\":[{\"x\":1}]}\n", &[("a.element.element", Int), ("b.element.x", Int)]),
        ("{\"a\":[],\"b\":[]}\n", &[("a.element.element", Int), ("b.element.:present", Boolean)]),
        ("{\"a\":[[]],\"b\":[{}]}\n", &[("a.element.element", Int), ("b.element.:present", Boolean)]),
        ("{\"a\":[[2]],\"b\":[{\"X\":1}]}\n", &[("a.element.element", Int), ("b.element.X~2", Int)]),
    ]);
    check_parts(&[
        ("{\"a\":[1,\"x\"]}\n", &[("a.element.int", Int), ("a.element.string", String)]),
        ("{\"a\":[{}]}\n", &[("a.element.object.:present", Boolean)]),
        ("{\"a\":[2]}\n", &[("a.element.int", Int)]),
    ]);
}

#[test]
fn the_columns_of_all_parts_are_counted() {
    let mut store = Parts::default();
    for part in 0..30 {
        let lines: String = (0..100).map(|key| format!("{{\"k{}\":[{key}]}}\n", part * 100 + key)).collect();
        store.add(lines.as_bytes(), 1 << 30);
    }
    assert!((1900..2000).contains(&store.schema.len()), "{}", store.schema.len());
    // Known columns take values of the next parts.
    assert_eq!(store.add(b"{\"k7\":[1]}\n", 1).nodes.len(), 4);
}

#[test]
fn random_lines_come_back_from_parts() {
    let mut rng = Rng::new(11);
    for seed in 0..cases(200) as u64 {
        let mut lines = Lines(Rng::new(seed));
        let mut store = Parts::default();
        for _ in 0..2 + rng.below(8) {
            let mut text = Vec::new();
            for _ in 0..1 + rng.below(20) {
                lines.line(&mut text);
            }
            store.add(&text, 1 + rng.below(text.len()));
        }
        // The last part knows the columns of all parts.
        let last = store.trees.len() - 1;
        assert!(store.trees.iter().all(|tree| store.reserved(&[last]).has_all(tree)));
    }
}

#[test]
fn a_shredder_goes_on_with_another_part() {
    let mut store = Parts::default();
    store.add(b"{\"a\":1}\n", 1);
    let mut shredder = Shredder::resume(store.reserved(&[0]));
    let has = |group: Group| names::section(&group, Reserved::SECTION).is_ok();
    assert!(has(shredder.shred(b"{}\n").unwrap()));
    assert!(!has(shredder.shred(b"{}\n").unwrap()));
    shredder.begin_part();
    assert!(has(shredder.shred(b"{}\n").unwrap()));
}

#[test]
fn names_of_parts_that_are_gone_are_not_used_again() {
    let (mut store, mut gone) = (Parts::default(), Parts::default());
    store.add(b"{\"a\":1,\"A\":2,\"l\":[{\"x\":1}]}\n", 1);
    gone.add(
        b"{\"a\":\"x\",\"b\":1,\"l\":[{\"x\":1,\"y\":1}],\"m\":[1,\"x\"],\"n\":[{\"int\":\"\",\"a\":1}]}\n",
        1,
    );
    let tree = gone.trees[0].clone();
    let mut reserved = store.reserved(&[0]);
    assert!(!reserved.has_all(&tree));
    reserved.add_unknown(&tree);
    assert!(reserved.has_all(&tree));
    let mut shredder = Shredder::resume(reserved);
    let text = b"{\"A\":3,\"B\":2,\"b\":true,\"l\":[{\"y\":\"\"}],\"m\":[],\"n\":[]}\n";
    check_with(&mut shredder, text, 1);
    use Layout::{Boolean, Int, String};
    let want = [
        ("A~2", Int),
        ("B~2", Int),
        ("b:bool", Boolean),
        ("l.element.y:string", String),
        ("m.element.:present", Boolean),
        ("n.element.:present", Boolean),
    ];
    assert_eq!(leaves(shredder.tree()), want.map(|(path, layout)| (path.to_owned(), layout)));
}

#[test]
fn forged_columns_do_no_harm() {
    let mut rng = Rng::new(12);
    let (mut good, mut bad) = (0, 0);
    for seed in 0..20 {
        let mut lines = Lines(Rng::new(seed));
        let mut text = Vec::new();
        (0..20).for_each(|_| lines.line(&mut text));
        let mut store = Parts::default();
        store.add(&text, 1 << 30);
        store.add(b"{}\n", 1);
        let (tree, [group, _]) = (&store.trees[1], &store.groups[1]);
        let roles = Names::read(tree, group).unwrap();
        for _ in 0..cases(50) {
            let mut section = names::section(group, Reserved::SECTION).unwrap().to_vec();
            for _ in 0..=rng.below(4) {
                let at = rng.below(section.len());
                match rng.below(3) {
                    0 => section[at] = rng.below(12) as u8,
                    1 => section[at] = rng.next_u64() as u8,
                    _ => section.truncate(at + 1),
                }
            }
            let mut reserved = Reserved::new();
            match reserved.add(tree, &roles, Some(&section)) {
                Ok(()) => good += 1,
                Err(_) => bad += 1,
            }
            check_with(&mut Shredder::resume(reserved), &text, 500);
        }
    }
    assert!(good > 50 && bad > 50, "{good} {bad}");
}
