//! The statistics of a run, for people and for programs.

use std::fmt::Display;
use std::time::Duration;

use warpath_terminal::escape::{escaped, quoted};
use warpath_terminal::messages::Ui;

use super::args::StatsFormat;

/// Prints statistics on standard error: lines of text, or one object.
pub fn show(ui: &Ui, statistics: &Statistics, format: StatsFormat) {
    let is_json = format == StatsFormat::Json || ui.is_json();
    ui.lines(&if is_json { statistics.to_json() } else { statistics.to_text() });
}

/// Rows of a name and a value, and the exact values that stand for them in JSON.
#[derive(Default)]
pub struct Statistics {
    rows: Vec<(String, String)>,
    /// Members of the JSON object, by the row that they replace.
    members: Vec<(&'static str, &'static str, String)>,
}

impl Statistics {
    /// Statistics with these rows. In JSON, each is a string until [`exactly`](Self::exactly) replaces it.
    pub fn new(rows: impl IntoIterator<Item = (impl Into<String>, String)>) -> Self {
        let rows = rows.into_iter().map(|(name, value)| (name.into(), value));
        Self { rows: rows.collect(), members: Vec::new() }
    }

    /// Adds rows.
    pub fn and(mut self, rows: Vec<(&'static str, String)>) -> Self {
        self.rows.extend(rows.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Puts a number, or other JSON, in the place of a row in JSON. A row may have several members.
    pub fn exactly(mut self, row: &'static str, key: &'static str, json: impl Display) -> Self {
        self.members.push((row, key, json.to_string()));
        self
    }

    /// Puts a time in seconds in the place of a row in JSON.
    pub fn seconds(self, row: &'static str, key: &'static str, time: Duration) -> Self {
        self.exactly(row, key, format_args!("{:.6}", time.as_secs_f64()))
    }

    /// Lines of a name and a value.
    pub fn to_text(&self) -> String {
        named(&self.rows)
    }

    /// One JSON object, with a newline after it. Rows of the same name become an array.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{\"kind\":\"statistics\"");
        for (at, (name, value)) in self.rows.iter().enumerate() {
            let exact: Vec<_> = self.members.iter().filter(|(row, ..)| row == name).collect();
            if self.rows[..at].iter().any(|(before, _)| before == name) {
                continue;
            }
            let same: Vec<String> = self.rows[at + 1..]
                .iter()
                .filter(|(other, _)| other == name)
                .map(|(_, value)| quoted(value))
                .collect();
            for (_, key, member) in &exact {
                json += &format!(",{}:{member}", quoted(key));
            }
            if !exact.is_empty() {
                continue;
            }
            let key = name.replace(' ', "_");
            let value = quoted(value);
            if same.is_empty() {
                json += &format!(",{}:{value}", quoted(&key));
            } else {
                json += &format!(",{}:[{value},{}]", quoted(&key), same.join(","));
            }
        }
        json + "}\n"
    }
}

/// Formats rows of a name and a value. Values are escaped, so that each row takes one line.
pub fn named(rows: &[(impl Display, String)]) -> String {
    rows.iter().map(|(name, value)| format!("{name:<11} {}\n", escaped(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json() {
        let rows = [
            ("backend", "the \"cpu\""),
            ("bytes", "3 (3 B)"),
            ("note", "a"),
            ("all of it", "x"),
            ("note", "b"),
        ];
        let statistics = Statistics::new(rows.map(|(name, value)| (name, value.to_owned())))
            .exactly("bytes", "bytes", 3)
            .seconds("bytes", "bytes_seconds", Duration::from_millis(1500));
        assert_eq!(
            statistics.to_text(),
            "backend     the \"cpu\"\nbytes       3 (3 B)\nnote        a\nall of it   x\nnote        b\n"
        );
        assert_eq!(
            statistics.to_json(),
            "{\"kind\":\"statistics\",\"backend\":\"the \\\"cpu\\\"\",\"bytes\":3,\
             \"bytes_seconds\":1.500000,\"note\":[\"a\",\"b\"],\"all_of_it\":\"x\"}\n"
        );
    }
}
