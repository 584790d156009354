//! Times questions about records whose leaves are resident on a device: the five queries of JSONBench over
//! look-alike records, or groups of tweets; predicates with their counts, and the text of selected rows.
//!
//! Records are made, shredded and loaded by all cores; their lines stay in host memory. Each question is
//! timed from the call to its result in host memory, and its kernels by events. The first result of each is
//! compared with the host's over the same leaves. Medians of the counted runs.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use warpath_benches::generate::{Shape, ndjson};
use warpath_benches::harness::timing::Times;
use warpath_core::cancel::Stop;
use warpath_core::leaves::LeafDevice;
use warpath_core::rows::RowSet;
use warpath_device::DeviceLeaves;
use warpath_device::cuda::{Cuda, KernelTime};
use warpath_lang::predicate::Predicate;
use warpath_part::text::Shredder;
use warpath_resident::aggregate::{
    Aggregate, First, GroupColumn, Grouped, Numbers, TableOf, group, group_on,
};
use warpath_resident::{DeviceTable, Dictionaries, Question, Segment};

/// Bytes of text of a segment.
const SEGMENT_BYTES: usize = 32 << 20;

#[derive(clap::Args)]
pub struct Args {
    /// The CUDA device of this number
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// The shape of the records: bluesky or twitter
    #[arg(long, default_value = "bluesky")]
    shape: Shape,
    /// Text of the records, in GB of 10⁹ bytes, at least; 10 million records of Bluesky have 4.8
    #[arg(long, default_value_t = 4.8)]
    gigabytes: f64,
    /// Counted runs of each question
    #[arg(long, default_value_t = 11)]
    runs: usize,
    /// Do not compare with the host
    #[arg(long)]
    no_check: bool,
}

fn path(name: &str) -> Vec<Vec<u8>> {
    name.split('.').map(|name| name.as_bytes().to_vec()).collect()
}

fn question(predicate: &str) -> Result<Question> {
    Ok(Question::new(Predicate::parse(predicate)?.exact_condition().context("an exact condition")?))
}

/// A query of JSONBench.
struct Query {
    name: &'static str,
    question: Option<Question>,
    columns: Vec<GroupColumn>,
    aggregates: Vec<Aggregate>,
    /// The groups that are wanted; `None` for all.
    first: Option<First>,
}

/// The predicates that are counted.
const OF_EVENTS: &[&str] = &[
    "$.commit.collection == 'app.bsky.feed.post'",
    "$.kind == 'commit' and $.commit.operation == 'delete'",
    "$.time_us >= 1732206349000000 and $.time_us < 1732206350000000",
    "$.did == 'none'",
];
const OF_TWEETS: &[&str] = &["$.user.lang == 'nl'", "$.user.lang == 'nl' and $.retweet_count > 10"];

/// The groups of tweets.
fn of_tweets() -> Vec<Query> {
    let column = |name: &str| GroupColumn { path: path(name), derive: None, unit: None };
    let columns = vec![column("user.lang")];
    vec![Query {
        name: "$.user.lang",
        question: None,
        columns,
        aggregates: vec![Aggregate::Rows],
        first: None,
    }]
}

fn queries() -> Result<Vec<Query>> {
    const HOUR: i64 = 3_600_000_000;

    let column = |name: &str| GroupColumn { path: path(name), derive: None, unit: None };
    let hour = |name: &str| {
        let hour = |value: &Option<i64>| Some(value.as_ref()?.div_euclid(HOUR).rem_euclid(24));
        let derive = move |values: &[Option<i64>]| Ok(values.iter().map(hour).collect());
        let unit = NonZeroU64::new(HOUR as u64);
        GroupColumn { path: path(name), derive: Some(Arc::new(derive)), unit }
    };
    let created = "$.kind == 'commit' and $.commit.operation == 'create'";
    let posts = format!("{created} and $.commit.collection == 'app.bsky.feed.post'");
    let three = format!(
        "{created} and $.commit.collection in ('app.bsky.feed.post', 'app.bsky.feed.repost', \
         'app.bsky.feed.like')"
    );
    let (least, greatest) = (Aggregate::Least(path("time_us")), Aggregate::Greatest(path("time_us")));
    let query = |name, predicate: Option<&str>, columns, aggregates, first| {
        let question = predicate.map(question).transpose()?;
        anyhow::Ok(Query { name, question, columns, aggregates, first })
    };
    let by_least = First { count: 3, value: 0, minus: None, divide: 1, is_descending: false };
    let by_span = First { minus: Some(1), divide: 1000, is_descending: true, ..by_least };
    let collection = || column("commit.collection");
    let distinct = Aggregate::Distinct(path("did"));
    Ok(vec![
        query("q1", None, vec![collection()], vec![Aggregate::Rows], None)?,
        query("q2", Some(created), vec![collection()], vec![Aggregate::Rows, distinct], None)?,
        query("q3", Some(&three), vec![collection(), hour("time_us")], vec![Aggregate::Rows], None)?,
        query("q4", Some(&posts), vec![column("did")], vec![least.clone()], Some(by_least))?,
        query("q5", Some(&posts), vec![column("did")], vec![greatest, least], Some(by_span))?,
    ])
}

