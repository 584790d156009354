#!/usr/bin/env python3
"""Compares a store of the lines of tests/data, read by other programs, with the records in the lines.

    tests/store.py EXAMPLE STORE     EXAMPLE is the program of host/examples/store.rs

EXAMPLE makes the folder STORE. `tests/store.sh` gets what this needs.
"""

import json
import subprocess
import sys
from pathlib import Path

import datafusion
import deltalake
import duckdb
import polars
import pyarrow.parquet

FILES = ["tweets.ndjson", "products.ndjson"]
DATA = Path(__file__).parent / "data"
# The fields of an element of a list whose elements have several kinds.
KINDS = {"object", "list", "string", "int", "double", "bool", "json"}


def lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").splitlines()


def present(value: object) -> object:
    """A value without the members that are null, which are as good as absent."""
    if isinstance(value, dict):
        return {name: present(member) for name, member in value.items() if member is not None}
    return [present(element) for element in value] if isinstance(value, list) else value


def record(value: object) -> object:
    """The value of a record that a reader's value stands for."""
    if isinstance(value, list):
        return [element_of(element) for element in value]
    if not isinstance(value, dict):
        return value
    members = {}
    for name, member in value.items():
        # A column of another kind has its name after a colon.
        key, _, kind = name.partition(":")
        if member is not None and name not in ("_raw", ":present"):
            assert key not in members, f"two kinds of {key}"
            members[key] = json.loads(member) if kind == "json" else record(member)
    return members


def element_of(value: object) -> object:
    """The value of an array that a reader's value stands for."""
    if not isinstance(value, dict) or not KINDS.issuperset(value):
        return record(value)
    values = [(kind, member) for kind, member in value.items() if member is not None]
    assert len(values) < 2, values
    for kind, member in values:
        return json.loads(member) if kind == "json" else record(member)
    return None


def duckdb_rows(relation: duckdb.DuckDBPyRelation) -> list:
    return [dict(zip(relation.columns, row)) for row in relation.fetchall()]


def datafusion_rows(part: Path) -> list:
    # One partition, so that rows keep their order.
    config = datafusion.SessionConfig().with_target_partitions(1)
    return datafusion.SessionContext(config).read_parquet(str(part)).to_pylist()


def main() -> int:
    program, store = sys.argv[1], Path(sys.argv[2])
    subprocess.run([program, store, *(DATA / name for name in FILES)], check=True, stdout=subprocess.DEVNULL)
    expected = [[present(json.loads(line)) for line in lines(name)] for name in FILES]
    parts = sorted(store.glob("*.parquet"))
    assert len(parts) == len(FILES), parts
    found = []
    for part, records in zip(parts, expected):
        found += [
            (f"pyarrow, {part.name}", pyarrow.parquet.read_table(part).to_pylist(), records),
            (f"DataFusion, {part.name}", datafusion_rows(part), records),
            (f"Polars, {part.name}", polars.read_parquet(part).to_dicts(), records),
            (f"DuckDB, {part.name}", duckdb_rows(duckdb.read_parquet(str(part))), records),
        ]
    table = deltalake.DeltaTable(str(store))
    files = sorted(table.file_uris())
    assert [Path(file).name for file in files] == [part.name for part in parts], files
    rows = duckdb.read_parquet([str(part) for part in parts], union_by_name=True)
    every = [row for records in expected for row in records]
    found += [
        ("deltalake", table.to_pyarrow_table().to_pylist(), every),
        ("Polars", polars.scan_delta(str(store)).collect().to_dicts(), every),
        ("DuckDB", duckdb_rows(rows), every),
    ]
    faults = 0
    for reader, rows, records in found:
        rows = [record(row) for row in rows]
        if len(records) == len(every):
            # The order of parts is not the table's.
            rows, records = (sorted(map(str_of, some)) for some in (rows, records))
        different = [pair for pair in zip(rows, records) if pair[0] != pair[1]]
        if different or len(rows) != len(records):
            faults += 1
            print(f"store.py: {reader}: {len(rows)} rows of {len(records)}, {len(different)} others", file=sys.stderr)
            for row in different[:1] and different[0]:
                print(f"    {json.dumps(row, default=str)[:500]}", file=sys.stderr)
    # A filter by a nested column.
    langs = sum(record.get("user", {}).get("lang") == "nl" for record in every)
    users = polars.scan_delta(str(store)).filter(polars.col("user").struct.field("lang") == "nl")
    assert users.collect().height == langs, langs
    print(f"store.py: {len(found)} readers of {len(every)} rows, {faults} faults")
    return 1 if faults else 0


def str_of(value: object) -> str:
    return json.dumps(value, sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
