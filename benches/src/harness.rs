//! Measures programs side by side, checks every result, and draws plots of the measurements.
//! `benches/README.md` says why its numbers can be believed; the `bench` program is its command line.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | the charts, their cases and tools |
//! | [`ask`] | one query in the form of each tool |
//! | [`lengths`] | the queries over records of growing length |
//! | [`tool`] | the location of each tool, and its command |
//! | [`data`] | the files that are queried |
//! | [`values`] | the expected values, independent of their spelling |
//! | [`process`] | the cost of one run of one program |
//! | [`session`] | the order and number of runs, and the kept measurements |
//! | [`components`] | the times that `bench kernels` measures inside a device |
//! | [`copy`] | a copy on a device, the ceiling of other kernels |
//! | [`timing`] | the loops of measurements within one process |
//! | [`record`] | result files |
//! | [`report`], [`chart`] | tables and plots of results |
//! | [`result`] | the sentences above plots |
//!
//! The harness itself stays small: the peak memory that Linux reports of a program includes that of its
//! parent at the start. So work that needs memory (data, reference results) runs in a process of its own.

pub mod ask;
pub mod chart;
pub mod components;
pub mod copy;
pub mod data;
pub mod lengths;
pub mod machine;
pub mod plan;
pub mod process;
pub mod record;
pub mod report;
pub mod result;
pub mod session;
pub mod timing;
pub mod tool;
pub mod values;
