//! Files of servers of HTTP.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use warpath_objects::{HttpServer, Reply, Request};
use warpath_remote::{StoreSettings, Stores};

use super::{noise, read, readers, refusal, small};

fn stores() -> Stores {
    Stores::new(small(StoreSettings::default()))
}

/// Stores that wait some time for a server that never answers.
fn impatient(milliseconds: u64) -> Stores {
    Stores::new(StoreSettings {
        timeout: Duration::from_millis(milliseconds),
        ..small(StoreSettings::default())
    })
}

/// A reply of a server that knows no ranges.
fn whole(request: &Request, bytes: &[u8], tag: Option<&str>) -> Reply {
    let mut request = request.clone();
    request.headers.retain(|(name, _)| name != "range");
    Reply::file(&request, bytes, tag)
}

#[test]
fn files_are_read_with_and_without_tags() {
    let file = noise(1, 4321);
    for tag in [None, Some("\"strong\""), Some("W/\"weak\"")] {
        let bytes = file.clone();
        let server = HttpServer::start(move |request| Reply::file(request, &bytes, tag));
        assert!(read(&stores(), &server.url("a.ndjson")).unwrap() == file, "{tag:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 5);
        // A weak tag never matches `If-Match`.
        let matched = requests.iter().filter(|request| request.header("if-match").is_some()).count();
        assert_eq!(matched, if tag == Some("\"strong\"") { 4 } else { 0 });
    }
}

#[test]
fn urls_are_sent_as_they_are() {
    let server = HttpServer::start(|request| Reply::file(request, request.target.as_bytes(), None));
    for (path, sent) in [
        ("a%20b.ndjson", "/a%20b.ndjson"),
        ("a b.ndjson", "/a%20b.ndjson"),
        ("a%2Fb//c%25.ndjson", "/a%2Fb//c%25.ndjson"),
        ("é.ndjson", "/%C3%A9.ndjson"),
        ("a?signature=x%2By&b=*", "/a?signature=x%2By&b=*"),
        ("?list", "/?list"),
        ("a#part", "/a"),
    ] {
        let got = read(&stores(), &server.url(path)).unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), sent, "{path}");
    }
    // A signature is in no message.
    assert_eq!(readers(&stores(), "https://h/a?signature=x")[0].name(), "https://h/a?…");
}

#[test]
fn a_server_without_ranges_sends_the_whole_file_once() {
    let file = noise(2, 300_000);
    for tag in [None, Some("\"1\"")] {
        let bytes = file.clone();
        let server = HttpServer::start(move |request| whole(request, &bytes, tag));
        assert!(read(&stores(), &server.url("a")).unwrap() == file);
        assert_eq!(server.requests().len(), 2, "one with a range, and one without");
    }
}

#[test]
fn a_server_that_does_not_tell_the_length_of_ranges_sends_the_whole_file() {
    let server = HttpServer::start(|request| {
        let mut reply = Reply::file(request, &[b'a'; 5000], None);
        for (name, value) in &mut reply.headers {
            if *name == "Content-Range" {
                *value = value.replace("/5000", "/*");
            }
        }
        reply
    });
    assert_eq!(read(&stores(), &server.url("a")).unwrap(), [b'a'; 5000]);
}

#[test]
fn a_server_without_ranges_that_cuts_is_asked_again() {
    let file = noise(3, 50_000);
    let bytes = file.clone();
    let count = AtomicUsize::new(0);
    let server = HttpServer::start(move |request| match count.fetch_add(1, Ordering::Relaxed) {
        0 => whole(request, &bytes, None),
        number if number < 4 => whole(request, &bytes, None).cut_after(number * 9_000),
        _ => whole(request, &bytes, None),
    });
    assert!(read(&stores(), &server.url("a")).unwrap() == file);
    assert_eq!(server.requests().len(), 5);
}

#[test]
fn cut_files_without_tags_are_resumed() {
    let file = noise(4, 10_000);
    let bytes = file.clone();
    let count = AtomicUsize::new(0);
    let server = HttpServer::start(move |request| {
        let reply = Reply::file(request, &bytes, None);
        if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { reply.cut_after(400) } else { reply }
    });
    assert!(read(&stores(), &server.url("a")).unwrap() == file);
}

#[test]
fn an_empty_file_has_no_bytes() {
    let server = HttpServer::start(|request| Reply::file(request, b"", None));
    assert_eq!(read(&stores(), &server.url("a")).unwrap(), b"");
    assert_eq!(server.requests().len(), 2, "the range is not satisfiable");
}

