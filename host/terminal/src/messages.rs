//! Messages on standard error.

use std::fmt::Display;

use clap::builder::styling::{AnsiColor, Style};
use warpath_core::error::{InputError, RecordError, TreeError};
use warpath_core::foreign::Foreign;

use crate::escape::{escaped, escaped_lines, quoted};
use crate::options::{MessageArgs, MessageFormat, When};
use crate::streams::{Stream, Streams};

/// Prints messages on standard error. A message that cannot be written is lost, and the run continues.
#[derive(Clone)]
pub struct Ui {
    color: bool,
    quiet: bool,
    /// The option `--color`, which results follow too.
    when: When,
    format: MessageFormat,
    streams: Streams,
}

/// A message with what belongs to it.
#[derive(Default)]
pub struct Message {
    /// The whole message, on one line. It begins with the position, if there is one.
    pub text: String,
    /// The position that the message is about.
    pub place: Option<Location>,
    /// The text around the position, with a caret under it.
    pub excerpt: Option<String>,
    /// A way to correct the error.
    pub help: Option<String>,
}

impl Message {
    /// The message of several lines that begins with `error:`.
    pub fn of_rendered(message: &str) -> Self {
        let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
        let help = rest.lines().find_map(|line| line.strip_prefix("  help: ")).map(str::to_owned);
        let excerpt: Vec<&str> = rest.lines().filter(|line| !line.starts_with("  help: ")).collect();
        let excerpt = (!excerpt.is_empty()).then(|| excerpt.join("\n"));
        let text = first.strip_prefix("error: ").unwrap_or(first).to_owned();
        Self { text, place: None, excerpt, help }
    }
}

/// A location in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The name of the input.
    pub file: String,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The byte in the line, counted from 1.
    pub byte: Option<u64>,
}

impl Location {
    /// A byte in a line.
    pub fn at(file: String, line: u64, byte: u64) -> Self {
        Self { file, line: Some(line), byte: Some(byte) }
    }

    /// A whole input.
    pub fn of_file(file: String) -> Self {
        Self { file, line: None, byte: None }
    }

    /// The position in an input that an error is about.
    pub fn of(error: &InputError) -> Option<Self> {
        Some(match error {
            InputError::Record(RecordError { name, line, byte, .. })
            | InputError::Tree(TreeError { name, line, byte, .. })
            | InputError::Xml { name, line, byte, .. } => Self::at(name.clone(), *line, *byte),
            InputError::Directory(path) => Self::of_file(path.display().to_string()),
            InputError::Io { name, .. }
            | InputError::NoFiles { name, .. }
            | InputError::Compressed { name, .. }
            | InputError::NotBuilt { name, .. }
            | InputError::Foreign { name, .. } => Self::of_file(name.clone()),
            _ => return None,
        })
    }
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();

impl Ui {
    /// Messages with these options.
    pub fn new(color: When, quiet: bool, format: MessageFormat) -> Self {
        let (when, streams) = (color, Streams::current());
        let color = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => streams.supports_color(Stream::Error),
        };
        Self { color, quiet, when, format, streams }
    }

    /// The option `--color`, which results follow too.
    pub fn when(&self) -> When {
        self.when
    }

    /// True if messages are JSON.
    pub fn is_json(&self) -> bool {
        self.format == MessageFormat::Json
    }

    /// Messages with these options.
    pub fn of(options: &MessageArgs) -> Self {
        Self::new(options.color, options.quiet, options.message_format)
    }

    /// Returns true if warnings and notes are not printed.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints an error.
    pub fn error(&self, message: impl Display) {
        self.say("error:", ERROR, "", message);
    }

    /// Prints an error with its excerpt and its help; as one object if messages are JSON.
    pub fn report(&self, message: &Message) {
        self.show("error:", ERROR, message);
    }

    /// Prints a note with its excerpt and its help, unless `-q` was given.
    pub fn noted(&self, message: &Message) {
        if !self.quiet {
            self.show("note:", HELP, message);
        }
    }

