"""A stock client changes schemas, tables, views and macros, wherever it works, and nobody else notices."""

from __future__ import annotations

import duckdb
import pytest
from tests.fixtures.client import Place


def test_columns_are_added_dropped_renamed_retyped_and_given_defaults(place: Place) -> None:
    place.run(
        "ALTER TABLE lake.base ADD COLUMN added INTEGER DEFAULT 7",
        "ALTER TABLE lake.base DROP COLUMN d",
        "ALTER TABLE lake.base RENAME COLUMN s TO text",
        "ALTER TABLE lake.base ALTER COLUMN i TYPE BIGINT",
        "ALTER TABLE lake.base ALTER COLUMN text SET DEFAULT 'none'",
        "INSERT INTO lake.base (i) VALUES (5000000000)",
    )
    assert place.fresh("SELECT column_name, column_type FROM (DESCRIBE lake.base)") == [("i", "BIGINT"), ("text", "VARCHAR"), ("added", "INTEGER")]
    assert place.fresh("SELECT * FROM lake.base WHERE i IN (1, 5000000000) ORDER BY i") == [(1, "s1", 7), (5000000000, "none", 7)]


def test_dropping_a_default_and_not_null_leaves_the_rows(fork: Place) -> None:
    fork.run("ALTER TABLE lake.parts ALTER COLUMN v SET DEFAULT 'x'", "ALTER TABLE lake.parts ALTER COLUMN v DROP DEFAULT")
    fork.run("ALTER TABLE lake.parts ALTER COLUMN k SET NOT NULL")
    with pytest.raises(duckdb.ConstraintException, match="NOT NULL"):
        fork.run("INSERT INTO lake.parts VALUES (NULL, 'y')")
    fork.run("ALTER TABLE lake.parts ALTER COLUMN k DROP NOT NULL", "INSERT INTO lake.parts (k) VALUES (NULL)")
    assert fork.fresh("SELECT count(*), count(k), count(v) FROM lake.parts") == [(31, 30, 30)]


def test_fields_of_a_nested_struct_are_added_renamed_and_dropped(place: Place) -> None:
    place.run(
        "ALTER TABLE lake.nested ADD COLUMN n.b.e INTEGER",
        "ALTER TABLE lake.nested RENAME n.b.c TO renamed",
        "ALTER TABLE lake.nested DROP COLUMN n.a",
        "INSERT INTO lake.nested VALUES (2, {'b': {'renamed': 'y', 'e': 5}})",
    )
    assert place.fresh("SELECT i, n FROM lake.nested ORDER BY i") == [(1, {"b": {"renamed": "x", "e": None}}), (2, {"b": {"renamed": "y", "e": 5}})]


def test_a_renamed_table_keeps_its_rows_and_its_old_name_is_free(place: Place) -> None:
    place.run("ALTER TABLE lake.base RENAME TO moved", "CREATE TABLE lake.base (other INTEGER)", "INSERT INTO lake.moved VALUES (7000, 'x', NULL)")
    assert place.fresh("SELECT (SELECT count(*) FROM lake.moved), (SELECT count(*) FROM lake.base)") == [(93, 0)]


def test_a_dropped_table_is_gone_now_and_there_in_the_past(place: Place) -> None:
    before = place.latest()
    place.run("DROP TABLE lake.base")
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        place.fresh("FROM lake.base")
    assert place.fresh(f"SELECT count(*) FROM lake.base AT (VERSION => {before})") == [(92,)]


def test_partitioned_tables_prune_and_may_change_their_partitions(place: Place) -> None:
    place.run("CREATE TABLE lake.days (d DATE, k INTEGER)", "ALTER TABLE lake.days SET PARTITIONED BY (year(d), month(d), day(d), bucket(4, k))")
    place.run("INSERT INTO lake.days SELECT DATE '2025-12-30' + i::INTEGER, i FROM range(4) r (i)")
    place.run("INSERT INTO lake.parts VALUES (1, 'own')", "ALTER TABLE lake.parts RESET PARTITIONED BY", "INSERT INTO lake.parts VALUES (2, 'flat')")
    assert place.fresh("SELECT k FROM lake.days WHERE d = DATE '2026-01-01'") == [(2,)]
    assert place.value("SELECT count(*) FROM ducklake_list_files('lake', 'days')") == 4
    assert place.fresh("SELECT k, count(*) FROM lake.parts GROUP BY k ORDER BY k") == [(0, 10), (1, 11), (2, 11)]


