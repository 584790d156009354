#!/usr/bin/env python3
"""Times the tasks of docs/cookbook.md on a large file, beside jq, jaq, DuckDB, ripgrep, Miller and qj.

    benches/tasks.py --warpath PROGRAM --file TWEETS [--peers FOLDER] [--runs N]
                     [--only N,…] [--tools T,…] [-o TABLE.md]

TWEETS is a file of `generate --shape twitter --size 400MiB`. FOLDER is what `benches/peers.sh` made (default:
target/peers); `jq`, `jaq`, `rg` and `mlr` come from PATH. Each tool runs as its own users would run it, as a
whole process, over the same file, with output to a file. Tools take turns: in each round each tool runs once.
The table has the least time of all rounds. A tool that took more than 3 s runs once.

Where all tools can print the same text, the outputs are compared (`same`: as lines; `sorted`: as sorted
lines) before the table is written, and a tool with another output is marked `differs`.
"""

import argparse
import datetime
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 120

# A task: title, how outputs are compared (None: the forms differ), and the command of each tool. `F` is the
# file, `O` a folder for outputs; `D:` marks a statement of DuckDB, which writes what it finds to `OUT`.
OBJECTS = "read_ndjson_objects('$F')"
TYPED = "read_ndjson('$F')"


def text(query):
    return f"D:COPY ({query}) TO '$OUT' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')"


def value(path):
    return f"json_extract_string(json, '{path}')"


