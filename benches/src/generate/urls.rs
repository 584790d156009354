//! URLs like those that a web counter records. Few hosts are most of them, paths and parameters are of few
//! kinds, and they contain many different numbers.

use super::random::Random;
use super::text::Put;

/// A source of URLs; one has nothing to do with the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Urls;

/// Hosts, the most frequent first.
#[rustfmt::skip]
const HOSTS: &[&str] = &[
    "auto.example.com", "realty.example.org", "www.shop.example.net", "forum.example.com", "video.example.org", "news.example.net",
    "kinopoisk-film.example.com", "smeshariki.example.org", "afisha.example.net", "sosyal-mansetleri.example.com", "rukodelie.example.org",
    "irr.example.net", "lenta.example.com", "domchel.example.org", "diary.example.net", "love.planet.example.com", "holodilnik.example.org",
    "tambov.irr.example.net", "pogoda.example.com", "mail.example.org", "wildberries.example.net", "e96.example.com", "msk.tury.example.org",
    "slovari.example.net", "video-joineryday.example.com", "bonprix.example.org", "gorod.example.net", "mobile.example.com",
];

#[rustfmt::skip]
const SECTIONS: &[&str] = &[
    "search", "catalog", "cars/used/sale", "real-estate/apartments-sale", "kvartiry/prodam", "product", "forum/showthread.php", "club/item",
    "movies/online", "detail", "news/politics", "wiki/article", "photo/album", "blog/post", "category/women/dress", "offers", "rent/rooms",
    "page/filter", "user/profile", "index.php", "obyavleniya/transport", "hotels/turkey", "cart/add", "download",
];

#[rustfmt::skip]
const BRANDS: &[&str] = &[
    "toyota", "volkswagen", "vaz_2110", "bmw", "mercedes-benz", "nissan", "samsung", "nokia", "philips", "bosch", "adidas", "lego", "sony",
    "ford", "mazda", "opel", "renault_logan", "hyundai", "kia", "chevrolet", "indesit", "lg", "canon", "asus",
];

#[rustfmt::skip]
const PARAMETERS: &[&str] = &[
    "page", "id", "pid", "cat", "price_from", "price_to", "sort", "region", "sid", "state", "year", "rooms", "ref", "film", "text", "mode",
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "desc", "asc", "moscow", "spb", "new", "all", "date", "%D0%BA%D1%83%D0%BF%D0%B8%D1%82%D1%8C", "kupit", "price", "true", "0", "1", "list",
    "%D0%BC%D0%BE%D1%81%D0%BA%D0%B2%D0%B0", "krasnodar", "photo", "1_komnatnye", "sedan", "main",
];

impl Urls {
    /// Appends one URL.
    pub(super) fn record(self, random: &mut Random, out: &mut Vec<u8>) {
        out.put(if random.chance(60) { "https://" } else { "http://" });
        out.put(random.skewed(HOSTS));
        out.push(b'/');
        // Some are front pages, or those that are read the most.
        if random.chance(70) {
            return;
        }
        out.put(random.skewed(SECTIONS));
        if random.chance(150) {
            out.push(b'/');
            out.put_number(random.count(7));
            return;
        }
        if random.chance(450) {
            out.push(b'/');
            out.put(random.skewed(BRANDS));
        }
        if random.chance(350) {
            out.push(b'/');
            out.put_number(random.count(28));
            out.put(if random.chance(600) { ".html" } else { "/" });
        }
        let parameters = random.below(5);
        for at in 0..parameters {
            out.push(if at == 0 { b'?' } else { b'&' });
            out.put(random.skewed(PARAMETERS));
            out.push(b'=');
            match random.below(10) {
                0..=4 => out.put_number(random.count(24)),
                5 => {
                    let bits = random.bits();
                    out.put_code(bits, 10);
                }
                _ => out.put(random.skewed(WORDS)),
            }
        }
        if random.chance(40) {
            out.put("#");
            out.put(random.skewed(WORDS));
        }
    }
}
