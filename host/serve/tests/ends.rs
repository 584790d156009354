//! Followed questions whose inputs end: they print what a command prints beside the inputs.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::harness::{Answer, Server, chunk, head, over};

/// The frames of a response, from all of its bytes: kinds and bytes.
fn frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    while let [kind, a, b, c, d, rest @ ..] = bytes {
        let (frame, more) = rest.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        all.push((*kind, frame.to_vec()));
        bytes = more;
    }
    all
}

#[test]
fn counts_are_printed_at_the_end_of_the_inputs() {
    let server = Server::of(&["--writable", "logs.wp", "bad.ndjson"]);
    for (arguments, beside) in [
        (r#"["count-by", "$.level", "--follow=start", "logs.wp"]"#, &["count-by", "$.level", "logs.wp"][..]),
        (
            r#"["stats", "$.ms", "--by", "$.level", "--follow=start", "logs.wp"]"#,
            &["stats", "$.ms", "--by", "$.level", "logs.wp"],
        ),
        (
            r#"["count-by", "$.level", "--follow=start", "bad.ndjson"]"#,
            &["count-by", "$.level", "--on-error", "skip", "bad.ndjson"],
        ),
    ] {
        let body = format!(r#"{{"arguments": {arguments}}}"#);
        let mut stream = BufReader::new(server.send("POST", "/run", "", body.as_bytes()));
        let head = head(&mut stream);
        let end = head.lines().find_map(|line| line.strip_prefix("warpath-end: ")).unwrap().to_owned();
        // Lines that are there at the end are counted.
        assert_eq!(server.post("/append?input=logs.wp", "{\"level\":\"late\",\"ms\":1}\n").status, 200);
        assert_eq!(server.post("/run/0123456789abcdef/end", "").status, 404);
        assert_eq!(server.post(&end, "").status, 204);
        let mut bytes = Vec::new();
        while let Some(chunk) = chunk(&mut stream).filter(|chunk| !chunk.is_empty()) {
            bytes.extend(chunk);
        }
        let expected = server.beside(beside);
        let of = |kind| {
            let frames = frames(&bytes).into_iter().filter(move |(of, _)| *of == kind);
            frames.flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>()
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(!expected.stdout.is_empty(), "{expected:?}");
        assert_eq!(text(&of(1)), text(&expected.stdout), "{arguments}");
        assert_eq!(text(&of(2)), text(&expected.stderr), "{arguments}");
        assert_eq!(of(3), [expected.status.code().unwrap() as u8], "{arguments}");
        server.wait_for("warpath_running", 0);
        // The question has ended.
        assert_eq!(server.post(&end, "").status, 404);
    }
    // Another question has no inputs that could be ended.
    let body = br#"{"arguments": ["count-by", "$.level", "logs.wp"]}"#;
    assert_eq!(Answer::read(server.send("POST", "/run", "", body)).header("warpath-end"), None);
}

/// Ends a command once it has printed its first line. Shells give background processes SIGINT to ignore, so
/// this is SIGTERM. Returns all of its output, its messages and its exit code.
fn interrupted(mut command: Command) -> (Vec<u8>, String, Option<i32>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut text, mut messages) = (Vec::new(), String::new());
    output.read_until(b'\n', &mut text).unwrap();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    output.read_to_end(&mut text).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
    (text, messages, child.wait().unwrap().code())
}

#[test]
fn a_signal_ends_the_inputs() {
    let server = Server::of(&["bad.ndjson"]);
    let arguments = ["query", "$.level", "--follow=start", "bad.ndjson"];
    let (beside, over) =
        (over(None, server.path(), &arguments), over(Some(&server), server.path(), &arguments));
    let (beside, over) = (interrupted(beside), interrupted(over));
    assert!(beside.1.contains("malformed") && beside.0.starts_with(b"1\n"), "{beside:?}");
    assert_eq!(beside.2, Some(0), "{beside:?}");
    assert_eq!(over, beside);
}
