//! Trees of small texts, and the laws of trees.

use warpath_random::Rng;
use warpath_random::table::texts;

use super::*;

fn walk_part(tree: &mut SchemaTree, text: &str, number: u64) -> Walked {
    let options = WalkOptions { text: number, most_records: u64::MAX, skips: true, without: &[] };
    Walker::default().walk(tree, text.as_bytes(), options)
}

fn tree_of(text: &str) -> SchemaTree {
    let mut tree = SchemaTree::default();
    let walked = walk_part(&mut tree, text, 0);
    assert_eq!(walked.suspects, [], "{text}");
    tree
}

/// Everything that a tree says, in text.
fn shown(tree: &SchemaTree) -> String {
    fn show(node: SchemaNode<'_>, depth: usize, out: &mut String) {
        let step = match node.step() {
            Step::Name(name) => name.escape_ascii().to_string(),
            step => format!("{step:?}"),
        };
        out.push_str(&format!("{:1$}{step}", "", depth * 2));
        for kind in node.kinds() {
            let First { position, example } = node.first(kind).unwrap();
            let (count, example) = (node.count(kind), example.text());
            out.push_str(&format!(
                " {kind}={count}@{}:{}:{} {example}",
                position.text, position.line, position.offset
            ));
        }
        let missing = (node.missing(), node.repeated(), node.trues(), node.distinct(), node.lengths());
        out.push_str(&format!(" {missing:?} {:?} {:?}\n", node.numbers(), node.strings()));
        for child in node.children() {
            show(child, depth + 1, out);
        }
    }
    let mut out = String::new();
    show(tree.root(), 0, &mut out);
    out
}

fn at<'a>(tree: &'a SchemaTree, names: &[&str]) -> SchemaNode<'a> {
    names.iter().fold(tree.root(), |node, name| match *name {
        "[*]" => node.elements().unwrap(),
        "*" => node.values().unwrap(),
        name => node.members().into_iter().find(|member| member.name().as_deref() == Some(name)).unwrap(),
    })
}

#[test]
fn kinds_are_counted() {
    let tree =
        tree_of("{\"a\":1}\n\n {\"a\": -2.5, \"b\" : [ true, null ]} \r\n{\"a\":\"x\"}\n[]\n{\"b\":[]}\n7");
    assert_eq!(tree.records(), 6);
    let root = tree.root();
    assert_eq!([JsonType::Object, JsonType::Array, JsonType::Int64].map(|kind| root.count(kind)), [4, 1, 1]);
    let a = at(&tree, &["a"]);
    assert_eq!(a.kinds(), [JsonType::Int64, JsonType::Float64, JsonType::String]);
    assert_eq!((a.missing(), a.distinct(), a.total()), (1, 3, 3));
    assert_eq!(a.numbers(), Some(("-2.5".into(), "1".into())));
    assert_eq!(a.first(JsonType::Float64).unwrap().position.line, 2);
    let b = at(&tree, &["b", "[*]"]);
    assert_eq!((b.count(JsonType::Bool), b.count(JsonType::Null), b.trues()), (1, 1, 1));
    assert_eq!(at(&tree, &["b"]).lengths(), Some((0, 2)));
}

#[test]
fn names_and_strings_are_equal_in_every_spelling() {
    let tree = tree_of(
        "{\"a/b\":\"/\"}\n{\"a\\/b\":\"\\/\"}\n{\"\\u0061\\u002fb\":\"\\u002F\"}\n{\"a\\\\/b\":\"\\u0000\"}\n{\"\":0}",
    );
    assert_eq!(tree.root().members().len(), 3);
    let node = at(&tree, &["a/b"]);
    assert_eq!((node.total(), node.distinct(), node.missing()), (3, 1, 2));
    let (least, greatest) = at(&tree, &["a\\/b"]).strings().unwrap();
    assert_eq!((least.text(), greatest.text()), ("\0".into(), "\0".into()));
    let lone = tree_of("{\"\\ud800\":\"\\udc00\"}\n{\"\\ud801\":1}\n{\"\u{fffd}\":1}");
    assert_eq!(lone.root().members().len(), 3);
    let names: Vec<_> = lone.root().members().iter().map(|member| member.step().clone()).collect();
    assert_eq!(names[0], Step::Name(b"\xed\xa0\x80"[..].into()));
}

