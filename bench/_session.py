"""A connection that speaks as DuckDB's does: plain libpq, simple queries, binary COPY for every read."""

from __future__ import annotations

from struct import unpack_from
from typing import Self

from psycopg import pq

_HEADER = 19
_RETRIED = ("primary key", "unique", "conflict", "concurrent")


class CommitRefused(Exception):
    """Postgres said no. `retriable`: a DuckLake client would try again."""

    @property
    def retriable(self) -> bool:
        return any(word in str(self).lower() for word in _RETRIED)


class Session:
    """One connection."""

    def __init__(self, dsn: str) -> None:
        self._connection = pq.PGconn.connect(dsn.encode())
        if self._connection.status != pq.ConnStatus.OK:
            raise ConnectionError(self._connection.get_error_message())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.finish()

    def run(self, text: str) -> None:
        """One text of statements that answer nothing of interest."""
        result = self._connection.exec_(text.encode())
        if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            raise CommitRefused(result.get_error_message())

    def read(self, query: str) -> list[bytes]:
        """The messages of a COPY ... TO STDOUT; the header comes first."""
        result = self._connection.exec_(query.encode())
        if result.status != pq.ExecStatus.COPY_OUT:
            raise CommitRefused(result.get_error_message())
        messages = []
        while True:
            length, message = self._connection.get_copy_data(0)
            if length < 0:
                break
            messages.append(bytes(message))
        while self._connection.get_result() is not None:
            pass
        return messages

    def read_bigints(self, query: str) -> tuple[int, ...]:
        """The only row of a query for bigints."""
        message = b"".join(self.read(query))
        (count,) = unpack_from("!h", message, _HEADER)
        return tuple(unpack_from("!q", message, _HEADER + 2 + 4 + 12 * column)[0] for column in range(count))
