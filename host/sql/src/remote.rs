//! Objects of a store as readers.

use std::io::{self, Read};
use std::sync::Arc;

use futures::StreamExt;
use object_store::{ObjectStore, ObjectStoreExt};

/// A file in an object store, as a reader. A task of the runtime fetches it ahead of the reader.
pub struct RemoteReader {
    chunks: tokio::sync::mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
}

/// Chunks that are fetched ahead.
const CHUNKS: usize = 16;

impl RemoteReader {
    /// Starts to fetch. It must be called within a runtime.
    pub fn start(store: Arc<dyn ObjectStore>, location: object_store::path::Path) -> Self {
        let (sender, chunks) = tokio::sync::mpsc::channel(CHUNKS);
        tokio::spawn(async move {
            let mut stream = match store.get(&location).await {
                Ok(got) => got.into_stream(),
                Err(error) => {
                    // Nobody receives it if the reader is gone.
                    let _ = sender.send(Err(io::Error::other(error))).await;
                    return;
                }
            };
            while let Some(chunk) = stream.next().await {
                let chunk = chunk.map(|bytes| bytes.to_vec()).map_err(io::Error::other);
                if sender.send(chunk).await.is_err() {
                    return;
                }
            }
        });
        Self { chunks, chunk: io::Cursor::default() }
    }
}

impl Read for RemoteReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.chunk.read(room)?;
            if count > 0 || room.is_empty() {
                return Ok(count);
            }
            match self.chunks.blocking_recv() {
                Some(chunk) => self.chunk = io::Cursor::new(chunk?),
                None => return Ok(0),
            }
        }
    }
}
