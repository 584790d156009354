//! Guesses at the meaning of wrong arguments.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::shell::quoted;

/// An error in the arguments, with a guess at what they were meant to be. The parser's own guesses are kept
/// where they can be right: it takes each unknown option for a value.
pub fn with_guess(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    if let Some(guess) = guess(&error, args) {
        // One guess is enough, and this one is surer.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(guess)]));
    }
    error
}

/// Commands of other tools, and what does the same here.
const WORDS: [(&[&str], &str); 16] = [
    (
        &["where", "grep", "search", "find", "rg"],
        "records by a condition: warpath query '$' --where '$.status >= 500' FILE",
    ),
    (&["sort", "order-by", "sort-by"], "records in order: warpath query '$' --sort '$.path' FILE"),
    (&["tail", "follow", "watch"], "lines as they are written: warpath query '$' --follow=end FILE"),
    (&["join", "union", "lookup"], "joins are SQL: warpath sql 'SELECT … FROM a JOIN b …'"),
    (
        &["diff", "compare"],
        "different schemas: warpath schema diff A B; records: warpath sql 'SELECT … EXCEPT SELECT …'",
    ),
    (
        &["group-by", "groupby", "group", "agg", "aggregate", "summarize", "summarise"],
        "counts: warpath count-by '$.host' FILE; sums and quantiles: warpath stats '$.ms' --by '$.host' FILE",
    ),
    (&["count", "wc"], "the number of records: warpath query --count '$' FILE"),
    (
        &["uniq", "unique", "dedup", "dedupe"],
        "values: warpath distinct '$.id' FILE; records: warpath distinct --by '$.id' FILE",
    ),
    (&["cat", "show", "less", "view", "print"], "records: warpath query '$' FILE, or warpath head FILE"),
    (&["hist", "histogram", "bars", "timeline"], "warpath count-by --every 1h --bars FILE"),
    (
        &["sum", "mean", "avg", "min", "max", "quantile", "percentile", "describe", "summary"],
        "warpath stats '$.ms' FILE",
    ),
    (
        &["convert", "to-csv", "to-parquet", "csv", "parquet", "export"],
        "warpath select --auto -o FILE.parquet FILE",
    ),
    (&["flatten", "unnest", "explode"], "elements as records: warpath query '$' --records '$.items[*]' FILE"),
    (&["split", "partition"], "files by a value: warpath query '$' -o 'out/{$.host}.ndjson' FILE"),
    (&["keys", "fields", "columns", "types", "describe-table", "info"], "warpath schema FILE"),
    (&["jq", "filter-json", "map", "get", "select-where"], "warpath query '$.path' FILE"),
];

/// Options of other tools, and what does the same here.
const OPTIONS: [(&[&str], &str); 17] = [
    (
        &["--by", "--group-by", "--groupby", "--group"],
        "`warpath stats PATH --by PATH` groups; `count-by` groups by its paths",
    ),
    (&["--filter", "--condition", "--grep", "--expr"], "`--where EXPR` is the condition on records"),
    (
        &["--except", "--exclude", "--without", "--omit", "--remove"],
        "`warpath query '$' --drop PATH` leaves members out",
    ),
    (&["--distinct", "--unique", "--uniq", "--dedup"], "`warpath distinct PATH` prints each value once"),
    (
        &["--csv", "--tsv", "--json", "--ndjson", "--jsonl", "--table", "--parquet", "--arrow"],
        "`--format FORMAT` (`-f`) names the format of rows, or `-o FILE.csv`",
    ),
    (&["--fmt", "--output-format", "--to"], "`--format FORMAT` (`-f`) names the format of rows"),
    (&["--threads", "--jobs", "-j", "--parallel", "--cores"], "`--workers N` sets the number of threads"),
    (
        &["--ignore-errors", "--keep-going", "--skip-errors", "--lenient"],
        "`--on-error skip` leaves malformed records out",
    ),
    (
        &["--sum", "--mean", "--avg", "--min", "--max", "--p99", "--p95", "--median", "--percentile"],
        "`warpath stats PATH` prints sums, means and quantiles",
    ),
    (
        &["--since", "--until", "--from", "--last", "--after", "--before"],
        "a time is a condition: `--where 'time($.at) >= now() - 1h'`",
    ),
    (&["--unnest", "--flatten", "--expand"], "`--records '$.items[*]'` makes elements records"),
    (
        &["--interval", "--bucket", "--bin", "--timeslice", "--window"],
        "`--every 1h` of `count-by` and `stats` groups by time",
    ),
    (&["--head", "--lines", "--rows", "--max", "-c"], "`-n N` is the number of results"),
    (&["--raw", "--no-quotes"], "`-r` prints strings as text"),
    (&["--tail"], "`--follow=end` reads only lines that come later"),
    (
        &["--order-by", "--sort-by", "--orderby"],
        "`--sort NAME` of `select` and `stats`, and `--sort PATH` of `query`",
    ),
    (&["--file", "--input-file", "--infile", "--path"], "files are arguments, without an option"),
];

