//! Queries over loaded inputs: the rows are those of the same query over files, in the same order, and plans
//! say what is evaluated on leaves.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use datafusion::prelude::SessionContext;
use warpath::store::{AddOptions, Store};
use warpath::{Engine, Loaded, OnError, Source};
use warpath_random::Rng;
use warpath_sql::Options;
use warpath_sql::report::Report;

use crate::{Session, quoted};

fn lines(seed: u64, count: usize) -> String {
    let mut rng = Rng::new(seed);
    let mut text = String::new();
    for at in 0..count {
        let _ = write!(text, "{{\"id\":{at}");
        if rng.below(8) > 0 {
            let _ = write!(text, ",\"kind\":\"{}\"", rng.pick(&["post", "like", "re\\\"po", "\u{e9}"]));
        }
        if rng.below(8) > 0 {
            let collection = rng.pick(&["\"a\"", "\"b\"", "null", "\"c\""]);
            let _ = write!(text, ",\"commit\":{{\"collection\":{collection},\"seq\":{}}}", rng.below(40));
        }
        let _ = write!(
            text,
            ",\"user\":\"u{}\",\"at\":{}",
            rng.below(60),
            1_700_000_000_000_000_i64 + 977_000_000 * at as i64
        );
        if rng.below(3) > 0 {
            let _ = write!(text, ",\"price\":{}.5,\"paid\":{}", rng.below(20), rng.pick(&["true", "false"]));
        }
        let mixed = rng.pick(&["1", "\"x\"", "2.5"]);
        let _ = write!(text, ",\"w\":{},\"mixed\":{mixed}", rng.below(10_000_000) as i64 - 5_000_000);
        let _ = writeln!(text, ",\"note\":\"note {at}\",\"tags\":[{at}],\"nothing\":null}}");
    }
    text
}

