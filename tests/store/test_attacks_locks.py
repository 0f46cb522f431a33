"""Attempts of a tenant to stand in the way of a neighbour, of its parent or of forklake."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from tests.fixtures.attack import DENIED, OWN, READABLE, Arena, commit, tried

from forklake.catalog import ForkRequest, Store, install
from forklake.errors import ForklakeError

# Long enough for a busy machine; whoever waits for a lock that is never given waits longer than this.
PATIENCE = "20s"

MODES = ["share", "share update exclusive", "share row exclusive", "exclusive", "access exclusive"]


def life_goes_on(arena: Arena, word: str) -> None:
    """Neighbours, the parent of the attacker's fork and forklake itself do what they do."""
    for catalog in (arena.neighbour, arena.shared, arena.sibling):
        with arena.lake.tenant(catalog, options=f"-c statement_timeout={PATIENCE}") as connection:
            commit(connection, catalog, word, offset=50)
            assert (word,) in connection.execute("select table_name from ducklake.ducklake_table").fetchall()
    with psycopg.connect(arena.lake.dsn, autocommit=True, options=f"-c statement_timeout={PATIENCE}") as connection:
        store = Store(connection)
        made = store.create_catalog("team-c", word, f"{arena.lake.folder}/team-c/{word}/")
        store.create_login(made.catalog_id)
        for parent in (arena.neighbour, arena.shared, arena.attacker):
            name = f"{word}-of-{parent.name}"
            request = ForkRequest(parent_id=parent.catalog_id, tenant="team-c", name=name, data_path=f"{arena.lake.folder}/team-c/forks/{name}/")
            store.fork_with_login(request)
        store.raise_floor(arena.neighbour.catalog_id)
        store.claim_files(arena.neighbour.catalog_id)
        store.drop(made.catalog_id)


