//! Options for messages, and the values of options that several programs have.

use std::io::IsTerminal;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};

/// The options for messages of all commands.
#[derive(Args, Clone)]
pub struct MessageArgs {
    // Fixed orders, because the default order depends on the number of subcommands.
    /// Colours in messages and in JSON results
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set or TERM is `dumb`. CLICOLOR_FORCE colours pipes, too.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto, global = true,
          help_heading = "Messages", display_order = 5, env = "WARPATH_COLOR", hide_env_values = true,
          hide_short_help = true)]
    pub color: When,

    /// No warnings and notes; errors are still reported
    #[arg(short, long, global = true, help_heading = "Messages", display_order = 6)]
    pub quiet: bool,

    /// Format of messages on standard error
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = MessageFormat::Human, global = true,
          help_heading = "Messages", display_order = 7, env = "WARPATH_MESSAGE_FORMAT",
          hide_env_values = true, hide_short_help = true)]
    pub message_format: MessageFormat,
}

/// A choice that a program makes by the kind of a stream, unless the user does.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    #[default]
    #[expect(missing_docs, reason = "clap prints documentation of values")]
    Auto,
    #[expect(missing_docs, reason = "clap prints documentation of values")]
    Always,
    #[expect(missing_docs, reason = "clap prints documentation of values")]
    Never,
}

/// Formats of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Lines of text
    #[default]
    Human,
    /// A JSON object per message: kind, message, and where known file, line, byte, excerpt and help
    Json,
}

/// Returns true if a stream is a terminal that shows colours, by NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM.
pub fn supports_color(stream: &(impl anstream::stream::RawStream + IsTerminal)) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Parses a number of bytes, as people write it. K, M and G are powers of 1024, with or without B or iB after
/// them: these sizes are those of buffers, for which powers of two are the custom.
///
/// # Errors
/// A message about a text that is none.
pub fn size(text: &str) -> Result<u64, String> {
    parse_size::Config::new()
        .with_binary()
        .parse_size(text)
        .map_err(|_| "sizes are numbers of bytes, K, M or G: 65536, 64K, 16MB, 1.5GiB".to_owned())
}

/// Parses an amount of memory: a size of at least 1 MiB.
///
/// # Errors
/// A message about a text that is none.
pub fn memory_size(text: &str) -> Result<usize, String> {
    match usize::try_from(size(text)?) {
        Ok(bytes) if bytes >= 1 << 20 => Ok(bytes),
        Ok(_) => Err("1M is the least that is useful".to_owned()),
        Err(_) => Err("there is no such amount of memory".to_owned()),
    }
}

/// Parses a number of workers.
///
/// # Errors
/// A message about a text that is none.
pub fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers @ 1..=1024) => Ok(workers),
        _ => Err("there are 1 to 1024 workers".to_owned()),
    }
}
