"""What two sessions can do to each other: forks under writers, clean-up against forks, the horizon, killed processes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from tests.fixtures.lake import Lake
from tests.fixtures.writer import Writer

from forklake.catalog import Catalog, Store
from forklake.errors import StoreBusy, StoreUnavailable


def _with_table(lake: Lake) -> tuple[Catalog, Writer, int]:
    catalog = lake.catalog()
    writer = Writer(lake.tenant(catalog))
    with writer.commit() as commit:
        table_id = commit.add_table("t")
    return catalog, writer, table_id


def _files(connection: psycopg.Connection[Any]) -> set[str]:
    return {path.rsplit("/", 1)[-1] for (path,) in connection.execute("select path from ducklake.ducklake_data_file").fetchall()}


def test_a_fork_neither_waits_for_a_writer_nor_holds_it_up(lake: Lake) -> None:
    catalog, writer, table_id = _with_table(lake)
    with writer.commit() as first:
        committed = first.add_file(table_id)
    with writer.commit() as commit:
        commit.add_file(table_id)
        writer.connection.execute("insert into ducklake.ducklake_tag values (1, 1, null, 'k', 'v')")
        assert writer.connection.info.transaction_status == TransactionStatus.INTRANS
        # the parent holds its commit lock: the fork is made at once, of what was committed
        lake.store.connection.execute("set lock_timeout = '2s'")
        fork = lake.fork(catalog, "fork")
    assert _files(lake.tenant(fork)) == {committed}
    assert len(_files(writer.connection)) == 2


def test_an_open_fork_does_not_hold_up_the_parents_commits(lake: Lake) -> None:
    catalog, writer, table_id = _with_table(lake)
    agent = lake.tenant(catalog)
    with agent.transaction():
        agent.execute("set transaction isolation level repeatable read")
        agent.execute("select forklake.fork_catalog('sales', 'agent')")
        writer.connection.execute("set lock_timeout = '2s'")
        with writer.commit() as commit:
            commit.add_file(table_id)
    assert lake.store.find("team-a", "agent").fork_snapshot == 1


def test_forks_of_a_parent_under_write_are_always_whole(lake: Lake) -> None:
    """Every commit adds two files: a fork that saw one of them would be torn."""
    catalog, _, table_id = _with_table(lake)
    stop = threading.Event()
    commits = 0

    def write() -> None:
        nonlocal commits
        writer = Writer(lake.tenant(catalog))
        while not stop.is_set():
            with writer.commit() as commit:
                commit.add_file(table_id)
                commit.add_file(table_id)
            commits += 1

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(write)
        forks = [lake.fork(catalog, f"f{n}") for n in range(30)]
        stop.set()
        done.result()
    assert commits > 0
    for fork in forks:
        with lake.tenant(fork) as tenant:
            seen = tenant.execute("select count(*), max(begin_snapshot) from ducklake.ducklake_data_file").fetchone()
            assert seen is not None
            assert seen[0] % 2 == 0
            assert seen[0] == 2 * (max((seen[1] or 1) - 1, 0))
            assert (seen[1] or 1) == fork.fork_snapshot


def test_a_fork_in_an_old_transaction_is_refused_once_the_parent_has_moved(lake: Lake) -> None:
    catalog, writer, table_id = _with_table(lake)
    agent = lake.tenant(catalog)
    with agent.transaction():
        agent.execute("set transaction isolation level repeatable read")
        agent.execute("select * from forklake.catalogs()")
        with writer.commit() as commit:
            commit.add_file(table_id)
        with pytest.raises(psycopg.errors.SerializationFailure, match="written to since"):
            agent.execute("select forklake.fork_catalog('sales', 'agent')")
        agent.execute("rollback")
    agent.execute("select forklake.fork_catalog('sales', 'agent')")
    assert lake.store.find("team-a", "agent").fork_snapshot == 2


def test_a_commit_on_an_old_snapshot_is_told_to_retry(lake: Lake) -> None:
    catalog, writer, table_id = _with_table(lake)
    late = Writer(lake.tenant(catalog))

    def commit_late() -> None:
        with late.commit() as commit:
            commit.add_file(table_id)
            with writer.commit() as faster:
                faster.add_file(table_id)

    with pytest.raises(psycopg.errors.SerializationFailure, match="concurrent"):
        commit_late()
    with late.commit() as commit:
        commit.add_file(table_id)
    assert len(_files(late.connection)) == 2


def test_commits_of_different_catalogs_do_not_wait_for_each_other(lake: Lake) -> None:
    _, writer, table_id = _with_table(lake)
    other = Writer(lake.tenant(lake.catalog("other")))
    other.connection.execute("set lock_timeout = '2s'")
    with writer.connection.transaction():
        writer.connection.execute("insert into ducklake.ducklake_tag values (1, 1, null, 'k', 'v')")
        with other.commit() as commit:
            commit.add_table("t")
    assert other.head().snapshot_id == 1
    assert table_id == 1


def test_raising_the_floor_waits_for_a_fork_under_way(lake: Lake) -> None:
    catalog, writer, table_id = _with_table(lake)
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    with writer.commit() as commit:
        commit.add_file(table_id)
    agent = lake.tenant(catalog)
    with agent.transaction():
        agent.execute("select forklake.fork_catalog('sales', 'agent')")
        lake.store.connection.execute("set lock_timeout = '300ms'")
        with pytest.raises(StoreBusy):
            lake.store.raise_floor(catalog.catalog_id)
    lake.store.connection.execute("reset lock_timeout")
    assert lake.store.raise_floor(catalog.catalog_id) >= lake.store.find("team-a", "agent").fork_upto  # type: ignore[operator]


def test_a_fork_whose_snapshot_is_older_than_the_floor_is_refused(lake: Lake) -> None:
    catalog, _, _ = _with_table(lake)
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    agent = lake.tenant(catalog)
    with agent.transaction():
        agent.execute("set transaction isolation level repeatable read")
        agent.execute("select * from forklake.catalogs()")
        lake.store.raise_floor(catalog.catalog_id)
        with pytest.raises(psycopg.errors.SerializationFailure):
            agent.execute("select forklake.fork_catalog('sales', 'agent')")
        agent.execute("rollback")


def test_the_horizon_stops_before_a_commit_that_is_under_way(lake: Lake) -> None:
    _, writer, table_id = _with_table(lake)
    other = Writer(lake.tenant(lake.catalog("other")))
    with writer.connection.transaction():
        writer.connection.execute("insert into ducklake.ducklake_tag values (1, 1, null, 'k', 'v')")
        drawn = (
            writer.connection.execute("select 1").fetchone()
            and lake.store.connection.execute("select last_value from lake.global_snapshot").fetchone()
        )
        assert drawn is not None
        with other.commit() as commit:
            commit.add_table("t")
        assert lake.store.horizon() < drawn[0]
    assert lake.store.horizon() > drawn[0]
    assert table_id == 1


def test_everything_below_the_horizon_is_there(lake: Lake) -> None:
    """While eight catalogs commit: what a look at horizon h lists up to h, no later look adds to."""
    catalogs = [lake.catalog(f"c{n}") for n in range(8)]
    stop = threading.Event()

    def write(catalog: Catalog) -> None:
        writer = Writer(lake.tenant(catalog))
        with writer.commit() as commit:
            table_id = commit.add_table("t")
        while not stop.is_set():
            with writer.commit() as commit:
                commit.add_file(table_id)

    looks: list[tuple[int, set[int]]] = []
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(write, c) for c in catalogs]
        end = time.monotonic() + 3
        while time.monotonic() < end:
            horizon = lake.store.horizon()
            known = {g for (g,) in lake.store.connection.execute("select g from lake.commit where g <= %s", [horizon]).fetchall()}
            looks.append((horizon, known))
        stop.set()
        for one in done:
            one.result()
    final = {g for (g,) in lake.store.connection.execute("select g from lake.commit").fetchall()}
    assert max(h for h, _ in looks) > looks[0][0]
    for horizon, known in looks:
        assert known == {g for g in final if g <= horizon}


def test_a_writer_that_is_killed_leaves_nothing_half_done(lake: Lake) -> None:
    catalog, writer, table_id = _with_table(lake)
    victim = Writer(lake.tenant(catalog))
    pid = victim.connection.info.backend_pid
    with lake.store.connection.cursor() as cursor:
        before = cursor.execute("select count(*) from lake.ducklake_data_file").fetchone()

    def die() -> None:
        with victim.commit() as commit:
            commit.add_file(table_id)
            victim.connection.execute("insert into ducklake.ducklake_tag values (1, 1, null, 'k', 'v')")
            # a tenant may end its own sessions
            writer.connection.execute("select pg_terminate_backend(%s)", [pid])
            commit.add_file(table_id)

    with pytest.raises(psycopg.OperationalError):
        die()
    assert lake.store.connection.execute("select count(*) from lake.ducklake_data_file").fetchone() == before
    with writer.commit() as commit:
        commit.add_file(table_id)


def test_a_store_that_goes_away_in_mid_call_says_so(lake: Lake) -> None:
    catalog = lake.catalog()
    with Store.connect(lake.dsn) as mine:
        lake.store.connection.execute("select pg_terminate_backend(%s)", [mine.connection.info.backend_pid])
        with pytest.raises(StoreUnavailable, match="does not answer"):
            mine.get(catalog.catalog_id)
