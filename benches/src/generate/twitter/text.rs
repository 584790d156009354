//! The text of a tweet, and its entities.

use super::user::Handle;
use super::words::{EMOJI, Language, SPECIALS};
use super::{LONGEST_TEXT, put_id, put_short_link, slug};
use crate::generate::random::Random;
use crate::generate::text::Put;

/// The text of a tweet, and the parts of it that `entities` lists. Positions are in characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) json: Vec<u8>,
    pub(super) chars: u32,
    /// The length of the part in `text` if the whole is too long: characters, bytes.
    pub(super) cut: (u32, usize),
    hashtags: Vec<Hashtag>,
    mentions: Vec<Mention>,
    pub(super) urls: Vec<Url>,
    pub(super) media: Option<Media>,
}

#[derive(Clone, Debug)]
struct Hashtag {
    at: (u32, u32),
    word: &'static str,
}

#[derive(Clone, Debug)]
struct Mention {
    at: (u32, u32),
    user: Handle,
}

#[derive(Clone, Debug)]
pub(super) struct Url {
    at: (u32, u32),
    bits: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Media {
    at: (u32, u32),
    bits: u64,
}

impl Text {
    fn clear(&mut self) {
        self.json.clear();
        self.chars = 0;
        self.cut = (0, 0);
        self.hashtags.clear();
        self.mentions.clear();
        self.urls.clear();
        self.media = None;
    }

    /// Appends `json`, in which each character represents one of the text.
    fn push(&mut self, json: &str, ascii: bool) {
        self.json.put_text(json, ascii);
        self.chars += json.chars().count() as u32;
    }

    /// Appends `json`, which may have escapes.
    fn push_special(&mut self, json: &str, ascii: bool) {
        self.json.put_text(json, ascii);
        self.chars += unescaped_chars(json);
    }

    /// Replaces the text by a new one in `language`.
    pub(super) fn write(&mut self, random: &mut Random, language: &'static Language, ascii: bool) {
        self.clear();
        let long = random.chance(300);
        let length = if long { random.between(150, 280) } else { random.between(80, 139) };
        // A character of a script without spaces says more.
        let length = if language.space.is_empty() && !long { length / 2 } else { length };
        while self.chars < length {
            match random.below(64) {
                0 | 6 => self.push(random.pick(EMOJI), ascii),
                1 | 2 => {
                    let word = random.pick(language.words);
                    let start = self.chars;
                    self.push("#", ascii);
                    self.push(word, ascii);
                    self.hashtags.push(Hashtag { at: (start, self.chars), word });
                }
                3 => {
                    let user = Handle::new(random);
                    let start = self.chars;
                    self.mention(user);
                    self.mentions.push(Mention { at: (start, self.chars), user });
                }
                4 => self.push_special(random.pick(SPECIALS), ascii),
                5 => self.push_special(r"\n", ascii),
                _ => self.push(random.pick(language.words), ascii),
            }
            self.push(language.space, ascii);
            if self.chars <= LONGEST_TEXT - 20 {
                self.cut = (self.chars, self.json.len());
            }
        }
        if random.chance(700) {
            let bits = random.bits();
            let at = self.link(bits);
            self.urls.push(Url { at, bits });
        }
        if random.chance(60) {
            let bits = random.bits();
            let at = self.link(bits);
            self.media = Some(Media { at, bits });
        }
    }

    /// Replaces the text by `RT @user: ` and the text of `inner`, with its entities moved.
    pub(super) fn repeat(&mut self, inner: &Text, user: Handle) {
        self.clear();
        self.push("RT ", false);
        let start = self.chars;
        self.mention(user);
        self.mentions.push(Mention { at: (start, self.chars), user });
        self.push(": ", false);
        let (by, by_bytes) = (self.chars, self.json.len());
        let moved = |at: (u32, u32)| (at.0 + by, at.1 + by);
        self.json.extend_from_slice(&inner.json);
        self.chars += inner.chars;
        self.cut = (inner.cut.0 + by, inner.cut.1 + by_bytes);
        self.hashtags.extend(inner.hashtags.iter().map(|tag| Hashtag { at: moved(tag.at), ..*tag }));
        self.mentions
            .extend(inner.mentions.iter().map(|mention| Mention { at: moved(mention.at), ..*mention }));
        self.urls.extend(inner.urls.iter().map(|url| Url { at: moved(url.at), ..*url }));
        self.media = inner.media.as_ref().map(|media| Media { at: moved(media.at), ..*media });
    }

    fn mention(&mut self, user: Handle) {
        let start = self.json.len();
        self.json.push(b'@');
        user.put_screen_name(&mut self.json);
        self.chars += (self.json.len() - start) as u32;
    }

    /// Appends a short link, and returns its position.
    fn link(&mut self, bits: u64) -> (u32, u32) {
        self.push(" ", false);
        let start = self.chars;
        put_short_link(&mut self.json, bits);
        // https://t.example/ and the code.
        self.chars += 18 + 10;
        (start, self.chars)
    }

