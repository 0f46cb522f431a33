"""A Reference fork with its login role, of a parent with 100,000 files and 1,000,000 column statistics.

Against a Copy fork of the same parent; against a transaction that inserts one row into a table with a primary key, on the
same connection: what any durable change costs (the physical limit); and the bytes that each kind of fork adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import psycopg

from bench._context import Context, Filled
from bench._measure import Bar, Result, in_turns, timed
from forklake.catalog import Catalog, Login, new_login

_numbers = count()


def run(context: Context) -> Iterator[Result]:
    """Time against both rivals, then bytes."""
    filled, size = context.filled, context.sizes
    times = _time_forks(filled, size.forks_timed)
    copies = [_copy(filled) for _ in range(size.copies)]
    copy_ms = sorted(took for took, *_ in copies)[len(copies) // 2]
    yield Result(
        name="fork",
        what="Reference fork with its login",
        rival_is="Copy fork",
        unit="ms",
        ours=times["fork"],
        rival=copy_ms,
        bar=Bar("at least", 1000),
        limit=times["row"],
    )
    for what, key in (("the same", "fork"), ("the same, making the password included", "fork_with_password")):
        yield Result(
            name="fork",
            what=what,
            rival_is="a transaction of one row",
            unit="ms",
            ours=times[key],
            rival=times["row"],
            bar=Bar("at most", 4),
            limit=times["row"],
            detail=times,
        )
    yield _bytes(context, filled, copies[-1])


def _time_forks(filled: Filled, rounds: int) -> dict[str, float]:
    store = filled.ours.store
    connection = store.connection
    connection.execute("create schema if not exists bench")
    connection.execute("create table if not exists bench.one (id bigint generated always as identity primary key, said text)")
    logins = [new_login() for _ in range(rounds + 1)]
    return in_turns(
        rounds,
        fork=lambda: store.fork_with_login(_request(filled), logins.pop()),
        row=lambda: connection.execute("insert into bench.one (said) values (%s)", ["a row"]),
        fork_with_password=lambda: store.fork_with_login(_request(filled)),
        fork_without_login=lambda: store.fork(_request(filled)),
    )


def _request(filled: Filled, **wanted: Any) -> Any:
    return filled.ours.request(filled.catalog, f"fork-{next(_numbers)}", **wanted)


def _copy(filled: Filled) -> tuple[float, Catalog, Login]:
    made: list[tuple[Catalog, Login]] = []
    took = timed(lambda: made.append(filled.ours.store.fork_with_login(_request(filled, mode="Copy"))))
    return took, *made[0]


def _bytes(context: Context, filled: Filled, copied: tuple[float, Catalog, Login]) -> Result:
    reference = filled.ours.store.fork_with_login(_request(filled))
    with context.our_server.superuser(filled.ours.dbname) as connection:
        ours = _bytes_of(connection, *reference)
        rival = _bytes_of(connection, *copied[1:])
    return Result(
        name="fork",
        what="metadata added by a fork",
        rival_is="the Copy's",
        unit="bytes",
        ours=sum(ours.values()),
        rival=sum(rival.values()),
        bar=Bar("under", 4096),
        note="rows of lake.* and of pg_authid, pg_auth_members and pg_shdepend, without indexes",
        detail={"ours": ours, "rival": rival},
    )


def _bytes_of(connection: psycopg.Connection[Any], made: Catalog, login: Login) -> dict[str, int]:
    tables = connection.execute(
        """select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'catalog_id'
        where c.relnamespace = 'lake'::regnamespace and c.relkind = 'r'"""
    ).fetchall()
    conditions = {f"lake.{name}": f"t.catalog_id = {made.catalog_id}" for (name,) in tables}
    role = f"'{login.role}'::regrole"
    conditions |= {
        "pg_authid": f"t.oid = {role}",
        "pg_auth_members": f"{role} in (t.roleid, t.member)",
        "pg_shdepend": f"{role} = t.refobjid",
    }
    found = {}
    for table, condition in conditions.items():
        row = connection.execute(f"select coalesce(sum(pg_column_size(t.*)), 0) from {table} t where {condition}").fetchone()
        found[table] = int(row[0]) if row else 0
    return {table: size for table, size in found.items() if size}
