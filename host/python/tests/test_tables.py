"""Columns of JSON text in Parquet and Arrow tables."""

import pyarrow
import pyarrow.parquet
import pytest
import warpath

TEXTS = ['{"n": 1, "tags": ["a"]}', None, "", '{"n":\n 2}', '{"n": "three"}']


def write(path, columns):
    table = pyarrow.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=2)
    elif path.suffix == ".arrow":
        with pyarrow.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    else:
        with pyarrow.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)


@pytest.fixture(params=[("parquet", ".parquet"), ("arrow", ".arrow"), ("arrow", ".arrows")])
def table(request, tmp_path):
    """A format, and the name of a table of this format."""
    form, ending = request.param
    columns = {"id": list(range(5)), "body": TEXTS, "other": pyarrow.array(TEXTS).dictionary_encode()}
    write(tmp_path / f"log{ending}", columns)
    return form, tmp_path / f"log{ending}"


@pytest.mark.parametrize("column", ["body", "other"])
def test_a_column_is_records(table, column):
    form, path = table
    log = warpath.open(path, format=form, column=column)
    assert repr(log) == f"<warpath.Input {path}, column {column}>"
    assert list(log.query("$.n").values()) == [1, 2, "three"]
    # Lines are rows. A null and an empty text are no records.
    found = list(log.query("$.n").located())
    assert [(match.source, match.line) for match in found] == [(str(path), line) for line in (1, 4, 5)]
    rows = log.select({"n": ("$.n", "int64")})
    assert pyarrow.table(rows)["n"].to_pylist() == [1, 2, None]
    assert rows.losses["n"]["first_mismatch"] == f"{path}:5"
    with pytest.raises(warpath.MismatchError) as failed:
        list(log.select({"n": ("$.n", "int64")}, on_mismatch="fail"))
    assert (failed.value.line, failed.value.byte) == (5, 7)
    assert log.where("$.n == 2").query("$.n").count() == 1
    assert pyarrow.table(log.select())["tags"].to_pylist() == [["a"], None, None]
    assert log.schema().rows()[0]["count"] == 3


def test_folders_have_files_of_the_format(table):
    form, path = table
    (path.parent / "no-table.ndjson").write_text("{}\n")
    for name in (path.parent, path.parent / f"*{path.suffix}", [path]):
        assert warpath.open(name, format=form, column="body").query("$.n").count() == 3


def test_malformed_records_have_their_row(tmp_path):
    write(tmp_path / "log.parquet", {"body": ["{}", None, '{"a": 1', '{"a": 2}']})
    log = warpath.open(tmp_path / "log.parquet", format="parquet", column="body")
    with pytest.raises(warpath.RecordError) as failed:
        list(log.query("$.a"))
    assert failed.value.line == 3
    log = warpath.open(tmp_path / "log.parquet", format="parquet", column="body", on_error="skip")
    assert list(log.query("$.a")) == ["2"]


@pytest.mark.parametrize(
    ("column", "reason"),
    [("absent", "there is no column `absent`"), ("id", "the column `id` has the type Int64")],
)
def test_a_column_that_is_no_text(table, column, reason):
    form, path = table
    with pytest.raises(warpath.InputError, match=reason) as failed:
        list(warpath.open(path, format=form, column=column).query("$"))
    assert failed.value.filename == str(path)


def test_another_format(table):
    form, path = table
    other = "arrow" if form == "parquet" else "parquet"
    with pytest.raises(warpath.InputError, match=f"{path.name}: is an? .*, not an? "):
        list(warpath.open(path, format=other, column="body").query("$"))


def test_a_table_has_a_column_and_text_has_none(tweets):
    with pytest.raises(warpath.UsageError, match='format "parquet" requires the name of a column'):
        warpath.open("tweets.ndjson", format="parquet")
    with pytest.raises(warpath.UsageError, match='column "a" requires format="parquet" or format="arrow"'):
        warpath.open("tweets.ndjson", column="a")
    with pytest.raises(warpath.UsageError, match='format is "arrow"; expected "ndjson" or "json"'):
        warpath.from_bytes(b"", format="arrow")
