//! Files that a run reads are not those that it writes, and no file is written twice.

use std::process::{Command, Stdio};

use crate::{Folder, PROGRAM};

/// A folder with a file of each kind that a run can read.
fn folder() -> Folder {
    let folder = Folder::new(&[
        ("in", b"{\"a\":1}\n{\"a\":2}\n"),
        ("list", b"in\n"),
        ("subs", b"one\t$[?@ == 1]\n"),
        ("other", b"{\"a\":3}\n"),
    ]);
    for args in [
        &["index", "build", "in", "-o", "lines"][..],
        &["bitmap", "build", "in", "-o", "bits", "--column", "a=$.a"],
        &["select", "j:json=$", "in", "--format", "parquet", "-o", "table-p"],
        &["select", "j:json=$", "in", "--format", "arrow", "-o", "table-a"],
    ] {
        folder.run(args).ok();
    }
    folder
}

/// The arguments of a run, the files that it reads, and their description in messages.
const RUNS: [(&[&str], &[&str], &str); 15] = [
    (&["query", "$.a", "in"], &["in"], "an input"),
    (&["count-by", "$.a", "other", "in"], &["in", "other"], "an input"),
    (&["head", "i?"], &["in"], "an input"),
    (&["query", "$.a", "--files-from", "list"], &["in"], "an input"),
    (&["query", "$.a", "--files-from", "list"], &["list"], "the list of `--files-from`"),
    (&["filter", "-s", "subs", "--files-from", "list"], &["list"], "the list of `--files-from`"),
    (&["filter", "-s", "subs", "in"], &["subs"], "the file of subscriptions"),
    (&["query", "$.a", "in", "--index", "lines"], &["lines"], "an index"),
    (&["select", "a=$.a", "in", "--bitmap", "bits", "--where", "a > 1"], &["bits"], "an index"),
    (&["query", "$.a", "--input", "parquet", "--column", "j", "table-p"], &["table-p"], "an input"),
    (&["stats", "$.a", "--input", "arrow", "--column", "j", "table-a"], &["table-a"], "an input"),
    (&["select", "--auto", "--format", "arrow", "in"], &["in"], "an input"),
    (&["select", "--auto", "--format", "arrow", "--schema", "table-p", "in"], &["table-p"], "the schema"),
    (&["query", "$.a", "--follow", "in"], &["in"], "an input"),
    (&["query", "$.a", "--follow", "in", "other"], &["in", "other"], "an input"),
];

#[test]
fn no_file_is_both_read_and_written() {
    let folder = folder();
    let check = |args: &[&str], file: &str, message: String| {
        let before = folder.read(file);
        folder.run(args).failed(2, "", &message);
        assert_eq!(folder.read(file), before, "{args:?}");
    };
    for (args, files, what) in RUNS {
        for file in files {
            for name in [file.to_string(), format!("./{file}")] {
                let skip = ["--on-error", "skip", "--rejects", &name];
                let said = format!("error: {file}: is both {what} and");
                let rejects = format!("{said} the file of `--rejects` (`{name}`)");
                check(&[args, &skip].concat(), file, rejects.clone());
                check(&[args, &skip, &["-o", "new"]].concat(), file, rejects);
                assert!(!folder.path("new").exists());
                check(&[args, &["-o", &name]].concat(), file, format!("{said} the output (`{name}`)"));
            }
        }
    }
    let before = folder.read("in");
    folder.run(&["validate", "in", "--rejects", "./in"]).failed(2, "", "error: in: is both an input and");
    assert_eq!(folder.read("in"), before);
}

#[test]
fn no_file_is_written_twice() {
    let folder = folder();
    folder.write("old", b"old");
    for (output, rejects) in
        [("new", "new"), ("new", "./new"), ("./new", "new"), ("old", "./old"), ("no/../new", "new")]
    {
        let args = ["query", "$.a", "in", "--on-error", "skip", "-o", output, "--rejects", rejects];
        let message = format!("error: `{rejects}` is the file of both `--output` and `--rejects`");
        if output == "no/../new" {
            std::fs::create_dir(folder.path("no")).unwrap();
        }
        folder.run(&args).failed(2, "", &message);
        assert!(!folder.path("new").exists(), "{args:?}");
    }
    assert_eq!(folder.read("old"), b"old");
    let args = ["query", "$.a", "in", "--on-error", "skip", "-o", "/dev/null", "--rejects", "/dev/null"];
    assert_eq!(folder.run(&args).code, 0);
}

/// A link that names no file is followed to the file that writing through it makes.
#[cfg(unix)]
#[test]
fn links_do_not_hide_a_file() {
    let folder = folder();
    std::os::unix::fs::symlink("new", folder.path("link")).unwrap();
    let run =
        |more: &[&str]| folder.run(&[&["filter", "-s", "subs", "in", "--on-error", "skip"], more].concat());
    run(&["-o", "link", "--rejects", "new"]).failed(2, "", "error: `new` is the file of both");
    run(&["-o", "new", "--rejects", "link"]).failed(2, "", "error: `link` is the file of both");
    assert!(!folder.path("new").exists());
    // Standard output may be a file, too.
    let results = std::fs::File::create(folder.path("new")).unwrap();
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder.path("")).args([
        "query",
        "$.a",
        "in",
        "--on-error",
        "skip",
        "--rejects",
        "link",
    ]);
    let output = command.stdin(Stdio::null()).stdout(results).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim_end(), "error: `link` is the file of both standard output and `--rejects`");
}
