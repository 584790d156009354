//! The interactive shell: statements of several lines, a history, completion of words and columns.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};

use super::messages::Failure;
use super::statements::Session;

/// Words that are completed.
const WORDS: [&str; 46] = [
    "ALL",
    "AND",
    "ANALYZE",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COUNT",
    "CREATE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXPLAIN",
    "EXTERNAL",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INTERSECT",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NOT",
    "NULL",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "SELECT",
    "STORED",
    "TABLE",
    "UNION",
    "WHERE",
    "WITH",
];

const HELP: &str = "\
A statement ends with `;`. A quoted name after FROM is a file: SELECT count(*) FROM 'log.ndjson';
DESCRIBE 'log.ndjson'; shows columns. EXPLAIN shows a plan. `quit` or Ctrl-D ends the shell.";

/// Reads statements and runs them, until the user ends the shell. Failures of statements do not end it.
pub fn run(session: &mut Session) -> Result<(), Failure> {
    let mut editor = Editor::<Words, DefaultHistory>::new().map_err(of_terminal)?;
    editor.set_helper(Some(Words { columns: BTreeSet::new() }));
    let history = history();
    if let Some(path) = &history {
        // There is no history the first time.
        let _ = editor.load_history(path);
    }
    eprintln!("warpath sql {}; `help` shows how to begin", env!("CARGO_PKG_VERSION"));
    loop {
        if let Some(words) = editor.helper_mut() {
            words.columns.clone_from(&session.columns);
        }
        let text = match editor.readline("sql> ") {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(of_terminal(error)),
        };
        let trimmed = text.trim().trim_end_matches(';').trim();
        if trimmed.is_empty() {
            continue;
        }
        // A history that cannot be kept does not keep anybody from working.
        let _ = editor.add_history_entry(text.trim());
        match trimmed {
            "quit" | "exit" | "\\q" => break,
            "help" | "\\?" => eprintln!("{HELP}"),
            _ => {
                if let Err(failure) = session.run(&text) {
                    failure.report(&session.ui);
                }
            }
        }
    }
    if let Some(path) = &history {
        let saved = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = saved.map_err(ReadlineError::Io).and_then(|()| editor.save_history(path)) {
            eprintln!("note: the history cannot be kept in {}: {error}", path.display());
        }
    }
    Ok(())
}

fn of_terminal(error: ReadlineError) -> Failure {
    Failure::usage(format!("the terminal cannot be read: {error}"))
}

/// The file of the history, as the XDG Base Directory Specification has it.
fn history() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("warpath/sql_history"))
}

struct Words {
    columns: BTreeSet<String>,
}

impl Helper for Words {}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Borrowed(prompt)
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let is_command = matches!(text, "" | "quit" | "exit" | "help" | "\\q" | "\\?");
        Ok(match is_command || text.ends_with(';') {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(&line[..at]))
    }
}

impl Words {
    /// Words of SQL, columns of tables that were named before, and members of their structs. Within other
    /// quotes, the names of files. Returns the offset of the text that a candidate replaces, too.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let start = before.rfind([' ', '\t', '\n', ',', '(', ')', '=', '<', '>', ';']).map_or(0, |at| at + 1);
        let typed = &before[start..];
        let depth = |text: &str| text.matches('[').count();
        let is_next = |it: &&String| it.starts_with(typed) && depth(it) == depth(typed);
        let columns: Vec<String> = self.columns.iter().filter(is_next).cloned().collect();
        if !typed.is_empty() && !columns.is_empty() && typed.contains('[') {
            return (start, columns);
        }
        if before.matches('\'').count() % 2 == 1 {
            let start = before.rfind('\'').map_or(0, |at| at + 1);
            return (start, files(&before[start..]));
        }
        if typed.is_empty() {
            return (start, Vec::new());
        }
        let word = typed.to_uppercase();
        let words = WORDS.iter().filter(|it| it.starts_with(&word)).map(|it| (*it).to_owned());
        (start, columns.into_iter().chain(words).collect())
    }
}

/// The files and folders whose names begin so.
fn files(begin: &str) -> Vec<String> {
    let (folder, name) = begin.rsplit_once('/').map_or((None, begin), |(folder, name)| (Some(folder), name));
    let read = std::fs::read_dir(match folder {
        Some("") => "/",
        Some(folder) => folder,
        None => ".",
    });
    let entries = read.into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let entry_name = entry.file_name().into_string().ok()?;
            let is_hidden = entry_name.starts_with('.') && !name.starts_with('.');
            let slash = if entry.path().is_dir() { "/" } else { "" };
            let folder = folder.map_or_else(String::new, |folder| format!("{folder}/"));
            (!is_hidden && entry_name.starts_with(name)).then(|| format!("{folder}{entry_name}{slash}"))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_members_are_completed() {
        let all = [
            "commit",
            "commit['cid']",
            "commit['record']",
            "commit['record']['text']",
            "count",
            "\"createdAt\"",
        ];
        let words = Words { columns: all.map(String::from).into() };
        for (before, start, candidates) in [
            ("SELECT co", 7, &["commit", "count", "COUNT"][..]),
            ("SELECT count(com", 13, &["commit"]),
            ("SELECT commit['", 7, &["commit['cid']", "commit['record']"]),
            ("SELECT a, commit['record'][", 10, &["commit['record']['text']"]),
            ("SELECT \"cr", 7, &["\"createdAt\""]),
            ("SEL", 0, &["SELECT"]),
            ("SELECT ", 7, &[]),
            ("SELECT 1 FROM 'src/cli/she", 15, &["src/cli/shell.rs"]),
        ] {
            let want: Vec<String> = candidates.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(words.candidates(before), (start, want), "{before}");
        }
    }
}
