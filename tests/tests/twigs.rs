//! Standing queries: their syntax, the documents that they match, and the errors of wrong queries.

mod random;
mod rivals;

use std::fmt::Write as _;

use insta::assert_snapshot;
use warpath::Engine;
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath_cpu::twig::{Events, Matcher, Name, json, xml};
use warpath_lang::twig::{Twig, Value};
use warpath_rivals::yfilter::{Runner, YFilter};
use warpath_tests::random::Rng;
use warpath_tests::twigs::{Doc, Node};

use crate::common::{backends, emulated};

/// The numbers of the queries that match a document. One reader feeds both matchers, whose results must be
/// equal.
fn matching(queries: &[&str], read: impl FnOnce(&mut Both)) -> Vec<usize> {
    let (mut subscriptions, mut yfilter) = (Subscriptions::default(), YFilter::default());
    for (number, query) in queries.iter().enumerate() {
        subscriptions.add(&number.to_string(), query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(yfilter.add(&Twig::parse(query).unwrap()), number);
    }
    let mut both = Both(subscriptions.matcher(), yfilter.runner());
    read(&mut both);
    let found: Vec<usize> = both.0.matches().map(|id| id.parse().unwrap()).collect();
    assert_eq!(both.1.matches().collect::<Vec<_>>(), found, "{queries:?}");
    found
}

/// The matcher of subscriptions and its rival, which receive the events of the same document.
struct Both<'a>(Matcher<'a>, Runner<'a>);

impl Events for Both<'_> {
    fn open(&mut self, name: Name<'_>) -> bool {
        self.0.open(name) | self.1.open(name)
    }

    fn close(&mut self, value: Value<'_>) {
        self.0.close(value);
        self.1.close(value);
    }
}

fn of_json(queries: &[&str], document: &str) -> Vec<usize> {
    matching(queries, |both| json::read(document.as_bytes(), both).unwrap())
}

fn all_of_xml(queries: &[&str], document: &str) -> Vec<usize> {
    matching(queries, |both| {
        xml::read(document, both).unwrap_or_else(|error| panic!("{document}: {error}"));
    })
}

fn of_xml(query: &str, document: &str) -> bool {
    !all_of_xml(&[query], document).is_empty()
}

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

/// Twigs that are longer than a word, and nodes of twigs with the greatest number of children.
#[test]
fn large_twigs() {
    let path = |nodes: usize| (0..nodes).map(|at| format!("/n{}", at % 7)).collect::<String>();
    let document = |nodes: usize| {
        let open: String = (0..nodes).map(|at| format!("<n{}>", at % 7)).collect();
        let close: String = (0..nodes).rev().map(|at| format!("</n{}>", at % 7)).collect();
        open + &close
    };
    for nodes in [31, 32, 33, 64, 65, 200, 1024] {
        assert!(
            of_xml(&path(nodes), &document(nodes)) && of_xml(&path(nodes), &document(nodes + 1)),
            "{nodes}"
        );
        assert!(!of_xml(&path(nodes), &document(nodes - 1)), "{nodes}");
    }
    for children in [1, 61, 62, 63] {
        let all: String = (0..children).map(|at| format!("[c{at}/d]")).collect();
        let elements = |but: usize| {
            let all = (0..children).filter(|at| *at != but).map(|at| format!("<c{at}><d/></c{at}>"));
            format!("<a>{}</a>", all.collect::<String>())
        };
        assert!(of_xml(&format!("/a{all}"), &elements(children)), "{children}");
        assert!((0..children).all(|but| !of_xml(&format!("/a{all}"), &elements(but))), "{children}");
    }
}

