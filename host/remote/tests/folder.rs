//! The folder of a store as objects.

use std::sync::Arc;
use std::thread;

use object_store::memory::InMemory;
use warpath_folder::{Field, Folder, FolderError, Millis, Part, Schema, Storage, Type};
use warpath_objects::{Proxy, S3Server};
use warpath_remote::{Location, ObjectStorage, StoreSettings, Stores};

use super::{noise, small, url};

fn schema() -> Schema {
    Schema { fields: vec![Field::new("id", Type::Long)] }
}

/// Writes a part, and its facts.
fn part(storage: &ObjectStorage, name: &str) -> Part {
    storage.create(name, b"part").unwrap();
    Part { name: name.into(), bytes: 4, rows: 1, ..Part::default() }
}

#[test]
fn a_store_of_objects_is_written_and_read() {
    let server = S3Server::start();
    let stores =
        Stores::new(small(StoreSettings::of_variables(S3Server::variables(server.address())).unwrap()));
    let open = || ObjectStorage::at(&stores, &url("s3://bucket/a/logs.wp")).unwrap();
    assert!(matches!(Folder::open(open()), Err(FolderError::NoLog)));
    let mut one = Folder::create(open(), schema(), Millis(0)).unwrap();
    assert!(matches!(Folder::create(open(), schema(), Millis(0)), Err(FolderError::Exists)));
    let mut two = Folder::open(open()).unwrap();
    // Each of them meets a version of the other.
    for number in 0..4 {
        let folder = if number % 2 == 0 { &mut one } else { &mut two };
        folder
            .append(vec![part(&open(), &format!("part-{number} ä%.parquet"))], Vec::new(), Millis(1))
            .unwrap();
    }
    two.replace(vec!["part-1 ä%.parquet".into()], Vec::new(), false, Millis(2)).unwrap();
    let names = ["part-0 ä%.parquet", "part-2 ä%.parquet", "part-3 ä%.parquet"];
    let snapshot = Folder::open(open()).unwrap().snapshot();
    assert!(snapshot.parts().map(|part| part.name.as_str()).eq(names));
    let gone = one.vacuum(Millis(3), &|_| false).unwrap();
    assert_eq!(gone.iter().map(|object| object.name.as_str()).collect::<Vec<_>>(), ["part-1 ä%.parquet"]);
    assert!(open().settle("part-1 ä%.parquet").is_err());
}

#[test]
fn other_urls_are_refused() {
    let stores = Stores::new(StoreSettings::default());
    for other in ["https://example.org/logs.wp", "s3://bucket/*.wp"] {
        let error = ObjectStorage::at(&stores, &url(other)).unwrap_err();
        assert!(error.to_string().contains("the folder of a store is an S3 URL"), "{error}");
    }
}

#[test]
fn writers_of_objects_lose_nothing() {
    let storage = ObjectStorage::new(Arc::new(InMemory::new()), "/logs.wp/");
    Folder::create(storage.clone(), schema(), Millis(0)).unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let storage = storage.clone();
            scope.spawn(move || {
                let mut folder = Folder::open(storage.clone()).unwrap();
                for number in 0..10 {
                    let part = part(&storage, &format!("part-{writer}-{number}.parquet"));
                    folder.append(vec![part], Vec::new(), Millis(1)).unwrap();
                }
            });
        }
    });
    let folder = Folder::open(storage).unwrap();
    assert_eq!((folder.version(), folder.snapshot().rows()), (40, 40));
}

#[test]
fn ranges_and_files_of_a_folder() {
    let server = S3Server::start();
    let proxy = Proxy::before(server.address());
    let stores =
        |address| Stores::new(small(StoreSettings::of_variables(S3Server::variables(address)).unwrap()));
    let at = |address| ObjectStorage::at(&stores(address), &url("s3://bucket/a/logs.wp")).unwrap();
    let (direct, through) = (at(server.address()), at(proxy.address()));
    assert_eq!(
        (direct.shown(""), direct.shown("x")),
        ("s3://bucket/a/logs.wp".into(), "s3://bucket/a/logs.wp/x".into())
    );
    // One part of an upload, and several.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    for (name, len) in [("small", 10_000), ("large", (16 << 20) + 5)] {
        let bytes = noise(3, len);
        std::fs::write(&file, &bytes).unwrap();
        direct.put_file(name, &file).unwrap();
        assert_eq!(direct.settle(name).unwrap(), len as u64);
        assert!(std::fs::read(server.folder().join("a/logs.wp").join(name)).unwrap() == bytes);
        let range = |storage: &ObjectStorage, range: std::ops::Range<usize>| {
            let got = storage.read_range(name, range.start as u64..range.end as u64).unwrap();
            assert!(got == bytes[range.clone()], "{range:?}");
        };
        for wanted in [0..0, 0..1, 999..1001, 17..9_500, len - 1..len] {
            range(&direct, wanted);
        }
        // What is cut is asked for again, from where it was cut.
        proxy.cut(300, 3);
        range(&through, 100..4_000);
        for past in [len..len + 1, len - 1..len + 1, len + 5..len + 9] {
            let error = direct.read_range(name, past.start as u64..past.end as u64).unwrap_err();
            assert!(
                error.kind() == std::io::ErrorKind::UnexpectedEof
                    || error.to_string().contains("ended at byte"),
                "{error}"
            );
        }
    }
    let error = direct.read_range("none", 0..5).unwrap_err();
    assert!(error.kind() == std::io::ErrorKind::NotFound && error.to_string().contains("404"), "{error}");
    assert!(direct.put_file("none", &folder.path().join("none")).is_err());
}

#[test]
fn locations_are_stores_objects_or_nothing() {
    let server = S3Server::start();
    let stores = Stores::new(StoreSettings::of_variables(S3Server::variables(server.address())).unwrap());
    server.put("a.wp/_delta_log/00000000000000000000.json", "{}");
    server.put("b.parquet", "bytes");
    server.put("empty", "");
    let is_store = |text: &str| stores.stored(&url(text)).unwrap().is_some();
    assert!(is_store("s3://bucket/a.wp") && is_store("s3://bucket/a.wp/"));
    assert!(!is_store("s3://bucket/b.parquet") && !is_store("s3://bucket/"));
    assert!(matches!(stores.location(&url("s3://bucket/a.wp")).unwrap(), Location::Folder(_)));
    assert!(matches!(stores.location(&url("s3://bucket/new.wp")).unwrap(), Location::Folder(_)));
    match stores.location(&url("s3://bucket/b.parquet")).unwrap() {
        Location::Object { storage, name, size } => {
            assert_eq!((storage.shown(&name).as_str(), size), ("s3://bucket/b.parquet", 5));
            assert_eq!(storage.read_range(&name, 1..3).unwrap(), b"yt");
        }
        Location::Folder(_) => panic!("a folder"),
    }
    assert!(stores.object(&url("s3://bucket/empty")).unwrap().is_none());
    assert!(stores.object(&url("s3://bucket/none")).unwrap().is_none());
    assert!(stores.stored(&url("s3://nobody/a.wp")).err().unwrap().chain().contains("404"));
}
