"""Runs a folder of DuckLake's own test files against the store and against plain DuckLake in Postgres, and says which are lost.

    python tools/ducklake_suite.py FOLDER [--verbose]

The files are DuckLake's (github.com/duckdb/ducklake, test/sql): bring your own copy. Each runs on the first catalog of a fresh
store, and on a fresh Postgres database without forklake: same client, data inlining off in both.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import re
import shutil
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import duckdb
import psycopg
from duckdb_extensions import import_extension
from psycopg.conninfo import conninfo_to_dict, make_conninfo

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.fixtures.postgres import OWNER, Server, start

from forklake.catalog import Store, install
from tools._sqllogictest import Command, Failed, NotRunnable, matches_error, parse, same_rows, text_of

SECONDS = 180
EXTENSIONS = {"ducklake", "postgres_scanner", "icu", "json", "tpch", "tpcds", "httpfs"}
BUILT_IN = {"parquet", "core_functions", "notsqlite", "notwindows", "notmingw", "skip_reload", "vector_size", "64bit", "block_size", "not_sqlite"}
_ATTACH = re.compile(r"^\s*ATTACH\s+(?P<replace>OR\s+REPLACE\s+)?(?P<if>IF\s+NOT\s+EXISTS\s+)?'ducklake:(?P<path>[^']*)'(?P<rest>.*)$", re.I | re.S)
_OPTION = r"(?:^|,)\s*{}\s*(?:=>?\s*)?('[^']*'|\w+)?\s*(?=,|$)"


class Backend(Protocol):
    """Where the files' ATTACH statements lead."""

    def attach(self, path: str, data_path: str, encrypted: bool) -> tuple[str, str]:
        """A connection string and the options that a catalog of this path is attached with."""


class Stock:
    """Plain DuckLake: each path of a file is a schema of its own in one database; the first is public, where clients look by default."""

    def __init__(self, server: Server) -> None:
        self._dsn = server.dsn(OWNER, server.new_database())
        self._schemas: dict[str, str] = {}

    def attach(self, path: str, data_path: str, encrypted: bool) -> tuple[str, str]:  # noqa: ARG002
        schema = self._schemas.setdefault(path, f"lake_{len(self._schemas)}" if self._schemas else "public")
        return self._dsn, f"METADATA_SCHEMA '{schema}', META_SCHEMA '{schema}', DATA_INLINING_ROW_LIMIT 0"


