//! Subscriptions as XPath: the grammar of the paper's figure 1, with attributes and tests of values.
//!
//! ```text
//! path     = 1*step
//! step     = ("/" / "//") test *("[" inner *("and" inner) "]")
//! test     = name / "*" / "@" name / "@*"                  an attribute has nothing below it
//! inner    = [operand (op literal)] / literal op operand
//! operand  = "." / ["."] ["/" / "//"] test … *step         without an axis, or with "/":
//!                                                          a child of the node before the brackets
//! op       = "=" / "!=" / "<" / "<=" / ">" / ">="
//! literal  = number / "'" … "'" / '"' … '"'                quotes are doubled within
//! ```
//!
//! White space is allowed between all of these, except within names and literals. A path is true if any such
//! node exists. So brackets may follow any step, and the last step is a test like the others.

use super::value::{Literal, Operator, ValueTest};
use super::{Axis, NameTest, Twig, TwigError};

/// Parses a path.
///
/// # Errors
/// [`TwigError`] for a text that is not a path.
pub fn parse(text: &str) -> Result<Twig, TwigError> {
    let mut parser = XPathParser { text, at: 0, twig: Twig { nodes: Vec::new() }, depth: 0 };
    parser.space();
    if !parser.text[parser.at..].starts_with('/') {
        return Err(parser.error("a subscription begins with `/` or `//`, or with `$` if it is JSONPath"));
    }
    parser.steps(None)?;
    match parser.peek() {
        None => Ok(parser.twig),
        Some(']') => Err(parser.error("`]` closes nothing")),
        Some(char) => Err(parser.error(format!("`/`, `//` or `[` is missing before `{char}`"))),
    }
}

/// The maximum nesting of brackets: far more than the nodes of a twig.
const DEEPEST: usize = 100;

struct XPathParser<'a> {
    text: &'a str,
    at: usize,
    twig: Twig,
    depth: usize,
}

