//! URLs, and what they mean.

use std::path::PathBuf;

use warpath_core::error::Error;

/// The meaning of a URL.
///
/// ```
/// use warpath_remote::Address;
///
/// let Ok(Address::Objects(url)) = Address::parse("s3://bucket/logs/*.ndjson") else { panic!() };
/// assert_eq!(url.authority(), "bucket");
/// assert!(url.is_pattern());
/// assert_eq!(Address::parse("file:///tmp/a%20b").unwrap(), Address::File("/tmp/a b".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file of this computer.
    File(PathBuf),
    /// Objects of a store.
    Objects(ObjectsAddress),
}

/// The protocol of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// S3, and other servers that speak its protocol.
    S3,
    /// HTTP without encryption.
    Http,
    /// HTTP over TLS.
    Https,
}

/// The URL of an object, a folder or a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectsAddress {
    scheme: Scheme,
    authority: String,
    /// The text after the authority and its slash, without the query of a URL of HTTP.
    path: String,
    query: Option<String>,
}

/// The characters of patterns.
const PATTERN: [char; 4] = ['*', '?', '[', '{'];

/// True if a name is a URL: a scheme and `://` begin it.
///
/// ```
/// use warpath_remote::address::is_url;
///
/// assert!(is_url("s3://bucket/key") && is_url("ftp://host/"));
/// assert!(!is_url("logs/a.ndjson") && !is_url("://x") && !is_url("a b://x"));
/// ```
#[must_use]
pub fn is_url(name: &str) -> bool {
    name.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
    })
}

impl Address {
    /// Reads a URL.
    ///
    /// * `s3://BUCKET/KEY`: the key is literal, as with the AWS command line. `%20` is not decoded.
    /// * `http://HOST/PATH`, `https://HOST/PATH`: percent-encoded, as in a browser.
    /// * `file:///PATH`: percent-encoded.
    ///
    /// # Errors
    /// [`Error::Usage`] for another scheme, and for a URL that is incomplete.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Err(Error::Usage(format!("{url}: {what}")));
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        if scheme.eq_ignore_ascii_case("file") {
            let path = rest.strip_prefix("localhost").unwrap_or(rest);
            return match path.starts_with('/').then(|| decoded(path)).flatten() {
                Some(path) => Ok(Self::File(path)),
                None => wrong("is no URL of a file of this computer; expected file:///PATH"),
            };
        }
        let mut address = ObjectsAddress::of_store(url)?;
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        path.clone_into(&mut address.path);
        if address.scheme == Scheme::S3 {
            if path.is_empty() && !rest.ends_with('/') {
                return wrong("names a bucket and no object; `/` at the end means all objects in it");
            }
            return Ok(Self::Objects(address));
        }
        let path = path.split_once('#').map_or(path, |(path, _)| path);
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        address.path = path.to_owned();
        address.query = query.map(str::to_owned);
        if path.contains(['*', '[', '{']) {
            return wrong(
                "is a pattern, and HTTP has no lists of files; name each file (`%2A`, `%5B` and `%7B` are `*`, `[` and `{`)",
            );
        }
        if (path.is_empty() || path.ends_with('/')) && query.is_none() {
            return wrong("is a folder, and HTTP has no lists of files; name each file");
        }
        Ok(Self::Objects(address))
    }
}

