//! Comparisons of a text's values with each other and with literals, by the rules that kernels and the CPU
//! share. The rules are compared with the JSON oracle, without an engine, at each of their bounds.

use warpath_shared::ir::{LiteralKind, Test, relation};
use warpath_shared::query::compare::{Decimal, Decoder, ValueBytes, relate_numbers, relate_strings};
use warpath_shared::query::document::{Node, Text};
use warpath_shared::query::value::{compares, equals, is_string, string_equals};
use warpath_shared::view::View;
use warpath_tests::oracle::json::{self, Content, Number};
use warpath_tests::random::Rng;

/// Bytes as the text of a document, in which no others are looked at.
struct Bytes(Vec<u8>);

impl Text for Bytes {
    fn byte(&self, at: u32) -> u8 {
        self.0[at as usize]
    }
}

/// A value in a text, and what it is.
struct Value {
    text: Bytes,
    node: Node,
    kind: Content,
}

impl Value {
    /// A value of JSON between other bytes.
    fn new((before, after): (&str, &str), value: &str) -> Self {
        let json = json::parse(value.as_bytes(), 0, value.len());
        let kind = json.unwrap_or_else(|| panic!("{value} is no JSON")).kind;
        Self { kind, ..Self::malformed((before, after), value) }
    }

    /// A malformed value.
    fn malformed((before, after): (&str, &str), value: &str) -> Self {
        let (start, end) = (before.len() as u32, (before.len() + value.len()) as u32);
        let text = Bytes([before, value, after].concat().into_bytes());
        Self { text, node: Node { start, end, level: 0 }, kind: Content::Null }
    }

    fn reader(&self) -> ValueBytes<'_, Bytes> {
        ValueBytes::text(&self.text, View::from_slice(&[]))
    }

    fn number(&self) -> Option<Decimal<'_, Bytes>> {
        Decimal::read(self.reader(), self.node.start, self.node.end)
    }

    /// Decodes the string.
    fn string(&self) -> Decoder<'_, Bytes> {
        self.reader().decode(self.node.start + 1, self.node.end - 1)
    }

    fn decoded(&self) -> Vec<u8> {
        let mut string = self.string();
        std::iter::from_fn(|| string.next_byte()).collect()
    }
}

/// A literal of a program between bytes of others: its test, and all bytes.
fn literal(kind: &Content, before: &[u8], after: &[u8]) -> (Test, Vec<u8>) {
    let mut test = Test { offset: before.len() as u32, ..Test::default() };
    let (kind, bytes) = match kind {
        Content::Null => (LiteralKind::Null, &b""[..]),
        Content::Bool(false) => (LiteralKind::False, &b""[..]),
        Content::Bool(true) => (LiteralKind::True, &b""[..]),
        Content::Number(number) => {
            let (negative, digits, exponent) = number.parts();
            test.negative = negative.into();
            if !digits.is_empty() {
                test.exponent = i64::try_from(exponent).unwrap() + digits.len() as i64;
            }
            (LiteralKind::Number, digits.as_bytes())
        }
        Content::String(bytes) => (LiteralKind::String, &bytes[..]),
        Content::Array(_) | Content::Object(_) => panic!("no literal"),
    };
    (test.kind, test.len) = (kind as u32, bytes.len() as u32);
    (test, [before, bytes, after].concat())
}

/// The relation between two values, by the oracle.
fn relation_of(left: &Content, right: &Content) -> u32 {
    let ordering = match (left, right) {
        (Content::Number(left), Content::Number(right)) => left.cmp(right),
        (Content::String(left), Content::String(right)) => left.cmp(right),
        (Content::Bool(left), Content::Bool(right)) if left == right => return relation::EQUAL,
        (Content::Null, Content::Null) => return relation::EQUAL,
        _ => return relation::UNRELATED,
    };
    [relation::LESS, relation::EQUAL, relation::GREATER][(ordering as i8 + 1) as usize]
}

