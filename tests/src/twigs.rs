//! Random documents and twigs, written as XML, JSON and XPath. Finds the twigs that match a document by
//! exhaustive search.

use std::fmt::Write as _;

use anyhow::ensure;
use warpath_cpu::twig::encode::{Compiled, Encoder};
use warpath_cpu::twig::names::Names;
use warpath_cpu::twig::set::OTHER;
use warpath_cpu::twig::{Events, Name, TwigIx, TwigSet, json, xml};
use warpath_device::{Accelerator, TwigLinesStage, TwigStage, TwigTasks};
use warpath_lang::twig::Twig;

use crate::random::Rng;

/// The name of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// An element or a member.
    Element(&'static str),
    /// An attribute.
    Attribute(&'static str),
    /// An element of an array.
    Item,
}

/// A node of a document.
#[derive(Clone, Debug)]
pub struct Doc {
    /// The name.
    pub called: Called,
    /// The value of a node without elements or members: a number or a string.
    pub value: Option<Held>,
    /// The children.
    pub below: Vec<Doc>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// A number with one digit after its point, in tenths.
    Number(i32),
    /// A word.
    Word(&'static str),
}

/// The name that a twig node requires.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// Exactly the given name.
    Called(Called),
    /// Anything but an attribute.
    Any,
    /// An attribute.
    AnyAttribute,
}

/// A node of a twig.
#[derive(Clone, Debug)]
pub struct Node {
    /// True if any descendant may match, and not only a child.
    pub is_descendant: bool,
    /// The required name.
    pub wanted: Wanted,
    /// The value test: an operator and an operand.
    pub test: Option<(&'static str, Held)>,
    /// The twig nodes that must match below it.
    pub below: Vec<Node>,
}

const NAMES: [&str; 5] = ["a", "b", "c", "dé", "long-name.e"];
const WORDS: [&str; 3] = ["x", "yes <&\"'>", ""];

fn held(rng: &mut Rng) -> Held {
    if rng.below(2) == 0 { Held::Number(rng.below(5) as i32 - 2) } else { Held::Word(WORDS[rng.below(3)]) }
}

impl Doc {
    /// A random XML document. Its one child is the root element.
    pub fn xml(rng: &mut Rng) -> Self {
        let root = Self::element(rng, 0);
        Self { called: Called::Item, value: None, below: vec![root] }
    }

    fn element(rng: &mut Rng, depth: usize) -> Self {
        let called = Called::Element(NAMES[rng.below(5)]);
        let mut below: Vec<Self> = Vec::new();
        let attributes = [0, 0, 1, 2][rng.below(4)];
        for name in NAMES.iter().skip(rng.below(3)).take(attributes) {
            below.push(Self { called: Called::Attribute(name), value: Some(held(rng)), below: Vec::new() });
        }
        let more = if depth > 6 { 0 } else { [0, 1, 2, 3, 4][rng.below(5)] };
        if more == 0 {
            return Self { called, value: Some(held(rng)), below };
        }
        below.extend((0..more).map(|_| Self::element(rng, depth + 1)));
        Self { called, value: None, below }
    }

    /// A random JSON document.
    pub fn json(rng: &mut Rng) -> Self {
        Self::member(rng, Called::Item, 0)
    }

    fn member(rng: &mut Rng, called: Called, depth: usize) -> Self {
        let more = if depth > 6 { 0 } else { rng.below(5) };
        if more == 0 && depth > 0 {
            return Self { called, value: Some(held(rng)), below: Vec::new() };
        }
        let is_array = rng.below(4) == 0;
        let name = |rng: &mut Rng| if is_array { Called::Item } else { Called::Element(NAMES[rng.below(5)]) };
        let below = (0..more)
            .map(|_| {
                let name = name(rng);
                Self::member(rng, name, depth + 1)
            })
            .collect();
        Self { called, value: None, below }
    }

    /// The text of an XML document.
    #[must_use]
    pub fn to_xml(&self, rng: &mut Rng) -> String {
        let mut text =
            ["", "<?xml version=\"1.0\"?>\n", "<!DOCTYPE a [<!ENTITY e 'x'>]>"][rng.below(3)].to_owned();
        self.below.iter().for_each(|root| root.write_xml(rng, &mut text));
        text
    }

    fn write_xml(&self, rng: &mut Rng, text: &mut String) {
        let Called::Element(name) = self.called else { return };
        let _ = write!(text, "<{name}");
        for attribute in &self.below {
            if let (Called::Attribute(name), Some(value)) = (&attribute.called, &attribute.value) {
                let _ = write!(text, " {name}=\"{}\"", escaped(&value.spelt()));
            }
        }
        // Declarations of namespaces are no attributes, and not in the document.
        text.push_str(["", "", " xmlns='b'", " xmlns:a=\"x\" xmlns:dé = '&lt;'"][rng.below(4)]);
        let elements: Vec<&Self> =
            self.below.iter().filter(|node| matches!(node.called, Called::Element(_))).collect();
        let value = self.value.as_ref().map(Held::spelt).unwrap_or_default();
        if elements.is_empty() && value.is_empty() && rng.below(2) == 0 {
            text.push_str("/>");
            return;
        }
        text.push('>');
        match rng.below(3) {
            0 if !value.contains("]]>") => {
                let _ = write!(text, "<![CDATA[{value}]]>");
            }
            1 => {
                let (a, b) = value.split_at(value.len() / 2);
                let _ = write!(text, "{}<!-- </x> -->{}", escaped(a), escaped(b));
            }
            _ => text.push_str(&escaped(&value)),
        }
        elements.iter().for_each(|element| element.write_xml(rng, text));
        let _ = write!(text, "</{name}>");
    }

    /// The text of a JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        match &self.value {
            Some(Held::Number(_)) => self.value.as_ref().map(Held::spelt).unwrap_or_default(),
            Some(Held::Word(word)) => serde_json::to_string(word).unwrap_or_default(),
            None => {
                let is_array = self.below.first().is_some_and(|node| node.called == Called::Item);
                let parts: Vec<String> = self
                    .below
                    .iter()
                    .map(|node| match node.called {
                        Called::Element("b") => format!("\"\\u0062\": {}", node.to_json()),
                        Called::Element(name) => format!("\"{name}\":{}", node.to_json()),
                        _ => node.to_json(),
                    })
                    .collect();
                if is_array { format!("[{}]", parts.join(", ")) } else { format!("{{{}}}", parts.join(",")) }
            }
        }
    }
}

