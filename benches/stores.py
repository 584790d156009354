#!/usr/bin/env python3
"""Measures a store beside other forms of the same lines: text, gzip, zstd, DuckDB's Parquet, Vortex and
ClickHouse's JSON.

    benches/stores.py --warpath PROGRAM --generate PROGRAM --python PYTHON [--megabytes N] [--sets S,…]
                      [--forms F,…] [--runs N] [-o docs/bench/store]

PYTHON is an interpreter with the packages `duckdb`, `chdb`, `vortex-data` and `pyarrow`. The script adds its
results to `results.jsonl` in the output folder, in place of those of the same machine, set and size, and
makes the page again from all results. `--plot` makes the page alone.

| form | what it is | how it is made |
|---|---|---|
| text | the file | |
| gzip, zstd-3, zstd-19 | the file, compressed | gzip -6, zstd -3, zstd -19 |
| store | a store of Warpath | warpath store add |
| duckdb | Parquet with zstd | COPY (FROM read_json_auto) TO |
| vortex | a Vortex file | vortex.io.write of DuckDB's Parquet as an Arrow table |
| clickhouse | a table with one column of JSON, zstd 1, sorted by nothing | INSERT of JSONAsObject |

| task | what is done |
|---|---|
| build | the form is made of the text |
| back | all lines are written out again, byte for byte |
| leaf | the values of one member are counted |
| three | three members of the records that a condition selects, about 1 in 100 |
| record | one whole record by its number, from the middle |
| deep | the values of a name at any depth are counted |

Warpath, gzip and zstd run as whole processes. The others run in a process that stays and has the form open;
a query runs once, and then N times. The least of N runs counts. A form that cannot do a task has no figure.
"""

import argparse
import datetime
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from jsonbench import machine, seconds

ROOT = Path(__file__).resolve().parent.parent
FORMS = ["text", "gzip", "zstd-3", "zstd-19", "store", "duckdb", "vortex", "clickhouse"]
TASKS = ["build", "back", "leaf", "three", "record", "deep"]

# Of each shape: the member that is counted, three members, the condition, and a name at any depth.
SETS = {
    "twitter": ("user.lang", ["id_str", "user.lang", "text"], "user.followers_count", "id_str"),
    "bluesky": ("commit.collection", ["did", "kind", "commit.collection"], "time_us", "cid"),
    "walmart": ("brandName", ["itemId", "name", "brandName"], "salePrice", "name"),
    "bestbuy": ("type", ["sku", "name", "type"], "regularPrice", "id"),
    "events": ("event.user.lang", ["id", "event.level", "event.message"], "event.request.latency_ms", "id"),
}


# --- processes ------------------------------------------------------------------------------------


def run(command, output=subprocess.DEVNULL):
    """Seconds and peak of memory of one process."""
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=output)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {process.returncode}")
    return taken, usage.ru_maxrss * 1024


def least(command, runs):
    times = [run(command) for _ in range(runs + 1)]
    return {"seconds": min(taken for taken, _ in times[1:]), "peak": max(peak for _, peak in times)}


def size_of(path):
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def measure_warpath(args, tasks, input_, spec, limit, middle):
    """The tasks that read, over the text or a store."""
    leaf, three, member, deep = spec
    columns = [f"{name.replace('.', '_')}=$.{name}" for name in three]
    condition = f"$.{member} > {limit}"
    tasks["leaf"] = least([args.warpath, "query", "--count", f"$.{leaf}", input_], args.runs)
    tasks["three"] = least(
        [args.warpath, "select", *columns, "--where", condition, input_],
        args.runs)
    tasks["deep"] = least([args.warpath, "query", "--count", f"$..{deep}", input_], args.runs)
    if input_.is_dir():
        lines = f"{middle}-{middle}"
        tasks["record"] = least([args.warpath, "store", "text", input_, "--lines", lines], args.runs)
        tasks["back"] = least([args.warpath, "store", "text", input_], args.runs)


def measure_processes(args, form, text, spec, limit, middle, folder):
    tasks, made = {}, text
    if form in ("gzip", "zstd-3", "zstd-19"):
        made = folder / f"{text.name}.{form}"
        program, level = form.split("-") if "-" in form else (form, "6")
        with open(made, "wb") as output:
            taken, peak = run([program, f"-{level}", "-c", text], output)
        tasks["build"] = {"seconds": taken, "peak": peak}
        tasks["back"] = least([program, "-d", "-c", made], args.runs)
    elif form == "store":
        made = folder / "lines.wp"
        taken, peak = run([args.warpath, "store", "add", "--quiet", made, text])
        tasks["build"] = {"seconds": taken, "peak": peak}
        back = folder / "back"
        with open(back, "wb") as output:
            run([args.warpath, "store", "text", made], output)
        if subprocess.run(["cmp", back, text], check=False).returncode:
            sys.exit("the store does not give its text back")
        back.unlink()
        measure_warpath(args, tasks, made, spec, limit, middle)
    else:
        measure_warpath(args, tasks, text, spec, limit, middle)
    said = subprocess.run([args.warpath, "--version"], capture_output=True, text=True, check=True).stdout
    version = said.split()[-1] if form in ("text", "store") else ""
    return {"version": version, "size": size_of(made), "tasks": tasks}


