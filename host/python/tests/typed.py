"""Uses the module with types that `mypy --strict` checks against the stubs."""

from collections.abc import Iterator
from pathlib import Path

import warpath

tweets: warpath.Input = warpath.open([Path("tweets.ndjson"), "more"], device="cpu", format="json", workers=2)
some: warpath.Input = warpath.from_bytes(b"", on_error="skip").where("$.id == 1")
table: warpath.Input = warpath.open("log.parquet", format="parquet", column="body")
langs: Iterator[str] = iter(some.query("$.user.lang"))
count: int = some.query("$.id").count()
texts: list[str] = [match.text + match.path for match in some.query("$.id").located()]
rows: warpath.Selection = tweets.select(
    {"id": ("$.id", "int64"), "lang": "$.user.lang", "n": ("$.n", "float64", 0.5)},
    schema=tweets.schema(limit=10),
    explode="$.tags",
    limit=10,
    on_mismatch="fail",
)
whole: warpath.Selection = some.select({"id": ("$.id", "int64")}, on_mismatch="skip")
lost: int = rows.losses["id"]["mismatch"]
read: int = rows.stats["rows"]
lengths: list[int] = [len(batch) for batch in rows]
on_device: warpath.DeviceBatch = rows.on_device()
device_lengths: list[int] = [len(batch) for batch in rows.device_batches()]
pointer: tuple[int, bool] = on_device["id"].__cuda_array_interface__["data"]
