//! Events as services send them to subscribers: an envelope around the kind of the event, its subject, its
//! location and its details.

use super::random::Random;
use super::text::{Moment, Put, put_words};

/// A source of events; one has nothing to do with the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events;

/// A value of an event that a subscription may test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Without anything that has to be escaped in JSON or in a query.
    String(&'static str),
    Number(u64),
    Bool(bool),
}

/// An event, with every field that subscriptions may test.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) level: &'static str,
    pub(super) service: &'static str,
    pub(super) env: &'static str,
    pub(super) action: &'static str,
    pub(super) user: u64,
    pub(super) lang: &'static str,
    pub(super) plan: &'static str,
    pub(super) verified: bool,
    /// Two users of five belong to one.
    pub(super) org: Option<u64>,
    pub(super) os: &'static str,
    pub(super) model: &'static str,
    pub(super) mobile: bool,
    pub(super) country: &'static str,
    pub(super) method: &'static str,
    pub(super) status: u64,
    pub(super) bytes: u64,
    /// In hundredths of a millisecond.
    pub(super) latency: u64,
    pub(super) retries: u64,
    pub(super) cached: bool,
    /// The error, if the status is 500 or more.
    pub(super) error: Option<&'static str>,
    pub(super) region: &'static str,
    pub(super) team: &'static str,
    pub(super) canary: bool,
    /// Up to four tags, all different.
    pub(super) tags: Vec<&'static str>,
}

/// Services, the most frequent first.
#[rustfmt::skip]
const SERVICES: &[&str] = &[
    "gateway", "session", "catalog", "search", "checkout", "cart", "payments", "recommend", "images", "profile", "login", "pricing",
    "inventory", "orders", "shipping", "notify", "email", "push", "reviews", "feed", "chat", "media", "upload", "thumbnails",
    "geocode", "tax", "fraud", "ledger", "billing", "invoices", "refunds", "returns", "support", "surveys", "exports", "reports",
    "audit", "flags", "config", "scheduler",
];

/// Each has five services.
const TEAMS: &[&str] = &["edge", "shop", "discovery", "money", "logistics", "social", "content", "platform"];

#[rustfmt::skip]
const ACTIONS: &[&str] = &[
    "page.view", "item.view", "search.query", "session.start", "cart.add", "session.end", "login.ok", "image.load", "item.like",
    "cart.remove", "login.failed", "order.create", "payment.authorize", "payment.capture", "order.cancel", "profile.update",
    "review.create", "message.send", "file.upload", "refund.create", "password.reset", "address.add", "export.start", "flag.toggle",
];

/// Status codes but for 200, the most frequent first.
const STATUSES: &[u64] = &[304, 204, 404, 201, 302, 401, 400, 500, 403, 503, 429, 301, 502, 504];

#[rustfmt::skip]
const COUNTRIES: &[&str] = &[
    "US", "DE", "GB", "FR", "JP", "BR", "IN", "NL", "CA", "ES", "IT", "PL", "AU", "SE", "MX", "TR", "KR", "CH", "BE", "AT", "DK", "NO",
    "FI", "PT", "GR", "CZ", "IE", "RO", "HU", "UA", "AR", "CL", "CO", "PE", "ZA", "NG", "KE", "EG", "MA", "IL", "AE", "SA", "PK", "BD",
    "ID", "MY", "SG", "TH", "VN", "PH", "TW", "HK", "NZ", "SK", "SI", "HR", "RS", "BG", "LT", "EE",
];

#[rustfmt::skip]
const LANGS: &[&str] = &[
    "en", "de", "fr", "es", "ja", "pt", "nl", "it", "pl", "tr", "sv", "ko", "zh", "da", "fi", "el", "cs", "ro", "uk", "hu", "ar", "he",
    "id", "th", "vi",
];

/// Devices: system, model, whether they are carried about.
#[rustfmt::skip]
const DEVICES: &[(&str, &str, bool)] = &[
    ("android", "Pixel 8", true), ("ios", "iPhone 15", true), ("windows", "desktop", false), ("android", "Galaxy S23", true),
    ("macos", "MacBook Air", false), ("ios", "iPhone 13", true), ("android", "Redmi Note 12", true), ("linux", "desktop", false),
    ("ios", "iPad 10", true), ("windows", "Surface Pro 9", true), ("android", "Moto G54", true), ("chromeos", "Chromebook", false),
    ("android", "OnePlus 11", true), ("tvos", "TV 4K", false), ("android", "Fairphone 5", true),
];

