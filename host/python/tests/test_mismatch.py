"""The actions at values that columns do not take, beside a plain reading of the same lines."""

import json

import pyarrow
import pytest
import warpath

COLUMNS = {"id": ("$.id", "int64"), "x": ("$.x", "int64"), "y": ("$.y", "int64")}
# The first one by lines is in the last column. One line has two.
WRONG = {
    ("b", 700): {"y": "text"},
    ("b", 900): {"x": 2**70},
    ("c", 2): {"x": "text", "y": None},
    ("c", 3): {"x": [], "y": 1.5},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files of 1000 lines, and their records with their locations."""
    folder, records = tmp_path_factory.mktemp("mismatch"), []
    for name in "abc":
        lines = []
        for line in range(1, 1001):
            record = {"id": len(records), "x": line, "y": -line} | WRONG.get((name, line), {})
            lines.append(json.dumps(record))
            records.append((folder / name, line, lines[-1], record))
        (folder / name).write_text("\n".join(lines) + "\n")
    return [folder / name for name in "abc"], records


def refused(record):
    """The columns that do not take their values."""
    fits = {name: value is None or (type(value) is int and abs(value) < 2**63) for name, value in record.items()}
    return [name for name in ("x", "y") if not fits[name]]


def plain(records, limit, action):
    """The rows, the places of refused values, and the record at which the read ends."""
    rows, places = [], []
    for path, line, text, record in records:
        if limit is not None and len(rows) == limit:
            break
        if refused(record):
            if action == "fail":
                return rows, [], (path, line, text, record)
            places.extend((column, f"{path}:{line}") for column in refused(record))
            if action == "skip":
                continue
        rows.append(record | dict.fromkeys(refused(record)))
    return rows, places, None


def taken(rows):
    """The rows up to the end or the failure, and the failure."""
    read = []
    try:
        for batch in rows:
            read.extend(pyarrow.record_batch(batch).to_pylist())
    except warpath.MismatchError as error:
        return read, error
    return read, None


@pytest.mark.parametrize("partition_size", [None, 3000])
@pytest.mark.parametrize("start", [0, 1800, 2001])
@pytest.mark.parametrize("limit", [None, 0, 1, 99, 1699, 1700, 2998])
@pytest.mark.parametrize("action", ["null", "fail", "skip"])
def test_actions(files, action, limit, start, partition_size):
    names, records = files
    some = warpath.open(names, partition_size=partition_size).where(f"$.id >= {start}")
    rows = some.select(COLUMNS, limit=limit, on_mismatch=action)
    want, places, end = plain(records[start:], limit, action)
    read, error = taken(rows)
    assert read == want
    assert rows.stats["rows"] == len(want)
    if end is None:
        assert error is None
    else:
        path, line, text, record = end
        column = refused(record)[0]
        byte = text.index(f'"{column}": ') + len(f'"{column}": ') + 1
        assert (error.filename, error.line, error.byte, error.column) == (str(path), line, byte, column)
        assert str(error).startswith(f"{path}:{line}:{byte}: the ")
        with pytest.raises(pyarrow.ArrowInvalid, match=f":{line}:{byte}: .* which column `{column}` has"):
            pyarrow.table(rows)
    if limit != 0:
        for column in ("x", "y"):
            lost, of_column = rows.losses[column], [place for name, place in places if name == column]
            assert lost["mismatch"] + lost["overflow"] == len(of_column)
            assert of_column[:1] == sorted(filter(None, (lost["first_mismatch"], lost["first_overflow"])))[:1]


@pytest.mark.parametrize("limit", [None, 1, 2, 3])
def test_actions_at_elements(limit):
    data = b'{"a":[1,2]}\n{"a":[3,"x",5]}\n{"a":[6]}\n'
    arrays = warpath.from_bytes(data)

    def values(action):
        read, error = taken(arrays.select({"v": ("@", "int64")}, explode="$.a", limit=limit, on_mismatch=action))
        return [row["v"] for row in read], error

    assert values("null") == ([1, 2, 3, None, 5, 6][:limit], None)
    # Each element is a record.
    assert values("skip") == ([1, 2, 3, 5, 6][:limit], None)
    read, error = values("fail")
    assert read == [1, 2, 3][:limit]
    if limit is None:
        assert (error.line, error.byte, error.column) == (4, 6, "v")
    else:
        assert error is None


def test_text_takes_every_value():
    data = b'{"a":1,"j":"s","l":["x",null]}\n{"a":"two","j":[1]}\n{"a":{"n":2},"l":3}\n'
    columns = {"a": ("$.a", "int64"), "j": ("$.j", "json"), "l": ("$.l", "list<string>", "-")}
    rows = warpath.from_bytes(data).select(columns, on_mismatch="string")
    table = pyarrow.table(rows)
    assert table.schema.types == [pyarrow.string()] * 3
    assert table.to_pydict() == {
        "a": ["1", "two", '{"n":2}'],
        "j": ['"s"', "[1]", None],
        "l": ['["x",null]', "-", "3"],
    }
    assert [loss["type"] for loss in rows.losses.values()] == ["text", "json", "text"]
    assert sum(loss["mismatch"] + loss["overflow"] for loss in rows.losses.values()) == 0


@pytest.mark.parametrize("limit", [None, 1699, 1700, 1701])
def test_the_columns_of_a_schema(files, limit):
    names, records = files
    schema = pyarrow.schema({name: pyarrow.int64() for name in COLUMNS})
    rows = warpath.open(names).select(schema=schema, limit=limit, on_mismatch="fail")
    want, _, end = plain(records, limit, "fail")
    read, error = taken(rows)
    assert read == want
    if end is None:
        assert error is None
    else:
        assert (error.filename, error.line, error.byte, error.column) == (str(end[0]), end[1], None, "$.y")
    rows = warpath.open(names).select(schema=schema, limit=limit)
    want, places, _ = plain(records, limit, "null")
    assert taken(rows) == (want, None)
    assert rows.losses["$.y"]["mismatch"] == sum(column == "y" for column, _ in places)


@pytest.mark.parametrize("action", ["skip", "string"])
def test_columns_without_names_have_no_such_action(action):
    with pytest.raises(warpath.UsageError, match=f'on_mismatch="{action}" requires columns'):
        warpath.from_bytes(b"").select(on_mismatch=action)


def test_actions_have_names():
    with pytest.raises(warpath.UsageError, match='"null" or "fail" or "skip" or "string"'):
        warpath.from_bytes(b"").select({"a": "$.a"}, on_mismatch="ignore")
