//! Strings decoded quickly, by the rule of [`Malformed::Order`].

use warpath_core::json::{Malformed, decode};

/// The values of hexadecimal digits; 0xff for other bytes.
static HEX: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut digit = 0;
    while digit < 10 {
        table[(b'0' + digit) as usize] = digit;
        digit += 1;
    }
    let mut digit = 0;
    while digit < 6 {
        table[(b'a' + digit) as usize] = 10 + digit;
        table[(b'A' + digit) as usize] = 10 + digit;
        digit += 1;
    }
    table
};

/// The characters of escapes with one letter; 0 for other bytes.
static SIMPLE: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 8;
    table[b'f' as usize] = 12;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

/// The unit of an escape `\uXXXX` at the start of a text.
#[inline(always)]
fn unit(text: &[u8]) -> Option<u32> {
    let [b'\\', b'u', a, b, c, d] = *text.first_chunk::<6>()? else { return None };
    let [a, b, c, d] = [a, b, c, d].map(|byte| u32::from(HEX[byte as usize]));
    ((a | b | c | d) < 16).then_some(a << 12 | b << 8 | c << 4 | d)
}

/// Appends the value of a string, given without its quotes. What is malformed is left to [`decode`].
pub(super) fn unescape(inside: &[u8], out: &mut Vec<u8>) {
    let mut rest = inside;
    loop {
        // Escapes come close together.
        let mut plain = 0;
        while plain < rest.len().min(8) && rest[plain] != b'\\' {
            plain += 1;
        }
        if plain == 8 {
            plain += memchr::memchr(b'\\', &rest[8..]).unwrap_or(rest.len() - 8);
        }
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some(letter) = rest.get(1) else { break };
        let simple = SIMPLE[*letter as usize];
        if simple != 0 {
            out.push(simple);
            rest = &rest[2..];
            continue;
        }
        let Some(high) = unit(rest) else { break };
        let (code, len) = match high {
            0xd800..0xdc00 => match unit(&rest[6..]) {
                Some(low @ 0xdc00..0xe000) => (0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00)), 12),
                _ => break,
            },
            0xdc00..0xe000 => break,
            _ => (high, 6),
        };
        let Some(character) = char::from_u32(code) else { break };
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[len..];
    }
    if !rest.is_empty() {
        decode(rest, Malformed::Order, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpath_random::Rng;

    #[test]
    fn strings_are_decoded_by_the_rule() {
        let mut rng = Rng::new(4);
        const PARTS: [&str; 16] = [
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "\\ud83d\\ude00",
            "\\/",
            "\\\\",
            "\\\"",
            "\\n",
            "a",
            "plain text",
            "☺",
            "\\x",
            "\\u12",
            "\\u12g4",
            "\\",
            "\\b\\f\\r\\t",
        ];
        for _ in 0..20_000 {
            let text: String = (0..rng.below(6)).map(|_| rng.pick(&PARTS)).collect();
            let (mut got, mut want) = (Vec::new(), Vec::new());
            unescape(text.as_bytes(), &mut got);
            decode(text.as_bytes(), Malformed::Order, &mut want);
            assert_eq!(got, want, "{text}");
        }
    }
}
