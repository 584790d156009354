"""No copy: libraries of Arrow read the buffers that the module exported."""

import ctypes
import gc
import os

import duckdb
import pandas
import polars
import pyarrow
import pytest
import warpath


class ArrowArray(ctypes.Structure):
    """The array of the Arrow C data interface."""


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Exported:
    """A batch that is exported once, whose capsules several libraries may look at."""

    def __init__(self, batch):
        self.schema, self.array = batch.__arrow_c_array__()
        array = ArrowArray.from_address(pointer_of(self.array, b"arrow_array"))
        columns = [array.children[at].contents for at in range(array.n_children)]
        assert all(column.offset == 0 for column in columns)
        self.addresses = [[column.buffers[at] or 0 for at in range(column.n_buffers)] for column in columns]

    def __arrow_c_array__(self, requested_schema=None):
        return self.schema, self.array

    def __arrow_c_schema__(self):
        return self.schema


COLUMNS = {
    "id": ("$.id", "int64"),
    "score": ("$.score", "float64"),
    "lang": ("$.user.lang", "string"),
    "name": ("$.user.name", "string"),
    "n": ("$.n", "int64"),
    "ok": ("$.ok", "bool"),
}


@pytest.fixture
def batch(events):
    path, _ = events
    return next(iter(warpath.open(path).select(COLUMNS)))


def test_pyarrow_reads_the_exported_buffers(batch):
    exported = Exported(batch)
    read = pyarrow.record_batch(exported)
    addresses = [[buffer.address if buffer else 0 for buffer in column.buffers()] for column in read.columns]
    assert addresses == exported.addresses
    assert all(any(column) for column in addresses)
    # A batch may be exported again: the buffers are shared, and live as long as one reader.
    again = Exported(batch)
    assert again.addresses == exported.addresses
    want = read.to_pydict()
    del exported, again, batch
    gc.collect()
    assert read.to_pydict() == want


def test_polars_reads_the_exported_buffers(batch):
    exported = Exported(batch)
    frame = polars.DataFrame(exported)
    # What Polars gives to pyarrow again has the addresses of its own buffers.
    newest = polars.CompatLevel.newest()
    read = [frame[name].to_arrow(compat_level=newest) for name in COLUMNS]
    for at, column in enumerate(COLUMNS):
        buffers = read[at].buffers()
        if column == "name":
            # Polars has views of strings, which refer to the exported bytes, unless all are short.
            assert buffers[2].address == exported.addresses[at][2]
        elif column != "lang":
            assert buffers[1].address == exported.addresses[at][1]
    assert frame.to_dict(as_series=False) == pyarrow.record_batch(batch).to_pydict()


def test_pandas_reads_the_exported_buffers(batch):
    exported = Exported(batch)
    read = pyarrow.table(exported)
    frame = read.to_pandas(types_mapper=pandas.ArrowDtype)
    for at, name in enumerate(COLUMNS):
        column = pyarrow.chunked_array(frame[name].array.__arrow_array__()).chunk(0)
        assert [buffer.address if buffer else 0 for buffer in column.buffers()] == exported.addresses[at]
    # NumPy's arrays, too, where there are no nulls.
    frame = read.to_pandas(split_blocks=True)
    for at, name in enumerate(("id", "score")):
        assert frame[name].to_numpy().__array_interface__["data"][0] == exported.addresses[at][1]
    # What pandas reads by itself is in arrays of its own.
    assert pandas.DataFrame.from_arrow(batch)["id"].tolist() == read["id"].to_pylist()


def test_duckdb_reads_a_selection(events):
    path, records = events
    events = warpath.open(path).select(COLUMNS)
    found = duckdb.sql("select lang, count(*), sum(id) from events group by lang order by lang").fetchall()
    by_lang = {}
    for record in records:
        by_lang.setdefault(record.get("user", {}).get("lang"), []).append(record["id"])
    want = [(lang, len(ids), sum(ids)) for lang, ids in by_lang.items()]
    assert sorted(found, key=str) == sorted(want, key=str)
    # The same variable is read again.
    assert duckdb.sql("select count(*) from events").fetchall() == [(len(records),)]


def memory(name):
    """A size in /proc/self/status, in bytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))


def test_duckdb_copies_no_columns(tmp_path):
    """DuckDB shows no addresses. Its memory grows by much less than the columns that it reads."""
    data = b'{"id":1,"text":"%s"}\n' % (b"x" * 1000) * 30_000
    (tmp_path / "data.ndjson").write_bytes(data)
    texts = warpath.open(tmp_path / "data.ndjson", partition_size=1 << 26)
    rows = next(iter(texts.select({"id": ("$.id", "int64"), "text": "$.text"})))
    assert len(rows) == 30_000
    query = "select sum(id), max(length(text)) from {} where text < 'y'"
    few = pyarrow.table({"id": [1], "text": ["x"]})
    connection = duckdb.connect(config={"threads": 1})
    assert connection.sql(query.format("few")).fetchall() == [(1, 1)]
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = memory("VmRSS")
    assert connection.sql(query.format("rows")).fetchall() == [(30_000, 1000)]
    assert memory("VmHWM") - before < len(data) // 3


def test_libraries_agree(events):
    path, _ = events
    rows = warpath.open(path, partition_size=50_000).select(COLUMNS)
    table = pyarrow.table(rows)
    assert table.column("id").num_chunks > 10
    assert polars.DataFrame(rows).to_arrow().cast(table.schema).equals(table)
    assert duckdb.sql("from rows").to_arrow_table().cast(table.schema).equals(table)
    frame = pandas.DataFrame.from_arrow(rows)
    assert list(frame) == list(COLUMNS)
    for name in ("id", "score", "ok"):
        assert frame[name].tolist() == table[name].to_pylist()
    assert [None if pandas.isna(name) else name for name in frame["name"]] == table["name"].to_pylist()


def test_a_capsule_that_nobody_takes_is_released(events):
    path, _ = events
    rows = warpath.open(path).select(COLUMNS)

    def drop(times):
        for _ in range(times):
            rows.__arrow_c_stream__()
            rows.__arrow_c_schema__()
            next(iter(rows)).__arrow_c_array__()
        gc.collect()
        return memory("VmRSS"), len(os.listdir("/proc/self/task"))

    memory_before, threads_before = drop(10)
    memory_after, threads_after = drop(200)
    # Each batch has more than 300 kB, and each read has threads of its own.
    assert memory_after - memory_before < 200 * 100_000
    assert threads_after < threads_before + 100
