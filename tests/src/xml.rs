//! Random XML documents, well-formed and not. Compares a device's results with those of the reader and the
//! matcher on the CPU.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use warpath_cpu::twig::encode::Compiled;
use warpath_cpu::twig::names::Names;
use warpath_cpu::twig::{TwigIx, TwigSet, xml};
use warpath_device::{Accelerator, TwigXmlStage};
use warpath_lang::twig::Twig;

use crate::random::Rng;
use crate::twigs::{Doc, Node};

/// Counts of a device's results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Documents.
    pub documents: usize,
    /// Documents that the reader accepts.
    pub good: usize,
    /// Documents that the device evaluated.
    pub fit: usize,
    /// Pairs of an evaluated document and a twig that matches it.
    pub matches: usize,
}

/// Makes a set of twigs.
///
/// # Errors
/// An invalid twig.
pub fn set<S: AsRef<str>>(queries: impl IntoIterator<Item = S>) -> Result<TwigSet> {
    let mut set = TwigSet::default();
    for query in queries {
        let query = query.as_ref();
        set.add(&Twig::parse(query).with_context(|| query.to_owned())?)?;
    }
    Ok(set)
}

/// The twigs that match a document on the CPU. `None` if the document is malformed.
#[must_use]
pub fn of_cpu(set: &TwigSet, text: &[u8]) -> Option<BTreeSet<TwigIx>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut matcher = set.matcher();
    xml::read(text, &mut matcher).ok()?;
    Some(matcher.matches().collect())
}

/// Evaluates twigs over documents, twice, and compares the device with the CPU. Each document that the device
/// evaluates must be well-formed, and its matches must be right. A document that is left to the host must
/// have no match. Returns the numbers of the documents that are left to the host.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn check<A: Accelerator, D: AsRef<[u8]>>(
    stage: &mut TwigXmlStage<A>,
    set: &TwigSet,
    documents: &[D],
) -> Result<(Tally, Vec<u32>)> {
    let (mut text, mut begins) = (Vec::new(), Vec::new());
    for document in documents {
        begins.push(text.len() as u32);
        text.extend_from_slice(document.as_ref());
    }
    let mut tally = Tally { documents: documents.len(), ..Tally::default() };
    let first = stage.run(&text, &begins)?;
    let again = stage.run(&text, &begins)?;
    ensure!(first.unfit == again.unfit, "others are unfit the second time");
    for answer in [&first, &again] {
        let mut found = vec![BTreeSet::new(); documents.len()];
        for (document, twig) in set.answers(&answer.matched) {
            ensure!(found[document as usize].insert(twig), "a match is reported twice");
        }
        tally = Tally { documents: documents.len(), ..Tally::default() };
        for (number, (document, found)) in documents.iter().zip(found).enumerate() {
            let document = document.as_ref();
            let told = || {
                let before =
                    number.checked_sub(1).map(|before| String::from_utf8_lossy(documents[before].as_ref()));
                let at = begins[number];
                format!(
                    "document {number} at {at}: {:?}, behind {before:?}",
                    String::from_utf8_lossy(document)
                )
            };
            let want = of_cpu(set, document);
            tally.good += usize::from(want.is_some());
            if answer.unfit.binary_search(&(number as u32)).is_ok() {
                ensure!(found.is_empty(), "{}: is unfit, and matches", told());
                continue;
            }
            tally.fit += 1;
            tally.matches += found.len();
            let Some(want) = want else { anyhow::bail!("{}: is no document, and fits", told()) };
            ensure!(found == want, "{}: {found:?}, and not {want:?}", told());
        }
    }
    Ok((tally, first.unfit))
}

