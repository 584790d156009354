//! The kernels, a file a stage. Their arguments and launch shapes are in [`warpath_shared::kernel`].

mod copy;
mod faulty;
mod index;
mod kind;
mod line;
mod query;
mod scan;
mod structure;

pub use copy::copy_16;
pub use index::line_index;
pub use kind::kind_check;
pub use line::{line_scan, line_states};
pub use query::{query_count, query_fill, query_slots};
pub use scan::count_scan;
pub use structure::structure_write;
