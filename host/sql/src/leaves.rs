//! Aggregates over loaded inputs, evaluated on their leaves.
//!
//! A rule of the physical optimizer looks for an aggregate over a scan of files that are loaded. There may be
//! filters and projections between them. If leaves have all that is needed, [`LeafAggregateExec`] replaces
//! these operators. It groups rows by codes and packed numbers, and makes strings of the groups alone.
//!
//! ```text
//! AggregateExec: mode=Final, …            LeafAggregateExec: gby=[…], aggr=[…], where=…
//!   AggregateExec: mode=Partial, …
//!     ProjectionExec, FilterExec: …
//!       DataSourceExec: file_groups=…
//! ```
//!
//! Other plans stay as they are, and read the files. Files that have changed since they were loaded are read,
//! too.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringBuilder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use object_store::path::Path as Location;
use warpath::{Loaded, LoadedInput};
use warpath_core::cancel::{Interrupt, Stop};
use warpath_core::comparison::{Comparison, Condition, Constant, Test};
use warpath_resident::aggregate::{
    Aggregate, ColumnKind, Derive, GroupColumn, GroupValue, Grouped, MOST_COLUMNS, Number, group, kind_of,
};
use warpath_resident::{Question, Segment};

use crate::paths::FieldPath;

/// The names that lead from a record to a member.
type Names = Vec<Vec<u8>>;

/// The rule that evaluates aggregates on leaves.
pub struct OnLeaves {
    /// The inputs as they are loaded now.
    loaded: Arc<dyn Fn() -> Loaded + Send + Sync>,
}

impl OnLeaves {
    /// The rule for inputs that `loaded` returns.
    pub fn new(loaded: Arc<dyn Fn() -> Loaded + Send + Sync>) -> Self {
        Self { loaded }
    }
}

impl Debug for OnLeaves {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnLeaves").finish_non_exhaustive()
    }
}

impl PhysicalOptimizerRule for OnLeaves {
    fn name(&self) -> &str {
        "aggregates_on_leaves"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let loaded = LoadedFiles::of(&(self.loaded)());
        let replaced = plan.transform_down(|plan| {
            Ok(match plan.downcast_ref::<AggregateExec>().and_then(|last| on_leaves(last, &loaded)) {
                Some(exec) => Transformed::new(Arc::new(exec) as _, true, TreeNodeRecursion::Jump),
                None => Transformed::no(plan),
            })
        });
        replaced.data()
    }
}

/// Loaded inputs that are files, by their locations.
struct LoadedFiles(HashMap<Location, LoadedFile>);

struct LoadedFile {
    input: LoadedInput,
    size: u64,
    modified: SystemTime,
}

impl LoadedFiles {
    fn of(loaded: &Loaded) -> Self {
        let file = |input: &LoadedInput| {
            let (path, size, modified) = input.file()?;
            let location = Location::from_absolute_path(absolute(path)?).ok()?;
            Some((location, LoadedFile { input: input.clone(), size, modified }))
        };
        Self(loaded.inputs().iter().filter_map(file).collect())
    }
}

fn absolute(path: &Path) -> Option<std::path::PathBuf> {
    let goes_up = path.components().any(|part| part == std::path::Component::ParentDir);
    if goes_up { path.canonicalize().ok() } else { std::path::absolute(path).ok() }
}

