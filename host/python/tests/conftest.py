"""The inputs that tests read, and the folder that examples run in."""

import json
import random

import pytest

TWEETS = """\
{"id":1,"user":{"lang":"nl","followers":7}}
{"id":2,"user":{"lang":"en","followers":3500},"tags":["a","b"]}
{"id":3,"user":{"lang":"fi","followers":12}}
"""


@pytest.fixture
def tweets(tmp_path, monkeypatch):
    """A folder with `tweets.ndjson`, which is the current one."""
    (tmp_path / "tweets.ndjson").write_text(TWEETS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def events(tmp_path_factory):
    """A file of random records, and the records."""
    chance = random.Random(22)
    records = []
    for number in range(20_000):
        record = {"id": number, "score": chance.random() * 1e6, "ok": chance.random() < 0.5}
        if chance.random() < 0.9:
            record["user"] = {"lang": chance.choice(["en", "nl", "fi"]), "name": "é\n" * chance.randrange(20)}
        record["n"] = chance.choice([chance.randrange(-(2**63), 2**63), 2**70, "x", None, 1.5])
        record["tags"] = [chance.choice("abc") for _ in range(chance.randrange(4))]
        records.append(record)
    path = tmp_path_factory.mktemp("events") / "events.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path, records
