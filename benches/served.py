#!/usr/bin/env python3
"""Times questions to a server that holds a store of Bluesky's events in memory.

    warpath store add --resident bluesky.wp bluesky.ndjson
    benches/served.py bluesky.wp --warpath DIR/warpath --warpath-serve DIR/warpath-serve [--device cuda]

It starts the server and prints, in milliseconds, the least and the median of --runs:
* the time to the server's address, when the store is loaded. With --cold no file of the store is in the page
  cache before, and the speed of the disk is measured: threads read the files, as many as there are cores;
* a count of a predicate, by a process `warpath query --server` and by HTTP on one connection;
* the five queries of JSONBench, by processes `warpath sql --server` and by HTTP;
* the responses per second, and the times at the 50th and the 99th percentile, of --clients connections that
  send this count without pause for --seconds;
* the memory of the server.
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jsonbench import warpath_queries

PREDICATE = "$.commit.collection == 'app.bsky.feed.post'"


def timed(runs, call):
    """The times of calls in milliseconds, ascending. The first call is not counted."""
    times = []
    for _ in range(runs + 1):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return sorted(times[1:])


def show(what, times):
    print(f"{what:48} least {times[0]:8.2f}  median {times[len(times) // 2]:8.2f}", flush=True)


# The bytes that a thread reads at once.
PIECE = 8 << 20


def files(store):
    return [path for path in Path(store).rglob("*") if path.is_file()]


def forget(store):
    """Removes the pages of a store's files from the page cache."""
    for path in files(store):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_rate(store):
    """The bytes per second at which threads read a store's files from the disk."""
    pieces = [(path, at) for path in files(store) for at in range(0, path.stat().st_size, PIECE)]

    def read(piece):
        path, at = piece
        with path.open("rb", buffering=0) as file:
            file.seek(at)
            return len(file.read(PIECE))

    forget(store)
    begin = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        total = sum(threads.map(read, pieces))
    return total / (time.perf_counter() - begin)


class Served:
    def __init__(self, args, address):
        self.args, self.address = args, address
        self.host = urllib.parse.urlsplit(address).netloc
        self.count = {"arguments": ["$.did", args.store], "where": PREDICATE, "count": True}

    def connection(self):
        return http.client.HTTPConnection(self.host, timeout=600)

    def ask(self, connection, path, body):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200 or b'{"$error"' in answer:
            sys.exit(f"{path}: status {response.status}: {answer[:300]}")
        return answer

    def process(self, *words):
        command = [self.args.warpath, *words, "--server", self.address]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    def one_client(self):
        runs, store, connection = self.args.runs, self.args.store, self.connection()
        by_process = lambda: self.process("query", "--count", "$.did", store, "--where", PREDICATE)
        show("count by a process", timed(runs, by_process))
        show("count by HTTP", timed(runs, lambda: self.ask(connection, "/query", self.count)))
        for number, text in enumerate(warpath_queries(Path(store)), 1):
            show(f"q{number} by a process", timed(runs, lambda: self.process("sql", text)))
            show(f"q{number} by HTTP", timed(runs, lambda: self.ask(connection, "/sql", {"query": text})))

    def many_clients(self):
        times, end = [], time.perf_counter() + self.args.seconds

        def client():
            connection, own = self.connection(), []
            while (begin := time.perf_counter()) < end:
                self.ask(connection, "/query", self.count)
                own.append((time.perf_counter() - begin) * 1e3)
            times.extend(own)

        threads = [threading.Thread(target=client) for _ in range(self.args.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times.sort()
        at = lambda share: times[int(share * (len(times) - 1))]
        rate = len(times) / self.args.seconds
        print(f"{self.args.clients} clients: {rate:.0f} responses a second, p50 {at(0.5):.1f}, p99 {at(0.99):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--warpath", default="warpath")
    parser.add_argument("--warpath-serve", default="warpath-serve")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--cold", action="store_true")
    args = parser.parse_args()
    if args.cold:
        rate = disk_rate(args.store)
        print(f"{'the disk':48} {rate / 1e9:.2f} GB/s", flush=True)
        forget(args.store)
    command = [args.warpath_serve, "--quiet", "--device", args.device, "--listen", "127.0.0.1:0", args.store]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        loaded = time.perf_counter() - begin
        print(f"{'loaded':48} {loaded:.2f} s", flush=True)
        if args.cold:
            read = int(re.search(r"read_bytes: (\d+)", Path(f"/proc/{server.pid}/io").read_text())[1])
            print(f"{'read from the disk':48} {read / 1e9:.2f} GB: {read / rate / loaded:.0%} of its speed")
        served = Served(args, address)
        served.one_client()
        served.many_clients()
        status = Path(f"/proc/{server.pid}/status").read_text()
        now, most = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1e3 for name in ("VmRSS", "VmHWM"))
        print(f"memory: {now:.0f} MB, at most {most:.0f} MB")
        server.terminate()


if __name__ == "__main__":
    main()
