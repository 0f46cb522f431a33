"""fork, tree, log, sql, attach, credentials, and the same from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import duckdb
import pytest
from tests.local.conftest import Cli, resource

import forklake
from forklake.duck import load_extensions
from forklake.errors import CatalogNotFound, SnapshotInFuture


@pytest.fixture
def sales(cli: Cli) -> Cli:
    """A catalog with a table, filled in two snapshots."""
    cli.apply(resource("LakeCatalog", "sales", "{deletionPolicy: Delete}"))
    cli.ok("sql", "sales", "CREATE TABLE t AS SELECT range AS i FROM range(100)")
    cli.ok("sql", "sales", "INSERT INTO t VALUES (1000)")
    return cli


def count(cli: Cli, name: str) -> int:
    lines = cli.ok("sql", name, "SELECT count(*) AS n FROM t").splitlines()
    return int(lines[4].strip("│ "))


def test_a_fork_is_of_now_of_a_snapshot_or_of_a_time(sales: Cli) -> None:
    moment = datetime.now(UTC).isoformat()
    sales.ok("sql", "sales", "DELETE FROM t")
    sales.ok("fork", "sales", "now")
    sales.ok("fork", "sales", "first", "--at", "1")
    sales.ok("fork", "sales", "then", "--at", moment)
    sales.ok("fork", "then", "copy", "--copy", "--ttl", "4h")
    assert [count(sales, name) for name in ("now", "first", "then", "copy")] == [0, 100, 101, 101]
    assert "Copy" in sales.ok("tree")


def test_a_fork_that_cannot_be_leaves_nothing(sales: Cli) -> None:
    assert "has no snapshot 99 yet" in sales.fails("fork", "sales", "x", "--at", "99")
    assert "--at" in sales.fails("fork", "sales", "x", "--at", "yesterday")
    assert "does not exist" in sales.fails("fork", "nothing", "x")
    assert "--ttl" in sales.fails("fork", "sales", "x", "--ttl", "soon")
    assert "metadata.name cannot be 'X Y'; use lower case letters" in sales.fails("fork", "sales", "X Y")
    assert "no resources found" in sales.ok("get", "cf")
    assert "x" not in [line.strip("├└─ ").split()[0] for line in sales.ok("tree").splitlines()]


def test_forking_into_a_taken_name_is_refused_and_leaves_the_other(sales: Cli) -> None:
    sales.ok("fork", "sales", "exp", "--at", "1")
    assert sales.fails("fork", "sales", "exp", "--at", "2")
    assert sales.fails("fork", "exp", "sales")
    assert count(sales, "exp") == 100
    assert count(sales, "sales") == 101


def test_the_tree_is_plain_in_a_pipe(sales: Cli) -> None:
    for parent, name in (("sales", "a"), ("a", "deep"), ("sales", "b")):
        sales.ok("fork", parent, name)
    tree = sales.ok("tree")
    beginnings = ["CATALOG", "sales ", "├─ a ", "│  └─ deep ", "└─ b "]
    assert all(line.startswith(beginning) for line, beginning in zip(tree.splitlines(), beginnings, strict=True))
    assert "\x1b" not in tree


def test_the_tree_is_coloured_on_a_terminal_unless_told_otherwise(sales: Cli) -> None:
    script = "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'forklake.cli', *sys.argv[1:]]) >> 8)"
    command = [sys.executable, "-c", script, "tree", "--home", str(sales.home), "-n", sales.namespace]
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    coloured, plain = (
        subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, env=environment | more).stdout
        for more in ({}, {"NO_COLOR": "1"})
    )
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain
    assert "sales" in plain


def test_detaching_makes_a_copy(sales: Cli) -> None:
    sales.ok("fork", "sales", "exp")
    assert "detached" in sales.ok("detach", "exp")
    assert "already" in sales.ok("detach", "exp")
    assert "is not a fork" in sales.fails("detach", "sales")
    sales.ok("delete", "lc", "sales")
    assert count(sales, "exp") == 101
    assert json.loads(sales.ok("get", "cf", "exp", "-o", "json"))["status"]["conditions"][0]["status"] == "True"


def test_the_log_tells_who_did_what(sales: Cli) -> None:
    lines = sales.ok("log", "sales").splitlines()
    assert "inserted_into_table" in lines[1]
    assert "created_table" in lines[2]
    assert len(sales.ok("log", "sales", "--most", "1").splitlines()) == 2


def test_sql_comes_from_an_argument_or_a_pipe(sales: Cli) -> None:
    assert "101" in sales.ok("sql", "sales", "SELECT count(*) FROM t")
    assert "7" in sales.ok("sql", "sales", stdin="INSERT INTO t VALUES (5); SELECT 7 AS n;")
    assert count(sales, "sales") == 102
    assert "DuckDB said: " in sales.fails("sql", "sales", "SELEC 1")
    assert "Table with name nowhere does not exist" in sales.fails("sql", "sales", "FROM nowhere")


def test_any_client_attaches_with_the_printed_statement(sales: Cli) -> None:
    with duckdb.connect() as connection:
        load_extensions(connection)
        connection.execute(sales.ok("attach", "sales"))
        assert connection.execute("SELECT count(*) FROM sales.t").fetchall() == [(101,)]
    assert "password=PASSWORD" in sales.ok("attach", "sales", "--no-password")


def test_rotating_credentials_breaks_nothing_that_is_open(sales: Cli) -> None:
    before = sales.ok("attach", "sales")
    with duckdb.connect() as connection:
        load_extensions(connection)
        connection.execute(before)
        sales.ok("credentials", "rotate", "sales")
        assert sales.ok("attach", "sales") != before
        assert connection.execute("SELECT count(*) FROM sales.t").fetchall() == [(101,)]
    assert count(sales, "sales") == 101


def test_without_a_grace_the_old_credentials_are_gone_at_once(sales: Cli) -> None:
    before = sales.ok("attach", "sales")
    sales.ok("credentials", "rotate", "sales", "--grace", "0s")
    assert count(sales, "sales") == 101
    with duckdb.connect() as connection:
        load_extensions(connection)
        with pytest.raises(duckdb.Error, match="authentication failed"):
            connection.execute(before)


def test_lost_credentials_are_made_anew_by_applying(sales: Cli) -> None:
    (sales.home / "credentials" / sales.namespace / "sales.pgpass").unlink()
    assert "run: forklake credentials rotate sales" in sales.fails("sql", "sales", "SELECT 1")
    assert "configured" in sales.apply(resource("LakeCatalog", "sales", "{deletionPolicy: Delete}"))
    assert count(sales, "sales") == 101


def test_usage_errors_are_not_mistaken_for_changes(cli: Cli) -> None:
    for wrong in (["nonsense"], ["apply"], ["get"], ["fork", "a"], ["get", "lc", "-o", "xml"]):
        result = cli(*wrong)
        assert result.code == 64
        assert result.err.startswith("forklake: ")
    assert "there is no kind 'foo'" in cli.fails("get", "foo")


def test_debug_shows_the_trace(cli: Cli) -> None:
    result = cli("--debug", "sql", "nothing", "SELECT 1")
    assert result.code == 1
    assert "Traceback" in result.err
    assert "Traceback" not in cli("sql", "nothing", "SELECT 1").err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_completion(cli: Cli, shell: str) -> None:
    assert "forklake" in cli.ok("completion", shell)


def test_python_forks_for_as_long_as_a_with_block(sales: Cli) -> None:
    with forklake.fork("sales", home=sales.home, namespace=sales.namespace) as lake:
        lake.sql("INSERT INTO t VALUES (7)")
        assert lake.sql("SELECT count(*) FROM t").fetchall() == [(102,)]
        assert "sales-" in sales.ok("tree")
    assert "sales-" not in sales.ok("tree")
    assert "no resources found" in sales.ok("get", "cf")
    assert count(sales, "sales") == 101


def test_python_drops_the_fork_on_errors_too(sales: Cli) -> None:
    def fail() -> None:
        with forklake.fork("sales", name="oops", at=1, home=sales.home, namespace=sales.namespace) as lake:
            assert lake.sql("SELECT count(*) FROM t").fetchall() == [(100,)]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert "oops" not in sales.ok("tree")


def test_python_says_what_is_wrong(sales: Cli) -> None:
    with pytest.raises(CatalogNotFound):
        forklake.fork("nothing", home=sales.home, namespace=sales.namespace).__enter__()
    with pytest.raises(SnapshotInFuture):
        forklake.fork("sales", at=99, home=sales.home, namespace=sales.namespace).__enter__()
    with forklake.connect("sales", home=sales.home, namespace=sales.namespace) as lake:
        assert lake.sql("SELECT count(*) FROM t").fetchall() == [(101,)]
