//! Warpath for C. The header is `include/warpath.h`; the page `docs/c.md` has an example.
//!
//! | module | contents |
//! |---|---|
//! | `input` | files and bytes in memory, with settings and conditions |
//! | `matches` | the matches of a query, and their number |
//! | `select` | columns by the Arrow C stream interface |
//! | `error` | the last error of each thread, and the border that no panic crosses |

mod error;
mod input;
mod matches;
mod select;

pub use error::{WarpathErrorKind, warpath_error_kind, warpath_error_message};
pub use input::{
    WarpathInput, WarpathOptions, warpath_input_free, warpath_open, warpath_open_bytes, warpath_where,
};
pub use matches::{
    WarpathMatch, WarpathMatches, warpath_count, warpath_matches_free, warpath_next, warpath_query,
};
pub use select::{
    WarpathColumn, WarpathLoss, WarpathLosses, warpath_losses_free, warpath_losses_get, warpath_select,
    warpath_version,
};