/// Holds a value compared with a literal to a relation.
fn check_literal(value: &Value, (mut test, literals): (Test, Vec<u8>), want: u32, what: &str) {
    let literals = View::from_slice(&literals);
    assert_eq!(equals(&value.text, value.node, literals, &test), want == relation::EQUAL, "{what}");
    for asked in [
        relation::EQUAL,
        relation::UNEQUAL,
        relation::LESS,
        relation::LESS | relation::EQUAL,
        relation::GREATER,
        relation::GREATER | relation::EQUAL,
    ] {
        test.relation = asked;
        let holds = compares(&value.text, value.node, literals, &test);
        assert_eq!(holds, asked & want != 0, "{what}, {asked:#b}");
    }
}

// --- numbers -----------------------------------------------------------------------------------------------

/// Numbers that are equal, or nearly, in many spellings. The last have the exponents at which no further
/// digit is read.
const NUMBERS: &str = "
    0 -0 0.0 -0.000 0e5 0E-5 0.00e99999999999999999999 1 1.0 1.00 10e-1 0.1e1 0.01E+2 100e-2 1e0
    1E-0 1e+00 -1 -1.00 -0.1E1 0.05 0.5 5 50 0.005 0.050 5e-2 50e-3 0.55 5.5 55 -0.05 -0.5 -5 -0.005
    2 9 10 11 12 120 1.2 0.12 0.012 1200e-2 99 100 101 110 1001 1010 1.01 10.1 10.10 0.101 -9 -10
    -11 -99 -100 -101 -1.01 9007199254740992 9007199254740993 9007199254740993.0
    9007199254740992.99999999999999999999 12345678901234567890.5 123456789012345678905e-1
    12345678901234567890.50 12345678901234567890.51 1e9 1e10 1e11 1e+010 10e9 0.1e10 1e-9 1e-10 1e99
    1e100 1e101 1e400 10e399 9e399 -1e400 -1e399 1e-400 -1e-400 10e-401 1e461168601842738788
    1e461168601842738789 1e461168601842738790 1e4611686018427387889 1e4611686018427387890
    1e4611686018427387898 1e4611686018427387899 1e4611686018427387900 1e4611686018427387903
    1e4611686018427387904 1e4611686018427387905 0.1e4611686018427387904 10e4611686018427387904
    1e46116860184273879040 1e99999999999999999999 -1e99999999999999999999 2e99999999999999999999
    1e-4611686018427387898 1e-4611686018427387899 1e-4611686018427387900 1e-4611686018427387904
    1e-99999999999999999999 0.1e-99999999999999999999 10e-99999999999999999999
";

/// Texts around a number that would change it.
const AROUND_NUMBERS: [(&str, &str); 4] = [("", ""), ("-", "5"), ("1", ".5"), ("5e-", "e9")];

fn check_numbers(left: &Value, right: &Value, what: &str) {
    let (Content::Number(a), Content::Number(b)) = (&left.kind, &right.kind) else {
        panic!("{what}: no numbers")
    };
    let want = relation_of(&left.kind, &right.kind);
    assert_eq!(relate_numbers(left.number().unwrap(), right.number().unwrap()), want, "{what}");
    check_literal(left, literal(&right.kind, b"15", b"05"), want, what);
    let key = |value: &Value| {
        let mut digits = Vec::new();
        let (is_negative, scale) = value.number().unwrap().canonical(|digit| digits.push(digit));
        (digits, is_negative, scale)
    };
    assert_eq!(key(left) == key(right), a == b, "{what}");
}

#[test]
fn numbers_compare_by_their_exact_values() {
    let numbers: Vec<&str> = NUMBERS.split_whitespace().collect();
    let values: Vec<Value> = (numbers.iter().zip(AROUND_NUMBERS.iter().cycle()))
        .map(|(number, around)| Value::new(*around, number))
        .collect();
    for (left, a) in values.iter().zip(&numbers) {
        for around in AROUND_NUMBERS {
            check_numbers(&Value::new(around, a), left, a);
        }
        for (right, b) in values.iter().zip(&numbers) {
            check_numbers(left, right, &format!("{a} and {b}"));
        }
    }
}

