"""A stock client changes rows, wherever it works, and nobody else notices."""

from __future__ import annotations

from tests.fixtures.client import Place


def test_an_inserted_row_is_read_by_a_client_that_attaches_later(place: Place) -> None:
    place.run("INSERT INTO lake.base VALUES (200, 'new', NULL)")
    assert place.fresh("SELECT count(*), max(i) FROM lake.base") == [(93, 200)]


def test_a_created_table_takes_rows_and_survives_a_reattach(place: Place) -> None:
    place.run("CREATE TABLE lake.made (i BIGINT, s VARCHAR)", "INSERT INTO lake.made SELECT range, range::VARCHAR FROM range(50)")
    place.run("CREATE TABLE lake.copied AS SELECT * FROM lake.base WHERE i < 5")
    assert place.fresh("SELECT (SELECT sum(i) FROM lake.made), (SELECT count(*) FROM lake.copied)") == [(1225, 5)]


def test_updated_rows_have_their_new_values_and_old_snapshots_the_old_ones(place: Place) -> None:
    before = place.latest()
    place.run("UPDATE lake.base SET s = 'mine' WHERE i < 30", "UPDATE lake.base SET s = s || '!' WHERE i < 5")
    assert place.fresh("SELECT s, count(*) FROM lake.base WHERE i < 30 GROUP BY s ORDER BY s") == [("mine", 15), ("mine!", 5)]
    assert place.value(f"SELECT count(*) FROM lake.base AT (VERSION => {before}) WHERE s LIKE 'mine%'") == 0


def test_deleted_rows_are_gone_also_on_top_of_an_inherited_delete_file(place: Place) -> None:
    place.run("DELETE FROM lake.base WHERE i BETWEEN 15 AND 24", "DELETE FROM lake.base WHERE i BETWEEN 25 AND 29")
    assert place.fresh("SELECT count(*), count(*) FILTER (i BETWEEN 10 AND 29) FROM lake.base") == [(82, 0)]


def test_deleting_every_row_leaves_an_empty_table_that_takes_new_ones(fork: Place) -> None:
    fork.run("DELETE FROM lake.base", "INSERT INTO lake.base VALUES (1, 'again', NULL)")
    assert fork.fresh("SELECT i, s FROM lake.base") == [(1, "again")]


def test_truncated_tables_are_empty(fork: Place) -> None:
    fork.run("TRUNCATE lake.parts")
    assert fork.fresh("SELECT count(*) FROM lake.parts") == [(0,)]


def test_merge_into_updates_inserts_and_deletes(place: Place) -> None:
    merge = "MERGE INTO lake.base USING (VALUES {}) AS src (i, s) ON base.i = src.i WHEN MATCHED THEN {}"
    place.run(merge.format("(1, 'merged'), (900, 'inserted')", "UPDATE SET s = src.s WHEN NOT MATCHED THEN INSERT VALUES (src.i, src.s, NULL)"))
    place.run(merge.format("(2, ''), (901, '')", "DELETE"))
    assert place.fresh("SELECT i, s FROM lake.base WHERE i IN (1, 2, 900) ORDER BY i") == [(1, "merged"), (900, "inserted")]


def test_a_transaction_of_many_kinds_of_changes_is_one_snapshot(place: Place) -> None:
    before = place.latest()
    place.run(
        *("BEGIN", "CREATE TABLE lake.inside (i INTEGER)", "INSERT INTO lake.inside VALUES (1), (2)", "DELETE FROM lake.inside WHERE i = 1"),
        *(
            "DELETE FROM lake.base WHERE i = 0",
            "INSERT INTO lake.base VALUES (0, 'zero', NULL)",
            "ALTER TABLE lake.parts ADD COLUMN w INTEGER",
            "COMMIT",
        ),
    )
    assert place.latest() == before + 1
    assert place.fresh("SELECT (FROM lake.inside), (SELECT s FROM lake.base WHERE i = 0), (SELECT count(w) FROM lake.parts)") == [(2, "zero", 0)]


def test_a_rolled_back_transaction_leaves_nothing(fork: Place) -> None:
    before = fork.latest()
    fork.run("BEGIN", "DELETE FROM lake.base", "CREATE TABLE lake.never (i INTEGER)", "ROLLBACK")
    assert fork.latest() == before
    assert fork.fresh("SELECT count(*) FROM lake.base") == [(92,)]


def test_row_ids_stay_unique_and_stable_when_rows_move(place: Place) -> None:
    kept = place.value("SELECT rowid FROM lake.base WHERE i = 50")
    place.run("UPDATE lake.base SET s = 'moved' WHERE i = 50", "INSERT INTO lake.base VALUES (300, 'x', NULL)")
    assert place.fresh("SELECT rowid FROM lake.base WHERE i = 50") == [(kept,)]
    assert place.fresh("SELECT count(*) = count(DISTINCT rowid) FROM lake.base") == [(True,)]


def test_every_column_type_comes_back_as_it_was_written(fork: Place) -> None:
    fork.run(
        "CREATE TABLE lake.kinds AS SELECT true b, 1::TINYINT t, 2::UHUGEINT h, 1.5::DECIMAL(18, 3) d, 'NaN'::DOUBLE f, '\\x00\\xFF'::BLOB bl, "
        "DATE '2026-01-02' da, TIMESTAMPTZ '2026-01-02 03:04:05+00' tz, INTERVAL 3 DAY iv, '8a0c9f3e-3c8e-4a53-8f3a-2f6f0c1e4b11'::UUID u, "
        "[1, NULL, 3] l, MAP {'k': 1} m, {'a': [{'b': 'it''s'}]} s, 'quote '' and \\ and ünï' v, '{\"j\": 1}'::JSON j"
    )
    written = "true, 1, 2, 1.5, 'NaN'::DOUBLE, '\\x00\\xFF'::BLOB"
    assert fork.fresh(f"SELECT (b, t, h, d, f, bl) = ({written}), l, v FROM lake.kinds") == [(True, [1, None, 3], "quote ' and \\ and ünï")]
    assert fork.fresh("SELECT da::VARCHAR, iv::VARCHAR, u::VARCHAR, m::VARCHAR, s::VARCHAR, j::VARCHAR FROM lake.kinds") == [
        ("2026-01-02", "3 days", "8a0c9f3e-3c8e-4a53-8f3a-2f6f0c1e4b11", "{k=1}", "{'a': [{'b': 'it\\'s'}]}", '{"j": 1}')
    ]
