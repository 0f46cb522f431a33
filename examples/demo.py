"""What forklake does, in a minute, on this machine and in a folder that is gone afterwards: make demo."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from forklake import duck
from forklake.api import CatalogFork, read_documents
from forklake.catalog import ForkRequest, new_login
from forklake.cli._forks import draw_tree
from forklake.cli._output import paint
from forklake.local import Home, LocalPostgres, Runtime
from forklake.local.cleanup import clean_up as remove_files
from forklake.local.sessions import fork_resource, make_fork

HERE = Path(__file__).resolve().parent
ROWS = 200_000
WIDTH = 74


def chapter(title: str) -> None:
    """A heading."""
    print(f"\n{paint(title, 'bold')}")


@contextmanager
def step(text: str) -> Iterator[None]:
    """Something that is done, with the time it took."""
    began = time.perf_counter()
    yield
    took = (time.perf_counter() - began) * 1000
    shown = f"{took:,.0f} ms" if took >= 10 else f"{took:.1f} ms"
    print(f"  {paint('✓', 'green')} {text} {paint('·' * max(2, WIDTH - len(text)), 'dim')} {shown:>10}")


def check(what: str, found: object, expected: object) -> None:
    """Something that must be so; if it is not, the demo has failed."""
    if found != expected:
        raise SystemExit(f"  {paint('✗', 'red')} {what}: {found!r} instead of {expected!r}")
    print(f"    {paint('=', 'cyan')} {what}: {found}")


@dataclass
class Demo:
    """The embedded forklake of the demo, with a DuckDB on each catalog."""

    runtime: Runtime

    def duck(self, name: str) -> duckdb.DuckDBPyConnection:
        return duck.connect(self.runtime.dsn("default", name), name)

    def fork(self, parent: str, name: str, at: int | None = None) -> CatalogFork:
        return make_fork(self.runtime, fork_resource(self.runtime, parent, name, "default", at=at))

    def rows(self, name: str, condition: str = "true") -> int:
        with self.duck(name) as connection:
            found = connection.execute(f"SELECT count(*) FROM orders WHERE {condition}").fetchone()
        assert found is not None
        return int(found[0])

    def files(self, name: str) -> list[Path]:
        return sorted(Path(self.runtime.store.find("default", name).data_path).rglob("*.parquet"))


def fill(demo: Demo) -> None:
    """A catalog from examples/, with data in it."""
    chapter("A catalog")
    with step("apply examples/lakecatalog.yaml"):
        for document in read_documents([str(HERE / "lakecatalog.yaml")]):
            change = demo.runtime.apply(document.resource)
            if change.error:
                raise change.error
    with demo.duck("sales") as connection:
        with step(f"CREATE TABLE orders with {ROWS:,} rows, by a stock DuckDB"):
            connection.execute(f"CREATE TABLE orders AS SELECT i AS id, i % 7 AS region, i * 1.5 AS amount FROM range({ROWS}) r (i)")
        with step("DELETE the orders of region 3: another snapshot"):
            connection.execute("DELETE FROM orders WHERE region = 3")


def work_apart(demo: Demo) -> None:
    """Two forks that write, and nobody else sees it."""
    chapter("Two forks, each its own")
    before = demo.rows("sales")
    with step("fork sales as experiment"):
        demo.fork("sales", "experiment")
    with step("fork sales as repair"):
        demo.fork("sales", "repair")
    fork_often(demo)
    with step("in experiment: UPDATE half of the orders, ALTER TABLE"), demo.duck("experiment") as connection:
        connection.execute("UPDATE orders SET amount = -1 WHERE id % 2 = 0")
        connection.execute("ALTER TABLE orders ADD COLUMN note VARCHAR")
    with step("in repair: INSERT 1,000 orders"), demo.duck("repair") as connection:
        connection.execute(f"INSERT INTO orders SELECT {ROWS} + i, 3, 1 FROM range(1000) r (i)")
    with step("in sales: DELETE region 5"), demo.duck("sales") as connection:
        connection.execute("DELETE FROM orders WHERE region = 5")
    check("orders that experiment sees at -1", demo.rows("experiment", "amount = -1"), demo.rows("repair", f"id % 2 = 0 AND id < {ROWS}"))
    check("orders that sales and repair see at -1", demo.rows("sales", "amount = -1") + demo.rows("repair", "amount = -1"), 0)
    check("orders of region 3: sales, repair", (demo.rows("sales", "region = 3"), demo.rows("repair", "region = 3")), (0, 1000))
    check("orders of region 5 in the forks stayed", demo.rows("experiment", "region = 5") == demo.rows("repair", "region = 5") > 0, True)
    check("orders in repair", demo.rows("repair"), before + 1000)


def fork_often(demo: Demo) -> None:
    """What a fork costs in the store alone: no resource, no file, no status."""
    store = demo.runtime.store
    parent = store.find("default", "sales")
    took, made = [], []
    for number in range(50):
        path = f"{demo.runtime.home.prefix('default')}forks/quick-{number}/"
        request = ForkRequest(parent_id=parent.catalog_id, tenant="default", name=f"quick-{number}", data_path=path)
        login = new_login()
        began = time.perf_counter()
        made.append(store.fork_with_login(request, login)[0])
        took.append((time.perf_counter() - began) * 1000)
    with step(f"50 more forks, in the store alone: {statistics.median(took):.1f} ms each; dropped again"):
        for fork in made:
            store.drop(fork.catalog_id)


def look_back(demo: Demo) -> None:
    """A fork of the past."""
    chapter("A fork of the past")
    with step("fork sales at snapshot 1, before the first DELETE, as yesterday"):
        demo.fork("sales", "yesterday", at=1)
    check("orders in yesterday", demo.rows("yesterday"), ROWS)
    with step("fork yesterday as deeper: forks of forks work to any depth"):
        demo.fork("yesterday", "deeper")
    check("orders in deeper", demo.rows("deeper"), ROWS)
    chapter("The tree")
    print("\n".join(f"  {line}" for line in draw_tree(demo.runtime).splitlines()))


def clean_up(demo: Demo) -> None:
    """A fork goes, with its own files and no others."""
    chapter("Clean-up")
    store = demo.runtime.store
    own, parents = demo.files("experiment"), demo.files("sales")
    check("files of experiment's own", len(own) > 0, True)
    fork = store.find("default", "experiment")
    with step("delete the fork experiment"):
        demo.runtime.delete(demo.runtime.find(CatalogFork, "default", "experiment"))
    with step("claim its files, remove them, record it"):
        store.condemn(fork.catalog_id)  # at once; by itself only after its historyRetention
        remove_files(store, store.get(fork.catalog_id))
    check("files of experiment that are left", sum(path.exists() for path in own), 0)
    check("files of sales that are gone", sum(not path.exists() for path in parents), 0)
    check("orders in repair, yesterday and deeper still", (demo.rows("repair") > 0, demo.rows("yesterday"), demo.rows("deeper")), (True, ROWS, ROWS))


def main() -> int:
    """Everything, in a folder that is gone afterwards."""
    began = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="forklake-demo-"))
    server = LocalPostgres(Home.find(folder))
    chapter("forklake")
    try:
        with step("up: Postgres from a wheel, the store in it"):
            server.start()
        with Runtime.open(server.home) as runtime:
            demo = Demo(runtime)
            for part in (fill, work_apart, look_back, clean_up):
                part(demo)
        chapter("The end")
        with step("down"):
            server.stop()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{paint('all of it true', 'green')}, in {time.perf_counter() - began:.1f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
