//! The values of a result, independent of their spelling.
//!
//! Tools print the same string with different escapes, and the same number with different zeros. So each line
//! of a result is parsed, written in one canonical form, and hashed: SHA-256 over the lines in their order.
//! The expected results come from a reference that shares no code with the tools: `serde_json` and
//! `serde_json_path`, line by line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
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
pub struct Columns(pub Vec<(String, String)>);

impl Columns {
    /// Returns true if each match is a line.
    pub fn is_plain(&self) -> bool {
        matches!(&self.0[..], [(name, _)] if name.is_empty())
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
    let paths: Vec<Vec<(&str, JsonPath)>> = queries
        .iter()
        .map(|query| {
            let compile = |(name, path): &'_ (String, String)| {
                JsonPath::parse(path).with_context(|| format!("{name}={path}"))
            };
            query.0.iter().map(|column| Ok((column.0.as_str(), compile(column)?))).collect()
        })
        .collect::<Result<_>>()?;
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
                        for ((query, paths), out) in queries.iter().zip(&paths).zip(&mut answers) {
                            answer(&record, query, paths, out)?;
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

/// Appends the canonical lines of a record's results.
fn answer(record: &Value, query: &Columns, paths: &[(&str, JsonPath)], out: &mut Vec<u8>) -> Result<()> {
    if query.is_plain() {
        for value in paths[0].1.query(record).all() {
            put(value, out);
            out.push(b'\n');
        }
        return Ok(());
    }
    for (at, (name, path)) in paths.iter().enumerate() {
        out.push(if at == 0 { b'{' } else { b',' });
        put(&Value::from(*name), out);
        out.push(b':');
        put(path.query(record).at_most_one().context("a column has one value")?.unwrap_or(&Value::Null), out);
    }
    out.extend_from_slice(b"}\n");
    Ok(())
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
        let plain = Columns(vec![(String::new(), "$.a[*]".into())]);
        let row = Columns(vec![("x".into(), "$.b".into()), ("y".into(), "$.c".into())]);
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
    fn the_reference_refuses_what_is_no_json() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{{\"a\":1}}\n{{").unwrap();
        let plain = Columns(vec![(String::new(), "$.a".into())]);
        assert!(reference(file.path(), std::slice::from_ref(&plain)).is_err());
    }
}
