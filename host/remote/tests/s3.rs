//! Objects of a server of S3, through a proxy that counts.

use std::io::Read;
use std::net::SocketAddr;
use std::ops::Range;

use warpath_core::error::{Error, InputError};
use warpath_objects::{HttpServer, Proxy, Reply, S3Server};
use warpath_remote::{ObjectReader, StoreSettings, Stores};

use super::{bytes, noise, read, readers, refusal, small, url};

fn settings(endpoint: SocketAddr) -> StoreSettings {
    small(StoreSettings::of_variables(S3Server::variables(endpoint)).unwrap())
}

/// Asserts that ranges have each byte of an object once.
fn assert_cover(ranges: &[Range<u64>], len: u64) {
    let mut at = 0;
    for range in ranges {
        assert_eq!(range.start, at, "{ranges:?}");
        at = range.end;
    }
    // The first request does not know the length.
    assert!(at == len || ranges.len() == 1 && at > len, "{ranges:?}, {len} bytes");
}

#[test]
fn each_byte_is_fetched_once_in_parallel_ranges() {
    let server = S3Server::start();
    let proxy = Proxy::before(server.address());
    let stores = Stores::new(settings(proxy.address()));
    for len in [1, 999, 1000, 1001, 2000, 25_500] {
        let name = format!("of-{len}.bin");
        let object = noise(len, len as usize);
        server.put(&name, object.clone());
        assert!(read(&stores, &format!("s3://bucket/{name}")).unwrap() == object, "{len} bytes");
        assert_cover(&proxy.ranges(&name), len);
        let passed = proxy.passed();
        let of_name = passed.iter().filter(|passed| passed.request.target.ends_with(&name));
        assert_eq!(of_name.clone().map(|passed| passed.bytes).sum::<u64>(), len);
        // The first request learns the tag, and all others name it.
        let tags: Vec<_> = of_name.map(|passed| passed.request.header("if-match").is_some()).collect();
        assert_eq!(tags.iter().filter(|has| !**has).count(), 1, "{tags:?}");
    }
    assert!(proxy.passed().iter().all(|passed| passed.request.method == "GET"));
}

#[test]
fn an_empty_object_has_no_bytes() {
    let server = S3Server::start();
    server.put("empty", "");
    let stores = Stores::new(settings(server.address()));
    assert_eq!(read(&stores, "s3://bucket/empty").unwrap(), b"");
}

#[test]
fn cut_connections_are_resumed_at_their_offset() {
    let server = S3Server::start();
    let object = noise(7, 12_345);
    server.put("cut", object.clone());
    for after in [1, 300, 999] {
        let proxy = Proxy::before(server.address());
        let stores = Stores::new(settings(proxy.address()));
        proxy.cut(after, 6);
        assert!(read(&stores, "s3://bucket/cut").unwrap() == object, "cut after {after} bytes");
        let passed = proxy.passed();
        assert_eq!(passed.iter().map(|passed| passed.bytes).sum::<u64>(), 12_345, "each byte came once");
        assert_eq!(passed.len(), 13 + 6, "a request more for each cut");
    }
}

#[test]
fn a_connection_that_is_cut_again_and_again_is_an_error() {
    let server = S3Server::start();
    server.put("cut", noise(7, 5000));
    let proxy = Proxy::before(server.address());
    proxy.cut(0, usize::MAX);
    let said = refusal(&Stores::new(settings(proxy.address())), "s3://bucket/cut");
    assert!(said.starts_with("the connection was cut again and again: "), "{said}");
}

#[test]
fn memory_and_requests_are_bounded_ahead_of_the_reader() {
    let server = S3Server::start();
    let object = noise(3, 100_000);
    server.put("long", object.clone());
    let proxy = Proxy::before(server.address());
    let stores = Stores::new(StoreSettings { parts: 4, ..settings(proxy.address()) });
    let mut reader = readers(&stores, "s3://bucket/long").remove(0);
    let mut got = Vec::new();
    let mut room = [0; 100];
    loop {
        let count = reader.read(&mut room).unwrap();
        if count == 0 {
            break;
        }
        got.extend_from_slice(&room[..count]);
        // The part that is read, and those that are fetched.
        let parts = proxy.passed().len();
        assert!(parts <= got.len().div_ceil(1000) + 4, "{parts} parts after {} bytes", got.len());
    }
    assert!(got == object);
    drop(reader);
    // A reader that stops early fetches no more.
    let mut reader = readers(&stores, "s3://bucket/long").remove(0);
    reader.read_exact(&mut room).unwrap();
    assert_eq!(room, object[..100]);
}

