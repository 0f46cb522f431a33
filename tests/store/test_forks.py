"""Forks: of now, of the past, of forks, by reference and by copy, many at once; each sees what it should and nothing more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest
from tests.fixtures.lake import TENANT, Lake

from forklake.catalog import Catalog, ForkPoint, ForkRequest
from forklake.catalog._models import Mode
from forklake.errors import (
    CatalogDropped,
    CatalogExists,
    CatalogNotFound,
    ForkLimit,
    HistoryGone,
    InvalidResource,
    PathOverlap,
    SnapshotExpired,
    SnapshotInFuture,
)


def _sum(duck: duckdb.DuckDBPyConnection, table: str) -> Any:
    row = duck.execute(f"SELECT sum(i) FROM {table}").fetchone()
    return None if row is None else row[0]


def _with_rows(lake: Lake, name: str = "sales") -> Catalog:
    """A catalog whose snapshot n + 1 holds the numbers 1 to n."""
    made = lake.catalog(name)
    duck = lake.duck(c=made)
    duck.execute("CREATE TABLE c.t (i INTEGER)")
    for number in (1, 2, 3):
        duck.execute(f"INSERT INTO c.t VALUES ({number})")
    return made


@pytest.mark.parametrize("mode", ["Reference", "Copy"])
def test_a_fork_reads_its_parent_and_writes_to_itself(lake: Lake, mode: Mode) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork", mode=mode)
    duck = lake.duck(p=parent, f=fork)
    duck.execute("INSERT INTO f.t VALUES (10)")
    duck.execute("DELETE FROM f.t WHERE i = 1")
    duck.execute("INSERT INTO p.t VALUES (100)")
    assert _sum(duck, "f.t") == 2 + 3 + 10
    assert _sum(duck, "p.t") == 1 + 2 + 3 + 100


def test_new_files_of_a_fork_lie_in_its_own_folder(lake: Lake) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    lake.duck(f=fork).execute("INSERT INTO f.t VALUES (10)")
    owners = lake.store.connection.execute(
        "select owner_id, full_path from lake.ducklake_data_file where catalog_id = %s", [fork.catalog_id]
    ).fetchall()
    assert [(owner, path.startswith(fork.data_path)) for owner, path in owners] == [(fork.catalog_id, True)]


@pytest.mark.parametrize("mode", ["Reference", "Copy"])
def test_a_fork_of_an_earlier_snapshot_sees_that_moment(lake: Lake, mode: Mode) -> None:
    parent = _with_rows(lake)
    for snapshot, total in ((1, None), (2, 1), (3, 3), (4, 6)):
        fork = lake.fork(parent, f"at-{snapshot}", at=ForkPoint(snapshot=snapshot), mode=mode)
        duck = lake.duck(f=fork)
        assert _sum(duck, "f.t") == total
        duck.execute("INSERT INTO f.t VALUES (10)")
        assert _sum(duck, "f.t") == (total or 0) + 10


def test_a_fork_of_a_time_is_of_the_snapshot_that_held_then(lake: Lake) -> None:
    parent = _with_rows(lake)
    times = dict(lake.duck(p=parent).execute("SELECT snapshot_id, snapshot_time FROM p.snapshots()").fetchall())
    fork = lake.fork(parent, "then", at=ForkPoint(timestamp=times[3]))
    assert fork.fork_snapshot == 3
    assert _sum(lake.duck(f=fork), "f.t") == 3
    between = times[3] + (times[4] - times[3]) / 2
    assert lake.fork(parent, "between", at=ForkPoint(timestamp=between)).fork_snapshot == 3


def test_a_fork_of_the_past_sees_files_that_compaction_has_replaced_since(lake: Lake) -> None:
    parent = _with_rows(lake)
    duck = lake.duck(p=parent)
    duck.execute("CALL ducklake_merge_adjacent_files('p')")
    assert _sum(duck, "p.t") == 6
    assert _sum(lake.duck(f=lake.fork(parent, "before", at=ForkPoint(snapshot=3))), "f.t") == 3
    assert _sum(lake.duck(f=lake.fork(parent, "after")), "f.t") == 6


def test_a_fork_travels_to_the_snapshots_it_inherited_and_to_its_own(lake: Lake) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    duck = lake.duck(f=fork)
    duck.execute("INSERT INTO f.t VALUES (10)")
    assert [_sum(duck, f"f.t AT (VERSION => {v})") for v in (2, 3, 4, 5, 6)] == [1, 3, 6, 6, 16]


def test_forks_of_forks_stay_apart_at_every_depth(lake: Lake) -> None:
    catalog, expected = _with_rows(lake), 6
    line = [(catalog, expected)]
    for depth in range(1, 6):
        catalog = lake.fork(catalog, f"depth-{depth}")
        lake.duck(f=catalog).execute(f"INSERT INTO f.t VALUES ({10**depth}); UPDATE f.t SET i = i + 1 WHERE i = {expected if depth > 1 else 3}")
        expected = int(_sum(lake.duck(f=catalog), "f.t"))
        line.append((catalog, expected))
    assert [int(_sum(lake.duck(f=one), "f.t")) for one, _ in line] == [total for _, total in line]
    assert [c.depth for c, _ in line] == [0, 1, 2, 3, 4, 5]


def test_a_fork_of_a_fork_may_begin_before_its_parent_did(lake: Lake) -> None:
    root = _with_rows(lake)
    middle = lake.fork(root, "middle")
    lake.duck(m=middle).execute("DELETE FROM m.t")
    grandchild = lake.fork(middle, "grandchild", at=ForkPoint(snapshot=3))
    assert _sum(lake.duck(g=grandchild), "g.t") == 3


def test_schema_changes_of_parent_and_fork_do_not_meet(lake: Lake) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    duck = lake.duck(p=parent, f=fork)
    duck.execute("ALTER TABLE p.t RENAME COLUMN i TO parents")
    duck.execute("ALTER TABLE f.t ADD COLUMN extra INTEGER DEFAULT 7")
    duck.execute("DROP TABLE p.t")
    assert duck.execute("SELECT sum(extra) FROM f.t").fetchall() == [(21,)]
    with pytest.raises(duckdb.CatalogException):
        duck.execute("SELECT * FROM p.t")


def test_dropping_the_parent_leaves_its_forks_whole(lake: Lake) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    lake.store.drop(parent.catalog_id)
    assert _sum(lake.duck(f=fork), "f.t") == 6
    with pytest.raises(CatalogDropped):
        lake.fork(parent, "too-late")


def test_a_detached_fork_needs_nothing_of_its_parents_rows(lake: Lake) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    lake.duck(f=fork).execute("DELETE FROM f.t WHERE i = 2")
    detached = lake.store.detach(fork.catalog_id)
    assert detached.mode == "Copy"
    assert lake.store.connection.execute("select ancestor_id from lake.lineage where catalog_id = %s", [fork.catalog_id]).fetchall() == [
        (fork.catalog_id,)
    ]
    duck = lake.duck(f=fork)
    assert _sum(duck, "f.t") == 4
    assert _sum(duck, "f.t AT (VERSION => 3)") == 3
    duck.execute("INSERT INTO f.t VALUES (10)")
    assert _sum(lake.duck(g=lake.fork(fork, "again")), "g.t") == 14
    with pytest.raises(HistoryGone):
        lake.fork(fork, "too-early", at=ForkPoint(snapshot=3))
    assert lake.store.detach(fork.catalog_id) == detached


def test_many_forks_are_made_in_one_transaction_or_not_at_all(lake: Lake) -> None:
    parent = _with_rows(lake)

    def requests(names: list[str]) -> list[ForkRequest]:
        return [ForkRequest(parent_id=parent.catalog_id, tenant=TENANT, name=n, data_path=f"{lake.folder}/{TENANT}/many/{n}/") for n in names]

    with pytest.raises(CatalogExists):
        lake.store.fork_many(requests(["a", "b", "sales"]))
    assert [c.name for c in lake.store.list_catalogs(TENANT)] == ["sales"]
    made = lake.store.fork_many(requests([f"agent-{n}" for n in range(50)]))
    assert len({catalog.begin_at for catalog, _ in made}) == 50
    catalog, login = made[-1]
    lake.logins[catalog.catalog_id] = login
    assert _sum(lake.duck(f=catalog), "f.t") == 6


def test_a_missing_parent_a_taken_name_and_an_overlapping_path_are_refused(lake: Lake) -> None:
    parent = _with_rows(lake)
    before = lake.store.connection.execute("select count(*) from lake.lineage").fetchone()
    request = ForkRequest(parent_id=parent.catalog_id, tenant=TENANT, name="f", data_path=f"{lake.folder}/{TENANT}/sales/inside/")
    with pytest.raises(PathOverlap):
        lake.store.fork(request)
    with pytest.raises(CatalogExists):
        lake.fork(parent, "sales")
    with pytest.raises(CatalogNotFound, match="999"):
        lake.store.fork(ForkRequest(parent_id=999, tenant=TENANT, name="f", data_path=f"{lake.folder}/{TENANT}/f/"))
    with pytest.raises(InvalidResource, match="Shallow"):
        lake.fork(parent, "f", mode="Shallow")  # type: ignore[arg-type]
    assert lake.store.connection.execute("select count(*) from lake.lineage").fetchone() == before


def test_a_snapshot_of_the_future_and_one_that_has_expired_are_refused(lake: Lake) -> None:
    parent = _with_rows(lake)
    with pytest.raises(SnapshotInFuture, match="latest snapshot is 4"):
        lake.fork(parent, "f", at=ForkPoint(snapshot=5))
    with pytest.raises(SnapshotInFuture):
        lake.fork(parent, "f", at=ForkPoint(timestamp=datetime.now(UTC) + timedelta(days=1)))
    lake.duck(p=parent).execute("CALL ducklake_expire_snapshots('p', versions => [2])")
    with pytest.raises(SnapshotExpired, match="snapshot 2"):
        lake.fork(parent, "f", at=ForkPoint(snapshot=2))
    with pytest.raises(SnapshotExpired):
        lake.fork(parent, "f", at=ForkPoint(timestamp=datetime(2020, 1, 1, tzinfo=UTC)))


def test_history_below_the_floor_cannot_be_forked(lake: Lake) -> None:
    parent = _with_rows(lake)
    lake.store.configure(parent.catalog_id, {"history_retention": "0"})
    lake.store.raise_floor(parent.catalog_id)
    with pytest.raises(HistoryGone, match="snapshot 3"):
        lake.fork(parent, "f", at=ForkPoint(snapshot=3))
    assert _sum(lake.duck(f=lake.fork(parent, "now")), "f.t") == 6


def test_an_owner_limits_depth_and_number_of_forks(lake: Lake) -> None:
    parent = lake.catalog(max_depth=2, max_forks=2)
    first = lake.fork(parent, "first")
    second = lake.fork(first, "second")
    with pytest.raises(ForkLimit, match="3 deep"):
        lake.fork(second, "third")
    lake.fork(parent, "another")
    with pytest.raises(ForkLimit, match="2 forks"):
        lake.fork(parent, "one-too-many")
    lake.store.configure(parent.catalog_id, {"max_depth": None, "max_forks": 3})
    assert lake.fork(second, "third").depth == 3
    assert lake.fork(parent, "one-more").depth == 1


def test_ids_of_parent_and_fork_never_meet(lake: Lake) -> None:
    parent = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    duck = lake.duck(p=parent, f=fork)
    for alias in ("p", "f"):
        duck.execute(f"CREATE TABLE {alias}.mine AS SELECT 1 AS i")
    ids = {a: {i for (i,) in duck.execute(f"SELECT table_id FROM __ducklake_metadata_{a}.ducklake_table").fetchall()} for a in ("p", "f")}
    shared = ids["p"] & ids["f"]
    assert shared == {1}
    assert min(ids["f"] - shared) >= fork.catalog_id << 36


def test_a_fork_takes_its_parents_options_and_encryption(lake: Lake) -> None:
    made = lake.store.create_catalog(TENANT, "secret", f"{lake.folder}/{TENANT}/secret/", encrypted=True)
    lake.logins[made.catalog_id] = lake.store.create_login(made.catalog_id)
    unsafe = "SET force_mbedtls_unsafe = 'true'"  # DuckDB's stronger cipher comes with httpfs
    duck = lake.duck(c=made)
    duck.execute(unsafe)
    duck.execute("CREATE TABLE c.t AS SELECT 5 AS i")
    duck.execute("CALL c.set_option('parquet_compression', 'zstd')")
    fork = lake.fork(made, "fork")
    duck = lake.duck(f=fork)
    duck.execute(unsafe)
    duck.execute("INSERT INTO f.t VALUES (6)")
    assert _sum(duck, "f.t") == 11
    assert fork.encrypted
    assert ("zstd",) in duck.execute("SELECT value FROM f.options() WHERE option_name = 'parquet_compression'").fetchall()
