//! Names of files, and other names, that have control characters.

#![cfg(unix)]

use crate::Folder;

/// A name that is two rows of `filter` and of `query --offsets`, and clears the screen.
const ODD: &str = "a:1\tall\n\u{1b}[2Jb\t1\t2\u{9b}2J\u{7f}\u{2028}\u{202e}";
/// The name in its printed form.
const SHOWN: &str = r"a:1\tall\n\x1b[2Jb\t1\t2\x9b2J\x7f\u{2028}\u{202e}";

fn folder() -> Folder {
    let text = b"{\"u\":{\"a\":1}}\n{\"u\":{\"a\":2}}\n";
    let bad = format!("bad{ODD}");
    Folder::new(&[
        (ODD, text),
        ("plain", text),
        (&bad, b"[\n"),
        ("subs", "all\t$[?@.a]\nodd\u{1b}[2J\t$[?@.a == 2]\n".as_bytes()),
    ])
}

#[test]
fn a_name_is_one_cell_of_a_row() {
    let folder = folder();
    assert_eq!(
        folder.run(&["query", "--offsets", "$.u.a", ODD, "plain"]).ok(),
        format!("{SHOWN}\t10\t11\t1\n{SHOWN}\t24\t25\t2\nplain\t10\t11\t1\nplain\t24\t25\t2\n")
    );
    let filter = |more: &[&str]| folder.run(&[&["filter", "-s", "subs"], more].concat()).ok().to_owned();
    let ids = r"all odd\x1b[2J";
    assert_eq!(
        filter(&[ODD, "plain"]),
        format!("{SHOWN}:1\tall\n{SHOWN}:2\t{ids}\nplain:1\tall\nplain:2\t{ids}\n")
    );
    assert_eq!(filter(&["--count", "plain"]), "all\t2\nodd\\x1b[2J\t1\n");
    // JSON has the name itself, by JSON's escapes.
    let json = filter(&["--format=ndjson", ODD]);
    assert!(!json.contains(|c: char| c.is_control() && c != '\n'), "{json}");
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((first["file"].as_str(), first["line"].as_u64()), (Some(ODD), Some(1)));
}

#[test]
fn a_heading_is_one_line() {
    let folder = folder();
    for args in [&["index", "dump", "--levels=0"][..], &["tree"]] {
        let ran = folder.run(&[args, &[ODD, "plain"]].concat());
        let headings: Vec<&str> = ran.ok().lines().filter(|line| line.starts_with("==> ")).collect();
        assert_eq!(headings, [format!("==> {SHOWN} <==").as_str(), "==> plain <=="]);
        assert!(!ran.text().contains(|c: char| c.is_control() && c != '\n'), "{ran}");
    }
}

/// A message is one line, whatever it is about.
#[test]
fn messages_escape_names() {
    let folder = folder();
    // No pattern.
    let (bad, missing) = (format!("bad{ODD}"), "missing\u{1b}x\nb".to_owned());
    let clean = |ran: &crate::Ran| {
        assert!(!ran.stderr.contains(|c: char| c.is_control() && c != '\n'), "{ran}");
        assert!(!ran.stderr.lines().any(|line| line.starts_with("\\x1b") || line.starts_with('b')), "{ran}");
    };
    for (code, args, start) in [
        (4, &["query", "$", &bad][..], format!("error: bad{SHOWN}:1:1: ")),
        (2, &["query", "$", &missing], r"error: missing\x1bx\nb: ".to_owned()),
        (2, &["query", "$", ODD, "-o", ODD], format!("error: {SHOWN}: is both an input and the output")),
        (
            2,
            &["query", "$", "plain", "-o", "no/\u{1b}out"],
            r"error: cannot write to `no/\x1bout`: ".to_owned(),
        ),
        (2, &["pack", &missing, "-o", "out"], r"error: missing\x1bx\nb: ".to_owned()),
        (4, &["unpack", ODD], format!("error: {SHOWN}: is not a packed file")),
        (4, &["validate", &bad], format!("error: bad{SHOWN}:1:")),
        (4, &["tree", &bad], format!("error: bad{SHOWN}:1:")),
        (2, &["filter", "-s", &missing, "plain"], r"error: missing\x1bx\nb: ".to_owned()),
        (3, &["filter", "-s", ODD, "plain"], format!("error: {SHOWN}:1:")),
        (4, &["query", "$", "--index", ODD, "plain"], format!("error: {SHOWN}: is not an index")),
        (
            0,
            &["query", "$", "--on-error=skip", &bad],
            "warning: 1 malformed record skipped; first: bad".to_owned(),
        ),
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, code, "{args:?} {ran}");
        assert!(ran.stderr.starts_with(&start), "{args:?} {ran}");
        clean(&ran);
    }
    // A list of malformed records goes to standard output.
    let ran = folder.run(&["validate", "--all", &bad]);
    assert!(ran.code == 4 && ran.text().starts_with(&format!("bad{SHOWN}:1:")), "{ran}");
    assert_eq!(ran.text().lines().count(), 1, "{ran}");
    // Statistics name the index that was used.
    folder.run(&["index", "build", "plain", "-o", "p\u{1b}\n.wpi"]).ok();
    let ran = folder.run(&["query", "$.a", "--stats", "--device=cpu", "--index=p\u{1b}\n.wpi", "plain"]);
    assert!(ran.code == 0 && ran.stderr.contains(r"p\x1b\n.wpi"), "{ran}");
}

/// Messages about arguments escape control characters, too.
#[test]
fn messages_escape_arguments() {
    let folder = folder();
    for args in [
        &["query", "$", "\u{1b}[2J\nx", "--color=always", "--nope\u{1b}[2J"][..],
        &["query", "$", "--limit=\u{1b}[2J\nfoo"],
        &["\u{1b}[2J\nfoo"],
        &["query", "--device", "\u{9b}2J", "$"],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 2, "{args:?} {ran}");
        assert!(!ran.stderr.contains("\u{1b}[2J") && !ran.stderr.contains('\u{9b}'), "{args:?} {ran}");
        assert!(ran.stderr.contains(r"\x1b[2J") || ran.stderr.contains(r"\x9b2J"), "{args:?} {ran}");
        assert!(!ran.stderr.lines().any(|line| line.starts_with("foo")), "{args:?} {ran}");
    }
}

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
        &["query", "$", "--index", name, plain],
        &["query", "$", "--where", "$.a", "--bitmap", name, plain],
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
        &["index", "build", name, "-o", &format!("{name}.wpi")],
        &["index", "info", name],
        &["index", "dump", name],
        &["bitmap", "build", name, &column, "-o", &format!("{name}.wpb")],
        &["bitmap", "info", name],
        &["bitmap", "range", name, &path],
        &["pack", &format!("{name}x"), "-o", "out"],
        &["unpack", name],
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

/// Arguments that are no UTF-8 may have control characters, too.
#[test]
fn arguments_that_are_no_utf8_are_escaped() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let odd = OsStr::from_bytes(b"--\xff\x1b[2J");
    let mut command = assert_cmd::Command::new(crate::PROGRAM);
    let ran = crate::run(command.args([OsStr::new("query"), OsStr::new("$"), odd]), b"");
    assert!(ran.code == 2 && ran.stderr.contains(r"\x1b[2J") && !ran.stderr.contains('\u{1b}'), "{ran}");
}
