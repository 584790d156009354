//! Tweets with the keys, and the order of the keys, of Twitter's streaming API, version 1.1.

mod text;
mod user;
pub(super) mod words;

use super::random::Random;
use super::text::{Moment, Put};
use text::Text;
use user::{Author, Handle, put_user};
use words::{CITIES, SLUGS, SOURCES};

/// 2017-03-01 00:00:00 UTC, in milliseconds of Unix time: the moment of the first tweet.
const FIRST_TWEET_MS: u64 = 1_488_326_400_000;

/// Tweets of one block take about this long: 225 tweets, one each 13 ms.
const BLOCK_MS: u64 = 3_000;

/// The beginning of the time in a tweet's id (Twitter's "snowflake" ids), in milliseconds of Unix time.
const ID_EPOCH_MS: u64 = 1_288_834_974_657;

/// The length of the longest text, in characters. A longer one is cut, and is whole in `extended_tweet`.
const LONGEST_TEXT: u32 = 140;

/// A source of tweets: its clock, and room for what is being written.
#[derive(Clone, Debug)]
pub(super) struct Tweets {
    now_ms: u64,
    /// The text of the tweet of each [`Role`].
    texts: [Text; 3],
}

/// The position of a tweet in the record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The record itself.
    Top = 0,
    /// In the record, as `retweeted_status`.
    Retweeted = 1,
    /// In one of the others, as `quoted_status`.
    Quoted = 2,
}

impl Tweets {
    pub(super) fn new(block: u64) -> Self {
        Self { now_ms: FIRST_TWEET_MS + block * BLOCK_MS, texts: Default::default() }
    }

    /// Appends one tweet.
    pub(super) fn record(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        self.now_ms += u64::from(random.between(1, 25));
        // Most tweets are as the API sent them, with all characters beyond ASCII escaped. The others are as a
        // later program wrote them.
        let ascii = random.chance(800);
        let author = Author::new(random);
        let id = id_at(self.now_ms, random);
        self.tweet(random, out, Role::Top, (id, self.now_ms), author, ascii);
    }