/// Numbers of few digits, which are often equal or differ in one digit or by a power of ten.
#[test]
fn random_numbers_compare_by_their_exact_values() {
    let digits = |rng: &mut Rng, most: usize| -> String {
        (0..rng.below(most)).map(|_| [b'0', b'0', b'1', b'5', b'9'][rng.below(5)] as char).collect()
    };
    let number = |rng: &mut Rng| {
        let mut text = String::from(if rng.below(4) == 0 { "-" } else { "" });
        let whole = digits(rng, 4);
        let whole = whole.trim_start_matches('0');
        text += if whole.is_empty() { "0" } else { whole };
        if rng.below(2) == 0 {
            text = text + "." + &digits(rng, 5) + ["0", "1", "5"][rng.below(3)];
        }
        if rng.below(2) == 0 {
            text += ["e", "E", "e+", "e-", "E-", "e0", "e-0"][rng.below(7)];
            text += ["0", "1", "2", "3"][rng.below(4)];
        }
        text
    };
    let (mut rng, mut equal) = (Rng::new(3), 0);
    for _ in 0..30_000 {
        let (a, b) = (number(&mut rng), number(&mut rng));
        let around = AROUND_NUMBERS[rng.below(4)];
        let (left, right) = (Value::new(around, &a), Value::new(around, &b));
        check_numbers(&left, &right, &format!("{a} and {b}"));
        equal += u32::from(relation_of(&left.kind, &right.kind) == relation::EQUAL);
    }
    assert!(equal > 500, "only {equal} were equal");
}

/// The results of `length` and `count` compare like other numbers.
#[test]
fn counts_compare_as_numbers() {
    let text = Bytes(Vec::new());
    let edges =
        (0..10).map(|power| 10_u32.pow(power)).chain([u32::MAX, 4_000_000_000, 1_234_567_890, 305_070_901]);
    let counts = edges.flat_map(|edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)]).chain(0..130);
    let counts: Vec<u32> = counts.collect();
    for &count in &counts {
        let of_count = || Decimal::of_count(ValueBytes::text(&text, View::from_slice(&[])), count);
        for &other in &counts {
            let want = relation_of(
                &Content::Number(Number::parse(&count.to_string())),
                &Content::Number(Number::parse(&other.to_string())),
            );
            for (spelling, want) in [
                (other.to_string(), want),
                (format!("{other}.0"), want),
                (format!("{other}0e-1"), want),
                (format!("{other}.5"), if want == relation::GREATER { want } else { relation::LESS }),
            ] {
                let right = Value::new(AROUND_NUMBERS[1], &spelling);
                let related = relate_numbers(of_count(), right.number().unwrap());
                assert_eq!(related, want, "{count} and {spelling}");
            }
            let other = Decimal::of_count(ValueBytes::text(&text, View::from_slice(&[])), other);
            assert_eq!(relate_numbers(of_count(), other), want);
        }
    }
}

#[test]
fn what_is_no_number_compares_with_none() {
    let literals = ["0", "1", "10", "15", "-1", "1e5"].map(|number| Content::Number(Number::parse(number)));
    for text in [
        "-", ".", "-.", "e1", ".e1", "-e5", "1e", "1E", "1e+", "1e-", "10e-", "1ee1", "1e1e1", "1e1.0",
        "1..0", "1.0.", "1.0.0", "+1", "--1", "1-1", "1-", "1 ", "1/", "1:", "0x1", "1e/", "1e:", "1e1/",
        "1e1:", "1e++1", "1e+-1", "1e--1", "0e", "0e+", "0-", "0:", "1_0", "\"1\"",
    ] {
        for around in AROUND_NUMBERS {
            let value = Value::malformed(around, text);
            assert!(value.number().is_none(), "{text}");
            for number in &literals {
                check_literal(&value, literal(number, b"1", b"5"), relation::UNRELATED, text);
            }
        }
    }
    let nothing = Value::malformed(("-", "5"), "");
    assert!(nothing.number().is_none());
    // Zeros in front are not minded, nor is a point at either end.
    for (text, number) in
        [("01", "1"), ("-00.5", "-0.5"), ("1.", "1"), (".5", "0.5"), ("1.e1", "10"), ("00", "0")]
    {
        let (value, number) = (Value::malformed(("1", "5"), text), Value::new(("", ""), number));
        let related = relate_numbers(value.number().unwrap(), number.number().unwrap());
        assert_eq!(related, relation::EQUAL, "{text}");
        check_literal(&value, literal(&number.kind, b"1", b"5"), relation::EQUAL, text);
    }
}

