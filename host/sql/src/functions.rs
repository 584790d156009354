//! `json_path` and its variants: paths of [RFC 9535](https://www.rfc-editor.org/rfc/rfc9535) over JSON text.
//!
//! | function | result | type |
//! |---|---|---|
//! | `json_path(text, path)` | the JSON text of the first match | string |
//! | `json_path_text` | the first match: strings without quotes and escapes, others as JSON text | string |
//! | `json_path_int`, `_float`, `_bool` | the first match, if it has the type | bigint, double, boolean |
//! | `json_path_time` | the first match, if it is a string that is an instant of RFC 3339 | timestamp |
//! | `json_path_exists` | whether there is a match | boolean |
//! | `json_path_count` | the number of matches | bigint |
//! | `json_path_array` | the JSON text of all matches | array of strings |
//!
//! The text may be a column of any table, such as one of Parquet. The path is a constant. A null and a
//! blank text give null. Text that is not JSON is an error. A match that is JSON's `null`, or does not have
//! the type, gives null.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder, UInt64Array,
    new_null_array,
};
use datafusion::arrow::compute::{cast, concat, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{
    ColumnarValue, ExpressionPlacement, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, TypeSignature, Volatility,
};
use warpath::columns::{ColumnType, Schema};
use warpath::{CancelToken, Engine, Error, Find, InputError, Query};
use warpath_core::cancel::{Interrupt, Stop, Working};

use crate::engines::external;
use crate::{integers, sums};

/// All functions.
///
/// ```
/// assert_eq!(warpath_sql::functions::all().len(), 9);
/// ```
#[must_use]
pub fn all() -> Vec<ScalarUDF> {
    all_until(None)
}

/// All functions. With a token, their evaluation ends when it is cancelled.
fn all_until(token: Option<&CancelToken>) -> Vec<ScalarUDF> {
    let until = token.map(Until::new);
    let of = |result| JsonPath { until: until.clone(), ..JsonPath::new(result) };
    ResultType::ALL.into_iter().map(|result| ScalarUDF::new_from_impl(of(result))).collect()
}

/// The end of the evaluation. It is no part of what a function means.
#[derive(Clone, Debug)]
struct Until {
    token: CancelToken,
    stop: Arc<Stop>,
}

impl Until {
    fn new(token: &CancelToken) -> Self {
        let mut interrupt = Interrupt::default();
        interrupt.add_token(token);
        Self { token: token.clone(), stop: Arc::new(Stop::new(interrupt)) }
    }
}

impl PartialEq for Until {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Until {}

impl Hash for Until {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Adds all functions to a registry, the exact `sum` of integers, and the functions of their exact operators.
///
/// # Errors
/// The errors of the registry.
pub fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    register_until(registry, None)
}

/// Adds all functions as [`register`] does. With a token, their evaluation ends when it is cancelled.
pub(crate) fn register_until(registry: &mut dyn FunctionRegistry, token: Option<&CancelToken>) -> Result<()> {
    for function in all_until(token).into_iter().chain(integers::functions()) {
        registry.register_udf(Arc::new(function))?;
    }
    registry.register_udaf(Arc::new(sums::sum()))?;
    Ok(())
}

/// `json_path` and `json_path_text`, which the operators `->` and `->>` call.
pub(crate) fn of_arrows() -> [ScalarUDF; 2] {
    [ResultType::Json, ResultType::Text].map(|result| ScalarUDF::new_from_impl(JsonPath::new(result)))
}

/// The type of a function's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ResultType {
    Json,
    Text,
    Int,
    Float,
    Bool,
    Time,
    Exists,
    Count,
    Array,
}

impl ResultType {
    const ALL: [Self; 9] = [
        Self::Json,
        Self::Text,
        Self::Int,
        Self::Float,
        Self::Bool,
        Self::Time,
        Self::Exists,
        Self::Count,
        Self::Array,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Json => "json_path",
            Self::Text => "json_path_text",
            Self::Int => "json_path_int",
            Self::Float => "json_path_float",
            Self::Bool => "json_path_bool",
            Self::Time => "json_path_time",
            Self::Exists => "json_path_exists",
            Self::Count => "json_path_count",
            Self::Array => "json_path_array",
        }
    }

    /// The type of the first match; `None` for functions of all matches.
    fn of_first(self) -> Option<ColumnType> {
        Some(match self {
            Self::Json => ColumnType::Json,
            Self::Text => ColumnType::Text,
            Self::Int => ColumnType::Int64,
            Self::Float => ColumnType::Float64,
            Self::Bool => ColumnType::Boolean,
            Self::Time => ColumnType::Time,
            Self::Exists | Self::Count | Self::Array => return None,
        })
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Json | Self::Text => DataType::Utf8,
            Self::Int | Self::Count => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Bool | Self::Exists => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Self::Array => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        }
    }
}

