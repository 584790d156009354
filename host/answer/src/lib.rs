//! The contract between Warpath's engine and its backends, and the results of one partition. Nothing here
//! knows how anything is evaluated.
//!
//! | module | contents |
//! |---|---|
//! | [`backend`] | the contract between engine and backend |
//! | [`forms`], [`resident`] | the device forms of operators; partitions that are kept |
//! | [`stage`] | stages of evaluations as data |
//! | [`buffer`] | host memory that partitions are read into |
//! | [`answer`] | the results of one partition |
//! | [`columns`] | results as typed columns in Arrow's layout |
//! | `nested` | records decoded to nested columns (feature `arrow`) |
//! | `parquet` | the writer of Parquet (feature `parquet`) |
//! | [`on_device`] | columns whose values stay in the memory of a device |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod answer;
pub mod backend;
pub mod buffer;
pub mod columns;
pub mod forms;
#[cfg(feature = "arrow")]
pub mod nested;
pub mod on_device;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod resident;
pub mod stage;
