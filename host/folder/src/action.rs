//! The lines of a version: written and read.

use std::fmt::Write as _;

use warpath_core::json::encode;
use warpath_core::stamp::hash;

use crate::error::FolderError;
use crate::json::Json;
use crate::part::{Input, Millis, Part, Position, name_fault};
use crate::schema::Schema;

/// The folder of the log, within the folder of the store.
pub const LOG: &str = "_delta_log";
/// The bytes before the checksum of the first line.
const HEAD: &str = r#"{"commitInfo":{"warpath.hash":""#;
/// The digits of a checksum.
const DIGITS: usize = 16;
/// The name of an input follows.
const INPUT: &str = "warpath:input:";
/// The versions of Delta's protocol, for readers and for writers.
const PROTOCOL: (u64, u64) = (1, 2);

/// The file of a version.
pub fn file_of(version: u64) -> String {
    format!("{LOG}/{version:020}.json")
}

/// An action of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Protocol,
    Table(Table),
    Input(Input),
    Remove { name: String, at: Millis },
    Add(Part),
}

/// The facts about the table as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// An identifier that stays when the schema changes.
    pub id: String,
    pub created: Millis,
    pub schema: Schema,
}

impl Table {
    /// A new table. Its identifier has the form of a UUID of version 8, and is made from the schema and the
    /// time.
    pub fn new(schema: Schema, created: Millis) -> Self {
        let text = schema.to_delta();
        let (high, low) = (hash(text.as_bytes()), hash(format!("{} {text}", created.0).as_bytes()));
        let id = format!(
            "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        );
        Self { id, created, schema }
    }
}

/// A version of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub version: u64,
    /// The checksum of the version before this one; 0 before the first.
    pub before: u64,
    /// The checksum of the first line, which has those of all others.
    pub hash: u64,
    pub at: Millis,
    pub actions: Vec<Action>,
}

/// The facts about a version that its lines need beside its actions.
pub struct Head<'a> {
    pub version: u64,
    pub before: u64,
    pub at: Millis,
    pub operation: &'a str,
    /// True if other rows result: false for parts that are merged.
    pub changes_rows: bool,
}

/// The bytes of a version.
pub fn render(head: &Head, actions: &[Action]) -> Vec<u8> {
    let lines: Vec<String> = actions.iter().map(|action| line(head, action)).collect();
    let hashes: Vec<String> = lines.iter().map(|line| format!("{:016x}", hash(line.as_bytes()))).collect();
    let stamps: Vec<String> = actions
        .iter()
        .filter_map(
            |action| if let Action::Input(input) = action { Some(encode(&input.stamp)) } else { None },
        )
        .collect();
    let rest = format!(
        concat!(
            r#"","warpath.version":"{}","warpath.before":"{:016x}","warpath.lines":"{}","#,
            r#""warpath.stamps":[{}],"timestamp":{},"operation":{},"operationParameters":{{}},"engineInfo":"Warpath"}}}}"#
        ),
        head.version,
        head.before,
        hashes.join(" "),
        stamps.join(","),
        head.at.0,
        encode(head.operation),
    );
    let mut out = format!("{HEAD}{:016x}{rest}\n", hash(rest.as_bytes()));
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out.into_bytes()
}

fn line(head: &Head, action: &Action) -> String {
    match action {
        Action::Protocol => {
            let (reader, writer) = PROTOCOL;
            format!(r#"{{"protocol":{{"minReaderVersion":{reader},"minWriterVersion":{writer}}}}}"#)
        }
        Action::Table(table) => format!(
            concat!(
                r#"{{"metaData":{{"id":{},"format":{{"provider":"parquet","options":{{}}}},"#,
                r#""schemaString":{},"partitionColumns":[],"configuration":{{}},"createdTime":{}}}}}"#
            ),
            encode(&table.id),
            encode(&table.schema.to_delta()),
            table.created.0
        ),
        Action::Input(input) => format!(
            r#"{{"txn":{{"appId":{},"version":{},"lastUpdated":{}}}}}"#,
            encode(&format!("{INPUT}{}", input.name)),
            input.size,
            head.at.0
        ),
        Action::Remove { name, at } => format!(
            r#"{{"remove":{{"path":{},"deletionTimestamp":{},"dataChange":{}}}}}"#,
            encode(&url_encode(name)),
            at.0,
            head.changes_rows
        ),
        Action::Add(part) => format!(
            concat!(
                r#"{{"add":{{"path":{},"partitionValues":{{}},"size":{},"modificationTime":{},"#,
                r#""dataChange":{},"stats":{},"tags":{{"warpath.position":"{}","#,
                r#""warpath.text":"{}","warpath.hash":"{:016x}"}}}}}}"#
            ),
            encode(&url_encode(&part.name)),
            part.bytes,
            part.modified.0,
            head.changes_rows,
            encode(&stats(part)),
            part.position,
            part.text_bytes,
            part.hash
        ),
    }
}

fn stats(part: &Part) -> String {
    let mut out = format!(r#"{{"numRecords":{}"#, part.rows);
    for (name, values) in
        [("minValues", &part.minima), ("maxValues", &part.maxima), ("nullCount", &part.nulls)]
    {
        if let Some(values) = values {
            // Writing to a string does not fail.
            let _ = write!(out, r#","{name}":{values}"#);
        }
    }
    out.push('}');
    out
}

/// The number of hexadecimal digits, without a sign.
fn hexadecimal(digits: &str) -> Option<u64> {
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_digits)
}

/// A name as a relative URL.
fn url_encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The name of a relative URL without folders.
fn url_decode(url: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(url.len());
    let mut rest = url.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let byte = if *first == b'%' {
            let byte =
                tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).and_then(hexadecimal);
            let byte = byte.and_then(|byte| u8::try_from(byte).ok());
            rest = tail.get(2..).unwrap_or_default();
            byte.ok_or_else(|| format!("path `{url}` has a `%` without two hexadecimal digits"))?
        } else if matches!(first, b':' | b'/' | b'?' | b'#') {
            return Err(format!("path `{url}` is not a name in the folder of the store"));
        } else {
            *first
        };
        bytes.push(byte);
    }
    let name = String::from_utf8(bytes).map_err(|_| format!("path `{url}` is not UTF-8"))?;
    name_fault(&name).map_or(Ok(name), |fault| Err(format!("path `{url}`: {fault}")))
}

