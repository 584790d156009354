//! Plans: the programs of expressions, and the errors of wrong ones.

use warpath_cpu::bitmap::plan::Counted;
use warpath_random::table::texts;

use super::*;

/// Columns by their bins: `ints` of ranges, `langs` of texts, both with missing ones.
fn small() -> Vec<Column> {
    let values = |least, greatest, rows| Bin { holds: Holds::Values { least, greatest }, rows };
    let range = |least, greatest, rows| values(Scalar::Int(least), Scalar::Int(greatest), rows);
    let text = |text: &str, rows| values(Scalar::Text(text.into()), Scalar::Text(text.into()), rows);
    let missing = |rows| Bin { holds: Holds::Missing, rows };
    let column = |name: &str, kind, bins| Column {
        name: name.into(),
        source: format!("$.{name}"),
        kind,
        binning: String::new(),
        bins,
    };
    vec![
        column(
            "followers",
            Kind::Int,
            vec![
                range(0, 99, 500),
                range(100, 999, 300),
                range(1000, 4999, 100),
                range(5000, 90000, 60),
                missing(40),
            ],
        ),
        column("lang", Kind::Text, vec![text("de", 100), text("en", 700), text("nl", 150), missing(50)]),
        column("verified", Kind::Bool, vec![values(Scalar::Bool(true), Scalar::Bool(true), 1000)]),
    ]
}

fn plan_of(text: &str, columns: &[Column], records: bool) -> Result<Plan, Diagnostic> {
    let expr = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
    Plan::new(&expr, &Facts { columns, atoms: &|_, _| 10, records }, false)
}

#[test]
fn plans_are_explained() {
    let columns = small();
    let plan = plan_of("followers > 1500 and lang != \"de\" and verified = true", &columns, true).unwrap();
    assert_eq!(
        plan.explain(&columns),
        "\
tests
  followers > 1500
    of 5 bins, true of 1 (60 rows), 1 cut (100 rows)
  lang != 'de'
    of 4 bins, true of 2 (850 rows), none cut
  verified == true
    of 1 bins, true of 1 (1000 rows), none cut

bitmaps
     0  followers: 5000 ..= 90000
     1  followers: 1000 ..= 4999
     2  lang: \"en\"
     3  lang: \"nl\"

program
     0  any        0..=1
     1  skip none  → 5
     2  push
     3  any        2..=3
     4  and
     5  store      possible
     6  skip none  → 10
     7  push
     8  any        1
     9  and not
    10  store      sure
"
    );
    let counted = |bins, rows| Counted { bins, rows };
    assert_eq!((plan.tests[0].sure, plan.tests[0].cut), (counted(1, 60), counted(1, 100)));
}

