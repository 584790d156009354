"""What the module reads, beside Python's own `json`."""

import gzip
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pyarrow
import pytest
import warpath

INT64 = range(-(2**63), 2**63)


@pytest.mark.parametrize("partition_size", [None, 1000, 100_000])
def test_columns_are_what_json_reads(events, partition_size):
    path, records = events
    rows = warpath.open(path, partition_size=partition_size).select(
        {
            "id": ("$.id", "int64"),
            "score": ("$.score", "float64"),
            "ok": ("$.ok", "bool"),
            "lang": ("$.user.lang", "string"),
            "name": "$.user.name",
            "n": ("$.n", "int64"),
            "tags": ("$.tags[*]", "string"),
            "known": ("$.user.lang", "string", "und"),
        }
    )
    table = pyarrow.table(rows)
    assert table.schema == pyarrow.schema(rows)
    user = [record.get("user", {}) for record in records]
    is_int = [isinstance(record["n"], int) and record["n"] in INT64 for record in records]
    want = {
        "id": [record["id"] for record in records],
        "score": [record["score"] for record in records],
        "ok": [record["ok"] for record in records],
        "lang": [one.get("lang") for one in user],
        "name": [one.get("name") for one in user],
        "n": [record["n"] if fits else None for record, fits in zip(records, is_int, strict=True)],
        "tags": [record["tags"] for record in records],
        "known": [one.get("lang", "und") for one in user],
    }
    assert table.to_pydict() == want
    # Nothing is lost silently.
    losses = rows.losses["n"]
    assert losses["null"] == sum(record["n"] is None for record in records)
    assert losses["overflow"] == sum(record["n"] == 2**70 for record in records)
    assert losses["mismatch"] == sum(isinstance(record["n"], (str, float)) for record in records)
    line = 1 + next(at for at, record in enumerate(records) if record["n"] == 2**70)
    assert losses["first_overflow"] == f"{path}:{line}"
    assert rows.losses["lang"]["missing"] == sum(not one for one in user)
    assert rows.stats["rows"] == rows.stats["lines"] == len(records)
    assert rows.stats["bytes"] == path.stat().st_size


def test_all_members_are_columns(events):
    path, records = events
    rows = warpath.open(path).select()
    table = pyarrow.table(rows)
    assert table.column_names == list(records[0])
    assert table["user"].to_pylist() == [record.get("user") for record in records]
    # Values of several kinds are JSON text.
    wanted = [None if record["n"] is None else record["n"] for record in records]
    assert [None if text is None else json.loads(text) for text in table["n"].to_pylist()] == wanted
    assert sum(loss["mismatch"] + loss["overflow"] for loss in rows.losses.values()) == 0


def test_a_schema_gives_types(events):
    path, records = events
    events = warpath.open(path)
    columns = {"id": "$.id", "lang": "$.user.lang", "tags": "$.tags"}
    types = [pyarrow.int64(), pyarrow.string(), pyarrow.list_(pyarrow.string())]
    for rows in (
        events.select(columns, auto=True),
        events.select(columns, schema=events.schema()),
        events.select({name: (path, "auto") for name, path in columns.items()}),
    ):
        assert pyarrow.schema(rows).types == types
        assert pyarrow.table(rows)["id"].to_pylist() == list(range(len(records)))
    # A schema of the first record does not know of later ones, and what it does not take is counted.
    first = warpath.from_bytes(b'{"a":1}\n{"a":"x"}\n')
    rows = first.select(schema=first.schema(limit=1))
    assert pyarrow.table(rows).to_pydict() == {"a": [1, None]}
    assert rows.losses["$.a"]["first_mismatch"] == "<bytes>:2"
    # A schema of another library.
    known = pyarrow.schema({"id": pyarrow.float64(), "absent": pyarrow.string()})
    table = pyarrow.table(events.select(schema=known))
    assert table.schema.types == known.types
    assert table["id"].to_pylist() == [float(number) for number in range(len(records))]
    with pytest.raises(TypeError, match="no schema"):
        events.select(schema="int64")


def test_conditions(events):
    path, records = events
    some = warpath.open(path).where("$.id >= 100 || $.ok == true").where("$.user.lang == 'nl'")
    want = [
        record["id"]
        for record in records
        if (record["id"] >= 100 or record["ok"]) and record.get("user", {}).get("lang") == "nl"
    ]
    assert list(some.query("$.id").values()) == want
    assert some.query("$.id").count() == len(want)
    assert pyarrow.table(some.select({"id": ("$.id", "int64")}))["id"].to_pylist() == want
    assert some.schema().rows()[0]["count"] == len(want)
    assert pyarrow.table(some.select())["id"].to_pylist() == want


def test_matches(events):
    path, records = events
    tags = warpath.open(path, partition_size=5000).query("$.tags[*]")
    want = [tag for record in records for tag in record["tags"]]
    assert list(tags.values()) == want
    assert list(tags) == [json.dumps(tag) for tag in want]
    assert list(tags.bytes()) == [json.dumps(tag).encode() for tag in want]
    assert tags.count() == len(want)
    text = path.read_bytes()
    lines = [(line, at) for line, record in enumerate(records, 1) for at in range(len(record["tags"]))]
    found = list(tags.located())
    assert [(match.line, match.path) for match in found] == [(line, f"$['tags'][{at}]") for line, at in lines]
    assert all(text[match.start : match.end].decode() == match.text for match in found)
    assert {match.source for match in found} == {str(path)}


