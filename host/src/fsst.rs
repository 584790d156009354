//! Strings that are compressed by FSST ([`warpath_shared::fsst`]).
//!
//! | module | question it answers |
//! |---|---|
//! | [`pattern`] | what may be asked of a string? |
//! | [`automaton`] | how is that asked of codes, without decoding them? |
//! | [`matches`](mod@matches) | and of many strings, by all cores? |

pub mod automaton;
pub mod matches;
pub mod pattern;

pub use automaton::{AutomatonError, CodeAutomaton};
pub use matches::{MatchError, Matcher};
pub use pattern::{LikeError, Pattern};