/// The plan below an aggregate.
struct Below {
    inputs: Vec<LoadedInput>,
    /// The fields of the files.
    fields: Fields,
    /// The columns, as expressions over these fields.
    columns: Vec<Arc<dyn PhysicalExpr>>,
    /// The conditions, as expressions over these fields.
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Below {
    /// The inputs of a plan that is made of projections, filters and a scan of loaded files; `None` for
    /// others.
    fn of(plan: &Arc<dyn ExecutionPlan>, loaded: &LoadedFiles) -> Option<Self> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let below = Self::of(projection.input(), loaded)?;
            let columns = projection.expr().iter().map(|projected| below.over_fields(&projected.expr));
            return Some(Self { columns: columns.collect::<Option<_>>()?, ..below });
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let mut below = Self::of(filter.input(), loaded).filter(|_| filter.fetch().is_none())?;
            below.filters.push(below.over_fields(filter.predicate())?);
            if let Some(projection) = filter.projection() {
                let columns = projection.iter().map(|at| below.columns.get(*at).cloned());
                below.columns = columns.collect::<Option<_>>()?;
            }
            return Some(below);
        }
        let scan = plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()?;
        Self::of_scan(scan, loaded)
    }

    fn of_scan(scan: &FileScanConfig, loaded: &LoadedFiles) -> Option<Self> {
        if scan.limit.is_some()
            || !scan.table_partition_cols().is_empty()
            || scan.file_source.filter().is_some()
        {
            return None;
        }
        let mut inputs = Vec::new();
        for file in scan.file_groups.iter().flat_map(FileGroup::files) {
            let found = loaded.0.get(&file.object_meta.location)?;
            let is_same = found.size == file.object_meta.size
                && SystemTime::from(file.object_meta.last_modified) == found.modified;
            if !is_same || file.range.is_some() {
                return None;
            }
            inputs.push(found.input.clone());
        }
        let fields = scan.file_schema().fields().clone();
        let columns = match scan.file_source.projection() {
            Some(projection) => projection.expr_iter().collect(),
            None => fields
                .iter()
                .enumerate()
                .map(|(at, field)| Arc::new(Column::new(field.name(), at)) as _)
                .collect(),
        };
        Some(Self { inputs, fields, columns, filters: Vec::new() })
    }

    /// An expression over the columns as one over the fields.
    fn over_fields(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        let replaced = expr.clone().transform_down(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            match self.columns.get(column.index()) {
                Some(column) => Ok(Transformed::new(column.clone(), true, TreeNodeRecursion::Jump)),
                None => internal_err!("there is no column {}", column.index()),
            }
        });
        replaced.data().ok()
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.inputs.iter().flat_map(LoadedInput::segments)
    }

    /// The member that an expression is, and its field, if leaves have its values in the field's type.
    fn member(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<(Names, FieldRef, ColumnKind)> {
        let FieldPath { names, field } = FieldPath::of(expr, &self.fields)?;
        let names: Names = names.into_iter().map(String::into_bytes).collect();
        if names.is_empty() {
            return None;
        }
        let kind = kind_of(&names, self.segments())?;
        let fits = match (&kind, field.data_type()) {
            (ColumnKind::Nothing, _) => true,
            (ColumnKind::Booleans, of) => *of == DataType::Boolean,
            (ColumnKind::Integers, of) => *of == DataType::Int64,
            (ColumnKind::Doubles, of) => *of == DataType::Float64,
            (ColumnKind::Codes(_), of) => is_string(of),
        };
        fits.then_some((names, field, kind))
    }

    /// The condition for an expression to be true, or to be false. An unknown value is neither.
    fn condition(&self, expr: &Arc<dyn PhysicalExpr>, outcome: bool) -> Option<Condition> {
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return self.condition(not.arg(), !outcome);
        }
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return Some(presence(self.member(test.arg())?.0, !outcome));
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return Some(presence(self.member(test.arg())?.0, outcome));
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let (names, _, kind) = self.member(list.expr())?;
            let constants = list.list().iter().map(|value| constant(value, &kind)).collect::<Option<_>>()?;
            return Some(equal(names, constants, outcome != list.negated()));
        }
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
            let (names, _, kind) = self.member(expr)?;
            let is_boolean = matches!(kind, ColumnKind::Booleans | ColumnKind::Nothing);
            return is_boolean.then(|| equal(names, vec![Constant::Bool(outcome)], true));
        };
        let (left, right) = (binary.left(), binary.right());
        if let Operator::And | Operator::Or = binary.op() {
            let both = vec![self.condition(left, outcome)?, self.condition(right, outcome)?];
            let is_all = (*binary.op() == Operator::And) == outcome;
            return Some(if is_all { Condition::All(both) } else { Condition::Any(both) });
        }
        let (member, op, literal) = match left.downcast_ref::<Literal>() {
            Some(_) => (right, binary.op().swap()?, left),
            None => (left, *binary.op(), right),
        };
        let op = if outcome { op } else { op.negate()? };
        let (names, _, kind) = self.member(member)?;
        let constant = constant(literal, &kind)?;
        let is = |test| Condition::Is(Comparison { path: names.clone(), test });
        Some(match op {
            Operator::Eq => equal(names, vec![constant], true),
            Operator::NotEq => equal(names, vec![constant], false),
            // Truth values have an order in SQL alone.
            _ if matches!(constant, Constant::Bool(_)) => return None,
            Operator::Lt => is(Test::Less(constant)),
            Operator::LtEq => is(Test::AtMost(constant)),
            Operator::Gt => is(Test::Greater(constant)),
            Operator::GtEq => is(Test::AtLeast(constant)),
            _ => return None,
        })
    }
}

