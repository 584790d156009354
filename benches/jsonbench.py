#!/usr/bin/env python3
"""Runs the five queries of JSONBench on records of `generate --shape bluesky`, beside DuckDB and ClickHouse.

    benches/jsonbench.py --warpath-sql PROGRAM --warpath PROGRAM --warpath-serve PROGRAM --python PYTHON
                         --file LINES [--tools T,…] [--runs N] [--device D] [-o docs/bench/jsonbench]

PYTHON is an interpreter with the packages `duckdb` and `chdb`. The script works on one file at a time. It
adds its results to `results.jsonl` in the output folder, in place of those of the same machine and number of
records, and makes the page and the plots again from all results. `--plot` makes them alone.

| tool | what it reads |
|---|---|
| warpath | the file: a new process for each run |
| warpath-first | the same where no schema is kept; only the first query |
| warpath-store | a store of the lines (`warpath store add`): a new process for each run |
| warpath-serve | that store in the memory of `warpath serve`: a new client, `warpath sql --server`, for each run |
| duckdb-parts | the Parquet files of that store |
| duckdb-lines | the file, by JSON paths: read_ndjson_objects |
| duckdb-typed | the file, by read_ndjson with the types of the columns that the query needs |
| duckdb-table | a table with one column of JSON |
| clickhouse | a table with one column of JSON, sorted as JSONBench's rules allow |

Peers run in a process of their own, whose connection stays open. A query runs once, and then N times. The
least of these N counts, as in JSONBench (N = 2 there). The rows of all tools are compared.
"""

import argparse
import datetime
import json
import math
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ["warpath", "warpath-first", "warpath-store", "warpath-serve", "duckdb-parts", "duckdb-lines",
         "duckdb-typed", "duckdb-table", "clickhouse"]
THREE = "('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')"

TITLES = [
    "events by collection",
    "the same, with distinct users, of created commits",
    "three collections by hour",
    "the three users whose first post is earliest",
    "the three users whose posts span longest",
]


def queries(collection, operation, kind, did, time_us, hour, table):
    """The five queries in the words that DataFusion and DuckDB share."""
    created = f"{kind} = 'commit' AND {operation} = 'create'"
    post = f"{created} AND {collection} = 'app.bsky.feed.post'"
    return [
        f"SELECT {collection} AS event, count(*) AS n FROM {table} GROUP BY event ORDER BY n DESC",
        f"SELECT {collection} AS event, count(*) AS n, count(DISTINCT {did}) AS users FROM {table} "
        f"WHERE {created} GROUP BY event ORDER BY n DESC",
        f"SELECT {collection} AS event, {hour} AS hour, count(*) AS n FROM {table} "
        f"WHERE {created} AND {collection} IN {THREE} GROUP BY event, hour ORDER BY hour, event",
        f"SELECT {did} AS user_id, min({time_us}) AS first_post FROM {table} WHERE {post} "
        "GROUP BY user_id ORDER BY first_post, user_id LIMIT 3",
        f"SELECT {did} AS user_id, (max({time_us}) - min({time_us})) / 1000 AS span FROM {table} WHERE {post} "
        "GROUP BY user_id ORDER BY span DESC, user_id LIMIT 3",
    ]


def warpath_queries(file):
    hour = "CAST(date_part('hour', to_timestamp_micros(time_us)) AS BIGINT)"
    return queries("commit['collection']", "commit['operation']", "kind", "did", "time_us", hour, f"'{file}'")


def duckdb_queries(table, typed):
    if typed:
        columns = ["commit.collection", "commit.operation", "kind", "did", "time_us"]
    else:
        names = ["commit.collection", "commit.operation", "kind", "did", "time_us"]
        columns = [f"(json->>'$.{name}')" for name in names[:4]] + [f"CAST(json->>'${'.time_us'}' AS BIGINT)"]
    hour = f"hour(make_timestamp({columns[4]}))"
    texts = queries(*columns, hour, table)
    # `/` of DuckDB is that of doubles.
    return [text.replace(" / 1000", " // 1000") for text in texts]


def typed_table(file, query):
    """The reader with the columns that a query names, and no more."""
    members = ["collection"] + (["operation"] if query else [])
    inner = ", ".join(f"{name} VARCHAR" for name in members)
    columns = {"commit": f"STRUCT({inner})"}
    if query:
        columns["kind"] = "VARCHAR"
    if query in (1, 3, 4):
        columns["did"] = "VARCHAR"
    if query >= 2:
        columns["time_us"] = "BIGINT"
    listed = ", ".join(f"{name}: '{kind}'" for name, kind in columns.items())
    return f"read_ndjson('{file}', columns = {{{listed}}})"


