//! Users: the author of a tweet, and the others that it names.

use super::words::{ADJECTIVES, EMOJI, LOCATIONS, Language, NAMES, NOUNS, SPECIALS, TIME_ZONES};
use super::{put_id, put_short_link, slug};
use crate::generate::random::Random;
use crate::generate::text::{Moment, Put};

/// The properties of a user that appear in other tweets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    pub(super) id: u64,
    pub(super) name: &'static str,
    adjective: &'static str,
    noun: &'static str,
    number: u32,
}

/// The properties of a tweet's author on which its text depends.
#[derive(Clone, Copy)]
pub(super) struct Author {
    pub(super) handle: Handle,
    pub(super) language: &'static Language,
}

impl Handle {
    pub(super) fn new(random: &mut Random) -> Self {
        Self {
            id: 1_000 + random.count(32),
            name: random.pick(NAMES),
            adjective: random.pick(ADJECTIVES),
            noun: random.pick(NOUNS),
            number: random.below(10_000),
        }
    }

    pub(super) fn put_screen_name(self, out: &mut Vec<u8>) {
        out.put(self.adjective);
        out.put(self.noun);
        out.put_number(u64::from(self.number));
    }
}

impl Author {
    pub(super) fn new(random: &mut Random) -> Self {
        Self { language: Language::drawn(random), handle: Handle::new(random) }
    }
}

/// Appends a name as people give to their pictures, `ten_years_after_the_storm_again_BRne2X8q5b`.
fn put_file_name(out: &mut Vec<u8>, bits: u64) {
    for ix in 0..6 {
        out.put(slug(bits, ix));
        out.put("_");
    }
    out.put_code(bits, 10);
}

pub(super) fn put_user(random: &mut Random, out: &mut Vec<u8>, author: Author, sent_ms: u64, ascii: bool) {
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
