#!/usr/bin/env python3
"""Opens the folder of a store by the readers of Delta tables, after each kind of change.

    tests/delta.py PROGRAM FOLDER

PROGRAM is the example `delta` of the crate `warpath-folder`, which writes the log. The parts are made here.
FOLDER is created. `tests/store.sh` gets what this needs.
"""

import json
import subprocess
import sys
from pathlib import Path

import deltalake
import polars
import pyarrow
import pyarrow.parquet

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])


def delta(*command):
    """Runs a command of the example."""
    run = subprocess.run([PROGRAM, str(FOLDER), *map(str, command)], capture_output=True, text=True)
    assert run.returncode == 0, (command, run.stderr)
    return run.stdout


def field(name, kind):
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(item):
    return {"type": "array", "elementType": item, "containsNull": True}


FIELDS = [
    field("id", "long"),
    field("name", "string"),
    field("user", struct(field("score", "double"), field("tags", array("string")))),
    field("ok", "boolean"),
    field("_raw", "binary"),
]
ARROW = pyarrow.schema(
    [
        ("id", pyarrow.int64()),
        ("name", pyarrow.string()),
        ("user", pyarrow.struct([("score", pyarrow.float64()), ("tags", pyarrow.list_(pyarrow.string()))])),
        ("ok", pyarrow.bool_()),
        ("_raw", pyarrow.binary()),
    ]
)


def row(number):
    user = {"score": number / 2, "tags": [f"t{number}"]} if number % 3 else None
    return {"id": number, "name": f"é {number}", "user": user, "ok": number % 2 == 0, "_raw": None}


def part(name, rows, schema=ARROW):
    """Writes a part."""
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), FOLDER / name)
    return name


def check(version, rows):
    """Compares what each reader sees with the rows, which have an `id` each."""
    by_id = lambda rows: sorted(rows, key=lambda row: row["id"])
    table = deltalake.DeltaTable(str(FOLDER))
    assert table.version() == version, (table.version(), version)
    readers = {
        "pyarrow": table.to_pyarrow_table().to_pylist(),
        "dataset": table.to_pyarrow_dataset().to_table().to_pylist(),
        "polars": polars.scan_delta(str(FOLDER)).collect().to_dicts(),
    }
    for reader, found in readers.items():
        assert by_id(found) == by_id(rows), (reader, found, rows)
    some = polars.scan_delta(str(FOLDER)).filter(polars.col("id") >= 5).select("id").collect()["id"].to_list()
    assert sorted(some) == [row["id"] for row in by_id(rows) if row["id"] >= 5]
    assert sum(table.get_add_actions(flatten=True).column("num_records").to_pylist()) == len(rows)
    assert table.history()[0]["version"] == version


FOLDER.mkdir(parents=True)
delta("create", json.dumps(struct(*FIELDS)))
check(0, [])

rows = [row(number) for number in range(8)]
delta("append", part("part-1-a.parquet", rows[:3]), 3, '{"id":0,"name":"é 0"}', '{"id":2,"name":"é 2"}')
check(1, rows[:3])
# The name is encoded in the log.
minima, maxima = '{"id":3,"user":{"score":2.0}}', '{"id":5,"user":{"score":2.5}}'
delta("append", part("part-2-b c%é.parquet", rows[3:6]), 3, minima, maxima)
delta("append", part("part-3-c.parquet", rows[6:]), 2)
check(3, rows)
assert deltalake.DeltaTable(str(FOLDER), version=1).to_pyarrow_table().num_rows == 3

delta("replace", part("part-4-d.parquet", rows[:6]), 6, "part-1-a.parquet", "part-2-b c%é.parquet")
check(4, rows)
assert delta("show").split() == ["0", "part-4-d.parquet", "6", "2", "part-3-c.parquet", "2"]

# A field of a struct, and a field of the table.
fields = [*FIELDS, field("late", "double")]
fields[2] = field("user", struct(*FIELDS[2]["type"]["fields"], field("lang", "string")))
user = pyarrow.struct([*ARROW.field("user").type, ("lang", pyarrow.string())])
grown = pyarrow.schema([*ARROW, ("late", pyarrow.float64())]).set(2, pyarrow.field("user", user))
late = {**row(8), "late": 0.5, "user": {"score": 4.0, "tags": [], "lang": "de"}}
delta("grow", json.dumps(struct(*fields)), part("part-5-e.parquet", [late], grown), 1)
wide = [{**row, "late": None, "user": row["user"] and {**row["user"], "lang": None}} for row in rows]
check(5, [*wide, late])

assert delta("vacuum").split("\n") == ["part-1-a.parquet", "part-2-b c%é.parquet", ""]
check(5, [*wide, late])

# The deepest schema that is not refused is read by all.
FOLDER = FOLDER.with_name("deep.wp")
kind, arrow, value = "long", pyarrow.int64(), 7
for level in range(41):
    name = f"f{level}"
    kind, arrow, value = struct(field(name, kind)), pyarrow.struct([(name, arrow)]), {name: value}
FOLDER.mkdir()
delta("create", json.dumps(struct(field("id", "long"), field("deep", kind))))
deep = {"id": 1, "deep": value}
delta("append", part("part-1.parquet", [deep], pyarrow.schema([("id", pyarrow.int64()), ("deep", arrow)])), 1)
check(1, [deep])
versions = [(reader.__name__, reader.__version__) for reader in (deltalake, polars, pyarrow)]
print("all rows are read:", ", ".join(" ".join(version) for version in versions))
