"""DuckDB connections to catalogs and to forks that last as long as a with block."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from forklake import duck
from forklake.api import API_VERSION, CatalogFork, format_duration, parse_resource, parse_time
from forklake.local.home import Home
from forklake.local.runtime import Runtime

if TYPE_CHECKING:
    import duckdb

# a process that is killed leaves its fork behind: not for longer than this
_SAFETY = timedelta(days=1)


def connect(catalog: str, *, namespace: str = "default", home: str | os.PathLike[str] | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with a catalog attached and in use."""
    with Runtime.open(Home.find(home)) as runtime:
        return duck.connect(runtime.dsn(namespace, catalog), catalog)


@contextmanager
def fork(
    parent: str,
    *,
    at: int | str | datetime | None = None,
    name: str | None = None,
    namespace: str = "default",
    home: str | os.PathLike[str] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB connection on a new fork of a catalog, or of its past (`at`: a snapshot or a time). The fork is gone afterwards."""
    place = Home.find(home)
    with Runtime.open(place) as runtime:
        wanted = fork_resource(runtime, parent, name or f"{parent[:200]}-{secrets.token_hex(4)}", namespace, at=at, ttl=_SAFETY)
        make_fork(runtime, wanted)
    try:
        connection = connect(wanted.name, namespace=namespace, home=place.folder)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        with Runtime.open(place) as runtime:
            runtime.delete(wanted)


def fork_resource(
    runtime: Runtime,
    parent: str,
    name: str,
    namespace: str,
    *,
    at: int | str | datetime | None = None,
    copy: bool = False,
    ttl: timedelta | None = None,
) -> CatalogFork:
    """The CatalogFork for a fork that is asked for in a few words; the parent may be written namespace/name."""
    parent_namespace, _, parent_name = parent.rpartition("/")
    origin = runtime.store.find(parent_namespace or namespace, parent_name)
    kind = "LakeCatalog" if origin.parent_id is None else "CatalogFork"
    reference = {"kind": kind, "name": parent_name} | ({"namespace": parent_namespace} if parent_namespace else {})
    optional = {"at": fork_at(at), "mode": "Copy" if copy else None, "ttl": format_duration(ttl) if ttl else None}
    spec = {"parent": reference} | {key: value for key, value in optional.items() if value is not None}
    # parsed like anything from outside: a name that is none is refused in the same words
    document = {"apiVersion": API_VERSION, "kind": "CatalogFork", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    wanted = parse_resource(document, f"fork {name!r}")
    assert isinstance(wanted, CatalogFork)
    return wanted


def fork_at(at: int | str | datetime | None) -> dict[str, int | datetime] | None:
    """A snapshot's number or a time, as people write them, in the words of CatalogFork."""
    if at is None:
        return None
    if isinstance(at, int) or (isinstance(at, str) and at.isdigit()):
        return {"snapshot": int(at)}
    return {"timestamp": parse_time(at)}


def make_fork(runtime: Runtime, wanted: CatalogFork) -> CatalogFork:
    """Makes a fork that is not there yet; if it cannot be made, nothing of it stays."""
    change = runtime.apply(wanted)
    if change.error is not None:
        if change.verb == "created":
            runtime.delete(wanted)
        raise change.error
    assert isinstance(change.resource, CatalogFork)
    return change.resource
