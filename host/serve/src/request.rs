//! A body of JSON as a command line.

use std::ffi::OsString;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use warpath_terminal::streams::Shows;

use crate::answer::{About, Form};

/// The commands that have an address of their own.
pub const COMMANDS: [&str; 11] = [
    "query", "select", "count-by", "distinct", "stats", "head", "sample", "validate", "filter", "explain",
    "sql",
];

/// The commands that have the option `--format` with `ndjson`.
const WITH_FORMAT: [&str; 6] = ["select", "count-by", "distinct", "stats", "filter", "sql"];

/// The options of commands that `explain` has, too.
const OF_EXPLAIN: [&str; 9] =
    ["where", "time-format", "limit", "input", "records", "with", "strict", "no-index", "partition-size"];

/// The most words of a command line.
const MOST_WORDS: usize = 10_000;

/// The options that a request does not have. Its response is the output, and its messages are JSON.
const REFUSED: [&str; 9] = [
    "output",
    "rejects",
    "files-from",
    "server",
    "color",
    "message-format",
    "progress",
    "file",
    "subscriptions",
];

/// A mistake in a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

fn wrong<T>(message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(message.into()))
}

/// The object that a body is.
fn object(body: &[u8]) -> Result<Map<String, Value>, Wrong> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => wrong("the body is no JSON object"),
        Err(error) => wrong(format!("the body is no JSON object: {error}")),
    }
}

/// The body of `/run`.
///
/// # Errors
/// A body that is not as the client of `--server` writes it.
pub fn run(body: &[u8]) -> Result<About, Wrong> {
    let mut object = object(body)?;
    let Some(Value::Array(words)) = object.remove("arguments") else {
        return wrong("`arguments` is an array of strings");
    };
    if words.len() > MOST_WORDS {
        return wrong(format!("`arguments` has more than {MOST_WORDS} strings"));
    }
    let arguments = words.iter().map(word).collect::<Result<_, _>>()?;
    let mut files = Vec::new();
    if let Some(Value::Array(list)) = object.remove("files") {
        for file in &list {
            let bytes = file.get("base64").and_then(Value::as_str);
            let bytes = bytes.and_then(|text| STANDARD.decode(text).ok());
            let (Some(path), Some(bytes)) = (file.get("path"), bytes) else {
                return wrong("a file has a `path`, and its bytes in `base64`");
            };
            files.push((PathBuf::from(word(path)?), bytes));
        }
    }
    let terminal = object.remove("terminal").unwrap_or_default();
    let shows = ["output", "error"].map(|stream| shows(&terminal[stream]));
    Ok(About { arguments, files, shows })
}

/// The look of a stream of the client.
fn shows(stream: &Value) -> Shows {
    let is = |key: &str| stream[key].as_bool().unwrap_or(false);
    let number = |key: &str| stream[key].as_u64().and_then(|number| u16::try_from(number).ok());
    let size = number("width").zip(number("height"));
    Shows {
        is_terminal: is("is_terminal"),
        size: size.map(|(width, height)| (width.into(), height.into())),
        color: is("color"),
    }
}

/// An argument: a string, or an array of bytes that are no UTF-8.
fn word(value: &Value) -> Result<OsString, Wrong> {
    let byte = |byte: &Value| byte.as_u64().and_then(|byte| u8::try_from(byte).ok());
    match value {
        Value::String(text) => Ok(text.into()),
        Value::Array(bytes) => match bytes.iter().map(byte).collect::<Option<Vec<u8>>>() {
            Some(bytes) => of_bytes(bytes),
            None => wrong("the bytes of an argument are numbers from 0 to 255"),
        },
        _ => wrong("an argument is a string, or an array of bytes"),
    }
}