/// Queries, and what their plans show; nothing if leaves do not have all that is needed.
const QUERIES: &[(&str, &str)] = &[
    ("SELECT kind, count(*) AS n FROM $t GROUP BY kind ORDER BY n, kind", "LeafAggregateExec"),
    (
        "SELECT count(*), count(kind), count(DISTINCT user), min(at), max(at), sum(at) FROM $t",
        "LeafAggregateExec",
    ),
    (
        "SELECT commit['collection'] AS c, kind, count(*), count(DISTINCT user) FROM $t GROUP BY c, kind ORDER BY c, kind",
        "LeafAggregateExec",
    ),
    (
        "SELECT kind, min(price), max(price), count(price) FROM $t GROUP BY kind ORDER BY kind",
        "LeafAggregateExec",
    ),
    ("SELECT paid, count(*), min(commit['seq']) FROM $t GROUP BY paid ORDER BY paid", "LeafAggregateExec"),
    (
        "SELECT price, count(*) FROM $t WHERE price > 3.5 AND price <= 12.5 GROUP BY price ORDER BY price",
        "LeafAggregateExec",
    ),
    (
        "SELECT user, min(at) AS first FROM $t WHERE kind = 'post' AND commit['collection'] IN ('a', 'b') GROUP BY user ORDER BY first, user LIMIT 3",
        "first=3 by",
    ),
    (
        "SELECT CAST(date_part('hour', to_timestamp_micros(at)) AS BIGINT) AS h, kind, count(*) FROM $t GROUP BY h, kind ORDER BY h, kind",
        "LeafAggregateExec",
    ),
    ("SELECT count(*) FROM $t WHERE kind <> 'post'", "LeafAggregateExec"),
    ("SELECT count(*) FROM $t WHERE NOT (kind = 'post' OR commit['seq'] < 5)", "LeafAggregateExec"),
    ("SELECT count(*) FROM $t WHERE kind IS NULL AND commit['collection'] IS NOT NULL", "LeafAggregateExec"),
    ("SELECT count(*) FROM $t WHERE kind NOT IN ('post', 'like') OR price = 0.5", "LeafAggregateExec"),
    ("SELECT count(*) FROM $t WHERE paid", "LeafAggregateExec"),
    ("SELECT count(*) FROM $t WHERE NOT paid AND at > 1700000500000000", "LeafAggregateExec"),
    (
        "SELECT user, (max(at) - min(at)) / 1000 AS span FROM $t GROUP BY user ORDER BY span DESC, user LIMIT 5",
        "first=5 by",
    ),
    ("SELECT DISTINCT kind FROM $t ORDER BY kind", "LeafAggregateExec"),
    ("SELECT kind, avg(price) FROM $t GROUP BY kind ORDER BY kind", "LeafScanExec"),
    ("SELECT count(*) FROM $t WHERE kind LIKE 'p%'", "LeafScanExec"),
    ("SELECT count(*) FILTER (WHERE paid) FROM $t", "LeafScanExec"),
    ("SELECT upper(kind) AS k, count(*) FROM $t GROUP BY k ORDER BY k", "LeafScanExec"),
    ("SELECT id, kind FROM $t WHERE id < 4 ORDER BY id, kind", "LeafScanExec"),
    (
        "SELECT a.kind, count(*) FROM $t a JOIN $t b ON a.id = b.id GROUP BY a.kind ORDER BY a.kind",
        "LeafScanExec",
    ),
    // The first rows of a sort: by counts, with offsets, nulls, ties, and conditions for groups.
    (
        "SELECT commit['collection'] AS c, count(*) AS n FROM $t GROUP BY c ORDER BY n DESC, c LIMIT 2",
        "first=2 by",
    ),
    ("SELECT user, min(at) AS a FROM $t GROUP BY user ORDER BY a, user LIMIT 3 OFFSET 2", "first=5 by"),
    ("SELECT user, count(*) AS n FROM $t GROUP BY user ORDER BY n DESC, user DESC LIMIT 9", "first=9 by"),
    ("SELECT at, max(price) AS p FROM $t GROUP BY at ORDER BY p NULLS FIRST, at DESC LIMIT 7", "first=7 by"),
    ("SELECT at, max(price) AS p FROM $t GROUP BY at ORDER BY p DESC NULLS LAST, at LIMIT 7", "first=7 by"),
    ("SELECT at, max(price) AS p FROM $t GROUP BY at ORDER BY p DESC, at LIMIT 400", "first=400 by"),
    (
        "SELECT user, count(*) AS n FROM $t GROUP BY user HAVING count(*) > 12 ORDER BY n, user LIMIT 4",
        "having=",
    ),
    (
        "SELECT user, count(*) AS n FROM $t GROUP BY user HAVING user > 'u3' OR count(*) > 20 ORDER BY n, user LIMIT 4",
        "LeafAggregateExec",
    ),
    (
        "SELECT user, 10 / min(commit['seq']) AS q FROM $t GROUP BY user HAVING min(commit['seq']) > 0 ORDER BY q, user LIMIT 3",
        "having=",
    ),
    (
        "SELECT user, date_trunc('second', to_timestamp_micros(min(at))) AS s FROM $t GROUP BY user ORDER BY s DESC, user LIMIT 3",
        "first=3 by",
    ),
    ("SELECT user, count(*) / 1000 AS n FROM $t GROUP BY user ORDER BY n, user LIMIT 3", "first=3 by"),
    ("SELECT user, sum(at) AS s FROM $t GROUP BY user ORDER BY user, s LIMIT 3", "LeafAggregateExec"),
    ("SELECT count(*) FROM (SELECT DISTINCT user FROM $t LIMIT 7)", "first=7, "),
    // Times.
    (
        "SELECT date_trunc('hour', to_timestamp_micros(at)) AS h, count(*) FROM $t GROUP BY h ORDER BY h",
        "LeafAggregateExec",
    ),
    (
        "SELECT date_part('minute', to_timestamp_seconds(w)) AS m, count(*) FROM $t GROUP BY m ORDER BY m",
        "LeafAggregateExec",
    ),
    (
        "SELECT date_trunc('week', to_timestamp_seconds(w)) AS m, max(w) FROM $t GROUP BY m ORDER BY m",
        "LeafAggregateExec",
    ),
    (
        "SELECT date_bin('10 minutes', to_timestamp_micros(at)) AS b, count(*) FROM $t GROUP BY b ORDER BY b",
        "LeafAggregateExec",
    ),
    ("SELECT w / 1000 AS k, paid, count(*) FROM $t GROUP BY k, paid ORDER BY k, paid", "LeafAggregateExec"),
    // Rows.
    ("SELECT id, kind, price, paid, commit['seq'], commit['collection'], at FROM $t", "LeafScanExec"),
    ("SELECT id, kind FROM $t WHERE kind = 'post' OR price > 12.5", "LeafScanExec"),
    ("SELECT kind || user AS k, price * 2 AS p FROM $t WHERE length(user) = 2 AND price > 3", "LeafScanExec"),
    ("SELECT user, id FROM $t LIMIT 5", "LeafScanExec"),
    ("SELECT user, id FROM $t LIMIT 5 OFFSET 890", "LeafScanExec"),
    ("SELECT id, user FROM $t WHERE paid LIMIT 3", "LeafScanExec"),
    ("SELECT id, kind FROM $t ORDER BY kind DESC, id LIMIT 4", "LeafScanExec"),
    ("SELECT 1 AS one FROM $t WHERE price > 15", "LeafScanExec"),
    (
        "SELECT user, row_number() OVER (PARTITION BY kind ORDER BY id, w) AS r FROM $t ORDER BY id, w LIMIT 9",
        "LeafScanExec",
    ),
    ("SELECT id FROM $t WHERE kind IN (SELECT kind FROM $t WHERE id = 3) ORDER BY id", "LeafScanExec"),
    (
        "SELECT count(*) FROM (SELECT r FROM (SELECT random() AS r FROM $t) WHERE r > 0.5) WHERE r <= 0.5",
        "LeafScanExec",
    ),
    ("SELECT id, note FROM $t WHERE id < 5", ""),
    ("SELECT id, mixed FROM $t WHERE id < 50", ""),
    ("SELECT id, tags FROM $t WHERE id < 5", ""),
    ("SELECT commit FROM $t LIMIT 4", ""),
    ("SELECT id FROM $t WHERE note = 'note 7'", ""),
    ("SELECT * FROM $t LIMIT 3", ""),
];

