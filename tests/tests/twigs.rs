//! Standing queries: their syntax, the documents that they match, and the errors of wrong queries.

mod cases;
mod kernels;

use std::fmt::Write as _;

use insta::assert_snapshot;
use warpath::twig::{Documents, Subscriptions};
use warpath_cpu::twig::{json, xml};
use warpath_lang::twig::Twig;
use warpath_tests::random::Rng;
use warpath_tests::twig_evaluator::ByKeys as Second;
use warpath_tests::twigs::{Doc, Node};

use crate::common::emulated;

/// The stages of a device, as `explain` prints them.
#[test]
fn what_a_device_does_is_told() -> anyhow::Result<()> {
    let device = emulated();
    let mut said = String::new();
    for documents in [Documents::Ndjson, Documents::Json, Documents::Xml] {
        let _ = writeln!(said, "{documents:?}");
        for stage in warpath_cpu::twig::standing::stages(&device, documents) {
            let _ = writeln!(said, "  {} {}: {}", stage.place, stage.name, stage.what);
        }
    }
    assert_snapshot!(said);
    Ok(())
}

/// Wrong subscriptions and their messages.
#[test]
fn what_is_no_subscription_is_told() {
    let mut said = String::new();
    for query in [
        "",
        "a/b",
        "/",
        "//",
        "/a[",
        "/a[b",
        "/a[]",
        "/a]",
        "/a[b]]",
        "/a b",
        "/a[b=]",
        "/a[b=c]",
        "/a['x']",
        "/a[. = 'x]",
        "/a[b or c]",
        "/a[..]",
        "/a/..",
        "/a[text()='x']",
        "/@a/b",
        "/a[1]",
        "/a[b > 1x]",
        "/1",
        "/a[@]",
        "/a/@xmlns",
        "//@xmlns:x[. = 'u']",
        "/é[ü]/",
        "/a |/b",
        "$.a[0]",
        "$.a[1:2]",
        "$.a['b','c']",
        "$[?@.a || @.b]",
        "$[?!@.a]",
        "$[?@.a != 1]",
        "$[?@.a == @.b]",
        "$[?match(@.a, 'x')]",
        "$[?@.a < true]",
        "$.",
        "$[?@.a[0] == 1]",
    ] {
        let error = Twig::parse(query).expect_err(query);
        let _ = writeln!(said, "{query}\n{:>1$} {error}", "^", query[..error.at].chars().count() + 1);
    }
    let deep = format!("/a{}{}", "[b".repeat(101), "]".repeat(101));
    let _ = writeln!(said, "{}", Twig::parse(&deep).unwrap_err());
    let mut subscriptions = Subscriptions::default();
    let _ = writeln!(said, "{}", subscriptions.add("long", &"/a".repeat(1025)).unwrap_err());
    let _ = writeln!(said, "{}", subscriptions.add("broad", &format!("/a{}", "[b]".repeat(64))).unwrap_err());
    // The twig is as long as can be, so the id alone is refused.
    let _ = writeln!(said, "{}", subscriptions.add("with spaces", &"/a".repeat(1024)).unwrap_err());
    subscriptions.add("without-spaces", &"/a".repeat(1024)).unwrap();
    assert_eq!(subscriptions.ids().collect::<Vec<_>>(), ["without-spaces"]);
    assert_snapshot!(said);
}

