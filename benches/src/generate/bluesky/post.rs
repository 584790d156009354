//! A post: its text, what the text refers to, and what is attached to it.

use super::{put_blob, put_created, put_did, put_handle, put_reference, user};
use crate::generate::random::Random;
use crate::generate::text::{Put, put_words};
use crate::generate::twitter::words::{EMOJI, LANGUAGES, Language};

/// The text of a post, and the parts of it that `facets` lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    json: Vec<u8>,
    /// The length of the text without escapes, in bytes.
    bytes: usize,
    /// The first language is the reference for the text's words.
    language: Option<&'static Language>,
    facets: Vec<Facet>,
}

#[derive(Clone, Debug)]
struct Facet {
    /// The first byte of the part, and the one after its last.
    at: (usize, usize),
    target: Target,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Tag(&'static str),
    Mention(u32),
    Link(u64),
}

/// Texts with their lengths without escapes, in bytes. The escapes are those of Go's encoder.
#[rustfmt::skip]
const SPECIALS: &[(&str, usize)] = &[
    (r#"\""#, 1), (r#"\"really?\""#, 9), (r"\\", 1), (r"\n", 1), (r"\n", 1), (r"\n\n", 2), (r"\n\n", 2), (r"\t", 1), (r"\u0026", 1), (r"\u003c3", 2),
    (r"\u003e\u003e", 2), (r"\u2028", 3), ("—", 3), ("“so”", 8), ("{sigh}", 6), ("a]:,", 4), (r#"\"\\\""#, 3), ("/s", 2),
];

#[rustfmt::skip]
const TITLES: &[&str] = &[
    "The city", "a new ferry", "after ten years", "opens", "the archive", r#"\"No more delays\""#, "says minister", "what we know", "|", "–",
    "Gulls of the harbour", "an essay", r"Q\u0026A", "with the makers", "of", "the long canal", "in pictures", "café culture", "returns to", "Łódź",
];

const HOSTS: &[&str] =
    &["news.example", "www.video.example", "blog.harbour.example", "journal.example.org", "pics.example.net"];

impl Text {
    /// Replaces the text by a new one.
    pub(super) fn write(&mut self, random: &mut Random) {
        self.json.clear();
        self.facets.clear();
        self.bytes = 0;
        let language = Language::drawn(random);
        self.language = Some(language);
        let end = random.between(4, 180) as usize;
        while self.bytes < end {
            if self.bytes > 0 {
                self.push(language.space, language.space.len());
            }
            match random.below(100) {
                0..3 => {
                    let emoji = random.pick(EMOJI);
                    self.push(emoji, emoji.len());
                }
                3 => {
                    let word = random.pick(language.words);
                    self.refer(Target::Tag(word), |json| {
                        json.put("#");
                        json.put(word);
                    });
                }
                4 => {
                    let user = user(random);
                    self.refer(Target::Mention(user), |json| {
                        json.put("@");
                        put_handle(json, user);
                    });
                }
                5..12 => {
                    let (json, bytes) = random.pick(SPECIALS);
                    self.push(json, bytes);
                }
                _ => {
                    let word = random.pick(language.words);
                    self.push(word, word.len());
                }
            }
        }
        if random.chance(80) {
            let bits = random.bits();
            self.push(" ", 1);
            self.refer(Target::Link(bits), |json| {
                json.put(host(bits));
                json.put("/");
                json.put_code(bits >> 8, 8);
                json.put("...");
            });
        }
    }

    /// Appends `json`, which represents `bytes` bytes.
    fn push(&mut self, json: &str, bytes: usize) {
        self.json.put(json);
        self.bytes += bytes;
    }

    /// Appends a part that refers to something, and has no escapes.
    fn refer(&mut self, target: Target, put: impl FnOnce(&mut Vec<u8>)) {
        let (start, before) = (self.bytes, self.json.len());
        put(&mut self.json);
        self.bytes += self.json.len() - before;
        self.facets.push(Facet { at: (start, self.bytes), target });
    }

    /// Appends the members of the post after its type, in the order of their names.
    pub(super) fn put_members(&self, random: &mut Random, out: &mut Vec<u8>, made_us: u64) {
        out.put(r#"""#);
        put_created(random, out, made_us);
        put_embed(random, out, made_us);
        self.put_facets(out);
        if random.chance(10) {
            out.put(r#","labels":{"$type":"com.atproto.label.defs#selfLabels","values":[{"val":"nudity"}]}"#);
        }
        if random.chance(930) {
            out.put(r#","langs":[""#);
            out.put(self.language.unwrap_or(&LANGUAGES[0]).code);
            if random.chance(40) {
                out.put(r#"",""#);
                out.put(Language::drawn(random).code);
            }
            out.put(r#""]"#);
        }
        if random.chance(400) {
            // Half of the replies are to the post that began the thread.
            out.put(r#","reply":{"parent":"#);
            let start = out.len();
            put_reference(random, out, "app.bsky.feed.post", made_us);
            let end = out.len();
            out.put(r#","root":"#);
            if random.chance(500) {
                out.extend_from_within(start..end);
            } else {
                put_reference(random, out, "app.bsky.feed.post", made_us);
            }
            out.put("}");
        }
        out.put(r#","text":""#);
        out.extend_from_slice(&self.json);
        out.put(r#"""#);
    }

    fn put_facets(&self, out: &mut Vec<u8>) {
        for (at, facet) in self.facets.iter().enumerate() {
            out.put(if at == 0 { r#","facets":["# } else { "," });
            out.put(r#"{"features":[{"$type":"app.bsky.richtext.facet#"#);
            match facet.target {
                Target::Tag(word) => {
                    out.put(r#"tag","tag":""#);
                    out.put(word);
                }
                Target::Mention(user) => {
                    out.put(r#"mention","did":""#);
                    put_did(out, user);
                }
                Target::Link(bits) => {
                    out.put(r#"link","uri":""#);
                    put_link(out, bits);
                }
            }
            out.put(r#""}],"index":{"byteEnd":"#);
            out.put_number(facet.at.1 as u64);
            out.put(r#","byteStart":"#);
            out.put_number(facet.at.0 as u64);
            out.put("}}");
        }
        if !self.facets.is_empty() {
            out.put("]");
        }
    }
}

fn host(bits: u64) -> &'static str {
    HOSTS[bits as usize % HOSTS.len()]
}

fn put_link(out: &mut Vec<u8>, bits: u64) {
    out.put("https://");
    out.put(host(bits));
    out.put("/");
    out.put_code(bits >> 8, 8);
    out.put("/2024/11/");
    out.put_number(bits >> 44);
    out.put(r".html?ref=feed\u0026id=");
    out.put_number(bits >> 50);
}

/// Appends `,"embed":…` to a third of the posts: pictures, a page, another post, or a post and pictures.
fn put_embed(random: &mut Random, out: &mut Vec<u8>, made_us: u64) {
    match random.below(100) {
        0..17 => {
            out.put(r#","embed":"#);
            put_images(random, out);
        }
        17..25 => {
            out.put(r#","embed":{"$type":"app.bsky.embed.external","external":{"description":""#);
            put_words(out, random, TITLES, 20, 180);
            if random.chance(900) {
                out.put(r#"","thumb":"#);
                put_blob(random, out);
                out.put(r#","title":""#);
            } else {
                out.put(r#"","title":""#);
            }
            put_words(out, random, TITLES, 15, 80);
            out.put(r#"","uri":""#);
            put_link(out, random.bits());
            out.put(r#""}}"#);
        }
        25..30 => {
            out.put(r#","embed":"#);
            put_quote(random, out, made_us);
        }
        30..32 => {
            out.put(r#","embed":{"$type":"app.bsky.embed.recordWithMedia","media":"#);
            put_images(random, out);
            out.put(r#","record":"#);
            put_quote(random, out, made_us);
            out.put("}");
        }
        _ => {}
    }
}

fn put_quote(random: &mut Random, out: &mut Vec<u8>, made_us: u64) {
    out.put(r#"{"$type":"app.bsky.embed.record","record":"#);
    put_reference(random, out, "app.bsky.feed.post", made_us);
    out.put("}");
}

/// Appends one to four pictures, most of them without a description.
fn put_images(random: &mut Random, out: &mut Vec<u8>) {
    out.put(r#"{"$type":"app.bsky.embed.images","images":["#);
    for at in 0..random.pick(&[1, 1, 1, 1, 1, 1, 2, 2, 3, 4]) {
        out.put(if at == 0 { r#"{"alt":""# } else { r#",{"alt":""# });
        if random.chance(300) {
            put_words(out, random, TITLES, 20, 200);
        }
        out.put(r#"","aspectRatio":{"height":"#);
        out.put_number(u64::from(random.between(400, 2_000)));
        out.put(r#","width":"#);
        out.put_number(u64::from(random.between(400, 2_000)));
        out.put(r#"},"image":"#);
        put_blob(random, out);
        out.put("}");
    }
    out.put("]}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_specials_are_without_escapes() {
        for (json, bytes) in SPECIALS {
            let text: String = serde_json::from_str(&format!("\"{json}\"")).unwrap();
            assert_eq!(text.len(), *bytes, "{json}");
        }
    }
}
