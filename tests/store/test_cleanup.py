"""Clean-up with real files: what goes, why, and what stays; always with a genuine orphan or dead file beside the survivors."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from tests.fixtures.lake import TENANT, Lake

from forklake.catalog import Catalog
from forklake.errors import BreakerTripped, CatalogProtected


def _sum(duck: duckdb.DuckDBPyConnection, table: str) -> Any:
    row = duck.execute(f"SELECT sum(i) FROM {table}").fetchone()
    return None if row is None else row[0]


def _clean(lake: Lake, catalog: Catalog) -> Counter[str]:
    """One pass of clean-up, as a job would make it; returns the reasons."""
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    if lake.store.get(catalog.catalog_id).condemned is None:
        lake.store.raise_floor(catalog.catalog_id)
    claims = lake.store.claim_files(catalog.catalog_id)
    for claim in claims:
        Path(claim.full_path).unlink()
    lake.store.record_removed([claim.deletion_id for claim in claims])
    lake.store.prune_rows(catalog.catalog_id)
    return Counter(claim.reason for claim in claims)


def _files(catalog: Catalog) -> int:
    return len(list(Path(catalog.data_path).rglob("*.parquet")))


def _with_rows(lake: Lake) -> tuple[Catalog, duckdb.DuckDBPyConnection]:
    made = lake.catalog()
    duck = lake.duck(c=made)
    duck.execute("CREATE TABLE c.t (i INTEGER)")
    for number in range(4):
        duck.execute(f"INSERT INTO c.t SELECT {number} FROM range(10)")
    return made, duck


def test_compacted_files_go_and_say_into_what(lake: Lake) -> None:
    catalog, duck = _with_rows(lake)
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    lake.store.raise_floor(catalog.catalog_id)
    claims = lake.store.claim_files(catalog.catalog_id)
    assert {(c.kind, c.reason) for c in claims} == {("data", "compacted")}
    into = duck.execute("SELECT data_file_id FROM __ducklake_metadata_c.ducklake_data_file").fetchall()
    assert {c.detail for c in claims} == {str(into[0][0])}
    assert len(claims) == 4
    assert _clean(lake, catalog) == {"compacted": 4}
    assert (_files(catalog), _sum(duck, "c.t")) == (1, 60)


def test_dropped_tables_expired_snapshots_and_merged_delete_files_have_their_reasons(lake: Lake) -> None:
    catalog, duck = _with_rows(lake)
    duck.execute("CREATE TABLE c.gone AS SELECT 1 AS i")
    duck.execute("DROP TABLE c.gone")
    duck.execute("INSERT INTO c.t SELECT range FROM range(100, 120)")
    duck.execute("DELETE FROM c.t WHERE i = 101")
    duck.execute("DELETE FROM c.t WHERE i = 102")
    duck.execute("DELETE FROM c.t WHERE i < 1")
    duck.execute("CALL ducklake_expire_snapshots('c', older_than => now())")
    total = _sum(duck, "c.t")
    assert _clean(lake, catalog) == {"delete file merged": 1, "table dropped": 1, "snapshot expired": 1}
    assert _sum(lake.duck(c=catalog), "c.t") == total


def test_nothing_goes_before_its_retention_is_over(lake: Lake) -> None:
    catalog, duck = _with_rows(lake)
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    lake.store.raise_floor(catalog.catalog_id)
    assert lake.store.claim_files(catalog.catalog_id) == []
    assert lake.store.raise_floor(catalog.catalog_id, timedelta(0)) == catalog.begin_at


def test_files_that_a_fork_sees_outlive_compaction_drop_and_clean_up_of_the_parent(lake: Lake) -> None:
    parent, duck = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    assert _clean(lake, parent) == {}
    assert _sum(lake.duck(f=fork), "f.t") == 60
    lake.store.drop(parent.catalog_id)
    lake.store.condemn(parent.catalog_id)
    # the merged file is nobody's now; the four that the fork sees stay
    assert _clean(lake, parent) == {"catalog dropped": 1}
    with_fork = lake.duck(f=fork)
    assert _sum(with_fork, "f.t") == 60
    assert lake.store.get(parent.catalog_id).purged is None
    lake.store.drop(fork.catalog_id)
    lake.store.condemn(fork.catalog_id)
    assert _clean(lake, fork) == {}
    assert _clean(lake, parent) == {"compacted": 4}
    assert _files(parent) == 0
    assert lake.store.get(parent.catalog_id).purged is not None


def test_a_copy_keeps_its_parents_files_though_it_shares_no_row(lake: Lake) -> None:
    parent, duck = _with_rows(lake)
    copy = lake.fork(parent, "copy", mode="Copy")
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    lake.store.drop(parent.catalog_id)
    lake.store.condemn(parent.catalog_id)
    assert _clean(lake, parent) == {"catalog dropped": 1}
    assert _sum(lake.duck(f=copy), "f.t") == 60


def test_a_fork_that_replaced_inherited_files_lets_them_go(lake: Lake) -> None:
    parent, duck = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    with_fork = lake.duck(f=fork)
    with_fork.execute("CALL ducklake_merge_adjacent_files('f')")
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    assert _clean(lake, parent) == {}
    assert _clean(lake, fork) == {}
    # the fork has given up its history, so nothing holds the parent's old files any more
    assert _clean(lake, parent) == {"compacted": 4}
    assert (_sum(lake.duck(f=fork), "f.t"), _sum(lake.duck(c=parent), "c.t")) == (60, 60)


def test_the_path_of_a_dropped_catalog_is_free_once_its_files_are_gone(lake: Lake) -> None:
    catalog, _ = _with_rows(lake)
    lake.store.drop(catalog.catalog_id)
    lake.store.condemn(catalog.catalog_id)
    _clean(lake, catalog)
    again = lake.store.create_catalog(TENANT, "sales", catalog.data_path)
    assert again.catalog_id != catalog.catalog_id


def test_a_claim_that_was_not_recorded_comes_again(lake: Lake) -> None:
    catalog, duck = _with_rows(lake)
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    lake.store.raise_floor(catalog.catalog_id)
    first = lake.store.claim_files(catalog.catalog_id)
    assert lake.store.claim_files(catalog.catalog_id) == first
    assert lake.store.record_removed([first[0].deletion_id]) == 1
    assert lake.store.record_removed([first[0].deletion_id]) == 0
    assert lake.store.claim_files(catalog.catalog_id) == first[1:]


def test_rows_go_after_their_files_and_what_is_seen_stays_the_same(lake: Lake) -> None:
    catalog, duck = _with_rows(lake)
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    before = lake.store.usage(catalog.catalog_id)
    tenant = lake.tenant(catalog)

    def visible() -> list[Any]:
        return [tenant.execute(f"select * from ducklake.ducklake_{r}").fetchall() for r in ("data_file", "table_stats", "snapshot", "column")]

    rows = [{row[:-1] for row in relation} for relation in visible()]
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    lake.store.raise_floor(catalog.catalog_id)
    lake.store.claim_files(catalog.catalog_id)
    lake.store.prune_rows(catalog.catalog_id)
    assert lake.store.connection.execute("select count(*) from lake.ducklake_data_file").fetchone() == (5,)
    _clean(lake, catalog)
    assert lake.store.connection.execute("select count(*) from lake.ducklake_data_file").fetchone() == (1,)
    assert lake.store.usage(catalog.catalog_id).metadata_rows < before.metadata_rows
    assert [{row[:-1] for row in relation} for relation in visible()] == rows


def test_a_file_that_was_given_up_cannot_be_registered_again(lake: Lake) -> None:
    catalog, duck = _with_rows(lake)
    duck.execute("CALL ducklake_merge_adjacent_files('c')")
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    lake.store.raise_floor(catalog.catalog_id)
    claim = lake.store.claim_files(catalog.catalog_id)[0]
    with pytest.raises(duckdb.Error, match="was given up"):
        duck.execute(f"CALL ducklake_add_data_files('c', 't', '{claim.full_path}')")


def test_a_live_catalog_cannot_be_condemned(lake: Lake) -> None:
    with pytest.raises(CatalogProtected, match="alive"):
        lake.store.condemn(lake.catalog().catalog_id)


def test_dropped_catalogs_are_condemned_when_their_retention_is_over(lake: Lake) -> None:
    catalog = lake.catalog()
    lake.store.drop(catalog.catalog_id)
    assert lake.store.condemn_dropped() == []
    lake.store.configure(catalog.catalog_id, {"history_retention": "0"})
    assert lake.store.condemn_dropped(timedelta(hours=1)) == []
    assert lake.store.condemn_dropped() == [catalog.catalog_id]
    assert lake.store.condemn_dropped() == []


def _orphans(lake: Lake, catalog: Catalog, age: timedelta, share: float = 0.5) -> list[str]:
    paths = [str(p) for p in Path(catalog.data_path).rglob("*")]
    when = [datetime.now(UTC) - age] * len(paths)
    rows = lake.store.connection.execute(
        "select full_path from lake.claim_orphans(%s, %s, %s, %s, interval '1 hour', %s)", [catalog.catalog_id, paths, when, len(paths), share]
    )
    return [Path(path).name for (path,) in rows.fetchall()]


def test_an_orphan_goes_and_its_known_neighbours_stay(lake: Lake) -> None:
    parent, _ = _with_rows(lake)
    fork = lake.fork(parent, "fork")
    lake.duck(f=fork).execute("INSERT INTO f.t VALUES (1)")
    for folder in (parent.data_path, fork.data_path):
        (Path(folder) / "main" / "t" / "orphan.parquet").write_bytes(b"x")
        (Path(folder) / "notes.txt").write_text("not ours to remove")
    assert _orphans(lake, parent, timedelta(hours=25)) == ["orphan.parquet"]
    assert _orphans(lake, fork, timedelta(hours=25)) == ["orphan.parquet"]


def test_a_young_file_is_no_orphan_whatever_is_asked(lake: Lake) -> None:
    catalog, _ = _with_rows(lake)
    (Path(catalog.data_path) / "main" / "t" / "orphan.parquet").write_bytes(b"x")
    assert _orphans(lake, catalog, timedelta(hours=23)) == []


def test_too_many_orphans_stop_the_run(lake: Lake) -> None:
    catalog, _ = _with_rows(lake)
    for number in range(20):
        (Path(catalog.data_path) / f"orphan-{number}.parquet").write_bytes(b"x")
    with pytest.raises(psycopg.Error) as caught:
        _orphans(lake, catalog, timedelta(days=9), share=0.1)
    assert caught.value.sqlstate == "FL021"
    assert BreakerTripped.__doc__
    assert lake.store.connection.execute("select count(*) from lake.deletion").fetchone() == (0,)


def test_a_neighbours_path_is_never_an_orphan_of_mine(lake: Lake) -> None:
    catalog, _ = _with_rows(lake)
    other = lake.catalog("sales2")
    stranger = Path(other.data_path) / "orphan.parquet"
    old = [datetime.now(UTC) - timedelta(days=9)]
    rows = lake.store.connection.execute(
        "select full_path from lake.claim_orphans(%s, %s, %s, 1, interval '1 day', 1)", [catalog.catalog_id, [str(stranger)], old]
    )
    assert rows.fetchall() == []