/// The file and the line that an error names.
#[derive(Clone, Copy)]
struct At<'a> {
    file: &'a str,
    line: usize,
}

impl At<'_> {
    fn malformed(self, what: impl Into<String>) -> FolderError {
        FolderError::Malformed { file: self.file.to_owned(), line: self.line, what: what.into() }
    }

    fn unsupported(self, what: impl Into<String>) -> FolderError {
        FolderError::Unsupported { file: self.file.to_owned(), line: self.line, what: what.into() }
    }

    fn need<'j, T>(
        self,
        json: &'j Json,
        name: &str,
        read: fn(&'j Json) -> Option<T>,
    ) -> Result<T, FolderError> {
        json.get(name)
            .and_then(read)
            .ok_or_else(|| self.malformed(format!("`{name}` is missing or has another type")))
    }
}

/// Reads the version whose number is in its file's name.
pub fn read(version: u64, bytes: &[u8]) -> Result<Entry, FolderError> {
    let file = file_of(version);
    let first = At { file: &file, line: 1 };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count();
        At { file: &file, line }.malformed("not UTF-8")
    })?;
    let Some((digits, rest)) = text.strip_prefix(HEAD).and_then(|text| text.split_at_checked(DIGITS)) else {
        return Err(foreign(&file, text));
    };
    let (rest, lines) =
        rest.split_once('\n').ok_or_else(|| first.malformed("the end of the line is missing"))?;
    let sum = hash(rest.as_bytes());
    if digits != format!("{sum:016x}") {
        return Err(first.malformed("checksum mismatch"));
    }
    let json =
        Json::parse(format!("{HEAD}{digits}{rest}").as_bytes()).map_err(|what| first.malformed(what))?;
    let info = json.get("commitInfo").ok_or_else(|| first.malformed("`commitInfo` is missing"))?;
    if first.need(info, "warpath.version", Json::text)? != version.to_string() {
        return Err(first.malformed("this is the file of another version"));
    }
    let before = hexadecimal(first.need(info, "warpath.before", Json::text)?);
    let before = before.ok_or_else(|| first.malformed("`warpath.before` is not a checksum"))?;
    let at = Millis(first.need(info, "timestamp", Json::integer)?);
    let mut stamps = first.need(info, "warpath.stamps", Json::list)?.iter();
    let mut hashes = first.need(info, "warpath.lines", Json::text)?.split_ascii_whitespace();

    let mut actions = Vec::new();
    let mut at_line = At { file: &file, line: 1 };
    for line in lines.split_inclusive('\n') {
        at_line.line += 1;
        let line =
            line.strip_suffix('\n').ok_or_else(|| at_line.malformed("the end of the line is missing"))?;
        if hashes.next() != Some(format!("{:016x}", hash(line.as_bytes())).as_str()) {
            return Err(at_line.malformed("checksum mismatch"));
        }
        let mut action = action(at_line, line)?;
        if let Action::Input(input) = &mut action {
            let stamp = stamps.next().and_then(Json::text);
            stamp
                .ok_or_else(|| first.malformed("the stamp of an input is missing"))?
                .clone_into(&mut input.stamp);
        }
        actions.push(action);
    }
    if hashes.next().is_some() {
        at_line.line += 1;
        return Err(at_line.malformed("the line is missing"));
    }
    Ok(Entry { version, before, hash: sum, at, actions })
}

/// True if a version has an action of Delta Lake, as far as the names of its members show.
pub fn is_version(version: &[u8]) -> bool {
    let names = [&b"\"protocol\""[..], b"\"metaData\"", b"\"commitInfo\"", b"\"add\"", b"\"remove\""];
    names.iter().any(|name| version.windows(name.len()).any(|at| at == *name))
}