// --- strings -----------------------------------------------------------------------------------------------

/// Texts around a string that would continue an escape at its ends.
const AROUND_STRINGS: [(&str, &str); 5] =
    [("", ""), ("\\", "\\udc00"), ("\\ud83d", "0041"), ("\"", "n"), ("\\", "u0041\\ude00")];

/// Strings by their escapes: each surrogate that bounds a range, alone and before any other; each digit; each
/// length in UTF-8.
fn strings() -> Vec<String> {
    let mut all: Vec<String> = [
        "",
        "a",
        "ab",
        "abc",
        "b",
        "ba",
        "Z",
        "z",
        "/",
        "u0041",
        "é",
        "éa",
        "e",
        "\u{7f}",
        "\u{80}",
        "\u{7ff}",
        "\u{800}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{fffd}",
        "\u{ffff}",
        "\u{10000}",
        "\u{10ffff}",
        "😀",
        "😀a",
        "日本",
    ]
    .map(str::to_owned)
    .into();
    let escapes = [r#"\""#, r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t"];
    all.extend(
        escapes
            .iter()
            .flat_map(|escape| [escape.to_string(), format!("a{escape}b"), format!("{escape}{escape}")]),
    );
    let units = [
        "0000", "0008", "000a", "0022", "002f", "0041", "005C", "007f", "0080", "00e9", "07ff", "0800",
        "D7FF", "d800", "d801", "dabc", "dbfe", "dBfF", "dc00", "Dc01", "de00", "dffe", "dfff", "e000",
        "fffd", "ffff",
    ];
    for first in units {
        all.extend([
            format!("\\u{first}"),
            format!("a\\u{first}b"),
            format!("\\u{first}\\n"),
            format!("\\u{first}u0041"),
        ]);
        all.extend(units.iter().map(|second| format!("\\u{first}\\u{second}")));
    }
    all.extend(["d800", "dbff", "dc00"].iter().flat_map(|first| {
        ["\\udbff\\udfff", "\\udc00\\ud800", "\\\\udc00", "\\/\\udc00"]
            .map(|rest| format!("\\u{first}{rest}"))
    }));
    for digit in "0123456789abcdefABCDEF".chars() {
        all.extend((0..4).map(|at| {
            let mut digits = ['1'; 4];
            digits[at] = digit;
            format!("\\u{}", digits.iter().collect::<String>())
        }));
    }
    all
}

fn quoted(string: &str) -> String {
    format!("\"{string}\"")
}

#[test]
fn strings_are_their_code_points() {
    for string in strings() {
        for around in AROUND_STRINGS {
            let value = Value::new(around, &quoted(&string));
            let Content::String(want) = &value.kind else { panic!("{string}") };
            assert_eq!(value.decoded(), *want, "{string}");
            // Without its quotes it ends where the text does.
            let bare = Value::malformed((around.0, around.1), &string);
            let mut decoder = bare.reader().decode(bare.node.start, bare.node.end);
            assert_eq!(std::iter::from_fn(|| decoder.next_byte()).collect::<Vec<_>>(), *want, "{string}");
        }
    }
}

#[test]
fn strings_compare_by_their_code_points() {
    let strings = strings();
    let values: Vec<Value> = (strings.iter().zip(AROUND_STRINGS.iter().cycle()))
        .map(|(string, around)| Value::new(*around, &quoted(string)))
        .collect();
    for (left, a) in values.iter().zip(&strings) {
        let Content::String(said) = &left.kind else { panic!("{a}") };
        for (right, b) in values.iter().zip(&strings) {
            let want = relation_of(&left.kind, &right.kind);
            assert_eq!(relate_strings(left.string(), right.string()), want, "{a} and {b}");
            let Content::String(bytes) = &right.kind else { panic!("{b}") };
            // Literals are text, in which no surrogate is.
            if std::str::from_utf8(bytes).is_err() {
                continue;
            }
            // The bytes after the literal are the rest of the other string.
            let rest = said.strip_prefix(&bytes[..]).unwrap_or(b"a");
            check_literal(left, literal(&right.kind, b"ab", rest), want, &format!("{a} and {b}"));
        }
    }
}

/// A backslash that begins no escape stays as it is, and what has one equals no literal.
#[test]
fn what_is_no_escape_stays() {
    let mut all: Vec<String> = [
        r"\", r"a\", r"\x", r"\x41", r"\0", r"\'", r"\N", r"\U0041", r"\u", r"\u0", r"\u00", r"\u004",
        r"a\u004", r"\u 041", r"\u+041", r"\u-041", r"\u00e ", r"\ u0041", r"\é",
    ]
    .map(str::to_owned)
    .into();
    for wrong in ['/', ':', '@', 'G', '`', 'g', '\u{0}', '\u{7f}'] {
        all.extend((0..4).map(|at| {
            let mut digits = ['0', '0', '4', '1'];
            digits[at] = wrong;
            format!("\\u{}", digits.iter().collect::<String>())
        }));
    }
    for string in all {
        for around in AROUND_STRINGS {
            let value = Value::malformed(around, &quoted(&string));
            assert_eq!(value.decoded(), string.as_bytes(), "{string}");
            let bare = Value::malformed(around, &string);
            let mut decoder = bare.reader().decode(bare.node.start, bare.node.end);
            assert_eq!(
                std::iter::from_fn(|| decoder.next_byte()).collect::<Vec<_>>(),
                string.as_bytes(),
                "{string}"
            );
            for same in [string.as_str(), "A", "a", "\\"] {
                let view = View::from_slice(same.as_bytes());
                let Node { start, end, .. } = bare.node;
                assert!(
                    !string_equals(&bare.text, start, end, view, 0, same.len() as u32),
                    "{string} {same}"
                );
            }
        }
    }
    // A surrogate before an invalid escape is alone.
    for (rest, said) in [
        (r"\", r"\"),
        (r"\u", r"\u"),
        (r"\ude0", r"\ude0"),
        (r"\ude0g", r"\ude0g"),
        (r"\x", r"\x"),
        ("u", "u"),
    ] {
        for around in AROUND_STRINGS {
            let string = format!(r"\ud83d{rest}");
            let bare = Value::malformed(around, &string);
            let mut decoder = bare.reader().decode(bare.node.start, bare.node.end);
            let decoded: Vec<u8> = std::iter::from_fn(|| decoder.next_byte()).collect();
            assert_eq!(decoded, [b"\xed\xa0\xbd", said.as_bytes()].concat(), "{string}");
        }
    }
}

// --- other values ------------------------------------------------------------------------------------------

#[test]
fn values_of_several_kinds_compare_with_literals() {
    let values =
        ["null", "true", "false", "0", "1", "-1.5", "\"\"", "\"null\"", "\"true\"", "\"1\"", "\"a\""];
    for around in [("", ""), ("l", "l"), ("\"", "e\""), ("n", "e")] {
        for a in values {
            let left = Value::new(around, a);
            assert_eq!(is_string(&left.text, left.node), matches!(left.kind, Content::String(_)), "{a}");
            for b in values {
                let right = Value::new(around, b);
                let want = relation_of(&left.kind, &right.kind);
                check_literal(&left, literal(&right.kind, b"", b"0"), want, &format!("{a} and {b}"));
            }
        }
    }
    // Words that adjacent bytes make longer or shorter, and quotes without a partner.
    for (around, text) in [
        (("", "l"), "nul"),
        (("", "l"), "nulll"),
        (("n", ""), "ull"),
        (("", "e"), "tru"),
        (("", "e"), "truee"),
        (("", "e"), "fals"),
        (("", ""), "falsey"),
        (("", ""), "Null"),
        (("", ""), "n"),
        (("", ""), "nukl"),
        (("", ""), "t"),
        (("", ""), "f"),
        (("\"", "\""), "\""),
        (("", "\""), "\"a"),
        (("\"", ""), "a\""),
        (("\"", "\""), "a"),
    ] {
        let value = Value::malformed(around, text);
        assert!(!is_string(&value.text, value.node), "{text}");
        for right in ["null", "true", "false", "\"\"", "\"a\""] {
            let right = Value::new(("", ""), right);
            check_literal(&value, literal(&right.kind, b"", b"a"), relation::UNRELATED, text);
        }
    }
}
