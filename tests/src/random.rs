//! Random text, from a seed: JSON, JSON with a byte changed here and there, and bytes with structure in them.
//! Also queries, of the supported paths ([`path`]) and of the whole grammar ([`query()`]).

mod query;

pub use query::query;
pub use warpath_random::Rng;

/// Random lines: JSON, blank, long, or bytes that are not text. The last line may lack its newline.
pub fn odd_lines(rng: &mut Rng, lines: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for line in 0..lines {
        match rng.below(12) {
            0 => {}
            1 => text.extend((0..rng.below(30)).map(|_| [b' ', b'\t', b'\r'][rng.below(3)])),
            2 => text.extend((0..rng.below(200)).map(|_| rng.below(256) as u8).filter(|byte| *byte != b'\n')),
            3 => text.extend(std::iter::repeat_n(255, rng.below(3000))),
            4 => text.extend(format!(r#"{{"long":"{}"}}"#, "ab".repeat(rng.below(4000))).bytes()),
            _ => text.extend(
                format!(
                    r#"{{"id":{line},"user":{{"lang":"{}"}},"n":[{},null]}}"#,
                    ["en", "nl", "ja"][rng.below(3)],
                    rng.below(1000)
                )
                .bytes(),
            ),
        }
        if line + 1 < lines || rng.below(2) == 0 {
            text.push(b'\n');
        }
    }
    text
}

/// Names that queries ask for, some of them spelt with escapes.
pub const NAMES: [&str; 12] =
    ["a", "b", "c", "aa", "ab", "lang", "", "x y", r#"q\"q"#, r"\u0061", r"b\\", "é"];

fn value(rng: &mut Rng, depth: usize, out: &mut String) {
    let space = |rng: &mut Rng, out: &mut String| {
        if rng.below(6) == 0 {
            out.push_str(rng.pick(&[" ", "  ", "\t", " \t "]));
        }
    };
    match if depth == 0 { rng.below(5) } else { rng.below(11) } {
        0 => out.push_str(rng.pick(&["null", "true", "false"])),
        1 => out.push_str(rng.pick(&[
            "0",
            "-0",
            "1",
            "1.0",
            "10e-1",
            "-12.50",
            "1E400",
            "12345678901234567890",
        ])),
        2 | 3 => {
            out.push('"');
            for _ in 0..rng.below(6) {
                out.push_str(rng.pick(&[
                    "x",
                    "{",
                    "}",
                    "[",
                    "]",
                    ":",
                    ",",
                    r#"\""#,
                    r"\\",
                    r"\n",
                    r"\u00e9",
                    "é",
                    "long text ",
                    r"\\\\",
                ]));
            }
            out.push('"');
        }
        4 => out.push_str(rng.pick(&["\"x\"", "\"nl\"", "2"])),
        5..=7 => {
            out.push('[');
            for i in 0..rng.below(5) {
                if i > 0 {
                    out.push(',');
                }
                space(rng, out);
                value(rng, depth - 1, out);
                space(rng, out);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for i in 0..rng.below(5) {
                if i > 0 {
                    out.push(',');
                }
                space(rng, out);
                out.push('"');
                out.push_str(rng.pick(&NAMES));
                out.push('"');
                space(rng, out);
                out.push(':');
                space(rng, out);
                value(rng, depth - 1, out);
                space(rng, out);
            }
            out.push('}');
        }
    }
}

/// Lines of random JSON, `bytes` or a little more, with blank lines and carriage returns among them.
/// Sometimes without a newline at the end.
pub fn json(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    let mut out = String::new();
    while out.len() < bytes {
        if rng.below(12) > 0 {
            let depth = rng.below(7);
            value(rng, depth, &mut out);
        }
        out.push_str(if rng.below(9) == 0 { "\r\n" } else { "\n" });
    }
    if rng.below(3) == 0 {
        out.truncate(out.trim_end().len());
    }
    out.into_bytes()
}

/// A random document, of `bytes` or a little more: an array, or a value that has one where [`array_path`]
/// leads to. It is on one line, or has line ends and other white space wherever that is allowed.
pub fn document(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    let array = |rng: &mut Rng| {
        let (mut out, mut first) = (String::from("["), true);
        while out.len() < bytes {
            out.push_str(if first { "" } else { "," });
            first = false;
            let depth = rng.below(4);
            value(rng, depth, &mut out);
        }
        out + "]"
    };
    let few = |rng: &mut Rng| {
        let mut out = String::new();
        let depth = rng.below(3);
        value(rng, depth, &mut out);
        out
    };
    let text = match rng.below(12) {
        0 => few(rng),
        1 => "[]".into(),
        2 => format!("{{\"a\":{},\"b\":{},\"a\":{}}}", array(rng), few(rng), array(rng)),
        3 => format!("{{\"c\":{},\"\\u0061\":{}}}", few(rng), array(rng)),
        4 => format!("{{\"b\":[{},{{\"a\":{}}}],\"c\":{}}}", few(rng), array(rng), few(rng)),
        5 => format!("[{},{}]", array(rng), few(rng)),
        6 => format!("{{\"a\":{}}}", few(rng)),
        _ => array(rng),
    };
    if rng.below(4) == 0 {
        return text.into_bytes();
    }
    let often = 1 + rng.below(12);
    let (mut out, mut string, mut escape) = (String::new(), false, false);
    for c in text.chars() {
        let structural = !string && "[]{}:,".contains(c);
        let mut space = |out: &mut String| {
            if structural && rng.below(often) == 0 {
                out.push_str(rng.pick(&["\n", "\r\n", "\n    ", "\t", " ", "\n\n"]));
            }
        };
        space(&mut out);
        out.push(c);
        space(&mut out);
        string ^= c == '"' && !escape;
        escape = c == '\\' && !escape;
    }
    if rng.below(2) == 0 { format!("\n {out}\r\n\n").into_bytes() } else { out.into_bytes() }
}

/// A random path of the supported kinds, mostly through all elements of an array that [`document`] may have.
pub fn array_path(rng: &mut Rng) -> String {
    let array = rng.pick(&[
        "[*]",
        "[*]",
        "[*]",
        ".a[*]",
        ".b[1].a[*]",
        "[0][*]",
        ".*",
        "",
        "[-2][*]",
        "..a",
        "..['a','b']",
    ]);
    path(rng).replacen('$', &format!("${array}"), 1)
}

/// A record of many members or elements, `bytes` or a little more. It has the names of the queries, and
/// others that begin like them, are as long, are longer, are written with escapes, or repeat. It has values
/// that look like members. If `odd`, it also has text that is not JSON but no fault, such as two colons in a
/// row.
pub fn long_record(rng: &mut Rng, bytes: usize, odd: bool) -> String {
    let object = rng.below(3) > 0;
    let mut out = String::from(if object { "{" } else { "[" });
    let mut first = true;
    while first || out.len() < bytes {
        if !first {
            out.push(',');
        }
        first = false;
        if rng.below(12) == 0 {
            out.push_str(&" ".repeat(rng.below(70)));
        }
        if object {
            out.push('"');
            match rng.below(5) {
                0 => out.push_str(rng.pick(&NAMES)),
                1 => out.push_str(rng.pick(&[
                    r"\u0061\u0062",
                    "a ",
                    "lan",
                    "lango",
                    r"l\u0061ng",
                    "ba",
                    r"\\",
                    "A",
                ])),
                2 => out.push_str(&"ab".repeat(rng.below(50))),
                _ => out.push_str(&format!("f{}", rng.below(1 << 20))),
            }
            out.push('"');
            out.push_str(rng.pick(&[":", ":", ":", ":", " :", ": ", "\t:  "]));
        }
        match rng.below(8) {
            0 => out.push_str(rng.pick(&[
                "1",
                "null",
                "true",
                "\"x\"",
                "\"nl\"",
                r#""\u006el""#,
                "\"\"",
                "\"nlx\"",
            ])),
            1 => out.push_str(r#"{"a":1,"lang":"nl","b":{"a":"x"}}"#),
            2 => out.push_str(r#"[1,"nl",{"a":2},[],{}]"#),
            3 => out.push_str(&format!("\"{}\"", r#"\",\"a\":1,"#.repeat(rng.below(20)))),
            4 => out.push_str(&format!("{{\"c\":[{}{{}}]}}", "{\"a\":1},".repeat(rng.below(60)))),
            _ => out.push_str(&format!("\"{}\"", "y".repeat(rng.below(90)))),
        }
        if odd && rng.below(9) == 0 {
            out.push_str(rng.pick(&[
                r#":"a""#,
                r#":"a":2"#,
                r#":"x":"nl":"x""#,
                ",",
                ":",
                "::",
                r#","a""#,
                ",a:1",
                r#",:"nl""#,
                r#","b","a":3"#,
                r#" "a":4"#,
            ]));
        }
    }
    if rng.below(4) == 0 {
        out.push_str(&" ".repeat(rng.below(100)));
    }
    out.push(if object { '}' } else { ']' });
    out
}

/// Changes, removes or inserts a byte here and there.
pub fn mutate(rng: &mut Rng, text: &mut Vec<u8>, changes: usize) {
    const BYTES: &[u8] = b"\"\\{}[]:,\n\r \0a\xff";
    for _ in 0..changes {
        if text.is_empty() {
            return;
        }
        let (at, byte) = (rng.below(text.len()), BYTES[rng.below(BYTES.len())]);
        match rng.below(3) {
            0 => text[at] = byte,
            1 => text.insert(at, byte),
            _ => drop(text.remove(at)),
        }
    }
}

/// Random bytes, dense in structure, in runs.
pub fn bytes(rng: &mut Rng, len: usize) -> Vec<u8> {
    const BYTES: &[u8] = b"\"\"\\\\\\{}[]{}[]:,\n\n xyz\r\0\xff";
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        let (byte, run) =
            (BYTES[rng.below(BYTES.len())], if rng.below(20) == 0 { rng.below(150) } else { 1 });
        out.extend(std::iter::repeat_n(byte, run.min(len - out.len())));
    }
    out
}

/// A random path of the kinds that are supported.
pub fn path(rng: &mut Rng) -> String {
    let mut path = String::from("$");
    for _ in 0..rng.below(5) {
        let selectors = if rng.below(4) == 0 { 2 } else { 1 };
        let list: Vec<String> = (0..selectors)
            .map(|_| match rng.below(9) {
                0..=3 => format!("\"{}\"", rng.pick(&NAMES)),
                4 => (rng.below(6) as i64 - 3).to_string(),
                5 => "*".into(),
                6 | 7 => {
                    let bound = |rng: &mut Rng| match rng.below(3) {
                        0 => String::new(),
                        _ => (rng.below(9) as i64 - 4).to_string(),
                    };
                    let (start, end) = (bound(rng), bound(rng));
                    let step = rng.pick(&["", ":", ":1", ":2", ":-1", ":-2", ":0", ":3"]);
                    format!("{start}:{end}{step}")
                }
                _ => {
                    let from = rng.pick(&["@", "@.a", "@['b']", "@[0]", "@.a.b", "@[-1]", "@.aa[0]"]);
                    let to = rng.pick(&["1", "0", "'x'", "null", "true", "\"nl\"", "-12.5", "''", "2"]);
                    if rng.below(3) == 0 { format!("?{to} == {from}") } else { format!("?({from}=={to})") }
                }
            })
            .collect();
        path.push_str(&format!("[{}]", list.join(",")));
    }
    path
}
