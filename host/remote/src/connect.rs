//! HTTP requests for exactly one URL.
//!
//! A store of `object_store` makes the URL of a request from the path of an object. It decodes and encodes
//! that path, and leaves out the query. A server may sign the query, and may distinguish `%2F` from `/`.

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

/// Makes clients that send each request to one URL.
#[derive(Debug)]
pub struct ExactUrl(pub String);

impl HttpConnector for ExactUrl {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(ExactClient { client, url: self.0.clone() }))
    }
}

#[derive(Debug)]
struct ExactClient {
    client: HttpClient,
    url: String,
}

#[async_trait]
impl HttpService for ExactClient {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let url = self.url.parse();
        *request.uri_mut() = url.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        self.client.execute(request).await
    }
}