def test_sorted_tables_write_their_rows_in_order(place: Place) -> None:
    place.run("ALTER TABLE lake.base SET SORTED BY (s DESC)", "INSERT INTO lake.base VALUES (500, 'a', NULL), (501, 'c', NULL), (502, 'b', NULL)")
    assert [i for (i,) in place.fresh("SELECT i FROM lake.base WHERE i >= 500 ORDER BY rowid")] == [501, 502, 500]
    place.run("ALTER TABLE lake.base RESET SORTED BY")


def test_views_and_macros_are_made_replaced_and_dropped(place: Place) -> None:
    place.run(
        "CREATE OR REPLACE VIEW lake.evens AS SELECT i + 1 AS odd FROM lake.base WHERE i % 2 = 0",
        "CREATE VIEW lake.mine AS SELECT count(*) AS n FROM lake.parts",
        "CREATE OR REPLACE MACRO lake.twice(x) AS 20 * x",
        "CREATE MACRO lake.upto(n) AS TABLE SELECT i FROM lake.base WHERE i < n",
    )
    assert place.fresh("SELECT (SELECT min(odd) FROM lake.evens), (FROM lake.mine), lake.twice(2), (SELECT count(*) FROM lake.upto(3))") == [
        (1, 30, 40, 3)
    ]
    place.run("DROP VIEW lake.evens", "DROP MACRO lake.twice", "DROP MACRO TABLE lake.upto")
    with pytest.raises(duckdb.CatalogException):
        place.fresh("SELECT lake.twice(2)")


def test_comments_on_tables_columns_and_views_are_kept_and_replaced(place: Place) -> None:
    place.run("COMMENT ON TABLE lake.base IS 'mine'", "COMMENT ON COLUMN lake.base.i IS 'a number'", "COMMENT ON VIEW lake.evens IS 'half of them'")
    assert place.fresh("SELECT comment FROM duckdb_tables() WHERE table_name = 'base' AND database_name = 'lake'") == [("mine",)]
    assert place.fresh("SELECT comment FROM duckdb_columns() WHERE column_name = 'i' AND table_name = 'base' AND database_name = 'lake'") == [
        ("a number",)
    ]
    assert place.fresh("SELECT comment FROM duckdb_views() WHERE view_name = 'evens' AND database_name = 'lake'") == [("half of them",)]


def test_schemas_hold_tables_of_the_same_name_and_are_dropped_with_them(place: Place) -> None:
    place.run("CREATE SCHEMA lake.side", "CREATE TABLE lake.side.base (i INTEGER)", "INSERT INTO lake.side.base VALUES (1)")
    assert place.fresh("SELECT (SELECT count(*) FROM lake.side.base), (SELECT count(*) FROM lake.base)") == [(1, 92)]
    place.run("DROP SCHEMA lake.side CASCADE")
    with pytest.raises(duckdb.CatalogException):
        place.fresh("FROM lake.side.base")


def test_names_with_quotes_spaces_and_umlauts_work(fork: Place) -> None:
    fork.run('CREATE SCHEMA lake."it\'s a ""schema"""', 'CREATE TABLE lake."it\'s a ""schema"""."tä ble/x" ("sel ect" INTEGER)')
    fork.run('INSERT INTO lake."it\'s a ""schema"""."tä ble/x" VALUES (1)')
    assert fork.fresh('SELECT "sel ect" FROM lake."it\'s a ""schema"""."tä ble/x"') == [(1,)]


def test_new_files_of_a_fork_lie_in_its_own_folder_whatever_they_belong_to(fork: Place) -> None:
    fork.run("INSERT INTO lake.base VALUES (1, 'x', NULL)", "DELETE FROM lake.base WHERE i = 2", "INSERT INTO lake.parts VALUES (1, 'x')")
    fork.run("CREATE SCHEMA lake.s", "CREATE TABLE lake.s.t AS SELECT 1 AS i")
    folders = {path.removeprefix(fork.catalog.data_path).rsplit("/", 1)[0] for path in fork.files()}
    assert folders == {"main/base", "main/parts/k=1", "s/t"}
