#!/usr/bin/env python3
"""Compares ways to read three columns of tweets into a frame: Warpath, Polars, pyarrow.

    benches/python.py FILE [--runs N] [--threads N]

The packages `warpath`, `polars` and `pyarrow` must be installed, `warpath` from a release wheel. The columns
are `$.id` as an integer, `$.text`, and `$.user.lang`. Prints the least elapsed time and the least processor
time of each way, after one run that fills the page cache, and their ratios to those of Warpath. The frames
must be equal.
"""

import argparse
import os
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--threads", type=int, default=os.cpu_count())
options = parser.parse_args()
os.environ["POLARS_MAX_THREADS"] = str(options.threads)

import polars  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.compute  # noqa: E402
import pyarrow.json  # noqa: E402
import warpath  # noqa: E402

pyarrow.set_cpu_count(options.threads)


def of_warpath():
    tweets = warpath.open(options.file, device="cpu", workers=options.threads)
    columns = {"id": ("$.id", "int64"), "text": ("$.text", "string"), "lang": ("$.user.lang", "string")}
    return polars.DataFrame(tweets.select(columns))


def of_polars():
    user = polars.Struct({"lang": polars.String})
    schema = {"id": polars.Int64, "text": polars.String, "user": user}
    lines = polars.scan_ndjson(options.file, schema=schema)
    lang = polars.col("user").struct.field("lang")
    return lines.select("id", "text", lang).collect()


def of_pyarrow(**options_of_read):
    fields = {"id": pyarrow.int64(), "text": pyarrow.string(), "user": pyarrow.struct({"lang": pyarrow.string()})}
    parse = pyarrow.json.ParseOptions(explicit_schema=pyarrow.schema(fields), unexpected_field_behavior="ignore")
    read = pyarrow.json.ReadOptions(use_threads=True, **options_of_read)
    table = pyarrow.json.read_json(options.file, read_options=read, parse_options=parse)
    lang = pyarrow.compute.struct_field(table["user"], "lang")
    columns = {"id": table["id"], "text": table["text"], "lang": lang}
    return polars.from_arrow(pyarrow.table(columns), rechunk=False)


WAYS = {
    "warpath": of_warpath,
    "polars.scan_ndjson": of_polars,
    "pyarrow.json": of_pyarrow,
    # The blocks at which it is fastest, in place of its 1 MiB.
    "pyarrow.json, 8 MiB": lambda: of_pyarrow(block_size=8 << 20),
}
frames = {name: way() for name, way in WAYS.items()}
for name, frame in frames.items():
    assert frame.equals(frames["warpath"]), f"the frame of {name} is another one"
rows = frames["warpath"].height
del frames

seconds, processor = (dict.fromkeys(WAYS, float("inf")) for _ in range(2))
for _ in range(options.runs):
    for name, way in WAYS.items():
        start, used = time.perf_counter(), time.process_time()
        frame = way()
        seconds[name] = min(seconds[name], time.perf_counter() - start)
        processor[name] = min(processor[name], time.process_time() - used)
        assert frame.height == rows
        del frame

size = os.path.getsize(options.file) / 1e6
load = os.getloadavg()[0]
print(f"{rows} rows of {size:.0f} MB, {options.threads} threads, {options.runs} runs, load {load:.1f}")
print(f"{'':20} {'elapsed':>9} {'rate':>10} {'ratio':>7} {'processor':>10} {'ratio':>7}")
for name in WAYS:
    taken, used = seconds[name], processor[name]
    ratios = taken / seconds["warpath"], used / processor["warpath"]
    print(f"{name:20} {taken:7.3f} s {size / taken / 1e3:5.2f} GB/s {ratios[0]:5.1f} x {used:8.3f} s {ratios[1]:5.1f} x")
