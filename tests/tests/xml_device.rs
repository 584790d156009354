//! XML that the emulated device reads, compared with the reader and the matcher on the CPU.

use std::collections::HashMap;

use warpath_cpu::twig::TwigSet;
use warpath_cpu::twig::encode::Compiled;
use warpath_cpu::twig::names::Names;
use warpath_device::{Accelerator as _, TwigXmlStage};
use warpath_random::table::texts;
use warpath_shared::twig::dictionary::{ATTRIBUTES, Hash, NAMES};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;
use warpath_tests::xml::{self, BIBLIOGRAPHY};

const CASES: &str = include_str!("../data/xml.txt");

fn stage(set: &TwigSet) -> TwigXmlStage<Emulated> {
    let device = Emulated::default().queue().unwrap();
    TwigXmlStage::new(device, &Compiled::of(set), &Names::of(set)).unwrap()
}

/// Documents with all that XML has, and what is left of them when bytes are changed.
#[test]
fn documents_are_read_as_the_cpu_reads_them() {
    let tally = xml::suite(&Emulated::default(), 1, 12, (30, 300)).unwrap();
    println!("{tally:?}");
    assert!(tally.fit > tally.documents / 4 && tally.fit < tally.good, "{tally:?}");
    assert!(tally.matches > tally.fit, "{tally:?}");
}

/// Documents without unusual markup are not left to the host.
#[test]
fn ordinary_documents_are_not_left_to_the_host() {
    let mut rng = Rng::new(3);
    let set = xml::set(BIBLIOGRAPHY).unwrap();
    let documents: Vec<String> =
        (0..60).map(|number| xml::bibliography(&mut rng, [1, 3, 10, 40][number % 4])).collect();
    let (tally, unfit) = xml::check(&mut stage(&set), &set, &documents).unwrap();
    assert_eq!((tally.fit, unfit.len()), (documents.len(), 0));
    assert!(tally.matches > 200, "{tally:?}");
}

/// Each of these cases is at every offset in a word, between others. The device evaluates the good cases. It
/// leaves to the host the malformed ones, and some well-formed ones.
#[test]
fn cases_are_read_at_every_place_of_a_word() {
    let [good, left] = ["read", "left"].map(|section| texts::<1>(CASES, section).concat());
    let set = xml::set(["/a", "//a[b]", "//@b", "//*[c]/c", "/a/b/c", "//@*", "//_"]).unwrap();
    let mut stage = stage(&set);
    for place in 0..64 {
        let mut documents: Vec<&[u8]> = vec![&[b' '; 64][..place]];
        let mut want = vec![0];
        // Each kind comes between the other, and the second also after itself.
        for (number, left) in left.iter().enumerate() {
            documents.push(good[number % good.len()].as_bytes());
            want.push(documents.len() as u32);
            documents.push(left.as_bytes());
        }
        for left in &left {
            want.push(documents.len() as u32);
            documents.push(left.as_bytes());
        }
        let (_, unfit) = xml::check(&mut stage, &set, &documents).unwrap();
        let differs = |number: &&u32| unfit.contains(number) != want.contains(number);
        let first = unfit.iter().chain(&want).find(differs);
        assert!(
            unfit == want,
            "{:?}",
            first.map(|number| String::from_utf8_lossy(documents[*number as usize]))
        );
    }
}

/// A character that is split between two documents is invalid, and each invalid byte is found.
#[test]
fn what_is_no_utf8_is_left_to_the_host() {
    let set = xml::set(["//a"]).unwrap();
    let mut stage = stage(&set);
    let ends: [&[u8]; 8] = [
        b"<a>\xff</a>",
        b"<a>\xc3</a>",
        b"<a>\xa9</a>",
        b"<a b='\xe2\x82'/>",
        b"<\xc3/>",
        b"<a/><!--\xf0\x9f\x98-->",
        b"<a/>\xc3",
        b"<a/><!--\xe2\x82",
    ];
    for place in 0..64 {
        let mut documents: Vec<&[u8]> = vec![&[b' '; 64][..place]];
        for end in ends {
            documents.extend([b"<a/>", end]);
        }
        documents.push(b"\xac<a/>");
        let (tally, unfit) = xml::check(&mut stage, &set, &documents).unwrap();
        // One comes after half a character, and is left to the host with it.
        assert_eq!((tally.good, tally.fit, unfit.len()), (ends.len(), ends.len() - 1, ends.len() + 3));
    }
}

/// Names that no twig has are known by more than their hashes.
#[test]
fn names_of_one_hash_are_told_apart() {
    let hash = |of: u32, name: &str| {
        let mut hash = Hash::new(of);
        name.bytes().for_each(|byte| hash.push(byte));
        hash.get()
    };
    let two = |of: u32| {
        let mut seen = HashMap::new();
        let mut names = (100_000..).map(|number: u32| format!("n{number}"));
        names.find_map(|name| Some((seen.insert(hash(of, &name), name.clone())?, name))).unwrap()
    };
    let ((one, other), (first, second)) = (two(NAMES), two(ATTRIBUTES));
    let set = xml::set(["//a", "/*/*"]).unwrap();
    let documents = [
        format!("<{one}><{other}></{other}></{one}>"),
        format!("<{one} {first}='' x='' />"),
        format!("<{one}></{other}>"),
        format!("<{one} {first}='' {second}=''></{one}>"),
    ];
    let (tally, unfit) = xml::check(&mut stage(&set), &set, &documents).unwrap();
    assert_eq!((tally.good, tally.matches, unfit), (3, 1, vec![2, 3]));
}

