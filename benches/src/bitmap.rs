//! Range queries over bitmap indexes, by every method: the workloads of Nelson et al. (2019), "GPU
//! Acceleration of Range Queries over Large Data Sets". The `bench bitmap` program is its command line.
//!
//! | module | contents |
//! |---|---|
//! | [`data`] | the data sets and their bitmap indexes |
//! | [`workload`] | range queries: the columns of a union, and the expected result |
//! | [`method`] | the interface of a method, its check and its timing |
//! | [`command`] | the command line |
//! | [`cpu`] | methods on a processor |
//! | [`gpu`] | methods on a device |
//! | [`scan`] | a scan without an index |
//! | [`record`] | result files |
//! | [`plot`] | plots and tables of results |

pub mod command;
pub mod cpu;
pub mod data;
pub mod gpu;
pub mod method;
pub mod plot;
pub mod record;
pub mod scan;
pub mod workload;
