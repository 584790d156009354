//! Typed columns of lists and structs equal a naive conversion of the values, and name each refused value.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use serde_json::Value;
use warpath::columns::{ColumnType, NestedSchema, Reason, Schema, StructField};
use warpath::{DeviceChoice, Engine, Query};
use warpath_random::Rng;

use super::records::{Json, NAMES, of_type, quoted, write, write_plain};
use super::{Counts, got, want};

fn random_type(rng: &mut Rng, depth: usize) -> ColumnType {
    match rng.below(if depth == 0 {
        2
    } else if depth > 3 {
        8
    } else {
        12
    }) + if depth == 0 { 10 } else { 0 }
    {
        0 => ColumnType::Boolean,
        1 => ColumnType::Int64,
        2 => ColumnType::Float64,
        3 => ColumnType::Decimal { precision: 7, scale: 2 },
        4 => ColumnType::Json,
        5 => ColumnType::Time,
        6 => ColumnType::Date,
        7..=9 => ColumnType::Utf8,
        10 => ColumnType::List(Box::new(random_type(rng, depth + 1))),
        _ => {
            let mut fields: Vec<StructField> = Vec::new();
            for _ in 0..1 + rng.below(4) {
                let name = rng.pick(&NAMES);
                if fields.iter().all(|field| field.name != name) {
                    fields.push(StructField { name: name.into(), values: random_type(rng, depth + 1) });
                }
            }
            ColumnType::Struct(fields)
        }
    }
}

#[test]
fn lists_and_structs_equal_the_naive_conversion() {
    let mut rng = Rng::new(2121);
    for round in 0..300 {
        let values = random_type(&mut rng, 0);
        assert_eq!(values.to_string().parse(), Ok(values.clone()));
        let query = Query::compile("$.v").unwrap();
        let schema = Schema::new(&[(query, values)]).unwrap();
        let arrow = schema.to_arrow();
        let field: &Field = arrow.field(0);
        let (mut text, mut wanted, mut counts) = (String::new(), Vec::new(), Counts::new());
        for _ in 0..rng.below(40) {
            let value = match rng.below(10) {
                0 => None,
                1 => Some(Json::Word("null".into())),
                _ => Some(of_type(&mut rng, field.data_type(), 0)),
            };
            text.push_str("{\"x\":1");
            if let Some(value) = &value {
                text.push_str(", ");
                text.push_str(&quoted(&mut rng, "v"));
                text.push(':');
                write(&mut rng, value, &mut text);
            }
            text.push_str("}\n");
            let mut plain = String::new();
            value.iter().for_each(|value| write_plain(value, &mut plain));
            wanted.push(want(field, value.as_ref(), &plain, &mut 0, &mut counts));
        }
        let refused = |cause: usize| counts.iter().map(|column| column[cause]).sum::<u64>();
        for partition in [1, 100, 1 << 20] {
            let engine =
                Engine::builder().device(DeviceChoice::Cpu).partition_size(partition).build().unwrap();
            let input = engine.reader("text", std::io::Cursor::new(text.clone()));
            let (mut rows, mut lost, mut missing, mut nulls) = (Vec::new(), [0, 0], 0, 0);
            for batch in input.columns(&schema) {
                let batch = batch.unwrap();
                missing += batch.columns[0].missing() as u64;
                nulls += batch.columns[0].lost.nulls.len() as u64;
                let refused = &batch.columns[0].lost.refused;
                assert!(refused.is_sorted_by_key(|refusal| (refusal.item, refusal.line)));
                for refusal in refused {
                    lost[usize::from(refusal.reason == Reason::Overflow)] += 1;
                }
                let batch = batch.into_arrow(&arrow).unwrap();
                rows.extend((0..batch.num_rows()).map(|at| got(field, batch.column(0), at)));
            }
            assert_eq!(rows, wanted, "round {round}: {field:?}\n{text}");
            if !rows.is_empty() {
                // The counts begin with those of the values. Missing members of structs are not lost.
                assert_eq!([missing, nulls], [counts[0][0], counts[0][1]], "round {round}\n{text}");
                assert_eq!(lost, [refused(2), refused(3)], "round {round}: {field:?}\n{text}");
            }
        }
    }
}

#[test]
fn refused_values_are_found_in_the_text() {
    let text = "{\"v\":[1,\"x\",99999999999999999999]}\n\n{\"v\": {}}\n{\"v\":[2, true]}\n";
    let schema = Schema::new(&[(Query::compile("$.v").unwrap(), "list<int64>".parse().unwrap())]).unwrap();
    let engine = Engine::builder().device(DeviceChoice::Cpu).build().unwrap();
    let batch = engine.reader("text", text.as_bytes()).columns(&schema).next().unwrap().unwrap();
    let refused = &batch.columns[0].lost.refused;
    let found: Vec<_> = refused
        .iter()
        .map(|refusal| {
            let rest = &text[refusal.start as usize..];
            (refusal.row, refusal.line, &rest[..rest.find([',', ']', '}']).unwrap()], refusal.reason)
        })
        .collect();
    assert_eq!(
        found,
        [
            (0, 0, "\"x\"", Reason::Mismatch),
            (0, 0, "99999999999999999999", Reason::Overflow),
            (1, 2, "{", Reason::Mismatch),
            (2, 3, "true", Reason::Mismatch),
        ]
    );
}

