//! URLs as inputs: objects of S3, files of HTTP servers, and `file://`.

use std::process::Stdio;

use warpath_objects::{HttpServer, Proxy, Reply, S3Server};

use super::{Folder, PROGRAM, Ran, data, gzip, run};

/// A folder in which the program is run, with the credentials of a server.
struct Client {
    folder: Folder,
    variables: Vec<(&'static str, String)>,
}

impl Client {
    fn of(server: &S3Server) -> Self {
        Self { folder: Folder::new(&[]), variables: S3Server::variables(server.address()) }
    }

    fn command(&self, args: &[&str]) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(PROGRAM);
        command.current_dir(self.folder.0.path()).args(args).envs(self.variables.clone());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, b"")
    }

    fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        run(&mut self.command(args), stdin)
    }
}

/// A server with some objects.
fn server() -> S3Server {
    let server = S3Server::start();
    server.put("logs/a.ndjson", "{\"n\":1,\"k\":\"x\"}\n{\"n\":2,\"k\":\"y\"}\n");
    server.put("logs/b.ndjson.gz", gzip(b"{\"n\":3,\"k\":\"x\"}\n{\"n\":4}"));
    server.put("logs/c d%.ndjson", "{\"n\":5,\"k\":\"x\"}\n");
    server.put("bad.ndjson", "{\"n\":1}\n{\"n\":\n{\"n\":3}\n");
    server.put("empty.ndjson", "");
    server
}

#[test]
fn every_command_reads_objects() {
    let server = server();
    let client = Client::of(&server);
    for (args, wanted) in [
        (&["query", "$.n", "s3://bucket/logs/*"][..], "1\n2\n3\n4\n5\n"),
        (&["query", "$.n", "s3://bucket/logs/"], "1\n2\n3\n4\n5\n"),
        (&["query", "$.n", "s3://bucket/logs/c d%.ndjson", "s3://bucket/logs/a.ndjson"], "5\n1\n2\n"),
        (&["query", "--count", "$.n", "s3://bucket/**/*.ndjson*", "--on-error", "skip", "-q"], "7\n"),
        (&["query", "$.n", "--where", "$.k == 'x'", "s3://bucket/logs/{a,b}.*"], "1\n3\n"),
        (
            &["query", "-H", "$.n", "s3://bucket/logs/?.ndjson"],
            "s3://bucket/logs/a.ndjson:1\ns3://bucket/logs/a.ndjson:2\n",
        ),
        (&["query", "$.n", "s3://bucket/empty.ndjson"], ""),
        (&["select", "n=$.n", "k=$.k", "--format", "csv", "s3://bucket/logs/a.ndjson"], "n,k\n1,x\n2,y\n"),
        (&["validate", "s3://bucket/logs/a.ndjson"], "2 records, 32 bytes: all valid\n"),
        (&["count-by", "$.k", "s3://bucket/logs/*"], "3\t\"x\"\n1\tmissing\n1\t\"y\"\n"),
        (&["head", "-n", "1", "s3://bucket/logs/b.ndjson.gz"], "{\"n\":3,\"k\":\"x\"}\n"),
    ] {
        let ran = client.run(args);
        assert!(ran.code == 0 && ran.text() == wanted, "{args:?}: {ran}");
    }
    // Statistics count the bytes of the text.
    let ran = client.run(&["query", "--count", "$.n", "--stats=json", "s3://bucket/logs/a.ndjson"]);
    assert!(ran.code == 0 && ran.stderr.contains("\"bytes\":32"), "{ran}");
}

#[test]
fn subscriptions_filter_objects() {
    let server = server();
    let client = Client::of(&server);
    client.folder.write("subscriptions", b"x\t$.k == 'x'\n");
    let ran = client.run(&["filter", "--subscriptions", "subscriptions", "s3://bucket/logs/a.ndjson"]);
    assert_eq!(ran.ok(), "s3://bucket/logs/a.ndjson:1\tx\n");
}

