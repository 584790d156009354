//! Tweets with the keys, and the order of the keys, of Twitter's streaming API, version 1.1.

mod words;

use super::random::Random;
use super::text::{Moment, Put};
use words::{
    ADJECTIVES, CITIES, EMOJI, LANGUAGES, LOCATIONS, Language, NAMES, NOUNS, SLUGS, SOURCES, SPECIALS,
    TIME_ZONES,
};

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

/// The text of a tweet, and the parts of it that `entities` lists. Positions are in characters.
#[derive(Clone, Debug, Default)]
struct Text {
    json: Vec<u8>,
    chars: u32,
    /// The length of the part in `text` if the whole is too long: characters, bytes.
    cut: (u32, usize),
    hashtags: Vec<Hashtag>,
    mentions: Vec<Mention>,
    urls: Vec<Url>,
    media: Option<Media>,
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
struct Url {
    at: (u32, u32),
    bits: u64,
}

#[derive(Clone, Debug)]
struct Media {
    at: (u32, u32),
    bits: u64,
}

/// The properties of a user that appear in other tweets.
#[derive(Clone, Copy, Debug)]
struct Handle {
    id: u64,
    name: &'static str,
    adjective: &'static str,
    noun: &'static str,
    number: u32,
}

/// The properties of a tweet's author on which its text depends.
#[derive(Clone, Copy)]
struct Author {
    handle: Handle,
    language: &'static Language,
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
    fn write(&mut self, random: &mut Random, language: &'static Language, ascii: bool) {
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
    fn repeat(&mut self, inner: &Text, user: Handle) {
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
    fn put_entities(&self, out: &mut Vec<u8>, shown: u32, author: Handle, ascii: bool) {
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

impl Handle {
    fn new(random: &mut Random) -> Self {
        Self {
            id: 1_000 + random.count(32),
            name: random.pick(NAMES),
            adjective: random.pick(ADJECTIVES),
            noun: random.pick(NOUNS),
            number: random.below(10_000),
        }
    }

    fn put_screen_name(self, out: &mut Vec<u8>) {
        out.put(self.adjective);
        out.put(self.noun);
        out.put_number(u64::from(self.number));
    }
}

impl Author {
    fn new(random: &mut Random) -> Self {
        let mut rest = random.below(1000);
        let language = LANGUAGES.iter().find(|language| {
            let found = rest < language.per_mille;
            rest = rest.saturating_sub(language.per_mille);
            found
        });
        Self { handle: Handle::new(random), language: language.unwrap_or(&LANGUAGES[0]) }
    }
}

/// The id of a tweet sent at `sent_ms`: the time, and 22 bits that distinguish it from others of the same
/// time.
fn id_at(sent_ms: u64, random: &mut Random) -> u64 {
    (sent_ms - ID_EPOCH_MS) << 22 | random.bits() >> 42
}

/// The number of characters that the string source `json` represents.
fn unescaped_chars(json: &str) -> u32 {
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

fn put_short_link(out: &mut Vec<u8>, bits: u64) {
    out.put(r"https:\/\/t.example\/");
    out.put_code(bits, 10);
}

/// One of the words that `bits` choose.
fn slug(bits: u64, ix: u32) -> &'static str {
    SLUGS[(bits >> (6 * ix)) as usize % SLUGS.len()]
}

/// Appends a name as people give to their pictures, `ten_years_after_the_storm_again_BRne2X8q5b`.
fn put_file_name(out: &mut Vec<u8>, bits: u64) {
    for ix in 0..6 {
        out.put(slug(bits, ix));
        out.put("_");
    }
    out.put_code(bits, 10);
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

fn put_user(random: &mut Random, out: &mut Vec<u8>, author: Author, sent_ms: u64, ascii: bool) {
    let handle = author.handle;
    out.put("{");
    put_id(out, "id", handle.id);
    out.put(r#","name":""#);
    out.put_text(handle.name, ascii);
    out.put(r#"","screen_name":""#);
    handle.put_screen_name(out);
    out.put(r#"","location":"#);
    match random.pick(LOCATIONS) {
        "" => out.put("null"),
        location => {
            out.put(r#"""#);
            out.put_text(location, ascii);
            out.put(r#"""#);
        }
    }
    out.put(r#","url":"#);
    if random.chance(500) {
        out.put(r#"""#);
        put_short_link(out, random.bits());
        out.put(r#"""#);
    } else {
        out.put("null");
    }
    out.put(r#","description":"#);
    if random.chance(920) {
        out.put(r#"""#);
        put_description(random, out, author.language, ascii);
        out.put(r#"""#);
    } else {
        out.put("null");
    }
    out.put(r#","translator_type":"none","protected":false,"verified":"#);
    out.put_bool(random.chance(15));
    for (key, digits) in [
        (r#","followers_count":"#, 16),
        (r#","friends_count":"#, 12),
        (r#","listed_count":"#, 8),
        (r#","favourites_count":"#, 15),
        (r#","statuses_count":"#, 17),
    ] {
        out.put(key);
        out.put_number(random.count(digits));
    }
    out.put(r#","created_at":""#);
    // Some time in the ten years before.
    Moment::from_unix(sent_ms / 1000 - u64::from(random.below(315_360_000))).put_long(out);
    let (time_zone, utc_offset) = random.pick(TIME_ZONES);
    out.put(r#"","utc_offset":"#);
    out.put(utc_offset);
    out.put(r#","time_zone":"#);
    out.put(time_zone);
    out.put(r#","geo_enabled":"#);
    out.put_bool(random.chance(450));
    out.put(r#","lang":""#);
    out.put(author.language.code);
    out.put(r#"","contributors_enabled":false,"is_translator":false,"profile_background_color":""#);
    let colours = random.bits();
    out.put_hex(colours, 6);
    let bits = random.bits();
    for (key, scheme) in [
        (r#"","profile_background_image_url":""#, "http"),
        (r#"","profile_background_image_url_https":""#, "https"),
    ] {
        out.put(key);
        out.put(scheme);
        // Either one of the themes or a picture of the user's own.
        if bits & 3 == 0 {
            out.put(r":\/\/abs.img.example\/images\/themes\/theme");
            out.put_number(bits % 19 + 1);
            out.put(r"\/bg.png");
        } else {
            out.put(r":\/\/pbs.img.example\/profile_background_images\/");
            out.put_number(400_000_000_000_000_000 + (bits >> 8));
            out.put(r"\/");
            put_file_name(out, bits >> 5);
            out.put(".jpeg");
        }
    }
    out.put(r#"","profile_background_tile":"#);
    out.put_bool(random.chance(200));
    out.put(r#","profile_link_color":""#);
    out.put_hex(colours >> 12, 6);
    out.put(r#"","profile_sidebar_border_color":""#);
    out.put_hex(colours >> 24, 6);
    out.put(r#"","profile_sidebar_fill_color":""#);
    out.put_hex(colours >> 32, 6);
    out.put(r#"","profile_text_color":""#);
    out.put_hex(colours >> 40, 6);
    out.put(r#"","profile_use_background_image":true"#);
    for (key, scheme) in
        [(r#","profile_image_url":""#, "http"), (r#"","profile_image_url_https":""#, "https")]
    {
        out.put(key);
        out.put(scheme);
        out.put(r":\/\/pbs.img.example\/profile_images\/");
        out.put_number(600_000_000_000_000_000 + (bits >> 8));
        out.put(r"\/");
        put_file_name(out, bits);
        out.put("_normal.jpeg");
    }
    if random.chance(900) {
        out.put(r#"","profile_banner_url":"https:\/\/pbs.img.example\/profile_banners\/"#);
        out.put_number(handle.id);
        out.put(r"\/");
        out.put_number(sent_ms / 1000 - (bits >> 40));
    }
    let plain = random.chance(500);
    out.put(r#"","default_profile":"#);
    out.put_bool(plain);
    out.put(
        r#","default_profile_image":false,"following":null,"follow_request_sent":null,"notifications":null}"#,
    );
}

fn put_description(random: &mut Random, out: &mut Vec<u8>, language: &Language, ascii: bool) {
    let end = random.between(110, 160);
    let mut chars = 0;
    while chars < end {
        let word = match random.below(48) {
            0 => random.pick(EMOJI),
            1 => random.pick(SPECIALS),
            2 => r"\n",
            3 => "|",
            _ => random.pick(language.words),
        };
        out.put_text(word, ascii);
        out.put(language.space);
        chars += (word.chars().count() + language.space.len()) as u32;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
