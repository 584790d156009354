//! The engine of Warpath: inputs become partitions, workers evaluate them, and results come in order.
//!
//! | module | contents |
//! |---|---|
//! | [`engine`] | `Engine` and `Input`: which backend, which settings, which operator |
//! | [`devices`] | the backends of this machine, opened by choice |
//! | `planning`, `beside` | facts for the plan of a run; indexes that lie beside an input |
//! | [`input`] | files, pipes and bytes as partitions of whole lines |
//! | [`document`] | inputs that are one JSON document |
//! | [`stream`] | workers, and their results in order |
//! | [`channel`] | results in a bounded channel |
//! | [`resident`] | inputs that stay in memory; text with its structural index |
//! | [`loaded`] | their form as leaves and compressed lines |
//! | `index_file` | a structural index in a file |
//! | [`aggregate`] | counts, distinct values, statistics, samples and sorted rows |
//! | [`bitmap`] | bitmap indexes built from inputs, and evaluated on the CPU or a device |
//! | `store` | stores: made, appended to, checked, changed, and given back as text |
//! | `record_batches` | columns as Arrow's record batches |
//! | `device_batches` | columns that stay on a device |
//! | `saved_schema` | schemas that were saved, read again |
//! | `table` | Parquet and Arrow files as record batches |
//! | `limits`, `trace` | time and memory of a run; spans of `tracing` |
//! | [`dump`] | structural indexes as text |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aggregate;
mod beside;
pub mod bitmap;
pub mod channel;
#[cfg(feature = "arrow")]
pub mod device_batches;
pub mod devices;
pub mod document;
pub mod dump;
pub mod edit;
pub mod engine;
#[cfg(feature = "store")]
pub mod index_file;
#[cfg(not(feature = "store"))]
#[path = "index_file/none.rs"]
mod index_file;
pub mod input;
mod limits;
#[cfg(feature = "store")]
pub mod loaded;
pub mod operators;
#[doc(hidden)]
pub mod planning;
#[cfg(feature = "arrow")]
pub mod record_batches;
pub mod records;
mod request;
pub mod resident;
#[cfg(feature = "arrow")]
#[doc(hidden)]
pub mod saved_schema;
#[cfg(feature = "store")]
pub mod store;
pub mod stream;
mod table;
mod trace;
