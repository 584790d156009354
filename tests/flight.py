#!/usr/bin/env python3
"""Sends statements to a server by Flight SQL, with the driver of ADBC, as programs in Python do.

    tests/flight.py WARPATH_SERVE WARPATH    the programs

It needs the packages adbc-driver-flightsql, adbc-driver-manager and pyarrow.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight
import pyarrow
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import Error

TOKEN = "correct-horse-battery-staple"
LINES = [
    '{"id":1,"level":"error","user":{"lang":"nl"},"tags":["a","b"],"ms":1.5}',
    '{"id":2,"level":"info","user":{"lang":"en"},"tags":[],"ms":2}',
    '{"id":3,"level":"error","user":null,"ms":4.5}',
]


def fails(work, said):
    """Checks that the message of an error has a text."""
    try:
        work()
    except Error as error:
        assert said in str(error), f"{said!r} is not in {error}"
    else:
        raise AssertionError(f"no error: {said}")


def ask(address):
    header = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {TOKEN}"}
    fails(lambda: flight.connect(address, autocommit=True).cursor().execute("SELECT 1"), "token is missing")
    with flight.connect(address, header, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT level, count(*) AS n, sum(ms) AS ms FROM 'logs.wp' GROUP BY level ORDER BY level")
        assert cursor.fetchall() == [("error", 2, 6.0), ("info", 1, 2.0)], "rows"
        cursor.execute("SELECT \"user\", tags FROM 'logs.wp' ORDER BY id")
        table = cursor.fetch_arrow_table()
        assert table["user"].to_pylist() == [{"lang": "nl"}, {"lang": "en"}, None], table
        assert table["tags"].to_pylist() == [["a", "b"], [], None], table
        # More than a message holds.
        cursor.execute("SELECT value AS n, repeat('x', 100) AS t FROM generate_series(1, 200000)")
        assert sum(batch.num_rows for batch in cursor.fetch_record_batch()) == 200000, "many rows"
        # A reader that ends early ends the statement: others run.
        for _ in range(20):
            cursor.execute("SELECT value AS n FROM generate_series(1, 10000000)")
            assert cursor.fetchone() == (1,), "first row"
        schema = cursor.adbc_execute_schema("SELECT id, level FROM 'logs.wp'")
        assert schema == pyarrow.schema([("id", pyarrow.int64()), ("level", pyarrow.string_view())]), schema
        fails(lambda: cursor.execute("SELECT lvl FROM 'logs.wp'"), "there is no column `lvl`")
        fails(lambda: cursor.execute("SELECT * FROM '/etc/passwd'"), "is not among the inputs of the server")
        fails(lambda: cursor.execute("SELECT $1 AS x", (1,)), "write the value in its place")
        fails(lambda: cursor.execute("SELECT 1 AS x", (1,)), "no parameters")
        fails(lambda: cursor.execute("CREATE TABLE t AS SELECT 1 AS x"), "DDL not supported")
        fails(lambda: cursor.executescript("DELETE FROM 'logs.wp'"), "SQL only reads here")
        fails(lambda: cursor.adbc_ingest("t", table, mode="create"), "SQL only reads here")
        assert connection.adbc_get_info()["vendor_name"] == "Warpath"
        assert connection.adbc_get_table_types() == ["TABLE"]
        columns = connection.adbc_get_table_schema("logs.wp")
        assert columns.field("level").type == pyarrow.string_view(), columns
        [catalog] = connection.adbc_get_objects(depth="columns").read_all().to_pylist()
        [schema] = catalog["catalog_db_schemas"]
        [table] = schema["db_schema_tables"]
        names = [column["column_name"] for column in table["table_columns"]]
        assert (table["table_name"], names[-4:]) == ("logs.wp", ["level", "user", "tags", "ms"]), table
        where = f'"{catalog["catalog_name"]}"."{schema["db_schema_name"]}"."{table["table_name"]}"'
        cursor.execute(f"SELECT count(*) AS n FROM {where}")
        assert cursor.fetchone() == (3,), where


def main():
    serve, warpath = (Path(program).resolve() for program in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lines.ndjson").write_text("\n".join(LINES) + "\n")
        subprocess.run([warpath, "store", "add", "logs.wp", "lines.ndjson"], cwd=folder, check=True)
        command = [serve, "--listen", "127.0.0.1:0", "--questions", "1", "logs.wp"]
        environment = {**os.environ, "WARPATH_TOKEN": TOKEN}
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            ask(server.stdout.readline().strip().replace("http://", "grpc://"))
        finally:
            server.terminate()
            code = server.wait()
    assert code == 0, f"the server ended with {code}"


if __name__ == "__main__":
    main()
