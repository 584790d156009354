//! Paths as people write them: `$.` may be left out where only a path can be meant.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use warpath::Source;
use warpath_remote::address::is_url;

use super::failure::Failure;
use super::served;

/// The whole path of a text that may lack its `$.`: `user.lang`, `.user.lang` and `['user']`.
pub fn full(text: &str) -> Cow<'_, str> {
    match text.as_bytes().first() {
        None | Some(b'$') => text.into(),
        Some(b'.' | b'[') => format!("${text}").into(),
        Some(_) => format!("$.{text}").into(),
    }
}

/// The failure for a text that was probably meant for another tool, or for another option; `None` for a text
/// that may be a path.
pub fn misunderstood(text: &str) -> Option<Failure> {
    if text.starts_with('$') {
        return None;
    }
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some((unit, path)) = ["minute", "hour", "day", "week", "month", "year", "date"]
        .into_iter()
        .find_map(|unit| Some((unit, inner(unit)?)))
    {
        let every = if unit == "date" { "day" } else { unit };
        return Some(
            Failure::usage(format!("`{text}` is no path: there are no functions in paths"))
                .with_help(format!("groups by time: `--every {every} --time '{}'`", full(path))),
        );
    }
    if let Some(condition) = inner("select") {
        return Some(Failure::usage(format!("`{text}` is a program of jq, and no path")).with_help(format!(
            "a condition on records: `warpath query '$' --where '{}'`",
            full(condition)
        )));
    }
    if text.contains('|') && !text.contains("||") && text.starts_with('.') {
        return Some(
            Failure::usage(format!("`{text}` is a program of jq, and no path"))
                .with_help("a path is one expression: `.[] | .host` is `$[*].host` here (docs/from-jq.md)"),
        );
    }
    if let Some((name, path)) = text.split_once("=$") {
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        return is_name.then(|| {
            Failure::usage(format!("`{text}` is no path: only columns of `select` have names"))
                .with_help(format!("without the name: `'${path}'`"))
        });
    }
    None
}

/// Returns true for a word that names a file and not a path without its `$.`: the file exists, or the word is
/// a pattern or a URL, has a slash, or ends as files of records do.
pub fn is_file(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else { return true };
    let path = Path::new(word);
    let is_named = || {
        text == "-"
            || is_url(text)
            || text.contains(['/', '*', '?', '{', '\\', ' '])
            || Source::has_ending(path)
    };
    let is_there = || match served::inputs() {
        Some(inputs) => inputs.has(path),
        None => path.symlink_metadata().is_ok(),
    };
    !text.starts_with('$') && (text.is_empty() || is_named() || is_there())
}

/// Returns true for a word that ends in `[*]`, such as `tags[*]`, and has no folder in it.
pub fn ends_in_brackets(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else { return false };
    text.ends_with("[*]") && !text.contains(['/', '\\', ' ', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed() {
        for (text, path) in [
            ("$.a", "$.a"),
            ("a", "$.a"),
            (".a.b", "$.a.b"),
            ("['a b']", "$['a b']"),
            ("[0]", "$[0]"),
            ("*", "$.*"),
            ("..a", "$..a"),
        ] {
            assert_eq!(full(text), path);
        }
    }

    #[test]
    fn words_that_can_be_files_are() {
        for file in ["-", "a/b", "*.log", "x.ndjson", "x.json.gz", "s3://b/k", "/", "Cargo.toml"] {
            assert!(is_file(OsStr::new(file)), "{file}");
        }
        for path in ["lang", "user.lang", ".user", "tags[0]", "$.a"] {
            assert!(!is_file(OsStr::new(path)), "{path}");
        }
    }
}
