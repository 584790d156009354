//! Row groups of Parquet files that have rows for which a condition can be true.
//!
//! DataFusion excludes row groups by the bounds of columns, and not by those of members of structs. Here each
//! member that a condition names is a column of its own, so that DataFusion's own rules decide
//! ([`PruningPredicate`]). They know SQL's nulls, and keep what they do not know.
//!
//! | condition | column | bounds |
//! |---|---|---|
//! | `data['ms'] > 5` | `0` | those of the leaf `data.ms` |
//! | `kind = 'a'` | `1` | those of the leaf `kind` |
//! | `more IS NULL`, of a list | `2` | none, so it excludes nothing |
//!
//! A file without a member has nulls there.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::datatypes::{Field, Fields, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::parquet::schema::types::SchemaDescriptor;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};

use crate::paths::FieldPath;

/// A condition on the columns of a table, and on members of its structs.
pub struct GroupCondition {
    pub predicate: Arc<PruningPredicate>,
    /// The columns of the predicate.
    pub members: Vec<Member>,
}

/// A column that a condition names, or a member of one.
pub struct Member {
    pub names: Vec<String>,
    pub field: Field,
}

impl GroupCondition {
    /// The condition that all filters hold; `None` if bounds of values cannot decide it.
    pub fn of(filters: &[Expr], schema: &SchemaRef, session: &dyn Session) -> Option<Self> {
        let columns = DFSchema::try_from(schema.clone()).ok()?;
        let mut members = Vec::new();
        // A filter that cannot be translated excludes nothing.
        let exprs = filters.iter().filter_map(|filter| {
            let expr = session.create_physical_expr(filter.clone(), &columns).ok()?;
            flat(expr, schema.fields(), &mut members).ok()
        });
        let expr = conjunction(exprs.collect::<Vec<_>>());
        let fields: Vec<Field> = members.iter().map(|member| member.field.clone()).collect();
        let schema = Arc::new(Schema::new(fields));
        let predicate = PruningPredicateBuilder::new().with_file_schema(schema).build(expr)?;
        Some(Self { predicate, members })
    }

    /// For each row group of a file, false if the condition is true of none of its rows.
    ///
    /// # Errors
    /// The errors of evaluating the condition over bounds.
    pub fn may_hold(&self, metadata: &ParquetMetaData) -> Result<Vec<bool>> {
        let positions = self.positions(metadata);
        self.predicate.prune(&GroupBounds { metadata, members: &self.members, positions })
    }

    /// The positions of the columns in a file.
    pub fn positions(&self, metadata: &ParquetMetaData) -> Vec<Position> {
        let schema = metadata.file_metadata().schema_descr();
        self.members.iter().map(|member| Position::of(&member.names, schema)).collect()
    }
}

/// An expression whose references to members of structs are columns.
fn flat(
    expr: Arc<dyn PhysicalExpr>,
    fields: &Fields,
    members: &mut Vec<Member>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let flat = expr.transform_down(|expr| {
        let Some(FieldPath { names, field }) = FieldPath::of(&expr, fields) else {
            return Ok(Transformed::no(expr));
        };
        let at = members.iter().position(|member| member.names == names).unwrap_or_else(|| {
            let field = Field::new(members.len().to_string(), field.data_type().clone(), true);
            members.push(Member { names, field });
            members.len() - 1
        });
        let column = PhysicalColumn::new(&at.to_string(), at);
        Ok(Transformed::new(Arc::new(column) as _, true, TreeNodeRecursion::Jump))
    });
    flat.data()
}

/// The position of a member in a file.
#[derive(Clone, Copy)]
pub enum Position {
    /// A leaf with at most one value for each row.
    Leaf(usize),
    /// Nothing, so that its values are null.
    Nothing,
    /// Something else, whose values are not known.
    Other,
}

impl Position {
    pub fn leaf(&self) -> Option<usize> {
        match self {
            Self::Leaf(leaf) => Some(*leaf),
            Self::Nothing | Self::Other => None,
        }
    }

    fn of(names: &[String], schema: &SchemaDescriptor) -> Self {
        let mut position = Self::Nothing;
        for (at, leaf) in schema.columns().iter().enumerate() {
            let path = leaf.path().parts();
            if path == names && leaf.max_rep_level() == 0 && matches!(position, Self::Nothing) {
                position = Self::Leaf(at);
            } else if path.starts_with(names) || names.starts_with(path) {
                position = Self::Other;
            }
        }
        position
    }
}

/// The bounds of the members in all row groups of a file.
struct GroupBounds<'a> {
    metadata: &'a ParquetMetaData,
    members: &'a [Member],
    positions: Vec<Position>,
}

impl GroupBounds<'_> {
    fn find(&self, column: &Column) -> Option<(&Member, Position)> {
        let at: usize = column.name.parse().ok()?;
        Some((self.members.get(at)?, *self.positions.get(at)?))
    }

    fn leaf(&self, column: &Column) -> Option<StatisticsConverter<'_>> {
        let (member, Position::Leaf(leaf)) = self.find(column)? else { return None };
        let schema = self.metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::from_column_index(leaf, &member.field, schema).ok()?;
        Some(converter.with_missing_null_counts_as_zero(false))
    }

    fn rows(&self) -> ArrayRef {
        let rows = self.metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        Arc::new(rows.collect::<UInt64Array>())
    }
}

impl PruningStatistics for GroupBounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.leaf(column)?.row_group_mins(self.metadata.row_groups()).ok()
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.leaf(column)?.row_group_maxes(self.metadata.row_groups()).ok()
    }

    fn num_containers(&self) -> usize {
        self.metadata.num_row_groups()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        match self.find(column)? {
            (_, Position::Leaf(_)) => {
                let counts = self.leaf(column)?.row_group_null_counts(self.metadata.row_groups());
                counts.ok().map(|counts| Arc::new(counts) as _)
            }
            (_, Position::Nothing) => Some(self.rows()),
            (_, Position::Other) => None,
        }
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(self.rows())
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
