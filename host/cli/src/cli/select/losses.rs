//! Reports of the values that columns did not take.

use warpath::columns::{ColumnTally, ColumnType, Occurrences, Tally};
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::{Location, Ui};

use super::super::args::OnMismatchArg;
use super::super::rejects::quoted;
use super::super::statistics::Statistics;

/// The name of a column, and its type as text.
pub type Described = (String, String);

/// Warns of each column that refused values. `action` is `None` if there is no choice.
pub fn warn(tally: &Tally, columns: &[Described], action: Option<OnMismatchArg>, ui: &Ui) {
    let refused = |((name, values), tally): (&Described, &ColumnTally)| {
        let count = tally.mismatch.count + tally.overflow.count;
        if count == 0 {
            return false;
        }
        let kinds = [("of another type", &tally.mismatch), ("beyond the type", &tally.overflow)];
        let kinds = kinds.into_iter().filter(|(_, refused)| refused.count > 0);
        let kinds: Vec<String> =
            kinds.map(|(kind, refused)| format!("{} {kind}{}", refused.count, first(refused))).collect();
        let counted = if count == 1 { "1 value".to_owned() } else { format!("{count} values") };
        let done = match action {
            Some(OnMismatchArg::Skip) => "not taken, their records skipped",
            _ => "not taken, null instead",
        };
        let name = format!("{name}:{values}");
        let place = [&tally.mismatch, &tally.overflow].into_iter().find_map(|refused| refused.first.clone());
        let place = place.map(|(file, line)| Location { file, line: Some(line), byte: None });
        ui.warning_at(place, format!("column `{}`: {counted} {done}: {}", escaped(&name), kinds.join(", ")));
        true
    };
    let any = columns.iter().zip(&tally.columns).map(refused).fold(false, |any, one| any | one);
    let of_time =
        |((_, values), tally): (&Described, &ColumnTally)| values == "time" && tally.mismatch.count > 0;
    if columns.iter().zip(&tally.columns).any(of_time) {
        ui.help(
            "a `time` is an instant of RFC 3339, such as \"2026-01-31T23:59:59Z\"; another format is read with \
             --time-format, such as '%Y-%m-%dT%H:%M:%S%z'",
        );
    }
    if any && action == Some(OnMismatchArg::Null) {
        ui.note("`--on-mismatch fail`, `skip` or `string` does otherwise");
    }
}

fn first(refused: &Occurrences) -> String {
    refused.first.as_ref().map_or_else(String::new, |(file, line)| format!(" (first: {file}:{line})"))
}

/// Adds the counts of each column: a row each as text, and an array of objects as JSON.
pub fn statistics(tally: &Tally, columns: &[Described], statistics: Statistics) -> Statistics {
    let of_column = |((name, values), tally): (&Described, &ColumnTally)| {
        let ColumnTally { missing, null, mismatch, overflow } = tally;
        let counted = [(missing, "missing"), (null, "null"), (mismatch, "mismatch"), (overflow, "overflow")]
            .map(|(values, kind)| format!("{} {kind}{}", values.count, first(values)));
        let counts = counted.join(", ");
        ("column", format!("{}: {counts}", escaped(&format!("{name}:{values}"))))
    };
    let rows = columns.iter().zip(&tally.columns).map(of_column).collect();
    statistics.and(rows).exactly("column", "columns", objects(tally, columns))
}

/// The counts of all columns as a JSON text, for the metadata of a file.
pub fn metadata(tally: &Tally, columns: &[Described]) -> String {
    format!("{{\"rows\":{},\"columns\":{}}}", tally.rows, objects(tally, columns))
}

/// The counts of all columns as a JSON array of objects.
fn objects(tally: &Tally, columns: &[Described]) -> String {
    let of_column = |((name, values), tally): (&Described, &ColumnTally)| {
        let kinds = [
            ("missing", &tally.missing),
            ("null", &tally.null),
            ("mismatch", &tally.mismatch),
            ("overflow", &tally.overflow),
        ];
        let counts: String =
            kinds.iter().map(|(kind, values)| format!(",\"{kind}\":{}", values.count)).collect();
        let place = |(kind, values): &(&str, &Occurrences)| {
            let (file, line) = values.first.as_ref()?;
            Some(format!(",\"first_{kind}\":{}", quoted(&format!("{file}:{line}"))))
        };
        let places: String = kinds.iter().filter_map(place).collect();
        format!("{{\"name\":{},\"type\":{}{counts}{places}}}", quoted(name), quoted(values))
    };
    let columns: Vec<String> = columns.iter().zip(&tally.columns).map(of_column).collect();
    format!("[{}]", columns.join(","))
}

/// The type of a column's values in the output.
pub fn type_of(values: Option<ColumnType>, action: OnMismatchArg) -> ColumnType {
    match values {
        // Text takes all values of all other types. JSON text does, too, and keeps quotes.
        Some(ColumnType::Json) => ColumnType::Json,
        Some(values) if action != OnMismatchArg::String => values,
        _ => ColumnType::Text,
    }
}
