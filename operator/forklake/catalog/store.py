"""Store: one Postgres database that holds very many catalogs. Every method is one call of a function in sql/."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from psycopg.rows import class_row, dict_row

from forklake.catalog._install import check_version
from forklake.catalog._logins import Login, new_login
from forklake.catalog._models import Catalog, Deletion, ForkRequest, TreeNode, Usage
from forklake.errors import CatalogNotFound, StoreUnavailable, from_postgres

T = TypeVar("T")


def _columns(model: type[Any]) -> str:
    return ", ".join(f.name for f in fields(model))


_CATALOG = _columns(Catalog)
_FORK_ARGUMENTS = ("parent", "for_tenant", "as_name", "path", "as_mode", "at_snapshot", "at_time")


def _with_role(row: dict[str, Any], login: Login) -> tuple[Catalog, Login]:
    return Catalog(**{name: value for name, value in row.items() if name != "role"}), replace(login, role=row["role"])


class Store:
    """The operator's side of a store. Not for tenants: they connect with the credentials of a catalog."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @classmethod
    def connect(cls, dsn: str) -> Self:
        """Connects as the store's owner and checks that the store is there and of the right version."""
        try:
            connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
        except psycopg.OperationalError as error:
            raise StoreUnavailable("the store does not answer", hint="check that Postgres runs (forklake status)", detail=str(error)) from None
        try:
            check_version(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection underneath, in autocommit mode."""
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes everything inside happen at once or not at all."""
        with self._translated(), self._connection.transaction():
            yield

    # catalogs

    def create_catalog(
        self, tenant: str, name: str, data_path: str, settings: Mapping[str, Any] | None = None, *, encrypted: bool = False
    ) -> Catalog:
        """A new, empty catalog. It has no login yet."""
        query = f"select {_CATALOG} from lake.create_catalog(%s, %s, %s, %s, %s)"
        return self._one(Catalog, query, [tenant, name, data_path, json.dumps(dict(settings or {})), encrypted])

    def configure(self, catalog_id: int, settings: Mapping[str, Any]) -> None:
        """Changes what the owner of a catalog decides; see lake.configure_catalog."""
        self._execute("select lake.configure_catalog(%s, %s)", [catalog_id, json.dumps(dict(settings))])

    def get(self, catalog_id: int) -> Catalog:
        """A catalog, live or dropped, by its number."""
        return self._one(Catalog, f"select {_CATALOG} from lake.catalog where catalog_id = %s", [catalog_id])

    def find(self, tenant: str, name: str) -> Catalog:
        """A live catalog by its name."""
        return self._one(Catalog, f"select {_CATALOG} from lake.catalog where catalog_id = lake.find_catalog(%s, %s)", [tenant, name])

    def list_catalogs(self, tenant: str | None = None, *, dropped: bool = False) -> Sequence[Catalog]:
        """The catalogs of a tenant, or all; with `dropped`, those that can still be undeleted instead."""
        condition = "end_at is not null and condemned is null" if dropped else "end_at is null"
        query = f"select {_CATALOG} from lake.catalog where {condition} and (%s::text is null or tenant = %s) order by tenant, name, catalog_id"
        return self._all(Catalog, query, [tenant, tenant])

    def list_condemned(self, tenant: str | None = None) -> Sequence[Catalog]:
        """Catalogs that were given up and still have files."""
        condition = "condemned is not null and purged is null and (%s::text is null or tenant = %s)"
        return self._all(Catalog, f"select {_CATALOG} from lake.catalog where {condition} order by catalog_id", [tenant, tenant])

    def rename(self, catalog_id: int, name: str) -> None:
        """Another name for the same catalog."""
        self._execute("select lake.rename_catalog(%s, %s)", [catalog_id, name])

    def drop(self, catalog_id: int) -> Catalog:
        """Ends a catalog; it can be undeleted until clean-up has passed."""
        return self._one(Catalog, f"select {_CATALOG} from lake.drop_catalog(%s)", [catalog_id])

    def undelete(self, catalog_id: int) -> Catalog:
        """Brings a dropped catalog back. It needs a new login."""
        return self._one(Catalog, f"select {_CATALOG} from lake.undelete_catalog(%s)", [catalog_id])

    def set_prefixes(self, tenant: str, prefixes: Sequence[str]) -> None:
        """Where the paths of a tenant's catalogs must lie."""
        self._execute(
            "insert into lake.tenant (tenant, prefixes) values (%s, lake.normalize_folders(%s))"
            " on conflict (tenant) do update set prefixes = excluded.prefixes",
            [tenant, list(prefixes)],
        )

    # options of DuckLake that the operator keeps

    def options(self, catalog_id: int) -> dict[str, str]:
        """The catalog-wide DuckLake options of a catalog, inherited ones included."""
        rows = self._all_dicts("select key, value from lake.options(%s)", [catalog_id])
        return {row["key"]: row["value"] for row in rows}

    def set_options(self, catalog_id: int, options: Mapping[str, str]) -> None:
        """Sets catalog-wide DuckLake options; others stay."""
        self._execute("select lake.set_options(%s, %s)", [catalog_id, json.dumps(dict(options))])

    # logins

    def create_login(self, catalog_id: int, login: Login | None = None) -> Login:
        """A login role for a catalog."""
        login = login or new_login()
        row = self._execute("select lake.create_login(%s, %s)", [catalog_id, login.verifier])
        return replace(login, role=row[0])

    def rotate_login(self, catalog_id: int, *, retire_after: timedelta) -> Login:
        """New credentials for a catalog. The old ones keep working for a while, so that no open work breaks."""
        login = new_login()
        with self.transaction():
            login = self.create_login(catalog_id, login)
            self._execute("select lake.retire_logins(%s, %s, %s)", [catalog_id, login.role, retire_after])
        return login

    def drop_retired_logins(self) -> Sequence[str]:
        """Drops login roles whose time has come."""
        return [row["gone"] for row in self._all_dicts("select gone from lake.drop_retired_logins() gone", [])]

    # forks

    def fork(self, request: ForkRequest) -> Catalog:
        """A fork of a catalog. It has no login yet."""
        query = f"select {_CATALOG} from lake.fork_catalog(%s, %s, %s, %s, %s, %s, %s)"
        return self._one(Catalog, query, self._fork_parameters(request))

    def fork_with_login(self, request: ForkRequest, login: Login | None = None) -> tuple[Catalog, Login]:
        """A fork and its credentials, in one transaction and one round trip."""
        login = login or new_login()
        query = f"select {_CATALOG}, lake.create_login(catalog_id, %s) as role from lake.fork_catalog(%s, %s, %s, %s, %s, %s, %s)"
        return _with_role(self._all_dicts(query, [login.verifier, *self._fork_parameters(request)])[0], login)

    def fork_many(self, requests: Sequence[ForkRequest], logins: Sequence[Login] | None = None) -> Sequence[tuple[Catalog, Login]]:
        """All forks and their credentials, or none: one statement, so one transaction."""
        logins = logins or [new_login() for _ in requests]
        wanted = [
            dict(zip(_FORK_ARGUMENTS, self._fork_parameters(request), strict=True), verifier=login.verifier)
            for request, login in zip(requests, logins, strict=True)
        ]
        query = f"""
            select {_CATALOG}, lake.create_login(f.catalog_id, r.verifier) as role
            from jsonb_to_recordset(%s) r (parent bigint, for_tenant text, as_name text, path text, as_mode text,
                at_snapshot bigint, at_time timestamptz, verifier text),
            lateral lake.fork_catalog(r.parent, r.for_tenant, r.as_name, r.path, r.as_mode, r.at_snapshot, r.at_time) f"""
        rows = self._all_dicts(query, [json.dumps(wanted, default=str)])
        return [_with_role(row, login) for row, login in zip(rows, logins, strict=True)]

    def detach(self, catalog_id: int) -> Catalog:
        """Turns a Reference fork into a Copy."""
        return self._one(Catalog, f"select {_CATALOG} from lake.detach_fork(%s)", [catalog_id])

    @staticmethod
    def _fork_parameters(request: ForkRequest) -> list[Any]:
        return [request.parent_id, request.tenant, request.name, request.data_path, request.mode, request.at.snapshot, request.at.timestamp]

    # looking

    def usage(self, catalog_id: int) -> Usage:
        """Files, bytes, tables and rows of metadata of a catalog."""
        return self._one(Usage, f"select {_columns(Usage)} from lake.usage(%s)", [catalog_id])

    def tree(self, tenant: str | None = None) -> Sequence[TreeNode]:
        """Live catalogs, parents before their forks."""
        return self._all(TreeNode, f"select {_columns(TreeNode)} from lake.tree(%s)", [tenant])

    def latest_snapshot(self, catalog_id: int) -> int:
        """The number of the newest snapshot of a catalog."""
        return int(self._execute("select (lake._latest(%s)).snapshot_id", [catalog_id])[0])

    def horizon(self) -> int:
        """The global snapshot up to which nothing can be added any more."""
        return int(self._execute("select lake.settled_horizon()", [])[0])

    def global_at(self, moment: datetime) -> int | None:
        """The global snapshot that was the latest at a time."""
        found = self._execute("select lake.global_at(%s)", [moment])[0]
        return None if found is None else int(found)

    def catalogs_at(self, moment: int) -> Sequence[dict[str, Any]]:
        """Which catalogs existed at a global snapshot."""
        return self._all_dicts("select * from lake.catalogs_at(%s)", [moment])

    def files_at(self, catalog_id: int, moment: int) -> Sequence[dict[str, Any]]:
        """Which data files a catalog had at a global snapshot."""
        return self._all_dicts("select * from lake.files_at(%s, %s)", [catalog_id, moment])

    def changes(self, catalog_id: int, most: int = 100) -> Sequence[dict[str, Any]]:
        """Who did what in a catalog, newest first."""
        return self._all_dicts("select * from lake.changes where catalog_id = %s order by g desc limit %s", [catalog_id, most])

    def ancestors(self, catalog_id: int) -> Sequence[dict[str, Any]]:
        """Where a catalog comes from, nearest first."""
        return self._all_dicts("select * from lake.ancestors(%s)", [catalog_id])

    def descendants(self, catalog_id: int) -> Sequence[dict[str, Any]]:
        """All forks of a catalog and their forks."""
        return self._all_dicts("select * from lake.descendants(%s)", [catalog_id])

    def who_sees(self, path: str) -> Sequence[dict[str, Any]]:
        """Which catalogs can see a file."""
        return self._all_dicts("select * from lake.who_sees(%s)", [path])

    # clean-up

    def raise_floor(self, catalog_id: int, keep: timedelta | None = None) -> int:
        """Gives up history older than the catalog's retention."""
        return int(self._execute("select lake.raise_floor(%s, %s)", [catalog_id, keep])[0])

    def condemn(self, catalog_id: int) -> None:
        """Gives a dropped catalog up for good."""
        self._execute("select lake.condemn_catalog(%s)", [catalog_id])

    def condemn_dropped(self, grace: timedelta = timedelta(0)) -> Sequence[int]:
        """Condemns what was dropped long enough ago."""
        return [row["doomed"] for row in self._all_dicts("select doomed from lake.condemn_dropped(%s) doomed", [grace])]

    def claim_files(self, catalog_id: int, most: int = 10_000) -> Sequence[Deletion]:
        """Files of a catalog that may be removed now."""
        return self._all(Deletion, f"select {_columns(Deletion)} from lake.claim_files(%s, %s)", [catalog_id, most])

    def record_removed(self, deletions: Sequence[int]) -> int:
        """Says that claimed files are gone."""
        return int(self._execute("select lake.record_removed(%s)", [list(deletions)])[0])

    def prune_rows(self, catalog_id: int) -> int:
        """Removes rows that nobody can see any more."""
        return int(self._execute("select lake.prune_rows(%s)", [catalog_id])[0])

    # how a call is made

    def _one(self, model: type[T], query: str, parameters: Sequence[Any]) -> T:
        with self._translated(), self._connection.cursor(row_factory=class_row(model)) as cursor:
            found = cursor.execute(query, parameters).fetchone()
        if found is None:
            raise CatalogNotFound("no such catalog", hint="look at the list of catalogs")
        return found

    def _all(self, model: type[T], query: str, parameters: Sequence[Any]) -> Sequence[T]:
        with self._translated(), self._connection.cursor(row_factory=class_row(model)) as cursor:
            return cursor.execute(query, parameters).fetchall()

    def _all_dicts(self, query: str, parameters: Sequence[Any]) -> Sequence[dict[str, Any]]:
        with self._translated(), self._connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, parameters).fetchall()

    def _execute(self, query: str, parameters: Sequence[Any]) -> Sequence[Any]:
        with self._translated():
            cursor = self._connection.execute(query, parameters)
            row = cursor.fetchone() if cursor.description else None
        return () if row is None else row

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise from_postgres(error) from None
