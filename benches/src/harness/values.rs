//! The values of a result, independent of their spelling.
//!
//! Tools print the same string with different escapes, and the same number with different zeros. So each line
//! of a result is parsed, written in one canonical form, and hashed: SHA-256 over the lines in their order.
//! The expected results come from a reference that shares no code with the tools: `serde_json` and
//! `serde_json_path`, line by line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;
use sha2::{Digest as _, Sha256};

/// The digest of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// Values, or rows.
    pub count: u64,
    /// The first 16 hexadecimal digits of the hash of the values.
    pub hash: String,
}

/// Hashes the lines of a result one after the other.
#[derive(Default)]
struct Digester {
    count: u64,
    hash: Sha256,
}

impl Digester {
    /// Takes lines that are canonical already.
    fn lines(&mut self, lines: &[u8]) {
        self.count += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.hash.update(lines);
    }

    fn finish(self) -> Digest {
        let hash = self.hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Digest { count: self.count, hash }
    }
}

/// The digest of what a tool printed: a JSON value on each line.
///
/// Where `unwrap` names a member, each line is an object of that one member, and its value is meant.
///
/// # Errors
///
/// If a line is no JSON, or not such an object.
pub fn digest(answer: impl Read, unwrap: Option<&str>) -> Result<Digest> {
    let mut digester = Digester::default();
    let mut canonical = Vec::new();
    let mut answer = BufReader::with_capacity(64 << 10, answer);
    let mut line = Vec::new();
    while answer.read_until(b'\n', &mut line)? > 0 {
        let wrong = || format!("line {} is {:?}", digester.count + 1, shown(&line));
        let mut value: Value = serde_json::from_slice(&line).with_context(wrong)?;
        if let Some(name) = unwrap {
            value = value.get_mut(name).map(Value::take).with_context(wrong)?;
        }
        canonical.clear();
        put(&value, &mut canonical);
        canonical.push(b'\n');
        digester.lines(&canonical);
        line.clear();
    }
    Ok(digester.finish())
}

/// The beginning of a line.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned()
}

/// Columns of a result: a name and a path each. A single column without a name gives one line per match, with
/// its value. Other columns give one row per record, null if a path matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Columns {
    /// The names and paths.
    pub paths: Vec<(String, String)>,
    /// A comparison of a path with a literal, such as `$.a == 1`. Other records have no results.
    pub condition: Option<String>,
}

impl Columns {
    /// The columns of all records.
    pub fn new(paths: Vec<(String, String)>) -> Self {
        Self { paths, condition: None }
    }

    /// Returns true if each match is a line.
    pub fn is_plain(&self) -> bool {
        matches!(&self.paths[..], [(name, _)] if name.is_empty())
    }
}

/// A query that the reference evaluates.
struct Compiled<'a> {
    columns: &'a Columns,
    paths: Vec<(&'a str, JsonPath)>,
    /// A filter of the elements of an array.
    filter: Option<JsonPath>,
}

impl<'a> Compiled<'a> {
    fn new(columns: &'a Columns) -> Result<Self> {
        let compile = |(name, path): &'a (String, String)| {
            let path = JsonPath::parse(path).with_context(|| format!("{name}={path}"))?;
            anyhow::Ok((name.as_str(), path))
        };
        // RFC 9535 filters the children of a value, so the condition is one of the element of an array.
        let filter = columns.condition.as_ref().map(|condition| {
            let element = condition.replacen('$', "@", 1);
            JsonPath::parse(&format!("$[?{element}]")).with_context(|| condition.clone())
        });
        Ok(Self {
            columns,
            paths: columns.paths.iter().map(compile).collect::<Result<_>>()?,
            filter: filter.transpose()?,
        })
    }
}

