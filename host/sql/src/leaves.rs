//! Queries over loaded inputs, evaluated on their leaves.
//!
//! A rule of the physical optimizer looks for scans of files that are loaded, with filters, projections and
//! an aggregate above them. If leaves have all that is needed, it replaces these operators:
//!
//! ```text
//! SortExec: TopK(fetch=3), …              SortExec: TopK(fetch=3), …
//!   ProjectionExec: …                       ProjectionExec: …
//!     AggregateExec: mode=Final, …            LeafAggregateExec: gby=[…], aggr=[…], where=…, first=3 by […]
//!       AggregateExec: mode=Partial, …
//!         ProjectionExec, FilterExec: …
//!           DataSourceExec: file_groups=…
//!
//! ProjectionExec: …                       ProjectionExec: …
//!   FilterExec: …                           FilterExec: …
//!     DataSourceExec: file_groups=…           LeafScanExec: columns=[…], where=…
//! ```
//!
//! Other plans stay as they are, and read the files. Files that have changed since they were loaded are read,
//! too.
//!
//! | module | contents |
//! |---|---|
//! | `below` | loaded files, and what is between them and an operator |
//! | `aggregate` | aggregates: rows are grouped by codes and packed numbers, and groups become rows |
//! | `first` | the groups that may be among the first rows of a sort; the others never become rows |
//! | `scan` | the values of members, row by row |

mod aggregate;
mod below;
mod first;
mod scan;

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use warpath::Loaded;

use crate::parts;

pub use below::LoadedFiles;

/// The inputs in memory, which may be others at each call.
#[derive(Clone)]
pub struct InMemory(Arc<dyn Fn() -> Loaded + Send + Sync>);

impl InMemory {
    /// The inputs that `loaded` returns.
    pub fn new(loaded: Arc<dyn Fn() -> Loaded + Send + Sync>) -> Self {
        Self(loaded)
    }

    /// The inputs that are loaded now.
    pub fn now(&self) -> Loaded {
        (self.0)()
    }
}

/// The rule that evaluates queries on leaves.
pub struct OnLeaves(pub InMemory);

impl Debug for OnLeaves {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnLeaves").finish_non_exhaustive()
    }
}

impl PhysicalOptimizerRule for OnLeaves {
    fn name(&self) -> &str {
        "queries_on_leaves"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let loaded = LoadedFiles::of(&self.0.now());
        let replaced = plan.transform_down(|plan| {
            let aggregate = plan.downcast_ref::<AggregateExec>();
            if let Some(exec) = aggregate.and_then(|last| aggregate::on_leaves(last, &loaded)) {
                return Ok(Transformed::new(Arc::new(exec) as _, true, TreeNodeRecursion::Jump));
            }
            Ok(match scan::on_leaves(&plan, &loaded)? {
                Some(plan) => Transformed::new(plan, true, TreeNodeRecursion::Jump),
                None => Transformed::no(plan),
            })
        });
        let replaced = replaced.data()?.transform_down(|plan| {
            Ok(match first::bounded(&plan)? {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(plan),
            })
        });
        // What is left reads files.
        let replaced = replaced.data()?.transform_down(|plan| {
            Ok(match parts::compared(&plan, options)? {
                Some(plan) => Transformed::new(plan, true, TreeNodeRecursion::Jump),
                None => Transformed::no(plan),
            })
        });
        replaced.data()
    }
}
