"""DuckDB on a catalog: the one place that writes the ATTACH statement."""

from __future__ import annotations

import re

import duckdb

from forklake.errors import StoreUnavailable

_EXTENSIONS = ("ducklake", "postgres_scanner")


def attach_statement(dsn: str, alias: str) -> str:
    """What any DuckLake client says to attach a catalog, given how to connect to its store."""
    return f"ATTACH {_literal(f'ducklake:postgres:{dsn}')} AS {_name(alias)} (METADATA_SCHEMA 'ducklake', META_SCHEMA 'ducklake')"


def connect(dsn: str, alias: str) -> duckdb.DuckDBPyConnection:
    """A DuckDB with the catalog attached and in use."""
    connection = duckdb.connect()
    try:
        load_extensions(connection)
        _attach(connection, dsn, alias)
    except BaseException:
        connection.close()
        raise
    return connection


def load_extensions(connection: duckdb.DuckDBPyConnection) -> None:
    """Loads DuckLake and its Postgres client, from the wheels if DuckDB has not got them yet."""
    try:
        for name in _EXTENSIONS:
            connection.execute(f"LOAD {name}")
    except duckdb.Error:
        from duckdb_extensions import import_extension

        for name in _EXTENSIONS:
            import_extension(name)
            connection.execute(f"LOAD {name}")


def _attach(connection: duckdb.DuckDBPyConnection, dsn: str, alias: str) -> None:
    try:
        connection.execute(attach_statement(dsn, alias))
    except duckdb.Error as error:
        raise StoreUnavailable(f"cannot attach {alias!r}: {_redacted(str(error))}", hint="check the store with: forklake status") from None
    connection.execute(f"USE {_name(alias)}")


def _redacted(text: str) -> str:
    """What DuckDB says may quote the whole connection string, password and all."""
    return " ".join(re.sub(r"password\s*=\s*('[^']*'|\S+)", "password=…", text).split())


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
