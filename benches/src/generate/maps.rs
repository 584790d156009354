//! Responses of a directions service: routes of legs of steps. Large and deep records of short strings and
//! numbers.

use super::random::Random;
use super::text::Put;

/// A source of directions. Responses do not depend on one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directions;

/// The mean size of a step, and of the rest of a record, in bytes. They give the number of steps for the
/// drawn size of a record.
const STEP_BYTES: u32 = 480;
const REST_BYTES: u32 = 2_600;

#[rustfmt::skip]
const STREETS: &[&str] = &[
    "Main St", "Elm Ave", "2nd St", "Broadway", "I-80 E", "US-101 S", r"State Hwy 12 \/ Mill Rd", "Rue de l'Église",
    "Königstraße", "Av. São João", "Park Blvd", "Old County Rd", "Calle de Alcalá", "桜通り", r#"\"The Loop\""#,
];

#[rustfmt::skip]
const MANOEUVRES: &[(&str, &str)] = &[
    ("turn-left", r"Turn \u003cb\u003eleft\u003c/b\u003e onto "),
    ("turn-right", r"Turn \u003cb\u003eright\u003c/b\u003e onto "),
    ("merge", r"Merge onto "),
    ("keep-left", r"Keep \u003cb\u003eleft\u003c/b\u003e at the fork, follow signs for "),
    ("ramp-right", r"Take exit \u003cb\u003e12B\u003c/b\u003e toward "),
    ("roundabout-right", r"At the roundabout, take the \u003cb\u003e2nd\u003c/b\u003e exit onto "),
];

#[rustfmt::skip]
const TOWNS: &[&str] = &[
    "Springfield, IL 62701, USA", "Oakland, CA, USA", "1017 Amsterdam, Nederland", "75004 Paris, France", "Zürich, Schweiz",
    "São Paulo - SP, Brasil", "名古屋市, 日本",
];

/// A location, in millionths of a degree.
#[derive(Clone, Copy)]
struct Place {
    latitude: i64,
    longitude: i64,
}

