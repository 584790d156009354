#!/usr/bin/env python3
"""Simulates a query on a large cluster: the plan, the tasks, the shuffle, and executors that are lost.

    benches/cluster.py                      1,000 executors over a petabyte, for several settings
    benches/cluster.py --executors N ...    other sizes; --help lists them

The simulation follows what `warpath-cluster` does (docs/cluster.md):

* The client lists files and divides them among partitions, by bytes. A task reads one partition.
* An executor fetches tasks when it has free slots: every 50 ms while it is idle, every 5 s while it is busy.
* The rows of a stage are hash-divided among the partitions of the next stage. The scheduler keeps a location
  for each pair of a task and a partition.
* A lost executor is known after a timeout. Its running tasks begin again, and so do ended tasks of it whose
  results are still needed.

The constants below say where they come from. All other figures are arguments.
"""

import argparse
import heapq
import math
import random

# Bytes of a plan for each file; a test of `host/cluster/src/balance.rs` has this limit.
PLAN_BYTES = 120
# Bytes of the scheduler for each location: the fields of Ballista's `PartitionLocation` and their strings.
LOCATION_BYTES = 450
# Seconds between two polls of an executor that is idle, and of one that is busy: constants of Ballista.
IDLE_POLL, BUSY_POLL = 0.05, 5.0
# Seconds of the scheduler for a poll, and for a task that it hands out: assumed.
POLL_COST, TASK_COST = 0.00005, 0.0005


def size(count):
    for unit in ("B", "KB", "MB", "GB", "TB", "PB"):
        if count < 1000 or unit == "PB":
            return f"{count:.3g} {unit}"
        count /= 1000


def duration(seconds):
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def stage(rng, options, tasks, bytes_of_task):
    """Runs the tasks of a stage. Returns its seconds, the tasks that ran again, and the executors lost."""
    slots = options.executors * options.slots
    # Machines differ by some percent. Tasks differ by the skew: the spread of a log-normal distribution.
    speed = [max(0.3, rng.gauss(1, options.spread)) for _ in range(options.executors)]
    mean = bytes_of_task / (options.gigabytes * 1e9)
    work = [mean * math.exp(rng.gauss(0, options.skew) - options.skew**2 / 2) for _ in range(tasks)]
    hazard = options.failures / 24 / 3600
    lost_at = [rng.expovariate(hazard) if hazard else math.inf for _ in range(options.executors)]
    # The scheduler hands out tasks one after the other.
    free, pending, now, given, again, lost = [], list(range(tasks)), 0.0, 0.0, 0, set()
    for slot in range(slots):
        heapq.heappush(free, (rng.uniform(0, IDLE_POLL), slot % options.executors))
    end = 0.0
    waiting = []
    while pending or waiting:
        if not pending:
            known, task = heapq.heappop(waiting)
            pending.append(task)
            now = max(now, known)
        if not free:
            raise SystemExit("all executors were lost")
        at, executor = heapq.heappop(free)
        while waiting and waiting[0][0] <= at:
            pending.append(heapq.heappop(waiting)[1])
        start = max(at, given, now if not free else at) + rng.uniform(0, IDLE_POLL)
        if start >= lost_at[executor]:
            lost.add(executor)
            continue
        given = max(given, start - IDLE_POLL) + TASK_COST
        task = pending.pop()
        done = start + options.overhead + work[task] / speed[executor]
        if done > lost_at[executor]:
            lost.add(executor)
            again += 1
            heapq.heappush(waiting, (lost_at[executor] + options.timeout, task))
            continue
        end = max(end, done)
        heapq.heappush(free, (done, executor))
    # Results of an executor that is lost before the end are made again by the others, spread over all slots.
    remade = round(len(lost) * tasks / options.executors)
    if remade:
        end += options.timeout + mean * math.ceil(remade / slots) + options.overhead
    return end, again + remade, len(lost)


def query(options, files, partitions, reducers, groups):
    rng = random.Random(options.seed)
    slots = options.executors * options.slots
    total = options.petabytes * 1e15
    seconds, again, lost = stage(rng, options, partitions, total / partitions)
    shuffled = partitions * min(groups * 40, total / partitions)
    reduce_seconds, again_too, lost_too = stage(rng, options, reducers, shuffled / reducers)
    ideal = total / (slots * options.gigabytes * 1e9)
    pairs = partitions * reducers
    print(
        f"| {files:,} | {partitions:,} | {reducers:,} | {size(files * PLAN_BYTES)} | {size(pairs * LOCATION_BYTES)}"
        f" | {duration(partitions * TASK_COST)} | {duration(ideal)} | {duration(seconds + reduce_seconds)}"
        f" | {ideal / (seconds + reduce_seconds):.0%} | {again + again_too} | {lost + lost_too} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--executors", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=16, help="tasks of an executor at the same time")
    parser.add_argument("--petabytes", type=float, default=1.0)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=1_000_000, help="rows of 40 bytes of each task's result")
    parser.add_argument("--gigabytes", type=float, default=0.5, help="read by a task in a second")
    parser.add_argument("--skew", type=float, default=0.2, help="spread of the tasks' work, log-normal")
    parser.add_argument("--spread", type=float, default=0.1, help="spread of the machines' speed")
    parser.add_argument("--failures", type=float, default=0.05, help="of an executor in a day")
    parser.add_argument("--timeout", type=float, default=30, help="seconds until a lost executor is known")
    parser.add_argument("--overhead", type=float, default=0.02, help="seconds of a task beside its work")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    slots = options.executors * options.slots
    polls = options.executors / IDLE_POLL
    print(f"{options.executors:,} executors of {options.slots} slots, {options.petabytes:g} PB")
    print(
        f"polls while idle: {polls:,.0f} a second, {polls * POLL_COST:.1f} cores of the scheduler;"
        f" while busy: {options.executors / BUSY_POLL:,.0f}\n"
    )
    print("| files | tasks | reducers | plan | locations | handing out | ideal | simulated | of ideal | again | lost |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for partitions, reducers in ((slots, 64), (slots, 1024), (slots, slots), (4 * slots, 64), (4 * slots, 1024)):
        query(options, options.files, partitions, reducers, options.groups)


if __name__ == "__main__":
    main()
