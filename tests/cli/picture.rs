//! `docs/terminal.svg`, the picture of a terminal in README.md: commands, run here, and what they print.
//!
//! With `WARPATH_UPDATE_PAGES=1` the test writes the picture.

#![cfg(unix)]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use vt100::{Cell, Color, Parser};

use crate::{Folder, PROGRAM, data};

/// The commands of the picture, and the most rows of each that are shown.
const COMMANDS: [(&str, usize); 5] = [
    ("warpath schema people.ndjson", 7),
    ("warpath count-by level --bars people.ndjson", 10),
    ("warpath stats ms --by level people.ndjson", 10),
    ("warpath store add -q logs.wp people.ndjson", 10),
    ("warpath query '$.user.name' --where '$.ms > 1000 and icontains($.action, \"up\")' logs.wp", 10),
];

const COLUMNS: u16 = 100;

/// The width and the height of a cell, and the space around the text.
const CELL: (f64, f64) = (8.4, 18.0);
const SPACE: f64 = 16.0;

/// Colours on the dark ground of the picture, which is readable on a light page and on a dark one.
const GROUND: &str = "#161b22";
const TEXT: &str = "#d6dde5";
const PROMPT: &str = "#7ee787";

/// The colour of a cell.
fn color(cell: &Cell) -> &'static str {
    match cell.fgcolor() {
        Color::Idx(1 | 9) => "#ff8f87",
        Color::Idx(2 | 10) => "#7ee787",
        Color::Idx(3 | 11) => "#e3c35b",
        Color::Idx(4 | 12) => "#8cbcff",
        Color::Idx(5 | 13) => "#d7a8ff",
        Color::Idx(6 | 14) => "#76d9e6",
        Color::Idx(8) => "#9aa6b2",
        _ if cell.dim() => "#9aa6b2",
        _ => TEXT,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text of one colour.
fn span(text: &str, color: &str, is_bold: bool) -> String {
    let weight = if is_bold { " font-weight=\"bold\"" } else { "" };
    format!("<tspan fill=\"{color}\"{weight}>{}</tspan>", escaped(text))
}

/// The rows of a terminal, each as spans.
fn rows(bytes: &[u8]) -> Vec<String> {
    let mut parser = Parser::new(NonZero::new(500).unwrap(), NonZero::new(COLUMNS).unwrap(), 0);
    parser.process(bytes);
    let screen = parser.screen();
    let mut rows: Vec<String> = Vec::new();
    for row in 0..500 {
        let mut spans: Vec<(String, &str, bool)> = Vec::new();
        for column in 0..COLUMNS {
            let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
                continue;
            };
            let text = if cell.has_contents() { cell.contents() } else { " " };
            let style = (color(cell), cell.bold());
            match spans.last_mut() {
                // A space has no colour.
                Some((before, color, bold)) if (*color, *bold) == style || text == " " => {
                    before.push_str(text);
                }
                _ => spans.push((text.to_owned(), style.0, style.1)),
            }
        }
        if let Some((last, ..)) = spans.last_mut() {
            last.truncate(last.trim_end().len());
        }
        rows.push(spans.iter().map(|(text, color, bold)| span(text, color, *bold)).collect());
    }
    let end = rows.iter().rposition(|row| row.contains("</tspan>") && !row.contains("></tspan>"));
    rows.truncate(end.map_or(0, |end| end + 1));
    rows
}

#[test]
fn the_picture_shows_what_the_program_prints() {
    let people = fs::read(data("people.ndjson")).unwrap();
    let folder = Folder::new(&[("people.ndjson", &people)]);
    let mut lines = Vec::new();
    for (command, most) in COMMANDS {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(span("$ ", PROMPT, true) + &span(command, TEXT, true));
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replacen("warpath", &format!("'{PROGRAM}'"), 1)]);
        let shown = folder.shown(COLUMNS, shell);
        assert_eq!(shown.code, 0, "{command}: {}", shown.screen);
        let rows = rows(&shown.bytes);
        lines.extend(rows.iter().take(most).cloned());
        if rows.len() > most {
            lines.push(span("…", TEXT, false));
        }
    }
    let (width, height) =
        (f64::from(COLUMNS) * CELL.0 + 2.0 * SPACE, lines.len() as f64 * CELL.1 + 2.0 * SPACE);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace\" \
         font-size=\"14\" xml:space=\"preserve\">\n"
    );
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = SPACE + (at as f64 + 0.75) * CELL.1;
        writeln!(picture, "<text x=\"{SPACE}\" y=\"{y}\">{line}</text>").unwrap();
    }
    picture.push_str("</g>\n</svg>\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminal.svg");
    if env::var_os("WARPATH_UPDATE_PAGES").is_some() {
        fs::write(&path, &picture).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), picture, "docs/terminal.svg");
}
