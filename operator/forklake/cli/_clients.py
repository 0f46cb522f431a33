"""sql, attach, credentials."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from forklake import duck
from forklake.cli._context import duration, located, opened
from forklake.local import Home

if TYPE_CHECKING:
    import duckdb

_MOST_ROWS = 10_000


def sql(options: Namespace) -> int:
    """Runs one statement, those of a pipe, or a prompt."""
    namespace, name = located(options.name, options)
    with opened(options) as runtime:
        dsn = runtime.dsn(namespace, name)
    with duck.connect(dsn, name) as connection:
        if options.statement is not None:
            _run(connection, options.statement)
        elif not sys.stdin.isatty():
            _run(connection, sys.stdin.read())
        else:
            _prompt(connection, name, Home.find(options.home).folder / ".sql_history")
    return 0


def _run(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for statement in connection.extract_statements(text):
        result = connection.sql(statement.query)
        if result is not None:
            result.show(max_rows=_MOST_ROWS)


def _prompt(connection: duckdb.DuckDBPyConnection, name: str, history: Path) -> None:
    import readline

    import duckdb as duckdb_module

    if history.exists():
        readline.read_history_file(history)
    print(f"DuckDB {duckdb_module.__version__} on {name}. End statements with ; and leave with .quit")
    try:
        while (text := _statement(name)) is not None:
            try:
                _run(connection, text)
            except duckdb_module.Error as error:
                print(error, file=sys.stderr)
    finally:
        history.touch(mode=0o600)
        readline.write_history_file(history)


def _statement(name: str) -> str | None:
    """What was typed up to a semicolon; None at the end."""
    lines: list[str] = []
    while not lines or not lines[-1].rstrip().endswith(";"):
        try:
            line = input(f"{name}> " if not lines else " " * len(name) + "- ")
        except EOFError:
            print()
            return None
        except KeyboardInterrupt:
            print()
            lines.clear()
            continue
        if not lines and line.strip() in (".quit", ".exit"):
            return None
        if line.strip() or lines:
            lines.append(line)
    return "\n".join(lines)


def attach(options: Namespace) -> None:
    """Prints the ATTACH statement, for clients elsewhere."""
    namespace, name = located(options.name, options)
    with opened(options) as runtime:
        runtime.store.find(namespace, name)
        kept = runtime.credentials.password(namespace, name)
        dsn = runtime.server.open_dsn(kept.user, "PASSWORD" if options.no_password else kept.password)
    print(duck.attach_statement(dsn, name) + ";")


def rotate(options: Namespace) -> None:
    """Gives a catalog a new password."""
    namespace, name = located(options.name, options)
    grace = duration(options.grace, "--grace")
    with opened(options) as runtime:
        runtime.rotate(namespace, name, grace)
    print(f"credentials of {namespace}/{name} rotated; the old ones work for another {options.grace}")
