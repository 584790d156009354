//! Columns that stay on a device: exported, freed, and refused.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{Array, RecordBatch, StructArray};
use warpath::columns::{ArrowDevice, ArrowDeviceArray, ColumnType, DeviceBatch, Reason, Schema, StructField};
use warpath::{DeviceError, Engine, Error, Query};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Together;
use warpath_tests::emulated::Emulated;

const TEXT: &str = "{\"id\":1,\"name\":\"A\\u00e9\",\"tags\":[\"a\",null]}\n{\"id\":2,\"on\":true}\n\
                    {\"id\":3,\"name\":\"\",\"x\":0.1234567890123456789012,\"tags\":[\"b\"],\"price\":1.25}\n";

fn schema(columns: &[(&str, ColumnType)]) -> Schema {
    let column = |(path, kind): &(&str, ColumnType)| (Query::compile(path).unwrap(), kind.clone());
    Schema::new(&columns.iter().map(column).collect::<Vec<_>>()).unwrap()
}

/// Columns that the device makes, and columns that the host makes.
fn all() -> Schema {
    schema(&[
        ("$.id", ColumnType::Int64),
        ("$.name", ColumnType::Utf8),
        ("$.on", ColumnType::Boolean),
        ("$.x", ColumnType::Float64),
        ("$.tags[*]", ColumnType::Utf8),
        ("$.price", ColumnType::Decimal { precision: 10, scale: 2 }),
        ("$.id", ColumnType::Text),
        ("$.none[*]", ColumnType::Int64),
    ])
}

fn engine(backend: impl Backend + 'static, partition_size: usize) -> Engine {
    // One worker: several may use more memory in a later run.
    Engine::builder().backend(Arc::new(backend)).partition_size(partition_size).workers(1).build().unwrap()
}

fn batches(engine: &Engine, text: &'static str, schema: &Schema) -> Vec<DeviceBatch> {
    engine.reader("text", text.as_bytes()).device_columns(schema).collect::<Result<_, _>>().unwrap()
}

fn on_host(engine: &Engine, text: &'static str, schema: &Schema) -> Vec<RecordBatch> {
    engine.reader("text", text.as_bytes()).record_batches(schema).collect::<Result<_, _>>().unwrap()
}

/// Takes an exported array as a consumer in C does: it moves the structure out, and releases it.
fn imported(array: ArrowDeviceArray, schema: &FFI_ArrowSchema) -> RecordBatch {
    let array = ManuallyDrop::new(array);
    // SAFETY: an `ArrowDeviceArray` begins with an `ArrowArray`, whose layout `FFI_ArrowArray` has, too. The
    // original is not dropped, so that only the copy is released.
    let array = unsafe { (&raw const *array).cast::<FFI_ArrowArray>().read() };
    // SAFETY: the array and the schema are those of `DeviceBatch::export`, and the memory of the emulated
    // device is this process's.
    StructArray::from(unsafe { from_ffi(array, schema) }.unwrap()).into()
}

#[test]
fn an_exported_batch_is_the_one_on_the_host() {
    let engine = engine(Emulated::default().pipeline(), 1 << 20);
    let (schema, wanted) = (all(), on_host(&engine, TEXT, &all()));
    let [batch] = &batches(&engine, TEXT, &schema)[..] else { panic!("several batches") };
    assert_eq!(batch.schema(), &schema.to_arrow());
    let (array, exported) = batch.export().unwrap();
    assert_eq!((array.device(), array.len()), (ArrowDevice::HOST, 3));
    let rows = imported(array, &exported);
    rows.column(1).to_data().validate_full().unwrap();
    assert_eq!(rows.columns(), wanted[0].columns());
    // Two exports share the memory.
    let other = batch.export().unwrap();
    assert_eq!(imported(other.0, &other.1), rows);
    // The first two rows alone.
    let mut fewer = batch.clone();
    fewer.truncate(2);
    let (array, exported) = fewer.export().unwrap();
    assert_eq!(imported(array, &exported).columns(), wanted[0].slice(0, 2).columns());
}

#[test]
fn memory_is_freed_with_its_last_user() {
    let device = Emulated::default();
    let engine = engine(device.pipeline(), 64);
    let ids = schema(&[("$.id", ColumnType::Int64)]);
    drop(batches(&engine, TEXT, &ids));
    let before = device.used();
    let made = batches(&engine, TEXT, &ids);
    assert!(made.len() > 1);
    assert!(device.used() > before);
    let joined = DeviceBatch::join(&made).unwrap();
    drop(made);
    let values = joined.values(0).unwrap();
    let (array, exported) = joined.export().unwrap();
    drop(joined);
    assert!(device.used() > before);
    assert_eq!((values.len(), values.nulls()), (3, 0));
    assert_eq!(values.address() % 8, 0);
    drop(values);
    // A released child does not keep the others, and a release of the whole frees all.
    let rows = imported(array, &exported);
    assert!(device.used() > before);
    assert_eq!(rows.num_rows(), 3);
    drop(rows);
    assert_eq!(device.used(), before);
    // An array that nobody takes is released when it is dropped.
    let made = batches(&engine, TEXT, &ids);
    drop(made[0].export().unwrap());
    drop(made);
    assert_eq!(device.used(), before);
}

