#!/usr/bin/env python3
"""Compares the rows of SQL queries over generated files: `warpath sql`, DuckDB, a cluster, and `query`.

    tests/sql_peers.py --programs FOLDER --python PYTHON --data FOLDER [--size BYTES] [--cluster HOST:PORT]
                       [--device D] [--only NAME,…]

FOLDER of programs has `warpath`, `warpath-sql`, `generate`, and `warpath-cluster` if a cluster is given.
PYTHON is an interpreter with the package `duckdb`. The data is made once, of a fixed seed: events of Bluesky,
a log, and records that drift (other types, nulls, large integers, members that appear late), in all SIZE
bytes (default: 1 GB).

Each query has one text. Warpath finds the columns by itself. DuckDB reads a sample, so the script
declares them.
Rows are compared without their order, and doubles to 10 digits, since a sum depends on its order. The exit
status is 1 if any rows differ.
"""

import argparse
import decimal
import json
import random
import subprocess
import sys
import time
from pathlib import Path

THREE = "('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')"
COLLECTION, OPERATION = "commit['collection']", "commit['operation']"

# (name, text, a command of `warpath` whose first line is the number in the first cell, or None)
QUERIES = [
    ("count", "SELECT count(*) AS n FROM {bsky}", "query --count '$' {bsky}"),
    ("count of a member", "SELECT count(commit['cid']) AS n FROM {bsky}", "query --count '$.commit.cid' {bsky}"),
    ("count of a condition", "SELECT count(*) AS n FROM {bsky} WHERE kind = 'commit' AND commit['operation'] = 'delete'",
     """query --count '$' --where '$.kind == "commit" && $.commit.operation == "delete"' {bsky}"""),
    ("group", "SELECT commit['collection'] AS c, count(*) AS n FROM {bsky} GROUP BY c", None),
    ("group by two", "SELECT kind, commit['operation'] AS o, count(*) AS n FROM {bsky} GROUP BY kind, o", None),
    ("distinct users", "SELECT commit['collection'] AS c, count(*) AS n, count(DISTINCT did) AS users FROM {bsky} "
     "WHERE kind = 'commit' AND commit['operation'] = 'create' GROUP BY c", None),
    ("by hour", f"SELECT {COLLECTION} AS c, time_us - time_us % 3600000000 AS x, count(*) AS n FROM {{bsky}} "
     f"WHERE {OPERATION} = 'create' AND {COLLECTION} IN {THREE} GROUP BY c, x", None),
    ("first posts", f"SELECT did, min(time_us) AS t FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.post' "
     "GROUP BY did ORDER BY t, did LIMIT 30", None),
    ("longest spans", f"SELECT did, max(time_us) - min(time_us) AS t FROM {{bsky}} WHERE {COLLECTION} = "
     "'app.bsky.feed.post' GROUP BY did ORDER BY t DESC, did LIMIT 30", None),
    ("having", "SELECT did, count(*) AS n FROM {bsky} GROUP BY did HAVING count(*) >= 40", None),
    ("like", f"SELECT count(*) AS n FROM {{bsky}} WHERE {COLLECTION} LIKE 'app.bsky.graph.%'", None),
    ("not like", f"SELECT count(*) AS n FROM {{bsky}} WHERE {COLLECTION} NOT LIKE '%.feed.%'", None),
    ("not in", f"SELECT count(*) AS n FROM {{bsky}} WHERE {COLLECTION} NOT IN {THREE}", None),
    ("is null", "SELECT count(*) AS n FROM {bsky} WHERE commit['collection'] IS NULL", None),
    ("a range", "SELECT count(*) AS n, min(time_us) AS a, max(time_us) AS b FROM {bsky} WHERE time_us BETWEEN "
     "(SELECT min(time_us) + 1000000 FROM {bsky}) AND (SELECT max(time_us) - 1000000 FROM {bsky})", None),
    ("top rows", "SELECT did, time_us FROM {bsky} ORDER BY time_us DESC, did LIMIT 100", None),
    ("deep member", "SELECT commit['record']['$type'] AS t, count(*) AS n FROM {bsky} GROUP BY t", None),
    ("text functions", "SELECT substr(commit['rev'], 1, 4) AS r, length(did) AS l, count(*) AS n FROM {bsky} "
     "GROUP BY r, l ORDER BY n DESC, r, l LIMIT 50", None),
    ("upper and concat", "SELECT upper(kind) || '-' || coalesce(commit['operation'], 'none') AS k, count(*) AS n "
     "FROM {bsky} GROUP BY k", None),
    ("case", f"SELECT CASE WHEN {COLLECTION} LIKE '%like' THEN 'like' WHEN {COLLECTION} IS NULL THEN 'none' ELSE 'other' "
     "END AS k, count(*) AS n FROM {bsky} GROUP BY k", None),
    ("join to itself", f"WITH posts AS (SELECT did, count(*) AS p FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.post' "
     f"GROUP BY did), likes AS (SELECT did, count(*) AS l FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.like' "
     "GROUP BY did) SELECT p, l, count(*) AS n FROM posts JOIN likes ON posts.did = likes.did GROUP BY p, l", None),
    ("left join", f"WITH posts AS (SELECT did, count(*) AS p FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.post' "
     f"GROUP BY did), blocks AS (SELECT DISTINCT did FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.graph.block') "
     "SELECT count(*) AS n, count(blocks.did) AS b, sum(p) AS p FROM posts LEFT JOIN blocks ON posts.did = blocks.did", None),
    ("semi join", f"SELECT count(*) AS n FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.like' AND did IN (SELECT did "
     f"FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.graph.block')", None),
    ("anti join", f"SELECT count(DISTINCT a.did) AS n FROM {{bsky}} a WHERE NOT EXISTS (SELECT 1 FROM {{bsky}} b WHERE "
     f"b.did = a.did AND b.{COLLECTION} = 'app.bsky.feed.like')", None),
    ("row numbers", "SELECT did, time_us FROM (SELECT did, time_us, row_number() OVER (PARTITION BY did ORDER BY time_us) "
     f"AS r FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.post') ranked WHERE r = 5", None),
    ("running sums", "SELECT level, sum(s) AS s FROM (SELECT level, sum(ms) OVER (PARTITION BY service ORDER BY time, ms, "
     "status, level, message ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM {log}) w GROUP BY level", None),
    ("lag", "SELECT count(*) AS n FROM (SELECT time_us, lag(time_us) OVER (ORDER BY time_us) AS before FROM {bsky} WHERE "
     f"{COLLECTION} = 'app.bsky.graph.block') w WHERE time_us - before > 1000", None),
    ("ranks", "SELECT status, n, rank() OVER (ORDER BY n DESC) AS r FROM (SELECT status, count(*) AS n FROM {log} GROUP BY "
     "status) w", None),
    ("union all", f"SELECT k, count(*) AS n FROM (SELECT kind AS k FROM {{bsky}} UNION ALL SELECT level AS k FROM {{log}}) u "
     "GROUP BY k", None),
    ("except", f"SELECT count(*) AS n FROM (SELECT did FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.post' EXCEPT "
     f"SELECT did FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.like') e", None),
    ("intersect", f"SELECT count(*) AS n FROM (SELECT did FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.post' INTERSECT "
     f"SELECT did FROM {{bsky}} WHERE {COLLECTION} = 'app.bsky.feed.repost') e", None),
    ("rollup", "SELECT level, status, count(*) AS n FROM {log} GROUP BY ROLLUP (level, status)", None),
    ("statistics of a number", "SELECT count(ms) AS n, sum(ms) AS s, min(ms) AS a, max(ms) AS b, avg(ms) AS m, "
     "stddev(ms) AS d FROM {log}", "query --count '$.ms' {log}"),
    ("a condition of numbers", "SELECT count(*) AS n FROM {log} WHERE status >= 500 AND ms > 900",
     "query --count '$' --where '$.status >= 500 && $.ms > 900' {log}"),
    ("or", "SELECT count(*) AS n FROM {log} WHERE status = 404 OR (level = 'error' AND ms < 10) OR NOT (ms < 990)",
     """query --count '$' --where '$.status == 404 || ($.level == "error" && $.ms < 10) || !($.ms < 990)' {log}"""),
    ("by level and service", "SELECT level, service, count(*) AS n, avg(ms) AS m FROM {log} GROUP BY level, service", None),
    ("times", "SELECT date_trunc('minute', time) AS m, count(*) AS n, max(ms) AS b FROM {log} GROUP BY m ORDER BY n DESC, "
     "m LIMIT 20", None),
    ("a range of times", "SELECT count(*) AS n FROM {log} WHERE time >= (SELECT min(time) + INTERVAL '1 minute' FROM {log})",
     None),
    ("filters of aggregates", "SELECT service, count(*) FILTER (WHERE status >= 500) AS f, count(*) AS n FROM {log} GROUP BY "
     "service", None),
    ("quotients", "SELECT service, round(100.0 * count(*) FILTER (WHERE status >= 400) / count(*), 6) AS p FROM {log} GROUP "
     "BY service", None),
    ("modulo", "SELECT ms % 7 AS k, count(*) AS n, sum(ms) AS s FROM {log} GROUP BY k", None),
    ("messages", "SELECT length(message) AS l, count(*) AS n FROM {log} GROUP BY l", None),
    ("message like", "SELECT count(*) AS n FROM {log} WHERE message LIKE '%timeout%' OR message LIKE 'GET%'", None),
    ("drift: count", "SELECT count(*) AS n FROM {drift}", "query --count '$' {drift}"),
    ("drift: mixed types", "SELECT replace(CAST(mixed AS VARCHAR), ' ', '') AS m, count(*) AS n FROM {drift} "
     "GROUP BY m", None),
    ("drift: late member", "SELECT late, count(*) AS n, min(id) AS a FROM {drift} GROUP BY late", None),
    ("drift: large integers", "SELECT sum(CAST(big AS DECIMAL(38, 0))) AS s, min(big) AS a, max(big) AS b FROM {drift}", None),
    ("drift: large integers compared", "SELECT count(*) AS n FROM {drift} WHERE big > 18446744073709551616",
     "query --count '$' --where '$.big > 18446744073709551616' {drift}"),
    ("drift: doubles", "SELECT sum(f) AS s, min(f) AS a, max(f) AS b, count(f) AS n FROM {drift}", None),
    ("drift: doubles compared", "SELECT count(*) AS n FROM {drift} WHERE f >= 0.25 AND f < 1e3", 
     "query --count '$' --where '$.f >= 0.25 && $.f < 1e3' {drift}"),
    ("drift: doubles not equal", "SELECT count(*) AS n FROM {drift} WHERE f <> 1", None),
    ("drift: nulls", "SELECT count(*) AS n, count(x) AS x, sum(x) AS s, avg(x) AS m FROM {drift}", None),
    ("drift: null or missing", "SELECT count(*) AS n FROM {drift} WHERE x IS NULL",
     "query --count '$' --where '$.x is null or $.x is missing' {drift}"),
    ("drift: not equal", "SELECT count(*) AS n FROM {drift} WHERE x <> 3", None),
    ("drift: texts", "SELECT s, count(*) AS n, min(length(s)) AS l FROM {drift} GROUP BY s", None),
    ("drift: texts compared", "SELECT count(*) AS n FROM {drift} WHERE s >= 'b' AND s <> 'zoë'", None),
    ("drift: first elements", "SELECT list[1] AS a, count(*) AS n FROM {drift} GROUP BY a", None),
    ("drift: lengths of lists", "SELECT array_length(list) AS a, count(*) AS n FROM {drift} WHERE array_length(list) > 0 GROUP BY "
     "a", None),
    ("drift: elements", "SELECT e, count(*) AS n FROM (SELECT unnest(list) AS e FROM {drift}) u GROUP BY e", None),
    ("drift: nested members", "SELECT o['b']['c'] AS c, sum(o['a']) AS a, count(*) AS n FROM {drift} GROUP BY c", None),
    ("drift: booleans", "SELECT flag, count(*) AS n FROM {drift} WHERE flag OR flag IS NULL GROUP BY flag", None),
    ("drift: dates", "SELECT day, count(*) AS n FROM {drift} WHERE day >= DATE '2026-02-01' GROUP BY day", None),
    ("drift: join of files", "SELECT count(*) AS n, sum(d.id) AS s FROM {drift} d JOIN {log} l ON d.x = l.ms AND l.status = "
     "503 WHERE d.id < 2000 AND l.level = 'error'", None),
    ("drift: correlated", "SELECT count(*) AS n FROM {drift} a WHERE a.id < 5000 AND a.x > (SELECT avg(b.x) FROM {drift} b "
     "WHERE b.s = a.s)", None),
    ("drift: distinct lists", "SELECT count(*) AS n FROM (SELECT DISTINCT list FROM {drift}) d", None),
]


