//! Range queries over bitmap indexes, by every method: the workloads of Nelson et al. (2019), "GPU Acceleration of Range Queries over
//! Large Data Sets". The `bench-bitmap` program is its command line.
//!
//! | module | question |
//! |---|---|
//! | [`data`] | which rows are asked about? |
//! | [`workload`] | which columns of them are united, and what is the answer? |
//! | [`method`] | what is a method, and how is it checked and timed? |
//! | [`cpu`] | which methods are there on a processor? |
//! | [`gpu`] | which are there on a device? |
//! | [`scan`] | what if there were no index? |
//! | [`record`] | what does a result file hold? |
//! | [`plot`] | what do plots and tables show of it? |

pub mod cpu;
pub mod data;
pub mod gpu;
pub mod method;
pub mod plot;
pub mod record;
pub mod scan;
pub mod workload;