/// A string of a list that is not UTF-8 is null alone, and is named as refused.
#[test]
fn strings_of_lists_that_are_not_utf8_are_lost_alone() {
    let text = b"{\"v\":[\"x\",\"\xe2\",\"\x98\\n\",\"y\"]}\n{\"v\":[\"z\"]}\n";
    let schema = Schema::new(&[(Query::compile("$.v").unwrap(), "list<string>".parse().unwrap())]).unwrap();
    let engine = Engine::builder().device(DeviceChoice::Cpu).build().unwrap();
    let batch = engine.reader("text", &text[..]).columns(&schema).next().unwrap().unwrap();
    let refused = &batch.columns[0].lost.refused;
    assert_eq!(
        refused.iter().map(|refusal| (refusal.row, refusal.start)).collect::<Vec<_>>(),
        [(0, 10), (0, 14)]
    );
    let arrow = schema.to_arrow();
    let rows = batch.into_arrow(&arrow).unwrap();
    let got = |row| got(&arrow.fields()[0], rows.column(0), row);
    assert_eq!([got(0), got(1)], [serde_json::json!(["x", null, null, "y"]), serde_json::json!(["z"])]);
}

/// A number is an instant in lists and structs as in columns of its own, and in columns of an Arrow schema.
#[test]
fn numbers_are_instants_at_any_depth() {
    let text = "{\"t\":1500000000,\"l\":[1500000000123,\"1970-01-01\"],\"s\":{\"t\":1e999}}\n";
    let columns = [("$.t", "time"), ("$.l", "list<time>"), ("$.s", "struct<t:time>")];
    let columns = columns.map(|(path, values)| (Query::compile(path).unwrap(), values.parse().unwrap()));
    let schema = Schema::new(&columns).unwrap();
    let engine = Engine::builder().device(DeviceChoice::Cpu).build().unwrap();
    let batch = engine.reader("text", text.as_bytes()).columns(&schema).next().unwrap().unwrap();
    assert_eq!(batch.columns[2].lost.refused[0].reason, Reason::Overflow);
    let arrow = schema.to_arrow();
    let fields = ["t", "l", "s"].into_iter().zip(arrow.fields());
    let fields: Vec<Field> = fields.map(|(name, field)| field.as_ref().clone().with_name(name)).collect();
    let nested = NestedSchema::new(Arc::new(arrow_schema::Schema::new(fields.clone()))).unwrap();
    let nested =
        nested.decode(text.as_bytes(), std::slice::from_ref(&(0..text.len() - 1))).unwrap().remove(0);
    assert_eq!(nested.losses.columns[5].overflow.count, 1, "{:?}", nested.losses);
    let rows = batch.into_arrow(&arrow).unwrap();
    let want = r#"["1500000000000000000n",["1500000000123000000n","0n"],[["t",null]]]"#;
    for rows in [rows, nested.rows] {
        let row: Vec<Value> = (0..3).map(|at| got(&fields[at], rows.column(at), 0)).collect();
        assert_eq!(Value::from(row), serde_json::from_str::<Value>(want).unwrap());
    }
}

#[test]
fn text_and_formats_reach_into_lists() {
    let types = [("$.a", "struct<t:text,n:list<text>>"), ("$.b", "list<time>")];
    let columns = types.map(|(path, values)| (Query::compile(path).unwrap(), values.parse().unwrap()));
    let (queries, types): (Vec<Query>, Vec<ColumnType>) = columns.into_iter().unzip();
    let format = Arc::new(warpath_core::time::Format::new("s").unwrap());
    let program = warpath_lang::program::Program::new(&queries).unwrap().with_types(&types).unwrap();
    let schema = Schema::of_program(program.with_time_format(&format)).unwrap();
    let text = "{\"a\":{\"t\":\"x\\n\",\"n\":[1,\"y\",{\"z\":[]},null]},\"b\":[1,1.5,\"1970-01-01\"]}\n";
    let engine = Engine::builder().device(DeviceChoice::Cpu).build().unwrap();
    let batch = engine.reader("text", text.as_bytes()).columns(&schema).next().unwrap().unwrap();
    let arrow = schema.to_arrow();
    assert!(matches!(arrow.field(1).data_type(), DataType::List(_)));
    let rows = batch.into_arrow(&arrow).unwrap();
    let row: Vec<Value> = (0..2).map(|at| got(arrow.field(at), rows.column(at), 0)).collect();
    let want = r#"[[["t","x\n"],["n",["1","y","{\"z\":[]}",null]]],["1000000000n","1500000000n",null]]"#;
    assert_eq!(Value::from(row), serde_json::from_str::<Value>(want).unwrap());
}
