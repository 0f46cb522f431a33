"""up, down, status and the store's verbs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from forklake.catalog import STORE_VERSION, Store, store_version
from forklake.catalog import install as install_store
from forklake.catalog.check import find_inconsistencies
from forklake.cli._output import paint
from forklake.errors import StoreNotInstalled, StoreUnavailable
from forklake.local import Home, LocalPostgres, Runtime


def up(options: Namespace) -> None:
    """Starts the embedded store, and completes what a killed process left."""
    home = Home.find(options.home)
    server = LocalPostgres(home)
    started = server.start()
    with Runtime.open(home) as runtime:
        runtime.expire()
    print(f"{'started' if started else 'running already'}: store in {home.folder} (pid {server.pid()})")


def down(options: Namespace) -> None:
    """Stops the embedded store."""
    home = Home.find(options.home)
    stopped = LocalPostgres(home).stop()
    print(f"{'stopped' if stopped else 'not running'}: store in {home.folder}; the data stays")


def status(options: Namespace) -> int:
    """Says whether the store runs; the exit code does, too."""
    home = Home.find(options.home)
    server = LocalPostgres(home)
    pid = server.pid()
    lines = {"home": str(home.folder), "store": paint("running", "green") if pid else f"{paint('not running', 'red')}; run: forklake up"}
    if pid:
        with Runtime.open(home) as runtime:
            live = runtime.store.list_catalogs()
            endpoint = server.endpoint()
            lines |= {
                "pid": str(pid),
                "socket": str(endpoint.socket if endpoint else "-"),
                "version": str(STORE_VERSION),
                "catalogs": str(sum(c.parent_id is None for c in live)),
                "forks": str(sum(c.parent_id is not None for c in live)),
                "dropped": f"{len(runtime.store.list_catalogs(dropped=True))} (can be undeleted)",
            }
    print("\n".join(f"{name:<10}{value}" for name, value in lines.items()))
    return 0 if pid else 1


def install(options: Namespace) -> None:
    """Makes or upgrades the store in a database."""
    with _connected(options) as connection:
        print(f"store version {install_store(connection)} in database {connection.info.dbname!r}")


def upgrade(options: Namespace) -> None:
    """Brings a store that is there to this version."""
    with _connected(options) as connection:
        before = _version(connection)
        after = install_store(connection)
        print(f"store version {before} -> {after}" if before != after else f"store version {after}: up to date")


def version(options: Namespace) -> None:
    """Says which version a store is of, and which this forklake needs."""
    with _connected(options) as connection:
        print(f"store {_version(connection)}, this forklake needs {STORE_VERSION}")


def check(options: Namespace) -> int:
    """Prints what should not be in a store; the exit code says whether there is any."""
    with Store.connect(_dsn(options)) as store:
        found = find_inconsistencies(store)
    for problem in found:
        print(problem)
    print(paint(f"{len(found)} problems found", "red") if found else paint("no problems found", "green"))
    return 1 if found else 0


def _dsn(options: Namespace) -> str:
    return options.dsn or LocalPostgres(Home.find(options.home)).owner_dsn()


def _version(connection: psycopg.Connection[Any]) -> int:
    found = store_version(connection)
    if found is None:
        raise StoreNotInstalled(f"database {connection.info.dbname!r} holds no forklake store", hint="run: forklake store install")
    return found


@contextmanager
def _connected(options: Namespace) -> Iterator[psycopg.Connection[Any]]:
    dsn = _dsn(options)
    try:
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        # what libpq says has host and user in it, never the password
        why = str(error).strip().splitlines()[-1]
        raise StoreUnavailable(f"the store does not answer: {why}", hint="check --dsn, or run: forklake up") from None
    except psycopg.ProgrammingError:
        raise StoreUnavailable("--dsn is not a connection string", hint="write it like: host=... dbname=... user=...") from None
    with connection:
        yield connection