/// A guess at the meaning of an unknown option of a command.
fn of_option(option: &str, command: &str) -> Option<String> {
    let all = super::face::command();
    let names = |command: &clap::Command| -> Vec<String> {
        command.get_arguments().filter_map(clap::Arg::get_long).map(|name| format!("--{name}")).collect()
    };
    if let Some((_, help)) = OPTIONS.iter().find(|(options, _)| options.contains(&option)) {
        return Some((*help).to_owned());
    }
    let others: Vec<String> = (all.get_subcommands())
        .filter(|other| other.get_name() != command && names(other).iter().any(|name| name == option))
        .map(|other| format!("`warpath {}`", other.get_name()))
        .collect();
    if !others.is_empty() {
        return Some(format!("`{option}` is an option of {}", others.join(", ")));
    }
    let own = all.find_subcommand(command).map(names)?;
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let body = option.trim_start_matches('-');
    let has_body = |name: &&&str| body.len() > 3 && name.trim_start_matches('-').contains(body);
    if let Some(name) = own.iter().find(has_body) {
        return Some(format!("did you mean `{name}`?"));
    }
    warpath_terminal::messages::nearest(option, &own).map(|name| format!("did you mean `{name}`?"))
}

fn guess(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let given: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let option = of(ContextKind::InvalidArg)?;
            if let Some(file) = given.iter().find(|arg| arg.starts_with(&option) && Path::new(arg).exists()) {
                return Some(format!("to name the file: {}", quoted(&format!("./{file}"))));
            }
            let command = given.iter().find(|arg| !arg.starts_with('-'))?;
            of_option(&option, command)
        }
        ErrorKind::InvalidSubcommand => {
            let word = of(ContextKind::InvalidSubcommand)?;
            let rest: Vec<String> =
                given.iter().skip_while(|arg| **arg != word).map(|arg| quoted(arg)).collect();
            if word.starts_with('$') {
                Some(format!("a query has a command before it: warpath query {}", rest.join(" ")))
            } else if Path::new(&word).exists() {
                Some(format!(
                    "a file has a command before it: warpath schema {0}, or warpath head {0}",
                    rest.join(" ")
                ))
            } else {
                let (_, help) = WORDS.iter().find(|(words, _)| words.contains(&word.as_str()))?;
                Some((*help).to_owned())
            }
        }
        ErrorKind::MissingRequiredArgument if given.first() == Some(&"filter") => {
            let (query, files) = given[1..].split_first()?;
            let files: Vec<String> = files.iter().map(|arg| quoted(arg)).collect();
            let files = files.join(" ");
            query.starts_with('$').then(|| {
                format!("to filter by one condition: warpath query '$' --where {} {files}", quoted(query))
            })
        }
        _ => None,
    }
}