# --- data -----------------------------------------------------------------------------------------


def drift(path, size):
    """Records whose members change their types: after a long time, seldom, or all the time."""
    source, written, number = random.Random(7), 0, 0
    texts = ["a", "b", "ba", "zoë", "日本", 'say "x"', "tab\there", "back\\slash", "", "é" * 20]
    with open(path, "w", encoding="utf-8") as out:
        while written < size:
            record = {"id": number}
            kind = source.randrange(6)
            if kind:
                record["mixed"] = [None, 7, "seven", True, [1, "x"], {"k": 1}][kind]
            record["big"] = source.choice([1, 2**31, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 10**30, -(2**63)])
            record["f"] = source.choice([1, 0.1, 0.25, 1e3, -2.5, 1e-7, 12345.678, 3])
            record["s"] = source.choice(texts)
            if source.randrange(4):
                record["x"] = source.choice([None, 1, 2, 3, 500])
            record["list"] = [source.randrange(4) for _ in range(source.randrange(4))]
            if source.randrange(9):
                inner = {"c": source.choice("pqr")} if source.randrange(3) else None
                record["o"] = {"a": source.randrange(100), "b": inner}
            if source.randrange(3):
                record["flag"] = source.random() < 0.5
            record["day"] = f"2026-{source.randrange(1, 4):02}-{source.randrange(1, 29):02}"
            if written > size * 0.9 and source.randrange(5) == 0:
                record["late"] = source.choice(["x", "y"])
            # Escapes in one half, and the characters themselves in the other.
            line = json.dumps(record, ensure_ascii=number % 2 == 0) + "\n"
            out.write(line)
            written += len(line)
            number += 1


