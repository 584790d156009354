//! Documents and twigs by chance, written as XML, JSON and XPath, and which twigs a document matches by trying everything.

use std::fmt::Write as _;

use crate::random::Rng;

/// What a node is called.
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
    /// What it is called.
    pub called: Called,
    /// Its value, if it has nothing below it: a number, or a string.
    pub value: Option<Held>,
    /// What is below it.
    pub below: Vec<Doc>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// A number with one digit behind its point.
    Number(i32),
    /// A word.
    Word(&'static str),
}

/// What a node of a document has to be called.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// This.
    Called(Called),
    /// Anything but an attribute.
    Any,
    /// An attribute.
    AnyAttribute,
}

/// A node of a twig.
#[derive(Clone, Debug)]
pub struct Node {
    /// Whether it may be anywhere below, and not only a child.
    pub is_descendant: bool,
    /// What it has to be called.
    pub wanted: Wanted,
    /// How its value has to compare, by a sign, and with what.
    pub test: Option<(&'static str, Held)>,
    /// What has to be below it.
    pub below: Vec<Node>,
}

const NAMES: [&str; 5] = ["a", "b", "c", "dé", "long-name.e"];
const WORDS: [&str; 3] = ["x", "yes <&\"'>", ""];

fn held(rng: &mut Rng) -> Held {
    if rng.below(2) == 0 { Held::Number(rng.below(5) as i32 - 2) } else { Held::Word(WORDS[rng.below(3)]) }
}

impl Doc {
    /// A document of XML: what is below it are its elements, of which there is one.
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

    /// A document of JSON.
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
    /// A twig of about so many nodes, without attributes if `json`.
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
        // The last may go on the path, if nothing is said of the value here.
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
            // A test may stand in the bracket that asks for the node.
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

    /// Whether a document matches: whether any node of it does, where this one may be.
    #[must_use]
    pub fn matches(&self, document: &Doc, json: bool) -> bool {
        document
            .below
            .iter()
            .any(|node| self.is(node, json) || self.is_descendant && self.matches(node, json))
    }

    fn is(&self, node: &Doc, json: bool) -> bool {
        let is_called = match (&self.wanted, &node.called) {
            (Wanted::Called(wanted), called) => wanted == called,
            (Wanted::Any, Called::Attribute(_)) => false,
            (Wanted::AnyAttribute, called) => matches!(called, Called::Attribute(_)),
            (Wanted::Any, _) => true,
        };
        is_called && self.passes(node, json) && self.below.iter().all(|below| below.matches(node, json))
    }

    fn passes(&self, node: &Doc, json: bool) -> bool {
        let Some((operator, wanted)) = &self.test else { return true };
        // What has elements in it has no text of its own here, which is a word of no letters in XML.
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