impl Directions {
    /// Appends one response.
    pub(super) fn record(self, random: &mut Random, out: &mut Vec<u8>) {
        let steps = (random.between(12 << 10, 56 << 10) - REST_BYTES) / STEP_BYTES;
        let routes = random.between(1, 3);
        out.put(r#"{"geocoded_waypoints":["#);
        for end in 0..2 {
            out.put(if end > 0 { "," } else { "" });
            out.put(r#"{"geocoder_status":"OK","place_id":"ChIJ"#);
            out.put_code(random.bits(), 10);
            out.put_code(random.bits(), 10);
            out.put(r#"","types":["locality","political"]}"#);
        }
        out.put(r#"],"routes":["#);
        for route in 0..routes {
            out.put(if route > 0 { "," } else { "" });
            put_route(random, out, share(steps, routes, route));
        }
        out.put(r#"],"status":"OK"}"#);
    }
}

/// The size of part `ix` when `whole` is divided into `parts`, as evenly as may be.
fn share(whole: u32, parts: u32, ix: u32) -> u32 {
    whole / parts + u32::from(ix < whole % parts)
}

fn put_route(random: &mut Random, out: &mut Vec<u8>, steps: u32) {
    let from = Place {
        latitude: i64::from(random.below(120_000_000)) - 55_000_000,
        longitude: i64::from(random.below(350_000_000)) - 175_000_000,
    };
    out.put(r#"{"bounds":{"northeast":"#);
    put_place(out, Place { latitude: from.latitude + 900_000, longitude: from.longitude + 900_000 });
    out.put(r#","southwest":"#);
    put_place(out, Place { latitude: from.latitude - 900_000, longitude: from.longitude - 900_000 });
    out.put(r#"},"copyrights":"Map data ©2017","legs":["#);
    let legs = random.between(1, 3).min(steps);
    let mut at = from;
    for leg in 0..legs {
        out.put(if leg > 0 { "," } else { "" });
        put_leg(random, out, &mut at, share(steps, legs, leg));
    }
    out.put(r#"],"overview_polyline":{"points":""#);
    put_polyline(random, out, 100, 400);
    out.put(r#""},"summary":""#);
    out.put(random.pick(STREETS));
    out.put(r#"","warnings":[],"waypoint_order":["#);
    for stop in 1..legs {
        out.put(if stop > 1 { "," } else { "" });
        out.put_number(u64::from(stop) - 1);
    }
    out.put("]}");
}

fn put_leg(random: &mut Random, out: &mut Vec<u8>, at: &mut Place, steps: u32) {
    out.put(r#"{"distance":"#);
    put_distance(out, u64::from(random.between(2_000, 400_000)));
    out.put(r#","duration":"#);
    put_duration(out, u64::from(random.between(300, 20_000)));
    out.put(r#","end_address":""#);
    out.put(random.pick(TOWNS));
    out.put(r#"","start_address":""#);
    out.put(random.pick(TOWNS));
    out.put(r#"","start_location":"#);
    put_place(out, *at);
    out.put(r#","steps":["#);
    for step in 0..steps {
        out.put(if step > 0 { "," } else { "" });
        put_step(random, out, at);
    }
    out.put(r#"],"traffic_speed_entry":[],"via_waypoint":[]}"#);
}

fn put_step(random: &mut Random, out: &mut Vec<u8>, at: &mut Place) {
    out.put(r#"{"distance":"#);
    put_distance(out, random.count(16));
    out.put(r#","duration":"#);
    put_duration(out, random.count(12));
    let start = *at;
    at.latitude += i64::from(random.below(20_000)) - 10_000;
    at.longitude += i64::from(random.below(20_000)) - 10_000;
    out.put(r#","end_location":"#);
    put_place(out, *at);
    let (manoeuvre, instruction) = random.pick(MANOEUVRES);
    out.put(r#","html_instructions":""#);
    out.put(instruction);
    out.put(r"\u003cb\u003e");
    out.put(random.pick(STREETS));
    out.put(r"\u003c/b\u003e");
    if random.chance(200) {
        out.put(r#"\u003cdiv style=\"font-size:0.9em\"\u003eToll road\u003c/div\u003e"#);
    }
    out.put(r#"","maneuver":""#);
    out.put(manoeuvre);
    out.put(r#"","polyline":{"points":""#);
    put_polyline(random, out, 10, 160);
    out.put(r#""},"start_location":"#);
    put_place(out, start);
    out.put(r#","travel_mode":"DRIVING"}"#);
}

fn put_place(out: &mut Vec<u8>, place: Place) {
    out.put(r#"{"lat":"#);
    out.put_degrees(place.latitude);
    out.put(r#","lng":"#);
    out.put_degrees(place.longitude);
    out.put("}");
}

/// Appends a distance: in feet, where it is short, else in miles with one digit after the point.
fn put_distance(out: &mut Vec<u8>, metres: u64) {
    out.put(r#"{"text":""#);
    if metres < 300 {
        out.put_number(metres * 3_281 / 1_000);
        out.put(" ft");
    } else {
        out.put_number(metres / 1_609);
        out.push(b'.');
        out.put_number(metres % 1_609 * 10 / 1_609);
        out.put(" mi");
    }
    out.put(r#"","value":"#);
    out.put_number(metres);
    out.put("}");
}

fn put_duration(out: &mut Vec<u8>, seconds: u64) {
    out.put(r#"{"text":""#);
    if seconds >= 3_600 {
        out.put_number(seconds / 3_600);
        out.put(" h ");
    }
    out.put_number(seconds / 60 % 60 + 1);
    out.put(r#" mins","value":"#);
    out.put_number(seconds);
    out.put("}");
}

/// Appends an encoded polyline of `low..=high` characters. They are those of ASCII from `?` to `~`. So
/// brackets, braces and backslashes (two characters here) are among them, as in real ones.
fn put_polyline(random: &mut Random, out: &mut Vec<u8>, low: u32, high: u32) {
    let length = random.between(low, high);
    let mut bits = 0;
    for ix in 0..length {
        if ix % 10 == 0 {
            bits = random.bits();
        }
        let char = b'?' + (bits & 63) as u8;
        bits >>= 6;
        if char == b'\\' {
            out.push(b'\\');
        }
        out.push(char);
    }
}
