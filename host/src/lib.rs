//! JSONPath over newline-delimited JSON, on NVIDIA GPUs and on the CPU.
//!
//! ```no_run
//! use warpath::{DeviceChoice, Engine, Query};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let engine = Engine::builder().device(DeviceChoice::Auto).build()?;
//! let query = Query::compile("$.user.lang")?;
//! for hit in engine.open("tweets.ndjson")?.query(&query)? {
//!     println!("{}", hit?.text());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Every backend gives the same results for every input. The library never prints, and never panics on
//! anything that a caller or a file can cause.
//!
//! This crate is the door to the layers below it. It has no code of its own: each name is defined in the
//! crate of its layer.
//!
//! | layer | crate | module here |
//! |---|---|---|
//! | inputs, partitions, results in order | `warpath-exec` | [`Engine`], [`Input`], [`IndexFile`], [`ResidentIndex`], [`dump`] |
//! | the CPU and devices | `warpath-backend` | [`backend`], [`answer`], [`device`], [`columns`], [`strict`], [`tree`], [`twig`] |
//! | stored forms | `warpath-store` | [`bitmap`], [`packed`], [`fsst`] |
//! | languages | `warpath-lang` | [`Query`], [`Predicate`], [`Program`], [`jsonpath`] |
//! | errors, sets of rows, strings of JSON, threads | `warpath-core` | [`Error`], [`diagnostic`], [`json`], [`pool`], [`time`] |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub use warpath_backend::cpu::Cpu;
#[cfg(feature = "cuda")]
pub use warpath_backend::cuda;
pub use warpath_backend::{answer, backend, device, strict, tree};
pub use warpath_core::error::{
    ColumnError, DeviceError, Error, IndexError, InputError, RecordError, TreeError,
};
pub use warpath_core::foreign::Foreign;
pub use warpath_core::temporary::{OutputMode, Unfinished, remove_unfinished};
pub use warpath_core::{diagnostic, json, key, plain, pool, time};
pub use warpath_exec::devices::DeviceChoice;
pub use warpath_exec::document::{AsOne, Format};
pub use warpath_exec::engine::{Engine, EngineBuilder, OnError};
pub use warpath_exec::index_file::IndexFile;
pub use warpath_exec::input::{
    FolderFiles, FollowEnd, FollowFrom, FollowedFiles, Source, TableFormat, TextColumn,
};
pub use warpath_exec::operators::Input;
pub use warpath_exec::resident::ResidentIndex;
pub use warpath_exec::stream::{
    Answers, Batch, Columns, Digest, Filtered, Filtering, Found, FoundDocument, Hit, Hits, IndexedPartition,
    Indexes, Plan, SchemaPart, Schemas, Setup, Stats,
};
pub use warpath_exec::{aggregate, dump, index_file};
pub use warpath_lang::about_record::AboutRecord;
pub use warpath_lang::jsonpath;
pub use warpath_lang::predicate::Predicate;
pub use warpath_lang::program::{Program, Query};

/// Programs, and their paths as columns.
pub mod program {
    pub use warpath_lang::program::{Column, Program, Query};
}
pub use warpath_store::fsst;

/// Results as typed columns, in the layout of Apache Arrow.
pub mod columns {
    pub use warpath_backend::columns::*;
    #[cfg(feature = "arrow")]
    pub use warpath_backend::nested::*;
    #[cfg(feature = "arrow")]
    pub use warpath_exec::record_batches::RecordBatches;
    #[cfg(feature = "arrow")]
    pub use warpath_exec::stream::Nested;

    // Columns that stay on a device.
    pub use warpath_backend::on_device::{ArrowDevice, DeviceColumns, SyncEvent};
    #[cfg(feature = "arrow")]
    pub use warpath_backend::on_device::{ArrowDeviceArray, DeviceBatch, DeviceValues};
    #[cfg(feature = "arrow")]
    pub use warpath_exec::device_batches::DeviceBatches;
}

/// The schema of records: every path, with the kinds of its values.
pub mod schema {
    pub use warpath_exec::stream::InputSchema;
    pub use warpath_store::schema::*;
}

/// Packed NDJSON: lines kept as codes of FSST.
pub mod packed {
    pub use warpath_exec::pack::{
        DEFAULT_GROUP_BYTES, PackOptions, PackStats, pack, pack_to, pack_to_watched, pack_watched,
    };
    pub use warpath_exec::unpack::unpack;
    pub use warpath_store::packed::{PackedFile, PackedGroup, PackedInfo, PackedText, VERSION};
}

/// Standing queries: twigs, sets of them, and the documents that they are evaluated over.
pub mod twig {
    pub use warpath_backend::twig::*;
    pub use warpath_lang::twig::*;
}

/// Bitmap indexes: which rows have which values, a compressed bitmap a bin.
pub mod bitmap {
    pub use warpath_backend::bitmap::{plan, run};
    pub use warpath_core::{rows, wah};
    pub use warpath_exec::bitmap::{ask, build};
    pub use warpath_store::bitmap::*;
}

// Part `engine`: bytes in memory, limits of a run, channels and asynchronous streams.
pub use warpath_backend::answer::{Limit, RowForm, TextForm, Want};
pub use warpath_core::cancel::CancelToken;
pub use warpath_exec::channel::Channel;
pub use warpath_exec::input::InputBytes;
#[cfg(all(feature = "async", feature = "arrow"))]
pub use warpath_exec::stream::AsyncBatches;
#[cfg(feature = "async")]
pub use warpath_exec::stream::AsyncResults;

// Part `find`: values in one record in memory.
pub use warpath_backend::find::{Find, Match, Matches};

// Packages: the example in the readme compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