    fn show(&self, label: &str, style: Style, message: &Message) {
        if self.format == MessageFormat::Json {
            return self.object(label.trim_end_matches(':'), message);
        }
        self.say(label, style, "", &message.text);
        if let Some(excerpt) = &message.excerpt {
            self.plain(excerpt);
        }
        if let Some(help) = &message.help {
            self.help(help);
        }
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

    /// Prints a warning about a position in an input, unless `-q` was given.
    pub fn warning_at(&self, place: Option<Location>, text: String) {
        match self.format {
            MessageFormat::Json if !self.quiet => {
                self.object("warning", &Message { text, place, ..Message::default() });
            }
            _ => self.warning(text),
        }
    }

    /// Warns of malformed records or documents that were skipped, if there are any.
    pub fn skipped(&self, what: &str, count: u64, first: Option<impl Into<InputError>>) {
        if let Some(first) = first {
            let (first, plural) = (first.into(), if count == 1 { "" } else { "s" });
            let text = format!("{count} malformed {what}{plural} skipped; first: {first}");
            self.warning_at(Location::of(&first), text);
            if let InputError::Record(RecordError { input: Some(format), .. }) = first {
                self.help(looks_like(format));
            }
        }
    }

    /// Prints a way to correct an error.
    pub fn help(&self, message: impl Display) {
        self.say("help:", HELP, "  ", message);
    }

    /// Prints a message of several lines that begins with `error:`.
    pub fn rendered(&self, message: &str) {
        self.report(&Message::of_rendered(message));
    }

    /// Prints a text of whole lines as it is.
    pub fn lines(&self, text: &str) {
        self.streams.message(text.as_bytes());
    }

    /// Prints lines without a label. All messages pass here or through the other functions of this type, so
    /// that no control character reaches the terminal. If messages are JSON, the lines are a note.
    pub fn plain(&self, text: &str) {
        if self.format == MessageFormat::Json {
            return self.object("note", &Message { text: text.to_owned(), ..Message::default() });
        }
        self.lines(&format!("{}\n", escaped_lines(text)));
    }

    /// Prints a message as a JSON object.
    fn object(&self, kind: &str, message: &Message) {
        let Message { text, place, excerpt, help } = message;
        let mut object = format!("{{\"kind\":\"{kind}\",\"message\":{}", quoted(text));
        if let Some(Location { file, line, byte }) = place {
            object += &format!(",\"file\":{}", quoted(file));
            for (key, number) in [("line", line), ("byte", byte)] {
                if let Some(number) = number {
                    object += &format!(",\"{key}\":{number}");
                }
            }
        }
        for (key, value) in [("excerpt", excerpt), ("help", help)] {
            if let Some(value) = value {
                object += &format!(",\"{key}\":{}", quoted(value));
            }
        }
        self.lines(&(object + "}\n"));
    }

    fn say(&self, label: &str, style: Style, indent: &str, message: impl Display) {
        if self.format == MessageFormat::Json {
            let message = Message { text: message.to_string(), ..Message::default() };
            return self.object(label.trim_end_matches(':'), &message);
        }
        let (label, message) = (styled(label, style, self.color), message.to_string());
        self.lines(&format!("{indent}{label} {}\n", escaped(&message)));
    }
}

/// The name that is probably meant by a misspelt one, if there is such a name.
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let near = names.iter().map(|other| (distance(other), *other)).min()?;
    (near.0 <= name.chars().count().div_ceil(3)).then_some(near.1)
}

/// `text` in a style, or plain.
pub fn styled(text: &str, style: Style, color: bool) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// The format that an input seems to have, and a way to read it.
pub fn looks_like(format: Foreign) -> String {
    format!("this looks like {format}: {}", instead_of(format))
}

/// A way to read data in another format.
pub fn instead_of(format: Foreign) -> &'static str {
    match format {
        Foreign::Utf16Le => "convert it first: `iconv -f UTF-16LE -t UTF-8 FILE | warpath …`",
        Foreign::Utf16Be => "convert it first: `iconv -f UTF-16BE -t UTF-8 FILE | warpath …`",
        Foreign::Utf32Le => "convert it first: `iconv -f UTF-32LE -t UTF-8 FILE | warpath …`",
        Foreign::Utf32Be => "convert it first: `iconv -f UTF-32BE -t UTF-8 FILE | warpath …`",
        Foreign::Zip => "unpack it first: `unzip -p FILE | warpath …`",
        Foreign::SevenZip => "unpack it first: `7z x -so FILE | warpath …`",
        Foreign::Tar => "unpack it first: `tar -xOf FILE | warpath …`",
        Foreign::LegacyLz4 => "decompress it first: `lz4 -dc FILE | warpath …`",
        Foreign::Snappy => "decompress it first: `snzip -dc FILE | warpath …`",
        Foreign::Compress => "decompress it first: `uncompress -c FILE | warpath …`",
        Foreign::Parquet | Foreign::ArrowFile | Foreign::ArrowStream => {
            "`--input parquet` reads its rows, and with `--column NAME` a column of JSON text; or `--input arrow`"
        }
        Foreign::Sqlite => {
            "write its rows as JSON first: `sqlite3 -json FILE 'SELECT …' | warpath … --input json`"
        }
        Foreign::CompressedTwice => "decompress it once before: `gzip -dc FILE | warpath …`",
        Foreign::Document => "`--input json` reads it",
        Foreign::TextSequence => "`--input auto` reads it",
        Foreign::Xml => "`warpath filter --input xml` reads XML; for other commands, write it as JSON first",
        Foreign::Html => "perhaps it is a server's error page: look into it",
        Foreign::Yaml => "write it as JSON first: `yq -o json -I 0 . FILE | warpath …`",
        Foreign::Csv => "write its rows as JSON first: `mlr --icsv --ojsonl cat FILE | warpath …`",
        Foreign::Tsv => "write its rows as JSON first: `mlr --itsv --ojsonl cat FILE | warpath …`",
        _ => "write its rows as lines of JSON first",
    }
}