/// The program alone, a word an instruction.
fn words(plan: &Plan) -> String {
    let word = |instr: &Instr| match instr.op().unwrap() {
        OpCode::Any => format!("any({})", instr.count),
        op => {
            format!("{op:?}").to_lowercase()
                + &if op == OpCode::Store { instr.first.to_string() } else { String::new() }
        }
    };
    plan.program.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn programs_are_short() {
    let columns = small();
    for [text, expected] in texts(include_str!("../../data/programs.txt"), "over bitmaps") {
        let plan = plan_of(&text, &columns, false).unwrap();
        assert_eq!(words(&plan), expected, "{text}");
    }
    // Densest first: a tile that is full needs no more.
    let plan = plan_of("lang != 'x'", &columns[1..2], false).unwrap();
    assert_eq!(plan.bitmaps, [Operand::Bin { column: 0, bin: 3 }], "all but those without a value");
    let plan = plan_of("followers < 1000", &columns, false).unwrap();
    assert_eq!(plan.bitmaps, [Operand::Bin { column: 0, bin: 0 }, Operand::Bin { column: 0, bin: 1 }]);
    let plan = plan_of("followers >= 100 and followers < 5000", &columns, false).unwrap();
    assert_eq!(plan.bitmaps, [Operand::Bin { column: 0, bin: 1 }, Operand::Bin { column: 0, bin: 2 }]);
}

#[test]
fn records_are_asked_where_lines_that_are_none_could_be_in_the_answer() {
    let columns = small();
    for (text, asked) in [
        ("lang = 'en'", false),
        ("lang != 'en'", false),
        ("lang not in ('en')", false),
        ("not lang = 'en'", true),
        ("lang is missing", true),
        ("lang is missing and followers = 7", false),
        ("lang is missing or followers = 7", true),
        ("not (lang = 'en' and verified = true)", true),
    ] {
        let plan = plan_of(text, &columns, true).unwrap();
        assert_eq!(plan.bitmaps.contains(&Operand::Records), asked, "{text}");
        assert!(!plan_of(text, &columns, false).unwrap().bitmaps.contains(&Operand::Records));
    }
    // All records, and nothing else.
    let plan = plan_of("not lang = 'fr'", &columns, true).unwrap();
    assert_eq!((words(&plan).as_str(), &plan.bitmaps[..]), ("any(1) store0", &[Operand::Records][..]));
}

#[test]
fn columns_and_literals_are_checked() {
    let columns = small();
    for (text, column, kind, message, help) in [
        (
            "lang = 'en' and folowers > 5",
            17,
            DiagnosticKind::UnknownColumn,
            "there is no column `folowers`",
            "did you mean `followers`? the columns are followers, lang, verified",
        ),
        (
            "`a b` is null",
            1,
            DiagnosticKind::UnknownColumn,
            "there is no column `a b`",
            "the columns are followers, lang, verified; a member of the record is a path: `$['a b']`",
        ),
        (
            "LANG = 'en'",
            1,
            DiagnosticKind::UnknownColumn,
            "there is no column `LANG`",
            "did you mean `lang`? the columns are followers, lang, verified",
        ),
        (
            "lang in ('en', 5)",
            16,
            DiagnosticKind::WrongKind,
            "`lang` is a column of texts: expected a string, found a number",
            "write it in quotes: `\"5\"`",
        ),
        (
            "followers between 5 and true",
            25,
            DiagnosticKind::WrongKind,
            "`followers` is a column of integers: expected a number, found a truth value",
            "",
        ),
    ] {
        let error = plan_of(text, &columns, false).unwrap_err();
        assert_eq!((error.kind, error.column(text)), (kind, column), "{}", error.render(text));
        assert_eq!((error.message.as_str(), error.help.as_deref().unwrap_or_default()), (message, help));
    }
    let error = plan_of("x = 1", &[], false).unwrap_err();
    let help = "the index has no columns; a member of the record is a path: `$.x`";
    assert_eq!(error.help.as_deref(), Some(help));
}

/// Columns `x0`, `x1`, … with the values 0 and 1, a bin each.
fn bits(count: usize) -> Vec<Column> {
    let bin = |value| Bin {
        holds: Holds::Values { least: Scalar::Int(value), greatest: Scalar::Int(value) },
        rows: 500,
    };
    let column = |number| Column {
        name: format!("x{number}"),
        source: String::new(),
        kind: Kind::Int,
        binning: String::new(),
        bins: vec![bin(0), bin(1)],
    };
    (0..count).map(column).collect()
}

/// `and` and `or` in turns, over columns of which none comes twice.
fn tree(depth: usize, both: bool, next: &mut usize) -> String {
    if depth == 0 {
        *next += 1;
        return format!("x{} = 1", *next - 1);
    }
    let left = tree(depth - 1, !both, next);
    let right = tree(depth - 1, !both, next);
    format!("({left} {} {right})", if both { "and" } else { "or" })
}

#[test]
fn programs_push_no_more_than_there_is_room_for() {
    // Each level of `and` needs a slot, and so does each of `or` except at the bottom.
    for depth in 1..=MAX_STACK + 4 {
        let (text, columns) = (tree(depth, true, &mut 0), bits(1 << depth));
        match plan_of(&text, &columns, false) {
            Ok(_) => assert!(depth <= MAX_STACK + 1, "{depth}"),
            Err(error) => {
                assert!(depth > MAX_STACK, "{depth}: {error}");
                assert_eq!(error.kind, DiagnosticKind::TooLarge);
                assert_eq!((error.span.start, error.span.end), (0, text.len()));
            }
        }
    }
    // A chain needs few slots, whichever way it is written, and however long it is.
    let columns = bits(240);
    let mut text = "x0 = 1".to_owned();
    for number in 1..columns.len() {
        let word = if number % 2 == 0 { "and" } else { "or" };
        text = format!("x{number} = 1 {word} ({text})");
    }
    let plan = plan_of(&text, &columns, false).unwrap();
    assert!(plan.program.len() < 5 * columns.len(), "{}", plan.program.len());
}

#[test]
fn columns_of_no_rows_have_no_answers() {
    let mut columns = small();
    columns.iter_mut().for_each(|column| column.bins.clear());
    for text in ["lang = 'en'", "not lang = 'en'", "lang is missing or followers < 5"] {
        let plan = plan_of(text, &columns, false).unwrap();
        assert!(plan.bitmaps.is_empty() && plan.is_exact(), "{text}");
    }
}
