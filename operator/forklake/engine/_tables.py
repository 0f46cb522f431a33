"""DuckLake 1.0's metadata tables for SQLAlchemy, in the order of their columns."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, DateTime, MetaData, Table, Text, Uuid
from sqlalchemy.types import TypeEngine

# a bare name is a bigint; v varchar, b boolean, u uuid, z timestamp with time zone
_COLUMNS = {
    "metadata": "key:v value:v scope:v scope_id",
    "snapshot": "snapshot_id snapshot_time:z schema_version next_catalog_id next_file_id",
    "snapshot_changes": "snapshot_id changes_made:v author:v commit_message:v commit_extra_info:v",
    "schema": "schema_id schema_uuid:u begin_snapshot end_snapshot schema_name:v path:v path_is_relative:b",
    "table": "table_id table_uuid:u begin_snapshot end_snapshot schema_id table_name:v path:v path_is_relative:b",
    "view": "view_id view_uuid:u begin_snapshot end_snapshot schema_id view_name:v dialect:v sql:v column_aliases:v",
    "tag": "object_id begin_snapshot end_snapshot key:v value:v",
    "column_tag": "table_id column_id begin_snapshot end_snapshot key:v value:v",
    "data_file": "data_file_id table_id begin_snapshot end_snapshot file_order path:v path_is_relative:b file_format:v record_count "
    "file_size_bytes footer_size row_id_start partition_id encryption_key:v mapping_id partial_max",
    "file_column_stats": "data_file_id table_id column_id column_size_bytes value_count null_count min_value:v max_value:v contains_nan:b "
    "extra_stats:v",
    "file_variant_stats": "data_file_id table_id column_id variant_path:v shredded_type:v column_size_bytes value_count null_count "
    "min_value:v max_value:v contains_nan:b extra_stats:v",
    "delete_file": "delete_file_id table_id begin_snapshot end_snapshot data_file_id path:v path_is_relative:b format:v delete_count "
    "file_size_bytes footer_size encryption_key:v partial_max",
    "column": "column_id begin_snapshot end_snapshot table_id column_order column_name:v column_type:v initial_default:v default_value:v "
    "nulls_allowed:b parent_column default_value_type:v default_value_dialect:v",
    "table_stats": "table_id record_count next_row_id file_size_bytes",
    "table_column_stats": "table_id column_id contains_null:b contains_nan:b min_value:v max_value:v extra_stats:v",
    "partition_info": "partition_id table_id begin_snapshot end_snapshot",
    "partition_column": "partition_id table_id partition_key_index column_id transform:v",
    "file_partition_value": "data_file_id table_id partition_key_index partition_value:v",
    "files_scheduled_for_deletion": "data_file_id path:v path_is_relative:b schedule_start:z",
    "inlined_data_tables": "table_id table_name:v schema_version",
    "column_mapping": "mapping_id table_id type:v",
    "name_mapping": "mapping_id column_id source_name:v target_field_id parent_column is_partition:b",
    "schema_versions": "begin_snapshot schema_version table_id",
    "macro": "schema_id macro_id macro_name:v begin_snapshot end_snapshot",
    "macro_impl": "macro_id impl_id dialect:v sql:v type:v",
    "macro_parameters": "macro_id impl_id column_id parameter_name:v parameter_type:v default_value:v default_value_type:v",
    "sort_info": "sort_id table_id begin_snapshot end_snapshot",
    "sort_expression": "sort_id table_id sort_key_index expression:v dialect:v sort_direction:v null_order:v",
}
_TYPES: dict[str, TypeEngine[Any]] = {"": BigInteger(), "v": Text(), "b": Boolean(), "u": Uuid(), "z": DateTime(timezone=True)}


class MetadataTables:
    """The tables of one metadata schema: `tables["data_file"].c.path`."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        everything = MetaData(schema=schema)
        self._tables = {name: Table(f"ducklake_{name}", everything, *_columns(listed)) for name, listed in _COLUMNS.items()}

    def __getitem__(self, name: str) -> Table:
        return self._tables[name]


def _columns(listed: str) -> list[Column[Any]]:
    return [Column(name, _TYPES[kind]) for name, _, kind in (word.partition(":") for word in listed.split())]
