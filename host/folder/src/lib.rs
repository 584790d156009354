//! Folders of Warpath's store: immutable Parquet parts, listed by a Delta Lake log.
//!
//! The log is a folder `_delta_log` with one file of JSON lines for each version. It is Delta Lake's log in
//! its simplest form (reader version 1, writer version 2), so that other programs open the folder as one
//! table. A version is created only if it is absent. Two writers therefore lose nothing: the second one
//! checks its change against the first one's version, and writes the next version.
//!
//! | module | contents |
//! |---|---|
//! | [`storage`] | the operations that a folder needs, and folders of this machine |
//! | [`schema`] | the fields of the table, and Delta's text of them |
//! | [`part`] | the facts about parts and inputs |
//! | [`snapshot`] | one version of a folder |
//! | [`folder`] | a folder: opened, changed, cleaned |
//! | [`error`] | errors |
//!
//! # Lines of a version
//!
//! The first line is `commitInfo`. It begins with the XXH3 of the rest of that line. The rest has the number
//! of the version, the checksum of the version before it, and the XXH3 of each other line. Each altered byte
//! is therefore an error, with the file and the line. A version without these checksums is by another
//! program, and is refused.
//!
//! | action | what Warpath adds |
//! |---|---|
//! | `add` | `tags`: `warpath.position`, `warpath.text` (bytes of text), `warpath.hash` (of the part) |
//! | `txn` | `appId` is `warpath:input:NAME`, `version` is the input's size; the stamp is in `commitInfo` |
//!
//! # Limits
//!
//! Readers of Delta parse the schema with a limit of 128 levels of JSON, which is 42 levels of structs.
//! There are no checkpoints: a folder is opened by reading each version.

mod action;
pub mod error;
pub mod folder;
mod json;
pub mod part;
mod recent;
pub mod schema;
pub mod snapshot;
pub mod storage;

pub use action::LOG;
pub use error::FolderError;
pub use folder::{Change, Folder};
pub use part::{Input, Known, Millis, Part, Position};
pub use recent::remember;
pub use schema::{Field, Schema, Type};
pub use snapshot::Snapshot;
pub use storage::{LocalStorage, Object, Storage};