/// The path of a call on whole records, and the type of its values, if a scan can read them itself. `None`
/// for other functions, and for paths that may have several matches.
///
/// # Errors
/// The error of a path that is none.
pub(crate) fn path_of_call(function: &str, path: &str) -> Result<Option<(String, ColumnType)>> {
    let result = ResultType::ALL.into_iter().find(|result| result.name() == function);
    let Some(values) = result.and_then(ResultType::of_first) else { return Ok(None) };
    let query = compiled(function, path)?;
    Ok(query.is_singular().then(|| (path.to_owned(), values)))
}

fn compiled(function: &str, path: &str) -> Result<Query> {
    match Query::compile(path) {
        Ok(query) => Ok(query),
        Err(Error::Query(error)) => plan_err!("the path of {function}: {}", error.render()),
        Err(other) => Err(external(other)),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonPath {
    result: ResultType,
    signature: Signature,
    until: Option<Until>,
}

impl JsonPath {
    fn new(result: ResultType) -> Self {
        let strings = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
        let each = strings.map(|text| TypeSignature::Exact(vec![text, DataType::Utf8]));
        Self { result, signature: Signature::one_of(each.to_vec(), Volatility::Immutable), until: None }
    }
}

impl ScalarUDFImpl for JsonPath {
    fn name(&self) -> &str {
        self.result.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.data_type())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let name = self.name();
        match args.scalar_arguments.get(1) {
            Some(Some(ScalarValue::Utf8(Some(path)))) => drop(compiled(name, path)?),
            Some(Some(path)) if path.is_null() => {}
            _ => return plan_err!("the path of {name} must be a constant string, such as '$.user.id'"),
        }
        Ok(Arc::new(Field::new(name, self.result.data_type(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = self.name();
        let rows = args.number_rows;
        let path = match args.args.get(1) {
            Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(path)))) => path,
            Some(ColumnarValue::Scalar(path)) if path.is_null() => {
                return Ok(ColumnarValue::Array(new_null_array(&self.result.data_type(), rows)));
            }
            _ => return exec_err!("the path of {name} must be a constant string"),
        };
        let query = compiled(name, path)?;
        let (texts, is_scalar) = match &args.args[0] {
            ColumnarValue::Array(texts) => (texts.clone(), false),
            ColumnarValue::Scalar(text) => (text.to_array()?, true),
        };
        let texts = cast(&texts, &DataType::Utf8)?;
        let _working = self.until.as_ref().map(|until| Working::until(&until.stop));
        let values = match self.result.of_first() {
            Some(values) => self.first(&texts, &query, &values)?,
            None => self.all(&texts, &query)?,
        };
        if self.until.as_ref().is_some_and(|until| until.stop.is_set()) {
            return Err(external(Error::Cancelled));
        }
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?),
            false => ColumnarValue::Array(values),
        })
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        // A scan evaluates it in its one pass over the records.
        match args {
            [ExpressionPlacement::Column, ExpressionPlacement::Literal] => {
                ExpressionPlacement::MoveTowardsLeafNodes
            }
            _ => ExpressionPlacement::KeepInPlace,
        }
    }
}