#[test]
fn the_next_objects_are_opened_ahead() {
    let server = S3Server::start();
    let objects: Vec<Vec<u8>> = (0..20).map(|number| noise(number, 10 + number as usize)).collect();
    for (number, object) in objects.iter().enumerate() {
        server.put(&format!("few/{number:02}"), object.clone());
    }
    let proxy = Proxy::before(server.address());
    let stores = Stores::new(settings(proxy.address()));
    let mut all = readers(&stores, "s3://bucket/few/");
    assert_eq!(all.len(), 20);
    let lists = proxy.passed().len();
    assert_eq!(bytes(&mut all[0]).unwrap(), objects[0]);
    // The requests of the other objects need nobody who reads them.
    while proxy.passed().len() < lists + 8 {
        std::thread::yield_now();
    }
    // One that is skipped costs its own request alone.
    for (number, reader) in all.iter_mut().enumerate().skip(2) {
        assert_eq!(bytes(reader).unwrap(), objects[number]);
    }
    assert_eq!(bytes(&mut all[1]).unwrap(), objects[1]);
    assert_eq!(proxy.passed().len(), lists + 20);
    // In any order.
    let mut all = readers(&stores, "s3://bucket/few/*");
    for number in (0..20).rev() {
        assert_eq!(bytes(&mut all[number]).unwrap(), objects[number]);
    }
}

#[test]
fn folders_and_patterns_are_listed_from_their_fixed_beginning() {
    let server = S3Server::start();
    for key in [
        "logs/2025/a.ndjson",
        "logs/2026/a.ndjson",
        "logs/2026/b.ndjson",
        "logs/2026/b.txt",
        "logs/2026/.hidden.ndjson",
        "logs/2026/deep/c.ndjson",
        "logs.ndjson",
    ] {
        server.put(key, key);
    }
    let proxy = Proxy::before(server.address());
    let stores = Stores::new(settings(proxy.address()));
    for (pattern, prefix, keys) in [
        ("logs/2026/*.ndjson", "logs%2F2026%2F", &["logs/2026/a.ndjson", "logs/2026/b.ndjson"][..]),
        ("logs/20*/a.ndjson", "logs%2F20", &["logs/2025/a.ndjson", "logs/2026/a.ndjson"]),
        ("logs/202[6]/{b,x}.*", "logs%2F202", &["logs/2026/b.ndjson", "logs/2026/b.txt"]),
        ("logs/2026/?.txt", "logs%2F2026%2F", &["logs/2026/b.txt"]),
        ("log*.ndjson", "log", &["logs.ndjson"]),
        (
            "**/*.ndjson",
            "",
            &[
                "logs.ndjson",
                "logs/2025/a.ndjson",
                "logs/2026/a.ndjson",
                "logs/2026/b.ndjson",
                "logs/2026/deep/c.ndjson",
            ],
        ),
        ("logs/2026/deep/**", "logs%2F2026%2Fdeep%2F", &["logs/2026/deep/c.ndjson"]),
        (
            "logs/2026/",
            "logs%2F2026%2F",
            &["logs/2026/a.ndjson", "logs/2026/b.ndjson", "logs/2026/b.txt", "logs/2026/deep/c.ndjson"],
        ),
    ] {
        let mut found = readers(&stores, &format!("s3://bucket/{pattern}"));
        let names: Vec<_> = found.iter().map(|reader| reader.name().to_owned()).collect();
        let wanted: Vec<_> = keys.iter().map(|key| format!("s3://bucket/{key}")).collect();
        assert_eq!(names, wanted, "{pattern}");
        for (reader, key) in found.iter_mut().zip(keys) {
            assert_eq!(bytes(reader).unwrap(), key.as_bytes(), "{pattern}");
        }
        let lists: Vec<_> =
            proxy.passed().into_iter().filter(|it| it.request.target.contains("list-type")).collect();
        let asked = &lists.last().unwrap().request.target;
        let wanted = if prefix.is_empty() { String::new() } else { format!("prefix={prefix}") };
        assert!(
            asked.contains(&wanted) && asked.contains("prefix=") != prefix.is_empty(),
            "{pattern}: {asked}"
        );
    }
    for (pattern, why) in [
        ("nothing-*", "no object matches this pattern"),
        ("nothing/", "no object is in this folder"),
        ("a[", "the pattern is invalid, and no object has this name"),
    ] {
        match stores.readers(&url(&format!("s3://bucket/{pattern}"))) {
            Err(Error::Input(InputError::NoFiles { why: said, .. })) => assert_eq!(said, why),
            Err(other) => panic!("{pattern}: {other:?}"),
            Ok(readers) => panic!("{pattern}: {} objects", readers.len()),
        }
    }
}

