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
//! Every backend gives the same answers for every input. The library never prints, and never panics on
//! anything that a caller or a file can cause.
//!
//! | module | question it answers |
//! |---|---|
//! | [`jsonpath`] | what does a query say? |
//! | [`Program`] | what is it compiled to? |
//! | [`Engine`], [`Input`] | how are files turned into answers? |
//! | [`backend`], [`answer`] | what does a backend do with one partition? |
//! | [`Format`] | what if an input is one document? |
//! | [`ResidentIndex`] | what if it is asked again and again? |
//! | [`IndexFile`] | and what if it is asked again tomorrow? |
//! | [`strict`] | what if records must be JSON by all of RFC 8259? |
//! | [`columns`] | how do answers become typed columns, in Arrow's layout? |
//! | [`device`] | which kernels run on it, in which order? |
//! | [`bitmap`] | which records have such values, asked of compressed bitmaps? |
//! | [`packed`] | what if the lines themselves are kept compressed? |
//! | [`tree`] | what is a document's tree, and how is it made without a stack? |
//! | [`fsst`] | how are strings compressed, so that each can be decoded on its own? |
//! | [`dump`] | what does an index look like? |

pub mod answer;
mod auto;
pub mod backend;
pub mod bitmap;
pub mod columns;
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
mod document;
pub mod dump;
mod engine;
mod error;
pub mod fsst;
pub mod index_file;
mod input;
pub mod jsonpath;
pub mod packed;
mod program;
mod resident;
mod stamp;
mod stream;
pub mod strict;
mod temporary;
pub mod tree;
pub mod twig;

pub use cpu::Cpu;
pub use document::{AsOne, Format};
pub use engine::{DeviceChoice, Engine, EngineBuilder, Input, OnError};
pub use error::{
    ColumnError, DeviceError, Error, ExpressionError, IndexError, InputError, QueryError, RecordError,
    TreeError,
};
pub use index_file::IndexFile;
pub use input::Source;
pub use program::{Program, Query};
pub use resident::ResidentIndex;
pub use stream::{
    Answers, Batch, Columns, Filtered, Filtering, FoundDocument, Hit, Hits, IndexedPartition, Indexes, Plan,
    Setup, Stats,
};
pub use temporary::{OutputMode, Unfinished, remove_unfinished};
