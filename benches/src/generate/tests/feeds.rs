//! Lines of logs, and the events of a network.

use super::*;

fn lines(ndjson: &[u8]) -> Vec<&[u8]> {
    ndjson.split_inclusive(|&byte| byte == b'\n').collect()
}

fn log(message: bool, order: Order) -> Shape {
    Shape::Log(Log { message, order })
}

fn names(record: &Value) -> Vec<&str> {
    record.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn lines_of_logs_have_their_mean_size_and_their_members() {
    for (message, mean) in [(false, 8_360..=8_440), (true, 24_080..=24_320)] {
        let ndjson = ndjson(log(message, Order::Same), 1, SAMPLE_BYTES);
        let records = records(&ndjson);
        let hundredths = ndjson.len() * 100 / records.len();
        assert!(mean.contains(&hundredths), "{hundredths} hundredths of a byte");
        let members = ["time", "level", "service", "status", "ms", "message"];
        let members = if message { &members[..] } else { &members[..5] };
        let mut before = String::new();
        for record in &records {
            assert_eq!(names(record), members);
            let time = record["time"].as_str().unwrap();
            assert!(time.len() == 20 && time.ends_with('Z') && *time >= *before, "{time} after {before}");
            before = time.to_owned();
            assert!(record["level"].is_string() && record["service"].is_string());
            assert!((200..600).contains(&record["status"].as_u64().unwrap()));
            assert!(record["ms"].is_number() && record["message"].is_string() == message);
        }
        let errors = per_mille(count(&records, |record| record["level"] == "error"), records.len());
        assert!((10..100).contains(&errors), "{errors} ‰ errors");
        let tenths = per_mille(count(&records, |record| record["ms"].is_f64()), records.len());
        assert!((100..200).contains(&tenths), "{tenths} ‰ with a point");
    }
}

#[test]
fn messages_have_escapes_and_other_characters() {
    let ndjson = ndjson(log(true, Order::Same), 1, SAMPLE_BYTES);
    for part in [r#"\""#, r"\\", r"\n\t", "é", "→", "{id"] {
        assert!(ndjson.windows(part.len()).any(|bytes| bytes == part.as_bytes()), "no {part}");
    }
}

#[test]
fn orders_of_members_have_the_same_values() {
    for message in [false, true] {
        let same = ndjson(log(message, Order::Same), 3, 3 << 20);
        let alternate = ndjson(log(message, Order::Alternate), 3, 3 << 20);
        let random = ndjson(log(message, Order::Random), 3, 3 << 20);
        let mut orders = HashSet::new();
        let mut in_block = 0;
        let mut ix = 0;
        for ((a, b), c) in lines(&same).into_iter().zip(lines(&alternate)).zip(lines(&random)) {
            assert!(a.len() == b.len() && a.len() == c.len());
            let [a_record, b_record, c_record] =
                [a, b, c].map(|line| serde_json::from_slice::<Value>(line).unwrap());
            // Objects are equal whatever the order of their members.
            assert!(a_record == b_record && a_record == c_record);
            let mut expected = names(&a_record);
            if ix % 2 == 1 {
                expected.reverse();
            }
            assert_eq!(names(&b_record), expected);
            orders.insert(names(&c_record).join(" "));
            in_block += a.len();
            ix += 1;
            if in_block >= BLOCK_BYTES {
                (in_block, ix) = (0, 0);
            }
        }
        assert_eq!(orders.len(), if message { 720 } else { 120 });
        assert_eq!((same.len(), same.len()), (alternate.len(), random.len()));
    }
}

#[test]
fn events_of_the_network_are_as_stated() {
    let ndjson = ndjson(Shape::Bluesky, 1, 4 * SAMPLE_BYTES);
    let events = records(&ndjson);
    let mean = ndjson.len() / events.len();
    assert!((464..=481).contains(&mean), "mean {mean} B");
    let lines = lines(&ndjson);
    for (collection, per_ten_thousand, bytes) in [
        ("app.bsky.feed.like", 4_390..4_590, 490..530),
        ("app.bsky.graph.follow", 3_500..3_700, 385..397),
        ("app.bsky.feed.post", 860..960, 700..840),
        ("app.bsky.feed.repost", 540..640, 495..570),
        ("app.bsky.graph.block", 115..165, 380..397),
        ("app.bsky.actor.profile", 100..140, 500..700),
        ("app.bsky.graph.listitem", 60..100, 440..490),
    ] {
        let of: Vec<usize> =
            (0..events.len()).filter(|at| events[*at]["commit"]["collection"] == collection).collect();
        let share = of.len() * 10_000 / events.len();
        let mean = of.iter().map(|at| lines[*at].len()).sum::<usize>() / of.len();
        println!("{collection}: {share} of 10,000, mean {mean} B");
        assert!(per_ten_thousand.contains(&share), "{collection}: {share} of 10,000");
        assert!(bytes.contains(&mean), "{collection}: mean {mean} B");
    }
    let operation =
        |name| per_mille(count(&events, |event| event["commit"]["operation"] == name), events.len());
    let [create, delete, update] = ["create", "delete", "update"].map(operation);
    assert!((948..=962).contains(&create), "{create} ‰ create");
    assert!((26..=40).contains(&delete) && (4..=12).contains(&update), "{delete} ‰, {update} ‰");
    let other = count(&events, |event| event["kind"] != "commit");
    assert!((3..=8).contains(&per_mille(other, events.len())), "{other} without a commit");
}

#[test]
fn events_of_the_network_have_the_members_of_their_kind() {
    let events = records(&ndjson(Shape::Bluesky, 1, SAMPLE_BYTES));
    let mut before = 0;
    for event in &events {
        let time = event["time_us"].as_u64().unwrap();
        assert!(time > before && time.to_string().len() == 16);
        before = time;
        assert_eq!(event["did"].as_str().unwrap().len(), 32);
        let commit = &event["commit"];
        if !commit.is_object() {
            assert!(event[event["kind"].as_str().unwrap()].is_object());
            continue;
        }
        if commit["operation"] == "delete" {
            assert_eq!(names(commit), ["rev", "operation", "collection", "rkey"]);
            continue;
        }
        assert_eq!(names(commit), ["rev", "operation", "collection", "rkey", "record", "cid"]);
        assert_eq!(commit["cid"].as_str().unwrap().len(), 59);
        let record = &commit["record"];
        assert_eq!(record["$type"], commit["collection"]);
        let members = names(record);
        assert!(members.is_sorted(), "{members:?}");
        match commit["collection"].as_str().unwrap() {
            "app.bsky.feed.like" | "app.bsky.feed.repost" => {
                assert!(record["subject"]["uri"].as_str().unwrap().starts_with("at://did:plc:"));
            }
            "app.bsky.graph.follow" | "app.bsky.graph.block" => assert!(record["subject"].is_string()),
            "app.bsky.feed.post" => assert!(record["text"].is_string()),
            _ => {}
        }
    }
}

#[test]
fn keys_of_records_are_in_the_order_of_time() {
    let events = records(&ndjson(Shape::Bluesky, 1, 1 << 20));
    let mut revisions: Vec<(String, &str)> = Vec::new();
    for event in events.iter().filter(|event| event["commit"]["collection"] == "app.bsky.feed.like") {
        let (rev, created) = (&event["commit"]["rev"], &event["commit"]["record"]["createdAt"]);
        if let (Some(rev), Some(created)) = (rev.as_str(), created.as_str())
            && created.len() == 24
        {
            assert_eq!(rev.len(), 13);
            revisions.push((created.to_owned(), rev));
        }
    }
    assert!(revisions.len() > 800);
    revisions.sort();
    let milliseconds = |pair: &[(String, &str)]| pair[0].0 == pair[1].0;
    assert!(revisions.windows(2).all(|pair| milliseconds(pair) || pair[0].1 < pair[1].1));
}

#[test]
fn indices_of_facets_point_at_them() {
    let mut checked = [0; 3];
    for event in records(&ndjson(Shape::Bluesky, 2, SAMPLE_BYTES)) {
        let record = &event["commit"]["record"];
        for facet in record["facets"].as_array().into_iter().flatten() {
            let [start, end] = ["byteStart", "byteEnd"].map(|name| facet["index"][name].as_u64().unwrap());
            let part = &record["text"].as_str().unwrap()[start as usize..end as usize];
            let feature = &facet["features"][0];
            match feature["$type"].as_str().unwrap() {
                "app.bsky.richtext.facet#tag" => {
                    assert_eq!(part, format!("#{}", feature["tag"].as_str().unwrap()));
                    checked[0] += 1;
                }
                "app.bsky.richtext.facet#mention" => {
                    assert!(part.starts_with('@') && part.ends_with(".bsky.example"), "{part}");
                    checked[1] += 1;
                }
                _ => {
                    let begin = part.strip_suffix("...").unwrap();
                    assert!(feature["uri"].as_str().unwrap().starts_with(&format!("https://{begin}/")));
                    checked[2] += 1;
                }
            }
        }
    }
    assert!(checked.iter().all(|count| *count > 50), "{checked:?}");
}

#[test]
fn posts_have_escapes_and_other_characters_and_optional_members() {
    let events = records(&ndjson(Shape::Bluesky, 1, 2 * SAMPLE_BYTES));
    let posts: Vec<Value> = events
        .into_iter()
        .map(|mut event| event["commit"]["record"].take())
        .filter(|record| record["$type"] == "app.bsky.feed.post")
        .collect();
    for (member, range) in [
        ("embed", 280..360),
        ("facets", 250..350),
        ("labels", 2..25),
        ("langs", 900..960),
        ("reply", 360..440),
    ] {
        let share = per_mille(count(&posts, |post| !post[member].is_null()), posts.len());
        assert!(range.contains(&share), "{member}: {share} ‰");
    }
    let text: String = posts.iter().map(|post| post["text"].as_str().unwrap()).collect();
    for part in ["\n", "\"", "\\", "&", "é", "今日", "صباح", "👩‍👩‍👧", "\u{2028}"] {
        assert!(text.contains(part), "no {part:?}");
    }
}

/// In the first million of real events 117,617 users made 444,523 likes.
#[test]
fn users_are_as_skewed_as_those_of_the_network() {
    let mut likes = vec![0_u32; 1 << 20];
    let (mut feed, mut users) = (Run::new(&BLUESKY, 7, 1, 0, [0; 3]), 0);
    for _ in 0..444_523 {
        let user = feed.value_of("user").number() as usize;
        users += u32::from(likes[user] == 0);
        likes[user] += 1;
    }
    assert!((115_000..120_000).contains(&users), "{users} users");
    // The most active is no machine.
    assert!((300..800).contains(likes.iter().max().unwrap()));
}