impl JsonPath {
    /// The first match of each text, all evaluated in one pass.
    fn first(&self, texts: &ArrayRef, query: &Query, values: &ColumnType) -> Result<ArrayRef> {
        let lines = lines(texts);
        let schema = Schema::new(&[(query.clone(), values.clone())]).map_err(external)?;
        let mut found: Vec<ArrayRef> = Vec::new();
        let mut input = engine()?.bytes(lines.as_slice());
        if let Some(until) = &self.until {
            input = input.cancel(&until.token);
        }
        for batch in input.record_batches(&schema) {
            let batch = batch.map_err(|error| self.malformed(error))?;
            found.push(match query.is_singular() {
                true => batch.column(0).clone(),
                false => first_elements(batch.column(0))?,
            });
        }
        if found.is_empty() {
            return Ok(new_null_array(&self.result.data_type(), texts.len()));
        }
        let found = concat(&found.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
        if found.len() != texts.len() {
            return exec_err!("{} has {} results for {} rows", self.name(), found.len(), texts.len());
        }
        // A column of lists has null elements where the type was not taken.
        Ok(cast(&found, &self.result.data_type())?)
    }

    /// All matches of each text.
    fn all(&self, texts: &ArrayRef, query: &Query) -> Result<ArrayRef> {
        let texts = texts.as_string::<i32>();
        let rows = texts.len();
        let mut exists = BooleanBuilder::with_capacity(rows);
        let mut counts = Int64Builder::with_capacity(rows);
        let mut arrays = ListBuilder::new(StringBuilder::new());
        for (row, text) in texts.iter().enumerate() {
            let matches = match text.filter(|text| !is_blank(text)) {
                Some(text) => Some(query.find(text.as_bytes()).map_err(|error| self.at_row(error, row))?),
                None => None,
            };
            match self.result {
                ResultType::Exists => {
                    exists.append_option(matches.map(|mut matches| matches.next().is_some()));
                }
                ResultType::Count => counts.append_option(matches.map(|matches| matches.count() as i64)),
                _ => {
                    let is_some = matches.is_some();
                    for found in matches.into_iter().flatten() {
                        arrays.values().append_value(found.text());
                    }
                    arrays.append(is_some);
                }
            }
        }
        Ok(match self.result {
            ResultType::Exists => Arc::new(exists.finish()),
            ResultType::Count => Arc::new(counts.finish()),
            _ => Arc::new(arrays.finish()),
        })
    }

    fn malformed(&self, error: datafusion::arrow::error::ArrowError) -> datafusion::error::DataFusionError {
        let datafusion::arrow::error::ArrowError::ExternalError(cause) = error else { return error.into() };
        match cause.downcast::<Error>() {
            Ok(error) => {
                let row = match *error {
                    Error::Input(InputError::Record(ref record)) => record.line - 1,
                    _ => 0,
                };
                self.at_row(*error, row as usize)
            }
            Err(other) => datafusion::error::DataFusionError::External(other),
        }
    }

    fn at_row(&self, error: Error, row: usize) -> datafusion::error::DataFusionError {
        let what = match &error {
            Error::Input(InputError::Record(record)) => format!("byte {}: {}", record.byte, record.kind),
            other => other.chain(),
        };
        datafusion::common::exec_datafusion_err!(
            "{}: the text of row {} of a batch is not JSON: {what}",
            self.name(),
            row + 1
        )
    }
}

/// The engine of all functions. A batch is evaluated in the thread that has it.
fn engine() -> Result<&'static Engine> {
    static ENGINE: OnceLock<std::result::Result<Engine, String>> = OnceLock::new();
    let made = ENGINE.get_or_init(|| Engine::builder().workers(1).build().map_err(|error| error.chain()));
    made.as_ref().map_err(|error| datafusion::common::exec_datafusion_err!("{error}"))
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// A line for each text. A text without a record is `null`, which no path but `$` matches, and `$` gives
/// null.
fn lines(texts: &ArrayRef) -> Vec<u8> {
    let texts = texts.as_string::<i32>();
    let mut lines = Vec::with_capacity(texts.value_data().len() + 6 * texts.len());
    for text in texts {
        match text.filter(|text| !is_blank(text)) {
            Some(text) => {
                // A newline is white space between tokens, and no string has one.
                lines.extend(text.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
            }
            None => lines.extend_from_slice(b"null"),
        }
        lines.push(b'\n');
    }
    lines
}

/// The first element of each list; null for an empty list.
fn first_elements(lists: &ArrayRef) -> Result<ArrayRef> {
    let lists = lists.as_list::<i32>();
    let offsets = lists.offsets();
    let first = offsets.windows(2).map(|pair| (pair[0] < pair[1]).then_some(pair[0] as u64));
    Ok(take(lists.values(), &first.collect::<UInt64Array>(), None)?)
}
