//! The rivals: the tables of the paper's kernel, and YFilter.

use warpath_cpu::twig::{Name, xml};
use warpath_lang::twig::{Twig, Value};
use warpath_rivals::twig_seed::{SeedError, SeedQueries};
use warpath_rivals::yfilter::YFilter;
use warpath_rivals_gpu::seed::Personality;

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
