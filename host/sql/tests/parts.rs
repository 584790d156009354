//! Scans of stores: what they read, and what they leave out.

use std::fmt;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use warpath::store::{AddOptions, Store};
use warpath::{Engine, OnError, Source};
use warpath_random::Rng;
use warpath_sql::{KnownParts, Options};

use super::{Session, quoted};

/// The local file system, which counts the bytes that are read.
#[derive(Debug, Default)]
struct Counting {
    files: LocalFileSystem,
    bytes: AtomicU64,
}

impl Counting {
    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl fmt::Display for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counting")
    }
}

#[async_trait]
impl ObjectStore for Counting {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.files.put_opts(at, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.files.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let range = options.range.clone();
        let result = self.files.get_opts(at, options).await?;
        self.add(match range {
            Some(GetRange::Bounded(range)) => range.end - range.start,
            _ => result.meta.size,
        });
        Ok(result)
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.add(ranges.iter().map(|range| range.end - range.start).sum());
        self.files.get_ranges(at, ranges).await
    }

    fn delete_stream(&self, all: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(all)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }
}

pub(super) fn add(path: &FilePath, text: &str, group_bytes: usize) {
    let source = Source::Reader("lines".into(), Box::new(std::io::Cursor::new(text.to_owned())));
    let options = AddOptions::default().group_bytes(group_bytes);
    Store::add(path, vec![source], options, &mut |_| {}).unwrap();
}

/// The bytes of all parts of a store.
pub(super) fn size(path: &FilePath) -> u64 {
    let parts = Store::open(path).unwrap().parts().unwrap();
    parts.iter().map(|part| part.file_bytes).sum()
}

/// Lines with a number that grows, in a struct, and with 16 members of random text.
pub(super) fn lines(count: u64) -> String {
    let mut random = Rng::new(7);
    let mut text = String::new();
    for at in 0..count {
        write!(text, "{{\"data\":{{\"at\":{at},\"kind\":\"k{}\"", random.below(5)).unwrap();
        for member in 0..16 {
            write!(text, ",\"m{member}\":\"{:016x}\"", random.below(usize::MAX)).unwrap();
        }
        writeln!(text, "}},\"id\":{at}}}").unwrap();
    }
    text
}

#[test]
fn queries_read_the_bytes_that_they_need() {
    let session = Session::new();
    let path = session.path("logs.wp");
    let text = lines(20_000);
    add(&path, &text, text.len() / 8);
    let whole = size(&path);
    assert!(whole > 2 << 20, "{whole}");
    let read = |query: &str, rows: &str| {
        // A new session knows no footers.
        let other = Session::new();
        let counting = Arc::new(Counting::default());
        let url = url::Url::parse("file://").unwrap();
        other.context.register_object_store(&url, counting.clone());
        assert_eq!(other.rows(&query.replace("STORE", &quoted(&path))), [rows], "{query}");
        counting.bytes.load(Ordering::Relaxed)
    };
    let footer = read("SELECT count(*) FROM STORE", "20000");
    assert!((1..=70_000).contains(&footer), "{footer}");
    assert_eq!(read("SELECT count(id), min(id), max(id) FROM STORE", "20000 0 19999"), footer);
    // One leaf.
    let leaf = read("SELECT count(DISTINCT data['kind']) FROM STORE", "5") - footer;
    assert!((1..whole / 40).contains(&leaf), "{leaf} of {whole}");
    let leaf = read("SELECT max(length(data['m3'])) FROM STORE", "16") - footer;
    assert!((whole / 40..whole / 10).contains(&leaf), "{leaf} of {whole}");
    // One of eight groups.
    let some = read("SELECT max(length(data['m3'])) FROM STORE WHERE data['at'] = 12345", "16") - footer;
    assert!((1..leaf / 5).contains(&some), "{some} of {leaf}");
    let none = read("SELECT count(data['m3']) FROM STORE WHERE data['at'] < 0", "0") - footer;
    assert_eq!(none, 0);
}

