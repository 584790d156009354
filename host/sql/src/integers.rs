//! `+`, `-` and `*` of integers, exact: those of DataFusion wrap around when the result has no room, and
//! nobody hears of it. Here such a result is an error, as in PostgreSQL and DuckDB.
//!
//! A rule of the analyzer puts a function in place of the operator, once both sides have their types.
//! Decimals and times have such errors in DataFusion. A chain `a + b + c` is one call: for each type of a
//! call within others, DataFusion makes the names of all of them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Datum};
use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{
    DFSchema, DataFusionError, Result, ScalarValue, exec_datafusion_err, internal_err, plan_err,
};
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

/// The functions of the operators: `checked_add`, `checked_subtract`, `checked_multiply`, `checked_negate`.
pub fn functions() -> [ScalarUDF; 4] {
    [Sign::Add, Sign::Subtract, Sign::Multiply, Sign::Negate]
        .map(|sign| ScalarUDF::new_from_impl(Checked::new(sign)))
}

/// Both sides of a difference of integers.
pub fn difference(expr: &Arc<dyn PhysicalExpr>) -> Option<[&Arc<dyn PhysicalExpr>; 2]> {
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let checked = function.fun().inner().downcast_ref::<Checked>()?;
    match function.args() {
        [left, right] if checked.sign == Sign::Subtract => Some([left, right]),
        _ => None,
    }
}

/// The most calls one within the other. Planning 200 of them takes more than a second.
const MOST_LEVELS: usize = 100;

/// An operator of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sign {
    Add,
    Subtract,
    Multiply,
    Negate,
}

/// The function of an operator: of integers of one type, from left to right, with a result of this type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    sign: Sign,
    signature: Signature,
}

impl Checked {
    fn new(sign: Sign) -> Self {
        let types = vec![
            DataType::Int64,
            DataType::UInt64,
            DataType::Int32,
            DataType::UInt32,
            DataType::Int16,
            DataType::UInt16,
            DataType::Int8,
            DataType::UInt8,
        ];
        let signature = match sign {
            Sign::Negate => Signature::uniform(1, types, Volatility::Immutable),
            _ => Signature::variadic(types, Volatility::Immutable),
        };
        Self { sign, signature }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.sign {
            Sign::Add => "checked_add",
            Sign::Subtract => "checked_subtract",
            Sign::Multiply => "checked_multiply",
            Sign::Negate => "checked_negate",
        }
    }

    /// The name of the operator's column.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(match self.sign {
            Sign::Add => names.join(" + "),
            Sign::Subtract => names.join(" - "),
            Sign::Multiply => names.join(" * "),
            Sign::Negate => format!("(- {})", names.concat()),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [first, ..] => Ok(first.clone()),
            [] => internal_err!("{} has no arguments", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let kernel: fn(&dyn Datum, &dyn Datum) -> std::result::Result<ArrayRef, ArrowError> = match self.sign
        {
            Sign::Add => add,
            Sign::Subtract | Sign::Negate => sub,
            Sign::Multiply => mul,
        };
        let mut values = args.args.into_iter();
        let Some(mut first) = values.next() else { return internal_err!("{} has no arguments", self.name()) };
        if self.sign == Sign::Negate {
            let zero = ColumnarValue::Scalar(ScalarValue::new_zero(&first.data_type())?);
            first = apply(&zero, &first, kernel).map_err(no_room)?;
        }
        values.try_fold(first, |left, right| apply(&left, &right, kernel)).map_err(no_room)
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
    functions: [Arc<ScalarUDF>; 4],
}

impl ExactIntegers {
    pub fn new() -> Self {
        Self { functions: functions().map(Arc::new) }
    }

    fn call(&self, operator: Operator, left: Expr, right: Expr) -> Expr {
        let [add, subtract, multiply, _] = &self.functions;
        let function = match operator {
            Operator::Plus => add,
            Operator::Minus => subtract,
            _ => multiply,
        };
        match left {
            Expr::ScalarFunction(mut chain) if Arc::ptr_eq(&chain.func, function) => {
                chain.args.push(right);
                Expr::ScalarFunction(chain)
            }
            left => Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), vec![left, right])),
        }
    }

    fn is_call(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::ScalarFunction(call) if self.functions.iter().any(|it| Arc::ptr_eq(it, &call.func)))
    }

    /// The type of an expression, if it is an integer. The type of a placeholder may be unknown until it has
    /// a value.
    fn integer(&self, mut expr: &Expr, schema: &DFSchema) -> Option<DataType> {
        while let Expr::ScalarFunction(call) = expr
            && self.is_call(expr)
        {
            expr = call.args.first()?;
        }
        expr.get_type(schema).ok().filter(DataType::is_integer)
    }

    /// The most calls one within the other.
    fn levels(&self, expr: &Expr) -> Result<usize> {
        let mut below = 0;
        expr.apply_children(|child| {
            below = below.max(self.levels(child)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(below + usize::from(self.is_call(expr)))
    }

    fn exact(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply),
                right,
            }) => match (self.integer(&left, schema), self.integer(&right, schema)) {
                (Some(one), Some(other)) if one == other => Transformed::yes(self.call(op, *left, *right)),
                _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            },
            Expr::Negative(value) => match self.integer(&value, schema).filter(DataType::is_signed_integer) {
                Some(_) => {
                    let [.., negate] = &self.functions;
                    let call = ScalarFunction::new_udf(negate.clone(), vec![*value]);
                    Transformed::yes(Expr::ScalarFunction(call))
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
                if exact.transformed && self.levels(&exact.data)? > MOST_LEVELS {
                    return plan_err!(
                        "a statement has more than {MOST_LEVELS} levels of +, - and * of integers"
                    );
                }
                Ok(exact.update_data(|expr| name.restore(expr)))
            })
        });
        Ok(exact?.data)
    }
}