/// Wide twigs, whose children set bits far from the words of their descendants. A matcher reads these words
/// one by one or together.
#[test]
fn wide_twigs() -> anyhow::Result<()> {
    let backends = backends();
    for children in [2, 10, 11, 12, 17, 20] {
        let twig = |number: usize| {
            let all: String = (0..children).map(|at| format!("[c{at}/d{number}]")).collect();
            format!("/a{all}")
        };
        let document = |but: (usize, usize)| {
            let members = |at: usize| {
                let members = (0..12).filter(|number| (at, *number) != but);
                members.map(|number| format!("\"d{number}\":1")).collect::<Vec<_>>().join(",")
            };
            let all = (0..children).map(|at| format!("\"c{at}\":{{{}}}", members(at)));
            format!("{{\"a\":{{{}}}}}\n", all.collect::<Vec<_>>().join(","))
        };
        let without: Vec<_> = (0..=children).map(|at| (at, at % 12)).collect();
        let text: String = without.iter().map(|without| document(*without)).collect();
        for twigs in [1, 12] {
            let queries: Vec<String> = (0..twigs).map(twig).collect();
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            let mut subscriptions = Subscriptions::default();
            for (number, query) in queries.iter().enumerate() {
                subscriptions.add(&number.to_string(), query)?;
            }
            let mut want = Vec::new();
            for ((at, missing), line) in without.iter().zip(text.lines()) {
                let all = (0..twigs).filter(|number| *at == children || number != missing);
                let matches: Vec<usize> = all.collect();
                assert_eq!(of_json(&queries, line), matches, "{children} children, {twigs} twigs: {line}");
                want.push(matches);
            }
            let standing = Standing::new(subscriptions);
            for backend in &backends {
                let engine = Engine::builder().backend(backend.clone()).build()?;
                let input = engine.reader("test", std::io::Cursor::new(text.clone()));
                let mut found = vec![Vec::new(); want.len()];
                let mut first = 0;
                for filtered in input.filter(&standing, Documents::Ndjson) {
                    let filtered = filtered?;
                    for (line, twig) in filtered.pairs() {
                        found[first + *line as usize].push(*twig as usize);
                    }
                    first += filtered.lines() as usize;
                }
                found.iter_mut().for_each(|twigs| twigs.sort_unstable());
                assert_eq!(found, want, "{children} children, {twigs} twigs, {}", backend.name());
            }
        }
    }
    Ok(())
}

/// The twigs of the paper's figure 4: the document has both paths, and no `c` has both.
#[test]
fn paths_that_are_found_apart_are_no_twig() {
    let apart = "<a><b><c><d/></c></b><c><e/></c></a>";
    assert!(of_xml("/a//c//d", apart) && of_xml("/a/c/e", apart) && !of_xml("/a//c[//d]/e", apart));
    assert!(of_xml("/a//c[//d]/e", "<a><b/><c><x><d/></x><e/></c></a>"));
    // Children of both axes below one node, found one after the other; and nodes within nodes of the same
    // name.
    assert!(
        of_xml("//a[b][//c]", "<a><x><c/></x><b/></a>") && !of_xml("//a[b][//c]", "<a><x><c/><b/></x></a>")
    );
    assert!(of_xml("//a[b][//a/c]", "<a><a><c/></a><b/></a>") && !of_xml("/a/a[b]", "<a><b/><a/></a>"));
}

