"""A catalog opened for reading and writing: a DuckLake client's view of it, forklake's or a plain one in Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import psycopg
import sqlalchemy
from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from forklake.engine._tables import MetadataTables
from forklake.engine.model import Column, Partitioning, PartitionKey, Snapshot, SortKey, Table
from forklake.engine.storage import Storage
from forklake.errors import CatalogNotFound, SnapshotExpired, TableNotFound, from_postgres

LATEST = None
At = int | datetime | None
"""A snapshot by its number, by a moment, or the latest."""


class OpenCatalog:
    """A connection to the metadata of one catalog, and the way to its files."""

    def __init__(self, dsn: str, *, metadata_schema: str = "ducklake", storage: Storage | None = None) -> None:
        self.tables = MetadataTables(metadata_schema)
        self.storage = storage or Storage()
        self.engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: _connect(dsn), pool_size=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the connections up."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction in which all that is read is of one moment."""
        with translated(), self.engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that commits when the block ends, and is gone when it raises."""
        with translated(), self.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection, connection.begin():
            yield connection

    @cached_property
    def data_path(self) -> str:
        """Where new files of this catalog go."""
        found = self.option("data_path")
        if found is None:
            raise CatalogNotFound(f"no DuckLake catalog in schema {self.tables.schema!r}", hint="check the credentials and the metadata schema")
        return found

    def option(self, key: str) -> str | None:
        """A DuckLake option that holds for the whole catalog."""
        metadata = self.tables["metadata"].c
        with self.reading() as connection:
            return connection.scalar(select(metadata.value).where(metadata.key == key, metadata.scope.is_(None)))

    def snapshot(self, at: At = LATEST) -> Snapshot:
        """The snapshot of a number, the last one before a moment, or the latest."""
        with self.reading() as connection:
            return read_snapshot(connection, self.tables, at)

    def table(self, name: str, at: At = LATEST) -> Table:
        """A table by its name, `schema.table` or one of schema main."""
        with self.reading() as connection:
            snapshot = read_snapshot(connection, self.tables, at)
            found = [table for table in read_tables(connection, self, snapshot.snapshot_id) if _is_named(table, name)]
        if not found:
            raise TableNotFound(f"no table {name!r} in snapshot {snapshot.snapshot_id}", hint="list the tables, or choose another snapshot")
        return found[0]

    def list_tables(self, at: At = LATEST) -> list[Table]:
        """All tables of a snapshot."""
        with self.reading() as connection:
            return read_tables(connection, self, read_snapshot(connection, self.tables, at).snapshot_id)


@contextmanager
def translated() -> Iterator[None]:
    """Errors of Postgres as our own."""
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise from_postgres(error.orig) from error
        raise


def alive(table: sqlalchemy.Table, snapshot_id: int) -> ColumnElement[bool]:
    """Whether a row with begin_snapshot and end_snapshot holds at a snapshot."""
    return and_(table.c.begin_snapshot <= snapshot_id, or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > snapshot_id))


def read_snapshot(connection: Connection, tables: MetadataTables, at: At = LATEST) -> Snapshot:
    """The snapshot of a number, the last one before a moment, or the latest."""
    snapshot = tables["snapshot"].c
    query: Select[Any] = select(tables["snapshot"]).order_by(snapshot.snapshot_id.desc()).limit(1)
    if isinstance(at, datetime):
        query = query.where(snapshot.snapshot_time <= at)
    elif at is not None:
        query = query.where(snapshot.snapshot_id == at)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise SnapshotExpired(f"the catalog has no snapshot {at if at is not None else ''!s}".rstrip(), hint="it has expired or has not come yet")
    return Snapshot(*row)


def read_tables(connection: Connection, catalog: OpenCatalog, snapshot_id: int, table_id: int | None = None) -> list[Table]:
    """The tables of a snapshot with all that belongs to them, or the one of an id."""
    tables, columns = catalog.tables, _read_columns(connection, catalog.tables, snapshot_id, table_id)
    table, schema = tables["table"], tables["schema"]
    query = select(table, schema.c.schema_name, schema.c.path.label("schema_path"), schema.c.path_is_relative.label("schema_is_relative"))
    query = query.join(schema, and_(schema.c.schema_id == table.c.schema_id, alive(schema, snapshot_id))).where(alive(table, snapshot_id))
    if table_id is not None:
        query = query.where(table.c.table_id == table_id)
    partitionings, sort_orders = _read_partitionings(connection, tables, snapshot_id), _read_sort_orders(connection, tables, snapshot_id)
    return [
        Table(
            table_id=row.table_id,
            uuid=row.table_uuid,
            schema_id=row.schema_id,
            schema_name=row.schema_name,
            name=row.table_name,
            path=_folder(catalog.data_path, (row.schema_path, row.schema_is_relative), (row.path, row.path_is_relative)),
            columns=columns.get(row.table_id, ()),
            partitioning=partitionings.get(row.table_id),
            sort_keys=sort_orders.get(row.table_id, ()),
        )
        for row in connection.execute(query.order_by(table.c.table_id))
    ]


def _read_columns(connection: Connection, tables: MetadataTables, snapshot_id: int, table_id: int | None) -> dict[int, tuple[Column, ...]]:
    column = tables["column"]
    query = select(column).where(alive(column, snapshot_id)).order_by(column.c.table_id, column.c.column_order)
    if table_id is not None:
        query = query.where(column.c.table_id == table_id)
    inside: dict[tuple[int, int | None], list[Any]] = {}
    for row in connection.execute(query):
        inside.setdefault((row.table_id, row.parent_column), []).append(row)

    def below(table: int, parent: int | None) -> tuple[Column, ...]:
        return tuple(
            Column(
                column_id=row.column_id,
                name=row.column_name,
                type=row.column_type,
                nulls_allowed=row.nulls_allowed is not False,
                initial_default=row.initial_default,
                default_value=row.default_value,
                default_value_type=row.default_value_type,
                children=below(table, row.column_id),
            )
            for row in inside.get((table, parent), ())
        )

    return {table: below(table, None) for table, parent in inside if parent is None}


def _read_partitionings(connection: Connection, tables: MetadataTables, snapshot_id: int) -> dict[int, Partitioning]:
    info, key = tables["partition_info"], tables["partition_column"].c
    query = select(info.c.table_id, info.c.partition_id, key.partition_key_index, key.column_id, key.transform)
    query = query.where(key.partition_id == info.c.partition_id, key.table_id == info.c.table_id, alive(info, snapshot_id))
    found: dict[tuple[int, int], list[PartitionKey]] = {}
    for row in connection.execute(query.order_by(key.partition_key_index)):
        found.setdefault((row.table_id, row.partition_id), []).append(PartitionKey(row.partition_key_index, row.column_id, row.transform))
    return {table_id: Partitioning(partition_id, tuple(keys)) for (table_id, partition_id), keys in found.items()}


def _read_sort_orders(connection: Connection, tables: MetadataTables, snapshot_id: int) -> dict[int, tuple[SortKey, ...]]:
    info, key = tables["sort_info"], tables["sort_expression"].c
    query = select(info.c.table_id, key.expression, key.dialect, key.sort_direction, key.null_order)
    query = query.where(key.sort_id == info.c.sort_id, key.table_id == info.c.table_id, alive(info, snapshot_id)).order_by(key.sort_key_index)
    found: dict[int, list[SortKey]] = {}
    for table_id, *parts in connection.execute(query):
        found.setdefault(table_id, []).append(SortKey(*parts))
    return {table_id: tuple(keys) for table_id, keys in found.items()}


def _folder(data_path: str, *steps: tuple[str, bool]) -> str:
    place = data_path
    for path, is_relative in steps:
        place = place + path if is_relative else path
    return place


def _is_named(table: Table, name: str) -> bool:
    return name.lower() in (table.label.lower(), *([table.name.lower()] if table.schema_name.lower() == "main" else []))


def _connect(dsn: str) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(dsn, application_name="forklake-engine")
    except psycopg.Error as error:
        raise from_postgres(error) from None