/// Bytes of whole lines that the reference holds for one core at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// Returns the expected results of queries over a file.
///
/// # Errors
///
/// A file that cannot be read, a line that is not JSON, an invalid path, or a path that matches twice in a
/// row.
pub fn reference(file: &Path, queries: &[Columns]) -> Result<Vec<Digest>> {
    let compiled: Vec<Compiled> = queries.iter().map(Compiled::new).collect::<Result<_>>()?;
    let mut digesters: Vec<Digester> = queries.iter().map(|_| Digester::default()).collect();
    let mut file = File::open(file).with_context(|| file.display().to_string())?;
    let mut rest = Vec::new();
    loop {
        // Read as many chunks of whole lines as there are cores. The bytes after the last newline stay for
        // the next round.
        let room = CHUNK_BYTES * rayon::current_num_threads();
        let read = file.by_ref().take(room as u64).read_to_end(&mut rest)?;
        let end = if read == 0 {
            rest.len()
        } else {
            rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        };
        let answers: Vec<Vec<Vec<u8>>> = rest[..end]
            .par_split_inclusive(|byte| *byte == b'\n')
            .fold(
                || Ok(vec![Vec::new(); queries.len()]),
                |answers, line| {
                    let mut answers: Vec<Vec<u8>> = answers?;
                    if !line.trim_ascii().is_empty() {
                        let record: Value = serde_json::from_slice(line).with_context(|| shown(line))?;
                        let record = Value::Array(vec![record]);
                        for (query, out) in compiled.iter().zip(&mut answers) {
                            answer(&record, query, out)?;
                        }
                    }
                    anyhow::Ok(answers)
                },
            )
            .collect::<Result<_>>()?;
        for answer in &answers {
            digesters.iter_mut().zip(answer).for_each(|(digester, lines)| digester.lines(lines));
        }
        if read == 0 {
            break;
        }
        rest.drain(..end);
    }
    Ok(digesters.into_iter().map(Digester::finish).collect())
}

/// Appends the canonical lines of the results of a record, which is the element of an array.
fn answer(array: &Value, query: &Compiled, out: &mut Vec<u8>) -> Result<()> {
    if query.filter.as_ref().is_some_and(|filter| filter.query(array).is_empty()) {
        return Ok(());
    }
    let record = &array[0];
    if query.columns.is_plain() {
        for value in query.paths[0].1.query(record).all() {
            put(value, out);
            out.push(b'\n');
        }
        return Ok(());
    }
    for (at, (name, path)) in query.paths.iter().enumerate() {
        out.push(if at == 0 { b'{' } else { b',' });
        put(&Value::from(*name), out);
        out.push(b':');
        put(path.query(record).at_most_one().context("a column has one value")?.unwrap_or(&Value::Null), out);
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// The digest of rows in the stream format of Arrow: that of the same rows as JSON lines.
///
/// # Errors
///
/// If the stream is malformed, or has a column that is neither of strings, nor of 64-bit integers or floats.
pub fn arrow_digest(stream: impl Read) -> Result<Digest> {
    let mut digester = Digester::default();
    let mut canonical = Vec::new();
    for batch in StreamReader::try_new(BufReader::new(stream), None)? {
        let batch = batch?;
        let schema = batch.schema();
        canonical.clear();
        for row in 0..batch.num_rows() {
            for (at, (field, column)) in schema.fields().iter().zip(batch.columns()).enumerate() {
                canonical.push(if at == 0 { b'{' } else { b',' });
                put(&Value::from(field.name().as_str()), &mut canonical);
                canonical.push(b':');
                put(&arrow_cell(column, row)?, &mut canonical);
            }
            canonical.extend_from_slice(b"}\n");
        }
        digester.lines(&canonical);
    }
    Ok(digester.finish())
}

fn arrow_cell(column: &ArrayRef, row: usize) -> Result<Value> {
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into(),
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row).into(),
        DataType::Utf8View => column.as_string_view().value(row).into(),
        other => bail!("a column is of type {other}"),
    })
}

