//! Semi and anti joins over distinct keys.
//!
//! A semi join keeps the rows of its left side that have a partner at the right, and an anti join the others.
//! The hash join of DataFusion 55 goes through all partners of a row, even if the first one is enough. With
//! keys as frequent as users' likes these are 127 million pairs of a million rows. The rule makes the keys of
//! the right side distinct first, so that each row has one partner at most:
//!
//! ```text
//! LeftAnti Join: a.did = b.did          LeftAnti Join: a.did = b.did
//!   TableScan: a                          TableScan: a
//!   TableScan: b                          Aggregate: groupBy=[b.did]
//!                                           TableScan: b
//! ```

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Makes the keys of semi and anti joins distinct.
#[derive(Debug)]
pub struct DistinctKeys;

impl OptimizerRule for DistinctKeys {
    fn name(&self) -> &str {
        "distinct_keys_of_semi_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = plan else { return Ok(Transformed::no(plan)) };
        let is_left = match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => false,
            JoinType::RightSemi | JoinType::RightAnti => true,
            _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
        };
        let keys = join.on.iter().map(|(left, right)| if is_left { left } else { right });
        let keys: Vec<Expr> = keys.cloned().collect();
        let partners = if is_left { &join.left } else { &join.right };
        let are_columns = keys.iter().all(|key| matches!(key, Expr::Column(_)));
        // A condition on a pair may refer to other columns of the partner.
        if join.filter.is_some() || keys.is_empty() || !are_columns || is_distinct(partners) {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let partners = LogicalPlanBuilder::from(partners.clone()).aggregate(keys, Vec::<Expr>::new())?;
        let partners = Arc::new(partners.build()?);
        Ok(Transformed::yes(LogicalPlan::Join(match is_left {
            true => Join { left: partners, ..join },
            false => Join { right: partners, ..join },
        })))
    }
}

/// True if a plan has made its rows distinct. A projection may have left columns out since.
fn is_distinct(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.is_empty(),
        LogicalPlan::Distinct(_) => true,
        LogicalPlan::Projection(projection) => is_distinct(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_distinct(&alias.input),
        _ => false,
    }
}