impl Held {
    fn spelt(&self) -> String {
        match self {
            Self::Number(tenths) => format!("{:.1}", f64::from(*tenths) / 10.0),
            Self::Word(word) => (*word).to_owned(),
        }
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&#62;");
    text.replace('"', "&quot;").replace('\'', "&#x27;")
}

impl Node {
    /// A random twig of about `size` nodes, without attributes if `json`.
    pub fn random(rng: &mut Rng, size: usize, json: bool) -> Self {
        let mut left = size;
        Self::below(rng, &mut left, json, true)
    }

    fn below(rng: &mut Rng, left: &mut usize, json: bool, is_root: bool) -> Self {
        *left = left.saturating_sub(1);
        let is_descendant = rng.below(3) == 0;
        if !is_root && !json && rng.below(6) == 0 {
            let wanted = if rng.below(3) == 0 {
                Wanted::AnyAttribute
            } else {
                Wanted::Called(Called::Attribute(NAMES[rng.below(5)]))
            };
            return Self { is_descendant, wanted, test: test(rng), below: Vec::new() };
        }
        let wanted = if rng.below(4) == 0 {
            Wanted::Any
        } else {
            Wanted::Called(Called::Element(NAMES[rng.below(5)]))
        };
        let below: Vec<Self> = (0..rng.below(4))
            .map_while(|_| (*left > 0).then(|| Self::below(rng, left, json, false)))
            .collect();
        let test = if below.is_empty() && rng.below(3) == 0 { test(rng) } else { None };
        Self { is_descendant, wanted, test, below }
    }

    /// Removes all value tests.
    pub fn forget_values(&mut self) {
        self.test = None;
        self.below.iter_mut().for_each(Self::forget_values);
    }

    /// The twig as XPath.
    #[must_use]
    pub fn to_xpath(&self, rng: &mut Rng) -> String {
        let mut text = String::new();
        self.write(rng, &mut text, if self.is_descendant { "//" } else { "/" });
        text
    }

