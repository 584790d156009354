"""Reads that wait for an input: handlers of signals run, and other threads go on."""

import gc
import os
import queue
import subprocess
import sys
import textwrap
import threading

import pyarrow
import pytest
import warpath

# A pipe has a writer that opens it, and is idle until it may end. The signal comes when the pipe is open at
# both ends: the main thread reads it then, or is about to.
PROGRAM = """
    import os, signal, sys, threading
    import duckdb, polars, pyarrow, warpath

    pipe, how = sys.argv[1:]

    class Late(Exception):
        pass

    class Interrupt(KeyboardInterrupt):
        pass

    calls = []

    def handler(number, frame):
        calls.append(number)
        raise Interrupt("pressed", 7) if number == signal.SIGINT else Late("too", "late")

    def signal_when_idle(pipe, number):
        def write():
            with open(pipe, "w"):
                os.kill(os.getpid(), number)
                done.wait()
        os.mkfifo(pipe)
        done = threading.Event()
        writer = threading.Thread(target=write)
        writer.start()
        return done, writer

    def goes_on():
        for _ in range(1000):
            pass

    def read(how, pipe):
        events = warpath.open(pipe)
        rows = events.select({"n": ("$.n", "int64")})
        if how == "iterator":
            list(events.query("$.n"))
        elif how == "bytes":
            list(events.query("$.n").bytes())
        elif how == "values":
            list(events.query("$.n").values())
        elif how == "located":
            list(events.query("$.n").located())
        elif how == "count":
            events.query("$.n").count()
        elif how == "batches":
            list(rows)
        elif how == "nested":
            list(events.select(schema=pyarrow.schema({"n": pyarrow.int64()})))
        elif how == "schema":
            events.schema()
        elif how == "limit":
            events.schema(10)
        elif how == "select":
            events.select()
        elif how == "auto":
            events.select({"n": "$.n"}, auto=True)
        elif how == "where":
            list(events.where("$.n == 2").select({"n": "$.n"}))
        elif how == "document":
            list(warpath.open(pipe, format="json").query("$"))
        elif how == "tables":
            list(warpath.open(pipe, format="arrow", column="n").query("$.n"))
        elif how == "reader":
            pyarrow.RecordBatchReader.from_stream(rows).read_all()
        elif how == "table":
            pyarrow.table(rows)
        elif how == "polars":
            polars.DataFrame(rows)
"""

RAISED = """
    for number, kind, arguments in ((signal.SIGINT, Interrupt, ("pressed", 7)),
                                    (signal.SIGUSR1, Late, ("too", "late"))):
        signal.signal(number, handler)
        done, writer = signal_when_idle(f"{pipe}{number}", number)
        try:
            try:
                read(how, f"{pipe}{number}")
            except (Interrupt, Late):
                raise
            except Exception as error:
                # Of a library of Arrow. The exception of the handler follows.
                assert how in ("reader", "table", "polars"), error
                assert "interrupted by " in str(error) and kind.__name__ in str(error), error
                goes_on()
        except kind as raised:
            assert type(raised) is kind and raised.args == arguments, raised
            assert not done.is_set()
            print("raised")
        assert calls.pop() == number and not calls
        done.set()
        writer.join()
"""

READS = """iterator bytes values located count batches nested schema limit select auto where document tables
    reader table polars""".split()


def run(*parts, arguments):
    program = "".join(map(textwrap.dedent, parts))
    program = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", READS)
def test_a_handler_raises_while_the_writer_is_idle(tmp_path, how):
    assert run(PROGRAM, RAISED, arguments=[tmp_path / "pipe", how]) == "raised\n" * 2


