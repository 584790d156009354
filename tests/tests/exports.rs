//! An exported array frees all memory of the host when it is released. This is a program of its own, because
//! its allocator counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi};
use arrow_array::{RecordBatch, StructArray};
use warpath::columns::{ColumnType, DeviceBatch, Schema};
use warpath::{Engine, Query};
use warpath_tests::emulated::Emulated;

struct Counting;

thread_local! {
    /// The bytes and the allocations that are alive. This thread alone exports and releases.
    static ALIVE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize, allocations: isize) {
    let (bytes_before, allocations_before) = ALIVE.get();
    ALIVE.set((bytes_before + bytes, allocations_before + allocations));
}

// SAFETY: all work is the system's allocator, which keeps the contract. To count allocates nothing: the
// counter needs neither initialisation nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize, 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize), -1);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes and the allocations that are left of a call, after one before it.
fn left_by(mut call: impl FnMut()) -> (isize, isize) {
    call();
    let (bytes, allocations) = ALIVE.get();
    call();
    let (bytes_after, allocations_after) = ALIVE.get();
    (bytes_after - bytes, allocations_after - allocations)
}

/// The rows of three records on an emulated device: numbers, strings with nulls, and lists.
fn batch(device: &Emulated) -> DeviceBatch {
    let column = |path: &str, kind| (Query::compile(path).unwrap(), kind);
    let schema = Schema::new(&[
        column("$.id", ColumnType::Int64),
        column("$.name", ColumnType::Utf8),
        column("$.on", ColumnType::Boolean),
        column("$.tags[*]", ColumnType::Utf8),
        column("$.ids[*]", ColumnType::Int64),
    ]);
    let text = "{\"id\":1,\"name\":\"a\",\"tags\":[\"a\",\"b\"]}\n{\"id\":2,\"ids\":[1,2]}\n{\"on\":true}\n";
    let engine = Engine::builder().backend(device.backend()).workers(1).build().unwrap();
    let batches = engine.reader("text", text.as_bytes()).device_columns(&schema.unwrap());
    let batches: Vec<DeviceBatch> = batches.collect::<Result<_, _>>().unwrap();
    DeviceBatch::join(&batches).unwrap()
}

/// The rows of an export, as a consumer in C has them: it moves the structure out, and releases its copy.
fn imported(batch: &DeviceBatch) -> RecordBatch {
    let (array, schema) = batch.export().unwrap();
    let array = ManuallyDrop::new(array);
    // SAFETY: an `ArrowDeviceArray` begins with an `ArrowArray`, whose layout `FFI_ArrowArray` has, too. The
    // original is not dropped, so that only the copy is released.
    let array = unsafe { ptr::from_ref(&*array).cast::<FFI_ArrowArray>().read() };
    // SAFETY: the array and the schema are those of `DeviceBatch::export`, and the memory of the emulated
    // device is this process's.
    StructArray::from(unsafe { from_ffi(array, &schema) }.unwrap()).into()
}

#[test]
fn a_released_export_leaves_nothing() {
    // The counter counts.
    let mut kept = Vec::with_capacity(2);
    assert_eq!(left_by(|| kept.push(Box::new([0_u8; 80]))), (80, 1));
    drop(kept);

    let device = Emulated::default();
    let batch = batch(&device);
    let used = device.used();
    assert_eq!(batch.num_rows(), 3);
    assert_eq!(left_by(|| drop(batch.export().unwrap())), (0, 0), "an array that nobody takes");
    assert_eq!(left_by(|| drop(imported(&batch))), (0, 0), "an array that is read");
    // A column outlives its array. What is left is freed with it.
    let one_column = || {
        let rows = imported(&batch);
        let column = rows.column(3).clone();
        drop(rows);
        drop(column);
    };
    assert_eq!(left_by(one_column), (0, 0), "a column that outlives its array");
    let several = || {
        let all: Vec<_> = (0..10).map(|_| batch.export().unwrap()).collect();
        drop(all);
    };
    assert_eq!(left_by(several), (0, 0), "several arrays at once");
    assert_eq!(device.used(), used);
}