/// Compares the device with the CPU. Each round has `twigs` random twigs and `documents` random documents,
/// half of which are mutated.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn suite<A: Accelerator>(
    device: &A,
    seed: u64,
    rounds: usize,
    (twigs, documents): (usize, usize),
) -> Result<Tally> {
    let mut rng = Rng::new(seed);
    let mut all = Tally::default();
    for round in 0..rounds {
        let queries: Vec<String> = (0..twigs)
            .map(|_| {
                let size = [1, 2, 3, 5, 8][rng.below(5)];
                let mut node = Node::random(&mut rng, size, false);
                // Tests of values leave many documents to the host.
                if round % 3 != 0 {
                    node.forget_values();
                }
                node.to_xpath(&mut rng)
            })
            .collect();
        let set = set(&queries)?;
        let texts: Vec<Vec<u8>> = (0..documents)
            .map(|_| {
                let text =
                    if rng.below(3) == 0 { Doc::xml(&mut rng).to_xml(&mut rng) } else { document(&mut rng) };
                let mut text = text.into_bytes();
                if rng.below(2) == 0 {
                    mutate(&mut rng, &mut text);
                }
                text
            })
            .collect();
        let mut stage = TwigXmlStage::new(device.queue()?, &Compiled::of(&set), &Names::of(&set))?;
        if rng.below(2) == 0 {
            stage = stage.with_room(1 + rng.below(20));
        }
        let (tally, _) =
            check(&mut stage, &set, &texts).with_context(|| format!("round {round}: {queries:?}"))?;
        all.documents += tally.documents;
        all.good += tally.good;
        all.fit += tally.fit;
        all.matches += tally.matches;
    }
    Ok(all)
}

const NAMES: [&str; 8] =
    ["a", "b", "c", "dé", "long-name.e", "n:a", "_x1", "a-very-long-name-that-no-twig-asks-for"];
const SPACES: [&str; 6] = [" ", " ", " ", "\n", "\t ", " \r\n  "];
const TEXTS: [&str; 14] = [
    "x",
    "0.1",
    " -0.2\n",
    "0",
    "yes",
    "é €",
    "a > b",
    "]]",
    "'\"",
    "&amp;",
    "&#233;&#xE9;",
    "some more text, to fill a word or two of them",
    "\n  ",
    "=/ a=\"b\"",
];
const VALUES: [&str; 9] = ["x", "0.1", "", "a > b", "a\nb", "&lt;", "é", "/>", " -0.1 "];

/// A random document with every feature of XML.
#[must_use]
pub fn document(rng: &mut Rng) -> String {
    let mut text = String::new();
    if rng.below(3) == 0 {
        text.push_str("<?xml version=\"1.0\" encoding='UTF-8'?>");
    }
    for _ in 0..rng.below(3) {
        text.push_str(["\n", "<!-- > -- -->", "<?p i?>", " ", "<!-- <a> ' -->\r\n"][rng.below(5)]);
    }
    text.push_str(
        [
            "",
            "",
            "<!DOCTYPE a>",
            "<!DOCTYPE a SYSTEM \"a>.dtd\">\n",
            "<!DOCTYPE a PUBLIC '-//W3C//DTD \"a' \"a'.dtd\" >",
            "<!DOCTYPE a [<!ENTITY e 'x'>]>",
        ][rng.below(6)],
    );
    element(rng, &mut text, 0);
    for _ in 0..rng.below(3) {
        text.push_str(["\n", "<!-- > -->", "<?p i?>", " "][rng.below(4)]);
    }
    text
}

fn element(rng: &mut Rng, text: &mut String, depth: usize) {
    let names = if rng.below(4) == 0 { NAMES.len() } else { 5 };
    let name = NAMES[rng.below(names)];
    text.push('<');
    text.push_str(name);
    let first = rng.below(NAMES.len());
    for attribute in 0..[0, 0, 0, 1, 2, 4][rng.below(6)] {
        text.push_str(SPACES[rng.below(6)]);
        // Sometimes a repeated attribute.
        let attribute = if rng.below(60) == 0 { 0 } else { attribute };
        text.push_str(NAMES[(first + attribute) % NAMES.len()]);
        let space = |rng: &mut Rng| if rng.below(5) == 0 { SPACES[rng.below(6)] } else { "" };
        text.push_str(space(rng));
        text.push('=');
        text.push_str(space(rng));
        let (quote, other) = [('"', "'"), ('\'', "\"")][rng.below(2)];
        text.push(quote);
        text.push_str(VALUES[rng.below(VALUES.len())]);
        if rng.below(6) == 0 {
            text.push_str(other);
        }
        text.push(quote);
    }
    if rng.below(6) == 0 {
        text.push_str(SPACES[rng.below(6)]);
    }
    if rng.below(5) == 0 {
        text.push_str("/>");
        return;
    }
    text.push('>');
    let pieces = if rng.below(2) == 0 { 1 } else { rng.below(7) };
    for _ in 0..pieces {
        match rng.below(12) {
            0 => text.push_str(["<!---->", "<!-- </x> & \" -->", "<!-- a -- > - -->"][rng.below(3)]),
            1 => text.push_str(
                ["<![CDATA[]]>", "<![CDATA[x]]>", "<![CDATA[0.1]]]>", "<![CDATA[ <b> ]] > & ]>]]>"]
                    [rng.below(4)],
            ),
            2 => text.push_str(["<?p?>", "<?p i > ? ?>", "<?xml-style href=\"<a>\"?>"][rng.below(3)]),
            3..6 => text.push_str(TEXTS[rng.below(TEXTS.len())]),
            6 if rng.below(3) == 0 => text.push_str(["&quot;", "&apos;&gt;", "&#0048;"][rng.below(3)]),
            _ if depth < 9 => element(rng, text, depth + 1),
            _ => text.push('x'),
        }
    }
    text.push_str("</");
    text.push_str(name);
    if rng.below(8) == 0 {
        text.push_str(SPACES[rng.below(6)]);
    }
    text.push('>');
}

