//! Products with the keys of Best Buy's catalogue: `categoryPath` is an array of objects, and other arrays
//! nest deeper.

use super::random::Random;
use super::text::{Moment, Put, put_words};

/// 2010-01-01 00:00:00 UTC, in seconds of Unix time: the earliest start of a product.
const FIRST_START: u64 = 1_262_304_000;

/// A source of products.
#[derive(Clone, Debug)]
pub(super) struct Products {
    next_sku: u64,
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "HDMI", "cable", r#"6\""#, "4K", "Ultra HD", "TV", "wireless", "headphones", "with", "and", "charging", "dock", "for",
    "most", "laptops", "black", "silver", "noise-cancelling", "memory", "card", "64GB", r#"15.6\""#, "touch-screen",
    "refrigerator", "cu. ft.", "speaker", "Bluetooth", "USB-C", "adapter", "gaming", "keyboard", "mouse", "Wi-Fi",
    "router", "camera", "lens", "drone", "Blu-ray", "[Digital]", "edition", "5-year", "protection", "plan", "café", "™",
];

#[rustfmt::skip]
const CATEGORIES: &[&str] = &[
    "TV & Home Theater", "TVs", "All Flat-Screen TVs", "Audio", "Headphones", "Over-Ear & On-Ear Headphones",
    "Computers & Tablets", "Laptops", "PC Laptops", "Cameras & Camcorders", r"Movies \/ Music", "Appliances",
    "Refrigerators", "Cell Phones", "Cell Phone Accessories", "Video Games", "Drones, Toys & Collectibles",
];

const MAKERS: &[&str] =
    &["Insignia", "Halcyon", "Vertex", "Aurum", "Bàsico", "Platinum™", "Modal", "Rocketfish"];

impl Products {
    pub(super) fn new(block: u64) -> Self {
        // A block has about 450 products, and stock numbers grow by 16 on average.
        Self { next_sku: 1_000_000 + block * 16_384 }
    }

    /// Appends one product.
    pub(super) fn record(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        self.next_sku += u64::from(random.between(1, 31));
        let sku = self.next_sku;
        let bits = random.bits();
        let cents = u64::from(random.between(99, 249_999));
        let started = Moment::from_unix(FIRST_START + (bits >> 37));
        let maker = random.pick(MAKERS);
        out.put(r#"{"sku":"#);
        out.put_number(sku);
        out.put(r#","name":""#);
        out.put(maker);
        out.put(" - ");
        put_words(out, random, WORDS, 20, 70);
        out.put(r#"","type":"HardGood","startDate":""#);
        started.put_date(out);
        out.put(r#"","new":"#);
        out.put_bool(random.chance(50));
        out.put(r#","active":true,"lowPriceGuarantee":false,"activeUpdateDate":""#);
        started.put_date(out);
        out.push(b'T');
        started.put_time(out);
        out.put(r#"","regularPrice":"#);
        out.put_money(cents);
        out.put(r#","salePrice":"#);
        out.put_money(cents - cents / 20);
        out.put(r#","onSale":"#);
        out.put_bool(random.chance(300));
        out.put(r#","planPrice":null,"priceWithPlan":[],"url":"https:\/\/api.shop.example\/click\/-\/"#);
        out.put_number(sku);
        out.put(r#"\/pdp","crossSell":["#);
        // Groups of stock numbers: an array of arrays.
        for group in 0..random.below(4) {
            out.put(if group > 0 { ",[" } else { "[" });
            for item in 0..random.between(1, 4) {
                if item > 0 {
                    out.put(",");
                }
                out.put_number(sku + u64::from(random.below(90_000)));
            }
            out.put("]");
        }
        out.put(r#"],"customerReviewAverage":"#);
        if random.chance(700) {
            out.put_money(u64::from(random.between(100, 500)));
        } else {
            out.put("null");
        }
        out.put(r#","categoryPath":[{"id":"cat00000","name":"All Products"}"#);
        // One entry is there; two to six in all.
        for _ in 0..random.between(1, 5) {
            out.put(r#",{"id":"abcat"#);
            out.put_digits(u64::from(random.below(10_000_000)), 7);
            out.put(r#"","name":""#);
            out.put(random.pick(CATEGORIES));
            out.put(r#""}"#);
        }
        out.put(r#"],"lists":[],"inStoreAvailability":"#);
        out.put_bool(random.chance(800));
        out.put(r#","shipping":[{"ground":"","secondDay":"","nextDay":"","vendorDelivery":""}],"shippingLevelsOfService":["#);
        for level in 0..random.between(1, 3) {
            out.put(if level > 0 { r#",{"serviceLevelId":"# } else { r#"{"serviceLevelId":"# });
            out.put_number(u64::from(level) + 1);
            out.put(r#","serviceLevelName":""#);
            out.put(["Standard", "Expedited", "Express"][level as usize]);
            out.put(r#"","unitShippingPrice":"#);
            out.put_money(u64::from(level) * 1_000);
            out.put("}");
        }
        out.put(r#"],"manufacturer":""#);
        out.put(maker);
        out.put(r#"","modelNumber":""#);
        out.put_code(bits, 9);
        out.put(r#"","images":["#);
        for (ix, view) in ["Angle", "Front", "Back"].into_iter().enumerate() {
            out.put(if ix > 0 { r#",{"rel":""# } else { r#"{"rel":""# });
            out.put(view);
            out.put(r#"_Standard","unitOfMeasure":"pixel","width":"500","height":"400","href":"https:\/\/images.example\/products\/"#);
            out.put_number(sku / 1000);
            out.put(r"\/");
            out.put_number(sku);
            out.put("_sa.jpg\"}");
        }
        out.put(r#"],"details":["#);
        for detail in 0..random.between(2, 9) {
            out.put(if detail > 0 { r#",{"name":""# } else { r#"{"name":""# });
            put_words(out, random, WORDS, 8, 20);
            out.put(r#"","values":[""#);
            put_words(out, random, WORDS, 3, 12);
            out.put(r#""]}"#);
        }
        out.put(r#"],"features":["#);
        for feature in 0..random.between(1, 5) {
            out.put(if feature > 0 { r#",{"feature":""# } else { r#"{"feature":""# });
            put_words(out, random, WORDS, 40, 160);
            out.put(r#""}"#);
        }
        out.put(r#"],"longDescription":""#);
        put_words(out, random, WORDS, 80, 300);
        out.put(r#"","warrantyLabor":"1 year","quantityLimit":"#);
        out.put_number(u64::from(random.between(1, 5)));
        out.put(r#","dimensions":{"depth":["#);
        out.put_money(bits % 9_000);
        out.put(r#","in"],"weight":["#);
        out.put_money(bits % 7_000);
        out.put(r#","lb"]},"homeDelivery":false}"#);
    }
}
