"""A stock client looks at the past: its own and what its catalog inherited."""

from __future__ import annotations

import duckdb
import pytest
from tests.fixtures.client import Place


def test_inherited_snapshots_are_read_by_version(place: Place) -> None:
    place.run("DELETE FROM lake.base")
    counts = [place.value(f"SELECT count(*) FROM lake.base AT (VERSION => {version})") for version in (1, 2, 3, 4, 5)]
    assert counts == [0, 100, 102, 92, 92]
    assert place.value("SELECT s FROM lake.base AT (VERSION => 4) WHERE i = 20") == "s20"
    assert place.value("SELECT count(*) FROM lake.base") == 0


def test_inherited_snapshots_are_read_by_timestamp(place: Place) -> None:
    place.run("INSERT INTO lake.base VALUES (1000, 'x', NULL)")
    moment = place.value("SELECT snapshot_time FROM lake.snapshots() WHERE snapshot_id = 3")
    assert place.value(f"SELECT count(*) FROM lake.base AT (TIMESTAMP => TIMESTAMPTZ '{moment}')") == 102
    assert place.value("SELECT count(*) FROM lake.base AT (TIMESTAMP => now())") == 93


def test_the_schema_of_an_inherited_snapshot_is_the_one_of_then(fork: Place) -> None:
    before = fork.latest()
    fork.run("ALTER TABLE lake.base DROP COLUMN s", "ALTER TABLE lake.base ADD COLUMN s INTEGER")
    assert fork.value(f"SELECT s FROM lake.base AT (VERSION => {before}) WHERE i = 20") == "updated"
    assert fork.value("SELECT s FROM lake.base WHERE i = 20") is None


def test_a_catalog_attached_at_a_snapshot_shows_that_one(place: Place) -> None:
    place.run("DELETE FROM lake.base")
    then = place.another(", SNAPSHOT_VERSION 2", alias="old")
    assert then.execute("SELECT count(*) FROM old.base").fetchall() == [(100,)]
    with pytest.raises(duckdb.InvalidInputException, match="read-only"):
        then.execute("INSERT INTO old.base VALUES (1, 'x', NULL)")


def test_changes_of_a_table_span_inherited_and_own_snapshots(place: Place) -> None:
    before = place.latest()
    place.run(
        "INSERT INTO lake.base VALUES (700, 'new', NULL)", "UPDATE lake.base SET s = 'changed' WHERE i = 30", "DELETE FROM lake.base WHERE i = 31"
    )
    own = f"FROM lake.table_changes('base', {before + 1}, {place.latest()})"
    assert place.rows(f"SELECT change_type, i, s {own} ORDER BY snapshot_id, change_type") == [
        ("insert", 700, "new"),
        ("update_postimage", 30, "changed"),
        ("update_preimage", 30, "s30"),
        ("delete", 31, "s31"),
    ]
    everything = f"1, {place.latest()}"
    assert place.value(f"SELECT count(*) FROM ducklake_table_insertions('lake', 'main', 'base', {everything})") == 105
    assert place.value(f"SELECT count(*) FROM ducklake_table_deletions('lake', 'main', 'base', {everything})") == 13


def test_snapshots_carry_author_message_and_extra_info(place: Place) -> None:
    place.run("BEGIN", "INSERT INTO lake.base VALUES (1, 'x', NULL)")
    place.run("CALL lake.set_commit_message('me', 'why; it''s', extra_info => '{\"run\": 7}')", "COMMIT")
    assert place.fresh("SELECT author, commit_message, commit_extra_info FROM lake.snapshots() ORDER BY snapshot_id DESC LIMIT 1") == [
        ("me", "why; it's", '{"run": 7}')
    ]


def test_snapshot_numbers_are_a_catalogs_own_and_have_no_gaps(fork: Place) -> None:
    fork.run("INSERT INTO lake.base VALUES (1, 'x', NULL)", "INSERT INTO lake.base VALUES (2, 'x', NULL)")
    numbers = [number for (number,) in fork.fresh("SELECT snapshot_id FROM lake.snapshots() ORDER BY 1")]
    assert numbers == list(range(len(numbers)))
    assert fork.fresh("SELECT * FROM lake.last_committed_snapshot()") == [(None,)]
    assert fork.fresh("SELECT id FROM lake.current_snapshot()") == [(numbers[-1],)]