#[cfg(unix)]
fn of_bytes(bytes: Vec<u8>) -> Result<OsString, Wrong> {
    use std::os::unix::ffi::OsStringExt as _;
    Ok(OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn of_bytes(bytes: Vec<u8>) -> Result<OsString, Wrong> {
    String::from_utf8(bytes).map(OsString::from).or_else(|_| wrong("an argument is no UTF-8"))
}

/// The format of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Ndjson,
    Csv,
    Tsv,
    Arrow,
    Parquet,
    /// Lines of text, a table among them.
    Text,
}

impl Format {
    const NAMES: [(&'static str, Self); 6] = [
        ("ndjson", Self::Ndjson),
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
        ("arrow", Self::Arrow),
        ("parquet", Self::Parquet),
        ("table", Self::Text),
    ];

    /// The type of the response.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Tsv => "text/tab-separated-values; charset=utf-8",
            Self::Arrow => "application/vnd.apache.arrow.stream",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("ndjson", |(name, _)| name)
    }

    /// The first format of a header `Accept` that there is.
    fn accepted(accept: &str) -> Option<Self> {
        let types = accept.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
        let known = |kind: &str| {
            let is = |(_, format): &&(&str, Self)| format.media_type().split(';').next() == Some(kind);
            Self::NAMES.iter().find(is).map(|(_, format)| *format)
        };
        types.filter_map(known).next()
    }
}

/// A question of a body of JSON.
pub struct Asked {
    pub about: About,
    pub form: Form,
    pub format: Format,
    /// True if notes are the last line of the response.
    pub notes: bool,
}

/// The question of a body to a command.
///
/// # Errors
/// A body that is no question.
pub fn asked(command: &str, accept: Option<&str>, body: &[u8]) -> Result<Asked, Wrong> {
    let mut object = object(body)?;
    let notes = object.remove("notes").is_some_and(|notes| notes == Value::Bool(true));
    let mut words: Vec<OsString> = vec![command.into()];
    let mut given = None;
    let mut of_command = command.to_owned();
    if command == "explain" {
        match object.remove("command") {
            None => {}
            Some(Value::String(name)) if name == "sql" => return explained(object),
            Some(Value::String(name)) if COMMANDS.contains(&&*name) => of_command = name,
            Some(_) => return wrong("`command` is the name of a command, such as `select`"),
        }
    }
    if !WITH_FORMAT.contains(&command) {
        // A request may say what the format is, if it is the only one.
        match object.remove("format") {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) if name == "ndjson" => {}
            Some(_) => return wrong(format!("`{command}` has no other format than its own")),
        }
    } else if let Some(format) = object.remove("format").filter(|format| !format.is_null()) {
        let name = format.as_str().unwrap_or_default().to_owned();
        match Format::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, format)) => given = Some(*format),
            // Such as `ids` and `bars`: the command knows whether it has this format.
            None => words.push(format!("--format={name}").into()),
        }
    }
    if command == "sql" && (object.contains_key("arguments") || !object.contains_key("query")) {
        return wrong("`query` is a statement of SQL");
    }
    let positional = object.remove(if command == "sql" { "query" } else { "arguments" });
    let positional: Vec<OsString> = match positional {
        None => Vec::new(),
        Some(Value::String(text)) => vec![text.into()],
        Some(Value::Array(list)) if list.len() <= MOST_WORDS => {
            list.iter().map(word).collect::<Result<_, _>>()?
        }
        Some(_) => return wrong("`arguments` is an array of strings"),
    };
    let has_own_format = words.len() > 1;
    let default = if of_command == command && command != "explain" { Format::Ndjson } else { Format::Text };
    let accepted = || accept.filter(|_| WITH_FORMAT.contains(&command)).and_then(Format::accepted);
    let format = given.or_else(accepted).unwrap_or(default);
    let mut form = Form::Output;
    if WITH_FORMAT.contains(&command) && !has_own_format {
        words.push(format!("--format={}", format.name()).into());
        if format == Format::Parquet {
            words.push("--output=answer.parquet".into());
            form = Form::File;
        }
    }
    if command == "explain" {
        // An explanation does not depend on other options of the command.
        object.retain(|key, _| OF_EXPLAIN.contains(&key.as_str()));
    }
    for (key, value) in &object {
        option(key, value, &mut words)?;
    }
    words.push("--message-format=json".into());
    if command == "sql" {
        words.push("--".into());
    } else if let Some(word) = positional.iter().find(|word| word.as_encoded_bytes().starts_with(b"-")) {
        // In some commands, `--` divides arguments.
        return wrong(format!(
            "`{}` is no path, no column and no input",
            word.display().to_string().escape_debug()
        ));
    }
    words.extend(positional);
    let format = if has_own_format || command == "validate" { Format::Text } else { format };
    Ok(Asked { about: About { arguments: words, ..About::default() }, form, format, notes })
}

/// The question for the plan of a statement of SQL.
fn explained(object: Map<String, Value>) -> Result<Asked, Wrong> {
    match object.get("query").and_then(Value::as_str) {
        Some(query) => {
            let body = serde_json::json!({"query": format!("EXPLAIN {query}"), "format": "table"});
            asked("sql", None, body.to_string().as_bytes())
        }
        None => wrong("`query` is a statement of SQL"),
    }
}