#[test]
fn repeated_members_are_told_from_missing_ones() {
    let tree = tree_of("{\"a\":1,\"a\":2,\"b\":{\"a\":3}}\n{}\n{\"a\":[{\"a\":1},{\"a\":2,\"a\":2}]}");
    let a = at(&tree, &["a"]);
    assert_eq!((a.total(), a.missing(), a.repeated()), (3, 1, 1));
    let inner = at(&tree, &["a", "[*]", "a"]);
    assert_eq!((inner.total(), inner.missing(), inner.repeated()), (3, 0, 1));
}

#[test]
fn numbers_of_all_sizes_are_read() {
    for len in 1..=40 {
        let digits: String = "1234567890".chars().cycle().take(len).collect();
        for sign in ["", "-"] {
            // At the end of a text, and far from it.
            for end in ["", "                    \n{}"] {
                let tree = tree_of(&format!("{sign}{digits}{end}"));
                let text = format!("{sign}{digits}");
                match text.parse::<i64>() {
                    Ok(value) => assert_eq!(tree.root().integers(), Some((value, value))),
                    Err(_) => {
                        let (least, greatest) = tree.root().big_integers().unwrap();
                        assert_eq!((least.text(), greatest.text()), (text.clone(), text));
                        assert_eq!(tree.root().big_digits(), len);
                    }
                }
            }
        }
    }
    for text in ["9223372036854775807", "-9223372036854775808", "0", "-0", "100000000", "9999999999999999"] {
        let value = text.parse().unwrap();
        assert_eq!(tree_of(text).root().integers(), Some((value, value)));
    }
    let floats = tree_of("1e3\n1000.0\n-0.0\n1e400\n0\n1000");
    assert_eq!(floats.root().distinct(), 3);
    let (least, greatest) = floats.root().floats().unwrap();
    assert_eq!((least.text(), greatest.text()), ("-0.0".into(), "1e400".into()));
    // 1e-400 is no 0, though a double takes it for one.
    assert_eq!(tree_of("0\n1e-400\n2e-400\n0.0").root().distinct(), 3);
    let bigs =
        tree_of("9223372036854775808\n-9223372036854775809\n-99999999999999999999\n10000000000000000000");
    assert_eq!(bigs.root().numbers(), Some(("-99999999999999999999".into(), "10000000000000000000".into())));
}

/// Bounds and distinct values are exact, whatever the kinds and the lengths of numbers.
#[test]
fn numbers_are_compared_exactly() {
    for [numbers, least, greatest, distinct] in texts(include_str!("numbers.txt"), "numbers") {
        let node = tree_of(&numbers.replace(' ', "\n"));
        assert_eq!(node.root().numbers(), Some((least, greatest)), "{numbers}");
        assert_eq!(node.root().distinct().to_string(), distinct, "{numbers}");
    }
}