/// Changes a few bytes.
pub fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    const BYTES: &[u8] = b"<>\"'/=&;!?-[]a#x: \n\0\xc3\xa9\x80\xe2";
    for _ in 0..1 + rng.below(3) {
        if text.is_empty() {
            return;
        }
        // Prefer an offset with markup.
        let mut at = rng.below(text.len());
        if rng.below(3) > 0 {
            let ahead = text[at..].iter().position(|byte| b"<>\"'/=&!?-[]".contains(byte));
            at += ahead.unwrap_or(0);
        }
        match rng.below(7) {
            0 => {
                text.remove(at);
            }
            1 => text.insert(at, BYTES[rng.below(BYTES.len())]),
            2 => text[at] = BYTES[rng.below(BYTES.len())],
            3 if at > 0 => text.swap(at - 1, at),
            4 if rng.below(4) == 0 => text.truncate(at),
            5 => {
                let end = text.len().min(at + 1 + rng.below(12));
                let part = text[at..end].to_vec();
                let to = rng.below(text.len());
                text.splice(to..to, part);
            }
            _ => {
                let pieces = concat!(
                    "<a>|</a>|<b/>|<!--|-->|<![CDATA[|]]>|<?|?>|<!D|<!>|<>|</>|",
                    "&x;|&#0;|&#xd800;|&#99999;|&| a=''|/|\u{feff}|<!---->|<!--->|<!-->",
                );
                let piece = pieces.split('|').nth(rng.below(24)).unwrap();
                text.splice(at..at, piece.bytes());
            }
        }
    }
}

/// Records of a bibliography like DBLP's, without unusual markup.
#[must_use]
pub fn bibliography(rng: &mut Rng, records: usize) -> String {
    use std::fmt::Write as _;
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE dblp SYSTEM \"dblp.dtd\">\n<dblp>\n"
            .to_owned();
    for record in 0..records {
        let kind = ["article", "inproceedings", "phdthesis"][rng.below(3)];
        let year = 1990 + rng.below(35);
        let _ = writeln!(text, "<{kind} key=\"k/{record}\" mdate='{year}-01-02'>");
        for _ in 0..1 + rng.below(3) {
            let _ = writeln!(text, "<author>{}</author>", ["Ada", "José Ü.", "R. &amp; Sons"][rng.below(3)]);
        }
        let _ = write!(
            text,
            "<title>On <i>{}</i> things.</title><year>{year}</year>\n<ee/></{kind}>\n",
            rng.below(100)
        );
    }
    text.push_str("</dblp>\n");
    text
}

/// Twigs of bibliographies, whose value tests involve one value each.
pub const BIBLIOGRAPHY: [&str; 8] = [
    "/dblp/article[author][year >= 2010]/title",
    "//phdthesis[year = 1999]",
    "//inproceedings[@key = 'k/3']",
    "//*[@mdate > '2015']/ee",
    "/dblp//title[i]",
    "//@*",
    "/dblp[phdthesis][article/ee]//year",
    "//year[. < 1992]",
];