const PLANS: &[&str] = &["free", "basic", "plus", "family", "business"];

const REGIONS: &[&str] = &[
    "us-east-1",
    "eu-west-1",
    "us-west-2",
    "eu-central-1",
    "ap-northeast-1",
    "sa-east-1",
    "ap-south-1",
    "ca-central-1",
];

#[rustfmt::skip]
const TAGS: &[&str] = &[
    "web", "app", "returning", "new-user", "promo", "beta", "a-b-17", "a-b-23", "slow", "bot", "staff", "vip", "gift", "batch",
    "replay", "sampled",
];

const ERRORS: &[&str] =
    &["E_TIMEOUT", "E_UPSTREAM", "E_OVERLOAD", "E_DEADLOCK", "E_CONFIG", "E_CHECKSUM", "E_UNKNOWN"];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "request", "handled", "after", "retry", "of", "upstream", "with", "cache", "miss", "for", "user", "was", "slow", "took", "the",
    "longer", "path", "token", "refreshed", "queue", "full", "then", r#"\"ok\""#, "sent", "to", "shard", "→", "partial", "answer",
    "from", "replica", "café",
];

const AGENTS: &[&str] = &[
    "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/126.0",
    "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Safari/605.1",
    "shop-app/5.12.1 (okhttp 4.12)",
    "Mozilla/5.0 (Windows NT 10.0) Chrome/125.0.0.0 Safari/537.36",
    "curl/8.5.0",
];

