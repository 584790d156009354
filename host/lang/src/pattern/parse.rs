//! The parser of I-Regexp (RFC 9485, section 3), which produces expressions of `regex-syntax`.
//!
//! Each function reads one rule of the grammar and has the rule's name. Groups are on an explicit stack,
//! because a pattern may come from any source, and must not exhaust the thread's stack.

use std::cmp::Ordering;
use std::mem::take;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::limits::MAX_GROUPS;

/// A parsed pattern.
pub(super) struct Pattern {
    /// The expression. Groups nested deeper than [`MAX_GROUPS`] are empty, so such an expression must not be
    /// compiled.
    pub hir: Hir,
    /// The nesting depth of groups: 1 for a group without groups in it.
    pub depth: usize,
}

/// Parses a pattern; `None` if it is not an I-Regexp.
pub(super) fn parse(pattern: &str) -> Option<Pattern> {
    RegexpParser { rest: pattern }.i_regexp()
}

/// The parsed part of a group, or of the pattern itself.
#[derive(Default)]
struct Branches {
    branches: Vec<Hir>,
    pieces: Vec<Hir>,
}

impl Branches {
    fn end_branch(&mut self) {
        self.branches.push(Hir::concat(take(&mut self.pieces)));
    }

    fn end(mut self) -> Hir {
        self.end_branch();
        Hir::alternation(self.branches)
    }
}

struct RegexpParser<'p> {
    rest: &'p str,
}

impl<'p> RegexpParser<'p> {
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

    // i-regexp = branch *( "|" branch )
    // branch   = *piece
    // piece    = atom [ quantifier ]
    // atom     = NormalChar / charClass / ( "(" i-regexp ")" )
    fn i_regexp(&mut self) -> Option<Pattern> {
        let (mut group, mut around) = (Branches::default(), Vec::new());
        let mut depth = 0;
        while let Some(c) = self.next() {
            let atom = match c {
                '(' => {
                    around.push(take(&mut group));
                    depth = depth.max(around.len());
                    continue;
                }
                '|' => {
                    group.end_branch();
                    continue;
                }
                ')' => {
                    let inner = std::mem::replace(&mut group, around.pop()?);
                    if around.len() < MAX_GROUPS { inner.end() } else { Hir::empty() }
                }
                // In the grammar both match themselves; see the documentation of the module above.
                '^' => Hir::look(Look::Start),
                '$' => Hir::look(Look::End),
                '.' => class(not(&[('\n', '\n'), ('\r', '\r')])),
                '[' => self.char_class_expr()?,
                '\\' => match self.char_class_esc()? {
                    Some(chars) => class(chars),
                    None => literal(self.single_char_esc()?),
                },
                '*' | '+' | '?' | ']' | '{' | '}' => return None,
                normal => literal(normal),
            };
            let piece = self.quantifier(atom)?;
            group.pieces.push(piece);
        }
        around.is_empty().then(|| Pattern { hir: group.end(), depth })
    }

