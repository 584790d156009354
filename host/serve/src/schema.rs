//! The schema of inputs as a tree, made of the rows that `warpath schema --format ndjson` prints.

use serde_json::{Map, Value, json};

/// The ends of names that numbers have if they are times.
const TIMES: [&str; 6] = ["time", "timestamp", "ts", "date", "created", "updated"];

type Row = Map<String, Value>;

/// A row that others may be below.
struct Open {
    depth: u64,
    node: Value,
}

/// The tree of some rows. The root is the records themselves.
///
/// # Errors
/// Rows that are no schema.
pub fn tree(rows: &[u8]) -> Result<Value, String> {
    let mut open: Vec<Open> = Vec::new();
    for line in rows.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let row: Row = serde_json::from_slice(&in_range(line)).map_err(|error| error.to_string())?;
        let depth = row.get("depth").and_then(Value::as_u64).ok_or("a row has no depth")?;
        while open.last().is_some_and(|above| above.depth >= depth) {
            close(&mut open);
        }
        let above = open.last().and_then(|above| above.node["path"].as_str()).unwrap_or_default();
        let path = row.get("path").and_then(Value::as_str).ok_or("a row has no path")?;
        let name = path.strip_prefix(above).map_or_else(|| path.to_owned(), name_of);
        open.push(Open { depth, node: node(&name, &row) });
    }
    while open.len() > 1 {
        close(&mut open);
    }
    Ok(open.pop().map_or(Value::Null, |root| root.node))
}

/// A row in which numbers beyond those of `f64`, such as `1e400`, are strings: readers of JSON refuse them.
fn in_range(row: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(row.len()), row);
    while let Some(first) = rest.first() {
        let len = match first {
            b'"' => {
                let mut is_escaped = false;
                let end = rest[1..].iter().position(|byte| {
                    let is_end = *byte == b'"' && !is_escaped;
                    is_escaped = *byte == b'\\' && !is_escaped;
                    is_end
                });
                end.map_or(rest.len(), |end| end + 2)
            }
            b'-' | b'0'..=b'9' => {
                let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                rest.iter().position(|byte| !is_number(byte)).unwrap_or(rest.len())
            }
            _ => 1,
        };
        let (token, after) = rest.split_at(len);
        let number = std::str::from_utf8(token).ok().and_then(|token| token.parse::<f64>().ok());
        match number {
            Some(number) if number.is_infinite() => {
                out.push(b'"');
                out.extend_from_slice(token);
                out.push(b'"');
            }
            _ => out.extend_from_slice(token),
        }
        rest = after;
    }
    out
}

/// Puts the last open row below the one before it.
fn close(open: &mut Vec<Open>) {
    if let Some(Open { node, .. }) = open.pop()
        && let Some(above) = open.last_mut()
        && let Some(children) = above.node["children"].as_array_mut()
    {
        children.push(node);
    }
}

fn node(name: &str, row: &Row) -> Value {
    let number = |key: &str| row.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (count, missing) = (number("count"), number("missing"));
    let present = if count == 0 { 0.0 } else { count as f64 / (count + missing) as f64 };
    let types = row.get("types").and_then(Value::as_object);
    let mut kinds = types.into_iter().flat_map(Map::keys).filter(|kind| *kind != "null").peekable();
    let has_any = kinds.peek().is_some();
    let (mut are_times, mut are_numbers) = (has_any, has_any);
    for kind in kinds {
        are_times &= kind == "time" || kind == "date";
        are_numbers &= kind == "int64" || kind == "float64";
    }
    let is_named = TIMES.iter().any(|word| name.to_lowercase().ends_with(word));
    let either = |one: &str, other: &str| row.get(one).or_else(|| row.get(other)).cloned();
    json!({
        "name": name,
        "path": row.get("path"),
        "present": present,
        "count": count,
        "types": row.get("types"),
        "least": either("least", "least_string"),
        "greatest": either("greatest", "greatest_string"),
        "distinct": row.get("distinct"),
        "distinct_exact": row.get("distinct_exact"),
        "example": row.get("example"),
        "is_map": row.get("map"),
        "time": are_times || are_numbers && is_named,
        "children": [],
    })
}

/// The name of a step, such as `.user` or `['a b']`.
fn name_of(step: &str) -> String {
    match step.strip_prefix("['").and_then(|step| step.strip_suffix("']")) {
        Some(name) => name.replace("\\'", "'").replace("\\\\", "\\"),
        None => step.strip_prefix('.').unwrap_or(step).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_doubles_are_strings() {
        let row =
            br#"{"path":"$","depth":0,"least":-1e400,"greatest":1.5e+999,"example":"\"1e400\\","count":12}"#;
        let root = tree(row).unwrap();
        assert_eq!((&root["least"], &root["greatest"]), (&json!("-1e400"), &json!("1.5e+999")));
        assert_eq!((&root["example"], &root["count"]), (&json!("\"1e400\\"), &json!(12)));
    }

    #[test]
    fn rows_are_a_tree() {
        let rows = br#"{"path":"$","count":4,"depth":0,"missing":0,"types":{"object":4}}
{"path":"$.at","count":3,"depth":1,"missing":1,"types":{"time":2,"null":1},"least_string":"a"}
{"path":"$.user","count":2,"depth":1,"missing":2,"types":{"object":2}}
{"path":"$.user['a b']","count":2,"depth":2,"missing":0,"types":{"int64":2},"least":1,"greatest":2}
{"path":"$.user.ts","count":1,"depth":2,"missing":1,"types":{"int64":1}}
{"path":"$.tags","count":1,"depth":1,"missing":3,"types":{"array":1}}
{"path":"$.tags[*]","count":0,"depth":2,"missing":0,"types":{}}
"#;
        let root = tree(rows).unwrap();
        let names = |node: &Value| -> Vec<String> {
            let children = node["children"].as_array().unwrap();
            children.iter().map(|child| child["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&root), ["at", "user", "tags"]);
        assert_eq!(root["name"], "$");
        let [at, user, tags] = [0, 1, 2].map(|at| &root["children"][at]);
        assert_eq!((&at["present"], &at["time"], &at["least"]), (&json!(0.75), &json!(true), &json!("a")));
        assert_eq!(names(user), ["a b", "ts"]);
        assert_eq!([&user["children"][0]["time"], &user["children"][1]["time"]], [false, true]);
        assert_eq!(names(tags), ["[*]"]);
        assert_eq!(tags["children"][0]["present"], 0.0);
        assert_eq!(tree(b"").unwrap(), Value::Null);
        assert!(tree(b"{}").is_err() && tree(b"x").is_err());
    }
}