def clickhouse_queries():
    hour = "toHour(fromUnixTimestamp64Micro(json.time_us), 'UTC')"
    names = ["commit.collection", "commit.operation", "kind", "did", "time_us"]
    texts = queries(*[f"json.{name}" for name in names], hour, "bluesky")
    texts[3:] = [text.replace("json.did AS user_id", "json.did::String AS user_id") for text in texts[3:]]
    return [text.replace("(max(json.time_us) - min(json.time_us)) / 1000",
                         "intDiv(max(json.time_us) - min(json.time_us), 1000)") for text in texts]


CLICKHOUSE_TABLE = """
CREATE TABLE bluesky (json JSON(max_dynamic_paths = 0, kind LowCardinality(String),
    commit.operation LowCardinality(String), commit.collection LowCardinality(String), did String, time_us Int64)
    CODEC(ZSTD(1))) ENGINE = MergeTree
ORDER BY (json.kind, json.commit.operation, json.commit.collection, json.did, json.time_us)
"""


# --- a peer, in its own process -------------------------------------------------------------------


def peer(tool, file, folder, runs):
    """Prints a line of JSON for the load, and for each query."""
    load, size = None, None
    if tool.startswith("duckdb"):
        import duckdb

        connection = duckdb.connect(str(Path(folder) / "table.db") if tool == "duckdb-table" else ":memory:")
        connection.execute("SET threads = " + str(os.cpu_count()))
        source = f"read_ndjson_objects('{file}')"
        if tool == "duckdb-table":
            started = time.perf_counter()
            connection.execute(f"CREATE TABLE bluesky AS SELECT json FROM {source}")
            connection.execute("CHECKPOINT")
            load, size = time.perf_counter() - started, (Path(folder) / "table.db").stat().st_size
            source = "bluesky"
        if tool == "duckdb-parts":
            source = f"read_parquet('{folder}/*.parquet', union_by_name = true)"
        if tool == "duckdb-typed":
            texts = [duckdb_queries(typed_table(file, at), True)[at] for at in range(5)]
        else:
            texts = duckdb_queries(source, tool == "duckdb-parts")

        def run(text):
            return [list(row) for row in connection.execute(text).fetchall()]

        version = duckdb.__version__
    else:
        from chdb import session

        database = session.Session(str(Path(folder) / "clickhouse"))
        started = time.perf_counter()
        database.query(CLICKHOUSE_TABLE)
        database.query(f"INSERT INTO bluesky SELECT json FROM file('{file}', JSONAsObject)")
        load = time.perf_counter() - started
        parts = "system.parts WHERE active AND table = 'bluesky'"
        read = database.query(f"SELECT sum(bytes_on_disk) FROM {parts}", "CSV")
        size = int(str(read))
        texts = clickhouse_queries()

        def run(text):
            read = str(database.query(text, "JSONCompactEachRow"))
            return [json.loads(line) for line in read.splitlines()]

        version = str(database.query("SELECT version()", "TSV")).strip()
    print(json.dumps({"load": load, "size": size, "version": version}), flush=True)
    for text in texts:
        times, rows = [], None
        for _ in range(runs + 1):
            started = time.perf_counter()
            rows = run(text)
            times.append(time.perf_counter() - started)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"times": times[1:], "peak": peak, "rows": rows}), flush=True)


# --- measurement ----------------------------------------------------------------------------------


def run_warpath(command):
    """Seconds, peak of memory and rows of one process."""
    with tempfile.TemporaryFile() as out:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: status {process.returncode}")
        out.seek(0)
        rows = [list(json.loads(line).values()) for line in out]
    return seconds, usage.ru_maxrss * 1024, rows


def store_of(args):
    """Makes the store of the lines, if there is none. Returns its folder, seconds of the making and bytes."""
    folder = args.file.with_suffix(".wp")
    if not folder.exists():
        command = [str(args.warpath), "store", "add", "--quiet", str(folder), str(args.file)]
        args.stored, _, _ = run_warpath(command)
    size = sum(part.stat().st_size for part in folder.glob("*.parquet"))
    return folder, args.stored, size


