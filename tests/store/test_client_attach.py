"""The ways in which a stock client attaches to a catalog."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.fixtures.client import RELATIONS, Place

# of DuckLake 1.0's 28 tables
COLUMNS = 184


def test_a_read_only_client_reads_and_cannot_write(place: Place) -> None:
    reader = place.another(", READ_ONLY")
    assert reader.execute("SELECT count(*) FROM lake.base").fetchall() == [(92,)]
    for statement in ("INSERT INTO lake.base VALUES (1, 'x', NULL)", "DROP TABLE lake.base", "CALL lake.set_option('parquet_compression', 'gzip')"):
        with pytest.raises(duckdb.Error, match="read-only"):
            reader.execute(statement)
    assert place.fresh("SELECT count(*) FROM lake.base") == [(92,)]


def test_a_catalog_that_exists_attaches_without_being_created(fork: Place) -> None:
    client = fork.another(", CREATE_IF_NOT_EXISTS false")
    assert client.execute("SELECT count(*) FROM lake.base").fetchall() == [(92,)]


def test_another_data_path_is_refused_at_attach(fork: Place) -> None:
    with pytest.raises(duckdb.Error, match="does not match existing data path"):
        fork.another(f", DATA_PATH '{fork.lake.folder}/elsewhere/'")
    assert fork.another(f", DATA_PATH '{fork.catalog.data_path}'").execute("SELECT count(*) FROM lake.base").fetchall() == [(92,)]


def test_the_metadata_shows_stock_columns_and_no_more(fork: Place) -> None:
    shown = {relation: fork.rows(f"SELECT column_name FROM (DESCRIBE __ducklake_metadata_lake.{relation})") for relation in RELATIONS}
    assert [name for (name,) in shown["ducklake_snapshot"]] == ["snapshot_id", "snapshot_time", "schema_version", "next_catalog_id", "next_file_id"]
    assert sum(len(names) for names in shown.values()) == COLUMNS
    assert not [relation for relation, names in shown.items() if ("ctid",) in names]


def test_the_size_and_the_tables_of_a_catalog_count_what_it_inherited(fork: Place) -> None:
    assert fork.rows("SELECT table_name, file_count, delete_file_count FROM ducklake_table_info('lake') WHERE table_name = 'base'") == [
        ("base", 3, 1)
    ]
    files = fork.rows("SELECT data_file FROM ducklake_list_files('lake', 'base')")
    assert all(Path(path).is_file() and not path.startswith(fork.catalog.data_path) for (path,) in files)


def test_two_catalogs_attached_to_one_client_copy_from_one_to_the_other(fork: Place) -> None:
    child = fork.neighbours[-1]
    both = fork.lake.duck(parent=fork.catalog, child=child)
    fork.others.append(both)
    both.execute("CREATE TABLE parent.copied AS SELECT * FROM child.base WHERE i < 3")
    assert fork.fresh("SELECT count(*) FROM lake.copied") == [(3,)]