/// One record does not make a tree of any size.
#[test]
fn a_tree_is_bounded_within_a_record() {
    let object = |names: usize, value: &str| {
        let members: Vec<String> = (0..names).map(|name| format!("\"n{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let wide = tree_of(&object(200_000, "{\"v\":1,\"w\":\"x\"}"));
    let values = wide.root().values().unwrap();
    assert_eq!((values.count(JsonType::Object), values.members().len(), values.missing()), (200_000, 2, 0));
    assert_eq!(values.members()[0].count(JsonType::Int64), 200_000);
    let inner = object(400, "1");
    let square = tree_of(&format!("{}\n{}", object(400, &inner), object(400, &inner)));
    assert!(square.len() <= MOST_NODES, "{}", square.len());
    let leaf = square.root().values().map(|values| values.values().unwrap());
    let leaves = leaf.map(|leaf| leaf.count(JsonType::Int64));
    assert_eq!(leaves, Some(2 * 400 * 400));
    // The nodes are never more than the lowered bounds allow.
    let mut tree = SchemaTree::default();
    for parent in 0..600 {
        let parent = tree.member(0, format!("p{parent}").as_bytes());
        for name in 0..600 {
            tree.member(parent, format!("n{name}").as_bytes());
        }
    }
    assert!(tree.len() < 4 * MOST_NODES, "{}", tree.len());
}

/// The deepest record has as many levels as elsewhere, and its JSON Schema is made in one pass.
#[test]
fn records_are_as_deep_as_elsewhere() {
    let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let deep = tree_of(&nested(1024));
    assert_eq!(deep.records(), 1);
    assert_eq!(json_schema(&deep).matches("\"type\": \"object\"").count(), 1024);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for empty in ["[]", "{}"] {
            let of = |levels: usize| {
                let levels = levels - 1;
                let text = format!("{}{empty}{}", open.repeat(levels), close.repeat(levels));
                walk_part(&mut SchemaTree::default(), &text, 0).suspects.len()
            };
            assert_eq!((of(1024), of(1025)), (0, 1), "{open} {empty}");
        }
    }
}

#[test]
fn json_schema_has_the_names_of_the_records() {
    let schema = json_schema(&tree_of("{\"\\ud800\":1,\"\\ud801\":2,\"é\\n\":3}"));
    assert!(schema.contains(r#""required": ["\ud800", "\ud801", "é\n"]"#), "{schema}");
}

#[test]
fn what_is_no_json_is_suspect() {
    let bad = texts(include_str!("../../../../tests/data/json.txt"), "bad");
    for pad in [0, 1, 50, 62, 63, 64, 65] {
        for end in ["", "\n", "\n{\"z\":1}\n"] {
            for [text] in &bad {
                let text = format!("{{\"y\":1}}\n{}{text}{end}", " ".repeat(pad));
                let mut tree = SchemaTree::default();
                let walked = walk_part(&mut tree, &text, 0);
                let lines: Vec<u64> = walked.suspects.iter().map(|(line, ..)| *line).collect();
                assert_eq!(lines, [1], "{}", text.escape_debug());
                let more = u64::from(end.len() > 1);
                assert_eq!((walked.records, walked.lines), (1 + more, 2 + more));
                let names: Vec<_> =
                    tree.root().members().iter().map(|member| member.name().unwrap()).collect();
                assert_eq!(names, ["y", "z"][..1 + more as usize], "{}", text.escape_debug());
            }
        }
    }
}

#[test]
fn deep_records_are_read() {
    let nested = |depth: usize| format!("{}{}", "[{\"a\":".repeat(depth / 2), "1") + &"}]".repeat(depth / 2);
    let tree = tree_of(&nested(1024));
    assert_eq!(tree.len(), 1025);
    let mut tree = SchemaTree::default();
    assert_eq!(walk_part(&mut tree, &nested(1026), 0).suspects.len(), 1);
}

#[test]
fn a_limit_and_left_out_lines() {
    let text = "{\"a\":1}\n\n{\"a\":2}\nnonsense\n{\"a\":3}\n";
    let mut tree = SchemaTree::default();
    let options = WalkOptions { text: 0, most_records: 2, skips: false, without: &[] };
    let walked = Walker::default().walk(&mut tree, text.as_bytes(), options);
    assert_eq!((walked.records, walked.suspects.len(), tree.records()), (2, 0, 2));
    let mut tree = SchemaTree::default();
    let options = WalkOptions { text: 0, most_records: 2, skips: false, without: &[0, 3] };
    let walked = Walker::default().walk(&mut tree, text.as_bytes(), options);
    assert_eq!((walked.records, walked.suspects, tree.records()), (2, vec![], 2));
    assert_eq!(tree.root().members()[0].integers(), Some((2, 3)));
}

#[test]
fn objects_used_as_maps_are_folded() {
    let map: String =
        (0..2000).map(|i| format!("{{\"by_id\":{{\"u{i}\":{{\"n\":{i}}}}},\"x{}\":1}}\n", i % 20)).collect();
    let mut tree = tree_of(&map);
    tree.fold_maps();
    let values = at(&tree, &["by_id", "*"]);
    assert_eq!((values.total(), values.missing()), (2000, 0));
    assert_eq!(at(&tree, &["by_id", "*", "n"]).integers(), Some((0, 1999)));
    assert_eq!(tree.root().members().len(), 21);
    // One object in one document.
    let entries: Vec<String> = (0..64).map(|i| format!("\"p{i}\":{{\"v\":{i}}}")).collect();
    let mut tree = tree_of(&format!("{{\"by_name\":{{{}}}}}", entries.join(",")));
    tree.fold_maps();
    assert_eq!(at(&tree, &["by_name", "*", "v"]).total(), 64);
    // Records are no maps, and neither are objects that have a name in common.
    for record in [
        |i: usize| format!("{{\"x{i}\":\"a\"}}\n"),
        |i: usize| format!("{{\"at\":{{\"x{i}\":\"a\",\"level\":\"info\"}}}}\n"),
    ] {
        let mut tree = tree_of(&(0..100).map(record).collect::<String>());
        let before = tree.len();
        tree.fold_maps();
        assert_eq!(tree.len(), before);
    }
    // A wide table is none.
    let wide: Vec<String> = (0..300).map(|i| format!("\"c{i}\":{i}")).collect();
    let mut tree = tree_of(&format!("{{{}}}\n", wide.join(",")).repeat(9));
    tree.fold_maps();
    assert_eq!(tree.root().members().len(), 300);
}

#[test]
fn trees_are_bounded() {
    let many: String =
        (0..3 * MOST_MEMBERS).map(|i| format!("{{\"k{i}\":{{\"v\":{i},\"w{}\":0}}}}\n", i % 3)).collect();
    let tree = tree_of(&many);
    assert_eq!(tree.root().members().len(), 0);
    assert_eq!(at(&tree, &["*", "v"]).integers(), Some((0, 3 * MOST_MEMBERS as i64 - 1)));
    assert_eq!(at(&tree, &["*", "w1"]).missing(), 2 * MOST_MEMBERS as u64);
    // Nodes that no single object explains.
    let mut rng = Rng::new(8);
    let deep: String = (0..30_000)
        .map(|_| {
            let names: Vec<String> = (0..6).map(|_| format!("{{\"n{}\":", rng.below(30))).collect();
            format!("{}1{}\n", names.concat(), "}".repeat(6))
        })
        .collect();
    let tree = tree_of(&deep);
    assert!(tree.len() <= MOST_NODES && tree.lowered_members().is_some());
    assert_eq!(tree.records(), 30_000);
}

/// A random value, whose shape changes from record to record.
fn value(rng: &mut Rng, depth: usize, out: &mut String) {
    match rng.below(if depth > 3 { 12 } else { 16 }) {
        0 => out.push_str("null"),
        1 => out.push_str(["true", "false"][rng.below(2)]),
        2..=4 => out.push_str(&format!("{}", rng.next_u64() as i64 >> rng.below(64))),
        5 => out.push_str(&format!("{}{}", rng.next_u64(), rng.next_u64())),
        6 | 7 => out.push_str(["1.5", "1e3", "1000.0", "-0.0", "2.50", "1E400", "0.1e-2"][rng.below(7)]),
        8..=11 => {
            let parts =
                ["a", "abcdefgh", "\\/", "\\u00e9", "é", "\\\\", "\\\"", "\\ud83d\\ude00", "\\u0000", "x y"];
            let text: String = (0..rng.below(20)).map(|_| rng.pick(&parts)).collect();
            out.push_str(&format!("\"{text}\""));
        }
        12 | 13 => {
            out.push('[');
            for i in 0..rng.below(4) {
                out.push_str(if i > 0 { " , " } else { "" });
                value(rng, depth + 1, out);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for i in 0..rng.below(6) {
                let names =
                    ["a", "b", "\\u0061", "long name of a member, beyond 32 bytes", "c\\/d", "c/d", ""];
                let comma = if i > 0 { "," } else { "" };
                out.push_str(&format!("{comma}\"{}\":", rng.pick(&names)));
                value(rng, depth + 1, out);
            }
            out.push('}');
        }
    }
}

#[test]
fn lines_are_counted_as_elsewhere() {
    // A line of white space that ends a text is one, with or without tokens before it.
    for lines in
        [&["1\n", "\n", " \t\n", " \r"][..], &["  "], &["{}\n", " "], &["\n", "[]\n", "\n"], &["{}"], &[]]
    {
        for before in [0, 1, 3000] {
            let text = "{\"a\":1}\n".repeat(before) + &lines.concat();
            let walked = walk_part(&mut SchemaTree::default(), &text, 0);
            assert_eq!(walked.lines, (before + lines.len()) as u64, "{before} lines before {lines:?}");
        }
    }
}

#[test]
fn trees_do_not_depend_on_how_a_text_is_split() {
    let mut rng = Rng::new(6);
    for round in 0..60 {
        let mut lines = Vec::new();
        for i in 0..rng.below(60) {
            let mut line = String::new();
            match round % 3 {
                0 => line.push_str(&format!("{{\"m\":{{\"k{}\":{i}}}}}", rng.next_u64() % 5000)),
                _ => value(&mut rng, 0, &mut line),
            }
            lines.push(line + "\n");
        }
        let whole = lines.concat();
        let all = tree_of(&whole);
        // Each line is a text; the positions of the whole text are put back afterwards.
        let starts: Vec<usize> = lines
            .iter()
            .scan(0, |at, line| {
                *at += line.len();
                Some(*at - line.len())
            })
            .collect();
        let mut workers = vec![SchemaTree::default(); 1 + rng.below(4)];
        for (number, line) in lines.iter().enumerate() {
            let worker = rng.below(workers.len());
            walk_part(&mut workers[worker], line, number as u64);
        }
        let relocated = |mut tree: SchemaTree| {
            tree.relocate(|position| Position {
                text: 0,
                line: position.text,
                offset: starts[position.text as usize] as u64 + position.offset,
            });
            shown(&tree)
        };
        let mut left = SchemaTree::default();
        workers.iter().for_each(|tree| left.merge(tree));
        // The other association, in the other order.
        let right = workers.iter().fold(SchemaTree::default(), |rest, tree| {
            let mut tree = tree.clone();
            tree.merge(&rest);
            tree
        });
        assert_eq!(relocated(left), shown(&all));
        assert_eq!(relocated(right), shown(&all));
    }
}

/// Lines of random values.
fn lines(rng: &mut Rng, count: usize) -> String {
    let mut lines = String::new();
    for _ in 0..count {
        value(rng, 0, &mut lines);
        lines.push('\n');
    }
    lines
}

#[test]
fn trees_come_back_from_their_bytes() {
    let mut rng = Rng::new(7);
    for _ in 0..60 {
        let count = [0, 1, 30, 400][rng.below(4)];
        let (text, more) = (lines(&mut rng, count), lines(&mut rng, 40));
        let mut tree = tree_of(&text);
        let mut again = SchemaTree::of_bytes(&tree.to_bytes().unwrap()).unwrap();
        assert_eq!(shown(&again), shown(&tree));
        // What is not shown decides what a tree becomes with more records.
        let other = tree_of(&more);
        again.merge(&other);
        tree.merge(&other);
        assert_eq!(shown(&again), shown(&tree));
        tree.fold_maps();
        again.fold_maps();
        assert_eq!(shown(&again), shown(&tree));
    }
    // An object of more members than are kept is a map.
    let names: Vec<String> = (0..=MOST_MEMBERS).map(|name| format!("\"{name}\":1")).collect();
    let map = tree_of(&format!("{{{}}}", names.join(",")));
    assert_eq!(shown(&SchemaTree::of_bytes(&map.to_bytes().unwrap()).unwrap()), shown(&map));
    // A tree whose bounds were lowered is not written.
    let deep: String =
        (0..70_000).map(|name| format!("{{\"a{}\":{{\"b{name}\":1}}}}\n", name % 90)).collect();
    let deep = tree_of(&deep);
    assert_eq!((deep.lowered_members().is_some(), deep.to_bytes()), (true, None));
}

#[test]
fn altered_bytes_of_trees_are_refused_or_are_a_tree() {
    let mut rng = Rng::new(8);
    let text = lines(&mut rng, 80);
    let bytes = tree_of(&text).to_bytes().unwrap();
    for len in 0..bytes.len() {
        // Whole nodes alone are a smaller tree.
        SchemaTree::of_bytes(&bytes[..len]).iter().for_each(|tree| drop(shown(tree)));
    }
    let (mut refused, mut read) = (0, 0);
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= [1, 0x10, 0x80, 0xff][rng.below(4)];
        let Some(mut tree) = SchemaTree::of_bytes(&altered) else {
            refused += 1;
            continue;
        };
        tree.merge(&tree_of(&text));
        tree.fold_maps();
        shown(&tree);
        assert!(!rows(&tree, &|_| String::new()).is_empty());
        read += 1;
    }
    assert!(refused > 0 && read > 0);
    // A number of values, and a line, that no text has.
    for (at, number) in [(4, 1_u64 << 60), (4, u64::MAX)] {
        let mut forged = bytes.clone();
        forged[at..at + 8].copy_from_slice(&number.to_le_bytes());
        assert!(SchemaTree::of_bytes(&forged).is_none());
    }
    let bytes = tree_of("{}\n{}").to_bytes().unwrap();
    for (line, is_read) in [(1_u64, true), (u64::MAX, false)] {
        let mut forged = bytes.clone();
        // After the version, 15 numbers, the form and the kind comes the line of the first object.
        let at = 4 + 15 * 8 + 4 + 4;
        assert_eq!(forged[at..at + 8], [0; 8]);
        forged[at..at + 8].copy_from_slice(&line.to_le_bytes());
        let tree = SchemaTree::of_bytes(&forged);
        assert_eq!(tree.is_some(), is_read);
        tree.iter().for_each(|tree| {
            assert_eq!(tree.root().first(JsonType::Object).unwrap().position.line, line);
        });
    }
}