/// Cases that a join of paths may get wrong: nested equal names, twigs with common paths, and tests of nodes
/// on the way.
#[test]
fn twigs_of_shared_paths_match_apart() {
    let queries = ["//a//a[b]//a", "//a[b]//a//a", "//a[a/b][a]//c", "//a[.//b][.//c]//d", "//a//a//a"];
    assert_eq!(all_of_xml(&queries, "<a><a><x><a/></x><b/></a></a>"), [0, 4]);
    assert_eq!(all_of_xml(&queries, "<a><b/><a><a/></a></a>"), [1, 4]);
    assert_eq!(all_of_xml(&queries, "<a><a><b/><x><c/></x></a><d/></a>"), [2, 3]);
    assert_eq!(all_of_xml(&queries, "<a><a><b/></a><x><c/></x><a><d/></a></a>"), [2, 3]);
    assert_eq!(all_of_xml(&queries, "<x><a><b/></a><a><c/></a><a><d/></a></x>"), [0; 0]);
    // The last path decides. A path may occur twice in a twig. A twig may be a path that another twig needs
    // with more columns.
    let queries = ["/a/b[c][d]/e", "/a/b[c][d]/f", "/a/b[c][d][e]/f", "/a/b/f", "/a[b/f][b/c]", "/a/b[f][f]"];
    assert_eq!(all_of_xml(&queries, "<a><b><c/><d/><e/></b><b><d/><f/></b></a>"), [0, 3, 4, 5]);
    assert_eq!(all_of_xml(&queries, "<a><b><f/><d/><c/></b></a>"), [1, 3, 4, 5]);
    assert_eq!(all_of_xml(&queries, "<a><b><f/></b></a>"), [3, 5]);
    // Branching below branching: all parts must be below the same node.
    let queries = ["/r//x[y[a][b]][z[a][b]]", "/r//x[.//y[a][b]]//z[a]/b", "//x[@k = 1][y[. = 't'][a]/b]/z"];
    let (y, z) = ("<y>t<a/><b/></y>", "<z><b/><a/></z>");
    assert_eq!(all_of_xml(&queries, &format!("<r><x k='1'>{y}{z}</x></r>")), [0, 1, 2]);
    assert_eq!(all_of_xml(&queries, &format!("<r><x k='2'><o>{y}</o>{z}</x></r>")), [1]);
    assert_eq!(all_of_xml(&queries, &format!("<r><x k='2'>{y}<x k='1'>{z}<y>t<a/></y></x></x></r>")), [1]);
    assert_eq!(all_of_xml(&queries, &format!("<r><x k='1'>{y}</x><x>{z}</x></r>")), [0; 0]);
    // `*` matches no attribute, but matches elements that no twig names.
    let queries = ["//*[@*]", "//@x", "//@*", "/*/*[*]", "//*//@y"];
    assert_eq!(all_of_xml(&queries, "<o><p q=''/></o>"), [0, 2]);
    assert_eq!(all_of_xml(&queries, "<x y=''><p><q/></p></x>"), [0, 2, 3, 4]);
    assert_eq!(all_of_xml(&queries, "<x><p y='' x=''/></x>"), [0, 1, 2, 4]);
}

#[test]
fn jsonpath_asks_for_the_same_twigs() {
    let document = r#"{"user":{"lang":"nl","age":31.50,"tags":["a",{"b":true}]},"x":null,"y":[[1],[2,3]]}"#;
    let queries = [
        "$",
        "$.user.lang",
        "$.user[?@ == 'nl']",
        "$[?@.lang == 'nl' && @.age > 31 && 31.5e0 >= @.age]",
        "$[?@.lang == 'nl' && @.age > 31.5]",
        "$..b",
        "$.user.tags[*].b",
        "$.user.tags.b",
        "$..[?@.b == true]",
        "$..[?@.b == false]",
        "$[?@ == null]",
        "$.y[*][?@ == 3]",
        "$.y[*][?@ > 1 && @ < 3]",
        "$.y[*][?@ > 1 && @ < 2]",
        "$[?@.lang && @..b]",
        "/user[lang = 'nl']//b",
        "/y/*/*[. = 2]",
        "//lang",
        "$['us\\u0065r']",
        "$.*.*.*.*.*",
    ];
    assert_eq!(of_json(&queries, document), [0, 1, 2, 3, 5, 6, 8, 10, 11, 12, 14, 15, 16, 17, 18]);
    assert_eq!(of_json(&["$", "$.*", "$..*"], "3"), [0]);
    assert_eq!(of_json(&["$", "$.*", "$..*"], " \n"), [0]);
}

