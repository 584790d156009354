//! Requests that are refused before they are read: by their host, their origin and their token.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};
use subtle::ConstantTimeEq as _;

/// The least characters of a token: nobody guesses one.
pub const LEAST_TOKEN: usize = 16;

/// The rules of a server.
pub struct Guard {
    /// The token that requests have.
    pub token: Option<String>,
    /// True if only this machine reaches the address. Then the host of a request is a name of this machine: a
    /// page of another name, which its owner lets point here, reads nothing.
    pub is_loopback: bool,
}

/// The reason why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub status: StatusCode,
    pub message: &'static str,
    /// The label in metrics.
    pub reason: &'static str,
}

impl Guard {
    /// Checks a request. `needs_token` is false for the files of the page, which hold no data.
    ///
    /// # Errors
    /// A request from elsewhere, or without the token.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap, needs_token: bool) -> Result<(), Refused> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // Requests of HTTP/2 have their host in the address.
        let host = match headers.contains_key(HOST) {
            true => text(HOST),
            false => uri.authority().map(Authority::as_str),
        };
        if self.is_loopback && !host.is_some_and(is_local) {
            let message = "the host is not this machine: use localhost or 127.0.0.1";
            return Err(Refused { status: StatusCode::MISDIRECTED_REQUEST, message, reason: "host" });
        }
        // Browsers send the origin of the page that makes the request.
        let is_own = |origin: &str| origin.split_once("://").map(|(_, origin)| origin) == host;
        if headers.contains_key(ORIGIN) && !text(ORIGIN).is_some_and(is_own) {
            let message = "pages of other origins are refused";
            return Err(Refused { status: StatusCode::FORBIDDEN, message, reason: "origin" });
        }
        let Some(token) = self.token.as_deref().filter(|_| needs_token) else { return Ok(()) };
        let given = headers.get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
        // Names of schemes are case-insensitive. (RFC 9110, section 11.1.)
        let (scheme, given) = given.split_at_checked(b"Bearer ".len()).unwrap_or_default();
        let given = if scheme.eq_ignore_ascii_case(b"Bearer ") { given } else { b"" };
        match given.ct_eq(token.as_bytes()).into() {
            true => Ok(()),
            false => {
                let message = "the token is missing or wrong: the header `Authorization: Bearer TOKEN` has it, \
                               and for `--server` the variable WARPATH_TOKEN";
                Err(Refused { status: StatusCode::UNAUTHORIZED, message, reason: "token" })
            }
        }
    }
}

/// True for the names of this machine, with a port or without.
fn is_local(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, "0"),
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    port.parse::<u16>().is_ok() && (is_loopback || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(guard: &Guard, headers: &[(&'static str, &str)]) -> Option<&'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        guard.check(&Uri::from_static("/query"), &map, true).err().map(|refused| refused.reason)
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        let guard = Guard { token: None, is_loopback: true };
        for host in ["localhost", "LOCALHOST:7273", "127.0.0.1:80", "127.9.9.9", "[::1]", "[::1]:7273"] {
            assert_eq!(checked(&guard, &[("host", host)]), None, "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example", "::2", "a:b"]
        {
            assert_eq!(checked(&guard, &[("host", host)]), Some("host"), "{host}");
        }
        assert_eq!(checked(&guard, &[]), Some("host"));
        for (address, is_own) in [("http://localhost:80/x", true), ("http://evil.example/x", false)] {
            let uri = Uri::from_static(address);
            assert_eq!(guard.check(&uri, &HeaderMap::new(), true).is_ok(), is_own, "{address}");
            // The header counts, if there is one.
            let host = HeaderMap::from_iter([(HOST, "evil.example".parse().unwrap())]);
            assert!(guard.check(&uri, &host, true).is_err());
        }
    }

    #[test]
    fn only_its_own_page_asks() {
        let guard = Guard { token: None, is_loopback: true };
        let host = ("host", "localhost:7273");
        assert_eq!(checked(&guard, &[host, ("origin", "http://localhost:7273")]), None);
        for origin in ["http://localhost:80", "http://evil.example", "null", ""] {
            assert_eq!(checked(&guard, &[host, ("origin", origin)]), Some("origin"), "{origin}");
        }
    }

    #[test]
    fn a_token_is_compared_as_a_whole() {
        let guard = Guard { token: Some("0123456789abcdef".into()), is_loopback: false };
        for scheme in ["Bearer", "bearer"] {
            assert_eq!(checked(&guard, &[("authorization", &format!("{scheme} 0123456789abcdef"))]), None);
        }
        for given in
            ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ", "0123456789abcdef", "Basic x"]
        {
            assert_eq!(checked(&guard, &[("authorization", given)]), Some("token"), "{given}");
        }
        assert_eq!(checked(&guard, &[]), Some("token"));
        assert_eq!(guard.check(&Uri::from_static("/"), &HeaderMap::new(), false), Ok(()));
    }
}
