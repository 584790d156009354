#!/usr/bin/env python3
"""Checks columns that stay on a CUDA device against CuPy, PyTorch and pyarrow, on a machine with a card.

    tests/device.py [FOLDER]    FOLDER has the package `warpath`, unpacked from its wheel

It also measures the way of 10⁷ numbers to a CuPy array, and counts the bytes that are copied to the host
meanwhile.
"""

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])

import cupy
import torch
import warpath

NUMBERS = 10_000_000


def refused(call, says):
    try:
        call()
    except warpath.UsageError as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"nothing was refused: {says}")


def records(path):
    """A file of random records, and the records."""
    chance = random.Random(7)
    made = []
    for number in range(200_000):
        record = {"id": number, "x": chance.random() * 1e9, "day": "2026-11-25", "text": "é\n" * chance.randrange(9)}
        record["n"] = chance.choice([chance.randrange(-(2**63), 2**63), 2**70, "x", None])
        record["ok"] = chance.random() < 0.5
        if chance.random() < 0.9:
            record["price"] = 1.25
        record["tags"] = [chance.choice("abc") for _ in range(chance.randrange(4))]
        made.append(record)
    path.write_text("".join(json.dumps(record) + "\n" for record in made))
    return made


def check_values(path, made):
    """Numbers and times, through `__cuda_array_interface__`."""
    rows = warpath.open(path, device="cuda:0").select(
        {"id": ("$.id", "int64"), "x": ("$.x", "float64"), "day": ("$.day", "date"), "n": ("$.n", "int64")}
    )
    batch = rows.on_device()
    assert len(batch) == len(made) and batch.device == "cuda:0", batch
    ids, x = cupy.asarray(batch["id"]), cupy.asarray(batch["x"])
    assert ids.dtype == cupy.int64 and ids.shape == (len(made),)
    assert ids.data.ptr == batch["id"].__cuda_array_interface__["data"][0], "CuPy made a copy"
    assert cupy.asnumpy(ids).tolist() == [record["id"] for record in made]
    assert cupy.asnumpy(x).tolist() == [record["x"] for record in made]
    assert set(cupy.asnumpy(cupy.asarray(batch["day"])).tolist()) == {20782}
    tensor = torch.as_tensor(batch["id"], device="cuda")
    assert tensor.data_ptr() == ids.data.ptr, "PyTorch made a copy"
    assert int(tensor.sum()) == sum(record["id"] for record in made)
    refused(lambda: batch["n"].__cuda_array_interface__, "nulls")
    losses = rows.losses["n"]
    kinds = [record["n"] for record in made]
    assert losses["mismatch"] == kinds.count("x") and losses["overflow"] == kinds.count(2**70), losses
    assert losses["null"] == kinds.count(None) and losses["missing"] == 0, losses
    with_default = warpath.open(path, device="cuda:0").select({"p": ("$.price", "float64", 0)}).on_device()
    assert float(cupy.asarray(with_default["p"]).sum()) == sum(record.get("price", 0) for record in made)

    # Partitions one by one, and the memory after its owners are gone.
    sums = [int(cupy.asarray(part["id"]).sum()) for part in rows.device_batches()]
    assert len(sums) > 1 and sum(sums) == int(tensor.sum()), sums
    del batch, tensor
    gc.collect()
    assert cupy.asnumpy(ids).tolist() == [record["id"] for record in made], "the memory was freed too early"
    # Memory is used again after the kernels of other libraries, which are under way when it is dropped.
    for _ in range(20):
        column = cupy.asarray(rows.on_device()["id"])
        for _ in range(50):
            total = cupy.sort(column).sum()
        del column
        rows.on_device()
        assert int(total) == sum(record["id"] for record in made)


def check_mismatches():
    """A read ends at a value that a column does not take, or at a limit before it."""
    lines = [{"a": 1, "b": line} for line in range(1000)]
    lines[700]["b"], lines[800]["a"] = "x", 2**70
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    columns = {"a": ("$.a", "int64"), "b": ("$.b", "int64")}
    for partition_size in (None, 4000):
        records = warpath.from_bytes(data, device="cuda:0", partition_size=partition_size)
        for limit in (1, 699, 700, 701, 801, None):
            rows, read, failed = records.select(columns, limit=limit, on_mismatch="fail"), 0, None
            try:
                for batch in rows.device_batches():
                    read += len(batch)
            except warpath.MismatchError as error:
                failed = error
            assert read == min(limit or 1000, 700), (limit, read)
            assert (failed is not None) == (limit is None or limit > 700), (limit, failed)
            assert failed is None or (failed.line, failed.column, failed.byte) == (701, "b", None), failed


