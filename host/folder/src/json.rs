//! JSON values of the log.

use std::fmt;

use warpath_core::json::{Cursor, Malformed, encode};
use warpath_core::number::is_number;

/// The most containers around a value. Schemas need 127.
const MAX_DEPTH: usize = 160;

/// A JSON value. Numbers keep their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    /// The value of a text, which has nothing else but white space.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let mut cursor = Cursor::new(text);
        let value = value(&mut cursor, 0).and_then(|value| {
            cursor.space();
            if cursor.peek().is_none() { Ok(value) } else { Err("bytes after the value") }
        });
        value.map_err(|what| format!("not JSON at byte {}: {what}", cursor.offset()))
    }

    /// The member of an object by its name.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.object()?.iter().find(|(one, _)| one == name).map(|(_, value)| value)
    }

    pub fn object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    pub fn list(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn integer<T: std::str::FromStr>(&self) -> Option<T> {
        if let Self::Number(text) = self { text.parse().ok() } else { None }
    }

    /// True for null, and for a container without items.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::List(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
            _ => false,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = |index: usize| if index > 0 { "," } else { "" };
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Number(text) => out.write_str(text),
            Self::Text(text) => out.write_str(&encode(text)),
            Self::List(items) => {
                out.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", comma(index))?;
                }
                out.write_str("]")
            }
            Self::Object(members) => {
                out.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    write!(out, "{}{}:{value}", comma(index), encode(name))?;
                }
                out.write_str("}")
            }
        }
    }
}

fn value(cursor: &mut Cursor, depth: usize) -> Result<Json, &'static str> {
    if depth > MAX_DEPTH {
        return Err("too many containers in each other");
    }
    cursor.space();
    match cursor.peek() {
        Some(b'"') => text(cursor).map(Json::Text),
        Some(b'[') => {
            let mut items = Vec::new();
            members(cursor, b'[', b']', |cursor| {
                items.push(value(cursor, depth + 1)?);
                Ok(())
            })?;
            Ok(Json::List(items))
        }
        Some(b'{') => {
            let mut all = Vec::new();
            members(cursor, b'{', b'}', |cursor| {
                cursor.space();
                let name = text(cursor)?;
                cursor.space();
                if !cursor.take(b':') {
                    return Err("a `:` was expected");
                }
                all.push((name, value(cursor, depth + 1)?));
                Ok(())
            })?;
            Ok(Json::Object(all))
        }
        _ => match cursor.scalar() {
            b"null" => Ok(Json::Null),
            b"true" => Ok(Json::Bool(true)),
            b"false" => Ok(Json::Bool(false)),
            number if is_number(number) => Ok(Json::Number(String::from_utf8_lossy(number).into_owned())),
            _ => Err("a value was expected"),
        },
    }
}

/// Reads the items of a container by `item`.
fn members(
    cursor: &mut Cursor,
    open: u8,
    close: u8,
    mut item: impl FnMut(&mut Cursor) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    cursor.take(open);
    cursor.space();
    if cursor.take(close) {
        return Ok(());
    }
    loop {
        item(cursor)?;
        cursor.space();
        if cursor.take(close) {
            return Ok(());
        }
        if !cursor.take(b',') {
            return Err("a `,` or a closing bracket was expected");
        }
    }
}

fn text(cursor: &mut Cursor) -> Result<String, &'static str> {
    if cursor.peek() != Some(b'"') {
        return Err("a string was expected");
    }
    let string = cursor.string().map_err(|_| "a string is not closed")?;
    let mut buffer = Vec::new();
    let bytes = string.text(Malformed::Refuse, &mut buffer).ok_or("a string with an invalid escape")?;
    let text = std::str::from_utf8(bytes).map_err(|_| "a string that is not UTF-8")?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        for text in [r#"{"a":[1,-2.50,"x\"\n",true,false,null],"b":{}}"#, "[]", "1e5", r#""""#, "[[],[{}]]"] {
            assert_eq!(Json::parse(text.as_bytes()).unwrap().to_string(), text);
        }
        assert_eq!(Json::parse(b" { \"a\" : [ 1 , 2 ] } ").unwrap().to_string(), r#"{"a":[1,2]}"#);
        let value = Json::parse(br#"{"a":18446744073709551615,"b":"\u00e9"}"#).unwrap();
        assert_eq!(value.get("a").unwrap().integer(), Some(u64::MAX));
        assert_eq!(value.get("a").unwrap().integer::<i64>(), None);
        assert_eq!(value.get("b").unwrap().text(), Some("é"));
    }

    #[test]
    fn other_texts_are_faults() {
        for text in [
            "",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "01",
            "tru",
            "1 2",
            "\"a",
            "\"\\x\"",
            "[1}",
            "\\",
            "\"\\",
            "{,}",
            "nan",
            "[\"a\" 1]",
        ] {
            assert!(Json::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Json::parse(b"\"\xff\"").is_err());
        let deep = |depth: usize| Json::parse(("[".repeat(depth) + &"]".repeat(depth)).as_bytes());
        assert!(deep(MAX_DEPTH + 1).is_ok() && deep(MAX_DEPTH + 2).is_err() && deep(100_000).is_err());
    }
}
