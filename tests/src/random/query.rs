//! Random queries of the whole grammar of RFC 9535, well-typed.

use super::Rng;

/// A random query: any segments, selectors, filters, functions and literals, with white space wherever it is
/// allowed. It often has matches in the text that [`super::json`] makes.
pub fn query(rng: &mut Rng) -> String {
    let mut out = String::from("$");
    // Half of them end in a filter that sees much.
    if rng.below(2) == 0 {
        segments(rng, 3, 4, &mut out);
    } else {
        out.push_str(rng.pick(&["", "", ".*", "..*", "[0]", ".a"]));
        out.push_str(rng.pick(&["[?", "..[?"]));
        logical(rng, 2, &mut out);
        out.push(']');
    }
    out
}

/// `S` of the grammar: mostly nothing.
fn space(rng: &mut Rng, out: &mut String) {
    if rng.below(12) == 0 {
        out.push_str(rng.pick(&[" ", "  ", "\t", "\n", "\r", " \n\t"]));
    }
}

/// Fewer than `most` segments, in which filters, parentheses and calls are nested `depth` deep at most.
fn segments(rng: &mut Rng, depth: usize, most: usize, out: &mut String) {
    for _ in 0..rng.below(most) {
        space(rng, out);
        let descendant = rng.below(4) == 0;
        if rng.below(3) == 0 {
            out.push_str(if descendant { ".." } else { "." });
            out.push_str(rng.pick(&["a", "b", "c", "aa", "ab", "lang", "é", "*", "*", "_1"]));
        } else {
            out.push_str(if descendant { ".." } else { "" });
            list(rng, "[", "]", [1, 1, 1, 2, 2, 3], out, |rng, out| selector(rng, depth, out));
        }
    }
}

/// Appends items between brackets and with commas; their number is one of `counts`.
fn list(
    rng: &mut Rng,
    open: &str,
    close: &str,
    counts: [usize; 6],
    out: &mut String,
    item: impl Fn(&mut Rng, &mut String),
) {
    out.push_str(open);
    for i in 0..counts[rng.below(6)] {
        if i > 0 {
            space(rng, out);
            out.push(',');
        }
        space(rng, out);
        item(rng, out);
    }
    space(rng, out);
    out.push_str(close);
}

fn selector(rng: &mut Rng, depth: usize, out: &mut String) {
    match rng.below(if depth == 0 { 7 } else { 12 }) {
        0 | 1 => name(rng, out),
        2 => out.push('*'),
        3 | 4 => out.push_str(&integer(rng)),
        5 | 6 => slice(rng, out),
        _ => {
            out.push('?');
            space(rng, out);
            logical(rng, depth - 1, out);
        }
    }
}

fn name(rng: &mut Rng, out: &mut String) {
    out.push_str(rng.pick(&[
        "'a'",
        "\"a\"",
        "'b'",
        "\"b\"",
        "'c'",
        "'aa'",
        "'ab'",
        "'lang'",
        "''",
        "'x y'",
        "'é'",
        "\"q\\\"q\"",
        "'q\"q'",
        r"'\u0061'",
        r"'b\\'",
        r#""\u00E9""#,
        r#""\uD83D\uDE00""#,
        r"'\''",
    ]));
}

fn integer(rng: &mut Rng) -> String {
    match rng.below(20) {
        0 => rng.pick(&["9007199254740991", "-9007199254740991"]).to_owned(),
        _ => (rng.below(7) as i64 - 3).to_string(),
    }
}

fn slice(rng: &mut Rng, out: &mut String) {
    let part = |rng: &mut Rng, out: &mut String| {
        if rng.below(3) > 0 {
            out.push_str(&integer(rng));
            space(rng, out);
        }
    };
    part(rng, out);
    out.push(':');
    space(rng, out);
    part(rng, out);
    if rng.below(2) == 0 {
        out.push(':');
        if rng.below(3) > 0 {
            space(rng, out);
            out.push_str(&integer(rng));
        }
    }
}

/// `logical-expr`.
fn logical(rng: &mut Rng, depth: usize, out: &mut String) {
    let several = |rng: &mut Rng| [1, 1, 1, 1, 2, 3][rng.below(6)];
    for i in 0..several(rng) {
        for j in 0..several(rng) {
            if i + j > 0 {
                space(rng, out);
                out.push_str(if j > 0 { "&&" } else { "||" });
                space(rng, out);
            }
            basic(rng, depth, out);
        }
    }
}

/// `basic-expr`.
fn basic(rng: &mut Rng, depth: usize, out: &mut String) {
    let not = |rng: &mut Rng, out: &mut String| {
        if rng.below(4) == 0 {
            out.push('!');
            space(rng, out);
        }
    };
    match rng.below(if depth == 0 { 8 } else { 10 }) {
        0..=3 => {
            comparable(rng, depth, out);
            space(rng, out);
            out.push_str(rng.pick(&["==", "==", "!=", "<", "<=", ">", ">="]));
            space(rng, out);
            comparable(rng, depth, out);
        }
        4 | 5 => {
            not(rng, out);
            filter_query(rng, depth, out);
        }
        6 | 7 => {
            not(rng, out);
            out.push_str(rng.pick(&["match", "search"]));
            out.push('(');
            space(rng, out);
            comparable(rng, depth.saturating_sub(1), out);
            space(rng, out);
            out.push(',');
            space(rng, out);
            if rng.below(5) == 0 {
                comparable(rng, depth.saturating_sub(1), out);
            } else {
                pattern(rng, out);
            }
            space(rng, out);
            out.push(')');
        }
        _ => {
            not(rng, out);
            out.push('(');
            space(rng, out);
            logical(rng, depth - 1, out);
            space(rng, out);
            out.push(')');
        }
    }
}

