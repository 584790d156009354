//! Messages, progress and coloured JSON of Warpath's programs on a terminal.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the options for messages that all commands of all programs have |
//! | [`messages`] | errors, warnings and notes on standard error, as text or as JSON |
//! | [`progress`] | a bar with the bytes that are read |
//! | [`streams`] | the standard streams of a command: those of the process, or of a client |
//! | [`json`] | JSON with indentation and colours |
//! | [`escape`] | the printed form of names |
//! | `memory` | the end of a program that gets no memory (on Unix) |

pub mod escape;
pub mod json;
#[cfg(unix)]
pub mod memory;
pub mod messages;
pub mod options;
pub mod progress;
pub mod streams;
