"""What a catalog consists of, as its metadata says at one snapshot: frozen, and free of connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

ROW_ID = "_ducklake_internal_row_id"
ROW_ID_FIELD = 2147483540
SNAPSHOT_ID = "_ducklake_internal_snapshot_id"
SNAPSHOT_ID_FIELD = 2147483539
DELETE_PATH_FIELD = 2147483646
DELETE_POSITION_FIELD = 2147483645


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit of one catalog, and the ids that the next one counts up from."""

    snapshot_id: int
    time: datetime
    schema_version: int
    next_catalog_id: int
    next_file_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column, or a field of a nested one. Its id is the Parquet field id, and outlives its name."""

    column_id: int
    name: str
    type: str
    """DuckLake's name for it: int64, decimal(10,2), struct, list, map ..."""
    nulls_allowed: bool = True
    initial_default: str | None = None
    """What rows have that were written before the column was added."""
    default_value: str | None = None
    default_value_type: str | None = None
    children: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One key of a partitioning: a column and what is made of it (identity, year, month, day, hour, bucket(N))."""

    key_index: int
    column_id: int
    transform: str


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How new files of a table are split."""

    partition_id: int
    keys: tuple[PartitionKey, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a sort order, an expression in a client's dialect."""

    expression: str
    dialect: str
    direction: str
    null_order: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table at a snapshot."""

    table_id: int
    uuid: UUID
    schema_id: int
    schema_name: str
    name: str
    path: str
    """The folder its new files go to, with a slash at its end."""
    columns: tuple[Column, ...]
    partitioning: Partitioning | None = None
    sort_keys: tuple[SortKey, ...] = ()

    @property
    def label(self) -> str:
        """How people name it."""
        return f"{self.schema_name}.{self.name}"

    def column(self, name: str) -> Column | None:
        """The top-level column of a name; names are case-insensitive, as DuckDB's are."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """What is known of a column in one file; values are text, as DuckLake keeps them. None: not known."""

    column_id: int
    column_size_bytes: int | None = None
    value_count: int | None = None
    null_count: int | None = None
    min_value: str | None = None
    max_value: str | None = None
    contains_nan: bool | None = None
    extra_stats: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Which rows of a data file are deleted."""

    delete_file_id: int
    data_file_id: int
    path: str
    format: str
    delete_count: int
    size: int
    footer_size: int | None
    begin_snapshot: int
    end_snapshot: int | None = None
    partial_max: int | None = None
    encryption_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file of a table, its path in full."""

    data_file_id: int
    table_id: int
    path: str
    record_count: int
    size: int
    footer_size: int | None
    begin_snapshot: int
    end_snapshot: int | None = None
    row_id_start: int | None = None
    partition_id: int | None = None
    partition_values: tuple[tuple[int, str | None], ...] = ()
    """Pairs of key index and value."""
    mapping_id: int | None = None
    partial_max: int | None = None
    """Set when the file holds rows of several snapshots, each row with its own; the highest of them."""
    encryption_key: str | None = None
    delete: DeleteFile | None = None
    """The delete file that holds at the snapshot looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """A data file that was written and is not committed yet."""

    path: str
    """In full."""
    record_count: int
    size: int
    footer_size: int
    stats: tuple[ColumnStats, ...] = ()
    partition_id: int | None = None
    partition_values: tuple[tuple[int, str | None], ...] = ()
    mapping_id: int | None = None
    partial_max: int | None = None
    begin_snapshot: int | None = None
    """Set for files that replace others and keep their history; None: the commit's own."""
    row_id_start: int | None = None
    """Set for files that carry row ids of their own; None: the commit gives them the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDeleteFile:
    """A delete file that was written and is not committed yet."""

    data_file_id: int
    path: str
    delete_count: int
    size: int
    footer_size: int
    replaces: DeleteFile | None = None


@dataclass(frozen=True, slots=True)
class NameMap:
    """How the columns of a file without field ids are found: a name in the file, the field id it stands for, and what is inside."""

    source_name: str
    target_field_id: int
    children: tuple[NameMap, ...] = field(default=())
    is_partition: bool = False