def test_explode(events):
    path, records = events
    rows = warpath.open(path).select({"id": ("$.id", "int64"), "tag": ("@", "string")}, explode="$.tags")
    want = [(record["id"], tag) for record in records for tag in record["tags"]]
    table = pyarrow.table(rows)
    assert list(zip(*table.to_pydict().values(), strict=True)) == want


@pytest.mark.parametrize("limit", [0, 1, 777, 10**6])
def test_limit(events, limit):
    path, records = events
    rows = warpath.open(path, partition_size=3000).select({"id": ("$.id", "int64")}, limit=limit)
    want = list(range(min(limit, len(records))))
    assert pyarrow.table(rows)["id"].to_pylist() == want
    assert rows.stats["rows"] == len(want)


def test_files(tweets):
    (tweets / "more").mkdir()
    for name in ("b.ndjson", "a.ndjson"):
        (tweets / "more" / name).write_text('{"id":"%s"}\n' % name)
    (tweets / "c.ndjson.gz").write_bytes(gzip.compress(b'{"id":"c"}\n'))

    def ids(*args, **options):
        return list(warpath.open(*args, **options).query("$.id").values())

    assert ids("tweets.ndjson") == ids(Path("tweets.ndjson")) == ids(["tweets.ndjson"]) == [1, 2, 3]
    assert ids(tweets / "more") == ids("more/*.ndjson") == ["a.ndjson", "b.ndjson"]
    assert ids(["c.ndjson.gz", Path("more/b.ndjson")]) == ["c", "b.ndjson"]
    assert ids("tweets.ndjson", device="cpu", workers=1, strict=True) == [1, 2, 3]
    (tweets / "document.json").write_text('{"id":[1,\n 2]}\n')
    assert list(warpath.open("document.json", format="json").query("$.id[*]").values()) == [1, 2]


def test_bytes():
    data = b'{"a":"2026-01-31"}\n{"a":"31.01.2026"}\n'
    rows = warpath.from_bytes(data, time_format="%d.%m.%Y").select({"a": ("$.a", "time")})
    assert [str(at)[:10] for at in pyarrow.table(rows)["a"].to_pylist()] == ["None", "2026-01-31"]
    assert warpath.from_bytes(bytearray(data)).query("$.a").count() == 2
    assert warpath.from_bytes(b"").query("$.a").count() == 0
    assert "\ufffd" in next(iter(warpath.from_bytes(b'"\xff"\n').query("$")))
    assert next(warpath.from_bytes(b'"\xff"\n').query("$").bytes()) == b'"\xff"'


def test_malformed_records(tweets):
    data = b'{"a":1}\n{"a":2\n{"a":3}\n'
    bad = warpath.from_bytes(data, name="data")
    seen = []
    with pytest.raises(warpath.RecordError) as failed:
        for value in bad.query("$.a").values():
            seen.append(value)
    assert seen == [1]
    assert (failed.value.filename, failed.value.line, failed.value.byte) == ("data", 2, 1)
    assert str(failed.value).startswith("data:2:1: ")
    batches = iter(bad.select({"a": ("$.a", "int64")}))
    assert len(next(batches)) == 1
    with pytest.raises(warpath.RecordError):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)
    with pytest.raises(pyarrow.ArrowInvalid, match="data:2:1"):
        pyarrow.table(bad.select({"a": "$.a"}))
    with pytest.raises(warpath.RecordError):
        bad.schema()
    good = warpath.from_bytes(data, on_error="skip").select({"a": ("$.a", "int64")})
    assert pyarrow.table(good)["a"].to_pylist() == [1, 3]
    assert good.stats["skipped"] == 1


def test_exceptions_are_pythons_own(tweets):
    tweets = warpath.open("tweets.ndjson")
    rows = {"a": "$.id"}
    for kind, call in [
        (FileNotFoundError, lambda: warpath.open("absent.ndjson")),
        (FileNotFoundError, lambda: warpath.open(["tweets.ndjson", "absent-*"])),
        (ValueError, lambda: tweets.query("$.[")),
        (ValueError, lambda: tweets.where("$.a ==")),
        (ValueError, lambda: tweets.select({})),
        (ValueError, lambda: tweets.select({"a": ("$.id", "int32")})),
        (ValueError, lambda: tweets.select({"a": ("$.tags[*]", "string", "x")})),
        (ValueError, lambda: tweets.select(explode="$.tags")),
        (ValueError, lambda: warpath.open("tweets.ndjson", format="csv")),
        (ValueError, lambda: warpath.open("tweets.ndjson", workers=0)),
        (ValueError, lambda: warpath.open("tweets.ndjson", time_format="%Q")),
        (RuntimeError, lambda: warpath.open("tweets.ndjson", device="cuda:99")),
    ]:
        with pytest.raises(kind) as failed:
            call()
        assert isinstance(failed.value, warpath.Error)
    for call in [
        lambda: tweets.select({"a": 1}),
        lambda: tweets.select({"a": ("$.id", 7)}),
        lambda: tweets.select({"a": ()}),
        lambda: warpath.open(7),
        lambda: warpath.from_bytes("text"),
    ]:
        with pytest.raises(TypeError):
            call()
    missing = pytest.raises(FileNotFoundError, warpath.open, "absent.ndjson").value
    assert (missing.filename, missing.errno) == ("absent.ndjson", 2)
    query = pytest.raises(warpath.QueryError, tweets.query, "$.user[").value
    assert "\n  $.user[\n         ^" in str(query)