fn is_string(of: &DataType) -> bool {
    matches!(of, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
}

/// The condition that a value is one of several; or, if not `is_in`, that it is another value and not null.
fn equal(path: Names, mut constants: Vec<Constant>, is_in: bool) -> Condition {
    if is_in {
        return Condition::Is(Comparison { path, test: Test::Equal(constants) });
    }
    constants.push(Constant::Null);
    let is = |test| Condition::Is(Comparison { path: path.clone(), test });
    Condition::All(vec![is(Test::Exists), is(Test::Not(Box::new(Test::Equal(constants))))])
}

/// The condition that a value is there, or that it is null.
fn presence(path: Names, is_there: bool) -> Condition {
    match is_there {
        true => equal(path, Vec::new(), false),
        false => {
            let is = |test| Condition::Is(Comparison { path: path.clone(), test });
            let missing = is(Test::Not(Box::new(Test::Exists)));
            Condition::Any(vec![missing, is(Test::Equal(vec![Constant::Null]))])
        }
    }
}

/// The constant that a literal is, for a member of a kind. `None` for null, and for other types.
fn constant(literal: &Arc<dyn PhysicalExpr>, kind: &ColumnKind) -> Option<Constant> {
    Some(match (kind, literal.downcast_ref::<Literal>()?.value()) {
        (
            ColumnKind::Codes(_) | ColumnKind::Nothing,
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
        ) => Constant::String(text.clone()),
        (ColumnKind::Integers | ColumnKind::Nothing, ScalarValue::Int64(Some(number))) => {
            Constant::Number(number.to_string())
        }
        (ColumnKind::Doubles | ColumnKind::Nothing, ScalarValue::Float64(Some(number)))
            if number.is_finite() =>
        {
            Constant::Number(format!("{number:e}"))
        }
        (ColumnKind::Booleans | ColumnKind::Nothing, ScalarValue::Boolean(Some(value))) => {
            Constant::Bool(*value)
        }
        _ => return None,
    })
}

/// The plan that evaluates an aggregate on leaves, if they have all that it needs.
fn on_leaves(last: &AggregateExec, loaded: &LoadedFiles) -> Option<LeafAggregateExec> {
    let first = match last.mode() {
        AggregateMode::Final | AggregateMode::FinalPartitioned => {
            let first = last.input().downcast_ref::<AggregateExec>()?;
            Some(first).filter(|first| *first.mode() == AggregateMode::Partial)?
        }
        AggregateMode::Single | AggregateMode::SinglePartitioned => last,
        _ => return None,
    };
    let groups = first.group_expr();
    if groups.has_grouping_set() || last.limit_options().is_some() || groups.expr().len() > MOST_COLUMNS {
        return None;
    }
    if first.filter_expr().iter().any(Option::is_some) {
        return None;
    }
    let below = Below::of(first.input(), loaded)?;
    let columns = groups.expr().iter().map(|(expr, _)| column(&below, &below.over_fields(expr)?));
    let columns = columns.collect::<Option<Vec<_>>>()?;
    let aggregates = first.aggr_expr().iter().map(|aggregate| {
        let mut args = aggregate.expressions();
        if !aggregate.order_bys().is_empty() || args.len() != 1 {
            return None;
        }
        let arg = below.over_fields(&args.pop()?)?;
        let name = aggregate.fun().name();
        if let (Some(literal), "count", false) =
            (arg.downcast_ref::<Literal>(), name, aggregate.is_distinct())
        {
            return (!literal.value().is_null()).then_some(Aggregate::Rows);
        }
        let (names, _, kind) = below.member(&arg)?;
        let is_integer = matches!(kind, ColumnKind::Integers | ColumnKind::Nothing);
        let is_number = is_integer || matches!(kind, ColumnKind::Doubles);
        Some(match (name, aggregate.is_distinct()) {
            ("count", true) => Aggregate::Distinct(names),
            ("count", false) => Aggregate::Count(names),
            ("min", _) if is_number => Aggregate::Least(names),
            ("max", _) if is_number => Aggregate::Greatest(names),
            ("sum", false) if is_integer => Aggregate::Sum(names),
            _ => return None,
        })
    });
    let aggregates = aggregates.collect::<Option<Vec<_>>>()?;
    let conditions = below.filters.iter().map(|filter| below.condition(filter, true));
    let mut conditions = conditions.collect::<Option<Vec<_>>>()?;
    let condition = if conditions.len() > 1 { Some(Condition::All(conditions)) } else { conditions.pop() };
    // The leaves of these segments decide every condition on members of known kinds.
    if below.segments().any(|segment| !segment.is_whole()) {
        return None;
    }
    let schema = last.schema();
    let properties = PlanProperties::new(
        EquivalenceProperties::new(schema.clone()),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Final,
        Boundedness::Bounded,
    );
    let shown = Shown::of(first, &below);
    let (inputs, properties) = (below.inputs.clone(), Arc::new(properties));
    Some(LeafAggregateExec { inputs, columns, aggregates, condition, shown, schema, properties })
}

/// The column of groups that an expression is: a member, or a function of one member of integers.
fn column(below: &Below, expr: &Arc<dyn PhysicalExpr>) -> Option<GroupColumn> {
    if let Some((path, ..)) = below.member(expr) {
        return Some(GroupColumn { path, derive: None });
    }
    let mut found: Option<(Names, FieldRef)> = None;
    let mut is_one = true;
    let replaced = expr.clone().transform_down(|expr| {
        let Some((names, field, kind)) = below.member(&expr) else { return Ok(Transformed::no(expr)) };
        let is_integer = matches!(kind, ColumnKind::Integers) && *field.data_type() == DataType::Int64;
        is_one &= is_integer && found.as_ref().is_none_or(|(known, _)| *known == names);
        found.get_or_insert((names, field));
        Ok(Transformed::new(Arc::new(Column::new("value", 0)) as _, true, TreeNodeRecursion::Jump))
    });
    let (expr, (path, field)) = (replaced.data().ok()?, found?);
    let schema = Arc::new(Schema::new(vec![Field::new("value", field.data_type().clone(), true)]));
    // A column that is no member is still a column of the files.
    let is_over_value =
        expr.data_type(&schema).is_ok_and(|of| of == DataType::Int64) && refers_to(&expr) == 1;
    if !is_one || !is_over_value || expr.is_volatile_node() {
        return None;
    }
    let derive: Arc<Derive> =
        Arc::new(move |values| derived(&expr, &schema, values).map_err(|it| it.to_string()));
    Some(GroupColumn { path, derive: Some(derive) })
}

/// The number of columns to which an expression refers.
fn refers_to(expr: &Arc<dyn PhysicalExpr>) -> usize {
    datafusion::physical_expr::utils::collect_columns(expr).len()
}

/// The values of an expression over integers.
fn derived(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    values: &[GroupValue],
) -> Result<Vec<GroupValue>> {
    let integers = values.iter().map(|value| match value {
        GroupValue::Integer(value) => Some(*value),
        _ => None,
    });
    let column: ArrayRef = Arc::new(integers.collect::<Int64Array>());
    let batch = RecordBatch::try_new(schema.clone(), vec![column])?;
    let array = expr.evaluate(&batch)?.into_array(values.len())?;
    let integers = array.as_primitive::<Int64Type>().iter();
    Ok(integers.map(|value| value.map_or(GroupValue::Null, GroupValue::Integer)).collect())
}

/// An aggregate as `EXPLAIN` shows it.
#[derive(Clone, Debug)]
struct Shown {
    groups: String,
    aggregates: String,
    condition: String,
}

impl Shown {
    fn of(first: &AggregateExec, below: &Below) -> Self {
        let over = |expr: &Arc<dyn PhysicalExpr>| {
            below.over_fields(expr).map_or_else(String::new, |it| it.to_string())
        };
        let joined = |all: Vec<String>, by: &str| all.join(by);
        Self {
            groups: joined(first.group_expr().expr().iter().map(|(expr, _)| over(expr)).collect(), ", "),
            aggregates: joined(
                first.aggr_expr().iter().map(|aggregate| aggregate.name().to_owned()).collect(),
                ", ",
            ),
            condition: joined(below.filters.iter().map(ToString::to_string).collect(), " AND "),
        }
    }
}

/// An aggregate that is evaluated on the leaves of loaded inputs. It has one partition, and uses all cores.
pub struct LeafAggregateExec {
    inputs: Vec<LoadedInput>,
    columns: Vec<GroupColumn>,
    aggregates: Vec<Aggregate>,
    condition: Option<Condition>,
    shown: Shown,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl Debug for LeafAggregateExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeafAggregateExec").field("shown", &self.shown).finish_non_exhaustive()
    }
}