impl ObjectsAddress {
    /// The URL of the store of a URL: its scheme and its bucket or host. The path is left out.
    ///
    /// # Errors
    /// [`Error::Usage`] for another scheme, and for a URL that is incomplete.
    pub fn of_store(url: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Err(Error::Usage(format!("{url}: {what}")));
        let Some((scheme, rest)) = url.split_once("://") else {
            return wrong("is no URL; expected SCHEME://…");
        };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Scheme::S3,
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return wrong("has a scheme that is not read; s3://, https://, http:// and file:// are"),
        };
        let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
        if authority.is_empty() || authority.contains(PATTERN) {
            let what = if scheme == Scheme::S3 { "the bucket" } else { "the host" };
            return wrong(&format!("{what} is missing, or is a pattern"));
        }
        if authority.contains('@') {
            return wrong("credentials in a URL are not used; leave them out");
        }
        Ok(Self { scheme, authority: authority.to_owned(), path: String::new(), query: None })
    }

    /// The protocol.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bucket, or the host and its port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The key, the pattern, or the path, without a slash before it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The query of a URL of HTTP.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// True for a pattern.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.scheme == Scheme::S3 && self.path.contains(PATTERN)
    }

    /// True for a folder: all objects whose names begin with its name.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.scheme == Scheme::S3 && !self.is_pattern() && (self.path.is_empty() || self.path.ends_with('/'))
    }

    /// The longest beginning of a pattern that is the same for all its names.
    #[must_use]
    pub fn fixed(&self) -> &str {
        let end = if self.is_pattern() { self.path.find(PATTERN) } else { None };
        &self.path[..end.unwrap_or(self.path.len())]
    }

    /// The URL for messages. A query is left out, because it may have a signature.
    #[must_use]
    pub fn shown(&self) -> String {
        let query = if self.query.is_some() { "?…" } else { "" };
        format!("{}{}{query}", self.store(), self.path)
    }

    /// The URL of the store, with a slash at its end.
    #[must_use]
    pub fn store(&self) -> String {
        let scheme = match self.scheme {
            Scheme::S3 => "s3",
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}/", self.authority)
    }
}

/// The path that a percent-encoded text means. `None` if it is no path.
fn decoded(text: &str) -> Option<PathBuf> {
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
    let mut bytes = text.bytes();
    let mut path = Vec::new();
    while let Some(byte) = bytes.next() {
        path.push(match byte {
            b'%' => u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?,
            other => other,
        });
    }
    path_of(path)
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    (!bytes.contains(&0)).then(|| std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(String::from_utf8(bytes).ok()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(url: &str) -> ObjectsAddress {
        match Address::parse(url) {
            Ok(Address::Objects(objects)) => objects,
            other => panic!("{url}: {other:?}"),
        }
    }

    fn refusal(url: &str) -> String {
        Address::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn keys_are_literal() {
        let one = objects("S3://b/a b/%20?x");
        assert_eq!((one.scheme(), one.authority(), one.path()), (Scheme::S3, "b", "a b/%20?x"));
        assert!(one.is_pattern() && !one.is_folder());
        assert_eq!(one.fixed(), "a b/%20");
        assert_eq!(one.shown(), "s3://b/a b/%20?x");
        let one = objects("s3://b/a b/%20#é");
        assert!(!one.is_pattern());
        assert_eq!(one.fixed(), one.path());
        assert!(objects("s3://b/").is_folder() && objects("s3a://b/logs/").is_folder());
    }

    #[test]
    fn queries_of_http_are_kept_and_not_shown() {
        let one = objects("https://h:8443/a%20b.ndjson?sig=secret&x=*#part");
        assert_eq!(
            (one.authority(), one.path(), one.query()),
            ("h:8443", "a%20b.ndjson", Some("sig=secret&x=*"))
        );
        assert_eq!(one.shown(), "https://h:8443/a%20b.ndjson?…");
        assert!(!one.is_pattern() && !one.is_folder());
        objects("http://h/?list");
    }

    #[test]
    fn files_are_decoded() {
        for (url, path) in [
            ("file:///a", "/a"),
            ("FILE://localhost/a/b", "/a/b"),
            ("file:///a%20%C3%A9%25.json", "/a é%.json"),
        ] {
            assert_eq!(Address::parse(url).unwrap(), Address::File(path.into()), "{url}");
        }
    }

    #[test]
    fn other_urls_are_refused_with_their_reason() {
        for (url, reason) in [
            ("gs://b/k", "has a scheme that is not read; s3://, https://, http:// and file:// are"),
            ("s3://", "the bucket is missing"),
            ("s3:///k", "the bucket is missing"),
            ("s3://b*/k", "the bucket is missing, or is a pattern"),
            ("s3://b", "names a bucket and no object"),
            ("http:///k", "the host is missing"),
            ("https://u:p@h/k", "credentials in a URL are not used"),
            ("https://h/*.ndjson", "HTTP has no lists of files"),
            ("https://h/logs/", "is a folder, and HTTP has no lists"),
            ("https://h", "is a folder, and HTTP has no lists"),
            ("file://host/a", "is no URL of a file of this computer"),
            ("file:///%2", "is no URL of a file of this computer"),
            ("file:///%zz", "is no URL of a file of this computer"),
            ("file:a", "is no URL"),
        ] {
            assert!(refusal(url).contains(reason), "{url}: {}", refusal(url));
        }
    }
}
