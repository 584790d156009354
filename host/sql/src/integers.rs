//! `+`, `-` and `*` of integers, exact: those of DataFusion wrap around when the result has no room, and
//! nobody hears of it. Here such a result is an error, as in PostgreSQL and DuckDB.
//!
//! A rule of the analyzer puts a function in place of the operator, once both sides have their types.
//! Decimals and times have such errors in DataFusion.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Datum};
use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::datum::apply;

/// The functions of the operators: `checked_add`, `checked_subtract` and `checked_multiply`.
pub fn functions() -> [ScalarUDF; 3] {
    [Operator::Plus, Operator::Minus, Operator::Multiply]
        .map(|operator| ScalarUDF::new_from_impl(Checked::new(operator)))
}

/// Both sides of a difference of integers.
pub fn difference(expr: &Arc<dyn PhysicalExpr>) -> Option<[&Arc<dyn PhysicalExpr>; 2]> {
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let checked = function.fun().inner().downcast_ref::<Checked>()?;
    match function.args() {
        [left, right] if checked.operator == Operator::Minus => Some([left, right]),
        _ => None,
    }
}

/// The function of an operator: of two integers of one type, with a result of this type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operator: Operator,
    signature: Signature,
}

impl Checked {
    fn new(operator: Operator) -> Self {
        let types = [
            DataType::Int64,
            DataType::UInt64,
            DataType::Int32,
            DataType::UInt32,
            DataType::Int16,
            DataType::UInt16,
            DataType::Int8,
            DataType::UInt8,
        ];
        Self { operator, signature: Signature::uniform(2, types.to_vec(), Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_subtract",
            _ => "checked_multiply",
        }
    }

    /// The name of the operator's column.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [left, right] => Ok(format!("{} {} {}", left.schema_name(), self.operator, right.schema_name())),
            _ => internal_err!("{} has {} arguments", self.name(), args.len()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [left, _] => Ok(left.clone()),
            _ => internal_err!("{} has {} arguments", self.name(), types.len()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let kernel: fn(&dyn Datum, &dyn Datum) -> std::result::Result<ArrayRef, ArrowError> =
            match self.operator {
                Operator::Plus => add,
                Operator::Minus => sub,
                _ => mul,
            };
        match &args.args[..] {
            [left, right] => apply(left, right, kernel).map_err(no_room),
            arguments => internal_err!("{} has {} arguments", self.name(), arguments.len()),
        }
    }
}

/// The message about a result that has no room.
fn no_room(error: DataFusionError) -> DataFusionError {
    match &error {
        DataFusionError::ArrowError(overflow, _) => match &**overflow {
            ArrowError::ArithmeticOverflow(message) => exec_datafusion_err!(
                "{message}: the result has no room in its type. CAST(x AS DECIMAL(38, 0)) has more"
            ),
            _ => error,
        },
        _ => error,
    }
}

/// The rule of the analyzer.
#[derive(Debug)]
pub struct ExactIntegers {
    functions: [Arc<ScalarUDF>; 3],
}

impl ExactIntegers {
    pub fn new() -> Self {
        Self { functions: functions().map(Arc::new) }
    }

    fn call(&self, operator: Operator, left: Expr, right: Expr) -> Expr {
        let [add, subtract, multiply] = &self.functions;
        let function = match operator {
            Operator::Plus => add,
            Operator::Minus => subtract,
            _ => multiply,
        };
        Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), vec![left, right]))
    }

    fn exact(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        // The type of a placeholder may be unknown until it has a value.
        let integers = |one: &Expr| one.get_type(schema).ok().filter(DataType::is_integer);
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply),
                right,
            }) => match (integers(&left), integers(&right)) {
                (Some(one), Some(other)) if one == other => Transformed::yes(self.call(op, *left, *right)),
                _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            },
            Expr::Negative(value) => match integers(&value).filter(DataType::is_signed_integer) {
                Some(of) => {
                    let zero = Expr::Literal(ScalarValue::new_zero(&of)?, None);
                    Transformed::yes(self.call(Operator::Minus, zero, *value))
                }
                None => Transformed::no(Expr::Negative(value)),
            },
            other => Transformed::no(other),
        })
    }
}

impl AnalyzerRule for ExactIntegers {
    fn name(&self) -> &str {
        "exact_integers"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let exact = plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                let of_source =
                    DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?;
                schema.merge(&of_source);
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let exact = expr.transform_up(|expr| self.exact(expr, &schema))?;
                Ok(exact.update_data(|expr| name.restore(expr)))
            })
        });
        Ok(exact?.data)
    }
}