def prepare(args):
    args.data.mkdir(parents=True, exist_ok=True)
    files = {name: args.data / f"{name}-{args.size}.ndjson" for name in ("bsky", "log", "drift")}
    for name, shape, part in (("bsky", "bluesky", 0.5), ("log", "log:242", 0.3)):
        if not files[name].exists():
            command = [args.programs / "generate", "--shape", shape, "--size", str(int(args.size * part)), "-o", files[name]]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not files["drift"].exists():
        drift(files["drift"], int(args.size * 0.2))
    return files


COLUMNS = {
    "bsky": "{did: 'VARCHAR', time_us: 'BIGINT', kind: 'VARCHAR', commit: 'STRUCT(rev VARCHAR, operation VARCHAR, "
            "collection VARCHAR, rkey VARCHAR, record STRUCT(\"$type\" VARCHAR), cid VARCHAR)'}",
    "log": "{time: 'TIMESTAMP', level: 'VARCHAR', service: 'VARCHAR', status: 'BIGINT', ms: 'DOUBLE', message: 'VARCHAR'}",
    "drift": "{id: 'BIGINT', mixed: 'JSON', big: 'HUGEINT', f: 'DOUBLE', s: 'VARCHAR', x: 'BIGINT', list: 'BIGINT[]', "
             "o: 'STRUCT(a BIGINT, b STRUCT(c VARCHAR))', flag: 'BOOLEAN', day: 'DATE', late: 'VARCHAR'}",
}


