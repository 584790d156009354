//! Expressions over columns as JSONPaths.
//!
//! A projection refers to columns of the table, and to members of structs. Each such reference becomes a
//! path, so that a scan reads the member alone:
//!
//! ```text
//! commit['collection'], count + 1      paths        $["commit"]["collection"], $["count"]
//!                                      remainder    @0, @1 + 1
//! ```

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use warpath::columns::{ColumnType, json_text};
use warpath_answer::nested::column_type;
use warpath_lang::jsonpath::SingularQuery;

use crate::functions;

/// The key of the metadata of a field that has the records themselves.
const RECORD_KEY: &str = "warpath.record";

/// A value of each record that a scan reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathColumn {
    /// The path, in JSONPath.
    pub path: String,
    /// The type as it is read.
    pub values: ColumnType,
    /// The field of the values that are read, whose name is the path.
    pub field: FieldRef,
}

/// A column of the table that has the records themselves.
pub fn whole_record(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(RECORD_KEY.into(), String::new());
    field.with_metadata(metadata)
}

/// The one column of a table without a schema.
pub fn line() -> Field {
    whole_record(json_text(Field::new("line", DataType::Utf8, true)))
}

/// True if a field has the JSON text of whole records.
fn is_line(field: &Field) -> bool {
    *field == line()
}

/// A reference to a value: the names that lead to it from the record, and its field in the table.
pub struct FieldPath {
    pub names: Vec<String>,
    pub field: FieldRef,
}

impl FieldPath {
    /// The reference that an expression is; `None` for other expressions, and for partition columns.
    pub fn of(expr: &Arc<dyn PhysicalExpr>, fields: &Fields) -> Option<Self> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let field = fields.get(column.index())?.clone();
            let is_record = field.metadata().contains_key(RECORD_KEY);
            let names = if is_record { Vec::new() } else { vec![field.name().clone()] };
            return Some(Self { names, field });
        }
        let call = expr.downcast_ref::<ScalarFunctionExpr>().filter(|call| call.name() == "get_field")?;
        let (base, names) = call.args().split_first()?;
        let mut found = Self::of(base, fields)?;
        for name in names {
            let name = text_of(name)?;
            let DataType::Struct(members) = found.field.data_type() else { return None };
            let field = members.iter().find(|member| *member.name() == name)?.clone();
            found.names.push(name);
            found.field = field;
        }
        Some(found)
    }

    /// The path, in JSONPath.
    fn path(&self) -> String {
        SingularQuery::of_names(self.names.iter().cloned()).to_string()
    }
}

/// The text of a literal.
pub fn text_of(expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
    match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => text.clone(),
        _ => None,
    }
}

/// The type that values of a declared type are read as. The declared type may be another, which a cast makes.
fn read_as(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Timestamp(..) => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        DataType::Date64 => DataType::Date32,
        DataType::Decimal128(..) | DataType::List(_) | DataType::Struct(_) => data_type.clone(),
        DataType::Boolean | DataType::Int64 | DataType::Float64 | DataType::Utf8 | DataType::Date32 => {
            data_type.clone()
        }
        _ => return None,
    })
}

/// The paths of a projection, and what remains to be computed from their values.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    pub columns: Vec<PathColumn>,
}

impl Paths {
    /// Adds the paths of all expressions. Returns the expressions over the paths' values: column N of these
    /// is path N, and partition columns come after all paths.
    pub fn of(projection: &ProjectionExprs, fields: &Fields) -> Result<(Self, ProjectionExprs)> {
        let mut paths = Self::default();
        for projected in projection {
            projected.expr.apply(|expr| {
                Ok(match paths.value(expr, fields)? {
                    Some(_) => TreeNodeRecursion::Jump,
                    None => TreeNodeRecursion::Continue,
                })
            })?;
        }
        let count = paths.columns.len();
        let mut rewritten = Vec::new();
        for projected in projection {
            let expr = projected.expr.clone().transform_down(|expr| {
                if let Some(value) = paths.value(&expr, fields)? {
                    return Ok(Transformed::new(value, true, TreeNodeRecursion::Jump));
                }
                if let Some(column) = expr.downcast_ref::<Column>() {
                    let at = column.index() - fields.len() + count;
                    return Ok(Transformed::yes(Arc::new(Column::new(column.name(), at)) as _));
                }
                Ok(Transformed::no(expr))
            });
            rewritten.push(ProjectionExpr::new(expr.data()?, projected.alias.clone()));
        }
        Ok((paths, ProjectionExprs::new(rewritten)))
    }

    /// The fields of all paths.
    pub fn schema(&self) -> Schema {
        Schema::new(self.columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>())
    }

    /// The value of a reference, or of a call of `json_path` on whole records, as an expression over the
    /// values of paths.
    fn value(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
        fields: &Fields,
    ) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        if let Some(found) = FieldPath::of(expr, fields) {
            let declared = found.field.data_type();
            let Some(data_type) = read_as(declared) else {
                let name = found.field.name();
                return plan_err!("column `{name}` has the type {declared}, which no JSON value is read as");
            };
            let is_cast = data_type != *declared;
            let read = found.field.as_ref().clone().with_data_type(data_type);
            let Some(values) = column_type(&read) else {
                let name = found.field.name();
                return plan_err!("column `{name}` has the type {declared}, which no JSON value is read as");
            };
            let column = self.add(found.path(), values, &read);
            return Ok(Some(match is_cast {
                true => Arc::new(CastExpr::new(column, declared.clone(), None)),
                false => column,
            }));
        }
        let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else { return Ok(None) };
        let [text, path] = call.args() else { return Ok(None) };
        let (Some(found), Some(path)) = (FieldPath::of(text, fields), text_of(path)) else { return Ok(None) };
        if !is_line(&found.field) {
            return Ok(None);
        }
        let Some((path, values)) = functions::path_of_call(call.name(), &path)? else { return Ok(None) };
        let field = Field::new(&path, call.return_type().clone(), true);
        Ok(Some(self.add(path, values, &field)))
    }

    fn add(&mut self, path: String, values: ColumnType, field: &Field) -> Arc<dyn PhysicalExpr> {
        let field = Arc::new(Field::new(&path, field.data_type().clone(), true));
        let column = PathColumn { path, values, field };
        let at = self.columns.iter().position(|other| *other == column).unwrap_or_else(|| {
            self.columns.push(column.clone());
            self.columns.len() - 1
        });
        Arc::new(Column::new(column.field.name(), at))
    }
}