/// A footer is read once, also if parts are added beside it, and again if its part has changed.
#[test]
fn sessions_share_the_footers_of_parts() {
    let (folder, known) = (tempfile::tempdir().unwrap(), KnownParts::default());
    let path = folder.path().join("logs.wp");
    add(&path, &lines(2000), 1 << 20);
    let session = || {
        let session = Session::with(Options { workers: 2, known: Some(known.clone()), ..Options::default() });
        let counting = Arc::new(Counting::default());
        let url = url::Url::parse("file://").unwrap();
        session.context.register_object_store(&url, counting.clone());
        (session, counting)
    };
    let read = |query: &str| {
        let (session, counting) = session();
        let query = query.replace("STORE", &quoted(&path));
        let rows = session.rows(&query);
        let read = counting.bytes.load(Ordering::Relaxed);
        assert_eq!(rows, Session::new().rows(&query), "{query}");
        (rows, read)
    };
    let query = "SELECT count(*), min(id), max(data['at']) FROM STORE";
    let (rows, footer) = read(query);
    assert_eq!(rows, ["2000 0 1999"]);
    assert!(footer > 0);
    // The greatest value of a member of an object needs the member's pages, and no footer.
    let (again, pages) = read(query);
    assert!(again == rows && pages < footer / 100, "{again:?}, {pages} of {footer}");
    assert_eq!(read("SELECT count(*), min(id), max(id) FROM STORE"), (vec!["2000 0 1999".to_owned()], 0));
    let (rows, _) = read("SELECT data['kind'] AS k, count(*) FROM STORE WHERE id > 99 GROUP BY k ORDER BY k");
    assert_eq!(rows.len(), 5);
    // Another version has another column.
    add(&path, "{\"id\":-1,\"more\":true}\n", 1 << 20);
    let query = "SELECT count(*), min(id), count(more) FROM STORE";
    let (rows, added) = read(query);
    assert_eq!(rows, ["2001 -1 1"]);
    assert!((1..footer).contains(&added), "{added} of {footer}");
    assert_eq!(read(query), (rows, 0));
    // A part that is damaged, and one that is gone.
    let part = path.join(&Store::open(&path).unwrap().parts().unwrap()[0].name);
    let query = query.replace("STORE", &quoted(&path));
    std::fs::write(&part, "no footer").unwrap();
    let said = session().0.error(&query);
    assert!(said.contains(&*part.file_name().unwrap().to_string_lossy()), "{said}");
    assert_eq!(said, Session::new().error(&query));
    std::fs::remove_file(&part).unwrap();
    assert_eq!(session().0.error(&query), Session::new().error(&query));
}

/// Values of all kinds of columns. Parts and groups lack some members.
fn odd_lines(random: &mut Rng, part: u64) -> String {
    let mut text = String::new();
    for at in 0..40 {
        let group = at / 10;
        let mut members = vec![format!("\"n\":{}", part * 100 + at)];
        if random.below(3) > 0 {
            members.push(format!("\"s\":\"{}{}\"", ["a", "é", "z\\u0000", ""][random.below(4)], group));
        }
        if group != 1 && random.below(4) > 0 {
            members.push(format!("\"d\":{:?}", [0.0, -0.0, 1.5, -2.25, 1e300][random.below(5)]));
        }
        if group == 3 || part == 1 {
            members.push(format!("\"b\":{}", random.below(2) == 0));
        }
        if random.below(2) == 0 {
            members.push("\"x\":null".to_owned());
        } else if part == 2 {
            members.push(format!("\"x\":{{\"y\":{}}}", [group, 7][random.below(2)]));
        }
        let inner = format!("{{{}}}", members.join(","));
        match random.below(8) {
            0 => text.push_str("no json\n"),
            1 => writeln!(text, "{{\"o\":null,\"id\":{at}}}").unwrap(),
            _ => writeln!(text, "{{\"o\":{inner},\"id\":{at},\"n\":{}}}", part * 10 + group).unwrap(),
        }
    }
    text
}

