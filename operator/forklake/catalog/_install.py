"""Installing and upgrading a store: versioned tables once each, functions and views every time, all in one transaction."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg import sql

from forklake.errors import StoreNotInstalled, StoreTooNew, StoreTooOld

_SQL = files("forklake.catalog") / "sql"

# Held while a store is made for the first time, when there is no row to lock yet.
_INSTALL_LOCK = 0x666F726B6C616B65


def _scripts(folder: str) -> list[Traversable]:
    return sorted((_SQL / folder).iterdir(), key=lambda script: script.name)


STORE_VERSION = len(_scripts("tables"))
"""The version of the tables that this code works with."""


def store_version(connection: psycopg.Connection[Any]) -> int | None:
    """The version of the store in this database, or None."""
    if connection.execute("select to_regclass('lake.store')").fetchone() == (None,):
        return None
    row = connection.execute("select version from lake.store").fetchone()
    return int(row[0]) if row else None


def check_version(connection: psycopg.Connection[Any]) -> None:
    """Raises unless the store is there and of the version that this code works with."""
    found = store_version(connection)
    if found is None:
        raise StoreNotInstalled(f"database {connection.info.dbname!r} holds no forklake store", hint="run: forklake store install")
    _refuse_newer(found)
    if found < STORE_VERSION:
        raise StoreTooOld(f"the store is of version {found}, this forklake needs {STORE_VERSION}", hint="run: forklake store upgrade")


def _refuse_newer(found: int) -> None:
    if found > STORE_VERSION:
        raise StoreTooNew(f"the store is of version {found}, newer than the {STORE_VERSION} that this forklake knows", hint="upgrade forklake")


def install(connection: psycopg.Connection[Any]) -> int:
    """Makes or upgrades the store in this database and returns its version. Twice is once, and two at a time are one."""
    with connection.transaction():
        _lock(connection)
        connection.execute("set local search_path = pg_catalog; set local client_min_messages = warning; set local check_function_bodies = off")
        _run(connection, _SQL / "bootstrap.sql")
        found = store_version(connection) or 0
        _refuse_newer(found)
        for number, script in enumerate(_scripts("tables"), start=1):
            if number > found:
                _run(connection, script)
        connection.execute(
            "insert into lake.store (version) values (%s) on conflict (only_row) do update set version = excluded.version, upgraded = now()",
            [STORE_VERSION],
        )
        for script in _scripts("code"):
            _run(connection, script)
    return STORE_VERSION


def _lock(connection: psycopg.Connection[Any]) -> None:
    # An advisory lock is anybody's to take; once tenants exist there is a row to lock instead.
    if store_version(connection) is None:
        connection.execute("select pg_advisory_xact_lock(%s)", [_INSTALL_LOCK])
    else:
        connection.execute("select from lake.store for update")


def _run(connection: psycopg.Connection[Any], script: Traversable) -> None:
    connection.execute(sql.SQL(script.read_text()))
