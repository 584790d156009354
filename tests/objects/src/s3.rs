//! A server of S3, whose buckets are folders.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Location;
use object_store::{ObjectStoreExt, PutPayload};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The key of the only user.
pub const KEY: &str = "test-key";
/// The secret of the only user.
pub const SECRET: &str = "test-secret";
/// The name of the bucket.
pub const BUCKET: &str = "bucket";

/// A server that runs until it is dropped. It has one bucket and one user, and checks signatures.
pub struct S3Server {
    runtime: Option<Runtime>,
    folder: TempDir,
    address: SocketAddr,
    store: AmazonS3,
}

impl Default for S3Server {
    fn default() -> Self {
        Self::start()
    }
}

impl S3Server {
    /// Starts a server with an empty bucket.
    ///
    /// # Panics
    /// If the system has no folder, port or thread left.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join(BUCKET)).expect("the folder of the bucket");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).expect("a file system"));
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = service.build();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let server = Builder::new(TokioExecutor::new());
                    // A client that closes its connection is no error of the server.
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        let builder = AmazonS3Builder::new().with_endpoint(format!("http://{address}")).with_allow_http(true);
        let builder = builder.with_bucket_name(BUCKET).with_access_key_id(KEY).with_secret_access_key(SECRET);
        let store = builder.build().expect("the settings of a store");
        Self { runtime: Some(runtime), folder, address, store }
    }

    /// The host and the port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder of the bucket.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// Writes an object.
    ///
    /// # Panics
    /// If the server refuses it.
    pub fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        let location = Location::parse(key).expect("a key");
        let payload = PutPayload::from(bytes.into());
        let runtime = self.runtime.as_ref().expect("the runtime of a server that was not dropped");
        runtime.block_on(self.store.put(&location, payload)).expect("the object is written");
    }

    /// The variables of a client of this server, through `endpoint`: the server itself or a proxy.
    #[must_use]
    pub fn variables(endpoint: SocketAddr) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT", format!("http://{endpoint}")),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
