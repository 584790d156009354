//! The files of the page, which the program contains.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::Response;

/// The files of the folder `page`, by name.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The rules for the page: it runs its own scripts, and connects to this server alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The types of files, by their endings.
const TYPES: [(&str, &str); 6] = [
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".ico", "image/x-icon"),
];

/// A file of the page; `None` for a name that it does not have.
pub fn file(name: &str) -> Option<Response> {
    let (_, kind) = TYPES.iter().find(|(ending, _)| name.ends_with(ending))?;
    let (_, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
    let response = Response::builder()
        .header(CONTENT_TYPE, *kind)
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(REFERRER_POLICY, "no-referrer")
        .header(CACHE_CONTROL, "no-cache");
    response.body(Body::from(*bytes)).ok()
}