/// True if Warpath wrote a version, as far as the names of its members show. They may be damaged.
pub fn is_own(version: &[u8]) -> bool {
    version.windows(9).any(|name| name == b"\"warpath.")
}

/// The error for a version that another program has written, which names the first feature that is not
/// supported.
fn foreign(file: &str, text: &str) -> FolderError {
    for (index, line) in text.lines().enumerate() {
        if let Err(error @ FolderError::Unsupported { .. }) = action(At { file, line: index + 1 }, line) {
            return error;
        }
    }
    At { file, line: 1 }.unsupported("a version without Warpath's checksums, by another program,")
}

fn action(at: At, line: &str) -> Result<Action, FolderError> {
    let json = Json::parse(line.as_bytes()).map_err(|what| at.malformed(what))?;
    let Some([(name, body)]) = json.object() else {
        return Err(at.malformed("an object with one action was expected"));
    };
    match name.as_str() {
        "protocol" => protocol(at, body),
        "metaData" => table(at, body),
        "txn" => {
            let app = at.need(body, "appId", Json::text)?;
            let name =
                app.strip_prefix(INPUT).ok_or_else(|| at.unsupported(format!("a `txn` of `{app}`")))?;
            let size = at.need(body, "version", Json::integer)?;
            Ok(Action::Input(Input { name: name.to_owned(), size, stamp: String::new() }))
        }
        "remove" => {
            let name = url_decode(at.need(body, "path", Json::text)?).map_err(|what| at.malformed(what))?;
            Ok(Action::Remove { name, at: Millis(at.need(body, "deletionTimestamp", Json::integer)?) })
        }
        "add" => add(at, body).map(Action::Add),
        // Only the first line of a version may be this.
        "commitInfo" => Err(at.malformed("a second `commitInfo`")),
        other => Err(at.unsupported(format!("the action `{other}`"))),
    }
}

fn protocol(at: At, body: &Json) -> Result<Action, FolderError> {
    let versions: (u64, u64) = (
        at.need(body, "minReaderVersion", Json::integer)?,
        at.need(body, "minWriterVersion", Json::integer)?,
    );
    if versions != PROTOCOL {
        let features = ["readerFeatures", "writerFeatures"].map(|name| body.get(name).map(Json::to_string));
        let features = features.into_iter().flatten().max_by_key(String::len).unwrap_or_default();
        let (reader, writer) = versions;
        return Err(at.unsupported(format!("Delta's protocol {reader}, {writer} {features}")));
    }
    Ok(Action::Protocol)
}

fn table(at: At, body: &Json) -> Result<Action, FolderError> {
    if !body.get("partitionColumns").is_none_or(Json::is_empty) {
        return Err(at.unsupported("a table with partition columns"));
    }
    if !body.get("configuration").is_none_or(Json::is_empty) {
        return Err(at.unsupported("a table with a configuration"));
    }
    let schema = Schema::parse(at.need(body, "schemaString", Json::text)?);
    let schema = schema.map_err(|error| at.unsupported(error.to_string()))?;
    Ok(Action::Table(Table {
        id: at.need(body, "id", Json::text)?.to_owned(),
        created: Millis(at.need(body, "createdTime", Json::integer)?),
        schema,
    }))
}

fn add(at: At, body: &Json) -> Result<Part, FolderError> {
    if !body.get("deletionVector").is_none_or(Json::is_empty) {
        return Err(at.unsupported("a deletion vector"));
    }
    if !body.get("partitionValues").is_none_or(Json::is_empty) {
        return Err(at.unsupported("a part with partition values"));
    }
    let name = url_decode(at.need(body, "path", Json::text)?).map_err(|what| at.malformed(what))?;
    let stats =
        Json::parse(at.need(body, "stats", Json::text)?.as_bytes()).map_err(|what| at.malformed(what))?;
    let values = |name| stats.get(name).map(Json::to_string);
    let tags = body.get("tags").ok_or_else(|| at.malformed("`tags` are missing"))?;
    let tag = |name| at.need(tags, name, Json::text);
    let wrong = |name: &str| at.malformed(format!("`{name}` has another form"));
    let hash = tag("warpath.hash")?;
    Ok(Part {
        name,
        bytes: at.need(body, "size", Json::integer)?,
        modified: Millis(at.need(body, "modificationTime", Json::integer)?),
        rows: at.need(&stats, "numRecords", Json::integer)?,
        text_bytes: tag("warpath.text")?.parse().map_err(|_| wrong("warpath.text"))?,
        hash: hexadecimal(hash).ok_or_else(|| wrong("warpath.hash"))?,
        minima: values("minValues"),
        maxima: values("maxValues"),
        nulls: values("nullCount"),
        position: Position::parse(tag("warpath.position")?).ok_or_else(|| wrong("warpath.position"))?,
    })
}
