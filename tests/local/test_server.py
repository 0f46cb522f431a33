"""up, down, status; what is killed comes back; nobody gets in without a password."""

from __future__ import annotations

import os
import re
import signal
import stat
import time
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.local.conftest import Cli, resource

from forklake.catalog import Store
from forklake.duck import load_extensions
from forklake.local import Home, LocalPostgres


def test_up_twice_is_once_and_down_keeps_the_data(fresh: Cli) -> None:
    assert fresh("status").code == 1
    assert "started" in fresh.ok("up")
    pid = LocalPostgres(Home.find(fresh.home)).pid()
    assert "running already" in fresh.ok("up")
    assert LocalPostgres(Home.find(fresh.home)).pid() == pid
    fresh.apply(resource("LakeCatalog", "sales"))
    fresh.ok("sql", "sales", "CREATE TABLE t AS SELECT 42 AS answer")
    assert "stopped" in fresh.ok("down")
    assert "not running" in fresh.ok("down")
    assert "run: forklake up" in fresh.fails("get", "all")
    fresh.ok("up")
    assert "42" in fresh.ok("sql", "sales", "SELECT * FROM t")


def test_a_server_that_was_killed_starts_again_with_everything_in_it(fresh: Cli) -> None:
    fresh.ok("up")
    fresh.apply(resource("LakeCatalog", "sales"))
    fresh.ok("sql", "sales", "CREATE TABLE t AS SELECT 42 AS answer")
    pid = LocalPostgres(Home.find(fresh.home)).pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while LocalPostgres(Home.find(fresh.home)).pid() is not None:
        time.sleep(0.05)
    assert "run: forklake up" in fresh.fails("tree")
    assert "started" in fresh.ok("up")
    assert "42" in fresh.ok("sql", "sales", "SELECT * FROM t")
    assert "no problems" in fresh.ok("store", "check")


def test_an_up_that_is_killed_at_any_moment_is_completed_by_the_next(fresh: Cli) -> None:
    for moment in (0.3, 0.6, 0.9, 1.2, 1.5):
        process = fresh.spawn("up")
        time.sleep(moment)
        process.kill()
        process.communicate()
    fresh.ok("up")
    fresh.apply(resource("LakeCatalog", "sales"))
    assert "no problems" in fresh.ok("store", "check")
    fresh.ok("down")


def test_two_at_a_time_start_one_server(fresh: Cli) -> None:
    processes = [fresh.spawn("up"), fresh.spawn("up")]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(output.split(":")[0] for output in outputs) == ["running already", "started"]


def test_a_home_may_have_spaces_and_a_path_too_long_for_a_socket(fresh: Cli) -> None:
    deep = Cli(fresh.home / ("a long name " * 8).strip() / "home")
    try:
        deep.ok("up")
        deep.apply(resource("LakeCatalog", "sales"))
        deep.ok("sql", "sales", "CREATE TABLE t AS SELECT 1 AS i")
        with duckdb.connect() as connection:
            load_extensions(connection)
            connection.execute(deep.ok("attach", "sales"))
            assert connection.execute("FROM sales.t").fetchall() == [(1,)]
    finally:
        deep.ok("down")


def test_a_home_that_cannot_be_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "choose another with --home or FORKLAKE_HOME" in Cli(tmp_path / "file").fails("up")


def test_every_connection_needs_its_own_password(cli: Cli) -> None:
    cli.apply(resource("LakeCatalog", "one"), resource("LakeCatalog", "two"))
    with cli.runtime() as runtime:
        one, two = (runtime.credentials.password(cli.namespace, name) for name in ("one", "two"))
        base = conninfo_to_dict(runtime.dsn(cli.namespace, "one")) | {"passfile": "/dev/null"}
    psycopg.connect(make_conninfo("", **(base | {"password": one.password}))).close()
    wrong: list[dict[str, str]] = [
        {},
        {"password": two.password},
        {"user": two.user, "password": one.password},
        {"user": "forklake"},
        {"user": "forklake", "password": one.password},
        {"user": "postgres", "dbname": "postgres"},
        {"user": "postgres", "dbname": "postgres", "password": one.password},
        {"password": one.password, "dbname": "postgres"},
        {"password": one.password, "dbname": "template1"},
    ]
    for change in wrong:
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(make_conninfo("", **(base | change)))