    fn write(&self, rng: &mut Rng, text: &mut String, axis: &str) {
        let _ = match &self.wanted {
            Wanted::Called(Called::Attribute(name)) => write!(text, "{axis}@{name}"),
            Wanted::Called(Called::Element(name)) => write!(text, "{axis}{name}"),
            Wanted::AnyAttribute => write!(text, "{axis}@*"),
            _ => write!(text, "{axis}*"),
        };
        // The last child may continue the path if this node has no value test.
        let goes_on = self.test.is_none() && !self.below.is_empty() && rng.below(2) == 0;
        let (last, bracketed) = match self.below.split_last() {
            Some((last, others)) if goes_on => (Some(last), others),
            _ => (None, &self.below[..]),
        };
        for node in bracketed {
            let axis = match (node.is_descendant, rng.below(3)) {
                (true, 0) => ".//",
                (true, _) => "//",
                (false, 0) => "./",
                (false, 1) => "/",
                (false, _) => "",
            };
            text.push_str(if rng.below(4) == 0 { "[ " } else { "[" });
            // A value test may be in the bracket of its node.
            match &node.test {
                Some((operator, value)) if rng.below(2) == 0 => {
                    Self { test: None, ..node.clone() }.write(rng, text, axis);
                    let _ = write!(text, " {operator} {}", literal(value));
                }
                _ => node.write(rng, text, axis),
            }
            text.push(']');
        }
        if let Some((operator, value)) = &self.test {
            let _ = write!(text, "[.{operator}{}]", literal(value));
        }
        if let Some(last) = last {
            last.write(rng, text, if last.is_descendant { "//" } else { "/" });
        }
    }

    /// Returns true if this twig matches any node of the document that its axis allows.
    #[must_use]
    pub fn matches(&self, document: &Doc, json: bool) -> bool {
        document.below.iter().enumerate().any(|(at, node)| {
            // Of the members of one name, the first has the name.
            let is_repeated = json && document.below[..at].iter().any(|other| other.called == node.called);
            let called = if is_repeated { &Called::Item } else { &node.called };
            self.is(node, called, json) || self.is_descendant && self.matches(node, json)
        })
    }

    fn is(&self, node: &Doc, called: &Called, json: bool) -> bool {
        let is_called = match (&self.wanted, called) {
            (Wanted::Called(wanted), called) => wanted == called,
            (Wanted::Any, Called::Attribute(_)) => false,
            (Wanted::AnyAttribute, called) => matches!(called, Called::Attribute(_)),
            (Wanted::Any, _) => true,
        };
        is_called && self.passes(node, json) && self.below.iter().all(|below| below.matches(node, json))
    }

    fn passes(&self, node: &Doc, json: bool) -> bool {
        let Some((operator, wanted)) = &self.test else { return true };
        // A node with elements has no text of its own here; in XML its value is the empty string.
        let value = match &node.value {
            Some(value) => value,
            None if json => return false,
            None => &Held::Word(""),
        };
        let ordering = match (value, wanted) {
            (Held::Number(value), Held::Number(wanted)) => value.cmp(wanted),
            (Held::Word(value), Held::Word(wanted)) => value.cmp(wanted),
            // In XML a number is text, too.
            (value @ Held::Number(_), Held::Word(wanted)) if !json => value.spelt().as_str().cmp(wanted),
            _ => return false,
        };
        match *operator {
            "=" => ordering.is_eq(),
            "!=" => ordering.is_ne(),
            "<" => ordering.is_lt(),
            "<=" => ordering.is_le(),
            ">" => ordering.is_gt(),
            _ => ordering.is_ge(),
        }
    }
}

fn test(rng: &mut Rng) -> Option<(&'static str, Held)> {
    (rng.below(2) == 0).then(|| (["=", "!=", "<", "<=", ">", ">="][rng.below(6)], held(rng)))
}

fn literal(value: &Held) -> String {
    match value {
        Held::Number(_) => value.spelt(),
        Held::Word(word) => format!("'{}'", word.replace('\'', "''")),
    }
}

/// A round of [`suite`].
pub struct Round<'a> {
    /// The documents are JSON, and not XML.
    pub is_json: bool,
    /// The twigs may test values.
    pub has_values: bool,
    /// The twigs: each as XPath, as a tree, and its number.
    pub twigs: &'a [(String, Node, TwigIx)],
    /// The documents.
    pub texts: &'a [String],
    /// The matches: numbers of documents and twigs, in order.
    pub want: &'a [(u32, TwigIx)],
}