    fn tweet(
        &mut self,
        random: &mut Random,
        out: &mut Vec<u8>,
        role: Role,
        (id, sent_ms): (u64, u64),
        author: Author,
        ascii: bool,
    ) {
        let retweeted = (role == Role::Top && random.chance(300)).then(|| Author::new(random));
        // The text of a retweet repeats the text inside it, so that is made first.
        let slot = role as usize;
        if role != Role::Retweeted {
            self.texts[slot].write(random, author.language, ascii);
        }
        if let Some(original) = retweeted {
            let [outer, inner, _] = &mut self.texts;
            inner.write(random, original.language, ascii);
            outer.repeat(inner, original.handle);
        }
        let quoted = retweeted.is_none() && role != Role::Quoted && random.chance(40);
        let text = &self.texts[slot];
        let truncated = text.chars > LONGEST_TEXT;

        out.put(r#"{"created_at":""#);
        Moment::from_unix(sent_ms / 1000).put_long(out);
        out.put(r#"","#);
        put_id(out, "id", id);
        out.put(r#","text":""#);
        if truncated {
            out.extend_from_slice(&text.json[..text.cut.1]);
            out.put_text("…", ascii);
        } else {
            out.extend_from_slice(&text.json);
        }
        out.put(r#"","source":""#);
        out.put_text(random.pick(SOURCES), ascii);
        out.put(r#"","truncated":"#);
        out.put_bool(truncated);
        if retweeted.is_none() && random.chance(250) {
            let asked = Handle::new(random);
            put_reply(out, Some((id_at(sent_ms - u64::from(random.below(3_600_000)), random), asked)));
        } else {
            put_reply(out, None);
        }
        out.put(r#","user":"#);
        put_user(random, out, author, sent_ms, ascii);
        put_place(random, out, ascii);
        out.put(r#","contributors":null"#);
        if let Some(original) = retweeted {
            out.put(r#","retweeted_status":"#);
            let before_ms = sent_ms - u64::from(random.below(86_400_000));
            let id = id_at(before_ms, random);
            self.tweet(random, out, Role::Retweeted, (id, before_ms), original, ascii);
        }
        if quoted {
            let before_ms = sent_ms - u64::from(random.below(86_400_000));
            out.put(",");
            let id = id_at(before_ms, random);
            put_id(out, "quoted_status_id", id);
            out.put(r#","quoted_status":"#);
            let author = Author::new(random);
            self.tweet(random, out, Role::Quoted, (id, before_ms), author, ascii);
        }
        let text = &self.texts[slot];
        out.put(r#","is_quote_status":"#);
        out.put_bool(quoted);
        if truncated {
            out.put(r#","extended_tweet":{"full_text":""#);
            out.extend_from_slice(&text.json);
            out.put(r#"","display_text_range":[0,"#);
            out.put_number(u64::from(text.chars));
            out.put("],");
            text.put_entities(out, u32::MAX, author.handle, ascii);
            out.put("}");
        }
        let popular = if role == Role::Top { 0 } else { 14 };
        for key in
            [r#","quote_count":"#, r#","reply_count":"#, r#","retweet_count":"#, r#","favorite_count":"#]
        {
            out.put(key);
            out.put_number(random.count(popular));
        }
        out.put(",");
        let shown = if truncated { text.cut.0 } else { u32::MAX };
        text.put_entities(out, shown, author.handle, ascii);
        out.put(r#","favorited":false,"retweeted":false"#);
        if text.media.is_some() || !text.urls.is_empty() {
            out.put(r#","possibly_sensitive":"#);
            out.put_bool(random.chance(20));
        }
        out.put(r#","filter_level":"low","lang":""#);
        let language = if random.chance(900) { author.language.code } else { "und" };
        out.put(language);
        out.put(r#"""#);
        if role == Role::Top {
            out.put(r#","timestamp_ms":""#);
            out.put_number(sent_ms);
            out.put(r#"""#);
        }
        out.put("}");
    }
}

/// The id of a tweet sent at `sent_ms`: the time, and 22 bits that distinguish it from others of the same
/// time.
fn id_at(sent_ms: u64, random: &mut Random) -> u64 {
    (sent_ms - ID_EPOCH_MS) << 22 | random.bits() >> 42
}

/// Appends `"key":id,"key_str":"id"`.
fn put_id(out: &mut Vec<u8>, key: &str, id: u64) {
    out.put(r#"""#);
    out.put(key);
    out.put(r#"":"#);
    let start = out.len();
    out.put_number(id);
    let end = out.len();
    out.put(r#",""#);
    out.put(key);
    out.put(r#"_str":""#);
    out.extend_from_within(start..end);
    out.put(r#"""#);
}

fn put_short_link(out: &mut Vec<u8>, bits: u64) {
    out.put(r"https:\/\/t.example\/");
    out.put_code(bits, 10);
}

/// One of the words that `bits` choose.
fn slug(bits: u64, ix: u32) -> &'static str {
    SLUGS[(bits >> (6 * ix)) as usize % SLUGS.len()]
}

fn put_reply(out: &mut Vec<u8>, to: Option<(u64, Handle)>) {
    let Some((id, user)) = to else {
        out.put(r#","in_reply_to_status_id":null,"in_reply_to_status_id_str":null"#);
        out.put(
            r#","in_reply_to_user_id":null,"in_reply_to_user_id_str":null,"in_reply_to_screen_name":null"#,
        );
        return;
    };
    out.put(",");
    put_id(out, "in_reply_to_status_id", id);
    out.put(",");
    put_id(out, "in_reply_to_user_id", user.id);
    out.put(r#","in_reply_to_screen_name":""#);
    user.put_screen_name(out);
    out.put(r#"""#);
}

/// Appends `geo`, `coordinates` and `place`; most tweets have none.
fn put_place(random: &mut Random, out: &mut Vec<u8>, ascii: bool) {
    let placed = random.chance(40);
    if !placed {
        out.put(r#","geo":null,"coordinates":null,"place":null"#);
        return;
    }
    let (city, code, country, longitude, latitude) = random.pick(CITIES);
    let (west, south) = (longitude - 150_000, latitude - 90_000);
    let (east, north) = (longitude + 150_000, latitude + 90_000);
    if random.chance(500) {
        let longitude = west + i64::from(random.below(300_000));
        let latitude = south + i64::from(random.below(180_000));
        out.put(r#","geo":{"type":"Point","coordinates":["#);
        out.put_degrees(latitude);
        out.put(",");
        out.put_degrees(longitude);
        out.put(r#"]},"coordinates":{"type":"Point","coordinates":["#);
        out.put_degrees(longitude);
        out.put(",");
        out.put_degrees(latitude);
        out.put("]}");
    } else {
        out.put(r#","geo":null,"coordinates":null"#);
    }
    let bits = random.bits();
    out.put(r#","place":{"id":""#);
    out.put_hex(bits, 16);
    out.put(r#"","url":"https:\/\/api.example\/1.1\/geo\/id\/"#);
    out.put_hex(bits, 16);
    out.put(r#".json","place_type":"city","name":""#);
    out.put_text(city, ascii);
    out.put(r#"","full_name":""#);
    out.put_text(city, ascii);
    out.put(", ");
    out.put_text(country, ascii);
    out.put(r#"","country_code":""#);
    out.put(code);
    out.put(r#"","country":""#);
    out.put_text(country, ascii);
    out.put(r#"","bounding_box":{"type":"Polygon","coordinates":[["#);
    for (ix, (x, y)) in [(west, south), (west, north), (east, north), (east, south)].into_iter().enumerate() {
        out.put(if ix > 0 { ",[" } else { "[" });
        out.put_degrees(x);
        out.put(",");
        out.put_degrees(y);
        out.put("]");
    }
    out.put(r#"]]},"attributes":{}}"#);
}

#[cfg(test)]
mod tests {
    use super::text::unescaped_chars;
    use super::words::{EMOJI, LANGUAGES, LOCATIONS, NAMES, SOURCES, SPECIALS};

    #[test]
    fn shares_of_languages_add_up() {
        assert_eq!(LANGUAGES.iter().map(|language| language.per_mille).sum::<u32>(), 1000);
    }

    #[test]
    fn escapes_count_as_what_they_stand_for() {
        for json in SPECIALS.iter().chain(EMOJI).chain(NAMES).chain(LOCATIONS).chain(SOURCES) {
            let text: String = serde_json::from_str(&format!("\"{json}\"")).unwrap();
            assert_eq!(unescaped_chars(json), text.chars().count() as u32, "{json}");
        }
    }

    #[test]
    fn words_need_no_escapes() {
        for word in LANGUAGES.iter().flat_map(|language| language.words).chain(EMOJI) {
            assert!(!word.contains(['\\', '"', '/']) && !word.chars().any(char::is_control), "{word}");
        }
    }
}
