"""Installing a store: once, twice, at the same time, on every Postgres we support, and never over a newer one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from tests.fixtures.lake import Lake
from tests.fixtures.postgres import OWNER, Server, start

from forklake.catalog import STORE_VERSION, Store, install
from forklake.errors import StoreNotInstalled, StoreTooNew, StoreTooOld, StoreUnavailable


def _objects(dsn: str) -> list[tuple[str, str, str]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            """select n.nspname, c.relname, c.relkind::text from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
               where n.nspname in ('lake', 'ducklake', 'ducklake_client', 'forklake')
               union all
               select n.nspname, p.oid::regprocedure::text, md5(p.prosrc)
               from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
               where n.nspname in ('lake', 'forklake') order by 1, 2"""
        ).fetchall()


def _install(dsn: str) -> int:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return install(connection)


def test_installing_twice_is_once(database: str) -> None:
    assert _install(database) == STORE_VERSION
    first = _objects(database)
    assert _install(database) == STORE_VERSION
    assert _objects(database) == first


def test_installing_again_keeps_every_catalog(lake: Lake) -> None:
    catalog = lake.catalog()
    lake.duck(c=catalog).execute("CREATE TABLE c.t AS SELECT 42 AS i")
    _install(lake.dsn)
    assert lake.duck(c=catalog).execute("SELECT i FROM c.t").fetchall() == [(42,)]


def test_four_installers_at_the_same_time_are_one(database: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_install, [database] * 4)) == [STORE_VERSION] * 4
    with psycopg.connect(database) as connection:
        assert connection.execute("select count(*) from lake.store").fetchone() == (1,)


def test_an_install_that_fails_halfway_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr("forklake.catalog._install._scripts", lambda folder: fail() if folder == "code" else [])
    with pytest.raises(RuntimeError, match="killed"):
        _install(database)
    assert _objects(database) == []


def test_a_newer_store_is_refused_and_left_alone(store: Store, database: str) -> None:
    store.connection.execute("update lake.store set version = version + 1")
    before = _objects(database)
    with pytest.raises(StoreTooNew, match="upgrade forklake"):
        _install(database)
    with pytest.raises(StoreTooNew):
        Store.connect(database)
    assert _objects(database) == before


def test_an_older_store_says_how_to_upgrade(store: Store, database: str) -> None:
    store.connection.execute("update lake.store set version = 0")
    with pytest.raises(StoreTooOld, match="forklake store upgrade"):
        Store.connect(database)


def test_a_database_without_a_store_says_how_to_install(database: str) -> None:
    with pytest.raises(StoreNotInstalled, match="forklake store install"):
        Store.connect(database)


def test_a_store_that_is_down_says_so_without_a_secret(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not answer") as caught:
        Store.connect(f"host={tmp_path} user=x password=hunter2 dbname=x")
    assert "hunter2" not in f"{caught.value} {caught.value.detail}"


def test_the_owner_is_no_superuser(store: Store) -> None:
    row = store.connection.execute("select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles where rolname = current_user").fetchone()
    assert row == (False, True, False, False)


def test_every_public_function_and_table_is_commented(store: Store) -> None:
    undocumented = store.connection.execute(
        """select p.oid::regprocedure::text from pg_catalog.pg_proc p
           where p.pronamespace in ('lake'::regnamespace, 'forklake'::regnamespace) and p.proname !~ '^_'
               and p.proname !~ '^path_span' and obj_description(p.oid, 'pg_proc') is null
           union all
           select c.oid::regclass::text from pg_catalog.pg_class c
           where c.relnamespace = 'lake'::regnamespace and c.relkind in ('r', 'v') and c.relname !~ '^(_|ducklake_)'
               and obj_description(c.oid, 'pg_class') is null"""
    ).fetchall()
    assert undocumented == []


@pytest.mark.parametrize("version", [15, 16])
def test_older_postgres_does_all_of_it(version: int, tmp_path: Path, duckdb_extensions: None) -> None:
    """15 comes from Debian (make setup says so when it is missing), 16 and 18 from the wheel; the other tests run on 18."""
    for server in start(version):
        dsn = server.dsn(OWNER, server.new_database())
        _install(dsn)
        with Store.connect(dsn) as store:
            _work_on(server, Lake(dsn, store, tmp_path))


def _work_on(server: Server, lake: Lake) -> None:
    assert lake.store.connection.info.server_version // 10000 == server.version
    parent = lake.catalog()
    duck = lake.duck(p=parent)
    duck.execute("CREATE TABLE p.t AS SELECT range AS i FROM range(10)")
    duck.execute("CALL p.set_option('target_file_size', '10MB')")
    duck.execute("CALL p.set_option('target_file_size', '20MB')")
    fork = lake.fork(parent, "fork")
    duck = lake.duck(f=fork, p=parent)
    duck.execute("DELETE FROM f.t WHERE i < 5")
    duck.execute("CALL ducklake_expire_snapshots('f', older_than => now())")
    assert duck.execute("SELECT count(*) FROM f.t").fetchall() == [(5,)]
    assert duck.execute("SELECT count(*) FROM p.t").fetchall() == [(10,)]
    lake.store.configure(fork.catalog_id, {"history_retention": "0"})
    lake.store.drop(fork.catalog_id)
    lake.store.condemn(fork.catalog_id)
    assert [Path(c.full_path).parent.parent.parent.name for c in lake.store.claim_files(fork.catalog_id)] == ["fork"]
    # the owner can take roles away again on every version
    role = lake.logins[fork.catalog_id].role
    assert lake.store.connection.execute("select from pg_roles where rolname = %s", [role]).fetchall() == []


def test_the_tests_run_on_the_postgres_they_say(server: Server, store: Store) -> None:
    assert store.connection.info.server_version // 10000 == int(os.environ.get("FORKLAKE_TEST_POSTGRES", "18")) == server.version
