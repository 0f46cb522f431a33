"""The same as clients.py, without DuckDB: what 24 stock clients send is replayed, so that Postgres is all there is.

This is the harsher row: a stock client spends most of a small insert in itself, and here it spends nothing.

Against 24 plain DuckLake schemas; and against one shared sequence of snapshots, as the forking seed has it: 24 tables in
one plain catalog, so that every commit of anybody is the next snapshot of all. Every client is a process and sends what a
stock one sends for an INSERT of one file, with DuckLake's rule for retries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from bench._context import Context
from bench._ducklake import Table, insert
from bench._lakes import Ours, Plain
from bench._measure import Result
from bench._race import Tally, race, results
from bench._session import CommitRefused, Session

_COLUMNS = 2


@dataclass(slots=True)
class Client:
    """Where a client connects to, and what it writes to."""

    dsn: str
    table: Table


def run(context: Context) -> Iterable[Result]:
    """A row for each rival."""
    size = context.sizes
    sides = {"ours": _ours(context), "plain": _plain(context), "shared": _shared(context)}
    tallies: dict[str, list[Tally]] = {name: [] for name in sides}
    for _ in range(size.repeats):
        for name, clients in sides.items():
            tallies[name].append(race(clients, size.seconds, replay))
    return results("clients_replayed", f"{size.clients} clients replayed, Postgres alone", size.seconds, size.clients, tallies)


def _ours(context: Context) -> list[Client]:
    ours = Ours(context.our_server, "clients")
    made = [ours.catalog_with_table(f"client-{number}", _COLUMNS) for number in range(context.sizes.clients)]
    return [Client(ours.tenant_dsn(login), Table("ducklake", ours.first_table(catalog), _COLUMNS)) for catalog, login in made]


def _plain(context: Context) -> list[Client]:
    plain = Plain(context.plain_server, "clients")
    return [Client(plain.dsn, Table(plain.schema_with_tables(f"client_{number}", _COLUMNS), 1, _COLUMNS)) for number in range(context.sizes.clients)]


def _shared(context: Context) -> list[Client]:
    plain, clients = Plain(context.plain_server, "shared"), context.sizes.clients
    schema = plain.schema_with_tables("all_of_them", _COLUMNS, tables=clients)
    return [Client(plain.dsn, Table(schema, number + 1, _COLUMNS)) for number in range(clients)]


def replay(client: Client, seconds: float, wait: Callable[[], Any]) -> Tally:
    """Sends what a stock client sends for an INSERT of one file, again and again."""
    tally = Tally()
    with Session(client.dsn) as session:
        wait()
        end = monotonic() + seconds
        while monotonic() < end:
            try:
                tally.retries += insert(session, client.table) - 1
                tally.commits += 1
            except CommitRefused:
                tally.failed += 1
    return tally