/// Appends a value in the form that all equal values have: whole numbers exactly, others as the nearest
/// 64-bit float.
fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                put(element, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                put(&Value::from(name.as_str()), out);
                out.push(b':');
                put(member, out);
            }
            out.push(b'}');
        }
        Value::Number(number) => {
            const EXACT: f64 = (1_u64 << 53) as f64;
            match number.as_f64().filter(|_| number.is_f64()) {
                Some(float) if float.fract() == 0.0 && float.abs() < EXACT => {
                    out.extend_from_slice((float as i64).to_string().as_bytes());
                }
                _ => out.extend_from_slice(number.to_string().as_bytes()),
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {
            // A vector takes everything.
            serde_json::to_writer(out, value).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn of(text: &str) -> Digest {
        digest(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn spelling_does_not_matter_and_values_and_order_do() {
        let one = of("\"\\u00e9\\/\"\n1.50\n{\"a\" : 2.0}\n");
        assert_eq!(one, of("\"é/\"\n1.5\n{\"a\":2}\n"));
        assert_eq!(one.count, 3);
        assert_ne!(one, of("1.5\n\"é/\"\n{\"a\":2}\n"));
        assert_ne!(one, of("\"é/\"\n1.5\n{\"a\":3}\n"));
        assert_ne!(of("12345678901234567890\n"), of("12345678901234567891\n"));
        assert_ne!(of("\"1\"\n"), of("1\n"));
        // The end of the last line may be missing.
        assert_eq!(of("1\n2"), of("1\n2\n"));
        assert_eq!(of("").count, 0);
    }

    #[test]
    fn rows_of_one_member_are_unwrapped() {
        assert_eq!(digest(&b"{\"v\":\"x\"}\n"[..], Some("v")).unwrap(), of("\"x\"\n"));
        assert!(digest(&b"{\"w\":1}\n"[..], Some("v")).is_err());
        assert!(digest(&b"nope\n"[..], None).is_err());
    }

    #[test]
    fn the_reference_follows_the_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let plain = Columns::new(vec![(String::new(), "$.a[*]".into())]);
        let row = Columns::new(vec![("x".into(), "$.b".into()), ("y".into(), "$.c".into())]);
        let (mut values, mut rows) = (String::new(), String::new());
        // More than a round of chunks.
        for line in 0..300_000 {
            writeln!(file, "{{\"a\":[{line},\"{line}\"],\"c\":\"{}\"}}", "x".repeat(line % 100)).unwrap();
            values += &format!("{line}\n\"{line}\"\n");
            rows += &format!("{{\"x\":null,\"y\":\"{}\"}}\n", "x".repeat(line % 100));
        }
        write!(file, "\n{{\"b\":1}}").unwrap();
        rows += "{\"x\":1,\"y\":null}\n";
        assert_eq!(reference(file.path(), &[plain, row]).unwrap(), [of(&values), of(&rows)]);
    }

    #[test]
    fn a_condition_chooses_records() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"{\"a\":1,\"b\":[1,2]}\n{\"a\":2,\"b\":[3]}\n{\"b\":[4]}\n{\"a\":1,\"b\":[5]}\n")
            .unwrap();
        let plain = Columns::new(vec![(String::new(), "$.b[*]".into())]);
        let plain = Columns { condition: Some("$.a == 1".into()), ..plain };
        let row = Columns::new(vec![("x".into(), "$.b[0]".into())]);
        let row = Columns { condition: Some("$.a == 2".into()), ..row };
        assert_eq!(reference(file.path(), &[plain, row]).unwrap(), [of("1\n2\n5\n"), of("{\"x\":3}\n")]);
    }

    #[test]
    fn rows_in_arrow_have_the_digest_of_their_lines() {
        use std::sync::Arc;

        use arrow_array::{Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray};

        let stream = |columns: Vec<(&str, ArrayRef)>| {
            let batch = RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, column)| (name, column, true)),
            );
            let batch = batch.unwrap();
            let mut stream = Vec::new();
            let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            stream
        };
        let rows = stream(vec![
            ("n", Arc::new(Int64Array::from(vec![Some(1), None]))),
            ("x", Arc::new(Float64Array::from(vec![2.0, 2.5]))),
            ("s", Arc::new(StringArray::from(vec!["é", "\n"]))),
            ("v", Arc::new(StringViewArray::from(vec![None, Some("a string of some length")]))),
        ]);
        let lines = "{\"n\":1,\"x\":2,\"s\":\"é\",\"v\":null}\n\
                     {\"n\":null,\"x\":2.5,\"s\":\"\\n\",\"v\":\"a string of some length\"}\n";
        assert_eq!(arrow_digest(&rows[..]).unwrap(), of(&lines.repeat(2)));
        assert!(arrow_digest(&rows[..rows.len() / 2]).is_err());
        assert!(arrow_digest(&stream(vec![("i", Arc::new(Int32Array::from(vec![1])))])[..]).is_err());
    }

    #[test]
    fn the_reference_refuses_what_is_no_json() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{{\"a\":1}}\n{{").unwrap();
        let plain = Columns::new(vec![(String::new(), "$.a".into())]);
        assert!(reference(file.path(), std::slice::from_ref(&plain)).is_err());
    }
}
