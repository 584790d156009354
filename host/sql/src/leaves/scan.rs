//! Projections and filters of loaded inputs, evaluated on leaves.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::{
    EquivalenceProperties, Partitioning, PhysicalExpr, conjunction, split_conjunction,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use warpath::LoadedInput;
use warpath_core::comparison::Condition;
use warpath_core::rows::RowSet;
use warpath_resident::aggregate::{ColumnKind, Error, Grouped, values};
use warpath_resident::{Question, Segment};
use warpath_shared::leaf::BLOCK_ROWS;

use super::aggregate::batch;
use super::below::{Below, LoadedFiles, Names, all_of, is_volatile};

/// Blocks of a segment that are read at a time.
const BLOCKS: usize = 8;

/// Rows of a batch, unless it is the last one. A batch may have those of [`BLOCKS`] blocks more.
const ROWS: usize = 4096;

/// The plan that evaluates projections and filters over a scan on leaves, if these have all values that are
/// needed. Conditions that leaves do not decide, and expressions, are evaluated on the values.
pub fn on_leaves(
    plan: &Arc<dyn ExecutionPlan>,
    loaded: &LoadedFiles,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(below) = Below::of(plan, loaded) else { return Ok(None) };
    // A limit of the scan counts rows before filters.
    let is_limited = below.limit.is_some() && !below.filters.is_empty();
    // Such a column has one value in each row, for all operators above.
    let is_random = below.columns.iter().chain(&below.filters).any(is_volatile);
    if is_limited || is_random || below.segments().any(|segment| !segment.is_whole()) {
        return Ok(None);
    }
    let mut members = Members { below: &below, fields: Vec::new(), columns: Vec::new() };
    let (mut conditions, mut others, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for filter in below.filters.iter().flat_map(split_conjunction) {
        if let Some(condition) = below.condition(filter, true) {
            conditions.push(condition);
            shown.push(filter.to_string());
        } else if let Some(filter) = members.over(filter) {
            others.push(filter);
        } else {
            return Ok(None);
        }
    }
    let schema = plan.schema();
    let columns = below.columns.iter().zip(schema.fields());
    let columns = columns
        .map(|(expr, field)| Some(ProjectionExpr { expr: members.over(expr)?, alias: field.name().clone() }));
    let Some(columns) = columns.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let Members { fields, columns: of_leaves, .. } = members;
    let scan = LeafScanExec::new(below, fields, of_leaves, all_of(conditions), shown.join(" AND "));
    let mut made: Arc<dyn ExecutionPlan> = Arc::new(scan);
    if !others.is_empty() {
        made = Arc::new(FilterExec::try_new(conjunction(others), made)?);
    }
    if made.schema() != schema {
        made = Arc::new(ProjectionExec::try_new(columns, made)?);
    }
    Ok((made.schema() == schema).then_some(made))
}

/// The members that expressions need, as columns of a scan.
struct Members<'a> {
    below: &'a Below,
    fields: Vec<FieldRef>,
    columns: Vec<(Names, ColumnKind)>,
}

impl Members<'_> {
    /// An expression over fields as one over these columns. `None` if leaves do not have a value.
    fn over(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        let replaced = expr.clone().transform_down(|expr| {
            let Some((names, field, kind)) = self.below.member(&expr) else {
                return match expr.downcast_ref::<Column>() {
                    Some(column) => internal_err!("leaves do not have {column}"),
                    None => Ok(Transformed::no(expr)),
                };
            };
            let known = self.columns.iter().position(|(of, _)| *of == names);
            let at = known.unwrap_or_else(|| {
                self.fields.push(field);
                self.columns.push((names, kind));
                self.columns.len() - 1
            });
            let column = Column::new(self.fields[at].name(), at);
            Ok(Transformed::new(Arc::new(column) as _, true, TreeNodeRecursion::Jump))
        });
        replaced.data().ok()
    }
}

