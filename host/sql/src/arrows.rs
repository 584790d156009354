//! The operators `->` and `->>`: a member of a struct or of JSON text, or an element of JSON text.
//!
//! | left side | `->` | `->>` |
//! |---|---|---|
//! | a struct | the member | the member as text |
//! | JSON text | `json_path(text, '$["name"]')` | `json_path_text(text, '$["name"]')` |
//!
//! An integer on the right side is the index of an element of JSON text.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::core::expr_ext::FieldAccessor;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, cast, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use warpath_core::json;

use crate::functions;

/// The planner of the operators.
#[derive(Debug)]
pub struct Arrows {
    json: Arc<ScalarUDF>,
    text: Arc<ScalarUDF>,
}

impl Arrows {
    /// The operators, as calls of `json_path` and `json_path_text`.
    pub fn new() -> Self {
        let [json, text] = functions::of_arrows().map(Arc::new);
        Self { json, text }
    }
}

impl ExprPlanner for Arrows {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_text = match expr.op {
            BinaryOperator::Arrow => false,
            BinaryOperator::LongArrow => true,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let path = match &expr.right {
            Expr::Literal(ScalarValue::Utf8(Some(name)), _) => format!("$[{}]", json::encode(name)),
            Expr::Literal(ScalarValue::Int64(Some(index)), _) => format!("$[{index}]"),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let planned = match (expr.left.get_type(schema)?, &expr.right) {
            (DataType::Struct(_), Expr::Literal(ScalarValue::Utf8(Some(name)), _)) => {
                let member = expr.left.field(name.as_str());
                if is_text { cast(member, DataType::Utf8) } else { member }
            }
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, _) => {
                let function = if is_text { &self.text } else { &self.json };
                let arguments = vec![expr.left, lit(path)];
                Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), arguments))
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(planned))
    }
}
