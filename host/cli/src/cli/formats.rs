//! The formats of rows: which writer makes each, and which options fit it.

use warpath::answer::RowForm;

use super::args::{OutputArgs, RowFormat};
use super::failure::Failure;
use super::look::Look;
use super::out;
use super::table::TableFormat;

/// Refuses a binary format on a terminal, and `--pretty` for formats other than NDJSON.
pub fn check(format: RowFormat, output: &OutputArgs, look: Look) -> Result<(), Failure> {
    if look.pretty && format != RowFormat::Ndjson {
        return Err(Failure::usage("`--pretty` is for JSON: `--format ndjson`"));
    }
    if binary_form(format, output).is_some() {
        out::refuse_binary_on_terminal(&format, output)?;
    }
    Ok(())
}

/// The form of rows of text. `None` for other formats, and for tables.
pub fn text_form(format: RowFormat) -> Option<RowForm> {
    match format {
        RowFormat::Ndjson => Some(RowForm::Ndjson),
        RowFormat::Csv => Some(RowForm::Csv),
        RowFormat::Tsv => Some(RowForm::Tsv),
        _ => None,
    }
}

/// The binary format, if it is one.
pub fn binary_form(format: RowFormat, output: &OutputArgs) -> Option<TableFormat> {
    match format {
        RowFormat::Arrow if output.path().is_none() => Some(TableFormat::ArrowStream),
        RowFormat::Arrow => Some(TableFormat::ArrowFile),
        #[cfg(feature = "parquet")]
        RowFormat::Parquet => Some(TableFormat::Parquet),
        _ => None,
    }
}

/// Appends a line of NDJSON in a look.
pub fn styled(line: &[u8], look: Look, out: &mut Vec<u8>) {
    look.append(line.strip_suffix(b"\n").unwrap_or(line), out);
    out.push(b'\n');
}
