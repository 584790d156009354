//! Objects read from real servers: S3 over a folder, and HTTP of any manners.

mod folder;
mod http;
mod s3;

use std::io::Read;

use warpath_remote::address::ObjectsAddress;
use warpath_remote::{Address, ObjectReader, StoreSettings, Stores};

/// Random bytes of no value to a compressor.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = warpath_random::Rng::new(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn url(text: &str) -> ObjectsAddress {
    match Address::parse(text) {
        Ok(Address::Objects(objects)) => objects,
        other => panic!("{text}: {other:?}"),
    }
}

fn readers(stores: &Stores, text: &str) -> Vec<ObjectReader> {
    stores.readers(&url(text)).unwrap_or_else(|error| panic!("{text}: {}", error.chain()))
}

fn bytes(reader: &mut ObjectReader) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of the only object of a URL.
fn read(stores: &Stores, text: &str) -> std::io::Result<Vec<u8>> {
    let mut readers = readers(stores, text);
    assert_eq!(readers.len(), 1, "{text}");
    bytes(&mut readers[0])
}

/// The message of the error of reading a URL.
fn refusal(stores: &Stores, text: &str) -> String {
    match read(stores, text) {
        Err(error) => error.to_string(),
        Ok(bytes) => panic!("{text}: {} bytes", bytes.len()),
    }
}

/// Settings with small parts and few retries.
fn small(settings: StoreSettings) -> StoreSettings {
    StoreSettings { part_bytes: 1000, retries: 1, ..settings }
}
