"""The exceptions of Warpath. Each is also one of Python's own, by whose fault it is."""


class Error(Exception):
    """The base of all exceptions of Warpath.

    >>> try:
    ...     warpath.open("no such file")
    ... except warpath.Error as error:
    ...     print(type(error).__name__)
    NotFoundError
    """

    __module__ = "warpath"

    def __reduce__(self):
        # An `OSError` of one argument would lose the name of its file, and `errno`.
        of_file = ("filename", "errno", "strerror") if isinstance(self, OSError) else ()
        state = {name: getattr(self, name) for name in of_file if getattr(self, name) is not None}
        return (type(self), self.args, {**self.__dict__, **state})


class UsageError(Error, ValueError):
    """An argument is not valid.

    >>> warpath.open("tweets.ndjson", on_error="ignore")
    Traceback (most recent call last):
    warpath.UsageError: on_error is "ignore"; expected "fail" or "skip"
    """

    __module__ = "warpath"


class QueryError(UsageError):
    """A path or a condition is not valid. ``column`` is counted from 1; ``hint`` is help, or ``None``.

    >>> try:
    ...     warpath.open("tweets.ndjson").query("$.user..")
    ... except warpath.QueryError as error:
    ...     print(error.column)
    9
    """

    __module__ = "warpath"
    column = 1
    hint = None


class InputError(Error, OSError):
    """An input cannot be read. ``filename`` is its name, and ``errno`` that of the system, if there is one.

    >>> try:
    ...     list(warpath.from_bytes(b"PAR1").query("$"))
    ... except OSError as error:
    ...     print(error)
    <bytes>: is a Parquet file, not JSON in UTF-8
    """

    __module__ = "warpath"

    def __str__(self):
        # That of `OSError` has another form as soon as there is a name of a file.
        return str(self.args[0])


class NotFoundError(InputError, FileNotFoundError):
    """No file has a name, or matches a pattern.

    >>> try:
    ...     warpath.open("*.parquet")
    ... except FileNotFoundError as error:
    ...     print(error)
    *.parquet: no file has this name or matches this pattern
    """

    __module__ = "warpath"


class RecordError(InputError, ValueError):
    """A record is malformed, at ``filename``, ``line`` and ``byte``, which are counted from 1.

    >>> try:
    ...     list(warpath.from_bytes(b'{"a": 1}\\n{"a": 2\\n').query("$.a"))
    ... except warpath.RecordError as error:
    ...     print(error.filename, error.line)
    <bytes> 2
    """

    __module__ = "warpath"
    line = 0
    byte = 0


class MismatchError(Error, ValueError):
    """A value that ``column`` does not take, with ``on_mismatch="fail"``: at ``filename``, ``line`` and
    ``byte``, which are counted from 1. ``byte`` is ``None`` for columns of all members.

    >>> rows = warpath.open("tweets.ndjson").select({"n": ("$.user.lang", "int64")}, on_mismatch="fail")
    >>> try:
    ...     list(rows)
    ... except warpath.MismatchError as error:
    ...     print(error)
    tweets.ndjson:1:24: the value is not of the type int64, which column `n` has
    """

    __module__ = "warpath"
    filename = None
    line = 0
    byte = None
    column = None


class DeviceError(Error, RuntimeError):
    """A device is missing, or failed.

    >>> issubclass(warpath.DeviceError, RuntimeError)
    True
    """

    __module__ = "warpath"


class InternalError(Error, RuntimeError):
    """A fault of Warpath itself. Please report it.

    >>> issubclass(warpath.InternalError, RuntimeError)
    True
    """

    __module__ = "warpath"