def measure_warpath(args, first, stored):
    kept = args.file.with_name(f".{args.file.name}.schema")
    load, size, texts = None, None, warpath_queries(args.file)
    if stored:
        folder, load, size = store_of(args)
        texts = warpath_queries(folder)
    said = subprocess.run([args.warpath_sql, "--version"], capture_output=True, text=True, check=True)
    version = said.stdout.split()[-1]
    results = []
    for text in texts[:1] if first else texts:
        times, peaks, rows = [], [], None
        for _ in range(args.runs + 1):
            if first:
                kept.unlink(missing_ok=True)
            command = [str(args.warpath_sql), "--device", args.device, "--format", "ndjson", text]
            seconds, peak, rows = run_warpath(command)
            times.append(seconds)
            peaks.append(peak)
        # `ndjson` leaves nulls out.
        rows = [[None, *row] if len(row) < len(rows[0]) else row for row in rows]
        results.append({"times": times[1:], "peak": max(peaks), "rows": rows})
    return {"load": load, "size": size, "version": version}, results


def measure_served(args):
    """A server that has loaded the store, and its clients. The load makes the store, up to the address."""
    folder, added, size = store_of(args)
    said = subprocess.run([args.warpath_sql, "--version"], capture_output=True, text=True, check=True)
    started = time.perf_counter()
    command = [str(args.warpath_serve), "--quiet", "--listen", "127.0.0.1:0", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        load = time.perf_counter() - started + (added or 0)
        results = []
        for text in warpath_queries(folder):
            times, rows = [], None
            for _ in range(args.runs + 1):
                command = [str(args.warpath), "sql", "--server", address, "--format", "ndjson", text]
                seconds, _, rows = run_warpath(command)
                times.append(seconds)
            status = Path(f"/proc/{server.pid}/status").read_text()
            peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024
            rows = [[None, *row] if len(row) < len(rows[0]) else row for row in rows]
            results.append({"times": times[1:], "peak": peak, "rows": rows})
        server.terminate()
    return {"load": load, "size": size, "version": said.stdout.split()[-1]}, results


def measure_peer(args, tool):
    with tempfile.TemporaryDirectory(dir=args.file.parent) as folder:
        if tool == "duckdb-parts":
            folder, _, _ = store_of(args)
        command = [args.python, __file__, "--peer", tool, "--file", str(args.file), "--folder", folder,
                   "--runs", str(args.runs)]
        process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if process.returncode:
            sys.exit(f"{tool}: status {process.returncode}")
        head, *results = [json.loads(line) for line in process.stdout.splitlines()]
    return head, results


def comparable(rows):
    # ClickHouse has an empty text where a path is missing.
    return sorted(json.dumps([cell if cell not in (None, "") else None for cell in row]) for row in rows)


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model or platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"


def measure(args):
    with open(args.file, "rb") as file:
        count = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 24), b""))
    results, expected = [], {}
    for tool in args.tools.split(","):
        is_warpath = tool.startswith("warpath")
        if tool == "warpath-serve":
            head, measured = measure_served(args)
        elif is_warpath:
            head, measured = measure_warpath(args, tool == "warpath-first", tool == "warpath-store")
        else:
            head, measured = measure_peer(args, tool)
        for number, result in enumerate(measured, 1):
            rows = comparable(result.pop("rows"))
            result |= {"query": number, "is_equal": rows == expected.setdefault(number, rows)}
            if not result["is_equal"]:
                first = args.tools.split(",")[0]
                print(f"query {number}: {tool} has other rows than {first}", file=sys.stderr)
            print(f"{count} records, query {number}, {tool}: {min(result['times']):.3f} s, "
                  f"{result['peak'] / 1e6:.0f} MB", flush=True)
        name = tool if args.device == "cpu" or not is_warpath else f"{tool} {args.device}"
        run = {"date": str(datetime.date.today()), "machine": args.machine or machine(), "records": count}
        results.append({**run, "bytes": args.file.stat().st_size, "tool": name, **head, "queries": measured})
    args.output.mkdir(parents=True, exist_ok=True)
    kept = args.output / "results.jsonl"
    old = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    replaced = {(it["machine"], it["records"], it["tool"]) for it in results}
    old = [it for it in old if (it["machine"], it["records"], it["tool"]) not in replaced]
    kept.write_text("".join(json.dumps(it) + "\n" for it in old + results))


# --- the page -------------------------------------------------------------------------------------


def seconds(value):
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.2f} s"