# --- peers, each in its own process ---------------------------------------------------------------


def timed(runs, task):
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return {"seconds": min(times[1:]), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def built(task):
    started = time.perf_counter()
    task()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": time.perf_counter() - started, "peak": peak}


def peer(form, text, folder, spec, limit, middle, runs):
    """Prints the results of a peer as one line of JSON."""
    leaf, three, member, _ = spec
    tasks = {}
    if form == "duckdb":
        import duckdb

        made = folder / "lines.parquet"
        connection = duckdb.connect()
        connection.execute(f"SET threads = {os.cpu_count()}")
        source = f"read_json_auto('{text}', format = 'newline_delimited', sample_size = -1)"
        options = "(FORMAT parquet, COMPRESSION zstd)"
        tasks["build"] = built(lambda: connection.execute(f"COPY (FROM {source}) TO '{made}' {options}"))

        def read(query):
            return lambda: connection.execute(query).fetchall()

        table = f"'{made}'"
        names = ", ".join(three)
        tasks["leaf"] = timed(runs, read(f"SELECT count({leaf}) FROM {table}"))
        tasks["three"] = timed(runs, read(f"SELECT {names} FROM {table} WHERE {member} > {limit}"))
        tasks["record"] = timed(runs, read(f"SELECT * FROM {table} LIMIT 1 OFFSET {middle}"))
        version = duckdb.__version__
    elif form == "vortex":
        from importlib.metadata import version as version_of

        import duckdb
        import vortex
        import vortex.expr

        table = duckdb.sql(
            f"FROM read_json_auto('{text}', format = 'newline_delimited', sample_size = -1)").to_arrow_table()
        made = folder / "lines.vortex"
        tasks["build"] = built(lambda: vortex.io.write(table, str(made)))

        def column(name):
            expression = None
            for part in name.split("."):
                expression = vortex.expr.column(part) if expression is None else expression[part]
            return expression

        def scan(expression=None, names=None):
            return lambda: vortex.open(str(made)).scan(names, expr=expression).read_all().to_arrow_table()

        top = sorted({name.split(".")[0] for name in three})
        tasks["leaf"] = timed(runs, scan(names=[leaf.split(".")[0]]))
        tasks["three"] = timed(runs, scan(column(member) > limit, top))
        version = version_of("vortex-data")
    else:
        from chdb import session

        made = folder / "clickhouse"
        database = session.Session(str(made))
        database.query("CREATE TABLE lines (json JSON CODEC(ZSTD(1))) ENGINE = MergeTree ORDER BY tuple()")
        load = f"INSERT INTO lines SELECT json FROM file('{text}', JSONAsObject)"
        tasks["build"] = built(lambda: database.query(load))

        def read(query):
            return lambda: str(database.query(query, "JSONEachRow"))

        names = ", ".join(f"json.{name}" for name in three)
        tasks["leaf"] = timed(runs, read(f"SELECT count(json.{leaf}) FROM lines"))
        where = f"json.{member}::Float64 > {limit}"
        tasks["three"] = timed(runs, read(f"SELECT {names} FROM lines WHERE {where}"))
        tasks["record"] = timed(runs, read(f"SELECT json FROM lines LIMIT 1 OFFSET {middle}"))
        version = str(database.query("SELECT version()", "TSV")).strip()
        size = int(str(database.query(
            "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'lines'", "CSV")))
        print(json.dumps({"version": version, "size": size, "tasks": tasks}), flush=True)
        return
    print(json.dumps({"version": version, "size": size_of(made), "tasks": tasks}), flush=True)


def measure_peer(args, form, text, shape, limit, middle, folder):
    command = [args.python, __file__, "--peer", form, "--file", text, "--folder", folder, "--sets", shape,
               "--limit", limit, "--middle", middle, "--runs", args.runs]
    process = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    if process.returncode:
        print(f"{shape}, {form}: status {process.returncode}", file=sys.stderr)
        return None
    return json.loads(process.stdout.splitlines()[-1])


# --- measurement ----------------------------------------------------------------------------------


def value_at(record, path):
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, (int, float)) else None