    // quantifier       = ( "*" / "+" / "?" ) / range-quantifier
    // range-quantifier = "{" QuantExact [ "," [ QuantExact ] ] "}"
    fn quantifier(&mut self, atom: Hir) -> Option<Hir> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.next();
                let least = self.quant_exact()?;
                let most = match (self.take(","), self.peek()) {
                    (false, _) => Some(least),
                    (true, Some('}')) => None,
                    (true, _) => Some(self.quant_exact()?),
                };
                if most.is_some_and(|most| compare(least, most) == Ordering::Greater)
                    || self.peek() != Some('}')
                {
                    return None;
                }
                (times(least), most.map(times))
            }
            _ => return Some(atom),
        };
        self.next();
        Some(Hir::repetition(Repetition { min, max, greedy: true, sub: Box::new(atom) }))
    }

    // QuantExact = 1*%x30-39
    fn quant_exact(&mut self) -> Option<&'p str> {
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        // Without leading zeros, of which there may be any number.
        (len > 0).then(|| digits.trim_start_matches('0'))
    }

    // charClassExpr = "[" [ "^" ] ( "-" / CCE1 ) *CCE1 [ "-" ] "]"
    // CCE1          = ( CCchar [ "-" CCchar ] ) / charClassEsc
    fn char_class_expr(&mut self) -> Option<Hir> {
        let negated = self.take("^");
        let mut ranges = Vec::new();
        let mut add = |from, to| ranges.push(ClassUnicodeRange::new(from, to));
        if self.take("-") {
            add('-', '-');
        } else {
            self.cce1(&mut add)?;
        }
        while !matches!(self.peek(), Some(']' | '-')) {
            self.cce1(&mut add)?;
        }
        if self.take("-") {
            add('-', '-');
        }
        if !self.take("]") {
            return None;
        }
        let mut chars = ClassUnicode::new(ranges);
        if negated {
            chars.negate();
        }
        Some(class(chars))
    }

    fn cce1(&mut self, add: &mut impl FnMut(char, char)) -> Option<()> {
        if self.rest.starts_with('\\') {
            let mut ahead = Self { rest: &self.rest[1..] };
            if let Some(chars) = ahead.char_class_esc()? {
                self.rest = ahead.rest;
                chars.iter().for_each(|range| add(range.start(), range.end()));
                return Some(());
            }
        }
        let from = self.cc_char()?;
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
        let to = if is_range {
            self.next();
            self.cc_char().filter(|to| from <= *to)?
        } else {
            from
        };
        add(from, to);
        Some(())
    }

    // CCchar = ( %x00-2C / %x2E-5A / %x5E-D7FF / %xE000-10FFFF ) / SingleCharEsc
    fn cc_char(&mut self) -> Option<char> {
        match self.next()? {
            '-' | '[' | ']' => None,
            '\\' => self.single_char_esc(),
            c => Some(c),
        }
    }

    // SingleCharEsc = "\" ( %x28-2B / "-" / "." / "?" / %x5B-5E / %s"n" / %s"r" / %s"t" / %x7B-7D ), after
    // the backslash
    fn single_char_esc(&mut self) -> Option<char> {
        Some(match self.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            c @ ('(' | ')' | '*' | '+' | '-' | '.' | '?' | '[' | '\\' | ']' | '^' | '{' | '|' | '}') => c,
            _ => return None,
        })
    }

    // charClassEsc = catEsc / complEsc
    // catEsc       = %s"\p{" charProp "}"
    // complEsc     = %s"\P{" charProp "}", after the backslash
    //
    // Returns `Some(None)`, and reads nothing, for another escape.
    fn char_class_esc(&mut self) -> Option<Option<ClassUnicode>> {
        let negated = match self.peek() {
            Some('p') => false,
            Some('P') => true,
            _ => return Some(None),
        };
        self.next();
        let (category, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
        self.rest = rest;
        let mut chars = char_prop(category)?;
        if negated {
            chars.negate();
        }
        Some(Some(chars))
    }
}

// charProp    = IsCategory
// IsCategory  = Letters / Marks / Numbers / Punctuation / Separators / Symbols / Others
// Letters     = %s"L" [ ( %s"l" / %s"m" / %s"o" / %s"t" / %s"u" ) ], and so on
fn char_prop(category: &str) -> Option<ClassUnicode> {
    let mut letters = category.chars();
    let parts = match letters.next()? {
        'L' => "lmotu",
        'M' => "cen",
        'N' => "dlo",
        'P' => "cdefios",
        'Z' => "lps",
        'S' => "ckmo",
        'C' => "cfno",
        _ => return None,
    };
    let known = letters.next().is_none_or(|part| parts.contains(part)) && letters.next().is_none();
    let hir = known.then(|| regex_syntax::parse(&format!(r"\p{{{category}}}")).ok()).flatten()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(chars)) => Some(chars),
        // A category of one character is a literal.
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            Some(ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c))))
        }
        _ => None,
    }
}

fn literal(c: char) -> Hir {
    Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes())
}

fn class(chars: ClassUnicode) -> Hir {
    Hir::class(Class::Unicode(chars))
}

fn not(ranges: &[(char, char)]) -> ClassUnicode {
    let mut chars = ClassUnicode::new(ranges.iter().map(|(from, to)| ClassUnicodeRange::new(*from, *to)));
    chars.negate();
    chars
}

/// Compares two numbers without leading zeros.
fn compare(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Returns the number of repetitions. A number beyond `u32` is as good as the largest one.
fn times(digits: &str) -> u32 {
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u32::MAX) }
}