def check_arrow(path, made):
    """All columns, through `__arrow_c_device_array__`."""
    columns = {"id": ("$.id", "int64"), "x": ("$.x", "float64"), "n": ("$.n", "int64"), "text": ("$.text", "string")}
    columns |= {"ok": ("$.ok", "bool"), "tags": ("$.tags[*]", "string"), "price": ("$.price", "decimal(9,2)")}
    batch = warpath.open(path, device="cuda:0").select(columns).on_device()
    schema, array = batch.__arrow_c_device_array__()
    assert "arrow_schema" in repr(schema) and "arrow_device_array" in repr(array), (schema, array)
    check_structure(array, len(made), len(columns))
    refused(lambda: batch["text"], "expected numbers")
    try:
        import pyarrow
    except ImportError:
        print("no pyarrow")
        return
    host = pyarrow.record_batch(batch.to_host())
    wanted = pyarrow.table(warpath.open(path, device="cpu").select(columns)).combine_chunks()
    assert pyarrow.Table.from_batches([host]) == wanted, "the copy on the host differs"
    if not hasattr(pyarrow.RecordBatch, "_import_from_c_device_capsule"):
        print("pyarrow takes no arrays on devices")
        return
    try:
        taken = pyarrow.RecordBatch._import_from_c_device_capsule(*batch.__arrow_c_device_array__())
    except NotImplementedError as error:
        print("pyarrow:", error)
    except pyarrow.ArrowException as error:
        # The package of PyPI is built without CUDA.
        print("pyarrow:", error)
    else:
        assert taken.num_rows == len(made) and taken.schema.names == list(columns)
        assert not taken.is_cpu


def check_structure(capsule, rows, columns):
    """The structure in a capsule, as C reads it: the device, an event that is reached, and the first column."""
    import ctypes

    class Array(ctypes.Structure):
        pass

    Array._fields_ = [
        *[(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")],
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.POINTER(ctypes.POINTER(Array))),
        *[(name, ctypes.c_void_p) for name in ("dictionary", "release", "private_data")],
    ]

    class DeviceArray(ctypes.Structure):
        _fields_ = [
            ("array", Array),
            ("device_id", ctypes.c_int64),
            ("device_type", ctypes.c_int32),
            ("sync_event", ctypes.POINTER(ctypes.c_void_p)),
            ("reserved", ctypes.c_int64 * 3),
        ]

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    made = DeviceArray.from_address(pointer(capsule, b"arrow_device_array"))
    assert (made.device_id, made.device_type, list(made.reserved)) == (0, 2, [0, 0, 0])
    assert (made.array.length, made.array.n_children) == (rows, columns)
    cupy.cuda.runtime.eventSynchronize(made.sync_event[0])
    cupy.cuda.runtime.streamWaitEvent(cupy.cuda.get_current_stream().ptr, made.sync_event[0])
    ids = made.array.children[0].contents
    assert ids.n_buffers == 2 and ids.null_count == 0 and not ids.buffers[0]
    memory = cupy.cuda.UnownedMemory(ids.buffers[1], 8 * rows, capsule)
    values = cupy.ndarray((rows,), cupy.int64, cupy.cuda.MemoryPointer(memory, 0))
    assert int(values.sum()) == rows * (rows - 1) // 2


def numbers(folder):
    """The way of 10⁷ numbers from NDJSON to a CuPy array."""
    path = folder / "numbers.ndjson"
    with path.open("w") as out:
        for begin in range(0, NUMBERS, 100_000):
            out.write("".join(f'{{"id":{number}}}\n' for number in range(begin, begin + 100_000)))
    print(f"{NUMBERS} numbers, {path.stat().st_size / 1e6:.0f} MB of NDJSON")
    rows = warpath.open(path, device="cuda:0").select({"id": ("$.id", "int64")})
    times = []
    for _ in range(9):
        since = time.perf_counter()
        array = cupy.asarray(rows.on_device()["id"])
        cupy.cuda.runtime.deviceSynchronize()
        times.append(1e3 * (time.perf_counter() - since))
        assert array.shape == (NUMBERS,)
    assert int(array.sum()) == NUMBERS * (NUMBERS - 1) // 2
    assert bool((array == cupy.arange(NUMBERS)).all())
    times.sort()
    print(f"to a CuPy array: {times[4]:.1f} ms, the median of 9 ({times[0]:.1f} to {times[-1]:.1f})")
    return path


def copies(folder, package):
    """The bytes that are copied to the host meanwhile, by the profiler that CUDA's driver has for PyTorch."""
    script = f"""
import sys
sys.path.insert(0, {package!r})
import cupy, torch, warpath
from torch.profiler import ProfilerActivity, profile
torch.zeros(1, device="cuda")
rows = warpath.open({str(folder / "numbers.ndjson")!r}, device="cuda:0").select({{"id": ("$.id", "int64")}})
rows.on_device()
with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
    array = cupy.asarray(rows.on_device()["id"])
    cupy.cuda.runtime.deviceSynchronize()
seen.export_chrome_trace({str(folder / "trace.json")!r})
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    moved = {}
    for event in json.loads((folder / "trace.json").read_text())["traceEvents"]:
        if event.get("cat") == "gpu_memcpy":
            kind = event["name"].split("(")[0].strip()
            moved[kind] = moved.get(kind, 0) + int(event.get("args", {}).get("bytes", 0))
    print("copies:", ", ".join(f"{kind} {size / 1e6:.2f} MB" for kind, size in sorted(moved.items())))
    to_host = sum(size for kind, size in moved.items() if "DtoH" in kind)
    assert moved, "the profiler saw no copy"
    # The values have 80 MB. Only counts of each partition come to the host.
    assert to_host < 100_000, f"{to_host} bytes were copied to the host"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "records.ndjson"
        made = records(path)
        check_values(path, made)
        check_arrow(path, made)
        check_mismatches()
        refused(lambda: warpath.open(path, device="cpu").select({"id": ("$.id", "int64")}).on_device(), "cpu")
        refused(lambda: warpath.open(path, device="cuda:0").select().on_device(), "nested")
        numbers(folder)
        copies(folder, sys.argv[1] if len(sys.argv) > 1 else "")
    print("device columns: all equal")


main()
