//! The kernels, a file a stage. Their arguments and launch shapes are in [`warpath_shared::kernel`].

mod copy;
mod faulty;
mod line;
mod query;
mod scan;
mod structure;

pub use copy::copy_16;
pub use line::line_summaries;
pub use query::{
    query_count, query_count_8, query_count_16, query_count_32, query_fill, query_fill_8, query_fill_16,
    query_fill_32, query_slots, query_slots_8, query_slots_16, query_slots_32,
};
pub use scan::{count_scan, kind_scan, line_scan};
pub use structure::{kind_check, structure_write};
