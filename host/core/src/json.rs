//! JSON text (RFC 8259): tokens, a cursor, and strings with their escapes.
//!
//! | item | contents |
//! |---|---|
//! | [`Tokens`] | the tokens of whole lines, found 64 bytes at a time |
//! | [`Cursor`] | a walk over one text, value by value |
//! | [`encode`], [`decode`], [`Escape`] | escapes written and resolved |
//!
//! The evaluation of queries has walks of its own, which read words of 64 bytes (`cpu` and `shared`). All
//! other walks use this module.
//!
//! All of the host resolves escapes here, by the rule that columns on devices use
//! ([`warpath_shared::column::say`]). Readers differ in how they treat malformed strings:
//!
//! | rule | a surrogate without its partner | an escape that JSON does not have, bytes that are not UTF-8, a bare `"` | used for |
//! |---|---|---|---|
//! | [`Malformed::Keep`] | U+FFFD | stay as they are | printed strings, names in paths |
//! | [`Malformed::Order`] | the three bytes that UTF-8 would have for it | stay as they are | names and values of twigs, schemas, keys |
//! | [`Malformed::Refuse`] | U+FFFD | the string has no value | columns, bitmap indexes |
//! | [`Escape::read`] | an error | an error | JSONPath literals |
//!
//! A path prints to UTF-8, so it has no lone surrogate. The order of twigs' strings is that of code points.
//! It therefore distinguishes surrogates, as [`warpath_shared::query::compare`] does on devices. The JSONPath
//! lexer reads single escapes, because its errors name their position. It also has quotes of two kinds: `\'`
//! is an escape in single quotes only, and `\"` in double quotes only.
//!
//! Two other modules look at escapes and resolve none. Strict checks (`strict::record` and `valid` of the
//! crate `warpath-cpu`) hold them to the grammar. [`warpath_shared::query`] decodes while it compares, byte
//! by byte, in any memory.

mod cursor;
mod text;
mod tokens;

pub use cursor::{Cursor, JsonString};
pub use text::{Escape, Malformed, decode, encode, inside, say, unescape};
pub use tokens::{Tokens, token_end};