/// Keeps the first groups, as ORDER BY and LIMIT of SQL have them. Returns their keys.
fn keep_first(query: &Query, grouped: &mut Grouped) -> Vec<Option<i64>> {
    let Some(first) = query.first else { return Vec::new() };
    let number = |aggregate: usize, group: usize| match &grouped.numbers[aggregate] {
        Numbers::Integers(integers) => integers[group],
        _ => None,
    };
    let key = |group: usize| {
        let minus = first.minus.map_or(Some(0), |minus| number(minus, group))?;
        let key = (number(first.value, group)? - minus) / first.divide;
        Some(if first.is_descending { -key } else { key })
    };
    let mut all: Vec<(Option<i64>, usize)> =
        (0..grouped.len).into_par_iter().map(|group| (key(group), group)).collect();
    let count = first.count as usize;
    if all.len() > count {
        all.select_nth_unstable(count - 1);
        all.truncate(count);
    }
    all.sort_unstable();
    let (keys, groups): (_, Vec<usize>) = all.into_iter().unzip();
    grouped.keep(&groups);
    keys
}

fn show(name: &str, walls: Vec<f64>, kernels: &[KernelTime]) {
    let walls = Times::new(walls);
    let of: Vec<String> = kernels.iter().map(|of| format!("{} {:.3}", of.name, of.milliseconds)).collect();
    let (median, least, most) = (walls.median(), walls.least(), walls.most());
    println!("{name:28} {median:9.3} ms ({least:.3} to {most:.3}); kernels: {}", of.join(", "));
}

