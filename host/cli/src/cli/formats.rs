//! The formats of results: the one that an output's name means, the writer of each format of rows, and
//! the options that fit it.

use warpath::RowForm;
use warpath_terminal::json::Look;

use super::args::{Ending, OutputArgs, RowFormat, RowFormatArgs, compressor};
use super::failure::Failure;
use super::out;
use super::table::TableFormat;
use warpath_terminal::streams::{Stream, Streams};

/// The format of results, of a command that has `--format`: `given` by this option, or else that of the
/// output's name. `format_of` returns the format for each ending that the command has one for.
///
/// # Errors
/// If the name ends as that of a compressed file; or if no format is given, and the name ends as that of a
/// file which the command does not write.
pub fn named<F: Default>(
    output: &OutputArgs,
    given: Option<F>,
    format_of: impl FnOnce(Ending) -> Option<F>,
) -> Result<F, Failure> {
    check_uncompressed(output)?;
    match (given, ending(output)) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(F::default()),
        (None, Some(ending)) => format_of(ending)
            .ok_or_else(|| refused(output, "`--format` names the format of a file, whatever its name is")),
    }
}

/// The format of rows of `select`, as [`named`] returns it: on a terminal a table, unless it is given.
///
/// # Errors
/// Those of [`named`].
pub fn of_rows(args: &RowFormatArgs, output: &OutputArgs) -> Result<RowFormat, Failure> {
    let is_shown =
        args.format.is_none() && output.path().is_none() && Streams::current().is_terminal(Stream::Output);
    if is_shown && !args.pretty.pretty {
        return Ok(RowFormat::Table);
    }
    named(output, args.format, RowFormat::of_ending)
}

/// Checks the name of an output of text: any lines, without a format of their own.
///
/// # Errors
/// If the name ends as that of a compressed file, or of a format that is no text.
pub fn check_text(output: &OutputArgs) -> Result<(), Failure> {
    use Ending::{Csv, Json, Ndjson, OtherText, Sql, Tsv};
    check_ending(output, |ending| matches!(ending, Ndjson | Json | Csv | Tsv | Sql | OtherText))
}

/// Checks the name of an output of records of JSON.
///
/// # Errors
/// If the name ends as that of a compressed file, or of another format.
pub fn check_records(output: &OutputArgs) -> Result<(), Failure> {
    check_ending(output, |ending| matches!(ending, Ending::Ndjson | Ending::Json))
}

fn check_ending(output: &OutputArgs, is_written: impl FnOnce(Ending) -> bool) -> Result<(), Failure> {
    check_uncompressed(output)?;
    match ending(output).is_none_or(is_written) {
        true => Ok(()),
        false => Err(refused(output, "write to a file of another name, such as `-o results.txt`")),
    }
}

/// Checks that the name of an output is not that of a compressed file.
///
/// # Errors
/// If it is.
pub fn check_uncompressed(output: &OutputArgs) -> Result<(), Failure> {
    let Some(program) = output.ending().as_deref().and_then(compressor) else { return Ok(()) };
    let name = shown(output);
    Err(Failure::usage(format!("`{name}`: results are not compressed"))
        .with_help(format!("compress them by a pipe, in place of `-o`: `warpath … | {program} > {name}`")))
}

/// The format that the ending of an output's name means; `None` without an output, or for an ending
/// without a meaning.
fn ending(output: &OutputArgs) -> Option<Ending> {
    Ending::of(&output.ending()?)
}

fn refused(output: &OutputArgs, help: &str) -> Failure {
    let ending = output.ending().unwrap_or_default();
    Failure::usage(format!("`{}`: this command writes no .{ending} files", shown(output))).with_help(help)
}

fn shown(output: &OutputArgs) -> String {
    output.path().map(|path| path.display().to_string()).unwrap_or_default()
}

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
        RowFormat::Arrow => Some(arrow_form(output)),
        #[cfg(feature = "parquet")]
        RowFormat::Parquet => Some(TableFormat::Parquet),
        _ => None,
    }
}

/// The form of Arrow IPC for an output.
pub fn arrow_form(output: &OutputArgs) -> TableFormat {
    let is_stream = output.path().is_none() || ending(output) == Some(Ending::ArrowStream);
    if is_stream { TableFormat::ArrowStream } else { TableFormat::ArrowFile }
}

/// Appends a line of NDJSON in a look.
pub fn styled(line: &[u8], look: Look, out: &mut Vec<u8>) {
    look.append(line.strip_suffix(b"\n").unwrap_or(line), out);
    out.push(b'\n');
}