impl Event {
    /// An event of the same kind as all others.
    pub(super) fn drawn(random: &mut Random) -> Self {
        let service = random.skewed(SERVICES);
        let place = SERVICES.iter().position(|other| *other == service).expect("it is one of them");
        let (os, model, mobile) = random.skewed(DEVICES);
        let status = if random.chance(600) { 200 } else { random.skewed(STATUSES) };
        let level = match (status, random.below(100)) {
            (500.., 0..85) => "error",
            (500.., 85..90) => "fatal",
            (400..500, 0..8) => "error",
            (400.., 0..) => "warn",
            (_, 0..70) => "info",
            (_, 70..97) => "debug",
            _ => "warn",
        };
        let mut tags = Vec::new();
        for _ in 0..random.below(5) {
            let tag = random.skewed(TAGS);
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        Self {
            level,
            service,
            env: random
                .pick(&["prod", "prod", "prod", "prod", "prod", "prod", "staging", "staging", "test", "dev"]),
            action: random.skewed(ACTIONS),
            // Three events of ten are of the two thousand users who are the most active.
            user: 10_000_001
                + u64::from(if random.chance(300) { random.below(2_000) } else { random.below(40_000_000) }),
            lang: random.skewed(LANGS),
            plan: random.skewed(PLANS),
            verified: random.chance(800),
            org: random.chance(400).then(|| u64::from(random.between(100, 5_099))),
            os,
            model,
            mobile,
            country: random.skewed(COUNTRIES),
            method: random
                .pick(&["GET", "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "PATCH"]),
            status,
            bytes: random.count(20),
            latency: 80 + random.count(19),
            retries: if random.chance(900) { 0 } else { u64::from(random.between(1, 3)) },
            cached: random.chance(350),
            error: (status >= 500).then(|| random.skewed(ERRORS)),
            region: random.skewed(REGIONS),
            team: TEAMS[place % TEAMS.len()],
            canary: random.chance(60),
            tags,
        }
    }
}

impl Events {
    /// Appends one event.
    pub(super) fn record(self, random: &mut Random, out: &mut Vec<u8>) {
        let event = Event::drawn(random);
        // January 2024, and a year on.
        let moment = Moment::from_unix(1_704_067_200 + u64::from(random.below(31_536_000)));
        out.put(r#"{"id":""#);
        let bits = random.bits();
        for (at, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            out.put(if at > 0 { "-" } else { "" });
            out.put_hex(bits.rotate_left(11 * at as u32), digits);
        }
        out.put(r#"","type":"activity","time":""#);
        moment.put_date(out);
        out.put("T");
        moment.put_time(out);
        out.put(".");
        out.put_digits(u64::from(random.below(1_000)), 3);
        out.put(r#"Z","event":{"level":""#);
        out.put(event.level);
        put_string(out, r#"","service":""#, event.service);
        put_string(out, r#"","env":""#, event.env);
        put_string(out, r#"","host":""#, event.service);
        out.put("-");
        out.put_hex(random.bits(), 6);
        put_string(out, r#"","action":""#, event.action);
        out.put(r#"","message":""#);
        put_words(out, random, WORDS, 12, 70);
        event.put_user(random, out);
        event.put_device(random, out);
        event.put_place(random, out);
        event.put_request(random, out);
        if let Some(code) = event.error {
            put_string(out, r#"},"error":{"code":""#, code);
            out.put(r#"","retryable":"#);
            out.put_bool(random.chance(500));
            put_number(out, r#","line":"#, u64::from(random.between(10, 900)));
        }
        put_string(out, r#"},"labels":{"region":""#, event.region);
        put_string(out, r#"","team":""#, event.team);
        put_number(out, r#"","release":"2024."#, u64::from(random.between(1, 52)));
        put_number(out, ".", u64::from(random.below(10)));
        out.put(r#"","canary":"#);
        out.put_bool(event.canary);
        put_number(out, r#","shard":"#, u64::from(random.below(64)));
        out.put(r#"},"tags":["#);
        for (at, tag) in event.tags.iter().enumerate() {
            put_string(out, if at > 0 { r#"",""# } else { r#"""# }, tag);
        }
        out.put(if event.tags.is_empty() { r#"],"trace":""# } else { r#""],"trace":""# });
        out.put_hex(random.bits(), 16);
        out.put(r#"","spans":["#);
        for at in 0..random.between(1, 5) {
            put_number(out, if at > 0 { "," } else { "" }, u64::from(random.below(400)));
        }
        out.put("]}}");
    }
}

impl Event {
    fn put_user(&self, random: &mut Random, out: &mut Vec<u8>) {
        put_number(out, r#"","user":{"id":"#, self.user);
        out.put(r#","name":""#);
        out.put_code(random.bits(), random.between(5, 10));
        put_string(out, r#"","lang":""#, self.lang);
        put_string(out, r#"","plan":""#, self.plan);
        out.put(r#"","verified":"#);
        out.put_bool(self.verified);
        if let Some(org) = self.org {
            put_number(out, r#","org":"#, org);
        }
        put_number(out, r#","logins":"#, random.count(12));
    }

    fn put_device(&self, random: &mut Random, out: &mut Vec<u8>) {
        put_string(out, r#"},"device":{"os":""#, self.os);
        put_number(out, r#"","version":""#, u64::from(random.between(9, 17)));
        put_number(out, ".", u64::from(random.below(7)));
        put_string(out, r#"","model":""#, self.model);
        out.put(r#"","mobile":"#);
        out.put_bool(self.mobile);
        out.put(random.pick(&[
            r#","screen":[1080,2400]"#,
            r#","screen":[1179,2556]"#,
            r#","screen":[1920,1080]"#,
            r#","screen":[2560,1600]"#,
        ]));
    }

    fn put_place(&self, random: &mut Random, out: &mut Vec<u8>) {
        put_string(out, r#"},"geo":{"country":""#, self.country);
        out.put(r#"","lat":"#);
        out.put_degrees(i64::from(random.below(120_000_000)) - 50_000_000);
        out.put(r#","lon":"#);
        out.put_degrees(i64::from(random.below(360_000_000)) - 180_000_000);
        put_number(out, r#","asn":"#, u64::from(random.between(1_000, 65_000)));
    }

    fn put_request(&self, random: &mut Random, out: &mut Vec<u8>) {
        put_string(out, r#"},"request":{"method":""#, self.method);
        put_number(out, r#"","path":"/api/v"#, u64::from(random.between(1, 3)));
        put_string(out, "/", self.service);
        put_number(out, "/", random.count(24));
        put_number(out, r#"","status":"#, self.status);
        put_number(out, r#","bytes":"#, self.bytes);
        out.put(r#","latency_ms":"#);
        out.put_money(self.latency);
        put_number(out, r#","retries":"#, self.retries);
        out.put(r#","cached":"#);
        out.put_bool(self.cached);
        put_number(out, r#","ip":"203.0.113."#, u64::from(random.below(256)));
        put_string(out, r#"","agent":""#, random.skewed(AGENTS));
        out.put(r#"""#);
    }
}

/// Appends `before` and the string.
fn put_string(out: &mut Vec<u8>, before: &str, string: &str) {
    out.put(before);
    out.put(string);
}

/// Appends `before` and the number.
fn put_number(out: &mut Vec<u8>, before: &str, number: u64) {
    out.put(before);
    out.put_number(number);
}