pub fn run(args: &Args) -> Result<()> {
    let begin = Instant::now();
    let dictionaries = Dictionaries::default();
    let count = (args.gigabytes * 1e9 / SEGMENT_BYTES as f64).ceil() as u64;
    let make = |seed: u64| {
        let text = ndjson(args.shape, seed, SEGMENT_BYTES);
        let mut shredder = Shredder::new();
        let group = shredder.shred(&text)?;
        anyhow::Ok((Segment::of(shredder.tree(), &group, &text, &dictionaries)?, text.len() as u64))
    };
    let made: Vec<(Segment, u64)> = (1..=count).into_par_iter().map(make).collect::<Result<_>>()?;
    let (segments, bytes): (Vec<Segment>, Vec<u64>) = made.into_iter().unzip();
    let (bytes, all): (u64, Vec<&Segment>) = (bytes.iter().sum(), segments.iter().collect());
    let rows: u64 = all.iter().map(|segment| u64::from(segment.rows())).sum();
    let memory: u64 = all.iter().map(|segment| segment.bytes()).sum::<u64>() + dictionaries.bytes();
    println!(
        "{rows} records, {:.2} GB of text, {:.2} GB in host memory, made and loaded in {:.1} s",
        bytes as f64 / 1e9,
        memory as f64 / 1e9,
        begin.elapsed().as_secs_f64()
    );
    let leaves = Arc::new(DeviceLeaves::new(Cuda::new(args.device)?));
    let device: Arc<dyn LeafDevice> = leaves.clone();
    let begin = Instant::now();
    let table = DeviceTable::load(&device, &all)?.context("segments with rows have a table")?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{}: {:.2} GB of leaves, copied in {seconds:.2} s", device.name(), table.bytes() as f64 / 1e9);
    let tables: [TableOf<'_>; 1] = [(&table, &all[..])];
    let (queries, predicates) = match args.shape {
        Shape::Twitter => (of_tweets(), OF_TWEETS),
        Shape::Bluesky => (queries()?, OF_EVENTS),
        _ => bail!("there are no questions about this shape"),
    };
    for query in &queries {
        let (mut walls, mut kernels) = (Vec::new(), Vec::new());
        for number in 0..=args.runs + 1 {
            if number > args.runs {
                leaves.with_queue(Cuda::start_timeline);
            }
            let of = |first: Option<&First>| {
                let question = query.question.as_ref();
                let found = group_on(&tables, question, &query.columns, &query.aggregates, first)?;
                found.context("the device has this query")
            };
            let begin = Instant::now();
            let mut found = of(query.first.as_ref())?;
            let keys = keep_first(query, &mut found);
            let wall = begin.elapsed().as_secs_f64() * 1e3;
            if number > args.runs {
                kernels = leaves.with_queue(Cuda::take_timeline)?.0;
            } else if number > 0 {
                // The first run loads the kernels.
                walls.push(wall);
            }
            if number == 0 && !args.no_check {
                let mut found = of(None)?;
                check(query, &all, &found)?;
                ensure!(keep_first(query, &mut found) == keys, "{}: other groups come first", query.name);
            }
            std::hint::black_box(found);
        }
        show(query.name, walls, &kernels);
    }
    for predicate in predicates {
        let question = question(predicate)?;
        for has_rows in [false, true] {
            let (mut walls, mut kernels) = (Vec::new(), Vec::new());
            let mut found = 0;
            for number in 0..=args.runs + 1 {
                if number > args.runs {
                    leaves.with_queue(Cuda::start_timeline);
                }
                let begin = Instant::now();
                let of = table.rows(Some(&question), &all, has_rows)?.context("the device has it")?;
                found = of.iter().map(|of| of.count).sum();
                if number > args.runs {
                    kernels = leaves.with_queue(Cuda::take_timeline)?.0;
                } else if number > 0 {
                    walls.push(begin.elapsed().as_secs_f64() * 1e3);
                }
            }
            if !has_rows && !args.no_check {
                let want: Option<Vec<u64>> =
                    all.par_iter().map(|segment| question.rows(segment).map(|rows| rows.count())).collect();
                ensure!(want.map(|counts| counts.iter().sum()) == Some(found), "{predicate}: another count");
            }
            let what = if has_rows { "rows" } else { "count" };
            println!("{predicate}: {found} records");
            show(what, walls, &kernels);
        }
    }
    show_text(&all, args.runs)
}

/// Times the text of 1,000 rows that are far from each other.
fn show_text(all: &[&Segment], runs: usize) -> Result<()> {
    const ROWS: u64 = 1000;

    let rows: u64 = all.iter().map(|segment| u64::from(segment.rows())).sum();
    let mut of_segments: Vec<RowSet> =
        all.iter().map(|segment| RowSet::none(segment.rows().into())).collect();
    for number in 0..ROWS.min(rows) {
        let mut row = rows / ROWS * number;
        for (segment, set) in all.iter().zip(&mut of_segments) {
            match row.checked_sub(segment.rows().into()) {
                Some(rest) => row = rest,
                None => {
                    set.insert(row);
                    break;
                }
            }
        }
    }
    let (mut walls, mut bytes) = (Vec::new(), 0);
    for number in 0..=runs {
        let begin = Instant::now();
        let texts = all.par_iter().zip(&of_segments).map(|(segment, rows)| {
            let mut text = Vec::new();
            segment.lines().decode_rows(rows, &mut text)?;
            anyhow::Ok(text)
        });
        let text = texts.collect::<Result<Vec<_>>>()?.concat();
        if number > 0 {
            walls.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        bytes = text.len();
    }
    show(&format!("text of {ROWS} rows, {bytes} B"), walls, &[]);
    Ok(())
}

/// Compares all groups with the host's.
fn check(query: &Query, all: &[&Segment], found: &Grouped) -> Result<()> {
    let begin = Instant::now();
    let want = group(all, query.question.as_ref(), &query.columns, &query.aggregates, &Stop::default())?;
    let seconds = begin.elapsed().as_secs_f64();
    let sorted = |grouped: &Grouped| {
        let row = |group: usize| {
            let values: Vec<_> = grouped.columns.iter().map(|values| values.get(group)).collect();
            let number = |numbers: &Numbers| match numbers {
                Numbers::Counts(counts) => Some(i128::from(counts[group])),
                Numbers::Integers(integers) => integers[group].map(i128::from),
                Numbers::Sums(sums) => sums[group],
                Numbers::Doubles(doubles) => doubles[group].map(|double| double.to_bits().into()),
            };
            (format!("{values:?}"), grouped.numbers.iter().map(number).collect::<Vec<_>>())
        };
        let mut all: Vec<_> = (0..grouped.len).into_par_iter().map(row).collect();
        all.par_sort();
        all
    };
    ensure!(sorted(found) == sorted(&want), "{}: the host has other groups", query.name);
    println!("{}: {} groups, equal to the host's, which took {seconds:.3} s", query.name, found.len);
    Ok(())
}