#[test]
fn names_are_literal() {
    let server = S3Server::start();
    let keys = ["a b.ndjson", "100%.ndjson", "a%20b.ndjson", "é☺.ndjson", "a#b&c=d+e.ndjson", "what?.ndjson"];
    for key in keys {
        server.put(key, key);
        assert!(server.folder().join(key).is_file());
    }
    let stores = Stores::new(settings(server.address()));
    for key in keys {
        let name = key.replace('?', "[?]");
        let mut found = readers(&stores, &format!("s3://bucket/{name}"));
        assert_eq!(found.len(), 1, "{key}");
        assert_eq!(found[0].name(), format!("s3://bucket/{key}"));
        assert_eq!(bytes(&mut found[0]).unwrap(), key.as_bytes());
    }
    assert_eq!(readers(&stores, "s3://bucket/*").len(), keys.len());
    for key in ["a//b", "/a", "a/../b", "a\u{1}"] {
        let error = stores.readers(&url(&format!("s3://bucket/{key}"))).err().expect(key);
        assert!(error.to_string().contains("is no name of an object; a key has no empty part"), "{error}");
    }
}

#[test]
fn refusals_say_what_to_do() {
    let server = S3Server::start();
    server.put("k", "1");
    let stores = Stores::new(settings(server.address()));
    assert_eq!(refusal(&stores, "s3://bucket/none"), "there is no such object (404)");
    let missing = stores.readers(&url("s3://no-bucket/*")).err().unwrap().chain();
    assert!(missing.ends_with(": there is no such bucket (404)"), "{missing}");

    let mut wrong = S3Server::variables(server.address());
    wrong[2].1 = "another secret".into();
    let wrong = Stores::new(small(StoreSettings::of_variables(wrong).unwrap()));
    let said = refusal(&wrong, "s3://bucket/k");
    assert!(said.starts_with("access is denied (403): SignatureDoesNotMatch"), "{said}");
    assert!(said.contains("credentials are read from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"), "{said}");
    let said = wrong.readers(&url("s3://bucket/*")).err().unwrap().chain();
    assert!(said.contains("access is denied (403)"), "{said}");
}

/// Stores of a server that answers as the test says.
fn stores_of(server: &HttpServer) -> Stores {
    Stores::new(settings(server.address()))
}

#[test]
fn a_bucket_of_another_region_is_named() {
    let server = HttpServer::start(|_| Reply::new("301 Moved Permanently", ""));
    let said = refusal(&stores_of(&server), "s3://bucket/k");
    assert_eq!(said, "the bucket is in another region: set AWS_REGION to it, or AWS_ENDPOINT to its server");
    let server = HttpServer::start(|_| {
        let body = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting 'eu-west-1'</Message></Error>";
        Reply::new("400 Bad Request", body)
    });
    let said = refusal(&stores_of(&server), "s3://bucket/k");
    assert_eq!(
        said,
        "the server answered 400 Bad Request: AuthorizationHeaderMalformed: expecting 'eu-west-1'"
    );
}

#[test]
fn missing_credentials_are_named() {
    // The service that gives credentials to computers of the cloud gets the request, and has none.
    let nobody = HttpServer::start(|_| Reply::new("404 Not Found", ""));
    let variables =
        [("AWS_ENDPOINT", nobody.url("")), ("AWS_METADATA_ENDPOINT", nobody.url("169.254.169.254"))];
    let stores = Stores::new(small(StoreSettings::of_variables(variables).unwrap()));
    let said = refusal(&stores, "s3://bucket/k");
    assert!(
        said.starts_with("there are no credentials; credentials are read from AWS_ACCESS_KEY_ID"),
        "{said}"
    );
    // A public object needs none.
    let public = HttpServer::start(|request| {
        assert_eq!(request.header("authorization"), None);
        Reply::file(request, b"public", Some("\"1\"")).with("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
    });
    let variables = [("AWS_ENDPOINT", public.url("")), ("AWS_SKIP_SIGNATURE", "true".into())];
    let stores = Stores::new(small(StoreSettings::of_variables(variables).unwrap()));
    assert_eq!(read(&stores, "s3://bucket/k").unwrap(), b"public");
}

#[test]
fn marks_of_folders_are_no_objects() {
    let object = |key: &str, size: u64| {
        format!(
            "<Contents><Key>{key}</Key><Size>{size}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"
        )
    };
    let list = move |objects: &[String]| {
        let objects = objects.concat();
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>")
    };
    let marked = list(&[object("logs/", 0), object("logs/deep/", 0), object("logs/deep/a.ndjson", 8)]);
    let server = HttpServer::start(move |_| Reply::new("200 OK", marked.clone()));
    for url in ["s3://bucket/logs/", "s3://bucket/logs/**"] {
        let found = readers(&stores_of(&server), url);
        let names: Vec<_> = found.iter().map(ObjectReader::name).collect();
        assert_eq!(names, ["s3://bucket/logs/deep/a.ndjson"], "{url}");
    }
    let strange = list(&[object("logs//a.ndjson", 8)]);
    let server = HttpServer::start(move |_| Reply::new("200 OK", strange.clone()));
    let said = stores_of(&server).readers(&url("s3://bucket/logs/")).err().unwrap().chain();
    assert!(said.contains("the list has a name that is not read: "), "{said}");
}
