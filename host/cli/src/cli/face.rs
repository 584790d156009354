//! The face of the program: the groups of commands, the options of the engine apart, and what a command line
//! without a command means.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use clap::builder::styling::Style;
use clap::{Args, Command, CommandFactory};
use warpath::Query;
use warpath_remote::address::is_url;

use super::args::{BackendArgs, Cli};
use super::given;
use super::paths;

/// The groups of commands in the help, in order.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Look", &["schema", "head", "sample", "validate"]),
    ("Ask", &["query", "count-by", "distinct", "stats", "sql"]),
    ("Shape", &["select"]),
    ("Watch", &["filter"]),
    ("Store", &["store", "serve"]),
    ("Inside", &["explain", "index", "tree", "devices", "completions", "help"]),
];

/// The style of headings, which is that of the parser's own.
const HEADING: Style = Style::new().bold().underline();

/// The command line, with its commands in groups.
pub fn command() -> Command {
    let command = Cli::command();
    let about = |name: &str| match name {
        "help" => "Print this message, or the help of a command".to_owned(),
        _ => command
            .find_subcommand(name)
            .and_then(Command::get_about)
            .map_or(String::new(), ToString::to_string),
    };
    let mut groups = String::new();
    for (group, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(groups, "{HEADING}{group}:{HEADING:#}");
        for name in names.iter().filter(|name| **name == "help" || command.find_subcommand(name).is_some()) {
            let _ = writeln!(groups, "  {name:<12} {}", about(name));
        }
        groups.push('\n');
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}{{options}}{{after-help}}");
    command.help_template(template).subcommand_help_heading("Commands")
}

/// The help about the options of the engine, which all commands that read records have.
pub fn engine_help() -> String {
    let engine = BackendArgs::augment_args(Command::new("engine")).mut_args(|arg| arg.hide(false));
    let engine = engine.disable_help_flag(true).about(
        "Options of the engine. All commands that read records have them, and results do not depend on them.",
    );
    let mut engine = engine.help_template("{about}\n\n{options}\n").max_term_width(100);
    engine.render_long_help().to_string()
}

/// The meaning of a command line without a command.
pub enum Meant {
    /// The schema of inputs, and their first records.
    Look(Vec<OsString>),
    /// The query that it begins with.
    Query(Vec<OsString>),
}

/// Returns what a command line means whose first word is no command: a file, or a path.
pub fn meant(args: &[OsString]) -> Option<Meant> {
    let [program, first, rest @ ..] = args else { return None };
    let text = first.to_str()?;
    let with = |words: &[&str], rest: &[OsString]| -> Vec<OsString> {
        std::iter::once(program.clone())
            .chain(words.iter().map(OsString::from))
            .chain(rest.iter().cloned())
            .collect()
    };
    // A name may be that of an input of a server.
    let exists = Path::new(first).exists() || given::server(rest).is_some();
    if text.starts_with('$') && !Path::new(first).exists() {
        return Some(Meant::Query(with(&["query", text], rest)));
    }
    let is_path = text.starts_with('.') && text[1..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    if is_path && !Path::new(first).exists() && Query::compile(&paths::full(text)).is_ok() {
        return Some(Meant::Query(with(&["query", text], rest)));
    }
    let is_pattern = text.contains(['*', '?']) && !text.contains(['(', '$']);
    if text.starts_with('-') || !(exists || is_url(text) || is_pattern) {
        return None;
    }
    // A file may have the name of a command.
    let is_command = text == "help" || Cli::has(text);
    (!is_command).then(|| Meant::Look(args[1..].to_vec()))
}