/// A query of any number of nodes.
fn filter_query(rng: &mut Rng, depth: usize, out: &mut String) {
    out.push_str(rng.pick(&["@", "@", "@", "$"]));
    segments(rng, depth, 3, out);
}

/// Appends an operand of a comparison: it has a value, or nothing.
fn comparable(rng: &mut Rng, depth: usize, out: &mut String) {
    match rng.below(if depth == 0 { 8 } else { 12 }) {
        0 => number(rng, out),
        1 => string(rng, out),
        2 => out.push_str(rng.pick(&["null", "true", "false", "1", "'x'"])),
        3..=7 => {
            out.push_str(rng.pick(&["@", "@", "@", "$"]));
            for _ in 0..rng.below(3) {
                space(rng, out);
                match rng.below(3) {
                    0 => out.push_str(rng.pick(&[".a", ".b", ".c", ".é", ".lang"])),
                    1 => {
                        out.push('[');
                        name(rng, out);
                        out.push(']');
                    }
                    _ => out.push_str(&format!("[{}]", integer(rng))),
                }
            }
        }
        8 | 9 => {
            out.push_str("length(");
            space(rng, out);
            comparable(rng, depth - 1, out);
            space(rng, out);
            out.push(')');
        }
        _ => {
            out.push_str(rng.pick(&["count(", "value("]));
            space(rng, out);
            filter_query(rng, depth - 1, out);
            space(rng, out);
            out.push(')');
        }
    }
}

fn number(rng: &mut Rng, out: &mut String) {
    out.push_str(rng.pick(&[
        "0",
        "-0",
        "1",
        "1",
        "2",
        "3",
        "4",
        "1.0",
        "10e-1",
        "0.1E+1",
        "-12.5",
        "-1250e-02",
        "12345678901234567890",
        "1.5e0",
        "-1",
    ]));
}

fn string(rng: &mut Rng, out: &mut String) {
    out.push_str(rng.pick(&[
        "'x'",
        "\"x\"",
        "'nl'",
        "''",
        "'xx'",
        "'é'",
        r"'\u00e9'",
        r#""\"""#,
        "'\"'",
        r"'\\'",
        r"'\n'",
        "'{}'",
        r"'\/'",
        "'long text '",
        "'z'",
        r#""\uD83D\uDE00""#,
    ]));
}

/// A string that is an I-Regexp, now and then none.
fn pattern(rng: &mut Rng, out: &mut String) {
    out.push('\'');
    match rng.below(8) {
        0 => out.push_str(rng.pick(&["(", "*", "[z-a]", r"\\", "x{2,1}", r"\\p{Foo}"])),
        1..=4 => out.push_str(rng.pick(&[
            "x",
            ".*",
            ".",
            ".+x",
            "nl|x",
            "(n|x)l?",
            r".*\\\\.*",
            "long text ",
            ".*é.*",
        ])),
        _ => branches(rng, 2, out),
    }
    out.push('\'');
}

/// `i-regexp` of RFC 9485, in a string in single quotes.
fn branches(rng: &mut Rng, depth: usize, out: &mut String) {
    for i in 0..1 + rng.below(5) / 3 {
        out.push_str(if i > 0 { "|" } else { "" });
        for _ in 0..rng.below(4) {
            atom(rng, depth, out);
            out.push_str(rng.pick(&["", "", "*", "+", "?", "{2}", "{1,}", "{0,2}"]));
        }
    }
}

/// `atom` of RFC 9485.
fn atom(rng: &mut Rng, depth: usize, out: &mut String) {
    match rng.below(if depth == 0 { 6 } else { 7 }) {
        0 | 1 => out.push_str(rng.pick(&["x", "n", "l", "é", ":", ",", " ", "\"", "-"])),
        2 => out.push_str(rng.pick(&[r"\\n", r"\\\\", r"\\[", r"\\]", r"\\{", r"\\}", r"\\."])),
        3 => out.push('.'),
        4 => out.push_str(rng.pick(&[r"\\p{L}", r"\\P{L}", r"\\p{Ll}", r"\\p{Ps}", r"\\P{P}", r"\\p{Zs}"])),
        5 => {
            out.push_str(rng.pick(&["[", "[^"]));
            out.push_str(rng.pick(&["", "", "-"]));
            for _ in 0..1 + rng.below(3) {
                out.push_str(rng.pick(&[
                    "x", "a-z", "é", r"\\n", r"\\\\", r"\\[-\\]", r"\\p{L}", r"\\P{Ll}", ":", "^", "*", ".",
                ]));
            }
            out.push_str(rng.pick(&["]", "]", "-]"]));
        }
        _ => {
            out.push('(');
            branches(rng, depth - 1, out);
            out.push(')');
        }
    }
}