TASKS = [
    ("Print one field", "same", {
        "warpath": "warpath query -r '$.user.screen_name' $F",
        "jq": "jq -r .user.screen_name $F",
        "qj": "qj -r .user.screen_name $F",
        "duckdb": text(f"SELECT {value('$.user.screen_name')} FROM {OBJECTS}"),
        "mlr": "mlr --ijsonl --onidx flatten then cut -f user.screen_name $F",
    }),
    ("Make a table of several fields", "same", {
        "warpath": "warpath select --format csv id='$.id_str' lang='$.lang' followers='$.user.followers_count' -- $F",
        "jq": """jq -r '"id,lang,followers", "\\(.id_str),\\(.lang),\\(.user.followers_count)"' $F | awk 'NR == 1 || !/^id,lang/'""",
        "qj": """qj -r '"\\(.id_str),\\(.lang),\\(.user.followers_count)"' $F""",
        "duckdb": f"D:COPY (SELECT {value('$.id_str')} AS id, {value('$.lang')} AS lang, {value('$.user.followers_count')} AS followers FROM {OBJECTS}) TO '$OUT' (FORMAT csv)",
        "mlr": "mlr --ijsonl --ocsv flatten then cut -o -f id_str,lang,user.followers_count $F",
    }),
    ("Count matches", "same", {
        "warpath": "warpath query --count '$.entities.urls[*]' $F",
        "jq": "jq -n 'reduce inputs as $r (0; . + ($r.entities.urls | length))' $F",
        "qj": "qj '.entities.urls | length' $F | awk '{n += $1} END {print n}'",
        "duckdb": text(f"SELECT sum(json_array_length(json, '$.entities.urls')) FROM {OBJECTS}"),
    }),
    ("Keep the records that match a condition", "same", {
        "warpath": """warpath query '$.id' --where '$.lang == "nl" && $.user.followers_count > 1000' $F""",
        "jq": """jq 'select(.lang == "nl" and .user.followers_count > 1000) | .id' $F""",
        "qj": """qj 'select(.lang == "nl" and .user.followers_count > 1000) | .id' $F""",
        "duckdb": text(f"SELECT {value('$.id')} FROM {OBJECTS} WHERE {value('$.lang')} = 'nl' AND {value('$.user.followers_count')}::BIGINT > 1000"),
        "mlr": """mlr --ijsonl --onidx flatten then filter '$lang == "nl" && ${user.followers_count} > 1000' then cut -f id $F""",
    }),
    ("Keep the elements that match a condition", "same", {
        "warpath": "warpath query -r '$.entities.user_mentions[?@.indices[0] > 50].screen_name' $F",
        "jq": "jq -r '.entities.user_mentions[] | select(.indices[0] > 50) | .screen_name' $F",
        "qj": "qj -r '.entities.user_mentions[] | select(.indices[0] > 50) | .screen_name' $F",
        "duckdb": text(f"SELECT {value('$.screen_name').replace('json,', 'm,')} FROM (SELECT unnest(json_extract(json, '$.entities.user_mentions[*]')) AS m FROM {OBJECTS}) WHERE json_extract_string(m, '$.indices[0]')::BIGINT > 50"),
    }),
    ("Filter matches by their own value", "same", {
        "warpath": "warpath query '$..retweet_count' --match '@ > 90000' $F",
        "jq": "jq '.. | objects | .retweet_count? | numbers | select(. > 90000)' $F",
        "qj": "qj '.. | objects | .retweet_count? | numbers | select(. > 90000)' $F",
    }),
    ("Keep a range of dates", "same", {
        "warpath": """warpath query -r '$.id_str' --time-format '%a %b %d %H:%M:%S %z %Y' --where 'time($.created_at) >= "2017-03-02" && time($.created_at) < "2017-03-03"' $F""",
        "jq": """jq -r 'select(.created_at | strptime("%a %b %d %H:%M:%S %z %Y") | mktime | . >= 1488412800 and . < 1488499200) | .id_str' $F""",
        "duckdb": text(f"SELECT {value('$.id_str')} FROM {OBJECTS} WHERE strptime({value('$.created_at')}, '%a %b %d %H:%M:%S %z %Y') >= TIMESTAMPTZ '2017-03-02 00:00:00+00' AND strptime({value('$.created_at')}, '%a %b %d %H:%M:%S %z %Y') < TIMESTAMPTZ '2017-03-03 00:00:00+00'"),
    }),
    ("Count by a field", None, {
        "warpath": "warpath count-by '$.lang' $F",
        "jq": "jq -r .lang $F | sort | uniq -c | sort -rn",
        "qj": "qj -r .lang $F | sort | uniq -c | sort -rn",
        "duckdb": text(f"SELECT count(*) AS n, {value('$.lang')} AS lang FROM {OBJECTS} GROUP BY lang ORDER BY n DESC, lang"),
        "mlr": "mlr --ijsonl --onidx count-distinct -f lang then sort -nr count $F",
    }),
    ("Most frequent values", None, {
        "warpath": "warpath count-by --top 10 '$.user.screen_name' $F",
        "jq": "jq -r .user.screen_name $F | sort | uniq -c | sort -rn | head -n 10",
        "qj": "qj -r .user.screen_name $F | sort | uniq -c | sort -rn | head -n 10",
        "duckdb": text(f"SELECT count(*) AS n, {value('$.user.screen_name')} AS name FROM {OBJECTS} GROUP BY name ORDER BY n DESC, name LIMIT 10"),
        "mlr": "mlr --ijsonl --onidx flatten then count-distinct -f user.screen_name then sort -nr count then head -n 10 $F",
    }),
    ("Distinct values", "sorted", {
        "warpath": "warpath distinct -r '$.user.time_zone' $F",
        "jq": "jq -r .user.time_zone $F | sort -u",
        "qj": "qj -r .user.time_zone $F | sort -u",
        "duckdb": text(f"SELECT DISTINCT coalesce({value('$.user.time_zone')}, 'null') FROM {OBJECTS}"),
        "mlr": "mlr --ijsonl --onidx flatten then count-distinct -f user.time_zone then cut -f user.time_zone $F",
    }),
    ("Statistics of a number", None, {
        "warpath": "warpath stats '$.user.followers_count' $F",
        "jq": "jq -s 'map(.user.followers_count) | sort | {count: length, min: .[0], max: .[-1], mean: (add / length), p50: .[length / 2 | floor]}' $F",
        "duckdb": text(f"SELECT count(v), min(v), max(v), avg(v), quantile_cont(v, [0.5, 0.9, 0.99]) FROM (SELECT {value('$.user.followers_count')}::BIGINT AS v FROM {OBJECTS})"),
        "mlr": "mlr --ijsonl --ojson flatten then stats1 -a count,min,max,mean,p50,p90,p99 -f user.followers_count $F",
    }),
    ("A random sample", None, {
        "warpath": "warpath sample 1000 --seed 1 $F",
        "jq": "shuf -n 1000 --random-source=$F $F | jq -c .",
        "duckdb": text(f"SELECT json FROM {OBJECTS} USING SAMPLE reservoir(1000 ROWS) REPEATABLE (1)"),
        "mlr": "mlr --ijsonl --ojsonl --seed 1 sample -k 1000 $F",
    }),
    ("Records from the middle", "same", {
        "warpath": "warpath query --skip 50000 -n 10 '$.id' $F",
        "jq": "jq -n 'limit(10; foreach inputs as $r (0; . + 1; if . > 50000 then $r.id else empty end))' $F",
        "duckdb": text(f"SELECT {value('$.id')} FROM {OBJECTS} LIMIT 10 OFFSET 50000"),
        "mlr": "mlr --ijsonl --onidx filter 'NR > 50000' then head -n 10 then cut -f id $F",
    }),
    ("One row for each element of an array", "same", {
        "warpath": "warpath select --format csv --explode '$.entities.hashtags[*]' id='$.id_str' tag='$.entities.hashtags[*].text' -- $F",
        "jq": """jq -r '.id_str as $id | .entities.hashtags[] | [$id, .text] | join(",")' $F | sed '1i id,tag'""",
        "qj": """qj -r '.id_str as $id | .entities.hashtags[] | [$id, .text] | join(",")' $F | sed '1i id,tag'""",
        "duckdb": f"D:COPY (SELECT id, json_extract_string(h, '$.text') AS tag FROM (SELECT {value('$.id_str')} AS id, unnest(json_extract(json, '$.entities.hashtags[*]')) AS h FROM {OBJECTS})) TO '$OUT' (FORMAT csv)",
    }),
    ("A value in place of missing ones", "same", {
        "warpath": """warpath select --format csv id='$.id_str' 'zone=$.user.time_zone ?? "none"' -- $F""",
        "jq": """jq -r '[.id_str, (.user.time_zone // "none")] | join(",")' $F | sed '1i id,zone'""",
        "qj": """qj -r '[.id_str, (.user.time_zone // "none")] | join(",")' $F | sed '1i id,zone'""",
        "duckdb": f"D:COPY (SELECT {value('$.id_str')} AS id, coalesce({value('$.user.time_zone')}, 'none') AS zone FROM {OBJECTS}) TO '$OUT' (FORMAT csv)",
        "mlr": """mlr --ijsonl --ocsv flatten then put '${user.time_zone} = is_empty(${user.time_zone}) ? "none" : ${user.time_zone}' then cut -o -f id_str,user.time_zone $F""",
    }),
    ("Sort by a column", None, {
        "warpath": "warpath select --format csv --sort followers:desc id='$.id_str' followers='$.user.followers_count' -- $F",
        "jq": """jq -r '"\\(.id_str),\\(.user.followers_count)"' $F | sort -t, -k2,2nr""",
        "qj": """qj -r '"\\(.id_str),\\(.user.followers_count)"' $F | sort -t, -k2,2nr""",
        "duckdb": f"D:COPY (SELECT {value('$.id_str')} AS id, {value('$.user.followers_count')}::BIGINT AS followers FROM {OBJECTS} ORDER BY followers DESC) TO '$OUT' (FORMAT csv)",
        "mlr": "mlr --ijsonl --ocsv flatten then cut -o -f id_str,user.followers_count then sort -nr user.followers_count $F",
    }),
    ("Types and ranges of all paths", None, {
        "warpath": "warpath schema $F",
        "duckdb": f"D:COPY (SELECT json_structure(json) AS s, count(*) FROM {OBJECTS} GROUP BY s) TO '$OUT' (FORMAT csv)",
        "mlr": "mlr --ijsonl --ojson flatten then summary $F",
    }),
    ("What changed between two files", None, {
        "warpath": "warpath schema diff $O/first.ndjson $O/second.ndjson || true",
    }),
    ("Nested Parquet of everything", None, {
        "warpath": "warpath select --auto --format parquet -o $O/all.parquet $F",
        "duckdb": f"D:COPY (SELECT * FROM {TYPED}) TO '$O/duckdb.parquet' (FORMAT parquet)",
    }),
    ("Typed columns in Parquet", None, {
        "warpath": "warpath select --format parquet -o $O/some.parquet id:int64='$.id' lang:string='$.lang' followers:int64='$.user.followers_count' -- $F",
        "duckdb": f"D:COPY (SELECT {value('$.id')}::BIGINT AS id, {value('$.lang')} AS lang, {value('$.user.followers_count')}::BIGINT AS followers FROM {OBJECTS}) TO '$O/duckdb-some.parquet' (FORMAT parquet)",
    }),
    ("Keep malformed records aside", "same", {
        "warpath": "warpath query --quiet --on-error skip --rejects $O/rejects.ndjson '$.id' $O/broken.ndjson",
        "jq": "jq -R 'fromjson? | .id' $O/broken.ndjson",
        "duckdb": "D:COPY (SELECT json_extract_string(json, '$.id') FROM read_ndjson_objects('$O/broken.ndjson', ignore_errors = true) WHERE json IS NOT NULL) TO '$OUT' (FORMAT csv, HEADER false)",
    }),
    ("Check every record", None, {
        "warpath": "warpath validate $F",
        "jq": "jq empty $F && echo ok",
        "qj": "qj empty $F && echo ok",
    }),
    ("Follow a file", "same", {
        "warpath": "warpath query --follow -n $N '$.id' $F",
        "jq": "head -n $N $F | jq --unbuffered .id",
    }),
    ("Compressed files", "same", {
        "warpath": "warpath query '$.id' $O/tweets.ndjson.zst",
        "jq": "zstd -dc $O/tweets.ndjson.zst | jq .id",
        "qj": "zstd -dc $O/tweets.ndjson.zst | qj .id",
        "duckdb": "D:COPY (SELECT json_extract_string(json, '$.id') FROM read_ndjson_objects('$O/tweets.ndjson.zst')) TO '$OUT' (FORMAT csv, HEADER false)",
        "mlr": "zstd -dc $O/tweets.ndjson.zst | mlr --ijsonl --onidx cut -f id",
    }),
    ("Several files, with their names", None, {
        "warpath": "warpath query -H '$.id' $O/first.ndjson $O/second.ndjson",
        "jq": """jq -r '"\\(input_filename)\\t\\(.id)"' $O/first.ndjson $O/second.ndjson""",
        "duckdb": "D:COPY (SELECT filename, json_extract_string(json, '$.id') FROM read_ndjson_objects(['$O/first.ndjson', '$O/second.ndjson'], filename = true)) TO '$OUT' (FORMAT csv, HEADER false)",
        "mlr": "mlr --ijsonl --onidx put -q 'print FILENAME . \"\\t\" . $id' $O/first.ndjson $O/second.ndjson",
    }),
    ("Quantiles for each group and hour", None, {
        "warpath": "warpath stats '$.user.followers_count' --by '$.lang' --every 1h --time '$.created_at' --time-format '%a %b %d %H:%M:%S %z %Y' --quantiles 0.99 $F",
        "duckdb": text(f"SELECT {value('$.lang')} AS lang, date_trunc('hour', strptime({value('$.created_at')}, '%a %b %d %H:%M:%S %z %Y')) AS h, count(v), sum(v), min(v), max(v), avg(v), quantile_disc(v, 0.99) FROM (SELECT *, {value('$.user.followers_count')}::BIGINT AS v FROM {OBJECTS}) GROUP BY 1, 2"),
    }),
    ("Sums by a field", None, {
        "warpath": "warpath stats '$.user.followers_count' --by '$.lang' $F",
        "jq": "jq -n -c 'reduce inputs as $r ({}; .[$r.lang] += $r.user.followers_count)' $F",
        "duckdb": text(f"SELECT lang, count(v), sum(v), min(v), max(v), avg(v), quantile_disc(v, [0.5, 0.9, 0.99]) FROM (SELECT {value('$.lang')} AS lang, {value('$.user.followers_count')}::BIGINT AS v FROM {OBJECTS}) GROUP BY lang"),
        "mlr": "mlr --ijsonl --ojsonl flatten then stats1 -a count,sum,min,max,mean,p50,p90,p99 -f user.followers_count -g lang $F",
    }),
    ("Top talkers", None, {
        "warpath": "warpath stats '$.user.statuses_count' --by '$.user.screen_name' --sort sum:desc -n 10 $F",
        "duckdb": text(f"SELECT name, sum(v) AS s FROM (SELECT {value('$.user.screen_name')} AS name, {value('$.user.statuses_count')}::BIGINT AS v FROM {OBJECTS}) GROUP BY name ORDER BY s DESC LIMIT 10"),
        "mlr": "mlr --ijsonl --ojsonl flatten then stats1 -a sum -f user.statuses_count -g user.screen_name then sort -nr user.statuses_count_sum then head -n 10 $F",
    }),
    ("A histogram over time", None, {
        "warpath": "warpath count-by --every 1h --time '$.created_at' --time-format '%a %b %d %H:%M:%S %z %Y' --bars $F",
        "duckdb": text(f"SELECT date_trunc('hour', strptime({value('$.created_at')}, '%a %b %d %H:%M:%S %z %Y')) AS h, count(*) FROM {OBJECTS} GROUP BY h ORDER BY h"),
    }),
    ("Different values for each group", None, {
        "warpath": "warpath stats '$.user.screen_name' --by '$.lang' --distinct $F",
        "duckdb": text(f"SELECT {value('$.lang')} AS lang, count(DISTINCT {value('$.user.screen_name')}) FROM {OBJECTS} GROUP BY lang"),
        "mlr": "mlr --ijsonl --ojsonl flatten then count-distinct -f lang,user.screen_name then count -g lang $F",
    }),
    ("The first record of each user", None, {
        "warpath": "warpath distinct --by '$.user.id' $F",
        "duckdb": text(f"SELECT DISTINCT ON (json_extract(json, '$.user.id')) json FROM {OBJECTS}"),
        "mlr": "mlr --ijsonl --ojsonl flatten then head -n 1 -g user.id $F",
    }),
    ("Some records of each group", None, {
        "warpath": "warpath sample 2 --by '$.lang' --seed 1 $F",
        "mlr": "mlr --ijsonl --ojsonl --seed 1 sample -k 2 -g lang $F",
    }),
    ("Leave out, mask and rename members", None, {
        "warpath": "warpath query '$' --drop '$.entities' --mask '$.user.name' --rename '$.text=message' $F",
        "jq": "jq -c 'del(.entities) | .user.name = \"***\" | .message = .text | del(.text)' $F",
        "mlr": "mlr --ijsonl --ojsonl cut -x -f entities then put '$user.name = \"***\"' then rename text,message $F",
    }),
    ("One file for each value", None, {
        "warpath": "warpath query '$' -o '$O/split/{$.lang}.ndjson' $F",
        "mlr": "mlr --ijsonl --ojsonl split -g lang --prefix $O/mlr $F",
    }),
    ("Records by a substring, in any case", "same", {
        "warpath": """warpath query -r '$.id_str' --where 'icontains($.text, "the")' $F""",
        "jq": """jq -r 'select(.text | ascii_downcase | contains("the")) | .id_str' $F""",
        "duckdb": text(f"SELECT {value('$.id_str')} FROM {OBJECTS} WHERE {value('$.text')} ILIKE '%the%'"),
    }),
    ("Count the records with a word", None, {
        "warpath": """warpath query --count '$' --where 'contains($.text, "gracias")' $F""",
        "jq": """jq -n '[inputs | select(.text | contains("gracias"))] | length' $F""",
        "duckdb": text(f"SELECT count(*) FROM {OBJECTS} WHERE {value('$.text')} LIKE '%gracias%'"),
        "rg": "rg -c gracias $F",
    }),
    ("Whole records, sorted by a nested field", None, {
        "warpath": "warpath query '$' --sort '$.user.followers_count:desc' -n 100 $F",
        "jq": "jq -c -s 'sort_by(-.user.followers_count)[:100][]' $F",
        "duckdb": text(f"SELECT json FROM {OBJECTS} ORDER BY {value('$.user.followers_count')}::BIGINT DESC LIMIT 100"),
        "mlr": "mlr --ijsonl --ojsonl flatten then sort -nr user.followers_count then head -n 100 $F",
    }),
]
TOOLS = ["warpath", "jq", "jaq", "duckdb", "rg", "mlr", "qj"]
NAMES = {"warpath": "Warpath", "duckdb": "DuckDB", "rg": "ripgrep", "mlr": "Miller"}

