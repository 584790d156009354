//! The decoded values of JSON texts, by UTF-16 and the standard library.

/// Decodes the text between the quotes of a string. `None` if it is malformed; if `lenient`, malformed parts
/// stay as they are.
fn unescape(inside: &[u8], lenient: bool) -> Option<Vec<u8>> {
    let (mut out, mut units) = (Vec::new(), Vec::new());
    let mut rest = inside;
    while !rest.is_empty() {
        let unit =
            (rest.len() >= 6 && rest.starts_with(b"\\u") && rest[2..6].iter().all(u8::is_ascii_hexdigit))
                .then(|| u16::from_str_radix(std::str::from_utf8(&rest[2..6]).unwrap(), 16).unwrap());
        if let Some(unit) = unit {
            units.push(unit);
            rest = &rest[6..];
            continue;
        }
        out.extend(String::from_utf16_lossy(&units).bytes());
        units.clear();
        let short = match rest {
            [b'\\', c @ (b'"' | b'\\' | b'/'), ..] => Some(*c),
            [b'\\', b'b', ..] => Some(8),
            [b'\\', b'f', ..] => Some(12),
            [b'\\', b'n', ..] => Some(b'\n'),
            [b'\\', b'r', ..] => Some(b'\r'),
            [b'\\', b't', ..] => Some(b'\t'),
            _ => None,
        };
        match (short, rest[0]) {
            (Some(byte), _) => {
                out.push(byte);
                rest = &rest[2..];
            }
            (None, b'\\' | b'"') if !lenient => return None,
            (None, b'\\') => {
                let len = rest.len().min(2);
                out.extend_from_slice(&rest[..len]);
                rest = &rest[len..];
            }
            (None, byte) => {
                out.push(byte);
                rest = &rest[1..];
            }
        }
    }
    out.extend(String::from_utf16_lossy(&units).bytes());
    Some(out)
}

/// The text between the quotes of a value, if it has quotes.
fn inside(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// A value as `--raw-output` shows it.
pub fn raw(value: &[u8]) -> Vec<u8> {
    inside(value).map_or_else(|| value.to_vec(), |inside| unescape(inside, true).unwrap_or_default())
}

/// The decoded content of a string, if it is well-formed.
pub fn string(value: &[u8]) -> Option<String> {
    String::from_utf8(unescape(inside(value)?, false)?).ok()
}

/// The text of a number, if it is one in JSON, which allows less than Rust.
fn number(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
    let ends_in_digit = text.ends_with(|c: char| c.is_ascii_digit());
    let point = !rest.starts_with('.') || rest[1..].starts_with(|c: char| c.is_ascii_digit());
    let whole_is_good = whole == "0" || !whole.is_empty() && !whole.starts_with('0');
    (whole_is_good && ends_in_digit && point).then_some(text)
}

/// A value as an integer.
pub fn integer(value: &[u8]) -> Option<i64> {
    number(value)?.parse().ok()
}

/// A value as a number. The standard library clamps exponents beyond some hundred thousand, so this function
/// first moves the decimal point by the exponent.
pub fn float(value: &[u8]) -> Option<f64> {
    let text = number(value)?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let sign = if whole.starts_with('-') { "-" } else { "" };
    let whole = whole.trim_start_matches('-');
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    // Farther than any text's length.
    let far = if exponent.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 };
    let point = whole.len() as i64 - (digits.len() - significant.len()) as i64;
    let point =
        point + exponent.parse::<i64>().map_or(far, |exponent| exponent.clamp(i64::MIN / 4, i64::MAX / 4));
    match point {
        _ if significant.is_empty() => format!("{sign}0"),
        1000.. => format!("{sign}1e999"),
        ..-1000 => format!("{sign}1e-999"),
        point => format!("{sign}0.{significant}e{point}"),
    }
    .parse()
    .ok()
}
