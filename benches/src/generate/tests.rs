use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use warpath::twig::Subscriptions;
use warpath_cpu::twig;
use warpath_lang::twig::{Axis, NameTest, Twig};

use super::*;

mod feeds;

/// Enough records for a share to be within a point or two of what it is in the long run.
const SAMPLE_BYTES: usize = 6 << 20;

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn with_threads(shape: Shape, target_bytes: u64, count: usize) -> (Vec<u8>, Stats) {
    let mut out = Vec::new();
    let stats = write_ndjson_with_threads(shape, 7, target_bytes, threads(count), &mut out).unwrap();
    (out, stats)
}

fn records(ndjson: &[u8]) -> Vec<Value> {
    assert_eq!(ndjson.last(), Some(&b'\n'));
    let lines = ndjson.strip_suffix(b"\n").unwrap().split(|&byte| byte == b'\n');
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Bytes from an opening quote up to but not including the closing quote.
fn bytes_in_strings(json: &[u8]) -> usize {
    let mut in_string = false;
    let mut escaped = false;
    json.iter()
        .filter(|&&byte| {
            let quote = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            in_string ^= quote;
            in_string
        })
        .count()
}

/// The share of `part` in `whole`, in thousandths.
fn per_mille(part: usize, whole: usize) -> usize {
    part * 1000 / whole
}

fn count(records: &[Value], holds: impl Fn(&Value) -> bool) -> usize {
    records.iter().filter(|record| holds(record)).count()
}

#[test]
fn every_line_is_an_object() {
    for shape in Shape::named().filter(|shape| *shape != Shape::Urls) {
        let ndjson = ndjson(shape, 1, SAMPLE_BYTES);
        assert!(records(&ndjson).iter().all(Value::is_object), "{}", shape.name());
    }
}

#[test]
fn records_are_as_large_as_stated() {
    for (shape, mean, range) in [
        (Shape::Twitter, 4_400..5_000, 1_500..20_000),
        (Shape::Walmart, 950..1_250, 500..2_500),
        (Shape::BestBuy, 2_200..2_800, 1_000..5_000),
        (Shape::Maps, 30_000..40_000, 10_000..61_000),
        (Shape::Events, 890..910, 750..1_100),
    ] {
        let ndjson = ndjson(shape, 1, SAMPLE_BYTES);
        let sizes: Vec<usize> = ndjson.split(|&byte| byte == b'\n').map(<[u8]>::len).collect();
        let sizes = sizes.strip_suffix(&[0]).unwrap();
        let measured = ndjson.len() / sizes.len();
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        let in_strings = per_mille(bytes_in_strings(&ndjson), ndjson.len());
        println!(
            "{:8} {:6} records, mean {measured} B ({least} to {most}), {in_strings} ‰ in strings",
            shape.name(),
            sizes.len()
        );
        assert!(mean.contains(&measured), "{}: mean {measured} B", shape.name());
        assert!(range.contains(least) && range.contains(most), "{}: {least} to {most} B", shape.name());
        assert!(*most < LONGEST_RECORD_BYTES);
    }
}

#[test]
fn tweets_are_as_stated() {
    let ndjson = ndjson(Shape::Twitter, 1, SAMPLE_BYTES);
    let in_strings = per_mille(bytes_in_strings(&ndjson), ndjson.len());
    // Others report 87 %.
    assert!((840..=900).contains(&in_strings), "{in_strings} ‰ in strings");

    let tweets = records(&ndjson);
    let language = |code: &str| {
        let with = count(&tweets, |tweet| tweet["user"]["lang"] == code);
        println!("user.lang {code}: {with} of {}", tweets.len());
        per_mille(with, tweets.len())
    };
    assert!(tweets.iter().all(|tweet| tweet["user"]["lang"].is_string() && tweet["lang"].is_string()));
    assert!((370..=430).contains(&language("en")));
    assert!((1..=12).contains(&language("nl")));
    let retweets = per_mille(count(&tweets, |tweet| tweet["retweeted_status"].is_object()), tweets.len());
    assert!((270..=330).contains(&retweets), "{retweets} ‰ retweets");

    for escape in [r#"\""#, r"\\", r"\/", r"\n", r"\u00e9", r"\ud83d\ude"] {
        assert!(ndjson.windows(escape.len()).any(|bytes| bytes == escape.as_bytes()), "no {escape}");
    }
    for raw in ["😂", "é", "今日", "صباح", "👩‍👩‍👧"] {
        assert!(ndjson.windows(raw.len()).any(|bytes| bytes == raw.as_bytes()), "no {raw}");
    }
}

#[test]
fn keys_of_a_tweet_stand_in_the_order_of_the_api() {
    let mut line = Vec::new();
    Generator::new(Shape::Twitter, 1).record(&mut line);
    let tweet: Value = serde_json::from_slice(&line).unwrap();
    let keys: Vec<&str> = tweet.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = concat!(
        "created_at id id_str text source truncated in_reply_to_status_id in_reply_to_status_id_str ",
        "in_reply_to_user_id in_reply_to_user_id_str in_reply_to_screen_name user geo coordinates ",
        "",
        "place",
        " contributors is_quote_status retweet_count favorite_count entities favorited retweeted ",
        "filter_level lang timestamp_ms",
    );
    let found: Vec<&str> =
        keys.into_iter().filter(|key| expected.split(' ').any(|name| name == *key)).collect();
    assert_eq!(found.join(" "), expected);
}

#[test]
fn indices_of_entities_point_at_them() {
    let mut checked = 0;
    for tweet in records(&ndjson(Shape::Twitter, 2, 1 << 20)) {
        let long = &tweet["extended_tweet"];
        let (text, entities) = if long.is_object() {
            (&long["full_text"], &long["entities"])
        } else {
            (&tweet["text"], &tweet["entities"])
        };
        let text: Vec<char> = text.as_str().unwrap().chars().collect();
        let at = |entity: &Value| {
            let [start, end] = [0, 1].map(|ix| entity["indices"][ix].as_u64().unwrap() as usize);
            text[start..end].iter().collect::<String>()
        };
        for hashtag in entities["hashtags"].as_array().unwrap() {
            assert_eq!(at(hashtag), format!("#{}", hashtag["text"].as_str().unwrap()));
            checked += 1;
        }
        for mention in entities["user_mentions"].as_array().unwrap() {
            assert_eq!(at(mention), format!("@{}", mention["screen_name"].as_str().unwrap()));
            checked += 1;
        }
        for url in entities["urls"].as_array().unwrap() {
            assert_eq!(at(url), url["url"].as_str().unwrap());
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_marketplace_price_is_in_three_records_of_ten() {
    let products = records(&ndjson(Shape::Walmart, 1, SAMPLE_BYTES));
    assert!(products.iter().all(|product| product["name"].is_string() && product["salePrice"].is_number()));
    let with = count(&products, |product| product["bestMarketplacePrice"]["price"].is_number());
    assert!((280..=320).contains(&per_mille(with, products.len())), "{with} of {}", products.len());
}

#[test]
fn category_paths_have_two_to_six_entries() {
    let products = records(&ndjson(Shape::BestBuy, 1, SAMPLE_BYTES));
    let lengths = products.iter().map(|product| {
        let path = product["categoryPath"].as_array().unwrap();
        assert!(path.iter().all(|category| category["id"].is_string() && category["name"].is_string()));
        path.len()
    });
    let mut seen: Vec<usize> = lengths.collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [2, 3, 4, 5, 6]);
}

#[test]
fn every_step_has_a_distance() {
    for answer in records(&ndjson(Shape::Maps, 1, SAMPLE_BYTES)) {
        for route in answer["routes"].as_array().unwrap() {
            for leg in route["legs"].as_array().unwrap() {
                let steps = leg["steps"].as_array().unwrap();
                assert!(!steps.is_empty() && steps.iter().all(|step| step["distance"]["text"].is_string()));
            }
        }
    }
}

#[test]
fn sized_records_have_the_size_asked_for() {
    for line_bytes in [100, 101, 300, 499, 500, 1_000, 4_096, 100_000, 1 << 20] {
        let ndjson = ndjson(Shape::Sized(line_bytes), 1, 3 << 20);
        let lines: Vec<&[u8]> = ndjson.split_inclusive(|&byte| byte == b'\n').collect();
        assert!(lines.iter().all(|line| line.len() == line_bytes as usize), "{line_bytes}");
        let records = records(&ndjson);
        assert!(records.iter().all(|record| record["user"]["kind"].is_string()), "{line_bytes}");
        if line_bytes >= 4_096 {
            let full = |list: &Value| list.as_array().is_some_and(|list| list.len() > 8);
            assert!(records.iter().all(|record| full(&record["before"]) && full(&record["after"])));
            assert!(records.iter().all(|record| record["pad"].as_str().unwrap().len() < 600));
        }
    }
}

#[test]
fn kinds_of_sized_records_are_as_rare_as_stated() {
    let records = records(&ndjson(Shape::Sized(200), 1, 4 << 20));
    for (kind, per_mille_range) in
        [("mythic", 0..3), ("rare", 7..14), ("scarce", 90..111), ("common", 875..903)]
    {
        let with = count(&records, |record| record["user"]["kind"] == kind);
        assert!(with > 0 && per_mille_range.contains(&per_mille(with, records.len())), "{with} {kind}");
    }
}

#[test]
fn shapes_have_names() {
    for shape in Shape::named() {
        assert_eq!(shape.name().parse(), Ok(shape));
    }
    assert_eq!("sized:1000".parse(), Ok(Shape::Sized(1000)));
    for bad in [
        "",
        "sized",
        "sized:",
        "sized:99",
        "sized:67108865",
        "sized:-1",
        "Twitter",
        "twitter:100",
        "log",
        "log:85",
    ] {
        assert!(bad.parse::<Shape>().is_err(), "{bad}");
    }
}

#[test]
fn bytes_depend_on_the_seed_only() {
    for shape in Shape::named().chain([Shape::Sized(1_234)]) {
        let bytes = ndjson(shape, 1, 3 << 20);
        assert!(bytes == ndjson(shape, 1, 3 << 20), "{}", shape.name());
        assert!(bytes != ndjson(shape, 2, 3 << 20), "{}", shape.name());
        // What is written next does not depend on where the buffer's memory ends, nor on what is in it.
        let (mut apart, mut together) = (Generator::new(shape, 1), Generator::new(shape, 1));
        let mut all = Vec::new();
        for _ in 0..20 {
            let mut one = Vec::new();
            apart.line(&mut one);
            let start = all.len();
            together.line(&mut all);
            assert!(one == all[start..], "{}", shape.name());
        }
        assert!(bytes.starts_with(&all), "{}", shape.name());
    }
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    for shape in Shape::named().chain([1_234, 2 << 20].map(Shape::Sized)) {
        for target_bytes in [0, 1, 10_000, 1 << 20, (5 << 20) + 12_345] {
            let (bytes, stats) = with_threads(shape, target_bytes, 1);
            for count in [2, 3, 16] {
                assert!((&bytes, stats) == (&with_threads(shape, target_bytes, count).0, stats));
            }
        }
    }
}

#[test]
fn the_last_line_is_the_one_that_reaches_the_target() {
    let (all, _) = with_threads(Shape::Twitter, 3 << 20, 2);
    let ends: Vec<u64> =
        all.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(ix, _)| ix as u64 + 1).collect();
    // Around the first lines, and around the end of the first block.
    let end_of_block = ends.iter().position(|&end| end >= BLOCK_BYTES as u64).unwrap();
    for line in [0, 1, end_of_block - 1, end_of_block, end_of_block + 1] {
        for (target_bytes, lines) in
            [(ends[line] - 1, line + 1), (ends[line], line + 1), (ends[line] + 1, line + 2)]
        {
            let (bytes, stats) = with_threads(Shape::Twitter, target_bytes, 3);
            assert_eq!(stats, Stats { records: lines as u64, bytes: ends[lines - 1] });
            assert!(bytes == all[..bytes.len()] && bytes.len() as u64 == stats.bytes);
        }
    }
}

#[test]
fn a_writer_that_fails_ends_the_threads() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let failed = write_ndjson_with_threads(Shape::Walmart, 1, 100 << 30, threads(2), &mut Full);
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn dates_are_those_of_the_calendar() {
    let long = |seconds| {
        let mut out = Vec::new();
        text::Moment::from_unix(seconds).put_long(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(long(0), "Thu Jan 01 00:00:00 +0000 1970");
    assert_eq!(long(951_782_399), "Mon Feb 28 23:59:59 +0000 2000");
    assert_eq!(long(951_782_400), "Tue Feb 29 00:00:00 +0000 2000");
    assert_eq!(long(951_868_800), "Wed Mar 01 00:00:00 +0000 2000");
    assert_eq!(long(1_488_326_400), "Wed Mar 01 00:00:00 +0000 2017");
    assert_eq!(long(1_483_228_799), "Sat Dec 31 23:59:59 +0000 2016");
}

#[test]
fn numbers_are_written_in_decimal() {
    use text::Put;
    let text = |put: fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(|out| out.put_number(0)), "0");
    assert_eq!(text(|out| out.put_number(u64::MAX)), "18446744073709551615");
    assert_eq!(text(|out| out.put_digits(7, 3)), "007");
    assert_eq!(text(|out| out.put_digits(1234, 3)), "1234");
    assert_eq!(text(|out| out.put_money(1_205)), "12.05");
    assert_eq!(text(|out| out.put_degrees(-20_000)), "-0.020000");
    assert_eq!(text(|out| out.put_hex(0xbeef, 6)), "00beef");
    assert_eq!(text(|out| out.put_text("é😂", true)), r"\u00e9\ud83d\ude02");
}

/// The generated files that the tests read are what their README says they are.
#[test]
fn checked_in_files_are_as_generated() {
    for (name, parts) in [
        ("tweets.ndjson", &[(Shape::Twitter, 9, 58)][..]),
        ("products.ndjson", &[(Shape::Walmart, 1, 48), (Shape::BestBuy, 1, 32)]),
        ("maps.ndjson", &[(Shape::Maps, 115, 6)]),
    ] {
        let mut expected = Vec::new();
        for &(shape, seed, records) in parts {
            let mut generator = Generator::new(shape, seed);
            (0..records).for_each(|_| generator.line(&mut expected));
        }
        let path = format!("{}/../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::read(&path).unwrap() == expected, "{path}: make it anew as its README says");
    }
}

/// The first 64 bits of a hash, to see that what is generated is what it was.
fn hash(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn bibliographies_are_of_their_type_and_size() {
    let mut all = String::new();
    let (mut events, mut levels, mut elements) = (0, 0, BTreeMap::new());
    for number in 0..60 {
        let bytes = [25_000, 32_000, 100_000][number as usize % 3];
        let text = dblp::document(1, number, bytes);
        assert!((bytes..bytes + 4_000).contains(&text.len()), "{} of {bytes} bytes", text.len());
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), dblp::ROOT);
        for element in document.descendants().filter(roxmltree::Node::is_element) {
            let name = element.tag_name().name();
            *elements.entry(name.to_owned()).or_insert(0) += 1;
            events += 2;
            levels = levels.max(element.ancestors().filter(roxmltree::Node::is_element).count());
            if let Some(above) = element.parent_element() {
                assert!(dblp::children(above.tag_name().name()).contains(&name), "{name} in {above:?}");
            }
        }
        all.push_str(&text);
    }
    println!(
        "{} bytes, an element begins or ends every {:.1}; {levels} levels; {elements:?}",
        all.len(),
        all.len() as f64 / f64::from(events)
    );
    assert!((19.5..21.5).contains(&(all.len() as f64 / f64::from(events))));
    assert_eq!(levels, 3 + dblp::DEEPEST_MARKUP);
    assert_eq!(elements.len(), 1 + 8 + 22 + 5);
    assert_eq!(hash(all.as_bytes()), "86d9d7de3a09284c");
    // One of more bytes begins with the same records; others have others.
    let (small, large) = (dblp::document(1, 3, 25_000), dblp::document(1, 3, 200_000));
    assert!(large.starts_with(small.strip_suffix("</dblp>\n").unwrap()));
    assert!(small != dblp::document(1, 4, 25_000) && small != dblp::document(2, 3, 25_000));
}

/// The number of documents that each subscription matches.
fn matches<'a>(lines: &str, documents: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut subscriptions = Subscriptions::default();
    assert_eq!(subscriptions.add_file(lines), []);
    let mut found = vec![0; subscriptions.len()];
    let mut matcher = subscriptions.matcher();
    for document in documents {
        matcher.reset();
        if document.starts_with('<') {
            twig::xml::read(document, &mut matcher).unwrap();
        } else {
            twig::json::read(document.as_bytes(), &mut matcher).unwrap();
        }
        matcher.found().for_each(|at| found[at] += 1);
    }
    found
}

#[test]
fn twigs_have_the_nodes_and_splits_asked_for() {
    let documents: Vec<String> = (0..30).map(|number| dblp::document(1, number, 32_000)).collect();
    let mut all = String::new();
    for (nodes, splits) in
        [(1, 0), (5, 0), (5, 1), (5, 2), (10, 1), (10, 3), (15, 1), (15, 3), (15, 6), (15, 7)]
    {
        for percent in [0, 10, 25] {
            let twigs = twigs::Twigs { nodes, splits, percent };
            let count = if nodes == 1 { 1 } else { 200 };
            let queries = twigs::xpath(count, twigs, 1).unwrap();
            let mut steps = [0; 3];
            for query in &queries {
                let twig = Twig::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
                let below = |node| twig.nodes().iter().filter(|other| other.parent == node).count();
                let numbers: Vec<usize> = (0..twig.nodes().len()).map(|node| below(Some(node))).collect();
                assert_eq!((numbers.len(), below(None)), (nodes, 1), "{query}");
                assert_eq!(numbers.iter().filter(|below| **below > 1).count(), splits, "{query}");
                assert!(numbers.iter().all(|below| below <= twigs::CHILDREN.end()), "{query}");
                for node in twig.nodes() {
                    steps[0] += 1;
                    steps[1] += usize::from(node.name == NameTest::Any);
                    steps[2] += usize::from(node.axis == Axis::Descendant);
                }
            }
            if nodes > 1 {
                let expected = 10 * percent as usize;
                for found in &steps[1..] {
                    assert!(per_mille(*found, steps[0]).abs_diff(expected) < 60, "{twigs:?}: {steps:?}");
                }
            }
            assert_eq!(queries.iter().collect::<HashSet<_>>().len(), count);
            assert!(nodes == 1 || queries[..20] == twigs::xpath(20, twigs, 1).unwrap());
            assert!(nodes == 1 || queries != twigs::xpath(200, twigs, 2).unwrap());
            let lines = twigs::lines(&queries);
            let found = matches(&lines, documents.iter().map(String::as_str));
            let some = found.iter().filter(|found| **found > 0).count();
            if nodes > 1 && nodes <= 10 {
                assert!((1..count).contains(&some), "{some} of {twigs:?} match");
            }
            println!(
                "{twigs:?}: {} per mille of subscriptions match any of {} documents, and {} per mille of all pairs",
                per_mille(some, count),
                documents.len(),
                per_mille(found.iter().sum::<usize>(), count * documents.len())
            );
            all.push_str(&lines);
        }
    }
    assert_eq!(hash(all.as_bytes()), "cba86c91cc35816d");
}

#[test]
fn twigs_that_cannot_be_are_told() {
    let twigs = |nodes, splits, percent| twigs::Twigs { nodes, splits, percent };
    assert_eq!(twigs::xpath(1, twigs(5, 3, 0), 1), Err(twigs::NotMade::TooManySplits));
    assert_eq!(twigs::xpath(1, twigs(0, 0, 0), 1), Err(twigs::NotMade::TooManySplits));
    // A path of eight levels is deeper than any that is walked, and there are only eight short ones.
    assert_eq!(twigs::xpath(1, twigs(8, 0, 0), 1), Err(twigs::NotMade::Only(0)));
    assert_eq!(twigs::xpath(100, twigs(2, 0, 0), 1), Err(twigs::NotMade::Only(8)));
    // All are stars anywhere, and so they are the same.
    assert_eq!(twigs::xpath(2, twigs(3, 0, 100), 1), Err(twigs::NotMade::Only(1)));
}

#[test]
fn events_are_as_stated() {
    let events = records(&ndjson(Shape::Events, 1, SAMPLE_BYTES));
    fn members(value: &Value) -> usize {
        match value {
            Value::Object(all) => all.values().map(|value| 1 + members(value)).sum(),
            _ => 0,
        }
    }
    let mean = events.iter().map(members).sum::<usize>() as f64 / events.len() as f64;
    let share = |holds: &dyn Fn(&Value) -> bool| {
        per_mille(count(&events, |record| holds(&record["event"])), events.len())
    };
    let distinct = |pointer: &str| {
        let values = events.iter().filter_map(|record| record["event"].pointer(pointer));
        values.map(Value::to_string).collect::<HashSet<_>>().len()
    };
    println!("{mean:.1} members");
    assert!((47.0..48.0).contains(&mean));
    for (pointer, values) in
        [("/level", 5), ("/service", 40), ("/request/status", 15), ("/geo/country", 60), ("/user/lang", 25)]
    {
        assert_eq!(distinct(pointer), values, "{pointer}");
    }
    assert!(distinct("/user/id") > events.len() / 2);
    assert!((600..=660).contains(&share(&|event| event["request"]["status"] == 200)));
    assert!((30..=120).contains(&share(&|event| event["level"] == "error")));
    assert!((10..=150).contains(&share(&|event| event["error"].is_object())));
    let whole = ndjson(Shape::Events, 1, 1 << 20);
    assert_eq!(hash(&whole), "7de07a9013669a61");
}

#[test]
fn subscriptions_match_a_handful_of_events() {
    use event_twigs::SubscriptionKind;

    let ndjson = ndjson(Shape::Events, 1, 2 << 20);
    let events = || str::from_utf8(&ndjson).unwrap().lines();
    for (kind, count, handful, hash_of_all) in [
        (SubscriptionKind::Exact, 1_000, 3.0..10.0, "b06192da6a8f36fd"),
        (SubscriptionKind::Mixed, 1_000, 3.0..40.0, "a6c8f34c9fecec89"),
    ] {
        let subscriptions = event_twigs::subscriptions(count, kind, 1);
        let lines = event_twigs::lines(&subscriptions);
        let queries: HashSet<&str> = lines.lines().map(|line| line.split_once('\t').unwrap().1).collect();
        assert_eq!(queries.len(), count);
        assert!(lines.starts_with(&event_twigs::lines(&event_twigs::subscriptions(10, kind, 1))));
        assert!(lines != event_twigs::lines(&event_twigs::subscriptions(count, kind, 2)));
        let found = matches(&lines, events());
        let some = found.iter().filter(|found| **found > 0).count();
        let mean = found.iter().sum::<usize>() as f64 / events().count() as f64;
        println!(
            "{kind:?}: {some} of {count} match any of {} events, {mean:.2} match one; most {:?}",
            events().count(),
            found.iter().max()
        );
        assert!(handful.contains(&mean) && some > count / 3);
        assert!(found.iter().all(|found| *found < events().count()));
        assert_eq!(hash(lines.as_bytes()), hash_of_all);
    }
}

/// Returns true if an event has one of the values of a pattern at each of its members.
fn has_values(event: &Value, pattern: &Value) -> bool {
    match (event, pattern) {
        (Value::Object(members), Value::Object(places)) => places
            .iter()
            .all(|(name, values)| members.get(name).is_some_and(|value| has_values(value, values))),
        (Value::Array(elements), Value::Array(values)) => {
            elements.iter().any(|element| values.contains(element))
        }
        (value, Value::Array(values)) => values.contains(value),
        _ => false,
    }
}

#[test]
fn patterns_match_what_their_subscriptions_do() {
    use event_twigs::SubscriptionKind;

    let subscriptions = event_twigs::subscriptions(1_000, SubscriptionKind::Exact, 3);
    let lines = event_twigs::pattern_lines(&subscriptions).unwrap();
    let patterns = lines.lines().enumerate().map(|(at, line)| {
        let (id, pattern) = line.split_once('\t').unwrap();
        assert_eq!(id, format!("s{}", at + 1));
        serde_json::from_str::<Value>(pattern).unwrap()
    });
    let ndjson = ndjson(Shape::Events, 3, 400_000);
    let events = records(&ndjson);
    let by_patterns: Vec<usize> =
        patterns.map(|pattern| count(&events, |event| has_values(event, &pattern))).collect();
    let documents = str::from_utf8(&ndjson).unwrap().lines();
    assert_eq!(matches(&event_twigs::lines(&subscriptions), documents), by_patterns);

    let mixed = event_twigs::subscriptions(1_000, SubscriptionKind::Mixed, 3);
    assert!(event_twigs::pattern_lines(&mixed).is_none());
    assert!(mixed.iter().all(|subscription| subscription.pattern().is_none()));
    let queries = event_twigs::lines(&mixed);
    for token in [">= ", "[*/", "[//", "[error]"] {
        assert!(queries.contains(token), "{token}");
    }
}
