//! Parts of stores from untrusted sources.

use warpath_random::cases;
use warpath_tests::parts::fuzz_one;
use warpath_tests::random::{self, Rng};

/// Some lines: records, often of the same shape, and lines that are none.
fn lines(rng: &mut Rng) -> Vec<u8> {
    let shapes = [
        r#"{"a":1,"b":{"c":[1.5,"x"]}}"#,
        r#"{"a":{"b":"\u00e4","b":2},"b":[]}"#,
        r#"{"b":{"c":{"a":[[1],[{"a":null}]]}}}"#,
        "[1]",
        "",
    ];
    let mut text = Vec::new();
    for _ in 0..rng.below(30) {
        match rng.below(8) {
            0 => text.extend(random::json(rng, 60)),
            1 => text.extend(random::bytes(rng, 20)),
            _ => text.extend_from_slice(rng.pick(&shapes).as_bytes()),
        }
        text.push(b'\n');
    }
    text
}

#[test]
fn any_bytes_give_lines_or_an_error() {
    let mut rng = Rng::new(41);
    for case in 0..cases(1600) {
        let mut bytes = vec![case as u8];
        bytes.extend(rng.next_u64().to_le_bytes());
        bytes.extend(lines(&mut rng));
        fuzz_one(&bytes);
    }
    fuzz_one(b"");
}