# jaq reads the language of jq.
for _, _, tools in TASKS:
    if "jq" in tools:
        tools["jaq"] = re.sub(r"\bjq\b", "jaq", tools["jq"])


def prepare(file, folder):
    """Files that some tasks need: halves, a compressed copy, and one with malformed lines."""
    with open(file, "rb") as lines, open(folder / "first.ndjson", "wb") as first:
        with open(folder / "second.ndjson", "wb") as second, open(folder / "broken.ndjson", "wb") as broken:
            half = os.path.getsize(file) // 2
            count = at = 0
            for line in lines:
                (first if at < half else second).write(line)
                broken.write(line[: len(line) // 2] + b"\n" if count % 1000 == 7 else line)
                at += len(line)
                count += 1
    subprocess.run(["zstd", "-q", "-3", "-f", file, "-o", folder / "tweets.ndjson.zst"], check=True)
    return count


def commands(args, folder, count, command, out):
    for mark, real in [("$OUT", out), ("$F", args.file), ("$O", folder), ("$N", count)]:
        command = command.replace(mark, str(real))
    if command.startswith("D:"):
        program = f"import duckdb; duckdb.sql({command[2:]!r})"
        return [str(args.peers / "venv/bin/python"), "-c", program]
    return ["bash", "-c", f"set -o pipefail; {command}"]


def run(argv, out, path):
    """Runs a command. Returns its wall time, processor time, peak memory of the largest process, and failure."""
    with open(out, "wb") as stdout, tempfile.TemporaryFile() as stderr:
        started, before = time.perf_counter(), os.times()
        process = subprocess.Popen(
            argv, stdout=stdout if "duckdb" not in argv[-1] else subprocess.DEVNULL, stderr=stderr,
            env={**os.environ, "PATH": path}, start_new_session=True,
        )
        # Not `wait(LIMIT)`, which looks at the process only every 50 ms.
        late = threading.Timer(LIMIT, os.killpg, [process.pid, 9])
        late.start()
        process.wait()
        late.cancel()
        wall, after = time.perf_counter() - started, os.times()
        stderr.seek(0)
        said = stderr.read().decode(errors="replace").strip().splitlines()
    busy = after.children_user - before.children_user + after.children_system - before.children_system
    # 141: the reader of a pipe has ended, as it should.
    if process.returncode == -9:
        return LIMIT, 0, "time limit"
    failure = None if process.returncode in (0, 141) else (said[-1] if said else f"status {process.returncode}")
    return wall, busy, failure


def digest(out, how):
    data = Path(out).read_bytes()
    if how == "sorted":
        data = b"".join(sorted(data.splitlines(keepends=True)))
    return hashlib.sha256(data).hexdigest()


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"


def versions(tools, args, path):
    for tool in tools:
        if tool == "duckdb":
            program = "import duckdb; print('DuckDB', duckdb.__version__, 'in Python')"
            argv = [str(args.peers / "venv/bin/python"), "-c", program]
        elif tool == "qj":
            yield "qj 0.3.0"
            continue
        else:
            argv = [tool, "--version"]
        said = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PATH": path})
        yield said.stdout.splitlines()[0].replace("jq-", "jq ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpath", type=Path, default=ROOT / "target/release/warpath")
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--peers", type=Path, default=ROOT / "target/peers")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", help="numbers of tasks, such as 1,4")
    parser.add_argument("--tools", default=",".join(TOOLS), help="the tools that run, such as warpath,qj")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    path = f"{args.warpath.resolve().parent}:{args.peers.resolve() / 'bin'}:{os.environ['PATH']}"
    has = {"duckdb": (args.peers / "venv/bin/python").exists()}
    for tool in TOOLS:
        if tool != "duckdb":
            has[tool] = shutil.which("qj-0.3.0" if tool == "qj" else tool, path=path) is not None
    if missing := [tool for tool in args.tools.split(",") if not has[tool]]:
        sys.exit(f"not installed: {', '.join(missing)}")
    only = {int(number) for number in args.only.split(",")} if args.only else set()
    rows, differences = [], []
    with tempfile.TemporaryDirectory(dir=args.file.parent) as name:
        folder = Path(name)
        count = prepare(args.file, folder)
        for number, (title, how, tools) in enumerate(TASKS, 1):
            if only and number not in only:
                continue
            best, notes, digests = {}, {}, {}
            for turn in range(args.runs):
                for tool in TOOLS:
                    slow = best.get(tool, 0) > 3
                    is_left_out = tool not in tools or tool not in args.tools.split(",")
                    if is_left_out or tool in notes or (turn and slow):
                        continue
                    command = tools[tool]
                    if tool == "qj":
                        command = command.replace("qj ", "qj-0.3.0 ")
                    out = folder / f"out-{tool}"
                    out.unlink(missing_ok=True)
                    wall, busy, failure = run(commands(args, folder, count, command, out), out, path)
                    if failure:
                        notes[tool] = failure[:60]
                        print(f"{number} {tool}: {failure}", file=sys.stderr)
                        continue
                    best[tool] = min(best.get(tool, wall), wall)
                    if turn == 0 and how:
                        digests[tool] = digest(out, how)
            for tool in digests:
                if digests[tool] != digests.get("warpath"):
                    differences.append(f"{number} {title}: {tool}")
            cells = []
            for tool in TOOLS:
                if tool not in args.tools.split(","):
                    continue
                if tool in notes:
                    cells.append(notes[tool])
                elif tool in best:
                    mark = " (differs)" if digests and digests.get(tool) != digests.get("warpath") else ""
                    cells.append(f"{best[tool]:.3f} s{mark}" if best[tool] < 10 else f"{best[tool]:.1f} s{mark}")
                else:
                    cells.append("")
            rows.append(f"| {number} | {title} | " + " | ".join(cells) + " |")
            print(rows[-1], flush=True)
    shown = [tool for tool in TOOLS if tool in args.tools.split(",")]
    head = [
        f"{datetime.date.today()}, {machine()}, {args.file.stat().st_size} bytes, {count} records, "
        f"best of {args.runs}.",
        f"{', '.join(versions(shown, args, path))}.",
        "",
        "| | task | " + " | ".join(NAMES.get(tool, tool) for tool in shown) + " |",
        "|---|---|" + "---|" * len(shown),
    ]
    table = "\n".join(head + rows) + "\n"
    if args.output:
        args.output.write_text(table)
    if differences:
        print("other output than warpath:", *differences, sep="\n  ", file=sys.stderr)


if __name__ == "__main__":
    main()
