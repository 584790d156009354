//! Calls over single records allocate nothing after the first. This is a program of its own, because its
//! allocator counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use warpath_cpu::find::Find;
use warpath_cpu::twig::{Standing, Subscriptions};
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};

struct Counting;

thread_local! {
    /// The allocations of this thread: the harness has threads of its own.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count_one() {
    COUNT.set(COUNT.get() + 1);
}

// SAFETY: all work is the system's allocator, which keeps the contract. To count allocates nothing: the
// counter needs neither initialisation nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations of a call, after calls before it.
fn allocations(before: usize, mut call: impl FnMut() -> usize) -> (u64, usize) {
    for _ in 0..before {
        black_box(call());
    }
    let count = COUNT.get();
    let found = black_box(call());
    (COUNT.get() - count, found)
}

/// An object of about `bytes` bytes.
fn record(bytes: usize) -> Vec<u8> {
    let mut record = String::from(
        "{\"id\": 7, \"at\": \"2026-01-02\", \"user\": {\"lang\": \"nl\", \"tags\": [\"a\", \"b\"]}",
    );
    while record.len() < bytes {
        record += &format!(", \"name {}\": {{\"id\": [1, 2, {{}}]}}", record.len());
    }
    (record + "}").into_bytes()
}

#[test]
fn calls_after_the_first_allocate_nothing() {
    // The counter counts.
    assert_eq!(allocations(1, || black_box(vec![1, 2, 3]).len()), (1, 3));
    for bytes in [200, 1000, 4600, 100_000] {
        let record = record(bytes);
        let pretty: Vec<u8> = [&record[..1], b"\n  ", &record[1..]].concat();
        for (path, least) in
            [("$.user.lang", 1), ("$.none", 0), ("$..id", 2), ("$.user.tags[*]", 2), ("$.*[?@ == 'a']", 0)]
        {
            let query = Query::compile(path).unwrap();
            for record in [&record, &pretty] {
                let (count, found) = allocations(1, || query.find(record).unwrap().count());
                assert!(found >= least, "{path}");
                assert_eq!(count, 0, "{path} of {bytes} bytes");
                assert_eq!(allocations(0, || query.matches(record).unwrap().into()).0, 0, "{path}");
            }
        }
        let paths = ["$.id", "$.user.tags[*]", "$['name 52'].id[0]", "$.user"];
        let program = Program::new(&paths.map(|path| Query::compile(path).unwrap())).unwrap();
        let (count, found) = allocations(1, || {
            let row = program.find(&record).unwrap();
            row.first(0).map_or(0, |id| id.bytes().len()) + row.of(1).count()
        });
        assert_eq!((count, found), (0, 3));
        let text =
            "$.id >= 5 and $.user.lang in ('nl', 'fy') and not ($.none == 1 or $.user.tags[0] is null)";
        let predicate = Predicate::parse(text).unwrap();
        assert_eq!(allocations(1, || predicate.matches(&record).unwrap().into()), (0, 1));
        let predicate = Predicate::parse("time($.at) >= '2026-01-01'").unwrap();
        assert_eq!(allocations(1, || predicate.matches(&record).unwrap().into()), (0, 1));
    }
}

#[test]
fn other_records_and_queries_use_the_memory_again() {
    let (query, other) = (Query::compile("$.user.lang").unwrap(), Query::compile("$..id").unwrap());
    let records: Vec<Vec<u8>> = [4600, 200, 1000].map(record).into();
    for record in &records {
        let ids = record.windows(5).filter(|bytes| bytes == b"\"id\":").count();
        assert_eq!(other.find(record).unwrap().len(), ids);
        assert_eq!(query.find(record).unwrap().len(), 1);
    }
    // A malformed record allocates its error alone. The next record has the memory of before.
    let mut broken = records[2].clone();
    broken.pop();
    assert!(query.find(&broken).is_err() && other.find(&broken).is_err());
    for record in &records {
        for query in [&query, &other] {
            assert_eq!(allocations(0, || query.find(record).unwrap().len().min(1)), (0, 1));
        }
    }
    // Two results that are alive at once have memory each, and both are used again. The second call exchanges
    // the two, so that both have room for either record.
    let twice = || query.find(&records[0]).unwrap().zip(other.find(&records[1]).unwrap()).count();
    assert_eq!(allocations(2, twice), (0, 1));
}

#[test]
fn events_allocate_nothing() {
    let mut subscriptions = Subscriptions::default();
    for number in 0..3000 {
        let query = match number % 3 {
            0 => format!("$['name {}'].id", number / 3),
            1 => format!("//user[lang = 'nl'][tags]//*[. = {number}]"),
            _ => format!("/user[lang = '{}'][tags]//*[. != '{number}']", ["nl", "fy", "en"][number % 9 / 3]),
        };
        subscriptions.add(&format!("s{number}"), &query).unwrap();
    }
    let standing = Standing::new(subscriptions);
    for bytes in [900, 200, 4600] {
        let event = record(bytes);
        let (count, found) = allocations(1, || standing.matches(&event).unwrap().ids().count());
        assert_eq!(count, 0, "{bytes} bytes");
        assert!(found > 0);
    }
    assert!(standing.matches(b"{").is_err());
    let event = record(900);
    assert_eq!(allocations(0, || standing.matches(&event).unwrap().len().min(1)), (0, 1));
}