def duckdb_child(files):
    """Reads names and texts from standard input, and prints their rows."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, path in files.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_ndjson('{path}', columns = {COLUMNS[name]})")
    for line in sys.stdin:
        started = time.perf_counter()
        try:
            result = connection.execute(json.loads(line))
            names = [column[0] for column in result.description]
            rows = [dict(zip(names, row)) for row in result.fetchall()]
            print(json.dumps({"rows": rows, "seconds": time.perf_counter() - started}, default=str), flush=True)
        except duckdb.Error as error:
            print(json.dumps({"error": str(error)}), flush=True)


# --- comparison -----------------------------------------------------------------------------------


def plain(value):
    """A value without what the tools write differently."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, decimal.Decimal)):
        number = decimal.Decimal(value) if not isinstance(value, float) else decimal.Decimal(repr(value))
        return str(int(number)) if number == int(number) else f"{float(number):.10g}"
    if isinstance(value, list):
        return [plain(it) for it in value]
    if isinstance(value, dict):
        return {key: plain(it) for key, it in value.items()}
    text = str(value)
    # Integers of more than 64 bits are texts in some outputs, and times are written in several forms.
    if text.lstrip("-").isdigit() and len(text) > 15:
        return text
    if len(text) >= 19 and text[:4].isdigit() and text[10] in "T " and text[13] == ":":
        return text.replace("T", " ").removesuffix("Z").removesuffix("+00:00").removesuffix(".000000").removesuffix(".000")
    return text


