"""One commit of 10,000 files with 10 columns each, against plain DuckLake in Postgres.

Measured: the one text that a stock client sends for it (snapshot, table statistics, files, 100,000 column statistics,
changes) and the COMMIT, with everything before it that is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench._context import Context
from bench._ducklake import Table, begin, commit_text, end
from bench._lakes import Ours, Plain
from bench._measure import Bar, Result, in_turns
from bench._session import Session

_COLUMNS = 10


def run(context: Context) -> Iterator[Result]:
    """A row."""
    ours, plain = Ours(context.our_server, "commits"), Plain(context.plain_server, "commits")
    catalog, login = ours.catalog_with_table("bulk", _COLUMNS)
    our_table = Table("ducklake", ours.first_table(catalog), _COLUMNS)
    plain_table = Table(plain.schema_with_tables("bulk", _COLUMNS), 1, _COLUMNS)
    files = context.sizes.commit_files
    with Session(ours.tenant_dsn(login)) as our_session, Session(plain.dsn) as plain_session:
        times = in_turns(
            context.sizes.commits,
            ours=lambda: _commit(our_session, our_table, files),
            rival=lambda: _commit(plain_session, plain_table, files),
        )
    yield Result(
        name="big_commit",
        what=f"a commit of {files:,} files, {_COLUMNS} columns",
        rival_is="plain DuckLake in Postgres",
        unit="ms",
        ours=times["ours"],
        rival=times["rival"],
        bar=Bar("at most", 2.2),
    )


def _commit(session: Session, table: Table, files: int) -> None:
    head = begin(session, table)
    session.run(commit_text(table, head, files))
    end(session, table, files)
