//! Types as text.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use warpath_core::json::Escape;

use super::{ColumnType, MAX_PRECISION, StructField};

/// The greatest depth of nested types. Readers of Arrow and Parquet refuse 64 levels.
const MAX_NESTING: usize = 48;

/// The types that are one word.
const WORDS: [(&str, ColumnType); 8] = [
    ("bool", ColumnType::Boolean),
    ("int64", ColumnType::Int64),
    ("float64", ColumnType::Float64),
    ("string", ColumnType::Utf8),
    ("text", ColumnType::Text),
    ("json", ColumnType::Json),
    ("time", ColumnType::Time),
    ("date", ColumnType::Date),
];

/// A text that is not a type.
///
/// ```
/// use warpath::columns::{ColumnType, TypeError};
///
/// let parse = |text: &str| -> Result<ColumnType, TypeError> { text.parse() };
/// assert!(parse("int32").unwrap_err().is_unknown_word());
/// // This was meant as a type.
/// let error = parse("decimal(99,2)").unwrap_err();
/// assert!(!error.is_unknown_word() && error.to_string().contains("38"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    message: String,
    is_unknown: bool,
}

impl TypeError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_unknown: false }
    }

    /// Returns true if the text as a whole is a word that is no type. It may be meant as something else.
    #[must_use]
    pub fn is_unknown_word(&self) -> bool {
        self.is_unknown
    }
}

impl Display for TypeError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for TypeError {}

impl FromStr for ColumnType {
    type Err = TypeError;

    fn from_str(text: &str) -> Result<Self, TypeError> {
        let mut parser = TypeParser { text, rest: text, depth: 0 };
        let parsed = parser.column_type();
        match parsed {
            Ok(parsed) if parser.rest.is_empty() => Ok(parsed),
            Ok(parsed) => Err(TypeError::new(format!("`{}` follows the type `{parsed}`", parser.rest))),
            Err(error) => {
                let is_word = !text.contains(['<', '(']);
                Err(TypeError { is_unknown: is_word, ..error })
            }
        }
    }
}

/// Returns true if a name of a struct's field needs no quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|c: char| {
            matches!(c, ':' | ',' | '<' | '>' | '"' | '\\') || c.is_whitespace() || c.is_control()
        })
}

