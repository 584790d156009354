//! Products with the keys of Walmart's catalogue: small records of plain fields, a few of them rare.

use super::random::Random;
use super::text::{Put, put_words};

/// A source of products.
#[derive(Clone, Debug)]
pub(super) struct Products {
    next_id: u64,
}

#[rustfmt::skip]
const MAKES: &[&str] = &[
    "Northfield", "Acme", "Lumo", "Kestrel", "Bright & Co", "Solène", "Pinewood", "Tidewater", "O'Hara's", "Zephyr",
    "Grünwald", "Little Fox",
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "cotton", "blue", "stainless", "steel", "kitchen", r#"12\""#, "set", "of", "4", "kids", "outdoor", "folding", "chair",
    "wireless", "lamp", "(2-pack)", "organic", "soft", "mug", "with", "lid", "garden", "hose", r"1\/2", "inch", "LED",
    "travel", "bag", "black", "wooden", "toy", "train", "curtain", "panel", "crème", "size", "large", "x", "classic",
    "winter", "boots", "women's", "men's", "phone", "case", "cable", "coffee", "table", "rug", "pillow",
];

#[rustfmt::skip]
const CATEGORIES: &[&str] = &[
    r"Home\/Kitchen & Dining\/Drinkware", r"Electronics\/Cell Phones\/Cases", r"Toys\/Trains & Sets",
    r"Patio & Garden\/Watering\/Hoses", r"Clothing\/Women\/Shoes\/Boots", r"Home\/Furniture\/Living Room\/Coffee Tables",
    r"Sports & Outdoors\/Camping\/Chairs", r"Home Improvement\/Lighting\/Lamps", r"Baby\/Bedding",
];

const COLOURS: &[&str] = &["Black", "White", "Navy Blue", "Red", "Multicolor", "Café au lait", "Gray"];

const SELLERS: &[&str] =
    &["Bargain Barn", "Shop-4-Less", r#"The \"Good\" Store"#, "Maple Trade, LLC", "EZ Goods"];

impl Products {
    pub(super) fn new(block: u64) -> Self {
        // A block has about a thousand products, and ids grow by eight on average.
        Self { next_id: 12_000_000 + block * 16_384 }
    }

    /// Appends one product.
    pub(super) fn record(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        self.next_id += u64::from(random.between(1, 15));
        let id = self.next_id;
        let bits = random.bits();
        let cents = u64::from(random.between(99, 39_999));
        let make = random.pick(MAKES);
        out.put(r#"{"itemId":"#);
        out.put_number(id);
        out.put(r#","parentItemId":"#);
        out.put_number(id - bits % 8);
        out.put(r#","name":""#);
        out.put(make);
        out.push(b' ');
        put_words(out, random, WORDS, 15, 70);
        if random.chance(600) {
            out.put(r#"","msrp":"#);
            out.put_money(cents + cents / 4);
            out.put(r#","salePrice":"#);
        } else {
            out.put(r#"","salePrice":"#);
        }
        out.put_money(cents);
        out.put(r#","upc":""#);
        out.put_digits(bits >> 26, 12);
        out.put(r#"","categoryPath":""#);
        out.put(random.pick(CATEGORIES));
        if random.chance(700) {
            out.put(r#"","shortDescription":""#);
            put_words(out, random, WORDS, 40, 140);
        }
        out.put(r#"","brandName":""#);
        out.put(make);
        for (key, size) in [(r#"","thumbnailImage":""#, "100X100"), (r#"","largeImage":""#, "500X500")] {
            out.put(key);
            out.put(r"https:\/\/i5.images.example\/asr\/");
            out.put_hex(bits, 16);
            out.put("_1.");
            out.put_hex(bits >> 7, 12);
            out.put(".jpeg?odnHeight=");
            out.put(size);
        }
        out.put(r#"","productTrackingUrl":""#);
        put_product_link(out, id, bits);
        out.put(r#"","standardShipRate":"#);
        out.put_money(random.pick(&[0, 0, 499, 597]));
        out.put(r#","marketplace":"#);
        out.put_bool(random.chance(400));
        out.put(r#","shipToStore":"#);
        out.put_bool(random.chance(600));
        if random.chance(500) {
            out.put(r#","color":""#);
            out.put(random.pick(COLOURS));
            out.put(r#"""#);
        }
        if random.chance(800) {
            out.put(r#","modelNumber":""#);
            out.put_code(bits >> 5, 8);
            out.put(r#"""#);
        }
        if random.chance(650) {
            out.put(r#","customerRating":""#);
            out.put_number(u64::from(random.between(1, 4)));
            out.push(b'.');
            out.put_digits(u64::from(random.below(1000)), 3);
            out.put(r#"","numReviews":"#);
            out.put_number(random.count(12));
        }
        out.put(r#","categoryNode":""#);
        out.put_number(bits % 4_000_000);
        out.put(r#"","bundle":false,"clearance":"#);
        out.put_bool(random.chance(80));
        out.put(r#","stock":""#);
        out.put(random.pick(&[
            "Available",
            "Available",
            "Limited Supply",
            "Last few items",
            "Not available",
        ]));
        out.put(r#"","attributes":{"#);
        for (ix, key) in ["material", "assembledProductWeight", "recommendedRoom"].into_iter().enumerate() {
            out.put(if ix > 0 { r#",""# } else { r#"""# });
            out.put(key);
            out.put(r#"":""#);
            out.put(random.pick(WORDS));
            out.put(r#"""#);
        }
        out.put("}");
        if random.chance(300) {
            out.put(r#","bestMarketplacePrice":{"price":"#);
            out.put_money(cents - cents / 10);
            out.put(r#","sellerInfo":""#);
            out.put(random.pick(SELLERS));
            out.put(r#"","standardShipRate":"#);
            out.put_money(random.pick(&[0, 399, 599]));
            out.put(r#","twoThreeDayShippingRate":"#);
            out.put_money(1_299);
            out.put(r#","availableOnline":true,"clearance":false}"#);
        }
        out.put(r#","freeShippingOver35Dollars":"#);
        out.put_bool(cents > 3_500);
        out.put(r#","offerType":"ONLINE_AND_STORE","isTwoDayShippingEligible":"#);
        out.put_bool(random.chance(350));
        out.put(r#","availableOnline":true}"#);
    }
}

fn put_product_link(out: &mut Vec<u8>, id: u64, bits: u64) {
    out.put(r"https:\/\/click.shop.example\/fs-bin\/click?id=|LSNID|&offerid=");
    out.put_number(bits % 1_000_000);
    out.put(r".1&type=14&u1=feed&murl=https%3A%2F%2Fwww.shop.example%2Fip%2F");
    out.put_number(id);
    out.put("%3Faffp1%3D");
    out.put_code(bits, 10);
}