def test_a_read_goes_on_after_a_handler_raised(tmp_path):
    program = """
        signal.signal(signal.SIGUSR1, handler)

        def write():
            with open(pipe, "w") as out:
                for number in range(3):
                    print('{"n": %d}' % number, file=out, flush=True)
                    seen.acquire()
                    os.kill(os.getpid(), signal.SIGUSR1)
                    raised.acquire()

        os.mkfifo(pipe)
        seen, raised = threading.Semaphore(0), threading.Semaphore(0)
        writer = threading.Thread(target=write)
        writer.start()
        numbers, all, late, ended = warpath.open(pipe).query("$.n").values(), [], 0, False
        while not ended:
            try:
                for number in numbers:
                    all.append(number)
                    seen.release()
                ended = True
            except Late:
                late += 1
                raised.release()
        writer.join()
        print(all, late)
    """
    assert run(PROGRAM, program, arguments=[tmp_path / "pipe", "values"]) == "[0, 1, 2] 3\n"


def test_the_module_may_be_imported_by_another_thread(tmp_path):
    importing = """
        import importlib, threading
        thread = threading.Thread(target=lambda: importlib.import_module("warpath"))
        thread.start()
        thread.join()
    """
    assert run(importing, PROGRAM, RAISED, arguments=[tmp_path / "pipe", "count"]) == "raised\n" * 2


@pytest.mark.parametrize("how", ["batches", "polars", "duckdb"])
def test_a_thread_of_python_writes_what_a_library_reads(tmp_path, how):
    program = """
        def write():
            with open(pipe, "w") as out:
                for number in range(1000):
                    print('{"n": %d}' % number, file=out)

        os.mkfifo(pipe)
        writer = threading.Thread(target=write)
        writer.start()
        rows = warpath.open(pipe).select({"n": ("$.n", "int64")})
        if how == "batches":
            print(sum(len(batch) for batch in rows))
        elif how == "polars":
            print(len(polars.DataFrame(rows)))
        else:
            print(duckdb.sql("select count(*) from rows").fetchall()[0][0])
        writer.join()
    """
    assert run(PROGRAM, program, arguments=[tmp_path / "pipe", how]) == "1000\n"


@pytest.fixture
def threads_do_not_switch():
    """Another thread runs only when the current one releases Python's lock by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("how", ["iterator", "batches", "capsule", "reader"])
def test_a_drop_releases_the_lock(events, how, threads_do_not_switch):
    path, _ = events
    events = warpath.open(path, partition_size=100_000)
    rows = events.select({"id": "$.id"})
    make = {
        "iterator": lambda: iter(events.query("$.id")),
        "batches": lambda: iter(rows),
        "capsule": rows.__arrow_c_stream__,
        "reader": lambda: pyarrow.RecordBatchReader.from_stream(rows),
    }[how]
    turn, ran, ends = threading.Semaphore(0), [], []

    def other():
        while not ends:
            turn.acquire()
            ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    released = False
    for _ in range(200):
        unfinished = [make() for _ in range(8)]
        ran.clear()
        turn.release()
        assert not ran
        # The other thread is ready. It runs if the drops release the lock.
        unfinished.clear()
        if ran:
            released = True
            break
        gc.collect()
    ends.append(True)
    turn.release()
    thread.join()
    assert released


@pytest.mark.parametrize("how", ["iterator", "values", "batches"])
def test_one_thread_at_a_time_uses_an_iterator(tmp_path, how):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    events = warpath.open(pipe)
    iterator = {
        "iterator": lambda: iter(events.query("$.n")),
        "values": lambda: events.query("$.n").values(),
        "batches": lambda: iter(events.select({"n": "$.n"})),
    }[how]()
    results = queue.Queue()

    def take():
        try:
            results.put(next(iterator))
        except Exception as error:
            results.put(error)

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    # There is no line yet: one thread waits for it, and the other one is refused.
    with open(pipe, "w") as out:
        refused = results.get()
        print('{"n": 1}', file=out, flush=True)
        taken = results.get()
    for thread in threads:
        thread.join()
    assert isinstance(refused, warpath.UsageError), refused
    assert str(refused).startswith("the iterator is in use by another thread; expected one thread at a time")
    assert not isinstance(taken, Exception), taken
    assert list(iterator) == []
