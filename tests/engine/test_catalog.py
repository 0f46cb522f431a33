"""What the engine knows of a catalog is what a stock client wrote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.fixtures.lake import Lake

from forklake.engine.catalog import OpenCatalog
from forklake.errors import SnapshotExpired, TableNotFound


def test_tables_of_a_catalog_and_a_fork_are_those_that_duckdb_made(lake: Lake) -> None:
    sales = lake.catalog()
    duck = lake.duck(sales=sales)
    duck.execute("CREATE TABLE sales.t(id BIGINT NOT NULL, tags VARCHAR[], spot STRUCT(x INTEGER, y DECIMAL(10,2)), m MAP(VARCHAR, DOUBLE))")
    duck.execute("ALTER TABLE sales.t SET PARTITIONED BY (bucket(8, id))")
    duck.execute("ALTER TABLE sales.t SET SORTED BY (id DESC NULLS FIRST)")
    fork = lake.fork(sales, "agent")
    with OpenCatalog(lake.tenant_dsn(sales)) as parent, OpenCatalog(lake.tenant_dsn(fork)) as child:
        table, inherited = parent.table("t"), child.table("MAIN.T")
        assert table.columns == inherited.columns
        assert [(column.name, column.type) for column in table.columns] == [("id", "int64"), ("tags", "list"), ("spot", "struct"), ("m", "map")]
        assert [(inner.name, inner.type) for inner in table.columns[2].children] == [("x", "int32"), ("y", "decimal(10,2)")]
        assert not table.columns[0].nulls_allowed
        assert table.partitioning is not None
        assert [(key.column_id, key.transform) for key in table.partitioning.keys] == [(table.columns[0].column_id, "bucket(8)")]
        assert [(key.expression, key.direction, key.null_order) for key in table.sort_keys] == [("id", "DESC", "NULLS_FIRST")]
        assert table.path == f"{sales.data_path}main/t/"
        assert inherited.path == f"{fork.data_path}main/t/"


def test_a_table_is_found_only_in_snapshots_that_have_it(lake: Lake) -> None:
    sales = lake.catalog()
    duck = lake.duck(sales=sales)
    duck.execute("CREATE TABLE sales.t(i INTEGER)")
    duck.execute("ALTER TABLE sales.t ADD COLUMN j INTEGER")
    with OpenCatalog(lake.tenant_dsn(sales)) as catalog:
        assert [column.name for column in catalog.table("t", at=1).columns] == ["i"]
        assert [column.name for column in catalog.table("t", at=datetime.now(UTC)).columns] == ["i", "j"]
        with pytest.raises(TableNotFound, match="'t' in snapshot 0"):
            catalog.table("t", at=0)
        with pytest.raises(SnapshotExpired):
            catalog.snapshot(at=99)
        with pytest.raises(SnapshotExpired):
            catalog.snapshot(at=datetime.now(UTC) - timedelta(days=1))


def test_a_plain_ducklake_catalog_is_read_as_well(lake: Lake, database: str) -> None:
    duck = lake.duck()
    duck.execute(f"ATTACH 'ducklake:postgres:{database}' AS plain (METADATA_SCHEMA 'public', META_SCHEMA 'public', DATA_PATH '{lake.folder}/plain/')")
    duck.execute("CREATE TABLE plain.t(i INTEGER)")
    with OpenCatalog(database, metadata_schema="public") as catalog:
        assert catalog.table("t").path == f"{lake.folder}/plain/main/t/"
