//! Aggregates that are evaluated on leaves.

use std::fmt::{self, Debug, Formatter};
use std::num::NonZeroU64;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringBuilder, new_null_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use warpath::LoadedInput;
use warpath_core::cancel::{Interrupt, Stop};
use warpath_core::comparison::Condition;
use warpath_resident::aggregate::{
    Aggregate, ColumnKind, Derive, Error, First as FirstGroups, GroupColumn, Grouped, MOST_COLUMNS, Numbers,
    TableOf, Values, group, group_on,
};
use warpath_resident::{Dictionary, Question, Segment};

use super::below::{Below, LoadedFiles, Names, all_of, is_volatile};
use super::first::First;
use crate::paths::text_of;
use crate::sums::TOO_WIDE;

/// The plan that evaluates an aggregate on leaves, if they have all that it needs.
pub fn on_leaves(last: &AggregateExec, loaded: &LoadedFiles) -> Option<LeafAggregateExec> {
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
    let below = Below::of(first.input(), loaded).filter(|below| below.limit.is_none())?;
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
    let condition = all_of(conditions.collect::<Option<Vec<_>>>()?);
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
    Some(LeafAggregateExec { inputs, columns, aggregates, condition, first: None, shown, schema, properties })
}

/// The column of groups that an expression is: a member, or a function of one member of integers.
fn column(below: &Below, expr: &Arc<dyn PhysicalExpr>) -> Option<GroupColumn> {
    if let Some((path, ..)) = below.member(expr) {
        return Some(GroupColumn { path, derive: None, unit: None });
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
    let is_over_value = expr.data_type(&schema).is_ok_and(|of| is_integer(&of)) && refers_to(&expr) == 1;
    if !is_one || !is_over_value || is_volatile(&expr) {
        return None;
    }
    let unit = unit_of(&expr, &schema).and_then(NonZeroU64::new);
    let derive: Arc<Derive> =
        Arc::new(move |values| derived(&expr, &schema, values).map_err(|it| it.to_string()));
    Some(GroupColumn { path, derive: Some(derive), unit })
}

/// True for a type whose values are integers, which casts to 64 bits and back keep.
fn is_integer(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Timestamp(..)
    )
}

/// The number of columns to which an expression refers.
fn refers_to(expr: &Arc<dyn PhysicalExpr>) -> usize {
    datafusion::physical_expr::utils::collect_columns(expr).len()
}

