"""A stock client compacts and expires, wherever it works; what would remove files is refused before it touches one."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from tests.fixtures.client import Place

REFUSED = "a client of this store may not remove files: forks may still read them"


def content(place: Place) -> list[tuple[Any, ...]]:
    return place.fresh("SELECT rowid, * FROM lake.base ORDER BY i")


def test_adjacent_files_are_merged_and_every_row_and_snapshot_stays(place: Place) -> None:
    place.run(*(f"INSERT INTO lake.parts VALUES (0, 'more{i}')" for i in range(4)))
    rows, past = place.rows("FROM lake.parts ORDER BY ALL"), place.latest() - 2
    then = place.rows(f"FROM lake.parts AT (VERSION => {past}) ORDER BY ALL")
    files = place.value("SELECT count(*) FROM ducklake_list_files('lake', 'parts')")
    place.run("CALL ducklake_merge_adjacent_files('lake')")
    # inherited files of a partition are left alone: see lake._shown_to_compaction
    merged = 5 if place.name == "catalog" else 4
    assert place.value("SELECT count(*) FROM ducklake_list_files('lake', 'parts')") == files - merged + 1
    assert place.fresh("FROM lake.parts ORDER BY ALL") == rows
    assert place.fresh(f"FROM lake.parts AT (VERSION => {past}) ORDER BY ALL") == then


def test_files_with_deleted_rows_are_rewritten_and_every_row_and_snapshot_stays(place: Place) -> None:
    place.run("DELETE FROM lake.base WHERE i < 60")
    rows, before = content(place), place.latest()
    place.run("CALL ducklake_rewrite_data_files('lake', 'base', delete_threshold => 0.1)")
    assert place.value("SELECT count(*) FROM ducklake_list_files('lake', 'base') WHERE delete_file IS NOT NULL") == 0
    assert content(place) == rows
    assert place.fresh(f"SELECT count(*) FROM lake.base AT (VERSION => {before})") == [(42,)]
    assert place.fresh("SELECT count(*) FROM lake.base AT (VERSION => 2)") == [(100,)]


def test_expired_snapshots_are_gone_here_and_the_rows_stay(place: Place) -> None:
    rows, latest, files = content(place), place.latest(), place.files()
    assert place.value("SELECT count(*) FROM ducklake_expire_snapshots('lake', dry_run => true, versions => [2, 3])") == 2
    assert place.fresh("SELECT count(*) FROM lake.snapshots()") == [(latest + 1,)]
    place.run("CALL ducklake_expire_snapshots('lake', versions => [2, 3])")
    assert place.fresh("SELECT count(*) FROM lake.snapshots()") == [(latest - 1,)]
    with pytest.raises(duckdb.InvalidInputException, match="No snapshot found at version 2"):
        place.fresh("FROM lake.base AT (VERSION => 2)")
    place.run("CALL ducklake_expire_snapshots('lake', older_than => now())")
    assert place.fresh("SELECT snapshot_id FROM lake.snapshots()") == [(latest,)]
    assert content(place) == rows
    assert place.files() == files
    place.run("INSERT INTO lake.base VALUES (999, 'after', NULL)")
    assert place.fresh("SELECT count(*) FROM lake.base") == [(93,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
        "CALL ducklake_cleanup_old_files('lake', older_than => now())",
        "CALL ducklake_cleanup_old_files('lake', dry_run => true, cleanup_all => true)",
        "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
        "CALL ducklake_delete_orphaned_files('lake', dry_run => true, older_than => now())",
    ],
)
def test_what_would_remove_files_is_refused_with_the_remedy_and_touches_none(fork: Place, statement: str) -> None:
    fork.run(*(f"INSERT INTO lake.parts VALUES (0, 'x{i}')" for i in range(3)), "CALL ducklake_merge_adjacent_files('lake')")
    fork.run("CREATE TABLE lake.gone AS SELECT 1 AS i", "DROP TABLE lake.gone", "CALL ducklake_expire_snapshots('lake', older_than => now())")
    rows, snapshots, files = content(fork), fork.rows("SELECT snapshot_id FROM lake.snapshots()"), fork.files()
    with pytest.raises(duckdb.IOException, match=REFUSED) as refused:
        fork.run(statement)
    assert "MaintenancePolicy" in str(refused.value)
    assert fork.files() == files
    assert content(fork) == rows
    assert fork.fresh("SELECT snapshot_id FROM lake.snapshots()") == snapshots


def test_a_checkpoint_expires_and_merges_and_is_then_refused_before_it_removes_a_file(fork: Place) -> None:
    fork.run("CREATE TABLE lake.small (i INTEGER)", *(f"INSERT INTO lake.small VALUES ({i})" for i in range(3)))
    fork.run("CALL lake.set_option('expire_older_than', '1 millisecond')")
    # without row ids: merging, DuckDB 1.5.5 gives updated rows new ones
    rows, files = fork.rows("FROM lake.base ORDER BY i"), fork.files()
    with pytest.raises(duckdb.IOException, match=REFUSED):
        fork.run("CHECKPOINT lake")
    assert files.items() <= fork.files().items()
    assert fork.fresh("SELECT count(*) < 3 FROM lake.snapshots()") == [(True,)]
    assert fork.value("SELECT count(*) FROM ducklake_list_files('lake', 'small')") == 1
    assert fork.fresh("FROM lake.base ORDER BY i") == rows
    assert fork.fresh("FROM lake.small ORDER BY i") == [(0,), (1,), (2,)]


def test_merging_and_rewriting_keep_a_forks_hands_off_its_parents_files(fork: Place) -> None:
    inherited = {path for (path,) in fork.rows("SELECT data_file FROM ducklake_list_files('lake', 'base')")}
    fork.run("CALL ducklake_merge_adjacent_files('lake')", "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    now = {path for (path,) in fork.rows("SELECT data_file FROM ducklake_list_files('lake', 'base')")}
    assert not inherited & now
    assert all(path.startswith(fork.catalog.data_path) for path in now)


def test_merging_in_a_fork_writes_partitioned_files_where_they_belong(fork: Place) -> None:
    fork.run("DELETE FROM lake.parts WHERE v = 'v0'", *(f"INSERT INTO lake.parts VALUES (1, 'x{i}')" for i in range(3)))
    rows = fork.rows("FROM lake.parts ORDER BY ALL")
    fork.run("CALL ducklake_merge_adjacent_files('lake')", "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    folders = {path.removeprefix(fork.catalog.data_path).rsplit("/", 1)[0] for path in fork.files() if "/parts/" in path}
    assert folders == {"main/parts", "main/parts/k=1"}
    assert fork.fresh("FROM lake.parts ORDER BY ALL") == rows


def test_flushing_inlined_data_finds_nothing_to_flush(fork: Place) -> None:
    before = fork.latest()
    assert fork.rows("CALL ducklake_flush_inlined_data('lake')") == []
    assert fork.latest() == before
