//! The folder of a store as objects.

use std::sync::Arc;
use std::thread;

use object_store::memory::InMemory;
use warpath_folder::{Field, Folder, FolderError, Millis, Part, Schema, Storage, Type};
use warpath_objects::S3Server;
use warpath_remote::{ObjectStorage, StoreSettings, Stores};

use super::{small, url};

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
    let gone = one.vacuum(Millis(3)).unwrap();
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