def test_the_owner_of_the_store_has_no_superpowers(cli: Cli) -> None:
    with cli.runtime() as runtime:
        query = "select rolsuper, rolcreatedb, rolreplication, rolbypassrls, rolcreaterole, rolname from pg_roles where rolname = current_user"
        assert runtime.store.connection.execute(query).fetchone() == (False, False, False, False, True, "forklake")


def test_secrets_are_files_that_only_their_owner_reads(cli: Cli) -> None:
    cli.apply(resource("LakeCatalog", "sales"))
    kept = [*cli.home.glob("secrets/*"), *cli.home.glob("credentials/**/*.pgpass")]
    assert len(kept) >= 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert {stat.S_IMODE((cli.home / folder).stat().st_mode) for folder in ("secrets", "credentials")} == {0o700}


def test_secrets_never_show(cli: Cli, caplog: pytest.LogCaptureFixture) -> None:
    cli.apply(resource("LakeCatalog", "sales"), resource("CatalogFork", "exp", "{parent: {name: sales}}"))
    commands = [
        ["get", "all", "-o", "yaml"], ["get", "all", "-o", "json"], ["get", "all", "-o", "wide"],
        ["describe", "lc", "sales"], ["describe", "cf", "exp"],
        ["tree"], ["log", "sales"], ["status"], ["store", "check"], ["attach", "sales", "--no-password"], ["credentials", "rotate", "sales"],
        ["sql", "sales", "SELECT * FROM duckdb_databases()"], ["sql", "sales", "SELECT nonsense"], ["--debug", "sql", "sales", "FROM nowhere"],
        ["--debug", "fork", "sales", "exp"], ["up"],
    ]  # fmt: skip
    before = _passwords(cli.home)
    results = [cli(*command) for command in commands]
    said = "".join(result.out + result.err for result in results) + caplog.text + (cli.home / "postgres" / "log").read_text()
    said += "".join(path.read_text() for folder in ("resources", "deleted") for path in (cli.home / folder).rglob("*.yaml"))
    leaked = [secret for secret in before | _passwords(cli.home) if secret in said]
    assert leaked == []
    assert any(secret in cli.ok("attach", "sales") for secret in _passwords(cli.home))


def _passwords(home: Path) -> set[str]:
    files = [*home.glob("secrets/*.pgpass"), *home.glob("credentials/**/*.pgpass")]
    return {path.read_text().strip().split(":")[4] for path in files}


def test_the_store_can_be_looked_after_in_any_postgres(cli: Cli, database: str) -> None:
    assert "run: forklake store install" in cli.fails("store", "version", "--dsn", database)
    assert "run: forklake store install" in cli.fails("store", "upgrade", "--dsn", database)
    assert "store version" in cli.ok("store", "install", "--dsn", database)
    assert "store version" in cli.ok("store", "install", "--dsn", database)
    assert "up to date" in cli.ok("store", "upgrade", "--dsn", database)
    assert re.search(r"store \d+, this forklake needs \d+", cli.ok("store", "version", "--dsn", database))
    assert "no problems" in cli.ok("store", "check", "--dsn", database)
    assert "check --dsn" in cli.fails("store", "version", "--dsn", "host=/nowhere")


def test_check_finds_what_should_not_be(cli: Cli, database: str) -> None:
    cli.ok("store", "install", "--dsn", database)
    with Store.connect(database) as store:
        lost = store.create_login(store.create_catalog("team-a", "lost", "/lake/lost/").catalog_id).role
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("delete from lake.login")
        connection.execute("select lake.create_catalog('team-a', 'broken', '/lake/broken/')")
        connection.execute(
            "delete from lake.head; delete from lake.lineage; insert into lake.login (role_name, catalog_id, name) values ('nobody', 99, 'x')"
        )
    result = cli("store", "check", "--dsn", database)
    assert result.code == 1
    for problem in (
        "team-a/broken has no head",
        "team-a/broken has no lineage",
        "nobody is listed as a login",
        "nobody is a login of catalog 99",
        f"{lost} is a login role of ours",
    ):
        assert problem in result.out