/// A file with wrong lines: the other lines are added.
#[test]
fn subscription_files() {
    let text = "\u{feff}# comment\n\nfirst\t/a[b]\nno tab /a\nfirst\t/c\n\t/a\nx y\t/a\nbad\t/a[b\n  \t \nlast\t$.a.b\r\nnone\t$.a[0]\n";
    let mut subscriptions = Subscriptions::default();
    let mut said = String::new();
    for error in subscriptions.add_file(text) {
        let _ = writeln!(said, "{}:{}: {error}", error.line, error.column);
    }
    assert_snapshot!(said);
    assert_eq!(subscriptions.ids().collect::<Vec<_>>(), ["first", "last"]);
    let mut matcher = subscriptions.matcher();
    json::read(br#"{"a":{"b":1}}"#, &mut matcher).unwrap();
    assert_eq!(matcher.matches().collect::<Vec<_>>(), ["first", "last"]);
    let mut empty = Subscriptions::default();
    assert!(empty.add_file("").is_empty() && empty.is_empty());
    let mut matcher = empty.matcher();
    json::read(b"[1]", &mut matcher).unwrap();
    assert_eq!(matcher.matches().count(), 0);
}

/// A file that is read again. Unchanged subscriptions are not added again, and all subscriptions match as if
/// the file were read for the first time.
#[test]
fn subscription_files_that_change() {
    let mut subscriptions = Subscriptions::default();
    subscriptions.add_file("a\t/a\nb\t/b\nc\t/c\n");
    let change = subscriptions.update_file("c\t/c\nb\t/x\n# d\nd\t/d\ne\t/[\nc\t/c\n");
    let said: Vec<_> = change.errors.iter().map(|error| (error.line, error.column)).collect();
    assert_eq!((said, change.added, change.removed), (vec![(5, 4), (6, 1)], 2, 2));
    let all: Vec<_> = subscriptions.ids().zip((0..).map_while(|at| subscriptions.query(at))).collect();
    assert_eq!(all, [("c", "/c"), ("b", "/x"), ("d", "/d")]);
    let mut rng = Rng::new(21);
    let mut subscriptions = Subscriptions::default();
    for round in 0..30 {
        // Few of the subscriptions change, or most; some have equal queries.
        let mut file = String::new();
        for number in 0..300 {
            let kept = subscriptions.ids().position(|id| id == format!("s{number}"));
            let query = match kept.and_then(|at| subscriptions.query(at)) {
                Some(query) if rng.below(10) > if round % 3 == 0 { 8 } else { 2 } => query.to_owned(),
                _ if rng.below(8) == 0 => continue,
                _ => Node::random(&mut rng, 3, true).to_xpath(&mut rng),
            };
            let _ = writeln!(file, "s{number}\t{query}");
        }
        let change = subscriptions.update_file(&file);
        assert!(change.errors.is_empty(), "{:?}", change.errors);
        let mut fresh = Subscriptions::default();
        assert!(fresh.add_file(&file).is_empty() && fresh.len() == subscriptions.len());
        assert_eq!(fresh.set().size().twigs, subscriptions.set().size().twigs);
        for _ in 0..5 {
            let text = Doc::json(&mut rng).to_json();
            let of = |subscriptions: &Subscriptions| {
                let mut matcher = subscriptions.matcher();
                json::read(text.as_bytes(), &mut matcher).unwrap();
                let mut found: Vec<String> = matcher.matches().map(str::to_owned).collect();
                found.sort_unstable();
                found
            };
            assert_eq!(of(&subscriptions), of(&fresh));
        }
    }
    // Rows that no subscription needs any more are removed.
    let rows = subscriptions.set().size().rows;
    let last = subscriptions.update_file("a\t/a\n");
    assert!(last.removed > 200 && subscriptions.set().size().rows < rows / 10, "{rows} rows");
}

/// Texts that are not XML.
#[test]
fn what_is_no_xml_is_told() {
    let mut said = String::new();
    for text in [
        "",
        " ",
        "x",
        "<a>",
        "<a><b></a>",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>x",
        "<a b='1' b='2'/>",
        "<a b=1/>",
        "<a b/>",
        "<a",
        "<a>&x;</a>",
        "<a>&#0;</a>",
        "<a>& </a>",
        "<!DOCTYPE a [<!ENTITY l 'lol'><!ENTITY m '&l;&l;'>]><a>&m;</a>",
        "<a><![CDATA[x</a>",
        "<a><!-- x</a>",
        "<a c='&x;'/>",
    ] {
        let mut subscriptions = Subscriptions::default();
        subscriptions.add("id", "//a[. = 'x'][@c = 'x']").unwrap();
        match xml::read(text, &mut subscriptions.matcher()) {
            Ok(()) => {
                let _ = writeln!(said, "{text}\n  good");
            }
            Err(error) => {
                let _ = writeln!(said, "{text}\n  byte {}: {error}", error.at);
            }
        }
    }
    assert_snapshot!(said);
}
