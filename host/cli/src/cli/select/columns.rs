//! Columns as arguments: a name, a type, a path, and a default.

use std::path::{Path, PathBuf};

use warpath::columns::ColumnType;
use warpath::{Error, Query};
use warpath_cpu::strict;
use warpath_remote::address::is_url;

use super::super::args::WhereArgs;
use super::super::failure::Failure;
use super::super::paths;
use crate::cli::served;

/// The types, as messages list them.
const TYPES: &str = "bool, int64, float64, decimal(P,S), int64(string), string, text, json, time, date, \
                     list<TYPE>, struct<NAME:TYPE,…>, auto";

/// A column.
pub struct Column {
    pub name: String,
    /// `None` for a column without a type.
    pub values: Option<ColumnType>,
    /// True if the type is that of the schema.
    pub is_auto: bool,
    pub query: Query,
    /// The JSON text in place of missing values and null.
    pub default: Option<String>,
}

/// Takes the files out of the arguments. They need no `--` where they are unmistakable.
pub fn take_files(args: Vec<String>, files: &mut Vec<PathBuf>) -> Vec<String> {
    let (named, columns): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| is_file(arg));
    files.splice(..0, named.into_iter().map(PathBuf::from));
    columns
}

/// Returns true if an argument is no column, but a file that exists, a pattern, a URL, or standard input.
fn is_file(arg: &str) -> bool {
    let is_column =
        arg.starts_with('$') || arg.split_once('=').is_some_and(|(_, path)| path.starts_with(['$', '@']));
    let is_pattern = arg.contains(['*', '?', '[']) && !arg.contains('=');
    !is_column && (arg == "-" || is_pattern || is_url(arg) || served::is_input(Path::new(arg)))
}

/// Parses a column. `text` is true for rows of text, which have no types. A colon that no type follows is
/// then part of the name. `elements` is the path of the elements that are rows, which a path may begin with
/// as `@`. `instants` has the format of instants in filters.
pub fn parse(
    arg: &str,
    text: bool,
    elements: Option<&Query>,
    instants: &WhereArgs,
) -> Result<Column, Failure> {
    let (name, path) = match arg.split_once('=') {
        Some(column) if !arg.starts_with('$') => column,
        _ => {
            let help = match arg.strip_prefix('$') {
                Some(_) => format!("give the column a name: `name={arg}`"),
                None => format!("a column is `NAME=PATH`, and there is no file `{arg}`"),
            };
            return Err(Failure::usage(format!("`{arg}` is not a column")).with_help(help));
        }
    };
    let auto = if text { None } else { name.strip_suffix(":auto") };
    let (name, values) = match typed(name) {
        _ if auto.is_some() => (auto.unwrap_or(name), None),
        None => (name, None),
        Some((_, _, Err(_))) if text => (name, None),
        Some((name, _, Ok(values))) if !text => (name, Some(values)),
        Some((name, _, Ok(ColumnType::Time))) => (name, Some(ColumnType::Time)),
        // Text has the JSON of lists and structs, as it is.
        Some((name, _, Ok(values))) if values.is_nested() => (name, None),
        Some((bare, end, Ok(_))) => {
            return Err(Failure::usage(format!(
                "`{name}`: columns have types with `--format arrow` or `parquet` only, but for `time`"
            ))
            .with_help(format!("text formats have no types: write `{bare}={path}`, without `:{end}`")));
        }
        Some((_, _, Err(error))) => {
            return Err(Failure::usage(format!("`{name}`: {error}")).with_help(format!(
                "the types are {TYPES}; if the colon is part of the name: `{name}:text={path}`"
            )));
        }
    };
    if name.is_empty() {
        return Err(Failure::usage(format!("the column `{arg}` has no name"))
            .with_help(format!("give the column a name: `name{arg}`")));
    }
    let (query, default) = path_and_default(path, elements, instants)?;
    Ok(Column { name: name.to_owned(), values, is_auto: auto.is_some(), query, default })
}

type Typed<'a> = (&'a str, &'a str, Result<ColumnType, warpath::columns::TypeError>);

/// Splits a name from its type: at the first colon that a type follows, because the name may have colons, and
/// so may the type. `None` without a colon.
fn typed(name: &str) -> Option<Typed<'_>> {
    let mut wrong: Option<Typed<'_>> = None;
    for (at, _) in name.match_indices(':') {
        let (bare, end) = (&name[..at], &name[at + 1..]);
        match end.parse::<ColumnType>() {
            Ok(values) => return Some((bare, end, Ok(values))),
            // What begins as a type is meant as one.
            Err(error) => {
                if !matches!(&wrong, Some((_, _, Err(error))) if !error.is_unknown_word()) {
                    wrong = Some((bare, end, Err(error)));
                }
            }
        }
    }
    wrong
}

/// Compiles a path, which `??` and a JSON value may follow.
fn path_and_default(
    text: &str,
    elements: Option<&Query>,
    instants: &WhereArgs,
) -> Result<(Query, Option<String>), Failure> {
    let compile = |path: &str| match (path.strip_prefix('@'), elements) {
        (Some(rest), Some(elements)) => instants.query(&format!("{}{rest}", elements.text())),
        _ if path.starts_with('@') => instants.query(path),
        _ => instants.query(&paths::full(path)),
    };
    let whole = match compile(text) {
        Ok(query) => return Ok((query, None)),
        Err(error) => error,
    };
    // Strings in the path, and in the default, may have `??`, too.
    for (at, _) in text.match_indices("??") {
        let (path, default) = (text[..at].trim_end(), text[at + 2..].trim());
        let query: Result<Query, Error> = compile(path);
        if let Ok(query) = query {
            return match strict::fault(default.as_bytes()) {
                None => Ok((query, Some(default.to_owned()))),
                Some(fault) => Err(Failure::usage(format!(
                    "the default `{default}` is not a JSON value: {}",
                    fault.kind
                ))
                .with_help("a default is a JSON value, such as `?? 0` or `?? \"unknown\"`")),
            };
        }
    }
    Err(whole.into())
}
