//! Events of Bluesky's network, as its Jetstream sends them: who liked, followed, posted or reposted.
//!
//! Of a thousand events, 449 are of likes, 360 of follows, 91 of posts, 59 of reposts, 14 of blocks, 12 of
//! profiles, 8 of entries of lists, 2 of gates of threads, and 5 have no commit. 955 create a record, 33
//! delete one, and 7 replace a profile.
//!
//! All blocks draw from the same users. Among the first 444,523 likes are about 117,600 users.

mod post;

use super::random::{Random, mix};
use super::text::{Moment, Put};
use post::Text;

/// 2024-11-21 16:25:49 UTC, in microseconds of Unix time: the moment of the first event.
const FIRST_EVENT_US: u64 = 1_732_206_349_000_000;

/// The events of one block take less than this: 2,200 events, one each 2.85 ms.
const BLOCK_US: u64 = 7_000_000;

/// The number of users.
const USERS: u32 = 561_000;

/// Levels of activity. Of the users of each level, half belong to the next as well.
const LEVELS: u32 = 13;

/// A source of events: its clock, and room for the text of a post.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    now_us: u64,
    text: Text,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Like,
    Follow,
    Post,
    Repost,
    Block,
    Profile,
    ListItem,
    ThreadGate,
}

impl Kind {
    fn collection(self) -> &'static str {
        match self {
            Kind::Like => "app.bsky.feed.like",
            Kind::Follow => "app.bsky.graph.follow",
            Kind::Post => "app.bsky.feed.post",
            Kind::Repost => "app.bsky.feed.repost",
            Kind::Block => "app.bsky.graph.block",
            Kind::Profile => "app.bsky.actor.profile",
            Kind::ListItem => "app.bsky.graph.listitem",
            Kind::ThreadGate => "app.bsky.feed.threadgate",
        }
    }
}

impl Feed {
    pub(super) fn new(block: u64) -> Self {
        Self { now_us: FIRST_EVENT_US + block * BLOCK_US, text: Text::default() }
    }