/// The message of the one result.
fn refused(engine: &Engine, schema: &Schema) -> String {
    let mut batches = engine.reader("text", TEXT.as_bytes()).device_columns(schema);
    let error = batches.next().unwrap().unwrap_err();
    assert!(matches!(error, Error::Usage(_) | Error::Plan(_)), "{error:?}");
    assert!(batches.next().is_none());
    error.to_string()
}

/// A reader that ends at a limit, or at a value that a column does not take, cuts the batch there.
#[test]
fn each_batch_has_its_first_refused_value() {
    let engine = engine(Emulated::default().pipeline(), 48);
    let text = "{\"a\":1,\"b\":1}\n{\"a\":2,\"b\":\"x\"}\n{\"a\":\"y\",\"b\":1}\n{\"a\":4,\"b\":4}\n\
                {\"a\":5,\"b\":5}\n{\"a\":99999999999999999999,\"b\":[]}\n{\"a\":7,\"b\":7}\n";
    let columns = schema(&[("$.a", ColumnType::Int64), ("$.b", ColumnType::Int64)]);
    let mut batches = engine.reader("text", text.as_bytes()).device_columns(&columns);
    assert!(batches.refused().is_none());
    let (mut before, mut refused) = (0, Vec::new());
    while let Some(batch) = batches.next() {
        let rows = batch.unwrap().num_rows();
        if let Some(first) = batches.refused() {
            assert!(first.row < rows);
            let place = (first.place.0.as_str(), first.place.1);
            assert_eq!(place, ("text", (before + first.row) as u64 + 1));
            refused.push((before + first.row, first.column, first.reason));
        }
        before += rows;
    }
    assert_eq!(before, 7);
    // The first one of a batch in the order of the rows, and not in that of the columns.
    assert_eq!(refused, [(1, 1, Reason::Mismatch), (5, 0, Reason::Overflow)]);
}

#[test]
fn what_stays_on_no_device_is_refused() {
    let device = engine(Emulated::default().pipeline(), 1 << 20);
    let ids = schema(&[("$.id", ColumnType::Int64)]);
    let said = refused(&engine(Cpu, 1 << 20), &ids);
    assert!(
        said.starts_with("columns that stay on a device require a device; the backend is `cpu"),
        "{said}"
    );
    let lists =
        schema(&[("$.id", ColumnType::Int64), ("$.tags", ColumnType::List(Box::new(ColumnType::Utf8)))]);
    let said = refused(&device, &lists);
    assert!(said.starts_with("column `$.tags` is a list<string>, which cannot stay on a device"), "{said}");
    let fields = vec![StructField { name: "a".into(), values: ColumnType::Int64 }];
    let said = refused(&device, &schema(&[("$.user", ColumnType::Struct(fields))]));
    assert!(said.contains("`$.user` is a struct<a:int64>"), "{said}");

    let batch = &batches(&device, TEXT, &all())[0];
    let message = |column| batch.values(column).map(|_| ()).unwrap_err().to_string();
    assert_eq!(message(1), "column `$.name` is Utf8; expected numbers or times, one a row");
    assert!(message(2).starts_with("column `$.on` is Boolean"));
    assert!(message(7).starts_with("column `$.none[*]` is List("));
    assert_eq!(message(8), "no column 8; the batch has 8");
    assert_eq!(batch.values(3).unwrap().nulls(), 2);
}

#[test]
fn batches_of_one_schema_and_device_are_joined() {
    let pipelines = || {
        let made = || Arc::new(Emulated::default().pipeline()) as Arc<dyn Backend>;
        Together::new(vec![made(), made()]).unwrap()
    };
    let engine = engine(pipelines(), 64);
    let ids = schema(&[("$.id", ColumnType::Int64)]);
    let made = batches(&engine, TEXT, &ids);
    assert_eq!(DeviceBatch::join(&made).unwrap().num_rows(), 3);
    let names = batches(&engine, TEXT, &schema(&[("$.name", ColumnType::Utf8)]));
    let both = [made[0].clone(), names[0].clone()];
    for wrong in [&both[..], &[]] {
        let error = DeviceBatch::join(wrong).unwrap_err();
        assert!(matches!(&error, Error::Usage(said) if said.starts_with("batches to join")), "{error:?}");
    }
}

#[test]
fn memory_that_is_short_is_an_error() {
    let device = Emulated::with_memory(3 << 20);
    let engine = engine(device.pipeline(), 64 << 10);
    let text = "{\"id\":1,\"x\":2.5,\"y\":3}\n".repeat(100_000);
    let schema =
        schema(&[("$.id", ColumnType::Int64), ("$.x", ColumnType::Float64), ("$", ColumnType::Json)]);
    let kept: Result<Vec<DeviceBatch>, Error> =
        engine.bytes(text.as_bytes()).device_columns(&schema).collect();
    let error = kept.map(|kept| kept.len()).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OutOfMemory { .. })), "{error:?}");
}
