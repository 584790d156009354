//! Columns built of lines.

use super::*;

fn emulated(on_error: OnError, partition_size: usize) -> Engine {
    let backend = Arc::new(Pipeline::new(Emulated::default()).unwrap());
    let builder = Engine::builder().backend(backend).on_error(on_error);
    builder.partition_size(partition_size).workers(1).build().unwrap()
}

/// A value of JSON, and what it is.
#[derive(Clone, Debug)]
enum Json {
    Int(String, i64),
    Float(String, f64),
    Text(String),
    Time(&'static str, i64),
    Bool(bool),
    Null,
    Other(&'static str),
}

#[derive(Clone, Debug)]
enum Line {
    Blank,
    Malformed,
    Missing,
    Of(Json),
}

impl Json {
    /// A number, by its exact value; where it is no integer of 64 bits, by the nearest double.
    fn number(text: String) -> Self {
        match Number::parse(&text).integer() {
            Some(value) => Self::Int(text, value),
            None => {
                let value = text.parse::<f64>().unwrap() + 0.0;
                Self::Float(text, value)
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Int(text, _) | Self::Float(text, _) => text.clone(),
            Self::Text(text) => serde_json::to_string(text).unwrap(),
            Self::Time(text, _) => format!("\"{text}\""),
            Self::Bool(value) => value.to_string(),
            Self::Null => "null".into(),
            Self::Other(text) => (*text).into(),
        }
    }
}

/// Numbers that are integers of 64 bits, however they are written, and numbers beside these, however near.
fn number() -> impl Strategy<Value = Json> {
    let edges = vec![0, 1, 1 << 53, i64::MAX.into(), i128::from(i64::MAX) + 1, 10_i128.pow(18)];
    let whole = prop_oneof![
        2 => 0_i128..9,
        1 => any::<i64>().prop_map(|value| i128::from(value).abs()),
        3 => (select(edges), -2_i128..3).prop_map(|(edge, beside)| (edge + beside).abs()),
    ];
    let exponents = vec!["", "", "", "e0", "E+2", "e-1", "e-2", "e-20", "e30", "e-400", "e999"];
    let parts = (any::<bool>(), whole, "(|\\.0{0,25}[0-9])", select(exponents));
    parts.prop_map(|(is_negative, whole, fraction, exponent)| {
        let sign = if is_negative { "-" } else { "" };
        Json::number(format!("{sign}{whole}{fraction}{exponent}"))
    })
}

fn json() -> impl Strategy<Value = Json> {
    prop_oneof![
        3 => (-9_i64..9).prop_map(|value| Json::Int(value.to_string(), value)),
        6 => number(),
        2 => select(vec!["", "a", "b", "a\"\\\n", "é☺😀", "quite a long text"]).prop_map(|text| Json::Text(text.into())),
        1 => "[a-c]{0,3}".prop_map(Json::Text),
        1 => select(vec![("1970-01-01T00:00:00Z", 0), ("1970-01-01T01:00:01.5+01:00", 1_500_000_000)])
            .prop_map(|(text, value)| Json::Time(text, value)),
        1 => any::<bool>().prop_map(Json::Bool),
        1 => Just(Json::Null),
        1 => select(vec!["{}", "[1]", "{\"v\":1}", "\"\\x\"", "tru", "01", "[null]"]).prop_map(Json::Other),
    ]
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let line = |json: BoxedStrategy<Json>| {
        prop_oneof![
            1 => Just(Line::Blank), 1 => Just(Line::Malformed), 1 => Just(Line::Missing), 12 => json.prop_map(Line::Of),
        ]
    };
    let whole = (-50_i64..50).prop_map(|value| Json::Int(value.to_string(), value));
    prop_oneof![vec(line(json().boxed()), 0..200), vec(line(whole.boxed()), 0..200)]
}

fn ndjson(lines: &[Line]) -> String {
    let line = |line: &Line| match line {
        Line::Blank => " \t".to_owned(),
        Line::Malformed => "{\"v\":1,\"x\":{\"v\":[1}".to_owned(),
        Line::Missing => "{\"w\":{\"v\":1}}".to_owned(),
        Line::Of(json) => format!("{{\"w\":[0], \"x\":{{\"v\":{}}}}}", json.text()),
    };
    lines.iter().map(|of| line(of) + "\n").collect()
}

/// The kind of a column, and its rows: the rules of `bitmap::value`, said again.
fn expected(lines: &[Line], asked: Option<Kind>) -> (Kind, Vec<Row>) {
    let count = |is: fn(&Json) -> bool| {
        lines.iter().filter(|line| matches!(line, Line::Of(json) if is(json))).count()
    };
    let floats = count(|json| matches!(json, Json::Float(..)));
    let numbers = floats + count(|json| matches!(json, Json::Int(..)));
    let texts = count(|json| matches!(json, Json::Text(_) | Json::Time(..)));
    let bools = count(|json| matches!(json, Json::Bool(_)));
    let inferred = if numbers + texts + bools == 0 {
        Kind::Text
    } else if numbers >= texts && numbers >= bools {
        if floats > 0 { Kind::Float } else { Kind::Int }
    } else if texts >= bools {
        Kind::Text
    } else {
        Kind::Bool
    };
    let kind = asked.unwrap_or(inferred);
    let row = |line: &Line| match (line, kind) {
        (Line::Blank | Line::Malformed | Line::Missing, _) => Row::Missing,
        (Line::Of(Json::Null), _) => Row::Null,
        (Line::Of(Json::Int(_, value)), Kind::Int) => Row::Value(Scalar::Int(*value)),
        (Line::Of(Json::Int(_, value)), Kind::Float) => Row::Value(Scalar::Float(*value as f64)),
        (Line::Of(Json::Float(_, value)), Kind::Float) => Row::Value(Scalar::Float(*value)),
        (Line::Of(Json::Text(text)), Kind::Text) => Row::Value(Scalar::Text(text.as_str().into())),
        (Line::Of(Json::Time(text, _)), Kind::Text) => Row::Value(Scalar::Text((*text).into())),
        (Line::Of(Json::Time(_, value)), Kind::Time) => Row::Value(Scalar::Time(*value)),
        (Line::Of(Json::Bool(value)), Kind::Bool) => Row::Value(Scalar::Bool(*value)),
        _ => Row::Other,
    };
    (kind, lines.iter().map(row).collect())
}

/// Holds lines that were built, by columns of all kinds, to what they are.
fn check_lines(built: &Built, left_out: &LeftOut, lines: &[Line], kinds: &[Option<Kind>]) {
    assert_eq!(built.rows, lines.len() as u64);
    for (column, asked) in built.columns.iter().zip(kinds) {
        let (kind, rows) = expected(lines, *asked);
        assert_eq!(column.column.kind, kind);
        assert_eq!(column.column.source, "$['x']['v']");
        check(column, &rows);
    }
    let is_record = |line: &Line| !matches!(line, Line::Blank | Line::Malformed);
    if lines.iter().all(is_record) {
        assert_eq!(built.records, None);
    } else {
        let rows = (0..).zip(lines).filter(|(_, line)| is_record(line)).map(|(row, _)| row);
        assert_eq!(built.records, Some(WahBuf::from_ones(rows, built.rows)));
    }
    let faults = lines.iter().filter(|line| matches!(line, Line::Malformed)).count();
    assert_eq!(left_out.count, faults as u64);
    let first = (1..).zip(lines).find(|(_, line)| matches!(line, Line::Malformed)).map(|(line, _)| line);
    assert_eq!(left_out.first.as_ref().map(|fault| fault.line), first);
}

const KINDS: [Option<Kind>; 6] =
    [None, Some(Kind::Int), Some(Kind::Float), Some(Kind::Text), Some(Kind::Time), Some(Kind::Bool)];

fn specs_of_all_kinds(bins: &BinSpec) -> Vec<ColumnSpec> {
    let spec = |kind: &Option<Kind>| {
        let name = kind.map_or("any", Kind::name);
        // Texts and booleans are not cut by what cuts numbers.
        let bins = if matches!(kind, Some(Kind::Int | Kind::Float | Kind::Time)) {
            bins.clone()
        } else {
            BinSpec::Quantiles(5)
        };
        ColumnSpec::new(name, "$.x.v").with_kind(*kind).with_bins(bins)
    };
    KINDS.iter().map(spec).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn each_line_is_in_the_bin_of_its_value(
        lines in lines(),
        bins in select(vec!["auto", "distinct", "width:6", "quantiles:4", "lloyd:5"]),
        partition_size in 1_usize..3000,
        workers in 1_usize..4,
    ) {
        let (files, text) = (Files::new(), ndjson(&lines));
        let path = files.write("lines", &text);
        let specs = specs_of_all_kinds(&spec(bins));
        let (built, left_out) = build(&cpu(OnError::Skip), &path, &specs).unwrap();
        check_lines(&built, &left_out, &lines, &KINDS);
        // However it is read, the same comes of it.
        let engine = Engine::builder().device(DeviceChoice::Cpu).on_error(OnError::Skip);
        let engine = engine.partition_size(partition_size).workers(workers).build().unwrap();
        prop_assert_eq!(&build(&engine, &path, &specs).unwrap(), &(built.clone(), left_out.clone()));
        let other = |(other, other_left_out): (Built, LeftOut), name: &str| {
            assert_eq!(other.columns, built.columns, "{name}");
            assert_eq!((other.rows, &other.records), (built.rows, &built.records), "{name}");
            assert_eq!(other_left_out.count, left_out.count, "{name}");
        };
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let path = files.write("lines.gz", gzip.finish().unwrap());
        other(build(&engine, &path, &specs).unwrap(), "gzip");
        let path = files.write("lines.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
        other(build(&engine, &path, &specs).unwrap(), "zstd");
    }
}

#[test]
fn a_device_gives_the_same() {
    let files = Files::new();
    let lines: Vec<Line> = (0..200_i64)
        .map(|row| match row % 11 {
            3 => Line::Blank,
            5 => Line::Malformed,
            7 => Line::Missing,
            8 => Line::Of(Json::Null),
            9 => Line::Of(Json::Text(format!("\"{}", row % 4))),
            10 => Line::Of(Json::number(NUMBERS[row as usize / 11 % NUMBERS.len()].0.into())),
            _ => Line::Of(Json::Int((row * row).to_string(), row * row)),
        })
        .collect();
    let text = ndjson(&lines);
    let path = files.write("lines", &text);
    let specs = specs_of_all_kinds(&spec("lloyd:5"));
    let (built, left_out) = build(&cpu(OnError::Skip), &path, &specs).unwrap();
    check_lines(&built, &left_out, &lines, &KINDS);
    for partition_size in [1 << 20, 700] {
        let engine = emulated(OnError::Skip, partition_size);
        assert_eq!(build(&engine, &path, &specs).unwrap(), (built.clone(), left_out.clone()));
    }
}

#[test]
fn several_columns_of_one_pass() {
    let files = Files::new();
    let text = "{\"id\":1,\"user\":{\"name\":\"a\",\"tags\":[\"x\",\"y\"]}}\n{\"user\":{\"tags\":[\"z\"],\"name\":\"b\"},\"id\":2.5}";
    let path = files.write("lines", text);
    let specs = [
        ColumnSpec::new("id", "$.id"),
        ColumnSpec::new("name", "$['user'].name"),
        ColumnSpec::new("second tag", "$.user.tags[1]"),
        ColumnSpec::new("id again", "$.id").with_kind(Kind::Int),
    ];
    let (built, _) = build(&cpu(OnError::Fail), &path, &specs).unwrap();
    let text = |text: &str| Row::Value(Scalar::Text(text.into()));
    check(&built.columns[0], &floats(&[1.0, 2.5]));
    check(&built.columns[1], &[text("a"), text("b")]);
    check(&built.columns[2], &[text("y"), Row::Missing]);
    check(&built.columns[3], &[Row::Value(Scalar::Int(1)), Row::Other]);
    let sources: Vec<&str> = built.columns.iter().map(|built| &built.column.source[..]).collect();
    assert_eq!(sources, ["$['id']", "$['user']['name']", "$['user']['tags'][1]", "$['id']"]);
    assert_eq!((built.rows, built.records), (2, None));
}

#[test]
fn integers_past_2_to_the_53_are_exact() {
    let files = Files::new();
    let path = files
        .write("lines", "{\"n\":9007199254740993}\n{\"n\":9007199254740992}\n{\"n\":9223372036854775807}\n");
    let specs = [ColumnSpec::new("n", "$.n").with_bins(spec("distinct"))];
    let (built, _) = build(&cpu(OnError::Fail), &path, &specs).unwrap();
    check(&built.columns[0], &ints(&[(1 << 53) + 1, 1 << 53, i64::MAX]));
    assert_eq!(built.columns[0].column.bins.len(), 3);
}

/// Numbers, and what they are in a column of integers and in one of doubles.
const NUMBERS: [(&str, Option<i64>, f64); 17] = [
    ("1.00000000000000000001", None, 1.0),
    ("9007199254740993.5", None, 9_007_199_254_740_994.0),
    ("1e-400", None, 0.0),
    ("-1e-400", None, 0.0),
    ("-9223372036854775809", None, -9_223_372_036_854_775_808.0),
    ("-9223372036854775808.0000000000000000000000001", None, -9_223_372_036_854_775_808.0),
    ("9223372036854775808", None, 9_223_372_036_854_775_808.0),
    ("0.99999999999999999999", None, 1.0),
    ("1e999", None, f64::INFINITY),
    ("-1e999", None, f64::NEG_INFINITY),
    ("1.0", Some(1), 1.0),
    ("1e3", Some(1000), 1000.0),
    ("-0.0", Some(0), 0.0),
    ("9007199254740993.000", Some((1 << 53) + 1), 9_007_199_254_740_992.0),
    ("900719925474099300e-2", Some((1 << 53) + 1), 9_007_199_254_740_992.0),
    ("-9223372036854775808.0", Some(i64::MIN), -9_223_372_036_854_775_808.0),
    ("0.09223372036854775807e20", Some(i64::MAX), 9_223_372_036_854_775_808.0),
];

#[test]
fn only_numbers_that_are_integers_are_integers() {
    let files = Files::new();
    let text: String = NUMBERS.iter().map(|(text, ..)| format!("{{\"n\":{text}}}\n")).collect();
    let path = files.write("lines", text);
    let specs = [Some(Kind::Int), Some(Kind::Float), None]
        .map(|kind| ColumnSpec::new(kind.map_or("any", Kind::name), "$.n").with_kind(kind));
    let is_int =
        NUMBERS.map(|(_, value, _)| value.map_or(Row::Other, |value| Row::Value(Scalar::Int(value))));
    let is_float = NUMBERS.map(|(.., value)| Row::Value(Scalar::Float(value)));
    for engine in [cpu(OnError::Fail), emulated(OnError::Fail, 1 << 20)] {
        let (built, _) = build(&engine, &path, &specs).unwrap();
        check(&built.columns[0], &is_int);
        check(&built.columns[1], &is_float);
        // One that is none makes a column of doubles.
        check(&built.columns[2], &is_float);
        assert_eq!(built.columns[2].column.kind, Kind::Float);
        let index = BitmapIndex::from_built(built).unwrap();
        for (expr, rows) in [
            ("int = 1", vec![10]),
            ("int = 0", vec![12]),
            ("int = 9007199254740994", vec![]),
            ("int = 9007199254740993", vec![13, 14]),
            ("int <= -9223372036854775808", vec![15]),
            ("int > 9007199254740993", vec![16]),
            ("int is other", (0..10).collect()),
            ("float = 1e999", vec![8]),
            ("float > 1e308", vec![8]),
            ("float < -1e308", vec![9]),
            ("float is other", vec![]),
        ] {
            let plan = Plan::of(&index, &expr.parse().unwrap(), false).unwrap();
            let found = BitmapEngine::cpu().answer(&index, &plan, true).unwrap();
            assert_eq!(found.rows.ones().collect::<Vec<_>>(), rows, "{expr}");
        }
    }
    // One beyond the range of doubles makes one, too.
    let path = files.write("lines", "{\"n\":1}\n{\"n\":1e999}\n");
    let (built, _) = build(&cpu(OnError::Fail), &path, &specs[2..]).unwrap();
    check(&built.columns[0], &floats(&[1.0, f64::INFINITY]));
}

#[test]
fn files_without_lines_records_or_values() {
    let files = Files::new();
    let specs = [ColumnSpec::new("n", "$.n")];
    let of = |text: &[u8]| build(&cpu(OnError::Fail), &files.write("lines", text), &specs).unwrap().0;
    for (text, rows) in [(&b""[..], 0), (b"\xef\xbb\xbf", 0), (b"\n", 1), (b"\n \n\t", 3)] {
        let built = of(text);
        assert_eq!(built.rows, rows, "{text:?}");
        assert_eq!(built.records, (rows > 0).then(|| WahBuf::none(rows)));
        check(&built.columns[0], &vec![Row::Missing; rows as usize]);
        assert_eq!(built.columns[0].column.kind, Kind::Text);
    }
    let built = of(b"\xef\xbb\xbf{\"n\":1}\n{\"n\":null}");
    check(&built.columns[0], &[Row::Value(Scalar::Int(1)), Row::Null]);
}

#[test]
fn what_cannot_be_built_of_lines_is_told() {
    let files = Files::new();
    let path = files.write("lines", "{\"n\":1}\n{\"n\":[2}\n");
    let (skip, fail) = (cpu(OnError::Skip), cpu(OnError::Fail));
    let column = |source: &str| [ColumnSpec::new("n", source)];
    let name = path.display();
    let error = build(&fail, &path, &column("$.n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{name}:2:8: closing bracket does not match the opening one"),
        "{error:?}"
    );
    let (built, left_out) = build(&skip, &path, &column("$.n")).unwrap();
    check(&built.columns[0], &[Row::Value(Scalar::Int(1)), Row::Missing]);
    assert_eq!((built.rows, left_out.count), (2, 1));
    assert_eq!(left_out.first.map(|first| (first.line, first.byte)), Some((2, 8)));
    assert_eq!(
        said(build(&skip, &path, &column("$.n[*]"))),
        "column `n`: `$.n[*]` may find several values of a record, and a column has one; a path of names and single indexes \
         finds one at most"
    );
    assert!(matches!(build(&skip, &path, &column("n")), Err(Error::Query(_))));
    assert_eq!(said(build(&skip, &path, &[])), "a bitmap index has at least one column");
    let twice = [ColumnSpec::new("n", "$.n"), ColumnSpec::new("n", "$.m")];
    assert_eq!(said(build(&skip, &path, &twice)), "two columns have the name `n`");
    assert_eq!(said(build(&skip, &path, &[ColumnSpec::new("", "$.n")])), "the column of `$.n` has no name");
    let lloyd = [ColumnSpec::new("s", "$.n").with_kind(Kind::Text).with_bins(spec("lloyd:2"))];
    assert!(said(build(&skip, &path, &lloyd)).starts_with("column `s`: `lloyd:2` cuts numbers and instants"));
    let folder = files.0.path();
    assert!(said(build(&skip, folder, &column("$.n"))).ends_with(": is a directory"));
    assert!(said(build(&skip, &folder.join("none"), &column("$.n"))).contains("No such file"));
    let documents = Engine::builder().format(warpath_exec::document::Format::Json).build().unwrap();
    assert_eq!(
        said(build(&documents, &path, &column("$.n"))),
        "a bitmap index requires NDJSON input; this input is one JSON document"
    );
    // A truncated file is reported, and so is a fault before the end.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all("{\"n\":1}\n".repeat(100_000).as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    let path = files.write("cut.gz", &bytes[..bytes.len() - 20]);
    assert!(said(build(&skip, &path, &column("$.n"))).contains("gzip data is damaged or ends early"));
}
