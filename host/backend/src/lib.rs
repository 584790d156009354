//! The backends of Warpath. Each backend evaluates a program, an expression or a set of twigs over one
//! partition. Backends do not know files or the order of partitions.
//!
//! | module | contents |
//! |---|---|
//! | [`backend`] | the contract between engine and backend |
//! | [`buffer`] | host memory that partitions are read into |
//! | [`answer`] | the results of one partition |
//! | [`columns`] | results as typed columns in Arrow's layout |
//! | `nested` | records decoded to nested columns (feature `arrow`) |
//! | [`cpu`] | the CPU: SIMD over words, one worker a core |
//! | [`find`] | values found in one record in memory |
//! | `lease` | memory that each thread keeps between such calls |
//! | [`device`] | the stages of a partition over an `Accelerator` |
//! | [`on_device`] | columns whose values stay in the memory of a device |
//! | `cuda` | CUDA devices as accelerators |
//! | [`tree`] | the tree of a document, made by scans |
//! | [`forms`], [`kept`] | the device forms of operators; partitions that are kept |
//! | [`stage`] | stages of evaluations as data |
//! | [`strict`] | checks by all of RFC 8259 and RFC 3629 |
//! | [`bitmap`] | expressions planned and evaluated over bitmap indexes |
//! | [`twig`] | sets of twigs evaluated over documents |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod answer;
pub mod backend;
pub mod bitmap;
pub mod buffer;
pub mod columns;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
pub mod find;
pub mod forms;
pub mod kept;
mod lease;
#[cfg(feature = "arrow")]
pub mod nested;
pub mod on_device;
pub mod stage;
pub mod strict;
pub mod tree;
pub mod twig;
