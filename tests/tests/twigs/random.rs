//! Random twigs and documents, compared with oracles.

use std::sync::Arc;

use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_tests::emulated::Emulated;
use warpath_tests::{twig_fuzz, twig_streams, twigs};

use super::*;
use crate::common::device;

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

/// The emulated kernels, compared with the CPU and the oracle on 80,000 pairs. The paper's kernel knows no
/// values, and is compared on 40,000 pairs. The pairs are spread over two tests, for two cores. `check`
/// compares more on a card.
#[test]
fn kernels_match_as_the_oracle_says() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 1, 8, (200, 25))
}

/// Enough twigs that groups are selected by their keys.
#[test]
fn many_twigs_match_as_the_oracle_says() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 3, 4, (1500, 5))
}

#[test]
fn kernels_match_as_the_oracle_says_again() -> anyhow::Result<()> {
    twigs::suite(&Emulated::default(), 2, 8, (200, 25))
}

/// Streams on the CPU and on a device: each document has the results that it has by itself.
#[test]
fn streams_are_asked_as_each_document_is() -> anyhow::Result<()> {
    let cpu: Arc<dyn Backend> = Arc::new(Cpu);
    twig_streams::streams(&cpu, 1, 60)?;
    twig_streams::streams(&device(), 2, 6)
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