#[test]
fn rows_are_those_of_the_files() {
    let session = Session::new();
    let file = session.path("records.ndjson");
    std::fs::write(&file, lines(1, 900)).unwrap();
    let store = session.folder.path().join("records.wp");
    let add = |text: String| {
        let source = Source::Bytes("lines".into(), text.into_bytes().into());
        Store::add(&store, vec![source], AddOptions::default(), &mut |_| {}).unwrap();
    };
    add(lines(1, 500));
    add(lines(2, 400));
    let engine = Engine::builder().build().unwrap();
    for table in [file, store.clone()] {
        let sources = || Source::named(&table, Default::default()).unwrap();
        let loaded = Arc::new(Mutex::new(engine.load(sources()).unwrap()));
        let now = loaded.clone();
        let current = Arc::new(move || -> Loaded { now.lock().unwrap().clone() });
        let context = Options { workers: 2, ..Options::default() }
            .context_over(&Arc::new(Report::default()), current)
            .unwrap();
        let quoted = quoted(&table);
        let rows = |context: &SessionContext, query: &str| {
            session.rows_in(context, &query.replace("$t", &quoted)).join("\n")
        };
        let siblings = ("SELECT count(\"mixed:string\"), count(mixed) FROM $t", "");
        let of_store = (table == store).then_some(&siblings);
        for (query, shown) in QUERIES.iter().chain(of_store) {
            let [mut got, mut want] = [&context, &session.context].map(|context| {
                let rows = rows(context, query);
                rows.lines().map(str::to_owned).collect::<Vec<_>>()
            });
            if table == store && !query.contains("ORDER BY") {
                // Parts are read side by side.
                got.sort();
                want.sort();
            }
            if table == store && query.contains("LIMIT") && !query.contains("ORDER BY") {
                assert_eq!(got.len(), want.len(), "{query}");
            } else {
                assert!(
                    got == want,
                    "{query}\n{:?}\n{:?}",
                    &got[..got.len().min(9)],
                    &want[..want.len().min(9)]
                );
            }
            let plan = rows(&context, &format!("EXPLAIN {query}"));
            assert!(plan.contains(shown), "{query}\n{plan}");
            assert_eq!(plan.contains("Leaf"), !shown.is_empty(), "{query}\n{plan}");
            let is_bounded = plan.contains("first=");
            assert_eq!(is_bounded, shown.starts_with("first") || *shown == "having=", "{query}\n{plan}");
            assert!(!rows(&session.context, &format!("EXPLAIN {query}")).contains("Leaf"));
        }
        // A file that has changed is read, until it is loaded again.
        let count = "SELECT count(*) AS n, count(DISTINCT id) AS k FROM $t";
        if table == store {
            add(lines(3, 10));
        } else {
            std::fs::write(&table, lines(1, 910)).unwrap();
        }
        assert!(rows(&context, count).starts_with("910 "), "{}", rows(&context, count));
        let again = loaded.lock().unwrap().renewed(&engine, sources()).unwrap();
        *loaded.lock().unwrap() = again;
        assert!(rows(&context, &format!("EXPLAIN {count}")).contains("LeafAggregateExec"));
        assert!(rows(&context, count).starts_with("910 "));
    }
}

