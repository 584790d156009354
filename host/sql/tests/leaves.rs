//! Aggregates over loaded inputs: the rows are those of the same query over files, and plans say which
//! aggregates are evaluated on leaves.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use datafusion::prelude::SessionContext;
use warpath::store::{AddOptions, Store};
use warpath::{Engine, Loaded, Source};
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
        text += "}\n";
    }
    text
}

/// Queries, and whether leaves have all that each needs.
const QUERIES: &[(&str, bool)] = &[
    ("SELECT kind, count(*) AS n FROM $t GROUP BY kind ORDER BY n, kind", true),
    ("SELECT count(*), count(kind), count(DISTINCT user), min(at), max(at), sum(at) FROM $t", true),
    (
        "SELECT commit['collection'] AS c, kind, count(*), count(DISTINCT user) FROM $t GROUP BY c, kind ORDER BY c, kind",
        true,
    ),
    ("SELECT kind, min(price), max(price), count(price) FROM $t GROUP BY kind ORDER BY kind", true),
    ("SELECT paid, count(*), min(commit['seq']) FROM $t GROUP BY paid ORDER BY paid", true),
    (
        "SELECT price, count(*) FROM $t WHERE price > 3.5 AND price <= 12.5 GROUP BY price ORDER BY price",
        true,
    ),
    (
        "SELECT user, min(at) AS first FROM $t WHERE kind = 'post' AND commit['collection'] IN ('a', 'b') GROUP BY user ORDER BY first, user LIMIT 3",
        true,
    ),
    (
        "SELECT CAST(date_part('hour', to_timestamp_micros(at)) AS BIGINT) AS h, kind, count(*) FROM $t GROUP BY h, kind ORDER BY h, kind",
        true,
    ),
    ("SELECT count(*) FROM $t WHERE kind <> 'post'", true),
    ("SELECT count(*) FROM $t WHERE NOT (kind = 'post' OR commit['seq'] < 5)", true),
    ("SELECT count(*) FROM $t WHERE kind IS NULL AND commit['collection'] IS NOT NULL", true),
    ("SELECT count(*) FROM $t WHERE kind NOT IN ('post', 'like') OR price = 0.5", true),
    ("SELECT count(*) FROM $t WHERE paid", true),
    ("SELECT count(*) FROM $t WHERE NOT paid AND at > 1700000500000000", true),
    (
        "SELECT user, (max(at) - min(at)) / 1000 AS span FROM $t GROUP BY user ORDER BY span DESC, user LIMIT 5",
        true,
    ),
    ("SELECT DISTINCT kind FROM $t ORDER BY kind", true),
    ("SELECT kind, avg(price) FROM $t GROUP BY kind ORDER BY kind", false),
    ("SELECT count(*) FROM $t WHERE kind LIKE 'p%'", false),
    ("SELECT count(*) FILTER (WHERE paid) FROM $t", false),
    ("SELECT upper(kind) AS k, count(*) FROM $t GROUP BY k ORDER BY k", false),
    ("SELECT id, kind FROM $t WHERE id < 4 ORDER BY id", false),
    ("SELECT a.kind, count(*) FROM $t a JOIN $t b ON a.id = b.id GROUP BY a.kind ORDER BY a.kind", false),
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
        for (query, is_on_leaves) in QUERIES {
            assert_eq!(rows(&context, query), rows(&session.context, query), "{query}");
            let plan = rows(&context, &format!("EXPLAIN {query}"));
            assert_eq!(plan.contains("LeafAggregateExec"), *is_on_leaves, "{query}\n{plan}");
            assert!(!rows(&session.context, &format!("EXPLAIN {query}")).contains("LeafAggregateExec"));
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