# Every colour, and the one that replaces it on a dark page (the colours of benches/src/harness/chart.rs).
INK, FAINT, GRID, PEER, OURS, GROUND = "#1F2328", "#59636E", "#DFE3E8", "#76808B", "#0072B2", "#FBFBF9"
DARK = {INK: "#E6EDF3", FAINT: "#9DA7B3", GRID: "#3A424C", PEER: "#8B949E", OURS: "#58B0F0",
        GROUND: "#151B23"}
STYLE = "".join(f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}\n'
                for light, dark in DARK.items())

# Tools that read the lines, and tools that read a table or a store of them: Warpath's first.
LINES = ["warpath", "duckdb-lines", "duckdb-typed"]
RESIDENT = ["warpath-serve", "duckdb-table", "clickhouse"]
LOADED = ["warpath-store", "duckdb-parts", "duckdb-table", "clickhouse"]


def sentences(subject, group, times):
    """Who leads at how many queries, and by how much: `times` has the seconds of each query by tool."""
    ours, others = times.get(group[0]), [tool for tool in group[1:] if tool in times]
    if not ours:
        return ""
    of = f"{subject} takes {seconds(min(ours))} to {seconds(max(ours))}"
    if not others:
        return of + ". "
    best = [min((times[tool][at], tool) for tool in others) for at in range(len(ours))]
    ahead = [(theirs / value, tool) for value, (theirs, tool) in zip(ours, best) if theirs >= value]
    lost = [(value / theirs, tool) for value, (theirs, tool) in zip(ours, best) if theirs < value]

    def names(side):
        return " or ".join(tool for tool in others if any(tool == name for _, name in side))

    def factors(side):
        return f"{min(side)[0]:.2f} to {max(side)[0]:.2f} times"

    if not lost:
        return f"{of} and leads at all {len(ours)} queries, by {factors(ahead)} over {names(ahead)}. "
    if not ahead:
        return f"{of}; {names(lost)} leads at all {len(ours)} queries, by {factors(lost)}. "
    return (f"{of}. It leads at {len(ahead)} of {len(ours)} queries, by up to {max(ahead)[0]:.2f} times; "
            f"{names(lost)} leads at {len(lost)}, by up to {max(lost)[0]:.2f}. ")


def result(times):
    """The sentences above a plot."""
    lines = sentences("Over the lines Warpath", LINES, times)
    lines += sentences("Over a store Warpath", LOADED, times)
    return (lines + sentences("A server's client", RESIDENT, times)).strip() or "Warpath was not measured."


def text(x, y, content, size=12, colour=INK, anchor="start", extra=""):
    corner = f'x="{x:.1f}" y="{y:.1f}"'
    style = f'font-size="{size}" fill="{colour}" text-anchor="{anchor}"{extra}'
    return f"<text {corner} {style}>{content}</text>\n"


def plot(title, notes, groups, words):
    """An SVG with a mark for each tool of each query, on a logarithmic axis (the look of docs/bench)."""
    values = [value for _, rows in groups for _, value in rows]
    low, high = min(values) / 1.3, max(values) * 1.3
    left, right, top = 200.0, 640.0, 44.0 + 16 * len(notes) + 24

    def x(value):
        return left + (right - left) * math.log(value / low) / math.log(high / low)

    height = top + sum(24 + 20 * len(rows) for _, rows in groups)
    out = text(20, 30, title, 16, extra=' font-weight="600"')
    out += "".join(text(20, 50 + 16 * at, note, colour=FAINT) for at, note in enumerate(notes))
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for step in (1, 2, 5):
            value = step * 10.0**exponent
            if low <= value <= high:
                out += (f'<line x1="{x(value):.1f}" y1="{top - 8}" x2="{x(value):.1f}" y2="{height:.1f}" '
                        f'stroke="{GRID}"/>\n')
                out += text(x(value), height + 16, f"{value:g}", 11, FAINT, "middle")
    out += text((left + right) / 2, height + 36, "seconds, logarithmic", 12, FAINT, "middle")
    y = top
    for name, rows in groups:
        out += text(20, y + 14, name, 12, extra=' font-weight="600"')
        y += 24
        for tool, value in rows:
            ours = tool.startswith("warpath")
            colour, weight = (OURS, ' font-weight="600"') if ours else (PEER, "")
            out += text(left - 14, y + 11, tool, 12, anchor="end", extra=weight)
            out += f'<circle cx="{x(value):.1f}" cy="{y + 7:.1f}" r="5" fill="{colour}" stroke="{GROUND}"/>\n'
            out += text(right + 20, y + 11, seconds(value), 11, INK if ours else FAINT)
            y += 20
    width, height = 740, height + 50
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
            f'viewBox="0 0 {width} {height:.0f}" role="img" '
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\">\n"
            f'<title>{title}</title>\n<desc>{words}</desc>\n'
            f'<style>\n@media (prefers-color-scheme:dark){{\n{STYLE}}}\n</style>\n'
            f'<rect width="{width}" height="{height:.0f}" rx="6" fill="{GROUND}"/>\n'
            f"{out}</svg>\n")