/// Adds a member as an option.
fn option(key: &str, value: &Value, words: &mut Vec<OsString>) -> Result<(), Wrong> {
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || b"-0123456789".contains(&byte));
    if key.len() < 2 || key.starts_with('-') || !is_name(key) {
        return wrong(format!("`{}` is no option", key.escape_debug()));
    }
    if REFUSED.contains(&key) {
        return wrong(format!("`{key}` is no option of a request"));
    }
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => words.push(format!("--{key}").into()),
        Value::String(text) => words.push(format!("--{key}={text}").into()),
        Value::Number(number) => words.push(format!("--{key}={number}").into()),
        Value::Array(values) if words.len() + values.len() <= MOST_WORDS => {
            for value in values {
                if value.is_array() {
                    return wrong(format!("`{key}` is an array of values"));
                }
                option(key, value, words)?;
            }
        }
        Value::Array(_) | Value::Object(_) => return wrong(format!("`{key}` is no value of an option")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str, accept: Option<&str>, body: &str) -> Result<(Vec<String>, Format), Wrong> {
        let asked = asked(command, accept, body.as_bytes())?;
        let words = asked.about.arguments.into_iter().map(|word| word.into_string().unwrap());
        Ok((words.collect(), asked.format))
    }

    #[test]
    fn members_are_options() {
        for (command, accept, body, expected, format) in [
            (
                "query",
                None,
                r#"{"arguments": ["$.a"], "where": "$.b > 1", "limit": 3, "count": true, "skip": null}"#,
                &["query", "--where=$.b > 1", "--limit=3", "--count", "--message-format=json", "$.a"][..],
                Format::Ndjson,
            ),
            (
                "select",
                Some("text/html, text/csv;q=0.9, */*"),
                r#"{"arguments": ["a=$.a"], "sort": ["a", "b:desc"]}"#,
                &["select", "--format=csv", "--sort=a", "--sort=b:desc", "--message-format=json", "a=$.a"],
                Format::Csv,
            ),
            (
                "sql",
                None,
                r#"{"query": "-- x", "format": "parquet"}"#,
                &[
                    "sql",
                    "--format=parquet",
                    "--output=answer.parquet",
                    "--message-format=json",
                    "--",
                    "-- x",
                ],
                Format::Parquet,
            ),
            ("head", Some("*/*"), "{}", &["head", "--message-format=json"], Format::Ndjson),
            // Commands with one format have it, whatever the request accepts.
            ("head", Some("text/csv"), "{}", &["head", "--message-format=json"], Format::Ndjson),
            (
                "explain",
                Some("application/vnd.apache.parquet"),
                r#"{"arguments": ["a=$.a"]}"#,
                &["explain", "--message-format=json", "a=$.a"],
                Format::Text,
            ),
            (
                "explain",
                None,
                r#"{"command": "select", "arguments": ["a=$.a"]}"#,
                &["explain", "--message-format=json", "a=$.a"],
                Format::Text,
            ),
        ] {
            let (words, of) = words(command, accept, body).unwrap();
            assert_eq!(words, expected, "{body}");
            assert_eq!(of, format, "{body}");
        }
    }

    #[test]
    fn others_are_refused() {
        for body in [
            "",
            "[]",
            "{",
            r#"{"output": "/etc/passwd"}"#,
            r#"{"rejects": "x"}"#,
            r#"{"o": "x"}"#,
            r#"{"-x": 1}"#,
            r#"{"where=1 --output": "x"}"#,
            r#"{"where": {"a": 1}}"#,
            r#"{"where": [[1]]}"#,
            r#"{"arguments": [1]}"#,
            r#"{"arguments": {}}"#,
            r#"{"arguments": ["--output=x"]}"#,
            r#"{"arguments": ["--", "x"]}"#,
            r#"{"format": "csv"}"#,
        ] {
            assert!(words("query", None, body).is_err(), "{body}");
        }
        for body in ["{}", r#"{"arguments": [[256]]}"#, r#"{"arguments": [], "files": [{"path": "x"}]}"#] {
            assert!(run(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_client_says_what_it_shows() {
        let body = br#"{"arguments": ["query", [255, 97]], "files": [{"path": "s", "base64": "YQ=="}],
            "terminal": {"output": {"is_terminal": true, "color": true, "width": 80, "height": 24}}}"#;
        let about = run(body).unwrap();
        assert_eq!(about.arguments[1].as_encoded_bytes(), b"\xffa");
        assert_eq!(about.files, [(PathBuf::from("s"), b"a".to_vec())]);
        assert_eq!(
            about.shows,
            [Shows { is_terminal: true, size: Some((80, 24)), color: true }, Shows::default()]
        );
    }
}
