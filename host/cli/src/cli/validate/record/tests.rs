use serde_json::json;
use warpath_random::{Rng, cases};

use jsonschema::ValidationError;

use super::super::numbers::with_exact_keywords;
use super::*;

/// Schemas with most keywords of all drafts.
fn schemas() -> Vec<Value> {
    let draft = |draft: &str, rest: Value| {
        let mut schema = rest;
        schema["$schema"] = json!(format!("http://json-schema.org/{draft}/schema#"));
        schema
    };
    vec![
        json!(true),
        json!({"type": "object"}),
        json!({"type": ["array", "string", "null"]}),
        json!({"type": "integer"}),
        json!({"properties": {"a": {"type": "integer", "minimum": 0, "exclusiveMaximum": 2}, "b": false}}),
        json!({"required": ["a", "é"], "additionalProperties": {"type": ["number", "string"]}}),
        json!({"required": ["a"], "properties": {"a": {}}, "additionalProperties": false}),
        json!({"patternProperties": {"^[ab]$": {"maxLength": 2}}, "minProperties": 1, "maxProperties": 2}),
        json!({"propertyNames": {"maxLength": 1}, "dependentRequired": {"a": ["b"]}}),
        json!({"propertyNames": {"enum": ["a", "b"]}, "dependentSchemas": {"a": {"minProperties": 2}}}),
        json!({"items": {"type": ["integer", "array"]}, "uniqueItems": true, "minItems": 1, "maxItems": 3}),
        json!({"prefixItems": [{"type": "integer"}, true], "items": {"type": "string"}}),
        json!({"contains": {"type": "null"}, "minContains": 1, "maxContains": 2}),
        json!({"enum": [1, "a", null, [1], {"a": 1}, true, -0.5]}),
        json!({"enum": [1, 2, null]}),
        json!({"properties": {"a": {"const": {"b": null}}, "b": {"const": [1]}}}),
        json!({"const": 1}),
        json!({"const": 100}),
        json!({"pattern": "^a|\\p{L}$", "minLength": 1, "maxLength": 3}),
        json!({"multipleOf": 0.5}),
        json!({"anyOf": [{"type": "integer"}, {"minLength": 2}], "not": {"const": 2}}),
        json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "array"}]}),
        json!({"if": {"type": "object"}, "then": {"required": ["a"]}, "else": {"type": "number"}}),
        json!({"$defs": {"n": {"type": ["object", "integer"], "properties": {"a": {"$ref": "#/$defs/n"}}}},
            "$ref": "#/$defs/n"}),
        json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"prefixItems": [true]}}, "unevaluatedItems": false}),
        json!({"$dynamicAnchor": "n", "additionalProperties": {"$dynamicRef": "#n"}, "type": "object"}),
        draft("draft-04", json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true})),
        draft("draft-04", json!({"items": [{"type": "integer"}], "additionalItems": false})),
        draft(
            "draft-06",
            json!({"type": "integer", "exclusiveMinimum": 1, "propertyNames": {"minLength": 1}}),
        ),
        draft("draft-07", json!({"dependencies": {"a": ["b"], "b": {"minProperties": 3}}, "contains": true})),
    ]
}

/// A random value, in a random spelling.
fn value(rng: &mut Rng, depth: usize, out: &mut String) {
    const SCALARS: &[&str] = &[
        "null",
        "true",
        "false",
        "0",
        "1",
        "2",
        "-1",
        "1.0",
        "1e2",
        "100",
        "1.5",
        "-0.5",
        "0.25",
        "-0.0",
        "\"\"",
        "\"a\"",
        "\"é\"",
        "\"aé\\u00e9☺\"",
        "\"\\u0061\"",
        "\"b/\\/\"",
        "\"\\n\"",
        "\"long enough\"",
    ];
    const NAMES: &[&str] =
        &["\"a\"", "\"\\u0061\"", "\"b\"", "\"é\"", "\"\"", "\"name of 16 bytes\"", "\"long name of bytes\""];
    let space = |rng: &mut Rng, out: &mut String| out.push_str(rng.pick(&["", "", "", " ", "\t "]));
    match rng.below(if depth > 3 { 4 } else { 8 }) {
        0..4 => out.push_str(rng.pick(SCALARS)),
        kind => {
            let is_object = kind < 7;
            out.push(if is_object { '{' } else { '[' });
            let most = if rng.below(40) == 0 { 90 } else { 4 };
            for at in 0..rng.below(most) {
                out.push_str(if at > 0 { "," } else { "" });
                space(rng, out);
                if is_object {
                    match rng.below(5) {
                        0 => *out += &format!("\"{}\"", rng.below(90)),
                        _ => out.push_str(rng.pick(NAMES)),
                    }
                    space(rng, out);
                    out.push(':');
                    space(rng, out);
                }
                value(rng, depth + 1, out);
                space(rng, out);
            }
            out.push(if is_object { '}' } else { ']' });
        }
    }
}

