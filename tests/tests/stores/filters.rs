//! Subscriptions over stores have the matches, the faults and the numbers of lines that they have over the
//! text.

use warpath::twig::{Documents, Standing, Subscriptions};

use super::*;

/// The results of subscriptions over some inputs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Matches {
    /// The input and the line of each document that matches, and its subscriptions.
    documents: Vec<(String, Option<u64>, Vec<usize>)>,
    /// The skipped errors, and the lines that have them.
    skipped: Vec<(String, u64, Vec<u8>)>,
    error: Option<String>,
    lines: u64,
    matches: u64,
}

/// Subscriptions with a predicate on documents.
struct Filters {
    standing: Standing,
    predicate: Option<Predicate>,
}

impl Filters {
    fn new(subscriptions: &[String], predicate: Option<&str>) -> Result<Self> {
        let mut all = Subscriptions::default();
        for (number, query) in subscriptions.iter().enumerate() {
            all.add(&number.to_string(), query).with_context(|| query.clone())?;
        }
        let predicate = predicate.map(Predicate::parse).transpose()?;
        Ok(Self { standing: Standing::new(all), predicate })
    }

    fn matches(&self, engine: &Engine, sources: Vec<Source>, partial: bool) -> Matches {
        let mut input = engine.input(sources);
        if let Some(predicate) = &self.predicate {
            input = input.matching(predicate);
        }
        let mut run = match partial {
            true => input.filter_partial(&self.standing.current()),
            false => input.filter(&self.standing, Documents::Ndjson),
        };
        let mut all = Matches::default();
        for filtered in &mut run {
            let filtered = match filtered {
                Ok(filtered) => filtered,
                Err(error) => {
                    all.error = Some(error.to_string());
                    continue;
                }
            };
            for document in filtered.documents() {
                all.documents.push((
                    filtered.source().to_owned(),
                    document.line(),
                    document.numbers().collect(),
                ));
            }
            let lines = filtered.faulty_lines().iter().map(|line| filtered.first_line() + u64::from(*line));
            for (number, (error, line)) in filtered.skipped().zip(lines).enumerate() {
                all.skipped.push((error.to_string(), line, filtered.skipped_text(number).to_vec()));
            }
        }
        (all.lines, all.matches) = (run.stats().lines, run.stats().matches);
        assert_eq!(run.stats().skipped, all.skipped.len() as u64);
        all
    }

    /// Compares the results over a store, whole and partial lines, with those over its text.
    fn compare(&self, engine: &Engine, case: &Case, store: &str) -> Result<u64> {
        let wanted = self.matches(engine, case.texts(store), false);
        for partial in [false, true] {
            let found = self.matches(engine, case.sources(store), partial);
            ensure!(found == wanted, "partial: {partial}, `{store}`: {found:?}, not {wanted:?}");
        }
        Ok(wanted.matches)
    }
}

fn engine(backend: &Arc<dyn Backend>, on_error: OnError, strict: bool, size: usize) -> Result<Engine> {
    let builder = Engine::builder().backend(backend.clone()).on_error(on_error).strict(strict);
    Ok(builder.workers(2).partition_size(size).build()?)
}

/// Lines whose members have the names that [`subscription`] tests: lists of lists, null, repeated names,
/// names like those that columns have, and others.
fn lines(rng: &mut Rng, count: usize) -> Vec<u8> {
    let others: [&str; 12] = [
        "{\"a\":{\"b\":[[1,{\"c\":null}],{\"b\":{\"c\":\"x\"}}]}}",
        "{\"a\":null,\"b\":[null,{}],\"c\":{}}",
        "{\"b\":{\"a\":1},\"b\":{\"c\":\"x\"},\"a\":2}",
        "{\"a\":{\"b\":1,\"b\":{\"c\":1}},\"a\":{\"c\":2}}",
        "{\"a:int\":1,\"a.b\":{\"c\":1},\"A\":2,\"a~2\":3,\"_raw\":4}",
        "{\"a.b\":1,\"a\":{\".b\":2,\"b[]\":{\"c\":3}}}",
        "{\"\\u0061\":{\"b\":\"\\u0078\"}}",
        "{\"a\":1e999,\"b\":{\"c\":1.0}}",
        "{\"a\":[1,[2,[{\"b\":\"x\"}]],{\"a\":{\"a\":1}}]}",
        "{\"a\":1 \"b\":2}",
        "[{\"a\":{\"b\":1}}]",
        "{}",
    ];
    let mut text = Vec::new();
    for _ in 0..count {
        match rng.below(4) {
            0 => text.extend_from_slice(mixed(rng, 1).trim_ascii_end()),
            1 => text.extend_from_slice(objects(rng, 1).trim_ascii_end()),
            _ => text.extend_from_slice(rng.pick(&others).as_bytes()),
        }
        text.push(b'\n');
    }
    text
}

