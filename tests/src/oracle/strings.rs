//! The tests of strings that are Warpath's own, each by its definition.
//!
//! A character is a byte that is not a continuation byte of UTF-8, and the continuation bytes after it. So a
//! lone surrogate is one character.

use std::net::IpAddr;

use super::json::Content;

/// The names of the functions that test a string for a text.
pub const NAMES: [&str; 8] =
    ["contains", "icontains", "starts_with", "istarts_with", "ends_with", "iends_with", "like", "ilike"];

/// Characters whose simple case folding is not their form in lower case (`CaseFolding.txt`, Unicode).
const FOLDED: [(char, char); 4] = [('ſ', 's'), ('ς', 'σ'), ('µ', 'μ'), ('ϐ', 'β')];

/// A part of a pattern of `like`.
#[derive(Clone, Debug, PartialEq)]
pub enum LikePart {
    /// A character, as it is.
    Character(Vec<u8>),
    /// `_`
    Any,
    /// `%`
    Anything,
}

/// Returns true if a value is a string that passes the test `name` for a text.
pub fn text(name: &str, subject: Option<&Content>, text: &str) -> bool {
    let Some(Content::String(subject)) = subject else { return false };
    let ignores_case = name.starts_with('i');
    let case = |character: &[u8]| if ignores_case { folded(character) } else { character.to_vec() };
    let subject: Vec<Vec<u8>> = characters(subject).into_iter().map(case).collect();
    let needle: Vec<Vec<u8>> = characters(text.as_bytes()).into_iter().map(case).collect();
    let mut places = 0..=subject.len();
    match name.strip_prefix('i').unwrap_or(name) {
        "contains" => places.any(|at| subject[at..].starts_with(&needle)),
        "starts_with" => subject.starts_with(&needle),
        "ends_with" => subject.ends_with(&needle),
        _ => {
            let parts = like_parts(text).expect("a pattern of `like`");
            let parts = parts.into_iter().map(|part| match part {
                LikePart::Character(character) => LikePart::Character(case(&character)),
                part => part,
            });
            is_like(&parts.collect::<Vec<_>>(), &subject)
        }
    }
}

/// The parts of a pattern of `like`; `None` if a backslash does not precede `%`, `_` or a backslash.
pub fn like_parts(text: &str) -> Option<Vec<LikePart>> {
    let mut parts = Vec::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        parts.push(match c {
            '%' => LikePart::Anything,
            '_' => LikePart::Any,
            '\\' => {
                let escaped = characters.next().filter(|c| ['%', '_', '\\'].contains(c))?;
                LikePart::Character(escaped.to_string().into())
            }
            c => LikePart::Character(c.to_string().into()),
        });
    }
    Some(parts)
}

fn is_like(parts: &[LikePart], subject: &[Vec<u8>]) -> bool {
    match (parts, subject) {
        ([], subject) => subject.is_empty(),
        ([LikePart::Anything, rest @ ..], subject) => {
            (0..=subject.len()).any(|at| is_like(rest, &subject[at..]))
        }
        ([LikePart::Any, rest @ ..], [_, subject @ ..]) => is_like(rest, subject),
        ([LikePart::Character(wanted), rest @ ..], [first, subject @ ..]) => {
            wanted == first && is_like(rest, subject)
        }
        _ => false,
    }
}

fn characters(bytes: &[u8]) -> Vec<&[u8]> {
    let is_first = |at: &usize| *at == 0 || !(0x80..0xc0).contains(&bytes[*at]);
    let starts: Vec<usize> = (0..bytes.len()).filter(is_first).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    starts.iter().zip(ends).map(|(start, end)| &bytes[*start..end]).collect()
}

/// A character as its simple case folding.
fn folded(character: &[u8]) -> Vec<u8> {
    let Some(c) = std::str::from_utf8(character).ok().and_then(|text| text.chars().next()) else {
        return character.to_vec();
    };
    let of_table = FOLDED.iter().find(|(from, _)| *from == c).map(|(_, to)| *to);
    let lower: Vec<char> = c.to_lowercase().collect();
    // The form in lower case of İ has two characters.
    let of_one = if let [lower] = lower[..] { lower } else { c };
    of_table.unwrap_or(of_one).to_string().into()
}

/// Returns true if a value is a string that is an address in one of some blocks.
pub fn cidr(subject: Option<&Content>, blocks: &[Vec<bool>]) -> bool {
    let Some(Content::String(subject)) = subject else { return false };
    let Some(address) = std::str::from_utf8(subject).ok().and_then(bits) else { return false };
    // The first bit is true for IPv4. A block is a prefix of its addresses.
    blocks.iter().any(|block| address.starts_with(block))
}

/// The bits that all addresses of a block begin with, after a bit that is true for IPv4; `None` if the text
/// is not a block, or if its address has more bits.
pub fn block(text: &str) -> Option<Vec<bool>> {
    let (address, count) =
        text.split_once('/').map_or((text, None), |(address, count)| (address, Some(count)));
    let parsed: IpAddr = address.parse().ok()?;
    let most = if parsed.is_ipv4() { 32 } else { 128 };
    let count = match count {
        None => most,
        Some(count) => (0..=most).find(|number| number.to_string() == count)?,
    };
    let is_mapped = parsed.is_ipv6() && bits(address)?[0];
    let all: Vec<bool> = match parsed {
        IpAddr::V4(address) => binary(&address.octets()),
        IpAddr::V6(address) => binary(&address.octets()),
    };
    if all[count..].contains(&true) {
        return None;
    }
    Some(match is_mapped && count >= 96 {
        true => [&[true], &all[96..count]].concat(),
        false => [&[parsed.is_ipv4()], &all[..count]].concat(),
    })
}

/// The bits of an address. That of IPv6 that an IPv4 address is mapped to is the IPv4 address.
fn bits(text: &str) -> Option<Vec<bool>> {
    Some(match text.parse().ok()? {
        IpAddr::V4(address) => [vec![true], binary(&address.octets())].concat(),
        IpAddr::V6(address) => match address.octets() {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ipv4 @ ..] => [vec![true], binary(&ipv4)].concat(),
            octets => [vec![false], binary(&octets)].concat(),
        },
    })
}

fn binary(octets: &[u8]) -> Vec<bool> {
    octets.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1 == 1)).collect()
}