/// Columns in memory have no -0, and bounds of Parquet have it for 0, too: neither is taken for a value.
#[test]
fn zero_has_its_sign() {
    let session = Session::new();
    let engine = Engine::builder().build().unwrap();
    for (name, text) in [
        ("both", "{\"x\":-0.0}\n{\"x\":0.0}\n{\"x\":1.5}\n"),
        ("plus", "{\"x\":0.0}\n{\"x\":1.5}\n"),
        ("minus", "{\"x\":-1.5}\n{\"x\":-0.0}\n"),
    ] {
        let file = session.path(&format!("{name}.ndjson"));
        std::fs::write(&file, text).unwrap();
        let store = session.path(&format!("{name}.wp"));
        let source = Source::Bytes("lines".into(), text.as_bytes().into());
        Store::add(&store, vec![source], AddOptions::default(), &mut |_| {}).unwrap();
        for query in [
            "SELECT x FROM $t",
            "SELECT count(*), x FROM $t GROUP BY x ORDER BY x",
            "SELECT count(DISTINCT x) FROM $t",
            "SELECT min(x), max(x) FROM $t",
            "SELECT count(*) FROM $t WHERE x = 0.0",
            "SELECT count(*) FROM $t WHERE x >= 0.0",
            "SELECT count(*) FROM $t WHERE x IN (0.0, 7.0)",
            "SELECT count(*) FROM $t WHERE x NOT IN (0.0, 7.0)",
        ] {
            let want = session.rows(&query.replace("$t", &quoted(&file)));
            assert_eq!(session.rows(&query.replace("$t", &quoted(&store))), want, "{name} {query}");
            for table in [&file, &store] {
                let loaded = engine.load(Source::named(table, Default::default()).unwrap()).unwrap();
                let options = Options { workers: 2, ..Options::default() };
                let context =
                    options.context_over(&Arc::default(), Arc::new(move || loaded.clone())).unwrap();
                assert_eq!(
                    session.rows_in(&context, &query.replace("$t", &quoted(table))),
                    want,
                    "{name} {query}"
                );
            }
        }
    }
}