def one_in_a_hundred(text, member):
    """The number that about 1 in 100 records exceed, and the number of records."""
    values, lines = [], 0
    with open(text, "rb") as file:
        for line in file:
            lines += 1
            if lines % 10 == 0:
                value = value_at(json.loads(line), member)
                values.append(value if value is not None else 0)
    values.sort()
    return values[len(values) * 99 // 100], lines


def measure(args):
    args.output.mkdir(parents=True, exist_ok=True)
    kept = args.output / "results.jsonl"
    for shape in args.sets.split(","):
        spec = SETS[shape]
        with tempfile.TemporaryDirectory(dir=args.scratch) as name:
            folder = Path(name)
            text = folder / "lines.ndjson"
            run([args.generate, "--shape", shape, "--size", f"{args.megabytes}MiB", "--output", text])
            limit, lines = one_in_a_hundred(text, spec[2])
            results = []
            for form in args.forms.split(","):
                if form in ("duckdb", "vortex", "clickhouse"):
                    result = measure_peer(args, form, text, shape, limit, lines // 2, folder)
                else:
                    result = measure_processes(args, form, text, spec, limit, lines // 2, folder)
                if result is None:
                    continue
                where = {"date": str(datetime.date.today()), "machine": args.machine or machine()}
                what = {"set": shape, "bytes": text.stat().st_size, "lines": lines, "form": form}
                results.append({**where, **what, **result})
                times = {task: round(it["seconds"], 4) for task, it in result["tasks"].items()}
                print(f"{shape}, {form}: {result['size']} bytes, {times}", flush=True)
                for made in folder.iterdir():
                    if made != text:
                        shutil.rmtree(made) if made.is_dir() else made.unlink()
        old = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        replaced = {(it["machine"], it["set"], it["bytes"], it["form"]) for it in results}
        old = [it for it in old if (it["machine"], it["set"], it["bytes"], it["form"]) not in replaced]
        kept.write_text("".join(json.dumps(it) + "\n" for it in old + results))


# --- the page -------------------------------------------------------------------------------------

PAGE = """# Stores

The same lines in several forms: sizes, and the times of some tasks. Made by `benches/stores.py`, whose head
says how each form is made and what each task does. Not to be edited.

Warpath, gzip and zstd run as whole processes: start, work and output. The others run in a process that stays,
with the form open. A time is the least of the runs after the first; `build` is one run. A form that cannot
do a task has no figure.
"""


def page(folder):
    results = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    out = PAGE
    for key in dict.fromkeys((it["set"], it["bytes"], it["machine"]) for it in results):
        of = [it for it in results if (it["set"], it["bytes"], it["machine"]) == key]
        shape, size, where = key
        leaf, three, member, deep = SETS[shape]
        zstd = next((it["size"] for it in of if it["form"] == "zstd-3"), None)
        megabytes = f"{size / 1e6:,.0f}".replace(",", "\u2009")
        out += f"\n## {shape}, {megabytes} MB, {of[0]['lines']:,} lines\n\n".replace(",0", "\u20090")
        names = ", ".join(f"`$.{name}`" for name in three)
        tasks = f"Leaf `$.{leaf}`; three members {names} by a condition on `$.{member}`; deep `$..{deep}`."
        out += textwrap.fill(f"{where}, {max(it['date'] for it in of)}. {tasks}", 110) + "\n\n"
        heads = ["form", "size", "text / size", "size / `zstd -3`", *TASKS, "memory of build"]
        out += "| " + " | ".join(heads) + " |\n"
        out += "|---|" + "--:|" * (4 + len(TASKS)) + "\n"
        for it in of:
            cells = [seconds(it["tasks"][task]["seconds"]) if task in it["tasks"] else "" for task in TASKS]
            ratio = f"{it['size'] / zstd:.2f}" if zstd else ""
            peak = f"{it['tasks']['build']['peak'] / 1e6:.0f} MB" if "build" in it["tasks"] else ""
            name = f"{it['form']} {it['version']}".strip()
            out += f"| {name} | {it['size'] / 1e6:.1f} MB | {size / it['size']:.2f} | {ratio} | "
            out += " | ".join(cells) + f" | {peak} |\n"
    (folder / "README.md").write_text(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpath", type=Path, default=ROOT / "target/release/warpath")
    parser.add_argument("--generate", type=Path, default=ROOT / "target/release/generate")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the peers")
    parser.add_argument("--megabytes", type=int, default=100, help="MiB of text of each set")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scratch", help="a folder for the files; by default that of temporary files")
    parser.add_argument("--machine", help="the name of the machine, if /proc/cpuinfo does not say it")
    parser.add_argument("--plot", action="store_true", help="make the page alone")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs/bench/store")
    for hidden in ("--peer", "--file", "--folder", "--limit", "--middle"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        limit = float(args.limit) if "." in args.limit else int(args.limit)
        text, folder = Path(args.file), Path(args.folder)
        peer(args.peer, text, folder, SETS[args.sets], limit, int(args.middle), args.runs)
        return
    if not args.plot:
        measure(args)
    page(args.output)


if __name__ == "__main__":
    main()
