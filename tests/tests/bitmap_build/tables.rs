//! Columns built of tables.

use super::*;

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn reader(batches: &[RecordBatch]) -> impl arrow_array::RecordBatchReader + Send + use<> {
    let schema = batches[0].schema();
    let batches: Vec<Result<RecordBatch, ArrowError>> = batches.iter().cloned().map(Ok).collect();
    RecordBatchIterator::new(batches, schema)
}

/// One column of a table, of the kind that its type says.
fn arrow(array: ArrayRef, kind: Option<Kind>, bins: &str) -> BuiltColumn {
    let spec = ColumnSpec::new("c", "column").with_kind(kind).with_bins(spec(bins));
    let mut built = build_arrow("table", reader(&[table(vec![("column", array)])]), &[spec]).unwrap();
    assert_eq!((built.records.is_none(), built.lines.len(), built.stamp), (true, 0, None));
    assert_eq!(built.columns[0].column.source, "column");
    built.columns.remove(0)
}

#[test]
fn columns_of_tables_are_of_their_types() {
    let int = |value| Row::Value(Scalar::Int(value));
    let float = |value| Row::Value(Scalar::Float(value));
    let text = |value: &str| Row::Value(Scalar::Text(value.into()));
    let time = |value| Row::Value(Scalar::Time(value));
    let inf = f64::INFINITY;
    let cases: Vec<(ArrayRef, Kind, Vec<Row>)> = vec![
        (
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(7)])),
            Kind::Int,
            vec![int(-128), Row::Null, int(7)],
        ),
        (Arc::new(UInt16Array::from(vec![65_535, 0])), Kind::Int, vec![int(65_535), int(0)]),
        (
            Arc::new(Int64Array::from(vec![i64::MIN, (1 << 53) + 1])),
            Kind::Int,
            ints(&[i64::MIN, (1 << 53) + 1]),
        ),
        (Arc::new(UInt64Array::from(vec![1, i64::MAX as u64])), Kind::Int, ints(&[1, i64::MAX])),
        (
            Arc::new(UInt64Array::from(vec![1, u64::MAX])),
            Kind::Float,
            floats(&[1.0, 18_446_744_073_709_551_616.0]),
        ),
        (
            Arc::new(Float64Array::from(vec![
                Some(f64::NAN),
                Some(-0.0),
                None,
                Some(inf),
                Some(-inf),
                Some(0.0),
            ])),
            Kind::Float,
            vec![Row::NaN, float(0.0), Row::Null, float(inf), float(-inf), float(0.0)],
        ),
        (Arc::new(Float32Array::from(vec![0.1_f32, 3.0])), Kind::Float, floats(&[f64::from(0.1_f32), 3.0])),
        (
            Arc::new(StringArray::from(vec![Some("é"), None, Some("")])),
            Kind::Text,
            vec![text("é"), Row::Null, text("")],
        ),
        (Arc::new(LargeStringArray::from(vec!["b", "a"])), Kind::Text, vec![text("b"), text("a")]),
        (
            Arc::new(StringViewArray::from(vec!["b", "a text that is too long to be in its view"])),
            Kind::Text,
            vec![text("b"), text("a text that is too long to be in its view")],
        ),
        (
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Kind::Bool,
            vec![Row::Value(Scalar::Bool(true)), Row::Null, Row::Value(Scalar::Bool(false))],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None])),
            Kind::Time,
            vec![time(-1000), Row::Null],
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![1, 10_000_000_000]).with_timezone("+02:00")),
            Kind::Time,
            vec![time(1_000_000_000), Row::Other],
        ),
        (
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(-1),
                None,
                Some(106_751),
                Some(106_752),
                Some(i32::MIN),
            ])),
            Kind::Time,
            vec![
                time(0),
                time(-86_400_000_000_000),
                Row::Null,
                time(106_751 * 86_400_000_000_000),
                Row::Other,
                Row::Other,
            ],
        ),
        (
            Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(i64::MAX)])),
            Kind::Time,
            vec![time(86_400_000_000_000), Row::Null, Row::Other],
        ),
        (Arc::new(NullArray::new(3)), Kind::Text, vec![Row::Null; 3]),
        (Arc::new(Float64Array::from(vec![None, None])), Kind::Float, vec![Row::Null; 2]),
        (
            Arc::new(
                [Some("x"), None, Some("y"), Some("x")].into_iter().collect::<DictionaryArray<Int32Type>>(),
            ),
            Kind::Text,
            vec![text("x"), Row::Null, text("y"), text("x")],
        ),
        (
            Arc::new(std::iter::repeat_n(None::<&str>, 2).collect::<DictionaryArray<Int32Type>>()),
            Kind::Text,
            vec![Row::Null; 2],
        ),
    ];
    for (array, kind, rows) in cases {
        for bins in ["auto", "quantiles:1"] {
            let built = arrow(array.clone(), None, bins);
            assert_eq!(built.column.kind, kind, "{array:?}");
            check(&built, &rows);
        }
    }
    let whole: ArrayRef =
        Arc::new(Float64Array::from(vec![3.0, 0.5, f64::NAN, -inf, 9.3e18, -9_223_372_036_854_775_808.0]));
    let want = [int(3), Row::Other, Row::Other, Row::Other, Row::Other, int(i64::MIN)];
    check(&arrow(whole, Some(Kind::Int), "auto"), &want);
    let instants: ArrayRef = Arc::new(StringArray::from(vec!["1970-01-01T00:00:01Z", "yesterday"]));
    check(&arrow(instants, Some(Kind::Time), "auto"), &[time(1_000_000_000), Row::Other]);
}

