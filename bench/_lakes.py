"""The two sides: a forklake store, and plain DuckLake catalogs in Postgres, each on a server of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import psycopg
from duckdb_extensions import import_extension

from bench._server import Server
from forklake.catalog import Catalog, ForkRequest, Login, Store, install

TENANT = "team-a"
_COLUMNS = 10


def columns_of(count: int = _COLUMNS) -> str:
    """Columns for a CREATE TABLE."""
    return ", ".join(f"c{number} INTEGER" for number in range(1, count + 1))


def duck() -> duckdb.DuckDBPyConnection:
    """A stock DuckDB."""
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("LOAD ducklake; LOAD postgres_scanner")
    return connection


def prepare_extensions() -> None:
    """Puts the extensions from the wheels where DuckDB looks for them."""
    for name in ("ducklake", "postgres_scanner"):
        import_extension(name)


@dataclass
class Ours:
    """A forklake store in a database of its own."""

    server: Server
    dbname: str

    def __post_init__(self) -> None:
        # an owner for each store: what Postgres does for CREATE ROLE grows with the roles that its maker made
        self.dsn = self.server.new_database(self.dbname, f"owner_of_{self.dbname}")
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            install(connection)

    @property
    def home(self) -> str:
        """Where the files would lie."""
        return f"{self.server.folder.parent}/lake/{self.dbname}/{TENANT}"

    @cached_property
    def store(self) -> Store:
        return Store.connect(self.dsn)

    def request(self, parent: Catalog, name: str, **wanted: Any) -> ForkRequest:
        """A fork of this name in a folder of its own."""
        return ForkRequest(parent_id=parent.catalog_id, tenant=TENANT, name=name, data_path=f"{self.home}/forks/{name}/", **wanted)

    def catalog(self, name: str) -> tuple[Catalog, Login]:
        """A new catalog with its login."""
        made = self.store.create_catalog(TENANT, name, f"{self.home}/{name}/")
        return made, self.store.create_login(made.catalog_id)

    def catalog_with_table(self, name: str, columns: int = _COLUMNS) -> tuple[Catalog, Login]:
        """A new catalog in which a stock client has created table t."""
        made, login = self.catalog(name)
        with duck() as client:
            client.execute(self.attach(login))
            client.execute(f"CREATE TABLE lake.t({columns_of(columns)})")
        return made, login

    def tenant_dsn(self, login: Login) -> str:
        """How a tenant connects."""
        return self.server.dsn(login.role, self.dbname)

    def attach(self, login: Login) -> str:
        """The ATTACH of a tenant."""
        return f"ATTACH 'ducklake:postgres:{self.tenant_dsn(login)}' AS lake (METADATA_SCHEMA 'ducklake', META_SCHEMA 'ducklake')"

    def first_table(self, catalog: Catalog) -> int:
        """The id that the first table of a catalog gets."""
        return (catalog.catalog_id << 36) + 1


@dataclass
class Plain:
    """A database in which every schema is a stock DuckLake catalog, made by a stock client."""

    server: Server
    dbname: str

    def __post_init__(self) -> None:
        self.dsn = self.server.new_database(self.dbname, "plain_owner")

    def schema_with_tables(self, schema: str, columns: int = _COLUMNS, tables: int = 1) -> str:
        """A stock catalog with tables t, t2, t3 and so on."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"create schema {schema}")
        with duck() as client:
            client.execute(self.attach(schema, f", DATA_PATH '{self.server.folder.parent}/lake/{schema}/', DATA_INLINING_ROW_LIMIT 0"))
            for number in range(1, tables + 1):
                client.execute(f"CREATE TABLE lake.t{number if number > 1 else ''}({columns_of(columns)})")
        return schema

    def attach(self, schema: str, options: str = "") -> str:
        """The ATTACH of a client."""
        return f"ATTACH 'ducklake:postgres:{self.dsn}' AS lake (METADATA_SCHEMA '{schema}', META_SCHEMA '{schema}'{options})"
