//! HTTP requests that end in time, and that go to exactly one URL.
//!
//! A store of `object_store` bounds the time of a request with its body, which may be long. Here the time
//! until the response begins is bounded.
//!
//! A store of HTTP makes the URL of a request from the path of an object. It decodes and encodes that path,
//! and leaves out the query. A server may sign the query, and may distinguish `%2F` from `/`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use tokio::time::timeout;

use crate::fault::Fault;

/// Makes clients of a store.
#[derive(Clone, Debug)]
pub struct Connector {
    /// The longest time until a response begins.
    pub limit: Duration,
    /// The URL of each request, if the store has one object alone.
    pub exact: Option<String>,
    /// The connections, which stores of one object share. A client reads all certificates of the system.
    pub shared: Arc<OnceLock<HttpClient>>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = match self.shared.get() {
            Some(client) => client.clone(),
            None => {
                let client = ReqwestConnector::default().connect(options)?;
                self.shared.get_or_init(|| client).clone()
            }
        };
        Ok(HttpClient::new(Client { client, settings: self.clone() }))
    }
}

#[derive(Debug)]
struct Client {
    client: HttpClient,
    settings: Connector,
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(url) = &self.settings.exact {
            let url = url.parse();
            *request.uri_mut() = url.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        }
        let limit = self.settings.limit;
        timeout(limit, self.client.execute(request))
            .await
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, Fault::Stalled(limit).into_io()))?
    }
}
