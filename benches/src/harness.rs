//! Measures programs side by side, checks every answer, and draws what it found. `benches/README.md` says why its
//! numbers can be believed; the `bench` program is its command line.
//!
//! | module | question |
//! |---|---|
//! | [`plan`] | which charts are there, of which cases, with which tools? |
//! | [`ask`] | how is one query put to each tool? |
//! | [`tool`] | where is a tool, and what is its command? |
//! | [`data`] | which files are queried? |
//! | [`values`] | which values should come out, whatever their spelling? |
//! | [`process`] | what did one run of one program cost? |
//! | [`session`] | in which order do tools run, how often, and what is kept? |
//! | [`components`] | what did `bench-gpu` see inside a device? |
//! | [`record`] | what does a result file hold? |
//! | [`report`], [`chart`] | what do tables and plots show of it? |
//!
//! The harness itself stays small: the peak memory that Linux reports of a program includes what its parent held when it
//! started it. So whatever needs memory (data, reference answers) runs in a process of its own.

pub mod ask;
pub mod chart;
pub mod components;
pub mod data;
pub mod machine;
pub mod plan;
pub mod process;
pub mod record;
pub mod report;
pub mod session;
pub mod tool;
pub mod values;
