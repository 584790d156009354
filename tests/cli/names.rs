//! Names of files, and other names, that have control characters.

#![cfg(unix)]

use crate::Folder;

/// Characters that command a terminal, or change the order in which it shows others.
const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}2J\u{9d}0;y\u{9c}\u{7f}\u{8}\r\u{202e}\u{2066}";

/// No message of any command has them: not by names, paths, expressions, records or the environment.
#[test]
fn nothing_hostile_reaches_a_terminal_by_messages() {
    let (name, record) = (format!("n{HOSTILE}"), format!("{{\"{HOSTILE}\": [1}}\n"));
    let folder = Folder::new(&[
        (&name, record.as_bytes()),
        ("bad", record.as_bytes()),
        ("plain", b"{\"a\":1}\n"),
        ("subs", format!("id{HOSTILE}\t$[?@.{HOSTILE}]\nid\t$[?@.a]\n").as_bytes()),
    ]);
    let (name, plain) = (name.as_str(), "plain");
    let path = format!("$['{HOSTILE}'");
    let good = format!("$['{}']", HOSTILE.replace(|c: char| c < ' ', ""));
    let column = format!("{HOSTILE}=$.a");
    let long = format!("--{HOSTILE}");
    let pattern = format!("*{HOSTILE}*{{a,b}}");
    for args in [
        &["query", &path, plain][..],
        &["query", "$", name],
        &["query", "$", "--on-error", "skip", name],
        &["query", "$", "bad"],
        &["query", "$", &pattern],
        &["query", "$", "--files-from", name],
        &["query", "$", "--where", &path, plain],
        &["query", "$", plain, "-o", &format!("{name}/x")],
        &["query", "$", &long],
        &["query", "$", "--limit", HOSTILE],
        &["query", "$", "--device", HOSTILE],
        &["query", "--stats", &good, plain],
        &["select", &column, &path, "--", plain],
        &["select", &column, "--on-error=skip", "--", name],
        &["select", HOSTILE],
        &["validate", name],
        &["validate", "--all", name],
        &["store", "index", name],
        &["store", "info", name],
        &["store", "verify", name],
        &["index", "dump", name],
        &["store", "index", name, "--column", &column],
        &["query", "$", name, "--where", &path],
        &["filter", "-s", "subs", name],
        &["filter", "-s", name, plain],
        &["tree", name],
        &["explain", &good],
        &["explain", &path],
        &["explain", "--subscriptions", "subs"],
        &["devices", HOSTILE],
        &[HOSTILE],
    ] {
        let ran = folder.run(args);
        let is_hostile = |char: char| {
            char != '\n'
                && (char.is_control() || ('\u{2028}'..='\u{202e}').contains(&char) || char == '\u{2066}')
        };
        assert!(!ran.stderr.contains(is_hostile), "{args:?}: {:?}", ran.stderr);
        let prints_messages = ["explain", "validate", "devices"].contains(&args[0]) || args.contains(&"info");
        assert!(!prints_messages || !ran.text().contains(is_hostile), "{args:?}: {:?}", ran.text());
    }
}
