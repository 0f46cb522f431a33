"""A stock client sets DuckLake's options; those that forklake decides are refused."""

from __future__ import annotations

import duckdb
import pytest
from tests.fixtures.client import Place

OPTIONS = "SELECT value, scope, scope_entry FROM lake.options() WHERE option_name = 'parquet_compression' ORDER BY ALL"


def test_options_are_set_and_set_again_for_the_catalog_a_schema_and_a_table(place: Place) -> None:
    assert place.rows(OPTIONS) == [("zstd", "GLOBAL", None)]
    for first, second in (("snappy", "gzip"), ("lz4", "uncompressed")):
        for value in (first, second):
            place.run(f"CALL lake.set_option('parquet_compression', '{value}')")
            place.run(f"CALL lake.set_option('parquet_compression', '{value}', schema => 'main')")
            place.run(f"CALL lake.set_option('parquet_compression', '{value}', table_name => 'base')")
            assert place.fresh(OPTIONS) == [(value, "GLOBAL", None), (value, "SCHEMA", "main"), (value, "TABLE", "main.base")]


def test_an_inherited_option_holds_until_it_is_set_again(place: Place) -> None:
    written = "SELECT DISTINCT compression FROM parquet_metadata('{}main/{}/*.parquet')"
    place.run(
        "CREATE TABLE lake.before AS SELECT 1 AS i", "CALL lake.set_option('parquet_compression', 'gzip')", "CREATE TABLE lake.after AS SELECT 1 AS i"
    )
    assert place.rows(written.format(place.catalog.data_path, "before")) == [("ZSTD",)]
    assert place.rows(written.format(place.catalog.data_path, "after")) == [("GZIP",)]


def test_an_option_set_in_a_transaction_that_is_rolled_back_is_not_set(fork: Place) -> None:
    fork.run("BEGIN", "CALL lake.set_option('parquet_compression', 'gzip')", "ROLLBACK")
    assert fork.fresh(OPTIONS) == [("zstd", "GLOBAL", None)]


@pytest.mark.parametrize("scope", ["", ", schema => 'main'", ", table_name => 'base'"], ids=["global", "schema", "table"])
def test_data_inlining_cannot_be_switched_on(fork: Place, scope: str) -> None:
    # DuckDB 1.5.5 crashes on this call when a schema has a view, before it asks any store
    fork.run("DROP VIEW lake.evens")
    with pytest.raises(duckdb.Error, match="option 'data_inlining_row_limit' cannot be changed"):
        fork.run(f"CALL lake.set_option('data_inlining_row_limit', '10'{scope})")
    assert fork.fresh("SELECT value, scope FROM lake.options() WHERE option_name = 'data_inlining_row_limit'") == [("0", "GLOBAL")]
    fork.run("INSERT INTO lake.base VALUES (1, 'still', NULL)")
    assert fork.fresh("SELECT count(*) FROM lake.base") == [(93,)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ducklake_metadata SET value = '/tmp/' WHERE key = 'data_path'",
        "DELETE FROM ducklake_metadata WHERE key = 'data_inlining_row_limit'",
        "INSERT INTO ducklake_metadata VALUES ('data_path', '/tmp/', NULL, NULL)",
        "INSERT INTO ducklake_metadata VALUES ('version', '0.1', NULL, NULL)",
    ],
)
def test_what_forklake_decides_cannot_be_changed_behind_the_clients_back(fork: Place, statement: str) -> None:
    with pytest.raises(duckdb.Error, match="cannot be changed"):
        fork.run(f"CALL postgres_execute('__ducklake_metadata_lake', $${statement}$$)")
    assert fork.fresh("SELECT value FROM lake.options() WHERE option_name = 'data_path'") == [(fork.catalog.data_path,)]


@pytest.mark.parametrize("attached", [", DATA_INLINING_ROW_LIMIT 10", ""], ids=["asked-for", "by-default"])
def test_a_client_that_would_inline_writes_files_instead(fork: Place, attached: str) -> None:
    eager = fork.another(attached)
    if not attached:
        eager.execute("SET ducklake_default_data_inlining_row_limit = 10")
    eager.execute("CREATE TABLE lake.small (i INTEGER)")
    eager.execute("INSERT INTO lake.small VALUES (1), (2), (3)")
    eager.execute("DELETE FROM lake.small WHERE i = 2")
    eager.execute("UPDATE lake.base SET s = 'eager' WHERE i = 5")
    assert eager.execute("CALL ducklake_flush_inlined_data('lake')").fetchall() == []
    assert fork.fresh("SELECT i FROM lake.small ORDER BY i") == [(1,), (3,)]
    assert fork.fresh("SELECT s FROM lake.base WHERE i = 5") == [("eager",)]
    assert len([path for path in fork.files() if "/small/" in path]) == 2
    inlined = (
        "SELECT (SELECT count(*) FROM ducklake_inlined_data_tables) + (SELECT count(*) FROM pg_class WHERE relname ~ '^ducklake_inlined_data_[0-9]')"
    )
    assert fork.rows(f"FROM postgres_query('__ducklake_metadata_lake', $${inlined}$$)") == [(0,)]
