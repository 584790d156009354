#!/usr/bin/env python3
"""Nested columns of a file, written by Warpath and by DuckDB: time, memory, and the values of all rows.

    python3 benches/nested.py FILE [--warpath PROGRAM] [--rounds N]

Needs the Python package `duckdb`. Both programs write Parquet with default settings, in turns. Times are
those of the best round: the time on the clock, and the processor time of all threads.

Rows are compared in order, as JSON without members that are null. DuckDB takes types from the first 20,480
records, so it may lose a value or fail where a later record has another type; --whole lets it read all
records for its types. Strings that hold JSON are compared with JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import duckdb

COPY = "import duckdb; duckdb.execute(\"COPY (SELECT * FROM read_ndjson('{}'{})) TO '{}' (FORMAT parquet)\")"


def measured(command):
    """Runs a command. Returns seconds on the clock, seconds of processors, and MiB of memory."""
    begin = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def plain(value):
    """The value without members that are null, and with strings of JSON as JSON."""
    if isinstance(value, dict):
        members = ((name, plain(member)) for name, member in value.items())
        return {name: member for name, member in members if member is not None}
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def same(left, right):
    """Whether two values are equal, if one of them may be the text of JSON."""
    if left == right:
        return True
    if isinstance(left, str) != isinstance(right, str):
        text, value = (left, right) if isinstance(left, str) else (right, left)
        try:
            return same(plain(json.loads(text)), value)
        except ValueError:
            return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return False


def rows(path):
    """The rows of a Parquet file as JSON, in order."""
    cursor = duckdb.connect().execute(f"SELECT to_json(t)::VARCHAR FROM read_parquet('{path}') t")
    while some := cursor.fetchmany(1000):
        yield from (plain(json.loads(row[0])) for row in some)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("file")
    arguments.add_argument("--warpath", default="target/release/warpath")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--whole", action="store_true", help="let DuckDB read all records for its types")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = f"{folder}/warpath.parquet", f"{folder}/duckdb.parquet"
        warpath = [options.warpath, "select", "--auto", "--format", "parquet", "-o", ours, options.file]
        sample = ", sample_size=-1" if options.whole else ""
        duck = [sys.executable, "-c", COPY.format(options.file, sample, theirs)]
        best = {}
        for _ in range(options.rounds):
            for name, command in (("warpath", warpath), ("duckdb", duck)):
                best[name] = min(best.get(name, (float("inf"),)), measured(command))
        for name, path in (("warpath", ours), ("duckdb", theirs)):
            clock, processor, memory = best[name]
            size = os.path.getsize(path) / 1e6
            print(f"{name:8} {clock:6.2f} s  {processor:6.2f} s of processors  {memory:5} MiB  {size:6.1f} MB")
        clock, processor = (best["duckdb"][at] / best["warpath"][at] for at in (0, 1))
        print(f"warpath is {clock:.1f} times as fast on the clock, {processor:.1f} times in processor time")
        different = count = 0
        for left, right in zip(rows(ours), rows(theirs), strict=True):
            count += 1
            if not same(left, right):
                different += 1
                if different <= 3:
                    names = [name for name in left.keys() | right.keys()
                             if not same(left.get(name), right.get(name))]
                    print(f"row {count} differs in {', '.join(names)}")
                    for name in names[:1]:
                        print(f"  warpath {json.dumps(left.get(name))[:300]}")
                        print(f"  duckdb  {json.dumps(right.get(name))[:300]}")
        print(f"{count} rows, {different} different")
        sys.exit(different > 0)


if __name__ == "__main__":
    main()
