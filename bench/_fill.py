"""Many files in a catalog: the same rows on both sides, made in Postgres, in the order in which commits would have written them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

COLUMNS = 10
_BASE = "%(catalog)s, %(g)s, 9223372036854775807, nextval('lake.rid')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many files in a table, written by so many commits after snapshot 1."""

    files: int
    snapshots: int
    table_id: int
    first_id: int

    @property
    def last_snapshot(self) -> int:
        return 1 + self.snapshots

    def rows(self) -> dict[str, str]:
        """For each table of DuckLake the query that makes its rows."""
        file, table, made = f"{self.first_id} + i", f"{self.table_id}::bigint", f"2 + i * {self.snapshots} / {self.files}"
        each_file = f"generate_series(0, {self.files} - 1) i"
        each_snapshot = f"generate_series(2, {self.last_snapshot}) s"
        return {
            "ducklake_data_file": f"""select {file}, {table}, {made}, null::bigint, null::bigint,
                'ducklake-' || md5(i::text)::uuid || '.parquet' as path, true, 'parquet', 1000, 20000, 512, i * 1000::bigint,
                null::bigint, null::varchar, null::bigint, null::bigint from {each_file}""",
            "ducklake_file_column_stats": f"""select {file}, {table}, c, 433, 1000, 0, (i * 10)::varchar, (i * 10 + 5)::varchar, null::boolean,
                null::varchar from {each_file}, generate_series(1, {COLUMNS}) c""",
            "ducklake_snapshot": f"""select s, now(), 1, {self.table_id} + 1, {self.first_id} + (s - 1) * {self.files} / {self.snapshots}
                from {each_snapshot}""",
            "ducklake_snapshot_changes": f"select s, 'inserted_into_table:{self.table_id}', null, null, null from {each_snapshot}",
            "ducklake_table_stats": f"select {table}, {self.files} * 1000, {self.files} * 1000, {self.files} * 20000",
            "ducklake_table_column_stats": f"""select {table}, c, false, null::boolean, '0', ({self.files} * 10)::varchar, null
                from generate_series(1, {COLUMNS}) c""",
        }


def fill_plain(connection: psycopg.Connection[Any], schema: str, load: Load) -> None:
    """Fills a stock catalog."""
    with connection.transaction():
        for table, query in load.rows().items():
            connection.execute(f"insert into {schema}.{table} {query}")  # type: ignore[arg-type]


def fill_ours(connection: psycopg.Connection[Any], catalog_id: int, load: Load) -> None:
    """Fills a catalog of a store, behind its views."""
    with connection.transaction():
        found = connection.execute("select lake._write_to(%s, 'commit'), data_path from lake.catalog where catalog_id = %s", [catalog_id] * 2)
        g, home = found.fetchone() or (0, "")
        known = {"catalog": catalog_id, "g": g, "folder": f"{home}main/t/"}
        for table, query in load.rows().items():
            place = "%(catalog)s, %(folder)s || r.path," if table == "ducklake_data_file" else ""
            connection.execute(f"insert into lake.{table} select {_BASE}, {place} r.* from ({query}) r", known)  # type: ignore[arg-type]
