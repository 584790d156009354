//! Servers of objects for tests, on ports of the loopback interface that the system chooses.
//!
//! | module | contents |
//! |---|---|
//! | [`s3`] | a server of S3, whose buckets are folders |
//! | [`proxy`] | a proxy before a server, which records requests and cuts responses |
//! | [`http`] | a server of HTTP that answers as a test says |

pub mod http;
pub mod proxy;
pub mod s3;

pub use http::{HttpServer, Reply, Request};
pub use proxy::Proxy;
pub use s3::S3Server;