class Ours:
    """A fresh store: the first path of a file is its first catalog."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._dsn = server.dsn(OWNER, server.new_database())
        self._folder = folder
        self._logins: dict[str, str] = {}
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            install(connection)

    def attach(self, path: str, data_path: str, encrypted: bool) -> tuple[str, str]:
        if path not in self._logins:
            with Store.connect(self._dsn) as store:
                name = f"c{len(self._logins)}"
                catalog = store.create_catalog("suite", name, data_path, {"external_paths": [f"{self._folder}/"]}, encrypted=encrypted)
                login = store.create_login(catalog.catalog_id)
            self._logins[path] = make_conninfo("", **(conninfo_to_dict(self._dsn) | {"user": login.role, "password": login.password}))
        return self._logins[path], "METADATA_SCHEMA 'ducklake', META_SCHEMA 'ducklake'"


@dataclass
class Runner:
    """Runs one file on one backend."""

    backend: Backend
    folder: Path
    name: str
    database: str = ":memory:"
    variables: dict[str, str] = field(default_factory=dict)
    clients: dict[str, duckdb.DuckDBPyConnection] = field(default_factory=dict)
    attached: set[str] = field(default_factory=set)
    skipping: bool = False

    def run(self, commands: list[Command]) -> None:
        """Runs commands, with loops unrolled."""
        for command in commands:
            if command.kind == "mode":
                self.skipping = command.words[0] == "skip"
            elif not self.skipping and self._applies(command):
                getattr(self, f"_{command.kind}")(command)

    def _applies(self, command: Command) -> bool:
        for condition, name in command.conditions:
            left, equals, right = name.partition("=")
            holds = self.variables.get(left) == right if equals else name == "duckdb"
            if holds != (condition == "onlyif"):
                return False
        return True

    def _client(self, name: str) -> duckdb.DuckDBPyConnection:
        if "" not in self.clients:
            self.clients[""] = duckdb.connect(self.database, config={"threads": 2})
            self.clients[""].execute("SET autoinstall_known_extensions = false; LOAD ducklake; LOAD postgres_scanner")
        if name not in self.clients:
            self.clients[name] = self.clients[""].cursor()
        return self.clients[name]

    def _require(self, command: Command) -> None:
        wanted = command.words[0]
        if wanted in EXTENSIONS:
            try:
                self._client("").execute(f"LOAD {wanted}")
            except duckdb.Error:
                raise NotRunnable(f"requires {wanted}") from None
        elif wanted not in BUILT_IN:
            raise NotRunnable(f"requires {wanted}")

    def _env(self, command: Command) -> None:
        self.variables[command.words[0]] = self._fill(" ".join(command.words[1:]))

    def _load(self, command: Command) -> None:
        self.close()
        self.database = self._fill(command.words[0]) if command.words else ":memory:"

    def _restart(self, command: Command) -> None:  # noqa: ARG002
        self.close()

    def _reconnect(self, command: Command) -> None:  # noqa: ARG002
        kept = self._client("")
        self.clients = {"": kept.cursor(), " kept": kept}

    def _ignored(self, command: Command) -> None:
        """Says nothing about what is tested."""

    def _unsupported(self, command: Command) -> None:
        raise NotRunnable(f"uses {command.words[0]}")

    def _loop(self, command: Command) -> None:
        variable, *values = command.words
        for value in values:
            self.variables[variable] = value
            self.run(command.body)
        self.variables.pop(variable, None)

    def _statement(self, command: Command) -> None:
        expected, connection = command.words[0], (command.words[1:] or [""])[0]
        try:
            self._execute(command, connection)
        except duckdb.Error as error:
            if expected == "ok":
                raise Failed(command, f"{error}") from None
            if not matches_error(str(error), [self._fill(line) for line in command.expected]):
                raise Failed(command, f"another error than expected: {error}") from None
        else:
            if expected == "error":
                raise Failed(command, "no error")

    def _query(self, command: Command) -> None:
        sort = next((word for word in command.words[1:] if word in ("rowsort", "valuesort", "nosort")), "nosort")
        connection = next((word for word in command.words[1:] if word.startswith("con")), "")
        try:
            client = self._execute(command, connection)
            kinds = [str(column[1]) for column in client.description or ()]
            result = client.fetchall()
        except duckdb.Error as error:
            raise Failed(command, f"{error}") from None
        rows = [[text_of(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in result]
        if command.compares and not same_rows(rows, [self._fill(line) for line in command.expected], sort, len(command.words[0])):
            raise Failed(command, f"other rows: {rows[:5]} instead of {command.expected[:5]}")

    def _execute(self, command: Command, connection: str) -> duckdb.DuckDBPyConnection:
        sql = self._fill(command.sql)
        attach = _ATTACH.match(sql)
        if attach:
            sql = self._rewrite(attach)
        elif re.search(r"'ducklake:", sql):
            raise NotRunnable("attaches in a way that cannot be led elsewhere")
        return self._client(connection).execute(sql)

    def _rewrite(self, attach: re.Match[str]) -> str:
        path, rest = attach["path"], attach["rest"].strip().rstrip(";").strip()
        if path.split(":")[0] in ("sqlite", "mysql", "quack", "motherduck") or (path and ":" not in path and "/" not in path):
            raise NotRunnable("attaches another kind of metadata, or a secret")
        alias, _, options = rest.partition("(")
        options = options.rsplit(")", 1)[0]
        data_path = re.search(_OPTION.format("DATA_PATH"), options, re.I)
        encrypted = re.search(_OPTION.format("ENCRYPTED"), options, re.I)
        wanted = data_path[1].strip("'") if data_path and data_path[1] else f"{self.folder}/{Path(path.removeprefix('duckdb:')).name}.files"
        schema = re.search(_OPTION.format("METADATA_SCHEMA"), options, re.I)
        dsn, own = self.backend.attach(
            f"{path} {schema[1] if schema else ''}", wanted, bool(encrypted and (encrypted[1] or "true").strip("'").lower() in ("true", "1"))
        )
        for dropped in ("METADATA_SCHEMA", "META_SCHEMA", "META_TYPE", "META_JOURNAL_MODE", "META_BUSY_TIMEOUT", "DATA_INLINING_ROW_LIMIT"):
            options = re.sub(_OPTION.format(dropped), "", options, flags=re.I).strip().lstrip(",")
        if not data_path and path not in self.attached:
            own += f", DATA_PATH '{wanted}'"
        self.attached.add(path)
        quoted = dsn.replace("'", "''")
        joined = f"{own}, {options}" if options.strip() else own
        return f"ATTACH {attach['replace'] or ''}{attach['if'] or ''}'ducklake:postgres:{quoted}' {alias} ({joined})"

    def _fill(self, text: str) -> str:
        built_in = {"TEST_DIR": str(self.folder), "UUID": str(uuid.uuid4()), "BASE_TEST_NAME": self.name, "TEST_NAME": self.name}
        for name, value in (built_in | self.variables).items():
            text = text.replace(f"${{{name}}}", value).replace(f"__{name}__", value)
            text = text.replace(f"{{{name}}}", value) if name.isupper() else text
        return text

    def close(self) -> None:
        for client in self.clients.values():
            with contextlib.suppress(duckdb.Error):
                client.close()
        self.clients = {}


def run_file(file: Path, server: Server, which: str) -> str:
    """What came of a file: '' when it passed, else why not."""
    folder = Path(tempfile.mkdtemp(prefix="suite-"))
    runner = Runner(Stock(server) if which == "stock" else Ours(server, folder), folder, file.stem)
    try:
        runner.run(parse(file.read_text()))
    except NotRunnable as reason:
        return f"not runnable: {reason}"
    except Failed as failure:
        return str(failure)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        runner.close()
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def in_process(file: Path, server: Server, which: str) -> str:
    """run_file in a process of its own: a client that crashes or hangs takes nothing along."""
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=lambda: theirs.send(run_file(file, server, which)))
    process.start()
    answer = "no answer in time" if not ours.poll(SECONDS) else ""
    with contextlib.suppress(EOFError):
        answer = answer or ours.recv()
    process.kill()
    process.join()
    return answer


def outcomes(folder: Path, server: Server) -> Iterator[tuple[str, str, str]]:
    """Each file with what came of it on stock and on ours."""
    for file in sorted(itertools.chain(folder.rglob("*.test"), folder.rglob("*.test_slow"))):
        stock = in_process(file, server, "stock")
        yield str(file.relative_to(folder)), stock, "" if stock.startswith("not runnable") else in_process(file, server, "ours")


def main() -> int:
    """Prints a line for each file that does not pass on both, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbose", action="store_true", help="also what fails on stock, and why")
    arguments = parser.parse_args()
    for extension in EXTENSIONS:
        with contextlib.suppress(Exception):
            import_extension(extension)
    totals: Counter[str] = Counter()
    for server in start(18):
        for name, stock, ours in outcomes(arguments.folder, server):
            kind = _kind(stock, ours)
            totals[kind] += 1
            if kind != "passes on both" and (arguments.verbose or kind in ("lost on ours", "passes on ours only")):
                print(f"{kind}: {name}\n    {' '.join((ours or stock).split())[:700]}", flush=True)
    print({"files": totals.total()} | dict(totals))
    return 1 if totals["lost on ours"] else 0


def _kind(stock: str, ours: str) -> str:
    if stock.startswith("not runnable"):
        return "not runnable"
    names: dict[tuple[bool, bool], Any] = {(True, True): "passes on both", (True, False): "lost on ours", (False, True): "passes on ours only"}
    return str(names.get((not stock, not ours), "fails on stock"))


if __name__ == "__main__":
    sys.exit(main())