/// A number for which an expression over an integer has the same value for all integers with the same
/// quotient, rounded down. 0 means all integers, and `None` that no such number is known.
///
/// Parts of times in UTC, and times that are cut, are of that kind. Units of time are multiples of seconds,
/// and days are the same in all calendars.
fn unit_of(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<u64> {
    if expr.downcast_ref::<Column>().is_some() {
        return None;
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>()
        && let ("date_part" | "date_trunc", [unit, time]) = (call.name(), call.args())
        && let Some(per_second) = per_second(time, schema)
    {
        let seconds = match text_of(unit)?.to_lowercase().as_str() {
            "second" => 1,
            "minute" => 60,
            "hour" => 3600,
            "day" | "dow" | "doy" | "week" | "month" | "quarter" | "year" => 86_400,
            _ => return None,
        };
        // Seconds of `date_part` may have fractions of their own.
        return (seconds > 1).then_some(seconds * per_second);
    }
    expr.children().into_iter().try_fold(0, |all, child| Some(gcd(all, unit_of(child, schema)?)))
}

/// The integers in a second, for an expression that makes a time in UTC of an integer and cannot fail.
fn per_second(time: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<u64> {
    let call = time.downcast_ref::<ScalarFunctionExpr>()?;
    let [arg] = call.args() else { return None };
    let is_utc = match time.data_type(schema).ok()? {
        DataType::Timestamp(_, zone) => zone.is_none_or(|zone| matches!(&*zone, "UTC" | "+00:00" | "Z")),
        _ => false,
    };
    if !is_utc || arg.downcast_ref::<Column>().is_none() {
        return None;
    }
    Some(match call.name() {
        "to_timestamp_seconds" => 1,
        "to_timestamp_millis" => 1_000,
        "to_timestamp_micros" => 1_000_000,
        "to_timestamp_nanos" => 1_000_000_000,
        _ => return None,
    })
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// The values of an expression over integers.
fn derived(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    integers: &[Option<i64>],
) -> Result<Vec<Option<i64>>> {
    let column: ArrayRef = Arc::new(integers.iter().copied().collect::<Int64Array>());
    let batch = RecordBatch::try_new(schema.clone(), vec![column])?;
    let array = expr.evaluate(&batch)?.into_array(integers.len())?;
    Ok(cast(&array, &DataType::Int64)?.as_primitive::<Int64Type>().iter().collect())
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
    /// The groups that become rows; `None` for all.
    first: Option<First>,
    shown: Shown,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl LeafAggregateExec {
    /// The same aggregate, of whose groups only some become rows.
    pub fn with_first(&self, first: First) -> Self {
        Self {
            inputs: self.inputs.clone(),
            columns: self.columns.clone(),
            aggregates: self.aggregates.clone(),
            condition: self.condition.clone(),
            first: Some(first),
            shown: self.shown.clone(),
            schema: self.schema.clone(),
            properties: self.properties.clone(),
        }
    }
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
        if let Some(first) = &self.first {
            write!(f, ", {first}")?;
        }
        write!(f, ", inputs={}", self.inputs.len())?;
        match self.inputs.iter().map(LoadedInput::table).collect::<Option<Vec<_>>>().as_deref() {
            Some([table, ..]) => write!(f, ", device={}", table.device().name()),
            _ => Ok(()),
        }
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
        let (inputs, columns, aggregates, first) =
            (self.inputs.clone(), self.columns.clone(), self.aggregates.clone(), self.first.clone());
        let (schema, stop) = (self.schema.clone(), Arc::new(Stop::new(Interrupt::default())));
        let ends = Ends(stop.clone());
        let rows = async move {
            let _ends = ends;
            let made = tokio::task::spawn_blocking(move || {
                let on_device = first.as_ref().and_then(|first| first.on_device(columns.len()));
                let grouped =
                    grouped(&inputs, question.as_ref(), &columns, &aggregates, on_device.as_ref(), &stop);
                let mut grouped = grouped.map_err(|error| DataFusionError::External(Box::new(error)))?;
                if let Some(first) = &first
                    && let Some(groups) = first.groups(&numbers(&grouped, &schema)?)
                {
                    grouped.keep(&groups);
                }
                batch(&grouped, &schema)
            });
            made.await.map_err(|error| DataFusionError::External(Box::new(error)))?
        };
        let rows = futures::stream::once(rows);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// The groups of the rows of inputs, by their device if all of them are on one. A device may leave out groups
/// that are not among the first.
fn grouped(
    inputs: &[LoadedInput],
    question: Option<&Question>,
    columns: &[GroupColumn],
    aggregates: &[Aggregate],
    first: Option<&FirstGroups>,
    stop: &Stop,
) -> std::result::Result<Grouped, Error> {
    let of_inputs: Vec<Vec<&Segment>> = inputs.iter().map(|input| input.segments().collect()).collect();
    let tables = inputs.iter().zip(&of_inputs).map(|(input, segments)| Some((input.table()?, &segments[..])));
    let tables: Option<Vec<TableOf<'_>>> = tables.collect();
    if let Some(tables) = tables
        && let Some(grouped) = group_on(&tables, question, columns, aggregates, first)?
    {
        return Ok(grouped);
    }
    group(&of_inputs.concat(), question, columns, aggregates, stop)
}

/// Groups as rows.
pub fn batch(grouped: &Grouped, schema: &SchemaRef) -> Result<RecordBatch> {
    rows(grouped, schema, |codes, dictionary, field| {
        let strings = dictionary.read();
        let mut column = StringBuilder::with_capacity(codes.len(), 0);
        for code in codes {
            match code.map(|code| std::str::from_utf8(strings.get(code))) {
                Some(Ok(text)) => column.append_value(text),
                Some(Err(error)) => {
                    return exec_err!("a string of {} is no UTF-8: {error}", field.name());
                }
                None => column.append_null(),
            }
        }
        Ok(Arc::new(column.finish()))
    })
}

/// Groups as rows in which all strings are null.
fn numbers(grouped: &Grouped, schema: &SchemaRef) -> Result<RecordBatch> {
    rows(grouped, schema, |codes, _, field| Ok(new_null_array(field.data_type(), codes.len())))
}

/// Groups as rows. `strings` makes the column of codes.
fn rows(
    grouped: &Grouped,
    schema: &SchemaRef,
    strings: impl Fn(&[Option<u32>], &Dictionary, &Field) -> Result<ArrayRef>,
) -> Result<RecordBatch> {
    let Grouped { len, columns, numbers } = grouped;
    let (of_groups, of_numbers) = schema.fields().split_at(columns.len().min(schema.fields().len()));
    let mut made = Vec::with_capacity(schema.fields().len());
    for (field, values) in of_groups.iter().zip(columns) {
        let column: ArrayRef = match values {
            Values::Nothing => new_null_array(field.data_type(), *len),
            Values::Booleans(values) => Arc::new(values.iter().copied().collect::<BooleanArray>()),
            Values::Integers(values) => Arc::new(values.iter().copied().collect::<Int64Array>()),
            Values::Doubles(values) => Arc::new(values.iter().copied().collect::<Float64Array>()),
            Values::Codes(codes, dictionary) => strings(codes, dictionary, field)?,
        };
        made.push(cast(&column, field.data_type())?);
    }
    for (field, numbers) in of_numbers.iter().zip(numbers) {
        let of_wide = |values: &mut dyn Iterator<Item = Option<i128>>| {
            let integer = |value: Option<i128>| value.map(i64::try_from).transpose();
            match values.map(integer).collect::<std::result::Result<Int64Array, _>>() {
                Ok(column) => Ok(Arc::new(column) as ArrayRef),
                Err(_) => exec_err!("{TOO_WIDE}"),
            }
        };
        let column: ArrayRef = match numbers {
            Numbers::Counts(counts) => of_wide(&mut counts.iter().map(|count| Some((*count).into())))?,
            Numbers::Integers(values) => Arc::new(values.iter().copied().collect::<Int64Array>()),
            Numbers::Sums(sums) => of_wide(&mut sums.iter().copied())?,
            Numbers::Doubles(values) => Arc::new(values.iter().copied().collect::<Float64Array>()),
        };
        made.push(cast(&column, field.data_type())?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(*len));
    Ok(RecordBatch::try_new_with_options(schema.clone(), made, &options)?)
}