/// Compares the kernels with the CPU, and the CPU with the exhaustive search. Each round has `twigs` random
/// twigs and `documents` random documents, XML and JSON in turn, cut into tasks of several sizes.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn suite<A: Accelerator>(
    device: &A,
    seed: u64,
    rounds: usize,
    (twigs, documents): (usize, usize),
) -> anyhow::Result<()> {
    suite_and(device, seed, rounds, (twigs, documents), |_| Ok(()))
}

/// Runs [`suite`], and calls `also` after each round.
///
/// # Errors
/// Those of [`suite`] and of `also`.
pub fn suite_and<A: Accelerator>(
    device: &A,
    seed: u64,
    rounds: usize,
    (twigs, documents): (usize, usize),
    mut also: impl FnMut(&Round<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut rng = Rng::new(seed);
    for round in 0..rounds {
        let is_json = round % 2 == 1;
        // Every other pair of rounds has structure only.
        let has_values = round % 4 < 2;
        let mut set = TwigSet::default();
        let (mut asked, mut drawn, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..twigs {
            let size = [1, 2, 3, 5, 8, 12, 60][rng.below(if has_values { 7 } else { 6 })];
            let mut node = Node::random(&mut rng, size, is_json || !has_values);
            if !has_values {
                node.forget_values();
            }
            let path = node.to_xpath(&mut rng);
            let twig = Twig::parse(&path).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
            drawn.push((path, node));
            all.push(twig);
        }
        // Add the twigs one by one, or all at once.
        let numbers: Vec<_> =
            if round % 4 == 0 { all.iter().map(|twig| set.add(twig)).collect() } else { set.add_all(&all) };
        for ((path, node), number) in drawn.into_iter().zip(numbers) {
            asked.push((path, node, number?));
        }
        ensure!(twigs < 1000 || set.size().groups > 4, "too few groups for keys to matter");
        let task_ops = [4096, 1, 2, 4][round % 4];
        let mut encoder = Encoder::new(&set).with_task_ops(task_ops);
        let (mut texts, mut want) = (Vec::new(), Vec::new());
        for number in 0..documents {
            let document = if is_json { Doc::json(&mut rng) } else { Doc::xml(&mut rng) };
            let text = if is_json { document.to_json() } else { document.to_xml(&mut rng) };
            let mut matcher = set.matcher();
            tell(&text, is_json, &mut matcher)?;
            let mut found: Vec<_> = matcher.matches().collect();
            found.sort_unstable();
            let mut by_keys = set.matcher().by_keys(true);
            tell(&text, is_json, &mut by_keys)?;
            let mut of_keys: Vec<_> = by_keys.matches().collect();
            of_keys.sort_unstable();
            ensure!(of_keys == found, "by keys the CPU differs: {text}");
            for (path, node, twig) in &asked {
                let is_match = node.matches(&document, is_json);
                ensure!(found.contains(twig) == is_match, "the CPU differs: {path}\n{text}");
            }
            want.extend(found.into_iter().map(|twig| (number as u32, twig)));
            tell(&text, is_json, &mut encoder)?;
            encoder.finish(number as u32);
            texts.push(text);
        }
        let programs = encoder.programs();
        ensure!(programs.deep.is_empty(), "a document is too deep");
        ensure!(task_ops == 4096 || !programs.merges.is_empty(), "no document was cut");
        let mut stage =
            TwigStage::new(device.queue()?, &Compiled::of(&set))?.with_room(1 + rng.below(4) * 50);
        for _ in 0..2 {
            let found = stage.run(TwigTasks {
                ops: &programs.ops,
                tasks: &programs.tasks,
                merges: &programs.merges,
                kept: programs.kept,
            })?;
            let mut found = set.answers(&found);
            found.sort_unstable();
            if found != want {
                let differs = |pair: &&(u32, _)| found.contains(pair) != want.contains(pair);
                let first = found.iter().chain(&want).find(differs);
                let told = first.map(|(document, twig)| {
                    let path = asked.iter().find(|(.., of)| of == twig).map(|(path, ..)| path);
                    (path, &texts[*document as usize])
                });
                anyhow::bail!("the kernel differs: {told:?}");
            }
        }
        if is_json {
            lines(device, &set, &texts, &want, &mut rng)?;
        }
        also(&Round { is_json, has_values, twigs: &asked, texts: &texts, want: &want })?;
    }
    Ok(())
}

/// Checks documents as lines, between lines that are blank, malformed, or too deep for a device.
fn lines<A: Accelerator>(
    device: &A,
    set: &TwigSet,
    texts: &[String],
    want: &[(u32, TwigIx)],
    rng: &mut Rng,
) -> anyhow::Result<()> {
    let deep = format!("{}3{}", "{\"a\":[".repeat(20), "]}".repeat(20));
    // Each `b` is compared with all members before the first `b`.
    let wide = format!("{{{}{}\"b\":3}}", "\"x\":0,".repeat(200), "\"b\":1,".repeat(200));
    let long = format!("{{\"{}\":0,{}\"b\":3}}", "x".repeat(5000), "\"b\":1,".repeat(100));
    let is_compared = set.tag(Name::Member(b"b")) != OTHER;
    let (mut all, mut numbers, mut unfit, mut faulty) = (String::new(), Vec::new(), Vec::new(), Vec::new());
    let mut lines = 0_i32;
    for text in texts {
        match rng.below(6) {
            0 => all.push('\n'),
            1 => {
                all.push_str("{\"a\":[}\n");
                faulty.push(lines);
            }
            2 => {
                all.push_str(&deep);
                all.push('\n');
                unfit.push(lines);
            }
            3 if is_compared => {
                all.push_str(if rng.below(2) == 0 { &wide } else { &long });
                all.push('\n');
                unfit.push(lines);
            }
            _ => lines -= 1,
        }
        lines += 1;
        numbers.push(lines);
        all.push_str(text);
        all.push('\n');
        lines += 1;
    }
    let room = 1 + rng.below(2) * 500;
    let mut stage =
        TwigLinesStage::new(device.queue()?, &Compiled::of(set), &Names::of(set))?.with_room(room);
    for _ in 0..2 {
        let mut found = stage.run(all.as_bytes())?;
        found.unfit.sort_unstable();
        ensure!(found.lines == lines as usize, "{} lines, and not {lines}", found.lines);
        ensure!(
            found.faults.iter().map(|fault| fault.line as i32).eq(faulty.iter().copied()),
            "other faults"
        );
        // Besides the lines that are too deep or too wide, lines that pass very many tests may be unfit.
        ensure!(
            unfit.iter().all(|line| found.unfit.contains(&(*line as u32))),
            "what is too deep or wide fits"
        );
        ensure!(2 * (found.unfit.len() - unfit.len()) <= texts.len(), "half of the records do not fit");
        let mut answers = set.answers(&found.matched);
        answers.sort_unstable();
        let mut want: Vec<_> =
            want.iter().map(|(document, twig)| (numbers[*document as usize] as u32, *twig)).collect();
        want.retain(|(line, _)| !found.unfit.contains(line));
        want.sort_unstable();
        let differs = |pair: &&(u32, TwigIx)| answers.contains(pair) != want.contains(pair);
        let first = answers.iter().chain(&want).find(differs);
        let line = first.map(|(line, twig)| (all.lines().nth(*line as usize), twig));
        ensure!(first.is_none() && answers == want, "lines differ: {line:?}");
    }
    Ok(())
}

/// Reads a document and sends its events to `events`.
///
/// # Errors
/// The document is malformed.
pub fn tell(text: &str, is_json: bool, events: &mut impl Events) -> anyhow::Result<()> {
    if is_json {
        json::read(text.as_bytes(), events).map_err(|fault| anyhow::anyhow!("{text}: {fault}"))
    } else {
        xml::read(text, events).map_err(|error| anyhow::anyhow!("{text}: {error}"))
    }
}