def rows_of(rows, names):
    return sorted(json.dumps([plain(row.get(name)) for name in names], ensure_ascii=False) for row in rows)


def run_sql(command, text):
    started = time.perf_counter()
    done = subprocess.run([*command, "--format", "ndjson", text], capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        return None, done.stderr.strip(), seconds
    parse = {"parse_float": decimal.Decimal}
    return [json.loads(line, **parse) for line in done.stdout.splitlines()], done.stderr.strip(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--size", type=int, default=1_000_000_000)
    parser.add_argument("--cluster")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        duckdb_child(json.loads(args.child))
        return
    files = prepare(args)
    named = json.dumps({name: str(path) for name, path in files.items()})
    child = subprocess.Popen([args.python, __file__, "--child", named], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
    sql = {"sql": [args.programs / "warpath-sql", "--device", args.device]}
    if args.cluster:
        sql["cluster"] = [args.programs / "warpath-cluster", "sql", "--cluster", args.cluster]
    only = args.only.split(",") if args.only else None
    failures, total = 0, dict.fromkeys(["duckdb", *sql], 0.0)
    compared = 0
    for name, text, command in QUERIES:
        if only and name not in only:
            continue
        child.stdin.write(json.dumps(text.format(**{name: name for name in files})) + "\n")
        child.stdin.flush()
        answer = json.loads(child.stdout.readline(), parse_float=decimal.Decimal)
        if "error" in answer:
            sys.exit(f"{name}: DuckDB: {answer['error']}")
        total["duckdb"] += float(answer["seconds"])
        names = list(answer["rows"][0]) if answer["rows"] else []
        expected = rows_of(answer["rows"], names)
        for tool, program in sql.items():
            rows, said, seconds = run_sql(program, text.format(**{name: f"'{path}'" for name, path in files.items()}))
            total[tool] += seconds
            found = None if rows is None else rows_of(rows, names)
            compared += len(expected)
            if found == expected and not said:
                print(f"ok    {name}: {len(expected)} rows; {tool} {seconds:.2f} s, duckdb {float(answer['seconds']):.2f} s",
                      flush=True)
                continue
            failures += 1
            print(f"WRONG {name} ({tool}): {said or 'other rows'}", flush=True)
            if found is not None:
                missing, extra = set(expected) - set(found), set(found) - set(expected)
                print(f"      {len(expected)} rows expected, {len(found)} found")
                print(f"      only duckdb: {sorted(missing)[:3]}\n      only {tool}: {sorted(extra)[:3]}", flush=True)
        if command:
            line = command.format(**{name: f"'{path}'" for name, path in files.items()})
            done = subprocess.run(f"'{args.programs / 'warpath'}' {line}", shell=True, capture_output=True, text=True)
            number = str(plain(list(answer["rows"][0].values())[0]))
            if done.stdout.strip() != number:
                failures += 1
                print(f"WRONG {name} (warpath {line}): {done.stdout.strip()} {done.stderr.strip()}, expected {number}",
                      flush=True)
    child.stdin.close()
    bytes_ = sum(path.stat().st_size for path in files.values())
    print(f"{len(QUERIES)} queries over {bytes_} bytes, {compared} rows, {failures} differ; seconds: "
          + ", ".join(f"{tool} {seconds:.1f}" for tool, seconds in total.items()))
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