@contextmanager
def left_open(arena: Arena, *statements: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A transaction of the attacker's that does something and then does not end."""
    with arena.lake.tenant(arena.attacker) as connection:
        connection.execute("begin")
        for statement in statements:
            connection.execute(statement.format(**arena.words()))
        yield connection
        connection.execute("rollback")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("relation", ["ducklake_snapshot", "ducklake_data_file", "ducklake_metadata", "ducklake_files_scheduled_for_deletion"])
def test_a_view_cannot_be_locked_against_others(arena: Arena, relation: str, mode: str) -> None:
    """Postgres lets whoever may delete from a view lock it, and locks what is below it with the rights of the view's owner."""
    if relation == "ducklake_files_scheduled_for_deletion":
        # nothing below it, and nobody reads it
        with left_open(arena, f"lock table ducklake.{relation} in {mode} mode"):
            assert arena.answers("select table_name from ducklake.ducklake_table", by=arena.sibling) == [("siblings-word",)]
        return
    arena.refused(f"begin; lock table ducklake.{relation} in {mode} mode", DENIED)


def test_no_lock_on_any_view_reaches_a_table_below(arena: Arena) -> None:
    for relation in READABLE:
        with arena.lake.tenant(arena.attacker) as connection:
            connection.execute("begin")
            error = tried(connection, f"lock table ducklake.ducklake_{relation} in access exclusive mode")
            assert error is None or error.sqlstate == DENIED
            below = """select c.relname, k.mode from pg_locks k join pg_class c on c.oid = k.relation
                where c.relnamespace = 'lake'::regnamespace and k.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')"""
            assert arena.root.execute(below).fetchall() == []


@pytest.mark.parametrize("table", ["catalog", "head", "login", "lineage", "tombstone", "ducklake_snapshot", "store"])
@pytest.mark.parametrize("mode", ["access share", "row exclusive", "access exclusive"])
def test_a_table_below_cannot_be_locked(arena: Arena, table: str, mode: str) -> None:
    arena.refused(f"begin; lock table lake.{table} in {mode} mode", DENIED)


def test_every_advisory_lock_one_can_think_of_stops_nobody(own_arena: Arena) -> None:
    keys = """
        select pg_advisory_lock(k) from generate_series(-10, 200) k;
        select pg_advisory_lock(7381240360074210149), pg_advisory_lock(x'666F726B6C616B65'::bigint);
        select pg_advisory_lock(k, j) from generate_series(0, 20) k, generate_series(0, 20) j;
        select pg_advisory_lock(hashtext(w)), pg_advisory_lock(hashtextextended(w, 0))
            from unnest('{{sales,shared,mine,team-a,team-a/sales,lake,forklake,ducklake,commit,install,global_snapshot}}'::text[]) w;
        select pg_advisory_lock(oid::bigint) from pg_class where relnamespace::regnamespace::text in ('lake', 'ducklake');
        select pg_advisory_lock(oid::bigint) from pg_roles;
        select pg_advisory_lock(k::bigint << 36) from generate_series(0, 20) k
    """
    with left_open(own_arena, *keys.split(";")):
        held = own_arena.root.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone()
        assert held is not None
        assert held[0] > 600
        life_goes_on(own_arena, "unlocked")
        with psycopg.connect(own_arena.lake.dsn, autocommit=True, options=f"-c statement_timeout={PATIENCE}") as connection:
            install(connection)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_an_open_transaction_that_wrote_stops_nobody_else(own_arena: Arena, isolation: str) -> None:
    statements = [f"set transaction isolation level {isolation}"]
    statements += [f"select count(*) from ducklake.ducklake_{relation}" for relation in READABLE]
    statements += [
        "insert into ducklake.ducklake_snapshot values (2, now(), 2, {first} + 200, {first} + 200)",
        "update ducklake.ducklake_table set table_name = 'open'",
        "delete from ducklake.ducklake_tag",
        "insert into ducklake.ducklake_metadata values ('open', 'open')",
    ]
    with left_open(own_arena, *statements):
        life_goes_on(own_arena, "open")


def test_an_open_fork_of_anothers_catalog_stops_nobody_else(own_arena: Arena) -> None:
    with left_open(own_arena, "select forklake.fork_catalog('team-a/shared', 'open')", "select forklake.fork_catalog('mine', 'open-too')"):
        life_goes_on(own_arena, "forked")


def test_an_open_cursor_stops_nobody_else(own_arena: Arena) -> None:
    statements = [f"declare c_{relation} cursor for select * from ducklake.ducklake_{relation}" for relation in READABLE]
    with left_open(own_arena, *statements, *(f"fetch 1 from c_{relation}" for relation in READABLE)):
        life_goes_on(own_arena, "read")


@pytest.mark.parametrize("strength", ["update", "no key update", "share", "key share"])
def test_rows_locked_through_a_view_are_nobody_elses(own_arena: Arena, strength: str) -> None:
    with own_arena.lake.tenant(own_arena.attacker) as connection:
        connection.execute("begin")
        for relation in READABLE:
            connection.execute("savepoint before")
            error = tried(connection, f"select * from ducklake.ducklake_{relation} for {strength}")
            assert error is None or error.sqlstate in (DENIED, "0A000")
            if error:
                connection.execute("rollback to before")
        life_goes_on(own_arena, "rows")


HOLDING = {
    "a fork": "select forklake.fork_catalog('team-a/shared', 'open')",
    "a write": "insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'open')",
}
WAITING: dict[str, tuple[str, Callable[[Store, Arena], object]]] = {
    "raising the parent's floor": ("a fork", lambda store, arena: store.raise_floor(arena.shared.catalog_id)),
    "configuring the parent": ("a fork", lambda store, arena: store.configure(arena.shared.catalog_id, {"max_forks": 5})),
    "dropping the parent": ("a fork", lambda store, arena: store.drop(arena.shared.catalog_id)),
    "claiming files": ("a write", lambda store, arena: store.claim_files(arena.attacker.catalog_id)),
    "dropping the catalog": ("a write", lambda store, arena: store.drop(arena.attacker.catalog_id)),
}


@pytest.mark.parametrize("work", WAITING)
def test_forklake_does_not_wait_for_a_tenant_for_ever(own_arena: Arena, work: str) -> None:
    """It may give up, and try again later; it may not stand still for all the others."""
    held_by, doing = WAITING[work]
    ended: list[object] = []

    def run() -> None:
        with Store.connect(own_arena.lake.dsn) as store:
            try:
                ended.append(doing(store, own_arena))
            except (ForklakeError, psycopg.Error) as error:
                ended.append(error)

    worker = threading.Thread(target=run)
    with left_open(own_arena, HOLDING[held_by]):
        worker.start()
        worker.join(20)
        waited = not ended
    worker.join()
    assert not waited
    assert not isinstance(ended[0], psycopg.Error), "an error of Postgres that forklake does not know"


def test_a_serializable_attacker_makes_no_commit_of_a_neighbour_fail(own_arena: Arena) -> None:
    reading = left_open(own_arena, "set transaction isolation level serializable", "select count(*) from ducklake.ducklake_tag")
    with reading, own_arena.lake.tenant(own_arena.neighbour) as neighbour:
        neighbour.execute("begin isolation level repeatable read")
        neighbour.execute("insert into ducklake.ducklake_tag values (1, 0, null, 'k', 'v')")
        neighbour.execute("commit")
    assert own_arena.answers("select table_name from ducklake.ducklake_table") == [(OWN,)]
