//! The kernels, a file a stage. Their arguments and launch shapes are in [`warpath_shared::kernel`].

mod copy;
mod faulty;
mod line;
mod query;
mod scan;
mod structure;

pub use copy::copy_16;
pub use line::line_summaries;
pub use query::{query_count, query_fill, query_slots};
pub use scan::{count_scan, kind_scan, line_scan};
pub use structure::{kind_check, structure_write};