#[test]
fn a_file_that_changes_is_an_error() {
    // By its tag, by `If-Match`, by its length.
    let count = AtomicUsize::new(0);
    let tags = HttpServer::start(move |request| {
        let mut request = request.clone();
        request.headers.retain(|(name, _)| name != "if-match");
        let first = count.fetch_add(1, Ordering::Relaxed) == 0;
        Reply::file(&request, &[b'a'; 5000], Some(if first { "\"1\"" } else { "\"2\"" }))
    });
    let count = AtomicUsize::new(0);
    let precondition = HttpServer::start(move |request| {
        let first = count.fetch_add(1, Ordering::Relaxed) == 0;
        Reply::file(request, &[b'a'; 5000], Some(if first { "\"1\"" } else { "\"2\"" }))
    });
    let count = AtomicUsize::new(0);
    let length = HttpServer::start(move |request| {
        let first = count.fetch_add(1, Ordering::Relaxed) == 0;
        Reply::file(request, &[b'a'; 5001][..if first { 5000 } else { 5001 }], None)
    });
    for server in [&tags, &precondition, &length] {
        let said = refusal(&stores(), &server.url("a"));
        assert_eq!(said, "the object changed while it was read; read it once more");
    }
}

#[test]
fn statuses_are_told() {
    for (status, said) in [
        ("404 Not Found", "there is no such object (404)"),
        ("403 Forbidden", "access is denied (403); credentials are read from AWS_ACCESS_KEY_ID"),
        ("401 Unauthorized", "the server requires credentials (401)"),
        ("410 Gone", "the server answered 410 Gone"),
        ("503 Service Unavailable", "the server answered 503 Service Unavailable"),
    ] {
        let server = HttpServer::start(move |_| Reply::new(status, ""));
        let got = refusal(&stores(), &server.url("a"));
        assert!(got.starts_with(said), "{got}");
        let attempts = if status.starts_with('5') { 2 } else { 1 };
        assert_eq!(server.requests().len(), attempts, "{status}");
    }
}

#[test]
fn a_busy_server_is_asked_again() {
    let count = AtomicUsize::new(0);
    let server = HttpServer::start(move |request| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new("503 Slow Down", ""),
        _ => Reply::file(request, b"there", None),
    });
    assert_eq!(read(&stores(), &server.url("a")).unwrap(), b"there");
}

#[test]
fn a_slow_server_is_an_error_that_names_the_variable() {
    let never = HttpServer::start(|request| Reply::file(request, &[b'a'; 5000], None).stalled_after(0));
    let midway = HttpServer::start(|request| Reply::file(request, &[b'a'; 5000], None).stalled_after(300));
    for (server, path) in [(&never, "a"), (&midway, "b")] {
        let said = refusal(&impatient(100), &server.url(path));
        assert_eq!(
            said,
            "the server sent nothing for 0.1 s; WARPATH_REMOTE_TIMEOUT sets another time, in seconds"
        );
    }
    // A stall is tried once more.
    let count = AtomicUsize::new(0);
    let once = HttpServer::start(move |request| {
        let reply = Reply::file(request, &[b'a'; 900], None);
        if count.fetch_add(1, Ordering::Relaxed) == 0 { reply.stalled_after(300) } else { reply }
    });
    assert_eq!(read(&impatient(2000), &once.url("a")).unwrap(), [b'a'; 900]);
    let ranges: Vec<_> = once.requests().iter().map(|request| request.range().unwrap()).collect();
    assert_eq!(ranges, [0..1000, 300..900]);
}

#[test]
fn servers_that_cannot_be_reached_are_told() {
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/a", listener.local_addr().unwrap())
    };
    let said = refusal(&stores(), &nobody);
    assert!(said.starts_with("no connection to the server: Connection refused"), "{said}");
    let said = refusal(&stores(), "http://nowhere.invalid/a");
    assert!(said.starts_with("no connection to the server: "), "{said}");
    let plain = HttpServer::start(|request| Reply::file(request, b"1", None));
    let said = refusal(&stores(), &plain.url("a").replace("http:", "https:"));
    assert!(said.starts_with("no connection to the server: received corrupt message"), "{said}");
    assert_eq!(plain.requests().len(), 0);
}

#[test]
fn redirects_are_followed() {
    let file = HttpServer::start(|request| Reply::file(request, b"here", None));
    let to = file.url("b");
    let server = HttpServer::start(move |_| Reply::new("302 Found", "").with("Location", to.clone()));
    assert_eq!(read(&stores(), &server.url("a")).unwrap(), b"here");
}

#[test]
fn an_error_stays() {
    use std::io::Read;
    let server = HttpServer::start(|_| Reply::new("404 Not Found", ""));
    let mut reader = readers(&stores(), &server.url("a")).remove(0);
    let mut room = [0; 10];
    for _ in 0..2 {
        let error = reader.read(&mut room).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
    assert_eq!(server.requests().len(), 1);
}