/// Sums are exact, or an error: they never wrap around.
#[test]
fn sums_have_64_bits() {
    let session = Session::new();
    let engine = Engine::builder().build().unwrap();
    const MOST: i64 = i64::MAX;
    // Partial sums may be beyond 64 bits if the sum is not.
    let text = format!(
        "{{\"g\":1,\"x\":{MOST}}}\n{{\"g\":1,\"x\":{MOST}}}\n{{\"g\":1,\"x\":-{MOST}}}\n{{\"g\":2,\"x\":{MOST}}}\n\
         {{\"g\":2,\"x\":1}}\n{{\"g\":3,\"x\":null}}\n"
    );
    let file = session.path("sums.ndjson");
    std::fs::write(&file, &text).unwrap();
    let store = session.path("sums.wp");
    let source = Source::Bytes("lines".into(), text.into_bytes().into());
    Store::add(&store, vec![source], AddOptions::default(), &mut |_| {}).unwrap();
    let sum = |of: i128| Some(of.to_string());
    let most = i128::from(MOST);
    for (query, want) in [
        ("SELECT sum(x) FROM $t WHERE g = 1", sum(most)),
        ("SELECT sum(x) FROM $t WHERE g = 2", None),
        ("SELECT sum(x) FROM $t WHERE g = 3", Some("NULL".to_owned())),
        ("SELECT sum(x) FROM $t WHERE g = 4", Some("NULL".to_owned())),
        ("SELECT sum(DISTINCT x) FROM $t WHERE g = 1", sum(0)),
        ("SELECT sum(DISTINCT x) FROM $t WHERE g = 2", None),
        ("SELECT sum(CAST(x AS DECIMAL(38, 0))) FROM $t WHERE g = 2", sum(most + 1)),
        ("SELECT s FROM (SELECT g, sum(x) AS s FROM $t WHERE g <> 2 GROUP BY g) WHERE g = 1", sum(most)),
        ("SELECT g, sum(x) FROM $t GROUP BY g", None),
        (
            "SELECT max(s) FROM (SELECT sum(x) OVER (ORDER BY g ROWS 1 PRECEDING) AS s FROM $t WHERE g = 3)",
            Some("NULL".to_owned()),
        ),
        (
            "SELECT max(s) FROM (SELECT sum(x) OVER (ORDER BY g ROWS 1 PRECEDING) AS s FROM $t WHERE g = 2)",
            None,
        ),
        (
            "SELECT sum(s) FROM (SELECT sum(DISTINCT x) OVER (ORDER BY x ROWS 1 PRECEDING) AS s FROM $t WHERE g = 3)",
            Some("NULL".to_owned()),
        ),
        (
            "SELECT max(s) FROM (SELECT sum(DISTINCT g) OVER (ORDER BY g ROWS 1 PRECEDING) AS s FROM $t)",
            sum(5),
        ),
        (
            "SELECT max(s) FROM (SELECT sum(DISTINCT x) OVER (ORDER BY x ROWS 1 PRECEDING) AS s FROM $t WHERE g = 2)",
            None,
        ),
        ("SELECT sum(arrow_cast(1, 'UInt64') + g * 0) FROM $t", sum(6)),
        ("SELECT sum(1.5) FROM $t", Some("9.0".to_owned())),
    ] {
        for table in [&file, &store] {
            let query = query.replace("$t", &quoted(table));
            let loaded = engine.load(Source::named(table, Default::default()).unwrap()).unwrap();
            let options = Options { workers: 2, ..Options::default() };
            let over = options.context_over(&Arc::default(), Arc::new(move || loaded.clone())).unwrap();
            for context in [&session.context, &over] {
                match (&want, session.batches_in(context, &query)) {
                    (Some(want), Ok(_)) => {
                        assert_eq!(session.rows_in(context, &query), [want.as_str()], "{query}");
                    }
                    (None, Err(error)) => {
                        assert!(
                            error.to_string().contains("a sum has more than 64 bits"),
                            "{query}: {error}"
                        );
                    }
                    (want, got) => panic!("{query}: {want:?} {got:?}"),
                }
            }
        }
    }
}

/// Lines that are malformed, or no objects, are those of the file: an error, or left out.
#[test]
fn malformed_lines_are_read() {
    let session = Session::new();
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    for line in ["{\"id\":", "[1]", "{\"id\":1,\"id\":2}"] {
        let file = session.path("some.ndjson");
        std::fs::write(&file, format!("{{\"id\":0}}\n{line}\n{{\"id\":3}}\n")).unwrap();
        let loaded = engine.load(Source::named(&file, Default::default()).unwrap()).unwrap();
        let options = Options { workers: 2, on_error: OnError::Skip, ..Options::default() };
        let context = options.context_over(&Arc::default(), Arc::new(move || loaded.clone())).unwrap();
        let plain = options.context().unwrap();
        let query = format!("SELECT * FROM {}", quoted(&file));
        let plan = session.rows_in(&context, &format!("EXPLAIN {query}")).join("\n");
        assert!(!plan.contains("Leaf"), "{line}\n{plan}");
        assert_eq!(session.rows_in(&context, &query), session.rows_in(&plain, &query), "{line}");
    }
}