/// Rows are left out only if the condition is not true of them.
#[test]
fn conditions_exclude_no_row_that_they_hold_for() {
    let session = Session::new();
    let path = session.path("odd.wp");
    let mut random = Rng::new(41);
    for part in 0..4 {
        let text = odd_lines(&mut random, part);
        add(&path, &text, text.len() / 4);
    }
    let leaves = ["o['n']", "o['s']", "o['d']", "o['b']", "o['x']['y']", "id", "n"];
    // A table in memory has no bounds.
    let columns: Vec<String> =
        leaves.iter().enumerate().map(|(at, leaf)| format!("{leaf} AS c{at}")).collect();
    let query = format!("CREATE TABLE copy AS SELECT {}, o AS o FROM {}", columns.join(", "), quoted(&path));
    session.batches(&query).unwrap();
    let table = quoted(&path);
    let constants = |column: usize| -> &[&str] {
        match column {
            1 => &["'a0'", "'é1'", "''", "'zz'", "'z'"],
            2 => &["0.0", "-0.0", "1.5", "-3", "1e301", "CAST('NaN' AS DOUBLE)"],
            3 => &["true", "false"],
            _ => &["0", "7", "13", "105", "-1", "2.5", "399"],
        }
    };
    let atom = |random: &mut Rng| {
        let column = random.below(leaves.len());
        let constants = constants(column);
        let mut constant = || constants[random.below(constants.len())];
        let (one, two) = (constant(), constant());
        let ops = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];
        let op = ops[random.below(ops.len())];
        let name = format!("c{column}#");
        match random.below(8) {
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!("{name} IN ({one}, {two})"),
            3 => format!("{name} NOT IN ({one}, {two})"),
            4 => format!("{one} {} {name}", ["=", "<", ">="][random.below(3)]),
            5 => ["o# IS NULL", "o# IS NOT NULL"][random.below(2)].to_owned(),
            _ => format!("({name} {op} {one})"),
        }
    };
    let mut some = 0;
    for _ in 0..120 {
        let [a, b, c] = [(); 3].map(|()| atom(&mut random));
        let forms =
            ["@A", "NOT (@A)", "@A AND @B", "@A OR @B", "@A AND NOT (@B OR @C)", "NOT (@A AND @B) AND @C"];
        let form = forms[random.below(forms.len())];
        let condition = form.replace("@A", &a).replace("@B", &b).replace("@C", &c);
        let copied = condition.replace('#', "");
        let mut stored = condition.replace("o#", "o");
        for (at, leaf) in leaves.iter().enumerate() {
            stored = stored.replace(&format!("c{at}#"), leaf);
        }
        let expected = session.rows(&format!("SELECT count(*) FROM copy WHERE {copied}"));
        assert_eq!(
            session.rows(&format!("SELECT count(*) FROM {table} WHERE {stored}")),
            expected,
            "{stored}"
        );
        some += usize::from(expected != ["0"]);
    }
    assert!(some > 40, "{some}");
}

/// Lines of which a row group has several pages, that end at different rows for each member. Blocks of lines
/// lack some members, or have other values there.
fn paged_lines(random: &mut Rng) -> String {
    let mut text = String::new();
    for at in 0..40_000_u64 {
        let block = at / 3_000;
        let mut members = vec![format!("\"at\":{at}")];
        if block % 4 != 1 {
            let length = if block % 2 == 0 { 300 } else { 3 };
            members.push(format!("\"s\":\"{block:02}{}\"", "x".repeat(length)));
        }
        if block % 3 != 0 || random.below(4) == 0 {
            members.push(format!("\"d\":{:?}", block as f64 / 2.0 + [0.0, 0.25][random.below(2)]));
        }
        if block > 6 {
            members.push(format!("\"b\":{}", block % 2 == 0));
        }
        match (block, random.below(100)) {
            (5, _) => writeln!(text, "{{\"o\":null,\"id\":{at}}}").unwrap(),
            (_, 0) => text.push_str("no json\n"),
            _ => writeln!(text, "{{\"o\":{{{}}},\"id\":{at}}}", members.join(",")).unwrap(),
        }
    }
    text
}

