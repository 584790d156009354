//! Messages and progress of Warpath's programs on a terminal.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the options for messages that all commands of all programs have |
//! | [`messages`] | errors, warnings and notes on standard error, as text or as JSON |
//! | [`progress`] | a bar with the bytes that are read |
//! | [`escape`] | the printed form of names |

pub mod escape;
pub mod messages;
pub mod options;
pub mod progress;
