"""Runs the examples of all documentation strings, and of docs/python.md."""

import doctest
import re
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pytest
import warpath

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"
NAMES = {"warpath": warpath, "pyarrow": pyarrow, "polars": polars, "duckdb": duckdb, "pandas": pandas}


def documented():
    """The name and the documentation of each public item."""
    yield "warpath", warpath.__doc__
    for name in warpath.__all__:
        item = getattr(warpath, name)
        if name != "__version__":
            yield name, item.__doc__
        if isinstance(item, type) and not issubclass(item, Exception):
            for member, value in vars(item).items():
                if not member.startswith("__") or member.startswith("__arrow"):
                    yield f"{name}.{member}", value.__doc__


ITEMS = dict(documented())


def run(text, name):
    found = doctest.DocTestParser().get_doctest(text, dict(NAMES), name, None, 0)
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=said.append)
    assert not said, "".join(said)
    return len(found.examples)


@pytest.mark.parametrize("name", ITEMS)
def test_documentation(name, tweets):
    assert ITEMS[name], f"{name} has no documentation"
    # The fields of a match have their example at `Matches.located`.
    assert run(ITEMS[name], name) > 0 or name.startswith("Match."), f"{name} has no example"


def test_there_are_items():
    assert {"open", "Input.select", "Selection.losses", "Batch.__arrow_c_array__", "Error"} <= set(ITEMS)


def test_page(tweets):
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.S)
    assert run("\n".join(blocks), "python.md") > 10