#[test]
fn values_are_compared_exactly() {
    let number = |text: &str, test: &str| of_xml(&format!("/a[. {test}]"), &format!("<a>{text}</a>"));
    assert!(number("12345678901234567891", "> 12345678901234567890") && number(" 1e2\n", "= 100.0"));
    assert!(number("007", "= 7") && !number("7x", "= 7") && !number("", "= 0") && number("-0", "= 0"));
    assert!(
        number("abc", "< 'abd'")
            && number("", "= ''")
            && number("it's", "= 'it''s'")
            && number("x", "!= \"y\"")
    );
    assert!(of_xml("/a[@b = 'x&y'][@n >= -1.5]", "<a b='x&amp;y' n='-1.50'/>"));
    assert!(of_xml(
        "/a[. = 'one two&three']",
        "<a>one<!-- and --> two<b>no</b><![CDATA[&]]>thr&#101;&#x65;</a>"
    ));
    assert!(of_xml("/x:a/@y:b", "<x:a xmlns:x='u' y:b=''/>") && !of_xml("/a", "<x:a/>"));
}

/// A name means the first of the members with this name, as in queries. `*` and `//` reach all.
#[test]
fn a_repeated_name_is_its_first_member() {
    let is_match = |query: &str, text: &str| !of_json(&[query], text).is_empty();
    for (query, text, want) in [
        ("$[?@.a == 1]", r#"{"x":{"a":1,"a":2}}"#, true),
        ("$[?@.a == 2]", r#"{"x":{"a":1,"a":2}}"#, false),
        ("/a[. = 1]", r#"{"a":1,"a":2}"#, true),
        ("/a[. = 2]", r#"{"a":1,"\u0061":2}"#, false),
        ("/*[. = 2]", r#"{"a":1,"a":2}"#, true),
        ("//b[. = 2]", r#"{"a":1,"a":{"b":2}}"#, true),
        ("/a/b", r#"{"a":1,"a":{"b":2}}"#, false),
        ("/a[. = 2]", r#"{"a":{"a":1,"b":1},"a":2}"#, false),
        ("/a/a[. = 1]", r#"{"a":{"a":1,"a":2}}"#, true),
        ("/c/a[. = 2]", r#"{"b":{"a":1},"c":{"a":2}}"#, true),
        ("/*/a[. = 2]", r#"[{"a":1},{"a":2,"a":3}]"#, true),
        ("/*/a[. = 3]", r#"[{"a":1},{"a":2,"a":3}]"#, false),
        ("//a[. = 3]", r#"{"b":{"a":{"b":{"a":3}}},"a":1}"#, true),
    ] {
        assert_eq!(is_match(query, text), want, "{query} {text}");
    }
}

/// XPath 1.0, section 5.3.
#[test]
fn a_declaration_of_a_namespace_is_no_attribute() {
    assert!(!of_xml("/r/@*", "<r xmlns='u' xmlns:x = \"v\"/>"));
    assert!(of_xml("/r/@*", "<r xmlnsx='u'/>") && of_xml("/r/@xmlnsx", "<r xmlns='' xmlnsx='u'/>"));
    assert!(of_xml("/r/@*[. = 'u']", "<r xmlns='v' b='u'/>"));
}

#[test]
fn deep_documents_are_documents() {
    let depth = 10_000;
    let text = format!("{}<b/>{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert!(of_xml("/a//a/b", &text) && of_xml("//a[a/b]", &text) && !of_xml("//b/a", &text));
    assert!(of_xml("//a[.//b][a]", &text) && !of_xml("//a[b][a]", &text));
    // Among many groups whose keys do not match, which take no memory: all levels of all groups would take
    // 300 MB.
    let file: String = (0..10_000).map(|number| format!("s{number}\t//a[n{number}]/m{number}/b\n")).collect();
    let mut subscriptions = Subscriptions::default();
    assert!(subscriptions.add_file(&(file + "deep\t//a[.//b][a]\nkey\t/a//b\n")).is_empty());
    assert!(subscriptions.set().size().groups > 20);
    let mut matcher = subscriptions.matcher();
    xml::read(&text, &mut matcher).unwrap();
    assert_eq!(matcher.matches().collect::<Vec<_>>(), ["deep", "key"]);
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