#[test]
fn records_are_valid_as_values_of_the_library_are() {
    let pairs: Vec<_> = schemas()
        .iter()
        .map(|schema| {
            let options = with_exact_keywords(jsonschema::options_for::<Records>().offline());
            (options.build(schema).unwrap(), jsonschema::validator_for(schema).unwrap(), schema.clone())
        })
        .collect();
    let (mut rng, mut tree, mut valid) = (Rng::new(42), Tree::default(), vec![0; pairs.len()]);
    let all = cases(10_000);
    for _ in 0..all {
        let mut text = String::new();
        value(&mut rng, 0, &mut text);
        let parsed: Value = serde_json::from_str(&text).unwrap();
        let item = tree.read(&text).unwrap();
        for ((ours, theirs, schema), valid) in pairs.iter().zip(&mut valid) {
            let wanted = theirs.is_valid(&parsed);
            assert_eq!(ours.is_valid(item), wanted, "{text}\n{schema}");
            let paths = |errors: jsonschema::ErrorIterator<'_>| {
                // In draft 4 the limit is `minimum`, also if the Boolean beside it excludes the limit.
                let place = |error: ValidationError<'_>| {
                    let schema_path = error.schema_path().as_str().replace("/exclusiveMinimum", "/minimum");
                    (error.instance_path().to_string(), schema_path)
                };
                let mut all: Vec<_> = errors.map(place).collect();
                all.sort();
                all
            };
            if !wanted {
                assert_eq!(
                    paths(ours.iter_errors(item)),
                    paths(theirs.iter_errors(&parsed)),
                    "{text}\n{schema}"
                );
            }
            *valid += usize::from(wanted);
        }
    }
    // Each schema accepts some records, and all but `true` refuse some.
    for ((.., schema), valid) in pairs.iter().zip(valid).skip(1) {
        assert!(valid > 0 && valid < all, "{valid} of {all}: {schema}");
    }
}

#[test]
fn of_repeated_names_the_last_counts() {
    let mut tree = Tree::default();
    let text = r#"{"a":1,"b":2,"\u0061":[3],"b":4,"c":5}"#;
    let root = tree.read(text).unwrap();
    let members = |item: Item<'_>| -> Vec<String> {
        let members = item.as_object().unwrap().members();
        members.map(|(name, value)| format!("{name}={}", value.spelt().0)).collect()
    };
    assert_eq!(members(root), ["a=[3]", "b=4", "c=5"]);
    assert_eq!(root.member("a").unwrap().0.spelt(), ("[3]", 22));
    let many: Vec<String> = (0..100).map(|at| format!("\"{}\":{at}", at % 99)).collect();
    let text = format!("{{{}}}", many.join(","));
    let root = tree.read(&text).unwrap();
    assert_eq!((members(root).len(), root.member("0").unwrap().0.spelt().0), (99, "99"));
}

#[test]
fn texts_that_are_not_json_have_no_value() {
    let mut tree = Tree::default();
    for text in
        ["", " ", "{", "[1", "{\"a\"", "{\"a\":", "{\"a\" 1}", "{1:2}", "[1 2]", "]", "x", "\"", "{\"a\":1"]
    {
        assert!(tree.read(text).is_none(), "{text}");
    }
}
