"""What a stock DuckDB 1.5 sends to Postgres, word for word: written down from a server's log."""

from __future__ import annotations

import random
import time
import uuid
from dataclasses import dataclass

from bench._session import CommitRefused, Session

ROWS = 1000
BYTES = 20_000
_TRIES = 10


@dataclass(slots=True)
class Table:
    """A table that a client writes to, with what its statistics say so far."""

    schema: str
    table_id: int
    columns: int
    files: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The latest snapshot of a catalog, as a client reads it."""

    snapshot_id: int
    schema_version: int
    next_catalog_id: int
    next_file_id: int


def copy(columns: str, relation: str, condition: str = "") -> str:
    """A read, as DuckDB's postgres extension puts it."""
    quoted = ", ".join(f'"{column}"' for column in columns.split())
    return f'COPY (SELECT {quoted} FROM {relation} {condition}) TO STDOUT (FORMAT "binary");'


def head_query(schema: str) -> str:
    """The latest snapshot."""
    inner = f"""(SELECT snapshot_id, schema_version, next_catalog_id, next_file_id
        FROM "{schema}".ducklake_snapshot WHERE snapshot_id = (
            SELECT MAX(snapshot_id) FROM "{schema}".ducklake_snapshot
        )) AS __unnamed_subquery"""
    return copy("snapshot_id schema_version next_catalog_id next_file_id", inner)


def scan_queries(schema: str, table_id: int, snapshot_id: int) -> dict[str, str]:
    """What is read to plan a scan with a condition on the first column."""
    at = f"WHERE \"table_id\" = '{table_id}' AND \"begin_snapshot\" <= '{snapshot_id}'"
    files = "data_file_id table_id begin_snapshot end_snapshot path path_is_relative file_size_bytes footer_size row_id_start partial_max mapping_id"
    deletes = "table_id begin_snapshot end_snapshot data_file_id path path_is_relative format file_size_bytes footer_size"
    statistics = f"""(SELECT data_file_id, value_count, max_value, min_value
        FROM "{schema}".ducklake_file_column_stats
        WHERE column_id = 1 AND table_id = {table_id}) AS __unnamed_subquery"""
    return {
        "head": head_query(schema),
        "files": copy(files, f'"{schema}"."ducklake_data_file"', at),
        "statistics": copy("data_file_id value_count max_value min_value", statistics),
        "deletes": copy(deletes, f'"{schema}"."ducklake_delete_file"', at),
    }


def reads_before_insert(table: Table) -> list[str]:
    """What is read, after the head, to insert into a table that the client knows."""
    one = f"WHERE \"table_id\" = '{table.table_id}'"
    return [
        copy("table_id record_count file_size_bytes next_row_id", f'"{table.schema}"."ducklake_table_stats"', one),
        copy(
            "table_id column_id contains_null contains_nan min_value max_value extra_stats",
            f'"{table.schema}"."ducklake_table_column_stats"',
            one,
        ),
        copy("schema_id path path_is_relative", f'"{table.schema}"."ducklake_schema"'),
        copy("schema_id table_id path path_is_relative", f'"{table.schema}"."ducklake_table"', one),
    ]


def commit_text(table: Table, head: Head, files: int) -> str:
    """The commit of an insert that wrote some files, all columns with statistics."""
    s, t, made = table.schema, table.table_id, head.snapshot_id + 1
    ids = range(head.next_file_id, head.next_file_id + files)
    file_rows = ",".join(
        f"({i}, {t}, {made}, NULL, NULL, 'ducklake-{uuid.uuid4()}.parquet', true, 'parquet', {ROWS}, {BYTES}, 512, "
        f"{(table.files + n) * ROWS}, NULL, NULL, NULL, NULL)"
        for n, i in enumerate(ids)
    )
    statistics = ",".join(
        f"({i}, {t}, {c}, 433, {ROWS}, 0, '{i * 10}', '{i * 10 + 5}', NULL, NULL)" for i in ids for c in range(1, table.columns + 1)
    )
    return (
        f'INSERT INTO "{s}".ducklake_snapshot VALUES ({made}, NOW(), {head.schema_version}, {head.next_catalog_id}, {head.next_file_id + files});'
        f"{_table_statistics(table, files)}"
        f'INSERT INTO "{s}".ducklake_data_file VALUES {file_rows};'
        f'INSERT INTO "{s}".ducklake_file_column_stats VALUES {statistics};'
        f"INSERT INTO \"{s}\".ducklake_snapshot_changes VALUES ({made}, 'inserted_into_table:{t}', NULL, NULL, NULL);"
    )


def _table_statistics(table: Table, files: int) -> str:
    s, t, total = table.schema, table.table_id, table.files + files
    if not table.files:
        columns = ",".join(f"({t}, {c}, false, NULL, '0', '99999999', NULL)" for c in range(1, table.columns + 1))
        return (
            f'INSERT INTO "{s}".ducklake_table_stats VALUES ({t}, {total * ROWS}, {total * ROWS}, {total * BYTES});'
            f'INSERT INTO "{s}".ducklake_table_column_stats VALUES {columns};'
        )
    values = ",".join(f"({t}, {c}, false, NULL, '0', '99999999', NULL)" for c in range(1, table.columns + 1))
    rows, size = total * ROWS, total * BYTES
    return (
        f'UPDATE "{s}".ducklake_table_stats SET record_count={rows}, file_size_bytes={size}, next_row_id={rows} WHERE table_id={t};\n'
        "WITH new_values(tid, cid, new_contains_null, new_contains_nan, new_min, new_max, new_extra_stats) AS (\n"
        f"VALUES {values}\n)\n"
        f'UPDATE "{s}".ducklake_table_column_stats\n'
        "SET contains_null=CAST(new_contains_null AS BOOLEAN), contains_nan=CAST(new_contains_nan AS BOOLEAN), "
        "min_value=new_min, max_value=new_max, extra_stats=new_extra_stats\n"
        "FROM new_values\nWHERE table_id=tid AND column_id=cid;\n"
    )


def begin(session: Session, table: Table) -> Head:
    """Takes a connection from the pool, begins, reads what an insert reads."""
    session.run("SELECT 1")
    session.run("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    head = Head(*session.read_bigints(head_query(table.schema)))
    for query in reads_before_insert(table):
        session.read(query)
    return head


def end(session: Session, table: Table, files: int) -> None:
    """Commits and gives the connection back to the pool."""
    session.run("COMMIT")
    table.files += files
    session.run("SELECT 1")
    session.run("DISCARD ALL")


def insert(session: Session, table: Table, files: int = 1) -> int:
    """One INSERT of a client, with DuckLake's retries. Returns how many tries it took; raises after the last."""
    for tried in range(1, _TRIES + 1):
        head = begin(session, table)
        try:
            session.run(commit_text(table, head, files))
            end(session, table, files)
            return tried
        except CommitRefused as refused:
            session.run("ROLLBACK")
            if tried == _TRIES or not refused.retriable:
                raise
            time.sleep(0.1 * random.random() * 1.5 ** (tried - 1))
    raise AssertionError("unreachable")
