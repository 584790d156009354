//! SQL over newline-delimited JSON on several machines: Warpath's engine in [Apache
//! Ballista](https://datafusion.apache.org/ballista/).
//!
//! A *client* plans a query, as on one machine, and sends the plan to the *scheduler*. The scheduler cuts the
//! plan into stages, and the stages into tasks. *Executors* fetch tasks, read files with their own engines,
//! and keep the results of their tasks for the next stage and for the client.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use warpath_sql::Options;
//! use warpath_sql::report::Report;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let report = Arc::new(Report::default());
//! let context = warpath_cluster::context("scheduler:50050", &Options::default(), &report)?;
//! let rows = context.sql("SELECT level, count(*) FROM '/data/logs/' GROUP BY level").await?.collect().await?;
//! # drop(rows);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | the program `warpath-cluster` |
//! | `client`, `job` | sessions whose queries run on a cluster; one query there |
//! | `balance` | files divided among partitions by their bytes |
//! | `hello` | versions of programs, and what a scheduler says of its cluster |
//! | [`scheduler`], [`executor`] | the two servers |
//! | `engine`, `failure` | tasks of an executor, and failures that keep their message |
//! | `codec` | scans on the wire |
//! | `work` | folders of executors, removed when these end |

pub mod cli;
pub mod executor;
pub mod scheduler;

mod balance;
mod client;
mod codec;
mod engine;
mod failure;
mod hello;
mod job;
mod work;

pub use client::context;