impl XPathParser<'_> {
    fn error(&self, message: impl Into<String>) -> TwigError {
        TwigError::new(self.at, message)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Takes a token, if it is at the current position, and the white space after it.
    fn take(&mut self, token: &str) -> bool {
        let is_there = self.text[self.at..].starts_with(token);
        if is_there {
            self.at += token.len();
            self.space();
        }
        is_there
    }

    fn axis(&mut self) -> Option<Axis> {
        if self.take("//") {
            Some(Axis::Descendant)
        } else if self.take("/") {
            Some(Axis::Child)
        } else {
            None
        }
    }

    /// Parses steps, each of which begins with an axis. Returns the node of the last one.
    fn steps(&mut self, mut parent: Option<usize>) -> Result<Option<usize>, TwigError> {
        while let Some(axis) = self.axis() {
            parent = Some(self.step(parent, axis)?);
        }
        Ok(parent)
    }

    /// Parses a test and the brackets after it. Returns its node.
    fn step(&mut self, parent: Option<usize>, axis: Axis) -> Result<usize, TwigError> {
        let begin = self.at;
        let name = self.name_test()?;
        if let Some(parent) = parent
            && matches!(self.twig.nodes[parent].name, NameTest::Attribute(_) | NameTest::AnyAttribute)
        {
            return Err(TwigError::new(begin, "an attribute has nothing below it"));
        }
        let node = self.twig.add(parent, axis, name);
        while self.peek() == Some('[') {
            let open = self.at;
            self.take("[");
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(TwigError::new(open, format!("more than {DEEPEST} brackets are open")));
            }
            loop {
                self.inner(node)?;
                if !self.keyword("and") {
                    break;
                }
            }
            self.depth -= 1;
            if !self.take("]") {
                let message = match self.peek() {
                    _ if self.keyword("or") => {
                        "`or` is not supported: make two subscriptions of it".to_owned()
                    }
                    None => format!("the bracket at column {} is not closed", column(self.text, open)),
                    Some(char) => format!("`]` or `and` is missing before `{char}`"),
                };
                return Err(self.error(message));
            }
        }
        Ok(node)
    }

    /// Takes a word, if it is at the current position and not the start of a longer name.
    fn keyword(&mut self, word: &str) -> bool {
        let rest = &self.text[self.at..];
        let is_there = rest.strip_prefix(word).is_some_and(|behind| !behind.starts_with(is_name));
        is_there && self.take(word)
    }

    fn name_test(&mut self) -> Result<NameTest, TwigError> {
        let is_attribute = self.take("@");
        if self.take("*") {
            return Ok(if is_attribute { NameTest::AnyAttribute } else { NameTest::Any });
        }
        let rest = &self.text[self.at..];
        let name = &rest[..rest.len() - rest.trim_start_matches(is_name).len()];
        if !name.starts_with(begins_name) {
            return Err(self.error(match self.peek() {
                None => "a name or `*` is missing at the end".to_owned(),
                Some(char) => format!("a name or `*` is missing before `{char}`"),
            }));
        }
        if is_attribute && (name == "xmlns" || name.starts_with("xmlns:")) {
            return Err(self.error(format!("`{name}` declares a namespace, and is no attribute")));
        }
        let name = name.to_owned();
        self.at += name.len();
        if self.peek() == Some('(') {
            return Err(self
                .error(format!("`{name}()`: functions are not supported; `.` is the value of an element")));
        }
        self.space();
        Ok(if is_attribute { NameTest::Attribute(name) } else { NameTest::Name(name) })
    }

    /// Parses the contents of brackets after `node`, or one part of them between `and`s.
    fn inner(&mut self, node: usize) -> Result<(), TwigError> {
        if let Some(literal) = self.literal()? {
            let operator = self.operator().ok_or_else(|| {
                self.error(
                    "an operator is missing after the value (positions, as in `[1]`, are not supported)",
                )
            })?;
            let operand = self.operand(node)?;
            self.test(operand, operator.turned(), literal);
            return Ok(());
        }
        let operand = self.operand(node)?;
        let Some(operator) = self.operator() else { return Ok(()) };
        match self.literal()? {
            Some(literal) => {
                self.test(operand, operator, literal);
                Ok(())
            }
            None => Err(self.error("a number or a string in quotes is missing after the operator")),
        }
    }

    /// Parses an operand. Returns the node to compare: the last of a path, or `node` itself.
    fn operand(&mut self, node: usize) -> Result<usize, TwigError> {
        let begin = self.at;
        if self.take("..") {
            return Err(TwigError::new(begin, "`..` is not supported: a twig only goes down"));
        }
        if self.take(".") {
            if let Some(axis) = self.axis() {
                let step = self.step(Some(node), axis)?;
                return Ok(self.steps(Some(step))?.unwrap_or(step));
            }
            // The node itself: its value is tested, or nothing is.
            return Ok(node);
        }
        let axis = self.axis().unwrap_or(Axis::Child);
        let step = self.step(Some(node), axis)?;
        Ok(self.steps(Some(step))?.unwrap_or(step))
    }

    fn operator(&mut self) -> Option<Operator> {
        for (spelt, operator) in [
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("==", Operator::Equal),
            ("=", Operator::Equal),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ] {
            if self.take(spelt) {
                return Some(operator);
            }
        }
        None
    }

    fn literal(&mut self) -> Result<Option<Literal>, TwigError> {
        let Some(first) = self.peek() else { return Ok(None) };
        if let '\'' | '"' = first {
            return self.string(first).map(Some);
        }
        let rest = &self.text[self.at..];
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let sign = usize::from(first == '-');
        let whole = digits(&rest[sign..]);
        let mut len = sign + whole;
        let fraction = if rest[len..].starts_with('.') { digits(&rest[len + 1..]) } else { 0 };
        if fraction > 0 {
            len += 1 + fraction;
        }
        if whole + fraction == 0 {
            return Ok(None);
        }
        if rest[len..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[len + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[len + 1 + sign..]);
            if exponent > 0 {
                len += 1 + sign + exponent;
            }
        }
        if rest[len..].starts_with(is_name) {
            return Err(TwigError::new(self.at + len, "a number is followed by other characters"));
        }
        let number = rest[..len].to_owned();
        self.at += len;
        self.space();
        Ok(Some(Literal::Number(number)))
    }

    fn string(&mut self, quote: char) -> Result<Literal, TwigError> {
        let open = self.at;
        let mut string = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(len) = rest.find(quote) else {
                return Err(TwigError::new(open, "a string is not closed"));
            };
            string.push_str(&rest[..len]);
            self.at += len + 1;
            if !self.text[self.at..].starts_with(quote) {
                break;
            }
            string.push(quote);
            self.at += 1;
        }
        self.space();
        Ok(Literal::String(string))
    }

    fn test(&mut self, node: usize, operator: Operator, literal: Literal) {
        self.twig.nodes[node].values.push(ValueTest { operator, literal });
    }
}

fn is_name(char: char) -> bool {
    begins_name(char) || char.is_ascii_digit() || matches!(char, '-' | '.') || char == '\u{b7}'
}

/// Returns true for the first character of a name, by XML 1.0, section 2.3, but more permissive: any
/// character outside ASCII may be in a name.
fn begins_name(char: char) -> bool {
    char.is_ascii_alphabetic() || matches!(char, '_' | ':') || char > '\u{7f}'
}

/// Returns the column of a byte, in characters, counted from 1.
pub fn column(text: &str, at: usize) -> usize {
    text.char_indices().take_while(|(place, _)| *place < at).count() + 1
}
