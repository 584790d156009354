//! The output of `bench kernels`, as components with times.
//!
//! Its lines end in prose. Of each line this module takes the name at its start and the milliseconds after
//! the name. A line that names a query or a column (`$.user.lang: [178675] matches`, `$.user.lang as Utf8:
//! 178675 values`) begins a group, whose lines are indented.

/// A component of the work on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The query that it belongs to, if it is one of a query.
    pub group: Option<String>,
    /// Its name.
    pub name: String,
    /// The median time, in milliseconds.
    pub milliseconds: f64,
}

/// The components that are named in a text, in its order. Lines that hold none are left out.
pub fn parse(text: &str) -> Vec<Component> {
    let mut group = None;
    let mut components = Vec::new();
    for line in text.lines() {
        let matches = line.trim_end().strip_suffix(" matches").and_then(|line| line.rsplit_once(": ["));
        let values = || line.trim_end().strip_suffix(" values").and_then(|line| line.rsplit_once(": "));
        if let Some((subject, _)) = matches.or_else(values) {
            group = Some(subject.trim().to_owned());
            continue;
        }
        if !line.starts_with(char::is_whitespace) {
            group = None;
        }
        let Some((before, _)) =
            line.split_once(" ms").filter(|(_, after)| after.is_empty() || after.starts_with([' ', ',']))
        else {
            continue;
        };
        let Some((name, number)) = before.trim_end().rsplit_once(char::is_whitespace) else { continue };
        let Ok(milliseconds) = number.parse() else { continue };
        let name = name.trim().trim_end_matches(" in");
        // The text before a colon and a space may be a device's or a file's name.
        let name = match name.rsplit_once(": ") {
            Some((subject, rest)) if !subject.starts_with("index") => rest,
            _ => name,
        };
        components.push(Component { group: group.clone(), name: name.to_owned(), milliseconds });
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_read_out_of_prose() {
        let text = "\
NVIDIA H200: context and module in 83 ms
/data/t.ndjson: 841683609 bytes
copy kernel                                      0.417 ms      2021 GB/s of input      4041 GB/s moved  100.0 % of the copy's
structure_write                                  1.146 ms       734 GB/s of input
index, 3 levels: first start to last end         1.558 ms       540 GB/s of input
$.user[?@ == \"a: [b\"]: [482] matches
    query_count                                  0.560 ms      1500 GB/s of input
    query_fill                                   0.558 ms
2 paths together: [178675, 178675] matches
    query_slots                                  0.300 ms
$.user.lang as Utf8: 178675 values
    column_read                                  0.010 ms
all in all 12.5 msec
";
        let component = |group: Option<&str>, name: &str, milliseconds| Component {
            group: group.map(str::to_owned),
            name: name.into(),
            milliseconds,
        };
        let filter = Some("$.user[?@ == \"a: [b\"]");
        assert_eq!(
            parse(text),
            [
                component(None, "context and module", 83.0),
                component(None, "copy kernel", 0.417),
                component(None, "structure_write", 1.146),
                component(None, "index, 3 levels: first start to last end", 1.558),
                component(filter, "query_count", 0.56),
                component(filter, "query_fill", 0.558),
                component(Some("2 paths together"), "query_slots", 0.3),
                component(Some("$.user.lang as Utf8"), "column_read", 0.01),
            ]
        );
        assert_eq!(parse(""), []);
    }
}