    /// Appends `"entities":{…}`, and `"extended_entities":{…}` if there is a picture, with those that end
    /// within the first `shown` characters.
    pub(super) fn put_entities(&self, out: &mut Vec<u8>, shown: u32, author: Handle, ascii: bool) {
        out.put(r#""entities":{"hashtags":["#);
        put_list(out, self.hashtags.iter().filter(|tag| tag.at.1 <= shown), |out, tag| {
            out.put(r#"{"text":""#);
            out.put_text(tag.word, ascii);
            out.put(r#"","#);
            put_indices(out, tag.at);
            out.put("}");
        });
        out.put(r#"],"urls":["#);
        put_list(out, self.urls.iter().filter(|url| url.at.1 <= shown), |out, url| {
            out.put(r#"{"url":""#);
            put_short_link(out, url.bits);
            out.put(r#"","expanded_url":"https:\/\/www.news.example\/2017\/03\/01\/"#);
            out.put_number(url.bits >> 40);
            for ix in 0..8 {
                out.put("-");
                out.put(slug(url.bits, ix));
            }
            out.put(r#".html?utm_source=feed&utm_medium=social&utm_campaign=daily\u0026ref=t","display_url":"news.example\/2017\/03\/01\/"#);
            out.put_number(url.bits >> 40);
            out.put_text(r#"…","#, ascii);
            put_indices(out, url.at);
            out.put("}");
        });
        out.put(r#"],"user_mentions":["#);
        put_list(out, self.mentions.iter().filter(|mention| mention.at.1 <= shown), |out, mention| {
            out.put(r#"{"screen_name":""#);
            mention.user.put_screen_name(out);
            out.put(r#"","name":""#);
            out.put_text(mention.user.name, ascii);
            out.put(r#"","#);
            put_id(out, "id", mention.user.id);
            out.put(",");
            put_indices(out, mention.at);
            out.put("}");
        });
        out.put(r#"],"symbols":[]"#);
        let media = self.media.as_ref().filter(|media| media.at.1 <= shown);
        if let Some(media) = media {
            out.put(",");
            put_media(out, media, author);
        }
        out.put("}");
        if let Some(media) = media {
            out.put(r#","extended_entities":{"#);
            put_media(out, media, author);
            out.put("}");
        }
    }
}

/// The number of characters that the string source `json` represents.
pub(super) fn unescaped_chars(json: &str) -> u32 {
    let mut chars = json.chars();
    let mut count = 0;
    while let Some(char) = chars.next() {
        let mut unit = 0;
        if char == '\\' && chars.next() == Some('u') {
            unit = chars.by_ref().take(4).fold(0, |unit, digit| unit << 4 | digit.to_digit(16).unwrap_or(0));
        }
        // The second half of a surrogate pair is no character of its own.
        count += u32::from(!(0xdc00..0xe000).contains(&unit));
    }
    count
}

fn put_indices(out: &mut Vec<u8>, at: (u32, u32)) {
    out.put(r#""indices":["#);
    out.put_number(u64::from(at.0));
    out.put(",");
    out.put_number(u64::from(at.1));
    out.put("]");
}

fn put_list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, put: impl Fn(&mut Vec<u8>, T)) {
    for (ix, item) in items.enumerate() {
        if ix > 0 {
            out.put(",");
        }
        put(out, item);
    }
}

/// Appends `"media":[…]` with one picture.
fn put_media(out: &mut Vec<u8>, media: &Media, author: Handle) {
    let id = 700_000_000_000_000_000 + (media.bits >> 8);
    out.put(r#""media":[{"#);
    put_id(out, "id", id);
    out.put(",");
    put_indices(out, media.at);
    for (key, scheme) in [(r#","media_url":""#, "http"), (r#"","media_url_https":""#, "https")] {
        out.put(key);
        out.put(scheme);
        out.put(r":\/\/pbs.img.example\/media\/");
        out.put_code(media.bits >> 4, 10);
        out.put("C6.jpg");
    }
    out.put(r#"","url":""#);
    put_short_link(out, media.bits);
    out.put(r#"","display_url":"pic.t.example\/"#);
    out.put_code(media.bits, 10);
    out.put(r#"","expanded_url":"https:\/\/tweets.example\/"#);
    author.put_screen_name(out);
    out.put(r"\/status\/");
    out.put_number(id);
    out.put(r#"\/photo\/1","type":"photo","sizes":{"small":{"w":680,"h":510,"resize":"fit"},"#);
    out.put(r#""thumb":{"w":150,"h":150,"resize":"crop"},"medium":{"w":1200,"h":900,"resize":"fit"},"#);
    out.put(r#""large":{"w":2048,"h":1536,"resize":"fit"}}}]"#);
}
