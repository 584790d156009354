"""The border of the module: panics, and arguments that are not valid."""

import ctypes
import re
from pathlib import Path

import pyarrow
import pytest
import warpath

SOURCES = Path(__file__).resolve().parents[1] / "src"

# Functions that only copy a number, or return their own object.
PLAIN = {"__len__", "__iter__", "nulls"}


class ArrowSchema(ctypes.Structure):
    """The schema of the Arrow C data interface."""

    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Wrong:
    """An object whose schema breaks the contract of the interface: its format is not UTF-8."""

    name = b"arrow_schema"
    schema = ArrowSchema(format=b"\xff", name=b"a")

    def __arrow_c_schema__(self):
        return new_capsule(ctypes.addressof(self.schema), self.name, None)


def test_a_panic_is_an_internal_error():
    with pytest.raises(warpath.InternalError, match="^internal error: ") as failed:
        warpath.from_bytes(b"").select(schema=Wrong())
    assert isinstance(failed.value, RuntimeError)


def functions():
    """The name and the text of each function that Python calls."""
    for path in sorted(SOURCES.glob("*.rs")):
        text = path.read_text()
        blocks = re.findall(r"^#\[pymethods\]\nimpl \w+ \{\n(.*?)^\}\n", text, re.S | re.M)
        for block in blocks:
            for function in re.findall(r"^    fn .*?^    \}\n", block, re.S | re.M):
                yield function
        yield from re.findall(r"^#\[pyfunction\].*?^(pub fn .*?^\}\n)", text, re.S | re.M)


def test_every_function_has_the_border():
    names = set()
    for function in functions():
        name = re.search(r"fn (?:r#)?(\w+)", function)[1]
        names.add(name)
        assert name in PLAIN or "        border(py, || " in function or "    border(py, || {" in function, function
    assert {"open", "from_bytes", "select", "schema", "count", "__next__", "__arrow_c_stream__"} <= names
    classes = (warpath.Input, warpath.Matches, warpath.Selection, warpath.Schema, warpath.Batch, warpath.DeviceBatch)
    public = {name for item in classes for name in vars(item) if not name.startswith("_")}
    assert public <= names


@pytest.mark.parametrize("value", [-1, 2**64, 2**70, -(2**70), 10**5000], ids=["-1", "2^64", "2^70", "-2^70", "long"])
@pytest.mark.parametrize("name", ["workers", "partition_size", "limit", "schema"])
def test_an_integer_beyond_its_bounds_is_named(name, value):
    empty = warpath.from_bytes(b"")
    call = {
        "limit": lambda: empty.select({"a": "$.a"}, limit=value),
        "schema": lambda: empty.schema(value),
    }.get(name, lambda: warpath.from_bytes(b"", **{name: value}))
    shown = "" if value == 10**5000 else re.escape(str(value))
    least = 0 if name in ("limit", "schema") else 1
    name = "limit" if name == "schema" else name
    with pytest.raises(warpath.UsageError, match=f"^{name} is .*{shown}.*; expected an integer from {least} to "):
        call()


def test_an_integer_of_another_type_is_named(tweets):
    for call, name in [
        (lambda: warpath.open("tweets.ndjson", workers="two"), "workers is 'two'"),
        (lambda: warpath.from_bytes(b"", partition_size=1.5), "partition_size is 1.5"),
        (lambda: warpath.from_bytes(b"").select({"a": "$.a"}, limit="1"), "limit is '1'"),
        (lambda: warpath.from_bytes(b"").schema("1"), "limit is '1'"),
    ]:
        with pytest.raises(TypeError, match=f"^{name}; expected an integer or None"):
            call()
    with pytest.raises(warpath.UsageError, match="^workers is 0; expected an integer from 1 to "):
        warpath.open("tweets.ndjson", workers=0)
    assert warpath.open("tweets.ndjson", workers=True).schema(limit=0).rows()[0]["count"] == 0


def test_messages_repeat_what_was_written(tweets):
    with pytest.raises(warpath.UsageError, match="there is no device `gpu`; expected auto, cpu, cuda, cuda:N, cuda:N,N or cuda:all"):
        warpath.open("tweets.ndjson", device="gpu")
    for written, message in [
        ("list<", "`list<` ends where a type is expected"),
        ("struct<a:", "`struct<a:` ends where a type is expected"),
        ("list<>", "there is no type `>` in `list<>`"),
        ("", "there is no type ``"),
    ]:
        with pytest.raises(warpath.UsageError, match=f"column \"n\": {re.escape(message)}"):
            warpath.open("tweets.ndjson").select({"n": ("$.id", written)})


def test_a_value_that_json_refuses_has_its_place(tmp_path):
    (tmp_path / "a.ndjson").write_bytes(b'{"a":1}\n{"a":01}\n{"a":"\xff"}\n{"a":2}\n')
    values = warpath.open(tmp_path / "a.ndjson").query("$.a").values()
    assert next(values) == 1
    for line, byte, cause in ((2, 6, ValueError), (3, 6, UnicodeDecodeError)):
        with pytest.raises(warpath.RecordError, match=f"a.ndjson:{line}:{byte}: `json.loads` refuses") as failed:
            next(values)
        error = failed.value
        assert (error.filename, error.line, error.byte) == (str(tmp_path / "a.ndjson"), line, byte)
        assert isinstance(error.__cause__, cause)
    # The iterator goes on after the value.
    assert list(values) == [2]


def test_the_reason_for_the_backend():
    rows = warpath.from_bytes(b'{"a":1}\n').select({"a": "$.a"})
    pyarrow.table(rows)
    assert "file" not in rows.stats["reason"]
    assert rows.stats["reason"].startswith("auto: cpu, ")


def test_reports_before_the_first_read(tweets):
    rows = warpath.open("tweets.ndjson").select({"id": "$.id"})
    for name in ("losses", "stats"):
        with pytest.raises(warpath.UsageError, match=f"^the selection has no {name} yet; expected a read before"):
            getattr(rows, name)
    batches = iter(rows)
    assert rows.losses["id"]["missing"] == 0 and rows.stats["rows"] == 0
    next(batches)
    assert rows.stats["rows"] == 3
