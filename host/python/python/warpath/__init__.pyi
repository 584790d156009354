from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Literal, Protocol, TypedDict, final

class _ArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

_Path = str | PathLike[str]
_Column = str | tuple[str] | tuple[str, str | None] | tuple[str, str | None, Any]

class _Loss(TypedDict):
    type: str
    missing: int
    null: int
    mismatch: int
    overflow: int
    first_missing: str | None
    first_null: str | None
    first_mismatch: str | None
    first_overflow: str | None

class _Stats(TypedDict):
    rows: int
    lines: int
    bytes: int
    skipped: int
    workers: int
    backend: str
    reason: str | None

__version__: str

def open(
    paths: _Path | Iterable[_Path],
    *,
    device: str = "auto",
    format: Literal["ndjson", "json", "parquet", "arrow"] = "ndjson",
    column: str | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    strict: bool = False,
    time_format: str | None = None,
    workers: int | None = None,
    partition_size: int | None = None,
) -> Input: ...
def from_bytes(
    data: bytes | bytearray,
    *,
    name: str = "<bytes>",
    device: str = "auto",
    format: Literal["ndjson", "json"] = "ndjson",
    on_error: Literal["fail", "skip"] = "fail",
    strict: bool = False,
    time_format: str | None = None,
    workers: int | None = None,
    partition_size: int | None = None,
) -> Input: ...
@final
class Input:
    def where(self, expression: str) -> Input: ...
    def query(self, path: str) -> Matches: ...
    def select(
        self,
        columns: Mapping[str, _Column] | None = None,
        *,
        schema: Schema | _ArrowSchema | None = None,
        auto: bool = False,
        explode: str | None = None,
        limit: int | None = None,
        on_mismatch: Literal["null", "fail", "skip", "string"] = "null",
    ) -> Selection: ...
    def schema(self, limit: int | None = None) -> Schema: ...

@final
class Matches:
    def __iter__(self) -> Iterator[str]: ...
    def bytes(self) -> Iterator[bytes]: ...
    def values(self) -> Iterator[Any]: ...
    def located(self) -> Iterator[Match]: ...
    def count(self) -> int: ...

@final
class Match:
    @property
    def text(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...

@final
class Selection:
    @property
    def losses(self) -> dict[str, _Loss]: ...
    @property
    def stats(self) -> _Stats: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def on_device(self) -> DeviceBatch: ...
    def device_batches(self) -> Iterator[DeviceBatch]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Batch:
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class DeviceBatch:
    @property
    def names(self) -> list[str]: ...
    @property
    def device(self) -> str: ...
    def to_host(self) -> Batch: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: str, /) -> DeviceColumn: ...
    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class DeviceColumn:
    @property
    def nulls(self) -> int: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...

@final
class Schema:
    def rows(self) -> list[dict[str, Any]]: ...
    def json_schema(self) -> dict[str, Any]: ...
    def sql(self, table: str = "records") -> str: ...
    def __arrow_c_schema__(self) -> object: ...

class Error(Exception): ...
class UsageError(Error, ValueError): ...

class QueryError(UsageError):
    column: int
    hint: str | None

class InputError(Error, OSError): ...
class NotFoundError(InputError, FileNotFoundError): ...

class RecordError(InputError, ValueError):
    line: int
    byte: int

class MismatchError(Error, ValueError):
    filename: str | None
    line: int
    byte: int | None
    column: str | None

class DeviceError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...
