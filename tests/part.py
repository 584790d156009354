#!/usr/bin/env python3
"""Compares a part of Warpath's store, read by pyarrow, DuckDB and Polars, with the records in it.

    tests/part.py EXAMPLE     EXAMPLE is the program of host/part/examples/part.rs

The example writes parts of random records, and prints the records. None of the readers knows Warpath.
`tests/store.sh` builds the example, and installs the readers.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow.dataset
import pyarrow.parquet

SEEDS = range(24)


def plain(value: object) -> object:
    """A value of a reader as JSON has it. Bytes become hexadecimal digits."""
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value.hex() if isinstance(value, bytes) else value


def pyarrow_rows(path: Path) -> list:
    return pyarrow.parquet.read_table(path).to_pylist()


def duckdb_rows(path: Path) -> list:
    result = duckdb.sql("SELECT * FROM read_parquet(?)", params=[str(path)])
    return [dict(zip(result.columns, row)) for row in result.fetchall()]


def polars_rows(path: Path) -> list:
    return polars.read_parquet(path).to_dicts()


def filtered(path: Path, name: str, value: object) -> dict[str, int]:
    """The number of rows with a value, by readers that leave out row groups and pages by their bounds."""
    quoted = '"' + name.replace('"', '""') + '"'
    found = duckdb.sql(f"SELECT count(*) FROM read_parquet(?) WHERE {quoted} = ?", params=[str(path), value])
    lazy = polars.scan_parquet(path).filter(polars.col(name) == value)
    table = pyarrow.parquet.read_table(path, filters=pyarrow.dataset.field(name) == value)
    return {"duckdb": found.fetchall()[0][0], "polars": lazy.collect().height, "pyarrow": table.num_rows}


def filter_faults(path: Path, expected: list) -> int:
    """Compares filters by each column of text or of numbers with the records."""
    faults = 0
    for name in expected[0] if expected else ():
        values = [row[name] for row in expected if isinstance(row[name], (str, int, float))]
        # A column of bytes is printed as text; its digits are no value of it.
        for value in [values[0], values[-1]] if values and name in texts_and_numbers(path) else ():
            count = sum(row[name] == value for row in expected)
            for reader, found in filtered(path, name, value).items():
                if found != count:
                    print(f"part.py: {reader}: {found} of {count} rows where {name} is {value}", file=sys.stderr)
                    faults += 1
    return faults


def texts_and_numbers(path: Path) -> set[str]:
    schema = pyarrow.parquet.read_schema(path)
    kinds = (pyarrow.types.is_string, pyarrow.types.is_integer, pyarrow.types.is_floating)
    return {field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)}


READERS = {"pyarrow": pyarrow_rows, "duckdb": duckdb_rows, "polars": polars_rows}


def main() -> int:
    faults = 0
    rows = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.parquet"
        for seed in SEEDS:
            printed = subprocess.run([sys.argv[1], str(seed), path], check=True, capture_output=True, text=True)
            expected = [json.loads(line) for line in printed.stdout.split("\n") if line]
            rows += len(expected)
            faults += filter_faults(path, expected)
            for name, read in READERS.items():
                try:
                    got = plain(read(path))
                except Exception as error:
                    print(f"part.py: seed {seed}: {name}: {error}", file=sys.stderr)
                    faults += 1
                    continue
                if got == expected:
                    continue
                faults += 1
                pairs = enumerate(zip(expected, got))
                row, pair = next(((row, pair) for row, pair in pairs if pair[0] != pair[1]), (0, None))
                print(f"part.py: seed {seed}: {name}: {len(got)} of {len(expected)} rows; row {row}", file=sys.stderr)
                for line in pair or ():
                    print(f"    {json.dumps(line, ensure_ascii=False)}", file=sys.stderr)
    print(f"part.py: {len(SEEDS)} parts with {rows} rows, {len(READERS)} readers, {faults} faults")
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