#[test]
fn messages_have_the_url_and_the_line() {
    let server = server();
    let client = Client::of(&server);
    client.run(&["query", "$.n", "s3://bucket/bad.ndjson"]).failed(
        4,
        "1\n",
        "error: s3://bucket/bad.ndjson:2:",
    );
    for (args, code, message) in [
        (
            &["query", "$.n", "s3://bucket/none.ndjson"][..],
            2,
            "error: s3://bucket/none.ndjson: there is no such object (404)",
        ),
        (
            &["query", "$.n", "s3://bucket/none-*"],
            2,
            "error: s3://bucket/none-*: no object matches this pattern",
        ),
        (&["query", "$.n", "s3://nobody/*"], 2, "error: s3://nobody/*: there is no such bucket (404)"),
        (&["query", "$.n", "s3://bucket"], 2, "error: s3://bucket: names a bucket and no object"),
        (
            &["query", "$.n", "ftp://host/a"],
            2,
            "error: ftp://host/a: has a scheme that is not read; s3://, https://, http:// and file:// are",
        ),
        (
            &["query", "$.n", "https://host/*.ndjson"],
            2,
            "error: https://host/*.ndjson: is a pattern, and HTTP has no lists of files",
        ),
        (
            &["query", "--follow", "$.n", "s3://bucket/bad.ndjson"],
            2,
            "error: s3://bucket/bad.ndjson: an object is not followed",
        ),
        (
            &["store", "index", "s3://bucket/bad.ndjson"],
            2,
            "error: s3://bucket/bad.ndjson: an index is of a file, and this is none",
        ),
    ] {
        client.run(args).failed(code, "", message);
    }
    let mut strange = Client::of(&server);
    strange.variables[2].1 = "wrong".into();
    let ran = strange.run(&["query", "$.n", "s3://bucket/bad.ndjson"]);
    ran.failed(2, "", "error: s3://bucket/bad.ndjson: access is denied (403)");
    assert!(ran.stderr.contains("AWS_SECRET_ACCESS_KEY"), "{ran}");
    let mut wrong = Client::of(&server);
    wrong.variables.push(("WARPATH_REMOTE_TIMEOUT", "soon".into()));
    let ran = wrong.run(&["query", "$.n", "s3://bucket/bad.ndjson"]);
    ran.failed(2, "", "error: WARPATH_REMOTE_TIMEOUT: `soon` is no time; expected seconds, such as 30");
}

#[test]
fn lists_name_objects() {
    let server = server();
    let client = Client::of(&server);
    let list = b"s3://bucket/logs/a.ndjson\ns3://bucket/logs/b.ndjson.gz\n";
    let ran = client.run_with(&["query", "$.n", "--files-from", "-"], list);
    assert_eq!(ran.ok(), "1\n2\n3\n4\n");
}

#[test]
fn objects_give_the_results_of_files() {
    let server = S3Server::start();
    let file = data("tweets.ndjson");
    let text = std::fs::read(&file).unwrap();
    server.put("a.ndjson", text.clone());
    server.put("a.ndjson.gz", gzip(&text));
    let proxy = Proxy::before(server.address());
    let mut client = Client::of(&server);
    client.variables = S3Server::variables(proxy.address());
    let local = client.run(&["query", "$..id", &file]);
    assert!(!local.ok().is_empty());
    proxy.cut(1000, 2);
    for name in ["s3://bucket/a.ndjson", "s3://bucket/a.ndjson.gz"] {
        assert_eq!(client.run(&["query", "$..id", name]).ok(), local.ok());
    }
    assert!(proxy.passed().iter().all(|passed| passed.request.method == "GET"));
}

#[test]
fn files_of_http_servers_are_read() {
    let server = HttpServer::start(|request| match request.target.as_str() {
        "/a%20b.ndjson?key=secret" => Reply::file(request, b"{\"n\":1}\n{\"n\":\n", None),
        _ => Reply::new("404 Not Found", ""),
    });
    let folder = Folder::new(&[]);
    let url = server.url("a%20b.ndjson?key=secret");
    let shown = server.url("a%20b.ndjson?…");
    folder.run(&["query", "$.n", &url]).failed(4, "1\n", &format!("error: {shown}:2:"));
    folder.run(&["query", "$.n", &server.url("none")]).failed(
        2,
        "",
        &format!("error: {}: there is no such object (404)", server.url("none")),
    );
}

