"""JSONPath queries over newline-delimited JSON, to Arrow, on the CPU and on NVIDIA GPUs.

>>> tweets = warpath.open("tweets.ndjson").where("$.user.followers >= 10")
>>> list(tweets.query("$.user.lang").values())
['en', 'fi']
>>> polars.DataFrame(tweets.select({"id": ("$.id", "int64")})).height
2
"""

from warpath._errors import (
    DeviceError,
    Error,
    InputError,
    InternalError,
    MismatchError,
    NotFoundError,
    QueryError,
    RecordError,
    UsageError,
)
from warpath._warpath import (
    Batch,
    DeviceBatch,
    DeviceColumn,
    Input,
    Match,
    Matches,
    Schema,
    Selection,
    __version__,
    from_bytes,
    open,
)

__all__ = [
    "Batch",
    "DeviceBatch",
    "DeviceColumn",
    "DeviceError",
    "Error",
    "Input",
    "InputError",
    "InternalError",
    "Match",
    "Matches",
    "MismatchError",
    "NotFoundError",
    "QueryError",
    "RecordError",
    "Schema",
    "Selection",
    "UsageError",
    "__version__",
    "from_bytes",
    "open",
]