def test_iterators_may_be_dropped(events):
    path, _ = events
    events = warpath.open(path, partition_size=2000)
    threads = []
    for _ in range(20):
        iterator = iter(events.select({"id": "$.id"}))
        assert pyarrow.record_batch(next(iterator))["id"][0].as_py() == "0"
        stream = events.select({"id": "$.id"}).__arrow_c_stream__()
        reader = pyarrow.RecordBatchReader.from_stream(events.select({"id": "$.id"}))
        assert reader.read_next_batch()["id"][0].as_py() == "0"
        assert next(iter(events.query("$.id"))) == "0"
        del iterator, stream, reader
        threads.append(len(os.listdir("/proc/self/task")))
    # The threads of a read end with it.
    assert threads[-1] < threads[0] + 20


def test_threads(events):
    path, records = events
    events = warpath.open(path, partition_size=20_000)
    sums = []

    def add():
        sums.append(sum(events.query("$.id").values()))
        sums.append(pyarrow.table(events.select({"id": ("$.id", "int64")}))["id"].to_numpy().sum())

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [len(records) * (len(records) - 1) // 2] * 8


def test_python_runs_meanwhile(tmp_path):
    """A read waits for a pipe, and the thread that writes to it is one of Python: the lock is free."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        with open(pipe, "w") as out:
            for number in range(1000):
                print(json.dumps({"n": number}), file=out)

    writer = threading.Thread(target=write)
    writer.start()
    assert list(warpath.open(pipe).query("$.n").values()) == list(range(1000))
    writer.join()
    writer = threading.Thread(target=write)
    writer.start()
    assert pyarrow.table(warpath.open(pipe).select({"n": ("$.n", "int64")}))["n"].to_pylist() == list(range(1000))
    writer.join()


INTERRUPTED = """
    import os, signal, sys, threading
    import pyarrow, warpath

    path, how = sys.argv[1:]
    events = warpath.open([path] * 1000, partition_size=4000)
    timer = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        rows = events.select({"id": ("$.id", "int64")})
        if how == "count":
            timer.start()
            events.query("$.id").count()
        elif how == "none":
            timer.start()
            list(events.query("$.absent"))
        elif how == "batches":
            for batch in rows:
                if not timer.ident:
                    timer.start()
        elif how == "schema":
            timer.start()
            events.schema()
        else:
            timer.start()
            pyarrow.table(rows)
    except KeyboardInterrupt:
        print("interrupted")
    except pyarrow.ArrowInvalid as error:
        # The signal is raised once more after the consumer's own exception.
        try:
            for _ in range(1000):
                pass
        except KeyboardInterrupt:
            print("interrupted")
"""


@pytest.mark.parametrize("how", ["count", "none", "batches", "schema", "arrow"])
def test_interrupts(events, how):
    path, _ = events
    program = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(path), how]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_columns_stay_on_no_cpu(tweets):
    rows = warpath.open("tweets.ndjson", device="cpu").select({"id": ("$.id", "int64")})
    for read in (rows.on_device, lambda: next(rows.device_batches())):
        with pytest.raises(warpath.UsageError, match="require a device; the backend is `cpu"):
            read()
    # The selection is read to the host all the same.
    assert [len(batch) for batch in rows] == [3]
    with pytest.raises(warpath.UsageError, match="nested columns cannot stay on a device"):
        warpath.open("tweets.ndjson", device="cpu").select().on_device()


def test_exceptions_survive_pickle(tmp_path):
    missing = pytest.raises(warpath.NotFoundError, warpath.open, str(tmp_path / "none")).value
    bad = pytest.raises(warpath.RecordError, list, warpath.from_bytes(b'{"a":1\n').query("$.a")).value
    query = pytest.raises(warpath.QueryError, warpath.from_bytes(b"").query, "$..").value
    for error in (missing, bad, query):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error)
        for name in ("filename", "errno", "line", "byte", "column", "hint"):
            assert getattr(copy, name, None) == getattr(error, name, None), name
    assert bad.filename == "<bytes>" and missing.filename is not None


def test_arguments_of_another_type_are_named():
    with pytest.raises(TypeError, match=r"^paths is 3; expected a path"):
        warpath.open(3)
    with pytest.raises(TypeError, match=r"^columns is \['id'\]; expected a path for each name"):
        warpath.from_bytes(b"{}").select(["id"])
