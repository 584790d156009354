//! Columns as Arrow's own arrays.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType};
use warpath::columns::{ColumnBatch, ColumnType, OffsetWidth, Offsets, Schema, Values};
use warpath::{DeviceChoice, Engine, Error, InputError, OnError, Query, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Pipeline;
use warpath_tests::emulated::Emulated;

const TEXT: &[u8] = b"{\"id\":1,\"x\":2.5,\"on\":true,\"name\":\"A\\u00e9\",\"tags\":[\"a\",1,null,\"b\"]}

{\"id\":\"2\",\"x\":1,\"on\":null,\"tags\":[]}
{\"id\":-3,\"name\":null,\"on\":false}
";

fn schema() -> Schema {
    let columns = [
        ("$.id", ColumnType::Int64),
        ("$.x", ColumnType::Float64),
        ("$.on", ColumnType::Boolean),
        ("$.name", ColumnType::Utf8),
        ("$.tags", ColumnType::Json),
        ("$.tags[*]", ColumnType::Utf8),
    ];
    let schema = Schema::new(&columns.map(|(path, kind)| (Query::compile(path).unwrap(), kind))).unwrap();
    schema.with_names(&["id", "x", "on", "name", "tags", "each"]).unwrap()
}

fn columns(backend: &dyn Backend, schema: &Schema) -> ColumnBatch {
    let want = Want::default().columns(schema.width());
    let mut answer = backend.answer(TEXT, schema.program(), want).unwrap();
    assert_eq!(answer.pieces.len(), 1);
    answer.pieces.remove(0).columns
}

fn batch(backend: &dyn Backend, schema: &Schema) -> RecordBatch {
    columns(backend, schema).into_arrow(&schema.to_arrow()).unwrap()
}

#[test]
fn a_batch_says_what_the_records_say() {
    for backend in [&Cpu as &dyn Backend, &Pipeline::new(Emulated::default()).unwrap()] {
        let batch = batch(backend, &schema());
        assert_eq!(batch.num_rows(), 3);
        let id: Vec<_> = batch["id"].as_primitive::<Int64Type>().iter().collect();
        assert_eq!(id, [Some(1), None, Some(-3)]);
        let x: Vec<_> = batch["x"].as_primitive::<Float64Type>().iter().collect();
        assert_eq!(x, [Some(2.5), Some(1.0), None]);
        let on: Vec<_> = batch["on"].as_boolean().iter().collect();
        assert_eq!(on, [Some(true), None, Some(false)]);
        let name: Vec<_> = batch["name"].as_string::<i32>().iter().collect();
        assert_eq!(name, [Some("Aé"), None, None]);
        let tags: Vec<_> = batch["tags"].as_string::<i32>().iter().collect();
        assert_eq!(tags, [Some("[\"a\",1,null,\"b\"]"), Some("[]"), None]);
        let each = batch["each"].as_list::<i32>();
        let lists: Vec<Vec<Option<String>>> = each
            .iter()
            .map(|list| list.unwrap().as_string::<i32>().iter().map(|tag| tag.map(str::to_owned)).collect())
            .collect();
        let some = |tag: &str| Some(tag.to_owned());
        assert_eq!(lists, [vec![some("a"), None, None, some("b")], vec![], vec![]]);
    }
}

#[test]
fn large_offsets_make_large_arrays() {
    let batch = batch(&Cpu, &schema().with_offsets(OffsetWidth::Large));
    assert_eq!(*batch["name"].data_type(), DataType::LargeUtf8);
    assert!(
        matches!(batch["each"].data_type(), DataType::LargeList(item) if *item.data_type() == DataType::LargeUtf8)
    );
}

#[test]
fn what_is_no_column_is_refused() {
    let batch = || columns(&Cpu, &schema());
    let rows = batch().rows;
    assert_eq!(batch().into_arrow(&schema().to_arrow()).unwrap().num_rows(), rows);
    let of_schema = |schema: Schema| batch().into_arrow(&schema.to_arrow()).unwrap_err().to_string();
    let large = of_schema(schema().with_offsets(OffsetWidth::Large));
    assert!(large.contains("expected LargeUtf8 but found Utf8"), "{large}");
    let one = of_schema(Schema::new(&[(Query::compile("$").unwrap(), ColumnType::Json)]).unwrap());
    assert!(one.contains("number of columns"), "{one}");
    let changed = |change: fn(&mut warpath::columns::Column)| {
        let mut column = batch().columns.remove(3);
        change(&mut column);
        column.into_arrow()
    };
    let said = |change: fn(&mut warpath::columns::Column)| changed(change).unwrap_err().to_string();
    assert_eq!(changed(|_| {}).unwrap().len(), 3);
    let refused = "Invalid argument error: ";
    assert_eq!(said(|column| column.items.len = 64), format!("{refused}1 words of bits for 64 items"));
    assert_eq!(said(|column| column.items.validity.clear()), format!("{refused}0 words of bits for 3 items"));
    let one = said(|column| column.items.values = Values::Int64(vec![1]));
    assert!(one.contains("expected 1 got 3"), "{one}");
    let ascend = "offsets that do not ascend";
    let lists = said(|column| column.lists = Some(Offsets::Small(Vec::new())));
    assert_eq!(lists, format!("{refused}{ascend}"));
    let within = "offsets within a character, or past the end";
    let accent = "éa".as_bytes();
    for (offsets, bytes, why) in [
        (vec![], accent, ascend),
        (vec![0, 3, 2, 3], accent, ascend),
        (vec![-1, 0, 2, 3], accent, ascend),
        (vec![0, 2, 3, 9], accent, within),
        (vec![0, 1, 2, 3], accent, within),
        (vec![0, 2], accent, "a number of nulls that is not that of the strings"),
        (vec![0, 2, 2, 3], b"\xc3\xa9\xff", "strings that are not UTF-8"),
    ] {
        let mut column = batch().columns.remove(3);
        column.items.values = Values::Utf8(Offsets::Small(offsets), bytes.to_vec());
        assert_eq!(column.into_arrow().unwrap_err().to_string(), format!("{refused}{why}"));
    }
}

/// A stream is of one schema, known before it begins, and its rows do not depend on partitions.
#[test]
fn a_stream_is_of_one_schema() {
    let input = |size, on_error, more: &str| {
        let engine = Engine::builder().device(DeviceChoice::Cpu).partition_size(size).on_error(on_error);
        engine.build().unwrap().reader("text", Cursor::new([TEXT, more.as_bytes()].concat()))
    };
    for width in [OffsetWidth::Small, OffsetWidth::Large] {
        let schema = schema().with_offsets(width);
        let whole = batch(&Cpu, &schema);
        for size in [1, 50, 100, 1 << 20] {
            let batches = input(size, OnError::Fail, "").record_batches(&schema);
            assert_eq!(batches.schema(), whole.schema());
            let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
            assert_eq!(arrow_select::concat::concat_batches(&whole.schema(), &batches).unwrap(), whole);

            // Everything before the fault, and then the error.
            let mut batches = input(size, OnError::Fail, "{]\n7\n").record_batches(&schema);
            let before: Vec<RecordBatch> = batches.by_ref().map_while(Result::ok).collect();
            assert_eq!(arrow_select::concat::concat_batches(&whole.schema(), &before).unwrap(), whole);
            assert!(batches.next().is_none());
            let failed = input(size, OnError::Fail, "{]\n7\n").record_batches(&schema).last();
            let Some(Err(ArrowError::ExternalError(error))) = failed else { panic!("{failed:?}") };
            assert!(
                matches!(error.downcast_ref(), Some(Error::Input(InputError::Record(at))) if at.line == 5)
            );

            let mut batches = input(size, OnError::Skip, "{]\n7\n").record_batches(&schema);
            assert_eq!(batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 4);
            assert_eq!(batches.answers().stats().skipped, 1);
        }
        let none = Engine::builder().build().unwrap().input(Vec::new()).record_batches(&schema);
        assert_eq!(none.schema(), whole.schema());
        assert_eq!(none.count(), 0);
    }
}