/// Pages are left out only if the condition is not true of their rows. They are left out, also where leaves
/// are in memory and do not answer.
#[test]
fn conditions_exclude_pages() {
    let session = Session::new();
    let path = session.path("paged.wp");
    let mut random = Rng::new(43);
    let text = paged_lines(&mut random);
    add(&path, &text, 64 << 20);
    let leaves = ["o['at']", "o['s']", "o['d']", "o['b']", "id"];
    let columns: Vec<String> =
        leaves.iter().enumerate().map(|(at, leaf)| format!("{leaf} AS c{at}")).collect();
    let table = quoted(&path);
    session.batches(&format!("CREATE TABLE copy AS SELECT {} FROM {table}", columns.join(", "))).unwrap();
    let atom = |random: &mut Rng| {
        let column = random.below(leaves.len());
        let one = match column {
            1 => format!("'{:02}'", random.below(15)),
            2 => format!("{:?}", random.below(30) as f64 / 4.0),
            3 => ["true", "false"][random.below(2)].to_owned(),
            _ => random.below(41_000).to_string(),
        };
        match random.below(8) {
            0 => format!("c{column} IS NULL"),
            1 => format!("c{column} IS NOT NULL"),
            at => format!("c{column} {} {one}", ["<", "<=", ">", ">=", "=", "<>"][at - 2]),
        }
    };
    let loaded = Engine::builder().build().unwrap().load(Source::named(&path, Default::default()).unwrap());
    let loaded = loaded.unwrap();
    let in_memory = Options { workers: 2, on_error: OnError::Skip, ..Options::default() };
    let in_memory = in_memory.context_over(&Arc::default(), Arc::new(move || loaded.clone())).unwrap();
    let mut some = 0;
    for _ in 0..80 {
        let [a, b, c] = [(); 3].map(|()| atom(&mut random));
        let forms =
            ["@A", "NOT (@A)", "@A AND @B", "@A OR @B", "@A AND (@B OR @C)", "(@A OR @B) AND NOT (@C)"];
        let form = forms[random.below(forms.len())];
        let copied = form.replace("@A", &a).replace("@B", &b).replace("@C", &c);
        let mut stored = copied.clone();
        for (at, leaf) in leaves.iter().enumerate() {
            stored = stored.replace(&format!("c{at} "), &format!("{leaf} "));
        }
        let query = |context: &SessionContext, table: &str, condition: &str, id: &str| {
            let of = format!("SELECT count(*), sum({id}), max({id}) FROM {table} WHERE {condition}");
            session.rows_in(context, &of)
        };
        let expected = query(&session.context, "copy", &copied, "c4");
        for context in [&session.context, &in_memory] {
            assert_eq!(query(context, &table, &stored, "id"), expected, "{stored}");
        }
        some += usize::from(expected[0] != "0 NULL NULL");
    }
    assert!(some > 40, "{some}");
    for (condition, at_most) in [
        ("o['at'] BETWEEN 20000 AND 20010", 8192),
        ("o['at'] < 10 OR o['at'] > 39990", 2 * 8192),
        ("o['s'] LIKE '02%'", 2 * 8192),
        ("o['b'] IS NOT NULL AND o['at'] < 30000", 2 * 8192),
        ("id > 39000 AND o['at'] > 100", 8192),
    ] {
        let query = format!("EXPLAIN ANALYZE SELECT length(o['s']) FROM {table} WHERE {condition}");
        for context in [&session.context, &in_memory] {
            let plan = session.rows_in(context, &query);
            let scan = plan.iter().find(|line| line.contains("DataSourceExec")).unwrap();
            let (_, rows) = scan.split_once("output_rows=").unwrap();
            let rows: String = rows.chars().take_while(|it| *it != ',').collect();
            let rows: f64 = match rows.strip_suffix(" K") {
                Some(thousands) => thousands.parse::<f64>().unwrap() * 1000.0,
                None => rows.parse().unwrap(),
            };
            assert!(rows > 0.0 && rows <= f64::from(at_most) + 5.0, "{condition}: {scan}");
        }
    }
    let nothing = format!("SELECT id FROM {table} WHERE o['at'] > 50000");
    assert!(session.rows_in(&in_memory, &nothing).is_empty());
}

/// Numbers and bounds from footers are those of the rows.
#[test]
fn totals_are_those_of_the_rows() {
    let session = Session::new();
    let path = session.path("odd.wp");
    let mut random = Rng::new(42);
    for part in 0..3 {
        let text = odd_lines(&mut random, part);
        add(&path, &text, text.len() / 4);
    }
    add(&path, &format!("{{\"zero\":0.0,\"few\":1,\"long\":\"{}\"}}\n", "a".repeat(200)), 1 << 20);
    session.batches(&format!("CREATE TABLE copy AS SELECT * FROM {}", quoted(&path))).unwrap();
    let totals = "count(*), count(o), count(id), min(id), max(id), min(n), count(few), max(few), count(_raw), \
                  min(zero), max(zero), max(long), min(o['d']), max(o['s'])";
    let rows = session.rows(&format!("SELECT {totals} FROM {}", quoted(&path)));
    assert_eq!(rows, session.rows(&format!("SELECT {totals} FROM copy")));
    assert_eq!(session.rows(&format!("SELECT id FROM {} LIMIT 50", quoted(&path))).len(), 50);
}
