//! Matches as text: JSON unchanged, or strings decoded.

use warpath_core::json::{self, Malformed};
use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

/// The form in which a match is written as text. A newline follows each match.
///
/// ```
/// use warpath::{Engine, Program, Query, TextForm, Want};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text_as = |form| -> Result<Vec<u8>, warpath::Error> {
///     let program = Program::new(&[Query::compile("$.a")?])?;
///     let input = Engine::builder().build()?.bytes(r#"{"a":"x\u0079"}"#);
///     let batch = input.answers(program, Want::new().text(form)).next().unwrap()?;
///     Ok(batch.texts(0).flatten().copied().collect())
/// };
/// assert_eq!(text_as(TextForm::Json)?, b"\"x\\u0079\"\n");
/// assert_eq!(text_as(TextForm::Raw)?, b"xy\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// The bytes of the input, unchanged. No value contains a newline.
    Json,
    /// Strings are without quotes and with escapes resolved, so a string may contain newlines. Other values
    /// are unchanged.
    Raw,
}

/// The text of some matches, each followed by a newline.
struct MatchText {
    bytes: Vec<u8>,
    /// The number of its bytes that are matches of lines before `fault` of [`of_matches`].
    before: usize,
}

/// The text of one path's matches in `text`, and the length of the part before the line `fault`.
fn of_matches(text: &[u8], matches: &[Match], form: TextForm, fault: Option<LineIx>) -> MatchText {
    let before = fault.map_or(matches.len(), |line| matches.partition_point(|found| found.line < line));
    let room: usize = matches.iter().map(|found| (found.end - found.start) as usize + 1).sum();
    let mut made = MatchText { bytes: Vec::with_capacity(room), before: 0 };
    for (i, found) in matches.iter().enumerate() {
        if i == before {
            made.before = made.bytes.len();
        }
        append(&text[found.start as usize..found.end as usize], form, &mut made.bytes);
        made.bytes.push(b'\n');
    }
    if before == matches.len() {
        made.before = made.bytes.len();
    }
    made
}

/// Path by path, the text of the matches in `text`, and the length of the part before the line `fault`, if
/// there is one.
pub fn of_paths(
    text: &[u8],
    paths: &[Vec<Match>],
    form: TextForm,
    fault: Option<LineIx>,
) -> (Vec<Vec<u8>>, Option<Vec<usize>>) {
    let made = paths.iter().map(|list| of_matches(text, list, form, fault));
    let (texts, before) = made.map(|made| (made.bytes, made.before)).unzip();
    (texts, fault.map(|_| before))
}

/// Appends the text of a value in a form.
pub fn append(json: &[u8], form: TextForm, out: &mut Vec<u8>) {
    match json::inside(json) {
        Some(inside) if form == TextForm::Raw => {
            json::decode(inside, Malformed::Keep, out);
        }
        _ => out.extend_from_slice(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_before_a_line() {
        let text = b"\"a\\n\" 1 [2]";
        let found = |line, start, end| Match { line, start, end };
        let matches = [found(0, 0, 5), found(3, 6, 7), found(3, 8, 11)];
        let made = |form, fault| {
            let made = of_matches(text, &matches, form, fault);
            (String::from_utf8(made.bytes).unwrap(), made.before)
        };
        let (json, raw) = ("\"a\\n\"\n1\n[2]\n".to_owned(), "a\n\n1\n[2]\n".to_owned());
        assert_eq!(made(TextForm::Json, None), (json.clone(), json.len()));
        assert_eq!(made(TextForm::Json, Some(0)), (json.clone(), 0));
        assert_eq!(made(TextForm::Json, Some(3)), (json.clone(), 6));
        assert_eq!(made(TextForm::Json, Some(4)), (json.clone(), json.len()));
        assert_eq!(made(TextForm::Raw, Some(1)), (raw.clone(), 3));
        assert_eq!(made(TextForm::Raw, None), (raw.clone(), raw.len()));
    }
}