#[test]
fn file_urls_are_files() {
    let folder = Folder::new(&[("a b.ndjson", b"{\"n\":1}\n"), ("logs/c.ndjson", b"{\"n\":2}\n")]);
    let root = folder.0.path().to_str().unwrap();
    let ran =
        folder.run(&["query", "$.n", &format!("file://{root}/a%20b.ndjson"), &format!("file://{root}/logs")]);
    assert_eq!(ran.ok(), "1\n2\n");
    // An output may not be an input, whatever its name.
    let ran = folder.run(&["query", "$.n", &format!("file://{root}/a%20b.ndjson"), "-o", "a b.ndjson"]);
    assert!(ran.code == 2 && ran.stderr.contains("is both an input and the output"), "{ran}");
    folder.run(&["store", "index", &format!("file://{root}/logs/c.ndjson")]).ok();
    assert!(folder.path("logs/.c.ndjson.warpath").is_file());
    let ran = folder.run(&["query", "$.n", "file:///none/a.ndjson"]);
    ran.failed(2, "", "error: /none/a.ndjson: No such file");
    folder.run(&["query", "$.n", "file://host/a"]).failed(2, "", "error: file://host/a: is no URL of a file");
}

/// The program waits for a server that never answers, and a signal ends it.
#[cfg(unix)]
#[test]
fn a_signal_ends_a_wait_for_a_server() {
    use std::os::unix::process::ExitStatusExt;
    let server = HttpServer::start(|request| Reply::file(request, &[b' '; 5000], None).stalled_after(0));
    let mut child = std::process::Command::new(PROGRAM)
        .args(["query", "$.n", &server.url("a"), "-o", "out"])
        .current_dir(Folder::new(&[]).0.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    // Shells let background processes ignore SIGINT, so this is SIGTERM.
    // SAFETY: `kill` has no memory to be unsafe about, and the child has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) }, 0);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_slow_server_is_an_error() {
    let server = HttpServer::start(|request| Reply::file(request, &[b' '; 5000], None).stalled_after(0));
    let client =
        Client { folder: Folder::new(&[]), variables: vec![("WARPATH_REMOTE_TIMEOUT", "0.1".into())] };
    let ran = client.run(&["query", "$.n", &server.url("a")]);
    ran.failed(2, "", &format!("error: {}: the server sent nothing for 0.1 s", server.url("a")));
}

#[test]
fn stores_are_made_read_and_changed_in_buckets() {
    let server = server();
    let client = Client::of(&server);
    let run = |args: &[&str]| client.run(args);
    let store = "s3://bucket/deep/logs.wp";
    run(&["store", "text", store]).failed(2, "", &format!("error: {store}: is no store"));
    client.run_with(&["store", "add", store, "-"], b"{\"n\": 0}\n").ok();
    client.folder.write("own.ndjson", b"{\"n\":7,\"k\":\"z\"}\n");
    // Objects are always added; a file of this machine once.
    run(&["store", "add", store, "s3://bucket/logs/*", "own.ndjson"]).ok();
    let ran = run(&["store", "add", store, "own.ndjson"]);
    assert!(ran.code == 0 && ran.stderr.contains("own.ndjson: is in the store already"), "{ran}");
    let lines = "{\"n\": 0}\n{\"n\":1,\"k\":\"x\"}\n{\"n\":2,\"k\":\"y\"}\n{\"n\":3,\"k\":\"x\"}\n{\"n\":4}\n\
                 {\"n\":5,\"k\":\"x\"}\n{\"n\":7,\"k\":\"z\"}\n";
    assert_eq!(run(&["store", "text", store]).ok(), lines);
    assert_eq!(
        run(&["store", "text", "--lines", "2-3", store]).ok(),
        "{\"n\":1,\"k\":\"x\"}\n{\"n\":2,\"k\":\"y\"}\n"
    );
    assert!(run(&["store", "verify", store]).ok().contains("7 lines: all checksums match"));
    assert!(run(&["store", "info", "--columns", store]).ok().contains("\nn\tint64\t"));
    for (args, wanted) in [
        (&["query", "--count", "$.n", store][..], "7\n"),
        (&["query", "$.n", "s3://bucket/deep/logs.wp/"], "0\n1\n2\n3\n4\n5\n7\n"),
        (&["query", "$.k", "--where", "$.n >= 5", store], "\"x\"\n\"z\"\n"),
        (&["select", "n=$.n", "--where", "$.k == 'y'", "--format", "csv", store], "n\n2\n"),
        (&["count-by", "$.k", store], "3\t\"x\"\n2\tmissing\n1\t\"y\"\n1\t\"z\"\n"),
    ] {
        let ran = client.run(args);
        assert!(ran.code == 0 && ran.text() == wanted, "{args:?}: {ran}");
    }
    // The same objects as a folder of this machine.
    let folder = server.folder().join("deep/logs.wp");
    assert_eq!(run(&["store", "text", folder.to_str().unwrap()]).ok(), lines);
    run(&["store", "drop", store, "--where", "$.k == 'x'"]).ok();
    run(&["store", "compact", store]).ok();
    run(&["store", "add", "local.wp", store]).ok();
    let lines = "{\"n\": 0}\n{\"n\":2,\"k\":\"y\"}\n{\"n\":4}\n{\"n\":7,\"k\":\"z\"}\n";
    for store in [store, "local.wp"] {
        assert_eq!(run(&["store", "text", store]).ok(), lines);
    }
    let parts = || -> Vec<String> {
        let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".parquet")).collect()
    };
    assert!(parts().len() > 1);
    // One part by its name, and a table of another program.
    let part = format!("{store}/{}", parts()[0]);
    assert_eq!(run(&["store", "text", &part]).code, 0);
    assert_eq!(run(&["query", "$.n", &part]).code, 0);
    server.put("table.parquet", *b"PAR1 PAR1");
    let ran = run(&["query", "$.n", "s3://bucket/table.parquet"]);
    assert!(ran.code != 0 && ran.stderr.contains("Parquet"), "{ran}");
    let ran = run(&["store", "add", "s3://bucket/bad.ndjson", "own.ndjson"]);
    ran.failed(2, "", "error: s3://bucket/bad.ndjson: is one object");
    let ran = run(&["store", "add", "s3://bucket/logs/", "own.ndjson"]);
    ran.failed(2, "", "error: s3://bucket/logs: is no store; `store add` makes a folder of its own");
    let ran = run(&["query", "$.n", "s3://bucket/deep/"]);
    ran.failed(2, "", "error: s3://bucket/deep/: has a store");
    let ran = run(&["query", "--count", "$.n", "s3://bucket/nothing.wp"]);
    ran.failed(2, "", "error: s3://bucket/nothing.wp: there is no such object (404)");
}