impl DisplayAs for LeafAggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> fmt::Result {
        let Shown { groups, aggregates, condition } = &self.shown;
        write!(f, "LeafAggregateExec: gby=[{groups}], aggr=[{aggregates}]")?;
        if !condition.is_empty() {
            write!(f, ", where={condition}")?;
        }
        write!(f, ", inputs={}", self.inputs.len())
    }
}

impl ExecutionPlan for LeafAggregateExec {
    fn name(&self) -> &str {
        "LeafAggregateExec"
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
        /// Ends the threads when the stream is dropped.
        struct Ends(Arc<Stop>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.set();
            }
        }
        let question = self.condition.clone().map(Question::new);
        let (inputs, columns, aggregates) =
            (self.inputs.clone(), self.columns.clone(), self.aggregates.clone());
        let (schema, stop) = (self.schema.clone(), Arc::new(Stop::new(Interrupt::default())));
        let ends = Ends(stop.clone());
        let rows = async move {
            let _ends = ends;
            let grouped = tokio::task::spawn_blocking(move || {
                let segments: Vec<&Segment> = inputs.iter().flat_map(LoadedInput::segments).collect();
                group(&segments, question.as_ref(), &columns, &aggregates, &stop)
            });
            let grouped = grouped.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
            batch(&grouped.map_err(|error| DataFusionError::External(Box::new(error)))?, &schema)
        };
        let rows = futures::stream::once(rows);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// Groups as rows.
fn batch(grouped: &Grouped, schema: &SchemaRef) -> Result<RecordBatch> {
    let Grouped { groups, numbers, dictionaries } = grouped;
    let (of_groups, of_numbers) = schema.fields().split_at(dictionaries.len().min(schema.fields().len()));
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (at, (field, dictionary)) in of_groups.iter().zip(dictionaries).enumerate() {
        let values = groups.iter().map(|group| &group[at]);
        let column: ArrayRef = match dictionary {
            Some(dictionary) => {
                let strings = dictionary.read();
                let mut column = StringBuilder::new();
                for value in values {
                    match value {
                        GroupValue::Code(code) => match std::str::from_utf8(strings.get(*code)) {
                            Ok(text) => column.append_value(text),
                            Err(error) => {
                                return exec_err!("a string of {} is no UTF-8: {error}", field.name());
                            }
                        },
                        _ => column.append_null(),
                    }
                }
                Arc::new(column.finish())
            }
            None => of_values(values, groups.len(), field)?,
        };
        columns.push(cast(&column, field.data_type())?);
    }
    for (at, field) in of_numbers.iter().enumerate() {
        let values = numbers.iter().map(|numbers| numbers[at]);
        let column: ArrayRef = match field.data_type() {
            DataType::Float64 => Arc::new(
                values
                    .map(|number| match number {
                        Number::Double(value) => Some(value),
                        _ => None,
                    })
                    .collect::<Float64Array>(),
            ),
            _ => {
                let integer = |number| match number {
                    Number::Integer(value) => i64::try_from(value).map(Some),
                    Number::Count(count) => i64::try_from(count).map(Some),
                    Number::Null | Number::Double(_) => Ok(None),
                };
                match values.map(integer).collect::<std::result::Result<Int64Array, _>>() {
                    Ok(column) => Arc::new(column),
                    Err(_) => return exec_err!("{} has more than 64 bits", field.name()),
                }
            }
        };
        columns.push(cast(&column, field.data_type())?);
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &rows)?)
}

/// Values that are no strings.
fn of_values<'a>(
    values: impl Iterator<Item = &'a GroupValue>,
    count: usize,
    field: &Field,
) -> Result<ArrayRef> {
    Ok(match field.data_type() {
        DataType::Int64 => Arc::new(
            values
                .map(|value| match value {
                    GroupValue::Integer(value) => Some(*value),
                    _ => None,
                })
                .collect::<Int64Array>(),
        ),
        DataType::Float64 => Arc::new(
            values
                .map(|value| match value {
                    GroupValue::Double(value) => Some(*value),
                    _ => None,
                })
                .collect::<Float64Array>(),
        ),
        DataType::Boolean => Arc::new(
            values
                .map(|value| match value {
                    GroupValue::Boolean(value) => Some(*value),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        // No record has a value.
        other => datafusion::arrow::array::new_null_array(other, count),
    })
}