struct TypeParser<'a> {
    /// The whole text.
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl<'a> TypeParser<'a> {
    fn column_type(&mut self) -> Result<ColumnType, TypeError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(TypeError::new(format!("the type has more than {MAX_NESTING} levels")));
        }
        let word = self.until(|c| !(c.is_ascii_alphanumeric() || c == '_'));
        let parsed = match word {
            "decimal" => self.decimal(),
            "list" => {
                self.expect('<', "list")?;
                let items = self.column_type()?;
                self.expect('>', "list")?;
                Ok(ColumnType::List(Box::new(items)))
            }
            "struct" => self.fields(),
            "int64" | "float64" if self.rest.starts_with('(') => {
                let number = if word == "int64" { ColumnType::Int64 } else { ColumnType::Float64 };
                self.expect('(', word)?;
                self.string_word(word)?;
                self.expect(')', word)?;
                Ok(ColumnType::Quoted(Box::new(number)))
            }
            _ => {
                WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, found)| found).ok_or_else(|| {
                    let Self { text, rest, .. } = self;
                    TypeError::new(match (word, *rest) {
                        ("", "") if !text.is_empty() => format!("`{text}` ends where a type is expected"),
                        ("", rest) if rest != *text => format!("there is no type `{rest}` in `{text}`"),
                        ("", rest) => format!("there is no type `{rest}`"),
                        (word, _) => format!("there is no type `{word}`"),
                    })
                })
            }
        };
        self.depth -= 1;
        parsed
    }

    /// Takes the text before the first character that `ends` accepts.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let (taken, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        if rest.is_some() {
            self.rest = self.rest.trim_start();
        }
        rest.is_some()
    }

    fn expect(&mut self, token: char, of: &str) -> Result<(), TypeError> {
        if self.take(token) {
            return Ok(());
        }
        Err(self.form(of))
    }

    /// The error that shows how a type is written.
    fn form(&self, of: &str) -> TypeError {
        let form = match of {
            "decimal" => "decimal(PRECISION,SCALE)` or `decimal(PRECISION,SCALE,string)",
            "int64" => "int64` or `int64(string)",
            "float64" => "float64` or `float64(string)",
            "list" => "list<TYPE>",
            _ => "struct<NAME:TYPE,NAME:TYPE>",
        };
        TypeError::new(format!("the type `{of}` is written `{form}`"))
    }

    fn decimal(&mut self) -> Result<ColumnType, TypeError> {
        self.expect('(', "decimal")?;
        let precision = self.number()?;
        let scale = if self.take(',') { self.number()? } else { 0 };
        let is_quoted = self.take(',');
        if is_quoted {
            self.string_word("decimal")?;
        }
        self.expect(')', "decimal")?;
        if !(1..=MAX_PRECISION).contains(&precision) || scale > precision {
            return Err(TypeError::new(format!(
                "decimal({precision},{scale}): the precision is from 1 to {MAX_PRECISION}, and the scale at most the \
                 precision"
            )));
        }
        let decimal = ColumnType::Decimal { precision, scale };
        Ok(if is_quoted { ColumnType::Quoted(Box::new(decimal)) } else { decimal })
    }

    /// Takes the word that lets a number be a string.
    fn string_word(&mut self, of: &str) -> Result<(), TypeError> {
        match self.until(|c| !c.is_ascii_alphanumeric()) {
            "string" => Ok(()),
            _ => Err(self.form(of)),
        }
    }

    fn number(&mut self) -> Result<u8, TypeError> {
        let digits = self.until(|c| !c.is_ascii_digit());
        digits.parse().map_err(|_| self.form("decimal"))
    }

    fn fields(&mut self) -> Result<ColumnType, TypeError> {
        self.expect('<', "struct")?;
        let mut fields: Vec<StructField> = Vec::new();
        loop {
            let name = self.name()?;
            self.expect(':', "struct")?;
            let values = self.column_type()?;
            if fields.iter().any(|field| field.name == name) {
                return Err(TypeError::new(format!("two fields of a struct have the name `{name}`")));
            }
            fields.push(StructField { name, values });
            if !self.take(',') {
                break;
            }
        }
        self.expect('>', "struct")?;
        Ok(ColumnType::Struct(fields))
    }

    fn name(&mut self) -> Result<String, TypeError> {
        if !self.rest.starts_with('"') {
            let name = self.until(|c| !is_plain_name(c.encode_utf8(&mut [0; 4])));
            return match name {
                "" => Err(TypeError::new("the type `struct` is written `struct<NAME:TYPE,NAME:TYPE>`")),
                name => Ok(name.to_owned()),
            };
        }
        let (mut name, mut rest) = (String::new(), &self.rest[1..]);
        let wrong = || TypeError::new("a field's name in quotes is a JSON string");
        loop {
            let next = rest.chars().next().ok_or_else(wrong)?;
            match next {
                '"' => break,
                '\\' => {
                    let escape = Escape::read(rest.as_bytes()).ok_or_else(wrong)?;
                    name.push(escape.character().ok_or_else(wrong)?);
                    rest = &rest[escape.len()..];
                }
                next => {
                    name.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
        }
        self.rest = &rest[1..];
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

    use super::*;

    fn field(name: &str, values: ColumnType) -> StructField {
        StructField { name: name.to_owned(), values }
    }

    #[test]
    fn types_are_read_as_they_are_written() {
        for (word, kind) in WORDS {
            assert_eq!(word.parse(), Ok(kind));
        }
        let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
        let list = |items| ColumnType::List(Box::new(items));
        let quoted = |number| ColumnType::Quoted(Box::new(number));
        for (text, kind) in [
            ("decimal(38,0)", decimal(38, 0)),
            ("decimal(9,9)", decimal(9, 9)),
            ("decimal(9,2,string)", quoted(decimal(9, 2))),
            ("int64(string)", quoted(ColumnType::Int64)),
            ("list<float64(string)>", list(quoted(ColumnType::Float64))),
            ("list<list<int64>>", list(list(ColumnType::Int64))),
            (
                "struct<a:int64,\"b c\":list<string>,\"\\\"\\n\":struct<é:decimal(1,1)>>",
                ColumnType::Struct(vec![
                    field("a", ColumnType::Int64),
                    field("b c", list(ColumnType::Utf8)),
                    field("\"\n", ColumnType::Struct(vec![field("é", decimal(1, 1))])),
                ]),
            ),
            ("struct<\"\":text>", ColumnType::Struct(vec![field("", ColumnType::Text)])),
        ] {
            assert_eq!(text.parse(), Ok(kind.clone()), "{text}");
            assert_eq!(kind.to_string(), text);
        }
        assert_eq!("decimal( 5 )".replace(' ', "").parse(), Ok(decimal(5, 0)));
        assert_eq!(
            "struct<a:int64, b:json>".parse::<ColumnType>().unwrap().to_string(),
            "struct<a:int64,b:json>"
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for [text, message, is_unknown] in texts(include_str!("refused.txt"), "refused") {
            let error = text.parse::<ColumnType>().unwrap_err();
            let found = [error.to_string(), error.is_unknown_word().to_string()];
            assert_eq!(found, [message, is_unknown], "{text}");
        }
        let deep = "list<".repeat(2000) + "json" + &">".repeat(2000);
        assert!(deep.parse::<ColumnType>().unwrap_err().to_string().ends_with("levels"));
    }
}
