"""Several stock clients at once on one catalog: what can both be done is, what cannot is a conflict, and nothing is lost."""

from __future__ import annotations

import threading

import duckdb
import pytest
from tests.fixtures.client import Place

COMMIT_FAILS = pytest.raises(duckdb.TransactionException, match=r"(?i)conflict")


def test_two_inserts_at_the_same_time_both_succeed(place: Place) -> None:
    other = place.another()
    place.run("BEGIN", "INSERT INTO lake.base VALUES (600, 'a', NULL)")
    other.execute("BEGIN")
    other.execute("INSERT INTO lake.base VALUES (601, 'b', NULL)")
    place.run("COMMIT")
    other.execute("COMMIT")
    assert place.fresh("SELECT i, s FROM lake.base WHERE i >= 600 ORDER BY i") == [(600, "a"), (601, "b")]
    assert place.fresh("SELECT count(*) = count(DISTINCT rowid) FROM lake.base") == [(True,)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("DROP TABLE lake.base", "INSERT INTO lake.base VALUES (1, 'x', NULL)"),
        ("DELETE FROM lake.base WHERE i = 100", "DELETE FROM lake.base WHERE i = 101"),
        ("ALTER TABLE lake.base ADD COLUMN e INTEGER", "ALTER TABLE lake.base DROP COLUMN s"),
        ("CREATE TABLE lake.same (i INTEGER)", "CREATE TABLE lake.same (s VARCHAR)"),
        ("DELETE FROM lake.base WHERE i = 50", "CALL ducklake_merge_adjacent_files('lake', 'base')"),
        ("DROP VIEW lake.evens", "DROP VIEW lake.evens"),
    ],
)
def test_what_excludes_each_other_conflicts_and_the_first_stays(fork: Place, first: str, second: str) -> None:
    other = fork.another()
    fork.run("INSERT INTO lake.base VALUES (700, 'x', NULL)", "INSERT INTO lake.base VALUES (701, 'x', NULL)")
    other.execute("BEGIN")
    other.execute(second)
    fork.run(first)
    expected = fork.latest()
    with COMMIT_FAILS:
        other.execute("COMMIT")
    assert fork.fresh("SELECT max(snapshot_id) FROM lake.snapshots()") == [(expected,)]


def test_two_deletes_that_replace_one_delete_file_cannot_both_succeed(place: Place) -> None:
    # DuckDB 1.5.5 does not see this conflict: on plain DuckLake both succeed, and every row of the file comes twice
    other = place.another()
    other.execute("BEGIN")
    other.execute("DELETE FROM lake.base WHERE i = 51")
    place.run("DELETE FROM lake.base WHERE i = 50")
    with pytest.raises(duckdb.TransactionException, match="somebody else deleted rows of data file"):
        other.execute("COMMIT")
    assert place.fresh("SELECT count(*), count(*) FILTER (i = 51) FROM lake.base") == [(91, 1)]
    other.execute("DELETE FROM lake.base WHERE i = 51")
    assert place.fresh("SELECT count(*) FROM lake.base") == [(90,)]


def test_deletes_of_different_inherited_files_both_succeed(fork: Place) -> None:
    other = fork.another()
    other.execute("BEGIN")
    other.execute("DELETE FROM lake.base WHERE i = 101")
    fork.run("DELETE FROM lake.base WHERE i = 50")
    other.execute("COMMIT")
    assert fork.fresh("SELECT count(*) FROM lake.base WHERE i IN (50, 101)") == [(0,)]


def test_a_transaction_reads_one_snapshot_however_long_it_takes(fork: Place) -> None:
    fork.run("BEGIN")
    assert fork.value("SELECT count(*) FROM lake.base") == 92
    fork.another().execute("DELETE FROM lake.base")
    assert fork.value("SELECT count(*) FROM lake.base") == 92
    fork.run("COMMIT")
    assert fork.value("SELECT count(*) FROM lake.base") == 0


def test_many_clients_and_threads_insert_at_once_and_no_row_is_lost(fork: Place) -> None:
    fork.run("CREATE TABLE lake.many (worker INTEGER, i INTEGER)")
    clients = [fork.duck, fork.another()]
    failures: list[Exception] = []

    def insert(worker: int) -> None:
        try:
            with clients[worker % 2].cursor() as cursor:
                cursor.execute("SET ducklake_max_retry_count = 100")
                for i in range(4):
                    cursor.execute(f"INSERT INTO lake.many VALUES ({worker}, {i})")
        except duckdb.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=insert, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert fork.fresh("SELECT count(*), count(DISTINCT (worker, i)), count(DISTINCT rowid) FROM lake.many") == [(16, 16, 16)]


def test_a_fork_and_its_parent_written_at_the_same_time_do_not_conflict(fork: Place) -> None:
    child = fork.lake.duck(lake=fork.lake.fork(fork.catalog, f"{fork.catalog.name}-busy"))
    fork.others.append(child)
    child.execute("BEGIN")
    child.execute("DELETE FROM lake.base WHERE i = 50")
    fork.run("DELETE FROM lake.base WHERE i = 50", "DROP TABLE lake.parts")
    child.execute("COMMIT")
    assert child.execute("SELECT (SELECT count(*) FROM lake.base), (SELECT count(*) FROM lake.parts)").fetchall() == [(91, 30)]
