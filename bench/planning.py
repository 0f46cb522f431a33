"""Planning a scan with a condition, on an own table and on one inherited at depth 1, 10 and 100, against plain DuckLake tables.

Measured: the statements that a stock client sends for it (the latest snapshot, the table's files, the statistics of one
column, the delete files), as a tenant's role, read to the last byte. 100,000 files and 1,000,000 statistics, and as many
again of 200 neighbours beside them in our tables. Every fork on the way down has a commit of its own.

And end to end: a SELECT of a stock DuckDB whose condition leaves no file over, so that planning is all it does. (EXPLAIN
reads no list of files.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median

import duckdb

from bench._context import Context, Filled
from bench._ducklake import Table, insert, scan_queries
from bench._lakes import duck
from bench._measure import Bar, Result, timed
from bench._session import Session
from forklake.catalog import Login

_OWN, _INHERITED = Bar("at most", 1.1), Bar("at most", 1.4)


def run(context: Context) -> Iterator[Result]:
    """One row by statements and one end to end, for each depth."""
    filled = context.filled
    logins = {"own": filled.login} | _fork_down(filled, context.sizes.depths)
    context.our_server.settle(filled.ours.dbname)
    yield from _by_statements(filled, logins, context.sizes.rounds)
    yield from _end_to_end(filled, logins, context.sizes.rounds)


def _fork_down(filled: Filled, depths: tuple[int, ...]) -> dict[str, Login]:
    found, parent = {}, filled.catalog
    for depth in range(1, max(depths) + 1):
        parent, login = filled.ours.store.fork_with_login(filled.ours.request(parent, f"depth-{depth}"))
        with Session(filled.ours.tenant_dsn(login)) as session:
            insert(session, Table("ducklake", filled.table_id, 10, files=1))
        if depth in depths:
            found[f"depth {depth}"] = login
    return found


def _by_statements(filled: Filled, logins: dict[str, Login], rounds: int) -> Iterator[Result]:
    # a fork sees more snapshots than its parent: its own
    queries = scan_queries("ducklake", filled.table_id, filled.last_snapshot + 1000)
    with ExitStack() as stack:
        readers = {where: stack.enter_context(Session(filled.ours.tenant_dsn(login))) for where, login in logins.items()}
        plain = stack.enter_context(Session(filled.plain.dsn))
        plain_queries = scan_queries(filled.schema, filled.table_id, filled.last_snapshot)
        times: dict[str, dict[str, list[float]]] = {where: {name: [] for name in queries} for where in [*readers, "plain"]}
        for number in range(rounds + 1):
            for where, session in [*readers.items(), ("plain", plain)]:
                for name, query in (plain_queries if where == "plain" else queries).items():
                    took = timed(_reader(session, query))
                    if number:
                        times[where][name].append(took)
    medians = {where: {name: median(taken) for name, taken in each.items()} for where, each in times.items()}
    for where in readers:
        yield Result(
            name="planning",
            what=f"plan a scan, {where}",
            rival_is="plain DuckLake tables",
            unit="ms",
            ours=sum(medians[where].values()),
            rival=sum(medians["plain"].values()),
            bar=_OWN if where == "own" else _INHERITED,
            detail={"ours": medians[where], "rival": medians["plain"]},
        )


def _reader(session: Session, query: str) -> Callable[[], object]:
    return lambda: session.read(query)


def _end_to_end(filled: Filled, logins: dict[str, Login], rounds: int) -> Iterator[Result]:
    with ExitStack() as stack:
        clients = {where: _attached(stack, filled.ours.attach(login)) for where, login in logins.items()}
        clients["plain"] = _attached(stack, filled.plain.attach(filled.schema))
        times: dict[str, list[float]] = {where: [] for where in clients}
        for number in range(rounds + 1):
            for where, client in clients.items():
                took = timed(_scanner(client))
                if number:
                    times[where].append(took)
    for where in logins:
        yield Result(
            name="planning",
            what=f"the same from DuckDB, {where}",
            rival_is="plain DuckLake tables",
            unit="ms",
            ours=median(times[where]),
            rival=median(times["plain"]),
            bar=_OWN if where == "own" else _INHERITED,
        )


def _attached(stack: ExitStack, statement: str) -> duckdb.DuckDBPyConnection:
    client = stack.enter_context(duck())
    client.execute(statement)
    return client


def _scanner(client: duckdb.DuckDBPyConnection) -> Callable[[], object]:
    # no file's range has a 7 in it
    return lambda: client.execute("SELECT c2 FROM lake.t WHERE c1 = 57").fetchall()