    /// Appends one event.
    pub(super) fn record(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        self.now_us += u64::from(random.between(1, 5_700));
        let user = user(random);
        out.put(r#"{"did":""#);
        put_did(out, user);
        out.put(r#"","time_us":"#);
        out.put_number(self.now_us);
        let kind = match random.below(1000) {
            0..449 => Kind::Like,
            449..809 => Kind::Follow,
            809..900 => Kind::Post,
            900..959 => Kind::Repost,
            959..973 => Kind::Block,
            973..985 => Kind::Profile,
            985..993 => Kind::ListItem,
            993..995 => Kind::ThreadGate,
            _ => {
                self.without_commit(random, out, user);
                return;
            }
        };
        let operation = match kind {
            Kind::Profile if random.chance(600) => "update",
            Kind::Profile => "create",
            _ if random.chance(33) => "delete",
            _ => "create",
        };
        // The service receives a commit some time after its client made it.
        let made_us = self.now_us - u64::from(random.between(20_000, 900_000));
        out.put(r#","kind":"commit","commit":{"rev":""#);
        put_tid(out, made_us, random);
        out.put(r#"","operation":""#);
        out.put(operation);
        out.put(r#"","collection":""#);
        out.put(kind.collection());
        out.put(r#"","rkey":""#);
        let of_record_us = match operation {
            "delete" => made_us - u64::from(random.below(2_000_000_000)) * 1_000,
            _ => made_us,
        };
        match kind {
            Kind::Profile => out.put("self"),
            _ => put_tid(out, of_record_us, random),
        }
        if operation != "delete" {
            out.put(r#"","record":{"$type":""#);
            out.put(kind.collection());
            self.put_members(random, out, kind, made_us);
            out.put(r#"},"cid":""#);
            put_cid(random, out, "bafyrei");
        }
        out.put(r#""}}"#);
    }

    /// Appends the members of a record after its type: in the order of their names, as the network's
    /// services write them.
    fn put_members(&mut self, random: &mut Random, out: &mut Vec<u8>, kind: Kind, made_us: u64) {
        match kind {
            Kind::Post => {
                self.text.write(random);
                self.text.put_members(random, out, made_us);
            }
            Kind::Profile => put_profile(random, out, made_us),
            Kind::ThreadGate => {
                out.put(r#"","allow":[{"$type":"app.bsky.feed.threadgate#"#);
                out.put(random.pick(&[r"mentionRule", r"followingRule"]));
                out.put(r#""}]"#);
                put_created(random, out, made_us);
                out.put(r#","post":"#);
                put_uri(random, out, "app.bsky.feed.post", made_us);
            }
            Kind::Like | Kind::Repost => {
                out.put(r#"""#);
                put_created(random, out, made_us);
                out.put(r#","subject":"#);
                let (name, via) = if kind == Kind::Like {
                    (random.pick(LIKED), random.chance(10))
                } else {
                    ("app.bsky.feed.post", random.chance(20))
                };
                put_reference(random, out, name, made_us);
                if via {
                    out.put(r#","via":"#);
                    put_reference(random, out, "app.bsky.feed.repost", made_us);
                }
            }
            Kind::Follow | Kind::Block | Kind::ListItem => {
                out.put(r#"""#);
                put_created(random, out, made_us);
                if kind == Kind::ListItem {
                    out.put(r#","list":"#);
                    put_uri(random, out, "app.bsky.graph.list", made_us);
                }
                out.put(r#","subject":""#);
                let subject = user(random);
                put_did(out, subject);
                out.put(r#"""#);
            }
        }
    }

    /// Appends the members of an event about an account.
    fn without_commit(&self, random: &mut Random, out: &mut Vec<u8>, user: u32) {
        let identity = random.chance(600);
        let name = if identity { "identity" } else { "account" };
        out.put(r#","kind":""#);
        out.put(name);
        out.put(r#"",""#);
        out.put(name);
        out.put(r#"":{"#);
        if !identity {
            out.put(r#""active":"#);
            out.put_bool(random.chance(900));
            out.put(",");
        }
        out.put(r#""did":""#);
        put_did(out, user);
        if identity {
            out.put(r#"","handle":""#);
            put_handle(out, user);
        }
        out.put(r#"","seq":"#);
        // The network numbers its events; some are not of this feed.
        out.put_number(3_900_000_000 + (self.now_us - FIRST_EVENT_US) / 2_000);
        out.put(r#","time":""#);
        put_time(out, self.now_us / 1_000);
        out.put(r#""}}"#);
    }
}

/// The collections of liked records. Few are not posts.
#[rustfmt::skip]
const LIKED: &[&str] = &[
    "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post",
    "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post",
    "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post", "app.bsky.feed.post",
    "app.bsky.feed.post", "app.bsky.feed.generator",
];

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "Ada", "tomás 🌊", "mira (she/her)", r#"\"Kit\" of the north"#, "夜の猫", "Дарья", "the daily heron", "Jo", "بحر", "sam 🏳️", "Núria",
    "weather & ships", "ok computer", "김하늘", "",
];

const ABOUT: &[&str] = &[
    "I read, I bake, I ride a bike.",
    r"Photos of birds.\nMostly gulls.\nThey / them",
    r#"Author of \"The Long Canal\". Newsletter: https://canal.example/letters"#,
    "絵を描きます。無断転載禁止。",
    "Bibliotecária, mãe de gatos e corredora lenta. Opiniões minhas. ☕📚",
    "data, maps, transit",
    r"Left the other network.\n\nScience \u0026 gardens \u003e everything",
    "",
];

/// A user, of whom some are far more active than others: a level, each as likely as the others, and one of
/// its users.
pub(super) fn user(random: &mut Random) -> u32 {
    let level = random.below(LEVELS);
    random.below(USERS >> level)
}

/// Appends `length` letters and digits of base 32, at most twelve, that encode `bits`.
fn put_base32(out: &mut Vec<u8>, bits: u64, length: u32) {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    out.extend((0..length).map(|ix| ALPHABET[(bits >> (5 * ix)) as usize & 31]));
}

/// Appends the identifier of a user, `did:plc:` and 24 characters.
fn put_did(out: &mut Vec<u8>, user: u32) {
    out.put("did:plc:");
    put_base32(out, mix(u64::from(user)), 12);
    put_base32(out, mix(u64::from(user) | 1 << 32), 12);
}

/// Appends the handle of a user.
fn put_handle(out: &mut Vec<u8>, user: u32) {
    put_base32(out, mix(u64::from(user) | 2 << 32), 5 + user % 8);
    out.put(".bsky.example");
}

/// Appends the key of a record made at a time, in 13 characters whose order is that of the time (the AT
/// Protocol's "TID"): 53 bits of microseconds, and 10 that distinguish the clocks.
fn put_tid(out: &mut Vec<u8>, made_us: u64, random: &mut Random) {
    const ALPHABET: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
    let bits = made_us << 10 | u64::from(random.below(1 << 10));
    out.extend((0..13).rev().map(|ix| ALPHABET[(bits >> (5 * ix)) as usize & 31]));
}

/// Appends a content identifier of 59 characters, of which the first seven are given.
fn put_cid(random: &mut Random, out: &mut Vec<u8>, prefix: &str) {
    out.put(prefix);
    for length in [12, 12, 12, 12, 4] {
        put_base32(out, random.bits(), length);
    }
}

/// Appends the address of a record of any user, which is up to a few days older than `before_us`.
fn put_uri(random: &mut Random, out: &mut Vec<u8>, collection: &str, before_us: u64) {
    out.put(r#""at://"#);
    let owner = user(random);
    put_did(out, owner);
    out.put("/");
    out.put(collection);
    out.put("/");
    let age_us = random.count(38);
    put_tid(out, before_us - age_us, random);
    out.put(r#"""#);
}

/// Appends a reference to a version of a record: its content identifier and its address.
fn put_reference(random: &mut Random, out: &mut Vec<u8>, collection: &str, before_us: u64) {
    out.put(r#"{"cid":""#);
    put_cid(random, out, "bafyrei");
    out.put(r#"","uri":"#);
    put_uri(random, out, collection, before_us);
    out.put("}");
}

/// Appends a file that a record refers to.
fn put_blob(random: &mut Random, out: &mut Vec<u8>) {
    out.put(r#"{"$type":"blob","ref":{"$link":""#);
    put_cid(random, out, "bafkrei");
    out.put(r#""},"mimeType":"image/jpeg","size":"#);
    out.put_number(u64::from(random.between(20_000, 976_000)));
    out.put("}");
}

/// Appends a time in milliseconds of Unix time as `2024-11-21T16:25:49.000Z`.
fn put_time(out: &mut Vec<u8>, unix_ms: u64) {
    put_second(out, unix_ms / 1_000);
    out.put(".");
    out.put_digits(unix_ms % 1_000, 3);
    out.put("Z");
}

fn put_second(out: &mut Vec<u8>, seconds: u64) {
    let moment = Moment::from_unix(seconds);
    moment.put_date(out);
    out.put("T");
    moment.put_time(out);
}

/// Appends `,"createdAt":"…"`. A few clients write it without milliseconds, or with microseconds.
fn put_created(random: &mut Random, out: &mut Vec<u8>, made_us: u64) {
    out.put(r#","createdAt":""#);
    match random.below(50) {
        0 => {
            put_second(out, made_us / 1_000_000);
            out.put("Z");
        }
        1 => {
            put_second(out, made_us / 1_000_000);
            out.put(".");
            out.put_digits(made_us % 1_000_000, 6);
            out.put("+00:00");
        }
        _ => put_time(out, made_us / 1_000),
    }
    out.put(r#"""#);
}

fn put_profile(random: &mut Random, out: &mut Vec<u8>, made_us: u64) {
    out.put(r#"""#);
    for (name, per_mille) in [(r#","avatar":"#, 850), (r#","banner":"#, 500)] {
        if random.chance(per_mille) {
            out.put(name);
            put_blob(random, out);
        }
    }
    if random.chance(400) {
        put_created(random, out, made_us);
    }
    for (name, texts) in [(r#","description":""#, ABOUT), (r#","displayName":""#, NAMES)] {
        if random.chance(900) {
            out.put(name);
            out.put(random.pick(texts));
            out.put(r#"""#);
        }
    }
}
