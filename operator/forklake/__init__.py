"""forklake: a lakehouse catalog for every tenant and every agent run, forked in about a millisecond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forklake.errors import ForklakeError

if TYPE_CHECKING:
    from forklake.local.sessions import connect, fork

__version__ = "0.1.0"
__all__ = ["ForklakeError", "__version__", "connect", "fork"]


def __getattr__(name: str) -> Any:
    # what needs DuckDB and Postgres is imported when it is used
    if name in ("connect", "fork"):
        from forklake.local import sessions

        return getattr(sessions, name)
    raise AttributeError(f"module 'forklake' has no attribute {name!r}")