PAGE = """# JSONBench

The five queries of [JSONBench](https://github.com/ClickHouse/JSONBench) over records of
`generate --shape bluesky`, which have the form and the frequencies of Bluesky's events. Made by
`benches/jsonbench.py`, whose head says what each tool reads. Not to be edited.

Warpath reads the lines of the file, or their store, and a run is a whole process: start, plan, and text of
the rows. `warpath-serve` is such a process, too: a client of a server that has loaded the store. Its memory
is that of the server. `warpath-first` is query 1 where no schema is kept, so that all records are read twice.
The peers run in a process that stays, and those with a table have loaded it before. A time is the least of
the runs after the first. All tools returned the same rows{differences}.
"""


def page(folder):
    results = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    others = [f"{it['tool']}, query {query['query']}" for it in results for query in it["queries"]
              if not query["is_equal"]]
    out = PAGE.format(differences=f", apart from: {'; '.join(others)}" if others else "")
    runs = sorted({(it["machine"], it["records"]) for it in results}, key=lambda it: (it[1], it[0]))
    for number, (where, count) in enumerate(runs):
        of = [it for it in results if (it["machine"], it["records"]) == (where, count)]
        of.sort(key=lambda it: (not it["tool"].startswith("warpath"), TOOLS.index(it["tool"].split()[0])))
        megabytes = f"{of[0]['bytes'] / 1e6:,.0f}".replace(",", "\u2009")
        size = f"{count / 1e6:.3g} million records, {megabytes} MB"
        date = max(it["date"] for it in of)
        notes = [f"{size}, {where}", f"{date}. Warpath: whole processes over the lines."]
        out += f"\n## {size}\n\n{where}, {date}.\n\n"
        out += "| tool | load | size | " + " | ".join(f"q{at}" for at in range(1, 6)) + " | memory |\n"
        out += "|---|--:|--:|" + "--:|" * 6 + "\n"
        for it in of:
            cells = {query["query"]: seconds(min(query["times"])) for query in it["queries"]}
            load = seconds(it["load"]) if it["load"] else ""
            bytes_ = f"{it['size'] / 1e6:.0f} MB" if it["size"] else ""
            peak = max(query["peak"] for query in it["queries"])
            out += f"| {it['tool']} {it['version']} | {load} | {bytes_} | "
            out += " | ".join(cells.get(at, "") for at in range(1, 6)) + f" | {peak / 1e6:.0f} MB |\n"
        groups = []
        for at, title in enumerate(TITLES, 1):
            queries_of = [(it["tool"], query) for it in of for query in it["queries"] if query["query"] == at]
            groups.append((f"{at}: {title}", [(tool, min(query["times"])) for tool, query in queries_of]))
        name = re.sub(r"[^a-z0-9]+", "-", f"{count}-{where}".lower()).strip("-") + ".svg"
        words = result({it["tool"]: [min(query["times"]) for query in it["queries"]] for it in of})
        (folder / name).write_text(plot("JSONBench: seconds of each query", notes, groups, words))
        lines = textwrap.fill(words, 110, break_on_hyphens=False)
        out += f"\n{lines}\n\n![Seconds of each query by {len(of)} tools, {count} records]({name})\n"
    (folder / "README.md").write_text(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpath-sql", type=Path, default=ROOT / "target/release/warpath-sql")
    parser.add_argument("--warpath", type=Path, default=ROOT / "target/release/warpath")
    parser.add_argument("--warpath-serve", type=Path, default=ROOT / "target/release/warpath-serve")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with duckdb and chdb")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--machine", help="the name of the machine, if /proc/cpuinfo does not say it")
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs/bench/jsonbench")
    args = parser.parse_args()
    args.stored = None
    if args.peer:
        peer(args.peer, args.file, args.folder, args.runs)
        return
    if not args.plot:
        if args.file is None:
            parser.error("--file is needed")
        measure(args)
    page(args.output)


if __name__ == "__main__":
    main()