#[test]
fn a_store_in_a_bucket_is_read_by_ranges() {
    let server = S3Server::start();
    let client = Client::of(&server);
    let mut random = warpath_random::Rng::new(7);
    let mut lines = String::new();
    for number in 0..150_000 {
        let noise = format!("{:016x}{:016x}", random.next_u64(), random.next_u64());
        lines += &format!("{{\"id\":{number},\"noise\":\"{noise}\",\"last\":\"{}\"}}\n", random.below(1000));
    }
    client.run_with(&["store", "add", "s3://bucket/logs.wp", "-"], lines.as_bytes()).ok();
    let mut parts = server.folder().join("logs.wp").read_dir().unwrap().map(|entry| entry.unwrap());
    let part = parts.find(|entry| entry.file_name().to_string_lossy().ends_with(".parquet")).unwrap();
    let size = part.metadata().unwrap().len();
    // The bytes of the part that a command gets.
    let read = |args: &[&str], wanted: &str| {
        let proxy = Proxy::before(server.address());
        let client = Client { folder: Folder::new(&[]), variables: S3Server::variables(proxy.address()) };
        assert_eq!(client.run(args).ok(), wanted);
        let passed = proxy.passed();
        let parts: Vec<_> =
            passed.iter().filter(|passed| passed.request.target.ends_with(".parquet")).collect();
        let bytes: u64 = parts.iter().map(|passed| passed.bytes).sum();
        println!("{args:?}: {bytes} of {size} bytes in {} requests of {}", parts.len(), passed.len());
        bytes
    };
    // The end of a part has 256 KiB, which are read once.
    let end = 256 << 10;
    assert!(size > 6 * end, "{size}");
    let count = read(&["query", "--count", "$.last", "s3://bucket/logs.wp"], "150000\n");
    assert!(count < end + 4096, "{count} of {size}");
    let line = lines.lines().nth(33_332).unwrap();
    let one = read(&["store", "text", "--lines", "33333", "s3://bucket/logs.wp"], &format!("{line}\n"));
    assert!(one < 4 * end, "{one} of {size}");
    let ids: String = (0..150_000).map(|number| format!("{number}\n")).collect();
    let leaf = read(&["query", "$.id", "s3://bucket/logs.wp"], &ids);
    assert!(leaf < 4 * end, "{leaf} of {size}");
}