#[test]
fn infinities_and_nans_of_tables_have_their_bins() {
    let inf = f64::INFINITY;
    let values = vec![f64::NAN, 1.0, -inf, 2.0, inf, -f64::NAN, 50.0];
    let built = arrow(Arc::new(Float64Array::from(values.clone())), None, "lloyd:2");
    check(&built, &floats(&values));
    assert_eq!(float_bounds(&built), [(-inf, 2.0), (50.0, inf)]);
    assert_eq!(built.column.bins[2], Bin { holds: Holds::NaN, rows: 2 });
}

#[test]
fn what_cannot_be_built_of_a_table_is_told() {
    let batch = table(vec![
        ("hour", Arc::new(Time32SecondArray::from(vec![1]))),
        ("n", Arc::new(Int64Array::from(vec![1]))),
    ]);
    let of = |source: &str| {
        build_arrow("table", reader(std::slice::from_ref(&batch)), &[ColumnSpec::new("c", source)])
    };
    assert_eq!(
        said(of("hour")),
        "table: the column `hour` has the type Time32(s); an index is made of integers, floats, strings, booleans, timestamps and dates"
    );
    assert_eq!(said(of("m")), "table: has no column `m`; it has `hour`, `n`");
    let schema = batch.schema();
    let failing = RecordBatchIterator::new(
        vec![Ok(batch.clone()), Err(ArrowError::IpcError("it ends early".into()))],
        schema,
    );
    let error = build_arrow("table", failing, &[ColumnSpec::new("c", "n")]);
    assert_eq!(said(error), "table: cannot be read as a table: Ipc error: it ends early");
}

fn parquet_file(path: &Path, batches: &[RecordBatch], compression: parquet::basic::Compression) {
    let file = std::fs::File::create(path).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(100))
        .build();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn arrow_file(path: &Path, batches: &[RecordBatch], compression: Option<arrow_ipc::CompressionType>) {
    let options = arrow_ipc::writer::IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let (file, schema) = (std::fs::File::create(path).unwrap(), batches[0].schema());
    let mut writer = arrow_ipc::writer::FileWriter::try_new_with_options(file, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

#[test]
fn files_of_tables_are_known_by_their_bytes() {
    use arrow_ipc::CompressionType;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};

    let files = Files::new();
    let batch = |from: i64| {
        let values: Vec<i64> = (from..from + 150).collect();
        table(vec![
            ("unused", Arc::new(Date32Array::from(vec![1; 150]))),
            (
                "s",
                Arc::new(
                    values
                        .iter()
                        .map(|v| (v % 5 > 0).then(|| format!("s{}", v % 5)))
                        .collect::<StringArray>(),
                ),
            ),
            ("n", Arc::new(Int64Array::from_iter_values(values.iter().map(|v| v * v)))),
        ])
    };
    let batches = [batch(0), batch(150)];
    let specs = [ColumnSpec::new("square", "n").with_bins(spec("lloyd:4")), ColumnSpec::new("s", "s")];
    let squares = ints(&(0..300).map(|v| v * v).collect::<Vec<_>>());
    let want = build_arrow("table", reader(&batches), &specs).unwrap();
    check(&want.columns[0], &squares);
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut path = |name: &str| {
        paths.push(files.0.path().join(name));
        paths.last().unwrap().clone()
    };
    for (name, compression) in [
        ("plain", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("lz4", Compression::LZ4_RAW),
    ] {
        parquet_file(&path(&format!("{name}.parquet")), &batches, compression);
    }
    for (name, compression) in
        [("plain", None), ("lz4", Some(CompressionType::LZ4_FRAME)), ("zstd", Some(CompressionType::ZSTD))]
    {
        arrow_file(&path(&format!("{name}.arrow")), &batches, compression);
    }
    let stream = std::fs::File::create(path("stream")).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(stream, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let engine = cpu(OnError::Fail);
    for path in paths {
        let (built, left_out) = build(&engine, &path, &specs).unwrap();
        assert_eq!(built.columns, want.columns, "{}", path.display());
        assert_eq!((built.rows, built.records.is_none(), built.lines.len()), (300, true, 0));
        assert!(built.stamp.is_some() && left_out == LeftOut::default());
        let bytes = std::fs::read(&path).unwrap();
        // Cut off anywhere, it is an error, or, of a stream, what came before.
        for len in [8, bytes.len() / 2, bytes.len() - 9] {
            let cut = files.write("cut", &bytes[..len]);
            if !path.ends_with("stream") {
                let error = said(build(&engine, &cut, &specs));
                assert!(error.starts_with(&format!("{}: ", cut.display())), "{}: {error}", path.display());
            }
        }
        let unknown = said(build(&engine, &path, &[ColumnSpec::new("x", "x")]));
        assert!(unknown.ends_with(": has no column `x`; it has `unused`, `s`, `n`"), "{unknown}");
    }
    let lines = files.write("lines", "{}\n");
    assert!(
        said(build_table(&mut BitmapMaker::cpu(), &lines, &specs))
            .ends_with(": is not a Parquet or Arrow table")
    );
}
