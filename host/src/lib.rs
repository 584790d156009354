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
//! This crate is the door to the layers below it, and the only crate that dependents name. It has no code of
//! its own: each name is defined in the crate of its layer. The layers have more public items, which are for
//! each other. Those items give no promise between versions.
//!
//! | names | use |
//! |---|---|
//! | [`Find`], [`Match`], [`Matches`] | values in one record in memory |
//! | [`Engine`], [`EngineBuilder`], [`Input`], [`Source`] | settings, and inputs of any kind |
//! | [`Query`], [`Predicate`], [`Program`] | what is evaluated |
//! | [`Hits`], [`Answers`], [`Columns`], [`Filtering`] | results in order; [`Channel`] and `AsyncResults` hand them on |
//! | `IndexFile` | an index of a file, for many queries |
//! | [`Loaded`], [`LoadedInput`] | inputs that stay in memory: as packed columns and compressed lines, or as text with its index |
//! | [`CancelToken`], [`Stats`], [`Plan`] | the end of a run before its time, and its reports |
//! | [`Error`] and the types in its variants | errors, by whose fault they are |
//! | [`aggregate`], [`bitmap`], [`columns`], [`plan`], [`schema`], `store`, [`time`], [`twig`], `cuda` | one subject each |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub use warpath_answer::answer::{Limit, RowForm, TextForm, Want};
pub use warpath_core::cancel::CancelToken;
pub use warpath_core::diagnostic::QueryError;
pub use warpath_core::error::{
    ColumnError, DeviceError, Error, FaultKind, IndexError, InputError, PlanError, RecordError, StoreError,
    TreeError, TreeFaultKind,
};
pub use warpath_core::foreign::Foreign;
pub use warpath_core::temporary::{Unfinished, remove_unfinished};
pub use warpath_cpu::find::{Find, Match, Matches};
pub use warpath_exec::channel::Channel;
pub use warpath_exec::devices::DeviceChoice;
pub use warpath_exec::engine::{Engine, EngineBuilder, OnError};
#[cfg(feature = "store")]
pub use warpath_exec::index_file::{IndexFile, IndexInfo, IndexSpec};
pub use warpath_exec::input::{
    FolderFiles, FollowEnd, FollowFrom, FollowedFiles, InputBytes, LoadedInput, RecordLines, Source,
    TableFormat, TextColumn, ValueLayout,
};
pub use warpath_exec::operators::Input;
pub use warpath_exec::records::Records;
pub use warpath_exec::resident::{DEFAULT_LEVELS, Loaded};
#[cfg(feature = "async")]
pub use warpath_exec::stream::AsyncResults;
pub use warpath_exec::stream::{
    Answers, Batch, Columns, Filtered, Filtering, FoundDocument, Hit, Hits, Ordered, Stats,
};
pub use warpath_lang::predicate::Predicate;
pub use warpath_lang::program::{Program, Query};
pub use warpath_plan::{Format, Plan};

/// Aggregates of all records of an input: counts of values, distinct values and statistics.
pub mod aggregate {
    pub use warpath_exec::aggregate::DEFAULT_MEMORY;
    pub use warpath_exec::aggregate::count::{Counter, Counts};
    pub use warpath_exec::aggregate::fraction::Fraction;
    pub use warpath_exec::aggregate::grouping::Grouping;
    pub use warpath_exec::aggregate::stats::{Kinds, Statistics, StatisticsGroup, Summary};
}

/// Bitmap indexes: which rows have which values, a compressed bitmap a bin.
pub mod bitmap {
    pub use warpath_core::rows::RowSet;
    pub use warpath_cpu::bitmap::plan::Plan;
    pub use warpath_exec::bitmap::ask::{BitmapEngine, Matching};
    pub use warpath_exec::bitmap::build::{ColumnSpec, LeftOut, build};
    pub use warpath_store::bitmap::bins::{BinSpec, Edge};
    pub use warpath_store::bitmap::column::Kind;
    pub use warpath_store::bitmap::{BitmapIndex, BitmapInfo, Built, ColumnInfo};
}

/// Results as typed columns, in the layout of Apache Arrow.
pub mod columns {
    pub use warpath_answer::columns::{
        Column, ColumnBatch, ColumnTally, Items, Lost, Occurrences, OffsetWidth, Offsets, Reason, Refusal,
        Schema, Tally, Values,
    };
    #[cfg(feature = "arrow")]
    pub use warpath_answer::nested::{NestedBatch, NestedSchema, json_text};
    pub use warpath_answer::on_device::ArrowDevice;
    #[cfg(feature = "arrow")]
    pub use warpath_answer::on_device::{ArrowDeviceArray, DeviceBatch, DeviceValues};
    #[cfg(feature = "parquet")]
    pub use warpath_answer::parquet::ParquetWriter;
    #[cfg(feature = "arrow")]
    pub use warpath_exec::device_batches::DeviceBatches;
    #[cfg(feature = "arrow")]
    pub use warpath_exec::record_batches::RecordBatches;
    #[cfg(all(feature = "async", feature = "arrow"))]
    pub use warpath_exec::stream::AsyncBatches;
    #[cfg(feature = "arrow")]
    pub use warpath_exec::stream::Nested;
    pub use warpath_lang::column_type::{ColumnType, StructField, TypeError};
}

/// NVIDIA GPUs of this machine.
#[cfg(feature = "cuda")]
pub mod cuda {
    pub use warpath_device::cuda::{DeviceInfo, devices};
}

/// Stores: folders of Parquet parts, from which every byte of the lines comes back.
#[cfg(feature = "store")]
pub mod store {
    pub use warpath_exec::input::StoredFile;
    pub use warpath_exec::store::{
        AddOptions, Added, CompactOptions, Followed, Rewritten, Store, StoreColumn, StoreLocation, StorePart,
        Vacuumed,
    };
}

/// The schema of records: every path, with the kinds of its values.
pub mod schema {
    pub use warpath_exec::stream::{InputSchema, SchemaPart, Schemas};
    #[cfg(feature = "arrow")]
    pub use warpath_store::schema::arrow::ArrowOptions;
    pub use warpath_store::schema::{
        Change, Difference, Excerpt, First, JsonType, Position, SchemaNode, SchemaRow, SchemaTree, Step,
        diff, json_schema, rows,
    };
    #[cfg(feature = "arrow")]
    pub use warpath_store::schema::{arrow_text, create_table};
}

/// Instants, and formats of times in text and numbers.
pub mod time {
    pub use warpath_core::time::{Every, Format, Instant, Unit, Zone};
}

/// The plan of a run: what is read, which indexes serve it, and why.
pub mod plan {
    pub use warpath_plan::{Pruned, Reading, Selected, Threads, Unused};
}

/// Subscriptions: any number of queries that one pass over a document evaluates.
pub mod twig {
    pub use warpath_cpu::twig::{
        Documents, EventMatches, FileChange, Snapshot, Standing, SubscriptionError, Subscriptions,
    };
}

// The examples in the readme compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
