//! Documents and the twigs that match them, on the CPU. A second evaluator, which the parent module names,
//! reads the same documents: here the matcher by keys, and YFilter in `benches/rivals/tests`.

use std::sync::Arc;

use warpath::Engine;
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_cpu::twig::{Matcher, json, xml};
use warpath_lang::twig::Twig;
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;
use warpath_tests::twig_evaluator::{Both, Evaluator};
use warpath_tests::twig_fuzz;
use warpath_tests::twigs::{Doc, Node};

use super::Second;

type Run<'a> = <Second as Evaluator>::Run<'a>;

/// The numbers of the queries that match a document. One reader feeds both evaluators, whose results must be
/// equal.
fn matching(queries: &[&str], read: impl FnOnce(&mut Both<'_, Matcher<'_>, Run<'_>>)) -> Vec<usize> {
    let (mut subscriptions, mut second) = (Subscriptions::default(), Second::default());
    for (number, query) in queries.iter().enumerate() {
        subscriptions.add(&number.to_string(), query).unwrap_or_else(|error| panic!("{query}: {error}"));
        second.add(&Twig::parse(query).unwrap());
    }
    let (mut matcher, mut run) = (subscriptions.matcher(), second.run());
    read(&mut Both(&mut matcher, &mut run));
    let found: Vec<usize> = matcher.matches().map(|id| id.parse().unwrap()).collect();
    assert_eq!(Second::matches(&mut run), found, "{queries:?}");
    found
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
    let backends: [Arc<dyn Backend>; 2] = [Arc::new(Cpu), Emulated::default().backend()];
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

// --- random twigs and documents
// ---------------------------------------------------------------------------------

/// 100,000 pairs of documents and twigs, on XML and JSON, compared with an exhaustive oracle. The second
/// evaluator is compared, too.
#[test]
fn random_twigs_match_as_the_oracle_says() {
    let mut rng = Rng::new(7);
    let (mut matches, mut pairs) = (0, 0);
    for round in 0..100 {
        let is_json = round % 2 == 1;
        let (mut subscriptions, mut second) = (Subscriptions::default(), Second::default());
        let mut twigs = Vec::new();
        while twigs.len() < 40 {
            let size = [1, 2, 3, 5, 8, 12][rng.below(6)];
            let twig = Node::random(&mut rng, size, is_json);
            let (id, path) = (twigs.len().to_string(), twig.to_xpath(&mut rng));
            subscriptions.add(&id, &path).unwrap_or_else(|error| panic!("{path}: {error}"));
            second.add(&Twig::parse(&path).unwrap());
            twigs.push((path, twig));
            // Other subscriptions are added and removed in between.
            if rng.below(3) == 0 {
                let other = Node::random(&mut rng, 4, is_json).to_xpath(&mut rng);
                subscriptions.add("other", &other).unwrap();
                assert!(subscriptions.remove("other") && !subscriptions.remove("other"));
            }
        }
        let (mut matcher, mut run) = (subscriptions.matcher(), second.run());
        let (mut all, mut want_of_all) = (String::new(), Vec::new());
        for document in 0..25 {
            // The documents are also collected as lines. A blank line and a malformed line come before some
            // of them.
            if document % 7 == 3 {
                all.push_str("\n{\"a\":[}\n");
                want_of_all.push(Vec::new());
            }
            let document = if is_json { Doc::json(&mut rng) } else { Doc::xml(&mut rng) };
            let text = if is_json { document.to_json() } else { document.to_xml(&mut rng) };
            matcher.reset();
            Second::reset(&mut run);
            if is_json {
                json::read(text.as_bytes(), &mut matcher).unwrap_or_else(|error| panic!("{text}: {error:?}"));
                json::read(text.as_bytes(), &mut run).unwrap();
            } else {
                xml::read(&text, &mut matcher).unwrap_or_else(|error| panic!("{text}: {error}"));
                xml::read(&text, &mut run).unwrap();
            }
            let of_second = Second::matches(&mut run);
            let found: Vec<usize> = matcher.matches().map(|id| id.parse().unwrap()).collect();
            all.push_str(&text);
            all.push('\n');
            want_of_all.push(found.clone());
            for (number, (path, twig)) in twigs.iter().enumerate() {
                let want = twig.matches(&document, is_json);
                assert_eq!(found.contains(&number), want, "{path}\n{text}");
                assert_eq!(of_second.contains(&number), want, "the second: {path}\n{text}");
                (matches, pairs) = (matches + usize::from(want), pairs + 1);
            }
        }
        if is_json {
            let mut found: Vec<Vec<usize>> = Vec::new();
            matcher.reset();
            json::LineReader::default().read(all.as_bytes(), &mut matcher, |matcher, line, ended| {
                assert_eq!(ended.is_err(), all.lines().nth(line) == Some("{\"a\":[}"));
                found.push(matcher.matches().map(|id| id.parse().unwrap()).collect());
                matcher.reset();
            });
            assert!(found == want_of_all);
        }
    }
    assert_eq!(pairs, 100_000);
    assert!(matches > 15_000, "{matches}");
}

/// Files of subscriptions and documents with random alterations, as fuzzing makes them.
#[test]
fn altered_files_mean_the_same_to_all() {
    let mut rng = Rng::new(11);
    let (mut good, mut runs) = (0, 0);
    for round in 0..1500 {
        let is_json = round % 2 == 1;
        let mut bytes = Vec::new();
        for number in 0..rng.below(12) {
            let size = [1, 2, 5][rng.below(3)];
            let query = Node::random(&mut rng, size, is_json).to_xpath(&mut rng);
            bytes.extend_from_slice(format!("s{number}\t{query}\n").as_bytes());
        }
        bytes.extend_from_slice(b"# two of JSONPath\nj\t$.a[?@.b == 1 && @.c]..d\nk\t$..['a']\n\0");
        for _ in 0..if is_json { 3 } else { 1 } {
            let text =
                if is_json { Doc::json(&mut rng).to_json() } else { Doc::xml(&mut rng).to_xml(&mut rng) };
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(b'\n');
        }
        for altered in [0, 1, 4] {
            for _ in 0..altered {
                let at = rng.below(bytes.len());
                let marks = b"<>/&;=\"'[]{}@$.:,!-?\\ \t\n#*\x80\xc3e0";
                match rng.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, marks[rng.below(marks.len())]),
                    _ => bytes[at] = marks[rng.below(marks.len())],
                }
            }
            (good, runs) = (good + twig_fuzz::fuzz_one::<Second>(&bytes), runs + 1);
        }
    }
    assert!(good > runs, "{good} good documents of {runs} files");
}
