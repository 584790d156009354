//! Scans of loaded files, with the projections and filters above them, as conditions and members of records.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use object_store::ObjectMeta;
use object_store::path::Path as Location;
use warpath::{Loaded, LoadedInput};
use warpath_answer::nested::is_json_text;
use warpath_core::comparison::{Comparison, Condition, Constant, Test};
use warpath_resident::Segment;
use warpath_resident::aggregate::{ColumnKind, kind_of};

use crate::paths::FieldPath;
use crate::source::FILE_TYPE;

/// The names that lead from a record to a member.
pub type Names = Vec<Vec<u8>>;

/// Loaded inputs that are files, by their locations.
pub struct LoadedFiles(HashMap<Location, LoadedInput>);

impl LoadedFiles {
    /// True if nothing is loaded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The loaded input of a file that has not changed since.
    pub fn input(&self, file: &ObjectMeta) -> Option<&LoadedInput> {
        self.0.get(&file.location).filter(|input| input.is_current())
    }

    /// The loaded inputs that are files.
    pub fn of(loaded: &Loaded) -> Self {
        let file = |input: &LoadedInput| {
            let location = Location::from_absolute_path(absolute(input.file()?)?).ok()?;
            Some((location, input.clone()))
        };
        Self(loaded.inputs().iter().filter_map(file).collect())
    }
}

fn absolute(path: &Path) -> Option<std::path::PathBuf> {
    let goes_up = path.components().any(|part| part == std::path::Component::ParentDir);
    if goes_up { path.canonicalize().ok() } else { std::path::absolute(path).ok() }
}

/// Projections and filters over a scan of loaded files.
pub struct Below {
    pub inputs: Vec<LoadedInput>,
    /// The most rows that the scan is to return, before filters.
    pub limit: Option<usize>,
    /// True if the files are parts of stores. Names of their columns may have additions.
    are_parts: bool,
    /// The fields of the files.
    pub fields: Fields,
    /// The columns, as expressions over these fields.
    pub columns: Vec<Arc<dyn PhysicalExpr>>,
    /// The conditions, as expressions over these fields.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Below {
    /// The inputs of a plan that is made of projections, filters and a scan of loaded files; `None` for
    /// others.
    pub fn of(plan: &Arc<dyn ExecutionPlan>, loaded: &LoadedFiles) -> Option<Self> {
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
        if !scan.table_partition_cols().is_empty() || scan.file_source.filter().is_some() {
            return None;
        }
        let mut inputs = Vec::new();
        for file in scan.file_groups.iter().flat_map(FileGroup::files) {
            let input = loaded.input(&file.object_meta).filter(|_| file.range.is_none())?;
            inputs.push(input.clone());
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
        let are_parts = scan.file_source.file_type() != FILE_TYPE;
        if are_parts && fields.iter().any(|field| is_renamed(field)) {
            return None;
        }
        Some(Self { inputs, limit: scan.limit, are_parts, fields, columns, filters: Vec::new() })
    }

    /// An expression over the columns as one over the fields.
    pub fn over_fields(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        let replaced = expr.clone().transform_down(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            match self.columns.get(column.index()) {
                Some(column) => Ok(Transformed::new(column.clone(), true, TreeNodeRecursion::Jump)),
                None => internal_err!("there is no column {}", column.index()),
            }
        });
        replaced.data().ok()
    }

    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.inputs.iter().flat_map(LoadedInput::segments)
    }

    /// The member that an expression is, and its field, if leaves have its values in the field's type.
    pub fn member(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<(Names, FieldRef, ColumnKind)> {
        let FieldPath { names, field } = FieldPath::of(expr, &self.fields)?;
        let names: Names = names.into_iter().map(String::into_bytes).collect();
        let is_whole_record = names.is_empty();
        let is_marked = self.are_parts && names.iter().any(|name| name.contains(&b':'));
        if is_whole_record || is_marked {
            return None;
        }
        let kind = kind_of(&names, self.segments())?;
        let fits = match (&kind, field.data_type()) {
            // A column of a part that no record has may be another name of a member.
            (ColumnKind::Nothing, _) => !self.are_parts,
            // JSON text of strings has quotes.
            _ if is_json_text(&field) => false,
            (ColumnKind::Booleans, of) => *of == DataType::Boolean,
            (ColumnKind::Integers, of) => *of == DataType::Int64,
            (ColumnKind::Doubles, of) => *of == DataType::Float64,
            (ColumnKind::Codes(_), of) => is_string(of),
        };
        fits.then_some((names, field, kind))
    }

    /// The condition for an expression to be true, or to be false. An unknown value is neither.
    pub fn condition(&self, expr: &Arc<dyn PhysicalExpr>, outcome: bool) -> Option<Condition> {
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

/// True if a column of a part, or a column in it, has another name than its member because that name is
/// taken.
fn is_renamed(field: &Field) -> bool {
    let is_inner = match field.data_type() {
        DataType::Struct(fields) => fields.iter().any(|field| is_renamed(field)),
        _ => false,
    };
    is_inner || field.name().contains('~')
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

/// All of some conditions; `None` if there are none.
pub fn all_of(mut conditions: Vec<Condition>) -> Option<Condition> {
    if conditions.len() > 1 { Some(Condition::All(conditions)) } else { conditions.pop() }
}

/// The same plan over another input.
pub fn over(plan: &Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.clone().replace_children(vec![input], options)
}

/// True if an expression has other values each time it is evaluated.
pub fn is_volatile(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.is_volatile_node() || expr.children().into_iter().any(is_volatile)
}