/// A random subscription.
fn subscription(rng: &mut Rng) -> String {
    let whole = [
        "$",
        "$['a\"b']",
        "$.a.b == 1 && $.c",
        "$[?@.b == 'x']",
        "$['a.b']",
        "$..['a:int']",
        "$.a[?@.b && @.c]",
        "$.lang == null",
        "/a[@b]",
        "//*",
        "/*//*[. = 1]",
    ];
    if rng.below(4) == 0 {
        return rng.pick(&whole).to_string();
    }
    let mut query = String::new();
    for _ in 0..1 + rng.below(3) {
        query += rng.pick(&["/", "/", "//"]);
        query += rng.pick(&["a", "b", "c", "lang", "*"]);
        let tests = ["[. = 1]", "[. = 'x']", "[b]", "[c = 'x']", "[.//c]", "[a][b >= 1]", "[*]"];
        if rng.below(3) == 0 {
            query += rng.pick(&tests);
        }
    }
    query
}

#[test]
fn random_subscriptions_match_as_over_the_text() -> Result<()> {
    let (mut rng, mut matches) = (Rng::new(21), 0);
    for round in 0..cases(24) {
        let mut texts = [lines(&mut rng, 40), lines(&mut rng, 12), lines(&mut rng, 30)];
        texts[2].extend_from_slice(b"{\"a\":{\"b\":1}}");
        let case = Case::new(&texts.each_ref().map(Vec::as_slice), [200, 900, 1 << 20][round % 3]);
        let devices = backends();
        for turn in 0..8 {
            let subscriptions: Vec<_> = (0..rng.below(4)).map(|_| subscription(&mut rng)).collect();
            let predicate = MIXED.get(rng.below(2 * MIXED.len())).copied();
            let said = || format!("{subscriptions:?}, {predicate:?}");
            let filters = Filters::new(&subscriptions, predicate)?;
            let on_error = [OnError::Skip, OnError::Fail][turn % 2];
            let backend = &devices[usize::from(turn == 7 && devices.len() > 1)];
            let size = [300, 3000, 1 << 20][rng.below(3)];
            let engine = engine(backend, on_error, turn % 3 == 0, size)?;
            matches += filters.compare(&engine, &case, STORES[turn % 2]).with_context(said)?;
        }
    }
    ensure!(matches > cases(500) as u64, "{matches} matches");
    Ok(())
}

#[test]
fn equal_lines_have_their_own_numbers() -> Result<()> {
    let mut rng = Rng::new(22);
    let kinds =
        ["{\"a\":1}", "{\"b\":{\"c\":2}}", "{\"b\":{\"c\":3}}", "{\"a\":", "", "{\"a\":\"\x01\"}", "[1]"];
    let text: String = (0..4000).map(|_| format!("{}\n", rng.pick(&kinds))).collect();
    // Lines that all differ come first, in between, and last.
    let other = |from: usize| (from..from + 1500).map(|at| format!("{{\"a\":{at},\"b\":null}}\n")).collect();
    let (first, last): (String, String) = (other(0), other(9000));
    let texts = [first.as_bytes(), text.as_bytes(), &text.as_bytes()[..9001], last.as_bytes()];
    let case = Case::new(&texts, 30_000);
    for subscriptions in [&["$.a", "$.b.c"][..], &["$.b.c == 3", "/a[. >= 1]"], &["$"]] {
        let subscriptions: Vec<String> = subscriptions.iter().map(ToString::to_string).collect();
        let filters = Filters::new(&subscriptions, None)?;
        for (strict, size) in [(false, 1 << 20), (true, 7000)] {
            for store in ["one", "parts"] {
                let engine = engine(&cpu(), OnError::Skip, strict, size)?;
                ensure!(filters.compare(&engine, &case, store)? > 3000);
            }
        }
    }
    Ok(())
}

#[test]
fn subscriptions_to_tweets_match_as_over_the_text() -> Result<()> {
    let case = Case::new(&halves(file("tweets.ndjson")), 50_000);
    let subscriptions = [
        "$.user.lang == 'en'",
        "$.retweeted_status",
        "$..urls[?@.expanded_url]",
        "//user_mentions/*/screen_name",
        "$[?@.followers_count > 100]",
        "$.entities.hashtags.*.text",
    ];
    for predicate in [None, Some("$.user.followers_count > 1000"), Some("$.lang == 'none'"), Some("$..media")]
    {
        let filters = Filters::new(&subscriptions.map(str::to_owned), predicate)?;
        for backend in backends() {
            let engine = engine(&backend, OnError::Skip, false, 1 << 20)?;
            for store in ["one", "parts"] {
                filters.compare(&engine, &case, store)?;
            }
        }
    }
    Ok(())
}
