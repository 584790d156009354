//! `sum` of integers, exact: DataFusion's wraps around when it leaves 64 bits, and nobody hears of it.
//!
//! Integers are added as decimals of 38 digits, by DataFusion's own accumulators. Their sum is an integer of
//! 64 bits again, or an error.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature,
};

/// `sum`.
pub fn sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(ExactSum(Sum::new()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactSum(Sum);

/// The type in which integers are added. More than 10¹⁸ integers of 64 bits have room.
const WIDE: DataType = DataType::Decimal128(38, 0);

/// The message about a sum that has no room.
pub const TOO_WIDE: &str = "a sum has more than 64 bits: sum(CAST(x AS DECIMAL(38, 0))) has room for it";

/// The field of a sum in the type in which its values are added; `None` if that is the type of the sum.
fn wide(field: &Field) -> Option<FieldRef> {
    let is_integer = matches!(field.data_type(), DataType::Int64 | DataType::UInt64);
    is_integer.then(|| Arc::new(field.clone().with_data_type(WIDE)))
}

impl ExactSum {
    fn one(
        &self,
        args: AccumulatorArgs<'_>,
        make: impl Fn(&Sum, AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>>,
    ) -> Result<Box<dyn Accumulator>> {
        match wide(&args.return_field) {
            None => make(&self.0, args),
            Some(field) => {
                let narrow = args.return_field.data_type().clone();
                let inner = make(&self.0, AccumulatorArgs { return_field: field, ..args })?;
                Ok(Box::new(One { inner, narrow }))
            }
        }
    }
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match wide(&args.return_field) {
            None => self.0.state_fields(args),
            Some(return_field) => self.0.state_fields(StateFieldsArgs { return_field, ..args }),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.one(args, Sum::accumulator)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        // DataFusion's sum of distinct values in a window that slides is of integers alone, and wraps around.
        if args.is_distinct && wide(&args.return_field).is_some() {
            let inner = Box::new(SlidingDistinct::default());
            return Ok(Box::new(One { inner, narrow: args.return_field.data_type().clone() }));
        }
        self.one(args, Sum::create_sliding_accumulator)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match wide(&args.return_field) {
            None => self.0.create_groups_accumulator(args),
            Some(field) => {
                let narrow = args.return_field.data_type().clone();
                let args = AccumulatorArgs { return_field: field, ..args };
                Ok(Box::new(Groups { inner: self.0.create_groups_accumulator(args)?, narrow }))
            }
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.0.set_monotonicity(data_type)
    }
}

/// Integers in the type in which they are added. An array of another type stays.
fn widened(values: &[ArrayRef]) -> Vec<ArrayRef> {
    fn of<T: ArrowPrimitiveType<Native: Into<i128>>>(values: &PrimitiveArray<T>) -> ArrayRef {
        Arc::new(values.unary::<_, Decimal128Type>(Into::into).with_data_type(WIDE))
    }
    let wide = |values: &ArrayRef| match values.data_type() {
        DataType::Int64 => of(values.as_primitive::<Int64Type>()),
        DataType::UInt64 => of(values.as_primitive::<UInt64Type>()),
        _ => values.clone(),
    };
    values.iter().map(wide).collect()
}

/// Sums in their own type.
fn narrowed(sums: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    fn of<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(sums: &Decimal128Array) -> Result<ArrayRef> {
        let narrow = |sum: i128| match sum.try_into() {
            Ok(narrow) => Ok(narrow),
            Err(_) => exec_err!("{TOO_WIDE}"),
        };
        Ok(Arc::new(sums.try_unary::<_, T, _>(narrow)?))
    }
    let sums = sums.as_primitive::<Decimal128Type>();
    if matches!(to, DataType::UInt64) { of::<UInt64Type>(sums) } else { of::<Int64Type>(sums) }
}

/// The sum of one group.
#[derive(Debug)]
struct One {
    inner: Box<dyn Accumulator>,
    narrow: DataType,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&widened(values))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&widened(values))
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrowed(&sum, &self.narrow)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.inner.size()
    }
}

/// The sum of the distinct values in a window that slides.
#[derive(Debug, Default)]
struct SlidingDistinct {
    /// The number of times that each value is in the window.
    times: HashMap<i128, usize>,
    sum: i128,
}

impl Accumulator for SlidingDistinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Decimal128Type>().iter().flatten() {
            let times = self.times.entry(value).or_default();
            *times += 1;
            if *times == 1 {
                self.sum += value;
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Decimal128Type>().iter().flatten() {
            let Entry::Occupied(mut times) = self.times.entry(value) else { continue };
            *times.get_mut() -= 1;
            if *times.get() == 0 {
                times.remove();
                self.sum -= value;
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the sum of a window is not merged")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = (!self.times.is_empty()).then_some(self.sum);
        Ok(ScalarValue::Decimal128(sum, 38, 0))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the sum of a window is not merged")
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.times.capacity() * size_of::<(i128, usize)>()
    }
}

/// The sums of many groups.
struct Groups {
    inner: Box<dyn GroupsAccumulator>,
    narrow: DataType,
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        len: usize,
    ) -> Result<()> {
        self.inner.update_batch(&widened(values), groups, filter, len)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], len: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, len)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        narrowed(&self.inner.evaluate(emit)?, &self.narrow)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&widened(values), filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
