//! Standing queries: their syntax, the documents that they match, and the errors of wrong queries.

use std::fmt::Write as _;
use std::sync::Arc;

use insta::assert_snapshot;
use warpath::backend::Backend;
use warpath::device::Pipeline;
use warpath::twig::{Documents, Events, Matcher, Name, Standing, Subscriptions, Twig, Value, json, xml};
use warpath::{Cpu, Engine};
use warpath_rivals::twig_seed::{SeedError, SeedQueries};
use warpath_rivals::yfilter::{Runner, YFilter};
use warpath_shared::twig::seed::Personality;
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;
use warpath_tests::twig_fuzz;
use warpath_tests::twig_streams;
use warpath_tests::twigs::{self, Doc, Node};

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

/// 100,000 pairs of documents and twigs, on XML and JSON, compared with an exhaustive oracle. The rival is
/// compared, too.
#[test]
fn random_twigs_match_as_the_oracle_says() {
    let mut rng = Rng::new(7);
    let (mut matches, mut pairs) = (0, 0);
    for round in 0..100 {
        let is_json = round % 2 == 1;
        let (mut subscriptions, mut yfilter) = (Subscriptions::default(), YFilter::default());
        let mut twigs = Vec::new();
        while twigs.len() < 40 {
            let size = [1, 2, 3, 5, 8, 12][rng.below(6)];
            let twig = Node::random(&mut rng, size, is_json);
            let (id, path) = (twigs.len().to_string(), twig.to_xpath(&mut rng));
            subscriptions.add(&id, &path).unwrap_or_else(|error| panic!("{path}: {error}"));
            yfilter.add(&Twig::parse(&path).unwrap());
            twigs.push((path, twig));
            // Other subscriptions are added and removed in between.
            if rng.below(3) == 0 {
                let other = Node::random(&mut rng, 4, is_json).to_xpath(&mut rng);
                subscriptions.add("other", &other).unwrap();
                assert!(subscriptions.remove("other") && !subscriptions.remove("other"));
            }
        }
        let (mut matcher, mut rival) = (subscriptions.matcher(), yfilter.runner());
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
            rival.reset();
            let of_rival: Vec<usize> = if is_json {
                json::read(text.as_bytes(), &mut matcher).unwrap_or_else(|error| panic!("{text}: {error:?}"));
                json::read(text.as_bytes(), &mut rival).unwrap();
                rival.matches().collect()
            } else {
                xml::read(&text, &mut matcher).unwrap_or_else(|error| panic!("{text}: {error}"));
                xml::read(&text, &mut rival).unwrap();
                rival.matches().collect()
            };
            let found: Vec<usize> = matcher.matches().map(|id| id.parse().unwrap()).collect();
            all.push_str(&text);
            all.push('\n');
            want_of_all.push(found.clone());
            for (number, (path, twig)) in twigs.iter().enumerate() {
                let want = twig.matches(&document, is_json);
                assert_eq!(found.contains(&number), want, "{path}\n{text}");
                assert_eq!(of_rival.contains(&number), want, "YFilter: {path}\n{text}");
                (matches, pairs) = (matches + usize::from(want), pairs + 1);
            }
        }
        if is_json {
            let mut found: Vec<Vec<usize>> = Vec::new();
            matcher.reset();
            json::Lines::default().read(all.as_bytes(), &mut matcher, |matcher, line, ended| {
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

/// The emulated kernels, compared with the CPU and the oracle on 200,000 pairs. The paper's kernel knows no
/// values, and is compared on 100,000 pairs. The pairs are spread over two tests, for two cores.
#[test]
fn kernels_match_as_the_oracle_says() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 1, 20, (200, 25))
}

/// Enough twigs that groups are selected by their keys.
#[test]
fn many_twigs_match_as_the_oracle_says() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 3, 4, (1500, 8))
}

#[test]
fn kernels_match_as_the_oracle_says_again() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 2, 20, (200, 25))
}

/// Streams on the CPU and on a device: each document has the results that it has by itself.
#[test]
fn streams_are_asked_as_each_document_is() -> anyhow::Result<()> {
    let cpu: Arc<dyn Backend> = Arc::new(Cpu);
    twig_streams::streams(&cpu, 1, 60)?;
    let device: Arc<dyn Backend> = Arc::new(Pipeline::new(Emulated::default())?);
    twig_streams::streams(&device, 2, 6)
}

/// The stages of a device, as `explain` prints them.
#[test]
fn what_a_device_does_is_told() -> anyhow::Result<()> {
    let device = Pipeline::new(Emulated::default())?;
    let mut said = String::new();
    for documents in [Documents::Ndjson, Documents::Json, Documents::Xml] {
        let _ = writeln!(said, "{documents:?}");
        for stage in device.twig_stages(documents) {
            let _ = writeln!(said, "  {} {}: {}", stage.place, stage.name, stage.what);
        }
    }
    assert_snapshot!(said);
    Ok(())
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
            (good, runs) = (good + twig_fuzz::fuzz_one(&bytes), runs + 1);
        }
    }
    assert!(good > runs, "{good} good documents of {runs} files");
}