/// A tested value is known to the last byte, or left to the host.
#[test]
fn values_are_tested_as_the_cpu_tests_them() {
    let set = xml::set(texts::<1>(CASES, "queries").concat()).unwrap();
    let mut documents = Vec::new();
    for [value] in texts(CASES, "values") {
        documents.push(format!("<a>{value}</a>"));
        documents.push(format!("<a b='{value}'/>"));
        documents.push(format!("<a><![CDATA[{value}]]></a>"));
        documents.push(format!("<a><b/>{value}<b b=\"{value}\"/></a>"));
        documents.push(format!("<a><!-- -->{value}<?p?></a>"));
    }
    let fit = documents.len();
    // White space in an attribute's value is another's; what is in parts is not put together.
    let others =
        ["<a b='a\tb'/>", "<a>x&lt;</a>", "<a b='&#120;'/>", "<a>x<b/>y</a>", "<a>x<![CDATA[y]]></a>"];
    documents.extend(others.iter().map(|text| (*text).to_owned()));
    let (tally, unfit) = xml::check(&mut stage(&set), &set, &documents).unwrap();
    // Three of the values have white space, in two attributes each.
    assert_eq!((tally.fit, unfit.len()), (fit - 6, others.len() + 6));
    assert!((fit..documents.len()).all(|number| unfit.contains(&(number as u32))));
}

/// For documents that are large, deep or match very much, the device makes room, or leaves them to the host.
#[test]
fn there_comes_to_be_room() {
    let tests = (1..30).map(|number| format!("//a[. > {number}]"));
    let set = xml::set(
        ["//a", "//a/a", "//@b", "/a//a[@b]", "//*", "//@*"].map(str::to_owned).into_iter().chain(tests),
    );
    let set = set.unwrap();
    let mut stage = stage(&set);
    let nested = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    let attributes = |count: usize| {
        let attributes: String = (0..count).map(|number| format!(" b{number}=''")).collect();
        format!("<a{attributes}/>")
    };
    // More events than a text has on average, more operations than an event has, and many matches.
    let dense = format!("<a>{}</a>", "<a>70</a>".repeat(2000));
    let (tally, unfit) = xml::check(&mut stage, &set, &[dense.clone(), nested(17), dense]).unwrap();
    assert_eq!((tally.fit, unfit), (3, vec![]));
    // Levels are those that are entered.
    let documents = [
        nested(16),
        nested(18),
        nested(400),
        attributes(64),
        attributes(65),
        format!("<{}/>", "n".repeat(20_000)),
        format!("<a>{}</a>", "x".repeat(20_000)),
        format!("<b>{}</b>", "x".repeat(20_000)),
        format!("<a{}/>", " ".repeat(20_000)),
        format!("<a/>{}", " ".repeat(20_000)),
        format!("<b>{}</b>", "<c/>".repeat(40_000)),
        format!("<b c='{}'/>", "<".repeat(20_000)),
    ];
    let (tally, unfit) = xml::check(&mut stage, &set, &documents).unwrap();
    assert_eq!((tally.good, unfit), (documents.len(), vec![1, 2, 4, 5, 6, 8, 9, 10]));
}

/// No twigs, no documents, no text, and documents that are none.
#[test]
fn batches_may_be_empty() {
    let set = TwigSet::default();
    let mut none = stage(&set);
    assert_eq!(none.run(b"<a/><b>", &[0, 4]).unwrap().unfit, [1]);
    assert_eq!(none.run(b"", &[]).unwrap().unfit.len(), 0);
    assert_eq!(none.run(b"", &[0, 0]).unwrap().unfit, [0, 1]);
    let mut one = stage(&xml::set(["/a"]).unwrap());
    // The text before the first document belongs to none.
    let answer = one.run(b"<<a/>", &[1]).unwrap();
    assert_eq!((answer.unfit.len(), answer.matched.len()), (0, 1));
    for starts in [[0, 5], [3, 1]] {
        let refused = one.run(b"<a/>", &starts).map(drop).unwrap_err().to_string();
        assert!(refused.contains("the documents are not in ascending order"), "{starts:?}: {refused}");
    }
    // Enough documents that each has one thread.
    let many: Vec<&[u8]> = [&b"<a/>"[..], b"<b/>", b"</a>"].into_iter().cycle().take(40_000).collect();
    let set = xml::set(["/a"]).unwrap();
    let (tally, unfit) = xml::check(&mut one, &set, &many).unwrap();
    assert_eq!((tally.matches, unfit.len()), (13_334, 13_333));
}
