"""The embedded forklake as its users run it: one home for the run, a namespace for each test, and homes of their own for the rough ones."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forklake.cli import main
from forklake.local import Home, LocalPostgres, Runtime

_numbers = itertools.count()


@dataclass(frozen=True)
class Result:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Cli:
    """forklake in a home and a namespace."""

    home: Path
    namespace: str = "default"

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        """Runs a command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _standard_input(stdin):
            try:
                code = main([*arguments, *self._options()])
            except SystemExit as ended:
                code = int(ended.code or 0)
        return Result(code, out.getvalue(), err.getvalue())

    def ok(self, *arguments: str, stdin: str = "") -> str:
        """Runs a command that must work and returns what it printed."""
        result = self(*arguments, stdin=stdin)
        assert result.code == 0, result
        return result.out

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """Runs a command that must fail with one line on the standard error, and returns that line."""
        result = self(*arguments, stdin=stdin)
        assert result.code == 1, result
        assert len(result.err.splitlines()) == 1, result
        assert result.err.startswith("forklake: "), result
        return result.err

    def spawn(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts a command in a process of its own."""
        command = [sys.executable, "-m", "forklake.cli", *arguments, *self._options()]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=dict(os.environ))

    def _options(self) -> list[str]:
        return ["--home", str(self.home), "-n", self.namespace]

    def apply(self, *documents: str) -> str:
        """Applies documents."""
        return self.ok("apply", "-f", "-", stdin="---\n".join(documents))

    @contextlib.contextmanager
    def runtime(self) -> Iterator[Runtime]:
        """What is underneath."""
        with Runtime.open(Home.find(self.home)) as opened:
            yield opened


@contextlib.contextmanager
def _standard_input(text: str) -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.StringIO(text)
    try:
        yield
    finally:
        sys.stdin = before


def resource(kind: str, name: str, spec: str = "{}", labels: str = "{}") -> str:
    """A YAML document."""
    return f"apiVersion: forklake.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, labels: {labels}}}\nspec: {spec}\n"


@contextlib.contextmanager
def a_home() -> Iterator[Path]:
    """A folder for a home: short, because sockets' names are, and gone afterwards with its server."""
    folder = Path(tempfile.mkdtemp(prefix="forklake-home-"))
    try:
        yield folder
    finally:
        LocalPostgres(Home.find(folder)).stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_home() -> Iterator[Path]:
    with a_home() as folder:
        LocalPostgres(Home.find(folder)).start()
        yield folder


@pytest.fixture
def cli(shared_home: Path) -> Cli:
    """forklake in a namespace of the test's own."""
    return Cli(shared_home, f"team-{next(_numbers)}")


@pytest.fixture
def fresh() -> Iterator[Cli]:
    """forklake in a home of the test's own, with nothing in it and not running."""
    with a_home() as folder:
        yield Cli(folder)
