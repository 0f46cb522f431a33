"""24 stock DuckDB clients that insert a row at a time for 10 seconds, each into a catalog of its own.

Against 24 plain DuckLake schemas; and against one shared sequence of snapshots, as the forking seed has it: 24 tables in
one plain catalog, so that every commit of anybody is the next snapshot of all. Every client is a process with a DuckDB of
its own, one thread each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import duckdb

from bench._context import Context
from bench._lakes import Ours, Plain, duck
from bench._measure import Result
from bench._race import Tally, race, results

_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class Client:
    """How a client attaches, and the table it inserts into."""

    attach: str
    table: str


def run(context: Context) -> Iterable[Result]:
    """A row for each rival."""
    size = context.sizes
    sides = {"ours": _ours(context), "plain": _plain(context), "shared": _shared(context)}
    tallies: dict[str, list[Tally]] = {name: [] for name in sides}
    for _ in range(size.repeats):
        for name, clients in sides.items():
            tallies[name].append(race(clients, size.seconds, insert_rows))
    what = f"{size.clients} DuckDB clients, {size.clients} catalogs, {size.seconds:g} s"
    return results("clients", what, size.seconds, size.clients, tallies)


def _ours(context: Context) -> list[Client]:
    ours = Ours(context.our_server, "duckdb_clients")
    logins = [ours.catalog_with_table(f"client-{number}", _COLUMNS)[1] for number in range(context.sizes.clients)]
    return [Client(ours.attach(login), "lake.t") for login in logins]


def _plain(context: Context) -> list[Client]:
    plain = Plain(context.plain_server, "duckdb_clients")
    schemas = [plain.schema_with_tables(f"duck_{number}", _COLUMNS) for number in range(context.sizes.clients)]
    return [Client(plain.attach(schema, ", DATA_INLINING_ROW_LIMIT 0"), "lake.t") for schema in schemas]


def _shared(context: Context) -> list[Client]:
    plain, clients = Plain(context.plain_server, "duckdb_shared"), context.sizes.clients
    attach = plain.attach(plain.schema_with_tables("ducks", _COLUMNS, tables=clients), ", DATA_INLINING_ROW_LIMIT 0")
    return [Client(attach, f"lake.t{number if number > 1 else ''}") for number in range(1, clients + 1)]


def insert_rows(client: Client, seconds: float, wait: Callable[[], Any]) -> Tally:
    """Inserts a row at a time, as fast as it goes."""
    tally = Tally()
    with duck() as connection:
        connection.execute("SET threads = 1")
        connection.execute(client.attach)
        connection.execute(f"INSERT INTO {client.table} VALUES (0, 0)")
        wait()
        end = monotonic() + seconds
        while monotonic() < end:
            try:
                connection.execute(f"INSERT INTO {client.table} VALUES (1, 2)")
                tally.commits += 1
            except duckdb.Error:
                tally.failed += 1
    return tally
