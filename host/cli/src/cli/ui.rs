//! Messages on standard error.

use std::fmt::Display;
use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};

use super::args::{OutputArgs, When};
use super::escape::escaped;
use super::look::{Look, supports_color};
use super::progress;

/// Prints messages on standard error. A message that cannot be written is lost, and the run continues.
#[derive(Clone)]
pub struct Ui {
    color: bool,
    quiet: bool,
    /// The option `--color`, which results follow too.
    when: When,
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();

impl Ui {
    pub fn new(color: When, quiet: bool) -> Self {
        let when = color;
        let color = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => supports_color(&io::stderr()),
        };
        Self { color, quiet, when }
    }

    /// The look of results, indented if `pretty` is true.
    pub fn look(&self, output: &OutputArgs, pretty: bool) -> Look {
        Look::of(self.when, output, pretty)
    }

    pub fn error(&self, message: impl Display) {
        self.say("error:", ERROR, "", message);
    }

    /// Prints a warning, unless `-q` was given.
    pub fn warning(&self, message: impl Display) {
        if !self.quiet {
            self.say("warning:", WARNING, "", message);
        }
    }

    /// Prints a note, unless `-q` was given.
    pub fn note(&self, message: impl Display) {
        if !self.quiet {
            self.say("note:", HELP, "", message);
        }
    }

    /// Warns of malformed records or documents that were skipped, if there are any.
    pub fn skipped(&self, what: &str, count: u64, first: Option<impl Display>) {
        if let Some(first) = first {
            let plural = if count == 1 { "" } else { "s" };
            self.warning(format_args!("{count} malformed {what}{plural} skipped; first: {first}"));
        }
    }

    pub fn help(&self, message: impl Display) {
        self.say("help:", HELP, "  ", message);
    }

    /// Prints a message of several lines that begins with `error:`.
    pub fn rendered(&self, message: &str) {
        let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
        self.error(first.strip_prefix("error: ").unwrap_or(first));
        for line in rest.lines() {
            match line.strip_prefix("  help: ") {
                Some(help) => self.help(help),
                None => self.plain(line),
            }
        }
    }

    /// Prints lines unchanged, without a label.
    pub fn plain(&self, text: &str) {
        let _ = progress::aside(|| writeln!(io::stderr().lock(), "{text}"));
    }

    fn say(&self, label: &str, style: Style, indent: &str, message: impl Display) {
        let (label, message) = (styled(label, style, self.color), message.to_string());
        let message = escaped(&message);
        let _ = progress::aside(|| writeln!(io::stderr().lock(), "{indent}{label} {message}"));
    }
}

/// `text` in a style, or plain.
pub fn styled(text: &str, style: Style, color: bool) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
