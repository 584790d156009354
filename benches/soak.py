#!/usr/bin/env python3
"""Sends questions and new lines to a server at the same time, and shows that no line is lost or doubled.

    warpath-serve --writable logs.wp &
    benches/soak.py http://127.0.0.1:7273 --input logs.wp --pid $!
    benches/soak.py URL --input logs.wp --clients 64 --seconds 3600 --compact 'warpath store compact logs.wp'

Each client sends one request after the other: counts, rows, groups, statistics, SQL, and appends of one to
three lines. A count must have at least the lines that were acknowledged before its request, and at most those
that were sent when its response came. At the end, each acknowledged line must be in the store exactly once.

It prints the requests per second, the times at the 50th and the 99th percentile, and the resident memory of
the process --pid at the start and ten times after it. The exit code is 1 if something was wrong.
"""

import argparse
import http.client
import json
import os
import random
import shlex
import subprocess
import sys
import threading
import time
import urllib.parse
from collections import Counter

# The times at which the memory of the server is read, after the start.
SAMPLES = 10

# Marks the lines of this run, so that other lines of the store do not count.
RUN = f"{os.getpid()}-{time.time_ns()}"


class Soak:
    def __init__(self, args):
        self.args = args
        self.address = urllib.parse.urlsplit(args.url).netloc
        self.lock = threading.Lock()
        self.times = {}
        self.refused = Counter()
        self.wrong = []
        self.sent = self.acknowledged = 0
        self.lines = []
        self.ends = False

    def request(self, connection, method, path, body):
        """The status and the body of a response."""
        headers = {"Content-Type": "application/json"}
        if token := os.environ.get("WARPATH_TOKEN"):
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()

    def append(self, connection, rng, client, round_):
        ids = [f"{client}-{round_}-{n}" for n in range(rng.randint(1, 3))]
        body = "".join(
            json.dumps({"soak": RUN, "id": id_, "ms": rng.randrange(5000), "level": rng.choice("abcd")}) + "\n"
            for id_ in ids
        )
        with self.lock:
            self.sent += len(ids)
        path = "/append?" + urllib.parse.urlencode({"input": self.args.input})
        status, answer = self.request(connection, "POST", path, body)
        if status == 200 and json.loads(answer)["lines"] == len(ids):
            with self.lock:
                self.acknowledged += len(ids)
                self.lines += ids
        return status, answer

    def count(self, connection, command, body):
        with self.lock:
            least = self.acknowledged
        status, answer = self.request(connection, "POST", command, json.dumps(body))
        with self.lock:
            most = self.sent
        if status == 200:
            last = answer.strip().rsplit(b"\n", 1)[-1]
            count = json.loads(last)
            count = count["n"] if isinstance(count, dict) else count
            if not least <= count <= most:
                self.note(f"{command} counts {count} lines; {least} were acknowledged and {most} sent")
        return status, answer

    def question(self, connection, kind):
        where = f"$.soak == '{RUN}'"
        store = self.args.input
        if kind == "count":
            return self.count(connection, "/query", {"arguments": ["$.id", store], "where": where, "count": True})
        if kind == "sql":
            query = f"SELECT count(*) AS n FROM '{store}' WHERE soak = '{RUN}'"
            if not self.lines:
                # The columns of the store come with the first lines.
                query = "SELECT 0 AS n"
            return self.count(connection, "/sql", {"query": query})
        path, body = {
            "rows": ("/query", {"arguments": ["$", store], "where": where, "limit": 100}),
            "select": ("/select", {"arguments": ["id=$.id", "ms=$.ms", store], "limit": 100}),
            "count-by": ("/count-by", {"arguments": ["$.level", store]}),
            "stats": ("/stats", {"arguments": ["$.ms", store]}),
        }[kind]
        return self.request(connection, "POST", path, json.dumps(body))

    def note(self, text):
        with self.lock:
            self.wrong.append(text)

    def client(self, number):
        rng = random.Random(number)
        connection = http.client.HTTPConnection(self.address, timeout=600)
        round_ = 0
        while not self.ends:
            time.sleep(rng.uniform(0, 2 * self.args.pause))
            round_ += 1
            kind = rng.choice(["append", "count", "sql", "rows", "select", "count-by", "stats"])
            begin = time.perf_counter()
            try:
                if kind == "append":
                    status, answer = self.append(connection, rng, number, round_)
                else:
                    status, answer = self.question(connection, kind)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.note(f"{kind}: {type(error).__name__}: {error}")
                connection.close()
                continue
            took = time.perf_counter() - begin
            with self.lock:
                if status == 200:
                    self.times.setdefault(kind, []).append(took)
                elif status == 429:
                    self.refused[kind] += 1
                else:
                    self.wrong.append(f"{kind}: status {status}: {answer[:300]}")
            if status == 200 and b'{"$error"' in answer:
                self.note(f"{kind}: {answer[-300:]}")

    def compact(self):
        """Joins parts again and again, beside the server."""
        while not self.ends:
            done = subprocess.run(shlex.split(self.args.compact), capture_output=True, text=True)
            if done.returncode:
                self.note(f"compact: {done.stderr.strip()}")
            time.sleep(1)

    def memory(self):
        """The resident memory of the server in MB; 0 if its process is not known."""
        if self.args.pid is None:
            return 0
        with open(f"/proc/{self.args.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1000

    def run(self):
        memory = [self.memory()]
        threads = [threading.Thread(target=self.client, args=(n,)) for n in range(self.args.clients)]
        if self.args.compact:
            threads.append(threading.Thread(target=self.compact))
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for _ in range(SAMPLES):
            time.sleep(self.args.seconds / SAMPLES)
            memory.append(self.memory())
        self.ends = True
        for thread in threads:
            thread.join()
        took = time.monotonic() - begin
        connection = http.client.HTTPConnection(self.address, timeout=600)
        body = {"arguments": ["$.id", self.args.input], "where": f"$.soak == '{RUN}'"}
        status, answer = self.request(connection, "POST", "/query", json.dumps(body))
        if status != 200:
            self.note(f"the lines at the end: status {status}: {answer[:300]}")
        there = Counter(json.loads(line) for line in answer.splitlines())
        expected = Counter(self.lines)
        for what, lines in (("lost", expected - there), ("too many", there - expected)):
            if lines:
                self.note(f"{lines.total()} lines are {what}, such as {next(iter(lines))}")
        self.report(took, memory, there.total())
        return 1 if self.wrong else 0

    def report(self, took, memory, lines):
        def row(kind, times):
            times = sorted(times)
            at = lambda share: 1000 * times[min(len(times) - 1, int(share * len(times)))]
            print(f"{kind:10} {len(times):8} {len(times) / took:8.1f}/s  p50 {at(0.5):8.1f} ms  p99 {at(0.99):8.1f} ms")

        for kind, times in sorted(self.times.items()):
            row(kind, times)
        if self.times:
            row("all", [time for times in self.times.values() for time in times])
        print(f"{self.args.clients} clients, {took:.1f} s; refused: {self.refused.total()}")
        print(f"lines: {self.acknowledged} acknowledged, {lines} in the store")
        if self.args.pid is not None:
            print(f"resident memory, MB, at equal times: {' '.join(f'{sample:.0f}' for sample in memory)}")
        for text, times in Counter(self.wrong).most_common(20):
            print(f"WRONG ({times} times): {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--input", required=True, help="the store that lines are appended to")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument(
        "--pause", type=float, default=0, metavar="SECONDS", help="the mean time of a client between requests"
    )
    parser.add_argument("--pid", type=int, help="the process of the server, for its memory")
    parser.add_argument("--compact", metavar="COMMAND", help="a command that runs again and again meanwhile")
    return Soak(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