/// The values of members of the records of loaded inputs, in order. It has one partition.
pub struct LeafScanExec {
    inputs: Vec<LoadedInput>,
    columns: Arc<[(Names, ColumnKind)]>,
    condition: Option<Condition>,
    limit: Option<usize>,
    shown: String,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl LeafScanExec {
    fn new(
        below: Below,
        fields: Vec<FieldRef>,
        columns: Vec<(Names, ColumnKind)>,
        condition: Option<Condition>,
        shown: String,
    ) -> Self {
        let schema = Arc::new(Schema::new(fields));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let Below { inputs, limit, .. } = below;
        Self {
            inputs,
            columns: columns.into(),
            condition,
            limit,
            shown,
            schema,
            properties: Arc::new(properties),
        }
    }
}

impl Debug for LeafScanExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeafScanExec").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl DisplayAs for LeafScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = self.columns.iter().map(|(names, _)| {
            names.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(".")
        });
        write!(f, "LeafScanExec: columns=[{}]", columns.collect::<Vec<_>>().join(", "))?;
        if !self.shown.is_empty() {
            write!(f, ", where={}", self.shown)?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        write!(f, ", inputs={}", self.inputs.len())
    }
}

impl ExecutionPlan for LeafScanExec {
    fn name(&self) -> &str {
        "LeafScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => internal_err!("leaves have no inputs"),
        }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let each = |input: &LoadedInput| {
            let input = input.clone();
            (0..input.segments().count()).map(move |at| (input.clone(), at))
        };
        let reader = Reader {
            places: self.inputs.iter().flat_map(each).collect::<Vec<_>>().into_iter(),
            open: None,
            question: self.condition.clone().map(Question::new),
            columns: self.columns.clone(),
            schema: self.schema.clone(),
            left: self.limit.unwrap_or(usize::MAX),
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::iter(reader))))
    }
}

/// The batches of a scan.
struct Reader {
    /// Each input with the number of each of its segments.
    places: std::vec::IntoIter<(LoadedInput, usize)>,
    /// The segment that is read, its selected rows, and its blocks that have not been read.
    open: Option<(LoadedInput, usize, RowSet, Range<usize>)>,
    question: Option<Question>,
    columns: Arc<[(Names, ColumnKind)]>,
    schema: SchemaRef,
    /// The rows that are still wanted.
    left: usize,
}

fn segment_of(input: &LoadedInput, at: usize) -> Result<&Segment> {
    match input.segments().nth(at) {
        Some(segment) => Ok(segment),
        None => internal_err!("a loaded input has no segment {at}"),
    }
}

impl Reader {
    /// The rows of some blocks; `None` at the end.
    fn rows(&mut self) -> Result<Option<Grouped>> {
        let external = |error| DataFusionError::External(Box::new(error));
        loop {
            if let Some((input, at, rows, blocks)) = &mut self.open
                && blocks.start < blocks.end
            {
                let some = blocks.start..blocks.end.min(blocks.start + BLOCKS);
                blocks.start = some.end;
                return values(segment_of(input, *at)?, rows, some, &self.columns)
                    .map(Some)
                    .map_err(external);
            }
            let Some((input, at)) = self.places.next() else { return Ok(None) };
            let segment = segment_of(&input, at)?;
            let rows = match &self.question {
                Some(question) => question.rows(segment).ok_or_else(|| external(Error::NotInLeaves))?,
                None => segment.records().clone(),
            };
            let blocks = 0..(segment.rows() as usize).div_ceil(BLOCK_ROWS);
            self.open = Some((input, at, rows, blocks));
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = self.left.min(ROWS);
        let mut all = Grouped::default();
        while all.len < wanted {
            match self.rows()? {
                Some(rows) if all.len == 0 => all = rows,
                Some(rows) => all.append(rows),
                None => break,
            }
        }
        if all.len > self.left {
            all.keep(&(0..self.left).collect::<Vec<_>>());
        }
        self.left -= all.len;
        if all.len == 0 { Ok(None) } else { batch(&all, &self.schema).map(Some) }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}
