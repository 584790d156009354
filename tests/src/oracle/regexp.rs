//! I-Regexp (RFC 9485), translated for the `regex` crate.
//!
//! A pattern is read by the grammar of RFC 9485 section 3, and written with every character as a hexadecimal
//! escape. So no character has a special meaning to the crate by accident. Beyond the grammar:
//!
//! * `.` is `[^\n\r]` (section 5.4).
//! * `^` and `$` outside of classes are the beginning and the end of the string. In the grammar they match
//!   themselves, and likewise in XSD expressions, on which the grammar is built. But the translation of
//!   section 5.4 keeps them for engines in which they are anchors, and the compliance test suite requires
//!   anchors.
//! * A range whose end comes before its beginning, `[z-a]` or `{2,1}`, is refused, and also `[^]`, whose `^`
//!   can only be a negation.
//!
//! Subjects are code points in UTF-8, as in `json::Content::String`. No pattern matches a lone surrogate or a
//! byte that is not UTF-8. The text before and after it can match.

use regex::bytes::Regex;

/// Returns true if a pattern matches the whole of a string; false if the pattern is not an I-Regexp.
///
/// # Panics
/// If the pattern needs more memory than the crate allows. The oracle has no result then.
pub fn matches(pattern: &[u8], subject: &[u8]) -> bool {
    translate(pattern).is_some_and(|pattern| compile(&format!(r"\A(?:{pattern})\z")).is_match(subject))
}

/// Returns true if a pattern matches any part of a string; false if the pattern is not an I-Regexp.
///
/// # Panics
/// As [`matches()`].
pub fn finds(pattern: &[u8], subject: &[u8]) -> bool {
    translate(pattern).is_some_and(|pattern| compile(&pattern).is_match(subject))
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("an expression that the crate takes")
}

/// The pattern in the syntax of the `regex` crate; `None` if it is no I-Regexp.
pub fn translate(pattern: &[u8]) -> Option<String> {
    let mut parser = PatternParser { rest: std::str::from_utf8(pattern).ok()?, out: String::new() };
    parser.i_regexp()?;
    parser.rest.is_empty().then_some(parser.out)
}

struct PatternParser<'p> {
    rest: &'p str,
    out: String,
}

/// One function for each rule of the grammar: it reads the rule's text and writes the translation.
impl PatternParser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn write(&mut self, c: char) {
        self.out.push_str(&format!(r"\x{{{:x}}}", u32::from(c)));
    }

    // i-regexp = branch *( "|" branch )
    fn i_regexp(&mut self) -> Option<()> {
        self.branch()?;
        while self.take("|") {
            self.out.push('|');
            self.branch()?;
        }
        Some(())
    }

    // branch = *piece
    // piece = atom [ quantifier ]
    fn branch(&mut self) -> Option<()> {
        while !matches!(self.peek(), None | Some('|' | ')')) {
            self.atom()?;
            self.quantifier()?;
        }
        Some(())
    }

    // quantifier = ( "*" / "+" / "?" ) / range-quantifier
    // range-quantifier = "{" QuantExact [ "," [ QuantExact ] ] "}"
    fn quantifier(&mut self) -> Option<()> {
        match self.peek() {
            Some(c @ ('*' | '+' | '?')) => {
                self.next();
                self.out.push(c);
            }
            Some('{') => {
                self.next();
                let least = self.quant_exact()?;
                let most = match (self.take(","), self.peek()) {
                    (false, _) => least.to_string(),
                    (true, Some('}')) => String::new(),
                    (true, _) => self.quant_exact().filter(|most| least <= *most)?.to_string(),
                };
                self.out.push_str(&format!("{{{least},{most}}}"));
                return self.take("}").then_some(());
            }
            _ => {}
        }
        Some(())
    }

    // QuantExact = 1*%x30-39
    fn quant_exact(&mut self) -> Option<u32> {
        let len = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        (len > 0).then(|| digits.parse().expect("a number of times that the crate can count"))
    }

    // atom = NormalChar / charClass / ( "(" i-regexp ")" )
    fn atom(&mut self) -> Option<()> {
        match self.next()? {
            '(' => {
                self.out.push_str("(?:");
                self.i_regexp()?;
                self.out.push(')');
                return self.take(")").then_some(());
            }
            '.' => self.out.push_str(r"[^\n\r]"),
            '^' => self.out.push_str(r"(?:\A)"),
            '$' => self.out.push_str(r"(?:\z)"),
            '[' => return self.char_class_expr(),
            '\\' if matches!(self.peek(), Some('p' | 'P')) => return self.char_class_esc(),
            '\\' => {
                let c = self.single_char_esc()?;
                self.write(c);
            }
            ')' | '*' | '+' | '?' | ']' | '{' | '|' | '}' => return None,
            normal => self.write(normal),
        }
        Some(())
    }

    // charClassExpr = "[" [ "^" ] ( "-" / CCE1 ) *CCE1 [ "-" ] "]"
    // CCE1 = ( CCchar [ "-" CCchar ] ) / charClassEsc
    fn char_class_expr(&mut self) -> Option<()> {
        self.out.push('[');
        if self.take("^") {
            self.out.push('^');
        }
        let mut first = true;
        while first || !self.take("]") {
            if self.take("-") {
                if !first && self.peek() != Some(']') {
                    return None;
                }
                self.write('-');
            } else if self.rest.starts_with(r"\p") || self.rest.starts_with(r"\P") {
                self.next();
                self.char_class_esc()?;
            } else {
                let from = self.cc_char()?;
                self.write(from);
                if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                    self.next();
                    let to = self.cc_char().filter(|to| from <= *to)?;
                    self.out.push('-');
                    self.write(to);
                }
            }
            first = false;
        }
        self.out.push(']');
        Some(())
    }

    // CCchar = ( %x00-2C / %x2E-5A / %x5E-10FFFF ) / SingleCharEsc
    fn cc_char(&mut self) -> Option<char> {
        match self.next()? {
            '-' | '[' | ']' => None,
            '\\' => self.single_char_esc(),
            c => Some(c),
        }
    }

    // The text after the backslash of a SingleCharEsc.
    fn single_char_esc(&mut self) -> Option<char> {
        match self.next()? {
            c @ ('('..='+' | '-' | '.' | '?' | '['..='^' | '{'..='}') => Some(c),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            _ => None,
        }
    }

    // The text after the backslash of a charClassEsc: "p{" charProp "}" or "P{" charProp "}".
    fn char_class_esc(&mut self) -> Option<()> {
        const CATEGORIES: &str = " L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps Z Zl Zp Zs S Sc Sk Sm So C \
                                  Cc Cf Cn Co ";
        let letter = self.next()?;
        let (category, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
        self.rest = rest;
        let known = CATEGORIES.split(' ').any(|known| !known.is_empty() && known == category);
        self.out.push_str(&format!(r"\{letter}{{{category}}}"));
        known.then_some(())
    }
}