/// The paper's tables: query nodes of four bytes, events of one byte, and whole twigs in blocks of 256.
/// Queries and documents that do not fit the tables are refused.
#[test]
fn the_papers_kernel_has_the_papers_tables() {
    let mut queries = SeedQueries::default();
    let add = |queries: &mut SeedQueries, query: &str| queries.add(&Twig::parse(query).unwrap());
    add(&mut queries, "/a//c[//d]/*").unwrap();
    let nodes = queries.personalities.clone();
    assert_eq!((nodes.len(), size_of_val(&nodes[..])), (5, 20));
    let has = |at: usize, flags: u32| nodes[at].has(flags);
    // The document, a, c, d and the wildcard, in the order of the query.
    assert!(has(0, Personality::ROOT) && has(0, Personality::HAS_CHILDREN) && !has(0, Personality::LEAF));
    assert!(has(1, Personality::HAS_DESCENDANTS) && !has(1, Personality::HAS_CHILDREN));
    assert!(has(2, Personality::DESCENDANT) && has(2, Personality::HAS_CHILDREN));
    assert!(has(2, Personality::HAS_DESCENDANTS) && nodes[2].children() == 2);
    assert!(has(3, Personality::LEAF) && has(3, Personality::DESCENDANT) && !has(3, Personality::ANY));
    assert!(has(4, Personality::LEAF) && has(4, Personality::ANY) && !has(4, Personality::DESCENDANT));
    assert_eq!(nodes[1..].iter().map(|node| node.prefix()).collect::<Vec<_>>(), [0, 1, 2, 2]);
    // The children of one node have different slots.
    assert_eq!([nodes[3].slot(), nodes[4].slot()], [0, 1]);
    let mut events = queries.encoder();
    xml::read("<a><c x='y'><d/><other/></c></a>", &mut events).unwrap();
    assert!(events.finish());
    let [a, c, d] = [1, 2, 3].map(|at| nodes[at].tag() as u8);
    assert_eq!(events.events, [a, c, d, d | 0x80, 127, 127 | 0x80, c | 0x80, a | 0x80]);
    // A stack of 32 levels has the document's level and 31 more.
    for (depth, is_fit) in [(31, true), (32, false)] {
        let text = format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        xml::read(&text, &mut events).unwrap();
        assert_eq!(events.finish(), is_fit, "{depth}");
    }
    assert_eq!(events.documents, [0, 8, 70, 70]);

    // 5 + 250 threads: the next twig is in the next block.
    add(&mut queries, &"/a".repeat(249)).unwrap();
    add(&mut queries, "/a").unwrap();
    queries.fill();
    assert_eq!((queries.roots.clone(), queries.personalities.len()), (vec![0, 5, 256], 512));
    assert_eq!(queries.personalities[257].prefix(), 0);
    assert_eq!(add(&mut queries, &"/a".repeat(256)), Err(SeedError::Nodes));
    assert_eq!(add(&mut queries, "/a[b][c][d][e][f]"), Err(SeedError::Children));
    assert_eq!(add(&mut queries, "/a/@b"), Err(SeedError::Kind));
    assert_eq!(add(&mut queries, "/a[. = 1]"), Err(SeedError::Kind));
    // Three names are known already.
    for name in 3..127 {
        add(&mut queries, &format!("/n{name}")).unwrap();
    }
    assert_eq!(add(&mut queries, "/n127"), Err(SeedError::Tags));
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
    let pipeline = Pipeline::new(Emulated::default())?;
    let backends: [Arc<dyn Backend>; 2] = [Arc::new(Cpu), Arc::new(pipeline)];
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

/// A document is not affected by earlier documents, even if their texts ended early.
#[test]
fn rivals_forget() {
    let mut yfilter = YFilter::default();
    for query in ["/a[b]/c", "/a[. = 'x'][b]", "//b", "$"] {
        yfilter.add(&Twig::parse(query).unwrap());
    }
    let mut runner = yfilter.runner();
    for (text, want) in [
        ("<a>x<b/></a>", &[1, 2, 3][..]),
        ("<a><c/></a>", &[3]),
        ("<a>x<b/><o><b/>", &[2, 3]),
        ("<a><c/><b/></a>", &[0, 2, 3]),
        ("<o/>", &[3]),
    ] {
        runner.reset();
        let _ = xml::read(text, &mut runner);
        assert_eq!(runner.matches().collect::<Vec<_>>(), want, "{text}");
        assert_eq!(runner.matches().collect::<Vec<_>>(), want, "{text}, asked again");
    }
    // By tags: all names that no twig has share one tag.
    let tag = |name: &str| yfilter.tag(Name::Element(name.as_bytes()));
    assert!(tag("o") == tag("p") && tag("o") != tag("a") && tag("a") != tag("b"));
    let attribute = yfilter.tag(Name::Attribute(b"a"));
    assert!(attribute != tag("a") && attribute != tag("o") && attribute != yfilter.tag(Name::Item));
    runner.reset();
    assert!(runner.open_tag(tag("a")));
    for below in ["c", "o", "b"] {
        assert!(!runner.open_tag(tag(below)));
        runner.close_value(Value::None);
    }
    runner.close_value(Value::Text(b""));
    assert_eq!(runner.matches().collect::<Vec<_>>(), [0, 2, 3]);
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
        "/é[ü]/",
        "/a |/b",
        "$.a[0]",
        "$.a[1:2]",
        "$.a['b','c']",
        "$[?@.a || @.b]",
        "$[?!@.a]",
        "$[?@.a != 1]",
        "$[?$.a]",
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
    assert!(subscriptions.add("as long as can be", &"/a".repeat(1024)).is_err());
    subscriptions.add("as-long-as-can-be", &"/a".repeat(1024)).unwrap();
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
